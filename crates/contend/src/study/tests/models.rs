//! The embedded study of execution models, and what its page says of it.

use super::{AS_PUBLISHED, CORRECTED, QUICK, conditions, embedded, labels, names, part};
use crate::study::estimate_ns;
use crate::study::model::{Extent, Variant, Whole};

fn whole(extent: (Variant, Extent), set: &[&str]) -> Whole {
    embedded("async", extent, set)
}

#[test]
fn quick_has_a_published_round_and_corrected_ones() {
    let whole = whole(QUICK, &[]);
    assert_eq!(names(&whole), ["published", "memory", "files"]);
    let published = part(&whole, "published");
    assert_eq!((published.variant, published.rounds), (Variant::AsPublished, 1));
    assert_eq!(published.load.window_ns, 10_000_000_000);
    let at_1_s = [1, 10, 50].map(|n| format!("databases={n}, write_delay_ms=1000"));
    assert_eq!(conditions(published), at_1_s);
    assert_eq!(published.published.len(), 27, "three figures of three models at three numbers of databases");
    let memory = part(&whole, "memory");
    assert_eq!((memory.variant, memory.rounds), (Variant::Corrected, 6));
    assert_eq!(conditions(memory), [1, 10, 50].map(|n| format!("databases={n}, write_delay_ms=100")));
    assert_eq!(labels(memory), ["direct", "block-in-place", "spawn-blocking", "dedicated", "fifo"]);
    assert_eq!(memory.answers.len(), 6);
    assert!(part(&whole, "files").answers.len() == 2 && labels(part(&whole, "files")).contains(&"pool"));
}

#[test]
fn quick_keeps_its_time_budget() {
    const BUDGET_NS: u64 = 300_000_000_000;
    let total_ns: u64 = whole(QUICK, &[]).studies.iter().map(estimate_ns).sum();
    assert!(total_ns <= BUDGET_NS, "{total_ns} ns");
}

#[test]
fn as_published_is_the_original() {
    let whole = whole(AS_PUBLISHED, &[]);
    assert_eq!(names(&whole), ["published"]);
    let study = part(&whole, "published");
    assert_eq!((study.rounds, study.load.window_ns, study.load.run_in_ns), (1, 60_000_000_000, 0));
    assert_eq!((study.conditions.len(), study.published.len()), (12, 36));
    assert_eq!(labels(study), ["direct", "spawn-blocking", "dedicated"]);
    for contender in &study.contenders {
        assert_eq!(contender.settings["storage"], "memory");
        assert_eq!(contender.settings["tokio_threads"], "4");
    }
    let columns: Vec<&str> = study.exports[0].columns.iter().map(|column| column.name.as_str()).collect();
    let original = "approach num_databases write_delay_ms test_duration_secs worker_threads readers_per_db \
                    read_requests_completed read_throughput_per_sec avg_read_latency_ms p50_read_latency_ms \
                    p99_read_latency_ms max_read_latency_ms write_ops_completed write_throughput_per_sec \
                    avg_write_latency_ms p99_write_latency_ms write_completion_ratio";
    assert_eq!(columns, original.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn full_has_the_whole_grid_in_fair_rounds() {
    let whole = whole(CORRECTED, &[]);
    assert_eq!(names(&whole), ["memory", "slow-disk", "files"]);
    let of = |name| {
        part(&whole, name).conditions.iter().map(|c| (c.axes["databases"].clone(), c.axes["write_delay_ms"].clone()))
    };
    let mut grid: Vec<(String, String)> = ["memory", "slow-disk"].into_iter().flat_map(of).collect();
    grid.sort_unstable();
    let mut expected: Vec<(String, String)> = ["1", "10", "50", "100"]
        .iter()
        .flat_map(|n| ["100", "1000", "10000"].map(|d| (n.to_string(), d.to_string())))
        .collect();
    expected.sort_unstable();
    assert_eq!(grid, expected);
    let files = part(&whole, "files");
    assert!(files.contenders.iter().all(|contender| contender.tier.word() == "durable"), "one tier");
}

#[test]
fn every_option_of_the_original_can_be_set() {
    for run in [QUICK, CORRECTED, AS_PUBLISHED] {
        let set = ["duration=5s", "tokio_threads=2", "readers=7", "write_delay_ms=20,30", "databases=2"];
        for study in &whole(run, &set).studies {
            let labels = ["20", "30"].map(|d| format!("databases=2, 5s long, readers=7, write_delay_ms={d}"));
            assert_eq!(conditions(study), labels);
            assert!(study.contenders.iter().all(|contender| contender.settings["tokio_threads"] == "2"));
        }
    }
}
