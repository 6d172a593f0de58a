//! Tests of comparing two records: without pairs, and with words only where the records allow them.

use super::compare_records;
use super::testing::Story;
use super::tests::{record, usual};
use super::text::{self, Style};
use crate::analysis::Findings;
use crate::analysis::compare_records::{ComparedRow, compare};
use crate::record::model::Mount;
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
    assert!(!compare(&Findings::new(usual()), &Findings::new(&later)).fails_if_slower());
    let others = [1, 0].map(|at| later.run.study.contenders[at].clone());
    for (contender, other) in later.run.study.contenders.iter_mut().zip(others) {
        (contender.name, contender.resolved) = (other.name, other.resolved);
    }
    let found = compare(&Findings::new(usual()), &Findings::new(&later));
    assert!(found.fails_if_slower());
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
    assert!(found.fails_if_slower(), "a check that can say nothing is not passed");
    assert!(compare_records::text(&found, Style::FILE).contains("the number of cores differs: 4 in A, 64 in B"));
}

#[test]
fn records_of_different_disks_or_mounts_get_no_words() {
    let [(_a, mut earlier), (_b, mut later)] = [1, 2].map(|seed| record(&Story { seed, ..Story::default() }));
    let mount = Mount { source: "/dev/sda1".into(), options: vec!["discard".into()], model: None, no_sync: None };
    let model = |model: &str| Some(model.to_string());
    let mut differ = |of_a: &Mount, of_b: &Mount| {
        (earlier.run.disk.mount, later.run.disk.mount) = (Some(of_a.clone()), Some(of_b.clone()));
        let found = compare(&Findings::new(&earlier), &Findings::new(&later));
        let words = |row: &ComparedRow| !matches!(row.comparison.verdict, Verdict::NotComparable(_));
        assert_eq!(found.rows.iter().any(words), found.differences.is_empty());
        found.differences
    };
    assert!(differ(&mount, &mount).is_empty());
    let synced = Mount { options: vec!["discard".into(), "sync".into()], ..mount.clone() };
    assert_eq!(differ(&mount, &synced), ["the mount differs: discard in A, discard,sync in B"]);
    let other = Mount { source: "/dev/sdb1".into(), ..mount.clone() };
    assert!(differ(&mount, &other).is_empty(), "perhaps the same disk under another name");
    let [ssd, same] = [&mount, &other].map(|of| Mount { model: model("SSD 3000"), ..of.clone() });
    assert!(differ(&ssd, &same).is_empty(), "a restart can change the names");
    let disk = Mount { model: model("Disk 100"), ..mount.clone() };
    assert_eq!(differ(&ssd, &disk), ["the disk differs: SSD 3000 in A, Disk 100 in B"]);
    let in_memory = Mount { no_sync: Some("over /dev/shm, which is in memory (tmpfs)".into()), ..mount.clone() };
    let found = differ(&mount, &in_memory);
    assert_eq!(found, ["the effect of a sync differs: data is kept in A, none in B"]);
    let elsewhere = Mount { no_sync: Some("in memory (ramfs)".into()), ..mount.clone() };
    assert!(differ(&in_memory, &elsewhere).is_empty(), "its place does not matter");
}

/// Older records do not have the mount.
#[test]
fn other_times_of_a_sync_are_a_change_if_the_mount_is_unknown() {
    let (_dir, mut later) = record(&Story { seed: 2, ..Story::default() });
    let mut changes = |fsync_ns_p50| {
        later.run.disk.fsync_ns_p50 = fsync_ns_p50;
        let found = compare(&Findings::new(usual()), &Findings::new(&later));
        assert!(found.differences.is_empty(), "{:?}", found.differences);
        found.changes
    };
    assert!(changes(2_600_000).is_empty() && changes(650_000).is_empty(), "twice is noise");
    let words = "fsync before the run, in median: 1.30 ms in A, 2.70 ms in B (perhaps another disk or mount)";
    assert_eq!(changes(2_700_000), [words]);
    assert_eq!(changes(600_000).len(), 1);
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
    assert!(compare_records::text(&found, Style::FILE).contains("What differs, so a change may come from it"));
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
