//! A signal that stops a worker, however briefly, makes its trial invalid.

use crate::support::{Bench, reasons, tool, wait_for};
use contend::check::heard::Stopped;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::stops::Stops;
use contend::trial::workers::crew::{Crew, Window};
use contend::trial::workers::process::Launch;
use contend::trial::workers::processes::{Deadlines, Supervision};
use contend::trial::workers::refusal::Whose;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

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

/// A shell command that returns once a process is stopped.
fn until_stopped(pid: &str) -> String {
    format!("until grep -q '^State:.T' /proc/{pid}/status; do sleep 0.01; done")
}

#[test]
fn a_stop_of_a_worker_is_reported_with_its_work() {
    let begun = Instant::now();
    let pulse = format!("({}; sleep 0.5; kill -CONT $$) & kill -STOP $$; wait", until_stopped("$$"));
    let found = stopped(&pulse);
    assert!(found.times == 1 && u128::from(found.ns) <= begun.elapsed().as_nanos(), "{found:?}");
    // A signal that continues what runs, and children that stop, are no stops.
    let child = format!("sh -c 'kill -STOP $$' & {}; kill -CONT $!; wait", until_stopped("$!"));
    assert_eq!(stopped(&format!("kill -CONT $$; {child}")), Stopped::default());
}

#[test]
fn every_stop_of_a_child_is_seen_and_its_time_is_known() {
    let mut child = Command::new("sleep").arg("600").spawn().expect("sleep");
    let (pid, stops) = (Pid::from_child(&child), Stops::of(child.id()));
    let begun = Instant::now();
    let mut least_ns = 0;
    for times in 1..=3 {
        kill_process(pid, Signal::STOP).expect("it lives");
        wait_for("the stop", || stops.so_far().times == times);
        let seen = Instant::now();
        wait_for("its time", || stops.so_far().ns > least_ns + 1_000_000);
        least_ns += seen.elapsed().as_nanos() as u64;
        kill_process(pid, Signal::CONT).expect("it lives");
        // Its time stands still once it goes on.
        wait_for("what continues it", || {
            let before = stops.so_far().ns;
            sleep(Duration::from_millis(2));
            stops.so_far().ns == before
        });
    }
    let (found, all) = (stops.so_far(), begun.elapsed());
    child.kill().and_then(|()| child.wait()).expect("killed");
    assert!(found.times == 3 && (u128::from(least_ns)..=all.as_nanos()).contains(&u128::from(found.ns)), "{found:?}");
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
