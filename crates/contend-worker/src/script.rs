//! Carrying out a script on a connection of its own: loading data, settings, checks. Rows are bound as they
//! stand in the text, nothing is allocated for them.

use crate::options::Options;
use crate::session::Failure;
use crate::sqlite::{code_of, open};
use anyhow::{Result, bail};
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::sample::worker_code;
use contend_wire::script::{Answer, RawLine, RawRow, Reply, ScriptError, ScriptReader};
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::{Connection, Statement};

/// Why a line of a script failed.
struct LineError {
    failure: Failure,
    message: String,
}

impl From<rusqlite::Error> for LineError {
    fn from(error: rusqlite::Error) -> Self {
        let failure = code_of(&error);
        let message = match error {
            // The message in other words than those of the line, which the caller has.
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            other => other.to_string(),
        };
        Self { failure, message }
    }
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
    if reader.target.driver != "rusqlite" {
        bail!("script: driver {}: this worker has only `rusqlite`", reader.target.driver);
    }
    let mut reply = Reply::default();
    match open(&reader.target.database, &options) {
        Ok(connection) => {
            let session = reader.target.session.clone();
            match session.iter().try_for_each(|sql| query(&connection, sql).map(drop)) {
                Ok(()) => carry_out_lines(&connection, &mut reader, &mut reply)?,
                Err(e) => reply.error = Some(in_reply(0, e)),
            }
        }
        Err(e) => reply.error = Some(in_reply(0, e.into())),
    }
    Ok(reply)
}

fn in_reply(line: usize, error: LineError) -> ScriptError {
    ScriptError { line, space: error.failure.space, code: error.failure.code, message: error.message }
}

fn carry_out_lines(connection: &Connection, reader: &mut ScriptReader<'_>, reply: &mut Reply) -> Result<()> {
    let mut next = reader.next_raw();
    while let Some(line) = next.take() {
        let (number, line) = line?;
        let answer = match line {
            RawLine::Sql(sql) => {
                next = reader.next_raw();
                query(connection, &sql).map(Answer::Rows).map_err(|e| in_reply(number, e))
            }
            RawLine::Load(sql) => {
                let mut load = Load { reader, at: number, pending: None };
                let loaded = load_rows(connection, &sql, &mut load);
                let at = load.at;
                next = load.pending.take();
                loaded?.map(Answer::Loaded).map_err(|e| in_reply(at, e))
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

fn query(connection: &Connection, sql: &str) -> Result<Vec<Vec<Value>>, LineError> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut found = vec![];
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|column| as_value(row.get_ref(column)?)).collect::<Result<_, _>>()?;
        found.push(values);
    }
    Ok(found)
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

/// The rows of one load, and the line after them, which had to be read to know that they end.
struct Load<'r, 'a> {
    reader: &'r mut ScriptReader<'a>,
    at: usize,
    pending: Option<Result<(usize, RawLine<'a>), contend_wire::FormatError>>,
}

impl<'a> Load<'_, 'a> {
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

/// Inserts all rows in one transaction, unless the script has begun one itself. The outer error is the
/// script's, the inner one the database's.
fn load_rows(connection: &Connection, sql: &str, load: &mut Load<'_, '_>) -> Result<Result<u64, LineError>> {
    let own_transaction = connection.is_autocommit();
    let begun = if own_transaction { connection.execute_batch("BEGIN") } else { Ok(()) };
    let prepared = begun.and_then(|()| connection.prepare(sql));
    let inserted = match prepared {
        Ok(mut statement) => insert_rows(&mut statement, load),
        Err(e) => Ok(Err(e.into())),
    };
    let committed = match inserted {
        Ok(Ok(rows)) if own_transaction => Ok(connection.execute_batch("COMMIT").map(|()| rows).map_err(Into::into)),
        other => other,
    };
    if own_transaction && !connection.is_autocommit() {
        // The error that led here is the one to report.
        let _ = connection.execute_batch("ROLLBACK");
    }
    committed
}

fn insert_rows(statement: &mut Statement<'_>, load: &mut Load<'_, '_>) -> Result<Result<u64, LineError>> {
    let placeholders = statement.parameter_count();
    let mut scratch = Scratch::default();
    let mut count = 0;
    while let Some(mut row) = load.next_row() {
        let mut bound = 0;
        while let Some(value) = row.next_value(&mut scratch) {
            bound += 1;
            if bound > placeholders {
                break;
            }
            let value = match value? {
                ValueRef::Null => SqlRef::Null,
                ValueRef::Integer(i) => SqlRef::Integer(i),
                ValueRef::Real(r) => SqlRef::Real(r),
                ValueRef::Text(text) => SqlRef::Text(text.as_bytes()),
                ValueRef::Blob(bytes) => SqlRef::Blob(bytes),
                ValueRef::TextRef(n) => return Ok(Err(value_error(format!("a script has no text {n}")))),
            };
            if let Err(e) = statement.raw_bind_parameter(bound, ToSqlOutput::Borrowed(value)) {
                return Ok(Err(e.into()));
            }
        }
        if bound != placeholders {
            let more = if bound > placeholders { "more" } else { "fewer" };
            return Ok(Err(value_error(format!("{more} values than the {placeholders} placeholders of `load`"))));
        }
        if let Err(e) = statement.raw_execute() {
            return Ok(Err(e.into()));
        }
        count += 1;
    }
    Ok(Ok(count))
}
