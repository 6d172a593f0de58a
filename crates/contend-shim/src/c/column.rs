//! Columns of a row. The columns of a server's row are those of a SQLite statement with the same values, so that
//! SQLite itself converts them.

use super::hook::hook;
use super::prepare::outer;
use super::real::{Real, of_caller};
use contend_interpose::P;
use std::ffi::{c_int, c_void};

/// The SQLite and the statement that have the columns.
pub fn of(handle: P, caller: usize) -> Option<(&'static Real, P)> {
    match outer(handle, caller) {
        Some(statement) => {
            let row = statement.row().map_or(handle, |row| row as P);
            Some((statement.connection.front.real, row))
        }
        None => of_caller(caller).map(|real| (real, handle)),
    }
}

macro_rules! columns {
    ($($name:ident, $call:ident, $type:ty, $none:expr;)*) => {
        $(hook!(rdx; $name(handle: P, column: c_int) -> $type, caller {
            of(handle, caller).map_or($none, |(real, row)| (real.$call)(row, column))
        });)*
    };
}

columns! {
    sqlite3_column_blob, column_blob, *const c_void, std::ptr::null();
    sqlite3_column_bytes, column_bytes, c_int, 0;
    sqlite3_column_bytes16, column_bytes16, c_int, 0;
    sqlite3_column_double, column_double, f64, 0.0;
    sqlite3_column_int, column_int, c_int, 0;
    sqlite3_column_int64, column_int64, i64, 0;
    sqlite3_column_text, column_text, *const c_void, std::ptr::null();
    sqlite3_column_text16, column_text16, *const c_void, std::ptr::null();
    sqlite3_column_type, column_type, c_int, 5;
    sqlite3_column_value, column_value, P, std::ptr::null_mut();
}

hook!(rsi; sqlite3_data_count(handle: P) -> c_int, caller {
    of(handle, caller).map_or(0, |(real, row)| (real.data_count)(row))
});
