//! The driver `postgres`: the crate of that name, as applications without async use it. It keeps a runtime for
//! each connection and wakes it for every message.

use super::{Interrupt, Link, Sent, failed_to_connect, target};
use crate::connection::OpenError;
use crate::server::CONNECT_TIME;
use contend_wire::database::{Database, Endpoint};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::Type;
use postgres::{Client, Config, Error, NoTls, Row, RowIter, SimpleQueryMessage, Statement};

/// A connection of the crate.
pub struct Blocking(Client);

/// Opens a connection.
///
/// # Errors
/// The address is wrong, or the server cannot be reached or refuses.
pub fn connect(database: &Database) -> Result<Client, OpenError> {
    let target = target(database)?;
    let mut config = Config::new();
    match &target.endpoint {
        Endpoint::Tcp(host, port) => config.host(host).port(*port),
        Endpoint::Socket(_) => {
            let (directory, port) = target.socket()?;
            config.host_path(directory).port(port)
        }
    };
    config.user(&target.user).application_name(super::APPLICATION).connect_timeout(CONNECT_TIME);
    if !target.database.is_empty() {
        config.dbname(&target.database);
    }
    if let Some(password) = &target.password {
        config.password(password);
    }
    config.connect(NoTls).map_err(|e| failed_to_connect(&e))
}

impl Link for Blocking {
    fn open(database: &Database) -> Result<(Self, Interrupt), OpenError> {
        let client = connect(database)?;
        let token = client.cancel_token();
        Ok((Self(client), Box::new(move || drop(token.cancel_query(NoTls)))))
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.0.batch_execute(sql)
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
        self.0.simple_query(sql)
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.0.prepare(sql)
    }

    type Rows<'l> = RowIter<'l>;

    #[inline]
    fn send(&mut self, sent: &Sent<'_>) -> Result<RowIter<'_>, Error> {
        match sent {
            Sent::Prepared(statement, values) => self.0.query_raw(*statement, *values),
            Sent::Text(sql, values) => self.0.query_typed_raw(sql, values.iter().map(|value| (value, Type::UNKNOWN))),
        }
    }

    #[inline]
    fn each_row(mut rows: RowIter<'_>, mut row: impl FnMut(Row) -> Result<(), Error>) -> Result<u64, Error> {
        while let Some(found) = rows.next()? {
            row(found)?;
        }
        Ok(rows.rows_affected().unwrap_or(0))
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}
