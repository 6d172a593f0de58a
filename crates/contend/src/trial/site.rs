//! Directories of a run: its record, the data of the current trial, the cache next to it. Temporary ones are removed
//! with this value.

use crate::engine::dsn::Dsn;
use crate::record::store::{LOCK_FILE, RecordWriter};
use crate::trial::data::load::LOADING;
use crate::trial::data::place;
use crate::trial::itself;
use crate::trial::server::attached::Attached;
use crate::trial::server::secrets::random_text;
use crate::trial::watch::janitor::Janitor;
use crate::trial::watch::{mount, orphans};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::process::{InsteadOf, Launch};
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Data of the current trial.
const DATA: &str = "data";
/// Log of the worker that loads and checks data.
const ADMIN_LOG: &str = "admin.log";

/// Directories of a run.
pub struct Site {
    /// The record's directory.
    pub out: PathBuf,
    /// Loaded data, shared by all runs in the same directory.
    pub cache: PathBuf,
    /// Data of the current trial; removed at the end.
    pub scratch: PathBuf,
    pub instead: InsteadOf,
    /// Data that is being loaded; removed at the end.
    pub loading: PathBuf,
    pub own: Launch,
    pub janitor: Janitor,
    /// Attached server, used instead of private ones of its engine.
    pub attached: Option<Dsn>,
    /// Whether this run made the directory.
    made_out: bool,
    /// Held until the run ends.
    _lock: File,
}

/// Content of a run's lock file: the directory is contend's.
const MARK: &str = "contend\n";

/// How long a run that was killed may take to clean up.
const CLEANED_UP: Duration = Duration::from_secs(3);

/// Locks the directory for this run. Its content is never touched unless a run of contend made it.
fn lock(out: &Path) -> Result<File> {
    let cannot = || format!("cannot create {}; choose a directory you may write to with --out", out.display());
    std::fs::create_dir_all(out).with_context(cannot)?;
    let path = out.join(LOCK_FILE);
    let empty = || std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if !path.exists() && !RecordWriter::is_record(out) && !empty() {
        bail!("{} holds something other than a record; choose another directory with --out", out.display());
    }
    let mut file =
        File::options().create(true).truncate(false).read(true).write(true).open(&path).with_context(cannot)?;
    let deadline = Instant::now() + CLEANED_UP;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Err(Errno::WOULDBLOCK) => {
                bail!(
                    "a run is under way in {}; wait for its end, or choose another directory with --out",
                    out.display()
                )
            }
            Err(error) => {
                bail!(
                    "cannot lock {}: {error}; choose a directory on a file system with locks with --out",
                    path.display()
                )
            }
        }
    }
    let mut mark = String::new();
    let is_text = file.read_to_string(&mut mark).is_ok();
    let has_data = || std::fs::read_dir(out.join(DATA)).is_ok_and(|mut entries| entries.next().is_some());
    if !is_text || !mark.is_empty() && mark != MARK || mark.is_empty() && !RecordWriter::is_record(out) && has_data() {
        bail!("{} holds something other than a record; choose another directory with --out", out.display());
    }
    if mark.is_empty() {
        file.write_all(MARK.as_bytes()).with_context(cannot)?;
    }
    Ok(file)
}

impl Site {
    /// The site of a new run. Nothing is written where there is a record already.
    pub fn open(out: &Path, instead: &InsteadOf, allow_tmpfs: bool) -> Result<Self> {
        let out = std::path::absolute(out)?;
        let (made_out, made_lock) = (!out.exists(), !out.join(LOCK_FILE).exists());
        let lock = lock(&out)?;
        if RecordWriter::is_record(&out) {
            if made_lock {
                let _ = std::fs::remove_file(out.join(LOCK_FILE));
            }
            return Err(RecordWriter::taken(&out));
        }
        Self::of((out, made_out), lock, instead, allow_tmpfs)
    }

    /// The site of a run that goes on, which must be on the disk on which it was begun (`resume::same_disk`).
    pub fn reopen(out: &Path, instead: &InsteadOf) -> Result<Self> {
        let out = std::path::absolute(out)?;
        let lock = lock(&out)?;
        Self::of((out, false), lock, instead, true)
    }

    fn of((out, made_out): (PathBuf, bool), lock: File, instead: &InsteadOf, allow_tmpfs: bool) -> Result<Self> {
        let scratch = out.join(DATA);
        std::fs::create_dir_all(&scratch).with_context(|| {
            format!("cannot create {}; choose a directory you may write to with --out", scratch.display())
        })?;
        if let Some(why) = mount::of(&scratch).1.and_then(|mount| mount.no_sync).filter(|_| !allow_tmpfs) {
            let _ = std::fs::remove_dir_all(&scratch);
            let _ = std::fs::remove_file(out.join(LOCK_FILE));
            if made_out {
                let _ = std::fs::remove_dir(&out);
            }
            bail!(
                "{} is on a file system {why}, so a power cut can lose data that was synced; choose a directory on a disk \
                 with --out, or add --allow-tmpfs",
                out.display()
            );
        }
        let own = Launch::own()?;
        orphans::adopt()?;
        let cache = place::place(&out);
        // Runs in containers share a cache, and each has the first process id.
        let loading = cache.join(format!("{}{}", LOADING, &random_text()?[..12]));
        let janitor = Janitor::holding(itself::path()?, Some(lock.try_clone()?))?;
        janitor.dir_exists(&scratch);
        janitor.dir_exists(&loading);
        Ok(Self {
            cache,
            scratch,
            loading,
            instead: instead.clone(),
            own,
            janitor,
            attached: None,
            out,
            made_out,
            _lock: lock,
        })
    }

    /// Makes trials use the attached server.
    pub fn attach(&mut self, attached: Option<&Attached>) {
        if let Some(attached) = attached {
            attached.tell(&self.janitor);
            self.attached = Some(attached.address.clone());
        }
    }

    pub fn admin<'a>(&'a self, cancelled: &'a dyn Fn() -> bool) -> Result<Admin<'a>> {
        Admin::start(&self.own, &self.out.join(ADMIN_LOG), &self.janitor, cancelled)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // An interrupted trial may have left some.
        let _ = orphans::end_left();
        for dir in [&self.scratch, &self.loading] {
            let _ = std::fs::remove_dir_all(dir);
            self.janitor.dir_gone(dir);
        }
        if !RecordWriter::is_record(&self.out) {
            // The run ended before the first trial: only the log of loading exists.
            let _ = std::fs::remove_file(self.out.join(ADMIN_LOG));
            let _ = std::fs::remove_file(self.out.join(LOCK_FILE));
            if self.made_out {
                let _ = std::fs::remove_dir(&self.out);
            }
        }
    }
}
