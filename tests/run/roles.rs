//! The built tool from outside: several roles in one process, and many databases.

use crate::support::{Bench, root, sound};
use contend::record::store::Record;

fn many(bench: &Bench, args: &[&str]) -> Record {
    let study = root().join("tests/fixtures/many.toml").display().to_string();
    let mut all = vec!["run", &study, "--out", "record", "--quiet", "--rounds", "1"];
    all.extend(args);
    sound(&bench.path("record"), || bench.contend(&all));
    Record::open(&bench.path("record")).expect("a record")
}

#[test]
fn roles_in_one_process_are_counted_apart() {
    let bench = Bench::new();
    let record = many(&bench, &[]);
    let trial = &record.trials[0];
    assert_eq!(trial.workers.len(), 1);
    let roles: Vec<_> = trial.workers[0].roles.iter().map(|r| (r.role.as_str(), r.first_client, r.clients)).collect();
    assert_eq!(roles, [("writer", 0, 3), ("reader", 3, 9)]);
    let mut rows = csv::Reader::from_path(bench.path("record/transactions.csv")).expect("a table");
    let head = rows.headers().expect("a head").clone();
    let at = |name: &str| head.iter().position(|found| found == name).expect(name);
    let mut found: Vec<(String, String)> = rows
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| (row[at("role")].to_string(), row[at("transaction")].to_string()))
        .collect();
    found.sort();
    let expected = [("reader", "newest"), ("writer", "add")];
    assert_eq!(found, expected.map(|(a, b)| (a.to_string(), b.to_string())));
    bench.assert_nothing_left();
}

#[test]
fn every_database_is_checked_by_itself() {
    let bench = Bench::new();
    let record = many(&bench, &["--set", "databases=20", "--set", "readers=1"]);
    let trial = &record.trials[0];
    assert_eq!(trial.clients, 40);
    assert_eq!(trial.invariants.len(), 20 * 2, "the workload's and the engine's own, in each");
    let entries: Vec<u64> =
        trial.invariants.iter().filter(|i| i.name == "entries").map(|i| i.found.parse().expect("a count")).collect();
    assert!(entries.iter().all(|n| *n > 20), "a database in which nothing was added: {entries:?}");
}

#[test]
fn a_window_is_as_long_as_asked_for() {
    let bench = Bench::new();
    let record = many(&bench, &["--set", "duration=100ms,200ms"]);
    let mut lengths: Vec<u64> = record.trials.iter().map(|t| t.window_end_ns - t.window_start_ns).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [100_000_000, 200_000_000]);
    let report = std::fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(report.contains("a window of 100 ms or a window of 200 ms"), "{report}");
}
