//! Finds processes that ignore SIGCHLD while they have children: the kernel then reaps their children and adds the CPU time of these to
//! no process, so the CPU time of the command lacks it.

use contend::trial::watch::orphans::children;
use rustix::process::Signal;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

/// A look may take one part in this many of the time, so that it slows no command.
const PART: u32 = 50;

/// Looks at the processes of one command while it runs.
pub struct Unreported {
    /// Children of contend that belong to no command.
    before: BTreeSet<i32>,
    next_look: Cell<Instant>,
    found: RefCell<Option<String>>,
}

impl Unreported {
    pub fn new(before: BTreeSet<i32>) -> Self {
        Self { before, next_look: Cell::new(Instant::now()), found: RefCell::default() }
    }

    /// Looks at every process of the command, unless one was found or the last look was a moment ago.
    pub fn look(&self) {
        let begun = Instant::now();
        if begun < self.next_look.get() || self.found.borrow().is_some() {
            return;
        }
        let mut left: Vec<i32> = children("self").difference(&self.before).copied().collect();
        while let Some(pid) = left.pop() {
            let started = children(&pid.to_string());
            if started.is_empty() {
                continue;
            }
            left.extend(started);
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            if ignores_child(&status) {
                self.found.replace(Some(name(&status)));
                return;
            }
        }
        self.next_look.set(Instant::now() + PART * begun.elapsed());
    }

    /// Name of the first process that had children and ignored SIGCHLD.
    pub fn found(self) -> Option<String> {
        self.found.into_inner()
    }
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn name(status: &str) -> String {
    field(status, "Name:").unwrap_or("a process").to_string()
}

fn ignores_child(status: &str) -> bool {
    let ignored = field(status, "SigIgn:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    ignored.is_some_and(|mask| mask >> (Signal::CHILD.as_raw() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_has_one_bit_for_each_signal() {
        // As Linux shows them on x86-64: SIGPIPE is 13, SIGCHLD 17, SIGCONT 18.
        for (mask, ignores) in [("0000000000010000", true), ("0000000000011000", true), ("0000000000021000", false)] {
            let status = format!("Name:\tpython3\nPid:\t7\nSigBlk:\t0000000000010000\nSigIgn:\t{mask}\n");
            assert_eq!((name(&status).as_str(), ignores_child(&status)), ("python3", ignores));
        }
        assert!(!ignores_child(""), "it has ended");
    }
}
