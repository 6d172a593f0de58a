//! Which processes use which watched database.

use crate::lock::{Change, File};
use crate::process::has_open;
use crate::target::FileId;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Time after the lock of a database's file in which that of its `-shm` is seen.
const LOG_NS: u64 = 1_000_000_000;

#[derive(Default)]
pub struct Users {
    /// Whether a process uses a database, as asked since the last poll; users stay.
    known: HashMap<(u32, usize), bool>,
    /// Processes and databases of which it was returned that locks of the `-shm` were not seen.
    lost: BTreeSet<(u32, usize)>,
    /// Processes and databases of which a lock of the `-shm` was seen.
    with_log: HashSet<(u32, usize)>,
    /// The others of which a lock of the database's file was seen, and when: that of the `-shm` must follow in WAL mode.
    without_log: HashMap<(u32, usize), u64>,
}

impl Users {
    /// Whether a process uses a database: if that is known, if it has `locked` the database's file, or else if `has_it_open`.
    pub fn uses(&mut self, pid: u32, database: usize, locked: bool, has_it_open: impl FnOnce() -> bool) -> bool {
        let known = self.known.get(&(pid, database)).copied();
        let is_user = locked || known.unwrap_or_else(has_it_open);
        self.known.insert((pid, database), is_user);
        is_user
    }

    /// Whether an unknown file that a process has locked may be the `-shm` of a database of which `is_wal` is true, asked for the
    /// first time. That file can be made and removed between two looks. One that is still open belongs to another database.
    pub fn may_have_lost_its_log(&mut self, pid: u32, file: FileId, is_wal: impl Fn(usize) -> bool) -> bool {
        let its =
            self.known.iter().filter(|((user, database), is_user)| *user == pid && **is_user && is_wal(*database));
        let its: Vec<(u32, usize)> = its.map(|(key, _)| *key).collect();
        if its.is_empty() || has_open(pid, &[file]) == Some(true) {
            return false;
        }
        let is_first = self.lost.range((pid, 0)..=(pid, usize::MAX)).next().is_none();
        self.without_log.retain(|key, _| !its.contains(key));
        self.lost.extend(its);
        is_first
    }

    /// A process has locked a part of a watched file, or released one. A connection in WAL mode that locks the database's file also locks the `-shm`.
    pub fn has_locked(&mut self, pid: u32, (database, file): (usize, File), (at_ns, change): (u64, Change)) {
        if !matches!(change, Change::Taken(_)) {
            return;
        }
        if file == File::Shm {
            self.with_log.insert((pid, database));
            self.without_log.remove(&(pid, database));
        } else if !self.with_log.contains(&(pid, database)) && !self.lost.contains(&(pid, database)) {
            self.without_log.entry((pid, database)).or_insert(at_ns);
        }
    }

    /// Processes and databases in WAL mode whose file each has locked without a lock of a known `-shm`, each once. There is
    /// none with `PRAGMA locking_mode = EXCLUSIVE`, or the kernel's filter still had an earlier file.
    pub fn without_a_known_log(&mut self, now_ns: u64, is_wal: impl Fn(usize) -> bool) -> Vec<(u32, usize)> {
        let is_due = |at_ns: u64| now_ns >= at_ns.saturating_add(LOG_NS);
        let due: Vec<_> = self.without_log.extract_if(|_, at_ns| is_due(*at_ns)).map(|(key, _)| key).collect();
        due.into_iter().filter(|key| is_wal(key.1) && self.lost.insert(*key)).collect()
    }

    /// Forgets which processes are no users: one may open the database later.
    pub fn keep_users(&mut self) {
        self.known.retain(|_, is_user| *is_user);
    }

    /// Forgets processes that have ended, whose numbers may be reused.
    pub fn forget(&mut self, ended: &HashSet<u32>) {
        self.known.retain(|(pid, _), _| !ended.contains(pid));
        self.lost.retain(|(pid, _)| !ended.contains(pid));
        self.with_log.retain(|(pid, _)| !ended.contains(pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Mode;

    #[test]
    fn a_process_that_is_no_user_is_asked_again_after_a_poll() {
        let (mut users, own) = (Users::default(), std::process::id());
        assert!(!users.uses(own, 0, false, || false));
        assert!(!users.uses(own, 0, false, || true), "asked once for each poll");
        users.keep_users();
        assert!(users.uses(own, 0, false, || true));
        users.keep_users();
        assert!(users.uses(own, 0, false, || false), "a user stays one");
        assert!(!users.uses(own, 1, false, || false) && users.uses(own, 1, true, || false), "it locks the file");
    }

    #[test]
    fn a_lock_of_the_database_alone_is_one_of_a_process_whose_log_was_not_seen() {
        let mut users = Users::default();
        // The first has locked the log of one of its two databases.
        for (pid, database, file) in [(1, 0, File::Database), (1, 0, File::Shm), (1, 1, File::Database)] {
            users.has_locked(pid, (database, file), (5, Change::Taken(Mode::Shared)));
        }
        for (pid, database) in [(2, 0), (3, 2)] {
            users.has_locked(pid, (database, File::Database), (5, Change::Taken(Mode::Shared)));
        }
        assert!(users.without_a_known_log(LOG_NS, |_| true).is_empty(), "its `-shm` may still come");
        let mut found = users.without_a_known_log(5 + LOG_NS, |database| database < 2);
        found.sort_unstable();
        assert_eq!(found, [(1, 1), (2, 0)], "the third has no log");
        for (pid, database) in [(1, 0), (1, 1), (2, 0)] {
            users.has_locked(pid, (database, File::Database), (9, Change::Taken(Mode::Shared)));
        }
        users.has_locked(4, (0, File::Database), (9, Change::Released));
        assert!(users.without_a_known_log(u64::MAX, |_| true).is_empty(), "once");
    }

    #[test]
    fn a_process_whose_lost_log_was_returned_is_not_returned_again_for_that_database() {
        let (mut users, ended) = (Users::default(), 1 << 30);
        users.uses(ended, 3, true, || false);
        assert!(users.may_have_lost_its_log(ended, FileId { device: 0, inode: 0 }, |_| true));
        for database in [3, 4] {
            users.has_locked(ended, (database, File::Database), (5, Change::Taken(Mode::Shared)));
        }
        assert_eq!(users.without_a_known_log(u64::MAX, |_| true), [(ended, 4)]);
    }

    #[test]
    fn a_process_that_is_forgotten_after_its_lost_log_was_returned_is_not_returned_again() {
        let (mut users, ended) = (Users::default(), 1 << 30);
        users.uses(ended, 3, true, || false);
        users.has_locked(ended, (3, File::Database), (5, Change::Taken(Mode::Shared)));
        assert!(users.may_have_lost_its_log(ended, FileId { device: 0, inode: 0 }, |_| true));
        users.has_locked(ended, (3, File::Database), (6, Change::Taken(Mode::Shared)));
        users.forget(&HashSet::from([ended]));
        assert!(users.without_a_known_log(u64::MAX, |_| true).is_empty());
    }

    #[test]
    fn a_log_is_lost_once_for_each_process_that_uses_one_and_has_its_file_no_longer_open() {
        // No process has this number: it is above the kernel's limit.
        let (mut users, ended, own) = (Users::default(), 1 << 30, std::process::id());
        let path = std::env::current_exe().expect("a path");
        let (open, id) = (std::fs::File::open(&path).expect("open"), FileId::at(&path).expect("a file"));
        assert!(!users.may_have_lost_its_log(ended, id, |_| true), "it is no user");
        users.uses(ended, 3, true, || false);
        users.uses(own, 3, true, || false);
        assert!(!users.may_have_lost_its_log(ended, id, |database| database != 3), "that one has no log");
        assert!(users.may_have_lost_its_log(ended, id, |database| database == 3));
        assert!(!users.may_have_lost_its_log(ended, id, |_| true), "once");
        assert!(!users.may_have_lost_its_log(own, id, |_| true), "it is open");
        drop(open);
        assert!(users.may_have_lost_its_log(own, FileId { device: 0, inode: 0 }, |_| true), "it is gone");
    }
}
