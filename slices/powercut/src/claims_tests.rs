//! Claims about crashes that a report must not make without evidence.

use crate::SLICE;
use crate::keys::{NAME, Wanted};
use crate::results::{Control, Crashes, Powercut};
use contend::analysis::Findings;
use contend::outcome::reason::{Invalid, Reason};
use contend::record::store::Record;
use contend::report::{content, markdown, render};
use contend::study::model::Kept;
use std::path::Path;

/// A record in which every trial kept everything, with a question about its first contender.
fn crashed(invalid: &[Reason], controls: &[Control]) -> Record {
    contend::slice::register(&[SLICE]);
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/records/format-3");
    let mut record = Record::open(&dir).expect("a fixture");
    let study = &mut record.run.study;
    study.kind = NAME.to_string();
    study.kinds.put(NAME, &Wanted::default()).expect("keys");
    let ask = "What does the first keep?".to_string();
    study.kept = vec![Kept { ask, contender: study.contenders[0].label.clone() }];
    let of = |model: &str, namespace: &str| Crashes {
        model: model.to_string(),
        namespace: namespace.to_string(),
        count: 2000,
        ..Crashes::default()
    };
    for trial in &mut record.trials {
        let mut found = Powercut { crashes: vec![of("drop", "journal"), of("kill", "")], ..Powercut::default() };
        if trial.slot.contender == 0 {
            trial.invalid = invalid.to_vec();
            found.controls = controls.to_vec();
        }
        trial.kinds.put(NAME, &found).expect("results");
    }
    record
}

fn page(record: &Record) -> String {
    markdown::markdown(&content::document(&Findings::new(record)))
}

/// The report as one line of text.
fn text(record: &Record) -> String {
    page(record).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn csv(record: &Record) -> String {
    let files = render(&Findings::new(record)).expect("a report");
    files.into_iter().find(|file| file.name == "crashes.csv").expect("its file").contents
}

#[test]
fn crashes_of_a_trial_that_does_not_count_show_nothing() {
    let nothing_lost = "nothing is lost in ";
    let of_speed = crashed(&[Invalid::GeneratorLimited.because("")], &[]);
    let label = format!("\"{}\",", of_speed.run.study.contenders[0].label);
    assert!(text(&of_speed).contains(nothing_lost), "how fast it was does not matter");
    assert!(csv(&of_speed).contains(&label), "{}", csv(&of_speed));
    for kind in [Invalid::Settings, Invalid::WorkerDied] {
        let wrong = crashed(&[kind.because("")], &[]);
        let text = text(&wrong);
        assert!(!text.contains(nothing_lost) && text.contains("no trial of it counts"), "{text}");
        let first = &wrong.run.study.contenders[0];
        let page = page(&wrong);
        let rows = || page.lines().filter(|line| line.contains(&first.label));
        assert!(rows().any(|row| row.contains("does not count")), "{page}");
        assert!(rows().all(|row| !row.contains("2,000")), "{page}");
        assert!(!csv(&wrong).contains(&label), "a second count gives the same");
    }
    let control = Control { name: "c".to_string(), found: "f".to_string(), holds: false };
    let contradicted = crashed(&[Invalid::Control.because("")], &[control]);
    assert!(text(&contradicted).contains("a control did not hold"), "a contradiction is reported");
}

#[test]
fn the_report_has_the_parts_that_the_kind_registers() {
    let document = content::document(&Findings::new(&crashed(&[], &[])));
    let ids: Vec<&str> = document.sections.iter().map(|section| section.id.anchor()).collect();
    assert_eq!((&ids[..3], document.chart.anchor()), (&["answer", "promise", "crashes"][..], "promise"));
}

#[test]
fn the_page_about_metrics_has_the_metrics_of_this_kind() {
    let page = include_str!("../../../docs/metrics.md");
    for row in crate::findings::metrics() {
        let (name, label) = (&row.name, &row.label);
        assert!(page.contains(&format!("| `{name}` |  |  |  | mean of the rounds | {label} |")), "{name}");
    }
}

#[test]
fn damaged_tables_of_this_kind_are_refused_when_they_are_read() {
    contend::slice::register(&[SLICE]);
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/records/format-3");
    let dir = tempfile::tempdir().expect("a directory");
    let trial = dir.path().join("trials/0001");
    std::fs::create_dir_all(&trial).expect("a directory");
    for file in ["run.toml", "trials/0001/samples.bin", "trials/0001/trial.toml"] {
        std::fs::copy(fixture.join(file), dir.path().join(file)).expect("a copy");
    }
    let add = |file: &str, more: &str| {
        let path = dir.path().join(file);
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, text + more).expect("a file");
    };
    add("trials/0001/trial.toml", "\n[powercut]\nimages = 'many'\n");
    let record = Record::open(dir.path()).expect("a record");
    let [(name, why)] = &record.damaged[..] else { panic!("{:?}", record.damaged) };
    assert!(name == "0001" && why.contains("[powercut]") && why.contains("images"), "{why}");
    add("run.toml", "\n[study.powercut]\npoints = 5\n");
    let error = format!("{:#}", Record::open(dir.path()).expect_err("keys are missing"));
    assert!(error.contains("run.toml is damaged: [powercut]: missing field `crashes`"), "{error}");
}
