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

#[test]
fn numbers_that_do_not_fit_the_workload_are_named_with_the_line_of_the_study() {
    let bench = Bench::new();
    let fixtures = root().join("tests/fixtures");
    let [study, workload] =
        ["many.toml", "many-workload.toml"].map(|name| std::fs::read_to_string(fixtures.join(name)).expect("readable"));
    let presets = "\n[preset.size.large]\nreaders = 9\n[preset.size.none]\ndatabases = 0\n";
    std::fs::write(bench.path("many-workload.toml"), workload + presets).expect("written");
    let said = |axes: &str, load: &str, args: &[&str]| {
        let text = study.replace("databases = [3]\nreaders = [3]", axes).replace("cycle = 64", load);
        std::fs::write(bench.path("s.toml"), text).expect("written");
        bench.contend(&[&["run", "s.toml", "--quiet", "--out", "record"], args].concat()).exits(2).err
    };
    for (axes, load, at) in [
        ("size = [\"large\", \"huge\"]", "", "s.toml:23: axes.size[2]: many-workload.toml:"),
        ("size = [\"none\"]", "", "s.toml:23: axes.size[1]: many-workload.toml:"),
        ("databases = [3, 0]\nreaders = [3]", "", "s.toml:23: axes.databases[2]: many-workload.toml:"),
        ("readers = [3]", "clients = 4", "s.toml:20: load.clients: changes nothing: every role of workload"),
    ] {
        let said = said(axes, load, &[]);
        assert!(said.contains(at), "{at}\n{said}");
    }
    let typed = said("size = [\"large\"]", "", &["--set", "size=huge"]);
    assert!(typed.contains("preset.size: there is no `huge`") && !typed.contains("s.toml"), "{typed}");
}
