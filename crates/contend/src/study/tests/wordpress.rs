//! The embedded `wordpress` study.

use super::{AS_PUBLISHED, CORRECTED, QUICK, assert_quick_within, conditions, embedded, labels, names, part};
use crate::study::model::{Extent, Study, Tier, Variant};
use crate::study::pairs::effect_pairs;
use crate::study::{Choices, LIBRARY, parse_set, resolve, resolve_parts, schedule};

fn wordpress((variant, extent): (Variant, Extent)) -> Study {
    resolve(&LIBRARY.find("wordpress").unwrap(), &Choices::new(variant, extent))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_embedded_study_resolves_in_every_variant() {
    for name in LIBRARY.names() {
        for extent in [Extent::Quick, Extent::Full] {
            let whole = resolve_parts(&LIBRARY.find(name).unwrap(), &Choices::new(Variant::Corrected, extent));
            assert_eq!(whole.unwrap_or_else(|error| panic!("{error}")).name, name);
        }
    }
    assert!(LIBRARY.find("nothing").is_none());
}

#[test]
fn corrected_is_the_full_factorial() {
    let study = wordpress(CORRECTED);
    assert_eq!(
        labels(&study),
        [
            "DELETE/NORMAL",
            "DELETE/FULL",
            "DELETE/EXTRA",
            "WAL/NORMAL",
            "WAL/FULL",
            "WAL/EXTRA",
            "DELETE/NORMAL, deferred",
            "DELETE/FULL, deferred",
            "DELETE/EXTRA, deferred",
            "WAL/NORMAL, deferred",
            "WAL/FULL, deferred",
            "WAL/EXTRA, deferred",
            "PostgreSQL, durable",
            "PostgreSQL, bounded",
            "MariaDB, durable",
            "MariaDB, bounded",
        ]
    );
    assert_eq!(conditions(&study), ["public", "write-burst"]);
    assert_eq!(study.rounds, 12);
    assert_eq!(schedule(&study, 1).len(), 16 * 2 * 12);
    assert_eq!(
        study.baselines,
        ["extra", "full", "normal"].map(|synchronous| format!(
            "sqlite/rusqlite/thread:begin=immediate,busy_timeout=10000,journal_mode=delete,statements=each,\
         synchronous={synchronous}"
        ))
    );
    assert_eq!((study.answers.len(), study.effects.len(), study.published.len()), (6, 8, 16));
}

#[test]
fn tiers_are_as_measured() {
    let study = wordpress(CORRECTED);
    let of =
        |tier| study.contenders.iter().filter(|it| it.tier == tier).map(|it| it.label.as_str()).collect::<Vec<_>>();
    assert_eq!(of(Tier::Unsafe), ["DELETE/NORMAL", "DELETE/NORMAL, deferred"]);
    assert_eq!(
        of(Tier::Bounded),
        [
            "DELETE/FULL",
            "WAL/NORMAL",
            "DELETE/FULL, deferred",
            "WAL/NORMAL, deferred",
            "PostgreSQL, bounded",
            "MariaDB, bounded"
        ]
    );
}

#[test]
fn quick_has_the_arms_of_the_answers() {
    let study = wordpress(QUICK);
    assert_eq!(labels(&study), ["WAL/FULL", "DELETE/EXTRA", "WAL/NORMAL", "DELETE/FULL", "WAL/NORMAL, deferred"]);
    assert_eq!(conditions(&study), ["write-burst"]);
    assert_eq!((study.rounds, study.load.processes, study.load.clients), (6, Some(16), Some(1)));
    assert_eq!((study.load.window_ns, study.load.run_in_ns), (1_500_000_000, 200_000_000));
    assert_eq!((study.answers.len(), study.published.len()), (5, 8));
    // Both halves of the published gain are there.
    for effect in &study.effects[..2] {
        assert_eq!(effect_pairs(&study, effect).len(), 1, "{}", effect.about);
    }
}

#[test]
fn quick_keeps_its_time_budget() {
    assert_quick_within("wordpress", 90);
}

#[test]
fn as_published_is_the_original() {
    let study = wordpress(AS_PUBLISHED);
    assert_eq!(labels(&study), ["DELETE/FULL", "WAL/NORMAL"]);
    assert_eq!(conditions(&study), ["public", "write-burst"]);
    assert_eq!((study.rounds, study.load.operations, study.load.window_ns, study.load.run_in_ns), (3, Some(300), 0, 0));
    assert_eq!(study.headline, "throughput_ops_per_s");
    assert_eq!(study.published.len(), 16);
    for contender in &study.contenders {
        let settings = ["begin", "busy_timeout", "statements"].map(|key| contender.settings[key].as_str());
        assert_eq!(settings, ["immediate", "10000", "each"]);
    }
}

#[test]
fn the_variations_of_its_page_fit() {
    let mut only_immediate = Choices::new(CORRECTED.0, CORRECTED.1);
    only_immediate.set = vec![parse_set("begin=immediate").unwrap(), parse_set("profile=public").unwrap()];
    let mut timeouts = Choices::new(QUICK.0, QUICK.1);
    timeouts.set = vec![parse_set("busy_timeout=0,100,10000").unwrap()];
    let mut truncate = Choices::new(QUICK.0, QUICK.1);
    truncate.contenders = vec!["sqlite:journal_mode=truncate,synchronous=full".to_string()];
    for (choices, contenders, answers) in [(only_immediate, 10, 4), (timeouts, 15, 5), (truncate, 6, 5)] {
        let study = resolve(&LIBRARY.find("wordpress").unwrap(), &choices).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((study.contenders.len(), study.answers.len()), (contenders, answers));
    }
}

/// The whole site, in about five minutes: starting a trial takes about as long as its window.
#[test]
fn the_site_is_short_when_it_is_quick() {
    assert_quick_within("wordpress-http", 300);
    let whole = embedded("wordpress-http", QUICK, &[]);
    assert_eq!(names(&whole), ["site", "request"]);
    let site = part(&whole, "site");
    assert_eq!((site.contenders.len(), site.rounds), (8, 6));
}

/// The site's data are those of the study's, so that the two can be compared; a site also keeps logins.
#[test]
fn the_site_has_the_data_of_the_study() {
    let read = |name| crate::workload::parse(&crate::workload::LIBRARY.find(name).unwrap()).unwrap();
    let (site, study) = (read("wordpress-site"), read("wordpress"));
    let ours = |name: &str| site.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("{name}"));
    for table in &study.tables {
        assert_eq!(format!("{:?}", ours(&table.name)), format!("{table:?}"));
    }
    assert_eq!(site.tables.len(), study.tables.len() + 1);
    let (mut ours, mut theirs) = (site.rows(1.0), study.rows(1.0));
    assert_eq!(
        (ours.remove("wp_usermeta"), ours.remove("wp_users"), theirs.remove("wp_users")),
        (Some(100), Some(100), Some(20))
    );
    assert_eq!(ours, theirs);
}

#[test]
fn visitors_who_do_not_wait_arrive_at_rates() {
    assert_quick_within("wordpress-rate", 60);
    let study = embedded("wordpress-rate", CORRECTED, &[]).studies.remove(0);
    assert_eq!(conditions(&study), [100, 200, 400, 800].map(|rate| format!("write-burst, {rate}/s")));
    assert_eq!(labels(&study), ["SQLite, durable", "PostgreSQL, durable", "MariaDB, durable"]);
    let quick = embedded("wordpress-rate", QUICK, &[]).studies.remove(0);
    assert_eq!((quick.conditions.len(), quick.contenders.len(), quick.alongs.len()), (2, 2, 1));
}
