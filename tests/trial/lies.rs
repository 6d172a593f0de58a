//! Random lies of a worker that else does everything right, and what of them is found. `CONTEND_LIES` is their number.

use crate::support::{Bench, root, tool};
use contend::outcome::reason::Invalid;
use contend::record::model::Trial;
use contend::record::store::Record;
use std::collections::BTreeMap;
use std::fs;

/// Kinds of which every one that made up anything must be found. docs/methodology.md says why the others cannot be.
const FOUND: [&str; 6] = ["autocommit", "drop", "join", "repeat", "stretch", "weakens"];

/// What was told, and what became of it.
#[derive(Default)]
struct Told {
    lies: u32,
    found: u32,
    by: BTreeMap<String, u32>,
}

/// The reasons that a lie gives; how fast a trial was says nothing, but for commits that no disk can make.
fn reasons(trial: &Trial) -> Vec<Invalid> {
    let kinds = trial.invalid.iter().map(|reason| reason.kind);
    kinds.filter(|kind| !kind.is_of_speed() || *kind == Invalid::NotCredible).collect()
}

/// Two contenders a round, of which one lies.
fn tell(count: u32, fault: &str, more: &[&str]) -> (BTreeMap<(String, String), Told>, Vec<String>) {
    let bench = Bench::new();
    let (fake, told) = (root().join("workers/fake/fake.py"), bench.path("lies"));
    let seed = std::env::var("CONTEND_LIES_SEED").unwrap_or_else(|_| "1".to_string());
    let command = format!(
        "python3 '{}' --real '{} worker' --fault {fault} --every 2 --seed {seed} --lies-file '{}'",
        fake.display(),
        tool(),
        told.display()
    );
    let rounds = count.to_string();
    let own = ["--worker-command", &command, "--rounds", &rounds, "--processes", "1", "--window", "500ms"];
    let said = bench.tiny(&[&own[..], more].concat());
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    let record = Record::open(&bench.path("record")).expect("a record");
    let told = fs::read_to_string(told).expect("what was told");
    let mut kinds: BTreeMap<(String, String), Told> = BTreeMap::new();
    let mut honest = vec![];
    for line in told.lines().filter(|line| *line != "plan") {
        let [number, kind, size, made_up] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let number: u32 = number.parse().expect("a number");
        let trial = record.trials.iter().find(|trial| trial.slot.trial == number).expect("its trial");
        let reasons = reasons(trial);
        if kind == "none" {
            // One of two that contradict each other: which one is wrong is not known.
            let wrong = trial.invalid.iter().filter(|r| !r.kind.is_of_speed() && r.kind != Invalid::Answers);
            honest.extend(wrong.map(|reason| format!("trial {number}: {reason}")));
        } else if made_up != "0" {
            let told = kinds.entry((kind.to_string(), size.to_string())).or_default();
            told.lies += 1;
            told.found += u32::from(!reasons.is_empty());
            for reason in reasons {
                *told.by.entry(reason.word().to_string()).or_default() += 1;
            }
        }
    }
    bench.assert_nothing_left();
    (kinds, honest)
}

#[test]
fn lies_are_found_and_the_honest_are_believed() {
    let count = std::env::var("CONTEND_LIES").ok().and_then(|count| count.parse().ok()).unwrap_or(30);
    let (kinds, honest) = tell(count, "lie", &[]);
    println!("| lie | size | told | found | by |\n|---|---|---|---|---|");
    for ((kind, size), Told { lies, found, by }) in &kinds {
        let by: Vec<String> = by.iter().map(|(word, count)| format!("`{word}` {count}")).collect();
        println!("| {kind} | {size} | {lies} | {found} | {} |", by.join(", "));
    }
    println!("honest trials: {count}, of which {} are invalid for a reason that a lie would give", honest.len());
    assert!(honest.is_empty(), "{honest:#?}");
    let missed = kinds.iter().filter(|((kind, _), told)| FOUND.contains(&kind.as_str()) && told.found < told.lies);
    let missed: Vec<_> =
        missed.map(|((kind, size), told)| format!("{kind}, {size}: {} of {}", told.found, told.lies)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Reads of unwritten tables that one contender does not carry out: the rows of the other one contradict it.
#[test]
fn reads_that_are_not_carried_out_are_found() {
    let bench = Bench::new();
    let study = fs::read_to_string(crate::support::tiny_study()).expect("the study");
    fs::write(bench.path("study.toml"), study.replacen("\"bank\"", "\"own.toml\"", 1)).expect("written");
    let workload = "
        about = 'Words that never change.'
        [table.word]
        ddl = 'CREATE TABLE word (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL)'
        rows = 500
        columns = { id = { serial = 1 }, kind = { range = [1, 50] } }
        [transaction.find]
        kind = 'read'
        args = { kind = { range = [1, 50] } }
        [[transaction.find.step]]
        sql = 'SELECT id FROM word WHERE kind = :kind'
        rows = [0, 500]
        [profile.mixed]
        mix = { find = 100 }
    ";
    fs::write(bench.path("own.toml"), workload).expect("written");
    let fake = root().join("workers/fake/fake.py");
    let command = format!(
        "python3 '{}' --real '{} worker' --fault skip --every 2 --lies-file '{}'",
        fake.display(),
        tool(),
        bench.path("lies").display()
    );
    // Half a million samples are made up in Python.
    let args = ["run", "study.toml", "--out", "record", "--rounds", "1", "--processes", "1", "--window", "100ms"];
    let more = ["--quiet", "--deadline", "120", "--worker-command", command.as_str()];
    let said = bench.contend(&[&args[..], &more].concat()).exits(1);
    let trials = Record::open(&bench.path("record")).expect("a record").trials;
    let reasons: Vec<_> = trials.iter().map(|trial| trial.invalid.iter().map(|r| r.kind).collect::<Vec<_>>()).collect();
    assert!(reasons.len() == 2 && reasons.iter().all(|of| of.contains(&Invalid::Answers)), "{reasons:?}");
    assert!(said.err.contains("rows here") && said.err.contains("one of the two is wrong"), "{}", said.err);
}
