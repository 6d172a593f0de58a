//! Which processes use which watched database.

use crate::process::has_open;
use crate::target::FileId;
use std::collections::{HashMap, HashSet};

/// Why the log of a process was not seen.
pub const LOG_LOST: &str = "its `-shm` file was made and removed between two looks";

#[derive(Default)]
pub struct Users {
    /// Whether a process uses a database, as asked since the last poll; users stay.
    known: HashMap<(u32, usize), bool>,
    /// Processes that locked files which were gone before they were looked at.
    unknown: HashSet<u32>,
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

    /// Forgets which processes are no users: one may open the database later.
    pub fn keep_users(&mut self) {
        self.known.retain(|_, is_user| *is_user);
    }

    /// Forgets processes that have ended, whose numbers may be reused.
    pub fn forget(&mut self, ended: &HashSet<u32>) {
        self.known.retain(|(pid, _), _| !ended.contains(pid));
        self.unknown.retain(|pid| !ended.contains(pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
