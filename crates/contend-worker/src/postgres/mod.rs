//! The driver `postgres`: PostgreSQL through the crate of that name, one blocking connection per client.
//!
//! Prepared, a statement is parsed once per connection and its values are sent in the types the server
//! wants. Unprepared (`statements=each`), text and values travel together each time, without a name, and the
//! server finds the types. A connection that is lost is opened again by the next operation.

pub mod values;

use crate::arguments::{Arguments, Kept, KeptValue};
use crate::server::{
    self, CONNECT_TIME, OpenError, RECONNECT_PAUSE, ServerSession, check_statement, interrupt_with, is_lost,
    tell_of_driver_error,
};
use crate::session::{Failure, Session, Waits};
use crate::sqlite::Setup;
use contend_wire::address::{Address, Endpoint};
use contend_wire::handshake::Facts;
use contend_wire::plan::SqlStep;
use contend_wire::sample::{CodeSpace, sqlstate_to_code, worker_code};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::Type;
use postgres::{Client, Config, NoTls, RowIter, SimpleQueryMessage, Statement};
use std::path::Path;
use values::{Cell, Param};

/// The version this worker was built with, for `hello`.
pub const VERSION: &str = "postgres 0.19";

/// SQLSTATE 08006, for a connection that broke without the server saying why.
const LOST: &str = "08006";
/// SQLSTATE 08001, for a connection that could not be opened.
const NOT_CONNECTED: &str = "08001";

fn sqlstate(state: &str) -> Failure {
    match sqlstate_to_code(state) {
        Some(code) => Failure { space: CodeSpace::Sqlstate, code },
        None => Failure::worker(worker_code::DRIVER),
    }
}

/// The server's own code for an error, or the worker's for errors of the crate itself.
pub fn code_of(error: &postgres::Error) -> Failure {
    use std::error::Error as _;
    if let Some(state) = error.code() {
        return sqlstate(state.code());
    }
    if error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()) {
        return sqlstate(LOST);
    }
    tell_of_driver_error("postgres", &in_words(error));
    Failure::worker(worker_code::DRIVER)
}

/// What the server says, with its detail and hint; else what the crate says.
pub fn in_words(error: &postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => {
            let more = [db.detail(), db.hint()].into_iter().flatten();
            more.fold(format!("{} ({})", db.message(), db.code().code()), |text, more| format!("{text}; {more}"))
        }
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

/// How to connect to an address.
///
/// # Errors
/// A socket whose name is not one of PostgreSQL's.
fn config(address: &Address, password: Option<&str>) -> Result<Config, String> {
    let mut config = Config::new();
    match &address.endpoint {
        Endpoint::Tcp(host, port) => config.host(host).port(*port),
        Endpoint::Socket(path) => {
            // PostgreSQL's clients are told the directory and the number in the socket's name.
            let path = Path::new(path);
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let port = name.strip_prefix(".s.PGSQL.").and_then(|port| port.parse().ok());
            let port = port.ok_or_else(|| format!("the socket {} is not named .s.PGSQL.PORT", path.display()))?;
            config.host_path(path.parent().unwrap_or(Path::new("/"))).port(port)
        }
    };
    config.user(&address.user).application_name("contend").connect_timeout(CONNECT_TIME);
    if !address.database.is_empty() {
        config.dbname(&address.database);
    }
    if let Some(password) = password {
        config.password(password);
    }
    Ok(config)
}

/// Opens a connection.
///
/// # Errors
/// The address is wrong, or the server cannot be reached or refuses.
pub fn connect(database: &str) -> Result<Client, OpenError> {
    let (address, password) = server::address(database, "postgres")?;
    let failed = |failure, message| OpenError { what: "connect".to_string(), failure, message };
    let config = config(&address, password.as_deref()).map_err(|e| failed(Failure::worker(worker_code::DRIVER), e))?;
    config.connect(NoTls).map_err(|e| {
        let failure = e.code().map_or(sqlstate(NOT_CONNECTED), |state| sqlstate(state.code()));
        failed(failure, in_words(&e))
    })
}

fn on<'s>(sql: &'s str) -> impl FnOnce(postgres::Error) -> OpenError + 's {
    move |e| OpenError { what: sql.to_string(), failure: code_of(&e), message: in_words(&e) }
}

/// An open connection, with its statements unless they are sent each time.
struct Open {
    client: Client,
    prepared: Vec<Statement>,
}

/// A client's connection.
pub struct PostgresSession<'p> {
    setup: Setup<'p>,
    /// None after it was lost.
    open: Option<Open>,
    begun: bool,
    cut_short: bool,
}

fn open(setup: &Setup<'_>) -> Result<Open, OpenError> {
    let mut client = connect(setup.database())?;
    let token = client.cancel_token();
    interrupt_with(setup, move || drop(token.cancel_query(NoTls)));
    for sql in &setup.head.session {
        client.batch_execute(sql).map_err(on(sql))?;
    }
    let mut prepared = vec![];
    for (index, sql) in setup.head.statements.iter().enumerate() {
        let statement = client.prepare(sql).map_err(on(sql))?;
        check_statement(setup, index, statement.params().len(), statement.columns().len())?;
        prepared.push(statement);
    }
    // Prepared in either case, so that a mistake shows before the window.
    if setup.options.prepare_each {
        prepared.clear();
    }
    Ok(Open { client, prepared })
}

impl<'p> ServerSession<'p> for PostgresSession<'p> {
    fn open(setup: &Setup<'p>) -> Result<Self, OpenError> {
        Ok(Self { setup: *setup, open: Some(open(setup)?), begun: false, cut_short: false })
    }

    fn read_back(&mut self) -> Result<Facts, OpenError> {
        let Some(open) = &mut self.open else { return Ok(vec![]) };
        let mut facts = vec![];
        for readback in &self.setup.head.readbacks {
            let messages = open.client.simple_query(&readback.sql).map_err(on(&readback.sql))?;
            let value = messages.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_string()),
                _ => None,
            });
            facts.push((readback.name.clone(), value.unwrap_or_default()));
        }
        Ok(facts)
    }
}

impl PostgresSession<'_> {
    /// The connection, opened again if it was lost.
    #[inline]
    fn connection(&mut self) -> Result<&mut Open, Failure> {
        if self.open.is_none() {
            self.open = Some(self.reopen()?);
        }
        self.open.as_mut().ok_or(sqlstate(NOT_CONNECTED))
    }

    #[cold]
    fn reopen(&self) -> Result<Open, Failure> {
        open(&self.setup).map_err(|e| {
            std::thread::sleep(RECONNECT_PAUSE);
            e.failure
        })
    }

    #[cold]
    fn failed(&mut self, error: &postgres::Error) -> Failure {
        let failure = code_of(error);
        let lost = is_lost(failure, sqlstate(LOST).code);
        if lost || self.open.as_ref().is_some_and(|open| open.client.is_closed()) {
            self.open = None;
        }
        let interrupted = lost || error.code() == Some(&SqlState::QUERY_CANCELED);
        self.cut_short |= interrupted && self.setup.control.drain_over();
        failure
    }

    fn simple(&mut self, sql: &str) -> Result<(), Failure> {
        let done = self.connection()?.client.batch_execute(sql);
        done.map_err(|e| self.failed(&e))
    }
}

/// Reads every column of every row, as an application would, and keeps what the step keeps.
#[inline]
fn read_rows(rows: &mut RowIter<'_>, step: &SqlStep, kept: &mut Kept) -> Result<u32, postgres::Error> {
    for keep in &step.keep {
        kept.clear_slot(keep.slot);
    }
    let (mut found, mut columns) = (0u32, 0);
    while let Some(row) = rows.next()? {
        columns = row.len();
        if let Some(answer) = &mut kept.answer {
            answer.begin_row();
            for (number, column) in row.columns().iter().enumerate() {
                answer.value(column.name(), row.try_get::<_, Cell<'_>>(number)?.argument());
            }
            answer.end_row();
        }
        for column in 0..columns {
            let cell: Cell<'_> = row.try_get(column)?;
            std::hint::black_box(&cell);
            for keep in &step.keep {
                if usize::from(keep.column) == column && found < u32::from(keep.rows) {
                    let value = keep_value(kept, cell);
                    kept.push(keep.slot, value);
                }
            }
        }
        found = found.saturating_add(1);
    }
    // Without rows the count of the command stands for both: rows selected, or rows changed.
    let changed = if columns == 0 { rows.rows_affected().unwrap_or(0) } else { 0 };
    Ok(found.max(u32::try_from(changed).unwrap_or(u32::MAX)))
}

fn keep_value(kept: &mut Kept, cell: Cell<'_>) -> KeptValue {
    match cell {
        Cell::Null => KeptValue::Null,
        Cell::Integer(i) => KeptValue::Integer(i),
        Cell::Real(r) => KeptValue::Real(r),
        Cell::Text(text) => KeptValue::Text(kept.store(text)),
        Cell::Blob(bytes) => KeptValue::Blob(kept.store(bytes)),
    }
}

impl Session for PostgresSession<'_> {
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
        let (index, each) = (step.statement as usize, self.setup.options.prepare_each);
        let sql = &self.setup.head.statements[index];
        let open = self.connection()?;
        let mut values = Vec::with_capacity(step.args.len());
        for source in &step.args {
            values.push(Param { value: arguments.resolve(source, repetition, kept)?, as_text: each });
        }
        let sent = if each {
            // Of a type nobody names, the server finds out itself.
            open.client.query_typed_raw(sql, values.iter().map(|value| (value, Type::UNKNOWN)))
        } else {
            open.client.query_raw(&open.prepared[index], &values)
        };
        drop(values);
        let read = sent.and_then(|mut rows| read_rows(&mut rows, step, kept));
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
