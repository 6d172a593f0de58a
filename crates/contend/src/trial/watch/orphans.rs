//! Ends processes that a worker, a server or a command leaves behind: they would take time from later measurements, or change
//! them. contend becomes their parent when their own parent ends. Its other children are those that it started itself.

use crate::trial::clock::monotonic_ns;
use crate::trial::itself;
use crate::trial::standing;
use anyhow::{Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use procfs::process::{Process, Stat};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, waitpid,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Children that contend started, or had from the beginning: number and time of their start. Those that ended stay in it.
static OWN: Mutex<BTreeMap<i32, u64>> = Mutex::new(BTreeMap::new());

fn own() -> MutexGuard<'static, BTreeMap<i32, u64>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes contend the parent of orphaned descendants, and records what programs inherit from it. Where the kernel does not support
/// the first, init stays their parent.
///
/// # Errors
/// The system does not report what programs inherit.
pub fn adopt() -> Result<()> {
    // A shell may have started some before contend took its place.
    own().extend(children("self").into_iter().filter_map(|pid| Some((pid, stat(pid)?.starttime))));
    let _ = set_child_subreaper(Some(getpid()));
    standing::begin()
}

/// Starts a program that is contend's own child: not an orphan, and ended by its caller.
///
/// # Errors
/// It cannot be started.
pub fn spawn(command: &mut Command) -> std::io::Result<Child> {
    standing::restore();
    // Until it is in the list, no thread looks for orphans.
    let mut own = own();
    let child = command.spawn()?;
    let pid = child.id() as i32;
    // It exists until its caller waits for it.
    own.extend(stat(pid).map(|stat| (pid, stat.starttime)));
    standing::started(&itself::name(command), child.id());
    Ok(child)
}

/// The children of a process; `self` is contend.
pub fn children(of: &str) -> BTreeSet<i32> {
    let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Children that contend did not start. A zombie is among them until [`end`] waits for it.
pub fn adopted() -> BTreeSet<i32> {
    let (own, mut all) = (own(), children("self"));
    all.retain(|pid| own.get(pid).is_none_or(|started| stat(*pid).is_some_and(|stat| stat.starttime != *started)));
    all
}

fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// Interval between looks for processes that orphans have started in turn.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Orphans after a wait for their end.
#[derive(Default)]
pub struct Running {
    /// Those that have not ended.
    pub left: BTreeSet<i32>,
    /// When the last of the others ended, as [`monotonic_ns`] counts; `None` if all had ended at the first look.
    pub last_end_ns: Option<u64>,
}

/// Waits for the end of all orphans. Many end with their parent, such as helpers whose pipe is closed.
pub fn running(within: Duration) -> Running {
    waited_for(within, running_now, one_ends)
}

/// The same, with a look for orphans and a wait for the end of one of them, which returns whether it saw one.
fn waited_for(
    within: Duration,
    mut look: impl FnMut() -> BTreeSet<i32>,
    one_ends: impl Fn(&BTreeSet<i32>) -> bool,
) -> Running {
    let deadline = Instant::now() + within;
    let (mut left, mut last_end_ns) = (look(), None);
    while !left.is_empty() && Instant::now() < deadline {
        let saw_end = one_ends(&left);
        let at_ns = monotonic_ns();
        let before = std::mem::replace(&mut left, look());
        // One can also end between the wait and the look.
        if saw_end || !before.is_subset(&left) {
            last_end_ns = Some(if saw_end { at_ns } else { monotonic_ns() });
        }
    }
    Running { left, last_end_ns }
}

/// Whether one of these processes ends before the next look.
fn one_ends(left: &BTreeSet<i32>) -> bool {
    let open = |pid: &i32| pidfd_open(Pid::from_raw(*pid)?, PidfdFlags::empty()).ok();
    let processes: Vec<_> = left.iter().filter_map(open).collect();
    let mut ends: Vec<_> = processes.iter().map(|process| PollFd::new(process, PollFlags::IN)).collect();
    poll(&mut ends, Some(&LOOK_AGAIN)).is_ok_and(|ended| ended > 0)
}

fn running_now() -> BTreeSet<i32> {
    let runs = |pid: &i32| stat(*pid).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'));
    adopted().into_iter().filter(runs).collect()
}

/// Orphans that were ended.
#[derive(Default)]
pub struct Left {
    /// Names and numbers of those that ran until they were killed, here or with the group of their program.
    pub processes: Vec<(String, i32)>,
    /// CPU time of the other ones, and of the processes that they waited for.
    pub cpu_ns: u64,
}

/// Kills all orphans, of which some were `running`, and those that they leave in turn.
///
/// # Errors
/// One belongs to another user, so that it cannot be killed, and waiting for it could take for ever.
pub fn end(running: &BTreeSet<i32>) -> Result<Left> {
    let mut of = Left::default();
    loop {
        let left: Vec<Pid> = adopted().into_iter().filter_map(Pid::from_raw).collect();
        if left.is_empty() {
            of.processes.sort();
            return Ok(of);
        }
        let mut foreign = vec![];
        for pid in left {
            let number = pid.as_raw_pid();
            let killed = kill_process(pid, Signal::KILL);
            // A process that has ended keeps its name until it is waited for.
            let name = stat(number).map_or(String::new(), |stat| stat.comm);
            if killed == Err(Errno::PERM) && running_now().contains(&number) {
                foreign.push(format!("{name} (process {number})"));
                continue;
            }
            let waited_ns = waited_for_ns();
            let ended = waitpid(Some(pid), WaitOptions::empty()).ok().flatten();
            let was_killed =
                ended.is_some_and(|(_, status)| status.terminating_signal() == Some(Signal::KILL.as_raw()));
            match was_killed && running.contains(&number) {
                true => of.processes.push((name, number)),
                false => of.cpu_ns += waited_for_ns().saturating_sub(waited_ns),
            }
        }
        refuse_foreign(&foreign)?;
    }
}

/// Time for orphans of a trial to end by themselves. A helper of a container may clean up after it.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// Ends what the programs of a trial left when they were over; the names and numbers of the processes.
///
/// # Errors
/// As [`end`].
pub fn end_left() -> Result<Vec<String>> {
    let mut left = running(ENDS_WITHIN).left;
    // Those in the group of a program were killed with it. A slow disk can delay their end.
    left.retain(|pid| stat(*pid).is_some_and(|stat| !own().contains_key(&stat.pgrp)));
    Ok(end(&left)?.processes.into_iter().map(|(name, pid)| format!("{name} (process {pid})")).collect())
}

/// CPU time of the processes that contend has waited for, and of those that these waited for.
fn waited_for_ns() -> u64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).map(|used| [used.user_time(), used.system_time()]);
    used.map_or(0, |times| times.iter().map(|time| (time.tv_sec() * 1_000_000 + time.tv_usec()) as u64 * 1000).sum())
}

/// Processes that contend may not kill would take time from later measurements.
fn refuse_foreign(foreign: &[String]) -> Result<()> {
    ensure!(
        foreign.is_empty(),
        "{} was left running as another user, so contend cannot end what would take time from later measurements; end it, and \
         let its program end what it starts",
        foreign.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_no_wait_saw_is_an_end() {
        let hour = Duration::from_secs(3600);
        for saw_end in [false, true] {
            let mut looks = [vec![7, 8], vec![7], vec![]].map(BTreeSet::from_iter).into_iter();
            let running = waited_for(hour, || looks.next().expect("no look after the last end"), |_| saw_end);
            assert!(running.left.is_empty() && running.last_end_ns.is_some(), "{saw_end}");
        }
        assert_eq!(waited_for(hour, BTreeSet::new, |_| true).last_end_ns, None, "all had ended");
        assert_eq!(waited_for(Duration::ZERO, || BTreeSet::from([7]), |_| false).left, BTreeSet::from([7]));
    }

    #[test]
    fn a_process_that_may_not_be_killed_is_named() {
        assert!(refuse_foreign(&[]).is_ok());
        let said = refuse_foreign(&["postgres (process 4711)".to_string()]).expect_err("another user's").to_string();
        assert!(said.starts_with("postgres (process 4711) was left running as another user"), "{said}");
    }
}
