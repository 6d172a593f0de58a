//! The functions that replace SQLite's, including those for connections.

use crate::ask;
use crate::call::{Name, OK, Opening, hook, mark, opened};
use crate::format::{config, kind, note as noted, record};
use crate::loader::{self, Scope};
use crate::real::{self, Real};
use crate::segment::{commit, is_on, note, put, ticks, untracked, with_text};
use crate::statement::{Outside, exec};
use crate::sys::{self, Line, P};
use crate::table::{self, Connection};
use crate::thread::{Thread, enter, is_inner, leave, thread};
use core::ffi::{c_char, c_int, c_void};

unsafe fn open(out: *mut P, flags: u32, name: &[u8], caller: usize, call: impl FnOnce(&Real) -> c_int) -> c_int {
    let t = thread();
    let inner = is_inner(t, caller);
    let real = if inner { (*t).inside } else { real::of_caller(caller) };
    if real.is_null() {
        return 21;
    }
    if inner || !is_on() {
        return call(&*real);
    }
    let file = ask::keep_content(name);
    let t0 = ticks();
    let before = enter(t, real);
    let rc = call(&*real);
    leave(t, before);
    if !out.is_null() && !(*out).is_null() {
        opened(t, &*real, *out, &Opening { rc, flags, t0, duration: ticks() - t0, file, name });
    }
    rc
}

hook!(rdx; sqlite3_open(name: Name, out: *mut P) -> c_int, caller {
    const READ_WRITE_CREATE: u32 = 6;
    open(out, READ_WRITE_CREATE, sys::bytes(name), caller, |real| (real.open)(name, out))
});

hook!(r8; sqlite3_open_v2(name: Name, out: *mut P, flags: c_int, vfs: Name) -> c_int, caller {
    open(out, flags as u32, sys::bytes(name), caller, |real| (real.open_v2)(name, out, flags, vfs))
});

hook!(rdx; sqlite3_open16(name: *const c_void, out: *mut P) -> c_int, caller {
    let mut path = Line::<1100>::new();
    if !name.is_null() {
        let raw = core::slice::from_raw_parts(name.cast(), crate::bind::bytes_of_utf16(name.cast(), -1));
        crate::bind::utf8(raw, false, |byte| { path.text(&[byte]); });
    }
    open(out, 6, path.as_bytes(), caller, |real| (real.open16)(name, out))
});

unsafe fn close(db: P, caller: usize, call: impl FnOnce(&Real) -> c_int) -> c_int {
    let t = thread();
    let connection = table::connection(db);
    if connection.is_null() || is_inner(t, caller) {
        let real = if is_inner(t, caller) { (*t).inside } else { real::of_caller(caller) };
        return if real.is_null() { OK } else { call(&*real) };
    }
    let (id, real) = ((*connection).id, (*connection).real);
    table::closes(connection);
    let t0 = ticks();
    let before = enter(t, real);
    let rc = call(&*real);
    leave(t, before);
    table::closed(connection, rc == OK);
    if rc == OK {
        note(t, (kind::CLOSE, 0, 0), id, t0, (ticks() - t0) as i64);
    }
    rc
}

hook!(rsi; sqlite3_close(db: P) -> c_int, caller {
    close(db, caller, |real| (real.close)(db))
});

hook!(rsi; sqlite3_close_v2(db: P) -> c_int, caller {
    close(db, caller, |real| (real.close_v2)(db))
});

/// A callback of the program, and what happened in it.
struct Callback {
    call: unsafe extern "C" fn(P, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int,
    argument: P,
    db: P,
    total_changes: unsafe extern "C" fn(P) -> c_int,
    outside: Outside,
}

unsafe extern "C" fn count_row(data: P, columns: c_int, values: *mut *mut c_char, names: *mut *mut c_char) -> c_int {
    let callback = &mut *data.cast::<Callback>();
    let t = thread();
    // Calls made by the callback belong to the program.
    let (depth, inside) = ((*t).depth, (*t).inside);
    (*t).depth = 0;
    let (begun, waited, total) = (ticks(), (*t).waited, (callback.total_changes)(callback.db));
    let rc = (callback.call)(callback.argument, columns, values, names);
    ((*t).depth, (*t).inside) = (depth, inside);
    let outside = &mut callback.outside;
    outside.rows += 1;
    outside.ticks += ticks() - begun;
    outside.waited += (*t).waited - waited;
    outside.changes = outside.changes.wrapping_add((callback.total_changes)(callback.db).wrapping_sub(total));
    rc
}

hook!(r9; sqlite3_exec(db: P, sql: Name, call: P, argument: P, message: *mut P) -> c_int, caller {
    exec(db, sql, caller, |real, outside| {
        if call.is_null() {
            return (real.exec)(db, sql, call, argument, message);
        }
        let mut callback = Callback { call: core::mem::transmute::<P, unsafe extern "C" fn(P, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int>(call), argument, db, total_changes: real.total_changes, outside: Outside::default() };
        let rc = (real.exec)(db, sql, count_row as *mut c_void, (&raw mut callback).cast(), message);
        *outside = callback.outside;
        rc
    })
});

hook!(stack; sqlite3_get_table(db: P, sql: Name, cells: *mut P, lines: *mut c_int, columns: *mut c_int, message: *mut P) -> c_int, caller {
    exec(db, sql, caller, |real, outside| {
        let mut own = 0;
        let lines = if lines.is_null() { &raw mut own } else { lines };
        let rc = (real.get_table)(db, sql, cells, lines, columns, message);
        outside.rows = (*lines).max(0) as u64;
        rc
    })
});

/// Passes a call on, and records a note about it: a setting each time, a use of a feature once for each connection.
unsafe fn passed<T>(db: P, caller: usize, tag: (u8, u16), number: i64, call: impl FnOnce(&Real) -> T) -> Option<T> {
    passed_on(db, caller, |t, connection| mark(t, connection, tag, number), call)
}

/// Passes a call on, after `record` has made its records.
unsafe fn passed_on<T>(
    db: P,
    caller: usize,
    record: impl FnOnce(*mut Thread, *mut Connection),
    call: impl FnOnce(&Real) -> T,
) -> Option<T> {
    let t = thread();
    let inner = is_inner(t, caller);
    let connection = if inner { core::ptr::null_mut() } else { table::connection(db) };
    let real = match (inner, connection.is_null()) {
        (true, _) => (*t).inside,
        (false, true) => real::of_caller(caller),
        (false, false) => (*connection).real,
    };
    if real.is_null() {
        return None;
    }
    if !connection.is_null() {
        record(t, connection);
    } else if !inner && !db.is_null() && is_on() {
        untracked(t);
    }
    let before = enter(t, real);
    let result = call(&*real);
    leave(t, before);
    Some(result)
}

hook!(rdx; sqlite3_busy_timeout(db: P, ms: c_int) -> c_int, caller {
    let tag = (kind::TIMEOUT, 0);
    passed(db, caller, tag, i64::from(ms), |real| (real.busy_timeout)(db, ms)).unwrap_or(21)
});

hook!(rcx; sqlite3_busy_handler(db: P, handler: P, argument: P) -> c_int, caller {
    // Without a handler no call waits.
    let tag = if handler.is_null() { (kind::TIMEOUT, 0) } else { (kind::NOTE, noted::BUSY_HANDLER) };
    passed(db, caller, tag, 0, |real| (real.busy_handler)(db, handler, argument)).unwrap_or(21)
});

/// The PRAGMA as which a call of `sqlite3_db_config` is recorded; empty if it only asks, or has no effect on results. `None` for
/// an option that is not known.
unsafe fn pragma(db: P, option: c_int, value: c_int) -> Option<Line<64>> {
    let mut text = Line::new();
    if config::OTHERS.contains(&option) {
        return Some(text);
    }
    let (_, name) = config::ALL.iter().find(|(known, _)| *known == option)?;
    let connection = table::connection(db);
    let is_outside = !connection.is_null() && ((*(*connection).real).get_autocommit)(db) != 0;
    let name = if option == config::ENABLE_FKEY && is_outside { config::FOREIGN_KEYS } else { name };
    if value >= 0 {
        text.text(b"PRAGMA ").text(name.as_bytes()).text(b" = ").number(u64::from(value != 0));
    }
    Some(text)
}

// It is variadic: no option has more than three arguments, and none has one in another kind of register.
hook!(r9; sqlite3_db_config(db: P, option: c_int, first: usize, second: usize, third: usize) -> c_int, caller {
    let call = |real: &Real| (real.db_config)(db, option, first, second, third);
    match pragma(db, option, first as c_int) {
        Some(text) => {
            let sql = if text.as_bytes().is_empty() { core::ptr::null() } else { text.as_ptr() };
            exec(db, sql, caller, |real, _| call(real))
        }
        None => passed(db, caller, (kind::NOTE, noted::CONFIG), 0, call).unwrap_or(21),
    }
});

hook!(r8; sqlite3_backup_init(to: P, to_name: Name, from: P, from_name: Name) -> P, caller {
    let tag = (kind::NOTE, noted::BACKUP);
    passed(to, caller, tag, 0, |real| (real.backup_init)(to, to_name, from, from_name)).unwrap_or(core::ptr::null_mut())
});

hook!(stack; sqlite3_deserialize(db: P, schema: Name, data: P, size: i64, room: i64, flags: u32) -> c_int, caller {
    let tag = (kind::NOTE, noted::DESERIALIZE);
    passed(db, caller, tag, size, |real| (real.deserialize)(db, schema, data, size, room, flags)).unwrap_or(21)
});

hook!(r8; sqlite3_load_extension(db: P, file: Name, entry: Name, message: *mut P) -> c_int, caller {
    let t = thread();
    let connection = if is_inner(t, caller) { core::ptr::null_mut() } else { table::connection(db) };
    let real = match (is_inner(t, caller), connection.is_null()) {
        (true, _) => (*t).inside,
        (false, true) => real::of_caller(caller),
        (false, false) => (*connection).real,
    };
    if real.is_null() {
        return 21;
    }
    let before = enter(t, real);
    let rc = ((*real).load_extension)(db, file, entry, message);
    leave(t, before);
    if rc == OK && !connection.is_null() {
        mark(t, connection, (kind::NOTE, noted::EXTENSION), 0);
    }
    rc
});

hook!(thread; sqlite3_blob_open(db: P, schema: Name, of: Name, column: Name, row: i64, flags: c_int, out: *mut P) -> c_int, _nothing {
    let tag = (kind::NOTE, noted::BLOB);
    let caller = (*thread()).caller;
    // The row's number is a value of the user.
    passed(db, caller, tag, 0, |real| (real.blob_open)(db, schema, of, column, row, flags, out)).unwrap_or(21)
});

hook!(rcx; sqlite3_set_authorizer(db: P, call: P, argument: P) -> c_int, caller {
    let run = |real: &Real| (real.set_authorizer)(db, call, argument);
    // One that is taken away changes nothing more.
    match call.is_null() {
        true => passed_on(db, caller, |_, _| (), run).unwrap_or(21),
        false => passed(db, caller, (kind::NOTE, noted::AUTHORIZER), 0, run).unwrap_or(21),
    }
});

hook!(rdx; sqlite3_set_last_insert_rowid(db: P, rowid: i64) -> (), caller {
    // The number is a value of the user.
    passed(db, caller, (kind::NOTE, noted::ROWID), 0, |real| (real.set_last_insert_rowid)(db, rowid)).unwrap_or(())
});

hook!(rcx; sqlite3_limit(db: P, which: c_int, value: c_int) -> c_int, caller {
    let run = |real: &Real| (real.limit)(db, which, value);
    match value < 0 {
        true => passed_on(db, caller, |_, _| (), run).unwrap_or(-1),
        false => passed(db, caller, (kind::NOTE, noted::LIMIT), 0, run).unwrap_or(-1),
    }
});

/// A name of something that a program defines.
trait Defined {
    fn utf8(self) -> Name;
}

impl Defined for Name {
    fn utf8(self) -> Name {
        self
    }
}

/// A name in UTF-16 is not recorded.
impl Defined for P {
    fn utf8(self) -> Name {
        core::ptr::null()
    }
}

/// Records the name of something that the program defines.
unsafe fn note_name(t: *mut Thread, connection: *mut Connection, name: Name) {
    let name = sys::bytes(name);
    let tag = (kind::NOTE, 0, noted::FUNCTION);
    let place = with_text(t, tag, ((*connection).id, ticks()), record::NUMBER_BYTES, &[name]);
    if !place.is_null() {
        put(place, record::NUMBER, name.len() as u64);
        commit(t, (record::NUMBER_BYTES + name.len()).next_multiple_of(8));
    }
}

/// Functions that give a connection something of the program's own, which a replay does not have.
macro_rules! defining {
    ($($name:ident $real:ident (name: $form:ty $(, $argument:ident: $type:ty)*);)*) => {$(
        hook!(thread; $name(db: P, name: $form $(, $argument: $type)*) -> c_int, _nothing {
            let caller = (*thread()).caller;
            let note = |t, connection| note_name(t, connection, name.utf8());
            passed_on(db, caller, note, |real| (real.$real)(db, name $(, $argument)*)).unwrap_or(21)
        });
    )*};
}

defining! {
    sqlite3_create_function create_function (name: Name, count: c_int, code: c_int, own: P, call: P, step: P, last: P);
    sqlite3_create_function16 create_function16 (name: P, count: c_int, code: c_int, own: P, call: P, step: P, last: P);
    sqlite3_create_function_v2 create_function_v2 (name: Name, count: c_int, code: c_int, own: P, call: P, step: P, last: P, end: P);
    sqlite3_create_window_function create_window_function (name: Name, count: c_int, code: c_int, own: P, step: P, last: P, value: P, inverse: P, end: P);
    sqlite3_create_collation create_collation (name: Name, code: c_int, own: P, compare: P);
    sqlite3_create_collation16 create_collation16 (name: P, code: c_int, own: P, compare: P);
    sqlite3_create_collation_v2 create_collation_v2 (name: Name, code: c_int, own: P, compare: P, end: P);
    sqlite3_create_module create_module (name: Name, module: P, own: P);
    sqlite3_create_module_v2 create_module_v2 (name: Name, module: P, own: P, end: P);
}

macro_rules! by_name {
    ($($module:ident::$name:ident)*) => {
        /// The function that replaces SQLite's function of this name.
        pub fn by_name(name: &[u8]) -> Option<unsafe extern "C" fn()> {
            $(if name == stringify!($name).as_bytes() {
                return Some(crate::$module::$name);
            })*
            None
        }

        /// The same, for calls that bring the number of their SQLite ([`crate::linked_in`]).
        pub fn tagged_by_name(name: &[u8]) -> Option<unsafe extern "C" fn()> {
            $(if name == stringify!($name).as_bytes() {
                return Some(crate::$module::$name::tagged);
            })*
            None
        }

        /// While nothing is captured: if the program's own scope has a SQLite, which all callers use then, calls go to
        /// it directly.
        ///
        /// # Safety
        /// Before the program's own code, in its first thread.
        pub unsafe fn bypass() {
            let step = loader::find(&Scope::Next, c"sqlite3_step");
            if step.is_null() || loader::is_ours(step as usize) {
                return;
            }
            $(
                let name = core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes());
                crate::$module::$name::DIRECT = loader::find(&Scope::Next, name);
            )*
        }
    };
}

by_name! {
    hooks::sqlite3_open hooks::sqlite3_open_v2 hooks::sqlite3_open16 hooks::sqlite3_close hooks::sqlite3_close_v2
    hooks::sqlite3_exec hooks::sqlite3_get_table hooks::sqlite3_busy_timeout hooks::sqlite3_busy_handler
    hooks::sqlite3_db_config hooks::sqlite3_backup_init hooks::sqlite3_deserialize hooks::sqlite3_blob_open hooks::sqlite3_load_extension
    hooks::sqlite3_create_function hooks::sqlite3_create_function16 hooks::sqlite3_create_function_v2
    hooks::sqlite3_create_window_function hooks::sqlite3_create_collation hooks::sqlite3_create_collation16
    hooks::sqlite3_create_collation_v2 hooks::sqlite3_create_module hooks::sqlite3_create_module_v2
    hooks::sqlite3_set_authorizer hooks::sqlite3_set_last_insert_rowid hooks::sqlite3_limit
    statement::sqlite3_prepare statement::sqlite3_prepare_v2 statement::sqlite3_prepare_v3
    statement::sqlite3_prepare16 statement::sqlite3_prepare16_v2 statement::sqlite3_prepare16_v3
    statement::sqlite3_step statement::sqlite3_reset statement::sqlite3_finalize
    bind::sqlite3_clear_bindings bind::sqlite3_bind_null bind::sqlite3_bind_int bind::sqlite3_bind_int64
    bind::sqlite3_bind_double bind::sqlite3_bind_text bind::sqlite3_bind_text16 bind::sqlite3_bind_text64
    bind::sqlite3_bind_blob bind::sqlite3_bind_blob64 bind::sqlite3_bind_zeroblob bind::sqlite3_bind_zeroblob64
    bind::sqlite3_bind_pointer bind::sqlite3_bind_value bind::sqlite3_transfer_bindings
}
