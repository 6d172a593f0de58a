//! Events of a watched database, as plain values. Sources (`trace`, `sampled`) make them; `timeline` reads them.

use crate::lock::{Change, Lock};
use serde::{Deserialize, Serialize};

/// What stands for the statement of a checkpoint that a program asks for by a call.
pub const CHECKPOINT_CALL: &str = "sqlite3_wal_checkpoint_v2";

/// What stands for a statement of which no text was seen.
pub const WITHOUT_TEXT: &str = "(a statement whose text was not seen)";

/// A thread, or, if statements are visible, a connection, which may move between threads. `pid` is the process
/// (thread group) and `tid` the thread, as the kernel numbers them. A connection has the number of the first thread
/// that used it, or one from 2^31 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Who {
    pub pid: u32,
    pub tid: u32,
}

/// An event at a time of CLOCK_MONOTONIC, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub at_ns: u64,
    pub who: Who,
    pub what: What,
}

impl Event {
    /// A lock that `/proc/locks` shows: found held, not taken at this time.
    pub fn found(mut self) -> Event {
        if let What::Lock { change, .. } = &mut self.what
            && let Change::Taken(mode) = *change
        {
            *change = Change::Held(mode);
        }
        self
    }
}

/// Kind of event. `database` is an index into the list of watched databases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    Lock {
        database: usize,
        lock: Lock,
        change: Change,
    },
    /// A sync of one of the database's files begins.
    SyncBegins {
        database: usize,
    },
    SyncEnds {
        database: usize,
    },
    /// A call that compiles a statement begins, with the statement's text if it is reported.
    PrepareBegins {
        sql: Option<String>,
    },
    /// The call returns SQLite's result code.
    PrepareEnds {
        code: i32,
    },
    /// A call that executes a statement begins. `statement` is its address in the process; `sql` its text if known.
    StepBegins {
        statement: u64,
        sql: Option<String>,
    },
    /// The call returns SQLite's result code (100: a row, 101: done, 5: busy, ...).
    StepEnds {
        code: i32,
    },
    /// A connection to the database is opened, or a new process uses it.
    Opens {
        database: usize,
    },
    /// The innermost call returned without an event.
    EndUnseen,
    /// The process executes another program from now on (exec), or has ended.
    Replaced,
}
