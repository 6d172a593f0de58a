//! The driver `sqlx` with the model `pool`: the parts of the worker that are specific to sqlx.
//!
//! [`pools`] opens the connections of a database, [`attempt`] carries out an attempt on one of them.

pub mod attempt;
pub mod pools;

use anyhow::{Result, bail, ensure};
use contend_wire::handshake::{Facts, PROTOCOL_VERSION};
use contend_wire::plan::{Connections, Plan};
use contend_worker::control::Control;
use contend_worker::kit::{Kit, LANGUAGE};
use contend_worker::models;
use contend_worker::models::tasks::{Tasks, runtime};
use contend_worker::options::{Options, TOKIO_THREADS};
use contend_worker::run::{Carrier, Event, Member, Opening, Ready};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The abilities of this worker. It carries out no scripts: the tool's own worker loads and inspects data.
pub const KIT: Kit = Kit { hello, prepare, serve: None, script: |_| bail!("this worker carries out no scripts") };

/// Defaults of a connection: whether a write is committed at once, so that a transaction can begin after it, and how
/// many of very many statements it caches.
async fn defaults(connection: &mut SqliteConnection) -> sqlx::Result<(&'static str, usize)> {
    for sql in ["CREATE TABLE probe (value)", "INSERT INTO probe VALUES (1)"] {
        sqlx::query(sql).execute(&mut *connection).await?;
    }
    let autocommit = if sqlx::query("BEGIN").execute(&mut *connection).await.is_ok() { "on" } else { "off" };
    for i in 0..500 {
        sqlx::query(AssertSqlSafe(format!("SELECT {i}"))).execute(&mut *connection).await?;
    }
    Ok((autocommit, connection.cached_statements_size()))
}

fn hello() -> Result<Facts> {
    let asked = async {
        let mut connection = SqliteConnection::connect(":memory:").await?;
        let version: String = sqlx::query("SELECT sqlite_version()").fetch_one(&mut connection).await?.try_get(0)?;
        let rows = sqlx::query("PRAGMA compile_options").fetch_all(&mut connection).await?;
        let options = rows.iter().map(|row| row.try_get::<String, _>(0)).collect::<Result<Vec<_>, _>>()?;
        let (autocommit, kept) = defaults(&mut connection).await?;
        Ok::<_, sqlx::Error>((version, options.join(","), autocommit, kept))
    };
    let (version, compile_options, autocommit, kept) =
        tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(asked)?;
    let facts = [
        ("protocol", PROTOCOL_VERSION.to_string()),
        ("language", LANGUAGE.to_string()),
        ("driver", "sqlx 0.9.0".to_string()),
        ("engine", format!("SQLite {version}")),
        ("lock_wait", "not measured".to_string()),
        ("drivers", "sqlx".to_string()),
        ("models", "pool".to_string()),
        ("compile_options", compile_options),
        ("autocommit", autocommit.to_string()),
        ("statement_cache", kept.to_string()),
    ];
    Ok(facts.map(|(key, value)| (key.to_string(), value)).to_vec())
}

fn check(plan: &Plan, options: &Options) -> Result<()> {
    let head = &plan.head;
    ensure!(head.driver == "sqlx", "driver {}: this worker has only `sqlx`", head.driver);
    ensure!(head.model == "pool", "model {}: driver sqlx has only `pool`", head.model);
    ensure!(
        head.connections == Connections::Database,
        "model pool: the clients of a database share what it opens, the plan gives each its own"
    );
    ensure!(!options.in_memory, "option storage: model pool opens several connections, and data in memory has one");
    ensure!(options.tries_each_ms.is_none(), "option busy_handler: sqlx waits with SQLite's own");
    ensure!(options.blocking_threads.is_none(), "option blocking_threads: sqlx has threads of its own");
    Ok(())
}

/// Opens all connections of a plan. `events` receives each client's end.
///
/// # Errors
/// An error in the plan's options or in a client, with its name.
pub fn prepare(plan: Plan, events: &Sender<Event>) -> Result<Ready> {
    let options = Options::parse(&plan.head.options)?;
    models::only_sql(&plan.head)?;
    check(&plan, &options)?;
    let plan = Arc::new(plan);
    let control = Arc::new(Control::new(plan.head.window.drain_ns));
    let members = Member::all(&plan);
    let runtime = runtime(options.tokio_threads.unwrap_or(TOKIO_THREADS), None, &control)?;
    let opening = Opening { plan: &plan, control: &control, members: &members, events };
    let (tasks, sessions) =
        Tasks::open(runtime, opening, |runtime, first| runtime.block_on(pools::open(&plan, first, options, &control)))?;
    Ok(Ready { control, window: plan.head.window, members, carrier: Carrier::Tasks(Box::new(tasks)), sessions })
}
