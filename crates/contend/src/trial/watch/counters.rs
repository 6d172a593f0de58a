//! Counts of commits in the files of embedded databases, read while clients work.

use crate::check::commits::Reading;
use crate::check::journal::{JournalCheck, Trace};
use crate::engine::FileCommits;
use crate::engine::wal::companion;
use crate::trial::clock::monotonic_ns;
use crate::trial::watch::machine::file_time_ns;
use crate::trial::watch::pauses::Pauses;
use anyhow::{Context, Result, bail};
use contend_wire::database::Database;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Mean pause between two readings of [`FILES`] files while clients work; it grows with their number. A reading makes
/// three system calls for each file and two more with a rollback journal, so this costs about a thousandth of a processor.
const EVERY: Duration = Duration::from_millis(10);
const FILES: usize = 2;

/// The counters of all databases.
pub struct Counters {
    each: Vec<Counter>,
    counts: &'static FileCommits,
}

/// The counter of a database file. It is kept open, so it can be read after it was removed, and its inode is not
/// reused.
struct Counter {
    file: File,
    inode: u64,
    path: PathBuf,
    is_shared: bool,
    first: u32,
    /// The database's directory and its rollback journal, which each commit touches.
    touched: Option<(PathBuf, PathBuf)>,
}

/// What was seen of the counters' places, from one reading to the next.
#[derive(Debug, Default)]
pub struct Places {
    /// For each counter whose file was gone, the count after that: the process that closes the last connection removes
    /// the file, and then nothing can be counted in it.
    gone: Vec<Option<u64>>,
    /// Why counters cannot be compared.
    lost: Option<anyhow::Error>,
}

/// Results of readings while clients worked.
#[derive(Debug, Default)]
pub struct Seen {
    pub readings: Vec<Reading>,
    /// Commits that left no trace of the journal that they need.
    pub untraced: u64,
    pub places: Places,
}

impl Counters {
    /// # Errors
    /// The file that has no readable count.
    pub fn open<'d>(
        counts: &'static FileCommits,
        databases: impl IntoIterator<Item = &'d Database>,
        touched: Option<&str>,
    ) -> Result<Self> {
        let each = databases.into_iter().map(|database| Counter::open(counts, database, touched));
        Ok(Self { each: each.collect::<Result<_>>()?, counts })
    }

    /// Commits of all databases since the beginning; `None` once a counter is lost.
    pub fn read(&self, places: &mut Places) -> Option<Reading> {
        places.look(self);
        let before_ns = monotonic_ns();
        let each = self.each(places)?;
        Some(Reading { commits: each.iter().sum(), between_ns: (before_ns, monotonic_ns()) })
    }

    fn each(&self, places: &mut Places) -> Option<Vec<u64>> {
        let read = self.each.iter().map(|counter| counter.since(self.counts)).collect::<Result<Vec<_>>>();
        read.map_err(|e| places.lose(e)).ok()
    }
}

impl Places {
    /// Looks for the files, before their counts are read.
    fn look(&mut self, counters: &Counters) {
        self.gone.resize(counters.each.len(), None);
        for (counter, gone) in counters.each.iter().zip(&mut self.gone) {
            let path = counter.path.display();
            let found = match std::fs::metadata(&counter.path) {
                Ok(there) if there.ino() == counter.inode => continue,
                Ok(_) => Err(anyhow::anyhow!("another file has taken the place of {path}")),
                Err(_) if !counter.is_shared => Err(anyhow::anyhow!("{path} was removed")),
                Err(_) => counter.since(counters.counts),
            };
            let lost = match found {
                Ok(now) if now <= *gone.get_or_insert(now) => continue,
                Ok(_) => anyhow::anyhow!("{path} was removed while connections used it"),
                Err(e) => e,
            };
            self.lost.get_or_insert(lost);
        }
    }

    fn lose(&mut self, why: anyhow::Error) {
        self.lost.get_or_insert(why);
    }

    /// Why counters cannot be compared; `None` if they can.
    pub fn lost(self) -> Option<anyhow::Error> {
        self.lost
    }
}

/// A thread that reads the counters.
pub struct Meanwhile {
    stop: Arc<AtomicBool>,
    /// None once its readings were taken.
    thread: Option<JoinHandle<Seen>>,
}

impl Meanwhile {
    /// # Errors
    /// The kernel gives no random bits.
    pub fn start(counters: Arc<Counters>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let pause = EVERY * u32::try_from(counters.each.len().div_ceil(FILES)).unwrap_or(u32::MAX);
        let mut pauses = Pauses::new()?;
        let thread = std::thread::spawn(move || {
            let (mut found, mut journals) = (Seen::default(), vec![JournalCheck::default(); counters.each.len()]);
            while !seen.load(Ordering::Relaxed) {
                let traces: Vec<_> = counters.each.iter().map(Counter::trace).collect();
                found.places.look(&counters);
                let before_ns = monotonic_ns();
                let Some(each) = counters.each(&mut found.places) else { break };
                let between_ns = (before_ns, monotonic_ns());
                // What is not there twice may have been read while it was being written.
                if counters.each(&mut found.places).as_ref() == Some(&each) {
                    found.readings.push(Reading { commits: each.iter().sum(), between_ns });
                    for ((journal, commits), trace) in journals.iter_mut().zip(each).zip(traces) {
                        trace.into_iter().for_each(|(trace, now_ns)| journal.push(trace, now_ns, commits));
                    }
                }
                std::thread::park_timeout(pauses.next(pause));
            }
            found.untraced = journals.iter().map(JournalCheck::finish).sum();
            found
        });
        Ok(Self { stop, thread: Some(thread) })
    }

    pub fn end(mut self) -> Seen {
        self.join()
    }

    fn join(&mut self) -> Seen {
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
    fn open(counts: &FileCommits, database: &Database, touched: Option<&str>) -> Result<Self> {
        let path = PathBuf::from(database.file().map_err(anyhow::Error::msg)?);
        let touched = touched.and_then(|ending| Some((path.parent()?.to_path_buf(), companion(&path, ending))));
        let shared = companion(&path, counts.shared_ending);
        let (file, path, is_shared) = match File::open(&shared) {
            Ok(file) => (file, shared, true),
            Err(_) => (File::open(&path).with_context(|| path.display().to_string())?, path, false),
        };
        let inode = file.metadata()?.ino();
        let mut counter = Self { file, inode, path, is_shared, first: 0, touched };
        counter.first = counter.now(counts)?;
        Ok(counter)
    }

    fn now(&self, counts: &FileCommits) -> Result<u32> {
        let mut head = [0; 100];
        let path = self.path.display();
        self.file.read_exact_at(&mut head, 0).with_context(|| path.to_string())?;
        let count = if self.is_shared { (counts.in_shared)(&head) } else { (counts.in_file)(&head) };
        let Some(count) = count else { bail!("{path} has no count of commits") };
        Ok(count)
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

    /// Commits since the beginning.
    fn since(&self, counts: &FileCommits) -> Result<u64> {
        Ok(u64::from(self.now(counts)?.wrapping_sub(self.first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::find;
    use std::path::Path;

    fn counts() -> &'static FileCommits {
        find("sqlite").and_then(|engine| engine.file_commits).expect("SQLite counts")
    }

    fn counters(path: &Path) -> Counters {
        Counters::open(counts(), &[Database::File(path.display().to_string())], None).expect("a counter")
    }

    fn made(path: &Path, mode: &str) -> rusqlite::Connection {
        let database = rusqlite::Connection::open(path).expect("SQLite");
        database.pragma_update(None, "journal_mode", mode).expect("a mode");
        database.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").expect("a table");
        database
    }

    const INSERT: &str = "INSERT INTO t VALUES (1)";

    #[test]
    fn commits_of_sqlite_are_counted_in_every_journal_mode() {
        for mode in ["wal", "delete", "truncate", "persist", "memory"] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("a.db");
            let database = made(&path, mode);
            let (counters, mut places) = (counters(&path), Places::default());
            for _ in 0..10 {
                database
                    .execute_batch("BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT")
                    .expect("work");
            }
            database.execute_batch("BEGIN; INSERT INTO t VALUES (1); ROLLBACK").expect("nothing");
            let mut read = || counters.read(&mut places).map(|reading| reading.commits);
            assert_eq!(read(), Some(10), "{mode}");
            database.close().expect("closed");
            assert_eq!(read(), Some(10), "{mode}, closed");
            assert!(places.lost().is_none(), "{mode}");
        }
    }

    #[test]
    fn a_counter_whose_place_another_file_takes_is_read_on_and_reported() {
        for (mode, ending) in [("wal", "a.db-shm"), ("delete", "a.db")] {
            let dir = tempfile::tempdir().expect("a directory");
            let (path, counter) = (dir.path().join("a.db"), dir.path().join(ending));
            let database = made(&path, mode);
            let (counters, mut places) = (counters(&path), Places::default());
            let copy = dir.path().join("copy");
            std::fs::copy(&counter, &copy).expect("copied");
            std::fs::rename(&copy, &counter).expect("in its place");
            // SQLite itself reports a database file that was replaced.
            let expected = if mode == "wal" {
                database.execute_batch(INSERT).expect("the old one is still mapped");
                1
            } else {
                0
            };
            assert_eq!(counters.read(&mut places).map(|reading| reading.commits), Some(expected), "{mode}");
            let words = places.lost().map(|e| e.to_string()).unwrap_or_default();
            assert!(words.contains("another file has taken the place of"), "{mode}: {words}");
        }
    }

    #[test]
    fn a_counter_that_is_removed_must_not_grow() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.db");
        let database = made(&path, "wal");
        let (counters, mut places) = (counters(&path), Places::default());
        std::fs::remove_file(dir.path().join("a.db-shm")).expect("removed");
        counters.read(&mut places).expect("the last count");
        counters.read(&mut places).expect("it does not change");
        assert!(places.lost.is_none(), "as if its connections were closed");
        database.execute_batch(INSERT).expect("they are not");
        counters.read(&mut places).expect("it is read on");
        assert!(places.lost().is_some_and(|e| e.to_string().contains("while connections used it")));
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_reported() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.db");
        let database = made(&path, "delete");
        let (counters, mut places) = (counters(&path), Places::default());
        database.pragma_update(None, "journal_mode", "wal").expect("the count is elsewhere now");
        database.execute_batch(INSERT).expect("work");
        database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("in the file");
        assert!(counters.read(&mut places).is_none());
        assert!(places.lost().is_some_and(|e| e.to_string().contains("has no count of commits")));
        let other = dir.path().join("b.db");
        std::fs::write(&other, [0; 10]).expect("a file");
        assert!(Counters::open(super::tests::counts(), &[Database::File(other.display().to_string())], None).is_err());
    }
}
