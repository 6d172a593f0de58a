//! contend in a container: what `Containerfile` makes, without a daemon to run it. As root only.

use crate::support::{Bench, Said, root, tool, wrong_in};
use contend::outcome::mark::Mark;
use contend::record::parts::StudyRecord;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Says so if this user may make no namespaces and control groups.
fn is_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("NOT VERIFIED: {test}: run the tests as root");
    }
    is_root
}

/// Enters a root file system with the tool, its libraries, /proc, /tmp and three devices; only /results can be written, and the
/// user has no name. `$1` is its directory, `$2` the tool, `$3` the place of results, and the tool's arguments follow.
const ENTER: &str = r#"
set -e
root=$1 tool=$2 results=$3; shift 3
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir -p "$root/proc" "$root/tmp" "$root/results" "$root/dev"
give() { mkdir -p "$root$(dirname "$2")"; touch "$root$2"; mount --bind "$1" "$root$2"; }
give "$tool" /usr/local/bin/contend
for library in $(ldd "$tool" | grep -o '/[^ ]*'); do give "$library" "$library"; done
for device in null zero urandom; do give /dev/$device /dev/$device; done
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$results" "$root/results"
mount -o remount,ro,bind "$root"
exec chroot --userspec=65534:65534 "$root" /usr/local/bin/contend "$@"
"#;

#[test]
fn the_main_job_runs_in_a_container() {
    if !is_root("the_main_job_runs_in_a_container") {
        return;
    }
    let recipe = fs::read_to_string(root().join("Containerfile")).expect("a recipe");
    assert!(recipe.contains("/usr/local/bin/") && recipe.contains("ENTRYPOINT [\"contend\"]"), "{recipe}");
    let bench = Bench::new();
    let (place, results) = (bench.path("root"), bench.path("results"));
    for dir in [&place, &results] {
        fs::create_dir(dir).expect("a directory");
    }
    std::os::unix::fs::chown(&results, Some(65534), Some(65534)).expect("its owner");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"]);
    command.args([&place, Path::new(tool()), &results]).args(["run", "--quick", "--rounds", "1", "--window", "200ms"]);
    command.args(["--again", "0", "--quiet", "--out", "/results/record"]).stdin(Stdio::null());
    let said = Said::from(command.output().expect("unshare"));
    said.ran();
    assert_eq!(wrong_in(&results.join("record")), [], "{said:?}");
    assert!(results.join("record/report.html").is_file(), "{said:?}");
    bench.assert_nothing_left();
}

/// A control group with a CPU limit, removed at the end.
struct Group(PathBuf);

impl Group {
    /// `None` where control groups cannot be made.
    fn limited_to(percent: u32) -> Option<Group> {
        let name = format!("contend-test-{}", std::process::id());
        let (period, quota) = ("20000", (20_000 * percent / 100).to_string());
        for mount in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"] {
            let dir = Path::new(mount).join(&name);
            if !Path::new(mount).join("cgroup.procs").exists() || fs::create_dir(&dir).is_err() {
                continue;
            }
            let group = Group(dir);
            let first = fs::write(group.0.join("cpu.cfs_period_us"), period);
            let is_limited = first.and_then(|()| fs::write(group.0.join("cpu.cfs_quota_us"), &quota)).is_ok()
                || fs::write(group.0.join("cpu.max"), format!("{quota} {period}")).is_ok();
            if is_limited {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_limit_of_the_container_is_said_and_no_lie() {
    const TEST: &str = "a_limit_of_the_container_is_said_and_no_lie";
    if !is_root(TEST) {
        return;
    }
    let Some(group) = Group::limited_to(30) else {
        println!("NOT VERIFIED: {TEST}: no control group with a CPU limit can be made here");
        return;
    };
    let bench = Bench::new();
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"", "sh"]).arg(&group.0);
    // Commits without a sync, so that the processors are the limit.
    let study = root().join("tests/fixtures/limit/study.toml");
    command.arg(tool()).arg("run").arg(study).args(["--set", "profile=sums", "--again", "0", "--quiet"]);
    command.args(["--out", "record"]).current_dir(bench.dir.path()).stdin(Stdio::null());
    let said = Said::from(command.output().expect("sh"));
    said.ran();
    assert_eq!(wrong_in(&bench.path("record")), [], "{said:?}");
    let record = StudyRecord::open(&bench.path("record")).expect("a record");
    for trial in &record.parts[0].1.trials {
        // Where other programs take the processors, the group does not reach its limit.
        let is_noisy = trial.marks.iter().any(|mark| matches!(mark, Mark::NoisyCpu { .. }));
        assert!(is_noisy || trial.marks.iter().any(|mark| matches!(mark, Mark::Throttled { .. })), "{:?}", trial.marks);
    }
    assert!(said.out.contains("throttled") || said.out.contains("note"), "{said:?}");
    bench.assert_nothing_left();
}
