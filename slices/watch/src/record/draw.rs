//! Charts of a report, made from the lists of a record.

use super::saved::{Saved, SavedDatabase};
use crate::words::{bytes, time};
use anyhow::{Context, Result};
use contend::report::content::axes::{linear_axis, trimmed};
use contend::report::document::{Axis, Block, Lines, Point, Series, Tick};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Colour, name and points of a line.
type Numbered = (usize, String, Vec<(f64, f64)>);

const SECOND: f64 = 1e9;
/// Points of a line. Values within one are summed up, or their maximum is shown.
const COLUMNS: usize = 400;
/// Most processes with a line.
pub const PROCESSES_MAX: usize = 12;

/// A line of a list.
pub struct Row<'r>(Vec<&'r str>);

impl<'r> Row<'r> {
    pub fn of(line: &'r str) -> Row<'r> {
        Row(line.split(',').collect())
    }

    /// A cell; `None` if it has no number.
    pub fn get(&self, column: usize) -> Option<f64> {
        self.text(column).parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// A cell; 0 if it has no number.
    pub fn number(&self, column: usize) -> f64 {
        self.get(column).unwrap_or(0.0)
    }

    pub fn text(&self, column: usize) -> &'r str {
        self.0.get(column).copied().unwrap_or_default()
    }
}

/// Passes the lines of a list after its head to `each`. A missing file has none. The list of a day may have more lines
/// than memory has room for.
///
/// # Errors
/// It cannot be read.
pub fn each_row(path: &Path, mut each: impl FnMut(&Row<'_>)) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut file, mut line, mut is_head) = (BufReader::new(file), String::new(), true);
    while file.read_line(&mut line).with_context(|| format!("cannot read {}", path.display()))? > 0 {
        if !std::mem::take(&mut is_head) {
            each(&Row::of(line.trim_end()));
        }
        line.clear();
    }
    Ok(())
}

/// Values over time: the maximum of each in each part of the watch.
pub struct Maxima {
    width: f64,
    of: Vec<BTreeMap<usize, f64>>,
}

impl Maxima {
    pub fn new(saved: &Saved, values: usize) -> Maxima {
        let width = (saved.watched_ns as f64 / COLUMNS as f64).max(1.0);
        Maxima { width, of: vec![BTreeMap::new(); values] }
    }

    /// Adds the values of one moment.
    pub fn add(&mut self, at_ns: f64, values: &[f64]) {
        for (parts, value) in self.of.iter_mut().zip(values) {
            let part = parts.entry((at_ns / self.width) as usize).or_insert(0.0);
            *part = part.max(*value);
        }
    }

    fn points(&self, value: usize) -> Vec<(f64, f64)> {
        let parts = self.of.get(value).into_iter().flatten();
        parts.map(|(part, value)| ((*part as f64 + 0.5) * self.width, *value)).collect()
    }
}

/// Time of syncs of each process in each part of the watch.
pub struct Syncs {
    width: f64,
    of: BTreeMap<(u32, usize), f64>,
}

impl Syncs {
    pub fn new(saved: &Saved) -> Syncs {
        Syncs { width: (saved.watched_ns as f64 / COLUMNS as f64).max(1e8), of: BTreeMap::new() }
    }

    /// Adds a line of `shares.csv`.
    pub fn add(&mut self, pid: u32, row: &Row<'_>) {
        *self.of.entry((pid, (row.number(0) / self.width) as usize)).or_default() += row.number(8);
    }
}

/// Share of time for which each process synced.
pub fn syncs(saved: &Saved, database: &SavedDatabase, syncs: &Syncs) -> Lines {
    let (end_ns, width) = (saved.watched_ns as f64, syncs.width);
    let mut series = vec![];
    for (number, process) in database.processes.iter().enumerate().take(PROCESSES_MAX) {
        let parts = || syncs.of.range((process.pid, 0)..=(process.pid, usize::MAX)).map(|((_, part), ns)| (*part, *ns));
        if parts().any(|(_, ns)| ns > 0.0) {
            let points = parts().map(|(part, ns)| ((part as f64 + 0.5) * width, 100.0 * ns / width)).collect();
            series.push((number, name(database, process.pid), points));
        }
    }
    lines("Syncs: part of the time in which a process waited for the disk", end_ns, series, &percent)
}

/// Size of the log over time: the bytes of the database, and of the log, and frames that no checkpoint has copied.
pub fn log(saved: &Saved, log: &Maxima, is_wal: bool) -> Vec<Block> {
    let end_ns = saved.watched_ns as f64;
    let bytes = [(0, "database"), (1, "log")].map(|(n, name)| (n, name.to_string(), log.points(n)));
    let mut out = vec![Block::Lines(lines("Bytes of database and log", end_ns, bytes.to_vec(), &size))];
    if is_wal {
        let series = vec![(0, "frames".to_string(), log.points(2))];
        let title = "Frames of the log that no checkpoint has copied yet";
        out.push(Block::Lines(lines(title, end_ns, series, &trimmed)));
    }
    out
}

/// Clients of a server over time: the columns of `looks.csv`.
pub fn clients(saved: &Saved, looks: &Maxima) -> Vec<Block> {
    let end_ns = saved.watched_ns as f64;
    let columns = |columns: &[(usize, &str)]| -> Vec<Numbered> {
        let series = columns.iter().enumerate();
        series.map(|(n, (column, name))| (n, (*name).to_string(), looks.points(*column))).collect()
    };
    let counts = columns(&[(2, "active"), (3, "idle in transaction"), (4, "waiting")]);
    vec![
        Block::Lines(lines("Clients", end_ns, counts, &trimmed)),
        Block::Lines(lines("Longest wait at each moment", end_ns, columns(&[(5, "wait")]), &|v| time(v as u64))),
        Block::Lines(lines("Old versions of rows that are still kept", end_ns, columns(&[(6, "versions")]), &trimmed)),
    ]
}

fn lines(title: &str, end_ns: f64, series: Vec<Numbered>, shown: &dyn Fn(f64) -> String) -> Lines {
    let max = series.iter().flat_map(|(_, _, points)| points).map(|(_, y)| *y).fold(0.0, f64::max);
    let point = |x: f64, y: f64| Point { x, y: Some(y), weak: false, tip: format!("{}: {}", seconds(x), shown(y)) };
    let series = series.into_iter().map(|(number, label, points)| Series {
        series: number,
        label,
        points: points.into_iter().map(|(x, y)| point(x, y)).collect(),
    });
    Lines {
        title: title.to_string(),
        condition: None,
        x: Axis {
            label: "time".to_string(),
            log: false,
            low: 0.0,
            high: end_ns.max(1.0),
            ticks: ticks(0.0, end_ns, &seconds),
        },
        y: linear_axis(max, shown),
        series: series.collect(),
        small: false,
        in_text: false,
    }
}

fn seconds(ns: f64) -> String {
    if ns == 0.0 {
        return "0".to_string();
    }
    if ns < SECOND / 1000.0 { format!("{:.3} s", ns / SECOND) } else { time(ns as u64) }
}

/// Tick marks of lanes: fewer, so that their labels have room on the screen of a phone. After a first one that is not the
/// beginning of the watch, the others are counted from it: they may be microseconds apart.
pub fn of_lanes(low: f64, high: f64) -> Vec<Tick> {
    let shown = |at: f64| if low > 0.0 && at > low { format!("+{}", seconds(at - low)) } else { seconds(at) };
    ticks(low, high, &shown).into_iter().filter(|tick| !tick.minor).collect()
}

/// Five tick marks over the range.
fn ticks(low: f64, high: f64, shown: &dyn Fn(f64) -> String) -> Vec<Tick> {
    const PARTS: i32 = 4;
    let at = |part: i32| low + (high - low) * f64::from(part) / f64::from(PARTS);
    (0..=PARTS).map(|part| Tick { at: at(part), label: shown(at(part)), minor: part % 2 == 1 }).collect()
}

/// Name of a process for people.
pub fn name(database: &SavedDatabase, pid: u32) -> String {
    let found = database.processes.iter().find(|process| process.pid == pid);
    found.map_or(format!("process {pid}"), |process| format!("{} ({pid})", process.program))
}

/// With decimals below one percent.
fn percent(value: f64) -> String {
    format!("{} %", trimmed((value * 1000.0).round() / 1000.0))
}

/// Bytes for people.
fn size(count: f64) -> String {
    bytes(count.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_have_tick_marks_that_differ() {
        let of = |share: f64| lines("syncs", SECOND, vec![(0, "app".to_string(), vec![(0.0, share)])], &percent);
        let labels = |share: f64| of(share).y.ticks.into_iter().map(|tick| tick.label).collect::<Vec<_>>();
        assert_eq!(labels(0.3), ["0", "0.1 %", "0.2 %", "0.3 %"]);
        assert_eq!(labels(70.0), ["0", "20 %", "40 %", "60 %", "80 %"]);
    }
}
