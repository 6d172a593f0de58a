//! Reports of records of every format. They must not depend on today's tables of engines.

use super::{File, render};
use crate::analysis::Findings;
use crate::engine::changed;
use crate::record::model::{RECORD_VERSION, Run, Trial};
use crate::record::store::Record;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/fixtures/records/format-{format}"))
}

fn opened(format: u32) -> Record {
    Record::open(&fixture(format)).unwrap()
}

fn reports(format: u32) -> Vec<File> {
    let record = opened(format);
    render(&Findings::new(&record)).unwrap()
}

fn named<'f>(files: &'f [File], name: &str) -> &'f str {
    &files.iter().find(|file| file.name == name).unwrap().contents
}

#[test]
fn records_of_every_format_are_read_and_reported() {
    for format in 1..=RECORD_VERSION {
        let written = fs::read_to_string(fixture(format).join("run.toml")).unwrap();
        assert!(written.starts_with(&format!("format = {format}\n")), "a record of format {format}");
        let record = opened(format);
        assert!(record.damaged.is_empty(), "{:?}", record.damaged);
        assert_eq!((record.run.format, record.trials.len()), (RECORD_VERSION, 10));
        let files = reports(format);
        let text = named(&files, "report.md");
        // Default settings, a language, a tier from read-back settings, facts of a driver.
        assert!(text.contains("| mattn, as it comes | Go | unsafe | delete | 1 | 5000 |"), "{text}");
        assert!(text.contains("| nothing | Rust | - | - | - | - |"), "{text}");
        assert!(text.contains("mattn (cgo needed, database/sql yes)"), "{text}");
        assert!(text.contains("waiting for the disk: throughput x "), "{text}");
        let seals = if format < 3 {
            "Record formats 1 and 2 had no seals: nothing shows whether this record was changed"
        } else {
            "Not sealed: run.toml and 10 other files have no SHA-256 in the first line."
        };
        assert!(text.contains(seals) && text.contains("Not sealed") == (format == 3), "{text}");
        let export = named(&files, "orders.csv");
        assert!(export.starts_with("who,timeout\n") && export.contains("\nrust,0\n"), "{export}");
    }
}

#[test]
fn an_upgraded_record_says_the_same_as_before() {
    // The first is the second, written as format 1.
    let (first, second) = (reports(1), reports(2));
    for name in ["trials.csv", "transactions.csv", "latencies.csv", "orders.csv"] {
        assert_eq!(named(&first, name), named(&second, name), "{name}");
    }
}

#[test]
fn a_report_does_not_change_with_the_tables_of_engines() {
    for format in 1..=RECORD_VERSION {
        assert_eq!(changed::with(|| reports(format)), reports(format), "format {format}");
    }
}

#[test]
fn an_upgraded_record_is_written_in_the_newest_format_and_read_back() {
    let record = opened(1);
    let run: Run = toml::from_str(&toml::to_string(&record.run).unwrap()).unwrap();
    assert_eq!(run, record.run);
    for trial in &record.trials {
        let read: Trial = toml::from_str(&toml::to_string(trial).unwrap()).unwrap();
        assert_eq!(&read, trial);
    }
}

#[test]
fn a_reason_of_a_newer_contend_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let trial = dir.path().join("trials/0001");
    fs::create_dir_all(&trial).unwrap();
    fs::copy(fixture(3).join("run.toml"), dir.path().join("run.toml")).unwrap();
    fs::copy(fixture(3).join("trials/0001/samples.bin"), trial.join("samples.bin")).unwrap();
    let text = fs::read_to_string(fixture(3).join("trials/0001/trial.toml")).unwrap();
    let reason = "\n[[invalid]]\nkind = \"tired\"\ndetail = \"\"\n";
    fs::write(trial.join("trial.toml"), text.replacen("invalid = []\n", "", 1) + reason).unwrap();
    let record = Record::open(dir.path()).unwrap();
    let [(name, why)] = &record.damaged[..] else { panic!("{:?}", record.damaged) };
    assert!(name == "0001" && why.contains("there is no reason `tired`") && why.contains("use that one"), "{why}");
}
