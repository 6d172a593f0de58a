//! What is not steady within a probe: a log that grows, checkpoints, and a window with a fast and a slow part. Pure.

use contend_stats::interval::{median, sorted};
use serde::{Deserialize, Serialize};

/// Size of the log at the beginning and the end of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Median of the first third, bytes.
    pub first_bytes: u64,
    /// Median of the last third, bytes.
    pub last_bytes: u64,
}

/// A window whose parts have two speeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Speeds {
    /// Median response of the fast parts, ns.
    pub fast_ns: u64,
    /// Median response of the slow parts, ns.
    pub slow_ns: u64,
    /// Share of the window in slow parts.
    pub slow: f64,
}

/// Sizes and backlog of a log over a window, from `series.csv`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    pub growth: Option<Growth>,
    /// Samples between which frames were copied; `None` without a write-ahead log of SQLite.
    pub checkpoints: Option<u32>,
}

/// A log has grown if its end is this many times its beginning ...
const GROWN: f64 = 1.5;
/// ... and this much more. SQLite's log reaches 4 MB before its first checkpoint.
const GROWN_BYTES: f64 = 8e6;
/// Fewest samples with which growth is judged.
const SAMPLES_MIN: usize = 6;

/// Slow parts of a window take at least this many times as long as fast ones, with nothing in between ...
const SLOWER: f64 = 4.0;
/// ... and fast and slow parts are each at least this share of the window.
const PART_MIN: f64 = 0.15;

/// The log over a window of this length. Rows that cannot be read are skipped.
pub fn log(series: &str, window_ns: u64) -> Log {
    let mut lines = series.lines();
    let Some(head) = lines.next() else { return Log::default() };
    let place = |name: &str| head.split(',').position(|column| column == name);
    let [Some(offset), Some(size)] = ["offset_ns", "size_bytes_wal"].map(place) else { return Log::default() };
    let frames = place("frames_backlog");
    let (mut sizes, mut backlog) = (vec![], vec![]);
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
        let inside = number(offset).is_some_and(|at| (0.0..=window_ns as f64).contains(&at));
        if inside {
            sizes.extend(number(size));
            backlog.extend(frames.and_then(number));
        }
    }
    let copied = backlog.windows(2).filter(|pair| pair[1] < pair[0]).count() as u32;
    Log { growth: grown(&sizes), checkpoints: (!backlog.is_empty()).then_some(copied) }
}

fn grown(sizes: &[f64]) -> Option<Growth> {
    let third = sizes.len() / 3;
    if sizes.len() < SAMPLES_MIN {
        return None;
    }
    let (first, last) = (median(&sizes[..third])?, median(&sizes[sizes.len() - third..])?);
    let is_grown = last >= first * GROWN && last - first >= GROWN_BYTES;
    is_grown.then_some(Growth { first_bytes: first as u64, last_bytes: last as u64 })
}

/// The two speeds of a window, from the median responses of its equal parts, in any order.
pub fn speeds(medians_ns: &[f64]) -> Option<Speeds> {
    let all = sorted(medians_ns);
    let at = (1..all.len()).max_by(|a, b| step(&all, *a).total_cmp(&step(&all, *b)))?;
    let (fast, slow) = all.split_at(at);
    let share = slow.len() as f64 / all.len() as f64;
    if step(&all, at) < SLOWER || !(PART_MIN..=1.0 - PART_MIN).contains(&share) {
        return None;
    }
    Some(Speeds { fast_ns: median(fast)? as u64, slow_ns: median(slow)? as u64, slow: share })
}

/// Ratio of a value to the one below it.
fn step(sorted: &[f64], at: usize) -> f64 {
    sorted[at] / sorted[at - 1].max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series with these sizes in MB and frames, 100 ns apart from the start of the window, and two samples of the run-in.
    fn series(sizes: &[u64], frames: &[Option<u64>]) -> String {
        let mut text =
            "offset_ns,size_bytes_db,size_bytes_wal,frames_backlog\n-200,1,999000000,9\n-100,1,1,\n".to_string();
        for (at, size) in sizes.iter().enumerate() {
            let frames = frames.get(at).copied().flatten().map_or(String::new(), |frames| frames.to_string());
            text += &format!("{},1,{}000000,{frames}\n", at * 100, size);
        }
        text + "broken\n99999,1,1,1\n"
    }

    #[test]
    fn a_log_that_grows_is_seen_and_the_run_in_is_no_part_of_it() {
        let of = |sizes: &[u64]| log(&series(sizes, &[]), 900);
        let growth = Growth { first_bytes: 10_000_000, last_bytes: 70_000_000 };
        assert_eq!(of(&[10, 10, 20, 30, 40, 50, 60, 70, 80]).growth, Some(growth));
        for steady in [&[10, 10, 10, 10, 11, 11, 12, 12, 12][..], &[1, 1, 2, 2, 4, 4, 4, 4, 4], &[10, 90]] {
            assert_eq!(of(steady), Log::default(), "{steady:?}");
        }
        assert_eq!(log("", 900), Log::default());
    }

    #[test]
    fn checkpoints_are_where_the_backlog_falls() {
        let frames = [10, 20, 5, 30, 0].map(Some);
        assert_eq!(log(&series(&[1; 5], &frames), 900).checkpoints, Some(2));
        assert_eq!(log(&series(&[1; 5], &[]), 900).checkpoints, None);
    }

    #[test]
    fn a_window_with_a_fast_and_a_slow_part_has_two_speeds() {
        let two: Vec<f64> = (0..60).map(|bin| if bin < 40 { 1e6 } else { 20e6 }).collect();
        let found = speeds(&two).unwrap();
        assert_eq!((found.fast_ns, found.slow_ns), (1_000_000, 20_000_000));
        assert!((found.slow - 1.0 / 3.0).abs() < 1e-9);
        let one: Vec<f64> = (0..60).map(|bin| 1e6 * (1.0 + f64::from(bin) / 10.0)).collect();
        let rare: Vec<f64> = (0..60).map(|bin| if bin < 57 { 1e6 } else { 90e6 }).collect();
        for medians in [one, rare, vec![], vec![1e6]] {
            assert_eq!(speeds(&medians), None, "{medians:?}");
        }
    }
}
