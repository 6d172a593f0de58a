//! The study `backlog`: the published sizes of a log, and what a trial records about it.

use crate::support::{Bench, column};
use std::fs;

#[test]
fn the_published_sizes_of_a_pinned_log_are_reproduced() {
    let bench = Bench::new();
    let args = ["run", "backlog", "--quick", "--set", "part=published", "--out", "record", "--quiet"];
    bench.contend(&args).ran();
    let part = bench.path("record/published");
    let sizes: Vec<f64> =
        column(&part.join("trials.csv"), "size_bytes_wal").into_iter().map(|(_, size)| size).collect();
    let published = [16_517_112.0, 62_582_832.0];
    assert_eq!(sizes.len(), published.len(), "{sizes:?}");
    for (size, published) in sizes.iter().zip(published) {
        assert!((size / published - 1.0).abs() <= 0.03, "{sizes:?} against {published}");
    }
    assert!((sizes[1] / sizes[0] - 3.8).abs() < 0.1, "{sizes:?}");
    // The reader is seen, and what it keeps from being copied: all frames after its snapshot.
    let series = fs::read_to_string(part.join("trials/0002/series.csv")).expect("readable");
    let mut lines = series.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let at = |name: &str| head.iter().position(|column| *column == name).expect(name);
    let largest = |column: usize| lines.clone().filter_map(|row| row[column].parse::<u64>().ok()).max().unwrap_or(0);
    let [backlog, behind, age_ns] = ["frames_backlog", "frames_reader_behind", "reader_ns"].map(at).map(largest);
    assert!(backlog > 15_000 && behind > 15_000, "{backlog} frames, {behind} since the snapshot");
    assert!(age_ns > 5_000_000_000, "the snapshot is kept for 15 s: {age_ns}");
    // The process of the reader is the same all the time.
    let pid = head.iter().position(|column| *column == "reader_pid").expect("reader_pid");
    let number = |cell: &str| cell.parse::<u64>().unwrap_or(0);
    let pinned = lines.clone().filter(|row| number(row[at("frames_reader_behind")]) > 1_000);
    let pids: std::collections::BTreeSet<u64> = pinned.map(|row| number(row[pid])).collect();
    assert!(pids.len() == 1 && !pids.contains(&0), "{pids:?}");
    let page = fs::read_to_string(part.join("report.html")).expect("readable");
    for chart in ["og frames not yet checkpointed", "ge of the oldest snapshot in use"] {
        assert!(page.contains(chart), "{chart} is not drawn");
    }
    bench.assert_nothing_left();
}
