//! A real crash of a server: kills all its processes, in whatever groups and sessions they are.

use crate::engine::server;
use crate::trial::watch::usage::tree;
use anyhow::{Result, bail};
use procfs::process::{ProcState, Process};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::process::Child;
use std::time::{Duration, Instant};

/// Longest time until a process that was sent SIGSTOP has stopped.
const STOP_TIME: Duration = Duration::from_secs(1);

/// Longest time until a killed process is gone; it may be waiting for a disk.
const DEATH_TIME: Duration = Duration::from_secs(30);

const ASK_EVERY: Duration = Duration::from_millis(1);

/// Kills a process, which leads a group, with all its descendants, and waits until none of them is alive.
///
/// # Errors
/// A process is still alive.
pub fn kill_all(first: &mut Child) -> Result<()> {
    // A stopped process cannot start another one that would be missed.
    if let Some(pid) = Pid::from_raw(first.id() as i32) {
        let _ = kill_process(pid, Signal::STOP);
        wait(STOP_TIME, || state(first.id()).is_none_or(|state| state == ProcState::Stopped || is_dead(state)));
    }
    let all = tree(first.id());
    if let Some(group) = Pid::from_raw(first.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    // Children may have left the group.
    for pid in all.iter().filter(|process| lives(process)).filter_map(|process| Pid::from_raw(process.pid)) {
        let _ = kill_process(pid, Signal::KILL);
    }
    if !wait(DEATH_TIME, || !all.iter().any(lives)) {
        let left: Vec<String> = all.iter().filter(|p| lives(p)).map(|p| p.pid.to_string()).collect();
        bail!("process {} was still alive {} s after SIGKILL", left.join(", "), DEATH_TIME.as_secs());
    }
    let _ = first.wait();
    Ok(())
}

fn state(pid: u32) -> Option<ProcState> {
    Process::new(pid as i32).ok()?.stat().ok()?.state().ok()
}

/// If the id now belongs to another process, this one is dead.
fn lives(process: &Process) -> bool {
    process.stat().ok().and_then(|stat| stat.state().ok()).is_some_and(|state| !is_dead(state))
}

/// Dead, and perhaps not yet reaped.
fn is_dead(state: ProcState) -> bool {
    matches!(state, ProcState::Zombie | ProcState::Dead)
}

fn wait(within: Duration, happened: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + within;
    while !happened() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(ASK_EVERY);
    }
    true
}

/// The signal of the operating system.
pub fn number(signal: server::Signal) -> Signal {
    match signal {
        server::Signal::Interrupt => Signal::INT,
        server::Signal::Quit => Signal::QUIT,
        server::Signal::Terminate => Signal::TERM,
        server::Signal::Kill => Signal::KILL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    #[test]
    fn children_with_sessions_of_their_own_die_too() {
        let mut first = Command::new("sh")
            .args(["-c", "setsid sleep 300 & setsid sh -c 'sleep 300 & wait' & wait"])
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let deadline = Instant::now() + Duration::from_secs(20);
        let grown = || {
            let all = tree(first.id());
            let own = all.iter().filter(|p| p.stat().is_ok_and(|stat| stat.pgrp != first.id() as i32)).count();
            (all.len() >= 4 && own >= 3).then_some(all)
        };
        let all = loop {
            match grown() {
                Some(all) => break all,
                None => assert!(Instant::now() < deadline, "two sessions begin"),
            }
            std::thread::sleep(ASK_EVERY);
        };
        kill_all(&mut first).expect("killed");
        assert!(!all.iter().any(lives), "all are dead when it returns");
    }
}
