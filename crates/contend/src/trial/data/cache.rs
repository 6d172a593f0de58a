//! Loaded data, kept next to the results so that the next run need not load it again. A run holds a lock on the data
//! that it uses. Data that was not used for long, or for which there is no room, is removed.

use crate::engine;
use crate::load::Load;
use crate::study::model::Contender;
use crate::trial::data::load as loading;
use crate::trial::data::load::{Base, DIGEST_FILE, KEY_DIGITS, LOADING, Places, Wanted};
use crate::trial::data::seen::Seen;
use crate::trial::dialect::dialect;
use crate::trial::site::Site;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::process::Launch;
use crate::workload::{Data, Dialects};
use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Data that no run has used for this long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// Data that is still being loaded after this long is a rest.
const UNFINISHED: Duration = Duration::from_secs(2 * 24 * 3600);

/// Beyond this many bytes, the data used longest ago is removed.
const ROOM_BYTES: u64 = 8 << 30;

/// Name in place of a path, where every trial loads its own data.
pub const ATTACHED: &str = "attached";

/// File in the directory of loaded data: locked by the runs that use the data, touched when a run begins to.
const USED_FILE: &str = "used";

/// Loaded data that this run uses, by its key.
#[derive(Default)]
pub struct Bases {
    loaded: BTreeMap<String, Loaded>,
}

struct Loaded {
    base: Base,
    seen: Seen,
    /// Locked until the run ends.
    _held: File,
}

impl Loaded {
    fn is_unchanged(&self) -> bool {
        Seen::of(&self.base.path).is_ok_and(|now| now == self.seen)
    }
}

impl Drop for Loaded {
    /// The next run loads changed data again, also if the digest was changed with it.
    fn drop(&mut self) {
        if !self.is_unchanged() {
            let _ = self.base.path.parent().map(|dir| fs::remove_file(dir.join(DIGEST_FILE)));
        }
    }
}

impl Bases {
    /// The data of a workload: loaded if missing, and locked until the run ends.
    pub fn of(
        &mut self,
        site: &Site,
        dialects: &Dialects,
        contender: &Contender,
        load: &Load,
        admin: &mut Admin<'_>,
    ) -> Result<Base> {
        let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
        let attached = site.attached.clone().filter(|a| engine.server.is_some_and(|s| s.scheme == a.scheme));
        if attached.is_some() {
            return Ok(Base { path: PathBuf::from(ATTACHED), loaded_rows: None, programs: None, attached });
        }
        let before = (engine.before_load)(&contender.settings);
        let workload = dialects.of(dialect(contender));
        let driver = engine::driver(contender).filter(|_| engine::own_dialect(contender).is_some());
        let by = driver.map_or(engine.loader, |driver| driver.name);
        // A server's data directory holds all databases; a file is copied for each database.
        let databases = engine.server.map_or(1, |_| workload.databases);
        let data = Data { workload, scale: load.scale, seed: load.seed }.sha256();
        let key = format!("{} {by} {databases} {data} {}", engine.name, before.join(";"));
        if let Some(loaded) = self.loaded.get(&key) {
            ensure!(
                loaded.is_unchanged(),
                "{}: another process, such as a worker, has changed the loaded data, which all trials copy: begin again",
                loaded.base.path.display()
            );
            return Ok(loaded.base.clone());
        }
        let mut own = driver.map(|driver| admin.beside(&Launch::of(driver)?)).transpose()?;
        let admin = own.as_mut().unwrap_or(admin);
        let loader =
            ["driver", "engine"].map(|f| contend_wire::handshake::fact(&admin.hello, f).unwrap_or("?")).join(" ");
        let places = Places { cache: &site.cache, loading: &site.loading, janitor: &site.janitor };
        let wanted = Wanted { engine, workload, scale: load.scale, seed: load.seed, before, loader, by };
        loop {
            let base = loading::base(&places, &wanted, admin)
                .with_context(|| format!("{}: cannot load the workload's data", contender.label))?;
            // Another run may have removed it in between.
            if let Some(held) = hold(&base)? {
                let seen = Seen::of(&base.path)?;
                self.loaded.insert(key, Loaded { base: base.clone(), seen, _held: held });
                return Ok(base);
            }
        }
    }
}

/// Marks data as used, now and until the file is closed; `None` if the data is gone.
fn hold(base: &Base) -> Result<Option<File>> {
    let Some(dir) = base.path.parent() else { return Ok(None) };
    let path = dir.join(USED_FILE);
    let Ok(file) = open(&path) else { return Ok(None) };
    flock(&file, FlockOperation::LockShared).with_context(|| format!("cannot lock {}", path.display()))?;
    file.set_modified(SystemTime::now()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(base.path.exists().then_some(file))
}

/// Opens the lock file without changing its time of use.
fn open(path: &Path) -> std::io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

/// Data in the cache.
struct Kept {
    dir: PathBuf,
    used: SystemTime,
    bytes: u64,
}

/// Removes data that is too old or too large, except data that a run uses. Failures are left to the next run.
pub fn prune(cache: &Path) {
    prune_to(cache, UNUSED, ROOM_BYTES);
}

fn prune_to(cache: &Path, unused: Duration, room_bytes: u64) {
    remove_unfinished(cache);
    let mut kept: Vec<Kept> =
        fs::read_dir(cache).into_iter().flatten().flatten().filter_map(|e| kept(&e.path())).collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.used));
    let mut bytes = 0;
    for kept in kept {
        bytes += kept.bytes;
        let old = kept.used.elapsed().is_ok_and(|age| age > unused);
        if (old || bytes > room_bytes) && remove(&kept.dir) {
            bytes -= kept.bytes;
        }
    }
}

/// Removes data that was being loaded when its run and all of its processes were killed.
fn remove_unfinished(cache: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|of| of.modified()).ok();
        changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > UNFINISHED)
    };
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let loading = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(LOADING));
    for entry in loading.filter(is_old) {
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// The data in a directory, if a run of contend has loaded it. The place may be the cache of other programs, too: that of a home
/// directory has the same name.
fn kept(dir: &Path) -> Option<Kept> {
    let name = dir.file_name()?.to_str()?;
    let is_key = name.len() == KEY_DIGITS && name.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    if !is_key || !dir.join(DIGEST_FILE).is_file() {
        return None;
    }
    let used = fs::metadata(dir.join(USED_FILE)).or_else(|_| fs::metadata(dir)).and_then(|m| m.modified()).ok()?;
    Some(Kept { dir: dir.to_path_buf(), used, bytes: size(dir) })
}

fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|e| if e.path().is_dir() { size(&e.path()) } else { e.metadata().map_or(0, |m| m.len()) }).sum()
}

/// Removes data unless a run has locked it; whether it was removed.
fn remove(dir: &Path) -> bool {
    let lock = open(&dir.join(USED_FILE));
    lock.is_ok_and(|lock| {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() && fs::remove_dir_all(dir).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of loaded data: as many digits as a key has.
    fn key(digit: char) -> String {
        digit.to_string().repeat(KEY_DIGITS)
    }

    fn data(cache: &Path, digit: char, bytes: usize, days: u64) -> Base {
        let dir = cache.join(key(digit));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(DIGEST_FILE), "").unwrap();
        fs::write(dir.join("base.db"), vec![0; bytes]).unwrap();
        let used = File::create(dir.join(USED_FILE)).unwrap();
        used.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 3600)).unwrap();
        Base { path: dir.join("base.db"), loaded_rows: None, programs: None, attached: None }
    }

    fn names(cache: &Path) -> Vec<String> {
        let entries = fs::read_dir(cache).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn data_that_was_changed_is_loaded_again() {
        let cache = tempfile::tempdir().unwrap();
        for (digit, changes) in [('a', false), ('b', true)] {
            let base = data(cache.path(), digit, 10, 0);
            let (path, digest) = (base.path.clone(), cache.path().join(key(digit)).join(DIGEST_FILE));
            let loaded = Loaded { seen: Seen::of(&path).unwrap(), _held: hold(&base).unwrap().unwrap(), base };
            if changes {
                fs::write(&path, [1; 10]).unwrap();
            }
            assert_eq!(loaded.is_unchanged(), !changes);
            drop(loaded);
            assert_eq!(digest.exists(), !changes);
        }
    }

    #[test]
    fn old_data_goes_and_data_in_use_stays() {
        let cache = tempfile::tempdir().unwrap();
        data(cache.path(), 'a', 10, 1);
        data(cache.path(), 'b', 10, 31);
        fs::create_dir(cache.path().join(".loading-1")).unwrap();
        let held = data(cache.path(), 'c', 10, 0);
        let lock = hold(&held).unwrap().expect("it is there");
        lock.set_modified(SystemTime::now() - Duration::from_secs(100 * 24 * 3600)).unwrap();
        prune(cache.path());
        assert_eq!(names(cache.path()), [".loading-1", &key('a'), &key('c')]);
        drop(lock);
        prune(cache.path());
        assert_eq!(names(cache.path()), [".loading-1", &key('a')]);
        assert!(hold(&held).unwrap().is_none(), "what is gone cannot be held");
    }

    /// The cache of a home directory is that of other programs.
    #[test]
    fn what_no_run_has_loaded_stays() {
        let cache = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(400 * 24 * 3600);
        for name in ["huggingface".to_string(), key('d'), ".loading-old".to_string()] {
            let dir = cache.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("model"), [0; 100]).unwrap();
            File::open(&dir).unwrap().set_modified(long_ago).unwrap();
        }
        prune_to(cache.path(), UNUSED, 10);
        assert_eq!(names(cache.path()), [key('d'), "huggingface".to_string()], "a rest of contend's goes");
        assert_eq!(names(&cache.path().join("huggingface")), ["model"]);
    }

    #[test]
    fn beyond_the_room_what_was_used_last_stays() {
        let cache = tempfile::tempdir().unwrap();
        for (digit, days) in [('a', 3), ('b', 1), ('c', 2)] {
            data(cache.path(), digit, 1000, days);
        }
        prune_to(cache.path(), UNUSED, 2500);
        assert_eq!(names(cache.path()), [key('b'), key('c')]);
        prune_to(cache.path(), UNUSED, 900);
        assert!(names(cache.path()).is_empty());
    }
}
