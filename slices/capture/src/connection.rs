//! Processes and connections of a captured program.

use contend_interpose::format::note;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Debug, Clone, Default)]
pub struct Process {
    /// Name of the program, and of its first argument that is a file.
    pub program: String,
    pub script: String,
}

impl Process {
    /// Name of its role: the script, or the program.
    pub fn role(&self) -> &str {
        if self.script.is_empty() { &self.program } else { &self.script }
    }
}

#[derive(Debug, Clone)]
pub struct Connection {
    pub process: u64,
    pub path: PathBuf,
    pub opened_ns: u64,
    /// Device and inode of the file when it was opened; `None` if it was empty or missing.
    pub file: Option<(u64, u64)>,
    pub closed_ns: Option<u64>,
    pub rc: i32,
    pub version: String,
    /// Last value of `sqlite3_busy_timeout` or `PRAGMA busy_timeout`.
    pub busy_timeout_ms: Option<i64>,
    /// Statements `PRAGMA name = value`.
    pub pragmas: Vec<String>,
    /// Uses of it that are not captured in full.
    pub notes: BTreeSet<u16>,
    /// Names of the functions, collations and modules of virtual tables that the program defined, in lower case; empty for one in UTF-16.
    pub functions: BTreeSet<String>,
    /// Of MariaDB: capabilities of the login that change results.
    pub flags: u32,
}

impl Connection {
    /// A timeout replaces a busy handler.
    pub fn has_timeout(&mut self, ms: i64) {
        self.busy_timeout_ms = Some(ms);
        self.notes.remove(&note::BUSY_HANDLER);
    }

    /// Whether the file existed and was not empty when it was opened.
    pub fn has_content(&self) -> bool {
        self.file.is_some()
    }

    /// Whether SQLite or the program waits for a lock on it.
    pub fn waits(&self) -> bool {
        self.notes.contains(&note::BUSY_HANDLER) || self.busy_timeout_ms.is_some_and(|ms| ms > 0)
    }
}
