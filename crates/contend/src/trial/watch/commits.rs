//! How often the databases of a trial have committed, by their own counters: read by the tool itself, so that no worker has a
//! say in it.

use crate::check::commits::{Counted, Reading};
use crate::engine::{Counts, Engine, FileCommits};
use crate::trial::data::fresh::Fresh;
use crate::trial::workers::admin::{Admin, script_target};
use crate::trial::workers::process::monotonic_ns;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::Duration;

/// Longest a server may take for its answer; without one its commits are not held against anything.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// What is read.
enum From {
    Files(Vec<Counter>),
    /// A server: the query.
    Server(&'static str),
}

/// The counter of one database that is a file, kept open: a file that is removed meanwhile can still be read, and none with its
/// number takes its place.
struct Counter {
    file: File,
    at: CounterAt,
    first: u32,
}

enum CounterAt {
    Database,
    Shared(PathBuf),
}

/// The counters of a trial, as they were when its clients were about to start.
pub struct Commits<'e> {
    engine: &'e Engine,
    from: From,
    first: u64,
    pub counted: Counted,
}

impl<'e> Commits<'e> {
    /// None if the engine counts no commits, or programs other than contend's clients are expected to write.
    pub fn begin(engine: &'e Engine, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Option<Self> {
        let (from, own, of) = match (engine.file_commits, engine.server, &fresh.server) {
            (Some(counts), ..) => {
                let counters = fresh.databases.iter().map(|database| Counter::open(counts, database));
                (From::Files(counters.collect::<Option<_>>()?), 0, Counts::Transactions)
            }
            (None, Some(server), Some(_)) => (From::Server(server.commits), server.own_commits, server.counts),
            _ => return None,
        };
        let mut commits = Self { engine, from, first: 0, counted: Counted { own, of, ..Counted::default() } };
        commits.first = commits.read(fresh, admin)?.commits;
        Some(commits)
    }

    /// At the end of the window, while clients may still be at work.
    pub fn window_ends(&mut self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) {
        self.counted.at_window_end = self.read(fresh, admin);
    }

    /// When all clients have ended.
    pub fn end(mut self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Counted {
        let known = self.counted.at_window_end.is_some();
        self.counted.at_end = if known { self.read(fresh, admin) } else { None };
        self.counted
    }

    fn read(&self, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Option<Reading> {
        let before_ns = monotonic_ns();
        let commits = match &self.from {
            From::Files(counters) => counters.iter().map(|counter| counter.since(self.engine.file_commits?)).sum(),
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

impl Counter {
    fn open(counts: &FileCommits, database: &Database) -> Option<Self> {
        let path = PathBuf::from(database.file().ok()?);
        let mut shared = path.clone().into_os_string();
        shared.push(counts.shared_ending);
        let shared = PathBuf::from(shared);
        let (file, at) = match File::open(&shared) {
            Ok(file) => (file, CounterAt::Shared(shared)),
            Err(_) => (File::open(path).ok()?, CounterAt::Database),
        };
        let mut counter = Self { file, at, first: 0 };
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

    /// What was counted since the beginning; none if another counter has taken the place of this one.
    fn since(&self, counts: &FileCommits) -> Option<u64> {
        if let CounterAt::Shared(path) = &self.at {
            let mine = self.file.metadata().ok()?.ino();
            // The process that closes the last connection removes the file, maybe right after the window: then this is its last count.
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
            let counter = Counter::open(counts, &Database::File(path.display().to_string())).expect("a counter");
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
