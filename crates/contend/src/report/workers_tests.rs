//! Tests of what reports say about workers: overhead, pauses, versions.

use super::testing::{Story, resolve_again};
use super::*;
use crate::analysis::Findings;
use crate::record::model::{Overhead, Trial, WorkerInfo};
use crate::record::store::Record;
use tempfile::TempDir;

/// A record with these facts of workers, which depend on the trial's contender and condition.
fn record(story: &Story, says: impl Fn(usize, usize, &mut WorkerInfo)) -> (TempDir, Record) {
    let dir = tempfile::tempdir().unwrap();
    let mut record = story.write(dir.path());
    for trial in &mut record.trials {
        let (contender, condition) = (trial.slot.contender, trial.slot.condition);
        trial.workers.iter_mut().for_each(|worker| says(contender, condition, worker));
    }
    (dir, record)
}

fn file(record: &Record, name: &str) -> String {
    render(&Findings::new(record)).unwrap().into_iter().find(|file| file.name == name).unwrap().contents
}

/// What is between the heading of the pauses and their note.
fn pauses(rendered: &str) -> &str {
    let from = rendered.find("Pauses and compiling").expect("the table");
    &rendered[from..from + rendered[from..].find("Everything is counted").expect("its note")]
}

/// The row of a text's table that has all these words, with its spaces made one.
#[track_caller]
fn row(table: &str, words: &[&str]) -> String {
    let line = table.lines().find(|line| words.iter().all(|word| line.contains(word)));
    plain(line.unwrap_or_else(|| panic!("no row with {words:?}: {table}")))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn tell(worker: &mut WorkerInfo, facts: &[(&str, u64)]) {
    worker.done.extend(facts.iter().map(|(name, n)| (name.to_string(), n.to_string())));
}

/// Sets pauses: number, sum and longest in milliseconds.
fn collects(worker: &mut WorkerInfo, (count, all, longest): (u64, u64, u64)) {
    let ns = [("gc_pause_ns", all * 1_000_000), ("gc_pause_ns_max", longest * 1_000_000)];
    tell(worker, &[&[("gc_pauses", count)][..], &ns].concat());
}

/// Two rounds in which workers report different facts; in one cell the second round has longer pauses and one process
/// more.
fn with_pauses() -> (TempDir, Record, usize) {
    const LOOP: [(&str, u64); 3] = [
        ("event_loop_lag_ns_p99", 1_500_000),
        ("event_loop_lag_ns_max", 12_000_000),
        ("event_loop_busy_permille", 985),
    ];
    const COMPILER: [(&str, u64); 2] = [("jit_ns", 900_000_000), ("jit_in_window_ns", 15_000_000)];
    let story = Story { rounds: 2, invalid: vec![], ..Story::default() };
    let (dir, mut record) = record(&story, |contender, condition, worker| match (contender, condition) {
        (0, 0) => collects(worker, (2, 4, 3)),
        (0, _) => collects(worker, (20, 40, 9)),
        (1, _) => tell(worker, &LOOP),
        (2, 0) => tell(worker, &COMPILER),
        // An older worker.
        (2, _) => tell(worker, &COMPILER[..1]),
        _ => (),
    });
    let slots = |trial: &Trial| (trial.slot.round, trial.slot.contender, trial.slot.condition);
    let second = record.trials.iter().position(|trial| slots(trial) == (2, 0, 0)).unwrap();
    let workers = &mut record.trials[second].workers;
    collects(&mut workers[0], (3, 6, 5));
    workers.push(WorkerInfo { number: 1, ..workers[0].clone() });
    (dir, record, second)
}

#[test]
fn pauses_stand_under_each_condition_with_a_row_for_each_contender() {
    let (_dir, mut record, second) = with_pauses();
    let text = file(&record, "report.txt");
    let table = pauses(&text);
    assert_eq!(row(table, &["WAL/FULL", "public"]), "WAL/FULL public 8.00 ms 5.00 ms - - - -");
    assert_eq!(row(table, &["WAL/FULL", "write-burst"]), "WAL/FULL write-burst 40.0 ms 9.00 ms - - - -");
    assert_eq!(row(table, &["DELETE/EXTRA", "public"]), "DELETE/EXTRA public - - 1.50 ms 12.0 ms 98.5 % -");
    assert_eq!(row(table, &["DELETE/FULL", "public"]), "DELETE/FULL public - - - - - 15.0 ms");
    assert_eq!(row(table, &["DELETE/FULL", "write-burst"]), "DELETE/FULL write-burst - - - - - -");
    assert!(!table.contains("NORMAL"), "a worker without a report has no row: {table}");
    let small = ["(4 runs)", "(20 runs)", "(of 900 ms)"];
    assert!(small.iter().all(|small| plain(table).contains(small)), "{table}");
    assert!(
        plain(&text).contains("beginning of the run-in") && plain(&text).contains("PHP frees unreferenced"),
        "{text}"
    );
    // Invalid trials are left out.
    record.trials[second].invalid.push(crate::outcome::reason::Invalid::Invariant.because("planted"));
    let text = file(&record, "report.txt");
    assert_eq!(row(pauses(&text), &["WAL/FULL", "public"]), "WAL/FULL public 4.00 ms 3.00 ms - - - -");
}

#[test]
fn pauses_stand_on_the_page_too() {
    let (_dir, record, _) = with_pauses();
    let html = file(&record, "report.html");
    let rows: Vec<&str> = pauses(&html).split("<tr").filter(|row| row.contains("<td")).collect();
    assert_eq!(rows.len(), 6, "three contenders under two conditions");
    let of = |label: &str| rows.iter().find(|row| row.contains(label)).unwrap();
    assert!(of("WAL/FULL").contains("8.00 ms") && of("WAL/FULL").contains("4 runs"), "{rows:?}");
    assert!(of("DELETE/EXTRA").contains("98.5\u{a0}%") && !of("DELETE/EXTRA").contains(" runs<"), "{rows:?}");
    assert!(of("DELETE/FULL").contains("of 900 ms"), "{rows:?}");
}

#[test]
fn a_report_without_pauses_has_no_table_of_them() {
    let (_dir, record) = record(&Story { rounds: 1, ..Story::default() }, |_, _, _| ());
    assert!(!file(&record, "report.txt").contains("Pauses and compiling"));
}

#[test]
fn where_contenders_differ_each_version_names_whose_it_is() {
    let (_dir, record) = record(&Story { rounds: 1, ..Story::default() }, |contender, _, worker| {
        let driver = if contender < 2 { "alpha 1.0" } else { "beta 2.0" };
        worker.hello.insert("driver".to_string(), driver.to_string());
        if contender == 4 {
            worker.hello.insert("vm".to_string(), "a machine".to_string());
        }
    });
    let markdown = file(&record, "report.md");
    let machine = &markdown[markdown.find("Machine and disk").expect("the section")..];
    let row = |what: &str| machine.lines().filter(|l| l.starts_with(&format!("| {what} "))).collect::<Vec<_>>();
    let drivers = row("worker: driver");
    assert_eq!(drivers.len(), 2, "{drivers:?}");
    assert!(drivers[0].contains("alpha 1.0 (WAL/FULL, DELETE/EXTRA)"), "{drivers:?}");
    assert!(drivers[1].contains("beta 2.0 (DELETE/FULL, WAL/NORMAL, WAL/NORMAL deferred)"), "{drivers:?}");
    assert!(row("worker: vm")[0].contains("a machine (WAL/NORMAL deferred)"), "who has none is not meant: {machine}");
    assert!(row("worker: engine")[0].contains("SQLite 3.53.2 |"), "the same everywhere needs no names: {machine}");
}

#[test]
fn a_workers_own_cost_that_is_not_known_or_of_another_model_is_said() {
    let (_dir, mut record) = record(&Story { rounds: 1, ..Story::default() }, |_, _, _| ());
    let contenders = &mut record.run.study.contenders;
    contenders[0].driver = "java-sqlite".to_string();
    contenders[1].driver = "java-sqlite".to_string();
    contenders[1].model = "pool".to_string();
    contenders[2].driver = "mattn".to_string();
    contenders[2].model = "pool".to_string();
    resolve_again(&mut record.run.study);
    record.run.overheads_missing = vec!["go-null".to_string()];
    let overhead = |driver: &str| Overhead {
        driver: driver.to_string(),
        condition: 0,
        operations: 50_000,
        ns_per_operation: 400,
        ns_p999: 900,
        ns_max: 2_000_000,
    };
    record.run.overheads = vec![overhead("java-null")];
    let markdown = file(&record, "report.md");
    assert!(
        markdown.contains("Not measured, because the worker with the null driver was not there: go-null."),
        "{markdown}"
    );
    // mattn has no metric to compare with.
    assert!(markdown.contains("(pool instead of thread: DELETE/EXTRA)"), "{markdown}");
    record.run.overheads.clear();
    record.run.overheads_missing.clear();
    assert!(!file(&record, "report.md").contains("What the workers take"));
}
