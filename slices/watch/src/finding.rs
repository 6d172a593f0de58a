//! Findings about SQLite databases, as plain values.

use crate::hold::{Wait, Waiter};
use crate::tally::Longest;
use serde::Serialize;

/// A kind of finding, with the data of its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// The program holds the write lock while it does something else between two statements.
    ProgramHoldsLock {
        holds: u64,
        outside_ns: u64,
        held_ns: u64,
        longest_gap_ns: u64,
        before: Option<String>,
        after: Option<String>,
        longest_wait_ns: u64,
        /// Calls of others refused while it paused, those that all its write locks refused, also in transactions without a
        /// pause, and waits in the pauses that ended without the lock.
        refused: u64,
        refused_in_all: u64,
        gave_up: u64,
    },
    /// A transaction holds the write lock while its program executes no statement.
    /// `began_before`: its start was not seen; `waiter`: the longest wait for it; `gave_up`: waits for it that
    /// ended without the lock.
    IdleInTransaction {
        held_ns: u64,
        began_before: bool,
        idle_ns: u64,
        last: Option<String>,
        gave_up: u64,
        waiter: Option<Waiter>,
    },
    /// A process holds the write lock for long; where statements and waits are visible, because of its statements, and another
    /// one waits. `began_before`: the start of the longest was not seen; `longest_wait_ns`: `None` where waits are not visible.
    LongTransaction { holds: u64, longest_ns: u64, began_before: bool, longest_wait_ns: Option<u64> },
    /// A transaction read first and wrote later: SQLite refuses at once, and no timeout helps.
    /// `outdated`: refusals for which the lock was free, but another connection had committed since the read.
    ReadThenWrite { refused: u64, outdated: u64, longest_ns: u64, holder: Option<u32>, holder_sql: Option<String> },
    /// A refused call was not retried: no busy timeout is set.
    NoBusyTimeout { refused: u64, holder: Option<u32>, holder_sql: Option<String> },
    /// A refused call was not retried; without statements the cause (an earlier read, or no timeout) is unknown.
    RefusedAtOnce { refused: u64, holder: Option<u32> },
    /// The busy timeout ended before the lock was free, `holder_times` while the holder of most had it.
    TimeoutTooShort {
        gave_up: u64,
        longest_ns: u64,
        holder: Option<u32>,
        holder_sql: Option<String>,
        holder_times: u64,
        held_ns_max: u64,
    },
    /// One process takes the lock again and again while another one polls.
    Starvation {
        holder: u32,
        holder_sql: Option<String>,
        held_permille: u64,
        waited_ns: u64,
        had_ns: u64,
        gave_up: u64,
    },
    /// The lock is held while the disk syncs.
    Disk { syncs: u64, sync_permille: u64, sync_ns_mean: u64 },
    /// A process reads, and commits of others wait for it (rollback journal). `waited_ns`, `longest_ns`: all waits of commits,
    /// and the longest; `gave_up`: waits that ended without the lock; `read_ns`: the longest read lock that they waited for.
    ReadersBlockWriter { times: u64, waited_ns: u64, longest_ns: u64, gave_up: u64, writers: Vec<u32>, read_ns: u64 },
    /// A reader's snapshot prevents checkpoints from advancing; the log grows.
    ReaderPinsLog { reader: u32, behind_frames: u32, held_ns: u64, log_bytes: u64 },
    /// The log never starts again at its beginning: readers take turns, or no checkpoint runs.
    LogNeverRestarts { log_bytes: u64, frames: u32, grown_frames: u32, checkpoints: usize, processes: usize },
    /// Checkpoints block writers while they copy.
    CheckpointBlocksWriters { times: u64, longest_ns: u64, longest_wait_ns: u64 },
    /// A commit includes a checkpoint and takes longer by it.
    CheckpointInCommit { times: u64, longest_ns: u64 },
    /// Many commits, each with its own sync.
    SmallCommits { commits_per_s: u64, sync_permille: u64 },
    /// The database is opened and closed repeatedly. `at_least`: not every connection can be seen.
    OpenCloseChurn { per_s: u64, at_least: bool, processes: usize, recoveries: u64 },
}

impl Kind {
    /// Its place among findings: what keeps others out, then who was refused, then what costs a process its own time.
    pub fn rank(&self) -> u8 {
        match self {
            Kind::ProgramHoldsLock { .. }
            | Kind::IdleInTransaction { .. }
            | Kind::LongTransaction { .. }
            | Kind::Starvation { .. }
            | Kind::Disk { .. }
            | Kind::ReadersBlockWriter { .. }
            | Kind::ReaderPinsLog { .. }
            | Kind::LogNeverRestarts { .. }
            | Kind::CheckpointBlocksWriters { .. } => 0,
            Kind::ReadThenWrite { .. }
            | Kind::NoBusyTimeout { .. }
            | Kind::RefusedAtOnce { .. }
            | Kind::TimeoutTooShort { .. } => 1,
            Kind::CheckpointInCommit { .. } | Kind::SmallCommits { .. } | Kind::OpenCloseChurn { .. } => 2,
        }
    }

    /// Whether it is found only where statements are seen.
    pub fn needs_statements(&self) -> bool {
        match self {
            Kind::ProgramHoldsLock { .. }
            | Kind::IdleInTransaction { .. }
            | Kind::ReadThenWrite { .. }
            | Kind::NoBusyTimeout { .. } => true,
            Kind::LongTransaction { .. }
            | Kind::RefusedAtOnce { .. }
            | Kind::TimeoutTooShort { .. }
            | Kind::Starvation { .. }
            | Kind::Disk { .. }
            | Kind::ReadersBlockWriter { .. }
            | Kind::ReaderPinsLog { .. }
            | Kind::LogNeverRestarts { .. }
            | Kind::CheckpointBlocksWriters { .. }
            | Kind::CheckpointInCommit { .. }
            | Kind::SmallCommits { .. }
            | Kind::OpenCloseChurn { .. } => false,
        }
    }

    /// How often it happened, if that is counted.
    pub fn times(&self) -> Option<u64> {
        self.counted().0
    }

    /// Its time in all, if that is counted.
    pub fn total_ns(&self) -> Option<u64> {
        self.counted().1
    }

    fn counted(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Kind::ProgramHoldsLock { holds: times, outside_ns: ns, .. }
            | Kind::ReadersBlockWriter { times, waited_ns: ns, .. } => (Some(*times), Some(*ns)),
            Kind::LongTransaction { holds: times, .. }
            | Kind::ReadThenWrite { refused: times, .. }
            | Kind::NoBusyTimeout { refused: times, .. }
            | Kind::RefusedAtOnce { refused: times, .. }
            | Kind::TimeoutTooShort { gave_up: times, .. }
            | Kind::CheckpointBlocksWriters { times, .. }
            | Kind::CheckpointInCommit { times, .. } => (Some(*times), None),
            Kind::IdleInTransaction { .. }
            | Kind::Starvation { .. }
            | Kind::Disk { .. }
            | Kind::ReaderPinsLog { .. }
            | Kind::LogNeverRestarts { .. }
            | Kind::SmallCommits { .. }
            | Kind::OpenCloseChurn { .. } => (None, None),
        }
    }

    /// The longest time that its evidence names, or 0.
    pub fn longest_ns(&self) -> u64 {
        match self {
            Kind::ProgramHoldsLock { longest_gap_ns: ns, .. }
            | Kind::IdleInTransaction { idle_ns: ns, .. }
            | Kind::LongTransaction { longest_ns: ns, .. }
            | Kind::ReadThenWrite { longest_ns: ns, .. }
            | Kind::TimeoutTooShort { longest_ns: ns, .. }
            | Kind::Starvation { waited_ns: ns, .. }
            | Kind::Disk { sync_ns_mean: ns, .. }
            | Kind::ReadersBlockWriter { longest_ns: ns, .. }
            | Kind::ReaderPinsLog { held_ns: ns, .. }
            | Kind::CheckpointBlocksWriters { longest_ns: ns, .. }
            | Kind::CheckpointInCommit { longest_ns: ns, .. } => *ns,
            Kind::NoBusyTimeout { .. }
            | Kind::RefusedAtOnce { .. }
            | Kind::LogNeverRestarts { .. }
            | Kind::SmallCommits { .. }
            | Kind::OpenCloseChurn { .. } => 0,
        }
    }
}

/// What a refusal costs in comparison with a wait: about a pause of SQLite's busy handler.
pub const REFUSAL_NS: u64 = 10_000_000;

/// A problem, and the process concerned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub database: usize,
    /// The process that causes it, or the one affected if no single process causes it.
    pub pid: u32,
    #[serde(flatten)]
    pub case: Case,
    /// What it costs others, or the process that is refused: the time waited, and [`REFUSAL_NS`] for each refusal.
    pub cost_ns: u64,
    /// Time since the watch began at which this worst case was seen; `None` if it lasts, or is about the whole watch.
    pub seen_ns: Option<u64>,
    /// Further processes of the same program with the same kind of finding, of which this is the worst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub further: Option<Further>,
}

/// Processes whose findings are not shown one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Further {
    pub processes: u64,
    /// How often it happened in them and in the process of the finding; `None` if the kind is not counted.
    pub times_in_all: Option<u64>,
    /// Their time in all, if the kind has one.
    pub ns_in_all: Option<u64>,
    /// Whether they all run the program of the finding's process. Otherwise none of their programs is known.
    pub same_program: bool,
}

/// A kind of finding with its place in the process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    #[serde(flatten)]
    pub kind: Kind,
    /// Thread (or connection) of the worst case; `None` if the finding is about the whole process. The process's number is
    /// that of its first thread; a lock that was taken before the watch has it, too.
    pub tid: Option<u32>,
    /// Its statement, if known.
    pub sql: Option<String>,
}

impl Case {
    /// A finding about the whole process.
    pub fn of_process(kind: Kind) -> Case {
        Case { kind, tid: None, sql: None }
    }

    /// A finding whose worst case is the longest of these.
    pub fn of_longest(kind: Kind, longest: &Longest) -> Case {
        Case { kind, tid: Some(longest.times.max_tid), sql: longest.sql.clone() }
    }

    /// A finding whose worst case is this wait.
    pub fn of_wait(kind: Kind, wait: Option<&Wait>) -> Case {
        Case { kind, tid: wait.map(|wait| wait.who.tid), sql: wait.and_then(|wait| wait.sql.clone()) }
    }
}
