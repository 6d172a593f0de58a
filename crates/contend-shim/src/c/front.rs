//! SQLite with a database in memory: the front, which has the schema without rows, and the carrier of the server's
//! rows.

use super::real::Real;
use super::{DONE, OK, ROW, SCHEMA};
use crate::value::Value;
use contend_interpose::P;
use contend_wire::kept::literal;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64};

/// An error as SQLite reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The extended code: its lowest byte is the primary code.
    pub code: i32,
    pub message: String,
}

impl Failed {
    pub fn new(code: i32, message: impl Into<String>) -> Failed {
        Failed { code, message: message.into() }
    }

    /// Another connection changes the schema again and again, or a statement does not fit it any more.
    pub fn outdated() -> Failed {
        Failed::new(SCHEMA, "database schema has changed")
    }
}

/// A connection to SQLite.
#[derive(Clone, Copy)]
pub struct Front {
    pub real: &'static Real,
    /// Address of the `sqlite3`.
    pub db: usize,
}

/// A statement that is finalized when dropped.
pub struct Own {
    front: Front,
    statement: usize,
}

/// SQLITE_TRANSIENT: SQLite copies the bound value.
const TRANSIENT: P = usize::MAX as P;
const READ_WRITE_CREATE: c_int = 6;
const FULL_MUTEX: c_int = 0x1_0000;

impl Front {
    /// A database of this library, for rows. Threads use it at the same time, each with its own statement.
    pub fn private(real: &'static Real) -> Option<Front> {
        let mut db: P = null_mut();
        // SAFETY: the arguments are as documented.
        let rc = unsafe { (real.open_v2)(c":memory:".as_ptr(), &raw mut db, READ_WRITE_CREATE | FULL_MUTEX, null()) };
        (rc == OK).then_some(Front { real, db: db as usize })
    }

    pub fn close(self) {
        // SAFETY: the connection is open, and no other thread uses it.
        unsafe { (self.real.close_v2)(self.db as P) };
    }

    /// The error of SQLite's last call.
    pub fn failed(&self) -> Failed {
        // SAFETY: the connection is open; the text lives until the next call.
        unsafe {
            let code = (self.real.extended_errcode)(self.db as P);
            let message = CStr::from_ptr((self.real.errmsg)(self.db as P));
            Failed { code, message: message.to_string_lossy().into_owned() }
        }
    }

    /// # Errors
    /// SQLite rejects the text.
    pub fn prepare(&self, sql: &str) -> Result<Own, Failed> {
        let mut statement: P = null_mut();
        let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        // SAFETY: the text is as long as said.
        let rc = unsafe {
            (self.real.prepare_v2)(self.db as P, sql.as_ptr().cast(), length, &raw mut statement, null_mut())
        };
        if rc != OK {
            return Err(self.failed());
        }
        Ok(Own { front: *self, statement: statement as usize })
    }

    /// # Errors
    /// SQLite rejects the text or its execution.
    pub fn rows(&self, sql: &str) -> Result<Vec<Vec<Value>>, Failed> {
        self.prepare(sql)?.all(&[])
    }

    /// # Errors
    /// As for [`Front::rows`].
    pub fn execute(&self, sql: &str) -> Result<(), Failed> {
        self.rows(sql).map(drop)
    }

    /// Whether no transaction is open.
    pub fn is_autocommit(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { (self.real.get_autocommit)(self.db as P) != 0 }
    }

    /// Whether a table of the database has a column.
    ///
    /// # Errors
    /// As for [`Front::rows`].
    pub fn has_column(&self, table: &str, column: &str) -> Result<bool, Failed> {
        let [table, column] = [table, column].map(contend_wire::kept::literal);
        let sql = format!("SELECT 1 FROM pragma_table_xinfo({table}, 'main') WHERE name = {column}");
        Ok(!self.rows(&sql)?.is_empty())
    }

    /// Whether a PRAGMA of this connection is on, such as `foreign_keys`.
    pub fn has_on(&self, pragma: &str) -> bool {
        self.rows(&format!("PRAGMA {pragma}")).is_ok_and(|rows| rows == [[Value::Integer(1)]])
    }

    /// `PRAGMA foreign_keys` of this connection. Not by a statement, which an interrupt would stop.
    pub fn has_keys_on(&self) -> bool {
        const ENABLE_FKEY: c_int = 1002;
        let mut is_on: c_int = 0;
        let asks = usize::MAX as P;
        // SAFETY: the arguments are as documented: -1 asks, and the answer is an int.
        unsafe { (self.real.db_config)(self.db as P, ENABLE_FKEY, asks, (&raw mut is_on).cast(), null_mut()) };
        is_on == 1
    }

    pub fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { (self.real.last_insert_rowid)(self.db as P) }
    }

    pub fn set_last_insert_rowid(&self, rowid: i64) {
        // SAFETY: the connection is open.
        unsafe { (self.real.set_last_insert_rowid)(self.db as P, rowid) }
    }

    /// Rows changed by the last statement that SQLite itself executed.
    pub fn changes(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { i64::from((self.real.changes)(self.db as P)) }
    }

    /// Defines functions for facts that only this library has: `contend_raise(code, message)` fails, which sets
    /// SQLite's own `sqlite3_errcode` and `sqlite3_errmsg`; `changes()` and `total_changes()` count rows of the
    /// server.
    pub fn define(&self, counts: &Arc<Counts>) {
        self.function(c"contend_raise", 2, raise, counts);
        self.function(c"changes", 0, changes, counts);
        self.function(c"total_changes", 0, total_changes, counts);
    }

    /// Raises an error through `contend_raise`. The text has no parameters, because a program may limit their number
    /// to 0.
    pub fn say(&self, failed: &Failed) -> i32 {
        let message = literal(&failed.message.replace('\0', ""));
        match self.prepare(&format!("SELECT contend_raise({}, {message})", failed.code)) {
            Ok(raise) => raise.step(),
            Err(_) => failed.code & 0xff,
        }
    }

    fn function(
        &self,
        name: &CStr,
        arguments: c_int,
        call: unsafe extern "C" fn(P, c_int, *mut P),
        counts: &Arc<Counts>,
    ) {
        const UTF8: c_int = 1;
        let data = Arc::into_raw(Arc::clone(counts)).cast_mut().cast();
        let create = self.real.create_function_v2;
        // SAFETY: SQLite calls `let_go` once, when it drops the function.
        unsafe {
            create(self.db as P, name.as_ptr(), arguments, UTF8, data, Some(call), None, null_mut(), let_go as P);
        }
    }
}

/// Counts of rows changed by statements of a connection.
#[derive(Default)]
pub struct Counts {
    pub last: AtomicI64,
    pub total: AtomicI64,
    /// Whether triggers or foreign keys change further rows, which the server does not count.
    pub is_partial: AtomicBool,
    /// Statements of the server that have begun and not ended.
    pub active: AtomicI64,
}

thread_local! {
    /// The SQLite whose functions callbacks must use.
    static INSIDE: Cell<Option<&'static Real>> = const { Cell::new(None) };
}

/// Notes the SQLite whose call begins.
pub fn enter(real: &'static Real) {
    INSIDE.set(Some(real));
}

unsafe extern "C" fn raise(context: P, _: c_int, arguments: *mut P) {
    let Some(real) = INSIDE.get() else { return };
    let code = (real.value_int64)(*arguments);
    let text = (real.value_text)(*arguments.add(1));
    (real.result_error)(context, text, -1);
    (real.result_error_code)(context, code as c_int);
}

unsafe extern "C" fn changes(context: P, _: c_int, _: *mut P) {
    let Some(real) = INSIDE.get() else { return };
    let counts = (real.user_data)(context).cast::<Counts>();
    (real.result_int64)(context, (*counts).last.load(Relaxed));
}

unsafe extern "C" fn total_changes(context: P, _: c_int, _: *mut P) {
    let Some(real) = INSIDE.get() else { return };
    let counts = (real.user_data)(context).cast::<Counts>();
    if (*counts).is_partial.load(Relaxed) {
        const WHY: &CStr =
            c"contend shim: total_changes() counts what triggers and foreign keys change, which no server reports";
        return (real.result_error)(context, WHY.as_ptr(), -1);
    }
    (real.result_int64)(context, (*counts).total.load(Relaxed));
}

unsafe extern "C" fn let_go(counts: P) {
    drop(Arc::from_raw(counts.cast::<Counts>().cast_const()));
}

impl Own {
    pub fn address(&self) -> usize {
        self.statement
    }

    /// Names of its columns.
    pub fn names(&self) -> Vec<String> {
        // SAFETY: the statement is not finalized.
        unsafe { names(self.front.real, self.statement as P) }
    }

    /// Binds values, and returns all rows.
    ///
    /// # Errors
    /// SQLite's.
    pub fn all(&self, values: &[Value]) -> Result<Vec<Vec<Value>>, Failed> {
        let (mut rows, mut code) = (vec![], self.put(values));
        while code == ROW {
            rows.push(self.row());
            code = self.step();
        }
        if code == DONE { Ok(rows) } else { Err(self.front.failed()) }
    }

    fn step(&self) -> i32 {
        enter(self.front.real);
        // SAFETY: the statement is not finalized.
        unsafe { (self.front.real.step)(self.statement as P) }
    }

    fn row(&self) -> Vec<Value> {
        // SAFETY: the statement is at a row.
        unsafe {
            let count = (self.front.real.column_count)(self.statement as P);
            (0..count).map(|i| value(self.front.real, (self.front.real.column_value)(self.statement as P, i))).collect()
        }
    }

    /// Binds values, and steps: the code that comes of it.
    pub fn put(&self, values: &[Value]) -> i32 {
        let (real, statement) = (self.front.real, self.statement as P);
        // SAFETY: SQLite copies its arguments.
        unsafe {
            (real.reset)(statement);
            for (i, value) in (1..).zip(values) {
                match value {
                    Value::Null => (real.bind_null)(statement, i),
                    Value::Integer(n) => (real.bind_int64)(statement, i, *n),
                    Value::Real(r) => (real.bind_double)(statement, i, *r),
                    Value::Text(b) => (real.bind_text64)(statement, i, b.as_ptr().cast(), b.len() as u64, TRANSIENT, 1),
                    Value::Blob(b) => (real.bind_blob64)(statement, i, b.as_ptr().cast(), b.len() as u64, TRANSIENT),
                };
            }
        }
        self.step()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: nothing else finalizes it.
        unsafe { (self.front.real.finalize)(self.statement as P) };
    }
}

/// Names of a statement's columns.
///
/// # Safety
/// `statement` is a valid statement.
pub unsafe fn names(real: &Real, statement: P) -> Vec<String> {
    let name = |i| {
        let name = (real.column_name)(statement, i);
        if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    };
    (0..(real.column_count)(statement)).map(name).collect()
}

/// Converts a value of SQLite.
///
/// # Safety
/// `value` is a valid value.
pub unsafe fn value(real: &Real, value: P) -> Value {
    let bytes = |start: *const c_char| {
        let length = usize::try_from((real.value_bytes)(value)).unwrap_or(0);
        if start.is_null() { vec![] } else { std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec() }
    };
    match (real.value_type)(value) {
        1 => Value::Integer((real.value_int64)(value)),
        2 => Value::Real((real.value_double)(value)),
        3 => Value::Text(bytes((real.value_text)(value))),
        4 => Value::Blob(bytes((real.value_blob)(value))),
        _ => Value::Null,
    }
}
