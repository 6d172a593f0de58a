//! Reads /proc and file sizes while a trial runs: CPU, memory, writes and context switches of workers, server and tool
//! (with child processes); busy time of the machine; sizes of database and log; how far checkpoints and readers of a
//! write-ahead log are behind.

use super::affinity::Affinity;
use super::backlog::{Backlog, Logs};
use super::quota::throttled_ns;
use super::usage::{self, MachineTime, Usage, machine_time};
use super::{device, orphans};
use crate::check::kernel::Kernel;
use crate::engine::Part;
use crate::record::model::Used;
use crate::trial::clock::monotonic_ns;
use procfs::process::{FDTarget, Process, Task};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two readings.
const EVERY: Duration = Duration::from_millis(200);

/// A count of the kernel so far, by process or thread of a worker; `None` if it may not be read.
type Counts = Option<BTreeMap<i32, u64>>;

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

/// Use of a trial's processes in its window.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Use of each worker with all its processes, and last of the tool.
    pub usage: Vec<Usage>,
    /// Use of the database server with all its processes.
    pub server: Option<Usage>,
    /// Memory of the server at the end of the window, shared pages divided among their processes.
    pub server_pss_bytes: Option<u64>,
    /// Use of each of [`Watched::servers`] alone.
    pub each_server: Vec<Used>,
    pub machine_busy_ns: u64,
    /// Time in which a container's CPU limit held processes back, added over processors.
    pub throttled_ns: u64,
    /// Time between the two readings of the machine. On a busy machine they may be late by more than a short window.
    pub observed_ns: u64,
    /// Largest log or journal in the window, and from the start of the clients on.
    pub wal_bytes_max: u64,
    pub wal_bytes_max_from_start: u64,
    /// The series as CSV, times relative to the start of the window.
    pub series: String,
    /// What the kernel counted of the workers in the window.
    pub kernel: Kernel,
    /// From the beginning of the first reading to the end of the last one: all of [`Observed::usage`] is of this time.
    pub longest_ns: u64,
    /// A thread that ran on other processors than it was given.
    pub elsewhere: Option<String>,
}

/// What a sampler reads.
#[derive(Debug, Clone)]
pub struct Watched {
    /// First process of each worker: in some languages a client is its own process.
    pub workers: Vec<u32>,
    /// First process of the database server, and of the serving worker; may be empty.
    pub servers: Vec<u32>,
    /// Directory of the trial's data.
    pub dir: PathBuf,
    /// Classifies a file in it by name: database, log or other.
    pub part: fn(&str) -> Part,
    /// Whether every process of a worker that works with the data has a file of it open all the time.
    pub keeps_open: bool,
    /// Processors of the programs that contend started for the trial.
    pub affinity: Arc<Affinity>,
}

impl Watched {
    fn now(&self) -> Moment {
        let begun_ns = monotonic_ns();
        self.affinity.look();
        // First: as soon as its clients are done, a server ends the processes that worked for them.
        let servers = self.servers.iter().map(|first| usage::of_tree(*first)).collect();
        let mut moment = Moment { begun_ns, servers, ..Moment::default() };
        for first in &self.workers {
            let processes = usage::tree(*first);
            moment.usage.push(usage::of_all(&processes));
            moment.queued_ns.push(of_threads(&processes, |thread| Some(thread.schedstat().ok()?.run_delay)));
            let at_work = if self.keeps_open { with_files_below(&self.dir, processes) } else { Some(processes) };
            let at_work = at_work.unwrap_or_default();
            moment.reads.push(reads_of_all(&at_work));
            moment.sleeps.push(of_threads(&at_work, |thread| thread.status().ok()?.voluntary_ctxt_switches));
        }
        add_adopted(&mut moment.usage);
        moment.usage.push(usage::of_process(std::process::id()));
        moment.machine = machine_time();
        moment.throttled_ns = throttled_ns();
        moment.flushes = device::flushes(&self.dir);
        moment
    }

    /// Use of the workers, and last of the tool itself without its child processes.
    fn clients(&self) -> Vec<Usage> {
        let mut clients: Vec<Usage> = self.workers.iter().map(|first| usage::of_tree(*first)).collect();
        add_adopted(&mut clients);
        clients.push(usage::of_process(std::process::id()));
        clients
    }
}

/// Use of all processes at one moment.
#[derive(Debug, Clone, Default)]
struct Moment {
    begun_ns: u64,
    usage: Vec<Usage>,
    servers: Vec<Usage>,
    machine: MachineTime,
    throttled_ns: u64,
    /// Calls that read files, of processes that work with the data.
    reads: Vec<Counts>,
    /// Voluntary context switches of their threads.
    sleeps: Vec<Counts>,
    /// Time for which threads could have run and no processor was free, ns.
    queued_ns: Vec<Counts>,
    /// Flushes of the device of the data.
    flushes: Option<u64>,
}

/// A running sampler.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    /// `None` once its rows were taken.
    thread: Option<JoinHandle<Vec<Row>>>,
    watched: Watched,
    before: Option<Moment>,
    /// When the reading before was over.
    before_ns: u64,
    /// When the workers' counts are read before the window ends, and what they were: threads may end right with it.
    due_ns: Arc<AtomicU64>,
    late: Arc<Mutex<Option<(u64, Moment)>>>,
}

impl Sampler {
    /// Watches processes and data files.
    pub fn start(watched: Watched) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (due_ns, late) = (Arc::new(AtomicU64::new(u64::MAX)), Arc::new(Mutex::new(None)));
        let (seen, its, due, kept) = (Arc::clone(&stop), watched.clone(), Arc::clone(&due_ns), Arc::clone(&late));
        let take_late = move |watched: &Watched| {
            let at_ns = monotonic_ns();
            if at_ns >= due.load(Ordering::Relaxed) {
                due.store(u64::MAX, Ordering::Relaxed);
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((at_ns, watched.now()));
            }
        };
        let thread = std::thread::spawn(move || watch(&its, &seen, &take_late));
        Self { stop, thread: Some(thread), watched, before: None, before_ns: u64::MAX, due_ns, late }
    }

    /// Marks the beginning of the window.
    pub fn window_begins(&mut self, ends_ns: Option<u64>) {
        self.before = Some(self.watched.now());
        self.before_ns = monotonic_ns();
        let due_ns = ends_ns.map_or(u64::MAX, |ends_ns| ends_ns.saturating_sub(2 * EVERY.as_nanos() as u64));
        self.due_ns.store(due_ns.max(self.before_ns), Ordering::Relaxed);
    }

    /// Marks the end of the window, and returns the use in it.
    pub fn window_ends(mut self, window_start_ns: u64) -> Observed {
        let after_ns = monotonic_ns();
        let after = self.watched.now();
        let over_ns = monotonic_ns();
        let pss: Vec<_> = self.watched.servers.iter().map(|first| usage::pss_of_tree(*first)).collect();
        let rows = self.end();
        let before = self.before.take().unwrap_or_default();
        // If the beginning was not marked, the use since the start of the process counts.
        let since = |i: usize| before.usage.get(i).copied().unwrap_or_default();
        let between = |last: &Moment, last_ns: u64| Kernel {
            reads: more(&last.reads, &before.reads),
            sleeps: more(&last.sleeps, &before.sleeps),
            queued_ns: more(&last.queued_ns, &before.queued_ns),
            flushes: last.flushes.zip(before.flushes).map(|(after, before)| after.saturating_sub(before)),
            between_ns: (self.before_ns, last_ns),
        };
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner).take();
        let whole = between(&after, after_ns);
        // Threads may have ended, and files been closed, since the window.
        let is_lost = |(whole, before): (&Option<u64>, &Counts)| whole.is_none() && before.is_some();
        let lost =
            [(&whole.reads, &before.reads), (&whole.sleeps, &before.sleeps), (&whole.queued_ns, &before.queued_ns)];
        let some_lost = lost.iter().any(|(whole, before)| whole.iter().zip(before.iter()).any(is_lost));
        let kernel = match late.filter(|_| some_lost) {
            Some((late_ns, late)) => between(&late, late_ns),
            None => whole,
        };
        Observed {
            usage: after.usage.iter().enumerate().map(|(i, usage)| usage::difference(usage, &since(i))).collect(),
            server: usage::sum(&after.servers)
                .map(|after| usage::difference(&after, &usage::sum(&before.servers).unwrap_or_default())),
            server_pss_bytes: pss.iter().copied().sum::<Option<u64>>().filter(|_| !pss.is_empty()),
            each_server: after
                .servers
                .iter()
                .zip(&pss)
                .enumerate()
                .map(|(i, (after, pss))| used(after, &before.servers.get(i).copied().unwrap_or_default(), *pss))
                .collect(),
            machine_busy_ns: after.machine.busy_ns.saturating_sub(before.machine.busy_ns),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
            observed_ns: after.machine.at_ns.saturating_sub(before.machine.at_ns),
            wal_bytes_max: wal_bytes_max(rows.iter().filter(|row| row.at_ns >= window_start_ns)),
            wal_bytes_max_from_start: wal_bytes_max(rows.iter()),
            series: series_csv(&rows, window_start_ns),
            kernel,
            longest_ns: over_ns.saturating_sub(before.begun_ns),
            elsewhere: self.watched.affinity.found(),
        }
    }

    /// Ends the thread and returns its rows.
    fn end(&mut self) -> Vec<Row> {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return vec![] };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Sampler {
    /// Ends the thread of a trial that failed before the end of its window.
    fn drop(&mut self) {
        self.end();
    }
}

/// Adds the use of processes whose parent has ended to the first worker: what a worker leaves to them is its work.
fn add_adopted(workers: &mut [Usage]) {
    let Some(first) = workers.first_mut() else { return };
    for process in orphans::adopted() {
        let used = usage::of_tree(process.cast_unsigned());
        // A process that has ended does not report its writes.
        let used = Usage { written_bytes: used.written_bytes.or(Some(0)), ..used };
        *first = usage::sum(&[*first, used]).unwrap_or_default();
    }
}

fn wal_bytes_max<'r>(rows: impl Iterator<Item = &'r Row>) -> u64 {
    rows.map(|row| row.wal_bytes).max().unwrap_or(0)
}

fn used(after: &Usage, before: &Usage, pss_bytes: Option<u64>) -> Used {
    let Usage { cpu_ns, rss_bytes, written_bytes, .. } = usage::difference(after, before);
    Used { cpu_ns, rss_bytes, pss_bytes, written_bytes }
}

/// Of each worker, what was counted between two readings. It is not known if a process or thread has ended in between.
fn more(after: &[Counts], before: &[Counts]) -> Vec<Option<u64>> {
    let of_worker = |(after, before): (&Counts, &Counts)| {
        let (after, before) = (after.as_ref()?, before.as_ref()?);
        let all_live = before.keys().all(|id| after.contains_key(id));
        let more = |(id, count): (&i32, &u64)| count.saturating_sub(before.get(id).copied().unwrap_or(0));
        all_live.then(|| after.iter().map(more).sum())
    };
    after.iter().zip(before).map(of_worker).collect()
}

/// Calls that read files, by process.
fn reads_of_all(processes: &[Process]) -> Counts {
    let calls = |process: &Process| Some((process.pid, process.io().ok()?.syscr));
    processes.iter().map(calls).collect::<Option<BTreeMap<_, _>>>().filter(|counts| !counts.is_empty())
}

/// A count of the kernel, by thread.
fn of_threads(processes: &[Process], count: impl Fn(&Task) -> Option<u64>) -> Counts {
    let all = processes.iter().filter_map(|process| process.tasks().ok()).flatten();
    let counted = all.map(|thread| thread.ok().and_then(|it| Some((it.tid, count(&it)?))));
    counted.collect::<Option<BTreeMap<_, _>>>().filter(|counts| !counts.is_empty())
}

/// Those that have a file below the directory open; `None` if that may not be known.
fn with_files_below(dir: &Path, processes: Vec<Process>) -> Option<Vec<Process>> {
    let dir = dir.canonicalize().ok()?;
    let is_below = |target: &FDTarget| matches!(target, FDTarget::Path(path) if path.starts_with(&dir));
    let mut found = vec![];
    for process in processes {
        if process.fd().ok()?.flatten().any(|file| is_below(&file.target)) {
            found.push(process);
        }
    }
    Some(found)
}

fn watch(watched: &Watched, stop: &AtomicBool, take_late: &dyn Fn(&Watched)) -> Vec<Row> {
    let (mut rows, mut logs) = (vec![], Logs::default());
    while !stop.load(Ordering::Relaxed) {
        rows.push(row(watched, &mut logs));
        take_late(watched);
        // The end of the trial wakes it.
        std::thread::park_timeout(EVERY);
    }
    rows.push(row(watched, &mut logs));
    rows
}

fn row(watched: &Watched, logs: &mut Logs) -> Row {
    let mut row = Row { at_ns: monotonic_ns(), machine_busy_ns: machine_time().busy_ns, ..Row::default() };
    row.server = usage::sum(&watched.servers.iter().map(|first| usage::of_tree(*first)).collect::<Vec<_>>());
    let clients = usage::sum(&watched.clients()).unwrap_or_default();
    (row.cpu_ns, row.rss_bytes) = (clients.cpu_ns, clients.rss_bytes);
    (row.db_bytes, row.wal_bytes) = sizes(&watched.dir, watched.part);
    row.backlog = logs.look(&watched.dir, row.at_ns);
    watched.affinity.look();
    row
}

/// Bytes of the data files below a directory, and of their logs.
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
                   size_bytes_wal,machine_busy_ns,frames_backlog,frames_reader_behind,reader_ns,reader_pid\n"
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
            Some(b) => {
                let pid = b.reader_pid.map_or(String::new(), |pid| pid.to_string());
                writeln!(out, "{},{},{},{pid}", b.frames, b.reader_behind, b.reader_ns)
            }
            None => writeln!(out, ",,,"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn a_sampler_that_is_dropped_looks_no_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let (dir, part): (PathBuf, fn(&str) -> Part) = (dir.path().into(), |_| Part::Other);
        let affinity = Arc::new(Affinity::of(vec![]).expect("processors"));
        let watched = Watched { workers: vec![], servers: vec![], dir, part, keeps_open: false, affinity };
        let sampler = Sampler::start(watched);
        let stop = Arc::clone(&sampler.stop);
        drop(sampler);
        assert_eq!(Arc::strong_count(&stop), 1, "its thread is gone");
    }

    /// In the tool it became a child when its parent ended.
    #[test]
    fn what_a_child_uses_that_contend_did_not_start_is_the_first_workers() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        let deadline = Instant::now() + Duration::from_secs(60);
        let used_ns = || {
            let mut workers = [Usage::default()];
            add_adopted(&mut workers);
            workers[0].cpu_ns
        };
        while used_ns() < 200_000_000 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let counted_ns = used_ns();
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert!(counted_ns >= 200_000_000, "{counted_ns}");
        add_adopted(&mut []);
    }
}
