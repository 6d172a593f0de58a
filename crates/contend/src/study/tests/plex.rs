//! The embedded study of the media library.

use super::{AS_PUBLISHED, CORRECTED, QUICK, conditions, embedded, labels, names, part};
use crate::study::estimate_ns;
use crate::study::model::{Contender, Extent, Variant, Whole};

fn whole(extent: (Variant, Extent), set: &[&str]) -> Whole {
    embedded("plex", extent, set)
}

#[test]
fn quick_keeps_its_time_budget() {
    // 368 s were measured on two processors with nothing else to do.
    const BUDGET_NS: u64 = 390_000_000_000;
    let total_ns: u64 = whole(QUICK, &[]).studies.iter().map(estimate_ns).sum();
    assert!(total_ns <= BUDGET_NS, "{total_ns} ns");
}

#[test]
fn every_part_runs_alone() {
    let all = whole(CORRECTED, &[]);
    assert_eq!(
        names(&all),
        [
            "contention",
            "published",
            "latency",
            "stress",
            "rate",
            "locking",
            "translation",
            "shim",
            "shim_processes",
            "cache"
        ]
    );
    for name in names(&all) {
        assert_eq!(names(&whole(CORRECTED, &[&format!("part={name}")])), [name]);
    }
    assert_eq!(names(&whole(QUICK, &[])), ["contention", "published", "latency", "stress", "translation", "cache"]);
    assert_eq!(names(&whole(AS_PUBLISHED, &[])), ["published", "latency", "stress", "locking", "translation"]);
}

#[test]
fn full_varies_what_the_harness_did_one_by_one() {
    let whole = whole(CORRECTED, &[]);
    let study = part(&whole, "contention");
    assert_eq!(conditions(study), ["pacing=none", "pacing=published"]);
    let of = |engine: &str| study.contenders.iter().filter(|contender| contender.engine == engine).count();
    assert_eq!((of("sqlite"), of("postgres"), of("mariadb")), (16, 3, 2));
    assert!(labels(study).contains(&"SQLite, exclusive, busy_timeout=0, retry=spin, durable"), "{:?}", labels(study));
    assert_eq!((study.answers.len(), study.effects.len()), (7, 3));
}

#[test]
fn quick_asks_both_tiers() {
    let whole = whole(QUICK, &[]);
    let study = part(&whole, "contention");
    assert_eq!(study.answers.len(), 7);
    for label in ["SQLite, durable", "SQLite, bounded", "PostgreSQL, durable", "PostgreSQL, bounded"] {
        assert!(labels(study).contains(&label), "{:?}", labels(study));
    }
}

#[test]
fn as_published_is_the_original() {
    let whole = whole(AS_PUBLISHED, &[]);
    let study = part(&whole, "published");
    assert_eq!(conditions(study), ["work=sqlite", "work=postgres"]);
    assert_eq!((study.rounds, study.load.window_ns, study.published.len()), (1, 15_000_000_000, 7));
    let sqlite = &study.contenders[0];
    assert_eq!((sqlite.settings["busy_timeout"].as_str(), sqlite.settings["begin"].as_str()), ("0", "exclusive"));
    assert_eq!(study.contenders[1].settings["transport"], "tcp");

    // Two roles of one run waited for different times: a contender for either.
    for (name, expected) in [("stress", &["100", "50"][..]), ("locking", &["100", "5000", "100"])] {
        let waits = |c: &Contender| c.settings.get("busy_timeout").cloned();
        let of_sqlite = part(&whole, name).contenders.iter().filter(|c| c.engine == "sqlite");
        assert_eq!(of_sqlite.filter_map(waits).collect::<Vec<_>>(), expected, "{name}");
    }
}
