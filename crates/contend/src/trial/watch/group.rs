//! A program that works by itself for a while: in its own process group, watched, and ended for sure with all it has
//! started, also when the tool is killed.

use crate::trial::stop::Cancelled;
use crate::trial::watch::janitor::Janitor;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often it is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Longest until one that was told to end is killed.
const END_TIME: Duration = Duration::from_secs(5);

/// A program at work.
pub struct Group<'j> {
    child: Child,
    janitor: &'j Janitor,
    /// Whether it was waited for: another process may have its number then.
    over: bool,
}

impl<'j> Group<'j> {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command, janitor: &'j Janitor) -> std::io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        janitor.program_lives(child.id());
        Ok(Self { child, janitor, over: false })
    }

    /// How it ended; none if the deadline came first.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn wait(&mut self, deadline: Option<Instant>, cancelled: &dyn Fn() -> bool) -> Result<Option<ExitStatus>> {
        while !self.has_ended() {
            if cancelled() {
                return Err(Cancelled.into());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.kill().map(Some)
    }

    /// Whether it has ended, without taking note: that would free its number.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.over || self.pid().is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Kills what is left of it; how it ended.
    fn kill(&mut self) -> Result<ExitStatus> {
        if let Some(group) = self.pid().filter(|_| !self.over) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.over = true;
        self.child.wait().context("cannot wait for a program")
    }
}

impl Drop for Group<'_> {
    /// It is told to end first, and may clean up.
    fn drop(&mut self) {
        if let Some(pid) = self.pid().filter(|_| !self.over) {
            let _ = kill_process(pid, Signal::TERM);
            let deadline = Instant::now() + END_TIME;
            while !self.has_ended() && Instant::now() < deadline {
                std::thread::sleep(LOOK_AGAIN);
            }
            let _ = self.kill();
        }
        self.janitor.program_gone(self.child.id());
    }
}
