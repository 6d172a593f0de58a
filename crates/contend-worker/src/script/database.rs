//! A database as a script uses it, and the values and rows that go there and back.

use super::error::{LineError, LoadError, value_error};
use crate::argument::Argument;
use contend_wire::FormatError;
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::script::{Load, RawLine, RawRow, ScriptReader};

/// A connection that carries out scripts.
pub trait Database {
    /// Executes a statement and returns its rows.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, LineError>;

    /// Loads rows with a statement, in one transaction; returns their number.
    fn load(&mut self, load: &Load, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError>;
}

/// A value of a server's answer, for the reply.
pub fn as_value(cell: Argument<'_>) -> Result<Value, LineError> {
    Ok(match cell {
        Argument::Null => Value::Null,
        Argument::Integer(i) => Value::Integer(i),
        Argument::Real(r) if r.is_finite() => Value::Real(r),
        Argument::Real(r) => return Err(value_error(format!("{r} in the result"))),
        Argument::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        Argument::Blob(bytes) => Value::Blob(bytes.to_vec()),
    })
}

/// The rows of one load, and the line after them, which shows that they end. Rows are read from the text without
/// allocation.
pub struct Rows<'r, 'a> {
    pub reader: &'r mut ScriptReader<'a>,
    pub at: usize,
    pub pending: Option<Result<(usize, RawLine<'a>), FormatError>>,
}

impl<'a> Rows<'_, 'a> {
    pub fn next_row(&mut self) -> Option<RawRow<'a>> {
        match self.reader.next_raw()? {
            Ok((number, RawLine::Row(row))) => {
                self.at = number;
                Some(row)
            }
            other => {
                self.pending = Some(other);
                None
            }
        }
    }
}

/// Passes every value of a row to `each`; returns their number. A script has no table of texts.
pub fn each_value(
    mut row: RawRow<'_>,
    scratch: &mut Scratch,
    mut each: impl FnMut(usize, ValueRef<'_>) -> Result<(), LineError>,
) -> Result<usize, LoadError> {
    let mut count = 0;
    while let Some(value) = row.next_value(scratch) {
        match value? {
            ValueRef::TextRef(n) => return Err(value_error(format!("a script has no text {n}")).into()),
            value => each(count, value)?,
        }
        count += 1;
    }
    Ok(count)
}

/// Checks that a row has one value for every placeholder.
pub fn check_count(found: usize, places: usize) -> Result<(), LineError> {
    if found == places {
        return Ok(());
    }
    let more = if found > places { "more" } else { "fewer" };
    Err(value_error(format!("{more} values than the {places} placeholders of `load`")))
}
