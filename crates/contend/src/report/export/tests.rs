//! Exports from a record and back, and files of others in the same columns.

use super::sheet::{Role, Sheet};
use super::{csv, page};
use crate::analysis::Findings;
use crate::report::gnuplot;
use crate::report::testing::Story;
use crate::report::{html, markdown, text};
use crate::source::Source;
use crate::study::model::{Column, Export, ExportRows, Extent, Holds, Study, Variant};
use crate::study::{Choices, Vocabulary, check_vocabulary, resolve};
use std::collections::BTreeMap;

const STUDY: &str = include_str!("../../../../../tests/fixtures/many-databases.toml");
const FILE: &str = include_str!("../../../../../tests/fixtures/many-databases.csv");

fn source() -> Source {
    Source::new("many-databases.toml", STUDY)
}

fn studies() -> Vec<Study> {
    vec![resolve(&source(), &Choices::new(Variant::Corrected, Extent::Full)).unwrap()]
}

fn read<'s>(text: &str, studies: &'s [Study]) -> Result<Sheet<'s>, String> {
    Sheet::read("f.csv", text, studies)
}

#[test]
fn the_original_s_columns_are_formulas_over_names_there_are() {
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let vocabulary = Vocabulary {
        scale: words(&["databases", "readers", "write_delay_ms", "tokio_threads"]),
        transactions: words(&["append", "newest"]),
        ..Vocabulary::default()
    };
    assert_eq!(check_vocabulary(&source(), &studies()[0], &vocabulary), Ok(()));
}

#[test]
fn a_record_is_exported_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = Story { rounds: 2, invalid: vec![3], ..Story::default() }.write(dir.path());
    let value = |name: &str, value: &str, decimals| Column {
        name: name.to_string(),
        holds: Holds::Value { value: value.to_string(), decimals },
    };
    let names = BTreeMap::from([("WAL/FULL".to_string(), "log".to_string())]);
    let columns = vec![
        Column { name: "approach".to_string(), holds: Holds::Contender { contender: names } },
        value("posts", "posts", None),
        value("p99_ms", "service_ns_p99.read / 1e6", Some(3)),
        value("locked", "locked_per_1000", Some(1)),
        value("rate", "rate_per_s", None),
    ];
    let mut export = Export { file: "e.csv".to_string(), rows: ExportRows::Trial, columns };
    let lines = |export: &Export| csv(&Findings::new(&record), export).unwrap();
    // Trials that do not count are not in it.
    assert_eq!(lines(&export).lines().count(), 1 + 2 * 10 - 1);
    export.rows = ExportRows::Cell;
    let text = lines(&export);
    assert_eq!(text.lines().count(), 1 + 10);
    assert!(text.lines().nth(1).unwrap().starts_with("log,2000,"), "{text}");
    assert!(text.lines().skip(1).all(|line| line.ends_with(',')), "no rate was set: {text}");

    export.columns.pop();
    let text = lines(&export);
    record.run.study.exports = vec![export];
    let studies = [record.run.study.clone()];
    let sheet = read(&text, &studies).unwrap();
    assert_eq!(sheet.roles, [Role::Contender, Role::Set, Role::Metric, Role::Metric]);
    assert_eq!(sheet.series(), ["log", "DELETE/EXTRA", "DELETE/FULL", "WAL/NORMAL", "WAL/NORMAL deferred"]);
    assert_eq!((sheet.rows.len(), sheet.axis()), (10, None));
    let files = crate::report::render(&Findings::new(&record)).unwrap();
    let named = |name: &str| files.iter().find(|file| file.name == name).unwrap().contents.clone();
    assert_eq!(named("e.csv"), text);
    assert!(named("e.gnuplot").contains("strcol('approach') eq 'log'"));
}

#[test]
fn a_file_of_others_is_understood_and_drawn() {
    let studies = studies();
    let sheet = read(FILE, &studies).unwrap();
    assert_eq!(sheet.series(), ["direct_blocking", "spawn_blocking", "tokio_rusqlite"]);
    assert_eq!(sheet.export.columns[sheet.axis().unwrap()].name, "num_databases");
    assert_eq!(sheet.conditions(), (vec![2], vec![vec![100.0], vec![1000.0]]));
    assert_eq!(sheet.mean(16, "direct_blocking", &[(2, 1000.0), (1, 10.0)]), Some(27.0));
    assert_eq!(sheet.mean(10, "direct_blocking", &[(2, 100.0), (1, 100.0)]), None);
    let document = page::document(&sheet, "theirs.csv");
    assert!(document.warnings[0].starts_with("Nothing of this was measured or checked by contend."));
    assert_eq!(document.conditions, ["write delay ms 100", "write delay ms 1000"]);
    let plain = text::text(&document, text::Style::FILE);
    assert!(plain.contains("Write completion ratio over num databases: write delay ms 1000"), "{plain}");
    assert!(plain.contains("      a direct_blocking\n"), "{plain}");
    let page = html::html(&document);
    assert_eq!(page.matches("<svg viewBox").count(), 11 * 2);
    assert!(!page.contains("from the record") && page.contains("which it did not measure"));
    assert!(markdown::markdown(&document).contains("> **Note.** Nothing of this was measured"));
    let script = gnuplot::sheet::script(&sheet, "theirs.csv");
    assert!(script.contains("if (!exists('datafile')) datafile = 'theirs.csv'"), "{script}");
    assert!(script.contains("(column('write_delay_ms') == 1e3 && strcol('approach') eq 'tokio_rusqlite')"), "{script}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_line() {
    let studies = studies();
    let second = FILE.lines().nth(1).unwrap();
    for (text, message) in [
        (String::new(), "f.csv: is empty"),
        ("\n \n".to_string(), "f.csv: is empty"),
        (FILE.lines().next().unwrap().to_string(), "f.csv:1: there is no row"),
        (
            FILE.replacen("num_databases", "databases", 1),
            "f.csv:1: this is like benchmark.csv of study many-databases, but has no column `num_databases`",
        ),
        (FILE.replacen("write_ops_completed", "approach", 1), "f.csv:1: column `approach` occurs twice"),
        (
            "a,b\n1,2\n".to_string(),
            "f.csv:1: these are not the columns of an export of a study (looked at: many-databases)",
        ),
        (
            FILE.replacen("spawn_blocking,1,", "spawn_blocking,one,", 1),
            "f.csv:3: column `num_databases`: `one` is not a number",
        ),
        (FILE.replacen("direct_blocking,10,", "direct_blocking,,", 1), "f.csv:5: column `num_databases`: is empty"),
        (FILE.replacen("999.8", "NaN", 1), "f.csv:2: column `p50_read_latency_ms`: `NaN` is not a number"),
        (
            FILE.replacen("direct_blocking,1,", "direct,1,", 1),
            "f.csv:2: column `approach`: `direct` is not a contender of study many-databases; contenders are direct_blocking, spawn_blocking, tokio_rusqlite, fifo",
        ),
        (format!("{}{second},7\n", FILE), "f.csv:20: has 18 cells, the first line has 17"),
    ] {
        let error = read(&text, &studies).unwrap_err();
        assert!(error.starts_with(message), "{message}\n{error}");
    }
    assert!(read(FILE, &[]).unwrap_err().contains("--study"));
    let with_more = format!("{},more\n{second},1\n", FILE.lines().next().unwrap());
    assert_eq!(read(&with_more, &studies).unwrap().unused, ["more"]);
}

#[test]
fn a_file_in_which_nothing_varies_is_drawn_as_bars() {
    let studies = studies();
    let few: String = FILE.lines().take(4).map(|line| format!("{line}\n")).collect();
    let sheet = read(&few, &studies).unwrap();
    assert_eq!(sheet.axis(), None);
    let document = page::document(&sheet, "f.csv");
    assert!(document.conditions.is_empty());
    assert_eq!(html::html(&document).matches("<figure class=\"tracks\"").count(), 11);
}
