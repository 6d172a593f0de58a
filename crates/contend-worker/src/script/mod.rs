//! Carrying out a script on its own connection: loading data, settings, checks. What differs from
//! database to database is behind [`database::Database`].

mod database;
mod error;
mod http;
mod mysql;
mod postgres;
mod sqlite;

use crate::options::Options;
use anyhow::{Error, Result, bail};
use contend_wire::literal::Value;
use contend_wire::script::{LineResult, RawLine, Reply, ScriptError, ScriptReader, Target};
use database::{Database, Rows};
use error::{LineError, LoadError};

/// A connection that stays open for many statements, for tools that query a database repeatedly.
pub struct Connection(Box<dyn Database>);

impl Connection {
    /// Opens the connection and executes its session statements.
    ///
    /// # Errors
    /// The server cannot be reached or refuses; with its message.
    pub fn open(target: &Target) -> Result<Self> {
        let opened = open(target, &Options::parse(&target.options)?)?;
        let mut connection = Self(opened.map_err(|e| Error::msg(e.message))?);
        target.session.iter().try_for_each(|sql| connection.rows(&sql.sql).map(drop))?;
        Ok(connection)
    }

    /// Executes a statement and returns its rows.
    ///
    /// # Errors
    /// The database refuses it; with its message.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Value>>> {
        self.0.query(sql).map_err(|e| Error::msg(e.message))
    }
}

/// Carries out a script. Errors of the database end it and are part of the reply.
///
/// # Errors
/// The script is not of the form, or its driver or options are unknown.
pub fn carry_out(text: &str) -> Result<Reply> {
    let mut reader = ScriptReader::new(text)?;
    let options = Options::parse(&reader.target.options)?;
    let mut reply = Reply::default();
    match open(&reader.target, &options)? {
        Ok(mut database) => {
            let session = reader.target.session.clone();
            match session.iter().try_for_each(|sql| database.query(&sql.sql).map(drop)) {
                Ok(()) => carry_out_lines(database.as_mut(), &mut reader, &mut reply)?,
                Err(e) => reply.error = Some(in_reply(0, e)),
            }
        }
        Err(e) => reply.error = Some(in_reply(0, e)),
    }
    Ok(reply)
}

/// The outer error is the script's, the inner one the database's.
fn open(target: &Target, options: &Options) -> Result<Result<Box<dyn Database>, LineError>> {
    fn boxed<D: Database + 'static>(opened: Result<D, LineError>) -> Result<Box<dyn Database>, LineError> {
        opened.map(|database| Box::new(database) as Box<dyn Database>)
    }
    Ok(match target.driver.as_str() {
        "rusqlite" => {
            let file = target.database.file().map_err(Error::msg)?;
            boxed(sqlite::Sqlite::open(file, options))
        }
        // Both speak the same protocol; the blocking crate carries out loads.
        "postgres" | "tokio-postgres" => boxed(postgres::Postgres::open(&target.database)),
        "mysql" => boxed(mysql::Mysql::open(&target.database)),
        "http" => Ok(Box::new(http::Service)),
        other => bail!("script: driver {other}: this worker loads with rusqlite, postgres or mysql"),
    })
}

fn in_reply(line: usize, error: LineError) -> ScriptError {
    ScriptError { line, space: error.failure.space, code: error.failure.code, message: error.message }
}

fn carry_out_lines(database: &mut dyn Database, reader: &mut ScriptReader<'_>, reply: &mut Reply) -> Result<()> {
    let mut next = reader.next_raw();
    while let Some(line) = next.take() {
        let (number, line) = line?;
        let answer = match line {
            RawLine::Sql(sql) => {
                next = reader.next_raw();
                database.query(&sql.sql).map(LineResult::Rows).map_err(|e| in_reply(number, e))
            }
            RawLine::Load(sql) => {
                let mut rows = Rows { reader, at: number, pending: None };
                let loaded = database.load(&sql, &mut rows);
                let at = rows.at;
                next = rows.pending.take();
                match loaded {
                    Ok(count) => Ok(LineResult::Loaded(count)),
                    Err(LoadError::Line(e)) => Err(in_reply(at, e)),
                    Err(LoadError::Script(e)) => return Err(e.into()),
                }
            }
            RawLine::Row(_) => bail!("script line {number}: a row without a `load` before it"),
        };
        match answer {
            Ok(answer) => reply.answers.push(answer),
            Err(error) => {
                reply.error = Some(error);
                return Ok(());
            }
        }
    }
    Ok(())
}
