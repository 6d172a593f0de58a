//! Syncs of a database's files: the kernel's events for them, and which database one belongs to.
//!
//! The file system ext4 has its own events, with the inode. Elsewhere the system calls are traced, with the
//! descriptor. While any system call is traced, each one of the machine takes a little longer, so that is done only
//! where it must.

use crate::page::Format;
use crate::target::{Database, FileId};
use std::collections::HashMap;
use std::path::PathBuf;

/// Entry and exit of a sync on ext4, ext3 and ext2.
pub const OF_EXT4: [&str; 2] = ["ext4/ext4_sync_file_enter", "ext4/ext4_sync_file_exit"];
/// Entry and exit of the system calls.
pub const OF_CALLS: [&str; 4] = [
    "syscalls/sys_enter_fsync",
    "syscalls/sys_exit_fsync",
    "syscalls/sys_enter_fdatasync",
    "syscalls/sys_exit_fdatasync",
];
/// `statfs` of ext4, ext3 and ext2.
const EXT4_MAGIC: i64 = 0xef53;
/// Most threads that are stored.
const THREADS_MAX: usize = 100_000;

/// Which events report the syncs of these databases.
pub fn is_on_ext4(databases: &[Database]) -> bool {
    let is = |database: &Database| {
        let found = rustix::fs::statfs(&database.path);
        found.is_ok_and(|found| found.f_type == EXT4_MAGIC)
    };
    databases.iter().all(is)
}

/// Filter of ext4's events: the devices of the databases.
pub fn filter(databases: &[Database]) -> String {
    let mut devices: Vec<u32> = databases.iter().map(|database| database.id.device).collect();
    devices.sort_unstable();
    devices.dedup();
    devices.iter().map(|device| format!("dev == {device}")).collect::<Vec<_>>().join(" || ")
}

/// The file that a sync names.
pub enum Synced {
    File(FileId),
    /// A descriptor of the process.
    Descriptor(i64),
    /// The end of a system call names none; that of its beginning holds.
    Ends,
}

impl Synced {
    /// From the fields of an event.
    pub fn of(format: &Format, data: &[u8]) -> Synced {
        let number = |name| format.number(data, name);
        match (number("dev"), number("ino"), number("fd")) {
            (Some(device), Some(inode), _) => Synced::File(FileId { device: device as u32, inode: inode as u64 }),
            (_, _, Some(descriptor)) => Synced::Descriptor(descriptor),
            _ => Synced::Ends,
        }
    }
}

/// Databases by the threads that work on them.
#[derive(Default)]
pub struct Syncs {
    /// The database whose RESERVED lock a thread has. A rollback journal is often gone before its inode can be read.
    reserved: HashMap<u32, usize>,
    /// The database of a thread's sync that has not ended.
    begun: HashMap<u32, usize>,
}

impl Syncs {
    /// A thread has taken the RESERVED lock of a database, or released it.
    pub fn reserves(&mut self, tid: u32, database: usize, is_taken: bool) {
        if is_taken {
            if self.reserved.len() >= THREADS_MAX {
                self.reserved.clear();
            }
            self.reserved.insert(tid, database);
        } else if self.reserved.get(&tid) == Some(&database) {
            self.reserved.remove(&tid);
        }
    }

    /// The database that a sync belongs to; `None` if it is of another file.
    pub fn database(&mut self, databases: &[Database], pid: u32, tid: u32, synced: &Synced) -> Option<usize> {
        let id = match synced {
            Synced::File(id) => Some(*id),
            Synced::Descriptor(fd) => FileId::at(&PathBuf::from(format!("/proc/{pid}/fd/{fd}"))),
            Synced::Ends => return self.begun.remove(&tid),
        };
        let of = |is_its: &dyn Fn(&Database, FileId) -> bool| {
            databases.iter().position(|database| id.is_some_and(|id| is_its(database, id)))
        };
        // The number of a journal that was removed is soon one of another database's.
        let found = of(&|database, id| database.id == id)
            .or_else(|| of(&|database, id| database.has_file(id, "-wal")))
            .or_else(|| self.reserved.get(&tid).copied())
            .or_else(|| of(&|database, id| database.has_file(id, "-journal")));
        if let (Some(database), Synced::Descriptor(_)) = (found, synced) {
            if self.begun.len() >= THREADS_MAX {
                self.begun.clear();
            }
            self.begun.insert(tid, database);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_sync_belongs_to_the_database_of_its_file_or_to_the_one_that_its_thread_writes() {
        let dir = std::env::temp_dir().join(format!("contend-sync-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("made");
        for name in ["a.db", "b.db", "b.db-wal", "b.db-journal", "other"] {
            fs::write(dir.join(name), "").expect("written");
        }
        let databases = ["a.db", "b.db"].map(|name| Database::open(&dir.join(name)).expect("a database"));
        let mut syncs = Syncs::default();
        let id = |name: &str| FileId::at(&dir.join(name)).expect("there");
        let of = |syncs: &mut Syncs, name: &str| syncs.database(&databases, 7, 8, &Synced::File(id(name)));
        let found = ["a.db", "b.db", "b.db-wal", "b.db-journal", "other"].map(|name| of(&mut syncs, name));
        assert_eq!(found, [Some(0), Some(1), Some(1), Some(1), None]);
        // A journal that is gone by now, or whose number is one of another database's.
        syncs.reserves(8, 0, true);
        assert_eq!(["other", "b.db-journal", "b.db-wal"].map(|name| of(&mut syncs, name)), [Some(0), Some(0), Some(1)]);
        syncs.reserves(8, 1, true);
        assert_eq!(of(&mut syncs, "other"), Some(1));
        syncs.reserves(8, 0, false);
        assert_eq!(of(&mut syncs, "other"), Some(1), "another database was released");
        syncs.reserves(8, 1, false);
        assert_eq!(of(&mut syncs, "other"), None);
        let own = fs::File::open(dir.join("b.db-wal")).expect("open");
        let fd = i64::from(std::os::fd::AsRawFd::as_raw_fd(&own));
        let pid = std::process::id();
        assert_eq!(syncs.database(&databases, pid, 8, &Synced::Descriptor(fd)), Some(1));
        assert_eq!(syncs.database(&databases, pid, 8, &Synced::Ends), Some(1), "the end of the same call");
        assert_eq!(syncs.database(&databases, pid, 8, &Synced::Ends), None);
        fs::remove_dir_all(&dir).expect("removed");
    }
}
