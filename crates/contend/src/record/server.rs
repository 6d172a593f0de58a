//! What a record says of a trial's server: its use of the machine, its syncs and lock waits, and the disk space of its tables.
//! Part of `trials/NNNN/trial.toml`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A database server, or the worker that serves an embedded database over HTTP, with all its processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Version that it reports.
    pub version: String,
    /// CPU time in the window, user and system; absent, as all figures below, for a server that contend did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Memory at the end of the window: private memory of all processes and once the largest shared part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Memory at the end of the window, shared pages divided among their processes; absent if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    /// Bytes written to storage in the window, from /proc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Conditions under which the translated workload returns SQLite's answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub translation: Vec<String>,
    /// Facts of the `hello` of a worker that serves over HTTP.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hello: BTreeMap<String, String>,
    /// Facts of its `done`: requests, failed requests, connections opened for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<String, String>,
    /// Waits of its sessions for locks in the whole trial; absent if it does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_waits: Option<ServerLockWaits>,
    /// Use of the database server alone, if a worker serves over HTTP too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Used>,
    /// Use of the worker that serves over HTTP alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Used>,
    /// Syncs that it reports; absent if it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<Syncs>,
}

impl ServerInfo {
    /// Whether it is a database server, and not only a worker that serves an embedded database over HTTP.
    pub fn is_database(&self) -> bool {
        self.serving.is_none() || self.daemon.is_some()
    }

    /// Whether its syncs were compared with flushes of the disk.
    pub fn shows_syncs(&self) -> bool {
        self.syncs.is_some_and(|syncs| syncs.flushes.is_some())
    }
}

/// Use of a tree of processes in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Used {
    /// CPU time in the window, user and system.
    pub cpu_ns: u64,
    /// Memory at the end of the window, as in the server's `rss_bytes`.
    pub rss_bytes: u64,
    /// Memory at the end of the window, as in the server's `pss_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    /// Bytes written to storage in the window, from /proc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
}

/// Syncs of a server's files from the start of the clients to their end, run-in and drain included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Syncs {
    /// Syncs in that time.
    pub count: u64,
    /// Commits of transactions that write, in that time.
    pub commits: u64,
    /// Flushes of the disk from the server's start to the end of the clients, by whatever program, with which the syncs were
    /// compared; absent where a sync does not flush the disk, as the kernel counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
}

/// Disk space of a table after the trial, compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableBytes {
    /// Bytes of its rows.
    pub rows: u64,
    /// Bytes of its indexes.
    pub indexes: u64,
}

/// Waits for locks that a server reports; it does not report the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerLockWaits {
    /// Number of waits.
    pub count: u64,
    /// Sum of the waits.
    pub total_ns: u64,
    /// Longest wait.
    pub max_ns: u64,
}
