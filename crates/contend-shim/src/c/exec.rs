//! `sqlite3_exec` and `sqlite3_get_table`: several statements, rows as texts.

use super::front::Failed;
use super::hook::hook;
use super::prepare::{copied, finalize, prepared, step};
use super::real::{Callback, Real, Text, of_caller};
use super::{ABORT, DONE, MISUSE, NOMEM, OK, ROW, column};
use crate::connection::Connection;
use crate::registry;
use contend_interpose::P;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};

/// Receives the texts of a row and the names of its columns; returns non-zero to stop.
type Each<'e> = dyn FnMut(&mut [*mut c_char], &mut [*mut c_char]) -> c_int + 'e;

/// Executes all statements of a text.
unsafe fn all(connection: &Connection, mut sql: Text, each: &mut Each<'_>) -> c_int {
    let front = connection.front;
    while !sql.is_null() && *sql != 0 {
        let (mut handle, mut tail): (P, Text) = (null_mut(), null());
        let (from, out, rest) = (sql, &raw mut handle, &raw mut tail);
        let code = prepared(front.db as P, 0, out, |real| (real.prepare_v2)(front.db as P, from, -1, out, rest));
        if code != OK {
            return code;
        }
        sql = tail;
        if handle.is_null() {
            continue;
        }
        let code = one(front.real, handle, each);
        if code != OK {
            return code;
        }
    }
    OK
}

unsafe fn one(real: &Real, handle: P, each: &mut Each<'_>) -> c_int {
    let Some(statement) = registry::statement(handle as usize) else { return MISUSE };
    let mut names: Vec<*mut c_char> = vec![];
    let mut code = step(&statement, handle);
    // The step may have prepared the statement again.
    let columns = (real.column_count)(handle);
    while code == ROW {
        if names.is_empty() {
            names = (0..columns).map(|i| (real.column_name)(handle, i).cast_mut()).collect();
        }
        let Some((real, row)) = column::of(handle, 0) else { return MISUSE };
        let mut texts: Vec<*mut c_char> = (0..columns).map(|i| (real.column_text)(row, i).cast_mut().cast()).collect();
        if each(&mut texts, &mut names) != 0 {
            finalize(&statement, handle);
            return statement.connection.raise(&Failed::new(ABORT, "query aborted"));
        }
        code = step(&statement, handle);
    }
    // Finalizing a failed statement returns its code and keeps SQLite's error message; not if SQLite has not stepped it.
    let failed = if code == DONE { OK } else { code & 0xff };
    match finalize(&statement, handle) {
        OK => failed,
        code => code,
    }
}

/// Passes an error message to the caller.
unsafe fn tell(connection: &Connection, code: c_int, message: *mut *mut c_char) -> c_int {
    if !message.is_null() {
        let failed = connection.front.failed();
        *message = if code == OK { null_mut() } else { copied(connection.front.real, failed.message.as_bytes()) };
    }
    code
}

hook!(r9; sqlite3_exec(db: P, sql: Text, call: Callback, argument: P, message: *mut *mut c_char) -> c_int, caller {
    let connection = match registry::connection(db as usize) {
        Some(connection) if !connection.front.real.holds(caller) => connection,
        _ => return of_caller(caller).map_or(MISUSE, |real| (real.exec)(db, sql, call, argument, message)),
    };
    let code = all(&connection, sql, &mut |texts, names| match call {
        None => 0,
        Some(call) => call(argument, texts.len() as c_int, texts.as_mut_ptr(), names.as_mut_ptr()),
    });
    tell(&connection, code, message)
});

hook!(stack; sqlite3_get_table(db: P, sql: Text, cells: *mut *mut *mut c_char, lines: *mut c_int, columns: *mut c_int, message: *mut *mut c_char) -> c_int, caller {
    let Some(connection) = registry::connection(db as usize) else {
        return of_caller(caller).map_or(MISUSE, |real| (real.get_table)(db, sql, cells, lines, columns, message));
    };
    let put = |rows, width| {
        for (place, number) in [(lines, rows), (columns, width)] {
            if !place.is_null() {
                *place = number;
            }
        }
    };
    *cells = null_mut();
    put(0, 0);
    let (mut table, mut rows, mut width): (Vec<Option<Vec<u8>>>, c_int, c_int) = (vec![], 0, 0);
    let code = all(&connection, sql, &mut |texts, names| {
        let copy = |text: &*mut c_char| (!text.is_null()).then(|| CStr::from_ptr(*text).to_bytes().to_vec());
        if table.is_empty() {
            width = names.len() as c_int;
            table.extend(names.iter().map(copy));
        }
        if width as usize != names.len() {
            return 1;
        }
        table.extend(texts.iter().map(copy));
        rows += 1;
        0
    });
    if code != OK {
        return tell(&connection, code, message);
    }
    put(rows, width);
    // `sqlite3_free_table` reads the number of cells before the first one.
    let real = connection.front.real;
    let made = (real.malloc64)((table.len() as u64 + 1) * 8).cast::<*mut c_char>();
    if made.is_null() {
        return NOMEM;
    }
    *made = (table.len() + 1) as *mut c_char;
    for (i, cell) in table.iter().enumerate() {
        *made.add(i + 1) = cell.as_ref().map_or(null_mut(), |cell| copied(real, cell));
    }
    *cells = made.add(1);
    tell(&connection, code, message)
});
