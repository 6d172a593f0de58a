//! Processes that use a database, from /proc. They are only read; nothing is attached to them.

use crate::instance;
use crate::named::{is_database, path_in_uri};
use crate::script::script;
use crate::target::FileId;
use crate::words::one_line;
use procfs::process::{FDTarget, Process, Stat, StatFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Name of a process that ended before its own could be read.
pub const UNREAD: &str = "ended";
/// Longest name, and longest command line, that is kept.
const NAME_CHARS: usize = 120;
/// Most threads that are stored.
const THREADS_MAX: usize = 100_000;
/// Most ended processes whose names are kept.
const ENDED_MAX: usize = 10_000;

/// A process that uses a watched database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Name of the program, such as `sqlite3`; of an interpreter with its script, such as `python3 import.py`.
    pub program: String,
    /// Command line, shortened to one line.
    pub command: String,
    /// Whether it may have inherited open connections: it has executed no program since its fork, or that is unknown.
    pub may_be_forked: bool,
}

/// Processes by number. A name is kept after the end of its process; of very many ended ones, the latest.
#[derive(Default)]
pub struct Processes {
    known: HashMap<u32, Named>,
    /// Processes that have ended; their numbers may be reused.
    ended: HashSet<u32>,
    /// The same, oldest first; also processes whose number has been reused since.
    in_order: VecDeque<u32>,
    /// Processes that had ended at the last look.
    just_ended: Vec<u32>,
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

    /// Finds processes that have ended. Returns those that the look before has found: their last events have been read.
    pub fn look_for_ended(&mut self) -> Vec<u32> {
        let is_new = |pid: &&u32| !self.ended.contains(pid) && !is_alive(**pid);
        let new: Vec<u32> = self.known.keys().filter(is_new).copied().collect();
        self.ended.extend(&new);
        self.in_order.extend(&new);
        while self.in_order.len() > ENDED_MAX {
            if let Some(pid) = self.in_order.pop_front().filter(|pid| self.ended.remove(pid)) {
                self.known.remove(&pid);
            }
        }
        let before = std::mem::replace(&mut self.just_ended, new);
        before.into_iter().filter(|pid| self.ended.contains(pid)).collect()
    }

    /// Name of a process's program.
    pub fn name(&self, pid: u32) -> Option<String> {
        self.known.get(&pid).map(|named| named.program.clone())
    }

    /// Whether a process may have inherited open connections from its parent; see [`Named::may_be_forked`].
    pub fn may_be_forked(&self, pid: u32) -> bool {
        self.known.get(&pid).is_none_or(|named| named.may_be_forked)
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
    let stat = process.as_ref().and_then(|process| process.stat().ok());
    let may_be_forked = stat.as_ref().is_none_or(is_forked);
    let program = stat.map(|stat| stat.comm).or_else(|| instance::traced_name(pid)).unwrap_or_default();
    let words = process.as_ref().and_then(|process| process.cmdline().ok()).unwrap_or_default();
    let script = script(&words, &|word| fs::metadata(in_view_of(pid, word)).is_ok_and(|file| file.is_file()));
    // A script that was executed itself gives its name, cut off, to the process of its interpreter.
    let interpreter = || words[0].rsplit('/').next().unwrap_or_default().to_string();
    let is_named_so = script.as_ref().is_some_and(|script| script.starts_with(&program));
    let program = if is_named_so { interpreter() } else { program };
    let program = [program].into_iter().chain(script).collect::<Vec<_>>().join(" ");
    Named {
        program: if program.is_empty() { UNREAD.to_string() } else { one_line(&program, NAME_CHARS) },
        command: one_line(&words.join(" "), NAME_CHARS),
        may_be_forked,
    }
}

/// Whether a process has executed no program since it was forked.
fn is_forked(stat: &Stat) -> bool {
    StatFlags::from_bits_truncate(stat.flags).contains(StatFlags::PF_FORKNOEXEC)
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
    let parent = |pid: u32| {
        let stat = Process::new(pid as i32).ok()?.stat().ok()?;
        is_forked(&stat).then_some(stat.ppid as u32)
    };
    open.iter().filter_map(|pid| Some((*pid, parent(*pid)?))).filter(|(_, parent)| open.contains(parent)).collect()
}

/// Whether a process has one of these files open. `None` if it has ended, or this user may not see that.
pub fn has_open(pid: u32, files: &[FileId]) -> Option<bool> {
    Some(descriptors(pid, files)? > 0)
}

/// Number of descriptors by which a process has these files open. `None` as above.
pub fn descriptors(pid: u32, files: &[FileId]) -> Option<usize> {
    let process = Process::new(pid as i32).ok()?;
    process.fd().ok()?;
    Some(files_of(&process).iter().filter(|(_, id)| files.contains(id)).count())
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
        .filter(|path| is_database(path))
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
    /// Path as seen by contend: the same one, or through /proc for another mount namespace and for a deleted file.
    pub reached: PathBuf,
}

/// Executable mappings of a process. Empty if this user may not see them, or the process has ended.
pub fn mapped(pid: u32) -> Vec<Mapped> {
    let Some(maps) = Process::new(pid as i32).ok().and_then(|process| process.maps().ok()) else { return vec![] };
    let executable = maps.into_iter().filter(|map| map.perms.contains(procfs::process::MMPermissions::EXECUTE));
    let mut files: Vec<(PathBuf, (u64, u64))> = executable
        .filter_map(|map| match map.pathname {
            procfs::process::MMapPath::Path(path) => Some((path, map.address)),
            _ => None,
        })
        .collect();
    files.sort();
    files.dedup_by(|(path, _), (before, _)| path == before);
    let mapped = |(path, (from, to)): (PathBuf, (u64, u64))| {
        // Only the mapping still leads to a file that has been deleted or replaced.
        let reached = match deleted(&path) {
            Some(_) => PathBuf::from(format!("/proc/{pid}/map_files/{from:x}-{to:x}")),
            None => reached(pid, &path),
        };
        Mapped { path, reached }
    };
    files.into_iter().map(mapped).collect()
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

/// The file that a program names in a call: by its root or working directory, or in a URI such as
/// `file:app.db?mode=rw`. `None` if the file does not exist or the process has ended.
pub fn named_file(pid: u32, path: &str) -> Option<FileId> {
    let path = path.strip_prefix("file:").map_or(path, path_in_uri);
    FileId::at(&in_view_of(pid, path))
}

/// A path of a process, below its root or working directory.
fn in_view_of(pid: u32, path: &str) -> PathBuf {
    let base = if path.starts_with('/') { "root" } else { "cwd" };
    Path::new("/proc").join(pid.to_string()).join(base).join(path.trim_start_matches('/'))
}

/// The path of a mapped file that has been deleted or replaced since. `None` for one that exists, and for memory.
pub fn deleted(path: &Path) -> Option<PathBuf> {
    /// What the kernel adds to its path.
    const DELETED: &str = " (deleted)";
    let path = path.to_str()?.strip_suffix(DELETED)?;
    (!path.starts_with("/memfd:") && !path.starts_with("/dev/")).then(|| PathBuf::from(path))
}

/// Time since the machine started, in nanoseconds. Unlike CLOCK_MONOTONIC it includes the time of a suspended machine,
/// as the start times of processes do.
pub fn boot_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether a process has started after this time of [`boot_ns`]; also true if it has ended.
pub fn is_younger(pid: u32, at_boot_ns: u64) -> bool {
    let started = Process::new(pid as i32).ok().and_then(|process| process.stat().ok()).map(|stat| stat.starttime);
    // A tick is 10 ms.
    let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
    started.is_none_or(|ticks| ticks.saturating_mul(tick_ns) > at_boot_ns)
}

/// Whether the process exists and has a thread that has not ended. Until its parent has read its result, an ended process
/// stays as a zombie.
pub fn is_alive(pid: u32) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let has_ended = |tid: &u32| task_has_ended(&process.join("task").join(tid.to_string()));
    match fs::read(process.join("statm")) {
        // Read first, because it is quick. The process has no memory left, or its first thread has ended before the others.
        Ok(sizes) if sizes.starts_with(b"0 ") => !threads(pid).iter().all(has_ended),
        Ok(_) => true,
        Err(_) => process.exists(),
    }
}

fn task_has_ended(task: &Path) -> bool {
    let stat = fs::read(task.join("stat")).unwrap_or_default();
    // The state follows the name, which may contain parentheses.
    let state = stat.rsplit(|byte| *byte == b')').next().and_then(|rest| rest.trim_ascii_start().first());
    matches!(state, Some(b'Z' | b'X' | b'x'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_in_a_call_is_that_of_a_file_by_the_directory_of_the_process() {
        let dir = std::env::temp_dir().join(format!("contend-process-{}", std::process::id()));
        for tenant in ["1", "2"] {
            fs::create_dir_all(dir.join(tenant)).expect("made");
            fs::write(dir.join(tenant).join("app.db"), "").expect("written");
        }
        let mut child = Command::new("sleep").arg("60").current_dir(dir.join("2")).spawn().expect("sleep");
        let id = |tenant: &str| FileId::at(&dir.join(tenant).join("app.db"));
        let own = format!("{}/1/app.db", dir.display());
        let named = |path: &str| named_file(child.id(), path);
        for path in ["app.db", "./app.db", "file:app.db?mode=rw", "../2/app.db"] {
            assert_eq!(named(path), id("2"), "{path}");
        }
        for path in ["../1/app.db", &own, &format!("file:{own}"), &format!("file://{own}#x")] {
            assert_eq!(named(path), id("1"), "{path}");
        }
        assert_eq!(named(":memory:"), None);
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert_eq!(named_file(child.id(), "app.db"), None, "its directory is unknown");
        fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn a_mapped_file_that_was_replaced_is_known_by_its_path() {
        let of = |path: &str| deleted(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(of("/usr/lib/libsqlite3.so.0 (deleted)").as_deref(), Some("/usr/lib/libsqlite3.so.0"));
        assert_eq!(
            [of("/usr/lib/libsqlite3.so.0"), of("/memfd:jit (deleted)"), of("/dev/zero (deleted)")],
            [const { None }; 3]
        );
    }

    /// With PYTHONUNBUFFERED the end of a line is a write of its own, which a closed pipe would refuse.
    fn wait_for_a_line(child: &mut std::process::Child) {
        let stdout = child.stdout.take().expect("piped");
        assert!(std::io::BufReader::new(stdout).read_line(&mut String::new()).expect("a line") > 0);
    }

    #[test]
    fn an_interpreter_is_named_with_its_script() {
        let dir = std::env::temp_dir().join(format!("contend-script-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("made");
        fs::write(dir.join("import.py"), "print(1, flush=True)\ninput()").expect("written");
        let mut child = Command::new("python3")
            .args(["import.py", "--password=secret"])
            .current_dir(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        // Before its first line, a launcher such as that of pyenv may still run.
        wait_for_a_line(&mut child);
        let named = name(child.id());
        child.kill().and_then(|()| child.wait()).expect("it ends");
        fs::remove_dir_all(&dir).expect("removed");
        assert!(named.program.starts_with("python") && named.program.ends_with(" import.py"), "{named:?}");
    }

    #[test]
    fn an_ended_process_is_returned_once_and_its_name_stays() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let mut processes = Processes::default();
        processes.note(child.id(), child.id());
        assert_eq!(processes.look_for_ended(), [0; 0]);
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert_eq!(processes.look_for_ended(), [0; 0], "its last events may not have been read");
        assert_eq!(processes.look_for_ended(), [child.id()]);
        assert_eq!(processes.look_for_ended(), [0; 0]);
        assert!(processes.name(child.id()).is_some());
    }

    /// A process that does something in Python, after its first line.
    fn python(code: &str) -> std::process::Child {
        let mut command = Command::new("python3");
        let mut child =
            command.args(["-c", code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3");
        wait_for_a_line(&mut child);
        child
    }

    fn within_10_s(is: impl Fn() -> bool) -> bool {
        (0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is()
        })
    }

    #[test]
    fn a_process_has_ended_before_its_parent_asks() {
        let mut child = python("print(1, flush=True); input()");
        let pid = child.id();
        assert!(is_alive(pid) && is_alive(std::process::id()));
        child.kill().expect("killed");
        assert!(within_10_s(|| !is_alive(pid)), "a zombie");
        assert!(Path::new("/proc").join(pid.to_string()).exists());
        child.wait().expect("it ends");
        assert!(!is_alive(pid));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_process_whose_first_thread_has_ended_is_alive() {
        // The system call ends the thread without what the language and its library would do at its end.
        let code = "import ctypes, threading, time\n\
            threading.Thread(target=time.sleep, args=(60,)).start()\n\
            print(1, flush=True)\n\
            ctypes.CDLL(None).syscall(60, 0)";
        let mut child = python(code);
        let pid = child.id();
        let has_ended = within_10_s(|| task_has_ended(&Path::new("/proc").join(pid.to_string())));
        let is_alive_then = is_alive(pid);
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert!(has_ended && is_alive_then && !is_alive(pid));
    }

    #[test]
    fn an_open_pipe_is_not_waited_for() {
        let dir = std::env::temp_dir().join(format!("contend-open-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("made");
        let (pipe, database) = (dir.join("pipe"), dir.join("app.db"));
        fs::write(&database, b"SQLite format 3\0 and more").expect("written");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        let code = format!(
            "import os\nopened = os.open('{}', os.O_RDONLY | os.O_NONBLOCK), open('{}')\nprint(1, flush=True); input()",
            pipe.display(),
            database.display()
        );
        let mut child = python(&code);
        let (pid, (send, found)) = (child.id(), std::sync::mpsc::channel());
        std::thread::spawn(move || send.send(databases_of(pid)));
        let found = found.recv_timeout(std::time::Duration::from_secs(10));
        child.kill().and_then(|()| child.wait()).expect("it ends");
        fs::remove_dir_all(&dir).expect("removed");
        assert_eq!(found.expect("it opens no pipe"), Some(vec![database]));
    }

    #[test]
    fn a_process_is_younger_than_its_start_and_not_than_now() {
        let started = Process::myself().and_then(|own| own.stat()).expect("readable").starttime;
        let started_ns = started * (1_000_000_000 / procfs::ticks_per_second());
        assert!(is_younger(std::process::id(), started_ns - 1) && !is_younger(std::process::id(), boot_ns()));
    }
}
