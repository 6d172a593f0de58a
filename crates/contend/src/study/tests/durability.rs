//! The study of crashes as it comes with contend.

use crate::study::model::{Extent, Study, Variant};
use crate::study::{Choices, builtin, estimate_ns, resolve};
use std::collections::BTreeSet;

const QUICK_NS: u64 = 12 * 60 * 1_000_000_000;

fn durability(extent: Extent) -> Study {
    resolve(&builtin("durability").expect("embedded"), &Choices::new(Variant::Corrected, extent)).expect("a study")
}

#[test]
fn quick_keeps_its_time_budget_and_has_its_images() {
    let quick = durability(Extent::Quick);
    assert!(estimate_ns(&quick) <= QUICK_NS, "{} s", estimate_ns(&quick) / 1_000_000_000);
    let powercut = quick.powercut.expect("crashes");
    assert!(powercut.points >= 5_000 && powercut.server_points >= 100, "{powercut:?}");
    let full = durability(Extent::Full).powercut.expect("crashes");
    assert!(full.points >= 50_000 && full.server_points >= 1_000, "{full:?}");
}

#[test]
fn rates_are_of_several_rounds_and_get_no_verdict() {
    for extent in [Extent::Quick, Extent::Full] {
        let rounds = durability(extent).rounds as usize;
        assert!((3..crate::stats::interval::MIN_ROUNDS).contains(&rounds), "{rounds}");
    }
}

#[test]
fn the_full_form_has_settings_that_the_quick_one_has_not() {
    let of = |extent, engine: &str| durability(extent).contenders.iter().filter(|c| c.engine == engine).count();
    let counts = |extent| ["sqlite", "postgres", "mariadb"].map(|engine| of(extent, engine));
    assert_eq!(counts(Extent::Quick), [18, 4, 6]);
    assert_eq!(counts(Extent::Full), [18, 8, 10]);
}

#[test]
fn every_journal_is_there_with_every_way_of_syncing() {
    let study = durability(Extent::Quick);
    let value = |c: &crate::contender::Contender, name: &str| c.settings.get(name).cloned().unwrap_or_default();
    let sqlite = study.contenders.iter().filter(|c| c.engine == "sqlite");
    let cells: BTreeSet<_> = sqlite.map(|c| (value(c, "journal_mode"), value(c, "synchronous"))).collect();
    for journal in ["wal", "delete", "truncate", "persist"] {
        for synchronous in ["off", "normal", "full", "extra"] {
            assert!(cells.contains(&(journal.to_string(), synchronous.to_string())), "{journal}/{synchronous}");
        }
    }
    assert_eq!(cells.len(), 18);
    // With a binary log the default keeps less than without: that is asked, too.
    let binlog = study.contenders.iter().find(|c| value(c, "log_bin") == "on" && value(c, "sync_binlog").is_empty());
    let binlog = &binlog.expect("a binary log as it is by default").label;
    assert!(study.kept.iter().any(|kept| kept.contender == *binlog));
    for kept in &study.kept {
        assert!(study.contenders.iter().any(|c| c.label == kept.contender), "{}", kept.contender);
    }
}
