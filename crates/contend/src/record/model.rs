//! The files of a record as types: `run.toml`, `study.toml` and `trials/NNNN/trial.toml`.
//!
//! Integers have their unit in the name; derived values are not stored. docs/formats.md has the fields' doc comments.

pub use crate::outcome::mark::Mark;
pub use crate::outcome::reason::Reason;
pub use crate::record::server::{ServerInfo, ServerLockWaits, Syncs, TableBytes, Used};
pub use crate::study::model::Slot;

use crate::record::evidence::KnownTier;
use crate::study::kind::Tables;
use crate::study::model::{Extent, Study, Tier, Variant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the record; a record with a newer one is refused by name.
pub const RECORD_VERSION: u32 = 3;

/// `run.toml`: facts of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Format of the record.
    pub format: u32,
    /// Version of contend that began the run.
    pub contend: String,
    /// Start of the run, UTC, RFC 3339 to the second.
    pub started: String,
    /// Random number of the run, to which its trials are bound; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Command line as typed.
    pub command: Vec<String>,
    /// Server, worker or client that replaced contend's own.
    #[serde(default, skip_serializing_if = "Instead::is_nothing")]
    pub instead: Instead,
    /// Machine of the run.
    pub machine: Machine,
    /// Disk of the data, measured at the start of the run.
    pub disk: Disk,
    /// Study with every default filled in; for a part also `part`, `about` and `beside`.
    pub study: Study,
    /// Workload and its data.
    pub workload: WorkloadInfo,
    /// Scenario of the clients of apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioInfo>,
    /// Overhead of the Rust worker per operation, measured with the null driver: the largest of all conditions.
    #[serde(rename = "generator_ns_per_operation")]
    pub overhead_ns_per_operation: u64,
    /// Overhead of the Rust worker under each condition.
    #[serde(rename = "generator_ns_by_condition", default, skip_serializing_if = "Vec::is_empty")]
    pub overhead_ns_by_condition: Vec<u64>,
    /// Overhead of every worker in the study.
    #[serde(rename = "floors", default, skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<Overhead>,
    /// Drivers that execute nothing and whose worker was not built: the overhead of its language is unknown.
    #[serde(rename = "floors_missing", default, skip_serializing_if = "Vec::is_empty")]
    pub overheads_missing: Vec<String>,
    /// Programs of the workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Schedule of the trials in their order, drawn in advance.
    pub schedule: Vec<Slot>,
    /// Slots that something outside disturbed: they ran again under new numbers, which replace them in `schedule`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<Slot>,
    /// Wall time so far, over all sessions of a resumed run.
    #[serde(default)]
    pub spent_ns: u64,
    /// How the tier of each contender is known, at the end of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<KnownTier>,
    /// Totals of the run; absent if it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Finished>,
}

impl Run {
    /// Overhead of the worker with this null driver under a condition.
    pub fn overhead(&self, condition: usize, null: &str) -> Option<&Overhead> {
        self.overheads.iter().find(|overhead| overhead.condition == condition && overhead.driver == null)
    }

    /// The slot of a trial, also of one that ran again.
    pub fn slot(&self, trial: u32) -> Option<Slot> {
        self.schedule.iter().chain(&self.again).find(|slot| slot.trial == trial).copied()
    }

    /// Overhead of the Rust worker under a condition, ns per operation.
    pub fn overhead_ns_under(&self, condition: usize) -> u64 {
        self.overhead_ns_by_condition.get(condition).copied().unwrap_or(self.overhead_ns_per_operation)
    }
}

/// Overhead of a worker: the later half of a condition's first plan, with one client on the worker's null driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// Driver that executes nothing.
    pub driver: String,
    /// Position of the condition in the study.
    pub condition: usize,
    /// Operations measured.
    pub operations: u64,
    /// Mean time from the end of one operation to the end of the next, without the longest thousandth.
    pub ns_per_operation: u64,
    /// 99.9th percentile of that time.
    pub ns_p999: u64,
    /// Longest such time.
    pub ns_max: u64,
}

/// `study.toml`: facts of all parts of a study together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyFile {
    /// Format of the record.
    pub format: u32,
    /// Version of contend that began the run.
    pub contend: String,
    /// Start of the run, UTC, RFC 3339 to the second.
    pub started: String,
    /// Command line as typed.
    pub command: Vec<String>,
    /// Name of the study.
    pub study: String,
    /// Question of the study.
    pub question: String,
    /// Variant of the run, `corrected` or `as-published`; a part may have another.
    pub variant: Variant,
    /// Extent of the run, `quick` or `full`; a part may have another.
    pub extent: Extent,
    /// Names of the parts, which are their directories, in the order in which they run.
    pub parts: Vec<String>,
    /// End of the run, UTC; absent if it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
}

/// A program that carried out plans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Driver whose worker it is.
    pub driver: String,
    /// The build that contenders name; absent for contend's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// SHA-256 of the program; of a worker that an interpreter runs, also of its own sources, without its libraries.
    pub sha256: String,
    /// SHA-256 of the libraries and compiled sources of such a worker; another installation has another one. Absent in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libraries_sha256: Option<String>,
}

/// What replaced contend's own programs; a resumed run needs the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instead {
    /// Address of the server given with `--dsn`, without its password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Command given with `--worker-command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Command given with `--client-command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

impl Instead {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Totals of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Wall time of the run, over all sessions of a resumed run.
    pub elapsed_ns: u64,
    /// Sum of the measured windows.
    pub measured_ns: u64,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Logical processors.
    pub cores: u32,
    /// Main memory.
    pub memory_bytes: u64,
    /// Version of the kernel.
    pub kernel: String,
    /// Name of the operating system.
    pub os: String,
    /// Whether a hypervisor was found.
    pub virtual_machine: bool,
}

/// The disk of a run's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Type of the file system.
    pub file_system: String,
    /// Median fdatasync after an append of 4 KiB.
    pub fdatasync_ns_p50: u64,
    /// Median fsync after an append of 4 KiB.
    pub fsync_ns_p50: u64,
    /// 95th percentile of those.
    pub fsync_ns_p95: u64,
    /// Median fdatasync after overwriting an existing block.
    pub overwrite_ns_p50: u64,
    /// Fastest of all syncs.
    pub sync_ns_min: u64,
    /// Syncs of each kind that were measured.
    pub probes: u32,
    /// Mount that holds the data; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<Mount>,
}

impl Disk {
    /// Why a sync does not keep data there, as the end of `a file system ...`.
    pub fn no_sync(&self) -> Option<String> {
        let is_in_memory = ["tmpfs", "ramfs"].contains(&self.file_system.as_str());
        match &self.mount {
            Some(mount) => mount.no_sync.clone(),
            None => is_in_memory.then(|| format!("in memory ({})", self.file_system)),
        }
    }
}

/// The mount of a run's data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Source of the mount, such as a device; empty if there is none.
    pub source: String,
    /// Options that change what a sync does or costs, sorted; also those of mounts that carry this one.
    pub options: Vec<String>,
    /// Models of the devices that carry it; absent if the kernel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why a sync does not keep data there, as the end of `a file system ...`; absent if it does, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_sync: Option<String>,
}

/// The workload of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Name of the workload.
    pub name: String,
    /// Description from its file.
    pub about: String,
    /// Path of its file, or `built-in workload NAME`.
    pub file: String,
    /// Text of its file, from which a run is resumed and replayed.
    pub text: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Rows loaded, by table.
    pub rows: BTreeMap<String, u64>,
    /// Transactions, in the order of their numbers in samples.
    pub transactions: Vec<TransactionInfo>,
    /// SHA-256 of the definition of the data: equal hashes mean equal rows.
    pub data_sha256: String,
    /// Data of each group of conditions, if conditions differ in it; `rows` and `data_sha256` are then those of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataInfo>,
}

/// The scenario of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioInfo {
    /// Path of its file, or `built-in scenario NAME`.
    pub file: String,
    /// Text of its file.
    pub text: String,
}

/// Data of some conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataInfo {
    /// Labels of the conditions.
    pub conditions: Vec<String>,
    /// Rows loaded, by table.
    pub rows: BTreeMap<String, u64>,
    /// SHA-256 of the definition of the data.
    pub sha256: String,
}

/// A transaction of the workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionInfo {
    /// Name of the transaction.
    pub name: String,
    /// Whether it writes.
    pub write: bool,
}

/// `trials/NNNN/trial.toml`: one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Format of the record.
    pub format: u32,
    /// Place in the schedule.
    pub slot: Slot,
    /// Name of the contender.
    pub contender: String,
    /// Label of the condition.
    pub condition: String,
    /// Tier of the contender.
    pub tier: Tier,
    /// Reasons why the trial does not count; empty if it is valid.
    #[serde(default)]
    pub invalid: Vec<Reason>,
    /// What a reader should know of a trial that counts.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// Seed of its plans.
    pub seed: u64,
    /// Path of the loaded data that was copied, relative to the record; `attached` on a running server, where each trial loads.
    pub base: String,
    /// SHA-256 of the operations of all its plans.
    pub plan_sha256: String,
    /// `closed` or `open` loop.
    pub load_model: String,
    /// Start of the window on the tool's monotonic clock.
    pub window_start_ns: u64,
    /// End of the window on the tool's monotonic clock.
    pub window_end_ns: u64,
    /// Workers of the clients.
    pub workers: Vec<WorkerInfo>,
    /// Database server, or the worker that serves over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerInfo>,
    /// Settings as read back, equal on all connections.
    pub settings: BTreeMap<String, String>,
    /// Tier of the settings as read back; absent if no connection reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_reported: Option<Tier>,
    /// Open loop: operations due in the window, by transaction. Closed loop: empty.
    #[serde(default)]
    pub planned: BTreeMap<String, u64>,
    /// Time of all processors that was not used by the trial, in thousandths of their capacity in the window.
    pub foreign_cpu_permille: u32,
    /// Whether the server is not contend's: its time is then part of `foreign_cpu_permille` if it is on this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_unwatched: bool,
    /// Median fsync right before the window; 0 for a service.
    pub fsync_ns_p50_before: u64,
    /// Invariants of the workload and the integrity check of the engine.
    pub invariants: Vec<InvariantResult>,
    /// Disk space of the data after the trial.
    pub footprint: Footprint,
    /// Clients whose accounts were checked.
    pub clients: u32,
    /// Samples of the trial; absent in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// SHA-256 of `samples.bin`: a trial with other samples does not count. Absent in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_sha256: Option<String>,
    /// SHA-256 of `series.csv`: a trial with another one does not count. Absent in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_sha256: Option<String>,
    /// SHA-256 of the run's `id` and of all other lines below the seal: a changed trial, or one of another run, does not
    /// count. Earlier records bind it to the start of the run, or only its place in the schedule, contender, plan and
    /// samples; the earliest have no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_sha256: Option<String>,
    /// Numbers of the workload's `[scale]` under the condition, and `databases`.
    #[serde(default)]
    pub scale: BTreeMap<String, u64>,
    /// Disk space of each table over all databases, compacted; in the first round, where the engine reports it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, TableBytes>,
    /// Results of the study's kind, in a table with the kind's name.
    #[serde(flatten)]
    pub kinds: Tables,
}

/// A worker of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// Number of the worker, from 0.
    pub number: u32,
    /// Roles of its clients, in the order of the clients.
    pub roles: Vec<RoleClients>,
    /// Facts of its `hello`: language, driver, engine, compile options.
    pub hello: BTreeMap<String, String>,
    /// Largest possible difference between its clock and the tool's.
    pub clock_error_ns: u64,
    /// CPU time in the window, user and system.
    pub cpu_ns: u64,
    /// Largest resident set in the window.
    pub rss_bytes: u64,
    /// Bytes written to storage in the window, from /proc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Voluntary context switches in the window.
    pub voluntary_switches: u64,
    /// Involuntary context switches in the window.
    pub involuntary_switches: u64,
    /// Facts of its `done` other than its accounts: pauses of a garbage collector, lag of an event loop.
    #[serde(rename = "told", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<String, String>,
}

impl Trial {
    /// Whether the sequel of the study's kind belongs to the trial: to those of the last round.
    pub fn has_sequel(&self, study: &Study) -> bool {
        study.of_kind().is_some() && (self.kinds.get(&study.kind).is_some() || self.slot.round == study.rounds)
    }
}

/// Clients of one role in one worker: `first_client .. first_client + clients`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleClients {
    /// Name of the role.
    pub role: String,
    /// Number of its first client.
    pub first_client: u32,
    /// Clients of the role in this worker.
    pub clients: u32,
}

/// An invariant, checked after the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvariantResult {
    /// Name of the invariant.
    pub name: String,
    /// Query that was asked.
    pub sql: String,
    /// Result of the query, as text.
    pub found: String,
    /// Expected result: `low..high` of a count, or a text.
    pub expected: String,
    /// Whether the invariant holds.
    pub holds: bool,
}

/// Disk space of the data after the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Footprint {
    /// Database as the trial left it.
    pub size_bytes_db: u64,
    /// Largest write-ahead log or journal in the window.
    pub size_bytes_wal: u64,
    /// Database after compaction; in trials of the first round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes_compact: Option<u64>,
}
