//! Locks that were held, and waits for them: what a timeline is made of.

use crate::event::Who;
use crate::lock::{Lock, Mode};

/// Different statements of one hold that are told apart.
const PARTS_MAX: usize = 12;

/// A lock that was held from one moment to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    pub database: usize,
    pub who: Who,
    pub lock: Lock,
    pub mode: Mode,
    pub from_ns: u64,
    /// `None` while it is held.
    pub to_ns: Option<u64>,
    /// Time in which this thread executed statements.
    pub statement_ns: u64,
    /// Time in which this thread synced a file.
    pub sync_ns: u64,
    pub syncs: u32,
    /// Longest time between two statements, and the texts before and after it.
    pub gap: Gap,
    /// Statements in the order of their first execution, with the time that each took; at most [`PARTS_MAX`].
    pub parts: Vec<(String, u64)>,
    /// Whether an earlier statement of this thread had ended while it held a read lock of the same transaction.
    pub after_read: bool,
    /// Checkpoints that ran while it was held.
    pub checkpoint_ns: u64,
}

/// Time between two statements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gap {
    pub ns: u64,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Hold {
    /// Statement that took longest.
    pub fn longest(&self) -> Option<&(String, u64)> {
        self.parts.iter().max_by_key(|(_, ns)| *ns)
    }

    /// Time of a statement that ran while it was held.
    pub fn count_statement(&mut self, ns: u64, sql: Option<&str>) {
        self.statement_ns += ns;
        let Some(sql) = sql else { return };
        if let Some((_, sum)) = self.parts.iter_mut().find(|(known, _)| known == sql) {
            *sum += ns;
        } else if self.parts.len() < PARTS_MAX {
            self.parts.push((sql.to_string(), ns));
        }
    }

    /// How long it lasts, up to now if it is still held.
    pub fn ns(&self, now_ns: u64) -> u64 {
        self.to_ns.unwrap_or(now_ns).saturating_sub(self.from_ns)
    }
}

/// How a wait for a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Still waiting.
    Open,
    Granted,
    /// It stopped trying.
    GaveUp,
}

/// A thread that was refused a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub database: usize,
    pub who: Who,
    pub lock: Lock,
    pub from_ns: u64,
    /// Its last try.
    pub to_ns: u64,
    pub tries: u32,
    pub end: End,
    /// The process that had the lock at the first refusal.
    pub holder: Option<u32>,
    /// Whether the thread's transaction had executed a statement under a read lock before.
    pub after_read: bool,
    /// The statement that was refused, if known, and when it began.
    pub sql: Option<String>,
    pub call_from_ns: Option<u64>,
}

impl Wait {
    /// Whether the statement that waits has been seen.
    pub fn has_statement(&self) -> bool {
        self.call_from_ns.is_some()
    }
}
