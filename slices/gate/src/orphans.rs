//! Ends processes that a command leaves outside its process group: they would take time from later runs. contend
//! becomes their parent when their own parent ends.

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use std::collections::BTreeSet;
use std::fs;

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

/// Kills the children that were not there before, and the orphans that they leave in turn.
pub fn end(before: &BTreeSet<i32>) {
    loop {
        let left: Vec<Pid> = children().difference(before).filter_map(|pid| Pid::from_raw(*pid)).collect();
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}
