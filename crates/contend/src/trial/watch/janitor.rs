//! Cleans up after a tool that was killed: a small process in its own session. The tool sends it a line for everything
//! that exists; when its input ends without `done`, the janitor kills and removes what still exists.
//!
//! | exists | no more | what it is |
//! |---|---|---|
//! | `group N` | `gone N` | a process group |
//! | `program N` | `over N` | a process group whose first process gets a signal to end before all are killed |
//! | `server N SIGNAL` | `stopped N` | a server, which ends at once on that signal |
//! | `mount PATH` | `unmounted PATH` | a mounted file system |
//! | `dir PATH` | `done PATH` | a directory or file |
//!
//! A path is written as its bytes in hexadecimal: it may contain the end of a line, or be no UTF-8.

use crate::engine::server::Signal as ServerSignal;
use crate::registry::Registry;
use crate::trial::itself;
use crate::trial::secret::keep_from;
use crate::trial::watch::killing::number;
use crate::trial::watch::orphans;
use crate::units::hex;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, setsid};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, PipeWriter, Write, pipe};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Functions of slices that unmount what they mounted.
pub static UNMOUNT: Registry<fn(&Path)> = Registry::empty();

/// The word of the command line that starts the janitor.
pub const VERB: &str = "janitor";

/// What every pipe holds without a reader; most hold 64 KiB.
const PIPE_BYTES: usize = 4_096;

/// How often a janitor that died is replaced.
const REPLACED_MAX: u32 = 5;

/// The tool's side.
pub struct Janitor {
    told: Arc<Mutex<Told>>,
    watch: Option<JoinHandle<()>>,
}

/// Lines sent to the janitor, and the pipe to it.
struct Told {
    stdin: Option<PipeWriter>,
    /// Lines about what exists, by the thing that they name.
    exists: BTreeMap<String, String>,
    /// Lock that janitors hold, too: until the last one has cleaned up.
    lock: Option<File>,
    /// Whether the tool is ending, so that the janitor may end too.
    over: bool,
}

/// Starts a janitor and sends it what exists, before it begins if the lines fit into the pipe: the tool may be killed at
/// any time.
fn process(program: &Path, exists: &BTreeMap<String, String>, lock: Option<&File>) -> Result<(Child, PipeWriter)> {
    let lines: String = exists.values().map(|line| format!("{line}\n")).collect();
    let (before, after) = if lines.len() <= PIPE_BYTES { (lines.as_str(), "") } else { ("", lines.as_str()) };
    let (reader, mut writer) = pipe().context("cannot make a pipe to the janitor process")?;
    let _ = writer.write_all(before.as_bytes());
    let mut command = itself::command(program);
    let stdout = lock.and_then(|lock| lock.try_clone().ok()).map_or_else(Stdio::null, Stdio::from);
    keep_from(&mut command).arg(VERB).stdin(reader).stdout(stdout).stderr(Stdio::null());
    let child = orphans::spawn(&mut command).context("cannot start the janitor process")?;
    let _ = writer.write_all(after.as_bytes());
    Ok((child, writer))
}

/// Waits for the janitor. If it ends before the tool does, starts another one and sends it all that exists.
fn watch(mut child: Child, program: &Path, told: &Mutex<Told>) {
    for _ in 0..REPLACED_MAX {
        let _ = child.wait();
        let mut told = told.lock().expect("no panic while held");
        if told.over {
            return;
        }
        let Ok((next, stdin)) = process(program, &told.exists, told.lock.as_ref()) else { return };
        (told.stdin, child) = (Some(stdin), next);
    }
    let _ = child.wait();
}

impl Janitor {
    /// Starts a janitor for this program, which must be the tool.
    pub fn start() -> Result<Self> {
        Self::of(itself::path()?)
    }

    /// Starts a janitor; `tool` is the tool's binary.
    pub fn of(tool: PathBuf) -> Result<Self> {
        Self::holding(tool, None)
    }

    /// The same, holding a lock until what is left has been removed.
    pub fn holding(tool: PathBuf, lock: Option<File>) -> Result<Self> {
        let exists = BTreeMap::new();
        let (child, stdin) = process(&tool, &exists, lock.as_ref())?;
        let told = Told { stdin: Some(stdin), exists, lock, over: false };
        let told = Arc::new(Mutex::new(told));
        let shared = Arc::clone(&told);
        let watch = std::thread::Builder::new().name("janitor".to_string()).spawn(move || watch(child, &tool, &shared));
        Ok(Self { told, watch: Some(watch.context("cannot watch the janitor process")?) })
    }

    pub fn group_lives(&self, group: u32) {
        self.tell(&format!("group {group}"));
    }

    pub fn group_gone(&self, group: u32) {
        self.tell(&format!("gone {group}"));
    }

    /// Registers a program that cleans up when it gets a signal to end.
    pub fn program_lives(&self, group: u32) {
        self.tell(&format!("program {group}"));
    }

    pub fn program_gone(&self, group: u32) {
        self.tell(&format!("over {group}"));
    }

    /// Registers a server, which cleans up on its signal but not when killed.
    pub fn server_lives(&self, pid: u32, abort: ServerSignal) {
        self.tell(&format!("server {pid} {}", number(abort).as_raw()));
    }

    pub fn server_gone(&self, pid: u32) {
        self.tell(&format!("stopped {pid}"));
    }

    pub fn dir_exists(&self, dir: &Path) {
        self.tell(&format!("dir {}", written(dir)));
    }

    pub fn dir_gone(&self, dir: &Path) {
        self.tell(&format!("done {}", written(dir)));
    }

    /// Registers a mount, which must not outlive the tool.
    pub fn mounted(&self, at: &Path) {
        self.tell(&format!("mount {}", written(at)));
    }

    pub fn unmounted(&self, at: &Path) {
        self.tell(&format!("unmounted {}", written(at)));
    }

    fn tell(&self, line: &str) {
        let mut told = self.told.lock().expect("no panic while held");
        let (word, what) = line.split_once(' ').unwrap_or((line, ""));
        match ENDS.iter().find(|(end, _)| *end == word) {
            Some((_, begin)) => drop(told.exists.remove(&format!("{begin} {what}"))),
            // A server's signal follows its number.
            None if word == "server" => {
                let pid = what.split(' ').next().unwrap_or_default();
                told.exists.insert(format!("server {pid}"), line.to_string());
            }
            None => drop(told.exists.insert(line.to_string(), line.to_string())),
        }
        if let Some(stdin) = told.stdin.as_mut() {
            // If the janitor is gone, its replacement gets all lines.
            let _ = writeln!(stdin, "{line}");
        }
    }
}

/// The word for the end of something, and the word for its beginning.
const ENDS: [(&str, &str); 5] =
    [("gone", "group"), ("over", "program"), ("stopped", "server"), ("unmounted", "mount"), ("done", "dir")];

impl Drop for Janitor {
    fn drop(&mut self) {
        {
            let mut told = self.told.lock().expect("no panic while held");
            told.over = true;
            told.stdin = None;
        }
        if let Some(watch) = self.watch.take() {
            let _ = watch.join();
        }
    }
}

/// The janitor's side: reads until the input ends, then cleans up.
pub fn serve() {
    // The janitor must survive Ctrl-C, which goes to the tool.
    let _ = setsid();
    let mut left = Left::default();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if let Some((word, rest)) = line.split_once(' ') {
            left.hear(word, rest);
        }
    }
    left.end_processes();
    left.remove();
}

/// A path in a line.
fn written(path: &Path) -> String {
    hex(path.as_os_str().as_bytes())
}

/// The path in a line; `None` if it is none.
fn path(written: &str) -> Option<PathBuf> {
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let bytes = written.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// What exists according to the tool.
#[derive(Default)]
struct Left {
    groups: BTreeSet<i32>,
    programs: BTreeSet<i32>,
    /// Servers, with the signal on which each ends at once.
    servers: BTreeMap<i32, i32>,
    mounts: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
}

impl Left {
    fn hear(&mut self, word: &str, rest: &str) {
        match (word, rest.parse::<i32>()) {
            ("group", Ok(group)) => drop(self.groups.insert(group)),
            ("gone", Ok(group)) => drop(self.groups.remove(&group)),
            ("program", Ok(group)) => drop(self.programs.insert(group)),
            ("over", Ok(group)) => drop(self.programs.remove(&group)),
            ("server", _) => {
                let mut numbers = rest.split(' ').filter_map(|n| n.parse::<i32>().ok());
                if let (Some(pid), Some(signal)) = (numbers.next(), numbers.next()) {
                    self.servers.insert(pid, signal);
                }
            }
            ("stopped", Ok(pid)) => drop(self.servers.remove(&pid)),
            ("mount", _) => self.mounts.extend(path(rest)),
            ("unmounted", _) => drop(path(rest).map(|at| self.mounts.remove(&at))),
            ("dir", _) => self.dirs.extend(path(rest)),
            ("done", _) => drop(path(rest).map(|dir| self.dirs.remove(&dir))),
            _ => {}
        }
    }

    /// Kills groups. Programs and servers get a signal to end and are killed if they are late.
    fn end_processes(&self) {
        kill_groups(&self.groups);
        for pid in self.programs.iter().copied().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        for (pid, signal) in &self.servers {
            if let (Some(pid), Some(signal)) = (Pid::from_raw(*pid), Signal::from_named_raw(*signal)) {
                let _ = kill_process(pid, signal);
            }
        }
        let deadline = Instant::now() + SERVER_TIME;
        for pid in self.servers.keys().chain(&self.programs).copied() {
            while lives(pid) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            if let Some(pid) = Pid::from_raw(pid).filter(|_| lives(pid)) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        kill_groups(&self.programs);
    }

    /// Unmounts first: files below a mount must not be removed through it.
    fn remove(self) {
        for mount in self.mounts {
            UNMOUNT.all().iter().for_each(|unmount| unmount(&mount));
        }
        for path in self.dirs {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

fn kill_groups(groups: &BTreeSet<i32>) {
    for group in groups.iter().copied().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Longest time for servers to end.
const SERVER_TIME: Duration = Duration::from_secs(5);

/// Whether a process exists and is not a zombie; its parent may be gone.
fn lives(pid: i32) -> bool {
    let stat = procfs::process::Process::new(pid).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.state != 'Z')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_the_end_of_a_line_is_one_path() {
        let paths = [Path::new("/a\nb/data").to_path_buf(), PathBuf::from(OsString::from_vec(vec![b'/', 0xff, b' ']))];
        let mut left = Left::default();
        for at in &paths {
            assert!(!written(at).contains(['\n', ' ']));
            left.hear("dir", &written(at));
        }
        assert!(left.dirs.iter().eq(&paths), "{:?}", left.dirs);
        left.hear("done", &written(&paths[0]));
        assert_eq!(left.dirs.len(), 1);
        left.hear("dir", "no path");
        assert_eq!(left.dirs.len(), 1);
    }
}
