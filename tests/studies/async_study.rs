//! The study of execution models, run for real: its published ordering, and what `contend report` makes of it. A run
//! of minutes on a quiet machine, so part of `make verify`; a glimpse of it is part of every run of the tests.

use crate::support::Bench;
use contend::record::parts::StudyRecord;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The rows of an exported CSV, by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let row = |line: &str| names.iter().map(|n| n.to_string()).zip(line.split(',').map(str::to_string)).collect();
    lines.map(row).collect()
}

fn number(rows: &[BTreeMap<String, String>], approach: &str, databases: &str, column: &str) -> f64 {
    let row = rows.iter().find(|row| row["approach"] == approach && row["num_databases"] == databases);
    let cell = &row.unwrap_or_else(|| panic!("no row for {approach}, {databases}"))[column];
    cell.parse().unwrap_or_else(|_| panic!("{column} of {approach} at {databases}: {cell:?}"))
}

#[test]
fn a_varied_part_is_shown_again_from_its_own_csv_and_its_trials_can_be_looked_at() {
    let bench = Bench::new();
    let sets = ["part=published", "databases=2", "write_delay_ms=20", "duration=400ms", "tokio_threads=1,2"];
    let mut args = vec!["run", "async", "--quick", "--out", "record", "--quiet", "--only", "*dedicated*"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    bench.contend(&args).ran();
    let csv = "record/published/benchmark.csv";
    let found = rows(&bench.path(csv));
    let threads: Vec<&str> = found.iter().map(|row| row["worker_threads"].as_str()).collect();
    assert_eq!(threads, ["1", "2"]);
    assert!(found.iter().all(|row| row["approach"] == "tokio_rusqlite"), "{found:?}");
    assert!(number(&found, "tokio_rusqlite", "2", "write_completion_ratio") > 0.2);
    bench.contend(&["report", "--import", csv, "--out", "again"]).exits(0);
    let page = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(page.contains("benchmark.csv") && page.contains("benchmark.gnuplot"), "the report names its files");
    // What the plan of a trial names is two databases, also though the workload has one by default.
    let plan = bench.contend(&["plan", "show", "--record", "record", "--part", "published", "--trial", "2"]).exits(0);
    let databases: Vec<&str> = plan.out.lines().filter(|line| line.starts_with("database\t")).collect();
    assert_eq!(databases, ["database\tfile\tapp-0.db", "database\tfile\tapp-0-1.db"]);
    bench.assert_nothing_left();
}

#[test]
#[ignore = "takes five minutes, and a quiet machine"]
fn quick_shows_the_published_ordering() {
    let bench = Bench::new();
    bench.contend(&["run", "async", "--quick", "--out", "record", "--quiet"]).exits(0);
    let found = rows(&bench.path("record/published/benchmark.csv"));
    let done = |approach: &str, databases: &str| number(&found, approach, databases, "write_completion_ratio");
    let p99 = |approach: &str, databases: &str| number(&found, approach, databases, "p99_read_latency_ms");
    assert!(done("direct_blocking", "10") < 0.45 && done("direct_blocking", "50") < 0.1, "direct collapses");
    for databases in ["1", "10", "50"] {
        for approach in ["spawn_blocking", "tokio_rusqlite"] {
            assert!(done(approach, databases) > 0.95, "{approach} at {databases}");
        }
        assert!((900.0..1500.0).contains(&p99("tokio_rusqlite", databases)), "dedicated is flat");
    }
    assert!(p99("spawn_blocking", "50") > 1.5 * p99("tokio_rusqlite", "50"), "spawn-blocking grows");
    let record = StudyRecord::open(&bench.path("record")).expect("a record");
    assert!(record.parts.iter().flat_map(|(_, part)| &part.trials).all(|trial| trial.invalid.is_empty()));
}
