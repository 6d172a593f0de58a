//! The study of languages, as users run it: drivers whose workers are not built are left out and named, each worker's
//! overhead is next to the results, and the page of defaults says what these drivers really do.

use crate::support;
use crate::support::workers::needed;
use crate::support::{Bench, root};
use contend::record::parts::StudyRecord;
use contend::study::model::Study;
use contend::study::{Choices, LIBRARY, resolve_parts};
use std::collections::BTreeMap;

fn part(name: &str) -> Study {
    let choices = Choices::new(contend::study::model::Variant::Corrected, contend::study::model::Extent::Full);
    let whole = resolve_parts(&LIBRARY.find("languages").expect("built in"), &choices).expect("a right study");
    whole.studies.into_iter().find(|study| study.part.as_deref() == Some(name)).expect("the part")
}

/// The tables of a text, as rows of cells; the first row has the titles.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    lines.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('\\', "")).collect()).collect()
}

/// The table that the page of defaults has for a part.
fn on_the_page(part: &str) -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(root().join("docs/driver-defaults.md")).expect("the page");
    let begin = format!("<!-- {part}: begin -->");
    let end = format!("<!-- {part}: end -->");
    let from = page.find(&begin).expect("the place of the part") + begin.len();
    rows(&page[from..from + page[from..].find(&end).expect("the end of the part")])
}

#[test]
fn drivers_that_are_not_built_are_left_out_and_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("none")).expect("a directory");
    let args =
        ["run", "languages", "--quick", "--set", "part=read", "--rounds", "6", "--window", "20ms", "--out", "record"];
    let said: support::Said =
        bench.command(&args).env("CONTEND_WORKERS", bench.path("none")).output().expect("the tool starts").into();
    let said = said.settled(&bench.path("record"));
    for (label, command) in [
        ("Go mattn", "make workers-go"),
        ("Python sqlite3", "make workers-python"),
        ("PHP PDO", "make workers-php"),
        ("Node better-sqlite3", "make workers-node"),
        ("Java xerial", "make workers-java"),
    ] {
        let line = said.err.lines().find(|line| line.starts_with(&format!("Left out: {label}.")));
        assert!(line.is_some_and(|line| line.contains(command)), "{label}: {}", said.err);
    }
    let report = std::fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(report.contains("Rust rusqlite") && report.contains("Java xerial was left out"), "{report}");
    bench.assert_nothing_left();
}

#[test]
fn each_workers_own_cost_stands_beside_its_results() {
    let bench = Bench::new();
    if needed("contend-worker-go-mattn").is_none() || needed("contend-worker-go-null").is_none() {
        return;
    }
    let args = ["run", "languages", "--quick", "--set", "part=read", "--set", "clients=1,2", "--rounds", "6"];
    let only = ["--window", "30ms", "--only", "*m?t*n*", "--out", "record"];
    let said = bench.contend(&[&args[..], &only[..4], &["--contender", "sqlite/null"], &only[4..]].concat());
    let said = said.settled(&bench.path("record"));
    let Ok(found) = StudyRecord::open(&bench.path("record")) else { panic!("no record: {}", said.err) };
    let run = &found.parts[0].1.run;
    let mut overheads: Vec<(&str, usize)> = run.overheads.iter().map(|f| (f.driver.as_str(), f.condition)).collect();
    overheads.sort_unstable();
    assert!(overheads.contains(&("go-null", 0)) && overheads.contains(&("go-null", 1)), "{overheads:?}");
    for overhead in &run.overheads {
        assert!(overhead.operations > 40_000 && overhead.ns_per_operation > 0, "{overhead:?}");
        assert!(overhead.ns_per_operation <= overhead.ns_max && overhead.ns_p999 <= overhead.ns_max, "{overhead:?}");
    }
    let report = std::fs::read_to_string(bench.path("record/read/report.md")).expect("a report");
    assert!(report.contains("What the workers take for themselves") && report.contains("go-null"), "{report}");
    bench.assert_nothing_left();
}

#[test]
fn a_worker_whose_own_cost_cannot_be_measured_is_named() {
    let Some(built) = needed("contend-worker-go-mattn") else { return };
    let bench = Bench::new();
    std::fs::create_dir(bench.path("some")).expect("a directory");
    std::os::unix::fs::symlink(built, bench.path("some/contend-worker-go-mattn")).expect("a link");
    let args = ["run", "languages", "--quick", "--set", "part=read", "--rounds", "1", "--only", "*mattn*"];
    let said: support::Said = bench
        .command(&[&args[..], &["--window", "20ms", "--out", "record"]].concat())
        .env("CONTEND_WORKERS", bench.path("some"))
        .output()
        .expect("the tool starts")
        .into();
    let said = said.settled(&bench.path("record"));
    let Ok(found) = StudyRecord::open(&bench.path("record")) else { panic!("no record: {}", said.err) };
    let run = &found.parts[0].1.run;
    assert_eq!(run.overheads_missing, ["go-null"]);
    assert!(run.overheads.is_empty(), "{:?}", run.overheads);
    let report = std::fs::read_to_string(bench.path("record/read/report.md")).expect("a report");
    assert!(report.contains("the worker with the null driver was not there: go-null."), "{report}");
    bench.assert_nothing_left();
}

#[test]
fn a_driver_that_does_nothing_is_a_valid_contender() {
    let bench = Bench::new();
    // It says that it wrote, and no row is there.
    let args =
        ["run", "languages", "--quick", "--set", "part=insert", "--contender", "sqlite/null", "--only", "*null*"];
    // Other programs may starve a client, which is not tested here.
    let said = bench.contend(&[&args[..], &["--rounds", "1", "--window", "20ms", "--out", "record"]].concat());
    let said = said.settled(&bench.path("record"));
    let Ok(found) = StudyRecord::open(&bench.path("record")) else { panic!("no record: {}", said.err) };
    let record = &found.parts[0].1;
    assert!(record.trials.iter().any(|trial| trial.contender.contains("/null/")));
    bench.assert_nothing_left();
}

#[test]
fn the_page_of_defaults_is_what_the_drivers_here_do() {
    let bench = Bench::new();
    let said = bench.contend(&["run", "languages", "--quick", "--set", "part=defaults", "--out", "record"]);
    let said = said.settled(&bench.path("record"));
    let left_out = said.contenders_left_out();
    let report = std::fs::read_to_string(bench.path("record/defaults/report.md")).expect("a report");
    let from = report.find("Defaults as found\n").expect("the table");
    let rest = &report[from..];
    let table = &rest[rest.find("\n|").expect("a table") + 1..];
    let found = rows(&table[..table.find("\n\n").unwrap_or(table.len())]);
    let page = on_the_page("defaults");
    assert_eq!(found[0], page[0], "the columns");
    let by_label: BTreeMap<&str, &Vec<String>> = page.iter().map(|row| (row[0].as_str(), row)).collect();
    let engine = page[0].iter().position(|title| title == "engine").expect("the column");
    assert_eq!(found.len(), page.len() - left_out, "every driver here is there: {report}");
    for row in &found[1..] {
        // Which SQLite it is depends on the system for Python and PHP.
        let known = by_label.get(row[0].as_str()).unwrap_or_else(|| panic!("{} is not on the page", row[0]));
        assert_eq!(row[..engine], known[..engine], "scripts/update-driver-defaults.sh puts the page right");
    }
    bench.assert_nothing_left();
}

#[test]
fn every_table_of_defaults_has_its_place_on_the_page() {
    for name in ["defaults", "postgres-defaults", "mariadb-defaults"] {
        let (study, page) = (part(name), on_the_page(name));
        let titles = ["contender", "language", "tier"].into_iter().map(str::to_string);
        let wanted: Vec<String> = titles.chain(study.readbacks[0].names.iter().cloned()).collect();
        assert_eq!(page[0], wanted, "{name}");
        let labels: Vec<&str> = page[1..].iter().map(|row| row[0].as_str()).collect();
        let contenders: Vec<&str> = study.contenders.iter().map(|contender| contender.label.as_str()).collect();
        assert_eq!(labels, contenders, "{name}");
    }
}
