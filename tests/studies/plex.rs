//! The study of the media library: a short run of every part, and nothing lost in any.

use crate::support::place::Place;
use crate::support::{assert_all_committed, column, wrong_with};
use contend::record::model::Trial;
use contend::record::parts::read_study;
use contend::record::store::Record;
use std::fs;
use std::path::{Path, PathBuf};

fn assert_whole(part: &str, trial: &Trial) {
    let who = format!("{part}: {} under {}", trial.contender, trial.condition);
    let wrong = wrong_with(trial);
    assert!(wrong.is_empty(), "{who}: {wrong:?}");
    assert!(!trial.invariants.is_empty() && trial.invariants.iter().all(|i| i.holds), "{who}: {:?}", trial.invariants);
}

fn trials(record: &Path, part: &str) -> Vec<Trial> {
    let trials = Record::open(&record.join(part)).expect("a record").trials;
    trials.iter().for_each(|trial| assert_whole(part, trial));
    assert_all_committed(&record.join(part), trials.len());
    trials
}

/// A short run of these parts of the quick study, and its trials by part.
fn short_run(place: &Place, parts: &[&str]) -> (PathBuf, Vec<(String, Vec<Trial>)>) {
    // Translating a hundred statements, the longest operation, takes 0.3 s where others use the processors, too.
    let short = ["--rounds", "1", "--window", "1s", "--scale", "0.05", "--quiet", "--out", "record"];
    let record = place.bench.path("record");
    let of = format!("part={}", parts.join(","));
    place.contend(&[&["run", "plex", "--quick", "--set", &of][..], &short].concat()).settled(&record);
    assert_eq!(read_study(&record).expect("a record").parts, parts);
    let all = parts.iter().map(|part| ((*part).to_string(), trials(&record, part))).collect();
    place.assert_nothing_left();
    (record, all)
}

#[test]
fn a_short_run_of_clients_that_meet_at_the_lock_is_whole() {
    let place = Place::new();
    let (record, all) = short_run(&place, &["contention", "published", "latency"]);
    let of = |part: &str| &all.iter().find(|(name, _)| name == part).expect("it ran").1;
    assert_eq!((of("published").len(), of("contention").len()), (4, 12));
    // Servers report waits for locks; SQLite, which has no server, does not.
    for trial in of("contention") {
        let tells = trial.server.as_ref().is_some_and(|server| server.lock_waits.is_some());
        assert_eq!(tells, !trial.contender.starts_with("sqlite"), "{}", trial.contender);
    }
    // No client waits for SQLite's lock as published, and many are refused.
    let csv = column(&record.join("published/trials.csv"), "lock_errors");
    assert!(csv.iter().any(|(contender, errors)| contender.starts_with("sqlite") && *errors > 100.0), "{csv:?}");
    let report = fs::read_to_string(record.join("report.md")).expect("a report");
    for words in ["Is SQLite unusable with seven writing processes, if no acknowledged write may be lost?", "82 %"] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn a_short_run_of_streams_and_the_translator_is_whole() {
    let place = Place::new();
    let (record, all) = short_run(&place, &["stress", "translation", "cache"]);
    assert_eq!(all[2].1.len(), 6);
    // A look at another contender of the same round.
    let shares = column(&record.join("translation/trials.csv"), "share_percent");
    let share = |what: &str| {
        let of = shares.iter().filter(|(contender, _)| contender.contains(what)).map(|(_, share)| *share);
        of.fold(f64::NAN, f64::max)
    };
    let (cold, hot) = (share("translate=cold"), share("translate=hot"));
    assert!(0.0 < hot && hot < cold && cold < 100.0, "{shares:?}");
    assert!(shares.iter().all(|(contender, _)| contender.starts_with("translator")), "{shares:?}");
}

#[test]
fn readers_count_while_a_transaction_stays_open() {
    let place = Place::new();
    let args = ["--rounds", "1", "--set", "part=locking", "--set", "test=held", "--window", "3500ms", "--quiet"];
    let only = ["--only", "*L*", "--scale", "0.05", "--out", "record"];
    let record = place.bench.path("record");
    place.contend(&[&["run", "plex", "--full"][..], &args, &only].concat()).settled(&record);
    let trials = trials(&record, "locking");
    assert!(trials.len() >= 2, "{}", trials.len());
    let counts = column(&record.join("locking/trials.csv"), "counts_per_s");
    let of = |what: &str| counts.iter().find(|(name, _)| name.contains(what)).map_or(0.0, |(_, n)| *n);
    // The machine may be busy, but for 3 of 3.5 s there is nothing to wait for but the writer.
    let exclusive = of("begin=exclusive");
    assert!(of("journal_mode=wal") > 2.0 * exclusive, "a reader waits for an exclusive lock, not for WAL: {counts:?}");
    assert!(of("postgres/") > 0.0, "nor on PostgreSQL: {counts:?}");
    place.assert_nothing_left();
}
