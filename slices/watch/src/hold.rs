//! Holds of locks and waits for them, from which a timeline is made.

use crate::event::Who;
use crate::lock::{Lock, Mode};
use serde::Serialize;

/// Most different statements stored for a hold.
const PARTS_MAX: usize = 12;

/// A hold of a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    pub database: usize,
    pub who: Who,
    pub lock: Lock,
    pub mode: Mode,
    pub from_ns: u64,
    /// `None` while the lock is held.
    pub to_ns: Option<u64>,
    /// Time for which this thread executed statements.
    pub statement_ns: u64,
    /// Time for which this thread synced files.
    pub sync_ns: u64,
    pub syncs: u32,
    /// Longest time between two statements, and the texts before and after it.
    pub gap: Gap,
    /// Statements in the order of their first execution, with the time that each took; at most [`PARTS_MAX`].
    pub parts: Vec<(String, u64)>,
    /// Whether this thread had finished a statement while it held a read lock of the same transaction.
    pub after_read: bool,
    /// Whether this is a checkpoint after a commit in the same call.
    pub after_commit: bool,
    /// Time of a checkpoint of the same connection during the hold.
    pub checkpoint_ns: u64,
    /// Whether this is SHARED in WAL mode, which a connection holds as long as it is open.
    pub is_connection: bool,
    pub kept_out: KeptOut,
}

/// Processes that wanted a lock while it was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptOut {
    /// Number of refused calls.
    pub refused: u64,
    /// Number of waits that ended without the lock.
    pub gave_up: u64,
    /// The longest wait that has ended.
    pub longest: Option<Waiter>,
}

/// A process that waited for a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Waiter {
    pub pid: u32,
    pub ns: u64,
    pub gave_up: bool,
}

impl KeptOut {
    /// Adds what another hold kept out.
    pub fn add(&mut self, other: &KeptOut) {
        (self.refused, self.gave_up) = (self.refused + other.refused, self.gave_up + other.gave_up);
        if let Some(waiter) = other.longest {
            self.keep_longer(waiter);
        }
    }

    fn keep_longer(&mut self, waiter: Waiter) {
        if self.longest.is_none_or(|longest| waiter.ns > longest.ns) {
            self.longest = Some(waiter);
        }
    }
}

/// Time between two statements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gap {
    pub ns: u64,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Hold {
    /// A lock that has just been taken.
    pub fn new(database: usize, who: Who, (lock, mode): (Lock, Mode), from_ns: u64) -> Hold {
        Hold {
            database,
            who,
            lock,
            mode,
            from_ns,
            to_ns: None,
            statement_ns: 0,
            sync_ns: 0,
            syncs: 0,
            gap: Gap::default(),
            parts: vec![],
            after_read: false,
            after_commit: false,
            checkpoint_ns: 0,
            is_connection: false,
            kept_out: KeptOut::default(),
        }
    }

    /// The statement that took longest.
    pub fn longest(&self) -> Option<&(String, u64)> {
        self.parts.iter().max_by_key(|(_, ns)| *ns)
    }

    /// Adds the time of a statement during the hold.
    pub fn count_statement(&mut self, ns: u64, sql: Option<&str>) {
        self.statement_ns += ns;
        let Some(sql) = sql else { return };
        if let Some((_, sum)) = self.parts.iter_mut().find(|(known, _)| known == sql) {
            *sum += ns;
        } else if self.parts.len() < PARTS_MAX {
            self.parts.push((sql.to_string(), ns));
        }
    }

    /// Adds a wait for it that has ended.
    pub fn was_waited_for(&mut self, wait: &Wait) {
        let (ns, gave_up) = (wait.for_ns(self, wait.to_ns), wait.end == End::GaveUp);
        if ns > 0 {
            self.kept_out.gave_up += u64::from(gave_up);
            self.kept_out.keep_longer(Waiter { pid: wait.who.pid, ns, gave_up });
        }
    }

    /// Length of the hold, up to now if it continues.
    pub fn ns(&self, now_ns: u64) -> u64 {
        self.to_ns.unwrap_or(now_ns).saturating_sub(self.from_ns)
    }
}

/// End of a wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The wait continues.
    Open,
    Granted,
    /// The thread stopped retrying.
    GaveUp,
}

/// A wait: a thread was refused a lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub database: usize,
    pub who: Who,
    pub lock: Lock,
    pub from_ns: u64,
    /// Time of the last attempt.
    pub to_ns: u64,
    pub tries: u32,
    pub end: End,
    /// Process that held the lock at the first refusal, and the statement that it executed, or had executed last.
    pub holder: Option<u32>,
    pub holder_sql: Option<String>,
    /// Whether the thread's transaction had already executed a statement under a read lock.
    pub after_read: bool,
    /// The refused statement, if known, and when it began.
    pub sql: Option<String>,
    pub call_from_ns: Option<u64>,
    /// Whether the lock was free, and the snapshot too old to write (SQLITE_BUSY_SNAPSHOT).
    pub is_outdated: bool,
    /// Processes that kept the lock meanwhile.
    pub causes: Vec<Cause>,
}

/// The part of a wait for which a process kept the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    pub pid: u32,
    pub ns: u64,
    /// Time for which it synced files in these holds.
    pub sync_ns: u64,
}

impl Wait {
    /// Adds a hold that has ended, or the part so far of one that continues.
    pub fn add(&mut self, hold: &Hold, now_ns: u64) {
        let ns = self.for_ns(hold, now_ns);
        if ns == 0 {
            return;
        }
        match self.causes.iter_mut().find(|cause| cause.pid == hold.who.pid) {
            Some(cause) => (cause.ns, cause.sync_ns) = (cause.ns + ns, cause.sync_ns + hold.sync_ns),
            None => self.causes.push(Cause { pid: hold.who.pid, ns, sync_ns: hold.sync_ns }),
        }
    }

    /// The part of the wait, up to its last attempt or to `now_ns`, for which this hold kept the lock.
    pub fn for_ns(&self, hold: &Hold, now_ns: u64) -> u64 {
        // Connections of one process wait for each other in memory.
        let is_other = self.who.pid != hold.who.pid || self.holder == Some(hold.who.pid) && self.who != hold.who;
        let is_for = self.database == hold.database && self.lock == hold.lock && is_other;
        // A statement that is still executed waits until the lock is free; others may have given up.
        let to_ns = if self.has_statement() { now_ns } else { self.to_ns };
        if is_for { to_ns.saturating_sub(self.from_ns.max(hold.from_ns)) } else { 0 }
    }

    /// Whether the waiting statement was seen.
    pub fn has_statement(&self) -> bool {
        self.call_from_ns.is_some()
    }
}
