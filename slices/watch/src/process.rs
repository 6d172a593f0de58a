//! What /proc knows of the processes that use a database. They are only read: nothing is attached to them.

use crate::target::FileId;
use procfs::process::{FDTarget, Process};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Threads that are remembered.
const THREADS_MAX: usize = 100_000;

/// A process that uses a watched database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Name of the program, such as `python3`.
    pub program: String,
    /// Command line, cut to one short line.
    pub command: String,
}

/// Processes by number. A name is kept after its process has ended.
#[derive(Default)]
pub struct Processes {
    known: HashMap<u32, Named>,
    /// Process of a thread.
    of_thread: HashMap<u32, u32>,
}

impl Processes {
    /// The process that a thread belongs to. `None` if it has ended before it was ever seen.
    pub fn of_thread(&mut self, tid: u32) -> Option<u32> {
        if let Some(&pid) = self.of_thread.get(&tid) {
            return Some(pid);
        }
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        self.of_thread.insert(tid, pid);
        Some(pid)
    }

    /// Notes that a new thread belongs to a process.
    pub fn belongs(&mut self, tid: u32, pid: u32) {
        if self.of_thread.len() >= THREADS_MAX {
            // Those that are still there are looked up again.
            self.of_thread.clear();
        }
        self.of_thread.insert(tid, pid);
    }

    /// Notes that a thread belongs to a process, and reads the process's name if it is new; whether it is.
    pub fn note(&mut self, pid: u32, tid: u32) -> bool {
        self.of_thread.insert(tid, pid);
        if self.known.contains_key(&pid) {
            return false;
        }
        self.known.insert(pid, name(pid));
        true
    }

    pub fn is_known(&self, pid: u32) -> bool {
        self.known.contains_key(&pid)
    }

    /// All processes that have been noted.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Named)> {
        self.known.iter().map(|(&pid, named)| (pid, named))
    }
}

fn name(pid: u32) -> Named {
    /// Longest command line that is shown.
    const COMMAND_CHARS: usize = 120;
    let process = Process::new(pid as i32).ok();
    let program = process.as_ref().and_then(|process| Some(process.stat().ok()?.comm)).unwrap_or_default();
    let words = process.as_ref().and_then(|process| process.cmdline().ok()).unwrap_or_default();
    let command: String = words.join(" ").chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Named {
        program: if program.is_empty() { "ended".to_string() } else { program },
        command: command.chars().take(COMMAND_CHARS).collect(),
    }
}

/// Processes that have one of these files open, as far as this user may look.
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

/// The regular files that a process has open.
fn files_of(process: &Process) -> Vec<(PathBuf, FileId)> {
    let targets = process.fd().into_iter().flatten().flatten();
    let paths = targets.filter_map(|fd| match fd.target {
        FDTarget::Path(path) => Some((fd.fd, path)),
        _ => None,
    });
    paths
        .filter_map(|(fd, path)| {
            // Through /proc, so that a file in another mount namespace is the right one.
            let id = FileId::at(&PathBuf::from(format!("/proc/{}/fd/{fd}", process.pid())))?;
            Some((path, id))
        })
        .collect()
}

/// The SQLite databases that a process has open: those next to which SQLite keeps its files, or that begin as one does.
pub fn databases_of(pid: u32) -> Option<Vec<PathBuf>> {
    let process = Process::new(pid as i32).ok()?;
    process.fd().ok()?;
    let mut paths: Vec<PathBuf> = files_of(&process)
        .into_iter()
        .map(|(path, _)| path)
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

/// A program or library that a process has mapped to execute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mapped {
    /// As the process names it.
    pub path: PathBuf,
    /// As this process reaches it, also across mount namespaces.
    pub reached: PathBuf,
}

/// What a process executes. Empty if this user may not look, or the process has ended.
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
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let reached = |path: &PathBuf| root.join(path.strip_prefix("/").unwrap_or(path));
    paths.iter().map(|path| Mapped { path: path.clone(), reached: reached(path) }).collect()
}

/// Bytes of a process's memory. `None` if they are not there or this user may not look.
pub fn memory(pid: u32, address: u64, bytes: usize) -> Option<Vec<u8>> {
    let file = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut buffer = vec![0; bytes];
    file.read_exact_at(&mut buffer, address).ok()?;
    Some(buffer)
}

/// Whether a process is there.
pub fn is_alive(pid: u32) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}
