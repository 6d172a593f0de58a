//! The driver `rusqlite`: opens connections, sets their settings and reads them back. [`session`] carries out steps,
//! [`memory`] keeps data in memory.

pub mod memory;
pub mod session;

use crate::busy;
use crate::clock::{Wake, monotonic_ns, wait_until};
use crate::control::Control;
use crate::failure::Failure;
use crate::options::Options;
use crate::session::Waits;
use crate::setup::Setup;
use anyhow::{Context, Result, anyhow};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Head, Step};
use contend_wire::sample::{CodeSpace, worker_code};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// SQLite's own code for an error, or the worker's for errors of rusqlite itself.
pub fn code_of(error: &rusqlite::Error) -> Failure {
    match error {
        rusqlite::Error::SqliteFailure(e, _) | rusqlite::Error::SqlInputError { error: e, .. } => {
            Failure { space: CodeSpace::Sqlite, code: e.extended_code.cast_unsigned() }
        }
        _ => Failure::worker(worker_code::DRIVER),
    }
}

/// As [`code_of`]. The first errors without a code of SQLite's are printed on standard error.
#[cold]
pub fn failure(error: rusqlite::Error) -> Failure {
    static PRINTED: AtomicU32 = AtomicU32::new(0);
    const PRINTED_AT_MOST: u32 = 20;
    let code = code_of(&error);
    if code.space == CodeSpace::Worker && PRINTED.fetch_add(1, Relaxed) < PRINTED_AT_MOST {
        eprintln!("contend worker: an error of rusqlite itself: {error}");
    }
    code
}

/// An error while a connection is set up, with the statement it happened on.
pub struct SetupError {
    sql: String,
    error: rusqlite::Error,
}

impl SetupError {
    fn is_lock(&self) -> bool {
        matches!(self.error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }
}

impl From<SetupError> for Failure {
    fn from(e: SetupError) -> Self {
        failure(e.error)
    }
}

impl SetupError {
    /// On this statement.
    pub fn on(sql: &str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |error| Self { sql: sql.to_string(), error }
    }

    /// The message for users.
    pub fn in_words(self, setup: &Setup<'_>) -> anyhow::Error {
        let code = code_of(&self.error).code;
        anyhow!("client {}, database {}: `{}`: {} ({code})", setup.client, setup.database(), self.sql, self.error)
    }
}

/// Executes a statement, whether it returns rows or not.
fn execute_all(connection: &Connection, sql: &str) -> Result<(), SetupError> {
    let run = || {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
        Ok(())
    };
    run().map_err(SetupError::on(sql))
}

/// Opens a database as rusqlite does and applies the options that are pragmas.
///
/// # Errors
/// SQLite's.
pub fn open(database: &str, options: &Options) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    apply(&connection, options)?;
    Ok(connection)
}

fn apply(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    if let Some(ms) = options.busy_timeout_ms {
        connection.pragma_update(None, "busy_timeout", ms)?;
    }
    if let Some(on) = options.foreign_keys {
        connection.pragma_update(None, "foreign_keys", on)?;
    }
    Ok(())
}

/// Opens a connection. Inside an attempt the timeout is known, so our handler waits from the first statement on; it is
/// installed again if a session statement replaced it.
///
/// `look` is called twice before our handler replaces SQLite's: after the options, and after the session statements.
fn open_and_set_up(
    setup: &Setup<'_>,
    timeout_ms: Option<u32>,
    mut look: impl FnMut(&Connection) -> Result<(), SetupError>,
) -> Result<Connection, SetupError> {
    let connection = if setup.options.in_memory {
        memory::load(setup.path()).map_err(SetupError::on("copy into memory"))?
    } else {
        Connection::open(setup.path()).map_err(SetupError::on("open"))?
    };
    apply(&connection, setup.options).map_err(SetupError::on("open"))?;
    let measure = || timeout_ms.map_or(Ok(()), |ms| measure_lock_wait(&connection, ms, setup.options));
    let interrupt = connection.get_interrupt_handle();
    setup.cancel.set(move || interrupt.interrupt());
    look(&connection)?;
    measure()?;
    for statement in &setup.head.session {
        execute_all(&connection, &statement.sql)?;
    }
    look(&connection)?;
    measure()?;
    Ok(connection)
}

/// Replaces SQLite's busy handler by ours, with the effective timeout.
fn measure_lock_wait(connection: &Connection, timeout_ms: u32, options: &Options) -> Result<(), SetupError> {
    if !options.lock_wait_measured {
        return Ok(());
    }
    let ours: fn(i32) -> bool = if options.tries_each_ms == Some(true) { busy::each_ms } else { busy::handler };
    connection.busy_handler((timeout_ms > 0).then_some(ours)).map_err(SetupError::on("busy handler"))
}

const BUSY_TIMEOUT: &str = "busy_timeout";

/// Pause before retrying what a lock prevented outside the measurement.
const AGAIN_NS: u64 = 10_000_000;

/// How long it tries: a worker that is done much later than its samples say is taken for one with a wrong clock.
const FREE_WITHIN_NS: u64 = 2_000_000_000;

fn busy_timeout_ms(connection: &Connection) -> Result<u32, SetupError> {
    let sql = "PRAGMA busy_timeout";
    connection.query_row(sql, [], |row| row.get(0)).map_err(SetupError::on(sql))
}

fn value_in_words(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(i) => i.to_string(),
        ValueRef::Real(r) => format!("{r:?}"),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    }
}

/// The settings of a connection.
///
/// # Errors
/// The query that SQLite refuses.
pub fn read_back(connection: &Connection, setup: &Setup<'_>) -> Result<Facts, SetupError> {
    let mut facts = vec![("client".to_string(), setup.client.to_string())];
    for readback in &setup.head.readbacks {
        let first = |row: &Row<'_>| row.get_ref(0).map(value_in_words);
        let value = match connection.query_row(&readback.sql, [], first) {
            Err(rusqlite::Error::QueryReturnedNoRows) => String::new(),
            value => value.map_err(SetupError::on(&readback.sql))?,
        };
        facts.push((readback.name.clone(), value));
    }
    Ok(facts)
}

/// A connection ready for use, its settings as read back, and its busy timeout in milliseconds.
pub struct Opened {
    /// The connection.
    pub connection: Connection,
    /// Settings as read back.
    pub facts: Facts,
    /// Busy timeout as SQLite reports it.
    pub timeout_ms: u32,
}

/// Opens a connection before the run and reads its settings back. Another process that opens the same database at the
/// same moment may lock it to recover its log (`SQLITE_BUSY_RECOVERY`), whatever the busy timeout: see [`when_free`].
///
/// # Errors
/// What went wrong, naming client, database and statement.
pub fn open_first(setup: &Setup<'_>) -> Result<Opened> {
    let (connection, mut facts, timeout_ms) = when_free(setup.control, || {
        let connection = open_and_set_up(setup, None, |_| Ok(()))?;
        let (facts, timeout_ms) = (read_back(&connection, setup)?, busy_timeout_ms(&connection)?);
        Ok((connection, facts, timeout_ms))
    })
    .map_err(|e| e.in_words(setup))?;
    if !facts.iter().any(|(name, _)| name == BUSY_TIMEOUT) {
        facts.push((BUSY_TIMEOUT.to_string(), timeout_ms.to_string()));
    }
    let handler = setup.options.tries_each_ms.map(|each_ms| if each_ms { "1ms" } else { "sqlite" });
    facts.extend(handler.map(|handler| ("busy_handler".to_string(), handler.to_string())));
    busy::open_account(timeout_ms, setup.control);
    measure_lock_wait(&connection, timeout_ms, setup.options).map_err(|e| e.in_words(setup))?;
    Ok(Opened { connection, facts, timeout_ms })
}

/// Opens a connection inside an attempt. Our handler waits for locks from its first statement on.
///
/// # Errors
/// The code of the failed statement.
pub fn open_again(setup: &Setup<'_>, timeout_ms: u32) -> Result<Connection, SetupError> {
    open_and_set_up(setup, Some(timeout_ms), |_| Ok(()))
}

/// As [`open_again`], with the settings of the connection.
///
/// # Errors
/// The code of the failed statement.
pub fn open_and_read_back(setup: &Setup<'_>, timeout_ms: u32) -> Result<(Connection, Facts), SetupError> {
    let (mut made_ms, mut now_ms) = (0, 0);
    let connection = open_and_set_up(setup, Some(timeout_ms), |connection| {
        (made_ms, now_ms) = (now_ms, busy_timeout_ms(connection)?);
        Ok(())
    })?;
    let facts = read_back(&connection, setup)?;
    let found_ms = timeout_in_force(now_ms, timeout_ms, made_ms, setup.options);
    Ok((connection, with_timeout(facts, found_ms)))
}

/// The settings of a connection after the measurement.
///
/// # Errors
/// The query that SQLite refuses.
pub fn read_back_later(connection: &Connection, setup: &Setup<'_>, timeout_ms: u32) -> Result<Facts, SetupError> {
    let now_ms = busy_timeout_ms(connection)?;
    let facts = read_back(connection, setup)?;
    // Our handler waits as long as the first connection would have.
    Ok(with_timeout(facts, timeout_in_force(now_ms, timeout_ms, timeout_ms, setup.options)))
}

/// Retries what another connection's lock prevents before or after the measurement, until the lock is free, the drain is
/// over, or [`FREE_WITHIN_NS`] have passed.
///
/// # Errors
/// Any other error, and then the lock's.
pub fn when_free<T>(control: &Control, attempt: impl Fn() -> Result<T, SetupError>) -> Result<T, SetupError> {
    let until_ns = monotonic_ns() + FREE_WITHIN_NS;
    loop {
        busy::reset();
        match attempt() {
            Err(e) if e.is_lock() && !control.drain_over() && monotonic_ns() < until_ns => {
                wait_until(monotonic_ns() + AGAIN_NS, Wake::Usual, || control.drain_over());
            }
            done => return done,
        }
    }
}

/// The effective timeout. With our handler SQLite reports 0, which means `ours_ms`, unless a statement has set another
/// one.
fn timeout_in_force(now_ms: u32, timeout_ms: u32, ours_ms: u32, options: &Options) -> u32 {
    let displaced = options.lock_wait_measured && timeout_ms > 0 && now_ms == 0;
    if displaced { ours_ms } else { now_ms }
}

fn with_timeout(mut facts: Facts, ms: u32) -> Facts {
    facts.retain(|(name, _)| name != BUSY_TIMEOUT);
    facts.push((BUSY_TIMEOUT.to_string(), ms.to_string()));
    facts
}

/// Checks that each step has one argument for every placeholder: unbound ones would silently be NULL.
///
/// # Errors
/// The statement that the plan does not fit, with client and database.
pub fn check_arguments(connection: &Connection, setup: &Setup<'_>) -> Result<()> {
    let whose = || format!("client {}, database {}", setup.client, setup.database());
    arguments_fit(connection, setup.head).with_context(whose)
}

fn arguments_fit(connection: &Connection, head: &Head) -> Result<()> {
    for transaction in &head.transactions {
        for step in &transaction.steps {
            let Step::Sql(step) = step else { continue };
            let sql = &head.statements[step.statement as usize].sql;
            let statement = connection.prepare(sql).with_context(|| format!("`{sql}`"))?;
            let (needed, found) = (statement.parameter_count(), step.args.len());
            let columns = statement.column_count();
            if needed != found {
                return Err(anyhow!("`{sql}` has {needed} placeholders, the plan brings {found} arguments"));
            }
            if let Some(keep) = step.keep.iter().find(|keep| usize::from(keep.column) >= columns) {
                return Err(anyhow!("`{sql}` has {columns} columns, the plan keeps column {}", keep.column));
            }
        }
    }
    Ok(())
}

/// Waits for locks of the current attempt on this thread.
pub fn waits(options: &Options) -> Waits {
    if !options.lock_wait_measured {
        return Waits::UNKNOWN;
    }
    let account = busy::account();
    Waits {
        lock_ns: account.waited_ns,
        timeout_spent: account.timeout_spent,
        cut_short: account.cut_short,
        acquire_ns: 0,
        may_have_acted: false,
    }
}
