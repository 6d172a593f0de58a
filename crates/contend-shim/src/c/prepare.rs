//! Prepares, steps, resets and finalizes statements.

use super::front::{Failed, enter, names};
use super::hook::{hook, is_utf8, text};
use super::real::{Real, Text, of_caller};
use super::{DONE, ERROR, MISUSE, OK, ROW};
use crate::connection::Connection;
use crate::does::{Does, does};
use crate::fault::BUSY_SNAPSHOT;
use crate::statement::{Native, Statement};
use crate::{journal, note, registry};
use contend_interpose::P;
use contend_wire::kept::literal;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

/// Shared by all forms of `prepare`; `call` leaves the statement at `out`.
pub unsafe fn prepared(db: P, caller: usize, out: *mut P, call: impl Fn(&Real) -> c_int) -> c_int {
    let Some(connection) = registry::connection(db as usize) else {
        return of_caller(caller).map_or(MISUSE, call);
    };
    let real = connection.front.real;
    enter(real);
    // Statements of SQLite itself, such as those of VACUUM.
    if real.holds(caller) || out.is_null() {
        return call(real);
    }
    let rc = prepared_for(&connection, out, &call);
    if rc != OK {
        count_error(&connection, rc, "");
    }
    rc
}

/// Counts an error that the program receives, by its extended code if it is that of SQLite's last call.
fn count_error(connection: &Connection, code: c_int, sql: &str) {
    let extended = connection.front.failed().code;
    let code = if extended & 0xff == code & 0xff { extended } else { code };
    let is_under_lock = code == BUSY_SNAPSHOT && connection.state().link.began_with_lock;
    journal::error(code, sql, is_under_lock);
}

unsafe fn prepared_for(connection: &Arc<Connection>, out: *mut P, call: &impl Fn(&Real) -> c_int) -> c_int {
    if let Err(failed) = connection.check_process() {
        *out = null_mut();
        return connection.raise(&failed);
    }
    let mut rc = noted(connection, out, call);
    if rc & 0xff == ERROR && (*out).is_null() {
        // A missing table may have been created by another process.
        let failed = connection.front.failed();
        let changed = connection.state().refresh(&connection.front);
        rc = match changed {
            Ok(true) => noted(connection, out, call),
            // SQLite's own error is still there, with the place in the text.
            Ok(false) if connection.front.failed() == failed => connection.has_failed(rc),
            Ok(false) => connection.raise(&failed),
            Err(failed) => connection.raise(&failed),
        };
    }
    rc
}

unsafe fn noted(connection: &Arc<Connection>, out: *mut P, call: &impl Fn(&Real) -> c_int) -> c_int {
    let real = connection.front.real;
    let epoch = connection.epoch(&connection.state());
    note::begin();
    let rc = call(real);
    let mut note = note::end();
    if rc != OK || (*out).is_null() {
        return rc;
    }
    if !is_utf8((real.sql)(*out)) {
        (real.finalize)(*out);
        *out = null_mut();
        return connection.raise(&Failed::new(ERROR, "contend shim: the statement is not in UTF-8"));
    }
    let sql = text((real.sql)(*out));
    let located = note.locate(&connection.front, &sql);
    let decided = located.and_then(|()| {
        let mut state = connection.state();
        let settled = state.settle(&connection.front);
        let objection = || connection.objection(&state, &sql, &note);
        let decided = does(&sql, &note, |name| state.has_table(name), objection);
        settled.and_then(|()| {
            // Statements without parameters are refused at once; others when their values are known.
            let is_whole = (real.bind_parameter_count)(*out) == 0;
            match (&decided, is_whole) {
                (Does::Server, true) => match state.plan(&sql) {
                    Err(refusal) if note.writes => Err(journal::refused(&sql, &refusal.to_string())),
                    _ => Ok(decided),
                },
                (Does::Refused(reason), _) => Err(journal::refused(&sql, reason)),
                _ => Ok(decided),
            }
        })
    });
    match decided.and_then(|decided| entered(connection, out, sql, (decided, epoch))) {
        Ok(()) => {
            // SQLite has set it already.
            if note.pragma.is_some_and(|(name, _)| name == "busy_timeout") {
                set_timeout(connection);
            }
            OK
        }
        Err(failed) => {
            (real.finalize)(*out);
            *out = null_mut();
            connection.raise(&failed)
        }
    }
}

/// Name and value of a PRAGMA that this library answers. As in SQLite, such a PRAGMA takes effect when it is prepared.
fn answered(connection: &Connection, sql: &str, decided: &Does) -> Result<Option<(String, String)>, Failed> {
    match decided {
        Does::Echo(name, word) => {
            let mut echoes = connection.echoes.lock().unwrap_or_else(PoisonError::into_inner);
            let sets = sql.contains(['=', '(']);
            let word = if sets { word } else { echoes.get(name).unwrap_or(word) }.clone();
            echoes.insert(name.clone(), word.clone());
            Ok(Some((name.clone(), word)))
        }
        Does::Library(name, value) => {
            let word = connection.state().of_library(&connection.front, name, value)?;
            Ok(Some((name.clone(), word)))
        }
        _ => Ok(None),
    }
}

/// Registers a statement, or its substitute.
unsafe fn entered(
    connection: &Arc<Connection>,
    out: *mut P,
    sql: String,
    (decided, epoch): (Does, u64),
) -> Result<(), Failed> {
    let real = connection.front.real;
    if let Some((name, word)) = answered(connection, &sql, &decided)? {
        let answer = format!("SELECT {} AS {name}\0", literal(&word));
        (real.finalize)(*out);
        *out = null_mut();
        if (real.prepare_v2)(connection.front.db as P, answer.as_ptr().cast(), -1, out, null_mut()) != OK {
            return Err(connection.front.failed());
        }
    }
    let is_readonly = (real.stmt_readonly)(*out) != 0;
    let statement = Statement::new(Arc::clone(connection), sql, decided, (is_readonly, epoch));
    registry::enter_statement(*out as usize, Arc::new(statement));
    Ok(())
}

hook!(r9; sqlite3_prepare(db: P, sql: Text, length: c_int, out: *mut P, tail: *mut Text) -> c_int, caller {
    // Only the newer forms keep the text.
    match registry::connection(db as usize) {
        Some(_) => prepared(db, caller, out, |real| (real.prepare_v2)(db, sql, length, out, tail)),
        None => of_caller(caller).map_or(MISUSE, |real| (real.prepare)(db, sql, length, out, tail)),
    }
});
hook!(r9; sqlite3_prepare_v2(db: P, sql: Text, length: c_int, out: *mut P, tail: *mut Text) -> c_int, caller {
    prepared(db, caller, out, |real| (real.prepare_v2)(db, sql, length, out, tail))
});
hook!(stack; sqlite3_prepare_v3(db: P, sql: Text, length: c_int, flags: u32, out: *mut P, tail: *mut Text) -> c_int, caller {
    prepared(db, caller, out, |real| (real.prepare_v3)(db, sql, length, flags, out, tail))
});
hook!(r9; sqlite3_prepare16(db: P, sql: Text, length: c_int, out: *mut P, tail: *mut Text) -> c_int, caller {
    match registry::connection(db as usize) {
        Some(_) => prepared(db, caller, out, |real| (real.prepare16_v2)(db, sql, length, out, tail)),
        None => of_caller(caller).map_or(MISUSE, |real| (real.prepare16)(db, sql, length, out, tail)),
    }
});
hook!(r9; sqlite3_prepare16_v2(db: P, sql: Text, length: c_int, out: *mut P, tail: *mut Text) -> c_int, caller {
    prepared(db, caller, out, |real| (real.prepare16_v2)(db, sql, length, out, tail))
});
hook!(stack; sqlite3_prepare16_v3(db: P, sql: Text, length: c_int, flags: u32, out: *mut P, tail: *mut Text) -> c_int, caller {
    prepared(db, caller, out, |real| (real.prepare16_v3)(db, sql, length, flags, out, tail))
});

/// A registered statement, unless SQLite itself is the caller.
pub fn outer(handle: P, caller: usize) -> Option<Arc<Statement>> {
    registry::statement(handle as usize).filter(|statement| !statement.connection.front.real.holds(caller))
}

/// A step of a registered statement.
pub unsafe fn step(statement: &Statement, handle: P) -> c_int {
    let code = stepped(statement, handle);
    if ![ROW, DONE].contains(&code) {
        count_error(&statement.connection, code, &statement.sql);
    }
    code
}

unsafe fn stepped(statement: &Statement, handle: P) -> c_int {
    let real = statement.connection.front.real;
    enter(real);
    if statement.is_native() {
        return step_in_front(statement, handle);
    }
    let native = || {
        let code = (real.step)(handle);
        (real.reset)(handle);
        code
    };
    let expanded = || {
        let expanded = (real.expanded_sql)(handle);
        let sql = (!expanded.is_null()).then(|| text(expanded));
        (real.free)(expanded.cast());
        sql
    };
    let columns = || usize::try_from((real.column_count)(handle)).unwrap_or(0);
    let names = || names(real, handle);
    let parameters = || usize::try_from((real.bind_parameter_count)(handle)).unwrap_or(0);
    statement.step(&Native {
        step: &native,
        expanded: &expanded,
        columns: &columns,
        names: &names,
        parameters: &parameters,
    })
}

/// What must be before a step in the front. One that may change the front keeps copies of rows out of it until its end.
fn enter_front(statement: &Statement, is_first: bool) -> Result<(), Failed> {
    let connection = &statement.connection;
    let mut state = connection.state();
    if !statement.is_readonly {
        state.check_copies()?;
    }
    state.tally.local += u64::from(is_first);
    if is_first && statement.does == Does::Schema {
        connection.check_process()?;
        state.refresh(&connection.front)?;
    }
    state.changing_steps += usize::from(!statement.is_readonly);
    Ok(())
}

unsafe fn step_in_front(statement: &Statement, handle: P) -> c_int {
    let connection = &statement.connection;
    let real = connection.front.real;
    if let Err(failed) = enter_front(statement, (real.stmt_busy)(handle) == 0) {
        return connection.raise(&failed);
    }
    note::begin();
    let code = (real.step)(handle);
    let mut note = note::end();
    if !statement.is_readonly {
        connection.state().changing_steps -= 1;
    }
    if ![ROW, DONE].contains(&code) && connection.check_process().is_ok() {
        connection.state().follow(&connection.front);
    }
    // SQLite has prepared the statement again, and it now reads rows that the front does not have.
    let is_rows = |(database, table): &(String, String)| database == "main" && connection.state().has_table(table);
    if [ROW, DONE].contains(&code)
        && (note.locate(&connection.front, &statement.sql).is_err() || note.tables.iter().any(is_rows))
    {
        (real.reset)(handle);
        return connection.raise(&Failed::outdated());
    }
    if code == DONE && ["CREATE", "ALTER", "DROP"].contains(&crate::does::first_word(&statement.sql).as_str()) {
        connection.state().front_changed();
    }
    if code == DONE && !statement.is_readonly && statement.does == Does::Local && is_change(&statement.sql) {
        let changed = connection.front.changes();
        connection.counts.last.store(changed, Relaxed);
        connection.counts.total.fetch_add(changed, Relaxed);
    }
    code
}

fn is_change(sql: &str) -> bool {
    ["INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"].contains(&crate::does::first_word(sql).as_str())
}

/// Sets the server's timeout to the front's.
fn set_timeout(connection: &Connection) {
    let rows = connection.front.rows("PRAGMA busy_timeout").unwrap_or_default();
    if let Some(crate::value::Value::Integer(ms)) = rows.first().and_then(|row| row.first()) {
        connection.state().link.set_timeout(i32::try_from(*ms).unwrap_or(i32::MAX));
    }
}

hook!(rsi; sqlite3_step(handle: P) -> c_int, caller {
    match outer(handle, caller) {
        Some(statement) => step(&statement, handle),
        None => of_caller(caller).map_or(MISUSE, |real| (real.step)(handle)),
    }
});

/// A reset of a registered statement.
pub unsafe fn reset(statement: &Statement, handle: P) -> c_int {
    let code = (statement.connection.front.real.reset)(handle);
    if statement.is_native() { code } else { statement.reset() }
}

hook!(rsi; sqlite3_reset(handle: P) -> c_int, caller {
    match outer(handle, caller) {
        Some(statement) => reset(&statement, handle),
        None => of_caller(caller).map_or(MISUSE, |real| (real.reset)(handle)),
    }
});

/// Finalizes a registered statement.
pub unsafe fn finalize(statement: &Statement, handle: P) -> c_int {
    registry::remove_statement(handle as usize);
    let finalize = statement.connection.front.real.finalize;
    if statement.is_native() {
        return finalize(handle);
    }
    // The error is raised first: finalizing the last statement of a closed connection frees the connection.
    let code = statement.reset();
    finalize(handle);
    code
}

hook!(rsi; sqlite3_finalize(handle: P) -> c_int, caller {
    match outer(handle, caller) {
        Some(statement) => finalize(&statement, handle),
        None => of_caller(caller).map_or(MISUSE, |real| (real.finalize)(handle)),
    }
});

hook!(rsi; sqlite3_stmt_busy(handle: P) -> c_int, caller {
    match outer(handle, caller) {
        Some(statement) if !statement.is_native() => c_int::from(statement.is_active()),
        _ => of_caller(caller).map_or(0, |real| (real.stmt_busy)(handle)),
    }
});

/// A copy that the program frees with `sqlite3_free`.
pub unsafe fn copied(real: &Real, text: &[u8]) -> *mut c_char {
    let copy = (real.malloc64)(text.len() as u64 + 1).cast::<u8>();
    if !copy.is_null() {
        std::ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
        *copy.add(text.len()) = 0;
    }
    copy.cast()
}
