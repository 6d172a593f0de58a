//! Charts of a lock: a lane for each process, or for each thread of a database's only process.

use super::draw::{PROCESSES_MAX, Row, name, of_lanes};
use super::saved::{Saved, SavedDatabase};
use crate::connection;
use crate::hold::GAP_NS_MIN;
use crate::words::time;
use contend::report::document::{Block, Lane, Lanes, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a lane, which has a zoom.
const COLUMNS: usize = 1_000;
/// Most lanes.
const LANES_MAX: usize = PROCESSES_MAX;
/// Margin on both sides of the chart of the longest wait, relative to its length.
const MARGIN: f64 = 0.3;

/// A hold of the write lock, or a wait for a lock: a line of `holds.csv` or `waits.csv`.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    hollow: bool,
    from: f64,
    /// `None` if it was open at the end of the watch.
    to: Option<f64>,
    pid: u32,
    tid: u32,
}

impl Use {
    pub fn hold(row: &Row<'_>) -> Use {
        Use { hollow: false, from: row.number(0), to: row.get(1), pid: row.number(3) as u32, tid: row.number(4) as u32 }
    }

    pub fn wait(row: &Row<'_>) -> Use {
        Use { hollow: true, ..Use::hold(row) }
    }

    fn length(&self) -> f64 {
        (self.to.unwrap_or(0.0) - self.from).max(0.0)
    }

    fn is_within(&self, low: f64, high: f64) -> bool {
        self.to.unwrap_or(high) >= low && self.from <= high
    }
}

/// What is drawn of the lists of a lock, which are read twice: holds and waits with [`Lists::add`], and then those around
/// the longest wait with [`Lists::add_around`]. Its size does not grow with theirs.
pub struct Lists {
    end_ns: f64,
    /// Number of parts of the watch, and length of each.
    columns: usize,
    width: f64,
    /// The processes with lanes; whether there is only one.
    pids: Vec<u32>,
    is_alone: bool,
    of_processes: Sums,
    /// Of the threads of the only process; `None` if they are too many for lanes.
    of_threads: Option<Sums>,
    /// The threads with lanes.
    threads: BTreeSet<u32>,
    longest: Option<Use>,
    around: Vec<Use>,
    around_threads: BTreeSet<u32>,
    /// Number of lines in `around` of each process and each thread, by kind.
    counts: BTreeMap<(bool, u32, bool), usize>,
}

impl Lists {
    pub fn new(saved: &Saved, database: &SavedDatabase) -> Lists {
        let end_ns = saved.watched_ns as f64;
        // A line of `shares.csv` covers a tenth of a second.
        let columns = COLUMNS.min((end_ns / 1e8).ceil() as usize).max(1);
        let is_alone = database.processes.len() == 1;
        // Threads only if no list was cut: `shares.csv`, which has processes, is the shortest.
        let has_threads = is_alone && saved.left_out.is_empty();
        Lists {
            end_ns,
            columns,
            width: (end_ns / columns as f64).max(1.0),
            pids: database.processes.iter().map(|process| process.pid).take(LANES_MAX).collect(),
            is_alone,
            of_processes: Sums::new(),
            of_threads: has_threads.then(Sums::new),
            threads: BTreeSet::new(),
            longest: None,
            around: vec![],
            around_threads: BTreeSet::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Whether a process has a lane.
    pub fn has(&self, pid: u32) -> bool {
        self.pids.contains(&pid)
    }

    /// Adds a line of `shares.csv`: its time, and the time with the lock and of waits.
    pub fn add_share(&mut self, pid: u32, [to, held, waited]: [f64; 3]) {
        // A line's time is the end of its interval, which is a little longer than a tenth of a second: a process that held the
        // lock all the time has no gap.
        let from = (to - held.max(1e8)).max(0.0);
        for (part, ns) in self.parts(from, to) {
            let share = ns / (to - from);
            let of_part = self.of_processes.entry((pid, part)).or_default();
            *of_part = [of_part[0] + share * held, of_part[1] + share * waited];
        }
    }

    /// The parts of the watch in a time, and how much of it is in each.
    fn parts(&self, from: f64, to: f64) -> impl Iterator<Item = (usize, f64)> + use<> {
        let width = self.width;
        let parts = ((from / width) as usize..self.columns).take_while(move |part| *part as f64 * width < to);
        parts.map(move |part| (part, to.min((part + 1) as f64 * width) - from.max(part as f64 * width)))
    }

    /// Adds a hold or wait of the whole watch.
    pub fn add(&mut self, one: Use) {
        let longest = self.longest.map_or(0.0, |longest| longest.length());
        if one.hollow && one.length() > 0.0 && one.length() >= longest {
            self.longest = Some(one);
        }
        let parts = self.parts(one.from, one.to.unwrap_or(self.end_ns).min(self.end_ns));
        let Some(sums) = &mut self.of_threads else { return };
        self.threads.insert(one.tid);
        if self.threads.len() > LANES_MAX {
            self.of_threads = None;
            self.threads.clear();
            return;
        }
        for (part, ns) in parts {
            sums.entry((one.tid, part)).or_default()[usize::from(one.hollow)] += ns.max(0.0);
        }
    }

    /// The time around the longest wait.
    fn window(&self) -> Option<(f64, f64)> {
        let longest = self.longest?;
        let margin = MARGIN * longest.length();
        Some(((longest.from - margin).max(0.0), longest.to.unwrap_or(0.0) + margin))
    }

    /// Adds a hold or wait, if it is drawn around the longest wait.
    pub fn add_around(&mut self, one: Use) {
        if !self.window().is_some_and(|(low, high)| one.is_within(low, high)) {
            return;
        }
        if self.is_alone && self.around_threads.len() <= LANES_MAX {
            self.around_threads.insert(one.tid);
        }
        let has_threads = self.is_alone && self.around_threads.len() <= LANES_MAX;
        let mut is_drawn = false;
        for (is_thread, owner, has_lane) in [(false, one.pid, self.has(one.pid)), (true, one.tid, has_threads)] {
            if has_lane {
                let count = self.counts.entry((is_thread, owner, one.hollow)).or_default();
                *count += 1;
                is_drawn |= *count <= COLUMNS;
            }
        }
        if is_drawn {
            self.around.push(one);
        }
    }
}

/// Owners of lanes, with their names: the processes, or the threads (or connections) of the only one.
pub struct Owners {
    are_threads: bool,
    names: Vec<(u32, String)>,
}

impl Owners {
    /// Threads are owners if the database has one process, of which a few threads are seen: in a program with a thread for
    /// each request no single one would say who held the lock.
    fn of(database: &SavedDatabase, threads: &BTreeSet<u32>) -> Owners {
        if database.processes.len() == 1 && (2..=LANES_MAX).contains(&threads.len()) {
            let names = threads.iter().map(|tid| (*tid, connection::name(*tid))).collect();
            return Owners { are_threads: true, names };
        }
        let pids = database.processes.iter().map(|process| process.pid).take(LANES_MAX);
        Owners { are_threads: false, names: pids.map(|pid| (pid, name(database, pid))).collect() }
    }

    /// What a lane stands for.
    fn lane(&self) -> &'static str {
        if self.are_threads {
            "Each lane is a thread of the only process, or a connection that is not tied to a thread."
        } else {
            "Each lane is a process."
        }
    }

    fn of_use(&self, one: &Use) -> u32 {
        if self.are_threads { one.tid } else { one.pid }
    }

    fn name(&self, owner: u32) -> &str {
        self.names.iter().find(|(known, _)| *known == owner).map_or("another process", |(_, name)| name)
    }

    /// A lane for each owner.
    fn lanes(&self, spans: impl Fn(u32, &str) -> Vec<Span>) -> Vec<Lane> {
        let lane = |(series, (owner, name)): (usize, &(u32, String))| {
            let spans = spans(*owner, name);
            Lane { series: if self.are_threads { 0 } else { series }, label: name.clone(), spans }
        };
        self.names.iter().enumerate().map(lane).collect()
    }
}

fn tip(owner: &str, hollow: bool, ns: f64) -> String {
    let what = if hollow { "waited" } else { "had the write lock for" };
    format!("{owner}: {what} {}", time(ns.max(0.0) as u64))
}

/// Time with the lock, and time of waits, of each owner in each part of the watch.
type Sums = BTreeMap<(u32, usize), [f64; 2]>;

/// The lock over the whole watch, and the moment of the longest wait.
pub fn blocks(database: &SavedDatabase, lists: &Lists) -> Vec<Block> {
    let owners = Owners::of(database, &lists.threads);
    let lane = owners.lane();
    let legend = format!(
        "{lane} The height of a bar is the part of that moment in which it had the write lock; an outline is time in which it \
         waited for a lock."
    );
    let mut blocks = vec![Block::Text(legend), Block::Lanes(over_time(&owners, lists))];
    if let Some((others, chart)) = longest_wait(database, lists) {
        blocks.extend((others.lane() != lane).then(|| Block::Text(others.lane().to_string())));
        blocks.push(Block::Lanes(chart));
    }
    blocks
}

/// Owners of the write lock, and waiters, over the whole watch.
fn over_time(owners: &Owners, lists: &Lists) -> Lanes {
    let Lists { end_ns, columns, width, .. } = *lists;
    let of_threads = lists.of_threads.as_ref().filter(|_| owners.are_threads);
    let sums = of_threads.unwrap_or(&lists.of_processes);
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

/// The time of the longest wait, with each hold of the write lock and each wait, and the owners of its lanes.
fn longest_wait(database: &SavedDatabase, lists: &Lists) -> Option<(Owners, Lanes)> {
    // One that no program notices is left out.
    let longest = lists.longest.filter(|longest| longest.length() >= GAP_NS_MIN as f64)?;
    let (low, high) = lists.window()?;
    let owners = Owners::of(database, &lists.around_threads);
    let spans = |owner: u32, name: &str| -> Vec<Span> {
        let of_kind = |hollow: bool| {
            let its = lists.around.iter().filter(move |one| one.hollow == hollow);
            let its = its.filter(|one| owners.of_use(one) == owner);
            let span = move |one: &Use| {
                let to = one.to.unwrap_or(high);
                let tip = tip(name, hollow, to - one.from);
                Span { from: one.from.max(low), to: to.min(high), height: 1.0, hollow, tip }
            };
            its.map(span).take(COLUMNS)
        };
        of_kind(false).chain(of_kind(true)).collect()
    };
    let lanes = owners.lanes(spans).into_iter().filter(|lane| !lane.spans.is_empty()).collect();
    let waiter = owners.name(owners.of_use(&longest));
    let title = format!("The longest wait: {waiter}, {}", time(longest.length() as u64));
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

    /// A watch of some seconds.
    fn of_seconds(seconds: u64) -> Saved {
        Saved { watched_ns: seconds * S as u64, ..Saved::default() }
    }

    /// Lists from rows of `holds.csv` and `waits.csv`: from, to, process and thread.
    fn lists(saved: &Saved, pids: &[u32], rows: [&[(f64, f64, u32, u32)]; 2]) -> Lists {
        let mut lists = Lists::new(saved, &database(pids));
        let of_row = |hollow: bool, &(from, to, pid, tid): &(f64, f64, u32, u32)| {
            let to = Some(to).filter(|to| to.is_finite());
            Use { hollow, from, to, pid, tid }
        };
        let kinds = [false, true].into_iter().zip(rows);
        let uses: Vec<Use> = kinds.flat_map(|(hollow, rows)| rows.iter().map(move |row| of_row(hollow, row))).collect();
        uses.iter().for_each(|one| lists.add(*one));
        uses.iter().for_each(|one| lists.add_around(*one));
        lists
    }

    /// One process, with a hold that was not released.
    fn of_one_process(saved: &Saved, pids: &[u32]) -> Lists {
        let holds = [(0.05 * S, 0.25 * S, 7, 8), (0.9 * S, f64::NAN, 7, 8)];
        lists(saved, pids, [&holds, &[(0.1 * S, 0.3 * S, 7, 9)]])
    }

    fn owners(pids: &[u32], lists: &Lists) -> Vec<(u32, String)> {
        Owners::of(&database(pids), &lists.threads).names
    }

    #[test]
    fn threads_of_the_only_process_have_lanes() {
        let lists = of_one_process(&of_seconds(1), &[7]);
        let chart = over_time(&Owners::of(&database(&[7]), &lists.threads), &lists);
        let labels: Vec<&str> = chart.lanes.iter().map(|lane| lane.label.as_str()).collect();
        assert_eq!(labels, ["thread 8", "thread 9"]);
        let heights = |lane: usize| -> Vec<(i32, bool)> {
            chart.lanes[lane].spans.iter().map(|span| ((100.0 * span.height).round() as i32, span.hollow)).collect()
        };
        assert_eq!(heights(0), [(50, false), (100, false), (50, false), (100, false)], "the last one was not released");
        assert_eq!(heights(1), [(100, true), (100, true)]);
        let (_, longest) = longest_wait(&database(&[7]), &lists).expect("a wait");
        assert_eq!(longest.title, "The longest wait: thread 9, 200 ms");
        assert_eq!(longest.lanes.iter().map(|lane| lane.spans.len()).collect::<Vec<_>>(), [1, 1]);
        let ticks: Vec<&str> = longest.ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(ticks, ["40.0 ms", "+160 ms", "+320 ms"], "exact however far from the beginning of the watch");
    }

    #[test]
    fn a_wait_that_no_program_notices_is_not_drawn_as_the_longest() {
        let lists = lists(&of_seconds(10), &[7], [&[(S, 2.0 * S, 7, 8)], &[(1.5 * S, 1.5 * S + 34_700.0, 7, 9)]]);
        assert_eq!(blocks(&database(&[7]), &lists).len(), 2, "text, and the lock over time");
    }

    /// Lines of 104 ms in parts of 100 ms: each 26th part would be without a line's end.
    #[test]
    fn a_process_that_held_the_lock_all_the_time_has_no_gap() {
        let mut lists = Lists::new(&of_seconds(10), &database(&[7, 8]));
        (1..=96).for_each(|line| lists.add_share(7, [f64::from(line) * 1.04e8, 1.04e8, 0.0]));
        let chart = over_time(&Owners::of(&database(&[7, 8]), &lists.threads), &lists);
        let spans = &chart.lanes[0].spans;
        assert_eq!(spans.len(), 100);
        assert!(spans[..99].iter().all(|span| span.height > 0.99), "{spans:?}");
    }

    #[test]
    fn processes_have_lanes_if_there_are_several_or_one_with_one_thread() {
        let (saved, of_app) = (of_seconds(1), (7, "app (7)".to_string()));
        let two = of_one_process(&saved, &[7, 11]);
        assert_eq!(owners(&[7, 11], &two), [of_app.clone(), (11, "app (11)".to_string())]);
        let alone = lists(&saved, &[7], [&[(0.1 * S, 0.2 * S, 7, 8)], &[]]);
        assert_eq!(owners(&[7], &alone), std::slice::from_ref(&of_app));
        let cut = Saved { left_out: vec!["holds".to_string()], ..saved };
        assert_eq!(owners(&[7], &of_one_process(&cut, &[7])), [of_app]);
    }

    /// A thread for each request: no few of them say who held the lock. Around the longest wait there are few.
    #[test]
    fn many_threads_have_no_lanes_but_around_the_longest_wait() {
        let rows: Vec<_> = (8..40).map(|tid| (f64::from(tid) * S, f64::from(tid + 1) * S, 7, tid)).collect();
        let lists = lists(&of_seconds(40), &[7], [&rows, &[(20.5 * S, 22.5 * S, 7, 22)]]);
        assert_eq!(owners(&[7], &lists), [(7, "app (7)".to_string())]);
        let (owners, chart) = longest_wait(&database(&[7]), &lists).expect("a wait");
        assert!(owners.are_threads);
        let labels: Vec<&str> = chart.lanes.iter().map(|lane| lane.label.as_str()).collect();
        assert_eq!(labels, ["thread 19", "thread 20", "thread 21", "thread 22", "thread 23"]);
        assert_eq!(chart.title, "The longest wait: thread 22, 2.00 s");
        assert_eq!(blocks(&database(&[7]), &lists).len(), 4, "both charts say what their lanes are");
    }

    #[test]
    fn what_is_kept_does_not_grow_with_the_list() {
        let holds: Vec<_> = (0..50_000).map(|n| (f64::from(n) * 1e5, f64::from(n) * 1e5 + 9e4, 7, 8 + n % 3)).collect();
        let lists = lists(&of_seconds(5), &[7], [&holds, &[(0.0, 5.0 * S, 7, 11)]]);
        assert!(lists.around.len() <= 4 * COLUMNS, "{}", lists.around.len());
        let (_, chart) = longest_wait(&database(&[7]), &lists).expect("a wait");
        assert_eq!(chart.lanes.iter().map(|lane| lane.spans.len()).collect::<Vec<_>>(), [COLUMNS, COLUMNS, COLUMNS, 1]);
    }
}
