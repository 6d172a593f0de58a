//! Ends processes that a command leaves behind: they would take time from later runs. contend
//! becomes their parent when their own parent ends.

use anyhow::{Result, ensure};
use contend::trial::workers::process::monotonic_ns;
use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, waitpid,
};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

/// Makes contend the parent of orphaned descendants. Where the kernel does not support that, init stays their parent.
pub fn adopt() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// The children of a process; `self` is contend.
pub fn children(of: &str) -> BTreeSet<i32> {
    let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Time for processes that end with their parent, as helpers do whose pipe is closed.
const ENDS_WITHIN: Duration = Duration::from_millis(50);
/// Interval between looks for processes that they have started in turn.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// The children that were not there before.
#[derive(Default)]
pub struct Running {
    /// Those that have not ended after [`ENDS_WITHIN`].
    pub left: BTreeSet<i32>,
    /// When the last of the others ended, as [`monotonic_ns`] counts; `None` if all had ended at the first look.
    pub last_end_ns: Option<u64>,
}

/// Waits for the children that were not there before, for [`ENDS_WITHIN`].
pub fn running(before: &BTreeSet<i32>) -> Running {
    let deadline = Instant::now() + ENDS_WITHIN;
    let mut last_end_ns = None;
    loop {
        let left = running_now(before);
        if left.is_empty() || Instant::now() >= deadline {
            return Running { left, last_end_ns };
        }
        let open = |pid: &i32| pidfd_open(Pid::from_raw(*pid)?, PidfdFlags::empty()).ok();
        let processes: Vec<_> = left.iter().filter_map(open).collect();
        let mut ends: Vec<_> = processes.iter().map(|process| PollFd::new(process, PollFlags::IN)).collect();
        if poll(&mut ends, Some(&LOOK_AGAIN)).is_ok_and(|ended| ended > 0) {
            last_end_ns = Some(monotonic_ns());
        }
    }
}

fn running_now(before: &BTreeSet<i32>) -> BTreeSet<i32> {
    let has_ended = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before the state may contain anything.
        stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with(['Z', 'X']) || rest.is_empty())
    };
    children("self").difference(before).copied().filter(|pid| !has_ended(pid)).collect()
}

/// What a command left behind.
#[derive(Default)]
pub struct Left {
    /// Names of the processes that ran until they were killed, here or with the group of the command.
    pub names: Vec<String>,
    /// CPU time of the other ones, and of the processes that they waited for.
    pub cpu_ns: u64,
}

/// Kills the children that were not there before, of which some were `running`, and the orphans that they leave in turn.
///
/// # Errors
/// One belongs to another user, so that it cannot be killed, and waiting for it could take for ever.
pub fn end(before: &BTreeSet<i32>, running: &BTreeSet<i32>) -> Result<Left> {
    let mut of = Left::default();
    loop {
        let left: Vec<Pid> = children("self").difference(before).filter_map(|pid| Pid::from_raw(*pid)).collect();
        if left.is_empty() {
            of.names.sort();
            return Ok(of);
        }
        let mut foreign = vec![];
        for pid in left {
            let number = pid.as_raw_pid();
            let killed = kill_process(pid, Signal::KILL);
            // A process that has ended keeps its name until it is waited for.
            let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default().trim_end().to_string();
            if killed == Err(Errno::PERM) && running_now(before).contains(&number) {
                foreign.push(format!("{name} (process {number})"));
                continue;
            }
            let waited_ns = waited_for_ns();
            let ended = waitpid(Some(pid), WaitOptions::empty()).ok().flatten();
            let was_killed =
                ended.is_some_and(|(_, status)| status.terminating_signal() == Some(Signal::KILL.as_raw()));
            match was_killed && running.contains(&number) {
                true => of.names.push(name),
                false => of.cpu_ns += waited_for_ns().saturating_sub(waited_ns),
            }
        }
        refuse_foreign(&foreign)?;
    }
}

/// CPU time of the processes that contend has waited for, and of those that these waited for.
fn waited_for_ns() -> u64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).map(|used| [used.user_time(), used.system_time()]);
    used.map_or(0, |times| times.iter().map(|time| (time.tv_sec() * 1_000_000 + time.tv_usec()) as u64 * 1000).sum())
}

/// Processes that contend may not kill would take time from later runs.
fn refuse_foreign(foreign: &[String]) -> Result<()> {
    ensure!(
        foreign.is_empty(),
        "a command left {} running as another user, so contend cannot end what would take time from later runs; end it, \
         and let the command end what it starts",
        foreign.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_may_not_be_killed_is_named() {
        assert!(refuse_foreign(&[]).is_ok());
        let said = refuse_foreign(&["postgres (process 4711)".to_string()]).expect_err("another user's").to_string();
        assert!(said.starts_with("a command left postgres (process 4711) running as another user"), "{said}");
    }
}
