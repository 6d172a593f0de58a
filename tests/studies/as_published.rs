//! The originals' own ways of measuring, from end to end, with loads that take seconds.

use crate::support::place::Place;
use crate::support::workers::needed;
use crate::support::{assert_all_committed, wrong_with};
use contend::record::model::Trial;
use contend::record::parts::read_study;
use contend::record::store::Record;
use contend::study::model::Variant;
use std::path::Path;

/// Parts of a record, each as published and with nothing wrong but what a busy machine does.
fn parts(record: &Path) -> Vec<(String, Vec<Trial>)> {
    let of = |part: String| {
        let found = Record::open(&record.join(&part)).expect("a record");
        assert_eq!((found.run.study.variant, found.run.study.rounds), (Variant::AsPublished, 1), "{part}");
        for trial in &found.trials {
            assert!(wrong_with(trial).is_empty(), "{part}, {}: {:?}", trial.contender, wrong_with(trial));
        }
        assert_all_committed(&record.join(&part), found.trials.len());
        (part, found.trials)
    };
    read_study(record).expect("a record").parts.into_iter().map(of).collect()
}

#[test]
fn plex_as_published() {
    let place = Place::new();
    let args = ["run", "plex", "--as-published", "--window", "500ms", "--scale", "0.05", "--quiet", "--out", "record"];
    // `locking` keeps a transaction open for 3 s in each trial; it has its own test.
    let said = place.contend(&[&args[..], &["--set", "part=published,latency,stress,translation"]].concat());
    said.settled(&place.bench.path("record"));
    let found = parts(&place.bench.path("record"));
    let counts: Vec<(&str, usize)> = found.iter().map(|(part, trials)| (part.as_str(), trials.len())).collect();
    assert_eq!(counts, [("published", 4), ("latency", 6), ("stress", 6), ("translation", 12)]);
    let report = std::fs::read_to_string(place.bench.path("record/report.md")).expect("a report");
    for words in ["Does the original's picture appear", "With the original's work for SQLite"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    place.assert_nothing_left();
}

#[test]
fn go_drivers_as_published() {
    let place = Place::new();
    let args = ["run", "go-drivers", "--as-published", "--clients", "4", "--window", "100ms", "--scale", "0.05"];
    let said = place.contend(&[&args[..], &["--set", "pool_size=2", "--quiet", "--out", "record"]].concat());
    if said.is_without_workers() {
        return;
    }
    let said = said.settled(&place.bench.path("record"));
    let found = parts(&place.bench.path("record"));
    let expected = 6 - said.contenders_left_out();
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1.len()), (1, "go", expected), "{}", said.err);
    // Over HTTP all of them, each with the settings that the original gave it.
    for trial in &found[0].1 {
        assert!(trial.server.is_some() && trial.samples.is_some_and(|n| n > 0), "{}", trial.contender);
        let (waits, lazy) = match () {
            () if trial.contender.contains("/modernc/") => ("busy_timeout=0", true),
            () if trial.contender.contains("/mattn/") => ("busy_timeout=5000", true),
            // Its settings are unknown: once as mattn, once as crawshaw.
            () if trial.contender.contains("/tailscale/") && trial.contender.contains("pool_open=lazy") => {
                ("busy_timeout=5000", true)
            }
            () => ("busy_timeout=10000", false),
        };
        assert!(trial.contender.contains(waits), "{}", trial.contender);
        assert_eq!(trial.contender.contains("pool_open=lazy"), lazy, "{}", trial.contender);
    }
    let report = std::fs::read_to_string(place.bench.path("record/go/report.md")).expect("a report");
    assert!(report.contains("The order that was published") && report.contains("no verdicts"), "{report}");
    place.assert_nothing_left();
}

#[test]
fn wordpress_as_published_with_its_own_driver() {
    let place = Place::new();
    if needed("contend-worker-php-mysql-on-sqlite").is_none() {
        return;
    }
    let args = ["run", "wordpress", "--as-published", "--driver", "mysql-on-sqlite", "--rounds", "1"];
    let short = ["--window", "1s", "--scale", "0.05", "--quiet", "--out", "record"];
    let directory = place.bench.path("record");
    let said = place.contend(&[&args[..], &short].concat()).settled(&directory);
    let record = Record::open(&directory).expect("a record");
    assert_eq!((record.run.study.variant, record.trials.len()), (Variant::AsPublished, 4), "{}", said.err);
    for trial in &record.trials {
        assert!(trial.contender.starts_with("sqlite/mysql-on-sqlite/"), "{}", trial.contender);
        assert!(trial.samples.is_some_and(|n| n > 0), "{}", trial.contender);
        // As the driver itself answers.
        let expected = if trial.contender.contains("journal_mode=wal") { ("wal", "1") } else { ("delete", "2") };
        let found = (trial.settings["journal_mode"].as_str(), trial.settings["synchronous"].as_str());
        assert_eq!(found, expected, "{}", trial.contender);
    }
    let report = std::fs::read_to_string(directory.join("report.md")).expect("a report");
    for words in ["Compared with the original", "1,100/s", "4,520/s", "it gets no verdicts"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_part_of_other_runs_says_in_which_it_is() {
    let place = Place::new();
    for (args, said) in [
        (["--quick", "part=locking"], "locking runs with --full or --as-published"),
        (["--as-published", "part=contention"], "contention runs with --quick or --full"),
    ] {
        let ended = place.contend(&["run", "plex", args[0], "--set", args[1], "--out", "record"]).exits(2);
        assert!(ended.err.contains(said), "{}", ended.err);
    }
    place.assert_nothing_left();
}
