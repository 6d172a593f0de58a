//! Scripts on PostgreSQL. A load is a `COPY ... FROM STDIN` in its text format.

use super::database::{Database, Rows, as_value, each_value};
use super::error::{LineError, LoadError, value_error};
use crate::postgres::crate_postgres::connect;
use crate::postgres::values::Cell;
use contend_wire::database;
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::script::Load;
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use std::fmt::Write as _;
use std::io::Write as _;

/// Bytes of rows that are sent at once.
const CHUNK: usize = 1 << 16;

/// A database of a PostgreSQL server.
pub(super) struct Postgres(Client);

impl Postgres {
    pub(super) fn open(database: &database::Database) -> Result<Self, LineError> {
        Ok(Self(connect(database)?))
    }
}

impl Database for Postgres {
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, LineError> {
        let mut found = vec![];
        let mut rows = self.0.query_raw(sql, std::iter::empty::<i32>())?;
        while let Some(row) = rows.next()? {
            let value = |column| as_value(row.try_get::<_, Cell<'_>>(column)?.0.map_err(value_error)?);
            let values = (0..row.len()).map(value).collect::<Result<_, _>>()?;
            found.push(values);
        }
        Ok(found)
    }

    fn load(&mut self, load: &Load, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError> {
        if load.group.is_some() || !load.placeholders.is_empty() {
            return Err(value_error("on PostgreSQL a `load` is a COPY ... FROM STDIN").into());
        }
        let mut copy = self.0.copy_in(&load.sql)?;
        let (mut text, mut scratch) = (String::with_capacity(2 * CHUNK), Scratch::default());
        while let Some(row) = rows.next_row() {
            each_value(row, &mut scratch, |i, value| {
                if i > 0 {
                    text.push('\t');
                }
                push(&mut text, value)
            })?;
            text.push('\n');
            if text.len() >= CHUNK {
                copy.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        copy.write_all(text.as_bytes())?;
        Ok(copy.finish()?)
    }
}

/// A value in the text format of COPY.
fn push(text: &mut String, value: ValueRef<'_>) -> Result<(), LineError> {
    let _ = match value {
        ValueRef::Null | ValueRef::TextRef(_) => write!(text, "\\N"),
        ValueRef::Integer(i) => write!(text, "{i}"),
        ValueRef::Real(r) => write!(text, "{r:?}"),
        ValueRef::Text(value) if value.contains('\0') => {
            return Err(value_error("a text with a NUL character, which PostgreSQL cannot store"));
        }
        ValueRef::Text(value) => {
            // The escapes of a script are those of COPY, except for NUL.
            contend_wire::literal::escape_into(text, value);
            Ok(())
        }
        ValueRef::Blob(bytes) => {
            text.push_str("\\\\x");
            bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))
        }
    };
    Ok(())
}
