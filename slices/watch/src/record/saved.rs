//! What `watch.json` of a record says, and how it is written.

use crate::view::Waits;
use crate::words::Words;
use anyhow::Result;
use contend::record::seal;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file by which a record is known.
pub const FILE: &str = "watch.json";
/// Version of the format.
pub const VERSION: u32 = 1;

/// What is in `watch.json`. Times are nanoseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Saved {
    pub version: u32,
    /// Wall clock at the beginning, seconds since 1970.
    pub began_unix_s: u64,
    /// The same moment on CLOCK_MONOTONIC, from which the times of the lists count.
    pub began_ns: u64,
    pub watched_ns: u64,
    /// Whether the file that was read has no seal.
    #[serde(skip)]
    pub not_sealed: bool,
    /// False if contend was killed: then what follows is up to ten seconds old.
    pub complete: bool,
    pub depth: String,
    pub lost_events: u64,
    /// What was not seen, in words.
    pub missing: Vec<String>,
    /// What the lists lack because of the limit, in words.
    pub left_out: Vec<String>,
    pub findings: Vec<SavedFinding>,
    pub databases: Vec<SavedDatabase>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<SavedServer>,
}

/// A finding with its words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedFinding {
    pub title: String,
    pub evidence: String,
    pub change: String,
    /// Kind, process and figures.
    pub data: serde_json::Value,
}

impl SavedFinding {
    pub fn new(words: Words, data: &impl Serialize) -> SavedFinding {
        let Words { title, evidence, change } = words;
        SavedFinding { title, evidence, change, data: serde_json::to_value(data).unwrap_or_default() }
    }
}

/// A SQLite database.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedDatabase {
    pub path: String,
    pub journal: String,
    pub processes: Vec<SavedProcess>,
    pub statements: Vec<SavedStatement>,
    pub shapes: Vec<SavedShape>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedProcess {
    pub pid: u32,
    pub program: String,
    pub writes: u64,
    pub write_ns: u64,
    pub write_ns_max: u64,
    /// `None` if waits could not be seen.
    #[serde(flatten)]
    pub waits: Option<Waits>,
    /// For whom it waited.
    pub waited_for: Vec<SavedWait>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedWait {
    pub holder: u32,
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
    /// Number of them that ended without the lock.
    #[serde(default)]
    pub gave_up: u64,
}

/// A statement and the time in which it ran under the write lock; for a server, in which it waited.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedStatement {
    pub pid: u32,
    pub sql: String,
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
}

/// Transactions of the same statements.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedShape {
    pub pid: u32,
    pub statements: String,
    pub count: u64,
    pub held_ns: u64,
    pub held_ns_max: u64,
    /// Part of the time in which no statement ran.
    pub outside_ns: u64,
    pub gap_ns_max: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SavedServer {
    /// Without the password.
    pub address: String,
    pub product: String,
    /// Who waited for whom at the end, one client a line.
    pub tree: Vec<String>,
    pub waits: Vec<SavedStatement>,
}

/// Writes `watch.json` as a whole.
pub fn save(out: &Path, saved: &Saved) -> Result<()> {
    seal::write(seal::JSON, out, FILE, &(serde_json::to_string_pretty(saved)? + "\n"))
}

/// Seconds since 1970.
pub fn unix_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
