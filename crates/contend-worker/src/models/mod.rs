//! The execution models: how an application's threads and tasks call the driver, and who shares connections.
//!
//! `thread` gives each client a thread and a connection. In all other models clients are tasks on a Tokio
//! runtime ([`tasks`]), and those of one database share what the model opens for it. A task takes an attempt as
//! a [`job`] to its database's `access`, which is where the models differ.

#[cfg(feature = "rusqlite")]
pub mod access;
#[cfg(feature = "rusqlite")]
pub mod alone;
pub mod job;
#[cfg(feature = "rusqlite")]
pub mod place;
pub mod tasks;
#[cfg(feature = "rusqlite")]
pub mod thread;

use crate::driver::Driver;
use crate::options::Options;
use anyhow::{Error, Result, bail, ensure};
use contend_wire::database::Database;
use contend_wire::plan::{Connections, Head, Plan, Step};
use std::collections::BTreeSet;

/// A model that is not `thread`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// A mutex; locked and called on the runtime's own threads.
    Direct,
    /// The same mutex; locked and called on the runtime's own threads, which hand over their other tasks before.
    BlockInPlace,
    /// The same mutex; locked and called on threads that may block.
    SpawnBlocking,
    /// A thread for each database, which takes requests from a channel.
    Dedicated,
    /// A fair queue, then a call on a thread that may block.
    Fifo,
    /// One connection that writes and several that read, each behind a fair queue; calls as in `Fifo`.
    Pool,
}

/// How the clients of a plan are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// One thread and connection for each client.
    Thread,
    /// Tasks that share connections.
    Shared(Shared),
}

/// All models by name.
pub const MODELS: &[(&str, Model)] = &[
    ("thread", Model::Thread),
    ("direct", Model::Shared(Shared::Direct)),
    ("block-in-place", Model::Shared(Shared::BlockInPlace)),
    ("spawn-blocking", Model::Shared(Shared::SpawnBlocking)),
    ("dedicated", Model::Shared(Shared::Dedicated)),
    ("fifo", Model::Shared(Shared::Fifo)),
    ("pool", Model::Shared(Shared::Pool)),
];

/// Names of all models, separated by commas.
pub fn names() -> String {
    MODELS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")
}

impl Shared {
    /// Whether calls need the runtime's threads that may block: to run on, or to run the other tasks meanwhile.
    pub fn uses_blocking_threads(self) -> bool {
        matches!(self, Shared::BlockInPlace | Shared::SpawnBlocking | Shared::Fifo | Shared::Pool)
    }
}

/// Rejects a plan of requests, for drivers of databases.
///
/// # Errors
/// It has a step that sends one.
pub fn only_sql(head: &Head) -> Result<()> {
    if head.driver == "null" {
        return Ok(());
    }
    let sends = head.transactions.iter().find(|t| t.steps.iter().any(|step| matches!(step, Step::Http(_))));
    if let Some(transaction) = sends {
        bail!("driver {}: `{}` sends HTTP requests, which the driver http does", head.driver, transaction.name);
    }
    ensure!(head.login.is_none(), "driver {}: the plan has a login, which only the driver http supports", head.driver);
    Ok(())
}

/// The model of a plan, checked against the plan's options.
///
/// # Errors
/// An unknown driver or model, or what in the plan does not fit the model.
pub fn of(plan: &Plan, options: &Options) -> Result<Model> {
    let head = &plan.head;
    only_sql(head)?;
    let name = &head.model;
    let Some((_, model)) = MODELS.iter().find(|(known, _)| known == name) else {
        bail!("model {name}: this worker has only {}", names());
    };
    match (model, head.connections) {
        (Model::Thread, Connections::Database) => {
            bail!("model {name}: each client has a connection of its own, the plan lets them share")
        }
        (Model::Shared(_), Connections::Client) => {
            bail!("model {name}: the clients of a database share what it opens, the plan gives each its own")
        }
        (Model::Shared(_), _) if head.driver != "rusqlite" => {
            bail!("driver {}: it has only the model thread", head.driver)
        }
        _ => {}
    }
    let driver = Driver::of(&head.driver)?;
    let fits = |database: &Database| match driver {
        Driver::Sqlite | Driver::Translator => database.file().map(drop),
        Driver::Postgres | Driver::TokioPostgres | Driver::Mysql => database.server().map(drop),
        Driver::Null => Ok(()),
    };
    head.databases.iter().try_for_each(fits).map_err(Error::msg)?;
    let useless = |option: &str, why: &str| bail!("option {option}: model {name} {why}");
    let shared = match model {
        Model::Thread => None,
        Model::Shared(shared) => Some(*shared),
    };
    if options.tokio_threads.is_some() && shared.is_none() {
        return useless("tokio_threads", "has no runtime");
    }
    if options.blocking_threads.is_some() && !shared.is_some_and(Shared::uses_blocking_threads) {
        return useless("blocking_threads", "calls nothing on such threads");
    }
    if options.pool_readers.is_some() && shared != Some(Shared::Pool) {
        return useless("pool_readers", "has no pool");
    }
    if options.tries_each_ms.is_some() && (driver != Driver::Sqlite || !options.lock_wait_measured) {
        bail!("option busy_handler: driver {}: only rusqlite has it, and only with lock_wait=measured", head.driver);
    }
    if options.in_memory {
        one_connection_each(plan, *model)?;
    }
    Ok(*model)
}

/// Checks data in memory, which exists for one connection only, as long as it is open.
fn one_connection_each(plan: &Plan, model: Model) -> Result<()> {
    let name = &plan.head.model;
    ensure!(
        model != Model::Shared(Shared::Pool),
        "option storage: model {name} opens several connections to a database, and data in memory has one"
    );
    let mut seen = BTreeSet::new();
    let twice = plan.clients.iter().find(|client| !seen.insert(client.database));
    if let (Model::Thread, Some(client)) = (model, twice) {
        bail!(
            "option storage: client {} opens a second connection to database {}, and data in memory has one",
            client.id,
            plan.head.databases[client.database as usize]
        );
    }
    let connects = plan.head.transactions.iter().find(|t| t.steps.iter().any(|step| matches!(step, Step::Connect)));
    if let Some(transaction) = connects {
        bail!("option storage: `{}` opens a new connection, which loses the data in memory", transaction.name);
    }
    Ok(())
}
