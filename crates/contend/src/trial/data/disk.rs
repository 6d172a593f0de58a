//! Measures what a sync costs on the disk of the data, and waits until the disk is quiet.
//!
//! Like PostgreSQL's pg_test_fsync, it times small writes with each way of making them durable: append and fdatasync,
//! append and fsync, overwrite and fdatasync (as a write-ahead log does in a file that it reuses).

use crate::record::model::Disk;
use crate::trial::watch::{device, mount};
use anyhow::{Context, Result};
use rustix::fs::{fdatasync, fsync, syncfs};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Free space below which an engine's error may come from a full disk.
const FULL_BYTES: u64 = 16 << 20;

/// Free inodes below which it may, too: a database has up to three files besides its data.
const FULL_INODES: u64 = 64;

const BLOCK: [u8; 4096] = [0x5a; 4096];

/// Most probes of each kind, and how long one kind may take on a slow disk.
const PROBES: u32 = 200;
const PROBE_TIME: Duration = Duration::from_secs(2);

/// A quiet disk syncs within this factor of the baseline; after this time the wait ends.
const QUIET_FACTOR: u64 = 2;
const QUIET_TIME: Duration = Duration::from_secs(5);

/// Measures the disk under `dir`.
pub fn measure(dir: &Path) -> Result<Disk> {
    let probe = Probe::new(dir)?;
    let append_data = probe.time(PROBES, true, |f| fdatasync(f))?;
    let append_full = probe.time(PROBES, true, |f| fsync(f))?;
    let overwrite = probe.time(PROBES, false, |f| fdatasync(f))?;
    let (file_system, mount) = mount::of(dir);
    Ok(Disk {
        file_system,
        fdatasync_ns_p50: quantile(&append_data, 0.5),
        fsync_ns_p50: quantile(&append_full, 0.5),
        fsync_ns_p95: quantile(&append_full, 0.95),
        overwrite_ns_p50: quantile(&overwrite, 0.5),
        sync_ns_min: quantile(&overwrite, 0.0).min(quantile(&append_data, 0.0)),
        probes: [&append_data, &append_full, &overwrite].map(Vec::len).into_iter().min().unwrap_or(0) as u32,
        mount,
    })
}

/// The disk right before a window.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub fsync_ns_p50: u64,
    /// Fastest sync while waiting.
    pub fastest_ns: u64,
    /// Whether the disk is about as fast as at the start of the run.
    pub quiet: bool,
}

/// Probes of one measurement while waiting.
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

/// A few syncs of an overwritten block.
#[derive(Debug, Clone, Copy)]
pub struct SyncProbe {
    pub fastest_ns: u64,
    /// Whether the thread slept in every sync. It does not where a sync needs no answer of a device.
    pub sleep: bool,
    /// Whether every sync flushed the device, as the kernel counts. It does not where nothing is kept in its cache.
    pub flush: bool,
}

/// Looks at the disk right after a window.
pub fn sync_probe(dir: &Path) -> Result<SyncProbe> {
    let probe = Probe::new(dir)?;
    let before = (sleeps_of_this_thread(), device::flushes(dir));
    let times = probe.time(LOOK, false, |f| fdatasync(f))?;
    let each = |after: Option<u64>, before: Option<u64>| {
        after.zip(before).is_some_and(|(after, before)| after.saturating_sub(before) >= times.len() as u64)
    };
    let flush = each(device::flushes(dir), before.1) && is_local(&mount::of(dir).0);
    Ok(SyncProbe { fastest_ns: times[0], sleep: each(sleeps_of_this_thread(), before.0), flush })
}

fn sleeps_of_this_thread() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

/// Writes back everything under `dir` with one sync of its file system: a server has more than a thousand files, and
/// syncing each takes a second or more.
pub fn sync_tree(dir: &Path) -> Result<()> {
    let synced = File::open(dir).and_then(|dir| Ok(syncfs(&dir)?));
    synced.with_context(|| format!("cannot sync {}", dir.display()))
}

/// Whether an error comes from a full disk or a quota.
pub fn is_full(error: &anyhow::Error) -> bool {
    let full = |e: &std::io::Error| matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(full))
}

/// Whether the disk of `dir` has hardly any room or inodes left.
pub fn nearly_full(dir: &Path) -> bool {
    // File systems without a fixed number of inodes report none at all.
    let few = |fs: rustix::fs::StatVfs| fs.f_files > 0 && fs.f_favail < FULL_INODES;
    room(dir) < FULL_BYTES || rustix::fs::statvfs(dir).is_ok_and(few)
}

/// The error of a disk that is full, with what it made fail.
pub fn full(what: impl std::fmt::Display) -> anyhow::Error {
    std::io::Error::new(ErrorKind::StorageFull, what.to_string()).into()
}

/// Free bytes on the disk of `dir`; 0 if unknown.
pub fn room(dir: &Path) -> u64 {
    let writable = rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok();
    rustix::fs::statvfs(dir).ok().filter(|_| writable).map_or(0, |fs| fs.f_bavail * fs.f_frsize)
}

/// Whether a file system is on this machine and keeps its own times. Others have them from elsewhere, such as over a network; on
/// f2fs, SQLite can be built to need no journal.
pub fn is_local(file_system: &str) -> bool {
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "zfs", "overlay", "tmpfs"].contains(&file_system)
}

/// A file for probes, removed on drop.
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
            .with_context(|| format!("cannot write to {}", dir.display()))?;
        Ok(Self { file, path })
    }

    /// Times of a write with its sync, sorted.
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
