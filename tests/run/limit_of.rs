//! `contend limit --of`: the greatest number of clients, of processes, or of rows that meets a bound.

use crate::limit::study;
use crate::support::Bench;
use contend::record::model::Trial;
use contend::record::store::Record;
use contend::study::model::Condition;
use std::fs;

/// Searches `of` under a profile; every trial had the number of its condition, by `has`. Returns what was printed.
fn search(of: &str, args: &[&str], has: impl Fn(&Trial, u64)) -> String {
    let bench = Bench::new();
    let said = bench.contend(&[&["limit", &study(), "--of", of, "--out", "found"], args].concat()).exits(0);
    let json = bench.contend(&["report", "found", "--json"]).exits(0).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let found = json["contenders"][0]["number"].as_f64().expect("a number");
    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let missed = saved["probes"].as_array().expect("probes").iter().filter(|p| p["seen"].as_str() == Some("misses"));
    let missed: Vec<f64> = missed.map(|probe| probe["number"].as_integer().expect("a number") as f64).collect();
    assert!(found >= 1.0 && missed.iter().any(|missed| *missed > found && missed / found < 2.1), "{json} {missed:?}");

    let record = Record::open(&bench.path("found/probes")).expect("a record");
    assert!(record.trials.len() > 2, "{json}");
    for trial in &record.trials {
        let condition: &Condition = &record.run.study.conditions[trial.slot.condition];
        assert!(!condition.axes.contains_key("rate_per_s"), "{condition:?}");
        let number = condition.axes[of].parse().expect("a number");
        has(trial, number);
    }
    bench.assert_nothing_left();
    said.out
}

#[test]
fn the_most_clients_that_meet_a_bound_are_found() {
    let args = ["--set", "profile=sums", "--bound", "service_ns_p50<=100ms"];
    let said = search("clients", &args, |trial, clients| {
        assert_eq!(u64::from(trial.clients), clients * 2);
        let words = if clients == 1 { "1 client ".to_string() } else { format!("{clients} clients ") };
        assert!(trial.condition.starts_with(&format!("sums, {words}for ")), "{}", trial.condition);
    });
    assert!(said.contains("With how many clients") && said.contains("Most clients"), "{said}");
}

#[test]
fn the_most_processes_that_meet_a_bound_are_found() {
    let args = ["--set", "profile=sums", "--clients", "1", "--bound", "service_ns_p50<=50ms"];
    let said = search("processes", &args, |trial, processes| {
        assert_eq!((u64::from(trial.clients), trial.workers.len() as u64), (processes, processes));
    });
    assert!(said.contains("With how many processes") && said.contains("Most processes"), "{said}");
}

/// A scan of all rows takes longer with more of them. At the bound it reads about 25,000, a quarter of the most.
const SCAN: [&str; 8] =
    ["--set", "profile=scans", "--processes", "1", "--clients", "1", "--bound", "service_ns_p50<=500us"];

#[test]
fn the_greatest_scale_that_meets_a_bound_is_found() {
    let said = search("scale", &SCAN, |trial, scale| assert_eq!(trial.scale["items"], scale * 100));
    assert!(said.contains("Up to what scale") && said.contains("Greatest scale"), "{said}");
}

#[test]
fn the_greatest_number_of_a_workload_that_meets_a_bound_is_found() {
    let said = search("items", &[&SCAN[..], &["--scale", "100"]].concat(), |trial, items| {
        assert_eq!(trial.scale["items"], items * 100);
    });
    assert!(said.contains("With how many items") && said.contains("Most items"), "{said}");
}

#[test]
fn what_is_no_number_of_the_load_is_refused() {
    let bench = Bench::new();
    for (axis, part) in [("nothing", "nothing"), ("cache_size", "not a number of the load"), ("duration", "duration")] {
        let said = bench.contend(&["limit", &study(), "--of", axis, "--out", "none"]).exits(2);
        assert!(said.err.contains(part), "{}", said.err);
    }
    let said = bench.contend(&["limit", &study(), "--of", "clients", "--clients", "3", "--out", "none"]).exits(2);
    assert!(said.err.contains("leave one out") && !bench.path("none").exists(), "{}", said.err);
}
