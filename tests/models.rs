//! Every execution model of the built tool keeps the invariants of every workload, on a file and in memory.

mod support;

use contend::record::store::Record;
use support::{Bench, root};

/// What a machine under foreign load can do to a trial without anything being wrong with it.
const OF_THE_MACHINE: [&str; 3] = ["littles-law", "generator-limited", "not-credible"];

fn keeps_the_data_whole(fixture: &str) {
    let bench = Bench::new();
    let study = root().join("tests/fixtures").join(fixture).display().to_string();
    let said = bench.contend(&["run", &study, "--rounds", "1", "--out", "record", "--quiet"]);
    let record = Record::open(&bench.path("record")).unwrap_or_else(|e| panic!("{e:#}: {said:?}"));
    assert_eq!(record.trials.len(), 10, "{said:?}");
    for trial in &record.trials {
        let wrong: Vec<_> = trial.invalid.iter().filter(|r| !OF_THE_MACHINE.contains(&r.kind.as_str())).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", trial.contender);
        assert!(trial.invariants.len() >= 4 && trial.invariants.iter().all(|i| i.holds), "{trial:?}");
        let in_memory = trial.contender.contains("storage=memory");
        assert_eq!(trial.settings["journal_mode"], if in_memory { "memory" } else { "wal" }, "{}", trial.contender);
        let threads = trial.settings.get("tokio_threads").map(String::as_str);
        let expected = match (trial.contender.contains("/thread:"), in_memory) {
            (true, _) => None,
            (false, true) => Some("2"),
            (false, false) => Some("4"),
        };
        assert_eq!(threads, expected, "{}", trial.contender);
    }
    bench.assert_nothing_left();
}

#[test]
fn a_small_workload() {
    keeps_the_data_whole("models-bank.toml");
}

#[test]
fn a_larger_workload() {
    keeps_the_data_whole("models-wordpress.toml");
}

#[test]
fn data_in_memory_is_not_opened_twice() {
    let bench = Bench::new();
    let study = root().join("tests/fixtures/models-bank.toml").display().to_string();
    let args = ["--contender", "sqlite/rusqlite/thread:storage=memory", "--rounds", "1", "--out", "record", "--quiet"];
    let mut all = vec!["run", &study, "--only", "sqlite/rusqlite/thread:*storage=memory*"];
    all.extend(args);
    let said = bench.contend(&all).exits(1);
    assert!(said.out.contains("more than once") || said.err.contains("more than once"), "{said:?}");
    bench.assert_nothing_left();
}
