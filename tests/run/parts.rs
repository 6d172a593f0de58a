//! Studies made of parts, from outside: one command, one record, one report.

use crate::support::{Bench, edit, root, wait_for};
use contend::outcome::reason::Invalid;
use contend::record::parts::{StudyRecord, read_study};
use contend::record::store::{Record, RecordWriter};
use contend_wire::sample::SAMPLE_BYTES;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;

/// Trials of each part in a full run.
const TRIALS: [(&str, usize); 3] = [("transfers", 12), ("reads", 12), ("original", 2)];

fn study() -> String {
    root().join("tests/fixtures/parts.toml").display().to_string()
}

fn finished(bench: &Bench, part: &str) -> usize {
    let entries = fs::read_dir(bench.path("record").join(part).join("trials")).into_iter().flatten().flatten();
    entries.filter(|e| !e.file_name().to_string_lossy().starts_with('.')).count()
}

fn is_complete(bench: &Bench) {
    let record = StudyRecord::open(&bench.path("record")).expect("a record");
    assert!(record.file.finished.is_some());
    let counts: Vec<(&str, usize)> =
        record.parts.iter().map(|(name, part)| (name.as_str(), part.trials.len())).collect();
    assert_eq!(counts, TRIALS);
    for (name, part) in &record.parts {
        assert!(part.run.finished.is_some() && part.damaged.is_empty(), "{name}");
        assert_eq!(
            (part.run.disk.clone(), part.run.study.part.as_ref()),
            (record.parts[0].1.run.disk.clone(), Some(name))
        );
        for trial in &part.trials {
            assert!(part.dir.join(&trial.base).exists(), "{name}: {} is relative to the part", trial.base);
        }
    }
}

#[test]
fn one_command_leaves_one_record_and_one_report() {
    let bench = Bench::new();
    // A busy machine may disturb trials of such short windows, and nothing else may be wrong with them.
    let record = bench.path("record");
    let said = bench.contend(&["run", &study(), "--out", "record"]).settled(&record);
    assert!(said.err.contains("study parts, 3 parts: about 21 s"), "{}", said.err);
    assert!(said.err.contains("part reads (2 of 3): How long does a look"), "{}", said.err);
    is_complete(&bench);
    bench.assert_nothing_left();

    // The answers of all parts come first.
    for (name, mark) in
        [("report.md", "## Part transfers"), ("report.txt", "Part transfers\n"), ("report.html", "<article")]
    {
        let text = fs::read_to_string(bench.path("record").join(name)).expect(name);
        let first = &text[..text.find(mark).unwrap_or_else(|| panic!("{name} has no chapter"))];
        for words in ["Do transfers go through, and are they seen?", "Is the rollback journal slower?", "as published"]
        {
            assert!(first.contains(words), "{name}: {words}");
        }
        assert!(first.contains("original: as published"), "{name}: side by side");
        for words in ["The original ran twice", "transfers/trials.csv"] {
            assert!(text.contains(words) || name == "report.txt", "{name}: {words}");
        }
    }
    assert!(
        said.out.contains("Is the rollback journal slower?") && said.out.contains("record/report.html"),
        "{}",
        said.out
    );

    let json = bench.contend(&["report", "record", "--json"]).settled(&record).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let parts = json["parts"].as_array().expect("parts");
    assert_eq!(
        parts.iter().map(|part| part["part"].as_str().unwrap_or_default()).collect::<Vec<_>>(),
        TRIALS.map(|(name, _)| name)
    );
    assert_eq!((parts[0]["trials"].as_u64(), parts[2]["variant"].as_str()), (Some(12), Some("as-published")));

    // Each part is its own record, and the whole is a function of the record.
    let html = || fs::read(bench.path("record/report.html")).expect("a report");
    let before = html();
    bench.contend(&["report", "record/transfers"]).settled(&record.join("transfers"));
    bench.contend(&["report", "record"]).settled(&record);
    assert_eq!(before, html());
    for file in ["trials.csv", "charts.gnuplot", "report.html"] {
        assert!(bench.path("record/reads").join(file).exists(), "{file}");
    }

    plans_are_shown(&bench);
    records_are_compared(&bench);
}

fn plans_are_shown(bench: &Bench) {
    let plan = bench.contend(&["plan", "show", "--record", "record", "--part", "original", "--trial", "2"]).exits(0);
    assert!(plan.out.starts_with("contend-plan "), "{}", plan.out);
    assert!(plan.err.contains("base.db"), "{}", plan.err);
    let without = bench.contend(&["plan", "show", "--record", "record", "--trial", "2"]).exits(2);
    assert!(without.err.contains("--part: transfers, reads, original"), "{}", without.err);
    let wrong = bench.contend(&["plan", "show", "--record", "record", "--part", "x", "--trial", "2"]).exits(2);
    assert!(wrong.err.contains("no part `x`"), "{}", wrong.err);
    let alone = bench.contend(&["plan", "show", "--record", "record/original", "--part", "x", "--trial", "2"]).exits(2);
    assert!(alone.err.contains("has no parts"), "{}", alone.err);
}

fn records_are_compared(bench: &Bench) {
    let only = ["run", &study(), "--out", "second", "--quiet", "--set", "part=original,transfers", "--only", "WAL"];
    bench.contend(&only).settled(&bench.path("second"));
    assert_eq!(read_study(&bench.path("second")).expect("a record").parts, ["transfers", "original"]);
    let said = bench.contend(&["compare", "record", "second"]).exits(0);
    for words in ["Part transfers", "Part original", "Parts only in A: reads", "Only in A"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let json = bench.contend(&["compare", "record", "second", "--json"]).exits(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["parts"][1]["part"], json["only_in_a"][0].as_str()), (&"original".into(), Some("reads")));
    assert!(json["parts"][0]["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
    let uneven = bench.contend(&["compare", "record", "second/transfers"]).exits(2);
    assert!(uneven.err.contains("record/NAME"), "{}", uneven.err);
    bench.contend(&["compare", "record/transfers", "second/transfers"]).exits(0);
}

#[test]
fn a_killed_run_goes_on_with_the_part_and_trial_that_is_missing() {
    let bench = Bench::new();
    let mut child = bench.start(&["run", &study(), "--out", "record", "--quiet"]);
    wait_for("the second part", || finished(&bench, "reads") >= 2);
    kill_process(Pid::from_raw(child.id() as i32).expect("a process"), Signal::KILL).expect("it lives");
    child.wait().expect("it ends");
    wait_for("the data to be removed", || !bench.path("record/data").exists());
    bench.assert_nothing_left();
    let first = modified(&bench.path("record/transfers/trials/0001"));
    let (path, sealed) = (bench.path("record/study.toml"), fs::read(bench.path("record/study.toml")).expect("a file"));
    edit(&path, str::to_string);
    let unsealed = bench.contend(&["run", "--resume", "record"]).exits(2).err;
    assert!(unsealed.contains("study.toml has no seal"), "{unsealed}");
    fs::write(path, sealed).expect("put back");
    let said = bench.contend(&["run", "--resume", "record"]).settled(&bench.path("record"));
    assert!(!said.err.contains("part transfers (") && said.err.contains("part reads (2 of 3)"), "{}", said.err);
    is_complete(&bench);
    assert_eq!(first, modified(&bench.path("record/transfers/trials/0001")), "a finished trial must not run again");
    let again = bench.contend(&["run", "--resume", "record"]).exits(2);
    assert!(again.err.contains("complete"), "{}", again.err);
    let part = bench.contend(&["run", "--resume", "record/reads"]).exits(2);
    assert!(part.err.contains("resume the whole run"), "{}", part.err);
    let second = bench.contend(&["run", &study(), "--out", "record"]).exits(2);
    assert!(second.err.contains("already holds a record"), "{}", second.err);
    is_complete(&bench);
}

fn modified(trial: &Path) -> std::time::SystemTime {
    fs::metadata(trial.join("samples.bin")).and_then(|m| m.modified()).expect("a trial")
}

#[test]
fn ctrl_c_in_a_part_stops_the_run() {
    let bench = Bench::new();
    let child = bench.start(&["run", &study(), "--out", "record", "--quiet"]);
    wait_for("a finished trial", || finished(&bench, "transfers") >= 1);
    kill_process(Pid::from_raw(child.id() as i32).expect("a process"), Signal::INT).expect("it lives");
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("--resume record"), "{err}");
    assert_eq!(finished(&bench, "reads"), 0);
    bench.assert_nothing_left();
    let said = bench.contend(&["report", "record"]).settled(&bench.path("record"));
    assert!(said.out.contains("reads (0 of 12 trials)"), "{}", said.out);
}

#[test]
fn the_worst_part_decides_the_status() {
    let bench = Bench::new();
    let run = bench.contend(&["run", &study(), "--out", "record", "--quiet", "--set", "part=original"]);
    run.settled(&bench.path("record"));
    let part = bench.path("record/original");
    let (record, at) = (Record::open(&part).expect("a record"), part.join("trials/0001"));
    let read = |name: &str| fs::read(at.join(name)).expect("readable");
    let (samples, series) = (read("samples.bin"), String::from_utf8(read("series.csv")).expect("text"));
    let mut trial = record.trials.into_iter().find(|trial| trial.slot.trial == 1).expect("a trial");
    trial.invalid.push(Invalid::Invariant.because("planted"));
    fs::remove_dir_all(&at).expect("removed");
    let mut again = RecordWriter::resume(&part).and_then(|writer| writer.trial(1)).expect("begun");
    again.samples(&samples[SAMPLE_BYTES..]).and_then(|()| again.commit(&trial, &series)).expect("written");
    let said = bench.contend(&["report", "record"]).exits(1);
    assert!(said.out.contains("do not count: original ("), "{}", said.out);
    fs::remove_dir_all(bench.path("record/original/trials")).expect("removed");
    let said = bench.contend(&["report", "record"]).exits(2);
    assert!(said.err.contains("part original of record"), "{}", said.err);
}

#[test]
fn a_directory_that_was_there_stays_and_one_that_was_not_goes() {
    let bench = Bench::new();
    fs::create_dir(bench.path("mine")).expect("a directory");
    let text = fs::read_to_string(root().join("tests/fixtures/tiny.toml")).expect("a study");
    let workload = fs::read_to_string(root().join("workloads/bank.toml")).expect("a workload");
    fs::write(
        bench.path("broken.toml"),
        workload.replace("balance INTEGER NOT NULL", "balance INTEGER NOT NULL CHECK (balance > 5000)"),
    )
    .expect("written");
    fs::write(bench.path("study.toml"), text.replace("\"bank\"", "\"broken.toml\"")).expect("written");
    for (out, stays) in [("mine", true), ("new", false)] {
        let said = bench.contend(&["run", "study.toml", "--out", out, "--quiet"]).exits(2);
        assert!(said.err.contains("cannot load"), "{}", said.err);
        assert_eq!(bench.path(out).exists(), stays, "{out}");
        assert!(!stays || fs::read_dir(bench.path(out)).expect("readable").next().is_none(), "empty as before");
    }
}

#[test]
fn a_whole_that_cannot_be_begun_leaves_no_part() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("record/reads/.run.toml.partial/x")).expect("in the way of the second part");
    fs::write(bench.path("record/.lock"), "").expect("as a run leaves it");
    let said = bench.contend(&["run", &study(), "--out", "record", "--quiet"]).exits(2);
    assert!(said.err.contains(".run.toml.partial"), "{}", said.err);
    for part in ["transfers", "reads/trials", "study.toml"] {
        assert!(!bench.path("record").join(part).exists(), "{part}");
    }
    bench.assert_nothing_left();
}
