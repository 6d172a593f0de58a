//! Charts of a report, made from the lists of a record.

use super::saved::{Saved, SavedDatabase};
use crate::words::{bytes, time};
use anyhow::{Context, Result};
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
const PROCESSES_MAX: usize = 12;

/// Rows of a CSV file as numbers; cells without a number are NaN.
#[derive(Debug, Default)]
pub struct Table {
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    /// Reads the rows that `wanted` selects. A missing file has none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path, wanted: impl Fn(&[&str]) -> bool) -> Result<Table> {
        if !path.exists() {
            return Ok(Table::default());
        }
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut rows = vec![];
        for line in BufReader::new(file).lines().skip(1) {
            let line = line.with_context(|| format!("cannot read {}", path.display()))?;
            let cells: Vec<&str> = line.split(',').collect();
            if wanted(&cells) {
                rows.push(cells.iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect());
            }
        }
        Ok(Table { rows })
    }

    /// A cell; 0 if it has no number.
    pub fn cell(row: &[f64], column: usize) -> f64 {
        row.get(column).copied().filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// A column over time: its maximum in each part of the watch.
    fn over_time(&self, column: usize, end_ns: f64) -> Vec<(f64, f64)> {
        let width = (end_ns / COLUMNS as f64).max(1.0);
        let mut parts: BTreeMap<usize, f64> = BTreeMap::new();
        for row in &self.rows {
            let part = parts.entry((Table::cell(row, 0) / width) as usize).or_insert(0.0);
            *part = part.max(Table::cell(row, column));
        }
        parts.into_iter().map(|(part, value)| ((part as f64 + 0.5) * width, value)).collect()
    }
}

/// Share of time for which each process synced.
pub fn syncs(saved: &Saved, database: &SavedDatabase, shares: &Table) -> Lines {
    let end_ns = saved.watched_ns as f64;
    let width = (end_ns / COLUMNS as f64).max(1e8);
    let mut series = vec![];
    for (number, process) in database.processes.iter().enumerate().take(PROCESSES_MAX) {
        let mut parts: BTreeMap<usize, f64> = BTreeMap::new();
        for row in shares.rows.iter().filter(|row| Table::cell(row, 2) as u32 == process.pid) {
            *parts.entry((Table::cell(row, 0) / width) as usize).or_default() += Table::cell(row, 8);
        }
        if parts.values().any(|ns| *ns > 0.0) {
            let points = parts.iter().map(|(part, ns)| ((*part as f64 + 0.5) * width, 100.0 * ns / width)).collect();
            series.push((number, name(database, process.pid), points));
        }
    }
    lines("Syncs: part of the time in which a process waited for the disk, per cent", end_ns, series, &|v| {
        format!("{v:.0} %")
    })
}

/// Size of the log over time.
pub fn log(saved: &Saved, log: &Table, is_wal: bool) -> Vec<Block> {
    let end_ns = saved.watched_ns as f64;
    let mut out = vec![];
    let bytes = [(0, "database", 2), (1, "log", 3)]
        .map(|(n, name, column)| (n, name.to_string(), log.over_time(column, end_ns)));
    out.push(Block::Lines(lines("Bytes of database and log", end_ns, bytes.to_vec(), &size)));
    if is_wal {
        let mut backlog = Table::default();
        backlog.rows.extend(
            log.rows.iter().map(|row| vec![Table::cell(row, 0), (Table::cell(row, 4) - Table::cell(row, 5)).max(0.0)]),
        );
        let series = vec![(0, "frames".to_string(), backlog.over_time(1, end_ns))];
        out.push(Block::Lines(lines("Frames of the log that no checkpoint has copied yet", end_ns, series, &|v| {
            format!("{v:.0}")
        })));
    }
    out
}

/// Clients of a server over time.
pub fn clients(saved: &Saved, looks: &Table) -> Vec<Block> {
    let end_ns = saved.watched_ns as f64;
    let columns = |columns: &[(usize, &str)]| -> Vec<Numbered> {
        let series = columns.iter().enumerate();
        series.map(|(n, (column, name))| (n, (*name).to_string(), looks.over_time(*column, end_ns))).collect()
    };
    let whole = |v: f64| format!("{v:.0}");
    let counts = columns(&[(2, "active"), (3, "idle in transaction"), (4, "waiting")]);
    vec![
        Block::Lines(lines("Clients", end_ns, counts, &whole)),
        Block::Lines(lines("Longest wait at each moment", end_ns, columns(&[(5, "wait")]), &|v| time(v as u64))),
        Block::Lines(lines("Old versions of rows that are still kept", end_ns, columns(&[(6, "versions")]), &whole)),
    ]
}

fn lines(title: &str, end_ns: f64, series: Vec<Numbered>, shown: &dyn Fn(f64) -> String) -> Lines {
    let max = series.iter().flat_map(|(_, _, points)| points).map(|(_, y)| *y).fold(0.0, f64::max);
    let high = if max > 0.0 { max * 1.05 } else { 1.0 };
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
        y: Axis { label: String::new(), log: false, low: 0.0, high, ticks: ticks(0.0, high, shown) },
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

/// Tick marks of lanes: fewer, so that their labels have room on the screen of a phone.
pub fn of_lanes(low: f64, high: f64) -> Vec<Tick> {
    ticks(low, high, &seconds).into_iter().filter(|tick| !tick.minor).collect()
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

/// Bytes for people.
fn size(count: f64) -> String {
    bytes(count.max(0.0) as u64)
}
