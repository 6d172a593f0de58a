//! The content of `contend capture show` as values, which `--json` prints.

use crate::attempts::attempts;
use crate::gaps::note_text;
use crate::loops::{Turns, turns};
use crate::manifest::{self, Content, Manifest};
use crate::parts::groups;
use crate::program::{End, Group, Shapes, Transaction};
use crate::sql::{Does, Shape};
use crate::statement::{pragma, tokens};
use crate::trace::{Connection, Trace};
use clap::ValueEnum;
use contend::outcome::code_name;
use contend_wire::sample::CodeSpace;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Serialize)]
pub struct Summary {
    pub command: Vec<String>,
    /// The server, if its clients were captured.
    pub server: Option<String>,
    pub values: manifest::Values,
    pub duration_ns: u64,
    pub processes: usize,
    pub calls: usize,
    /// Calls that a lock ended: what the program got as `database is locked`.
    pub lock_errors: usize,
    pub databases: Vec<Database>,
    pub missing: Vec<String>,
    /// The servers that the study of the capture does not ask about, and why. Filled in by `show`.
    pub not_in_study: Vec<String>,
    /// Filled in by [`crate::finding::findings`].
    pub findings: Vec<Finding>,
    pub transactions: Vec<Kind>,
    pub connections: Vec<Setting>,
    pub statements: Vec<Statement>,
    /// Codes of errors (SQLITE_BUSY, SQLSTATE, MariaDB's numbers), and how often each came.
    pub errors: Vec<(String, u64)>,
    /// Filled in by [`crate::keys::keys`].
    pub keys: Vec<Key>,
    pub roles: Vec<Role>,
    pub bursts: Bursts,
}

/// Causes of waits and failures at locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    ProgramHoldsLock,
    ReadersBlockWriter,
    IdleInTransaction,
    ReadThenWrite,
    NoBusyTimeout,
    TimeoutTooShort,
    TableLocked,
    RefusedAtOnce,
    OpenCloseChurn,
}

/// A problem, its evidence, and what to change.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub kind: Cause,
    pub title: String,
    pub evidence: String,
    pub change: &'static str,
    /// A transaction in which it was seen, by its place in the list of all, from 1.
    pub transaction: Option<usize>,
}

#[derive(Debug, Serialize)]
pub struct Database {
    pub path: String,
    pub made_by_the_program: bool,
    pub journal_mode: String,
    /// Each table with its rows before the program and at the end; `None` if unknown or dropped.
    pub tables: Vec<(String, Option<u64>, Option<u64>)>,
    /// Tables that were there before, but not at the end.
    pub dropped: Vec<String>,
}

/// Order of the statements: most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Time inside of SQLite
    Time,
    /// Rows returned and changed
    Rows,
    Calls,
}

impl Sort {
    pub fn word(self) -> &'static str {
        match self {
            Sort::Time => "time",
            Sort::Rows => "rows",
            Sort::Calls => "calls",
        }
    }
}

/// Transactions of one shape. Times are those of the last attempt.
#[derive(Debug, Serialize)]
pub struct Kind {
    pub begin: &'static str,
    pub writes: bool,
    pub count: u64,
    pub share: f64,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub retries: u64,
    /// Whether one thread of a program with several made all of them.
    pub is_of_one_thread: bool,
    pub p50_ns: u64,
    pub p99_ns: u64,
    /// Mean times.
    pub in_sqlite_ns: u64,
    pub waited_ns: u64,
    pub in_program_ns: u64,
    pub in_program_with_lock_ns: u64,
    /// Each with its mean number of executions in a row, and the fewest and most of them.
    pub statements: Vec<(String, u64)>,
    pub executions: Vec<[u64; 2]>,
    pub loops: Vec<Turns>,
}

/// Connections with equal settings.
#[derive(Debug, Serialize)]
pub struct Setting {
    pub role: String,
    pub database: String,
    pub connections: u64,
    pub sqlite: String,
    pub busy_timeout_ms: Option<i64>,
    /// The code, if they could not be opened.
    pub error: Option<String>,
    /// The last value of each.
    pub pragmas: Vec<String>,
    pub notes: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct Statement {
    pub text: String,
    /// As the program wrote it, with `...` for its values.
    pub written: String,
    pub count: u64,
    pub total_ns: u64,
    pub rows: u64,
    pub changes: u64,
    pub busy: u64,
    pub failed: u64,
    pub waited_ns: u64,
}

/// A position in a statement, and the skew of its values.
#[derive(Debug, Serialize)]
pub struct Key {
    pub table: String,
    pub statement: String,
    pub place: u16,
    pub count: u64,
    pub distinct: u64,
    /// Share of the most frequent value.
    pub most: f64,
}

#[derive(Debug, Serialize)]
pub struct Role {
    pub name: String,
    pub processes: u64,
    pub threads: u64,
    pub transactions: u64,
    pub writes: u64,
    pub per_s: f64,
}

#[derive(Debug, Serialize)]
pub struct Bursts {
    pub transactions_per_s: f64,
    /// In the busiest second.
    pub most_per_s: u64,
    /// Longest time without a transaction.
    pub pause_ns: u64,
}

/// Everything read from a capture.
pub struct Known<'m> {
    pub manifest: &'m Manifest,
    pub trace: Trace,
    pub shapes: Shapes,
    pub transactions: Vec<Transaction>,
    pub groups: Vec<Group>,
}

impl<'m> Known<'m> {
    pub fn new(manifest: &'m Manifest, trace: Trace) -> Known<'m> {
        let mut shapes = Shapes::of(&trace);
        if manifest.values == manifest::Values::Hash {
            shapes.hide_stand_ins();
        }
        let transactions = attempts(&trace, &shapes);
        let groups = groups(&transactions, &trace, &shapes);
        Known { manifest, trace, shapes, transactions, groups }
    }

    /// Whether a group is what a program does when it starts: at most once in each process, and rare in all. A loop that is rarely
    /// so long is not.
    pub fn is_of_a_start(&self, group: &Group) -> bool {
        const RARE: usize = 100;
        let processes: BTreeSet<u64> = group.transactions.iter().map(|&i| self.transactions[i].who.process).collect();
        let count = group.transactions.len();
        !group.is_part && processes.len() == count && count * RARE <= self.transactions.len()
    }

    /// Whether one thread made all transactions of a group, several, and its program has other threads with transactions.
    pub fn is_of_one_thread(&self, group: &Group) -> bool {
        const SEVERAL: usize = 5;
        let thread = |transaction: &Transaction| (transaction.who.process, transaction.who.tid);
        let mine: BTreeSet<(u64, u32)> = group.transactions.iter().map(|&i| thread(&self.transactions[i])).collect();
        let [one] = mine.into_iter().collect::<Vec<_>>()[..] else { return false };
        let program = self.trace.process(one.0);
        let is_other = |of: &Transaction| thread(of) != one && self.trace.process(of.who.process) == program;
        group.transactions.len() >= SEVERAL && self.transactions.iter().any(is_other)
    }

    /// Whether all transactions of a group failed, and none at a lock.
    pub fn always_fails(&self, group: &Group) -> bool {
        let all = group.transactions.iter().map(|&i| &self.transactions[i]);
        all.into_iter().all(|transaction| transaction.end == End::Failed && !transaction.is_busy)
    }

    fn kind(&self, group: &Group, operations: usize) -> Kind {
        let all: Vec<&Transaction> = group.transactions.iter().map(|&i| &self.transactions[i]).collect();
        let count = all.len() as u64;
        let ended = |end| all.iter().filter(|transaction| transaction.end == end).count() as u64;
        let mut times: Vec<u64> = all.iter().map(|one| one.duration_ns()).collect();
        times.sort_unstable();
        let calls = || all.iter().flat_map(|transaction| &transaction.calls).map(|&i| &self.trace.calls[i]);
        Kind {
            begin: group.began.word(),
            writes: group.writes,
            count,
            share: count as f64 / operations.max(1) as f64,
            committed: ended(End::Committed),
            rolled_back: ended(End::RolledBack),
            failed: ended(End::Failed) + ended(End::Unfinished),
            retries: all.iter().map(|transaction| u64::from(transaction.earlier)).sum(),
            is_of_one_thread: self.is_of_one_thread(group),
            p50_ns: quantile(&times, 0.5),
            p99_ns: quantile(&times, 0.99),
            in_sqlite_ns: calls().map(|call| call.inside_ns + call.prepare.0).sum::<u64>() / count.max(1),
            waited_ns: calls().map(|call| call.waited_ns + call.prepare.1).sum::<u64>() / count.max(1),
            in_program_ns: all.iter().map(|transaction| transaction.open_ns).sum::<u64>() / count.max(1),
            in_program_with_lock_ns: all.iter().map(|transaction| transaction.held_ns).sum::<u64>() / count.max(1),
            statements: group
                .steps
                .iter()
                .map(|step| (self.shapes.all[step.shape].text.clone(), group.repeats(step)))
                .collect(),
            executions: group.steps.iter().map(|step| [step.least, step.most]).collect(),
            loops: turns(group, &self.transactions, (&self.trace, &self.shapes)),
        }
    }

    fn database(&self, database: &manifest::Database) -> Database {
        let known = database.end.as_ref().or(database.content.as_ref());
        let on = self.trace.connections.values().filter(|connection| connection.path == database.path);
        // The content of a database that was there can be unknown, too.
        let was_there = database.was_there
            || on.min_by_key(|connection| connection.opened_ns).is_some_and(|first| first.has_content());
        let made_by_the_program = database.content.is_none() && self.manifest.server.is_none() && !was_there;
        let of = |content: &Content, name: &str| content.tables.iter().find(|table| table.name == name).map(|t| t.rows);
        let before = |name: &str| match &database.content {
            Some(content) => of(content, name).or(Some(0)),
            None => made_by_the_program.then_some(0),
        };
        let after = |name: &str| database.end.as_ref().and_then(|end| of(end, name));
        let tables = |content: Option<&'_ Content>| {
            content.map_or(vec![], |content| content.tables.iter().map(|table| table.name.clone()).collect())
        };
        let mut dropped: Vec<String> = if database.end.is_some() { tables(database.content.as_ref()) } else { vec![] };
        dropped.retain(|name| after(name).is_none());
        Database {
            path: database.path.display().to_string(),
            made_by_the_program,
            journal_mode: known.map_or(String::new(), |content| content.journal_mode.clone()),
            tables: [tables(known), dropped.clone()]
                .concat()
                .into_iter()
                .map(|name| {
                    let (before, after) = (before(&name), after(&name));
                    (name, before, after)
                })
                .collect(),
            dropped,
        }
    }

    pub fn summary(&self, sort: Sort) -> Summary {
        let manifest = self.manifest;
        let operations = self.groups.iter().map(|group| group.transactions.len()).sum();
        Summary {
            command: manifest.command.clone(),
            server: manifest.server.as_ref().map(|server| server.address.clone()),
            values: manifest.values,
            duration_ns: self.trace.to_ns - self.trace.from_ns,
            processes: self.trace.processes.len(),
            calls: self.trace.calls.len(),
            lock_errors: self.trace.calls.iter().filter(|call| call.is_busy()).count(),
            databases: manifest.databases.iter().map(|database| self.database(database)).collect(),
            missing: self.trace.missing(manifest),
            not_in_study: vec![],
            findings: vec![],
            transactions: self.groups.iter().map(|group| self.kind(group, operations)).collect(),
            connections: self.connections(),
            statements: self.statements(sort),
            errors: self.errors(),
            keys: vec![],
            roles: self.roles(),
            bursts: self.bursts(),
        }
    }

    fn setting(&self, connection: &Connection) -> Setting {
        let mut pragmas: Vec<(String, String)> = vec![];
        for text in &connection.pragmas {
            let Some((name, text)) = setting(text) else { continue };
            match pragmas.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = text,
                None => pragmas.push((name, text)),
            }
        }
        let error = (connection.rc != 0).then(|| code_name(CodeSpace::Sqlite, connection.rc.cast_unsigned()));
        Setting {
            role: self.trace.process(connection.process).to_string(),
            database: connection
                .path
                .file_name()
                .map_or("in memory".into(), |name| name.to_string_lossy().into_owned()),
            connections: 1,
            sqlite: connection.version.clone(),
            busy_timeout_ms: connection.busy_timeout_ms,
            error: error.filter(|_| self.manifest.server.is_none()),
            pragmas: pragmas.into_iter().map(|(_, text)| text).collect(),
            notes: connection.notes.iter().map(|note| note_text(*note)).collect(),
        }
    }

    fn connections(&self) -> Vec<Setting> {
        let mut found: Vec<Setting> = vec![];
        for connection in self.trace.connections.values() {
            let new = self.setting(connection);
            let same = found.iter_mut().find(|known| {
                (&known.role, &known.database, known.busy_timeout_ms, &known.error, &known.pragmas, &known.notes)
                    == (&new.role, &new.database, new.busy_timeout_ms, &new.error, &new.pragmas, &new.notes)
            });
            match same {
                Some(known) => known.connections += 1,
                None => found.push(new),
            }
        }
        found.sort_by_key(|setting| std::cmp::Reverse(setting.connections));
        found
    }

    fn statements(&self, sort: Sort) -> Vec<Statement> {
        let empty = |(shape, written): (&Shape, &String)| Statement {
            text: shape.text.clone(),
            written: written.clone(),
            count: 0,
            total_ns: 0,
            rows: 0,
            changes: 0,
            busy: 0,
            failed: 0,
            waited_ns: 0,
        };
        let mut all: Vec<Statement> = self.shapes.all.iter().zip(&self.shapes.written).map(empty).collect();
        for call in &self.trace.calls {
            let statement = &mut all[self.shapes.number(call)];
            statement.count += 1;
            statement.total_ns += call.inside_ns + call.prepare.0;
            statement.rows += call.rows;
            // A call that failed when it was prepared has the number of the one before it.
            let has_changed = self.shapes.get(call).does == Does::Write && !call.has_failed();
            statement.changes += if has_changed { call.changes.max(0).cast_unsigned() } else { 0 };
            statement.busy += u64::from(call.is_busy());
            statement.failed += u64::from(call.has_failed());
            statement.waited_ns += call.waited_ns + call.prepare.1;
        }
        all.sort_by_key(|statement| {
            std::cmp::Reverse(match sort {
                Sort::Time => statement.total_ns,
                Sort::Rows => statement.rows + statement.changes,
                Sort::Calls => statement.count,
            })
        });
        all
    }

    /// Codes of errors, most frequent first.
    fn errors(&self) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let is_server = self.manifest.server.is_some();
        for call in self.trace.calls.iter().filter(|call| call.has_failed() && (call.rowid != 0 || !is_server)) {
            let code = match is_server {
                true => call.code_of_server(),
                false => code_name(CodeSpace::Sqlite, call.rc.cast_unsigned()),
            };
            *counts.entry(code).or_default() += 1;
        }
        let mut errors: Vec<(String, u64)> = counts.into_iter().collect();
        errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        errors
    }

    fn roles(&self) -> Vec<Role> {
        type Counted = (Vec<u64>, Vec<u32>, u64, u64);
        let mut of: BTreeMap<&str, Counted> = BTreeMap::new();
        for transaction in self.transactions.iter().filter(|transaction| !transaction.is_tried_again()) {
            let role = of.entry(self.trace.process(transaction.who.process)).or_default();
            role.0.push(transaction.who.process);
            role.1.push(transaction.who.tid);
            role.2 += 1;
            role.3 += u64::from(transaction.writes);
        }
        let seconds = (self.trace.to_ns - self.trace.from_ns).max(1) as f64 / SECOND_NS as f64;
        let distinct = |mut numbers: Vec<u64>| {
            numbers.sort_unstable();
            numbers.dedup();
            numbers.len() as u64
        };
        let roles = of.into_iter().map(|(name, (processes, threads, transactions, writes))| Role {
            name: name.to_string(),
            processes: distinct(processes),
            threads: distinct(threads.into_iter().map(u64::from).collect()),
            transactions,
            writes,
            per_s: transactions as f64 / seconds,
        });
        roles.collect()
    }

    fn bursts(&self) -> Bursts {
        let mut seconds: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut pause_ns, mut last) = (0, None);
        for transaction in &self.transactions {
            *seconds.entry((transaction.from_ns - self.trace.from_ns) / SECOND_NS).or_default() += 1;
            if let Some(last) = last {
                pause_ns = transaction.from_ns.saturating_sub(last).max(pause_ns);
            }
            last = Some(transaction.to_ns.max(last.unwrap_or(0)));
        }
        let length = (self.trace.to_ns - self.trace.from_ns).max(1) as f64 / SECOND_NS as f64;
        Bursts {
            transactions_per_s: self.transactions.len() as f64 / length,
            most_per_s: seconds.values().max().copied().unwrap_or(0),
            pause_ns,
        }
    }
}

/// Name and text of a setting: `PRAGMA x = y`, and a server's SET. `None` for a PRAGMA that asks or acts. The busy timeout is
/// known apart from it.
fn setting(text: &str) -> Option<(String, String)> {
    const NONE: [&str; 14] = [
        "busy_timeout",
        "table_info",
        "table_xinfo",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "foreign_key_check",
        "integrity_check",
        "quick_check",
        "wal_checkpoint",
        "optimize",
        "incremental_vacuum",
        "shrink_memory",
    ];
    let Some((name, value)) = pragma(&tokens(text)) else {
        let is_scope = |word: &&str| ["session", "local"].iter().any(|scope| word.eq_ignore_ascii_case(scope));
        let mut words = text.split(['=', ' ']).filter(|word| !word.is_empty()).skip(1);
        let name = words.find(|word| !is_scope(word)).unwrap_or_default();
        return Some((name.to_ascii_lowercase(), text.to_ascii_lowercase()));
    };
    let is_setting = !value.is_empty() && !NONE.contains(&name.as_str());
    is_setting.then(|| (name.clone(), format!("pragma {name} = {value}")))
}

fn quantile(sorted: &[u64], share: f64) -> u64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}
