//! The base data: loaded once per definition, kept in a cache next to the results, and copied for every trial. It is a
//! file for an embedded engine, and the data directory of a stopped server for a server.

use crate::engine::dsn::Dsn;
use crate::engine::server::Server;
use crate::engine::{Engine, Settings};
use crate::trial::data::{disk, place};
use crate::trial::server::identity::Identity;
use crate::trial::server::private::{Programs, Running, Start, initialise};
use crate::trial::stop::Cancelled;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::admin::{Admin, EngineSaid, script_target};
use crate::units::hex;
use crate::workload::sql::asked;
use crate::workload::{Data, Workload};
use anyhow::{Context, Result};
use contend_wire::database::Database;
use contend_wire::script::{LineResult, Target};
use contend_wire::statement::Statement;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Load scripts sent ahead: one is carried out, one waits, and a third is being made.
const SCRIPTS_AHEAD: usize = 2;

/// File with the digest, next to loaded data.
pub const DIGEST_FILE: &str = "base.sha256";

/// Digits of the name of loaded data in the cache.
pub const KEY_DIGITS: usize = 24;

/// First part of the name of a directory in the cache in which a run loads data.
pub const LOADING: &str = ".loading-";

/// Bytes of one load script.
const SCRIPT_BYTES: usize = 8 << 20;

/// Log of the program that makes the data directory, and of the server that loads.
const LOADING_LOG: &str = "server.log";

/// Loaded data.
#[derive(Debug, Clone)]
pub struct Base {
    /// The database file, or a server's data directory.
    pub path: PathBuf,
    /// Rows loaded; `None` if the data came from the cache.
    pub loaded_rows: Option<u64>,
    /// Programs of the server that loaded the data.
    pub programs: Option<Programs>,
    /// A server that contend did not start. It keeps no base: every trial loads its own data.
    pub attached: Option<Dsn>,
}

impl Base {
    /// Path relative to the record: `../.cache/KEY/base.db`, one level more for a part; `attached` if there is no file.
    pub fn beside(&self, record: &Path) -> String {
        if self.path.is_relative() {
            return self.path.display().to_string();
        }
        let record = std::path::absolute(record).unwrap_or_else(|_| record.to_path_buf());
        let common = self.path.iter().zip(record.iter()).take_while(|(a, b)| a == b).count();
        let up = record.iter().skip(common).map(|_| std::ffi::OsStr::new(".."));
        let path: PathBuf = up.chain(self.path.iter().skip(common)).collect();
        path.display().to_string()
    }
}

/// Definition of the data to load.
pub struct Wanted<'w> {
    pub engine: &'static Engine,
    /// In the engine's dialect.
    pub workload: &'w Workload,
    pub scale: f64,
    pub seed: u64,
    /// Statements on the connection that loads, such as a page size.
    pub before: Vec<String>,
    /// Versions of driver and engine: other versions may write other bytes.
    pub loader: String,
    /// Driver that loads the data.
    pub by: &'static str,
}

impl<'w> Wanted<'w> {
    fn data(&self) -> Data<'w> {
        Data { workload: self.workload, scale: self.scale, seed: self.seed }
    }
}

/// Directories for the data, and the janitor that removes it if the tool is killed.
pub struct Places<'p> {
    pub cache: &'p Path,
    /// Directory for data that is still being loaded.
    pub loading: &'p Path,
    pub janitor: &'p Janitor,
}

/// The data, from the cache or loaded into it.
pub fn base(places: &Places<'_>, wanted: &Wanted<'_>, admin: &mut Admin<'_>) -> Result<Base> {
    let programs = wanted.engine.server.map(Programs::find).transpose()?;
    let key = key(wanted, programs.as_ref())?;
    let (dir, partial) = (places.cache.join(&key), places.loading.join(&key));
    let name = if programs.is_some() { "server" } else { "base.db" };
    let path = dir.join(name);
    if place::is_safe(&dir, &path) && is_whole(&dir, &path) {
        return Ok(Base { path, loaded_rows: None, programs, attached: None });
    }
    // Missing, damaged, or perhaps changed by another user.
    place::make(places.cache)?;
    let _ = std::fs::remove_dir_all(&dir);
    let _ = std::fs::remove_dir_all(&partial);
    let made = std::fs::DirBuilder::new().recursive(true).mode(place::MODE).create(&partial);
    made.with_context(|| format!("cannot create {}", partial.display()))?;
    let loaded = match (wanted.engine.server, &programs) {
        (Some(server), Some(programs)) => {
            load_server(&partial, &Private { server, programs }, wanted, places.janitor, admin)
        }
        _ => load(&Database::File(partial.join(name).display().to_string()), wanted, admin)
            .and_then(|rows| protect(&partial.join(name), wanted.workload).map(|()| rows)),
    };
    let loaded = loaded
        .and_then(|rows| {
            std::fs::write(partial.join(DIGEST_FILE), digest(&partial.join(name))?)?;
            disk::sync_tree(&partial).map(|()| rows)
        })
        .inspect_err(|_| drop(std::fs::remove_dir_all(&partial)))?;
    match std::fs::rename(&partial, &dir) {
        Ok(()) => {}
        // Another run has loaded the same data meanwhile.
        Err(_) if path.exists() => drop(std::fs::remove_dir_all(&partial)),
        Err(e) => return Err(e).with_context(|| format!("cannot complete {}", dir.display())),
    }
    Ok(Base { path, loaded_rows: Some(loaded), programs, attached: None })
}

/// Only the owner may change data, and read rows of a user's program, also in copies for trials.
fn protect(path: &Path, workload: &Workload) -> Result<()> {
    let is_drawn = workload.tables.iter().all(|table| table.content.is_none());
    std::fs::set_permissions(path, Permissions::from_mode(if is_drawn { 0o644 } else { 0o600 }))
        .with_context(|| format!("cannot protect {}", path.display()))
}

/// Whether the data still has the digest that it had when it was loaded.
fn is_whole(dir: &Path, path: &Path) -> bool {
    let kept = std::fs::read_to_string(dir.join(DIGEST_FILE));
    kept.is_ok_and(|kept| digest(path).is_ok_and(|found| found == kept))
}

/// SHA-256 of a file, or of all files below a directory with their paths.
fn digest(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    hash_into(&mut hash, path, path)?;
    Ok(hex(&hash.finalize()))
}

fn hash_into(hash: &mut Sha256, root: &Path, path: &Path) -> Result<()> {
    if path.is_dir() {
        for entry in sorted_entries(path)? {
            hash.update(entry.strip_prefix(root).unwrap_or(&entry).as_os_str().as_encoded_bytes());
            hash.update([0]);
            hash_into(hash, root, &entry)?;
        }
        return Ok(());
    }
    let mut file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            n => hash.update(&piece[..n]),
        }
    }
}

pub(super) fn sorted_entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut paths = entries.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn key(wanted: &Wanted<'_>, programs: Option<&Programs>) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(wanted.data().sha256());
    hash.update(wanted.before.join("\n"));
    hash.update(&wanted.loader);
    if let (Some(server), Some(programs)) = (wanted.engine.server, programs) {
        // The data directory depends on all these settings.
        let layout = crate::engine::server::Layout {
            data: PathBuf::new(),
            socket_dir: PathBuf::new(),
            socket: String::new(),
            port: None,
            connections: 1,
            only: Identity::only(),
        };
        let made = (server.initialise)(&layout).concat().join(" ");
        let databases = wanted.workload.databases;
        let sql = [wanted.workload.schema_sql(), wanted.workload.index_sql(), (server.provision)(&layout)];
        let sql = sql.concat().join("\n");
        hash.update(format!("{} {} {databases}\n{made}\n{sql}", wanted.engine.name, programs.version(server)?));
    }
    Ok(hex(&hash.finalize()[..KEY_DIGITS / 2]))
}

/// A private server for loading: its product and programs.
struct Private<'p> {
    server: &'static Server,
    programs: &'p Programs,
}

/// Makes a data directory, starts a server on it, loads every database and stops it again.
fn load_server(
    partial: &Path,
    of: &Private<'_>,
    wanted: &Wanted<'_>,
    janitor: &Janitor,
    admin: &mut Admin<'_>,
) -> Result<u64> {
    let Private { server, programs } = *of;
    let data = partial.join("server");
    let log = initialise(server, programs, &data, janitor, &|| admin.is_cancelled())?;
    // Loading needs no durability: data from an interrupted load is never used.
    let settings: Settings = (wanted.engine.durability.tier_settings)(crate::study::model::Tier::Unsafe)
        .iter()
        .map(|(name, value)| ((*name).to_string(), (*value).to_string()))
        .collect();
    let start = Start {
        engine: wanted.engine,
        server,
        programs,
        settings: &settings,
        data: data.clone(),
        log,
        connections: 1,
        tcp: false,
    };
    let mut running = Running::start(&start, janitor, admin)?;
    let rows = fill(&running, server, wanted, admin).map_err(|e| match running.death() {
        // A killed server (out of memory, for example) explains the errors of its clients.
        Some(how) if !e.is::<Cancelled>() => e.context(how),
        _ => e,
    })?;
    running.stop()?;
    let _ = std::fs::remove_file(partial.join(LOADING_LOG));
    Ok(rows)
}

/// Creates and loads every database of a new server; returns the number of rows.
fn fill(running: &Running<'_>, server: &Server, wanted: &Wanted<'_>, admin: &mut Admin<'_>) -> Result<u64> {
    let first = script_target(wanted.engine, &running.inside(server.first_database));
    let provision = (server.provision)(running.layout());
    admin.sql(&first, provision).with_context(|| format!("cannot set up {}", server.title))?;
    let mut rows = 0;
    for database in database_names(wanted.workload.databases) {
        admin.sql(&first, [(server.create_database)(&database)])?;
        let address = running.inside(&database);
        let target = script_target(wanted.engine, &address);
        admin.sql(&target, server.new_database).with_context(|| format!("a new database of {}", server.title))?;
        rows += load(&address, wanted, admin)?;
        admin.sql(&target, (server.after_load)(&wanted.workload.table_names()))?;
    }
    Ok(rows)
}

/// Names of a trial's databases.
pub fn database_names(count: u32) -> impl Iterator<Item = String> {
    (0..count).map(|i| format!("app_{i}"))
}

/// Loads one database; returns the number of rows.
pub fn load(database: &Database, wanted: &Wanted<'_>, admin: &mut Admin<'_>) -> Result<u64> {
    let engine = wanted.engine;
    let before = wanted.before.iter().map(String::as_str);
    let session: Vec<Statement> = engine.load_session.iter().copied().chain(before).map(asked).collect();
    let target = script_target(engine, database);
    let target = Target { driver: wanted.by.to_string(), session: [target.session, session].concat(), ..target };
    // Of each script that is not answered: its loads.
    let (mut ahead, mut rows) = (VecDeque::new(), 0);
    let mut count = |answers: Vec<LineResult>| {
        rows += answers.iter().map(|a| if let LineResult::Loaded(n) = a { *n } else { 0 }).sum::<u64>();
    };
    // Another person's directory may have a link or a pipe of this name.
    let open = |path: &Path| match std::fs::symlink_metadata(path)?.is_file() {
        true => Ok(Box::new(BufReader::new(File::open(path)?)) as Box<dyn BufRead>),
        false => Err(std::io::Error::other("it is not a regular file")),
    };
    wanted.data().scripts(SCRIPT_BYTES, &target, &open, &mut |script| {
        ahead.push_back(loads(&script));
        admin.send(script)?;
        if ahead.len() > SCRIPTS_AHEAD
            && let Some(loads) = ahead.pop_front()
        {
            count(admin.reply().map_err(|why| of_load(why, &loads))?);
        }
        Ok(())
    })?;
    for loads in ahead {
        count(admin.reply().map_err(|why| of_load(why, &loads))?);
    }
    Ok(rows)
}

/// The statements that load rows in a script, with their lines from 1.
fn loads(script: &str) -> Vec<(usize, String)> {
    let lines = script.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.strip_prefix("load\t")?)));
    lines.map(|(at, fields)| (at, fields.rsplit('\t').next().unwrap_or(fields).to_string())).collect()
}

/// Adds to an error in a row the statement of its load, which names the table and its columns, and what to do.
fn of_load(why: anyhow::Error, loads: &[(usize, String)]) -> anyhow::Error {
    let line = why.downcast_ref::<EngineSaid>().map_or(0, |said| said.line);
    let load = loads.iter().rev().find(|(at, _)| *at < line);
    match load {
        Some((_, sql)) => why.context(format!(
            "if a value does not fit, change the type of its column or its generator in the workload file, or leave this contender \
             out of the study. A row was refused by {sql}"
        )),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_fit_names_its_table() {
        let loads = loads(
            "contend-script 2\nsql\t-\tCREATE TABLE a\nload\t1\t2\tINSERT INTO a\nrow\ti1\nload\t1\t2\tINSERT INTO b\nrow\ti1\n",
        );
        assert_eq!(loads, [(3, "INSERT INTO a".to_string()), (5, "INSERT INTO b".to_string())]);
        let said = |line| {
            let why = EngineSaid { message: "not an integer".into(), place: None, line };
            format!("{:#}", of_load(why.into(), &loads))
        };
        assert!(said(4).contains("refused by INSERT INTO a: not an integer"), "{}", said(4));
        assert!(said(6).contains("refused by INSERT INTO b: not an integer"));
        assert_eq!(said(2), "not an integer");
    }
}
