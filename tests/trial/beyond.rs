//! What a trial would change for later ones: processes that it leaves, processors and priority of contend.

use crate::support::{self, Bench, Said, processes_mentioning, root, tool, wait_for};
use contend::outcome::reason::Invalid;
use contend::record::model::Trial;
use contend::record::store::Record;
use rustix::process::{Pid, Signal, kill_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

/// The worker at fault, for `--worker-command`.
fn faulty(fault: &str) -> String {
    let fake = root().join("workers/fake/fake.py");
    format!("python3 '{}' --real '{} worker' --worker all --fault {fault}", fake.display(), tool())
}

/// Details of the reasons of a kind in a record.
fn details(bench: &Bench, kind: Invalid) -> Vec<String> {
    let of = |trial: &Trial| trial.invalid.clone();
    let all = Record::open(&bench.path("record")).expect("a record").trials;
    all.iter().flat_map(of).filter(|reason| reason.kind == kind).map(|reason| reason.detail).collect()
}

fn is_single() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1)
}

#[test]
fn a_worker_that_takes_more_processors_than_the_study_names_is_found() {
    if is_single() {
        return;
    }
    let bench = Bench::new();
    let study = fs::read_to_string(support::tiny_study()).expect("the study");
    fs::write(bench.path("study.toml"), study.replacen("[axes]\n", "[axes]\nprocessors = [1]\n", 1)).expect("written");
    let args = ["run", "study.toml", "--out", "record", "--quiet", "--rounds", "1", "--only", "WAL/FULL*"];
    let run = |bench: &Bench, fault: &str| -> Said {
        bench.contend(&[&args[..], &["--worker-command", &faulty(fault)]].concat())
    };
    run(&bench, "pins").exits(1);
    let found = details(&bench, Invalid::Processors);
    assert!(found.len() == 1 && found[0].contains("was set to processors"), "{found:?}");
    assert!(found[0].contains("contend had given it"), "{found:?}");
    fs::remove_dir_all(bench.path("record")).expect("removed");
    run(&bench, "none");
    assert_eq!(details(&bench, Invalid::Processors), [""; 0], "one that keeps to them is believed");
}

/// A run of which the first trial takes a while.
fn long_run(bench: &Bench, more: &[&str]) -> Child {
    let study = support::tiny_study();
    let args = ["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--only", "WAL/FULL*", "--window", "4s"];
    let child = bench.command(&[&args[..], more].concat()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.expect("the tool starts")
}

fn children(of: u32) -> Vec<i32> {
    contend::trial::watch::orphans::children(&of.to_string()).into_iter().collect()
}

fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

#[test]
fn an_interrupted_run_leaves_nothing_of_a_worker_that_leaves_a_process() {
    let bench = Bench::new();
    let mut run = long_run(&bench, &["--worker-command", &faulty("leaves")]);
    wait_for("the processes left", || children(run.id()).iter().any(|pid| name(*pid) == "sleep\n"));
    kill_process(Pid::from_child(&run), Signal::INT).expect("it lives");
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    let mine = bench.dir.path().to_string_lossy().into_owned();
    assert_eq!(processes_mentioning(&mine), [""; 0], "it does not end before them");
}

/// Somebody limits contend by hand.
#[test]
fn processors_and_priority_of_contend_that_change_in_a_trial_are_a_reason_and_restored() {
    let bench = Bench::new();
    let mut run = long_run(&bench, &[]);
    wait_for("clients at work", || bench.path("record").join("data/trial").exists() && children(run.id()).len() > 3);
    let (tool, mut one) = (Pid::from_child(&run), CpuSet::new());
    let before = sched_getaffinity(Some(tool)).expect("its processors");
    one.set((0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).expect("a processor"));
    sched_setaffinity(Some(tool), &one).expect("a part of it");
    // Only root can take this back.
    let is_root = support::place::is_root();
    if is_root {
        setpriority_process(Some(tool), 7).expect("less");
    }
    assert_eq!(run.wait().expect("it ends").code(), Some(if is_single() && !is_root { 0 } else { 1 }));
    let found = details(&bench, Invalid::Processors);
    for (part, is_there) in [("contend itself had processors", !is_single()), ("nice value 7 instead of 0", is_root)] {
        assert!(!is_there || found.iter().any(|words| words.contains(part)), "{part}: {found:?}");
    }
    assert!(found.len() <= 1 && found.iter().all(|words| words.contains("contend (process ")), "{found:?}");
    bench.assert_nothing_left();
}

/// What a run says of a worker that is a script of these lines, and then the real one.
fn said_of_script(bench: &Bench, lines: &str) -> Said {
    let script = bench.path("worker.sh");
    fs::write(&script, format!("#!/bin/sh\n{lines}\nexec '{}' worker\n", tool())).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a program");
    let (study, script) = (support::tiny_study(), script.display().to_string());
    bench.contend(&["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--worker-command", &script])
}

#[test]
fn loaded_data_that_a_worker_changes_ends_the_run_and_is_loaded_again() {
    let bench = Bench::new();
    let loaded = bench.path(".cache").display().to_string();
    let said = said_of_script(&bench, &format!("for data in '{loaded}'/*/base.db; do printf x >>\"$data\"; done"));
    assert!(said.err.contains("has changed the loaded data, which all trials copy: begin again"), "{}", said.err);
    said.exits(2);
    fs::remove_dir_all(bench.path("record")).expect("removed");
    said_of_script(&bench, "").exits(0);
    bench.assert_nothing_left();
}

#[test]
fn a_process_without_a_parent_that_takes_other_processors_is_found() {
    if is_single() {
        return;
    }
    let bench = Bench::new();
    said_of_script(&bench, "( (taskset -c 0 sleep 30) & )").exits(1);
    let found = details(&bench, Invalid::Processors);
    assert!(found.iter().any(|words| words.starts_with("sleep (process ")), "{found:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_worker_that_is_replaced_while_the_run_is_under_way_is_found_at_its_end() {
    let bench = Bench::new();
    let said =
        said_of_script(&bench, "cp \"$0\" \"$0.new\"; echo '# another build' >>\"$0.new\"; mv \"$0.new\" \"$0\"");
    assert!(said.err.contains("has changed since the start"), "{}", said.err);
    said.exits(2);
    bench.assert_nothing_left();
}

/// They are in no record. Those of a command are.
#[test]
fn options_of_runtimes_in_the_environment_reach_no_worker() {
    let bench = Bench::new();
    let file = bench.path("environment").display().to_string();
    let study = support::tiny_study();
    let command = format!("GOGC=50 sh -c 'env >{file}; exec {} worker'", tool());
    let args =
        ["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--worker-command", &format!("env {command}")];
    let mut run = bench.command(&args);
    run.envs([("GOGC", "off"), ("NODE_OPTIONS", "--jitless"), ("LD_AUDIT", ""), ("PLAIN", "here")]);
    Said::from(run.output().expect("the tool starts")).exits(0);
    let found = fs::read_to_string(file).expect("written by the worker");
    let has = |line: &str| found.lines().any(|one| one == line);
    assert!(
        has("GOGC=50") && has("PLAIN=here") && !found.contains("NODE_OPTIONS") && !found.contains("LD_AUDIT"),
        "{found}"
    );
}
