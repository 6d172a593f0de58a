//! Charts of a lock: a lane for each process, or for each thread of a database's only process.

use super::draw::{Table, name, of_lanes};
use super::saved::{Saved, SavedDatabase};
use crate::connection;
use crate::words::time;
use contend::report::document::{Lane, Lanes, Span};
use std::collections::BTreeMap;

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
    /// Threads are owners if the database has one process, of which more than one thread had the write lock or waited,
    /// and no list was cut: `shares.csv`, which has processes, is the shortest.
    pub fn of(saved: &Saved, database: &SavedDatabase, lists: &Lists) -> Owners {
        let mut threads: BTreeMap<u32, f64> = BTreeMap::new();
        for row in lists.holds.rows.iter().chain(&lists.waits.rows) {
            let ns = to(row, saved.watched_ns as f64) - Table::cell(row, FROM);
            *threads.entry(Table::cell(row, TID) as u32).or_default() += ns;
        }
        if database.processes.len() > 1 || threads.len() < 2 || !saved.left_out.is_empty() {
            let pids = database.processes.iter().map(|process| process.pid).take(LANES_MAX);
            return Owners { column: PID, names: pids.map(|pid| (pid, name(database, pid))).collect() };
        }
        let mut busiest: Vec<(u32, f64)> = threads.into_iter().collect();
        busiest.sort_by(|a, b| b.1.total_cmp(&a.1));
        busiest.truncate(LANES_MAX);
        busiest.sort_by_key(|(tid, _)| *tid);
        Owners { column: TID, names: busiest.into_iter().map(|(tid, _)| (tid, connection::name(tid))).collect() }
    }

    /// What a lane and its bars stand for.
    pub fn legend(&self) -> String {
        let owner = if self.column == TID {
            format!(
                "Only one process used the database. Each lane is one of its threads, or a connection that is not tied to \
                 a thread; the {LANES_MAX} with most time are shown."
            )
        } else {
            "Each lane is a process.".to_string()
        };
        format!(
            "{owner} The height of a bar is the part of that moment in which it had the write lock; an outline is time in \
             which it waited for a lock."
        )
    }

    fn of_row(&self, row: &[f64]) -> u32 {
        Table::cell(row, self.column) as u32
    }

    fn name(&self, owner: u32) -> &str {
        self.names.iter().find(|(known, _)| *known == owner).map_or("another thread", |(_, name)| name)
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

/// Owners of the write lock, and waiters, over the whole watch.
pub fn over_time(saved: &Saved, owners: &Owners, lists: &Lists) -> Lanes {
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

/// The time of the longest wait, with each hold of the write lock and each wait.
pub fn longest_wait(owners: &Owners, lists: &Lists) -> Option<Lanes> {
    let waits = lists.waits.rows.iter().filter(|row| length(row) > 0.0);
    let longest = waits.max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let margin = MARGIN * length(longest);
    let (low, high) = ((Table::cell(longest, FROM) - margin).max(0.0), Table::cell(longest, TO) + margin);
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
    Some(Lanes { title, low, high, ticks: of_lanes(low, high), lanes })
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
        let longest = longest_wait(&owners, &lists).expect("a wait");
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

    /// The thread that never released the lock is among those with most time.
    #[test]
    fn a_hold_that_did_not_end_is_as_long_as_the_rest_of_the_watch() {
        let mut rows = vec![(0.0, f64::NAN, 7, 30)];
        rows.extend((8..21).map(|tid| (0.5 * S, 0.6 * S, 7, tid)));
        let lists = Lists { shares: Table::default(), holds: table(&rows), waits: Table::default() };
        let saved = Saved { watched_ns: S as u64, ..Saved::default() };
        let owners = Owners::of(&saved, &database(&[7]), &lists);
        assert_eq!((owners.names.len(), owners.name(30)), (LANES_MAX, "thread 30"));
    }
}
