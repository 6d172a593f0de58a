//! What a run leaves behind, as types: `run.toml` and `trials/NNNN/trial.toml`.
//!
//! Integers with their unit in the name; nothing formatted, nothing derived that can be derived again.

pub use crate::outcome::mark::Mark;
pub use crate::outcome::reason::Reason;
pub use crate::study::model::Slot;

use crate::record::evidence::Known;
use crate::record::powercut::Powercut;
use crate::study::model::{Extent, Study, Tier, Variant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the record; a record with a newer one is refused by name.
pub const RECORD_VERSION: u32 = 3;

/// `run.toml`: everything that holds for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub format: u32,
    /// Version of contend that wrote it.
    pub contend: String,
    /// When it began, UTC, RFC 3339 to the second.
    pub started: String,
    /// The command line as typed.
    pub command: Vec<String>,
    #[serde(default, skip_serializing_if = "Instead::is_nothing")]
    pub instead: Instead,
    pub machine: Machine,
    pub disk: Disk,
    pub study: Study,
    pub workload: WorkloadInfo,
    /// What clients of apps send, where there are apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioInfo>,
    /// Cost of the worker itself, from the null driver, nanoseconds per operation: the largest of all conditions.
    pub generator_ns_per_operation: u64,
    /// The same under each condition: operations may do more or less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generator_ns_by_condition: Vec<u64>,
    /// The own cost of each worker whose driver is in the study, beside the tool's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub floors: Vec<Floor>,
    /// Drivers that do nothing whose worker was not there, so that the overhead of the others of its language is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub floors_missing: Vec<String>,
    /// Which contender and condition each trial is, in the order they run: the schedule, drawn in advance.
    pub schedule: Vec<Slot>,
    /// Wall time spent so far, all sessions of a resumed run added.
    #[serde(default)]
    pub spent_ns: u64,
    /// How the tier of each contender is known, as of the end of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Known>,
    /// Set when the run has ended; a record without it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Finished>,
}

impl Run {
    /// What the worker with this null driver takes for itself under a condition.
    pub fn floor(&self, condition: usize, null: &str) -> Option<&Floor> {
        self.floors.iter().find(|floor| floor.condition == condition && floor.driver == null)
    }

    /// Cost of the worker itself under a condition.
    pub fn generator_ns_under(&self, condition: usize) -> u64 {
        self.generator_ns_by_condition.get(condition).copied().unwrap_or(self.generator_ns_per_operation)
    }
}

/// What a worker takes for itself: one client of a condition's first plan on the worker's driver that does nothing. Figures
/// are of the later half, when everything that warms up is warm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// The driver that does nothing.
    pub driver: String,
    pub condition: usize,
    pub operations: u64,
    /// From the end of one operation to that of the next: mean without the longest thousandth, p99.9 and longest.
    pub ns_per_operation: u64,
    pub ns_p999: u64,
    pub ns_max: u64,
}

/// `study.toml`: what holds for all parts of a study together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyFile {
    pub format: u32,
    /// Version of contend that began it.
    pub contend: String,
    /// When it began, UTC, RFC 3339 to the second.
    pub started: String,
    /// The command line as typed.
    pub command: Vec<String>,
    pub study: String,
    pub question: String,
    /// As chosen for the run; a part may count otherwise.
    pub variant: Variant,
    pub extent: Extent,
    /// Names of the parts in the order in which they run, also of their directories.
    pub parts: Vec<String>,
    /// When it ended, UTC; a record without it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
}

/// What took the place of contend's own; the user who resumes the run must have the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instead {
    /// Address of the running server that trials were made on, without what opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Command of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Command of the client that asks over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

impl Instead {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a run took as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Wall time of the run, all sessions of a resumed one added.
    pub elapsed_ns: u64,
    /// Sum of the measured windows.
    pub measured_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    pub os: String,
    /// Whether a hypervisor was seen.
    pub virtual_machine: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Type of the file system that holds the data, such as `ext4`.
    pub file_system: String,
    /// Median of fdatasync and fsync after a 4 KiB append, measured at the start of the run.
    pub fdatasync_ns_p50: u64,
    pub fsync_ns_p50: u64,
    pub fsync_ns_p95: u64,
    /// Median of fdatasync after overwriting a block that was there before.
    pub overwrite_ns_p50: u64,
    /// Fastest fdatasync of all.
    pub sync_ns_min: u64,
    /// How many of each were made.
    pub probes: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    pub name: String,
    pub about: String,
    /// Its file, or how it is built in.
    pub file: String,
    /// The file's text: a record can be resumed and replayed from itself.
    pub text: String,
    /// SHA-256 of the workload file.
    pub sha256: String,
    /// Rows loaded per table.
    pub rows: BTreeMap<String, u64>,
    /// Transactions in the order of their numbers in samples.
    pub transactions: Vec<TransactionInfo>,
    /// SHA-256 of the loaded data's definition: equal hashes mean equal rows.
    pub data_sha256: String,
    /// The data of each group of conditions, if they differ in it; rows and hash above are then those of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataInfo>,
}

/// A scenario as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioInfo {
    /// Its file, or how it is built in.
    pub file: String,
    pub text: String,
}

/// Data of some conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataInfo {
    /// Labels of the conditions.
    pub conditions: Vec<String>,
    pub rows: BTreeMap<String, u64>,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionInfo {
    pub name: String,
    /// Whether it writes.
    pub write: bool,
}

/// `trials/NNNN/trial.toml`: one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub format: u32,
    pub slot: Slot,
    /// Copied from the study, so that a trial can be read on its own.
    pub contender: String,
    pub condition: String,
    pub tier: Tier,
    /// Why the trial does not count; empty = valid.
    #[serde(default)]
    pub invalid: Vec<Reason>,
    /// What a reader should know of a trial that counts.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// Seed its plans were drawn from.
    pub seed: u64,
    /// The loaded data its own was copied from, relative to the record.
    pub base: String,
    /// SHA-256 of the operations of all its plans.
    pub plan_sha256: String,
    /// `closed` or `open`.
    pub load_model: String,
    /// The window on the tool's monotonic clock.
    pub window_start_ns: u64,
    pub window_end_ns: u64,
    pub workers: Vec<WorkerInfo>,
    /// The database server, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerInfo>,
    /// Effective settings, equal on all connections.
    pub settings: BTreeMap<String, String>,
    /// The tier of these settings; `None` if no connection reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_reported: Option<Tier>,
    /// Open loop: operations due in the window per transaction, as drawn. Closed loop: empty.
    #[serde(default)]
    pub planned: BTreeMap<String, u64>,
    /// Busy time of all processors that was not ours, in thousandths of the capacity of the window.
    pub foreign_cpu_permille: u32,
    /// The server is one that somebody else runs: what it used, if it is on this machine, is among the others' too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_unwatched: bool,
    /// Median fsync right before the window.
    pub fsync_ns_p50_before: u64,
    pub invariants: Vec<InvariantResult>,
    pub footprint: Footprint,
    /// Clients whose accounts were checked.
    pub clients: u32,
    /// How many samples there are; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// SHA-256 of `samples.bin`, which shows whether it is still what was measured; none in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_sha256: Option<String>,
    /// Numbers of the workload's `[scale]` as they held here, and `databases`.
    #[serde(default)]
    pub scale: BTreeMap<String, u64>,
    /// By table, over all databases; empty where no server could be asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, TableBytes>,
    /// What crashes left, in a study that makes some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub powercut: Option<Powercut>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerInfo {
    pub number: u32,
    /// Who lived in it, in the order of their clients.
    pub roles: Vec<RoleClients>,
    /// What it said of itself: language, driver, engine, compile options.
    pub hello: BTreeMap<String, String>,
    /// How far its clock may be from the tool's.
    pub clock_error_ns: u64,
    /// CPU time in the window, user and system.
    pub cpu_ns: u64,
    /// Largest resident set seen.
    pub rss_bytes: u64,
    /// Bytes it caused to be written to storage in the window, as /proc says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// What it told of its whole run beside its accounts: pauses of a garbage collector, lag of an event loop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub told: BTreeMap<String, String>,
}

/// A database server, or the worker that serves an embedded database over HTTP, with all its processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// What it says of its version.
    pub version: String,
    /// CPU time in the window, user and system. None, as all that follows, for a server that was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// At the end of the window: memory of its own of all processes, and once the largest part that they share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// At the end of the window: shared memory divided among those who share it; none where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    /// Bytes it caused to be written to storage in the window, as /proc says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Conditions under which the translation of the workload gives SQLite's answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub translation: Vec<String>,
    /// Of a worker that serves over HTTP, what it said of itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hello: BTreeMap<String, String>,
    /// And what it had done when it was stopped: requests, those that failed, connections opened for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<String, String>,
    /// Waits of its sessions for each other's locks in the whole trial; none where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_waits: Option<ServerLockWaits>,
    /// The database server alone, where there is also a worker that serves over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<Used>,
    /// The worker that serves over HTTP alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Used>,
    /// Syncs it tells of; none where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs: Option<Syncs>,
}

/// What a tree of processes used in the window, and its memory at the end of it, as in [`ServerInfo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Used {
    pub cpu_ns: u64,
    pub rss_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
}

/// Syncs of a server's files from the start of the clients to their end, run-in and drain included, and what was
/// committed in that time by transactions that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Syncs {
    pub count: u64,
    pub commits: u64,
}

/// What a table takes on disk after the trial, compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TableBytes {
    pub rows: u64,
    pub indexes: u64,
}

/// Waits for locks that a server tells of. What is too short for it to tell is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerLockWaits {
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
}

impl Trial {
    /// Whether crashes of its contender belong to it, made or not: they come after all rates, in the last round.
    pub fn is_to_crash(&self, study: &Study) -> bool {
        study.powercut.is_some() && (self.powercut.is_some() || self.slot.round == study.rounds)
    }
}

/// The clients `first_client .. first_client + clients` of one role in one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleClients {
    pub role: String,
    pub first_client: u32,
    pub clients: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvariantResult {
    pub name: String,
    pub sql: String,
    /// What the database said, as text.
    pub found: String,
    /// What it had to say: `low..high` of a count, or a text.
    pub expected: String,
    pub holds: bool,
}

/// What the data takes on disk after the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Footprint {
    /// Database as the trial left it.
    pub size_bytes_db: u64,
    /// Largest write-ahead log or journal seen in the window.
    pub size_bytes_wal: u64,
    /// Database after checkpoint and VACUUM, or what compacts a server's tables; of trials of the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes_compact: Option<u64>,
}
