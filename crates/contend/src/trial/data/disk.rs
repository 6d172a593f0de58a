//! What a sync costs on the disk that holds the data, and waiting for the disk to be quiet.
//!
//! As PostgreSQL's pg_test_fsync does, small writes are timed with each way of making them durable:
//! appended and then fdatasync or fsync, and overwritten in place and then fdatasync (what a write-ahead
//! log does once its file has been used before).

use crate::record::model::Disk;
use anyhow::{Context, Result};
use rustix::fs::{fdatasync, fsync, syncfs};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Room below which what an engine says may be about the lack of it.
const FULL_BYTES: u64 = 16 << 20;

const BLOCK: [u8; 4096] = [0x5a; 4096];

/// Probes of each kind at most, and how long one kind may take on a slow disk.
const PROBES: u32 = 200;
const PROBE_TIME: Duration = Duration::from_secs(2);

/// A quiet disk syncs within this factor of the baseline (FORMATS: 2), after this long at most.
const QUIET_FACTOR: u64 = 2;
const QUIET_TIME: Duration = Duration::from_secs(5);

/// Measures the disk under `dir`.
pub fn measure(dir: &Path) -> Result<Disk> {
    let probe = Probe::new(dir)?;
    let append_data = probe.time(PROBES, true, |f| fdatasync(f))?;
    let append_full = probe.time(PROBES, true, |f| fsync(f))?;
    let overwrite = probe.time(PROBES, false, |f| fdatasync(f))?;
    Ok(Disk {
        file_system: file_system(dir),
        fdatasync_ns_p50: quantile(&append_data, 0.5),
        fsync_ns_p50: quantile(&append_full, 0.5),
        fsync_ns_p95: quantile(&append_full, 0.95),
        overwrite_ns_p50: quantile(&overwrite, 0.5),
        sync_ns_min: quantile(&overwrite, 0.0).min(quantile(&append_data, 0.0)),
        probes: [&append_data, &append_full, &overwrite].map(Vec::len).into_iter().min().unwrap_or(0) as u32,
    })
}

/// The disk right before a window.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub fsync_ns_p50: u64,
    /// Of all syncs made while waiting.
    pub fastest_ns: u64,
    /// Whether it is about as fast as at the start of the run.
    pub quiet: bool,
}

/// Probes of one look at the disk.
const LOOK: u32 = 7;

/// Waits until a sync is about as fast as `baseline_ns`.
pub fn wait_until_quiet(dir: &Path, baseline_ns: u64, cancelled: &dyn Fn() -> bool) -> Result<Moment> {
    let probe = Probe::new(dir)?;
    let deadline = Instant::now() + QUIET_TIME;
    let mut fastest_ns = u64::MAX;
    loop {
        let times = probe.time(LOOK, true, |f| fsync(f))?;
        let fsync_ns_p50 = quantile(&times, 0.5);
        fastest_ns = fastest_ns.min(times[0]);
        let quiet = fsync_ns_p50 <= QUIET_FACTOR * baseline_ns;
        if quiet || Instant::now() >= deadline || cancelled() {
            return Ok(Moment { fsync_ns_p50, fastest_ns, quiet });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The fastest of a few syncs of an overwritten block.
pub fn fastest_sync(dir: &Path) -> Result<u64> {
    let probe = Probe::new(dir)?;
    Ok(probe.time(LOOK, false, |f| fdatasync(f))?[0])
}

/// Has everything under `dir` written back: by one sync of its file system, as a server's data is more than a thousand files,
/// and a sync of each takes a second and more.
pub fn sync_tree(dir: &Path) -> Result<()> {
    let synced = File::open(dir).and_then(|dir| Ok(syncfs(&dir)?));
    synced.with_context(|| format!("cannot sync {}", dir.display()))
}

/// Whether a disk without room, or a quota, is what an error came from.
pub fn is_full(error: &anyhow::Error) -> bool {
    let full = |e: &std::io::Error| matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(full))
}

/// Whether hardly anything can be written there any more.
pub fn nearly_full(dir: &Path) -> bool {
    room(dir) < FULL_BYTES
}

/// Bytes that may still be written there; 0 where nothing may be.
pub fn room(dir: &Path) -> u64 {
    let writable = rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok();
    rustix::fs::statvfs(dir).ok().filter(|_| writable).map_or(0, |fs| fs.f_bavail * fs.f_frsize)
}

/// The type of the file system that holds `path`.
pub fn file_system(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mounts = procfs::process::Process::myself().and_then(|me| me.mountinfo());
    let holding = mounts.ok().and_then(|mounts| {
        // Of mounts at the same place the last one is on top.
        mounts
            .0
            .into_iter()
            .filter(|m| path.starts_with(&m.mount_point))
            .max_by_key(|m| m.mount_point.as_os_str().len())
    });
    holding.map_or("unknown".to_string(), |m| m.fs_type)
}

/// A file that is written and synced, and removed in the end.
struct Probe {
    file: File,
    path: std::path::PathBuf,
}

impl Probe {
    fn new(dir: &Path) -> Result<Self> {
        let path = dir.join(".sync-probe");
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot write in {}", dir.display()))?;
        Ok(Self { file, path })
    }

    /// Sorted times of write and sync.
    fn time(&self, probes: u32, append: bool, sync: impl Fn(&File) -> rustix::io::Result<()>) -> Result<Vec<u64>> {
        let begun = Instant::now();
        let mut times = vec![];
        let end = self.file.metadata()?.len();
        for i in 0..probes {
            let at = if append { end + u64::from(i) * BLOCK.len() as u64 } else { 0 };
            let before = Instant::now();
            self.file.write_all_at(&BLOCK, at).context("cannot write the sync probe")?;
            sync(&self.file).context("cannot sync the probe")?;
            times.push(before.elapsed().as_nanos() as u64);
            if begun.elapsed() > PROBE_TIME {
                break;
            }
        }
        times.sort_unstable();
        Ok(times)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn quantile(sorted: &[u64], q: f64) -> u64 {
    let index = ((sorted.len() as f64 * q) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or(0)
}
