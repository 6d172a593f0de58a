//! The built tool from outside: running, resuming, being stopped and being killed.

use crate::support;
use crate::support::{Bench, edit, interrupt, processes_mentioning, tiny_study, wait_for};
use contend::record::model::{Instead, Overhead};
use contend::record::store::{Record, RecordWriter};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Child;

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).expect("a process"), signal).expect("it lives");
}

fn finished_trials(bench: &Bench) -> usize {
    let entries = fs::read_dir(bench.path("record/trials")).into_iter().flatten().flatten();
    entries.filter(|e| !e.file_name().to_string_lossy().starts_with('.')).count()
}

#[test]
fn a_run_leaves_a_record_a_report_and_nothing_else() {
    let bench = Bench::new();
    let said = bench.tiny_sound(&[]);
    assert!(said.out.contains("WAL/FULL") && said.out.contains("TRUNCATE/FULL"), "{}", said.out);
    let record = Record::open(&bench.path("record")).expect("a record");
    assert_eq!(record.trials.len(), 12, "two contenders, six rounds");
    assert!(record.run.finished.is_some() && record.damaged.is_empty());
    for trial in &record.trials {
        assert_eq!(trial.settings["synchronous"], "2", "read back");
        assert!(trial.invariants.len() == 5 && trial.invariants.iter().all(|i| i.holds));
        let footprint = trial.footprint;
        assert!(footprint.size_bytes_db > 0 && (footprint.size_bytes_compact > Some(0)) == (trial.slot.round == 1));
    }
    for file in ["report.md", "report.html", "report.txt", "trials.csv", "transactions.csv", "latencies.csv"] {
        assert!(bench.path("record").join(file).exists(), "{file}");
    }
    let rounds: std::collections::BTreeSet<u64> = record.trials.iter().map(|t| t.seed).collect();
    assert_eq!(rounds.len(), 6, "contenders of a round share the seed, rounds do not");
    bench.assert_nothing_left();
}

#[test]
fn equal_seeds_give_equal_plans_and_reports_are_a_function_of_the_record() {
    let (a, b) = (Bench::new(), Bench::new());
    for bench in [&a, &b] {
        bench.tiny_sound(&["--rounds", "1", "--seed", "7"]);
    }
    let plans = |bench: &Bench| -> Vec<String> {
        let record = Record::open(&bench.path("record")).expect("a record");
        record.trials.iter().map(|t| t.plan_sha256.clone()).collect()
    };
    assert_eq!(plans(&a), plans(&b));
    let html = || fs::read(a.path("record/report.html")).expect("a report");
    let before = html();
    a.contend(&["report", "record"]).settled(&a.path("record"));
    assert_eq!(before, html(), "a second report differs");
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_resume_completes_it() {
    let bench = Bench::new();
    let child = bench.start(&["run", &tiny_study(), "--out", "record", "--quiet"]);
    wait_for("three finished trials", || finished_trials(&bench) >= 3);
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--resume record"));
    bench.assert_nothing_left();
    let kept = finished_trials(&bench);
    assert!((3..12).contains(&kept), "{kept} trials");
    let first = fs::metadata(bench.path("record/trials/0001/samples.bin")).and_then(|m| m.modified()).expect("a trial");

    bench.contend(&["run", "--resume", "record", "--quiet"]).settled(&bench.path("record"));
    let record = Record::open(&bench.path("record")).expect("a record");
    let numbers: Vec<u32> = record.trials.iter().map(|t| t.slot.trial).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<u32>>());
    let now = fs::metadata(bench.path("record/trials/0001/samples.bin")).and_then(|m| m.modified()).expect("a trial");
    assert_eq!(first, now, "a finished trial must not run again");
    let again = bench.contend(&["run", "--resume", "record"]).exits(2);
    assert!(again.err.contains("complete"), "{}", again.err);
    bench.assert_nothing_left();
}

#[test]
fn a_run_is_resumed_with_what_it_was_begun_with() {
    let (bench, record) = (Bench::new(), "record");
    let own = format!("'{}' worker", support::tool());
    bench.tiny(&["--rounds", "1", "--only", "WAL/FULL", "--worker-command", &own]).ran();
    let resume = |args: &[&str]| bench.contend(&[&["run", "--resume", record, "--quiet"], args].concat());
    let refused = |args: &[&str], part: &str| {
        let said = resume(args).exits(2);
        assert!(said.err.contains(part), "{part}: {}", said.err);
    };
    interrupt(&bench.path(record), 1, |run| assert_eq!(run.instead.worker.as_ref(), Some(&own)));
    refused(&[], "was begun with --worker-command");
    refused(&["--worker-command", &format!("env {own}")], "resume it with the same");
    refused(&["--worker-command", &own, "--client-command", &own], "contend's own client");
    refused(&["--worker-command", &own, "--dsn", "postgres://me@127.0.0.1:1/d"], "private servers");
    let mut sha256 = "0".to_string();
    let mut exchange = || {
        fs::create_dir(bench.path("record/trials/0001")).expect("made");
        interrupt(&bench.path(record), 1, |run| std::mem::swap(&mut run.programs[0].sha256, &mut sha256));
    };
    exchange();
    refused(&["--worker-command", &own], "the worker of rusqlite has changed since the start");
    exchange();
    resume(&["--worker-command", &own]).ran();
    interrupt(&bench.path(record), 1, |run| run.contend = "0.0.1".to_string());
    refused(&["--worker-command", &own], "begun with contend 0.0.1");
    // As the first records were, which did not keep it.
    fs::create_dir(bench.path("record/trials/0001")).expect("made");
    interrupt(&bench.path(record), 1, |run| {
        (run.contend, run.instead) = (env!("CARGO_PKG_VERSION").to_string(), Instead::default());
    });
    refused(&["--worker-command", &own], "does not say what it was");
    assert_eq!(finished_trials(&bench), 0);
    bench.assert_nothing_left();
}

#[test]
fn own_costs_whose_measurement_was_cut_off_are_measured_anew() {
    let bench = Bench::new();
    let text = fs::read_to_string(tiny_study()).expect("the study");
    let text =
        text.replace("clients = 2\n", "").replace("profile = [\"mixed\"]", "profile = [\"mixed\"]\nclients = [1, 2]");
    fs::write(bench.path("two.toml"), text).expect("written");
    let args = ["run", "two.toml", "--out", "record", "--rounds", "1", "--only", "WAL/FULL", "--quiet"];
    bench.contend(&args).ran();
    interrupt(&bench.path("record"), 2, |run| {
        assert_eq!(run.overhead_ns_by_condition.len(), 2);
        run.overhead_ns_per_operation = 0;
        run.overhead_ns_by_condition.truncate(1);
        let driver = "cut off".to_string();
        run.overheads =
            vec![Overhead { driver, condition: 0, operations: 1, ns_per_operation: 1, ns_p999: 1, ns_max: 1 }];
    });
    bench.contend(&["run", "--resume", "record", "--quiet"]).ran();
    let run = Record::open(&bench.path("record")).expect("a record").run;
    let each = &run.overhead_ns_by_condition;
    assert!(each.len() == 2 && each.iter().max() == Some(&run.overhead_ns_per_operation), "{each:?}");
    let whose: BTreeSet<_> = run.overheads.iter().map(|overhead| (&overhead.driver, overhead.condition)).collect();
    assert!(whose.len() == run.overheads.len() && whose.iter().all(|(driver, _)| *driver != "cut off"), "{whose:?}");
}

#[test]
fn a_killed_tool_leaves_no_process_and_no_data_and_can_be_resumed() {
    let bench = Bench::new();
    let mut child = bench.start(&["run", &tiny_study(), "--out", "record", "--quiet", "--rounds", "3"]);
    wait_for("a trial at work", || finished_trials(&bench) >= 1 && bench.path("record/data/trial/app-0.db").exists());
    signal(&child, Signal::KILL);
    child.wait().expect("it ends");
    wait_for("the data to be removed", || !bench.path("record/data").exists());
    bench.assert_nothing_left();
    bench.contend(&["run", "--resume", "record", "--quiet"]).settled(&bench.path("record"));
    assert_eq!(finished_trials(&bench), 6);
}

#[test]
fn a_second_run_into_the_same_record_is_refused() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1"]);
    let said = bench.tiny(&["--rounds", "1"]).exits(2);
    assert!(said.err.contains("already holds a record"), "{}", said.err);
    assert_eq!(finished_trials(&bench), 2, "nothing was lost");
}

#[test]
fn a_record_that_is_damaged_or_too_new_says_so() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "2"]);
    let samples = bench.path("record/trials/0002/samples.bin");
    let bytes = fs::read(&samples).expect("samples");
    fs::write(&samples, &bytes[..bytes.len() - 10]).expect("cut");
    fs::write(bench.path("record/trials/0003/trial.toml"), "format = 1\nslot = 7\n").expect("broken");
    let other = bench.path("record/trials/0004/trial.toml");
    let ends_early =
        |line: &str| if line.starts_with("window_end_ns") { "window_end_ns = 1" } else { line }.to_string();
    edit(&other, |text| text.lines().map(|line| ends_early(line) + "\n").collect());
    let said = bench.contend(&["report", "record"]).exits(1);
    assert!(said.err.contains("trial 0002") && said.err.contains("cut off"), "{}", said.err);
    assert!(said.err.contains("trial 0003") && said.err.contains("ends before it begins"), "{}", said.err);
    assert!(bench.path("record/report.md").exists(), "what is complete is reported");

    let run = fs::read_to_string(bench.path("record/run.toml")).expect("run.toml");
    fs::write(bench.path("record/run.toml"), run.replacen("format = 3", "format = 99", 1)).expect("written");
    let said = bench.contend(&["report", "record"]).exits(2);
    assert!(said.err.contains("99") && said.err.contains("newer"), "{}", said.err);
    let said = bench.contend(&["report", "nowhere"]).exits(2);
    assert!(said.err.contains("is not a record"), "{}", said.err);
}

#[test]
fn a_record_that_cannot_be_begun_leaves_its_directory_to_the_next_run() {
    let bench = Bench::new();
    bench.tiny(&["--rounds", "1"]).ran();
    let run = Record::open(&bench.path("record")).expect("a record").run;
    // As on a disk that is full after the first directory: the file cannot be written.
    let in_the_way = bench.path("second/.run.toml.partial/x");
    fs::create_dir_all(&in_the_way).expect("made");
    assert!(RecordWriter::create(&bench.path("second"), &run).is_err());
    assert!(!bench.path("second/trials").exists());
    fs::remove_dir_all(bench.path("second/.run.toml.partial")).expect("removed");
    bench.contend(&["run", &tiny_study(), "--out", "second", "--rounds", "1", "--quiet"]).ran();
}

#[test]
fn who_resumes_hears_how_much_is_left() {
    let bench = Bench::new();
    bench.tiny(&["--rounds", "1"]).ran();
    interrupt(&bench.path("record"), 2, |_| ());
    let path = bench.path("record/run.toml");
    let sealed = fs::read_to_string(&path).expect("a file");
    edit(&path, str::to_string);
    let said = bench.contend(&["run", "--resume", "record"]).exits(2).err;
    assert!(said.contains("run.toml has no seal") && said.contains("Restore the file, or run again"), "{said}");
    fs::write(path, sealed).expect("put back");
    let said = bench.contend(&["run", "--resume", "record"]);
    said.ran();
    assert!(said.err.contains("study tiny: 1 of 2 trials left, about 1 s"), "{}", said.err);
}

/// The evidence for tiers is part of a complete record.
#[test]
fn a_run_whose_proofs_cannot_be_read_in_the_end_is_resumed_to_its_report() {
    let bench = Bench::new();
    let child = bench.start(&["run", &tiny_study(), "--out", "record", "--only", "WAL/FULL", "--quiet"]);
    wait_for("a finished trial", || finished_trials(&bench) >= 1);
    // It was readable when the run began.
    let proofs = bench.path(".evidence/proofs.toml");
    fs::create_dir_all(&proofs).expect("in its place");
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && err.contains("proofs.toml") && err.contains("--resume"), "{err}");
    let run = Record::open(&bench.path("record")).expect("a record").run;
    assert!(run.finished.is_none() && run.tiers.is_empty());
    fs::remove_dir(&proofs).expect("removed");
    bench.contend(&["run", "--resume", "record", "--quiet"]).ran();
    let run = Record::open(&bench.path("record")).expect("a record").run;
    assert!(run.finished.is_some() && run.tiers.len() == 1, "{:?}", run.tiers);
    assert!(finished_trials(&bench) == 6 && bench.path("record/report.md").exists());
    bench.assert_nothing_left();
}

#[test]
fn of_arrivals_beyond_what_a_database_does_the_rest_is_unsent() {
    let bench = Bench::new();
    let said = bench.tiny(&["--set", "rate=50,1000000", "--rounds", "1", "--only", "WAL/FULL"]);
    let said = said.settled(&bench.path("record"));
    let record = Record::open(&bench.path("record")).expect("a record");
    assert!(record.run.finished.is_some() && record.trials.len() == 2, "{said:?}");
    let mut table = csv::Reader::from_path(bench.path("record/trials.csv")).expect("written");
    let mut unsent = BTreeMap::new();
    for (row, trial) in table.deserialize::<BTreeMap<String, String>>().zip(&record.trials) {
        let row = row.expect("a row");
        let count = |name: &str| row[name].parse::<u64>().unwrap_or_else(|_| panic!("{name} in {row:?}"));
        let outcomes = ["committed", "rejected", "conflict", "timeout", "unknown", "unsent"];
        assert_eq!(count("planned"), outcomes.map(count).iter().sum::<u64>(), "{row:?}");
        assert_eq!((trial.load_model.as_str(), trial.planned.values().sum::<u64>()), ("open", count("planned")));
        // At the high rate these are arrivals from before the window, for which the others waited.
        assert!(row["throughput_ops_per_s"].parse::<f64>().is_ok_and(|rate| rate > 0.0), "{row:?}");
        unsent.insert(count("planned"), count("unsent"));
    }
    assert_eq!(unsent.len(), 2, "{unsent:?}");
    // 300 ms of arrivals at random moments.
    let (few, many) = (unsent.first_key_value().expect("a trial"), unsent.last_key_value().expect("a trial"));
    assert!((1..60).contains(few.0) && (250_000..350_000).contains(many.0), "{unsent:?}");
    assert!(*many.1 > many.0 / 2 && few.1 < many.1, "{unsent:?}");
    let report = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(report.contains("Open loop, 50.0/s or 1.00M/s arriving") && report.contains("(never begun)"), "{report}");
    bench.assert_nothing_left();
}

#[test]
fn the_numbers_for_programs_name_every_trial_that_does_not_count() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "2"]);
    let samples = bench.path("record/trials/0002/samples.bin");
    let bytes = fs::read(&samples).expect("samples");
    fs::write(&samples, &bytes[..bytes.len() - 64]).expect("without its last sample");
    fs::write(bench.path("record/trials/0003/trial.toml"), "format = 1\nslot = 7\n").expect("broken");
    let said = bench.contend(&["report", "record", "--json"]).exits(1);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let invalid = json["invalid"].as_array().expect("a list");
    let cut = invalid.iter().find(|of| of["trial"] == 2).unwrap_or_else(|| panic!("{invalid:?}"));
    let reasons = cut["reasons"].as_array().expect("a list");
    assert!(reasons.iter().any(|reason| reason["kind"] == "samples"), "{invalid:?}");
    assert_eq!(json["damaged"][0]["trial"], "0003");
}

#[test]
fn tmpfs_and_unwritable_places_are_refused() {
    let bench = Bench::new();
    let study = tiny_study();
    let shm = tempfile::TempDir::new_in("/dev/shm").expect("a file system in memory");
    let out = shm.path().join("record").display().to_string();
    let said = bench.contend(&["run", &study, "--out", &out]).exits(2);
    assert!(said.err.contains("tmpfs") && said.err.contains("--allow-tmpfs"), "{}", said.err);
    // File systems that are mounted where no other process sees them.
    let script = "set -e; tool=$0; study=$1; mkdir ram over; mount -t ramfs ramfs ram; mkdir ram/upper ram/work lower; \
                  mount -t overlay overlay -o lowerdir=lower,upperdir=ram/upper,workdir=ram/work,volatile over; \
                  for place in ram over; do $tool run $study --out $place/record --quiet && exit 1; done; \
                  $tool run $study --out ram/record --rounds 1 --only TRUNCATE/FULL --window 200ms --allow-tmpfs --quiet";
    let mut command = std::process::Command::new("unshare");
    let shell = ["-rm", "sh", "-c", script, support::tool(), &study];
    let said: support::Said = command.args(shell).current_dir(bench.dir.path()).output().expect("unshare").into();
    let said = said.exits(0);
    for why in ["in memory (ramfs)", "volatile (overlay)"] {
        assert!(said.err.contains(why), "{why}: {}", said.err);
    }
    let (first, _) = said.out.split_once("record:").unwrap_or((&said.out, ""));
    assert!(first.contains("! The data was on a file system in memory (ramfs): a power cut can lose"), "{}", said.out);
    assert!(first.contains("every acknowledged commit survives a power cut (not on this file system)"), "{}", said.out);
    let said = bench.contend(&["run", &study, "--out", "/proc/record"]).exits(2);
    assert!(said.err.contains("/proc/record") && said.err.contains("--out"), "{}", said.err);
    assert!(processes_mentioning(&bench.dir.path().display().to_string()).is_empty());
}

/// A study whose data takes long enough to load that a test can interrupt it.
fn slow_to_load(bench: &Bench) -> Child {
    bench.start(&["run", &tiny_study(), "--out", "record", "--scale", "2000", "--quiet"])
}

fn loading(bench: &Bench) -> bool {
    let entries = fs::read_dir(bench.path(".cache")).into_iter().flatten().flatten();
    entries.into_iter().any(|e| fs::read_dir(e.path()).is_ok_and(|inside| inside.count() > 0))
}

#[test]
fn ctrl_c_while_loading_leaves_nothing_at_all() {
    let bench = Bench::new();
    let child = slow_to_load(&bench);
    wait_for("the data to be on its way", || loading(&bench));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("nothing is left") && !err.contains("--resume"), "{err}");
    assert!(!bench.path("record").exists() && !loading(&bench));
    bench.assert_nothing_left();
}

#[test]
fn a_tool_killed_while_loading_leaves_no_half_loaded_data() {
    let bench = Bench::new();
    let mut child = slow_to_load(&bench);
    wait_for("the data to be on its way", || loading(&bench));
    signal(&child, Signal::KILL);
    child.wait().expect("it ends");
    wait_for("the data to be removed", || !loading(&bench));
    bench.assert_nothing_left();
}

#[test]
fn what_a_worker_command_starts_ends_with_the_run() {
    let bench = Bench::new();
    let command = format!("sleep 300 >/dev/null 2>&1 & exec '{}' worker", support::tool());
    bench.tiny_sound(&["--rounds", "1", "--worker-command", &command]);
    bench.assert_nothing_left();
}

#[test]
fn what_others_left_in_a_directory_is_not_touched() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("mine/data")).expect("made");
    fs::write(bench.path("mine/data/precious"), "1").expect("written");
    let study = support::tiny_study();
    let run = |out: &str| bench.contend(&["run", &study, "--out", out, "--quiet", "--rounds", "1"]);
    let said = run("mine").exits(2);
    assert!(said.err.contains("holds something other than a record"), "{}", said.err);
    assert!(bench.path("mine/data/precious").exists());
    // The user's study file beside the user's data, and the lock file of another program.
    fs::copy(&study, bench.path("mine/study.toml")).expect("copied");
    assert!(run("mine").exits(2).err.contains("already holds a record"));
    fs::remove_file(bench.path("mine/study.toml")).expect("removed");
    for lock in ["", "4711"] {
        fs::write(bench.path("mine/.lock"), lock).expect("written");
        assert!(run("mine").exits(2).err.contains("holds something other than a record"));
        assert_eq!(fs::read_to_string(bench.path("mine/.lock")).expect("readable"), lock);
    }
    fs::remove_file(bench.path("mine/.lock")).expect("removed");
    let left: Vec<_> = fs::read_dir(bench.path("mine")).expect("there").flatten().map(|it| it.file_name()).collect();
    assert!(left == ["data"] && bench.path("mine/data/precious").exists(), "{left:?}");
}

#[test]
fn a_second_run_in_the_same_place_is_refused_and_disturbs_nothing() {
    let bench = Bench::new();
    let study = support::tiny_study();
    let mut child = bench.start(&["run", &study, "--out", "record", "--quiet", "--rounds", "20", "--only", "WAL/FULL"]);
    wait_for("a finished trial", || bench.path("record/trials/0001").exists());
    for arguments in [["run", study.as_str(), "--out", "record"], ["run", "--resume", "record", "--quiet"]] {
        let said = bench.contend(&arguments).exits(2);
        assert!(said.err.contains("a run is under way in"), "{}", said.err);
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    wait_for("the data to be gone", || !bench.path("record/data").exists());
    assert!(finished_trials(&bench) > 0);
    assert_eq!(support::wrong_in(&bench.path("record")), []);
}

#[test]
fn samples_that_are_missing_are_noticed() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1", "--only", "WAL/FULL"]);
    let path = bench.path("record/trials/0001/samples.bin");
    let file = fs::File::options().write(true).open(&path).expect("samples");
    let whole = file.metadata().expect("a size").len();
    file.set_len(whole - 64).expect("cut");
    bench.contend(&["report", "record"]).exits(1);
    let page = fs::read_to_string(bench.path("record/report.txt")).expect("a report");
    assert!(page.contains("samples are left"), "{page}");
}
