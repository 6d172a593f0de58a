//! PostgreSQL: COPY, and DDL in transactions.

use super::product::{EachRow, Load, Product, UNREACHED, is_about_data, masked, number, rows, text, texts};
use crate::rows::Form;
use anyhow::{Context, Result, anyhow, ensure};
use contend_sql::{ParamType, Target, session};
use contend_wire::database::Database;
use contend_wire::kept::{literal, quoted};
use contend_worker::postgres::crate_postgres::connect;
use contend_worker::postgres::in_words;
use contend_worker::postgres::values::Stored;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Error};
use std::io::Write;

/// Seconds to wait for the lock of another migration, such as one that was killed during a statement.
const LOCK_WAIT_S: u32 = 20;
/// The number of contend's advisory lock.
const LOCK: i64 = 0x636f_6e74_656e_6421;
/// A value, and a row of COPY, has at most 1 GiB. A blob is sent with two digits per byte.
const VALUE_BYTES: usize = 500_000_000;

pub struct Postgres(Client);

fn said(error: &Error) -> anyhow::Error {
    anyhow!("{}", in_words(error))
}

/// An error without the server's message, which may contain values.
fn silent(error: &Error) -> anyhow::Error {
    match error.as_db_error() {
        Some(db) => {
            let named = [("constraint", db.constraint()), ("column", db.column()), ("type", db.datatype())];
            let named = named.iter().filter_map(|(what, name)| name.map(|name| format!(", {what} {name}")));
            anyhow!("the server refuses the rows: error {}{}", db.code().code(), named.collect::<String>())
        }
        None => said(error),
    }
}

/// An error of a statement that reads rows.
fn of_rows(error: &Error) -> anyhow::Error {
    match error.as_db_error() {
        Some(db) if is_about_data(db.code().code()) => anyhow!("{} ({})", masked(db.message()), db.code().code()),
        _ => said(error),
    }
}

impl Postgres {
    /// Connects, with SQLite's settings.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(database: &Database) -> Result<Self> {
        let client = connect(database).map_err(|e| anyhow!("{}: {}; {UNREACHED}", e.what, e.message))?;
        let mut open = Self(client);
        for sql in session(Target::Postgres) {
            open.run(sql)?;
        }
        // A single writer needs no higher level, which would also add serialization errors.
        open.run("SET default_transaction_isolation = 'read committed'")?;
        open.run("SET client_min_messages = warning")?;
        // A migration takes as long as its tables need. Older servers have fewer of these limits.
        open.run(
            "SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN ('statement_timeout', \
             'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')",
        )?;
        let encoding = texts(&mut open, "SHOW server_encoding")?.pop().unwrap_or_default();
        ensure!(encoding == "UTF8", "the database has the encoding {encoding}; SQLite's texts need one in UTF8");
        Ok(open)
    }
}

impl Product for Postgres {
    fn target(&self) -> Target {
        Target::Postgres
    }

    fn form(&self) -> Form {
        Form::Copy
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        self.0.batch_execute(sql).map_err(|e| said(&e))
    }

    fn make(&mut self, sql: &[String], account: &str, _: bool) -> Result<()> {
        let mut transaction = self.0.transaction().map_err(|e| said(&e))?;
        for sql in sql.iter().map(String::as_str).chain([account]) {
            transaction.batch_execute(sql).map_err(|e| of_rows(&e))?;
        }
        transaction.commit().map_err(|e| of_rows(&e))
    }

    fn load(&mut self, load: &Load<'_>) -> Result<()> {
        let mut transaction = self.0.transaction().map_err(|e| silent(&e))?;
        let sql = format!("COPY {} ({}) FROM STDIN", load.table, load.columns);
        let mut copy = transaction.copy_in(&sql).map_err(|e| silent(&e))?;
        let sent = copy.write_all(load.text);
        // The server reports errors at the end of COPY.
        match (copy.finish(), sent) {
            (Err(e), _) => return Err(silent(&e)),
            (Ok(_), Err(e)) => return Err(e).context("the rows cannot be sent"),
            (Ok(count), Ok(())) if count != load.rows => return Err(anyhow!("{count} of {} rows arrived", load.rows)),
            (Ok(_), Ok(())) => {}
        }
        transaction.batch_execute(load.account).map_err(|e| said(&e))?;
        transaction.commit().map_err(|e| silent(&e))
    }

    fn read(&mut self, sql: &str, each: EachRow<'_>) -> Result<()> {
        let mut found = self.0.query_raw(sql, std::iter::empty::<i64>()).map_err(|e| said(&e))?;
        while let Some(row) = found.next().map_err(|e| said(&e))? {
            let cells: Vec<Stored<'_>> =
                (0..row.len()).map(|at| row.try_get(at)).collect::<Result<_, _>>().map_err(|e| said(&e))?;
            let mut values = Vec::with_capacity(cells.len());
            for (cell, column) in cells.into_iter().zip(row.columns()) {
                values.push(cell.0.map_err(|why| anyhow!("column {}: {why}", column.name()))?);
            }
            each(&values)?;
        }
        Ok(())
    }

    fn version(&mut self) -> Result<String> {
        let version = texts(self, "SELECT current_setting('server_version')")?.pop().unwrap_or_default();
        Ok(format!("PostgreSQL {}", version.split_whitespace().next().unwrap_or_default()))
    }

    fn value_bytes(&mut self) -> Result<usize> {
        Ok(VALUE_BYTES)
    }

    fn lock(&mut self) -> Result<()> {
        self.run(&format!("SET lock_timeout = '{LOCK_WAIT_S}s'"))?;
        let locked = self.run(&format!("SELECT pg_advisory_lock({LOCK})"));
        locked.context("another `contend migrate` works on this database; wait for its end")?;
        self.run("SET lock_timeout = 0")
    }

    fn enter(&mut self, schema: &str) -> Result<()> {
        self.run(&format!("SET search_path = {}", quoted(schema)))
    }

    fn has_schema(&mut self, schema: &str) -> Result<bool> {
        let sql = format!("SELECT 1::bigint FROM pg_catalog.pg_namespace WHERE nspname = {}", literal(schema));
        Ok(number(self, &sql)?.is_some())
    }

    fn tables(&mut self) -> Result<Vec<String>> {
        texts(self, "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()")
    }

    fn taken(&mut self) -> Result<Vec<String>> {
        texts(
            self,
            "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema()",
        )
    }

    fn columns(&mut self, table: &str) -> Result<Vec<(String, Option<ParamType>)>> {
        let sql = format!(
            "SELECT column_name::text, data_type::text FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = {} ORDER BY ordinal_position",
            literal(table)
        );
        let holds = |ty: &str| match ty {
            "bigint" | "integer" | "smallint" => Some(ParamType::Integer),
            "double precision" | "real" => Some(ParamType::Real),
            "numeric" => Some(ParamType::Number),
            "text" | "character varying" | "character" => Some(ParamType::Text),
            "bytea" => Some(ParamType::Blob),
            _ => None,
        };
        let columns = rows(self, &sql)?.into_iter().filter_map(|row| {
            let mut row = row.into_iter();
            let (name, ty) = (text(row.next()?)?, text(row.next()?)?);
            Some((name, holds(&ty)))
        });
        Ok(columns.collect())
    }

    fn counter(&mut self, table: &str, column: &str) -> Result<i64> {
        let (table, column) = (literal(&quoted(table)), literal(column));
        let Some(sequence) = texts(self, &format!("SELECT pg_get_serial_sequence({table}, {column})"))?.pop() else {
            return Ok(0);
        };
        let sql = format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END::bigint FROM {sequence}");
        Ok(number(self, &sql)?.unwrap_or(0))
    }

    fn snapshot(&mut self) -> Result<()> {
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }
}
