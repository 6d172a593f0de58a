//! Processes that lock other files. The kernel collects the fields of a lock call before it looks at the filter, so a
//! program on another database would pay for that with each of its lock calls. By the number of the thread the kernel
//! rejects an event before. A process is excluded only while it has no watched database open, and never again once it
//! had one.

use crate::process::{has_open, threads};
use crate::target::{Database, FileId};
use procfs::{FromBufRead, LockType};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::os::fd::OwnedFd;

/// Interval between looks for such processes.
const LOOK_NS: u64 = 1_000_000_000;
/// Most processes that are excluded: each open of a database looks at all of them.
const PROCESSES_MAX: usize = 64;

/// Excluded processes.
#[derive(Default)]
pub struct Others {
    /// Threads of each excluded process.
    excluded: BTreeMap<u32, BTreeSet<u32>>,
    /// Excluded processes that opened a watched database.
    users: HashSet<u32>,
    /// Reports each open of a watched database. Without it, no process is excluded.
    opens: Option<OwnedFd>,
    looked_ns: u64,
}

/// What has changed.
pub struct Changed {
    /// All threads to exclude.
    pub threads: Vec<u32>,
    /// Processes that were excluded until now and have a watched database open.
    pub users: Vec<u32>,
}

impl Others {
    pub fn new(databases: &[Database]) -> Others {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let is_watched = |fd: &OwnedFd| {
            databases.iter().all(|database| inotify::add_watch(fd, &database.path, WatchFlags::OPEN).is_ok())
        };
        Others { opens: fd.filter(is_watched), ..Others::default() }
    }

    /// Removes ended processes, whose numbers may be reused.
    pub fn forget(&mut self, ended: &HashSet<u32>) {
        self.users.retain(|pid| !ended.contains(pid));
    }

    /// Looks once a second, and when a watched database has been opened; `None` if nothing has changed. `is_user` says
    /// of a process whether it is known to use one.
    pub fn look(&mut self, now_ns: u64, databases: &[Database], is_user: impl Fn(u32) -> bool) -> Option<Changed> {
        let was_opened = was_read(self.opens.as_ref()?) && !self.excluded.is_empty();
        if !was_opened && now_ns < self.looked_ns + LOOK_NS {
            return None;
        }
        let mut candidates: BTreeSet<u32> = self.excluded.keys().copied().collect();
        if now_ns >= self.looked_ns + LOOK_NS {
            self.looked_ns = now_ns;
            candidates.extend(that_lock());
        }
        let files: Vec<FileId> =
            databases.iter().flat_map(|database| [Some(database.id), database.shm]).flatten().collect();
        let (mut excluded, mut users) = (BTreeMap::new(), vec![]);
        for pid in candidates.into_iter().filter(|pid| !self.users.contains(pid) && !is_user(*pid)) {
            match has_open(pid, &files) {
                Some(true) => users.push(pid),
                Some(false) if excluded.len() < PROCESSES_MAX => drop(excluded.insert(pid, threads(pid))),
                Some(false) | None => {}
            }
        }
        self.users.extend(&users);
        users.retain(|pid| self.excluded.contains_key(pid));
        let before = std::mem::replace(&mut self.excluded, excluded);
        let threads = || self.excluded.values().flatten().copied().collect();
        (before != self.excluded).then(|| Changed { threads: threads(), users })
    }
}

/// Whether there was something to read.
fn was_read(fd: &OwnedFd) -> bool {
    let mut buffer = [0u8; 4096];
    let mut was = false;
    while rustix::io::read(fd, &mut buffer).is_ok_and(|bytes| bytes > 0) {
        was = true;
    }
    was
}

/// Processes that hold a lock of bytes of a file.
fn that_lock() -> BTreeSet<u32> {
    let file = File::open("/proc/locks").map(BufReader::new);
    let locks = file.ok().and_then(|file| procfs::Locks::from_buf_read(file).ok()).map_or(vec![], |locks| locks.0);
    let posix = locks.iter().filter(|lock| matches!(lock.lock_type, LockType::Posix));
    let own = std::process::id();
    posix.filter_map(|lock| u32::try_from(lock.pid?).ok()).filter(|pid| *pid > 0 && *pid != own).collect()
}
