//! Fresh data for every trial: loaded once per definition, kept in a cache beside the results, copied.

use crate::engine::Setup;
use crate::trial::admin::Admin;
use crate::trial::disk;
use crate::workload::Workload;
use anyhow::{Context, Result};
use contend_wire::script::{Answer, Target};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Scripts of a load that are on their way at once: one carried out, one waiting, one being made.
const SCRIPTS_AHEAD: usize = 2;

/// Beside loaded data: its digest.
const DIGEST_FILE: &str = "base.sha256";

/// Bytes of one load script.
const SCRIPT_BYTES: usize = 8 << 20;

/// Loaded data.
#[derive(Debug, Clone)]
pub struct Base {
    /// The database file.
    pub file: PathBuf,
    /// Rows loaded; none when it came from the cache.
    pub loaded_rows: Option<u64>,
}

/// What has to be loaded.
pub struct Wanted<'w> {
    pub workload: &'w Workload,
    pub scale: f64,
    pub seed: u64,
    /// Statements on the connection that loads, such as a page size.
    pub before: Vec<String>,
    /// Versions of driver and engine: another one may write other bytes.
    pub loader: String,
}

/// The data, from the cache or loaded into it; `loading` holds it until it is whole.
pub fn base(cache: &Path, loading: &Path, wanted: &Wanted<'_>, admin: &mut Admin<'_>) -> Result<Base> {
    let dir = cache.join(key(wanted));
    let file = dir.join("base.db");
    if is_whole(&dir) {
        return Ok(Base { file, loaded_rows: None });
    }
    // Not there, or not what was loaded.
    let _ = std::fs::remove_dir_all(&dir);
    let partial = loading.join(key(wanted));
    let _ = std::fs::remove_dir_all(&partial);
    std::fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let loaded = load(&partial.join("base.db"), wanted, admin)
        .and_then(|rows| {
            std::fs::write(partial.join(DIGEST_FILE), digest(&partial.join("base.db"))?)?;
            disk::sync_tree(&partial).map(|()| rows)
        })
        .inspect_err(|_| drop(std::fs::remove_dir_all(&partial)))?;
    match std::fs::rename(&partial, &dir) {
        Ok(()) => {}
        // Another run was faster with the same data.
        Err(_) if file.exists() => drop(std::fs::remove_dir_all(&partial)),
        Err(e) => return Err(e).with_context(|| format!("cannot complete {}", dir.display())),
    }
    Ok(Base { file, loaded_rows: Some(loaded) })
}

/// Whether loaded data is still what was loaded.
fn is_whole(dir: &Path) -> bool {
    let kept = std::fs::read_to_string(dir.join(DIGEST_FILE));
    kept.is_ok_and(|kept| digest(&dir.join("base.db")).is_ok_and(|found| found == kept))
}

/// SHA-256 of a file.
fn digest(path: &Path) -> Result<String> {
    let mut file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&piece[..n]),
        }
    }
}

fn key(wanted: &Wanted<'_>) -> String {
    let mut hash = Sha256::new();
    hash.update(wanted.workload.data_sha256(wanted.scale, wanted.seed));
    hash.update(wanted.before.join("\n"));
    hash.update(&wanted.loader);
    hex(&hash.finalize()[..12])
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn load(file: &Path, wanted: &Wanted<'_>, admin: &mut Admin<'_>) -> Result<u64> {
    // Nothing is lost if this is cut off: a load that did not finish is never used.
    let mut session = vec!["PRAGMA synchronous = OFF".to_string(), "PRAGMA journal_mode = OFF".to_string()];
    session.extend(wanted.before.iter().cloned());
    let target = Target { session, ..target(file) };
    let (mut ahead, mut rows) = (0, 0);
    let mut count = |answers: Vec<Answer>| {
        rows += answers.iter().map(|a| if let Answer::Loaded(n) = a { *n } else { 0 }).sum::<u64>();
    };
    wanted.workload.load(wanted.scale, wanted.seed, SCRIPT_BYTES, &target, &mut |script| {
        admin.send(script);
        ahead += 1;
        if ahead > SCRIPTS_AHEAD {
            ahead -= 1;
            count(admin.reply()?);
        }
        Ok(())
    })?;
    for _ in 0..ahead {
        count(admin.reply()?);
    }
    Ok(rows)
}

/// A script's target on this file.
pub fn target(file: &Path) -> Target {
    Target {
        driver: "rusqlite".to_string(),
        database: file.display().to_string(),
        options: vec![("busy_timeout_ms".to_string(), "10000".to_string())],
        session: vec![],
    }
}

/// A directory with fresh copies of the data, ready for the contender's connections.
pub fn fresh(base: &Base, dir: &Path, databases: u32, setup: &Setup, admin: &mut Admin<'_>) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut files = vec![];
    for i in 0..databases {
        let file = dir.join(format!("app-{i}.db"));
        std::fs::copy(&base.file, &file).with_context(|| format!("cannot copy the data to {}", file.display()))?;
        if !setup.prepare.is_empty() {
            admin.sql(&target(&file), &setup.prepare).context("cannot apply the contender's settings to fresh data")?;
        }
        files.push(file);
    }
    disk::sync_tree(dir)?;
    Ok(files)
}
