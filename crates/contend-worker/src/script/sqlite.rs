//! Scripts on SQLite.

use super::database::{Database, Rows, check_count, each_value};
use super::error::{LineError, LoadError, value_error};
use crate::options::Options;
use crate::sqlite::open;
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::script::Load;
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::{Connection, Statement};

/// A SQLite database.
pub(super) struct Sqlite(Connection);

impl Sqlite {
    pub(super) fn open(database: &str, options: &Options) -> Result<Self, LineError> {
        Ok(Self(open(database, options)?))
    }
}

impl Database for Sqlite {
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, LineError> {
        let mut statement = self.0.prepare(sql)?;
        let columns = statement.column_count();
        let mut found = vec![];
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| as_value(row.get_ref(column)?)).collect::<Result<_, _>>()?;
            found.push(values);
        }
        Ok(found)
    }

    /// All rows in one transaction, unless the script has begun one itself.
    fn load(&mut self, load: &Load, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError> {
        let connection = &self.0;
        let own_transaction = connection.is_autocommit();
        if own_transaction {
            connection.execute_batch("BEGIN")?;
        }
        let loaded = insert_all(connection, &load.sql, rows).and_then(|count| {
            if own_transaction {
                connection.execute_batch("COMMIT")?;
            }
            Ok(count)
        });
        if own_transaction && !connection.is_autocommit() {
            // The error that led here is the one to report.
            let _ = connection.execute_batch("ROLLBACK");
        }
        loaded
    }
}

fn insert_all(connection: &Connection, sql: &str, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError> {
    let mut statement = connection.prepare(sql)?;
    let mut scratch = Scratch::default();
    let mut count = 0;
    while let Some(row) = rows.next_row() {
        let places = statement.parameter_count();
        let bound = each_value(row, &mut scratch, |i, value| bind(&mut statement, places, i, value))?;
        check_count(bound, places)?;
        statement.raw_execute()?;
        count += 1;
    }
    Ok(count)
}

fn bind(statement: &mut Statement<'_>, places: usize, index: usize, value: ValueRef<'_>) -> Result<(), LineError> {
    let value = match value {
        ValueRef::Null | ValueRef::TextRef(_) => SqlRef::Null,
        ValueRef::Integer(i) => SqlRef::Integer(i),
        ValueRef::Real(r) => SqlRef::Real(r),
        ValueRef::Text(text) => SqlRef::Text(text.as_bytes()),
        ValueRef::Blob(bytes) => SqlRef::Blob(bytes),
    };
    if index < places {
        statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

fn as_value(value: SqlRef<'_>) -> Result<Value, LineError> {
    Ok(match value {
        SqlRef::Null => Value::Null,
        SqlRef::Integer(i) => Value::Integer(i),
        SqlRef::Real(r) if r.is_finite() => Value::Real(r),
        SqlRef::Real(r) => return Err(value_error(format!("{r} in the result"))),
        SqlRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Value::Text(text.to_string()),
            Err(_) => return Err(value_error("a text in the result is not UTF-8")),
        },
        SqlRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    })
}
