//! A connection to the private MariaDB. Values are sent and read as in contend's worker.

use super::engines::{Class, Engine, Failed, Returned, counts_changes};
use super::value::{Row, Value};
use mysql::consts::{CapabilityFlags, ColumnType as T};
use mysql::prelude::{Protocol, Queryable};
use mysql::{Column, Conn, Error, OptsBuilder, Params, QueryResult};
use std::path::Path;

/// Number of the character set of bytes.
const BINARY: u16 = 63;
/// ER_UNSUPPORTED_PS: a statement that can only be sent as text.
const NOT_PREPARABLE: u16 = 1295;

pub struct MariaDb {
    connection: Conn,
}

fn value(value: &mysql::Value, column: &Column) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(i) => Value::Integer(*i),
        mysql::Value::UInt(u) => i64::try_from(*u).map_or(Value::Real(*u as f64), Value::Integer),
        mysql::Value::Float(r) => Value::Real((*r).into()),
        mysql::Value::Double(r) => Value::Real(*r),
        mysql::Value::Bytes(bytes) => match column.column_type() {
            T::MYSQL_TYPE_DECIMAL
            | T::MYSQL_TYPE_NEWDECIMAL
            | T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_LONGLONG => Value::decimal(&text(bytes)),
            T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => {
                text(bytes).parse().map_or_else(|_| Value::Foreign(text(bytes)), Value::Real)
            }
            T::MYSQL_TYPE_VARCHAR
            | T::MYSQL_TYPE_VAR_STRING
            | T::MYSQL_TYPE_STRING
            | T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB
            | T::MYSQL_TYPE_BLOB
            | T::MYSQL_TYPE_JSON => match column.character_set() {
                BINARY => Value::Blob(bytes.clone()),
                _ => Value::Text(bytes.clone()),
            },
            other => Value::Foreign(format!("{other:?} {}", text(bytes))),
        },
        other => Value::Foreign(format!("{other:?}")),
    }
}

/// Rows as SQLite counts them: where the server counts a replaced row twice it says how many rows there were.
fn changed(sql: &str, affected: u64, info: &str) -> u64 {
    let upper = sql.trim_start().to_ascii_uppercase();
    if !upper.starts_with("REPLACE") && !upper.contains("ON DUPLICATE KEY UPDATE") {
        return affected;
    }
    let records = info.strip_prefix("Records: ").and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    records.unwrap_or(affected.min(1))
}

fn read<P: Protocol>(mut result: QueryResult<'_, '_, '_, P>, sql: &str) -> Result<Returned, Error> {
    let mut returned = Returned::default();
    let Some(rows) = result.iter() else { return Ok(returned) };
    returned.names = rows.columns().as_ref().iter().map(|c| c.name_str().into_owned()).collect();
    if returned.names.is_empty() {
        returned.changed = counts_changes(sql).then(|| changed(sql, rows.affected_rows(), &rows.info_str()));
    }
    for row in rows {
        let row = row?;
        let columns = row.columns();
        let cell = |(i, column): (usize, &Column)| row.as_ref(i).map_or(Value::Null, |v| value(v, column));
        returned.rows.push(columns.iter().enumerate().map(cell).collect::<Row>());
    }
    Ok(returned)
}

fn failed(error: &Error) -> Failed {
    let Error::MySqlError(server) = error else {
        return Failed { class: Class::Other, message: error.to_string() };
    };
    let class = match server.code {
        1062 | 1169 | 1586 => Class::Unique,
        1048 | 1364 => Class::NotNull,
        4025 | 3819 => Class::Check,
        1216 | 1217 | 1451 | 1452 => Class::ForeignKey,
        _ => Class::Other,
    };
    Failed { class, message: format!("{} ({})", server.message, server.code) }
}

impl MariaDb {
    pub fn connect(socket: &Path, session: &[&str]) -> MariaDb {
        let opts = OptsBuilder::new()
            .user(Some("root"))
            .socket(Some(socket.to_string_lossy()))
            .stmt_cache_size(0)
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
        let connection = Conn::new(opts).expect("a connection to the private MariaDB");
        let mut connection = MariaDb { connection };
        session.iter().for_each(|sql| connection.must(sql));
        connection
    }

    fn once(&mut self, sql: &str, params: &[Value]) -> Result<Returned, Error> {
        let statement = match self.connection.prep(sql) {
            Ok(statement) => statement,
            Err(Error::MySqlError(e)) if e.code == NOT_PREPARABLE => {
                return read(self.connection.query_iter(sql)?, sql);
            }
            Err(other) => return Err(other),
        };
        let values = params.iter().map(|value| match value {
            Value::Null | Value::Foreign(_) => mysql::Value::NULL,
            Value::Integer(i) => mysql::Value::Int(*i),
            Value::Real(r) => mysql::Value::Double(*r),
            Value::Text(bytes) | Value::Blob(bytes) => mysql::Value::Bytes(bytes.clone()),
        });
        let params = if params.is_empty() { Params::Empty } else { Params::Positional(values.collect()) };
        let returned = self.connection.exec_iter(&statement, params).and_then(|result| read(result, sql));
        self.connection.close(statement)?;
        returned
    }
}

impl Engine for MariaDb {
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Returned, Failed> {
        self.once(sql, params).map_err(|e| failed(&e))
    }

    fn must(&mut self, sql: &str) {
        if sql.is_empty() {
            return;
        }
        self.connection.query_drop(sql).unwrap_or_else(|e| panic!("{sql}: {}", failed(&e).message));
    }

    fn fresh(&mut self, name: &str) {
        self.must("ROLLBACK");
        self.must(&format!("CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"));
        self.must(&format!("USE `{name}`"));
    }

    fn version(&mut self) -> String {
        let version: Option<String> = self.connection.query_first("SELECT VERSION()").expect("the version");
        version.unwrap_or_default().split('-').next().unwrap_or_default().to_string()
    }
}
