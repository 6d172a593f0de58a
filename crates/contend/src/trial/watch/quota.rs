//! The CPU limit of a container (its control group): how long it held processes back.

use std::fs::read_to_string;
use std::path::Path;

/// Where control groups are mounted.
const MOUNTED: &str = "/sys/fs/cgroup";

/// Time so far in which the limits of this process's control groups held processes back, added over processors. 0 without
/// a limit, and where it cannot be read.
pub fn throttled_ns() -> u64 {
    let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
    own.lines().filter_map(group).map(|(mount, path)| along(&Path::new(MOUNTED).join(mount), path)).sum()
}

/// Mount and path of a line of /proc/PID/cgroup, if processors are limited there: `0::/a/b`, or `4:cpu,cpuacct:/a` of
/// version 1.
fn group(line: &str) -> Option<(&str, &str)> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let is_cpu = number == "0" || controllers.split(',').any(|controller| controller == "cpu");
    is_cpu.then_some((controllers, path))
}

/// The time of a group and of all above it: each can have a limit. In a container, the mount itself is its group.
fn along(mount: &Path, path: &str) -> u64 {
    let own = Path::new(path.trim_start_matches('/'));
    own.ancestors().map(|group| in_stat(&read_to_string(mount.join(group).join("cpu.stat")).unwrap_or_default())).sum()
}

/// The time in a `cpu.stat`, of either version.
fn in_stat(text: &str) -> u64 {
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    of("throttled_usec ").map(|us| us.saturating_mul(1000)).or_else(|| of("throttled_time ")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_are_read() {
        assert_eq!(group("0::/user.slice/a:b"), Some(("", "/user.slice/a:b")));
        assert_eq!(group("4:cpu,cpuacct:/docker/1"), Some(("cpu,cpuacct", "/docker/1")));
        assert_eq!([group("4:cpuset:/"), group("9:name=systemd:/"), group("")], [None; 3]);
        assert_eq!(in_stat("nr_periods 5\nnr_throttled 2\nthrottled_usec 1500\n"), 1_500_000);
        assert_eq!(in_stat("nr_periods 5\nthrottled_time 77\n"), 77);
        assert_eq!(in_stat("usage_usec 9\n"), 0);
    }

    #[test]
    fn every_group_above_counts() {
        let mount = tempfile::tempdir().unwrap();
        for (group, us) in [("", 1), ("a", 2), ("a/b", 4), ("c", 8)] {
            std::fs::create_dir_all(mount.path().join(group)).unwrap();
            std::fs::write(mount.path().join(group).join("cpu.stat"), format!("throttled_usec {us}\n")).unwrap();
        }
        assert_eq!(
            ["/a/b", "/a", "/", "/elsewhere/d"].map(|path| along(mount.path(), path)),
            [7_000, 3_000, 1_000, 1_000]
        );
    }
}
