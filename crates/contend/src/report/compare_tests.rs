//! Tests of comparing two records: without pairs, and with words only where the records allow them.

use super::compare_records;
use super::testing::Story;
use super::tests::{record, usual};
use super::text::{self, Style};
use crate::analysis::Findings;
use crate::analysis::compare_records::compare;
use crate::stats::verdict::Verdict;

#[test]
fn two_records_are_compared_without_pairing() {
    let (_dir, later) = record(&Story { seed: 2, ..Story::default() });
    let found = compare(&Findings::new(usual()), &Findings::new(&later));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    assert_eq!(found.rows.len(), 5 * 2 * 3);
    let wrong = found.rows.iter().filter(|row| row.comparison.verdict.is_difference()).count();
    assert!(wrong <= 6, "{wrong} of 30 equal cells differ");
    let text = compare_records::text(&found, Style::FILE);
    assert!(text.contains("are not pairs") && text.lines().all(|l| l.chars().count() <= text::WIDTH), "{text}");
    let narrow = compare_records::text(&found, Style::terminal(70, true));
    assert!(narrow.contains("\u{1b}[1mB against A"), "{narrow}");
    assert!(narrow.lines().filter(|l| !l.contains('\u{1b}')).all(|l| l.chars().count() <= 70), "{narrow}");
    let json: serde_json::Value = serde_json::to_value(&found).unwrap();
    assert!(json["rows"][0]["comparison"]["ratio"].as_f64().unwrap() > 0.5);
}

/// The two durable contenders change places in B.
#[test]
fn a_record_is_slower_if_the_headline_of_a_contender_is() {
    let (_dir, mut later) = record(&Story { seed: 2, ..Story::default() });
    assert!(!compare(&Findings::new(usual()), &Findings::new(&later)).is_slower());
    let others = [1, 0].map(|at| later.run.study.contenders[at].clone());
    for (contender, other) in later.run.study.contenders.iter_mut().zip(others) {
        (contender.name, contender.resolved) = (other.name, other.resolved);
    }
    let found = compare(&Findings::new(usual()), &Findings::new(&later));
    assert!(found.is_slower());
    let text = compare_records::text(&found, Style::FILE);
    assert!(text.contains("slower") && text.contains("detectable: "), "{text}");
}

#[test]
fn records_of_different_machines_or_data_get_no_words() {
    let (_dir, mut later) = record(&Story { seed: 2, ..Story::default() });
    later.run.machine.cores = 64;
    later.run.workload.data_sha256 = "00".repeat(32);
    later.run.study.load.rate_per_s = Some(100.0);
    let found = compare(&Findings::new(usual()), &Findings::new(&later));
    assert_eq!(found.differences.len(), 3);
    let rate = "the rate differs: as fast as possible in A, 100/s in B";
    assert!(found.differences.iter().any(|difference| difference == rate), "{:?}", found.differences);
    assert!(found.rows.iter().all(|row| matches!(row.comparison.verdict, Verdict::NotComparable(_))));
    assert!(found.rows.iter().any(|row| row.comparison.ratio.is_some()));
    assert!(compare_records::text(&found, Style::FILE).contains("the number of cores differs: 4 in A, 64 in B"));
}

#[test]
fn another_version_is_told_and_compared() {
    let (_dir, mut later) = record(&Story { seed: 2, ..Story::default() });
    for worker in later.trials.iter_mut().filter(|t| t.slot.contender < 2).flat_map(|t| &mut t.workers) {
        worker.hello.insert("engine".to_string(), "SQLite 9.9.9".to_string());
    }
    let found = compare(&Findings::new(usual()), &Findings::new(&later));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    let [change] = &found.changes[..] else { panic!("one change: {:?}", found.changes) };
    assert!(change.starts_with("engine: SQLite 3.53.2 in A, SQLite 9.9.9 in B ("), "{change}");
    assert_eq!(change.matches("; ").count(), 1, "two contenders: {change}");
    assert!(compare_records::text(&found, Style::FILE).contains("Programs and their settings that differ"));
    let [(_a, mut earlier), (_b, mut later)] = [1, 2].map(|seed| record(&Story { seed, ..Story::default() }));
    for trial in earlier.trials.iter_mut().chain(&mut later.trials) {
        trial.settings.insert("cache_size".to_string(), "-2000".to_string());
    }
    later.trials[0].settings.insert("cache_size".to_string(), "500".to_string());
    let found = compare(&Findings::new(&earlier), &Findings::new(&later)).changes;
    assert!(
        found.len() == 1 && found[0].contains("cache_size: -2000 in A, -2000 and 500 in B"),
        "in one trial: {found:?}"
    );
    let (_dir, same) = record(&Story { seed: 3, ..Story::default() });
    assert!(compare(&Findings::new(usual()), &Findings::new(&same)).changes.is_empty());
}
