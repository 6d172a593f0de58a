//! Which processes use which watched database.

use crate::lock::{Change, File};
use crate::process::has_open;
use crate::target::FileId;
use std::collections::{HashMap, HashSet};

/// Why the log of a process was not seen.
pub const LOG_LOST: &str = "its `-shm` file was made and removed between two looks";

/// Time after the lock of a database's file in which that of its `-shm` is seen.
const LOG_NS: u64 = 1_000_000_000;

#[derive(Default)]
pub struct Users {
    /// Whether a process uses a database, as asked since the last poll; users stay.
    known: HashMap<(u32, usize), bool>,
    /// Processes that locked files which were gone before they were looked at.
    unknown: HashSet<u32>,
    /// Processes whose `-shm` locks were seen, and the others: the database in WAL mode whose file each has locked, and when.
    with_log: HashSet<u32>,
    without_log: HashMap<u32, (usize, u64)>,
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
        let mut its = self.known.iter().filter(|((user, _), is_user)| *user == pid && **is_user);
        let uses_one = its.any(|((_, database), _)| is_wal(*database));
        uses_one && has_open(pid, &[file]) != Some(true) && self.unknown.insert(pid)
    }

    /// A process has locked a part of a watched file, or released one. A connection in WAL mode that locks the database's file also locks the `-shm`.
    pub fn has_locked(&mut self, pid: u32, (database, file): (usize, File), (at_ns, change): (u64, Change)) {
        if !matches!(change, Change::Taken(_)) {
            return;
        }
        if file == File::Shm {
            self.with_log.insert(pid);
            self.without_log.remove(&pid);
        } else if !self.with_log.contains(&pid) {
            self.without_log.entry(pid).or_insert((database, at_ns));
        }
    }

    /// Processes that have locked the file of a database in WAL mode, and no `-shm` that is known: the filter may still have had an
    /// earlier file.
    pub fn that_lost_their_log(&mut self, now_ns: u64, is_wal: impl Fn(usize) -> bool) -> Vec<u32> {
        let is_due = |at_ns: u64| now_ns >= at_ns.saturating_add(LOG_NS);
        let due = self.without_log.extract_if(|_, (_, at_ns)| is_due(*at_ns));
        let due: Vec<(u32, usize)> = due.map(|(pid, (database, _))| (pid, database)).collect();
        let is_new = |(pid, database): (u32, usize)| (is_wal(database) && self.unknown.insert(pid)).then_some(pid);
        due.into_iter().filter_map(is_new).collect()
    }

    /// Forgets which processes are no users: one may open the database later.
    pub fn keep_users(&mut self) {
        self.known.retain(|_, is_user| *is_user);
    }

    /// Forgets processes that have ended, whose numbers may be reused.
    pub fn forget(&mut self, ended: &HashSet<u32>) {
        self.known.retain(|(pid, _), _| !ended.contains(pid));
        self.unknown.retain(|pid| !ended.contains(pid));
        self.with_log.retain(|pid| !ended.contains(pid));
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
        for (pid, file) in [(1, File::Database), (1, File::Shm), (2, File::Database), (3, File::Database)] {
            users.has_locked(pid, (usize::from(pid == 3), file), (5, Change::Taken(Mode::Shared)));
        }
        assert!(users.that_lost_their_log(LOG_NS, |_| true).is_empty(), "its `-shm` may still come");
        assert_eq!(users.that_lost_their_log(5 + LOG_NS, |database| database == 0), [2], "the third has no log");
        for pid in [1, 2] {
            users.has_locked(pid, (0, File::Database), (9, Change::Taken(Mode::Shared)));
        }
        users.has_locked(4, (0, File::Database), (9, Change::Released));
        assert!(users.that_lost_their_log(u64::MAX, |_| true).is_empty(), "once");
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
