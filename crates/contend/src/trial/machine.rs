//! What machine this is, for the record.

use crate::record::model::Machine;
use procfs::Current;
use std::fs::read_to_string;

/// Reads it from /proc and /etc; what cannot be read is `unknown` or 0.
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

/// Now, in UTC, as RFC 3339 to the second.
pub fn now_utc() -> String {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    rfc3339(now.tv_sec)
}

/// Civil time from seconds since 1970; the date by the algorithm of Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms" (`civil_from_days`).
fn rfc3339(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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
    }
}
