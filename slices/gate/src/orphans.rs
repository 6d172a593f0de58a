//! Ends processes that a command leaves behind: they would take time from later runs. contend
//! becomes their parent when their own parent ends.

use anyhow::{Result, ensure};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Makes contend the parent of orphaned descendants. Where the kernel does not support that, init stays their parent.
pub fn adopt() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// The children of contend.
pub fn children() -> BTreeSet<i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Time for processes that end with their parent, as helpers do whose pipe is closed.
const ENDS_WITHIN: Duration = Duration::from_millis(50);
/// Interval between looks at them.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The children that were not there before, and have not ended after [`ENDS_WITHIN`].
pub fn running(before: &BTreeSet<i32>) -> BTreeSet<i32> {
    let deadline = Instant::now() + ENDS_WITHIN;
    loop {
        let running = running_now(before);
        if running.is_empty() || Instant::now() >= deadline {
            return running;
        }
        sleep(LOOK_AGAIN);
    }
}

fn running_now(before: &BTreeSet<i32>) -> BTreeSet<i32> {
    let has_ended = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before the state may contain anything.
        stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with(['Z', 'X']) || rest.is_empty())
    };
    children().difference(before).copied().filter(|pid| !has_ended(pid)).collect()
}

/// Kills the children that were not there before, and the orphans that they leave in turn. Returns the names of those that
/// were `running` until they were killed, here or with the group of the command.
///
/// # Errors
/// One belongs to another user, so that it cannot be killed, and waiting for it could take for ever.
pub fn end(before: &BTreeSet<i32>, running: &BTreeSet<i32>) -> Result<Vec<String>> {
    let mut names = vec![];
    loop {
        let left: Vec<Pid> = children().difference(before).filter_map(|pid| Pid::from_raw(*pid)).collect();
        if left.is_empty() {
            names.sort();
            return Ok(names);
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
            let ended = waitpid(Some(pid), WaitOptions::empty()).ok().flatten();
            let was_killed =
                ended.is_some_and(|(_, status)| status.terminating_signal() == Some(Signal::KILL.as_raw()));
            if was_killed && running.contains(&number) {
                names.push(name);
            }
        }
        refuse_foreign(&foreign)?;
    }
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
