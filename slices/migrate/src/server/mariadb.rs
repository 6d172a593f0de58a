//! MariaDB: LOAD DATA, and DDL that commits implicitly.

use super::product::{EachRow, Load, Product, UNREACHED, is_about_data, masked, number, rows, text, texts};
use crate::rows::Form;
use anyhow::{Context, Result, anyhow, bail, ensure};
use contend_sql::{HIDDEN_ROWID, ParamType, Target, session};
use contend_wire::database::Database;
use contend_wire::kept::literal;
use contend_worker::mysql::values::cell;
use contend_worker::mysql::{connect, in_words};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, LocalInfileHandler, MySqlError};
use std::io::Write;
use std::sync::Arc;

/// Seconds to wait for the lock of another migration, such as one that was killed during a statement.
const LOCK_WAIT_S: u32 = 20;
/// ER_TABLE_EXISTS, ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_FK_DUP_NAME, ER_TRG_ALREADY_EXISTS.
const THERE_ALREADY: [u16; 5] = [1050, DUPLICATE_COLUMN, 1061, 1826, 1359];
const DUPLICATE_COLUMN: u16 = 1060;
/// ER_CANT_CREATE_TABLE has many causes; this text means that a foreign key of that name exists.
const NOT_CREATED: (u16, &str) = (1005, "errno: 121");

pub struct MariaDb(Conn);

fn said(error: &Error) -> anyhow::Error {
    anyhow!("{}", in_words(error))
}

/// An error without the server's message, which may contain values.
fn silent(error: &Error) -> anyhow::Error {
    match error {
        Error::MySqlError(e) if e.code == 3948 || e.code == 1148 || e.code == 4166 => anyhow!(
            "the server does not accept LOAD DATA LOCAL: set local_infile=ON during the migration (SET GLOBAL \
             local_infile = 1), and continue with --resume"
        ),
        Error::MySqlError(e) => anyhow!("the server refuses the rows: error {} ({})", e.code, e.state),
        other => said(other),
    }
}

/// Whether the object already exists. A view whose query has two columns of one name is refused with the code of a column that
/// is there already.
fn is_there(error: &MySqlError, sql: &str) -> bool {
    let is_column = error.code == DUPLICATE_COLUMN;
    if is_column && !sql.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("ALTER")) {
        return false;
    }
    THERE_ALREADY.contains(&error.code) || error.code == NOT_CREATED.0 && error.message.contains(NOT_CREATED.1)
}

/// An error of a statement that reads rows.
fn of_rows(error: &Error) -> anyhow::Error {
    match error {
        Error::MySqlError(e) if is_about_data(&e.state) => anyhow!("{} ({})", masked(&e.message), e.code),
        other => said(other),
    }
}

impl MariaDb {
    /// Connects, with SQLite's settings.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(database: &Database) -> Result<Self> {
        let mut open = Self(connect(database).map_err(|e| anyhow!("{}: {}; {UNREACHED}", e.what, e.message))?);
        for sql in session(Target::MariaDb) {
            open.run(sql)?;
        }
        // A single writer needs no higher level, and reads at SQLite's level would lock every row.
        open.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        // A migration takes as long as its tables need.
        open.run("SET SESSION wait_timeout = 2147483, max_statement_time = 0")?;
        Ok(open)
    }

    fn load_rows(&mut self, load: &Load<'_>) -> Result<()> {
        let text: Arc<[u8]> = load.text.into();
        self.0.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, server| server.write_all(&text))));
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET binary \
             FIELDS TERMINATED BY 0x09 ESCAPED BY 0x5C LINES TERMINATED BY 0x0A ({})",
            load.table, load.columns
        );
        let loaded = self.0.query_drop(sql);
        self.0.set_local_infile_handler(None);
        loaded.map_err(|e| silent(&e))?;
        let (rows, warnings) = (self.0.affected_rows(), self.0.warnings());
        if warnings > 0 {
            let first: Option<(String, u16, String)> =
                self.0.query_first("SHOW WARNINGS LIMIT 1").map_err(|e| silent(&e))?;
            let code = first.map_or(0, |(_, code, _)| code);
            bail!("the server would change {warnings} values of these rows (warning {code})");
        }
        ensure!(rows == load.rows, "{rows} of {} rows arrived", load.rows);
        Ok(())
    }
}

impl Product for MariaDb {
    fn target(&self) -> Target {
        Target::MariaDb
    }

    fn form(&self) -> Form {
        Form::LoadData
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        self.0.query_drop(sql).map_err(|e| said(&e))
    }

    fn make(&mut self, sql: &[String], account: &str, again: bool) -> Result<()> {
        for sql in sql {
            match self.0.query_drop(sql) {
                Err(Error::MySqlError(e)) if again && is_there(&e, sql) => {}
                done => done.map_err(|e| of_rows(&e))?,
            }
        }
        self.run(account)
    }

    fn load(&mut self, load: &Load<'_>) -> Result<()> {
        self.run("START TRANSACTION")?;
        let loaded = self.load_rows(load).and_then(|()| self.run(load.account));
        if loaded.is_err() {
            // Without an answer the connection is gone, and its transaction with it.
            let _ = self.0.query_drop("ROLLBACK");
            return loaded;
        }
        self.run("COMMIT")
    }

    fn read(&mut self, sql: &str, each: EachRow<'_>) -> Result<()> {
        let mut result = self.0.exec_iter(sql, ()).map_err(|e| said(&e))?;
        let Some(found) = result.iter() else { return Ok(()) };
        for row in found {
            let row = row.map_err(|e| said(&e))?;
            let columns = row.columns_ref();
            let mut values = Vec::with_capacity(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let value = row.as_ref(at).unwrap_or(&mysql::Value::NULL);
                values.push(cell(value, column).map_err(|why| anyhow!("column {}: {why}", column.name_str()))?);
            }
            each(&values)?;
        }
        Ok(())
    }

    fn version(&mut self) -> Result<String> {
        let version = texts(self, "SELECT VERSION()")?.pop().unwrap_or_default();
        Ok(format!("MariaDB {}", version.split('-').next().unwrap_or_default()))
    }

    fn value_bytes(&mut self) -> Result<usize> {
        let most = number(self, "SELECT CAST(@@GLOBAL.max_allowed_packet AS SIGNED)")?;
        Ok(most.and_then(|most| usize::try_from(most).ok()).unwrap_or(1 << 24))
    }

    fn lock(&mut self) -> Result<()> {
        let sql = format!("SELECT GET_LOCK(LEFT(CONCAT('contend.', DATABASE()), 64), {LOCK_WAIT_S})");
        let locked = number(self, &sql)? == Some(1);
        locked.then_some(()).context("another `contend migrate` works on this database; wait for its end")
    }

    fn enter(&mut self, _: &str) -> Result<()> {
        bail!("--schema is for PostgreSQL: a schema of MariaDB is a database, which the address names")
    }

    fn has_schema(&mut self, _: &str) -> Result<bool> {
        Ok(false)
    }

    fn tables(&mut self) -> Result<Vec<String>> {
        texts(self, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")
    }

    fn columns(&mut self, table: &str) -> Result<Vec<(String, Option<ParamType>)>> {
        let sql = format!(
            "SELECT COLUMN_NAME, DATA_TYPE, EXTRA FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
            literal(table)
        );
        let holds = |ty: &str| match ty {
            "bigint" | "int" | "mediumint" | "smallint" | "tinyint" => Some(ParamType::Integer),
            "double" | "float" => Some(ParamType::Real),
            "decimal" => Some(ParamType::Number),
            "longtext" | "mediumtext" | "text" | "tinytext" | "varchar" | "char" => Some(ParamType::Text),
            "longblob" | "mediumblob" | "blob" | "tinyblob" | "varbinary" | "binary" => Some(ParamType::Blob),
            _ => None,
        };
        let columns = rows(self, &sql)?.into_iter().filter_map(|row| {
            let mut row = row.into_iter();
            let (name, ty, extra) = (text(row.next()?)?, text(row.next()?)?, text(row.next()?)?);
            // Other invisible columns implement an index.
            let is_own = name == HIDDEN_ROWID || !extra.to_ascii_uppercase().contains("INVISIBLE");
            is_own.then(|| (name, holds(&ty)))
        });
        Ok(columns.collect())
    }

    fn counter(&mut self, table: &str, _: &str) -> Result<i64> {
        let sql = format!(
            "SELECT CAST(AUTO_INCREMENT AS SIGNED) FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
            literal(table)
        );
        // After the largest key of SQLite it is 2^63.
        Ok(number(self, &sql)?.unwrap_or(1).wrapping_sub(1))
    }

    fn snapshot(&mut self) -> Result<()> {
        self.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    }
}
