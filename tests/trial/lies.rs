//! Random lies of a worker that does everything else right, and which of them are found. `CONTEND_LIES` is their number,
//! `CONTEND_LIES_WINDOW` the length of the windows; those of 2 s are long enough for 99 of 100.

use crate::support::{Bench, Busy, root, tool};
use contend::outcome::reason::Invalid;
use contend::record::model::Trial;
use contend::record::store::Record;
use std::collections::BTreeMap;
use std::fs;

/// Kinds of which every lie that made up a sample must be found, however short the window. docs/methodology.md explains what the
/// others depend on.
const FOUND: [&str; 6] = ["autocommit", "drop", "join", "repeat", "stretch", "weakens"];

/// Number of rounds, each with a lie, from which on 99 of 100 lies must be found.
const MANY: u32 = 300;

/// Changes only the order of the work, so no verdict.
const HARMLESS: &str = "swap";

/// Lies of one kind and size, how many were found, and by which reasons.
#[derive(Default)]
struct Told {
    lies: u32,
    found: u32,
    by: BTreeMap<String, u32>,
}

/// The reasons that a lie gives. Reasons of speed do not count, except commits that no disk can make.
fn reasons(trial: &Trial) -> Vec<Invalid> {
    let kinds = trial.invalid.iter().map(|reason| reason.kind);
    kinds.filter(|kind| !kind.is_of_speed() || *kind == Invalid::NotCredible).collect()
}

/// Two contenders a round, of which one lies, in windows of this length.
fn tell(count: u32, fault: &str, window: &str) -> (BTreeMap<(String, String), Told>, Vec<String>) {
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
    let said = bench.tiny(&["--worker-command", &command, "--rounds", &rounds, "--processes", "1", "--window", window]);
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    let record = Record::open(&bench.path("record")).expect("a record");
    println!("run of {}, seed {seed}, windows of {window}", &record.run.started[..10]);
    let told = fs::read_to_string(told).expect("what was told");
    let mut kinds: BTreeMap<(String, String), Told> = BTreeMap::new();
    let mut honest = vec![];
    for line in told.lines().filter(|line| *line != "plan") {
        let [number, kind, size, made_up] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let number: u32 = number.parse().expect("a number");
        let trial = record.trials.iter().find(|trial| trial.slot.trial == number).expect("its trial");
        let reasons = reasons(trial);
        if kind == "none" {
            // Of two trials that contradict each other it is not known which one is wrong.
            let is_accused = |kind: Invalid| !kind.is_of_speed() || kind == Invalid::NotCredible;
            let wrong = trial.invalid.iter().filter(|r| is_accused(r.kind) && r.against.is_none());
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
    let asked = std::env::var("CONTEND_LIES").ok().and_then(|count| count.parse().ok());
    let count = asked.unwrap_or(30);
    let window = std::env::var("CONTEND_LIES_WINDOW").unwrap_or_else(|_| "1s".to_string());
    let (kinds, honest) = tell(count, "lie", &window);
    println!("| lie | size | told | found | by |\n|---|---|---|---|---|");
    for ((kind, size), Told { lies, found, by }) in &kinds {
        let by: Vec<String> = by.iter().map(|(word, count)| format!("`{word}` {count}")).collect();
        println!("| {kind} | {size} | {lies} | {found} | {} |", by.join(", "));
    }
    println!("honest trials: {count}, of which {} are invalid for a reason that a lie would give", honest.len());
    let (of_the_disk, wrong): (Vec<_>, Vec<_>) = honest.iter().partition(|said| said.contains(": not-credible"));
    // The disk may be slow for the probes of a trial and not in its window; on a quiet machine it is not.
    let most = if asked.is_some() { 0 } else { count as usize / 10 };
    assert!(wrong.is_empty() && of_the_disk.len() <= most, "{honest:#?}");
    let of_verdicts = || kinds.iter().filter(|((kind, _), _)| kind != HARMLESS).map(|(_, told)| told);
    let lies: u32 = of_verdicts().map(|told| told.lies).sum();
    let found: u32 = of_verdicts().map(|told| told.found).sum();
    println!("of those that can change a verdict: {found} of {lies}");
    let missed = kinds.iter().filter(|((kind, _), told)| FOUND.contains(&kind.as_str()) && told.found < told.lies);
    let missed: Vec<_> =
        missed.map(|((kind, size), told)| format!("{kind}, {size}: {} of {}", told.found, told.lies)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let most = may_be_missed(count, lies);
    assert!(lies - found <= most, "{found} of {lies}, of which at most {most} may be missed");
}

/// How many lies of those that can change a verdict need not be found. The goal is 99 of 100; of a few, one or two may be of a
/// kind that a short trial does not contradict.
fn may_be_missed(told: u32, lies: u32) -> u32 {
    if told >= MANY { lies / 100 } else { 2.max(lies / 10) }
}

#[test]
fn of_many_lies_99_of_100_must_be_found() {
    assert_eq!(
        [(30, 25), (299, 260), (300, 260), (1000, 900)].map(|(told, lies)| may_be_missed(told, lies)),
        [2, 26, 2, 9]
    );
}

/// The time of a journal and of its directory show each commit.
#[test]
fn a_rollback_journal_in_memory_is_found() {
    for mode in ["delete", "truncate", "persist"] {
        let bench = Bench::new();
        let study = fs::read_to_string(crate::support::tiny_study()).expect("the study");
        fs::write(bench.path("study.toml"), study.replacen("\"truncate\"", &format!("\"{mode}\""), 1))
            .expect("written");
        let (fake, seen) = (root().join("workers/fake/fake.py"), bench.path("plans-seen"));
        let command = format!(
            "python3 '{}' --real '{} worker' --worker all --trial-file '{}' --only-plan 2 --fault no-journal",
            fake.display(),
            tool(),
            seen.display()
        );
        let only = format!("{}/FULL*", mode.to_uppercase());
        let args = ["run", "study.toml", "--out", "record", "--quiet", "--rounds", "2", "--window", "1s"];
        let said = bench.contend(&[&args[..], &["--only", &only, "--worker-command", &command]].concat());
        let trials = Record::open(&bench.path("record")).expect("a record").trials;
        let words = |trial: &Trial| trial.invalid.iter().map(ToString::to_string).collect::<String>();
        let found: Vec<String> = trials.iter().map(words).collect();
        let is_found = |words: &String| words.contains("commits left no trace of a rollback journal");
        assert!(found.len() == 2 && !is_found(&found[0]) && is_found(&found[1]), "{mode}: {found:?} {said:?}");
    }
}

/// One contender does not carry out reads of tables that no client writes. The rows of the other one contradict it.
#[test]
fn reads_that_are_not_carried_out_are_found() {
    finds_reads_that_are_not_carried_out("0");
}

/// A disturbed round runs again, but not if that would hide what was found.
#[test]
fn reads_that_are_not_carried_out_are_found_in_a_disturbed_round_too() {
    let _busy = Busy::begin();
    finds_reads_that_are_not_carried_out("1");
}

fn finds_reads_that_are_not_carried_out(again: &str) {
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
    // Python changes half a million samples.
    let args = ["run", "study.toml", "--out", "record", "--rounds", "1", "--processes", "1", "--window", "100ms"];
    let more = ["--quiet", "--deadline", "120", "--worker-command", command.as_str(), "--again", again];
    let said = bench.contend(&[&args[..], &more].concat()).exits(1);
    let trials = Record::open(&bench.path("record")).expect("a record").trials;
    let reasons: Vec<_> = trials.iter().map(|trial| trial.invalid.iter().map(|r| r.kind).collect::<Vec<_>>()).collect();
    let mut numbers: Vec<u32> = trials.iter().map(|trial| trial.slot.trial).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
    assert!(reasons.len() == 2 && reasons.iter().all(|of| of.contains(&Invalid::Answers)), "{reasons:?}");
    assert!(said.err.contains("rows here") && said.err.contains("one of the two is wrong"), "{}", said.err);
}
