//! Reads /proc and file sizes while a trial runs: CPU, memory, writes and switches of every process of
//! ours, the busy time of the whole machine, and how large database and log are.

use crate::trial::process::monotonic_ns;
use procfs::CurrentSI;
use procfs::process::Process;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often.
const EVERY: Duration = Duration::from_millis(200);

/// What one process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu_ns: u64,
    pub rss_bytes: u64,
    /// None where /proc/PID/io may not be read.
    pub written_bytes: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// Busy time of the whole machine so far, all processors added, stolen time included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineTime {
    pub busy_ns: u64,
    pub at_ns: u64,
}

/// One row of the series.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    at_ns: u64,
    cpu_ns: u64,
    rss_bytes: u64,
    db_bytes: u64,
    wal_bytes: u64,
    machine_busy_ns: u64,
}

/// What a trial's processes used between two moments.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Per process, in the order of the PIDs given.
    pub usage: Vec<Usage>,
    pub machine_busy_ns: u64,
    pub wal_bytes_max: u64,
    /// The series as CSV, times relative to the start of the window.
    pub series: String,
}

/// A running sampler.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Row>>,
    pids: Vec<u32>,
    before: Option<(Vec<Usage>, MachineTime)>,
}

impl Sampler {
    /// Watches these processes and the data files in `dir`.
    pub fn start(pids: Vec<u32>, dir: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, watched, dir) = (Arc::clone(&stop), pids.clone(), dir.to_path_buf());
        let thread = std::thread::spawn(move || watch(&watched, &dir, &seen));
        Self { stop, thread, pids, before: None }
    }

    /// Marks the beginning of the window.
    pub fn window_begins(&mut self) {
        self.before = Some((self.pids.iter().map(|pid| usage(*pid)).collect(), machine_time()));
    }

    /// Marks its end and hands out what happened in between.
    pub fn window_ends(self, window_start_ns: u64) -> Observed {
        let (after, machine_after) = (self.pids.iter().map(|pid| usage(*pid)).collect::<Vec<_>>(), machine_time());
        self.stop.store(true, Ordering::Relaxed);
        let rows = self.thread.join().unwrap_or_default();
        let (before, machine_before) = self.before.unwrap_or_default();
        // Without a beginning of the window the difference is to the start of the process.
        let since = |i: usize| before.get(i).copied().unwrap_or_default();
        Observed {
            usage: after.iter().enumerate().map(|(i, usage)| difference(usage, &since(i))).collect(),
            machine_busy_ns: machine_after.busy_ns.saturating_sub(machine_before.busy_ns),
            wal_bytes_max: rows.iter().map(|r| r.wal_bytes).max().unwrap_or(0),
            series: series_csv(&rows, window_start_ns),
        }
    }
}

fn difference(after: &Usage, before: &Usage) -> Usage {
    Usage {
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        rss_bytes: after.rss_bytes.max(before.rss_bytes),
        written_bytes: after.written_bytes.zip(before.written_bytes).map(|(a, b)| a.saturating_sub(b)),
        voluntary_switches: after.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: after.involuntary_switches.saturating_sub(before.involuntary_switches),
    }
}

fn ticks_to_ns(ticks: u64) -> u64 {
    ticks * 1_000_000_000 / procfs::ticks_per_second().max(1)
}

/// What a process has used; zero for one that is gone.
pub fn usage(pid: u32) -> Usage {
    let Ok(process) = Process::new(pid as i32) else { return Usage::default() };
    let Ok(stat) = process.stat() else { return Usage::default() };
    let status = process.status().ok();
    Usage {
        cpu_ns: ticks_to_ns(stat.utime + stat.stime),
        rss_bytes: stat.rss * procfs::page_size(),
        written_bytes: process.io().ok().map(|io| io.write_bytes),
        voluntary_switches: status.as_ref().and_then(|s| s.voluntary_ctxt_switches).unwrap_or(0),
        involuntary_switches: status.as_ref().and_then(|s| s.nonvoluntary_ctxt_switches).unwrap_or(0),
    }
}

/// The machine's busy time.
pub fn machine_time() -> MachineTime {
    let busy = procfs::KernelStats::current().map(|stats| {
        let t = stats.total;
        t.user + t.nice + t.system + t.irq.unwrap_or(0) + t.softirq.unwrap_or(0) + t.steal.unwrap_or(0)
    });
    MachineTime { busy_ns: ticks_to_ns(busy.unwrap_or(0)), at_ns: monotonic_ns() }
}

fn watch(pids: &[u32], dir: &Path, stop: &AtomicBool) -> Vec<Row> {
    let mut rows = vec![];
    while !stop.load(Ordering::Relaxed) {
        rows.push(row(pids, dir));
        std::thread::sleep(EVERY);
    }
    rows.push(row(pids, dir));
    rows
}

fn row(pids: &[u32], dir: &Path) -> Row {
    let mut row = Row { at_ns: monotonic_ns(), machine_busy_ns: machine_time().busy_ns, ..Row::default() };
    for pid in pids {
        if let Ok(stat) = Process::new(*pid as i32).and_then(|p| p.stat()) {
            row.cpu_ns += ticks_to_ns(stat.utime + stat.stime);
            row.rss_bytes += stat.rss * procfs::page_size();
        }
    }
    (row.db_bytes, row.wal_bytes) = sizes(dir);
    row
}

/// Bytes of the data files in a directory, and of the logs beside them. SQLite's -shm file is neither: it
/// is shared memory that happens to have a name.
pub fn sizes(dir: &Path) -> (u64, u64) {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let (mut db, mut wal) = (0, 0);
    for (name, bytes) in files.filter_map(|f| Some((f.file_name(), f.metadata().ok()?.len()))) {
        let name = name.to_string_lossy();
        if name.ends_with("-wal") || name.ends_with("-journal") {
            wal += bytes;
        } else if !name.ends_with("-shm") && !name.starts_with('.') {
            db += bytes;
        }
    }
    (db, wal)
}

fn series_csv(rows: &[Row], window_start_ns: u64) -> String {
    let mut out = "offset_ns,cpu_ns_client,rss_bytes_client,size_bytes_db,size_bytes_wal,machine_busy_ns\n".to_string();
    for r in rows {
        let offset = r.at_ns as i128 - i128::from(window_start_ns);
        let _ =
            writeln!(out, "{offset},{},{},{},{},{}", r.cpu_ns, r.rss_bytes, r.db_bytes, r.wal_bytes, r.machine_busy_ns);
    }
    out
}
