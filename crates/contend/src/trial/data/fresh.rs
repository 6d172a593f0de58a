//! Fresh copies of the data for one trial, and the server that runs on them.

use super::load::{self, Base, Wanted, database_names, sorted_entries};
use crate::engine::dsn::Dsn;
use crate::engine::{Engine, Settings, Setup};
use crate::trial::data::disk;
use crate::trial::data::seen::same_flags;
use crate::trial::server::attached::Databases;
use crate::trial::server::identity::Identity;
use crate::trial::server::private::{Running, Start};
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::admin::{Admin, script_target};
use anyhow::{Context, Result};
use contend_wire::database::Database;
use std::path::{Path, PathBuf};

/// The databases of a trial.
pub struct Fresh<'j> {
    /// Addresses for the workers, one per database.
    pub databases: Vec<Database>,
    /// The same databases for contend's own scripts.
    pub inside: Vec<Database>,
    pub server: Option<Running<'j>>,
    /// Databases on a server that contend did not start.
    pub attached: Option<Databases>,
}

/// Inputs for fresh data.
pub struct Making<'m> {
    pub engine: &'static Engine,
    pub base: &'m Base,
    /// Definition of the base.
    pub wanted: &'m Wanted<'m>,
    /// Directory of the trial's data.
    pub dir: &'m Path,
    pub setup: &'m Setup,
    pub settings: &'m Settings,
    pub connections: u32,
    pub server_log: &'m Path,
}

/// A directory with fresh copies of the data, ready for the contender's connections.
pub fn fresh<'j>(making: &Making<'_>, janitor: &'j Janitor, admin: &mut Admin<'_>) -> Result<Fresh<'j>> {
    if let Some(address) = &making.base.attached {
        std::fs::create_dir_all(making.dir).with_context(|| format!("cannot create {}", making.dir.display()))?;
        return on_attached(making, address, admin);
    }
    lay_out(making, admin)?;
    disk::sync_tree(making.dir)?;
    open(making, janitor, admin)
}

/// Creates databases on a server that contend did not start, and loads them for this trial.
fn on_attached<'j>(making: &Making<'_>, address: &Dsn, admin: &mut Admin<'_>) -> Result<Fresh<'j>> {
    let (engine, workload) = (making.engine, making.wanted.workload);
    let server = engine.server.with_context(|| format!("{} has no server to attach to", engine.name))?;
    let databases = Databases::create(engine, address, workload.databases, admin, |inside, admin| {
        load::load(inside, making.wanted, admin)?;
        adopt(making, inside, admin)?;
        admin.sql(&script_target(engine, inside), (server.after_load)(&workload.table_names())).map(drop)
    })?;
    let inside = databases.addresses();
    Ok(Fresh { databases: inside.clone(), inside, server: None, attached: Some(databases) })
}

/// Copies the data and applies the contender's persistent settings; starts no server.
pub fn lay_out(making: &Making<'_>, admin: &mut Admin<'_>) -> Result<()> {
    let dir = making.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    if making.engine.server.is_some() {
        let data = dir.join(SERVER_DIR);
        copy_tree(&making.base.path, &data, &Identity::for_servers(&data)?)?;
        return same_flags(&data, &making.base.path);
    }
    making.base.path.parent().map_or(Ok(()), |loaded| same_flags(dir, loaded))?;
    let mut from = &making.base.path;
    let files = files(making);
    for path in &files {
        std::fs::copy(from, path).with_context(|| format!("cannot copy the data to {}", path.display()))?;
        // Persistent settings are in the first copy's file; the other databases are copies of it.
        if from == &making.base.path && !making.setup.prepare.is_empty() {
            admin
                .sql(&script_target(making.engine, &file(path)), &making.setup.prepare)
                .context("cannot apply the contender's settings to fresh data")?;
            from = path;
        }
    }
    files.iter().try_for_each(|path| same_flags(path, &making.base.path))
}

/// Directory of a server's data in that of the trial.
const SERVER_DIR: &str = "server";

fn files(making: &Making<'_>) -> Vec<PathBuf> {
    (0..making.wanted.workload.databases).map(|i| making.dir.join(format!("app-{i}.db"))).collect()
}

/// A database that is a file.
fn file(path: &Path) -> Database {
    Database::File(path.display().to_string())
}

impl Fresh<'_> {
    /// The databases of an embedded engine: its files.
    pub fn embedded(making: &Making<'_>) -> Self {
        let files: Vec<Database> = files(making).iter().map(|path| file(path)).collect();
        Fresh { databases: files.clone(), inside: files, server: None, attached: None }
    }
}

/// Opens the data in the directory; starts the server that it belongs to.
pub fn open<'j>(making: &Making<'_>, janitor: &'j Janitor, admin: &mut Admin<'_>) -> Result<Fresh<'j>> {
    let (Some(server), Some(programs)) = (making.engine.server, &making.base.programs) else {
        return Ok(Fresh::embedded(making));
    };
    let start = Start {
        engine: making.engine,
        server,
        programs,
        settings: making.settings,
        data: making.dir.join(SERVER_DIR),
        log: making.server_log.to_path_buf(),
        connections: making.connections,
        tcp: making.engine.value(making.settings, "transport") == "tcp",
    };
    let running = Running::start(&start, janitor, admin)?;
    let names: Vec<String> = database_names(making.wanted.workload.databases).collect();
    let inside: Vec<Database> = names.iter().map(|name| running.inside(name)).collect();
    inside.iter().try_for_each(|database| adopt(making, database, admin))?;
    Ok(Fresh {
        databases: names.iter().map(|name| running.address(name)).collect(),
        inside,
        server: Some(running),
        attached: None,
    })
}

/// Makes the tables a SQLite database, for contenders that send SQLite's SQL.
fn adopt(making: &Making<'_>, database: &Database, admin: &mut Admin<'_>) -> Result<()> {
    match making.wanted.workload.translated.as_ref().map_or(&[][..], |translated| &translated.adoption) {
        [] => Ok(()),
        adoption => {
            let done = admin.sql(&script_target(making.engine, database), adoption);
            done.map(drop).context("the tables cannot be made a SQLite database")
        }
    }
}

/// Copies a directory tree and gives the copy to the server's user.
pub(super) fn copy_tree(from: &Path, to: &Path, identity: &Identity) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in sorted_entries(from)? {
        let target = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            copy_tree(&entry, &target, identity)?;
        } else {
            std::fs::copy(&entry, &target).with_context(|| format!("cannot copy the data to {}", target.display()))?;
            identity.own(&target)?;
        }
    }
    identity.own(to)
}
