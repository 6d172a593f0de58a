//! Scripts on MariaDB and MySQL. A load is an `INSERT ... VALUES (?, ...)`, sent with many rows at once.

use super::database::{Database, Rows, as_value, check_count, each_value};
use super::error::{LineError, LoadError, value_error};
use crate::mysql::connect;
use crate::mysql::values::{Template, cell};
use contend_wire::database;
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::script::Load;
use mysql::Conn;
use mysql::prelude::Queryable;

/// Bytes of one INSERT: far below the smallest `max_allowed_packet` in use (16 MiB).
const CHUNK: usize = 1 << 20;

/// A database of a MariaDB or MySQL server.
pub(super) struct Mysql(Conn);

impl Mysql {
    pub(super) fn open(database: &database::Database) -> Result<Self, LineError> {
        Ok(Self(connect(database)?))
    }

    fn load_rows(&mut self, load: &Load, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError> {
        let no_backslash = self.0.no_backslash_escape();
        // The rows of values repeat the group of placeholders, which ends the statement.
        let (opening, group, placeholders) =
            load.cut().ok_or_else(|| value_error("a `load` is an INSERT ... VALUES (?, ...)"))?;
        let group = Template::of(group, &placeholders);
        let (mut text, mut values, mut scratch) = (String::with_capacity(2 * CHUNK), vec![], Scratch::default());
        let mut count = 0;
        while let Some(row) = rows.next_row() {
            values.clear();
            let found = each_value(row, &mut scratch, |_, value| {
                values.push(as_sql(value));
                Ok(())
            })?;
            check_count(found, placeholders.len())?;
            text.push_str(if text.is_empty() { opening } else { "," });
            group.fill_into(&mut text, &values, no_backslash);
            count += 1;
            if text.len() >= CHUNK {
                self.0.query_drop(&text)?;
                text.clear();
            }
        }
        if !text.is_empty() {
            self.0.query_drop(&text)?;
        }
        Ok(count)
    }
}

impl Database for Mysql {
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, LineError> {
        let mut result = self.0.query_iter(sql)?;
        let mut found = vec![];
        let Some(rows) = result.iter() else { return Ok(found) };
        for row in rows {
            let row = row?;
            let values = row.columns_ref().iter().enumerate().map(|(i, column)| {
                let value = row.as_ref(i).unwrap_or(&mysql::Value::NULL);
                as_value(cell(value, column).map_err(value_error)?)
            });
            found.push(values.collect::<Result<_, _>>()?);
        }
        Ok(found)
    }

    fn load(&mut self, load: &Load, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError> {
        self.0.query_drop("BEGIN")?;
        let loaded = self.load_rows(load, rows);
        // After an error the connection's end rolls back.
        if loaded.is_ok() {
            self.0.query_drop("COMMIT")?;
        }
        loaded
    }
}

fn as_sql(value: ValueRef<'_>) -> mysql::Value {
    match value {
        ValueRef::Null | ValueRef::TextRef(_) => mysql::Value::NULL,
        ValueRef::Integer(i) => mysql::Value::Int(i),
        ValueRef::Real(r) => mysql::Value::Double(r),
        ValueRef::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
        ValueRef::Blob(bytes) => mysql::Value::Bytes(bytes.to_vec()),
    }
}
