//! Where a run lives: its directory, the data of the trial at hand, the cache beside it. What a run made and does not
//! need any more goes with it.

use crate::engine::dsn::Dsn;
use crate::record::store::{LOCK_FILE, RecordWriter};
use crate::trial::data::disk;
use crate::trial::server::attached::Attached;
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::process::{InsteadOf, Launch};
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Log of the worker that loads and checks data.
const ADMIN_LOG: &str = "admin.log";

/// Where a run lives.
pub struct Site {
    /// The record's directory.
    pub out: PathBuf,
    /// Loaded data, shared by all runs beside this one.
    pub cache: PathBuf,
    /// Holds the data of the trial at hand; removed at the end.
    pub scratch: PathBuf,
    pub instead: InsteadOf,
    /// Holds data while it is loaded; removed at the end.
    pub loading: PathBuf,
    pub own: Launch,
    pub janitor: Janitor,
    /// The server that takes the place of private ones of its kind.
    pub attached: Option<Dsn>,
    /// Whether the directory is there because of this run.
    made_out: bool,
    /// Held as long as the run goes on.
    _lock: File,
}

/// Takes the directory for this run. What is in it is never touched unless a run of contend's made it.
fn lock(out: &Path) -> Result<File> {
    let cannot = || format!("cannot create {}; choose a directory you may write to with --out", out.display());
    std::fs::create_dir_all(out).with_context(cannot)?;
    let path = out.join(LOCK_FILE);
    let empty = || std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if !path.exists() && !RecordWriter::is_record(out) && !empty() {
        bail!("{} holds something else than a record; choose another directory with --out", out.display());
    }
    let file = File::options().create(true).truncate(false).write(true).open(&path).with_context(cannot)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        bail!("a run is under way in {}; wait for its end, or choose another directory with --out", out.display());
    }
    Ok(file)
}

impl Site {
    pub fn open(out: &Path, instead: &InsteadOf, allow_tmpfs: bool) -> Result<Self> {
        let out = std::path::absolute(out)?;
        let scratch = out.join("data");
        let made_out = !out.exists();
        let lock = lock(&out)?;
        std::fs::create_dir_all(&scratch).with_context(|| {
            format!("cannot create {}; choose a directory you may write to with --out", scratch.display())
        })?;
        let file_system = disk::file_system(&scratch);
        if file_system == "tmpfs" && !allow_tmpfs {
            let _ = std::fs::remove_dir_all(&scratch);
            let _ = std::fs::remove_file(out.join(LOCK_FILE));
            if made_out {
                let _ = std::fs::remove_dir(&out);
            }
            bail!(
                "{} is in memory (tmpfs), where a sync costs nothing; choose a directory on a disk with --out, \
                 or say --allow-tmpfs",
                out.display()
            );
        }
        let own = Launch::own()?;
        let cache = out.parent().unwrap_or(&out).join(".cache");
        let loading = cache.join(format!(".loading-{}", std::process::id()));
        let janitor = Janitor::start()?;
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

    /// Has trials made on a running server.
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
        for dir in [&self.scratch, &self.loading] {
            let _ = std::fs::remove_dir_all(dir);
            self.janitor.dir_gone(dir);
        }
        if !RecordWriter::is_record(&self.out) {
            // Ended before the first trial: only the log of the loading is there.
            let _ = std::fs::remove_file(self.out.join(ADMIN_LOG));
            let _ = std::fs::remove_file(self.out.join(LOCK_FILE));
            if self.made_out {
                let _ = std::fs::remove_dir(&self.out);
            }
        }
    }
}
