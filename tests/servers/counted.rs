//! What a server counts of itself, compared with the samples and with the flushes of the disk.

use crate::support::place::{Place, record};
use crate::support::{root, tool};
use contend::outcome::reason::Invalid;
use contend::record::model::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with servers that start with a library in which a sync does nothing.
fn servers_that_do_not_sync(place: &Place) -> PathBuf {
    let dir = place.bench.path("bin");
    fs::create_dir(&dir).expect("made");
    let library = dir.join("no_sync.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(root().join("tests/trial/no_sync.c"));
    assert!(compiler.status().is_ok_and(|status| status.success()));
    for (name, places) in [
        ("postgres", "/usr/lib/postgresql/*/bin"),
        ("initdb", "/usr/lib/postgresql/*/bin"),
        ("mariadbd", "/usr/sbin"),
        ("mariadb-install-db", "/usr/bin"),
    ] {
        let real = format!("for real in {places}/{name}; do exec \"$real\" \"$@\"; done");
        let script = dir.join(name);
        let loaded =
            if name.ends_with('s') || name.ends_with("bd") { library.display().to_string() } else { String::new() };
        fs::write(&script, format!("#!/bin/sh\nexport LD_PRELOAD='{loaded}'\n{real}\n")).expect("written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("open to servers");
    dir
}

/// Trials of the durable contenders, and the report. `servers` are directories of programs of servers.
fn durable(place: &Place, servers: Option<&Path>, args: &[&str]) -> (Vec<Trial>, String) {
    let study = crate::support::place::study();
    let fixed = ["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--window", "1s", "--again", "0"];
    let mut command = place.command(&[&fixed[..], args].concat());
    servers.map(|dir| command.env("CONTEND_SERVERS", dir));
    command.output().expect("the tool starts");
    let report = fs::read_to_string(place.bench.path("record/report.md")).expect("a report");
    place.assert_nothing_left();
    (record(place).trials.into_iter().filter(|trial| trial.server.is_some()).collect(), report)
}

fn said(trial: &Trial, kind: Invalid, words: &str) -> bool {
    trial.invalid.iter().any(|reason| reason.kind == kind && reason.detail.contains(words))
}

/// Whether the kernel counts a flush of this disk for each sync.
fn flushes_are_counted(trials: &[Trial]) -> bool {
    trials.iter().all(|trial| trial.server.as_ref().is_some_and(|server| server.shows_syncs()))
}

const BY_ITS_REPORT: &str = "syncs not seen from outside";

#[test]
fn a_server_that_does_not_sync_is_found_where_flushes_are_counted() {
    let honest = Place::new();
    let (trials, report) = durable(&honest, None, &["--only", "*s durable", "--only", "mariadb durable"]);
    let counted = flushes_are_counted(&trials);
    assert_eq!(report.contains(BY_ITS_REPORT), !counted, "{report}");
    let accused: Vec<_> = trials.iter().filter(|trial| said(trial, Invalid::NotCredible, "")).collect();
    assert!(trials.len() == 2 && accused.is_empty(), "{accused:?}");
    for contender in ["postgres durable", "mariadb durable"] {
        if !counted {
            println!("NOT VERIFIED: a sync flushes no disk here, as the kernel counts");
        } else if !(0..TRIES).any(|_| is_found(contender)) {
            println!("NOT VERIFIED: other programs flushed the disk as often as {contender} says that it did");
        }
    }
}

/// Other tests flush the disk, too.
const TRIES: u32 = 5;

/// Whether a trial on a server that does not sync has that reason. It may lack it only if others flushed the disk often enough.
fn is_found(contender: &str) -> bool {
    let place = Place::new();
    let bin = servers_that_do_not_sync(&place);
    let (trials, report) = durable(&place, Some(&bin), &["--only", contender]);
    assert_eq!(trials.len(), 1, "{report}");
    let found = said(&trials[0], Invalid::NotCredible, "since the server started: the server does not sync");
    let syncs = trials[0].server.as_ref().and_then(|server| server.syncs).expect("it reports syncs");
    let at_once = if contender.starts_with("postgres") { 1 } else { 4 };
    let hidden = syncs.flushes.is_some_and(|flushes| flushes * at_once >= syncs.count);
    assert!(found || hidden, "{contender}: {syncs:?}, {:?}", trials[0].invalid);
    found
}

/// The command of the real worker with a fault.
fn fake(fault: &str) -> String {
    format!("python3 '{}' --real '{} worker' --fault {fault}", root().join("workers/fake/fake.py").display(), tool())
}

#[test]
fn commits_that_are_left_out_of_the_binary_log_are_found() {
    let logged = ["--only", "mariadb durable", "--set", "log_bin=on", "--set", "sync_binlog=1"];
    let unlogged = fake("unlogged");
    for (command, found) in [(None, false), (Some(unlogged.as_str()), true)] {
        let place = Place::new();
        let instead: Vec<&str> = command.into_iter().flat_map(|command| ["--worker-command", command]).collect();
        let (trials, report) = durable(&place, None, &[&logged[..], &instead].concat());
        assert!(trials.len() == 1 && trials[0].settings["sql_log_bin"] == "1", "{report}");
        assert_eq!(said(&trials[0], Invalid::NotCredible, "to its binary log"), found, "{:?}", trials[0].invalid);
    }
}

/// Transactions that only read and are rolled back leave no other trace.
#[test]
fn rolled_back_transactions_that_no_sample_has_are_found() {
    let sql = ["BEGIN; SELECT 1; ROLLBACK"; 300].join("; ");
    let command = fake(&format!("meddle --sql \"{sql}\""));
    let place = Place::new();
    let args = ["--only", "postgres durable", "--processes", "1", "--worker-command", &command];
    let (trials, report) = durable(&place, None, &args);
    assert_eq!(trials.len(), 1, "{report}");
    assert!(
        said(&trials[0], Invalid::Accounts, "attempts that failed were left out or repeated"),
        "{:?}",
        trials[0].invalid
    );
}

/// Without these counts nothing contradicts commits that did not wait, or attempts without a sample.
#[test]
fn counts_that_a_session_sets_to_zero_are_found() {
    for sql in ["SELECT pg_stat_reset()", "SELECT pg_stat_reset_shared('wal')"] {
        let command = fake(&format!("meddle --sql \"{sql}\""));
        let place = Place::new();
        let args = ["--only", "postgres durable", "--processes", "1", "--worker-command", &command];
        let (trials, report) = durable(&place, None, &args);
        assert_eq!(trials.len(), 1, "{report}");
        assert!(said(&trials[0], Invalid::NotCredible, "were set to zero"), "{sql}: {:?}", trials[0].invalid);
    }
}
