//! The source without privileges: polls `/proc/locks`. It misses holds that are shorter than the interval, and all
//! refusals; the depth's name says so in all output.

use crate::event::{Event, What, Who};
use crate::lock::{Change, Lock, Mode};
use crate::process::Processes;
use crate::target::{Database, FileId, find};
use anyhow::{Context, Result};
use procfs::{FromBufRead, LockKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};

/// Time between two looks for processes that have ended.
const LOOK_NS: u64 = 1_000_000_000;

/// Bytes of a part of `/proc/locks`: a page of the kernel or more.
const PART_BYTES: usize = 65_536;

/// The polling source.
pub struct Sampled {
    databases: Vec<Database>,
    processes: Processes,
    /// Locks held at the last poll.
    held: Held,
    /// [`Database::commit_mark`] of the databases that had a writer then.
    marks: BTreeMap<usize, Vec<u8>>,
    /// When it last looked for processes that have ended, whose numbers others may get.
    looked_ns: u64,
}

type Held = BTreeMap<(usize, u32, Lock), Mode>;

/// The lines of `/proc/locks`. The kernel lists at most a page at one moment and begins the next page at a position that others
/// may have moved in between: of several pages, the lines of two looks are returned.
fn locks() -> io::Result<String> {
    let mut lines = vec![];
    if look_at_locks(&mut lines)? > 1 {
        look_at_locks(&mut lines)?;
    }
    String::from_utf8(lines).map_err(io::Error::other)
}

/// Adds the lines of one look, and returns the number of its parts.
fn look_at_locks(lines: &mut Vec<u8>) -> io::Result<usize> {
    let (mut file, mut part, mut parts) = (File::open("/proc/locks")?, [0; PART_BYTES], 0);
    loop {
        let count = file.read(&mut part)?;
        if count == 0 {
            return Ok(parts);
        }
        lines.extend_from_slice(&part[..count]);
        parts += 1;
    }
}

impl Sampled {
    pub fn new(databases: Vec<Database>) -> Sampled {
        Sampled { databases, processes: Processes::default(), held: Held::new(), marks: BTreeMap::new(), looked_ns: 0 }
    }

    pub fn databases(&self) -> &[Database] {
        &self.databases
    }

    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Changes since the last poll.
    ///
    /// # Errors
    /// `/proc/locks` cannot be read.
    pub fn poll(&mut self, now_ns: u64) -> Result<Vec<Event>> {
        self.databases.iter_mut().for_each(|database| _ = database.look_again());
        if now_ns >= self.looked_ns + LOOK_NS {
            self.looked_ns = now_ns;
            self.processes.look_for_ended();
        }
        let text = locks().context("cannot read /proc/locks")?;
        let mut held = Held::new();
        for lock in posix_locks(&text)? {
            let id = FileId { device: (lock.devmaj << 20) | lock.devmin, inode: lock.inode };
            let found = find(&self.databases, id);
            let (Some((database, file)), Some(pid)) = (found, lock.pid.filter(|pid| *pid > 0)) else { continue };
            let last = lock.offset_last.map_or(i64::MAX, |last| last as i64);
            let mode = if matches!(lock.kind, LockKind::Read) { Mode::Shared } else { Mode::Alone };
            for lock in Lock::in_range(file, lock.offset_first as i64, last) {
                held.insert((database, pid as u32, lock), mode);
            }
        }
        let written: BTreeSet<usize> = held.keys().filter(|key| key.2.is_writers()).map(|key| key.0).collect();
        let marks = written.into_iter().filter_map(|at| Some((at, self.databases[at].commit_mark()?))).collect();
        Ok(self.changes(now_ns, held, marks))
    }

    /// Changes of the locks. A process that has the writer's lock at two polls and has committed in between has taken it
    /// again.
    fn changes(&mut self, at_ns: u64, held: Held, marks: BTreeMap<usize, Vec<u8>>) -> Vec<Event> {
        let has_committed =
            |at: &usize| self.marks.get(at).zip(marks.get(at)).is_some_and(|(before, now)| before != now);
        let is_again = |(at, _, lock): &(usize, u32, Lock)| lock.is_writers() && has_committed(at);
        let mut events = vec![];
        let mut event = |(database, pid, lock): (usize, u32, Lock), change| {
            let what = What::Lock { database, lock, change };
            events.push(Event { at_ns, who: Who { pid, tid: pid }, what });
        };
        for key in self.held.keys().filter(|key| !held.contains_key(key) || is_again(key)) {
            event(*key, Change::Released);
        }
        for (key, mode) in held.iter().filter(|(key, mode)| self.held.get(key) != Some(mode) || is_again(key)) {
            self.processes.note(key.1, key.1);
            event(*key, Change::Taken(*mode));
        }
        (self.held, self.marks) = (held, marks);
        events
    }
}

/// The locks of `/proc/locks` that processes hold and that are of SQLite's kind. Locks of `flock` and leases exclude no
/// connection of SQLite. Requests that wait for a lock (`->`) are not held; procfs would return them as if they were.
fn posix_locks(text: &str) -> Result<Vec<procfs::Lock>> {
    let held = text.lines().filter(|line| line.split_whitespace().nth(1) == Some("POSIX"));
    let held = held.collect::<Vec<_>>().join("\n");
    Ok(procfs::Locks::from_buf_read(held.as_bytes()).context("cannot read /proc/locks")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_posix_locks_that_are_held_count() {
        let text = "1: POSIX  ADVISORY  WRITE 7 fe:00:42 120 120\n\
            1: -> POSIX  ADVISORY  WRITE 8 fe:00:42 120 120\n\
            2: FLOCK  ADVISORY  WRITE 9 fe:00:42 0 EOF\n\
            3: OFDLCK ADVISORY  READ  -1 fe:00:42 0 EOF\n\
            4: LEASE  ACTIVE    READ  10 fe:00:42 0 EOF\n\
            5: POSIX  ADVISORY  READ  11 fe:00:42 123 123\n";
        let pids: Vec<_> = posix_locks(text).expect("lines of the kernel").iter().map(|lock| lock.pid).collect();
        assert_eq!(pids, [Some(7), Some(11)]);
    }

    /// Changes of the writer's lock of process 7 in order, at a poll with this mark or without the lock.
    fn changes(sampled: &mut Sampled, mark: Option<u8>) -> Vec<Change> {
        let held = mark.map(|_| ((0, 7, Lock::WalWrite), Mode::Alone)).into_iter().collect();
        let marks = mark.map(|mark| (0, vec![mark])).into_iter().collect();
        let change = |event: Event| match event.what {
            What::Lock { change, .. } => change,
            what => panic!("{what:?}"),
        };
        sampled.changes(10, held, marks).into_iter().map(change).collect()
    }

    #[test]
    fn a_lock_that_comes_and_goes_is_two_changes() {
        let mut sampled = Sampled::new(vec![]);
        assert_eq!(changes(&mut sampled, Some(1)), [Change::Taken(Mode::Alone)]);
        assert_eq!(changes(&mut sampled, Some(1)), [], "nothing has changed");
        assert_eq!(changes(&mut sampled, None), [Change::Released]);
    }

    #[test]
    fn a_lock_that_is_held_again_after_a_commit_is_another_one() {
        let mut sampled = Sampled::new(vec![]);
        changes(&mut sampled, Some(1));
        assert_eq!(changes(&mut sampled, Some(2)), [Change::Released, Change::Taken(Mode::Alone)]);
        assert_eq!(changes(&mut sampled, Some(2)), []);
    }
}
