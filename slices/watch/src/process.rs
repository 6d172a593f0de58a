//! Processes that use a database, from /proc. They are only read; nothing is attached to them.

use crate::target::FileId;
use crate::words::one_line;
use procfs::process::{FDTarget, Process};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Longest name, and longest command line, that is kept.
const NAME_CHARS: usize = 120;
/// Most threads that are stored.
const THREADS_MAX: usize = 100_000;

/// A process that uses a watched database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Name of the program, such as `python3`.
    pub program: String,
    /// Command line, shortened to one line.
    pub command: String,
}

/// Processes by number. A name is kept after the end of its process.
#[derive(Default)]
pub struct Processes {
    known: HashMap<u32, Named>,
    /// Processes that have ended; their numbers may be reused.
    ended: HashSet<u32>,
    /// Process of each thread.
    of_thread: HashMap<u32, u32>,
    /// Names of threads; `None` if it is that of the process.
    thread_names: HashMap<u32, Option<String>>,
}

impl Processes {
    /// Process of a thread. `None` if the thread ended before it was seen.
    pub fn of_thread(&mut self, tid: u32) -> Option<u32> {
        if let Some(&pid) = self.of_thread.get(&tid) {
            return Some(pid);
        }
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        self.of_thread.insert(tid, pid);
        Some(pid)
    }

    /// Stores the process of a new thread.
    pub fn belongs(&mut self, tid: u32, pid: u32) {
        if self.of_thread.len() >= THREADS_MAX {
            // Threads that still exist are looked up again.
            self.of_thread.clear();
        }
        self.of_thread.insert(tid, pid);
        // Numbers are reused.
        self.thread_names.remove(&tid);
    }

    /// Stores the process of a thread, and reads the process's name if it is new. Returns whether it is new.
    pub fn note(&mut self, pid: u32, tid: u32) -> bool {
        self.of_thread.insert(tid, pid);
        if tid != pid && !self.thread_names.contains_key(&tid) {
            self.note_thread(pid, tid);
        }
        let is_again = self.ended.contains(&pid) && is_alive(pid);
        if self.known.contains_key(&pid) && !is_again {
            return false;
        }
        self.ended.remove(&pid);
        self.known.insert(pid, name(pid));
        true
    }

    /// Reads the name of a thread that takes a lock for the first time.
    fn note_thread(&mut self, pid: u32, tid: u32) {
        if self.thread_names.len() >= THREADS_MAX {
            self.thread_names.clear();
        }
        let comm = |path: String| fs::read_to_string(path).ok();
        let [of_thread, of_process] = [tid, pid].map(|task| comm(format!("/proc/{pid}/task/{task}/comm")));
        let name = of_thread.filter(|name| of_process.as_ref() != Some(name));
        self.thread_names.insert(tid, name.map(|name| one_line(&name, NAME_CHARS)));
    }

    /// Name of a thread, such as `worker-3`. `None` if it has that of its process.
    pub fn thread_name(&self, tid: u32) -> Option<&str> {
        self.thread_names.get(&tid)?.as_deref()
    }

    /// Removes the name of a process that executes another program. Returns whether it was known.
    pub fn forget(&mut self, pid: u32) -> bool {
        self.known.remove(&pid).is_some()
    }

    /// Finds processes that have ended.
    pub fn look_for_ended(&mut self) {
        self.ended.extend(self.known.keys().filter(|pid| !is_alive(**pid)));
    }

    pub fn is_known(&self, pid: u32) -> bool {
        self.known.contains_key(&pid)
    }

    /// All known processes.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Named)> {
        self.known.iter().map(|(&pid, named)| (pid, named))
    }
}

fn name(pid: u32) -> Named {
    let process = Process::new(pid as i32).ok();
    let program = process.as_ref().and_then(|process| Some(process.stat().ok()?.comm)).unwrap_or_default();
    let words = process.as_ref().and_then(|process| process.cmdline().ok()).unwrap_or_default();
    Named {
        program: if program.is_empty() { "ended".to_string() } else { one_line(&program, NAME_CHARS) },
        command: one_line(&words.join(" "), NAME_CHARS),
    }
}

/// Processes that have one of these files open, as far as this user may see.
pub fn that_have_open(files: &[FileId]) -> Vec<u32> {
    let mut found = vec![];
    let own = std::process::id() as i32;
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        if process.pid() != own && files_of(&process).iter().any(|(_, id)| files.contains(id)) {
            found.push(process.pid() as u32);
        }
    }
    found
}

/// Processes that have one of these files open whose parent has one open, too: forked, perhaps with an open connection.
/// Each with its parent.
pub fn forked_with(files: &[FileId]) -> Vec<(u32, u32)> {
    let open = that_have_open(files);
    let parent = |pid: u32| Some(Process::new(pid as i32).ok()?.stat().ok()?.ppid as u32);
    open.iter().filter_map(|pid| Some((*pid, parent(*pid)?))).filter(|(_, parent)| open.contains(parent)).collect()
}

/// Whether a process has one of these files open. `None` if it has ended, or this user may not see that.
pub fn has_open(pid: u32, files: &[FileId]) -> Option<bool> {
    let process = Process::new(pid as i32).ok()?;
    process.fd().ok()?;
    Some(files_of(&process).iter().any(|(_, id)| files.contains(id)))
}

/// Threads of a process. Empty if it has ended.
pub fn threads(pid: u32) -> BTreeSet<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Time for which each thread of a process has had a processor, in nanoseconds.
pub fn processor_ns(pid: u32) -> BTreeMap<u32, u64> {
    let of = |tid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    threads(pid).into_iter().filter_map(|tid| Some((tid, of(&tid)?))).collect()
}

/// The regular files that a process has open.
fn files_of(process: &Process) -> Vec<(PathBuf, FileId)> {
    let targets = process.fd().into_iter().flatten().flatten();
    let paths = targets.filter_map(|fd| match fd.target {
        FDTarget::Path(path) => Some((fd.fd, path)),
        _ => None,
    });
    paths
        .filter_map(|(fd, path)| {
            // Through /proc, so that a path in another mount namespace leads to the right file.
            let id = FileId::at(&PathBuf::from(format!("/proc/{}/fd/{fd}", process.pid())))?;
            Some((path, id))
        })
        .collect()
}

/// SQLite databases that a process has open: files with SQLite's other files next to them, or with its magic bytes.
pub fn databases_of(pid: u32) -> Option<Vec<PathBuf>> {
    let process = Process::new(pid as i32).ok()?;
    process.fd().ok()?;
    let mut paths: Vec<PathBuf> = files_of(&process)
        .into_iter()
        .map(|(path, _)| reached(pid, &path))
        .filter(|path| !["-wal", "-shm", "-journal"].iter().any(|end| path.to_string_lossy().ends_with(end)))
        .filter(|path| {
            let mut head = [0u8; 16];
            fs::File::open(path)
                .is_ok_and(|file| file.read_exact_at(&mut head, 0).is_ok() && &head == b"SQLite format 3\0")
        })
        .collect();
    paths.sort();
    paths.dedup();
    Some(paths)
}

/// A program or library that a process has mapped as executable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mapped {
    /// Path as seen by the process.
    pub path: PathBuf,
    /// Path as seen by contend: the same one, or through /proc for another mount namespace.
    pub reached: PathBuf,
}

/// Executable mappings of a process. Empty if this user may not see them, or the process has ended.
pub fn mapped(pid: u32) -> Vec<Mapped> {
    let Some(maps) = Process::new(pid as i32).ok().and_then(|process| process.maps().ok()) else { return vec![] };
    let mut paths: Vec<PathBuf> = maps
        .into_iter()
        .filter(|map| map.perms.contains(procfs::process::MMPermissions::EXECUTE))
        .filter_map(|map| match map.pathname {
            procfs::process::MMapPath::Path(path) => Some(path),
            _ => None,
        })
        .collect();
    paths.sort();
    paths.dedup();
    paths.iter().map(|path| Mapped { path: path.clone(), reached: reached(pid, path) }).collect()
}

/// Path by which contend reaches a file of a process: through /proc if it has another root or mount namespace.
fn reached(pid: u32, path: &Path) -> PathBuf {
    let through = Path::new("/proc").join(pid.to_string()).join("root").join(path.strip_prefix("/").unwrap_or(path));
    // A direct path stays valid after the process ends.
    if FileId::at(path).is_some_and(|id| FileId::at(&through) == Some(id)) { path.to_path_buf() } else { through }
}

/// Bytes of a process's memory. `None` if they do not exist or this user may not read them.
pub fn memory(pid: u32, address: u64, bytes: usize) -> Option<Vec<u8>> {
    let file = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut buffer = vec![0; bytes];
    file.read_exact_at(&mut buffer, address).ok()?;
    Some(buffer)
}

/// Whether a process has started after this time of CLOCK_MONOTONIC; also true if it has ended.
pub fn is_younger(pid: u32, at_ns: u64) -> bool {
    let started = Process::new(pid as i32).ok().and_then(|process| process.stat().ok()).map(|stat| stat.starttime);
    // A tick is 10 ms.
    started.is_none_or(|ticks| ticks.saturating_mul(1_000_000_000 / procfs::ticks_per_second().max(1)) > at_ns)
}

/// Whether the process exists.
pub fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}
