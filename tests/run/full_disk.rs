//! Runs on a full disk: what is finished stays, and no trial counts against its contender.

use crate::support::{self, Bench, tiny_study};
use contend::record::store::Record;
use std::fs;

#[test]
fn a_full_disk_keeps_finished_trials_and_says_what_to_do() {
    let bench = Bench::new();
    let study = tiny_study();
    let tool = support::tool();
    // A separate file system that is too small, mounted where no other process sees it.
    let script = format!(
        "mkdir small && mount -t tmpfs -o size=10m tmpfs small && {tool} run {study} --out small/record --only TRUNCATE/FULL --rounds 600 --allow-tmpfs --quiet; \
         code=$?; ls small/record/trials; cp -r small/record kept; exit $code"
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script]).current_dir(bench.dir.path());
    let said: support::Said = command.output().expect("unshare").into();
    let said = said.exits(2);
    assert!(said.err.contains("The disk is full") && said.err.contains("--resume"), "{}", said.err);
    let record = Record::open(&bench.path("kept")).expect("the record is whole");
    assert!(!record.trials.is_empty() && record.damaged.is_empty(), "{:?}", record.damaged);
    bench.assert_nothing_left();
}

/// Beyond `ulimit -f` the kernel sends SIGXFSZ, which would end contend without a word.
#[test]
fn a_limit_of_file_sizes_is_an_error_that_names_the_file() {
    let bench = Bench::new();
    bench.tiny(&["--rounds", "1"]).ran();
    let report = format!("ulimit -f 8; exec {} report record", support::tool());
    let mut command = std::process::Command::new("bash");
    command.args(["-c", &report]).current_dir(bench.dir.path());
    let said: support::Said = command.output().expect("bash").into();
    let said = said.exits(2);
    assert!(said.err.contains("File too large") && said.err.contains("report"), "{}", said.err);
    bench.assert_nothing_left();
}

/// Every commit is rejected, and no other check finds anything.
const REJECTED: &str = r#"
about = "rows that are never accepted"

[table.item]
ddl = "CREATE TABLE item (id INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 1))"
rows = 10

[table.item.columns]
id = { serial = 1 }
n = 0

[transaction.put]
kind = "write"
args = { id = { ref = "item.id" } }

[[transaction.put.step]]
sql = "UPDATE item SET n = 1 WHERE id = :id"
rows = 1

[profile.puts]
mix = { put = 1 }

[role.client]
processes = 1
clients = 1
"#;

/// A disk that rejects every commit leaves `nothing-done` alone. A constraint rejects them here, because a disk without any room
/// rejects the record, too.
#[test]
fn a_trial_without_a_commit_stops_the_run_on_a_full_disk_alone() {
    let bench = Bench::new();
    let mut study = fs::read_to_string(tiny_study()).expect("a study");
    for (from, to) in
        [("\"bank\"", "\"rejected.toml\""), ("\"mixed\"", "\"puts\""), ("es = 2", "es = 1"), ("ts = 2", "ts = 1")]
    {
        study = study.replace(from, to);
    }
    fs::write(bench.path("study.toml"), study).expect("written");
    fs::write(bench.path("rejected.toml"), REJECTED).expect("written");
    let tool = support::tool();
    let run = |disk: &str, size: &str| {
        format!(
            "mkdir {disk}; mount -t tmpfs -o size={size} tmpfs {disk}; {tool} run study.toml --out {disk}/record \
             --only TRUNCATE/FULL --rounds 1 --allow-tmpfs --quiet; echo code $?; cp -r {disk}/record kept-{disk}; "
        )
    };
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", &(run("small", "12m") + &run("large", "200m"))]).current_dir(bench.dir.path());
    let said: support::Said = command.output().expect("unshare").into();
    let codes: Vec<&str> = said.out.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 2", "code 1"], "{said:?}");
    assert!(said.err.contains("The disk is full") && said.err.contains("nothing-done"), "{}", said.err);
    let small = Record::open(&bench.path("kept-small")).expect("the record is whole");
    assert!(small.trials.is_empty() && small.run.finished.is_none(), "{:?}", small.trials);
    let large = support::reasons(&bench.path("kept-large"));
    assert!(large.len() == 1 && large[0].1.contains(&"nothing-done".to_string()), "{large:?}");
    bench.assert_nothing_left();
}

/// A full disk while data is copied says nothing about the contender; when the copy is removed there is room again.
#[test]
fn a_disk_that_is_full_before_a_trial_stops_the_run_and_makes_no_trial_invalid() {
    let bench = Bench::new();
    let (study, tool) = (tiny_study(), support::tool());
    let run = |what: &str| format!("{tool} run {what} --quiet; echo code $?");
    let begin = format!("{study} --out small/record --only TRUNCATE/FULL --rounds 1 --scale 330 --allow-tmpfs");
    // Room for the data that is loaded, and not for a copy of it.
    let script = format!(
        "mkdir small && mount -t tmpfs -o size=12m tmpfs small && {}; cp -r small/record stopped; \
         mount -t tmpfs -o remount,size=120m tmpfs small && {}; cp -r small/record kept",
        run(&begin),
        run("--resume small/record")
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script]).current_dir(bench.dir.path());
    let said: support::Said = command.output().expect("unshare").into();
    assert!(said.out.starts_with("code 2\n"), "{said:?}");
    assert!(said.err.contains("The disk is full") && said.err.contains("--resume"), "{}", said.err);
    let stopped = Record::open(&bench.path("stopped")).expect("the record is whole");
    assert!(stopped.trials.is_empty() && stopped.run.finished.is_none(), "{:?}", stopped.trials);
    let kept = Record::open(&bench.path("kept")).expect("the record is whole");
    assert!(kept.trials.len() == 1 && kept.run.finished.is_some(), "{said:?}");
    bench.assert_nothing_left();
}

/// A worker reports in its engine's words that it can create no file; when it has ended there are inodes again.
#[test]
fn a_disk_without_inodes_makes_no_trial_invalid() {
    let bench = Bench::new();
    let (study, tool) = (tiny_study(), support::tool());
    // Enough for the record, for the files of the trial, for those of its database, or for the first trial alone.
    for inodes in [16, 20, 22, 24] {
        let script = format!(
            "mkdir -p small && mount -t tmpfs -o size=200m,nr_inodes={inodes} tmpfs small && \
             {tool} run {study} --out small/record --rounds 1 --allow-tmpfs --quiet; cp -r small/record stopped-{inodes}; \
             mount -o remount,size=200m,nr_inodes=10000 small && {tool} run --resume small/record --quiet; \
             cp -r small/record kept-{inodes}"
        );
        let mut command = std::process::Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script]).current_dir(bench.dir.path());
        let said: support::Said = command.output().expect("unshare").into();
        assert!(said.err.contains("The disk is full") && said.err.contains("--resume"), "{inodes}: {}", said.err);
        for when in ["stopped", "kept"] {
            let record = bench.path(&format!("{when}-{inodes}"));
            assert_eq!(support::wrong_in(&record), [], "{inodes} inodes, {when}");
        }
        let kept = Record::open(&bench.path(&format!("kept-{inodes}"))).expect("the record is whole");
        assert!(kept.trials.len() == 2 && kept.run.finished.is_some(), "{inodes}: {said:?}");
    }
    bench.assert_nothing_left();
}
