//! Causes of waits and failures at locks that a capture shows: a problem, its evidence, and advice. The kinds are those of
//! `contend watch` that follow from the program's own calls.

use crate::program::{Began, End, Transaction};
use crate::sql::{Begin, Does};
use crate::summary::{Cause as Kind, Finding, Known};
use crate::trace::{Call, Connection};
use contend_interpose::format::note;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Shortest time in the program under the write lock, and shortest wait, that count.
const HELD_NS_MIN: u64 = MS;
/// Longest such time from which on it is a finding: a busy machine makes shorter ones in every program.
const GAP_NS_MIN: u64 = 10 * MS;
/// It is one, too, if it is `HELD_NS_MIN` and all such times are this part of the capture.
const HELD_PARTS: u64 = 100;
/// A transaction without a statement for this long is idle.
const IDLE_NS_MIN: u64 = SECOND;
/// Connections per second that count as churn, and fewest of them.
const CONNECTS_PER_S: u64 = 5;
const CONNECTS_MIN: u64 = 10;

/// Evidence of one program on one database.
#[derive(Default)]
struct Evidence<'k> {
    /// Time in the program under the write lock: transactions, sum, longest time, and the statement before that.
    held: (u64, u64, u64, &'k str),
    /// Longest time without a statement in a transaction that never ended, and its last statement.
    idle: (u64, &'k str),
    /// Calls that a lock ended, each with one of its statements: at once after a read, at once, after a wait (the
    /// longest).
    after_read: (u64, &'k str),
    at_once: (u64, &'k str),
    gave_up: (u64, u64, &'k str),
    /// Calls that met a lock of their own process, with one of their statements.
    locked: (u64, &'k str),
    /// Longest wait for a lock, successful or not.
    waited_ns: u64,
    connections: u64,
}

/// All findings of a capture of SQLite, ordered by program and database.
pub fn findings(known: &Known) -> Vec<Finding> {
    if known.manifest.server.is_some() {
        return vec![];
    }
    let mut seen: BTreeMap<(&str, &Path), Evidence> = BTreeMap::new();
    for connection in known.trace.connections.values().filter(|c| c.rc == 0 && !c.path.as_os_str().is_empty()) {
        seen.entry(place(known, connection)).or_default().connections += 1;
    }
    for transaction in &known.transactions {
        let connection = known.trace.connections.get(&transaction.connection);
        if let Some(connection) = connection.filter(|connection| !connection.path.as_os_str().is_empty()) {
            let entry = seen.entry(place(known, connection)).or_default();
            add(entry, known, connection, transaction);
        }
    }
    // A lock matters where another connection met it.
    let mut met: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for ((_, path), seen) in &seen {
        let met_here = seen.waited_ns >= HELD_NS_MIN || seen.after_read.0 + seen.at_once.0 + seen.gave_up.0 > 0;
        *met.entry(path.to_path_buf()).or_default() |= met_here;
    }
    let length_ns = (known.trace.to_ns - known.trace.from_ns).max(SECOND);
    let all = seen.iter().flat_map(|((program, path), seen)| {
        let name = path.file_name().map_or("the database".into(), |name| name.to_string_lossy().into_owned());
        of(program, &name, seen, met[*path], length_ns)
    });
    all.collect()
}

fn place<'k>(known: &'k Known, connection: &'k Connection) -> (&'k str, &'k Path) {
    (known.trace.process(connection.process), &connection.path)
}

fn add<'k>(seen: &mut Evidence<'k>, known: &'k Known, connection: &Connection, transaction: &Transaction) {
    let calls = || transaction.calls.iter().map(|&i| &known.trace.calls[i]);
    let does = |call: &Call| known.shapes.get(call).does;
    let sql = |call: &'k Call| known.shapes.get(call).text.as_str();
    let mut last: Option<&Call> = None;
    let (mut has_read, mut holds, mut held_ns) = (false, false, 0);
    for call in calls() {
        if let Some(last) = last.filter(|_| holds) {
            let gap_ns = call.pause_ns(last);
            held_ns += gap_ns;
            if gap_ns > seen.held.2 {
                (seen.held.2, seen.held.3) = (gap_ns, sql(last));
            }
        }
        let waited_ns = call.waited_ns + call.prepare.1;
        seen.waited_ns = seen.waited_ns.max(waited_ns);
        if call.is_locked() {
            seen.locked = (seen.locked.0 + 1, sql(call));
        } else if call.is_busy() && waited_ns > 0 {
            seen.gave_up = (seen.gave_up.0 + 1, seen.gave_up.1.max(waited_ns), sql(call));
        } else if call.is_busy() && has_read && transaction.began == Began::By(Begin::Deferred) {
            seen.after_read = (seen.after_read.0 + 1, sql(call));
        } else if call.is_busy() && !has_timeout(connection) {
            seen.at_once = (seen.at_once.0 + 1, sql(call));
        }
        let takes = matches!(does(call), Does::Write | Does::Schema | Does::Begin(Begin::Immediate | Begin::Exclusive));
        holds |= takes && !call.has_failed() && !call.is_readonly;
        has_read |= does(call) == Does::Read && !call.has_failed() && !holds;
        last = Some(call);
    }
    if held_ns >= HELD_NS_MIN {
        (seen.held.0, seen.held.1) = (seen.held.0 + 1, seen.held.1 + held_ns);
    }
    let is_open = transaction.end == End::Unfinished && connection.closed_ns.is_none();
    if let Some(last) = last.filter(|_| holds && is_open) {
        let idle_ns = known.trace.to_ns.saturating_sub(last.end_ns());
        if idle_ns > seen.idle.0 && !last.is_pending() {
            seen.idle = (idle_ns, sql(last));
        }
    }
}

/// Whether SQLite or the program waits for a lock on this connection.
fn has_timeout(connection: &Connection) -> bool {
    let by_pragma = |pragma: &String| {
        let text = pragma.to_ascii_lowercase();
        let value = text.split_once("busy_timeout").map(|(_, value)| value.trim_matches([' ', '=', '(', ')', ';']));
        value.and_then(|value| value.parse::<i64>().ok())
    };
    let pragma = connection.pragmas.iter().rev().find_map(by_pragma);
    connection.notes.contains(&note::BUSY_HANDLER) || pragma.or(connection.busy_timeout_ms).is_some_and(|ms| ms > 0)
}

fn of(program: &str, database: &str, seen: &Evidence, is_met: bool, length_ns: u64) -> Vec<Finding> {
    let mut found = vec![];
    let mut add = |kind, title: String, evidence: String, change| found.push(Finding { kind, title, evidence, change });
    let (transactions, sum, longest, before) = seen.held;
    let is_long = longest >= GAP_NS_MIN || longest >= HELD_NS_MIN && HELD_PARTS * sum >= length_ns;
    if is_long && transactions > 0 && is_met {
        add(
            Kind::ProgramHoldsLock,
            format!("{program} holds the write lock of {database} while it does something else."),
            format!(
                "{} in {}. Longest: {} after `{}`.",
                time(sum),
                count(transactions, "transaction"),
                time(longest),
                short(before)
            ),
            "Do this work before BEGIN or after COMMIT.",
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
    found.extend(refusals(program, database, seen));
    let per_s = seen.connections * SECOND / length_ns;
    if per_s >= CONNECTS_PER_S && seen.connections >= CONNECTS_MIN {
        found.push(Finding {
            kind: Kind::OpenCloseChurn,
            title: format!("{program} opens and closes {database} again and again."),
            evidence: format!("{} connections, {per_s} a second.", seen.connections),
            change: "Keep connections open: each one reads the schema again, and with WAL the last to close copies and deletes the log.",
        });
    }
    found
}

/// Findings about calls that a lock ended.
fn refusals(program: &str, database: &str, seen: &Evidence) -> Vec<Finding> {
    let mut found = vec![];
    let mut add = |kind, title: String, evidence: String, change| found.push(Finding { kind, title, evidence, change });
    if seen.after_read.0 > 0 {
        add(
            Kind::ReadThenWrite,
            format!("{program} reads first and writes later in one transaction on {database}, and is refused at once."),
            format!(
                "{}, such as `{}`. SQLite does not wait there, whatever the busy timeout: after the wait the snapshot would be \
                 outdated (WAL), or each would wait for the other (rollback journal).",
                count(seen.after_read.0, "refusal"),
                short(seen.after_read.1)
            ),
            "Begin transactions that will write with BEGIN IMMEDIATE.",
        );
    }
    if seen.at_once.0 > 0 {
        add(
            Kind::NoBusyTimeout,
            format!("{program} has no busy timeout on {database}: a call fails as soon as the lock is taken."),
            format!("{}, such as `{}`.", count(seen.at_once.0, "refusal"), short(seen.at_once.1)),
            "Set PRAGMA busy_timeout = 5000 on every connection.",
        );
    }
    if seen.gave_up.0 > 0 {
        let (times, longest, sql) = seen.gave_up;
        add(
            Kind::TimeoutTooShort,
            format!("{program} gives up before the lock of {database} is free."),
            format!("{}, after {} at most, such as `{}`.", count(times, "call"), time(longest), short(sql)),
            "Make the longest transaction shorter, or busy_timeout longer than it.",
        );
    }
    if seen.locked.0 > 0 {
        add(
            Kind::TableLocked,
            format!("{program} is refused in {database} because another of its own statements uses the table."),
            format!(
                "{}, such as `{}`. No busy timeout waits for that.",
                count(seen.locked.0, "refusal"),
                short(seen.locked.1)
            ),
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

    fn is_found([sum, longest]: [u64; 2], length_ns: u64) -> bool {
        let seen = Evidence { held: (1, sum, longest, "INSERT"), ..Evidence::default() };
        let found = of("app", "app.db", &seen, true, length_ns);
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
