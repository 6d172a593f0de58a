//! The driver `mysql`: MariaDB and MySQL through the crate of that name, one blocking connection per client.
//!
//! Prepared, values are bound in the binary protocol. Unprepared (`statements=each`), they are written into
//! the text as literals, quoted by the crate. A connection that is lost is opened again by the next operation.

pub mod values;

use crate::arguments::{Arguments, Kept};
use crate::server::{
    self, CONNECT_TIME, OpenError, RECONNECT_PAUSE, ServerSession, check_statement, interrupt_with, is_lost,
    tell_of_driver_error,
};
use crate::session::{CANCELLED, Failure, Session, Waits};
use crate::sqlite::Setup;
use contend_wire::address::{Address, Endpoint};
use contend_wire::handshake::Facts;
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
struct Open {
    connection: Conn,
    statements: Vec<(Ready, Counting)>,
}

/// A client's connection.
pub struct MysqlSession<'p> {
    setup: Setup<'p>,
    /// None after it was lost.
    open: Option<Open>,
    begun: bool,
    cut_short: bool,
}

fn open(setup: &Setup<'_>) -> Result<Open, OpenError> {
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
    Ok(Open { connection, statements })
}

impl<'p> ServerSession<'p> for MysqlSession<'p> {
    fn open(setup: &Setup<'p>) -> Result<Self, OpenError> {
        Ok(Self { setup: *setup, open: Some(open(setup)?), begun: false, cut_short: false })
    }

    fn read_back(&mut self) -> Result<Facts, OpenError> {
        let Some(open) = &mut self.open else { return Ok(vec![]) };
        let mut facts = vec![];
        for readback in &self.setup.head.readbacks {
            let row: Option<mysql::Row> = open.connection.query_first(&readback.sql).map_err(on(&readback.sql))?;
            // In the text protocol every value is text, whatever its type.
            let value = row.and_then(|row| match row.as_ref(0) {
                Some(mysql::Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
                _ => None,
            });
            facts.push((readback.name.clone(), value.unwrap_or_default()));
        }
        Ok(facts)
    }
}

impl MysqlSession<'_> {
    /// The connection, opened again if it was lost.
    #[inline]
    fn connection(&mut self) -> Result<&mut Open, Failure> {
        if self.open.is_none() {
            self.open = Some(self.reopen()?);
        }
        self.open.as_mut().ok_or(errno(NOT_CONNECTED))
    }

    #[cold]
    fn reopen(&self) -> Result<Open, Failure> {
        open(&self.setup).map_err(|e| {
            std::thread::sleep(RECONNECT_PAUSE);
            e.failure
        })
    }

    #[cold]
    fn failed(&mut self, error: &mysql::Error) -> Failure {
        let failure = code_of(error);
        let lost = is_lost(failure, LOST);
        // After an error that is not the server's own, nobody knows what the connection will say next.
        if !matches!(error, mysql::Error::MySqlError(_)) || failure == errno(INTERRUPTED[1]) {
            self.open = None;
        }
        let interrupted = lost || INTERRUPTED.iter().any(|code| failure == errno(*code));
        self.cut_short |= interrupted && self.setup.control.drain_over();
        failure
    }

    fn simple(&mut self, sql: &str) -> Result<(), Failure> {
        let done = self.connection()?.connection.query_drop(sql);
        done.map_err(|e| self.failed(&e))
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

impl Session for MysqlSession<'_> {
    const CUT_SHORT: Failure = CANCELLED;

    #[inline]
    fn reset_waits(&mut self) {
        self.cut_short = false;
    }

    #[inline]
    fn waits(&self) -> Waits {
        Waits { cut_short: self.cut_short, ..Waits::UNKNOWN }
    }

    #[inline]
    fn begin(&mut self, transaction: u16) -> Result<(), Failure> {
        let head = self.setup.head;
        if let Some(sql) = &head.transactions[usize::from(transaction)].begin {
            self.simple(sql)?;
            self.begun = true;
        }
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure> {
        let open = self.connection()?;
        let (ready, counting) = &open.statements[step.statement as usize];
        let mut values = Vec::with_capacity(step.args.len());
        for source in &step.args {
            values.push(as_sql(arguments.resolve(source, repetition, kept)?));
        }
        let read = match ready {
            Ready::Prepared(statement) => {
                let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
                let result = open.connection.exec_iter(statement, params);
                result.and_then(|result| read_rows(result, *counting, step, kept))
            }
            Ready::Each(template) => {
                let result = open.connection.query_iter(template.filled(&values));
                result.and_then(|result| read_rows(result, *counting, step, kept))
            }
        };
        read.map_err(|e| self.failed(&e))
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Failure> {
        self.simple("COMMIT")?;
        self.begun = false;
        Ok(())
    }

    #[cold]
    fn rollback(&mut self) {
        if std::mem::take(&mut self.begun) && self.open.is_some() && self.simple("ROLLBACK").is_err() {
            // In a state nobody knows: the next operation gets a new one.
            self.open = None;
        }
    }
}
