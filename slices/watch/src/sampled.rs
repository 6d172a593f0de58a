//! The source without privileges: polls `/proc/locks`. It misses holds that are shorter than the interval, and all
//! refusals; the depth's name says so in all output.

use crate::event::{Event, What, Who};
use crate::lock::{Change, Lock, Mode};
use crate::process::Processes;
use crate::target::{Database, FileId, find};
use anyhow::{Context, Result};
use procfs::{FromBufRead, LockKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

/// The polling source.
pub struct Sampled {
    databases: Vec<Database>,
    processes: Processes,
    /// Locks held at the last poll.
    held: BTreeMap<(usize, u32, Lock), Mode>,
}

impl Sampled {
    pub fn new(databases: Vec<Database>) -> Sampled {
        Sampled { databases, processes: Processes::default(), held: BTreeMap::new() }
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
        let file = File::open("/proc/locks").context("cannot read /proc/locks")?;
        let locks = procfs::Locks::from_buf_read(BufReader::new(file)).context("cannot read /proc/locks")?.0;
        let mut held = BTreeMap::new();
        for lock in &locks {
            let id = FileId { device: (lock.devmaj << 20) | lock.devmin, inode: lock.inode };
            let found = find(&self.databases, id);
            let (Some((database, file)), Some(pid)) = (found, lock.pid.filter(|pid| *pid > 0)) else { continue };
            let last = lock.offset_last.map_or(i64::MAX, |last| last as i64);
            let mode = if matches!(lock.kind, LockKind::Read) { Mode::Shared } else { Mode::Alone };
            for lock in Lock::in_range(file, lock.offset_first as i64, last) {
                held.insert((database, pid as u32, lock), mode);
            }
        }
        Ok(self.changes(now_ns, held))
    }

    fn changes(&mut self, at_ns: u64, held: BTreeMap<(usize, u32, Lock), Mode>) -> Vec<Event> {
        let mut events = vec![];
        let mut event = |(database, pid, lock): (usize, u32, Lock), change| {
            let what = What::Lock { database, lock, change };
            events.push(Event { at_ns, who: Who { pid, tid: pid }, what });
        };
        for key in self.held.keys().filter(|key| !held.contains_key(key)) {
            event(*key, Change::Released);
        }
        for (key, mode) in held.iter().filter(|(key, mode)| self.held.get(key) != Some(mode)) {
            self.processes.note(key.1, key.1);
            event(*key, Change::Taken(*mode));
        }
        self.held = held;
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_comes_and_goes_is_two_changes() {
        let mut sampled = Sampled::new(vec![]);
        let held = BTreeMap::from([((0, 7, Lock::WalWrite), Mode::Alone)]);
        let taken = sampled.changes(10, held.clone());
        assert!(matches!(
            taken[..],
            [Event { at_ns: 10, what: What::Lock { change: Change::Taken(Mode::Alone), .. }, .. }]
        ));
        assert_eq!(sampled.changes(20, held), [], "nothing has changed");
        let released = sampled.changes(30, BTreeMap::new());
        assert!(matches!(released[..], [Event { at_ns: 30, what: What::Lock { change: Change::Released, .. }, .. }]));
    }
}
