//! A program in its own process group. It is ended with all that it has started, even if the tool is killed.

use crate::trial::clock::monotonic_ns;
use crate::trial::stop::Cancelled;
use crate::trial::watch::janitor::Janitor;
use crate::trial::watch::orphans;
use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// How often the deadline and cancellation are checked.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Time between the signal to end and the kill.
const END_TIME: Duration = Duration::from_secs(5);

/// How a program ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub status: ExitStatus,
    /// When, as [`monotonic_ns`] counts.
    pub at_ns: u64,
    /// CPU time of it and of all processes that it started and waited for.
    pub cpu_ns: u64,
}

/// A running program.
pub struct Group<'j> {
    child: Child,
    janitor: &'j Janitor,
    /// Whether it was waited for: another process may then have its id.
    over: bool,
}

impl<'j> Group<'j> {
    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command, janitor: &'j Janitor) -> std::io::Result<Self> {
        let child = orphans::spawn(command.process_group(0))?;
        janitor.program_lives(child.id());
        Ok(Self { child, janitor, over: false })
    }

    /// How it ended; `None` if the deadline came first.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn wait(&mut self, deadline: Option<Instant>, cancelled: &dyn Fn() -> bool) -> Result<Option<Ended>> {
        let at_ns = self.wait_for_end(deadline, cancelled)?;
        at_ns.map(|at_ns| self.kill(at_ns)).transpose()
    }

    /// When it ended, without killing what it has left; `None` if the deadline came first.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn wait_for_end(&self, deadline: Option<Instant>, cancelled: &dyn Fn() -> bool) -> Result<Option<u64>> {
        let at_ns = self.end();
        loop {
            match at_ns.recv_timeout(LOOK_AGAIN) {
                Ok(at_ns) => return Ok(Some(at_ns)),
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(monotonic_ns())),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if cancelled() {
                return Err(Cancelled.into());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
        }
    }

    /// Sends the time when it ended. A thread waits without reaping it, which would free its id, and so sees the end
    /// within microseconds.
    fn end(&self) -> Receiver<u64> {
        let (told, end) = channel();
        if let Some(pid) = self.pid() {
            std::thread::spawn(move || {
                let wait = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while matches!(waitid(WaitId::Pid(pid), wait), Err(Errno::INTR)) {}
                let _ = told.send(monotonic_ns());
            });
        }
        end
    }

    /// Whether it has ended. It is not reaped, which would free its id.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.over || self.pid().is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Kills what is left of it; how it ended.
    ///
    /// # Errors
    /// It runs as another user and so cannot be killed, or the kernel does not say.
    pub fn kill(&mut self, at_ns: u64) -> Result<Ended> {
        if let Some(group) = self.pid().filter(|_| !self.over) {
            let _ = kill_process_group(group, Signal::KILL);
            // Waiting for it could take for ever.
            let is_foreign = kill_process(group, Signal::KILL) == Err(Errno::PERM) && !self.has_ended();
            let id = group.as_raw_pid();
            ensure!(!is_foreign, "process {id} runs as another user, so contend cannot end it; end it, and try again");
        }
        self.over = true;
        let used = self.child.wait4().context("cannot wait for a program")?;
        let cpu = used.rusage.utime + used.rusage.stime;
        Ok(Ended { status: used.status, at_ns, cpu_ns: cpu.as_nanos() as u64 })
    }
}

impl Drop for Group<'_> {
    /// Asks the program to end first, so that it can clean up.
    fn drop(&mut self) {
        if let Some(pid) = self.pid().filter(|_| !self.over) {
            let _ = kill_process(pid, Signal::TERM);
            let deadline = Instant::now() + END_TIME;
            while !self.has_ended() && Instant::now() < deadline {
                std::thread::sleep(LOOK_AGAIN);
            }
            let _ = self.kill(0);
        }
        self.janitor.program_gone(self.child.id());
    }
}
