//! `contend limit` on services of known capacity: transactions that are each stopped by one thing.

use crate::support::{Bench, root};
use contend::record::store::Record;
use std::fs;

/// Half of the operations hold the lock for 5 ms.
const MOST_PER_S: f64 = 400.0;

fn study() -> String {
    root().join("tests/fixtures/limit/study.toml").display().to_string()
}

#[test]
fn the_highest_rate_is_below_what_the_lock_allows() {
    let bench = Bench::new();
    let args = ["limit", &study(), "--bound", "response_ns_p50<=60ms", "--rates-only", "--out", "found"];
    let said = bench.contend(&args).exits(0);
    assert!(said.out.contains("plain carries") && said.err.contains("closed loop:"), "{said:?}");
    bench.assert_nothing_left();

    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let found = saved["capacities"][0]["rate_per_s"].as_float().expect("a rate");
    // A machine may be four times slower, and none can be faster than the lock; a short window sees a part of the queue.
    assert!((MOST_PER_S / 5.0..MOST_PER_S * 1.15).contains(&found), "{found}");

    // Each probe is an ordinary trial at its place.
    let record = Record::open(&bench.path("found/probes")).expect("a record");
    let probes = saved["probes"].as_array().expect("probes");
    assert_eq!((record.trials.len(), record.damaged.len()), (probes.len(), 0));
    for (trial, probe) in record.trials.iter().zip(probes) {
        let axes = &record.run.study.conditions[trial.slot.condition].axes;
        let rate = axes.get("rate_per_s").map(|rate| rate.parse::<f64>().expect("a number"));
        assert_eq!(rate, probe.get("rate_per_s").and_then(toml::Value::as_float), "{probe}");
        assert_eq!(i64::from(trial.slot.trial), probe["trial"].as_integer().expect("a number"));
    }
    let before = fs::read_to_string(bench.path("found/report.md")).expect("a report");
    let again = bench.contend(&["report", "found"]).exits(0);
    assert!(said.out.contains(&again.out), "{}", again.out);
    assert_eq!(fs::read_to_string(bench.path("found/report.md")).expect("a report"), before);
}

/// What a search of a profile says after the rate of its only contender, with every suspect relaxed in three rounds.
fn stopped_by(profile: &str, args: &[&str]) -> String {
    let bench = Bench::new();
    let profile = format!("profile={profile}");
    let fixed =
        ["limit", &study(), "--bound", "response_ns_p50<=60ms", "--rounds", "3", "--out", "found", "--set", &profile];
    let said = bench.contend(&[&fixed[..], args].concat()).exits(0);
    bench.assert_nothing_left();
    let from = said.out.find("plain carries").expect("an answer");
    let to = said.out[from..].find("\n\n").expect("the end of the answer");
    said.out[from..from + to].split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "takes four minutes on two quiet cores; make verify runs it"]
fn a_lock_that_is_held_by_a_pause_is_named() {
    let answer = stopped_by("half", &[]);
    assert!(answer.contains("stopped by its one writer") && answer.contains("with half the writes"), "{answer}");
}

#[test]
#[ignore = "takes two minutes on two quiet cores; make verify runs it"]
fn a_pool_of_one_is_named() {
    let answer = stopped_by("naps", &["--processes", "1", "--clients", "1"]);
    assert!(answer.contains("stopped by the number of clients"), "{answer}");
}

#[test]
#[ignore = "takes three minutes on two quiet cores; make verify runs it"]
fn one_processor_is_named() {
    let answer = stopped_by("sums", &[]);
    assert!(answer.contains("stopped by the processors"), "{answer}");
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    let study = study();
    for (args, part) in
        [(&["--bound", "response_ns_p99<50ms"][..], "write METRIC<=VALUE"), (&["--set", "rate=100"], "rate of its own")]
    {
        let said = bench.contend(&[&["limit", &study, "--out", "none"], args].concat()).exits(2);
        assert!(said.err.contains(part), "{}", said.err);
        assert!(!bench.path("none").exists());
    }
    fs::create_dir(bench.path("taken")).and_then(|()| fs::write(bench.path("taken/file"), "x")).expect("a file");
    assert!(bench.contend(&["limit", &study, "--out", "taken"]).exits(2).err.contains("not empty"));
}
