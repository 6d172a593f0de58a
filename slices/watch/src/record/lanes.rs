//! Charts of a lock: a lane for each process, or for each thread of a database's only process.

use super::draw::{Table, name, of_lanes};
use super::saved::{Saved, SavedDatabase};
use crate::connection;
use crate::words::time;
use contend::report::document::{Block, Lane, Lanes, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of `holds.csv` and `waits.csv`.
const FROM: usize = 0;
const TO: usize = 1;
const PID: usize = 3;
const TID: usize = 4;
/// Columns of a lane, which has a zoom.
const COLUMNS: usize = 1_000;
/// Most lanes.
const LANES_MAX: usize = 12;
/// Margin on both sides of the chart of the longest wait, relative to its length.
const MARGIN: f64 = 0.3;

/// The lists of a lock. `holds` has the write locks only.
pub struct Lists {
    pub shares: Table,
    pub holds: Table,
    pub waits: Table,
}

/// Owners of lanes, with their names: the processes, or the threads (or connections) of the only one.
pub struct Owners {
    column: usize,
    names: Vec<(u32, String)>,
}

impl Owners {
    /// Owners of the whole watch. Threads only if no list was cut: `shares.csv`, which has processes, is the shortest.
    pub fn of(saved: &Saved, database: &SavedDatabase, lists: &Lists) -> Owners {
        let all = |_: &Vec<f64>| saved.left_out.is_empty();
        Owners::of_rows(database, lists, all)
    }

    /// Threads are owners if the database has one process, of which a few threads are in these rows: in a program with a
    /// thread for each request no single one would say who held the lock.
    fn of_rows(database: &SavedDatabase, lists: &Lists, is_in: impl Fn(&Vec<f64>) -> bool) -> Owners {
        let rows = lists.holds.rows.iter().chain(&lists.waits.rows).filter(|row| is_in(row));
        let threads: BTreeSet<u32> = rows.map(|row| Table::cell(row, TID) as u32).collect();
        if database.processes.len() == 1 && (2..=LANES_MAX).contains(&threads.len()) {
            return Owners {
                column: TID,
                names: threads.into_iter().map(|tid| (tid, connection::name(tid))).collect(),
            };
        }
        let pids = database.processes.iter().map(|process| process.pid).take(LANES_MAX);
        Owners { column: PID, names: pids.map(|pid| (pid, name(database, pid))).collect() }
    }

    /// What a lane stands for.
    fn lane(&self) -> &'static str {
        if self.column == TID {
            "Each lane is a thread of the only process, or a connection that is not tied to a thread."
        } else {
            "Each lane is a process."
        }
    }

    fn of_row(&self, row: &[f64]) -> u32 {
        Table::cell(row, self.column) as u32
    }

    fn name(&self, owner: u32) -> &str {
        self.names.iter().find(|(known, _)| *known == owner).map_or("another process", |(_, name)| name)
    }

    /// A lane for each owner.
    fn lanes(&self, spans: impl Fn(u32, &str) -> Vec<Span>) -> Vec<Lane> {
        let lane = |(series, (owner, name)): (usize, &(u32, String))| {
            let spans = spans(*owner, name);
            Lane { series: if self.column == TID { 0 } else { series }, label: name.clone(), spans }
        };
        self.names.iter().enumerate().map(lane).collect()
    }
}

fn length(row: &[f64]) -> f64 {
    (Table::cell(row, TO) - Table::cell(row, FROM)).max(0.0)
}

/// End of a row's interval; one that was open at the end of the watch has none.
fn to(row: &[f64], end_ns: f64) -> f64 {
    row.get(TO).copied().filter(|to| to.is_finite()).unwrap_or(end_ns)
}

fn tip(owner: &str, hollow: bool, ns: f64) -> String {
    let what = if hollow { "waited" } else { "had the write lock for" };
    format!("{owner}: {what} {}", time(ns.max(0.0) as u64))
}

/// Time with the lock, and time of waits, of each owner in each part of the watch.
type Sums = BTreeMap<(u32, usize), [f64; 2]>;

/// The lock over the whole watch, and the moment of the longest wait.
pub fn blocks(saved: &Saved, database: &SavedDatabase, lists: &Lists) -> Vec<Block> {
    let owners = Owners::of(saved, database, lists);
    let lane = owners.lane();
    let legend = format!(
        "{lane} The height of a bar is the part of that moment in which it had the write lock; an outline is time in which it \
         waited for a lock."
    );
    let mut blocks = vec![Block::Text(legend), Block::Lanes(over_time(saved, &owners, lists))];
    if let Some((others, chart)) = longest_wait(database, lists) {
        blocks.extend((others.lane() != lane).then(|| Block::Text(others.lane().to_string())));
        blocks.push(Block::Lanes(chart));
    }
    blocks
}

/// Owners of the write lock, and waiters, over the whole watch.
fn over_time(saved: &Saved, owners: &Owners, lists: &Lists) -> Lanes {
    let end_ns = saved.watched_ns as f64;
    // A line of `shares.csv` covers a tenth of a second.
    let columns = COLUMNS.min((end_ns / 1e8).ceil() as usize).max(1);
    let width = (end_ns / columns as f64).max(1.0);
    let sums = if owners.column == TID {
        of_threads(lists, end_ns, width, columns)
    } else {
        of_processes(&lists.shares, width, columns)
    };
    let spans = |owner: u32, name: &str| {
        let parts = sums.range((owner, 0)..=(owner, columns));
        let of_part = |((_, part), sums): (&(u32, usize), &[f64; 2])| {
            let (from, to) = (*part as f64 * width, (*part + 1) as f64 * width);
            let at = format!("{name} at {}", time(from as u64));
            let span = |hollow: bool| {
                let ns = sums[usize::from(hollow)];
                (ns > 0.0).then(|| Span { from, to, height: (ns / width).min(1.0), hollow, tip: tip(&at, hollow, ns) })
            };
            [span(false), span(true)]
        };
        parts.flat_map(of_part).flatten().collect()
    };
    Lanes {
        title: "Write lock over time".to_string(),
        low: 0.0,
        high: end_ns.max(1.0),
        ticks: of_lanes(0.0, end_ns),
        lanes: owners.lanes(spans),
    }
}

fn of_processes(shares: &Table, width: f64, columns: usize) -> Sums {
    let mut sums = Sums::new();
    for row in &shares.rows {
        // A line's time is the end of its interval.
        let part = ((Table::cell(row, 0) - 5e7).max(0.0) / width) as usize;
        let [held, waited] = sums.entry((Table::cell(row, 2) as u32, part.min(columns - 1))).or_default();
        (*held, *waited) = (*held + Table::cell(row, 4), *waited + Table::cell(row, 6));
    }
    sums
}

fn of_threads(lists: &Lists, end_ns: f64, width: f64, columns: usize) -> Sums {
    let mut sums = Sums::new();
    for (kind, table) in [&lists.holds, &lists.waits].into_iter().enumerate() {
        for row in &table.rows {
            let (from, to) = (Table::cell(row, FROM), to(row, end_ns).min(end_ns));
            let first = (from / width) as usize;
            for part in (first..columns).take_while(|part| *part as f64 * width < to) {
                let (begins, ends) = (part as f64 * width, (part + 1) as f64 * width);
                let of_part = sums.entry((Table::cell(row, TID) as u32, part)).or_default();
                of_part[kind] += (to.min(ends) - from.max(begins)).max(0.0);
            }
        }
    }
    sums
}

/// The time of the longest wait, with each hold of the write lock and each wait, and the owners of its lanes.
fn longest_wait(database: &SavedDatabase, lists: &Lists) -> Option<(Owners, Lanes)> {
    let waits = lists.waits.rows.iter().filter(|row| length(row) > 0.0);
    let longest = waits.max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let margin = MARGIN * length(longest);
    let (low, high) = ((Table::cell(longest, FROM) - margin).max(0.0), Table::cell(longest, TO) + margin);
    let owners = Owners::of_rows(database, lists, |row| to(row, high) >= low && Table::cell(row, FROM) <= high);
    let spans_of = |table: &Table, hollow: bool, owner: u32, name: &str| -> Vec<Span> {
        let rows = table.rows.iter().filter(|row| owners.of_row(row) == owner);
        let spans = rows.filter_map(|row| {
            let (from, to) = (Table::cell(row, FROM), to(row, high));
            let tip = tip(name, hollow, to - from);
            (to >= low && from <= high).then(|| Span {
                from: from.max(low),
                to: to.min(high),
                height: 1.0,
                hollow,
                tip,
            })
        });
        spans.take(COLUMNS).collect()
    };
    let spans = |owner: u32, name: &str| {
        let holds = spans_of(&lists.holds, false, owner, name);
        [holds, spans_of(&lists.waits, true, owner, name)].concat()
    };
    let lanes = owners.lanes(spans).into_iter().filter(|lane| !lane.spans.is_empty()).collect();
    let waiter = owners.name(owners.of_row(longest));
    let title = format!("The longest wait: {waiter}, {}", time(length(longest) as u64));
    Some((owners, Lanes { title, low, high, ticks: of_lanes(low, high), lanes }))
}

#[cfg(test)]
mod tests {
    use super::super::saved::SavedProcess;
    use super::*;

    const S: f64 = 1e9;

    fn database(pids: &[u32]) -> SavedDatabase {
        let process = |pid: &u32| SavedProcess { pid: *pid, program: "app".to_string(), ..SavedProcess::default() };
        SavedDatabase { processes: pids.iter().map(process).collect(), ..SavedDatabase::default() }
    }

    /// Rows of `holds.csv` or `waits.csv`: from, to, process and thread.
    fn table(rows: &[(f64, f64, u32, u32)]) -> Table {
        let row = |&(from, to, pid, tid): &(f64, f64, u32, u32)| vec![from, to, 0.0, f64::from(pid), f64::from(tid)];
        Table { rows: rows.iter().map(row).collect() }
    }

    fn of_one_process() -> Lists {
        let holds = table(&[(0.05 * S, 0.25 * S, 7, 8), (0.9 * S, f64::NAN, 7, 8)]);
        Lists { shares: Table::default(), holds, waits: table(&[(0.1 * S, 0.3 * S, 7, 9)]) }
    }

    #[test]
    fn threads_of_the_only_process_have_lanes() {
        let (database, lists) = (database(&[7]), of_one_process());
        let saved = Saved { watched_ns: S as u64, ..Saved::default() };
        let owners = Owners::of(&saved, &database, &lists);
        let chart = over_time(&saved, &owners, &lists);
        let labels: Vec<&str> = chart.lanes.iter().map(|lane| lane.label.as_str()).collect();
        assert_eq!(labels, ["thread 8", "thread 9"]);
        let heights = |lane: usize| -> Vec<(i32, bool)> {
            chart.lanes[lane].spans.iter().map(|span| ((100.0 * span.height).round() as i32, span.hollow)).collect()
        };
        assert_eq!(heights(0), [(50, false), (100, false), (50, false), (100, false)], "the last one was not released");
        assert_eq!(heights(1), [(100, true), (100, true)]);
        let (_, longest) = longest_wait(&database, &lists).expect("a wait");
        assert_eq!(longest.title, "The longest wait: thread 9, 200 ms");
        assert_eq!(longest.lanes.iter().map(|lane| lane.spans.len()).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn processes_have_lanes_if_there_are_several_or_one_with_one_thread() {
        let saved = Saved { watched_ns: S as u64, ..Saved::default() };
        let owners = Owners::of(&saved, &database(&[7, 11]), &of_one_process());
        assert_eq!(owners.names, [(7, "app (7)".to_string()), (11, "app (11)".to_string())]);
        let alone = Lists { waits: Table::default(), ..of_one_process() };
        assert_eq!(Owners::of(&saved, &database(&[7]), &alone).names, [(7, "app (7)".to_string())]);
        let cut = Saved { left_out: vec!["holds".to_string()], ..saved };
        assert_eq!(Owners::of(&cut, &database(&[7]), &of_one_process()).names, [(7, "app (7)".to_string())]);
    }

    /// A thread for each request: no few of them say who held the lock. Around the longest wait there are few.
    #[test]
    fn many_threads_have_no_lanes_but_around_the_longest_wait() {
        let rows: Vec<_> = (8..40).map(|tid| (f64::from(tid) * S, f64::from(tid + 1) * S, 7, tid)).collect();
        let waits = table(&[(20.5 * S, 22.5 * S, 7, 22)]);
        let lists = Lists { shares: Table::default(), holds: table(&rows), waits };
        let saved = Saved { watched_ns: 40 * S as u64, ..Saved::default() };
        assert_eq!(Owners::of(&saved, &database(&[7]), &lists).names, [(7, "app (7)".to_string())]);
        let (owners, chart) = longest_wait(&database(&[7]), &lists).expect("a wait");
        assert_eq!(owners.column, TID);
        let labels: Vec<&str> = chart.lanes.iter().map(|lane| lane.label.as_str()).collect();
        assert_eq!(labels, ["thread 19", "thread 20", "thread 21", "thread 22", "thread 23"]);
        assert_eq!(chart.title, "The longest wait: thread 22, 2.00 s");
        assert_eq!(blocks(&saved, &database(&[7]), &lists).len(), 4, "both charts say what their lanes are");
    }
}
