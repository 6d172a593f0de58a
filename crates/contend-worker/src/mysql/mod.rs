//! The driver `mysql`: MariaDB and MySQL through the crate of that name, one blocking connection per client.
//!
//! Prepared, values are bound in the binary protocol. Unprepared (`statements=each`), they are written into
//! the text as literals, quoted by the crate. A connection that is lost is opened again by the next operation.

pub mod values;

use crate::arguments::Arguments;
use crate::connection::{Connection, Judged, OpenError, Stopped, When};
use crate::failure::Failure;
use crate::kept::Kept;
use crate::server::{self, CONNECT_TIME, check_statement, interrupt_with, tell_of_driver_error};
use crate::setup::Setup;
use contend_wire::database::{Address, Database, Endpoint};
use contend_wire::plan::SqlStep;
use contend_wire::sample::{CodeSpace, worker_code};
use contend_wire::statement::Statement as Command;
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
/// ER_QUERY_INTERRUPTED and ER_CONNECTION_KILLED: interrupted from outside.
const INTERRUPTED: [u32; 2] = [1317, 1927];

const NO_VALUE: Failure = Failure::worker(worker_code::VALUE);

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
pub fn connect(database: &Database) -> Result<Conn, OpenError> {
    let (address, password) = server::address(database)?;
    connect_with(opts(address, password.as_deref()))
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
    /// Sent each time, with its values in it; whether a backslash in them is a character like others.
    Each(Template, bool),
}

/// An open connection with its statements.
pub struct Connected {
    connection: Conn,
    /// None: not used yet, on a connection that was opened in the run.
    statements: Vec<Option<(Ready, Counting)>>,
}

impl Connected {
    /// Makes a statement ready that is used for the first time.
    #[cold]
    fn first_use(&mut self, setup: &Setup<'_>, index: usize) -> Result<(), mysql::Error> {
        let statement = &setup.head.statements[index];
        let ready = match setup.options.prepare_each {
            true => {
                let template = Template::of(&statement.sql, &statement.placeholders);
                Ready::Each(template, self.connection.no_backslash_escape())
            }
            false => Ready::Prepared(self.connection.prep(&statement.sql)?),
        };
        self.statements[index] = Some((ready, Counting::of(statement.effect)));
        Ok(())
    }

    /// Prepares all statements, so that a mistake shows before the window.
    fn prepare_all(&mut self, setup: &Setup<'_>) -> Result<(), OpenError> {
        for (index, statement) in setup.head.statements.iter().enumerate() {
            let sql = &statement.sql;
            let prepared = self.connection.prep(sql).map_err(on(sql))?;
            // MariaDB does not say beforehand what a RETURNING gives.
            let silent = prepared.columns().is_empty() && statement.effect.rows;
            let columns = if silent { usize::MAX } else { prepared.columns().len() };
            check_statement(setup, index, prepared.params().len(), columns)?;
            if setup.options.prepare_each {
                self.connection.close(prepared).map_err(on(sql))?;
                self.first_use(setup, index).map_err(on(sql))?;
            } else {
                self.statements[index] = Some((Ready::Prepared(prepared), Counting::of(statement.effect)));
            }
        }
        Ok(())
    }
}

impl Connection for Connected {
    type Error = mysql::Error;

    fn not_connected() -> Failure {
        errno(NOT_CONNECTED)
    }

    fn open(setup: &Setup<'_>, when: When) -> Result<Self, OpenError> {
        let (address, password) = server::address(setup.database())?;
        let opts = opts(address, password.as_deref());
        let mut connection = connect_with(opts.clone())?;
        let id = connection.connection_id();
        interrupt_with(setup, move || {
            if let Ok(mut second) = Conn::new(opts.clone()) {
                let _ = second.query_drop(format!("KILL QUERY {id}"));
            }
        });
        for Command { sql, .. } in &setup.head.session {
            connection.query_drop(sql).map_err(on(sql))?;
        }
        let statements = setup.head.statements.iter().map(|_| None).collect();
        let mut open = Self { connection, statements };
        if when == When::BeforeTheRun {
            open.prepare_all(setup)?;
        }
        Ok(open)
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
        setup: &Setup<'_>,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Stopped<mysql::Error>> {
        let index = step.statement as usize;
        if self.statements[index].is_none() {
            self.first_use(setup, index).map_err(Stopped::Driver)?;
        }
        let Some((ready, counting)) = &self.statements[index] else { return Err(Stopped::Worker(NO_VALUE)) };
        let mut values = Vec::with_capacity(step.args.len());
        for source in &step.args {
            values.push(as_sql(arguments.resolve(source, repetition, kept).map_err(Stopped::Worker)?));
        }
        let read = match ready {
            Ready::Prepared(statement) => {
                let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
                self.connection.exec_iter(statement, params).map(|result| read_rows(result, *counting, step, kept))
            }
            Ready::Each(template, no_backslash) => {
                let result = self.connection.query_iter(template.filled(&values, *no_backslash));
                result.map(|result| read_rows(result, *counting, step, kept))
            }
        };
        read.map_err(Stopped::Driver)?
    }

    #[cold]
    fn judge(&self, error: &mysql::Error) -> Judged {
        let failure = code_of(error);
        // After an error that is not the server's own, it is unknown what the connection will say next.
        let is_lost = !matches!(error, mysql::Error::MySqlError(_)) || failure == errno(INTERRUPTED[1]);
        let is_interrupted = failure == errno(LOST) || INTERRUPTED.iter().any(|code| failure == errno(*code));
        Judged { failure, is_lost, is_interrupted }
    }
}

/// Reads every column of every row, as an application would, and keeps what the step keeps. A value without a counterpart in
/// SQLite fails the step only if the step keeps it; the rows after it are read in any case.
#[inline]
fn read_rows<T: Protocol>(
    mut result: QueryResult<'_, '_, '_, T>,
    counting: Counting,
    step: &SqlStep,
    kept: &mut Kept,
) -> Result<u32, Stopped<mysql::Error>> {
    for keep in &step.keep {
        kept.clear_slot(keep.slot);
    }
    let (mut found, mut wanted) = (0u32, Ok(()));
    let Some(rows) = result.iter() else { return Ok(0) };
    if rows.columns().as_ref().is_empty() {
        return Ok(counting.rows(rows.affected_rows(), &rows.info_str()));
    }
    for row in rows {
        let row = row.map_err(Stopped::Driver)?;
        let columns = row.columns_ref();
        if let Some(answer) = &mut kept.answer {
            answer.begin_row();
            for (number, column) in columns.iter().enumerate() {
                match row.as_ref(number).map(|value| cell(value, column)) {
                    Some(Ok(cell)) => answer.value(&column.name_str(), cell),
                    Some(Err(_)) => wanted = Err(NO_VALUE),
                    None => {}
                }
            }
            answer.end_row();
        }
        for (number, column) in columns.iter().enumerate() {
            let Some(value) = row.as_ref(number) else { continue };
            let cell = cell(value, column);
            std::hint::black_box(&cell);
            for keep in &step.keep {
                if usize::from(keep.column) == number && found < u32::from(keep.rows) {
                    match cell {
                        Ok(value) => kept.keep(keep.slot, value),
                        Err(_) => wanted = Err(NO_VALUE),
                    }
                }
            }
        }
        found = found.saturating_add(1);
    }
    wanted.map(|()| found).map_err(Stopped::Worker)
}
