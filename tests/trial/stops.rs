//! A signal that stops a worker, however briefly, makes its trial invalid.

use crate::support::{Bench, reasons, tool, wait_for};
use contend::check::heard::Stopped;
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::crew::{Crew, Window};
use contend::trial::workers::process::Launch;
use contend::trial::workers::processes::{Deadlines, Supervision};
use contend::trial::workers::refusal::Whose;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Stops of a worker that does this between `start` and `done`.
fn stopped(does: &str) -> Stopped {
    let bench = Bench::new();
    let script = format!(
        "printf 'hello\\tprotocol=1\\nready\\n'; while read -r word rest; do case $word in start) break;; esac; done; \
         {does}; printf 'done\\toperations=0\\tattempts=0\\tfailed=0\\texhausted=0\\nend\\n'; sleep 600"
    );
    let launch = Launch { program: "/bin/sh".into(), args: vec!["-c".to_string(), script] };
    let (janitor, never) = (Janitor::of(tool().into()).expect("a process"), || false);
    let with = Supervision { janitor: &janitor, deadlines: Deadlines::default(), cancelled: &never };
    let mut crew = Crew::of_processes(Whose::Driver("stops".to_string()), &launch, bench.dir.path(), &with);
    crew.prepare(&[vec![]]).expect("ready");
    let window = Window { begins_ns: crew.start(), ends_ns: None, drain_ns: 0 };
    crew.collect(&window, &mut |_: &[u8]| Ok(())).expect("done");
    crew.members[0].heard.stopped
}

#[test]
fn every_stop_of_a_worker_is_seen_and_its_time_is_known() {
    let pulse = "(sleep 0.2; kill -CONT $$) & kill -STOP $$; wait";
    let found = stopped(&format!("{pulse}; {pulse}; {pulse}"));
    assert_eq!(found.times, 3, "{found:?}");
    assert!((500_000_000..5_000_000_000).contains(&found.ns), "{found:?}");
    // A signal that continues what runs, and children that stop, are no stops.
    assert_eq!(stopped("kill -CONT $$; sh -c 'kill -STOP $$' & sleep 0.1; kill -CONT $!; wait"), Stopped::default());
}

/// Process ids of the workers of a tool.
fn workers_of(tool: u32) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_worker = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let cmdline = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.contains(&format!("\nPPid:\t{tool}\n")) && cmdline.ends_with("\0worker\0")
    };
    pids.filter(is_worker).filter_map(Pid::from_raw).collect()
}

#[test]
fn a_worker_that_is_stopped_in_pulses_does_not_count() {
    let bench = Bench::new();
    let study = crate::support::tiny_study();
    let args = ["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--only", "WAL/FULL*", "--window", "2s"];
    let mut run = bench.start(&args);
    let series = || fs::read_dir(bench.path("record")).is_ok_and(|mut entries| entries.next().is_some());
    wait_for("a record", series);
    // The workers that load the data or measure the overhead do not matter; those of the window live through the pulses.
    while run.try_wait().expect("a child").is_none() {
        for pid in workers_of(run.id()) {
            let _ = kill_process(pid, Signal::STOP);
            sleep(Duration::from_millis(20));
            let _ = kill_process(pid, Signal::CONT);
        }
        sleep(Duration::from_millis(60));
    }
    let found = reasons(&bench.path("record"));
    assert!(found.iter().any(|(_, reasons)| reasons.iter().any(|reason| reason.contains("stalled"))), "{found:?}");
    bench.assert_nothing_left();
}
