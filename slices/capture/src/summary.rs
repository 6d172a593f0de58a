//! The content of `contend capture show` as values, which `--json` prints.

use crate::manifest::{self, Content, Manifest};
use crate::program::{Began, End, Group, Shapes, Transaction, groups, transactions};
use crate::sql::{Begin, Does};
use crate::trace::{Connection, Trace, Value, note_text};
use clap::ValueEnum;
use contend_interpose::format::value;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// Filled in by [`crate::finding::findings`].
    pub findings: Vec<Finding>,
    pub transactions: Vec<Kind>,
    pub connections: Vec<Setting>,
    pub statements: Vec<Statement>,
    /// Codes (SQLSTATE, MariaDB's numbers) of a server's errors, and how often each came.
    pub errors: Vec<(String, u64)>,
    pub keys: Vec<Key>,
    pub roles: Vec<Role>,
    pub bursts: Bursts,
}

/// Causes of waits and failures at locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    ProgramHoldsLock,
    IdleInTransaction,
    ReadThenWrite,
    NoBusyTimeout,
    TimeoutTooShort,
    TableLocked,
    OpenCloseChurn,
}

/// A problem, its evidence, and what to change.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub kind: Cause,
    pub title: String,
    pub evidence: String,
    pub change: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Database {
    pub path: String,
    pub made_by_the_program: bool,
    pub journal_mode: String,
    /// Each table with its rows before the program and at the end; `None` if unknown.
    pub tables: Vec<(String, Option<u64>, Option<u64>)>,
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
    pub p50_ns: u64,
    pub p99_ns: u64,
    /// Mean times.
    pub in_sqlite_ns: u64,
    pub waited_ns: u64,
    pub in_program_ns: u64,
    pub in_program_with_lock_ns: u64,
    pub statements: Vec<(String, u64)>,
}

/// Connections with equal settings.
#[derive(Debug, Serialize)]
pub struct Setting {
    pub role: String,
    pub database: String,
    pub connections: u64,
    pub sqlite: String,
    pub busy_timeout_ms: Option<i64>,
    pub pragmas: Vec<String>,
    pub notes: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct Statement {
    pub text: String,
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
        let shapes = Shapes::of(&trace);
        let transactions = transactions(&trace, &shapes);
        let groups = groups(&transactions, &trace, &shapes);
        Known { manifest, trace, shapes, transactions, groups }
    }

    /// Whether a group is what a program does when it starts: at most once in each process, and rare in all.
    pub fn is_of_a_start(&self, group: &Group) -> bool {
        const RARE: usize = 100;
        let processes: BTreeSet<u64> = group.transactions.iter().map(|&i| self.transactions[i].who.process).collect();
        let count = group.transactions.len();
        processes.len() == count && count * RARE <= self.transactions.len()
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
        let mut times: Vec<u64> = all.iter().map(|transaction| transaction.to_ns - transaction.from_ns).collect();
        times.sort_unstable();
        let calls = || all.iter().flat_map(|transaction| &transaction.calls).map(|&i| &self.trace.calls[i]);
        Kind {
            begin: begin_word(group.began),
            writes: group.writes,
            count,
            share: count as f64 / operations.max(1) as f64,
            committed: ended(End::Committed),
            rolled_back: ended(End::RolledBack),
            failed: ended(End::Failed) + ended(End::Unfinished),
            retries: all.iter().map(|transaction| u64::from(transaction.earlier)).sum(),
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
        }
    }

    fn database(&self, database: &manifest::Database) -> Database {
        let known = database.end.as_ref().or(database.content.as_ref());
        let on = self.trace.connections.values().filter(|connection| connection.path == database.path);
        // The content of a database that was there can be unknown, too.
        let was_there = on.min_by_key(|connection| connection.opened_ns).is_some_and(|first| first.has_content);
        let made_by_the_program = database.content.is_none() && self.manifest.server.is_none() && !was_there;
        let rows = |content: &Option<Content>, name: &str| {
            let content = content.as_ref()?;
            Some(content.tables.iter().find(|table| table.name == name).map_or(0, |table| table.rows))
        };
        let before = |name: &str| rows(&database.content, name).or(made_by_the_program.then_some(0));
        let tables = known.iter().flat_map(|content| &content.tables).map(|table| &table.name);
        Database {
            path: database.path.display().to_string(),
            made_by_the_program,
            journal_mode: known.map_or(String::new(), |content| content.journal_mode.clone()),
            tables: tables.map(|name| (name.clone(), before(name), rows(&database.end, name))).collect(),
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
            findings: vec![],
            transactions: self.groups.iter().map(|group| self.kind(group, operations)).collect(),
            connections: self.connections(),
            statements: self.statements(sort),
            errors: if manifest.server.is_some() { self.errors() } else { vec![] },
            keys: self.keys(),
            roles: self.roles(),
            bursts: self.bursts(),
        }
    }

    fn setting(&self, connection: &Connection) -> Setting {
        let mut pragmas: Vec<String> = vec![];
        for pragma in &connection.pragmas {
            let pragma = pragma.to_ascii_lowercase();
            if (pragma.contains('=') || pragma.starts_with("set ")) && !pragmas.contains(&pragma) {
                pragmas.push(pragma);
            }
        }
        Setting {
            role: self.trace.process(connection.process).to_string(),
            database: connection
                .path
                .file_name()
                .map_or("in memory".into(), |name| name.to_string_lossy().into_owned()),
            connections: 1,
            sqlite: connection.version.clone(),
            busy_timeout_ms: connection.busy_timeout_ms,
            pragmas,
            notes: connection.notes.iter().map(|note| note_text(*note)).collect(),
        }
    }

    fn connections(&self) -> Vec<Setting> {
        let mut found: Vec<Setting> = vec![];
        for connection in self.trace.connections.values() {
            let new = self.setting(connection);
            let same = found.iter_mut().find(|known| {
                (&known.role, &known.database, known.busy_timeout_ms, &known.pragmas, &known.notes)
                    == (&new.role, &new.database, new.busy_timeout_ms, &new.pragmas, &new.notes)
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
        let empty = |shape: &crate::sql::Shape| Statement {
            text: shape.text.clone(),
            count: 0,
            total_ns: 0,
            rows: 0,
            changes: 0,
            busy: 0,
            failed: 0,
            waited_ns: 0,
        };
        let mut all: Vec<Statement> = self.shapes.all.iter().map(empty).collect();
        for call in &self.trace.calls {
            let statement = &mut all[self.shapes.number(call)];
            statement.count += 1;
            statement.total_ns += call.inside_ns + call.prepare.0;
            statement.rows += call.rows;
            statement.changes +=
                if self.shapes.get(call).does == Does::Write { call.changes.max(0).cast_unsigned() } else { 0 };
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

    /// A server's errors, most frequent first.
    fn errors(&self) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for call in self.trace.calls.iter().filter(|call| call.has_failed() && call.rowid != 0) {
            let code = call.rowid.to_ne_bytes();
            *counts.entry(String::from_utf8_lossy(&code[..5]).trim_end_matches('\0').to_string()).or_default() += 1;
        }
        let mut errors: Vec<(String, u64)> = counts.into_iter().collect();
        errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        errors
    }

    /// Positions in statements whose values repeat.
    fn keys(&self) -> Vec<Key> {
        let mut counts: BTreeMap<(usize, u16), HashMap<String, u64>> = BTreeMap::new();
        for call in &self.trace.calls {
            for (place, given) in &call.values {
                let is_real = matches!(given, Value::Real(_) | Value::Hash(value::REAL, ..));
                let is_key = !is_real && !matches!(given, Value::Null | Value::Opaque | Value::Zeros(_));
                if is_key && matches!(self.shapes.get(call).does, Does::Read | Does::Write) {
                    *counts
                        .entry((self.shapes.number(call), *place))
                        .or_default()
                        .entry(format!("{given:?}"))
                        .or_default() += 1;
                }
            }
        }
        let keys = counts.into_iter().map(|((shape, place), values)| {
            let count: u64 = values.values().sum();
            let most = values.values().max().copied().unwrap_or(0);
            Key {
                table: self.shapes.all[shape].tables.first().cloned().unwrap_or_default(),
                statement: self.shapes.all[shape].text.clone(),
                place,
                count,
                distinct: values.len() as u64,
                most: most as f64 / count.max(1) as f64,
            }
        });
        let mut keys: Vec<Key> = keys.filter(|key| key.count >= 10 && key.distinct > 1).collect();
        keys.sort_by_key(|key| std::cmp::Reverse(key.count));
        keys
    }

    fn roles(&self) -> Vec<Role> {
        type Counted = (Vec<u64>, Vec<u32>, u64, u64);
        let mut of: BTreeMap<&str, Counted> = BTreeMap::new();
        for transaction in self.transactions.iter().filter(|transaction| !transaction.is_tried_again) {
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

pub fn begin_word(began: Began) -> &'static str {
    match began {
        Began::Alone => "none",
        Began::By(Begin::Deferred) => "deferred",
        Began::By(Begin::Immediate) => "immediate",
        Began::By(Begin::Exclusive) => "exclusive",
        Began::Unseen => "unseen",
    }
}

fn quantile(sorted: &[u64], share: f64) -> u64 {
    let place = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(place.saturating_sub(1).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}
