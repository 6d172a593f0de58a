//! A web application on Flask that gets `database is locked`: from nothing to what would have helped.

use super::{capture, script, shown};
use crate::support::{Bench, root};
use std::process::{Command, Stdio};

/// A Python that has Flask; `None` says what is not verified.
fn python() -> Option<&'static str> {
    let has = |python: &&str| {
        let imported = Command::new(python).args(["-c", "import flask"]).stderr(Stdio::null()).status();
        imported.is_ok_and(|status| status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has);
    assert!(found.is_some() || std::env::var_os("CONTEND_TESTS_MUST_HAVE_WORKERS").is_none(), "Flask is missing");
    if found.is_none() {
        println!("NOT VERIFIED: a Flask application: no Python here has Flask (python3-flask)");
    }
    found
}

/// How many requests ended with a status.
fn requests(said: &str, status: &str) -> u64 {
    let words: Vec<&str> = said.split_whitespace().collect();
    words.windows(2).find(|two| two[0] == status).map_or(0, |two| two[1].parse().expect("a number"))
}

#[test]
fn lock_errors_and_what_would_have_removed_them() {
    let Some(python) = python() else { return };
    let bench = Bench::new();
    let said = capture(&bench, &[], &[python, "-B", &script("flask/load.py"), "self", "40"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    assert!(said.err.contains("contend run taken --quick"), "the next step is named: {said:?}");
    let (failed, fine) = (requests(&said.out, "500:"), requests(&said.out, "200:"));
    assert!(failed > 0 && failed + fine == 320, "{said:?}");

    let summary = shown(&bench);
    assert_eq!(summary["lock_errors"], failed, "each failed request is one lock error");
    let buys = summary["transactions"].as_array().expect("a list").iter().find(|kind| kind["writes"] == true);
    let buys = buys.expect("a transaction that writes");
    assert_eq!((buys["failed"].as_u64(), buys["begin"].as_str()), (Some(failed), Some("deferred")), "{buys}");
    let in_program = buys["in_program_ns"].as_u64().expect("a number");
    assert!(in_program >= 4_000_000, "5 ms of sleep: {buys}");
    assert!(buys["in_program_with_lock_ns"].as_u64() < Some(in_program / 2), "it sleeps before it writes: {buys}");

    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    assert!(!workload.contains("INSERT INTO item"), "what a program does when it starts is left out: {workload}");
    let between = workload.split_once("SELECT stock").and_then(|(_, rest)| rest.split_once("UPDATE item"));
    assert!(between.is_some_and(|(between, _)| between.contains("hold = ")), "the pause is where it was: {workload}");

    let only = ["--only", "as captured", "--only", "WAL and BEGIN IMMEDIATE", "--set", "load=captured"];
    let ran = bench.contend(&[&["run", "taken", "--quick", "--window", "400ms", "--allow-tmpfs"], &only[..]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    assert!(ran.out.contains("What would have helped python"), "{ran:?}");
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.replace("> ", "");
    let all = format!("WAL and BEGIN IMMEDIATE would have removed {failed} of {failed} lock errors");
    assert!(words.contains(&all), "{all}: {ran:?}");
    let records = std::fs::read_dir(bench.path("results")).expect("a record").flatten();
    let names: Vec<String> = records.map(|record| record.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name.ends_with("-taken-quick")), "named after the capture: {names:?}");

    // How much of the time two busy cores get decides the verdict; each verdict names the factor or says why there is none.
    let only = ["--only", "WAL and BEGIN IMMEDIATE", "--only", "PostgreSQL", "--set", "load=full"];
    let options = ["run", "taken", "--quick", "--window", "400ms", "--allow-tmpfs"];
    let ran = bench.contend(&[&options[..], &only[..]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ").replace("> ", "");
    let (_, answer) = words
        .split_once("Is PostgreSQL faster than SQLite with WAL and BEGIN IMMEDIATE, with clients that never pause?")
        .unwrap_or_else(|| panic!("the question: {ran:?}"));
    let factor =
        answer.split_once("PostgreSQL would have been ").and_then(|(_, rest)| rest.split_once(" times as fast ("));
    let is_number = factor.is_some_and(|(factor, _)| factor.parse::<f64>().is_ok_and(|factor| factor > 0.0));
    // On a machine so busy that no trial counts there is no verdict.
    let others = [
        "This run does not answer it: it has no valid trial",
        "No: with clients that never pause there is no difference.",
        "This run cannot tell:",
        "The two cannot be compared in this run:",
    ];
    assert!(is_number || others.iter().any(|other| answer.trim_start().starts_with(other)), "{ran:?}");
    assert!(!root().join("tests/capture/flask/shop.db").exists(), "the program works in the bench's directory");
}
