//! Failures: a code and its space. The tool classifies them.

use contend_wire::sample::CodeSpace;

/// Why a part of an attempt failed: the engine's own code, unclassified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Space of the code.
    pub space: CodeSpace,
    /// The code.
    pub code: u32,
}

/// `SQLITE_INTERRUPT`; with SQLite's drivers also for a wait of the worker that was cut short.
pub const INTERRUPT: Failure = Failure { space: CodeSpace::Sqlite, code: 9 };

/// `ECANCELED`: the same for engines that take no part in the worker's waits.
pub const CANCELLED: Failure = Failure { space: CodeSpace::Os, code: 125 };

impl Failure {
    /// One of [`contend_wire::sample::worker_code`].
    pub const fn worker(code: u32) -> Self {
        Self { space: CodeSpace::Worker, code }
    }
}
