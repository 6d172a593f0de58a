//! What a process has done on a database since the watch began, added up: its size does not depend on how long that is.

use crate::hold::{End, Gap, Hold, Wait};
use crate::lock::Lock;
use std::collections::{BTreeMap, BTreeSet};

/// A gap between statements under the writer's lock that is worth a word, if another process waited.
pub const GAP_NS_MIN: u64 = 10_000_000;
/// Most statements, and most shapes of transactions, that are told apart.
const TEXTS_MAX: usize = 500;

/// Sums of a process on a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Times that it had the writer's lock.
    pub writes: u64,
    pub write_ns: u64,
    pub write_ns_max: u64,
    /// Waits for any lock, and their time.
    pub waits: u64,
    pub wait_ns: u64,
    pub wait_ns_max: u64,
    /// Calls that were refused.
    pub refusals: u64,
    /// Waits that ended without the lock.
    pub gave_up: u64,
    /// Statements that returned SQLITE_BUSY or one of its kind.
    pub busy: u64,
    pub syncs: u64,
    pub sync_ns: u64,
    /// Times that it connected to the log's index (opened the database in WAL mode).
    pub connects: u64,
    /// Times that it closed the last connection: then the log is copied and deleted.
    pub last_closes: u64,
}

/// Times that something took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
}

impl Times {
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }
}

/// Transactions that consist of the same statements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// Time in which they held the write lock.
    pub held: Times,
    /// Part of it in which no statement ran.
    pub outside_ns: u64,
    /// The longest such pause.
    pub gap: Gap,
}

/// Refusals that were not tried again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refused {
    pub count: u64,
    /// The statement of the first.
    pub sql: Option<String>,
}

/// Commits that waited for readers (rollback journal).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drains {
    pub waits: Times,
    pub readers: BTreeSet<u32>,
}

/// Everything about a process on a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Write locks with a pause of at least [`GAP_NS_MIN`] between two statements: the part outside of statements.
    pub outside: Times,
    pub gap: Gap,
    /// The longest of which both statements are known.
    pub told_gap: Gap,
    /// Longest wait of another process for this one.
    pub waited_for_ns: u64,
    pub read_ns_max: u64,
    pub refused_after_read: Refused,
    pub refused_fresh: Refused,
    /// Waits that ended without the lock after several tries, and the holder of the longest.
    pub gave_up: Times,
    pub gave_up_holder: Option<u32>,
    /// Syncs while it had the write lock.
    pub syncs: Times,
    pub checkpoints: Times,
    pub drains: Drains,
    /// Waits by the process that had the lock.
    pub waited: BTreeMap<u32, Times>,
    /// Statements by time in which they ran under the write lock.
    pub statements: BTreeMap<String, Times>,
    pub shapes: BTreeMap<String, Shape>,
}

impl Tally {
    /// Adds a hold that has ended, or one that goes on as far as it got.
    pub fn hold(&mut self, hold: &Hold, now_ns: u64) {
        let ns = hold.ns(now_ns);
        if matches!(hold.lock, Lock::Read(_) | Lock::Shared) {
            self.read_ns_max = self.read_ns_max.max(ns);
        }
        if !hold.lock.is_writers() {
            return;
        }
        // A hold in which no statement was seen is of a program whose statements cannot be seen.
        let outside_ns = if hold.statement_ns > 0 { ns.saturating_sub(hold.statement_ns) } else { 0 };
        if hold.statement_ns > 0 && hold.gap.ns >= GAP_NS_MIN {
            self.outside.add(outside_ns);
            keep_longer(&mut self.gap, &hold.gap);
            if hold.gap.before.is_some() && hold.gap.after.is_some() {
                keep_longer(&mut self.told_gap, &hold.gap);
            }
        }
        if hold.syncs > 0 {
            self.syncs.count += u64::from(hold.syncs);
            self.syncs.total_ns += hold.sync_ns;
        }
        if hold.checkpoint_ns > 0 {
            self.checkpoints.add(hold.checkpoint_ns);
        }
        for (sql, ns) in &hold.parts {
            if let Some(times) = entry(&mut self.statements, sql) {
                times.add(*ns);
            }
        }
        let texts: Vec<&str> = hold.parts.iter().map(|(sql, _)| sql.as_str()).collect();
        if let Some(shape) = entry(&mut self.shapes, &texts.join("; ")).filter(|_| !texts.is_empty()) {
            shape.held.add(ns);
            shape.outside_ns += outside_ns;
            keep_longer(&mut shape.gap, &hold.gap);
        }
    }

    /// Adds a wait of this process that has ended. `sees_statements`: then the end of a wait is known only if its statement was
    /// seen from its beginning.
    pub fn wait(&mut self, wait: &Wait, sees_statements: bool) {
        let ns = wait.to_ns.saturating_sub(wait.from_ns);
        if let Some(holder) = wait.holder {
            self.waited.entry(holder).or_default().add(ns);
        }
        if wait.end != End::GaveUp {
            return;
        }
        if wait.tries == 1 && wait.lock.is_writers() {
            let refused = if wait.after_read { &mut self.refused_after_read } else { &mut self.refused_fresh };
            refused.count += 1;
            if refused.sql.is_none() {
                refused.sql.clone_from(&wait.sql);
            }
        } else if wait.tries > 1 && (wait.has_statement() || !sees_statements) {
            if ns >= self.gave_up.max_ns {
                self.gave_up_holder = wait.holder;
            }
            self.gave_up.add(ns);
        }
    }
}

fn keep_longer(longest: &mut Gap, gap: &Gap) {
    if gap.ns > longest.ns {
        longest.clone_from(gap);
    }
}

/// The entry of a text, unless there are too many already.
fn entry<'m, T: Default>(map: &'m mut BTreeMap<String, T>, text: &str) -> Option<&'m mut T> {
    if !map.contains_key(text) {
        if map.len() >= TEXTS_MAX {
            return None;
        }
        map.insert(text.to_string(), T::default());
    }
    map.get_mut(text)
}
