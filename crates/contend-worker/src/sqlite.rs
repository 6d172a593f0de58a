//! The driver `rusqlite`: opening a connection, its settings, and carrying out steps on it with statements
//! prepared once on the thread's stack.

use crate::arguments::{Argument, Arguments, Kept, KeptValue};
use crate::busy;
use crate::client::{ClientLoop, Leave};
use crate::control::Control;
use crate::options::Options;
use crate::session::{Failure, Session, Waits};
use anyhow::{Context, Result, anyhow};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Client, Head, SqlStep, Step};
use contend_wire::sample::{CodeSpace, worker_code};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Statement};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What the supervising thread calls to interrupt a connection.
pub type Cancel = Mutex<Option<Box<dyn Fn() + Send>>>;

/// Everything a client's connection depends on.
#[derive(Clone, Copy)]
pub struct Setup<'p> {
    /// The plan's head.
    pub head: &'p Head,
    /// The client.
    pub client: &'p Client,
    /// The plan's options.
    pub options: &'p Options,
    /// The window.
    pub control: &'p Arc<Control>,
    /// Where to leave the means to interrupt the connection.
    pub cancel: &'p Cancel,
}

impl Setup<'_> {
    fn database(&self) -> &str {
        &self.head.databases[self.client.database as usize]
    }
}

/// SQLite's own code for an error, or the worker's for errors of rusqlite itself.
pub fn code_of(error: &rusqlite::Error) -> Failure {
    match error {
        rusqlite::Error::SqliteFailure(e, _) | rusqlite::Error::SqlInputError { error: e, .. } => {
            Failure { space: CodeSpace::Sqlite, code: e.extended_code.cast_unsigned() }
        }
        _ => Failure::worker(worker_code::DRIVER),
    }
}

/// As [`code_of`]; what has no code of SQLite's is told in words on standard error, a few times.
#[cold]
fn failure(error: rusqlite::Error) -> Failure {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    const TOLD_AT_MOST: u32 = 20;
    let code = code_of(&error);
    if code.space == CodeSpace::Worker && TOLD.fetch_add(1, Relaxed) < TOLD_AT_MOST {
        eprintln!("contend worker: an error of rusqlite itself: {error}");
    }
    code
}

/// An error while a connection is set up, with the statement it happened on.
struct SetupError {
    sql: String,
    error: rusqlite::Error,
}

impl SetupError {
    fn on(sql: &str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |error| Self { sql: sql.to_string(), error }
    }

    fn in_words(self, setup: &Setup<'_>) -> anyhow::Error {
        let code = code_of(&self.error).code;
        anyhow!("client {}, database {}: `{}`: {} ({code})", setup.client.id, setup.database(), self.sql, self.error)
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
    if let Some(ms) = options.busy_timeout_ms {
        connection.pragma_update(None, "busy_timeout", ms)?;
    }
    if let Some(on) = options.foreign_keys {
        connection.pragma_update(None, "foreign_keys", on)?;
    }
    Ok(connection)
}

/// Opens a client's connection. One opened inside an attempt knows the timeout, and waits with our handler
/// from its first statement on; it takes the place of ours again if a session statement displaced it.
fn open_and_set_up(setup: &Setup<'_>, timeout_ms: Option<u32>) -> Result<Connection, SetupError> {
    let connection = open(setup.database(), setup.options).map_err(SetupError::on("open"))?;
    let measure = || timeout_ms.map_or(Ok(()), |ms| measure_lock_wait(&connection, ms, setup.options));
    let interrupt = connection.get_interrupt_handle();
    let cancel: Box<dyn Fn() + Send> = Box::new(move || interrupt.interrupt());
    *setup.cancel.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
    measure()?;
    for sql in &setup.head.session {
        execute_all(&connection, sql)?;
    }
    measure()?;
    Ok(connection)
}

/// Puts our busy handler in the place of SQLite's, with the timeout that is in force.
fn measure_lock_wait(connection: &Connection, timeout_ms: u32, options: &Options) -> Result<(), SetupError> {
    if !options.lock_wait_measured {
        return Ok(());
    }
    let handler: Option<fn(i32) -> bool> = if timeout_ms > 0 { Some(busy::handler) } else { None };
    connection.busy_handler(handler).map_err(SetupError::on("busy handler"))
}

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

fn read_back(connection: &Connection, setup: &Setup<'_>) -> Result<Facts, SetupError> {
    let mut facts = vec![("client".to_string(), setup.client.id.to_string())];
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

/// Runs a client on connections of its own. `ready` gets the settings of the first one and answers with
/// the start, or with none if there is no run.
///
/// # Errors
/// What went wrong before `ready`, naming client, database and statement.
pub fn drive(client: &mut ClientLoop<'_>, setup: Setup<'_>, ready: impl FnOnce(Facts) -> Option<u64>) -> Result<()> {
    let words = |e: SetupError| e.in_words(&setup);
    let connection = open_and_set_up(&setup, None).map_err(words)?;
    let mut facts = read_back(&connection, &setup).map_err(words)?;
    let timeout_ms = busy_timeout_ms(&connection).map_err(words)?;
    if !facts.iter().any(|(name, _)| name == "busy_timeout") {
        facts.push(("busy_timeout".to_string(), timeout_ms.to_string()));
    }
    busy::open_account(timeout_ms, Arc::clone(setup.control));
    measure_lock_wait(&connection, timeout_ms, setup.options).map_err(words)?;
    let mut leave = {
        let mut session = SqliteSession::new(&connection, &setup).map_err(words)?;
        check_arguments(&connection, setup.head)
            .with_context(|| format!("client {}, database {}", setup.client.id, setup.database()))?;
        let Some(start_ns) = ready(facts) else { return Ok(()) };
        client.start(start_ns);
        client.run(&mut session)
    };
    let mut previous = Some(connection);
    while leave == Leave::Reconnect {
        drop(previous.take());
        leave = run_on_new_connection(client, &setup, timeout_ms);
    }
    Ok(())
}

fn run_on_new_connection(client: &mut ClientLoop<'_>, setup: &Setup<'_>, timeout_ms: u32) -> Leave {
    let failed = |client: &mut ClientLoop<'_>, e: SetupError| {
        let failure = failure(e.error);
        client.connect_failed(failure, waits(setup.options))
    };
    let opened = open_and_set_up(setup, Some(timeout_ms));
    let connection = match opened {
        Ok(connection) => connection,
        Err(e) => return failed(client, e),
    };
    let mut session = match SqliteSession::new(&connection, setup) {
        Ok(session) => session,
        Err(e) => return failed(client, e),
    };
    client.reconnected();
    client.run(&mut session)
}

/// Each step must bring one argument for every placeholder: unbound ones would silently be NULL.
fn check_arguments(connection: &Connection, head: &Head) -> Result<()> {
    for transaction in &head.transactions {
        for step in &transaction.steps {
            let Step::Sql(step) = step else { continue };
            let sql = &head.statements[step.statement as usize];
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

fn waits(options: &Options) -> Waits {
    if !options.lock_wait_measured {
        return Waits::UNKNOWN;
    }
    let account = busy::account();
    Waits { lock_ns: account.waited_ns, timeout_spent: account.timeout_spent, cut_short: account.cut_short }
}

/// Statements prepared once.
struct Prepared<'c> {
    steps: Vec<Statement<'c>>,
    begins: Vec<Option<Statement<'c>>>,
    commit: Statement<'c>,
}

/// An open connection of a client.
pub struct SqliteSession<'c> {
    connection: &'c Connection,
    head: &'c Head,
    options: &'c Options,
    /// None: statements are prepared anew for every execution.
    prepared: Option<Prepared<'c>>,
}

impl<'c> SqliteSession<'c> {
    fn new(connection: &'c Connection, setup: &Setup<'c>) -> Result<Self, SetupError> {
        let head = setup.head;
        let prepare = |sql: &str| connection.prepare(sql).map_err(SetupError::on(sql));
        let prepared = Prepared {
            steps: head.statements.iter().map(|sql| prepare(sql)).collect::<Result<_, _>>()?,
            begins: head
                .transactions
                .iter()
                .map(|t| t.begin.as_deref().map(prepare).transpose())
                .collect::<Result<_, _>>()?,
            commit: prepare("COMMIT")?,
        };
        // Prepared in either case, so that a mistake shows before the window.
        let prepared = (!setup.options.prepare_each).then_some(prepared);
        Ok(Self { connection, head, options: setup.options, prepared })
    }

    fn once(&self, sql: &str) -> Result<(), Failure> {
        self.connection.prepare(sql).and_then(|mut statement| statement.raw_execute()).map(drop).map_err(failure)
    }
}

#[inline]
fn as_sql(argument: Argument<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match argument {
        Argument::Null => ValueRef::Null,
        Argument::Integer(i) => ValueRef::Integer(i),
        Argument::Real(r) => ValueRef::Real(r),
        Argument::Text(text) => ValueRef::Text(text),
        Argument::Blob(bytes) => ValueRef::Blob(bytes),
    })
}

/// Binds, executes, and reads every column of every row, as an application would.
#[inline(always)]
fn execute(
    connection: &Connection,
    statement: &mut Statement<'_>,
    step: &SqlStep,
    repetition: u32,
    arguments: &Arguments<'_>,
    kept: &mut Kept,
) -> Result<u32, Failure> {
    for (i, source) in step.args.iter().enumerate() {
        let argument = arguments.resolve(source, repetition, kept)?;
        statement.raw_bind_parameter(i + 1, as_sql(argument)).map_err(failure)?;
    }
    let columns = statement.column_count();
    if columns == 0 {
        return change(connection, statement);
    }
    for keep in &step.keep {
        kept.clear_slot(keep.slot);
    }
    let mut found = 0u32;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(failure)? {
        for column in 0..columns {
            let value = row.get_ref(column).map_err(failure)?;
            std::hint::black_box(&value);
            for keep in &step.keep {
                if usize::from(keep.column) == column && found < u32::from(keep.rows) {
                    let value = keep_value(kept, value);
                    kept.push(keep.slot, value);
                }
            }
        }
        found = found.saturating_add(1);
    }
    Ok(found)
}

/// SQLite's count of changes is that of the last statement that could change rows, which need not be this
/// one; the total tells whether it was.
#[inline]
fn change(connection: &Connection, statement: &mut Statement<'_>) -> Result<u32, Failure> {
    let before = connection.total_changes();
    let changes = statement.raw_execute().map_err(failure)?;
    if connection.total_changes() == before {
        return Ok(0);
    }
    Ok(u32::try_from(changes).unwrap_or(u32::MAX))
}

fn keep_value(kept: &mut Kept, value: ValueRef<'_>) -> KeptValue {
    match value {
        ValueRef::Null => KeptValue::Null,
        ValueRef::Integer(i) => KeptValue::Integer(i),
        ValueRef::Real(r) => KeptValue::Real(r),
        ValueRef::Text(text) => KeptValue::Text(kept.store(text)),
        ValueRef::Blob(bytes) => KeptValue::Blob(kept.store(bytes)),
    }
}

impl Session for SqliteSession<'_> {
    #[inline]
    fn reset_waits(&mut self) {
        busy::reset();
    }

    #[inline]
    fn waits(&self) -> Waits {
        waits(self.options)
    }

    #[inline]
    fn begin(&mut self, transaction: u16) -> Result<(), Failure> {
        let index = usize::from(transaction);
        match &mut self.prepared {
            Some(prepared) => match &mut prepared.begins[index] {
                Some(begin) => begin.raw_execute().map(drop).map_err(failure),
                None => Ok(()),
            },
            None => self.head.transactions[index].begin.as_deref().map_or(Ok(()), |sql| self.once(sql)),
        }
    }

    #[inline]
    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure> {
        let index = step.statement as usize;
        match &mut self.prepared {
            Some(p) => execute(self.connection, &mut p.steps[index], step, repetition, arguments, kept),
            None => {
                let mut statement = self.connection.prepare(&self.head.statements[index]).map_err(failure)?;
                execute(self.connection, &mut statement, step, repetition, arguments, kept)
            }
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Failure> {
        match &mut self.prepared {
            Some(prepared) => prepared.commit.raw_execute().map(drop).map_err(failure),
            None => self.once("COMMIT"),
        }
    }

    #[cold]
    fn rollback(&mut self) {
        // SQLite rolls back by itself after some errors; then there is nothing left to do. Should the
        // rollback fail too, the next begin fails and shows it.
        if !self.connection.is_autocommit() {
            let _ = self.once("ROLLBACK");
        }
    }
}
