//! The state of a watch as plain rows, for the screen, the lines and the summary.

use crate::hold::{End, Hold, Wait};
use crate::hot::is_hot;
use crate::journal::Journal;
use crate::lock::{Lock, Mode};
use crate::tally::Sums;
use crate::target::State;
use crate::timeline::Timeline;
use crate::watch::Watch;
use crate::words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Longest statement of a row.
const STATEMENT_CHARS: usize = 200;
/// Time over which rates are computed.
const RATE_NS: u64 = 1_000_000_000;

/// State of a database.
#[derive(Debug, Clone, Serialize)]
pub struct DatabaseView {
    pub path: String,
    /// `wal`, `rollback` (any other journal mode), or `unknown` if the file is empty.
    pub journal: &'static str,
    /// Whether a writer has left a rollback journal, which the next reader rolls back.
    pub hot_journal: bool,
    pub database_bytes: u64,
    pub log_bytes: u64,
    /// Frames that no checkpoint has copied yet.
    pub backlog_frames: u32,
    /// Reader with the oldest snapshot.
    pub oldest_reader: Option<Reader>,
    pub processes: Vec<Row>,
    /// Holder of the write lock in each column of the strip.
    #[serde(skip)]
    pub strip: Vec<Option<u32>>,
}

#[cfg(test)]
impl DatabaseView {
    /// A database in WAL mode with these processes.
    pub fn example(path: &str, processes: Vec<Row>, strip: Vec<Option<u32>>) -> DatabaseView {
        DatabaseView {
            path: path.to_string(),
            journal: "wal",
            hot_journal: false,
            database_bytes: 1_200_000,
            log_bytes: 4_100_000,
            backlog_frames: 1_000,
            oldest_reader: None,
            processes,
            strip,
        }
    }
}

/// A reader, and how far its snapshot is behind the end of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reader {
    pub pid: u32,
    pub held_ns: u64,
    pub behind_frames: u32,
}

/// A lock, the same for both journal modes; the strongest is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// Only that of an open connection.
    Open,
    Read,
    Recover,
    Checkpoint,
    Write,
    Pending,
    Exclusive,
}

impl Held {
    /// With `is_wal`, a connection holds SHARED as long as it is open, and its read lock is in the `-shm` file.
    fn of(hold: &Hold, is_wal: bool) -> Held {
        match hold.lock {
            Lock::WalWrite | Lock::Reserved => Held::Write,
            Lock::Shared if hold.mode == Mode::Alone => Held::Exclusive,
            Lock::Pending => Held::Pending,
            Lock::Checkpoint => Held::Checkpoint,
            Lock::Recover => Held::Recover,
            Lock::Shared if is_wal => Held::Open,
            Lock::Read(_) | Lock::Shared => Held::Read,
            Lock::Connected => Held::Open,
        }
    }
}

/// Its word, such as `write`.
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// State of a process.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub pid: u32,
    pub program: String,
    /// Command line, used by the filter. It may contain secrets and is not shown.
    #[serde(skip)]
    pub command: String,
    /// Strongest lock that it holds, in SQLite's naming, and for how long.
    pub holds: Option<(Held, u64)>,
    /// Time that it has waited for a lock.
    pub waits_ns: Option<u64>,
    pub writes_per_s: u64,
    /// `None` if refusals cannot be seen.
    pub refusals_per_s: Option<u64>,
    /// Share of the last second for which it held the write lock, in thousandths.
    pub write_permille: u64,
    pub sums: Totals,
    /// Statement that its writer, or else any of its threads, executes.
    pub statement: Option<String>,
    /// Threads (or connections) that have a lock, wait or execute a statement now; empty if it has one only.
    pub threads: Vec<ThreadRow>,
}

impl Row {
    /// The lock that it holds, more than that of an open connection, and for how long.
    pub fn holds_more(&self) -> Option<&(Held, u64)> {
        self.holds.as_ref().filter(|(held, _)| *held != Held::Open)
    }
}

/// State of a thread, or of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadRow {
    /// A number from 2^31 on is one of a connection.
    pub tid: u32,
    /// Name of the thread, if it has its own.
    pub name: Option<String>,
    pub holds: Option<(Held, u64)>,
    pub waits_ns: Option<u64>,
    pub statement: Option<String>,
}

impl Totals {
    pub fn held_or_waited_ns(&self) -> u64 {
        self.write_ns + self.waits.map_or(0, |waits| waits.wait_ns)
    }

    /// Totals of several processes.
    pub fn and(self, other: Totals) -> Totals {
        Totals {
            writes: self.writes + other.writes,
            write_ns: self.write_ns + other.write_ns,
            write_ns_max: self.write_ns_max.max(other.write_ns_max),
            waits: self.waits.zip(other.waits).map(|(one, two)| one.and(two)),
        }
    }

    /// Time waited, longest wait, calls refused and waits without the lock, as cells.
    pub fn of_waits(&self) -> [String; 4] {
        Waits::cells(self.waits.as_ref())
    }
}

/// Totals of a process since the beginning of the watch.
#[derive(Debug, Clone, Serialize)]
pub struct Totals {
    pub writes: u64,
    pub write_ns: u64,
    pub write_ns_max: u64,
    /// `None` if waits cannot be seen.
    #[serde(flatten)]
    pub waits: Option<Waits>,
}

/// Waits of a process for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Waits {
    pub wait_ns: u64,
    pub wait_ns_max: u64,
    pub refusals: u64,
    pub gave_up: u64,
}

impl Waits {
    fn and(self, other: Waits) -> Waits {
        Waits {
            wait_ns: self.wait_ns + other.wait_ns,
            wait_ns_max: self.wait_ns_max.max(other.wait_ns_max),
            refusals: self.refusals + other.refusals,
            gave_up: self.gave_up + other.gave_up,
        }
    }

    /// Its figures as cells; what cannot be seen has none.
    pub fn cells(waits: Option<&Waits>) -> [String; 4] {
        let Some(waits) = waits else { return [words::NOT_SEEN; 4].map(str::to_string) };
        let [waited, longest] = [waits.wait_ns, waits.wait_ns_max].map(words::time);
        [waited, longest, waits.refusals.to_string(), waits.gave_up.to_string()]
    }
}

/// Sums of the last second, from stored samples.
#[derive(Default)]
pub struct Rates {
    looks: Vec<Look>,
}

/// A time, and the sums of each process on each database.
type Look = (u64, BTreeMap<(usize, u32), Sums>);

impl Rates {
    /// Takes a sample, if the last one is old enough.
    pub fn look(&mut self, timeline: &Timeline) {
        const EVERY_NS: u64 = 100_000_000;
        let now_ns = timeline.now_ns;
        if self.looks.last().is_some_and(|(at_ns, _)| now_ns < at_ns + EVERY_NS) {
            return;
        }
        self.looks.push((now_ns, timeline.sums_now()));
        let old = self.looks.iter().take_while(|(at_ns, _)| at_ns + RATE_NS < now_ns).count();
        self.looks.drain(..old.saturating_sub(1));
    }

    /// Activity of a process in about the last second, and the length of that interval.
    fn last(&self, key: (usize, u32), now: &Sums) -> (Sums, u64) {
        let (Some((first_ns, first)), Some((last_ns, _))) = (self.looks.first(), self.looks.last()) else {
            return (Sums::default(), 1);
        };
        let before = first.get(&key).cloned().unwrap_or_default();
        let part = Sums {
            writes: now.writes - before.writes,
            // Less than before if the events of an open hold were lost.
            write_ns: now.write_ns.saturating_sub(before.write_ns),
            refusals: now.refusals - before.refusals,
            ..Sums::default()
        };
        (part, last_ns.saturating_sub(*first_ns).max(1))
    }
}

/// The state of all watched databases. The strip has `columns` of `column_ns` each.
pub fn view(watch: &Watch, rates: &Rates, columns: usize, column_ns: u64) -> Vec<DatabaseView> {
    let databases = watch.databases().iter().enumerate();
    databases
        .map(|(index, database)| {
            let state = watch.samples[index].last().map(|sample| sample.state.clone()).unwrap_or_default();
            let journal = journal(&state);
            DatabaseView {
                path: words::one_line(&database.path.display().to_string(), 200),
                journal: journal.word(),
                hot_journal: is_hot(&watch.timeline, index, &watch.samples[index], watch.sees_all_processes()),
                database_bytes: state.database_bytes,
                log_bytes: state.log_bytes,
                backlog_frames: state.log.as_ref().map_or(0, |log| log.backlog()),
                oldest_reader: oldest_reader(&watch.timeline, index, &state),
                processes: rows(watch, rates, index, journal == Journal::Wal),
                strip: strip(&watch.timeline, index, columns, column_ns),
            }
        })
        .collect()
}

/// A `-shm` file in use says that the database is in WAL mode before the header is looked at again.
fn journal(state: &State) -> Journal {
    if state.log.is_some() { Journal::Wal } else { state.journal }
}

fn oldest_reader(timeline: &Timeline, database: usize, state: &State) -> Option<Reader> {
    let (behind_frames, hold) = timeline.oldest_reader(database, state.log.as_ref()?, |_| true)?;
    Some(Reader { pid: hold.who.pid, held_ns: hold.ns(timeline.now_ns), behind_frames })
}

/// How long that connection of a process has waited that waits for longest.
fn longest_wait_ns(timeline: &Timeline, database: usize, pid: u32) -> Option<u64> {
    let is_its = |wait: &&Wait| wait.database == database && wait.who.pid == pid && wait.end == End::Open;
    timeline.waiting().filter(is_its).map(|wait| timeline.now_ns.saturating_sub(wait.from_ns)).max()
}

fn rows(watch: &Watch, rates: &Rates, database: usize, is_wal: bool) -> Vec<Row> {
    let timeline = &watch.timeline;
    let names: BTreeMap<u32, _> = watch.processes().all().collect();
    let sums = timeline.sums_now();
    let sees_refusals = watch.depth.sees_refusals();
    let row = |pid: u32| {
        let sums = sums.get(&(database, pid)).cloned().unwrap_or_default();
        let (part, ns) = rates.last((database, pid), &sums);
        let per_s = |count: u64| (count * RATE_NS + ns / 2) / ns;
        let strongest = timeline
            .held()
            .filter(|hold| hold.database == database && hold.who.pid == pid)
            .max_by_key(|hold| Held::of(hold, is_wal));
        let named = names.get(&pid);
        // That of the writer, if it is known which thread that is.
        let writer = strongest.filter(|hold| hold.lock.is_writers()).map(|hold| hold.who.tid);
        let of_writer = timeline.executing(pid).find(|(tid, _)| Some(*tid) == writer);
        let statement = of_writer.map_or_else(|| timeline.executing(pid).find_map(|(_, sql)| sql), |(_, sql)| sql);
        let shown = |text: &String| words::one_line(text, 120);
        Row {
            pid,
            program: named.map_or("?".to_string(), |named| shown(&named.program)),
            command: named.map_or(String::new(), |named| shown(&named.command)),
            holds: strongest.map(|hold| (Held::of(hold, is_wal), hold.ns(timeline.now_ns))),
            waits_ns: longest_wait_ns(timeline, database, pid),
            writes_per_s: per_s(part.writes),
            refusals_per_s: sees_refusals.then(|| per_s(part.refusals)),
            write_permille: (1000 * part.write_ns / ns).min(1000),
            statement: statement.map(|sql| words::one_line(sql, STATEMENT_CHARS)),
            threads: threads(timeline, (database, pid), is_wal, &|tid| watch.processes().thread_name(tid)),
            sums: Totals {
                writes: sums.writes,
                write_ns: sums.write_ns,
                write_ns_max: sums.write_ns_max,
                waits: sees_refusals.then_some(Waits {
                    wait_ns: sums.wait_ns,
                    wait_ns_max: sums.wait_ns_max,
                    refusals: sums.refusals,
                    gave_up: sums.gave_up,
                }),
            },
        }
    };
    let mut rows: Vec<Row> = pids(timeline, database).into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.sums.write_ns));
    rows
}

/// Processes that have had a lock of a database, or were refused one. One that only reads has no sums, but tallies.
fn pids(timeline: &Timeline, database: usize) -> BTreeSet<u32> {
    let ended = timeline.sums.keys().chain(timeline.tallies.keys()).copied();
    let now = timeline.held().map(|hold| (hold.database, hold.who.pid));
    let waiting = timeline.waiting().map(|wait| (wait.database, wait.who.pid));
    ended.chain(now).chain(waiting).filter(|(of, _)| *of == database).map(|(_, pid)| pid).collect()
}

fn threads<'n>(
    timeline: &Timeline,
    (database, pid): (usize, u32),
    is_wal: bool,
    name: &dyn Fn(u32) -> Option<&'n str>,
) -> Vec<ThreadRow> {
    let mut found: BTreeMap<u32, ThreadRow> = BTreeMap::new();
    let mut row = |tid: u32, change: &dyn Fn(&mut ThreadRow)| {
        let name = || name(tid).map(str::to_string);
        let new = || ThreadRow { tid, name: name(), holds: None, waits_ns: None, statement: None };
        change(found.entry(tid).or_insert_with(new));
    };
    let is_shown =
        |hold: &Hold| hold.lock.is_writers() || Held::of(hold, is_wal) == Held::Read && timeline.is_one_reader(hold);
    let is_its = |hold: &&Hold| hold.database == database && hold.who.pid == pid && is_shown(hold);
    let mut held: Vec<&Hold> = timeline.held().filter(is_its).collect();
    held.sort_by_key(|hold| Held::of(hold, is_wal));
    for hold in held {
        row(hold.who.tid, &|row| row.holds = Some((Held::of(hold, is_wal), hold.ns(timeline.now_ns))));
    }
    for wait in timeline.waiting().filter(|wait| wait.database == database && wait.who.pid == pid) {
        row(wait.who.tid, &|row| row.waits_ns = Some(timeline.now_ns.saturating_sub(wait.from_ns)));
    }
    for (tid, sql) in timeline.executing(pid) {
        row(tid, &|row| row.statement = sql.map(|sql| words::one_line(sql, STATEMENT_CHARS)));
    }
    // The row of a process with one thread says the same.
    let is_alone = found.len() == 1 && found.contains_key(&pid);
    if is_alone { vec![] } else { found.into_values().collect() }
}

/// Holder of the write lock for most of each column, newest last.
fn strip(timeline: &Timeline, database: usize, columns: usize, column_ns: u64) -> Vec<Option<u32>> {
    let now_ns = timeline.now_ns;
    let first_ns = now_ns.saturating_sub(columns as u64 * column_ns);
    let mut parts: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); columns];
    let holds = timeline.holds.iter().rev().take_while(|hold| hold.to_ns.is_none_or(|to_ns| to_ns >= first_ns));
    for hold in holds.chain(timeline.held()).filter(|hold| hold.database == database && hold.lock.is_writers()) {
        let (from_ns, to_ns) = (hold.from_ns.max(first_ns), hold.to_ns.unwrap_or(now_ns));
        let (first, last) = ((from_ns - first_ns) / column_ns, to_ns.saturating_sub(first_ns) / column_ns);
        for column in first..=last.min(columns as u64 - 1) {
            let begins = first_ns + column * column_ns;
            let ns = to_ns.min(begins + column_ns).saturating_sub(from_ns.max(begins));
            *parts[column as usize].entry(hold.who.pid).or_default() += ns;
        }
    }
    parts.into_iter().map(|part| part.into_iter().max_by_key(|(_, ns)| *ns).map(|(pid, _)| pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, What, Who};
    use crate::lock::{Change, Lock, Mode};

    #[test]
    fn a_process_waits_as_long_as_the_connection_that_waits_for_longest() {
        let mut timeline = Timeline::new(1, true);
        for (ms, tid) in (100..2_095).step_by(50).map(|ms| (ms, 72)).chain([(2_095, 71), (2_100, 72)]) {
            let what = What::Lock { database: 0, lock: Lock::WalWrite, change: Change::Refused(Mode::Alone) };
            timeline.apply(&Event { at_ns: ms * 1_000_000, who: Who { pid: 7, tid }, what });
        }
        assert_eq!(longest_wait_ns(&timeline, 0, 7), Some(2_000_000_000));
        assert_eq!((longest_wait_ns(&timeline, 1, 7), longest_wait_ns(&timeline, 0, 8)), (None, None));
    }

    /// A poll of an empty queue (rollback journal), between two looks.
    #[test]
    fn a_process_that_has_only_read_has_a_row() {
        let mut timeline = Timeline::new(1, true);
        for (ms, change) in [(10, Change::Taken(Mode::Shared)), (11, Change::Released)] {
            let what = What::Lock { database: 1, lock: Lock::Shared, change };
            timeline.apply(&Event { at_ns: ms * 1_000_000, who: Who { pid: 7, tid: 7 }, what });
        }
        assert_eq!([0, 1].map(|database| pids(&timeline, database)), [BTreeSet::new(), BTreeSet::from([7])]);
    }

    /// It executes nothing; another thread of its process has written since.
    #[test]
    fn a_thread_that_only_keeps_a_snapshot_open_has_a_row() {
        let (reader, writer) = (Who { pid: 7, tid: 72 }, Who { pid: 7, tid: 71 });
        let mut timeline = Timeline::new(1, true);
        timeline.visible.insert(7, 0);
        let lock = |lock, change| What::Lock { database: 0, lock, change };
        let call = |sql: &str| What::StepBegins { statement: 1, sql: Some(sql.to_string()) };
        for (ms, who, what) in [
            (10, reader, call("SELECT v FROM t")),
            (11, reader, lock(Lock::Read(1), Change::Taken(Mode::Shared))),
            (12, reader, What::StepEnds { code: 100 }),
            (20, writer, call("BEGIN IMMEDIATE")),
            (21, writer, lock(Lock::WalWrite, Change::Taken(Mode::Alone))),
            (22, writer, What::StepEnds { code: 101 }),
            (3_011, writer, lock(Lock::WalWrite, Change::Released)),
        ] {
            timeline.apply(&Event { at_ns: ms * 1_000_000, who, what });
        }
        let rows = threads(&timeline, (0, 7), true, &|_| Some("reports"));
        let holds = Some((Held::Read, 3_000_000_000));
        let row = ThreadRow { tid: 72, name: Some("reports".to_string()), holds, waits_ns: None, statement: None };
        assert_eq!(rows, [row]);
    }
}
