//! One attempt on a connection of sqlx: every step is a message to the connection's thread.

use contend_wire::plan::{Head, SqlStep, Step};
use contend_wire::sample::{CodeSpace, NOT_MEASURED, STEP_BEGIN, STEP_COMMIT, worker_code};
use contend_worker::argument::Argument;
use contend_worker::arguments::Arguments;
use contend_worker::attempt::{Attempt, Failed};
use contend_worker::clock::monotonic_ns;
use contend_worker::control::Control;
use contend_worker::failure::{Failure, INTERRUPT};
use contend_worker::kept::{Kept, KeptValue};
use contend_worker::models::job::Job;
use contend_worker::models::tasks::wait_until;
use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow, SqliteValueRef};
use sqlx::{Arguments as _, AssertSqlSafe, Decode, Either, Row as _, Sqlite, TypeInfo as _, ValueRef as _};
use std::hint::black_box;
use std::sync::Arc;

/// SQLite's code for an error, or the worker's code for errors of sqlx itself.
pub fn failure(error: &sqlx::Error) -> Failure {
    let code = error.as_database_error().and_then(|e| e.code()?.parse::<i32>().ok());
    match code {
        Some(code) => Failure { space: CodeSpace::Sqlite, code: code.cast_unsigned() },
        None => Failure::worker(worker_code::DRIVER),
    }
}

/// The plan's statements for sqlx, shared by all clients.
pub struct Statements {
    texts: Vec<Arc<str>>,
    begins: Vec<Option<Arc<str>>>,
    commit: Arc<str>,
    /// Number of columns of each statement's result.
    pub columns: Vec<usize>,
    /// Whether each statement changes rows, so that SQLite counts them.
    changes: Vec<bool>,
    /// Whether statements stay prepared between executions.
    persistent: bool,
}

impl Statements {
    /// Not yet prepared.
    pub fn new(head: &Head, persistent: bool) -> Self {
        let begins = head.transactions.iter().map(|t| t.begin.as_deref().map(Arc::from));
        Self {
            texts: head.statements.iter().map(|statement| Arc::from(statement.sql.as_str())).collect(),
            begins: begins.collect(),
            commit: Arc::from("COMMIT"),
            columns: vec![],
            changes: head.statements.iter().map(|statement| statement.effect.changes).collect(),
            persistent,
        }
    }

    /// The text of a statement.
    pub fn sql(&self, index: usize) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(Arc::clone(&self.texts[index]))
    }

    async fn once(&self, connection: &mut SqliteConnection, sql: &Arc<str>) -> Result<(), Failure> {
        let query = sqlx::query(AssertSqlSafe(Arc::clone(sql))).persistent(self.persistent);
        query.execute(connection).await.map(drop).map_err(|e| failure(&e))
    }
}

/// Carries out a job on a connection. After a failure no transaction is left open.
///
/// # Errors
/// The step that failed, with its code.
pub async fn carry_out(
    connection: &mut SqliteConnection,
    statements: &Statements,
    job: &mut Job,
) -> Result<(), Failed> {
    // sqlx calls SQLite on its own thread, where nothing is measured.
    job.waits.lock_ns = NOT_MEASURED;
    let transaction = usize::from(job.transaction());
    let begin = statements.begins[transaction].as_ref();
    if let Some(sql) = begin {
        let begun = statements.once(connection, sql).await;
        begun.map_err(|failure| Failed { step: STEP_BEGIN, failure })?;
    }
    let mut done = steps(connection, statements, job).await;
    if begin.is_some() && done.is_ok() {
        let committed = statements.once(connection, &statements.commit).await;
        done = committed.map_err(|failure| Failed { step: STEP_COMMIT, failure });
    }
    if done.is_err() {
        // A step may have begun a transaction too. If none is open, this fails without effect.
        let _ = sqlx::query("ROLLBACK").persistent(false).execute(&mut *connection).await;
    }
    done
}

async fn steps(connection: &mut SqliteConnection, statements: &Statements, job: &mut Job) -> Result<(), Failed> {
    let range = job.steps.clone();
    let mut attempt = job.ready();
    let all = &attempt.arguments.head.transactions[usize::from(attempt.transaction)].steps;
    for (i, step) in range.clone().zip(&all[range]) {
        let done = match step {
            Step::Sql(sql) => repeat(connection, statements, sql, &mut attempt).await,
            // The delay is in this task; the connection is kept.
            Step::Hold { ns } | Step::Pause { ns } => wait(*ns, attempt.control).await,
            // Done before the connection was acquired.
            Step::Connect => Ok(()),
            // Refused when the plan was read.
            Step::Http(_) => Err(Failure::worker(worker_code::DRIVER)),
        };
        done.map_err(|failure| Failed { step: i as u16, failure })?;
    }
    Ok(())
}

async fn wait(ns: u64, control: &Control) -> Result<(), Failure> {
    let until_ns = monotonic_ns().saturating_add(ns);
    let now_ns = wait_until(control, until_ns, || control.drain_over()).await;
    if now_ns < until_ns { Err(INTERRUPT) } else { Ok(()) }
}

async fn repeat(
    connection: &mut SqliteConnection,
    statements: &Statements,
    step: &SqlStep,
    attempt: &mut Attempt<'_>,
) -> Result<(), Failure> {
    for repetition in 0..step.repeat {
        if attempt.control.drain_over() {
            return Err(INTERRUPT);
        }
        let bound = bind(step, repetition, &attempt.arguments, attempt.kept)?;
        let found = execute(connection, statements, step, bound, attempt.kept).await?;
        *attempt.rows = attempt.rows.saturating_add(found);
        if !(step.rows_min..=step.rows_max).contains(&found) {
            return Err(Failure::worker(worker_code::ROWS));
        }
    }
    Ok(())
}

fn bind(step: &SqlStep, repetition: u32, arguments: &Arguments<'_>, kept: &Kept) -> Result<SqliteArguments, Failure> {
    let mut bound = SqliteArguments::default();
    for source in &step.args {
        let added = match arguments.resolve(source, repetition, kept)? {
            Argument::Null => bound.add(None::<i64>),
            Argument::Integer(i) => bound.add(i),
            Argument::Real(r) => bound.add(r),
            Argument::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => bound.add(text),
                Err(_) => return Err(Failure::worker(worker_code::VALUE)),
            },
            Argument::Blob(bytes) => bound.add(bytes),
        };
        added.map_err(|_| Failure::worker(worker_code::VALUE))?;
    }
    Ok(bound)
}

/// Executes a statement, and reads every column of every row, as an application would.
async fn execute(
    connection: &mut SqliteConnection,
    statements: &Statements,
    step: &SqlStep,
    bound: SqliteArguments,
    kept: &mut Kept,
) -> Result<u32, Failure> {
    let index = step.statement as usize;
    let columns = statements.columns[index];
    let query = sqlx::query_with(statements.sql(index), bound).persistent(statements.persistent);
    if columns == 0 {
        let changed = query.execute(connection).await.map_err(|e| failure(&e))?.rows_affected();
        return Ok(if statements.changes[index] { u32::try_from(changed).unwrap_or(u32::MAX) } else { 0 });
    }
    for keep in &step.keep {
        kept.clear_slot(keep.slot);
    }
    let mut found = 0u32;
    // Of several results only the rows are counted; a statement's end comes with its count of changes.
    #[expect(deprecated, reason = "no other call distinguishes rows from the end without reading them twice")]
    let mut results = query.fetch_many(connection);
    while let Some(result) = results.try_next().await.map_err(|e| failure(&e))? {
        if let Either::Right(row) = result {
            read(&row, columns, step, found, kept)?;
            found = found.saturating_add(1);
        }
    }
    Ok(found)
}

fn read(row: &SqliteRow, columns: usize, step: &SqlStep, found: u32, kept: &mut Kept) -> Result<(), Failure> {
    for column in 0..columns {
        let value = row.try_get_raw(column).map_err(|e| failure(&e))?;
        black_box(&value);
        for keep in step.keep.iter().filter(|keep| usize::from(keep.column) == column) {
            if found < u32::from(keep.rows) {
                let value = row.try_get_raw(column).map_err(|e| failure(&e))?;
                let value = keep_value(kept, value)?;
                kept.push(keep.slot, value);
            }
        }
    }
    Ok(())
}

fn keep_value(kept: &mut Kept, value: SqliteValueRef<'_>) -> Result<KeptValue, Failure> {
    fn decoded<'r, T: Decode<'r, Sqlite>>(value: SqliteValueRef<'r>) -> Result<T, Failure> {
        T::decode(value).map_err(|_| Failure::worker(worker_code::VALUE))
    }
    if value.is_null() {
        return Ok(KeptValue::Null);
    }
    let kind = value.type_info().name().to_string();
    Ok(match kind.as_str() {
        "TEXT" => KeptValue::Text(kept.store(decoded::<&str>(value)?.as_bytes())),
        "REAL" => KeptValue::Real(decoded(value)?),
        "BLOB" => KeptValue::Blob(kept.store(decoded::<&[u8]>(value)?)),
        _ => KeptValue::Integer(decoded(value)?),
    })
}
