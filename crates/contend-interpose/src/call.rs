//! How a function stands in for one of SQLite's, and the connections that it is called with.

use crate::format::{OPENED_UNSEEN, kind, record};
use crate::real::{self, Real};
use crate::segment::{commit, is_on, new_id, put, ticks, with_text};
use crate::sys::{self, P};
use crate::table::{self, Connection};
use crate::thread::Thread;
use core::ffi::{c_char, c_int};

pub type Name = *const c_char;
pub const OK: c_int = 0;

/// Defines a function with SQLite's name that passes its caller's address on, as one more argument in the register (or on
/// the stack) that comes next. With `none` there is no place for it, and what it gets is nothing.
macro_rules! hook {
    ($place:tt; $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $caller:ident $body:block) => {
        #[cfg_attr(interpose, unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn run($($argument: $type,)* $caller: usize) -> $result $body
            crate::call::pass!($place, run)
        }
    };
}

macro_rules! pass {
    (stack, $run:ident) => {
        core::arch::naked_asm!("push qword ptr [rsp]", "call {run}", "add rsp, 8", "ret", run = sym $run)
    };
    (none, $run:ident) => {
        core::arch::naked_asm!("jmp {run}", run = sym $run)
    };
    ($register:ident, $run:ident) => {
        core::arch::naked_asm!(concat!("mov ", stringify!($register), ", qword ptr [rsp]"), "jmp {run}", run = sym $run)
    };
}

pub(crate) use {hook, pass};

/// The connection with this address. One that was opened unseen is entered now.
///
/// # Safety
/// `t` is this thread's own, the connection is open.
pub unsafe fn connection_of(t: *mut Thread, db: P, caller: usize) -> *mut Connection {
    let known = table::connection(db);
    if !known.is_null() || db.is_null() || !is_on() {
        return known;
    }
    let real = real::of_caller(caller);
    if real.is_null() {
        return core::ptr::null_mut();
    }
    let unseen = Opening { rc: OK, flags: OPENED_UNSEEN, t0: ticks(), duration: 0, file: (0, 0) };
    opened(t, &*real, db, &unseen)
}

/// How a connection was opened.
pub struct Opening {
    pub rc: c_int,
    pub flags: u32,
    pub t0: u64,
    pub duration: u64,
    /// Device and inode, zeros where the file had no content.
    pub file: (u64, u64),
}

/// Enters a connection and writes it down.
///
/// # Safety
/// `t` is this thread's own, the connection is open and not entered.
pub unsafe fn opened(t: *mut Thread, real: &Real, db: P, opening: &Opening) -> *mut Connection {
    let Opening { rc, flags, t0, duration, file } = *opening;
    let _errno = sys::Errno::keep();
    let connection = table::add_connection(db, new_id(), real);
    if connection.is_null() {
        return connection;
    }
    write_library(t, real);
    let path = if rc == OK { sys::bytes((real.db_filename)(db, c"main".as_ptr())) } else { &[] };
    let length = (path.len() as u64, (*connection).id);
    let place = with_text(t, (kind::OPEN, 0, 0), (length.1, t0), record::OPEN_BYTES, &[path, b"\0"]);
    if !place.is_null() {
        put(place, record::DURATION, duration);
        put(place, record::OPEN_RC, rc);
        put(place, record::OPEN_FLAGS, flags);
        put(place, record::OPEN_DEVICE, file.0);
        put(place, record::OPEN_INODE, file.1);
        put(place, record::OPEN_LIBRARY, real.number);
        commit(t, (record::OPEN_BYTES + path.len() + 1).next_multiple_of(8));
    }
    connection
}

/// The library a connection belongs to, once for each thread's segment chain.
///
/// # Safety
/// `t` is this thread's own.
unsafe fn write_library(t: *mut Thread, real: &Real) {
    let version = sys::bytes((real.libversion)());
    let length = version.len() as u64;
    let place = with_text(t, (kind::LIBRARY, 0, 0), (real.number, length), record::HEAD, &[version]);
    if !place.is_null() {
        commit(t, (record::HEAD + version.len()).next_multiple_of(8));
    }
}
