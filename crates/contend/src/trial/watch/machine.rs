//! The machine, for the record.

use crate::check::marks;
use crate::outcome::mark::Mark;
use crate::record::model::Machine;
use crate::units::write_time;
use procfs::{Current, CurrentSI};
use rustix::time::ClockId;
use std::fs::read_to_string;

/// Reads the machine from /proc and /etc; what cannot be read is `unknown` or 0.
pub fn describe() -> Machine {
    let cpus = procfs::CpuInfo::current().ok();
    let cpu = cpus.as_ref().and_then(|c| c.model_name(0)).unwrap_or("unknown").to_string();
    let flags = cpus.as_ref().and_then(|c| c.flags(0)).unwrap_or_default();
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = read_to_string("/etc/os-release").unwrap_or_default();
    let os = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("unknown");
    Machine {
        cpu,
        cores: cores(),
        memory_bytes: procfs::Meminfo::current().map(|m| m.mem_total).unwrap_or(0),
        kernel: kernel.trim().to_string(),
        os: os.trim_matches('"').to_string(),
        virtual_machine: flags.contains(&"hypervisor"),
    }
}

/// Processors this process may use.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// Processors of the whole machine, whose time /proc/stat adds up. A process may be limited to some of them.
pub fn processors() -> u32 {
    procfs::KernelStats::current().map_or(0, |stats| stats.cpu_time.len() as u32).max(1)
}

/// Reading of the wall clock, to be compared with a later one.
pub struct WallClock {
    /// How far it is ahead of the monotonic clock.
    ahead_ns: i64,
    at_ns: i64,
}

impl WallClock {
    pub fn read() -> Self {
        let at_ns = ns(ClockId::Monotonic);
        Self { ahead_ns: wall_ns() - at_ns, at_ns }
    }

    /// Mark if somebody has set it since.
    pub fn was_set(&self) -> Option<Mark> {
        let now = Self::read();
        marks::clock_set(self.ahead_ns, now.ahead_ns, (now.at_ns - self.at_ns).unsigned_abs())
    }
}

/// How far the wall clock is ahead of the monotonic clock: at least and at most.
pub fn wall_ahead_ns() -> (i64, i64) {
    let (before_ns, wall_ns, after_ns) = (ns(ClockId::Monotonic), wall_ns(), ns(ClockId::Monotonic));
    (wall_ns - after_ns, wall_ns - before_ns)
}

fn ns(clock: ClockId) -> i64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Now, by the wall clock.
pub fn wall_ns() -> i64 {
    ns(ClockId::Realtime)
}

/// The same on the clock from which the kernel takes the times of files.
pub fn file_time_ns() -> i64 {
    ns(ClockId::RealtimeCoarse)
}

/// Now, in UTC, as RFC 3339 to the second.
pub fn now_utc() -> String {
    let now = rustix::time::clock_gettime(ClockId::Realtime);
    rfc3339(now.tv_sec)
}

/// Seconds since 1970 as a time in UTC, as RFC 3339: `2025-02-28T23:59:59Z`.
pub fn rfc3339(seconds: i64) -> String {
    let mut out = String::new();
    write_time(seconds, &mut out);
    out.replacen(' ', "T", 1) + "Z"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_740_787_199, "2025-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }

    #[test]
    fn this_machine_is_described() {
        let machine = describe();
        assert!(machine.cores > 0 && machine.memory_bytes > 1 << 20, "{machine:?}");
        assert!(!machine.kernel.is_empty());
        assert!(processors() >= machine.cores, "{} of {}", machine.cores, processors());
    }
}
