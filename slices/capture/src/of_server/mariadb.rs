//! MariaDB and MySQL: texts are sent in the session's form, and prepared statements with their values.

use crate::of_server::link::{Answer, Link};
use crate::proxy::product;
use crate::token::end_of;
use crate::trace::{Call, How, Value};
use anyhow::{Context as _, Result, anyhow, bail};
use contend_wire::database::{Database, Endpoint};
use contend_worker::mysql::in_words;
use contend_worker::server::address;
use mysql::consts::CapabilityFlags;
use mysql::prelude::{Protocol, Queryable as _};
use mysql::{Conn, Error, OptsBuilder, Params, QueryResult};

pub struct MariaDb(Conn);

impl MariaDb {
    /// `flags`: capabilities of the captured client.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn open(database: &Database, flags: u32) -> Result<MariaDb> {
        let (to, password) = address(database).map_err(|e| anyhow!("{}: {}", e.what, e.message))?;
        let builder = OptsBuilder::new()
            .prefer_socket(false)
            .user(Some(&to.user))
            .pass(password.as_deref())
            .db_name(Some(&to.database))
            .additional_capabilities(CapabilityFlags::from_bits_truncate(flags));
        let builder = match &to.endpoint {
            Endpoint::Tcp(host, port) => builder.ip_or_hostname(Some(host)).tcp_port(*port),
            Endpoint::Socket(path) => builder.socket(Some(path)),
        };
        Ok(MariaDb(Conn::new(builder).map_err(|e| anyhow!("{}", in_words(&e)))?))
    }

    /// Names of all databases of the server.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn databases(&mut self) -> Result<Vec<String>> {
        self.0.query("SHOW DATABASES").context("cannot list the databases")
    }

    /// A captured text as the session reads it: stored texts have no escapes.
    fn written(&self, sql: &str) -> String {
        if self.0.no_backslash_escape() || !sql.contains('\\') { sql.into() } else { with_escapes(sql) }
    }
}

/// With `\\` for each backslash in a string.
fn with_escapes(sql: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(sql.len() + 8), sql);
    while let Some(at) = rest.find(['\'', '"', '`']) {
        let quote = rest.as_bytes()[at];
        let (before, quoted) = rest.split_at(at);
        let (quoted, after) = quoted.split_at(end_of(quoted.as_bytes(), quote, false));
        out += before;
        out += &if quote == b'\'' { quoted.replace('\\', "\\\\") } else { quoted.into() };
        rest = after;
    }
    out + rest
}

/// Counts all results of a statement or text.
fn counted<P: Protocol>(mut result: QueryResult<'_, '_, '_, P>) -> Result<Answer, Error> {
    let (mut answer, mut changes, mut has_columns) = (Answer::default(), 0, false);
    while let Some(set) = result.iter() {
        if set.columns().as_ref().is_empty() {
            changes += set.affected_rows();
            continue;
        }
        has_columns = true;
        for row in set {
            row?;
            answer.rows += 1;
        }
    }
    // Whether changes are counted next to rows depends on the client.
    answer.changes = (!has_columns).then_some(changes);
    Ok(answer)
}

fn answered(done: Result<Answer, Error>) -> Result<Answer> {
    match done {
        Ok(answer) => Ok(answer),
        Err(Error::MySqlError(why)) => Ok(Answer { code: Some(why.code.to_string()), ..Answer::default() }),
        // Another number of parameters than values.
        Err(Error::DriverError(why)) => Ok(Answer { code: Some(why.to_string()), ..Answer::default() }),
        Err(other) => bail!("the connection to the server is lost: {}", in_words(&other)),
    }
}

fn as_sql(value: &Value) -> mysql::Value {
    match value {
        Value::Integer(number) => mysql::Value::Int(*number),
        Value::Real(number) => mysql::Value::Double(*number),
        Value::Text(bytes) | Value::Blob(bytes) => mysql::Value::Bytes(bytes.to_vec()),
        Value::Null | Value::Zeros(_) | Value::Opaque | Value::Hash(..) => mysql::Value::NULL,
    }
}

impl Link for MariaDb {
    fn call(&mut self, call: &Call, _: bool) -> Result<Answer> {
        let sql = self.written(&call.sql);
        let connection = &mut self.0;
        let mut prepared = || {
            let statement = connection.prep(sql.as_str())?;
            if call.how == How::Prepare {
                return Ok(Answer::default());
            }
            let values: Vec<mysql::Value> = call.values.iter().map(|(_, value)| as_sql(value)).collect();
            let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
            counted(connection.exec_iter(statement, params)?)
        };
        if call.how == How::Exec { self.text(&call.sql) } else { answered(prepared()) }
    }

    fn text(&mut self, sql: &str) -> Result<Answer> {
        let sql = self.written(sql);
        answered(self.0.query_iter(sql).and_then(counted))
    }

    fn is_inside(&self) -> Option<bool> {
        None
    }

    fn version(&mut self) -> Result<String> {
        let version: Option<String> = self.0.query_first("SELECT version()").context("no version")?;
        Ok(product(&version.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_are_doubled_in_strings_only() {
        let sql = "SELECT 'a\\b''\\', `c\\d`, \"e'\\\" FROM t WHERE f LIKE '\\%'";
        let escaped = "SELECT 'a\\\\b''\\\\', `c\\d`, \"e'\\\" FROM t WHERE f LIKE '\\\\%'";
        assert_eq!(with_escapes(sql), escaped);
    }
}
