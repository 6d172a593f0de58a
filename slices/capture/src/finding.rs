//! Causes of waits and failures at locks that a capture shows: a problem, its evidence, and advice. The kinds are those of
//! `contend watch` that follow from the program's own calls.

use crate::program::{Began, End, Transaction, takes_lock};
use crate::sql::{Begin, Does};
use crate::summary::{Cause as Kind, Finding, Known};
use crate::trace::{Call, Connection};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Shortest time in the program under the write lock, and shortest wait, that count.
const HELD_NS_MIN: u64 = MS;
/// Longest such time from which on it is a finding: a busy machine makes shorter ones in every program.
const GAP_NS_MIN: u64 = 10 * MS;
/// It is one, too, if it is `HELD_NS_MIN` and all such times are this part of the capture.
const HELD_PARTS: u64 = 100;
/// Longest time in the program between the rows of a read from which on it is a finding.
const READ_NS_MIN: u64 = 100 * MS;
/// A transaction without a statement for this long is idle.
const IDLE_NS_MIN: u64 = SECOND;
/// Connections per second that count as churn, and fewest of them.
const CONNECTS_PER_S: u64 = 5;
const CONNECTS_MIN: u64 = 10;

/// Evidence of one program on one database.
#[derive(Default)]
struct Evidence<'k> {
    held: Held<'k>,
    /// Longest time without a statement in a transaction that never ended, and its last statement.
    idle: (u64, &'k str),
    /// Calls that a lock ended: at once after a read, at once, at once in spite of a timeout, after a wait.
    after_read: Refused<'k>,
    at_once: Refused<'k>,
    never_waits: Refused<'k>,
    gave_up: Refused<'k>,
    /// Reads that stayed open while another connection waited or failed: number, longest time in the program between rows, statement.
    reads: (u64, u64, &'k str),
    /// Calls that met a lock of their own process.
    locked: Refused<'k>,
    /// For each kind of finding, a transaction in which it was seen: that with the longest time, or the last refused one.
    seen_in: BTreeMap<Kind, usize>,
    connections: u64,
}

/// Time in the program under the write lock: transactions, sum, longest time, and the statement before that.
#[derive(Default)]
struct Held<'k> {
    transactions: u64,
    sum_ns: u64,
    longest: (u64, &'k str),
    /// Calls of other connections that waited for these locks or failed at one, by their places.
    others: BTreeSet<usize>,
    /// Those of them that failed while it was held.
    refused: BTreeSet<usize>,
    /// Their time of waiting in these transactions.
    waited_ns: u64,
}

impl Held<'_> {
    /// Adds a transaction of this time, and the calls of others that met its lock.
    fn add<'c>(&mut self, held_ns: u64, met: impl Iterator<Item = (usize, &'c Call)>, (from, to): (u64, u64)) {
        (self.transactions, self.sum_ns) = (self.transactions + 1, self.sum_ns + held_ns);
        for (at, call) in met {
            let both_ns = call.end_ns().min(to).saturating_sub(call.at_ns.max(from));
            self.waited_ns += waited_ns(call).min(both_ns);
            self.others.insert(at);
            // It may have waited for several, one after the other, and failed at the lock of the last.
            if call.is_busy() && (from..=to).contains(&call.end_ns()) {
                self.refused.insert(at);
            }
        }
    }

    /// What it cost other connections.
    fn cost(&self) -> String {
        let refused = match self.refused.len() {
            0 => String::new(),
            refused => format!("; {refused} of them failed with SQLITE_BUSY"),
        };
        let calls = count(self.others.len() as u64, "call");
        format!("Meanwhile other connections waited {} for the lock, in {calls}{refused}.", time(self.waited_ns))
    }
}

/// Refused calls: the number of each statement.
#[derive(Default)]
struct Refused<'k> {
    times: BTreeMap<&'k str, u64>,
    longest_wait_ns: u64,
}

impl Refused<'_> {
    fn all(&self) -> u64 {
        self.times.values().sum()
    }

    fn refusals(&self) -> String {
        format!("{}, {}", count(self.all(), "refusal"), self.which())
    }

    /// The most frequent statements: `` such as `A` (5 times), `B` (once) ``.
    fn which(&self) -> String {
        const SHOWN: usize = 3;
        let mut most: Vec<(&str, u64)> = self.times.iter().map(|(sql, times)| (*sql, *times)).collect();
        most.sort_by_key(|(_, times)| Reverse(*times));
        let is_one = most.len() == 1;
        let one = |(sql, times): &(&str, u64)| match times {
            _ if is_one => format!("`{}`", short(sql)),
            1 => format!("`{}` (once)", short(sql)),
            _ => format!("`{}` ({times} times)", short(sql)),
        };
        format!("such as {}", most.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", "))
    }
}

/// All findings of a capture of SQLite, ordered by program and database.
pub fn findings(known: &Known) -> Vec<Finding> {
    if known.manifest.server.is_some() {
        return vec![];
    }
    let met = met(known);
    let mut seen: BTreeMap<(&str, &Path), Evidence> = BTreeMap::new();
    for connection in known.trace.connections.values().filter(|c| c.rc == 0 && !is_in_memory(c)) {
        seen.entry(place(known, connection)).or_default().connections += 1;
    }
    let mut is_inside = vec![false; known.trace.calls.len()];
    for (number, transaction) in known.transactions.iter().enumerate() {
        transaction.calls.iter().for_each(|&i| is_inside[i] = true);
        if let Some(connection) = known.trace.connections.get(&transaction.connection) {
            let evidence = seen.entry(place(known, connection)).or_default();
            let kinds = add(evidence, known, connection, (transaction, met.get(connection.path.as_path())));
            evidence.seen_in.extend(kinds.into_iter().map(|kind| (kind, number)));
        }
    }
    // A PRAGMA outside of a transaction can be refused, too.
    let is_pragma = |call: &Call| known.shapes.get(call).does == Does::Pragma;
    let outside = known.trace.calls.iter().zip(is_inside).filter(|(call, is_inside)| !is_inside && is_pragma(call));
    for (call, _) in outside {
        if let Some(connection) = known.trace.connections.get(&call.connection) {
            refuse(seen.entry(place(known, connection)).or_default(), known, call, false);
        }
    }
    let length_ns = (known.trace.to_ns - known.trace.from_ns).max(SECOND);
    let all = seen.iter().flat_map(|((program, path), seen)| {
        let name = path.file_name().map_or("a database in memory".into(), |name| name.to_string_lossy().into_owned());
        let mut found = of(program, &name, seen, length_ns);
        for finding in &mut found {
            // The list has the last attempts.
            let last = |number: &usize| {
                let attempts = std::iter::successors(Some(*number), |&number| known.transactions[number].next);
                attempts.last().unwrap_or(*number)
            };
            let of = |number: &usize| known.groups.iter().position(|group| group.transactions.contains(&last(number)));
            finding.transaction = seen.seen_in.get(&finding.kind).and_then(of).map(|at| at + 1);
        }
        found
    });
    all.collect()
}

fn place<'k>(known: &'k Known, connection: &'k Connection) -> (&'k str, &'k Path) {
    (known.trace.process(connection.process), &connection.path)
}

fn is_in_memory(connection: &Connection) -> bool {
    connection.path.as_os_str().is_empty()
}

/// Time for which a call waited for locks.
fn waited_ns(call: &Call) -> u64 {
    call.waited_ns + call.prepare.1
}

/// Counts a call that a lock ended, and returns the kind of its finding. `has_read`: after a read in a transaction that began as
/// a reader.
fn refuse<'k>(seen: &mut Evidence<'k>, known: &'k Known, call: &'k Call, has_read: bool) -> Option<Kind> {
    /// SQLITE_BUSY_SNAPSHOT: another connection has committed since the read.
    const SNAPSHOT: i32 = 517;
    let waited_ns = waited_ns(call);
    let (kind, refused) = match () {
        () if !call.is_busy() => return None,
        () if call.is_locked() => (Kind::TableLocked, &mut seen.locked),
        () if waited_ns > 0 => (Kind::TimeoutTooShort, &mut seen.gave_up),
        () if has_read || call.rc == SNAPSHOT => (Kind::ReadThenWrite, &mut seen.after_read),
        () if call.may_wait => (Kind::RefusedAtOnce, &mut seen.never_waits),
        () => (Kind::NoBusyTimeout, &mut seen.at_once),
    };
    *refused.times.entry(known.shapes.written(call)).or_default() += 1;
    refused.longest_wait_ns = refused.longest_wait_ns.max(waited_ns);
    Some(kind)
}

/// Calls on a database that waited for a lock or that one ended, in the order of their starts.
#[derive(Default)]
struct Met<'k> {
    calls: Vec<&'k Call>,
    /// For each, the latest end up to it.
    until: Vec<u64>,
}

impl<'k> Met<'k> {
    fn push(&mut self, call: &'k Call) {
        self.until.push(call.end_ns().max(self.until.last().copied().unwrap_or_default()));
        self.calls.push(call);
    }

    /// Calls of other connections in this time, with their places.
    fn by_others(&self, connection: u64, (from, to): (u64, u64)) -> impl Iterator<Item = (usize, &'k Call)> {
        let before = self.calls.partition_point(|call| call.at_ns <= to);
        let near = (0..before).rev().take_while(move |&at| self.until[at] >= from);
        near.map(move |at| (at, self.calls[at]))
            .filter(move |(_, call)| call.end_ns() >= from && call.connection != connection)
    }
}

/// What met a lock, by database.
fn met<'k>(known: &'k Known) -> BTreeMap<&'k Path, Met<'k>> {
    let has_met =
        |call: &&Call| call.waited_ns + call.prepare.1 >= HELD_NS_MIN || (call.is_busy() && !call.is_locked());
    let mut calls: Vec<&Call> = known.trace.calls.iter().filter(has_met).collect();
    calls.sort_by_key(|call| call.at_ns);
    let mut found: BTreeMap<&Path, Met<'k>> = BTreeMap::new();
    for call in calls {
        if let Some(connection) = known.trace.connections.get(&call.connection) {
            found.entry(&connection.path).or_default().push(call);
        }
    }
    found
}

/// Whether a database is, or may have been, in WAL mode, in which readers keep no writer waiting.
fn is_wal(known: &Known, path: &Path) -> bool {
    let of = known.manifest.databases.iter().find(|database| database.path == path);
    let content = of.and_then(|database| database.end.as_ref().or(database.content.as_ref()));
    content.is_none_or(|content| content.journal_mode == "wal")
}

/// Adds a transaction to the evidence, and returns the kinds of findings that it is the best example of so far.
fn add<'k>(
    seen: &mut Evidence<'k>,
    known: &'k Known,
    connection: &Connection,
    (transaction, met): (&Transaction, Option<&Met>),
) -> Vec<Kind> {
    let mut kinds = vec![];
    let met = |times| met.into_iter().flat_map(move |met| met.by_others(transaction.connection, times));
    let calls = || transaction.calls.iter().map(|&i| &known.trace.calls[i]);
    let does = |call: &Call| known.shapes.get(call).does;
    let sql = |call: &'k Call| known.shapes.written(call);
    let mut last: Option<&Call> = None;
    let (mut has_read, mut holds, mut granted_ns) = (false, false, transaction.from_ns);
    let mut longest: (u64, &str) = (0, "");
    for call in calls() {
        if let Some(last) = last.filter(|_| holds) {
            longest = longest.max((call.pause_ns(last), sql(last)));
        }
        kinds.extend(refuse(seen, known, call, has_read && transaction.began == Began::By(Begin::Deferred)));
        // Connections in memory need not be of one database.
        if !holds && !is_in_memory(connection) && takes_lock(call, &known.shapes) {
            // It may have waited for another holder before.
            (holds, granted_ns) = (true, call.end_ns().min(call.at_ns + call.waited_ns));
        }
        let between_ns = call.between_ns();
        longest = longest.max(if holds { (between_ns, sql(call)) } else { (0, "") });
        if between_ns > 0
            && !holds
            && !is_wal(known, &connection.path)
            && met((call.at_ns, call.end_ns())).next().is_some()
        {
            seen.reads.0 += 1;
            if between_ns > seen.reads.1 {
                (seen.reads.1, seen.reads.2) = (between_ns, sql(call));
                kinds.push(Kind::ReadersBlockWriter);
            }
        }
        has_read |= does(call) == Does::Read && !call.has_failed() && !holds;
        last = Some(last.filter(|last| last.end_ns() > call.end_ns()).unwrap_or(call));
    }
    let held_ns = if holds { transaction.held_ns - transaction.rest_ns } else { 0 };
    let times = (granted_ns, transaction.to_ns);
    // A lock matters where another connection met it.
    if held_ns >= HELD_NS_MIN && met(times).next().is_some() {
        seen.held.add(held_ns, met(times), times);
        if longest.0 > seen.held.longest.0 {
            seen.held.longest = longest;
            kinds.push(Kind::ProgramHoldsLock);
        }
    }
    let is_open = transaction.end == End::Unfinished && connection.closed_ns.is_none();
    if let Some(last) = last.filter(|_| holds && is_open && transaction.rest_ns > seen.idle.0) {
        seen.idle = (transaction.rest_ns, sql(last));
        kinds.push(Kind::IdleInTransaction);
    }
    kinds
}

fn of(program: &str, database: &str, seen: &Evidence, length_ns: u64) -> Vec<Finding> {
    let mut found = vec![];
    let mut add = |kind, title: String, evidence: String, change| {
        found.push(Finding { kind, title, evidence, change, transaction: None });
    };
    let Held { transactions, sum_ns, longest: (longest, before), .. } = seen.held;
    let is_long = longest >= GAP_NS_MIN || longest >= HELD_NS_MIN && HELD_PARTS * sum_ns >= length_ns;
    if is_long && transactions > 0 {
        add(
            Kind::ProgramHoldsLock,
            format!("{program} holds the write lock of {database} while it does something else."),
            format!(
                "{} in {}. Longest: {} after `{}`. {}",
                time(sum_ns),
                count(transactions, "transaction"),
                time(longest),
                short(before),
                seen.held.cost()
            ),
            "Do this work before BEGIN or after COMMIT, or COMMIT after fewer rows.",
        );
    }
    if seen.idle.0 >= IDLE_NS_MIN {
        add(
            Kind::IdleInTransaction,
            format!("{program} has left a transaction on {database} open and holds the write lock."),
            format!(
                "No statement for {} until the end of the capture. The last one was `{}`.",
                time(seen.idle.0),
                short(seen.idle.1)
            ),
            "COMMIT or ROLLBACK on every path of the program, also after an exception.",
        );
    }
    found.extend(readers(program, database, seen));
    found.extend(refusals(program, database, seen));
    let per_s = seen.connections * SECOND / length_ns;
    if per_s >= CONNECTS_PER_S && seen.connections >= CONNECTS_MIN {
        found.push(Finding {
            kind: Kind::OpenCloseChurn,
            title: format!("{program} opens and closes {database} again and again."),
            evidence: format!("{} connections, {per_s} a second.", seen.connections),
            change: "Keep connections open: each one reads the schema again, and with WAL the last to close copies and deletes the log.",
            transaction: None,
        });
    }
    found
}

/// A finding about reads that kept others waiting.
fn readers(program: &str, database: &str, seen: &Evidence) -> Option<Finding> {
    let (reads, longest, sql) = seen.reads;
    (longest >= READ_NS_MIN).then(|| Finding {
        kind: Kind::ReadersBlockWriter,
        title: format!("{program} reads from {database} slowly, and no commit can end meanwhile."),
        evidence: format!(
            "In {} the program worked between rows while another connection waited or failed. Longest: {} in `{}`.",
            count(reads, "read"),
            time(longest),
            short(sql)
        ),
        change: "Read all rows first and work with them afterwards, or use WAL, in which a reader keeps no writer waiting.",
        transaction: None,
    })
}

/// Findings about calls that a lock ended.
fn refusals(program: &str, database: &str, seen: &Evidence) -> Vec<Finding> {
    let mut found = vec![];
    let mut add = |kind, title: String, evidence: String, change| {
        found.push(Finding { kind, title, evidence, change, transaction: None });
    };
    if seen.after_read.all() > 0 {
        add(
            Kind::ReadThenWrite,
            format!("{program} reads first and writes later in one transaction on {database}, and is refused at once."),
            format!(
                "{}. SQLite does not wait there, whatever the busy timeout: after the wait the snapshot would be \
                 outdated (WAL), or each would wait for the other (rollback journal).",
                seen.after_read.refusals()
            ),
            "Begin transactions that will write with BEGIN IMMEDIATE.",
        );
    }
    if seen.at_once.all() > 0 {
        add(
            Kind::NoBusyTimeout,
            format!("{program} has no busy timeout on {database}: a call fails as soon as the lock is taken."),
            format!("{}.", seen.at_once.refusals()),
            "Set PRAGMA busy_timeout = 5000 on every connection.",
        );
    }
    if seen.never_waits.all() > 0 {
        add(
            Kind::RefusedAtOnce,
            format!("{program} is refused at once on {database}, although its connection has a busy timeout."),
            format!(
                "{}. SQLite does not wait when the journal mode changes, nor while another statement of the connection \
                 reads.",
                seen.never_waits.refusals()
            ),
            "Set the journal mode before other connections are open, and read all rows before the connection writes.",
        );
    }
    if seen.gave_up.all() > 0 {
        add(
            Kind::TimeoutTooShort,
            format!("{program} gives up before the lock of {database} is free."),
            format!(
                "{}, after {} at most, {}.",
                count(seen.gave_up.all(), "call"),
                time(seen.gave_up.longest_wait_ns),
                seen.gave_up.which()
            ),
            "Make the longest transaction shorter, or busy_timeout longer than it.",
        );
    }
    if seen.locked.all() > 0 {
        add(
            Kind::TableLocked,
            format!("{program} is refused in {database} because another of its own statements uses the table."),
            format!("{}. No busy timeout waits for that.", seen.locked.refusals()),
            "Read or reset the statements that use the table first; with a shared cache, give each thread a connection without it.",
        );
    }
    found
}

fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

fn short(sql: &str) -> String {
    if sql.chars().count() <= 80 { sql.into() } else { sql.chars().take(77).chain("...".chars()).collect() }
}

/// A time such as `12.4 ms`.
pub fn time(ns: u64) -> String {
    match ns {
        0 => "0".into(),
        1..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found([sum_ns, longest]: [u64; 2], length_ns: u64) -> bool {
        let held = Held { transactions: 1, sum_ns, longest: (longest, "INSERT"), ..Held::default() };
        let seen = Evidence { held, ..Evidence::default() };
        let found = of("app", "app.db", &seen, length_ns);
        found.iter().any(|finding| matches!(finding.kind, Kind::ProgramHoldsLock))
    }

    #[test]
    fn a_program_holds_the_lock_if_a_pause_is_long_or_many_of_a_millisecond_add_up() {
        assert!(is_found([10 * MS, 10 * MS], 100 * SECOND));
        assert!(is_found([100 * MS, MS], 10 * SECOND));
        assert!(!is_found([99 * MS, 9 * MS], 10 * SECOND), "a busy machine does that");
        // 10,000 rows in one transaction, with 20 us of program between them.
        assert!(!is_found([200 * MS, 20_000], 10 * SECOND));
    }
}
