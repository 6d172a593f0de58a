//! The connections of one database: a pool with one writer, and a pool of readers.

use crate::attempt::{Statements, carry_out, failure};
use anyhow::{Context, Error, Result, ensure};
use contend_wire::handshake::Facts;
use contend_wire::plan::{Plan, Step};
use contend_wire::statement::Statement;
use contend_worker::attempt::Failed;
use contend_worker::control::Control;
use contend_worker::models::job::Job;
use contend_worker::models::tasks::{Access, Database};
use contend_worker::options::{Options, POOL_READERS, TOKIO_THREADS};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Either, Executor as _, Row as _, SqlSafeStr as _, Sqlite,
    Statement as _,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Instructions of SQLite's virtual machine between two checks for the end of the drain: some tens of microseconds.
const LOOK_EVERY: i32 = 1_000;

/// Longest wait for a connection after the run, when none is in use: its last user may still be returning it.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Longer than any run: a client's wait for a connection never times out.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A client's access to the connections of its database.
#[derive(Clone)]
pub struct Pools {
    writer: SqlitePool,
    readers: SqlitePool,
    statements: Arc<Statements>,
    /// Data for reading connections back after the run.
    known: Arc<Known>,
}

/// Data for reading connections back after the run.
struct Known {
    plan: Arc<Plan>,
    control: Arc<Control>,
    /// The settings of the first connection.
    first: Facts,
    whose: String,
}

impl Pools {
    /// A connection for the job; a new one if the job begins with one.
    async fn acquire(&self, job: &Job) -> sqlx::Result<PoolConnection<Sqlite>> {
        let pool = if job.reads() { &self.readers } else { &self.writer };
        let connection = pool.acquire().await?;
        if !job.connects() {
            return Ok(connection);
        }
        connection.close().await?;
        pool.acquire().await
    }
}

impl Access for Pools {
    const MEASURES_LOCK_WAIT: bool = false;

    async fn call(&self, mut job: Box<Job>) -> Result<Box<Job>> {
        let connection = self.acquire(&job).await;
        let in_time = job.acquired();
        job.outcome = match (connection, in_time) {
            (_, Err(failed)) => Err(failed),
            (Err(e), _) => Err(Failed { step: job.first_step(), failure: failure(&e) }),
            (Ok(mut connection), Ok(())) => carry_out(&mut connection, &self.statements, &mut job).await,
        };
        Ok(job)
    }

    async fn look_again(&self) {
        let Known { plan, control, first, whose } = &*self.known;
        if control.drain_over() {
            return;
        }
        for pool in [&self.writer, &self.readers] {
            // All at the same time, so that each is read.
            let mut held = vec![];
            for _ in 0..pool.size() {
                match timeout(LAST_WAIT, pool.acquire()).await {
                    Ok(Ok(connection)) => held.push(connection),
                    // A connection that could not be reopened has failed its operations, and has no settings.
                    _ => break,
                }
            }
            for connection in &mut held {
                let found = read_back(connection, plan).await.with_context(|| whose.clone());
                control.hold_later(first, found.as_ref());
            }
        }
    }

    async fn close(self) -> Result<()> {
        self.readers.close().await;
        self.writer.close().await;
        Ok(())
    }
}

/// Opens the connections of the database that client number `first` of the plan uses first.
///
/// # Errors
/// The error, with client, database and statement.
pub async fn open(plan: &Arc<Plan>, first: usize, options: Options, control: &Arc<Control>) -> Result<Database<Pools>> {
    let client = &plan.clients[first];
    let database = plan.head.databases[client.database as usize].file().map_err(Error::msg)?;
    let whose = || format!("client {}, database {database}", client.id);
    let count = options.pool_readers.unwrap_or(POOL_READERS);
    let writer = pool(plan, database, 1, options, control).await.with_context(whose)?;
    let readers = pool(plan, database, count, options, control).await.with_context(whose)?;
    let (mut facts, mut statements) = (vec![], None);
    for (pool, size) in [(&writer, 1), (&readers, count)] {
        // All at the same time, so that each is read.
        let mut held = vec![];
        for _ in 0..size {
            held.push(pool.acquire().await.with_context(whose)?);
        }
        for connection in &mut held {
            let mut of_it = vec![("client".to_string(), client.id.to_string())];
            of_it.extend(read_back(connection, plan).await.with_context(whose)?);
            of_it.push(("tokio_threads".to_string(), options.tokio_threads.unwrap_or(TOKIO_THREADS).to_string()));
            of_it.push(("pool_readers".to_string(), count.to_string()));
            facts.push(of_it);
            statements = Some(prepare_all(connection, plan, options).await.with_context(whose)?);
        }
    }
    let statements = Arc::new(statements.context("a pool has at least one connection")?);
    let first = facts.first().cloned().unwrap_or_default();
    let known = Known { plan: Arc::clone(plan), control: Arc::clone(control), first, whose: whose() };
    let access = Pools { writer, readers, statements, known: Arc::new(known) };
    Ok(Database { access, facts, interrupts: vec![] })
}

/// A pool that opens all its connections at once and keeps them.
async fn pool(
    plan: &Arc<Plan>,
    database: &str,
    size: u32,
    options: Options,
    control: &Arc<Control>,
) -> sqlx::Result<SqlitePool> {
    let mut connect = SqliteConnectOptions::new()
        .filename(database)
        .statement_cache_capacity(plan.head.statements.len() + 2 * plan.head.transactions.len() + 8)
        .busy_timeout(Duration::from_millis(u64::from(options.busy_timeout_ms.unwrap_or(5_000))));
    if let Some(on) = options.foreign_keys {
        connect = connect.foreign_keys(on);
    }
    // A pool would retry a failing session statement; here it fails at once.
    let mut first = connect.connect().await?;
    set_up(&mut first, plan, Arc::clone(control)).await?;
    first.close().await?;
    let (plan, control) = (Arc::clone(plan), Arc::clone(control));
    SqlitePoolOptions::new()
        .min_connections(size)
        .max_connections(size)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .after_connect(move |connection, _| {
            let (plan, control) = (Arc::clone(&plan), Arc::clone(&control));
            Box::pin(async move { set_up(connection, &plan, control).await })
        })
        .connect_with(connect)
        .await
}

/// Runs session statements, and installs SQLite's progress handler, the only way to interrupt a statement of sqlx.
async fn set_up(connection: &mut SqliteConnection, plan: &Plan, control: Arc<Control>) -> sqlx::Result<()> {
    for statement in &plan.head.session {
        connection.execute(AssertSqlSafe(statement.sql.as_str())).await?;
    }
    connection.lock_handle().await?.set_progress_handler(LOOK_EVERY, move || !control.drain_over());
    Ok(())
}

async fn read_back(connection: &mut SqliteConnection, plan: &Plan) -> sqlx::Result<Facts> {
    let mut facts = vec![];
    let asked = plan.head.readbacks.iter().map(|r| (r.name.as_str(), r.sql.as_str()));
    let timeout = plan.head.readbacks.iter().all(|r| r.name != "busy_timeout");
    for (name, sql) in asked.chain(timeout.then_some(("busy_timeout", "PRAGMA busy_timeout"))) {
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_optional(&mut *connection).await?;
        let text = match row {
            None => String::new(),
            // Numbers first: SQLite converts any number to text on request.
            Some(row) => row.try_get_unchecked::<Option<String>, _>(0)?.unwrap_or_default(),
        };
        facts.push((name.to_string(), text));
    }
    Ok(facts)
}

/// Prepares all statements, so that errors show before the window, and checks that the plan fits them.
async fn prepare_all(connection: &mut SqliteConnection, plan: &Plan, options: Options) -> Result<Statements> {
    let mut statements = Statements::new(&plan.head, !options.prepare_each);
    for Statement { sql, .. } in &plan.head.statements {
        let prepared = connection.prepare(statements.sql(statements.columns.len()).into_sql_str()).await;
        let prepared = prepared.with_context(|| format!("`{sql}`"))?;
        let needed = match prepared.parameters() {
            Some(Either::Right(count)) => count,
            _ => 0,
        };
        let columns = prepared.columns().len();
        let at = statements.columns.len();
        for step in plan.head.transactions.iter().flat_map(|t| &t.steps) {
            let Step::Sql(step) = step else { continue };
            if step.statement as usize == at {
                let found = step.args.len();
                ensure!(needed == found, "`{sql}` has {needed} placeholders, the plan brings {found} arguments");
                let keeps = step.keep.iter().all(|keep| usize::from(keep.column) < columns);
                ensure!(keeps, "`{sql}` has {columns} columns, the plan keeps one beyond");
            }
        }
        statements.columns.push(columns);
    }
    Ok(statements)
}
