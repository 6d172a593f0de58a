//! Why something failed: a code and whose it is. The tool classifies it.

use contend_wire::sample::CodeSpace;

/// Why a part of an attempt failed: the engine's own code, unclassified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Whose code.
    pub space: CodeSpace,
    /// The code.
    pub code: u32,
}

/// `SQLITE_INTERRUPT`, which in SQLite's drivers also stands for a wait of the worker's own that was cut short.
pub const INTERRUPT: Failure = Failure { space: CodeSpace::Sqlite, code: 9 };

/// `ECANCELED`: the same where the engine has no code for what it never heard of.
pub const CANCELLED: Failure = Failure { space: CodeSpace::Os, code: 125 };

impl Failure {
    /// One of [`contend_wire::sample::worker_code`].
    pub const fn worker(code: u32) -> Self {
        Self { space: CodeSpace::Worker, code }
    }
}
