//! PostgreSQL, one blocking connection per client, through one of two libraries: the crate `postgres`, or
//! `tokio-postgres` on a socket that blocks ([`direct`]).
//!
//! Prepared, a statement is parsed once per connection and its values are sent in the types the server
//! wants. Unprepared (`statements=each`), text and values travel together each time, without a name, and the
//! server finds the types. A connection that is lost is opened again by the next operation.

pub mod crate_postgres;
pub mod direct;
pub mod values;

use crate::arguments::Arguments;
use crate::connection::{Connection, Judged, OpenError, Stopped, When};
use crate::failure::Failure;
use crate::kept::Kept;
use crate::server::{self, check_statement, interrupt_with, tell_of_driver_error};
use crate::setup::Setup;
use contend_wire::database::{Address, Database, Endpoint};
use contend_wire::plan::SqlStep;
use contend_wire::sample::{CodeSpace, sqlstate_to_code, worker_code};
use contend_wire::statement::Statement as Command;
use postgres::error::{DbError, Severity, SqlState};
use postgres::{Error, Row, SimpleQueryMessage, Statement};
use std::path::Path;
use values::{Cell, Param};

/// The versions this worker was built with, for `hello`.
pub const VERSIONS: [&str; 2] = ["postgres 0.19.14", "tokio-postgres 0.7.18"];

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

/// What a server lists its clients under.
const APPLICATION: &str = "contend";

fn refused(failure: Failure, message: String) -> OpenError {
    OpenError { what: "connect".to_string(), failure, message }
}

fn failed_to_connect(error: &postgres::Error) -> OpenError {
    let failure = error.code().map_or(sqlstate(NOT_CONNECTED), |state| sqlstate(state.code()));
    refused(failure, in_words(error))
}

/// Where to connect, and as whom.
struct Target {
    endpoint: Endpoint,
    user: String,
    database: String,
    password: Option<String>,
}

fn target(database: &Database) -> Result<Target, OpenError> {
    let (address, password) = server::address(database)?;
    let Address { endpoint, user, database, .. } = address.clone();
    Ok(Target { endpoint, user, database, password })
}

impl Target {
    /// Directory and number of a socket, as PostgreSQL's clients take them.
    ///
    /// # Errors
    /// Its name is not one of PostgreSQL's.
    fn socket(&self) -> Result<(&Path, u16), OpenError> {
        let path = match &self.endpoint {
            Endpoint::Socket(path) => Path::new(path),
            Endpoint::Tcp(..) => Path::new(""),
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let port = name.strip_prefix(".s.PGSQL.").and_then(|port| port.parse().ok());
        let wrong = || format!("the socket {} is not named .s.PGSQL.PORT", path.display());
        let port = port.ok_or_else(|| refused(Failure::worker(worker_code::DRIVER), wrong()))?;
        Ok((path.parent().unwrap_or(Path::new("/")), port))
    }

    fn unreachable(&self, error: &std::io::Error) -> OpenError {
        refused(sqlstate(NOT_CONNECTED), format!("error connecting to server: {error}"))
    }
}

/// A statement on its way.
pub enum Sent<'s> {
    /// By its name, with values in the server's types.
    Prepared(&'s Statement, &'s [Param<'s>]),
    /// As text, with values of types that are not named: the server finds out itself.
    Text(&'s str, &'s [Param<'s>]),
}

/// Interrupts what a connection is doing, on its own connection.
pub type Interrupt = Box<dyn Fn() + Send + Sync>;

/// A connection of one library or the other.
pub trait Link: Sized {
    /// Opens a connection.
    ///
    /// # Errors
    /// The address is wrong, or the server cannot be reached or refuses.
    fn open(database: &Database) -> Result<(Self, Interrupt), OpenError>;

    /// Carries out statements whose rows are not needed.
    ///
    /// # Errors
    /// The server's.
    fn batch(&mut self, sql: &str) -> Result<(), Error>;

    /// Carries out statements whose rows come as text.
    ///
    /// # Errors
    /// The server's.
    fn ask(&mut self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Error>;

    /// Prepares a statement.
    ///
    /// # Errors
    /// The server's.
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error>;

    /// Rows on their way.
    type Rows<'l>
    where
        Self: 'l;

    /// Executes a statement.
    ///
    /// # Errors
    /// The server's.
    fn send(&mut self, sent: &Sent<'_>) -> Result<Self::Rows<'_>, Error>;

    /// Hands out each row, and returns the count of the command: rows selected or changed.
    ///
    /// # Errors
    /// The server's, or that of `row`.
    fn each_row(rows: Self::Rows<'_>, row: impl FnMut(Row) -> Result<(), Error>) -> Result<u64, Error>;

    /// Whether it is known to be lost.
    fn is_closed(&self) -> bool;
}

fn on<'s>(sql: &'s str) -> impl FnOnce(postgres::Error) -> OpenError + 's {
    move |e| OpenError { what: sql.to_string(), failure: code_of(&e), message: in_words(&e) }
}

/// An open connection, with its statements unless they are sent each time.
pub struct Connected<L> {
    link: L,
    /// None: sent each time, or not used yet on a connection that was opened in the run.
    prepared: Vec<Option<Statement>>,
}

impl<L: Link> Connection for Connected<L> {
    type Error = Error;

    fn not_connected() -> Failure {
        sqlstate(NOT_CONNECTED)
    }

    fn open(setup: &Setup<'_>, when: When) -> Result<Self, OpenError> {
        let (mut link, interrupt) = L::open(setup.database())?;
        interrupt_with(setup, interrupt);
        for Command { sql, .. } in &setup.head.session {
            link.batch(sql).map_err(on(sql))?;
        }
        let mut prepared: Vec<Option<Statement>> = setup.head.statements.iter().map(|_| None).collect();
        if when == When::BeforeTheRun {
            for (index, Command { sql, .. }) in setup.head.statements.iter().enumerate() {
                let statement = link.prepare(sql).map_err(on(sql))?;
                check_statement(setup, index, statement.params().len(), statement.columns().len())?;
                // Prepared in either case, so that a mistake shows before the window.
                prepared[index] = (!setup.options.prepare_each).then_some(statement);
            }
        }
        Ok(Self { link, prepared })
    }

    fn ask(&mut self, sql: &str) -> Result<String, OpenError> {
        let messages = self.link.ask(sql).map_err(on(sql))?;
        let value = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_string()),
            _ => None,
        });
        Ok(value.unwrap_or_default())
    }

    fn simple(&mut self, sql: &str) -> Result<(), Error> {
        self.link.batch(sql)
    }

    #[inline]
    fn execute(
        &mut self,
        setup: &Setup<'_>,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Stopped<Error>> {
        let (index, each) = (step.statement as usize, setup.options.prepare_each);
        let mut values = Vec::with_capacity(step.args.len());
        for source in &step.args {
            let value = arguments.resolve(source, repetition, kept).map_err(Stopped::Worker)?;
            values.push(Param { value, as_text: each });
        }
        if !each && self.prepared[index].is_none() {
            self.prepared[index] = Some(self.link.prepare(&setup.head.statements[index].sql).map_err(Stopped::Driver)?);
        }
        let sent = match &self.prepared[index] {
            Some(statement) => Sent::Prepared(statement, &values),
            None => Sent::Text(&setup.head.statements[index].sql, &values),
        };
        let sent = self.link.send(&sent);
        drop(values);
        for keep in &step.keep {
            kept.clear_slot(keep.slot);
        }
        let (mut found, mut columns, mut wanted) = (0u32, 0, Ok(()));
        let read = sent.and_then(|rows| {
            L::each_row(rows, |row| {
                columns = row.len();
                wanted = wanted.and(read_row(&row, found, step, kept)?);
                found = found.saturating_add(1);
                Ok(())
            })
        });
        // Without rows the count of the command stands for both: rows selected, or rows changed.
        let rows = |changed| if columns == 0 { found.max(u32::try_from(changed).unwrap_or(u32::MAX)) } else { found };
        let rows = read.map(rows).map_err(Stopped::Driver)?;
        wanted.map_err(Stopped::Worker)?;
        Ok(rows)
    }

    #[cold]
    fn judge(&self, error: &Error) -> Judged {
        let failure = code_of(error);
        let lost = failure == sqlstate(LOST);
        let is_interrupted = lost || error.code() == Some(&SqlState::QUERY_CANCELED);
        // The server closes the connection after such an error; that may not have been read yet.
        let severity = error.as_db_error().and_then(DbError::parsed_severity);
        let is_last = matches!(severity, Some(Severity::Fatal | Severity::Panic));
        Judged { failure, is_lost: lost || is_last || self.link.is_closed(), is_interrupted }
    }
}

/// Reads every column of a row, as an application would, and keeps what the step keeps of it. The inner failure: the step keeps a
/// value that has no counterpart in SQLite.
#[inline]
fn read_row(row: &Row, number: u32, step: &SqlStep, kept: &mut Kept) -> Result<Result<(), Failure>, Error> {
    let mut wanted = Ok(());
    if let Some(answer) = &mut kept.answer {
        answer.begin_row();
        for (number, column) in row.columns().iter().enumerate() {
            match row.try_get::<_, Cell<'_>>(number)?.0 {
                Ok(value) => answer.value(column.name(), value),
                Err(_) => wanted = Err(Failure::worker(worker_code::VALUE)),
            }
        }
        answer.end_row();
    }
    for column in 0..row.len() {
        let Cell(cell) = row.try_get(column)?;
        std::hint::black_box(&cell);
        for keep in &step.keep {
            if usize::from(keep.column) == column && number < u32::from(keep.rows) {
                match &cell {
                    Ok(value) => kept.keep(keep.slot, *value),
                    Err(_) => wanted = Err(Failure::worker(worker_code::VALUE)),
                }
            }
        }
    }
    Ok(wanted)
}
