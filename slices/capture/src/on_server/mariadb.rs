//! MariaDB.

use crate::on_server::keys::Counter;
use crate::on_server::link::{Answer, Failed, Kind, Link, key_column};
use crate::on_server::values::argument;
use crate::trace::Value;
use anyhow::{Result, anyhow};
use contend_sql::{Statement, Target, session};
use contend_wire::database::Database;
use contend_wire::kept::quoted;
use contend_worker::argument::Argument;
use contend_worker::mysql::values::{as_sql, cell};
use contend_worker::mysql::{connect, in_words};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, Params};
use std::collections::HashMap;

/// Most statements that are prepared at a time.
const PREPARED_MAX: usize = 500;

pub struct MariaDb {
    connection: Conn,
    prepared: HashMap<String, mysql::Statement>,
}

fn failed(error: &Error) -> Failed {
    let Error::MySqlError(said) = error else { return Failed::Lost(in_words(error)) };
    let kind = match said.code {
        1062 | 1586 => Kind::Unique,
        1048 | 1364 => Kind::NotNull,
        1216 | 1217 | 1451 | 1452 => Kind::ForeignKey,
        4025 => Kind::Check,
        _ => Kind::Other,
    };
    Failed::Refused(kind, said.code.to_string())
}

impl MariaDb {
    /// Connects, with SQLite's settings.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(database: &Database) -> Result<MariaDb> {
        let mut connection = connect(database).map_err(|e| anyhow!("{}: {}", e.what, e.message))?;
        for sql in session(Target::MariaDb) {
            connection.query_drop(sql).map_err(|e| anyhow!("{}", in_words(&e)))?;
        }
        Ok(MariaDb { connection, prepared: HashMap::new() })
    }

    fn prepared(&mut self, sql: &str) -> Result<mysql::Statement, Error> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        if self.prepared.len() >= PREPARED_MAX {
            for (_, old) in self.prepared.drain() {
                self.connection.close(old)?;
            }
        }
        let new = self.connection.prep(sql)?;
        self.prepared.insert(sql.to_string(), new.clone());
        Ok(new)
    }
}

impl Link for MariaDb {
    fn target(&self) -> Target {
        Target::MariaDb
    }

    fn run(&mut self, sql: &str) -> Result<(), Failed> {
        self.connection.query_drop(sql).map_err(|e| failed(&e))
    }

    fn execute(&mut self, statement: &Statement, values: &[Value]) -> Result<Answer, Failed> {
        let prepared = self.prepared(&statement.sql).map_err(|e| failed(&e))?;
        let values: Vec<mysql::Value> = values.iter().map(|value| as_sql(argument(value))).collect();
        let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
        let mut result = self.connection.exec_iter(prepared, params).map_err(|e| failed(&e))?;
        let Some(rows) = result.iter() else { return Ok(Answer::default()) };
        if rows.columns().as_ref().is_empty() {
            return Ok(Answer::of(statement, 0, rows.affected_rows(), (0, None)));
        }
        let (mut returned, mut keys) = (0, (0, None));
        for row in rows {
            let row = row.map_err(|e| failed(&e))?;
            returned += 1;
            let at = key_column(statement, row.columns_ref().len());
            if let Some((value, column)) = at.and_then(|at| Some((row.as_ref(at)?, &row.columns_ref()[at])))
                && let Ok(Argument::Integer(found)) = cell(value, column)
            {
                keys = (keys.0 + 1, Some(found));
            }
        }
        Ok(Answer::of(statement, returned, returned, keys))
    }

    fn next_key(&mut self, _: &Counter, first: i64) -> Result<(), Failed> {
        self.run(&format!("SET insert_id = {first}"))
    }

    fn after_largest(&mut self, counter: &Counter) -> Result<(), Failed> {
        // The server takes the first number that is free.
        self.run(&format!("ALTER TABLE {} AUTO_INCREMENT = 1", quoted(&counter.table)))
    }
}
