//! Carrying out a script on its own connection: loading data, settings, checks. What differs from
//! database to database is behind [`Database`].

mod http;
mod mysql;
mod postgres;
mod sqlite;

use crate::argument::Argument;
use crate::connection::OpenError;
use crate::failure::Failure;
use crate::options::Options;
use anyhow::{Error, Result, bail};
use contend_wire::FormatError;
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::sample::worker_code;
use contend_wire::script::{Answer, Load, RawLine, RawRow, Reply, ScriptError, ScriptReader, Target};

/// Why a line of a script failed.
struct LineError {
    failure: Failure,
    message: String,
}

impl From<OpenError> for LineError {
    fn from(error: OpenError) -> Self {
        Self { failure: error.failure, message: format!("{}: {}", error.what, error.message) }
    }
}

/// Why rows could not be loaded.
enum LoadError {
    /// The script is not of the form.
    Script(FormatError),
    /// The database refuses.
    Line(LineError),
}

impl From<FormatError> for LoadError {
    fn from(error: FormatError) -> Self {
        Self::Script(error)
    }
}

impl<E: Into<LineError>> From<E> for LoadError {
    fn from(error: E) -> Self {
        Self::Line(error.into())
    }
}

/// A connection that carries out scripts.
trait Database {
    /// Executes a statement and returns its rows.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, LineError>;

    /// Loads rows with a statement, in one transaction; returns their number.
    fn load(&mut self, load: &Load, rows: &mut Rows<'_, '_>) -> Result<u64, LoadError>;
}

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

/// A value of a server's answer, for the reply.
fn as_value(cell: Argument<'_>) -> Result<Value, LineError> {
    Ok(match cell {
        Argument::Null => Value::Null,
        Argument::Integer(i) => Value::Integer(i),
        Argument::Real(r) if r.is_finite() => Value::Real(r),
        Argument::Real(r) => return Err(value_error(format!("{r} in the result"))),
        Argument::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        Argument::Blob(bytes) => Value::Blob(bytes.to_vec()),
    })
}

fn value_error(message: impl Into<String>) -> LineError {
    LineError { failure: Failure::worker(worker_code::VALUE), message: message.into() }
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
                database.query(&sql.sql).map(Answer::Rows).map_err(|e| in_reply(number, e))
            }
            RawLine::Load(sql) => {
                let mut rows = Rows { reader, at: number, pending: None };
                let loaded = database.load(&sql, &mut rows);
                let at = rows.at;
                next = rows.pending.take();
                match loaded {
                    Ok(count) => Ok(Answer::Loaded(count)),
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

/// The rows of one load, and the line after them, which shows that they end. Rows are read from the text without
/// allocation.
struct Rows<'r, 'a> {
    reader: &'r mut ScriptReader<'a>,
    at: usize,
    pending: Option<Result<(usize, RawLine<'a>), FormatError>>,
}

impl<'a> Rows<'_, 'a> {
    fn next_row(&mut self) -> Option<RawRow<'a>> {
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
fn each_value(
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
fn check_count(found: usize, places: usize) -> Result<(), LineError> {
    if found == places {
        return Ok(());
    }
    let more = if found > places { "more" } else { "fewer" };
    Err(value_error(format!("{more} values than the {places} placeholders of `load`")))
}
