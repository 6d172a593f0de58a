//! The authorizer: SQLite reports each action of a statement while it prepares it. The action is noted and passed to
//! the program's own authorizer.

use super::front::Front;
use super::hook::{hook, text};
use super::real::{Authorizer, Real, Text, of_caller};
use super::{MISUSE, OK};
use crate::connection::Connection;
use crate::{journal, note, path, registry};
use contend_interpose::P;
use std::ffi::c_int;
use std::sync::PoisonError;

const DENY: c_int = 1;
const IGNORE: c_int = 2;
const READ: c_int = 20;

macro_rules! callback {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block) => {
        #[allow(clippy::too_many_arguments)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result $body
    };
}

callback!(asked(connection: P, code: c_int, one: Text, two: Text, database: Text, trigger: Text) -> c_int {
    note::action(code, &text(one), &text(two), &text(database));
    if !trigger.is_null() {
        note::nested();
    }
    let connection = &*connection.cast::<Connection>();
    // Statements that this library prepares are not reported to the program.
    if !note::is_taken() {
        return OK;
    }
    let (call, argument) = *connection.authorizer.lock().unwrap_or_else(PoisonError::into_inner);
    if call == 0 {
        return OK;
    }
    let call = std::mem::transmute::<usize, unsafe extern "C" fn(P, c_int, Text, Text, Text, Text) -> c_int>(call);
    let answer = call(argument as P, code, one, two, database, trigger);
    if answer == IGNORE && code == READ {
        note::hidden();
    }
    answer
});

callback!(denied(_argument: P, _code: c_int, _one: Text, _two: Text, _database: Text, _trigger: Text) -> c_int { DENY });

// SQLITE_ATTACH; without a name it is a parameter. VACUUM attaches a temporary file, whose name is empty.
callback!(guarded(_argument: P, code: c_int, one: Text, _two: Text, _database: Text, _trigger: Text) -> c_int {
    const ATTACH: c_int = 24;
    if code != ATTACH || !one.is_null() && path::place(&text(one), true).is_none() {
        return OK;
    }
    let _ = journal::refused("ATTACH", "a database in memory attaches a file, whose rows are on the server");
    DENY
});

/// Lets a database in memory attach no file: SQLite would read and write the local one.
pub unsafe fn guard(real: &Real, db: P) {
    (real.set_authorizer)(db, Some(guarded), std::ptr::null_mut());
}

/// Denies all statements of a front that is connected to nothing: it would keep their rows in memory, and lose them.
pub fn deny(front: Front) {
    // SAFETY: the handle is the front's, and the function needs no argument.
    unsafe { (front.real.set_authorizer)(front.db as P, Some(denied), std::ptr::null_mut()) };
}

/// Installs the authorizer.
pub fn ask(connection: &Connection) {
    let front = connection.front;
    let argument = std::ptr::from_ref(connection).cast_mut().cast();
    // SAFETY: the connection lives until its front is closed.
    unsafe { (front.real.set_authorizer)(front.db as P, Some(asked), argument) };
}

hook!(rcx; sqlite3_set_authorizer(db: P, call: Authorizer, argument: P) -> c_int, caller {
    let Some(connection) = registry::connection(db as usize) else {
        return of_caller(caller).map_or(MISUSE, |real| (real.set_authorizer)(db, call, argument));
    };
    let call = call.map_or(0, |call| call as usize);
    *connection.authorizer.lock().unwrap_or_else(PoisonError::into_inner) = (call, argument as usize);
    // As with SQLite, statements that are there are prepared again: those for the server, and those of the front.
    connection.own().count += 1;
    ask(&connection);
    OK
});
