//! Cleans up after a tool that was killed. A small process of contend's own, in a session of its own,
//! is told what exists; when its input ends without a word that all is well, it kills and removes that.
//!
//! Lines: `group N` (a process group lives), `gone N`, `dir PATH` (a directory exists), `done PATH`.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group, setsid};
use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// The word of the command line that starts the janitor.
pub const VERB: &str = "janitor";

/// The tool's end.
pub struct Janitor {
    child: Child,
    stdin: Mutex<Option<ChildStdin>>,
}

impl Janitor {
    pub fn start() -> Result<Self> {
        let program = std::env::current_exe().context("cannot find the path of this program")?;
        let mut child = Command::new(program)
            .arg(VERB)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the janitor process")?;
        let stdin = child.stdin.take();
        Ok(Self { child, stdin: Mutex::new(stdin) })
    }

    pub fn group_lives(&self, group: u32) {
        self.tell(&format!("group {group}"));
    }

    pub fn group_gone(&self, group: u32) {
        self.tell(&format!("gone {group}"));
    }

    pub fn dir_exists(&self, dir: &Path) {
        self.tell(&format!("dir {}", dir.display()));
    }

    pub fn dir_gone(&self, dir: &Path) {
        self.tell(&format!("done {}", dir.display()));
    }

    fn tell(&self, line: &str) {
        if let Some(stdin) = self.stdin.lock().expect("no panic while held").as_mut() {
            // A janitor that is gone cannot help; the tool still cleans up after itself.
            let _ = writeln!(stdin, "{line}");
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        *self.stdin.lock().expect("no panic while held") = None;
        let _ = self.child.wait();
    }
}

/// The janitor's own end: reads until the input ends, then cleans up what is left.
pub fn serve() {
    // A Ctrl-C at the terminal is for the tool; the janitor must outlive it.
    let _ = setsid();
    let (mut groups, mut dirs) = (BTreeSet::new(), BTreeSet::new());
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Some((word, rest)) = line.split_once(' ') else { continue };
        match (word, rest.parse::<i32>()) {
            ("group", Ok(group)) => {
                groups.insert(group);
            }
            ("gone", Ok(group)) => {
                groups.remove(&group);
            }
            ("dir", _) => {
                dirs.insert(PathBuf::from(rest));
            }
            ("done", _) => {
                dirs.remove(Path::new(rest));
            }
            _ => {}
        }
    }
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for dir in dirs {
        let _ = std::fs::remove_dir_all(dir);
    }
}
