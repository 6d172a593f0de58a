//! The macro for functions that replace SQLite's, and the connections that they are called with.

use crate::format::{OPENED_UNSEEN, kind, note as noted, record};
use crate::real::{self, Real};
use crate::segment::{commit, is_on, new_id, note, put, ticks, untracked, with_text};
use crate::sys::{self, P};
use crate::table::{self, Connection};
use crate::thread::Thread;
use core::ffi::{c_char, c_int};

pub type Name = *const c_char;
pub const OK: c_int = 0;

/// Defines a function with SQLite's name that passes its return address to `run` as one more argument, in the next
/// free register or on the stack. With `thread` there is no free place: the address is in the thread's data
/// ([`Thread::caller`]), and `run` gets no argument. While nothing is captured it jumps to SQLite's function
/// ([`crate::hooks::bypass`]). `tagged` is the entry for calls of a SQLite whose functions begin with a jump
/// ([`crate::linked_in`]): it adds `rax`, the number of that SQLite, to the return address.
macro_rules! hook {
    ($place:tt; $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $caller:ident $body:block) => {
        pub mod $name {
            #[allow(unused_imports, clippy::wildcard_imports)]
            use super::*;

            /// SQLite's function; NULL if each caller may have its own SQLite.
            pub static mut DIRECT: crate::sys::P = core::ptr::null_mut();

            /// # Safety
            /// As for SQLite's function.
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn run($($argument: $type,)* $caller: usize) -> $result $body

            /// # Safety
            /// As for SQLite's function.
            #[unsafe(naked)]
            pub unsafe extern "C" fn tagged() {
                crate::call::pass!(tagged $place, run)
            }
        }

        #[cfg_attr(interpose, unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            crate::call::pass!($place, $name::run, $name::DIRECT)
        }
    };
}

macro_rules! pass {
    (tagged stack, $run:path) => {
        core::arch::naked_asm!("or rax, qword ptr [rsp]", "push rax", "call {run}", "add rsp, 8", "ret", run = sym $run)
    };
    (tagged thread, $run:path) => {
        core::arch::naked_asm!(crate::thread::keep_caller!(), crate::thread::tag_caller!(), "jmp {run}", run = sym $run)
    };
    (tagged $register:ident, $run:path) => {
        core::arch::naked_asm!(
            "or rax, qword ptr [rsp]",
            concat!("mov ", stringify!($register), ", rax"),
            "jmp {run}",
            run = sym $run,
        )
    };
    (stack, $run:path, $direct:path) => {
        crate::call::pass!(@ $run, $direct, "push qword ptr [rsp]", "call {run}", "add rsp, 8", "ret")
    };
    (thread, $run:path, $direct:path) => {
        crate::call::pass!(@ $run, $direct, crate::thread::keep_caller!(), "jmp {run}")
    };
    ($register:ident, $run:path, $direct:path) => {
        crate::call::pass!(@ $run, $direct, concat!("mov ", stringify!($register), ", qword ptr [rsp]"), "jmp {run}")
    };
    (@ $run:path, $direct:path, $($line:expr),*) => {
        core::arch::naked_asm!(
            "mov rax, qword ptr [rip + {direct}]",
            "test rax, rax",
            "jz 2f",
            "jmp rax",
            "2:",
            $($line,)*
            run = sym $run,
            direct = sym $direct,
        )
    };
}

pub(crate) use {hook, pass};

/// The entry of the connection with this address. A connection that was opened unseen is added now. NULL if there is no
/// space, which is counted.
///
/// # Safety
/// `t` belongs to this thread, and the connection is open.
pub unsafe fn connection_of(t: *mut Thread, db: P, caller: usize) -> *mut Connection {
    let known = table::connection(db);
    if !known.is_null() || db.is_null() || !is_on() {
        return known;
    }
    let real = real::of_caller(caller);
    if real.is_null() {
        return core::ptr::null_mut();
    }
    let unseen = Opening { rc: OK, flags: OPENED_UNSEEN, t0: ticks(), duration: 0, file: (0, 0), name: &[] };
    let (connection, is_new) = table::known_or_added(db, new_id(), real);
    if is_new {
        write_opened(t, &*real, (db, connection), &unseen);
    }
    connection
}

/// Parameters of the opening of a connection.
pub struct Opening<'n> {
    pub rc: c_int,
    pub flags: u32,
    pub t0: u64,
    pub duration: u64,
    /// Device and inode; zeros if the file was empty or missing.
    pub file: (u64, u64),
    /// The name that was given. Parameters in it are not stored.
    pub name: &'n [u8],
}

/// Adds a connection that SQLite has just opened, and writes its record.
///
/// # Safety
/// `t` belongs to this thread, and no other thread has the connection yet.
pub unsafe fn opened(t: *mut Thread, real: &Real, db: P, opening: &Opening<'_>) {
    let connection = table::add_connection(db, new_id(), real);
    write_opened(t, real, (db, connection), opening);
}

/// Writes the record of a connection that was added; counts one for which there is no space.
unsafe fn write_opened(t: *mut Thread, real: &Real, (db, connection): (P, *mut Connection), opening: &Opening<'_>) {
    let Opening { rc, flags, t0, duration, file, name } = *opening;
    let _errno = sys::Errno::keep();
    if connection.is_null() {
        untracked(t);
        return;
    }
    write_library(t, real);
    let path = match rc {
        OK => sys::bytes((real.db_filename)(db, c"main".as_ptr())),
        _ => crate::text::without_parameters(name),
    };
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
}

/// Writes the record of a connection's library, once per thread.
///
/// # Safety
/// `t` belongs to this thread.
unsafe fn write_library(t: *mut Thread, real: &Real) {
    let version = sys::bytes((real.libversion)());
    let length = version.len() as u64;
    let place = with_text(t, (kind::LIBRARY, 0, 0), (real.number, length), record::HEAD, &[version]);
    if !place.is_null() {
        commit(t, (record::HEAD + version.len()).next_multiple_of(8));
    }
}

/// Records a setting each time, and a use of a feature once for each connection.
///
/// # Safety
/// `t` belongs to this thread, and the connection is open.
pub unsafe fn mark(t: *mut Thread, connection: *mut Connection, (kind, code): (u8, u16), number: i64) {
    let bit = if kind == kind::NOTE { 1 << code } else { 0 };
    if kind == kind::TIMEOUT {
        // It replaces the handler.
        (*connection).noted &= !(1 << noted::BUSY_HANDLER);
    }
    if bit == 0 || (*connection).noted & bit == 0 {
        (*connection).noted |= bit;
        note(t, (kind, 0, code), (*connection).id, ticks(), number);
    }
}
