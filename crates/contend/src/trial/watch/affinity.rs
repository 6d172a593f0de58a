//! Processors of all threads of a trial's programs, compared with those that contend gave them.

use super::orphans;
use super::usage::tree;
use crate::trial::standing::{self, listed};
use anyhow::Result;
use procfs::process::Process;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::sync::{Mutex, PoisonError};

/// Flag of the kernel's own threads for io_uring, which it chooses processors for.
const IO_WORKER: u32 = 0x10;

/// Programs of a trial, and the first thread that was found on other processors.
#[derive(Debug)]
pub struct Affinity {
    /// First process of each.
    programs: Vec<u32>,
    given: CpuSet,
    found: Mutex<Option<String>>,
}

impl Affinity {
    /// Of programs that contend has started just now.
    ///
    /// # Errors
    /// The system does not report which processors contend gives.
    pub fn of(programs: Vec<u32>) -> Result<Self> {
        Ok(Self { programs, given: standing::processors()?, found: Mutex::default() })
    }

    /// Reads the processors of each thread, those of processes whose parent has ended included, unless a difference was found
    /// before.
    pub fn look(&self) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_none() {
            let adopted = orphans::adopted().into_iter().map(i32::cast_unsigned);
            let programs = self.programs.iter().copied().chain(adopted);
            *found = programs.flat_map(tree).find_map(|process| self.difference(&process));
        }
    }

    /// Processes and threads may end at any time.
    fn difference(&self, process: &Process) -> Option<String> {
        process.tasks().ok()?.flatten().find_map(|thread| {
            let allowed = sched_getaffinity(Pid::from_raw(thread.tid)).ok().filter(|allowed| *allowed != self.given)?;
            let name = thread.stat().ok().filter(|stat| stat.flags & IO_WORKER == 0)?.comm;
            let (process, thread) = (process.pid, thread.tid);
            let of = if thread == process { String::new() } else { format!("thread {thread} of ") };
            let (allowed, given) = (listed(&allowed), listed(&self.given));
            Some(format!(
                "{name} ({of}process {process}) was set to processors {allowed}; contend had given it {given}"
            ))
        })
    }

    /// The first difference of all looks, in words.
    pub fn found(&self) -> Option<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_of_the_program_on_other_processors_is_named() {
        let given = standing::processors().expect("processors");
        let mut program = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().expect("a shell");
        let affinity = Affinity::of(vec![program.id()]).expect("processors");
        let child = loop {
            if let Some(child) = tree(program.id()).get(1) {
                break Pid::from_raw(child.pid).expect("a number");
            }
        };
        affinity.look();
        let (before, number) = (affinity.found(), child.as_raw_pid());
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| given.is_set(*cpu)).expect("a processor"));
        rustix::thread::sched_setaffinity(Some(child), &one).expect("a part of it");
        affinity.look();
        let found = affinity.found();
        for process in [child, Pid::from_raw(program.id() as i32).expect("a number")] {
            rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("killed");
        }
        program.wait().expect("it ends");
        assert_eq!(before, None);
        let (one, given) = (listed(&one), listed(&given));
        let words = format!("(process {number}) was set to processors {one}; contend had given it {given}");
        assert!(one == given || found.as_ref().is_some_and(|found| found.contains(&words)), "{found:?}");
    }

    /// In the tool it became a child when its parent ended.
    #[test]
    fn a_child_that_contend_did_not_start_is_looked_at() {
        let affinity = Affinity::of(vec![]).expect("processors");
        let mut child = Command::new("sleep").arg("60").spawn().expect("a program");
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| affinity.given.is_set(*cpu)).expect("a processor"));
        let number = child.id();
        rustix::thread::sched_setaffinity(Pid::from_raw(number as i32), &one).expect("a part of it");
        affinity.look();
        child.kill().and_then(|()| child.wait()).expect("it ends");
        let found = affinity.found().unwrap_or_default();
        assert!(one == affinity.given || found.contains(&format!("sleep (process {number})")), "{found}");
    }
}
