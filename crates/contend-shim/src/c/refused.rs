//! Functions that bypass SQL: they are refused, or noted so that statements that depend on them are refused.

use super::front::Failed;
use super::hook::{hook, text, text16};
use super::real::{Function, Text, of_caller};
use super::{ERROR, MISUSE};
use crate::connection::Connection;
use crate::own::Own;
use crate::registry;
use contend_interpose::P;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// The connection of a database on the server, after raising an error that names the missing function.
fn without(db: P, what: &str) -> Option<Arc<Connection>> {
    let connection = registry::connection(db as usize)?;
    connection.raise(&Failed::new(ERROR, format!("contend shim: {what}: there is no counterpart on the server")));
    Some(connection)
}

hook!(r8; sqlite3_backup_init(to: P, to_name: Text, from: P, from_name: Text) -> P, caller {
    // Errors of a backup are read from the destination. A backup of a database onto itself makes SQLite set one.
    if registry::connection(from as usize).is_some() && registry::connection(to as usize).is_none() {
        return of_caller(caller).map_or(null_mut(), |real| (real.backup_init)(to, to_name, to, to_name));
    }
    if without(to, "the backup API").is_some() {
        return null_mut();
    }
    of_caller(caller).map_or(null_mut(), |real| (real.backup_init)(to, to_name, from, from_name))
});

hook!(none; sqlite3_blob_open(db: P, schema: Text, table: Text, column: Text, row: i64, flags: c_int, out: *mut P) -> c_int, _nothing {
    if without(db, "incremental blob I/O").is_some() {
        if !out.is_null() {
            *out = null_mut();
        }
        return ERROR;
    }
    by_db(db).map_or(MISUSE, |real| (real.blob_open)(db, schema, table, column, row, flags, out))
});

/// The SQLite of a connection. For an unknown connection it is the SQLite found last, because the caller's address is
/// not available.
fn by_db(db: P) -> Option<&'static super::real::Real> {
    registry::connection(db as usize).map(|connection| connection.front.real).or_else(super::real::last)
}

hook!(r8; sqlite3_serialize(db: P, schema: Text, size: *mut i64, flags: u32) -> *mut c_void, caller {
    if without(db, "sqlite3_serialize").is_some() {
        return null_mut();
    }
    of_caller(caller).map_or(null_mut(), |real| (real.serialize)(db, schema, size, flags))
});

hook!(stack; sqlite3_deserialize(db: P, schema: Text, data: P, size: i64, room: i64, flags: u32) -> c_int, caller {
    if without(db, "sqlite3_deserialize").is_some() {
        return ERROR;
    }
    of_caller(caller).map_or(MISUSE, |real| (real.deserialize)(db, schema, data, size, room, flags))
});

// A variadic function: all its forms have at most three further arguments, all of them in integer registers.
hook!(r9; sqlite3_db_config(db: P, what: c_int, one: P, two: P, three: P) -> c_int, caller {
    const MAINDBNAME: c_int = 1000;
    const ENABLE_TRIGGER: c_int = 1003;
    const RESET_DATABASE: c_int = 1009;
    let refused = match (what, one as c_int) {
        (MAINDBNAME, _) if text(one.cast()) != "main" => Some("SQLITE_DBCONFIG_MAINDBNAME"),
        (ENABLE_TRIGGER, 0) => Some("SQLITE_DBCONFIG_ENABLE_TRIGGER off"),
        (RESET_DATABASE, 1..) => Some("SQLITE_DBCONFIG_RESET_DATABASE"),
        _ => None,
    };
    if refused.is_some_and(|what| without(db, what).is_some()) {
        return ERROR;
    }
    of_caller(caller).map_or(MISUSE, |real| (real.db_config)(db, what, one, two, three))
});

hook!(rdx; sqlite3_enable_load_extension(db: P, on: c_int) -> c_int, caller {
    if on != 0 && without(db, "extensions").is_some() {
        return ERROR;
    }
    of_caller(caller).map_or(MISUSE, |real| (real.enable_load_extension)(db, on))
});

hook!(r8; sqlite3_load_extension(db: P, file: Text, entry: Text, message: *mut *mut c_char) -> c_int, caller {
    if let Some(connection) = without(db, "extensions") {
        if !message.is_null() {
            *message = super::prepare::copied(connection.front.real, b"contend shim: extensions cannot be loaded");
        }
        return ERROR;
    }
    of_caller(caller).map_or(MISUSE, |real| (real.load_extension)(db, file, entry, message))
});

/// Notes a function or collation of the program: the front has it, the server does not. Statements that are prepared are
/// checked again.
fn note(db: P, add: impl FnOnce(&mut Own)) {
    match registry::connection(db as usize) {
        Some(connection) => add(&mut connection.own()),
        None => OPENING.with_borrow_mut(|opening| opening.as_mut().map_or((), add)),
    }
}

thread_local! {
    /// What the program's own extensions (`sqlite3_auto_extension`) register while a front is opened.
    static OPENING: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// Opens a front, and returns what was registered meanwhile.
pub fn noted<T>(open: impl FnOnce() -> T) -> (T, Own) {
    OPENING.set(Some(Own::default()));
    let done = open();
    (done, OPENING.take().unwrap_or_default())
}

hook!(none; sqlite3_create_function(db: P, name: Text, count: c_int, encoding: c_int, data: P, call: Function, step: Function, end: P) -> c_int, _nothing {
    let Some(real) = by_db(db) else { return MISUSE };
    note(db, |own| own.add_function(&text(name)));
    (real.create_function)(db, name, count, encoding, data, call, step, end)
});

hook!(none; sqlite3_create_function_v2(db: P, name: Text, count: c_int, encoding: c_int, data: P, call: Function, step: Function, end: P, gone: P) -> c_int, _nothing {
    let Some(real) = by_db(db) else { return MISUSE };
    note(db, |own| own.add_function(&text(name)));
    (real.create_function_v2)(db, name, count, encoding, data, call, step, end, gone)
});

hook!(none; sqlite3_create_window_function(db: P, name: Text, count: c_int, encoding: c_int, data: P, step: Function, end: P, value: P, inverse: Function, gone: P) -> c_int, _nothing {
    let Some(real) = by_db(db) else { return MISUSE };
    note(db, |own| own.add_function(&text(name)));
    (real.create_window_function)(db, name, count, encoding, data, step, end, value, inverse, gone)
});

hook!(r9; sqlite3_create_collation(db: P, name: Text, encoding: c_int, data: P, compare: P) -> c_int, caller {
    note(db, |own| own.add_collation(&text(name)));
    of_caller(caller).map_or(MISUSE, |real| (real.create_collation)(db, name, encoding, data, compare))
});

hook!(stack; sqlite3_create_collation_v2(db: P, name: Text, encoding: c_int, data: P, compare: P, gone: P) -> c_int, caller {
    note(db, |own| own.add_collation(&text(name)));
    of_caller(caller).map_or(MISUSE, |real| (real.create_collation_v2)(db, name, encoding, data, compare, gone))
});

hook!(none; sqlite3_create_function16(db: P, name: *const c_void, count: c_int, encoding: c_int, data: P, call: Function, step: Function, end: P) -> c_int, _nothing {
    let Some(real) = by_db(db) else { return MISUSE };
    note(db, |own| own.add_function(&text16(name)));
    (real.create_function16)(db, name, count, encoding, data, call, step, end)
});

hook!(r9; sqlite3_create_collation16(db: P, name: *const c_void, encoding: c_int, data: P, compare: P) -> c_int, caller {
    note(db, |own| own.add_collation(&text16(name)));
    of_caller(caller).map_or(MISUSE, |real| (real.create_collation16)(db, name, encoding, data, compare))
});
