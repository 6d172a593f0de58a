//! What happens to a watched database, as plain values. Sources make them (`trace`, `sampled`); `timeline` reads them.

use crate::lock::{Change, Lock};
use serde::{Deserialize, Serialize};

/// A thread. `pid` is the process (thread group), `tid` the thread, both as the kernel numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Who {
    pub pid: u32,
    pub tid: u32,
}

/// Something that happened, at a time of CLOCK_MONOTONIC in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub at_ns: u64,
    pub who: Who,
    pub what: What,
}

/// What happened. `database` is an index into the list of watched databases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    Lock {
        database: usize,
        lock: Lock,
        change: Change,
    },
    /// One of the database's files is being synced.
    SyncBegins {
        database: usize,
    },
    SyncEnds {
        database: usize,
    },
    /// A call into SQLite that compiles a statement begins; its text.
    PrepareBegins {
        sql: String,
    },
    /// It returns, with SQLite's result code.
    PrepareEnds {
        code: i32,
    },
    /// A call that executes a statement begins. `statement` is its address in the process; its text if known.
    StepBegins {
        statement: u64,
        sql: Option<String>,
    },
    /// It returns, with SQLite's result code (100: a row, 101: done, 5: busy ...).
    StepEnds {
        code: i32,
    },
}
