//! PostgreSQL.

use crate::on_server::keys::Counter;
use crate::on_server::link::{Answer, Failed, Kind, Link, key_column};
use crate::on_server::values::argument;
use crate::trace::Value;
use anyhow::{Result, anyhow};
use contend_sql::{Statement, Target, function_pack, session};
use contend_wire::database::Database;
use contend_wire::kept::{install, literal, lock, quoted};
use contend_worker::argument::Argument;
use contend_worker::postgres::crate_postgres::Blocking;
use contend_worker::postgres::values::{Cell, Param};
use contend_worker::postgres::{Link as _, Sent, in_words};
use postgres::Error;

pub struct Postgres(Blocking);

fn failed(error: &Error) -> Failed {
    let Some(code) = error.code() else { return Failed::Lost(in_words(error)) };
    match code.code() {
        "23505" => Failed::Refused(Kind::Unique, code.code().into()),
        "23502" => Failed::Refused(Kind::NotNull, code.code().into()),
        "23503" => Failed::Refused(Kind::ForeignKey, code.code().into()),
        "23514" => Failed::Refused(Kind::Check, code.code().into()),
        // It is shutting down, or has ended this connection.
        state if state.starts_with("57P") || state.starts_with("08") => Failed::Lost(in_words(error)),
        state => Failed::Refused(Kind::Other, state.into()),
    }
}

impl Postgres {
    /// Connects, with SQLite's settings. `needs_pack`: installs the functions of translations.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(database: &Database, needs_pack: bool) -> Result<Postgres> {
        let (mut link, _) = Blocking::open(database).map_err(|e| anyhow!("{}: {}", e.what, e.message))?;
        let mut all: Vec<String> = session(Target::Postgres).iter().map(ToString::to_string).collect();
        if needs_pack {
            let [lock, unlock] = lock();
            all.extend([lock, install(function_pack(Target::Postgres)), unlock]);
        }
        for sql in all {
            link.batch(&sql).map_err(|e| anyhow!("{}", in_words(&e)))?;
        }
        Ok(Postgres(link))
    }
}

impl Link for Postgres {
    fn target(&self) -> Target {
        Target::Postgres
    }

    fn run(&mut self, sql: &str) -> Result<(), Failed> {
        self.0.batch(sql).map_err(|e| failed(&e))
    }

    fn execute(&mut self, statement: &Statement, values: &[Value]) -> Result<Answer, Failed> {
        let values: Vec<Param<'_>> =
            values.iter().map(|value| Param { value: argument(value), as_text: true }).collect();
        let (mut returned, mut keys) = (0, (0, None));
        let rows = self.0.send(&Sent::Text(&statement.sql, &values)).map_err(|e| failed(&e))?;
        let changed = Blocking::each_row(rows, |row| {
            returned += 1;
            if let Some(at) = key_column(statement, row.len())
                && let Cell(Ok(Argument::Integer(found))) = row.try_get::<_, Cell<'_>>(at)?
            {
                keys = (keys.0 + 1, Some(found));
            }
            Ok(())
        });
        Ok(Answer::of(statement, returned, changed.map_err(|e| failed(&e))?, keys))
    }

    fn next_key(&mut self, counter: &Counter, first: i64) -> Result<(), Failed> {
        self.run(&format!("SELECT setval({}, {first}, false)", sequence(counter)))
    }

    fn after_largest(&mut self, counter: &Counter) -> Result<(), Failed> {
        let (table, column) = (quoted(&counter.table), quoted(&counter.column));
        let sequence = sequence(counter);
        self.run(&format!("SELECT setval({sequence}, GREATEST(max({column}), 0) + 1, false) FROM {table}"))
    }
}

/// The sequence of a counter, as an expression.
fn sequence(counter: &Counter) -> String {
    format!("pg_get_serial_sequence({}, {})", literal(&quoted(&counter.table)), literal(&counter.column))
}
