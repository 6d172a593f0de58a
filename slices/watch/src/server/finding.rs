//! Findings about a server: a problem, its evidence, and advice. Pure. A healthy server gets none.

use super::history::{Blocked, ClientHistory, History, Snapshot};
use super::holders::DEFINITION;
use super::look::PREPARED;
use super::waits::{Candidate, Unknown};
use crate::words::{Words, one_line, time, times};
use serde::Serialize;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Shortest reported wait.
const WAIT_NS_MIN: u64 = 500 * MS;
/// A transaction without a statement for this long is idle: if another client waits for it, and otherwise.
const IDLE_NS_BLOCKING: u64 = SECOND;
const IDLE_NS_MIN: u64 = 5 * SECOND;
/// Age of an old snapshot, and number of transactions that must have begun since.
const SNAPSHOT_NS_MIN: u64 = 5 * SECOND;
const BEHIND_MIN: u64 = 1_000;
/// For replication slots and prepared transactions, whose age in time is unknown: transactions since then.
const KEEPER_BEHIND_MIN: u64 = 10_000;
/// Growth of MariaDB's history during a snapshot that is reported.
const HISTORY_GROWTH_MIN: u64 = 2_000;
/// Dead rows of a table that are reported, if there are more than live rows.
const DEAD_ROWS_MIN: u64 = 10_000;
/// Growth of a history that shows that purging does not keep up.
const PURGE_GROWTH_MIN: u64 = 100_000;

/// PostgreSQL's process that replays the log of a primary server, as it names it.
const REPLAY: &str = "startup";

/// A kind of finding, with the data of its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// A transaction is open and its program executes no statement.
    IdleInTransaction {
        idle_ns: u64,
        last: Option<String>,
        blocks: usize,
        longest_wait_ns: u64,
        waiting: Option<String>,
    },
    /// A client blocks others with its locks, while it works, in short pauses, or without a transaction. `statement`: its
    /// latest one during the longest wait.
    BlocksOthers {
        blocks: usize,
        longest_wait_ns: u64,
        statement: Option<String>,
        transaction_ns: u64,
        waiting: Option<String>,
    },
    /// Others wait for the locks of a prepared transaction, which no connection has. MariaDB does not report its age.
    PreparedBlocks {
        by: String,
        prepared_ns: Option<u64>,
        blocks: usize,
        longest_wait_ns: u64,
        waiting: Option<String>,
    },
    /// Clients wait for a lock, and the server does not report who holds it. `lock`: its kind.
    UnknownHolder {
        lock: String,
        waiters: usize,
        longest_wait_ns: u64,
        waiting: Option<String>,
        candidates: Vec<Candidate>,
    },
    /// Transactions waited for each other; the server aborted one of them.
    Deadlocks { count: u64, statements: Vec<String> },
    /// An old snapshot prevents the removal of rows deleted since.
    OldSnapshot { open_ns: u64, behind: u64, grown: u64, statement: Option<String> },
    /// A replication slot or a prepared transaction prevents the same.
    HeldBack { by: String, behind: u64 },
    /// A table has more dead rows than live ones, and their number grows. `grown` is that of the table.
    DeadRowsGrow { table: String, dead: u64, live: u64, grown: u64 },
    /// The history grows without an old snapshot as its cause.
    HistoryGrows { grown: u64, length: u64 },
}

impl Kind {
    /// Distinguishes findings of this kind without a client.
    pub fn about(&self) -> &str {
        match self {
            Kind::UnknownHolder { lock: about, .. } | Kind::HeldBack { by: about, .. } => about,
            _ => "",
        }
    }
}

/// A problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The client that causes it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u64>,
    pub who: String,
    #[serde(flatten)]
    pub kind: Kind,
}

/// All findings of a history, the longest waits first.
pub fn findings(history: &History) -> Vec<Finding> {
    let mut of_clients: Vec<(u64, &ClientHistory)> = history.of_clients.iter().map(|((id, _), of)| (*id, of)).collect();
    of_clients
        .sort_by_key(|(_, past)| std::cmp::Reverse(past.while_idle.longest_ns.max(past.while_not_idle.longest_ns)));
    let mut found = vec![];
    for (id, past) in of_clients {
        if id == PREPARED {
            let kind = prepared(&past.client.who, &past.while_idle);
            found.extend(kind.map(|kind| Finding { client: None, who: String::new(), kind }));
            continue;
        }
        let snapshot = past.snapshot.as_ref().and_then(|snapshot| old_snapshot(history, snapshot));
        let idle = idle(past);
        // Short pauses in one transaction are no idleness, but keep others waiting like its statements.
        let is_told = matches!(&idle, Some(Kind::IdleInTransaction { blocks, .. }) if *blocks > 0);
        let in_pauses = !is_told && past.while_idle.longest_ns > past.while_not_idle.longest_ns;
        let blocked = if in_pauses { &past.while_idle } else { &past.while_not_idle };
        let kinds = [idle, blocks(blocked), snapshot];
        let with = |kind| Finding { client: Some(id), who: past.client.who.clone(), kind };
        found.extend(kinds.into_iter().flatten().map(with));
    }
    let unknown = history.waits.unknown().into_iter().filter(|(_, of)| of.longest_ns >= WAIT_NS_MIN);
    found.extend(unknown.map(|(lock, of)| Finding {
        client: None,
        who: String::new(),
        kind: unknown_holder(lock, of),
    }));
    let has_snapshot = found.iter().any(|finding| matches!(finding.kind, Kind::OldSnapshot { .. }));
    found.extend(of_server(history, has_snapshot).map(|kind| Finding { client: None, who: String::new(), kind }));
    found
}

/// A pause in which others wait, or else a long one.
fn idle(past: &ClientHistory) -> Option<Kind> {
    let Blocked { clients, longest_ns, waiting, longest_state: (state_ns, statement), .. } = &past.while_idle;
    if *longest_ns >= WAIT_NS_MIN && *state_ns >= IDLE_NS_BLOCKING {
        return Some(Kind::IdleInTransaction {
            idle_ns: *state_ns,
            last: statement.clone(),
            blocks: clients.len(),
            longest_wait_ns: *longest_ns,
            waiting: waiting.clone(),
        });
    }
    let (idle_ns, last) = past.pause.clone();
    let kind = Kind::IdleInTransaction { idle_ns, last, blocks: 0, longest_wait_ns: 0, waiting: None };
    (idle_ns >= IDLE_NS_MIN).then_some(kind)
}

fn blocks(blocked: &Blocked) -> Option<Kind> {
    (blocked.longest_ns >= WAIT_NS_MIN).then(|| Kind::BlocksOthers {
        blocks: blocked.clients.len(),
        longest_wait_ns: blocked.longest_ns,
        statement: blocked.statement.clone(),
        transaction_ns: blocked.transaction_ns,
        waiting: blocked.waiting.clone(),
    })
}

fn prepared(who: &str, blocked: &Blocked) -> Option<Kind> {
    (blocked.longest_ns >= WAIT_NS_MIN).then(|| Kind::PreparedBlocks {
        by: who.to_string(),
        prepared_ns: Some(blocked.transaction_ns).filter(|ns| *ns > 0),
        blocks: blocked.clients.len(),
        longest_wait_ns: blocked.longest_ns,
        waiting: blocked.waiting.clone(),
    })
}

fn unknown_holder(lock: String, Unknown { clients, longest_ns, waiting, candidates }: Unknown) -> Kind {
    Kind::UnknownHolder { lock, waiters: clients.len(), longest_wait_ns: longest_ns, waiting, candidates }
}

fn old_snapshot(history: &History, snapshot: &Snapshot) -> Option<Kind> {
    let Snapshot { at_ns, open_ns, behind, ref statement } = *snapshot;
    if open_ns < SNAPSHOT_NS_MIN {
        return None;
    }
    // From its beginning, or that of the watch, to the time when it was last the oldest.
    let during = at_ns.saturating_sub(open_ns)..=at_ns;
    let counts = || history.old_versions.iter().filter(|(at_ns, _)| during.contains(at_ns)).map(|(_, count)| *count);
    let grown = counts().next_back().zip(counts().next()).map_or(0, |(last, first)| last.saturating_sub(first));
    let is_old = behind >= BEHIND_MIN || behind == 0 && grown >= HISTORY_GROWTH_MIN;
    is_old.then(|| Kind::OldSnapshot { open_ns, behind, grown, statement: statement.clone() })
}

fn of_server(history: &History, has_snapshot: bool) -> impl Iterator<Item = Kind> {
    let first = history.first.clone().unwrap_or_default();
    let now = &history.counters;
    let count = now.deadlocks.saturating_sub(first.deadlocks);
    let deadlocks = (count > 0).then(|| Kind::Deadlocks { count, statements: history.last_deadlock.clone() });
    let grown = now.old_versions.saturating_sub(first.old_versions);
    let kept = now.keepers.iter().filter(|keeper| keeper.behind >= KEEPER_BEHIND_MIN);
    let kept: Vec<Kind> = kept.map(|k| Kind::HeldBack { by: k.name.clone(), behind: k.behind }).collect();
    let is_explained = has_snapshot || !kept.is_empty();
    let rows = match &now.tables[..] {
        [] => (grown >= PURGE_GROWTH_MIN).then_some(Kind::HistoryGrows { grown, length: now.old_versions }),
        tables => dead_rows(history, tables),
    };
    deadlocks.into_iter().chain(kept).chain(rows.filter(|_| !is_explained))
}

/// The table with the most growth, if it has many dead rows and at least a tenth of them are new.
fn dead_rows(history: &History, tables: &[(String, u64, u64)]) -> Option<Kind> {
    let grown = |table: &str, dead: u64| dead.saturating_sub(history.first_dead.get(table).copied().unwrap_or(dead));
    let of = tables.iter().map(|(table, dead, live)| (table, *dead, *live, grown(table, *dead)));
    let many = of.filter(|(_, dead, live, grown)| *dead >= DEAD_ROWS_MIN && dead > live && grown * 10 >= *dead);
    let (table, dead, live, grown) = many.max_by_key(|(.., grown)| *grown)?;
    (history.vacuums == 0).then(|| Kind::DeadRowsGrow { table: table.clone(), dead, live, grown })
}

fn quoted(sql: Option<&String>) -> String {
    const CHARS: usize = 100;
    sql.map_or("a statement that the server does not show".to_string(), |sql| format!("\"{}\"", one_line(sql, CHARS)))
}

/// What to end early where the holder of a lock is not known.
fn end_early(lock: &str) -> &'static str {
    match lock {
        DEFINITION => {
            "End transactions that have used the table: each keeps its definition locked until COMMIT or ROLLBACK, also one that \
             only read. `INSTALL SONAME 'metadata_lock_info'` lets the watch name the holder (MariaDB)."
        }
        _ => {
            "End FLUSH TABLES WITH READ LOCK, BACKUP STAGE and LOCK TABLES early; `INSTALL SONAME 'metadata_lock_info'` lets \
             the watch name the holder (MariaDB)."
        }
    }
}

/// A finding as sentences.
pub fn words(finding: &Finding) -> Words {
    let who = match finding.client {
        Some(id) => format!("{} ({id})", one_line(&finding.who, 60)),
        None => String::new(),
    };
    let (title, evidence, change) = match &finding.kind {
        Kind::IdleInTransaction { idle_ns, last, blocks, longest_wait_ns, waiting } => (
            match blocks {
                0 => format!("{who} has left a transaction open."),
                blocks => format!("{who} has left a transaction open, and {} for it.", clients_wait(*blocks)),
            },
            format!(
                "No statement for {}, after {}.{}",
                time(*idle_ns),
                quoted(last.as_ref()),
                waits(*longest_wait_ns, waiting)
            ),
            "COMMIT or ROLLBACK on every path of the program, also after an exception; idle_in_transaction_session_timeout \
             (PostgreSQL) or idle_transaction_timeout (MariaDB) ends transactions that are left open.",
        ),
        Kind::BlocksOthers { blocks, longest_wait_ns, statement, transaction_ns, waiting } => (
            format!("{} for locks of {who}.", clients_wait(*blocks)),
            format!(
                "Its latest statement was {}{}.{}",
                quoted(statement.as_ref()),
                match transaction_ns {
                    0 => String::new(),
                    ns => format!(", in a transaction of {}", time(*ns)),
                },
                waits(*longest_wait_ns, waiting)
            ),
            release(&finding.who, *transaction_ns),
        ),
        Kind::PreparedBlocks { by, prepared_ns, blocks, longest_wait_ns, waiting } => (
            format!("{} for locks of the {}.", clients_wait(*blocks), one_line(by, 80)),
            prepared_ns.map_or(String::new(), |ns| format!("It was prepared {} ago.", time(ns)))
                + &waits(*longest_wait_ns, waiting),
            "COMMIT PREPARED or ROLLBACK PREPARED it (PostgreSQL), XA COMMIT or XA ROLLBACK (MariaDB); XA RECOVER lists them.",
        ),
        Kind::UnknownHolder { lock, waiters, longest_wait_ns, waiting, candidates } => (
            format!("{} for a lock ({lock}); who holds it is not known.", clients_wait(*waiters)),
            format!("{}{}", waits(*longest_wait_ns, waiting), may_be(candidates)),
            end_early(lock),
        ),
        Kind::Deadlocks { count, statements } => {
            let shown: Vec<String> = statements.iter().map(|sql| quoted(Some(sql))).collect();
            let last =
                if shown.is_empty() { String::new() } else { format!(" The last one: {}.", shown.join(" and ")) };
            (
                "Transactions wait for each other in a circle.".to_string(),
                format!("It happened {}; the server ended one of them each time.{last}", times(*count)),
                "Lock rows and tables in the same order everywhere, and repeat a transaction that was ended.",
            )
        }
        _ => of_old_versions(&finding.kind, &who),
    };
    Words { title, evidence: evidence.trim_start().to_string(), change: change.to_string() }
}

/// Advice about a client for whose locks others wait.
fn release(who: &str, transaction_ns: u64) -> &'static str {
    match transaction_ns {
        0 if who == REPLAY => "End the transaction on the primary server that changes this table.",
        0 => {
            "Release the locks that the session keeps (pg_advisory_unlock in PostgreSQL, RELEASE_LOCK or UNLOCK TABLES in \
             MariaDB), or make its statement shorter."
        }
        _ => "Make its transaction shorter, or let it lock what others need last; give schema changes a lock_timeout.",
    }
}

fn of_old_versions(kind: &Kind, who: &str) -> (String, String, &'static str) {
    match kind {
        Kind::OldSnapshot { open_ns, behind, grown, statement } => {
            let open = time(*open_ns);
            let since = match behind {
                0 => format!("the history has grown by {grown} changes since"),
                behind => format!("{behind} transactions have begun since; dead rows have grown by {grown}"),
            };
            (
                format!(
                    "{who} keeps an old snapshot open: row versions deleted or changed since then cannot be removed."
                ),
                format!("Open for {open}; {since}. Its statement: {}.", quoted(statement.as_ref())),
                "End its transaction; read long results in pieces, or on a replica.",
            )
        }
        Kind::HeldBack { by, behind } => (
            format!("The {} keeps dead rows from being removed.", one_line(by, 80)),
            format!("{behind} transactions have begun since."),
            "Drop a replication slot that is no longer used; COMMIT PREPARED or ROLLBACK PREPARED a forgotten transaction.",
        ),
        Kind::DeadRowsGrow { table, dead, live, grown } => (
            format!("{} has more dead rows than live ones, and their number grows.", one_line(table, 80)),
            format!(
                "{dead} dead, {live} live; {grown} more dead rows of this table than first seen, and no vacuum was seen."
            ),
            "Let autovacuum run on this table more often (autovacuum_vacuum_scale_factor), or VACUUM it.",
        ),
        Kind::HistoryGrows { grown, length } => (
            "The history of changes grows: purging does not keep up.".to_string(),
            format!("{length} changes are kept, {grown} more than when the watch began."),
            "More innodb_purge_threads, or smaller changes; look for a long transaction before this watch.",
        ),
        // The kinds handled in `words`, by name: a new kind must be in one of the two functions.
        Kind::IdleInTransaction { .. }
        | Kind::BlocksOthers { .. }
        | Kind::PreparedBlocks { .. }
        | Kind::UnknownHolder { .. }
        | Kind::Deadlocks { .. } => (String::new(), String::new(), ""),
    }
}

/// The first clients that may hold a lock.
fn may_be(candidates: &[Candidate]) -> String {
    const SHOWN: usize = 3;
    let one =
        |of: &Candidate| format!("{} ({}) with {}", one_line(&of.who, 60), of.client, quoted(of.statement.as_ref()));
    match candidates {
        [] => String::new(),
        all => format!(" It may be {}.", all.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", or ")),
    }
}

fn clients_wait(count: usize) -> String {
    if count == 1 { "1 client waits".to_string() } else { format!("{count} clients wait") }
}

fn waits(longest_ns: u64, waiting: &Option<String>) -> String {
    if longest_ns == 0 {
        return String::new();
    }
    format!(" Longest wait for it: {} of {}.", time(longest_ns), quoted(waiting.as_ref()))
}

#[cfg(test)]
#[path = "finding_tests.rs"]
mod tests;
