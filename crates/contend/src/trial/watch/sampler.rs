//! Reads /proc and file sizes while a trial runs: CPU, memory, writes and context switches of each worker, of the server (both
//! with their child processes) and of the tool; busy time of the machine; sizes of database and log; how far checkpoints
//! and readers of a write-ahead log are behind.

use super::backlog::{Backlog, Logs};
use crate::engine::Part;
use crate::record::model::Used;
use crate::trial::workers::process::monotonic_ns;
use procfs::CurrentSI;
use procfs::process::Process;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
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
    /// When that was so.
    pub at_ns: u64,
}

/// One row of the series.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    at_ns: u64,
    cpu_ns: u64,
    rss_bytes: u64,
    server: Option<Usage>,
    db_bytes: u64,
    wal_bytes: u64,
    machine_busy_ns: u64,
    backlog: Option<Backlog>,
}

/// What a trial's processes used between two moments.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Of each worker with all its processes, and last of the tool itself.
    pub usage: Vec<Usage>,
    /// Of the database server with all its processes.
    pub server: Option<Usage>,
    /// Its memory when the window ended, what is shared divided among those who share it.
    pub server_pss_bytes: Option<u64>,
    /// The same of each of [`Watched::servers`] alone.
    pub each_server: Vec<Used>,
    pub machine_busy_ns: u64,
    /// Between the two looks at the machine. On a busy one they are late, by more than a short window is long.
    pub observed_ns: u64,
    pub wal_bytes_max: u64,
    /// The series as CSV, times relative to the start of the window.
    pub series: String,
}

/// What a sampler looks at.
#[derive(Debug, Clone)]
pub struct Watched {
    /// First process of each worker: in some languages a client is its own process.
    pub workers: Vec<u32>,
    /// First process of the database server, and of the worker that serves; there may be neither.
    pub servers: Vec<u32>,
    /// The trial's data.
    pub dir: PathBuf,
    /// What a file in there is.
    pub part: fn(&str) -> Part,
}

impl Watched {
    fn now(&self) -> Moment {
        Moment {
            usage: self.clients(),
            servers: self.servers.iter().map(|first| usage_of_tree(*first)).collect(),
            machine: machine_time(),
        }
    }

    /// What the workers have used, and last the tool itself without those it has started.
    fn clients(&self) -> Vec<Usage> {
        let workers = self.workers.iter().map(|first| usage_of_tree(*first));
        workers.chain([usage(std::process::id())]).collect()
    }
}

/// Use of all processes at one moment.
#[derive(Debug, Clone, Default)]
struct Moment {
    usage: Vec<Usage>,
    servers: Vec<Usage>,
    machine: MachineTime,
}

/// A running sampler.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    /// None once its rows were taken.
    thread: Option<JoinHandle<Vec<Row>>>,
    watched: Watched,
    before: Option<Moment>,
}

impl Sampler {
    /// Watches processes and data files.
    pub fn start(watched: Watched) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, its) = (Arc::clone(&stop), watched.clone());
        let thread = std::thread::spawn(move || watch(&its, &seen));
        Self { stop, thread: Some(thread), watched, before: None }
    }

    /// Marks the beginning of the window.
    pub fn window_begins(&mut self) {
        self.before = Some(self.watched.now());
    }

    /// Marks its end and hands out what happened in between.
    pub fn window_ends(mut self, window_start_ns: u64) -> Observed {
        let after = self.watched.now();
        let pss: Vec<_> = self.watched.servers.iter().map(|first| pss_of_server(*first)).collect();
        let rows = self.end();
        let before = self.before.take().unwrap_or_default();
        // Without a beginning of the window the difference is to the start of the process.
        let since = |i: usize| before.usage.get(i).copied().unwrap_or_default();
        Observed {
            usage: after.usage.iter().enumerate().map(|(i, usage)| difference(usage, &since(i))).collect(),
            server: sum(&after.servers).map(|after| difference(&after, &sum(&before.servers).unwrap_or_default())),
            server_pss_bytes: pss.iter().copied().sum::<Option<u64>>().filter(|_| !pss.is_empty()),
            each_server: after
                .servers
                .iter()
                .zip(&pss)
                .enumerate()
                .map(|(i, (after, pss))| used(after, &before.servers.get(i).copied().unwrap_or_default(), *pss))
                .collect(),
            machine_busy_ns: after.machine.busy_ns.saturating_sub(before.machine.busy_ns),
            observed_ns: after.machine.at_ns.saturating_sub(before.machine.at_ns),
            wal_bytes_max: rows.iter().map(|r| r.wal_bytes).max().unwrap_or(0),
            series: series_csv(&rows, window_start_ns),
        }
    }

    /// Ends the thread; what it has seen.
    fn end(&mut self) -> Vec<Row> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Sampler {
    /// A trial that fails before its window is over leaves no process that looks at the next ones.
    fn drop(&mut self) {
        self.end();
    }
}

fn used(after: &Usage, before: &Usage, pss_bytes: Option<u64>) -> Used {
    let Usage { cpu_ns, rss_bytes, written_bytes, .. } = difference(after, before);
    Used { cpu_ns, rss_bytes, pss_bytes, written_bytes }
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
fn usage(pid: u32) -> Usage {
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

/// A process and those it has started, or they in turn.
pub(in crate::trial) fn tree(first: u32) -> Vec<Process> {
    let (mut found, mut next) = (vec![], vec![first]);
    while let Some(pid) = next.pop() {
        let Ok(process) = Process::new(pid as i32) else { continue };
        next.extend(process.task_main_thread().and_then(|main| main.children()).unwrap_or_default());
        found.push(process);
    }
    found
}

/// What a server or a worker has used with all its processes. Of those that have ended, the first one has the sums. Memory is
/// what each has for itself, and once the largest part that they share.
fn usage_of_tree(first: u32) -> Usage {
    let (mut sum, mut shared_pages) = (Usage::default(), 0);
    for process in tree(first) {
        let Ok(stat) = process.stat() else { continue };
        let ended = if stat.pid == first as i32 { (stat.cutime + stat.cstime).max(0) as u64 } else { 0 };
        sum.cpu_ns += ticks_to_ns(stat.utime + stat.stime + ended);
        if let Ok(memory) = process.statm() {
            sum.rss_bytes += memory.resident.saturating_sub(memory.shared) * procfs::page_size();
            shared_pages = memory.shared.max(shared_pages);
        }
        if let Ok(io) = process.io() {
            *sum.written_bytes.get_or_insert(0) += io.write_bytes;
        }
        if let Ok(status) = process.status() {
            sum.voluntary_switches += status.voluntary_ctxt_switches.unwrap_or(0);
            sum.involuntary_switches += status.nonvoluntary_ctxt_switches.unwrap_or(0);
        }
    }
    sum.rss_bytes += shared_pages * procfs::page_size();
    sum
}

fn usage_of_servers(servers: &[u32]) -> Option<Usage> {
    sum(&servers.iter().map(|first| usage_of_tree(*first)).collect::<Vec<_>>())
}

fn sum(all: &[Usage]) -> Option<Usage> {
    all.iter().copied().reduce(|sum, one| Usage {
        cpu_ns: sum.cpu_ns + one.cpu_ns,
        rss_bytes: sum.rss_bytes + one.rss_bytes,
        written_bytes: sum.written_bytes.zip(one.written_bytes).map(|(a, b)| a + b),
        voluntary_switches: sum.voluntary_switches + one.voluntary_switches,
        involuntary_switches: sum.involuntary_switches + one.involuntary_switches,
    })
}

/// Its memory, what is shared divided among those who share it; none where that may not be read.
fn pss_of_server(first: u32) -> Option<u64> {
    tree(first).iter().map(|process| pss(process).ok().flatten()).sum()
}

fn pss(process: &Process) -> procfs::ProcResult<Option<u64>> {
    let rollup = process.smaps_rollup()?;
    Ok(rollup.memory_map_rollup.0.iter().find_map(|map| map.extension.map.get("Pss").copied()))
}

fn watch(watched: &Watched, stop: &AtomicBool) -> Vec<Row> {
    let (mut rows, mut logs) = (vec![], Logs::default());
    while !stop.load(Ordering::Relaxed) {
        rows.push(row(watched, &mut logs));
        std::thread::sleep(EVERY);
    }
    rows.push(row(watched, &mut logs));
    rows
}

fn row(watched: &Watched, logs: &mut Logs) -> Row {
    let mut row = Row { at_ns: monotonic_ns(), machine_busy_ns: machine_time().busy_ns, ..Row::default() };
    row.server = usage_of_servers(&watched.servers);
    let clients = sum(&watched.clients()).unwrap_or_default();
    (row.cpu_ns, row.rss_bytes) = (clients.cpu_ns, clients.rss_bytes);
    (row.db_bytes, row.wal_bytes) = sizes(&watched.dir, watched.part);
    row.backlog = logs.look(&watched.dir, row.at_ns);
    row
}

/// Bytes of the data files below a directory, and of the logs beside them.
pub fn sizes(dir: &Path, part: fn(&str) -> Part) -> (u64, u64) {
    let mut sums = (0, 0);
    add_sizes(dir, "", part, &mut sums);
    sums
}

fn add_sizes(dir: &Path, below: &str, part: fn(&str) -> Part, sums: &mut (u64, u64)) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let bytes = || entry.metadata().map_or(0, |found| found.len());
        match part(&path) {
            Part::Data => sums.0 += bytes(),
            Part::Log => sums.1 += bytes(),
            Part::Inside => add_sizes(&entry.path(), &format!("{path}/"), part, sums),
            Part::Other => {}
        }
    }
}

fn series_csv(rows: &[Row], window_start_ns: u64) -> String {
    let mut out = "offset_ns,cpu_ns_client,rss_bytes_client,cpu_ns_server,rss_bytes_server,size_bytes_db,\
                   size_bytes_wal,machine_busy_ns,frames_backlog,frames_reader_behind,reader_ns\n"
        .to_string();
    for r in rows {
        let offset = r.at_ns as i128 - i128::from(window_start_ns);
        let _ = write!(out, "{offset},{},{},", r.cpu_ns, r.rss_bytes);
        let _ = match r.server {
            Some(server) => write!(out, "{},{},", server.cpu_ns, server.rss_bytes),
            None => write!(out, ",,"),
        };
        let _ = write!(out, "{},{},{},", r.db_bytes, r.wal_bytes, r.machine_busy_ns);
        let _ = match r.backlog {
            Some(b) => writeln!(out, "{},{},{}", b.frames, b.reader_behind, b.reader_ns),
            None => writeln!(out, ",,"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn a_sampler_that_is_dropped_looks_no_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let watched = Watched { workers: vec![], servers: vec![], dir: dir.path().into(), part: |_| Part::Other };
        let sampler = Sampler::start(watched);
        let stop = Arc::clone(&sampler.stop);
        drop(sampler);
        assert_eq!(Arc::strong_count(&stop), 1, "its thread is gone");
    }

    #[test]
    fn what_a_worker_starts_is_its_own() {
        let mut parent = Command::new("sh");
        let mut parent = parent.args(["-c", "while :; do :; done & wait"]).process_group(0).spawn().expect("a shell");
        let deadline = Instant::now() + Duration::from_secs(60);
        let busy = || usage_of_tree(parent.id()).cpu_ns >= 200_000_000;
        while !busy() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (counted, alone) = (busy(), usage(parent.id()).cpu_ns);
        let group = rustix::process::Pid::from_raw(parent.id() as i32).expect("a number");
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).expect("killed");
        parent.wait().expect("it ends");
        assert!(counted && alone < 100_000_000, "{alone}");
    }
}
