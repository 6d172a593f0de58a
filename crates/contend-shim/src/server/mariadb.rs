//! MariaDB: a batch is one text of several statements, in which the values are literals. It ends at the first error.

use super::message::{Cancel, Kind, LOCKED, Message, Reply, Said, Server, Trouble};
use crate::value::Value;
use contend_wire::kept::literal;
use mysql::consts::ColumnType as T;
use mysql::prelude::{Protocol, Queryable};
use mysql::{Column, Conn, DriverError, Error, MySqlError, Opts, OptsBuilder, QueryResult};
use std::sync::Arc;
use std::time::Duration;

/// Number of the character set of bytes.
const BINARY: u16 = 63;

pub struct MariaDb {
    connection: Conn,
    opts: Opts,
    is_closed: bool,
    round_trips: u64,
}

impl MariaDb {
    /// # Errors
    /// The server cannot be reached, or reports an error.
    pub fn connect(opts: &Opts, within: Duration) -> Result<MariaDb, Trouble> {
        let opts: Opts = OptsBuilder::from_opts(opts.clone()).tcp_connect_timeout(Some(within)).into();
        let connection = Conn::new(opts.clone()).map_err(|error| trouble(&error, ""))?;
        Ok(MariaDb { connection, opts, is_closed: false, round_trips: 1 })
    }

    /// The answers to statements, up to the first error.
    fn sent(&mut self, texts: &[String]) -> Vec<Result<Reply, Trouble>> {
        self.round_trips += 1;
        let answers = answers(&mut self.connection, texts);
        match answers.as_slice() {
            // They are too long together.
            [Err(trouble)] if trouble.kind() == Some(Kind::TooBig) && texts.len() > 1 => {
                let (first, rest) = texts.split_at(1);
                let mut answers = self.sent(first);
                if answers.iter().all(Result::is_ok) {
                    answers.extend(self.sent(rest));
                }
                answers
            }
            _ => answers,
        }
    }
}

impl Server for MariaDb {
    fn exchange(&mut self, messages: &[Message]) -> Vec<Result<Reply, Trouble>> {
        let (mut texts, mut unsent) = (vec![], None);
        for message in messages {
            match written(message) {
                Ok(text) => texts.push(text),
                Err(trouble) => {
                    // The statements before it are carried out, as if the server reported the error.
                    unsent = Some(Err(trouble));
                    break;
                }
            }
        }
        let mut answers = if texts.is_empty() { vec![] } else { self.sent(&texts) };
        if answers.iter().all(Result::is_ok) {
            answers.extend(unsent);
        }
        self.is_closed |= matches!(answers.last(), Some(Err(Trouble::Lost(_))));
        answers
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn canceller(&self) -> Cancel {
        let (opts, id) = (self.opts.clone(), self.connection.connection_id());
        Arc::new(move || {
            if let Ok(mut second) = Conn::new(opts.clone()) {
                // The statement may have ended.
                let _ = second.query_drop(format!("KILL QUERY {id}"));
            }
        })
    }

    fn round_trips(&self) -> u64 {
        self.round_trips
    }

    fn close(self: Box<Self>) {}
}

/// The text of a message.
fn written(message: &Message) -> Result<String, Trouble> {
    match message {
        Message::Plain(sql) => Ok(sql.clone()),
        Message::Query { sql, values } => filled(sql, values),
    }
}

/// A statement with these values at its placeholders, which are not between quotes.
fn filled(sql: &str, values: &[Value]) -> Result<String, Trouble> {
    let (mut out, mut rest, mut values) = (String::with_capacity(sql.len()), sql, values.iter());
    while let Some(at) = rest.find(['?', '\'', '"']) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let length = match &found[..1] {
            "?" => {
                out.push_str(&of_value(values.next().unwrap_or(&Value::Null))?);
                1
            }
            quote => {
                let length = found[1..].find(quote).map_or(found.len(), |end| end + 2);
                out.push_str(&found[..length]);
                length
            }
        };
        rest = &found[length..];
    }
    Ok(out + rest)
}

/// A value as a literal. A real keeps its exponent: without one it would be a decimal number.
fn of_value(value: &Value) -> Result<String, Trouble> {
    Ok(match value {
        Value::Null => "NULL".to_string(),
        Value::Integer(i) if *i < 0 => format!("({i})"),
        Value::Integer(i) => i.to_string(),
        Value::Real(r) if r.is_nan() => "NULL".to_string(),
        Value::Real(r) if r.is_infinite() => {
            return Err(Trouble::Value("MariaDB has no infinite reals".to_string()));
        }
        Value::Real(r) if *r < 0.0 => format!("({r:e})"),
        Value::Real(r) => format!("{r:e}"),
        Value::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => literal(text),
            Err(_) => {
                return Err(Trouble::Server(Box::new(Said { kind: Kind::BadText, ..Said::default() })));
            }
        },
        Value::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{digits}'")
        }
    })
}

/// The answers to statements that are sent together.
fn answers(connection: &mut Conn, texts: &[String]) -> Vec<Result<Reply, Trouble>> {
    let mut answers = vec![];
    let failed =
        |answers: &Vec<_>, error: &Error| Err(trouble(error, texts.get(answers.len()).map_or("", String::as_str)));
    let mut result = match connection.query_iter(texts.join(";\n")) {
        Ok(result) => result,
        Err(error) => return vec![failed(&answers, &error)],
    };
    loop {
        let counts_twice = texts.get(answers.len()).is_some_and(|sql| counts_twice(sql));
        match next(&mut result, counts_twice) {
            Ok(Some(reply)) => answers.push(Ok(reply)),
            Ok(None) => return answers,
            Err(Failure::Server(error)) => {
                answers.push(failed(&answers, &error));
                return answers;
            }
            Err(Failure::Value(words)) => {
                answers.push(Err(Trouble::Value(words)));
                return answers;
            }
        }
    }
}

enum Failure {
    Server(Error),
    Value(String),
}

/// The answer to the next statement.
fn next<P: Protocol>(result: &mut QueryResult<'_, '_, '_, P>, counts_twice: bool) -> Result<Option<Reply>, Failure> {
    let Some(set) = result.iter() else { return Ok(None) };
    let (affected, info) = (set.affected_rows(), set.info_str().into_owned());
    let (mut rows, mut has_columns) = (vec![], false);
    for row in set {
        let row = row.map_err(Failure::Server)?;
        has_columns = true;
        let columns = row.columns();
        let cell = |(at, column): (usize, &Column)| row.as_ref(at).map_or(Ok(Value::Null), |cell| value(cell, column));
        let values: Result<Vec<Value>, String> = columns.iter().enumerate().map(cell).collect();
        rows.push(values.map_err(Failure::Value)?);
    }
    let count =
        if has_columns { rows.len() as u64 } else { if counts_twice { once(affected, &info) } else { affected } };
    Ok(Some(Reply { rows, count }))
}

/// Whether the server counts a replaced or updated row twice: deleted or found, then written.
fn counts_twice(sql: &str) -> bool {
    sql.starts_with("REPLACE ") || sql.starts_with("INSERT ") && sql.contains(" ON DUPLICATE KEY UPDATE ")
}

/// Rows as SQLite counts them. For several rows the server says how many there were.
fn once(affected: u64, info: &str) -> u64 {
    let records = info.strip_prefix("Records: ").and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    affected.min(records.unwrap_or(1))
}

/// A value of SQLite. All values arrive as text, and the column says what they are.
fn value(cell: &mysql::Value, column: &Column) -> Result<Value, String> {
    let mysql::Value::Bytes(bytes) = cell else { return Ok(Value::Null) };
    let text = || std::str::from_utf8(bytes).map_err(|e| e.to_string());
    let ty = column.column_type();
    Ok(match ty {
        T::MYSQL_TYPE_TINY
        | T::MYSQL_TYPE_SHORT
        | T::MYSQL_TYPE_INT24
        | T::MYSQL_TYPE_LONG
        | T::MYSQL_TYPE_LONGLONG
        | T::MYSQL_TYPE_YEAR
        | T::MYSQL_TYPE_DECIMAL
        | T::MYSQL_TYPE_NEWDECIMAL => decimal(text()?)?,
        T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => Value::Real(text()?.parse().map_err(|_| "an odd real")?),
        T::MYSQL_TYPE_VARCHAR
        | T::MYSQL_TYPE_VAR_STRING
        | T::MYSQL_TYPE_STRING
        | T::MYSQL_TYPE_TINY_BLOB
        | T::MYSQL_TYPE_MEDIUM_BLOB
        | T::MYSQL_TYPE_LONG_BLOB
        | T::MYSQL_TYPE_BLOB
        | T::MYSQL_TYPE_ENUM
        | T::MYSQL_TYPE_JSON => match column.character_set() {
            BINARY => Value::Blob(bytes.clone()),
            _ => Value::Text(bytes.clone()),
        },
        other => return Err(format!("a value of type {other:?} has no counterpart in SQLite")),
    })
}

/// A decimal number without a fraction is an integer, as in SQLite's columns of NUMERIC affinity.
fn decimal(text: &str) -> Result<Value, String> {
    const INTEGER_END: f64 = 9_223_372_036_854_775_808.0;
    let whole = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if let Ok(whole) = whole.parse() {
        return Ok(Value::Integer(whole));
    }
    let nearest: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    let is_whole = nearest.fract() == 0.0 && nearest > -INTEGER_END && nearest < INTEGER_END;
    Ok(if is_whole { Value::Integer(nearest as i64) } else { Value::Real(nearest) })
}

/// `sql`: the statement that failed.
fn trouble(error: &Error, sql: &str) -> Trouble {
    match error {
        Error::MySqlError(said) => of_server(said, sql),
        Error::DriverError(DriverError::PacketTooLarge) => {
            Trouble::Server(Box::new(Said { kind: Kind::TooBig, ..Said::default() }))
        }
        other => Trouble::Lost(other.to_string()),
    }
}

fn of_server(said: &MySqlError, sql: &str) -> Trouble {
    let MySqlError { state, code, message } = said;
    let kind = match code {
        // The server is shutting down, or ended this connection.
        1053 | 1152 | 1159 | 1161 | 1184 | 1927 | 4031 => return Trouble::Lost(message.clone()),
        _ if state.starts_with("08") => return Trouble::Lost(message.clone()),
        1062 | 1169 | 1586 => Kind::Unique,
        1048 | 1364 => Kind::NotNull,
        3819 | 4025 => Kind::Check,
        1216 | 1217 | 1451 | 1452 => Kind::ForeignKey,
        1644 if state == LOCKED => Kind::Locked,
        1644 if !message.starts_with("contend_sql") => Kind::Raised,
        1205 => Kind::Locked,
        1020 | 1213 | 1412 => Kind::Conflict,
        1317 | 1969 => Kind::Interrupted,
        1300 => Kind::BadText,
        1366 if message.starts_with("Incorrect string") => Kind::BadText,
        1153 | 1406 => Kind::TooBig,
        1690 if message.contains("BIGINT") => Kind::Overflow,
        1146 if message.contains("._contend_v") => Kind::Outdated,
        // The name of the version may not be the first that is looked up.
        1054 | 1146 | 1356 => Kind::Missing,
        _ => Kind::Other,
    };
    let (column, constraint) = match code {
        1048 | 1364 => (message.split('\'').nth(1), None),
        // The value before it may have any character.
        1062 => (None, message.rsplit_once(" for key '").and_then(|(_, key)| key.strip_suffix('\''))),
        3819 | 4025 => (None, message.split('`').nth(1)),
        _ => (None, None),
    };
    Trouble::Server(Box::new(Said {
        kind,
        code: code.to_string(),
        // A duplicate's message has the value.
        message: if *code == 1062 { "Duplicate entry".to_string() } else { message.clone() },
        table: target(sql),
        column: column.map(str::to_string),
        constraint: constraint.map(str::to_string),
    }))
}

/// The table that a statement changes.
fn target(sql: &str) -> Option<String> {
    const VERBS: [&str; 6] =
        ["INSERT INTO ", "INSERT IGNORE INTO ", "REPLACE INTO ", "UPDATE ", "DELETE FROM ", "ALTER TABLE "];
    let name = VERBS.iter().find_map(|verb| sql.strip_prefix(verb))?.strip_prefix('"')?;
    let mut parts = name.split('"');
    let mut table = parts.next()?.to_string();
    while let (Some(""), Some(part)) = (parts.next(), parts.next()) {
        table = format!("{table}\"{part}");
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_placeholders_were() {
        let filled = |sql: &str, values: &[Value]| filled(sql, values).expect("literals");
        assert_eq!(filled("SELECT ?, '?''?', \"?\", ?", &[Value::Integer(1), Value::Null]), {
            "SELECT 1, '?''?', \"?\", NULL"
        });
        let values = [Value::Real(0.5), Value::Integer(-1), Value::text("it's \\ ?"), Value::Blob(vec![0, 255])];
        assert_eq!(filled("SELECT ?, ?, ?, ?", &values), "SELECT 5e-1, (-1), 'it''s \\ ?', x'00ff'");
    }

    #[test]
    fn an_error_has_the_names_of_its_constraint_and_no_value() {
        let said = |code: u16, message: &str, sql: &str| {
            let error = MySqlError { state: "23000".into(), message: message.into(), code };
            match of_server(&error, sql) {
                Trouble::Server(said) => *said,
                other => panic!("{other}"),
            }
        };
        let unique =
            said(1062, "Duplicate entry 'a secret for key 'x'' for key 'u'", "UPDATE \"a\"\"b\" SET \"c\" = 1");
        assert_eq!((unique.kind, unique.table.as_deref()), (Kind::Unique, Some("a\"b")));
        assert_eq!((unique.constraint.as_deref(), unique.message.as_str()), (Some("u"), "Duplicate entry"));
        assert_eq!(said(1048, "Column 'n' cannot be null", "INSERT INTO \"t\" ()").column.as_deref(), Some("n"));
        assert_eq!(said(1146, "Table 'd._contend_v3' doesn't exist", "").kind, Kind::Outdated);
    }

    #[test]
    fn decimal_numbers_become_integers_or_reals() {
        for (text, value) in [
            ("5", Value::Integer(5)),
            ("5.000", Value::Integer(5)),
            ("-2.50", Value::Real(-2.5)),
            ("100000000000000000000", Value::Real(1e20)),
        ] {
            assert_eq!(decimal(text), Ok(value), "{text}");
        }
    }
}
