//! The driver `mysql`: MariaDB and MySQL through the crate of that name, one blocking connection per client.
//!
//! Prepared, values are bound in the binary protocol. Unprepared (`statements=each`), they are written into
//! the text as literals, quoted by the crate. A connection that is lost is opened again by the next operation.

pub mod values;

use crate::arguments::{Arguments, Kept};
use crate::connection::{Connection, Judged, Stopped};
use crate::server::{self, CONNECT_TIME, OpenError, check_statement, interrupt_with, tell_of_driver_error};
use crate::session::Failure;
use crate::sqlite::Setup;
use contend_wire::address::{Address, Endpoint};
use contend_wire::plan::SqlStep;
use contend_wire::sample::{CodeSpace, worker_code};
use mysql::consts::CapabilityFlags;
use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, Opts, OptsBuilder, Params, QueryResult, Statement};
use values::{Counting, Template, as_sql, cell};

/// The version this worker was built with, for `hello`.
pub const VERSION: &str = "mysql 28.0.4";

/// CR_CONN_HOST_ERROR, for a connection that could not be opened.
const NOT_CONNECTED: u32 = 2003;
/// CR_SERVER_LOST, for a connection that broke without the server saying why.
const LOST: u32 = 2013;
/// ER_QUERY_INTERRUPTED and ER_CONNECTION_KILLED: told to stop.
const INTERRUPTED: [u32; 2] = [1317, 1927];

fn errno(code: u32) -> Failure {
    Failure { space: CodeSpace::Mysql, code }
}

/// The server's own number for an error, or the worker's for errors of the crate itself.
pub fn code_of(error: &mysql::Error) -> Failure {
    match error {
        mysql::Error::MySqlError(e) => errno(e.code.into()),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => errno(LOST),
        other => {
            tell_of_driver_error("mysql", other);
            Failure::worker(worker_code::DRIVER)
        }
    }
}

/// What the server says, else what the crate says.
pub fn in_words(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(e) => format!("{} ({})", e.message, e.code),
        mysql::Error::DriverError(e) => e.to_string(),
        other => other.to_string(),
    }
}

fn opts(address: &Address, password: Option<&str>) -> Opts {
    let builder = OptsBuilder::new()
        // Else a connection over TCP is given up for one over the socket, and something else is measured.
        .prefer_socket(false)
        .user(Some(&address.user))
        .pass(password)
        .db_name(Some(&address.database).filter(|name| !name.is_empty()))
        .stmt_cache_size(0)
        .tcp_connect_timeout(Some(CONNECT_TIME))
        // Rows an UPDATE found, as SQLite and PostgreSQL count them, and not only those it made different.
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
    match &address.endpoint {
        Endpoint::Tcp(host, port) => builder.ip_or_hostname(Some(host)).tcp_port(*port).into(),
        Endpoint::Socket(path) => builder.socket(Some(path)).into(),
    }
}

/// Opens a connection.
///
/// # Errors
/// The address is wrong, or the server cannot be reached or refuses.
pub fn connect(database: &str) -> Result<Conn, OpenError> {
    let (address, password) = server::address(database, "mysql")?;
    connect_with(opts(&address, password.as_deref()))
}

fn connect_with(opts: Opts) -> Result<Conn, OpenError> {
    Conn::new(opts).map_err(|e| {
        let failure = match &e {
            mysql::Error::MySqlError(refused) => errno(refused.code.into()),
            _ => errno(NOT_CONNECTED),
        };
        OpenError { what: "connect".to_string(), failure, message: in_words(&e) }
    })
}

fn on<'s>(sql: &'s str) -> impl FnOnce(mysql::Error) -> OpenError + 's {
    move |e| OpenError { what: sql.to_string(), failure: code_of(&e), message: in_words(&e) }
}

/// A statement as it is sent.
enum Ready {
    Prepared(Statement),
    /// Sent each time, with its values in it.
    Each(Template),
}

/// An open connection with its statements.
pub struct Connected {
    connection: Conn,
    statements: Vec<(Ready, Counting)>,
}

impl Connection for Connected {
    type Error = mysql::Error;

    fn not_connected() -> Failure {
        errno(NOT_CONNECTED)
    }

    fn open(setup: &Setup<'_>) -> Result<Self, OpenError> {
        let (address, password) = server::address(setup.database(), "mysql")?;
        let opts = opts(&address, password.as_deref());
        let mut connection = connect_with(opts.clone())?;
        let id = connection.connection_id();
        interrupt_with(setup, move || {
            if let Ok(mut second) = Conn::new(opts.clone()) {
                let _ = second.query_drop(format!("KILL QUERY {id}"));
            }
        });
        for sql in &setup.head.session {
            connection.query_drop(sql).map_err(on(sql))?;
        }
        let mut statements = vec![];
        for (index, sql) in setup.head.statements.iter().enumerate() {
            // Prepared in either case, so that a mistake shows before the window.
            let prepared = connection.prep(sql).map_err(on(sql))?;
            // MariaDB does not say beforehand what a RETURNING gives.
            let silent = prepared.columns().is_empty() && sql.to_ascii_uppercase().contains("RETURNING");
            let columns = if silent { usize::MAX } else { prepared.columns().len() };
            check_statement(setup, index, prepared.params().len(), columns)?;
            let ready = if setup.options.prepare_each {
                connection.close(prepared).map_err(on(sql))?;
                Ready::Each(Template::of(sql, connection.no_backslash_escape()))
            } else {
                Ready::Prepared(prepared)
            };
            statements.push((ready, Counting::of(sql)));
        }
        Ok(Self { connection, statements })
    }

    fn ask(&mut self, sql: &str) -> Result<String, OpenError> {
        let row: Option<mysql::Row> = self.connection.query_first(sql).map_err(on(sql))?;
        // In the text protocol every value is text, whatever its type.
        let value = row.and_then(|row| match row.as_ref(0) {
            Some(mysql::Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        });
        Ok(value.unwrap_or_default())
    }

    fn simple(&mut self, sql: &str) -> Result<(), mysql::Error> {
        self.connection.query_drop(sql)
    }

    #[inline]
    fn execute(
        &mut self,
        _: &Setup<'_>,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Stopped<mysql::Error>> {
        let (ready, counting) = &self.statements[step.statement as usize];
        let mut values = Vec::with_capacity(step.args.len());
        for source in &step.args {
            values.push(as_sql(arguments.resolve(source, repetition, kept).map_err(Stopped::Worker)?));
        }
        let read = match ready {
            Ready::Prepared(statement) => {
                let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
                let result = self.connection.exec_iter(statement, params);
                result.and_then(|result| read_rows(result, *counting, step, kept))
            }
            Ready::Each(template) => {
                let result = self.connection.query_iter(template.filled(&values));
                result.and_then(|result| read_rows(result, *counting, step, kept))
            }
        };
        read.map_err(Stopped::Driver)
    }

    #[cold]
    fn judge(&self, error: &mysql::Error) -> Judged {
        let failure = code_of(error);
        // After an error that is not the server's own, nobody knows what the connection will say next.
        let is_lost = !matches!(error, mysql::Error::MySqlError(_)) || failure == errno(INTERRUPTED[1]);
        let is_interrupted = failure == errno(LOST) || INTERRUPTED.iter().any(|code| failure == errno(*code));
        Judged { failure, is_lost, is_interrupted }
    }
}

/// Reads every column of every row, as an application would, and keeps what the step keeps.
#[inline]
fn read_rows<T: Protocol>(
    mut result: QueryResult<'_, '_, '_, T>,
    counting: Counting,
    step: &SqlStep,
    kept: &mut Kept,
) -> Result<u32, mysql::Error> {
    for keep in &step.keep {
        kept.clear_slot(keep.slot);
    }
    let mut found = 0u32;
    let Some(rows) = result.iter() else { return Ok(0) };
    if rows.columns().as_ref().is_empty() {
        return Ok(counting.rows(rows.affected_rows(), &rows.info_str()));
    }
    for row in rows {
        let row = row?;
        let columns = row.columns_ref();
        if let Some(answer) = &mut kept.answer {
            answer.begin_row();
            for (number, column) in columns.iter().enumerate() {
                let Some(value) = row.as_ref(number) else { continue };
                let cell = cell(value, column).map_err(|_| mysql::Error::FromValueError(value.clone()))?;
                answer.value(&column.name_str(), cell);
            }
            answer.end_row();
        }
        for (number, column) in columns.iter().enumerate() {
            let Some(value) = row.as_ref(number) else { continue };
            let cell = cell(value, column).map_err(|_| mysql::Error::FromValueError(value.clone()))?;
            std::hint::black_box(&cell);
            for keep in &step.keep {
                if usize::from(keep.column) == number && found < u32::from(keep.rows) {
                    kept.keep(keep.slot, cell);
                }
            }
        }
        found = found.saturating_add(1);
    }
    Ok(found)
}
