//! The embedded study of the media library.

use super::conditions;
use crate::study::model::{Extent, Study, Variant, Whole};
use crate::study::{Choices, Vocabulary, builtin, check_vocabulary, estimate_ns, parse_set, resolve_parts};

const QUICK: (Variant, Extent) = (Variant::Corrected, Extent::Quick);
const FULL: (Variant, Extent) = (Variant::Corrected, Extent::Full);
const PUBLISHED: (Variant, Extent) = (Variant::AsPublished, Extent::Full);

fn whole((variant, extent): (Variant, Extent), set: &[&str]) -> Whole {
    let mut choices = Choices::new(variant, extent);
    choices.set = set.iter().map(|text| parse_set(text).unwrap()).collect();
    resolve_parts(&builtin("plex").unwrap(), &choices).unwrap_or_else(|error| panic!("{error}"))
}

fn part<'w>(whole: &'w Whole, name: &str) -> &'w Study {
    whole.studies.iter().find(|study| study.part.as_deref() == Some(name)).unwrap_or_else(|| panic!("no part {name}"))
}

fn names(whole: &Whole) -> Vec<&str> {
    whole.studies.iter().filter_map(|study| study.part.as_deref()).collect()
}

fn labels(study: &Study) -> Vec<&str> {
    study.contenders.iter().map(|contender| contender.label.as_str()).collect()
}

#[test]
fn quick_keeps_its_time_budget() {
    const BUDGET_NS: u64 = 300_000_000_000;
    let total_ns: u64 = whole(QUICK, &[]).studies.iter().map(estimate_ns).sum();
    assert!(total_ns <= BUDGET_NS, "{total_ns} ns");
}

#[test]
fn every_part_runs_alone() {
    let all = whole(FULL, &[]);
    assert_eq!(names(&all), ["contention", "latency", "stress", "locking", "translation", "cache"]);
    for name in names(&all) {
        assert_eq!(names(&whole(FULL, &[&format!("part={name}")])), [name]);
    }
    assert_eq!(names(&whole(QUICK, &[])), ["published", "contention", "latency", "stress", "translation", "cache"]);
    assert_eq!(names(&whole(PUBLISHED, &[])), ["published", "latency", "stress", "locking", "translation"]);
}

#[test]
fn full_varies_what_the_harness_did_one_by_one() {
    let whole = whole(FULL, &[]);
    let study = part(&whole, "contention");
    assert_eq!(conditions(study), ["pacing=none", "pacing=published"]);
    let of = |engine: &str| study.contenders.iter().filter(|contender| contender.engine == engine).count();
    assert_eq!((of("sqlite"), of("postgres"), of("mariadb")), (16, 3, 2));
    assert!(labels(study).contains(&"SQLite, exclusive, busy_timeout=0, retry=spin, durable"), "{:?}", labels(study));
    assert_eq!((study.answers.len(), study.effects.len()), (6, 3));
}

#[test]
fn quick_asks_both_tiers() {
    let whole = whole(QUICK, &[]);
    let study = part(&whole, "contention");
    assert_eq!(study.answers.len(), 6);
    for label in ["SQLite, durable", "SQLite, bounded", "PostgreSQL, durable", "PostgreSQL, bounded"] {
        assert!(labels(study).contains(&label), "{:?}", labels(study));
    }
}

#[test]
fn as_published_is_the_original() {
    let whole = whole(PUBLISHED, &[]);
    let study = part(&whole, "published");
    assert_eq!(conditions(study), ["work=sqlite", "work=postgres"]);
    assert_eq!((study.rounds, study.load.window_ns, study.published.len()), (1, 15_000_000_000, 7));
    let sqlite = &study.contenders[0];
    assert_eq!((sqlite.settings["busy_timeout"].as_str(), sqlite.settings["begin"].as_str()), ("0", "exclusive"));
    assert_eq!(study.contenders[1].settings["transport"], "tcp");
}

#[test]
fn every_name_is_one_of_the_workload() {
    let workload = |name: &str| {
        let parsed = crate::workload::parse(&crate::workload::builtin(name).unwrap()).unwrap();
        Vocabulary {
            profiles: parsed.profiles.keys().cloned().collect(),
            scale: parsed.scale.keys().chain(&parsed.presets).cloned().collect(),
            transactions: parsed.transactions.iter().map(|t| t.name.clone()).collect(),
            tables: parsed.tables.iter().map(|t| t.name.clone()).collect(),
        }
    };
    for run in [QUICK, FULL, PUBLISHED] {
        for study in &whole(run, &[]).studies {
            check_vocabulary(&builtin("plex").unwrap(), study, &workload(&study.workload)).unwrap();
        }
    }
}
