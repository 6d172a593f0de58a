//! Processor time, memory, writes and context switches of processes, from /proc.

use crate::trial::clock::monotonic_ns;
use procfs::CurrentSI;
use procfs::process::Process;

/// Use of one process so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu_ns: u64,
    pub rss_bytes: u64,
    /// `None` if /proc/PID/io may not be read.
    pub written_bytes: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// Busy time of the whole machine so far, all processors added, stolen time included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineTime {
    pub busy_ns: u64,
    /// Time of the reading.
    pub at_ns: u64,
}

fn ticks_to_ns(ticks: u64) -> u64 {
    ticks * 1_000_000_000 / procfs::ticks_per_second().max(1)
}

/// Use of a process; zero if it is gone.
pub fn of_process(pid: u32) -> Usage {
    let Ok(process) = Process::new(pid as i32) else { return Usage::default() };
    let Ok(stat) = process.stat() else { return Usage::default() };
    let status = process.status().ok();
    Usage {
        cpu_ns: ticks_to_ns(stat.utime + stat.stime),
        rss_bytes: stat.rss * procfs::page_size(),
        written_bytes: process.io().ok().map(|io| io.write_bytes),
        voluntary_switches: status.as_ref().and_then(|s| s.voluntary_ctxt_switches).unwrap_or(0),
        involuntary_switches: status.as_ref().and_then(|s| s.nonvoluntary_ctxt_switches).unwrap_or(0),
    }
}

/// The machine's busy time.
pub fn machine_time() -> MachineTime {
    let busy = procfs::KernelStats::current().map(|stats| {
        let t = stats.total;
        t.user + t.nice + t.system + t.irq.unwrap_or(0) + t.softirq.unwrap_or(0) + t.steal.unwrap_or(0)
    });
    MachineTime { busy_ns: ticks_to_ns(busy.unwrap_or(0)), at_ns: monotonic_ns() }
}

/// A process and all its descendants, itself first.
pub fn tree(first: u32) -> Vec<Process> {
    let (mut found, mut next) = (vec![], vec![first]);
    while let Some(pid) = next.pop() {
        let Ok(process) = Process::new(pid as i32) else { continue };
        // Each thread lists the processes that it has started.
        let threads = process.tasks().into_iter().flatten().flatten();
        next.extend(threads.flat_map(|thread| thread.children().unwrap_or_default()));
        found.push(process);
    }
    found
}

/// Most readings of a tree. It is read again if one of its processes has ended during a reading; the last reading counts anyway.
const READINGS_MAX: u32 = 20;

/// Use of a server or a worker with all its processes.
pub fn of_tree(first: u32) -> Usage {
    // A process has the time of its children that have ended, and is read before the others: one that ends in between would
    // be in neither. A list of processes may be short of some if another ends while it is read.
    let mut before = of_ended(&tree(first));
    for _ in 1..READINGS_MAX {
        let processes = tree(first);
        let usage = of_all(&processes);
        let after = of_ended(&processes);
        if after == before {
            return usage;
        }
        before = after;
    }
    of_all(&tree(first))
}

/// CPU time that processes have of children that ended, in ticks.
fn of_ended(processes: &[Process]) -> i64 {
    processes.iter().filter_map(|process| process.stat().ok()).map(|stat| stat.cutime + stat.cstime).sum()
}

/// Use of processes and of their children that have ended. Memory is the private memory of each, and once the largest shared
/// part.
pub fn of_all(processes: &[Process]) -> Usage {
    let (mut sum, mut shared_pages) = (Usage::default(), 0);
    for process in processes {
        let Ok(stat) = process.stat() else { continue };
        let ended = (stat.cutime + stat.cstime).max(0) as u64;
        sum.cpu_ns += ticks_to_ns(stat.utime + stat.stime + ended);
        if let Ok(memory) = process.statm() {
            sum.rss_bytes += memory.resident.saturating_sub(memory.shared) * procfs::page_size();
            shared_pages = memory.shared.max(shared_pages);
        }
        if let Ok(io) = process.io() {
            *sum.written_bytes.get_or_insert(0) += io.write_bytes;
        }
        if let Ok(status) = process.status() {
            sum.voluntary_switches += status.voluntary_ctxt_switches.unwrap_or(0);
            sum.involuntary_switches += status.nonvoluntary_ctxt_switches.unwrap_or(0);
        }
    }
    sum.rss_bytes += shared_pages * procfs::page_size();
    sum
}

pub fn sum(all: &[Usage]) -> Option<Usage> {
    all.iter().copied().reduce(|sum, one| Usage {
        cpu_ns: sum.cpu_ns + one.cpu_ns,
        rss_bytes: sum.rss_bytes + one.rss_bytes,
        written_bytes: sum.written_bytes.zip(one.written_bytes).map(|(a, b)| a + b),
        voluntary_switches: sum.voluntary_switches + one.voluntary_switches,
        involuntary_switches: sum.involuntary_switches + one.involuntary_switches,
    })
}

/// Memory of a server, shared pages divided among their processes; `None` if it may not be read.
pub fn pss_of_tree(first: u32) -> Option<u64> {
    tree(first).iter().map(|process| pss(process).ok().flatten()).sum()
}

fn pss(process: &Process) -> procfs::ProcResult<Option<u64>> {
    let rollup = process.smaps_rollup()?;
    Ok(rollup.memory_map_rollup.0.iter().find_map(|map| map.extension.map.get("Pss").copied()))
}

/// What was used between two readings; of the memory, the larger one.
pub fn difference(after: &Usage, before: &Usage) -> Usage {
    Usage {
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        rss_bytes: after.rss_bytes.max(before.rss_bytes),
        written_bytes: after.written_bytes.zip(before.written_bytes).map(|(a, b)| a.saturating_sub(b)),
        voluntary_switches: after.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: after.involuntary_switches.saturating_sub(before.involuntary_switches),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).process_group(0).spawn().expect("a shell")
    }

    fn kill(mut shell: Child) {
        let group = rustix::process::Pid::from_raw(shell.id() as i32).expect("a number");
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        shell.wait().expect("it ends");
    }

    #[test]
    fn what_a_worker_starts_is_its_own() {
        let parent = shell("while :; do :; done & wait");
        let deadline = Instant::now() + Duration::from_secs(60);
        let busy = || of_tree(parent.id()).cpu_ns >= 200_000_000;
        while !busy() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (counted, alone) = (busy(), of_process(parent.id()).cpu_ns);
        kill(parent);
        assert!(counted && alone < 100_000_000, "{alone}");
    }

    /// Its time is its parent's as soon as that has waited for it.
    #[test]
    fn the_time_of_a_process_that_ends_while_it_is_read_is_not_lost() {
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let parent = shell(&format!("for n in $(seq 40); do ( {busy} ) & ( {busy} ) & wait; done; sleep 60"));
        let mut last_ns = 0;
        let deadline = Instant::now() + Duration::from_secs(60);
        while last_ns < 500_000_000 && Instant::now() < deadline {
            let now_ns = of_tree(parent.id()).cpu_ns;
            assert!(now_ns >= last_ns, "{now_ns} ns after {last_ns} ns");
            last_ns = now_ns;
        }
        kill(parent);
        assert!(last_ns >= 500_000_000, "{last_ns}");
    }

    #[test]
    fn the_time_of_ended_children_of_a_child_counts() {
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let parent = shell(&format!("( for n in $(seq 40); do ( {busy} ); done; sleep 60 ) & wait"));
        let deadline = Instant::now() + Duration::from_secs(60);
        let counted = || of_tree(parent.id()).cpu_ns >= 200_000_000;
        while !counted() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let counted = counted();
        kill(parent);
        assert!(counted);
    }
}
