//! What became of an attempt: the one table that maps an engine's code to an outcome.
//!
//! Workers write codes and judge nothing; every judgement about a code is here. The table is printed
//! by `contend list outcomes`.

use contend_wire::sample::{CodeSpace, Sample, code_to_sqlstate, flag, worker_code};
use serde::{Deserialize, Serialize};

/// What became of an operation. A closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Acknowledged.
    Committed,
    /// Refused for what it asked: a constraint, an unexpected number of rows, a statement that fails.
    Rejected,
    /// Refused because of somebody else: a lock, a deadlock, a serialisation failure.
    Conflict,
    /// Gave up waiting.
    Timeout,
    /// Nobody can tell whether it happened.
    Unknown,
    /// Was due in the window and never begun.
    Unsent,
}

impl Outcome {
    pub const ALL: [Outcome; 6] =
        [Outcome::Committed, Outcome::Rejected, Outcome::Conflict, Outcome::Timeout, Outcome::Unknown, Outcome::Unsent];

    pub fn word(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::Rejected => "rejected",
            Outcome::Conflict => "conflict",
            Outcome::Timeout => "timeout",
            Outcome::Unknown => "unknown",
            Outcome::Unsent => "unsent",
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    pub space: CodeSpace,
    pub code: u32,
    pub name: &'static str,
    pub outcome: Outcome,
    /// Whether it is certain that the attempt left nothing behind.
    pub definite: bool,
    /// Whether trying the same operation again can help.
    pub again: bool,
    pub meaning: &'static str,
}

const fn sqlite(
    code: u32,
    name: &'static str,
    outcome: Outcome,
    definite: bool,
    again: bool,
    meaning: &'static str,
) -> Code {
    Code { space: CodeSpace::Sqlite, code, name, outcome, definite, again, meaning }
}

const fn worker(code: u32, name: &'static str, meaning: &'static str) -> Code {
    Code { space: CodeSpace::Worker, code, name, outcome: Outcome::Rejected, definite: true, again: false, meaning }
}

/// SQLite's codes: <https://www.sqlite.org/rescode.html>. A code that is not listed is looked up by its
/// primary code (the lowest 8 bits); one without any row is `unknown`.
pub const TABLE: &[Code] = &[
    sqlite(1, "SQLITE_ERROR", Outcome::Rejected, true, false, "the statement itself is wrong"),
    sqlite(5, "SQLITE_BUSY", Outcome::Conflict, true, true, "database is locked by another connection"),
    sqlite(6, "SQLITE_LOCKED", Outcome::Conflict, true, true, "a table is locked by the same process"),
    sqlite(8, "SQLITE_READONLY", Outcome::Rejected, true, false, "the database cannot be written"),
    sqlite(9, "SQLITE_INTERRUPT", Outcome::Unknown, false, false, "interrupted at the end of the drain"),
    sqlite(10, "SQLITE_IOERR", Outcome::Unknown, false, false, "the operating system reported an error"),
    sqlite(11, "SQLITE_CORRUPT", Outcome::Unknown, false, false, "the database file is damaged"),
    sqlite(13, "SQLITE_FULL", Outcome::Rejected, true, false, "the disk is full"),
    sqlite(14, "SQLITE_CANTOPEN", Outcome::Rejected, true, false, "the file cannot be opened"),
    sqlite(15, "SQLITE_PROTOCOL", Outcome::Conflict, true, true, "the locking protocol of WAL gave up"),
    sqlite(18, "SQLITE_TOOBIG", Outcome::Rejected, true, false, "a value is too large"),
    sqlite(19, "SQLITE_CONSTRAINT", Outcome::Rejected, true, false, "a constraint does not hold"),
    sqlite(20, "SQLITE_MISMATCH", Outcome::Rejected, true, false, "a value of the wrong type"),
    sqlite(26, "SQLITE_NOTADB", Outcome::Unknown, false, false, "the file is not a database"),
    sqlite(261, "SQLITE_BUSY_RECOVERY", Outcome::Conflict, true, true, "another process recovers the WAL"),
    sqlite(
        517,
        "SQLITE_BUSY_SNAPSHOT",
        Outcome::Conflict,
        true,
        true,
        "a transaction that began by reading cannot write: another has written since",
    ),
    sqlite(773, "SQLITE_BUSY_TIMEOUT", Outcome::Timeout, true, true, "a blocking lock was not had in time"),
    worker(worker_code::ROWS, "ROWS", "a step returned or changed fewer or more rows than the workload says"),
    worker(worker_code::NOT_KEPT, "NOT_KEPT", "a step needs a value that an earlier step did not yield"),
    worker(worker_code::VALUE, "VALUE", "the driver gave back a value it cannot represent"),
    worker(worker_code::DRIVER, "DRIVER", "an error of the driver without a code of the engine"),
];

/// The row for a code.
pub fn lookup(space: CodeSpace, code: u32) -> Option<&'static Code> {
    let find = |code| TABLE.iter().find(|row| row.space == space && row.code == code);
    find(code).or_else(|| if space == CodeSpace::Sqlite { find(code & 0xff) } else { None })
}

/// The name of a code for tables: `SQLITE_BUSY_SNAPSHOT (517)`.
pub fn code_name(space: CodeSpace, code: u32) -> String {
    match (lookup(space, code), space) {
        (_, CodeSpace::Ok) => "ok".to_string(),
        (Some(row), CodeSpace::Worker) => row.name.to_string(),
        (Some(row), _) if row.code == code => format!("{} ({code})", row.name),
        (Some(row), _) => format!("{} (extended {code})", row.name),
        (None, CodeSpace::Sqlstate) => format!("SQLSTATE {}", code_to_sqlstate(code)),
        (None, _) => format!("{} {code}", space.word()),
    }
}

/// What became of one attempt.
///
/// A lock that was waited for until the configured timeout is a timeout; one refused earlier is a
/// conflict, though SQLite gives both the same code.
pub fn classify(sample: &Sample) -> Outcome {
    if sample.is_ok() {
        return Outcome::Committed;
    }
    if sample.flags & flag::INTERRUPTED != 0 {
        return Outcome::Unknown;
    }
    match lookup(sample.code_space, sample.code).map_or(Outcome::Unknown, |row| row.outcome) {
        Outcome::Conflict if sample.flags & flag::LOCK_TIMEOUT_SPENT != 0 => Outcome::Timeout,
        outcome => outcome,
    }
}

/// The codes worth trying again, for a plan's retry policy.
pub fn codes_worth_retrying(space: CodeSpace) -> Vec<(CodeSpace, u32)> {
    TABLE.iter().filter(|row| row.space == space && row.again).map(|row| (row.space, row.code)).collect()
}
