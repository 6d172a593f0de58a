//! Commits of the databases of a trial by their own counters. The tool reads them itself, independently of workers.

use crate::check::commits::{Counted, Reading};
use crate::check::journal::{JournalCheck, Trace};
use crate::engine::wal::companion;
use crate::engine::{Counts, Engine, FileCommits};
use crate::trial::data::fresh::Fresh;
use crate::trial::stage::Stage;
use crate::trial::watch::machine::file_time_ns;
use crate::trial::workers::admin::{Admin, script_target};
use crate::trial::workers::process::monotonic_ns;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest time for a server's answer; without an answer its commits are not compared.
const ANSWER_TIME: Duration = Duration::from_secs(5);

const MINUTE_NS: u64 = 60_000_000_000;

/// Pause between two readings of [`FILES`] files while clients work; it grows with their number. A reading makes
/// six system calls for each file with WAL and four with a rollback journal, so this costs about a thousandth of a processor.
const EVERY: Duration = Duration::from_millis(10);
const FILES: usize = 2;

/// Source of the counters.
enum From {
    Files(Arc<Counters>),
    /// A server, with the query.
    Server(&'static str),
}

/// Those of all databases.
struct Counters {
    each: Vec<Counter>,
    counts: &'static FileCommits,
}

/// The counter of a database file. It is kept open, so it can be read after it was removed, and its inode is not
/// reused.
struct Counter {
    file: File,
    at: CounterAt,
    first: u32,
    /// The database's directory and its rollback journal, which each commit touches.
    touched: Option<(PathBuf, PathBuf)>,
}

enum CounterAt {
    Database,
    Shared(PathBuf),
}

/// The counters of a trial right before its clients start.
pub struct Commits<'e> {
    engine: &'e Engine,
    from: From,
    first: u64,
    began_ns: u64,
    /// Reads in between, where that is cheap.
    meanwhile: Option<Meanwhile>,
    counted: Counted,
}

impl<'e> Commits<'e> {
    /// `None` if the engine counts no commits, or if other programs are expected to write.
    ///
    /// On a file system that is not local, times of files are not compared with commits.
    pub fn begin(stage: &Stage<'_>, is_local: bool, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Option<Self> {
        let engine = stage.engine;
        let (from, own, of) = match (engine.file_commits, engine.server, &fresh.server) {
            (Some(counts), ..) => {
                let compared = is_local && !stage.setup.only_read;
                let touched = (counts.touched_by_each)(&stage.contender.settings).filter(|_| compared);
                let each = fresh.databases.iter().map(|database| Counter::open(counts, database, touched));
                let counters = Counters { each: each.collect::<Option<_>>()?, counts };
                (From::Files(Arc::new(counters)), 0, Counts::Transactions)
            }
            (None, Some(server), Some(_)) => {
                (From::Server(server.commits), server.own_commits * fresh.databases.len() as u64, server.counts)
            }
            _ => return None,
        };
        let counted = Counted { own, of, ..Counted::default() };
        let mut commits = Self { engine, from, first: 0, began_ns: monotonic_ns(), meanwhile: None, counted };
        commits.first = commits.read(fresh, admin)?.commits;
        Some(commits)
    }

    /// Starts to read the counters of files, once clients have been told to start.
    pub fn work_begins(&mut self) {
        if let From::Files(counters) = &self.from {
            self.meanwhile = Some(Meanwhile::start(Arc::clone(counters)));
        }
    }

    /// Reads the counters at the end of the window, while clients may still be working.
    pub fn window_ends(&mut self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) {
        (self.counted.meanwhile, self.counted.untraced) = self.meanwhile.take().map(Meanwhile::end).unwrap_or_default();
        self.counted.at_window_end = self.read(fresh, admin);
    }

    /// Reads the counters after all clients have ended.
    pub fn end(mut self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Counted {
        let known = self.counted.at_window_end.is_some();
        self.counted.at_end = if known { self.read(fresh, admin) } else { None };
        // A server looks after each database about once a minute.
        self.counted.own *= 1 + monotonic_ns().saturating_sub(self.began_ns) / MINUTE_NS;
        self.counted
    }

    fn read(&self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Option<Reading> {
        let before_ns = monotonic_ns();
        let commits = match &self.from {
            From::Files(counters) => counters.read().map(|each| each.iter().sum()),
            From::Server(query) => {
                let running = fresh.server.as_ref()?;
                let inside = running.inside(self.engine.server?.first_database);
                let target = script_target(self.engine, &inside);
                let answer = admin.within(ANSWER_TIME, |admin| admin.sql(&target, [query])).ok()?;
                match answer.first()?.first()?.first()? {
                    Value::Integer(n) => u64::try_from(*n).ok()?.checked_sub(self.first),
                    _ => None,
                }
            }
        };
        Some(Reading { commits: commits?, between_ns: (before_ns, monotonic_ns()) })
    }
}

impl Counters {
    fn read(&self) -> Option<Vec<u64>> {
        self.each.iter().map(|counter| counter.since(self.counts)).collect()
    }
}

/// A thread that reads the counters.
struct Meanwhile {
    stop: Arc<AtomicBool>,
    /// None once its readings were taken.
    thread: Option<JoinHandle<(Vec<Reading>, u64)>>,
}

impl Meanwhile {
    fn start(counters: Arc<Counters>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let pause = EVERY * u32::try_from(counters.each.len().div_ceil(FILES)).unwrap_or(u32::MAX);
        let thread = std::thread::spawn(move || {
            let (mut readings, mut journals) = (vec![], vec![JournalCheck::default(); counters.each.len()]);
            while !seen.load(Ordering::Relaxed) {
                let traces: Vec<_> = counters.each.iter().map(Counter::trace).collect();
                let before_ns = monotonic_ns();
                let Some(each) = counters.read() else { break };
                let between_ns = (before_ns, monotonic_ns());
                // What is not there twice may have been read while it was being written.
                if counters.read().as_ref() == Some(&each) {
                    readings.push(Reading { commits: each.iter().sum(), between_ns });
                    for ((journal, commits), trace) in journals.iter_mut().zip(each).zip(traces) {
                        trace.into_iter().for_each(|(trace, now_ns)| journal.push(trace, now_ns, commits));
                    }
                }
                std::thread::park_timeout(pause);
            }
            (readings, journals.iter().map(JournalCheck::finish).sum())
        });
        Self { stop, thread: Some(thread) }
    }

    fn end(mut self) -> (Vec<Reading>, u64) {
        self.join()
    }

    fn join(&mut self) -> (Vec<Reading>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Default::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Meanwhile {
    /// A trial that fails leaves no thread that looks at the next one.
    fn drop(&mut self) {
        self.join();
    }
}

impl Counter {
    fn open(counts: &FileCommits, database: &Database, touched: Option<&str>) -> Option<Self> {
        let path = PathBuf::from(database.file().ok()?);
        let touched = touched.and_then(|ending| Some((path.parent()?.to_path_buf(), companion(&path, ending))));
        let shared = companion(&path, counts.shared_ending);
        let (file, at) = match File::open(&shared) {
            Ok(file) => (file, CounterAt::Shared(shared)),
            Err(_) => (File::open(path).ok()?, CounterAt::Database),
        };
        let mut counter = Self { file, at, first: 0, touched };
        counter.first = counter.now(counts)?;
        Some(counter)
    }

    fn now(&self, counts: &FileCommits) -> Option<u32> {
        let mut head = [0; 100];
        self.file.read_exact_at(&mut head, 0).ok()?;
        match self.at {
            CounterAt::Database => (counts.in_file)(&head),
            CounterAt::Shared(_) => (counts.in_shared)(&head),
        }
    }

    /// The trace of the journal as it is now, and when that was; `None` if none is needed, or it cannot be seen.
    fn trace(&self) -> Option<(Trace, i64)> {
        let (directory, journal) = self.touched.as_ref()?;
        let now_ns = file_time_ns();
        let changed_ns = |path: &PathBuf| {
            let found = std::fs::metadata(path).ok()?;
            Some(found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()))
        };
        Some((Trace { directory_ns: changed_ns(directory)?, journal_ns: changed_ns(journal) }, now_ns))
    }

    /// Commits since the beginning; `None` if another counter has replaced this one.
    fn since(&self, counts: &FileCommits) -> Option<u64> {
        if let CounterAt::Shared(path) = &self.at {
            let mine = self.file.metadata().ok()?.ino();
            // The process that closes the last connection removes the file, possibly right after the window: this is
            // then the last count.
            if std::fs::metadata(path).is_ok_and(|there| there.ino() != mine) {
                return None;
            }
        }
        Some(u64::from(self.now(counts)?.wrapping_sub(self.first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::find;

    #[test]
    fn commits_of_sqlite_are_counted_in_every_journal_mode() {
        let counts = find("sqlite").and_then(|engine| engine.file_commits).expect("SQLite counts");
        for mode in ["wal", "delete", "truncate", "persist", "memory"] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("a.db");
            let shared = dir.path().join("a.db-shm");
            let database = rusqlite::Connection::open(&path).expect("SQLite");
            database.pragma_update(None, "journal_mode", mode).expect("a mode");
            database.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").expect("a table");
            let counter = Counter::open(counts, &Database::File(path.display().to_string()), None).expect("a counter");
            for _ in 0..10 {
                database
                    .execute_batch("BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT")
                    .expect("work");
            }
            database.execute_batch("BEGIN; INSERT INTO t VALUES (1); ROLLBACK").expect("nothing");
            assert_eq!(counter.since(counts), Some(10), "{mode}");
            database.close().expect("closed");
            assert_eq!(counter.since(counts), Some(10), "{mode}, closed");
            if mode == "wal" {
                std::fs::write(shared, [0; 100]).expect("another one");
                assert_eq!(counter.since(counts), None, "another has its place");
            }
        }
    }
}
