//! Findings about SQLite databases: a problem, its evidence, and data for the advice. Pure: a timeline and samples of
//! the log in, findings out. A finding requires that its evidence was seen; a healthy program gets none.

use crate::hold::{End, Gap, Hold, KeptOut, Wait, Waiter};
use crate::lock::{Lock, Mode};
use crate::tally::{GAP_NS_MIN, LONG_NS_MIN, Sums, Tally, Times, Told};
use crate::target::State;
use crate::timeline::Timeline;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A transaction without a statement for this long is idle.
const IDLE_NS_MIN: u64 = SECOND;
/// Shortest reported wait.
const WAIT_NS_MIN: u64 = 100 * MS;
/// Shortest extension of a commit by a checkpoint that is reported.
const CHECKPOINT_NS_MIN: u64 = 250 * MS;
/// Share of the time, in thousandths, for which the lock must be held before its holder can starve others.
const STARVED_PERMILLE: u64 = 800;
/// A starved process waits this many times as long as it holds the lock.
const STARVED_TIMES: u64 = 4;
/// Share of a lock's time in syncs, in thousandths, from which the disk is the cause.
const DISK_PERMILLE: u64 = 500;
/// Share of the watched time that one process spends in syncs of small commits, in thousandths.
const COMMITS_PERMILLE: u64 = 300;
/// Commits per second, each with a sync, that count as many.
const COMMITS_PER_S: u64 = 50;
/// Log frames after a reader's snapshot from which the log counts as pinned. SQLite checkpoints every 1,000.
const PINNED_FRAMES: u32 = 2_000;
/// Time for which a reader must have held its read mark to pin the log.
const PINNED_NS: u64 = SECOND;
/// Log frames from which a log that never starts again is long, with checkpoints and without: a program may run its own
/// only now and then. SQLite runs one every 1,000 frames.
const LONG_LOG_FRAMES: [u32; 2] = [10_000, 100_000];
/// Log frames by which it has grown meanwhile.
const GROWN_FRAMES: u32 = 2_000;
/// Time for which the log must not have started again.
const LONG_LOG_NS: u64 = 5 * SECOND;
/// Connections per second that count as churn.
const CONNECTS_PER_S: u64 = 5;
/// Fewest events for a rate to be meaningful.
const COUNT_MIN: u64 = 5;

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
        /// Calls of others refused while it paused for long, and their waits that ended without the lock.
        refused: u64,
        gave_up: u64,
    },
    /// A transaction holds the write lock while its program executes no statement.
    /// `waiter`: the longest wait for it; `gave_up`: waits for it that ended without the lock.
    IdleInTransaction { held_ns: u64, idle_ns: u64, last: Option<String>, gave_up: u64, waiter: Option<Waiter> },
    /// A transaction holds the write lock for long because of its statements, and another process waits for it.
    LongTransaction { holds: u64, longest_ns: u64, longest_wait_ns: u64 },
    /// A transaction read first and wrote later: SQLite refuses at once, and no timeout helps.
    /// `outdated`: refusals for which the lock was free, but another connection had committed since the read.
    ReadThenWrite { refused: u64, outdated: u64, longest_ns: u64, holder: Option<u32>, holder_sql: Option<String> },
    /// A refused call was not retried: no busy timeout is set.
    NoBusyTimeout { refused: u64, holder: Option<u32>, holder_sql: Option<String> },
    /// A refused call was not retried; without statements the cause (an earlier read, or no timeout) is unknown.
    RefusedAtOnce { refused: u64, holder: Option<u32> },
    /// The busy timeout ended before the lock was free.
    TimeoutTooShort { gave_up: u64, longest_ns: u64, holder: Option<u32>, holder_sql: Option<String>, held_ns_max: u64 },
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
    /// Readers prevent a writer from changing the file (rollback journal).
    ReadersBlockWriter { times: u64, longest_ns: u64, readers: Vec<u32>, longest_read: Option<String> },
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
    /// The database is opened and closed repeatedly.
    OpenCloseChurn { per_s: u64, processes: usize, recoveries: u64 },
}

/// A problem, and the process concerned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub database: usize,
    /// The process that causes it, or the one affected if no single process causes it.
    pub pid: u32,
    #[serde(flatten)]
    pub case: Case,
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
    fn of_process(kind: Kind) -> Case {
        Case { kind, tid: None, sql: None }
    }

    /// A finding whose worst case is the longest of these.
    fn of_longest(kind: Kind, told: &Told) -> Case {
        Case { kind, tid: Some(told.times.max_tid), sql: told.sql.clone() }
    }

    /// A finding whose worst case is this wait.
    fn of_wait(kind: Kind, wait: Option<&Wait>) -> Case {
        Case { kind, tid: wait.map(|wait| wait.who.tid), sql: wait.and_then(|wait| wait.sql.clone()) }
    }
}

/// Sizes of a database's files at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub at_ns: u64,
    pub state: State,
}

/// All findings of a timeline. `samples`: for each database by index, oldest first. `sees_syncs`: whether syncs are
/// reported.
pub fn findings(timeline: &Timeline, samples: &[Vec<Sample>]) -> Vec<Finding> {
    let mut found = vec![];
    for database in 0..samples.len() {
        let view = View::new(timeline, database, samples.get(database).map_or(&[], Vec::as_slice));
        for pid in view.pids() {
            let (outside, idle) = (view.program_holds_lock(pid), view.idle_in_transaction(pid));
            let is_outside = outside.is_some() || idle.is_some();
            let cases = [
                outside,
                idle,
                view.long_transaction(pid).filter(|_| !is_outside),
                view.refused(pid),
                view.timeout_too_short(pid),
                view.starvation(pid),
                view.readers_block_writer(pid),
                view.reader_pins_log(pid),
                view.checkpoint_blocks_writers(pid),
                view.checkpoint_in_commit(pid),
                // Larger transactions would hold the lock for longer.
                view.small_commits(pid).or_else(|| view.disk(pid)).filter(|_| !is_outside),
            ];
            found.extend(cases.into_iter().flatten().map(|case| Finding { database, pid, case }));
        }
        let pins = |found: &Finding| matches!(found.case.kind, Kind::ReaderPinsLog { .. });
        let is_pinned = found.iter().any(|finding| finding.database == database && pins(finding));
        found.extend(view.log_never_restarts().filter(|_| !is_pinned));
        found.extend(view.churn());
    }
    found
}

/// The data of one database that findings are made from.
struct View<'t> {
    timeline: &'t Timeline,
    database: usize,
    samples: &'t [Sample],
    /// Locks held and waits in progress.
    held: Vec<&'t Hold>,
    waiting: Vec<&'t Wait>,
    sums: BTreeMap<u32, &'t Sums>,
    /// Tallies that include the locks held now.
    tallies: BTreeMap<u32, Tally>,
}

impl<'t> View<'t> {
    fn new(timeline: &'t Timeline, database: usize, samples: &'t [Sample]) -> Self {
        let held: Vec<&Hold> = timeline.held().filter(|hold| hold.database == database).collect();
        let waiting: Vec<&Wait> = timeline.waiting().filter(|wait| wait.database == database).collect();
        let sums = timeline.sums.iter().filter(|((d, _), _)| *d == database).map(|((_, pid), sums)| (*pid, sums));
        let of_database = timeline.tallies.iter().filter(|((d, _), _)| *d == database);
        let mut tallies: BTreeMap<u32, Tally> = of_database.map(|((_, pid), tally)| (*pid, tally.clone())).collect();
        for hold in &held {
            tallies.entry(hold.who.pid).or_default().hold(&timeline.up_to_now(hold), timeline.now_ns);
        }
        for wait in &waiting {
            let mut wait = Wait::clone(wait);
            held.iter().for_each(|hold| wait.add(hold, wait.to_ns));
            wait.causes.iter().for_each(|cause| tallies.entry(cause.pid).or_default().waited_for(cause));
        }
        View { timeline, database, samples, held, waiting, sums: sums.collect(), tallies }
    }

    fn pids(&self) -> BTreeSet<u32> {
        self.sums.keys().copied().chain(self.tallies.keys().copied()).collect()
    }

    /// Watched time; at least one second, so that rates are meaningful.
    fn watched_ns(&self) -> u64 {
        self.timeline.now_ns.saturating_sub(self.timeline.from_ns).max(SECOND)
    }

    /// Write locks that a process holds now.
    fn open_writes(&self, pid: u32) -> impl Iterator<Item = &'t Hold> {
        self.held.iter().copied().filter(move |hold| hold.lock.is_writers() && hold.who.pid == pid)
    }

    /// Total time for which a process held the write lock, and the longest hold.
    fn write_ns(&self, pid: u32) -> (u64, u64) {
        let (total, max) = self.sums.get(&pid).map_or((0, 0), |sums| (sums.write_ns, sums.write_ns_max));
        let open = || self.open_writes(pid).map(|hold| hold.ns(self.timeline.now_ns));
        (total + open().sum::<u64>(), open().max().unwrap_or(0).max(max))
    }

    fn program_holds_lock(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid).filter(|tally| self.timeline.sees_statements && tally.outside.count > 0)?;
        // Prefer a gap with known statements if it is nearly as long: texts are not known from the first moment on.
        let longest = if 2 * tally.told_gap.ns >= tally.gap.ns { &tally.told_gap } else { &tally.gap };
        let Gap { ns: longest_gap_ns, before, after } = longest.clone();
        let held_ns = self.write_ns(pid).0;
        let (outside_ns, longest_wait_ns) = (tally.outside.total_ns, tally.waited_for_ns);
        let KeptOut { refused, gave_up, .. } = tally.outside_kept_out;
        let is_most = longest_wait_ns >= GAP_NS_MIN && 2 * outside_ns >= held_ns;
        // A pause that kept others out stays one however much the process does besides.
        let worth = is_most || refused > 0;
        let holds = tally.outside.count;
        let kind = Kind::ProgramHoldsLock {
            holds,
            outside_ns,
            held_ns,
            longest_gap_ns,
            before,
            after,
            longest_wait_ns,
            refused,
            gave_up,
        };
        worth.then_some(Case { kind, tid: Some(tally.outside.max_tid), sql: None })
    }

    fn idle_in_transaction(&self, pid: u32) -> Option<Case> {
        let (now_ns, from_ns) = (self.timeline.now_ns, self.timeline.from_ns);
        // A lock that no statement took belongs to a checkpoint or a backup, which run without statements.
        let is_of_statement = |hold: &&Hold| hold.statement_ns > 0 || hold.from_ns <= from_ns;
        let open = self.open_writes(pid).filter(is_of_statement).find(|hold| hold.ns(now_ns) >= IDLE_NS_MIN)?;
        let is_checkpoint = |hold: &&'t Hold| hold.who.pid == pid && hold.lock == Lock::Checkpoint;
        let works_unseen = open.from_ns <= from_ns && self.timeline.may_work_unseen(pid);
        if !self.timeline.sees_statements || works_unseen || self.held.iter().any(is_checkpoint) {
            return None;
        }
        let (since_ns, last) = self.timeline.idle_since(open)?;
        let idle_ns = now_ns.saturating_sub(since_ns);
        let waits = self.waiting.iter().map(|wait| (wait.who.pid, wait.for_ns(open, now_ns)));
        let waits = waits.filter(|(_, ns)| *ns > 0).map(|(pid, ns)| Waiter { pid, ns, gave_up: false });
        let waiter = waits.chain(open.kept_out.longest).max_by_key(|waiter| waiter.ns);
        let gave_up = open.kept_out.gave_up;
        let kind = Kind::IdleInTransaction { held_ns: open.ns(now_ns), idle_ns, last, gave_up, waiter };
        (idle_ns >= IDLE_NS_MIN).then_some(Case { kind, tid: Some(open.who.tid), sql: None })
    }

    fn long_transaction(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid)?;
        let Times { count: holds, max_ns: longest_ns, .. } = tally.long.times;
        let longest_wait_ns = tally.waited_for_ns;
        let kind = Kind::LongTransaction { holds, longest_ns, longest_wait_ns };
        (holds > 0 && longest_wait_ns >= LONG_NS_MIN).then(|| Case::of_longest(kind, &tally.long))
    }

    /// Refused without a retry: the cause, as far as it can be known.
    fn refused(&self, pid: u32) -> Option<Case> {
        let Tally { refused_after_read: after_read, refused_fresh: fresh, read_ns_max, .. } = self.tallies.get(&pid)?;
        let refused = after_read.count + fresh.count;
        if refused == 0 {
            return None;
        }
        let is_read = after_read.count > 0;
        let example = if is_read { after_read } else { fresh }.example.as_ref();
        let (holder, holder_sql) = example.map_or((None, None), |wait| (wait.holder, wait.holder_sql.clone()));
        let kind = if !self.timeline.visible.contains(&pid) {
            Kind::RefusedAtOnce { refused, holder }
        } else if is_read {
            let (refused, outdated, longest_ns) = (after_read.count, after_read.outdated, *read_ns_max);
            Kind::ReadThenWrite { refused, outdated, longest_ns, holder, holder_sql }
        } else {
            Kind::NoBusyTimeout { refused, holder, holder_sql }
        };
        Some(Case::of_wait(kind, example))
    }

    fn timeout_too_short(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid).filter(|tally| tally.gave_up.count > 0)?;
        let longest = tally.longest_gave_up.as_ref();
        let (holder, holder_sql) = longest.map_or((None, None), |wait| (wait.holder, wait.holder_sql.clone()));
        // The holder may be another thread of the same process.
        let is_holder = |other: &u32| *other != pid || holder == Some(pid);
        let held_ns_max = self.pids().into_iter().filter(is_holder).map(|other| self.write_ns(other).1).max();
        let kind = Kind::TimeoutTooShort {
            gave_up: tally.gave_up.count,
            longest_ns: tally.gave_up.max_ns,
            holder,
            holder_sql,
            held_ns_max: held_ns_max.unwrap_or(0),
        };
        Some(Case::of_wait(kind, longest))
    }

    fn starvation(&self, pid: u32) -> Option<Case> {
        let suffers = self.sums.get(&pid)?;
        let (&holder, most) =
            self.sums.iter().filter(|(other, _)| **other != pid).max_by_key(|(_, sums)| sums.write_ns)?;
        let open_ns: u64 = self
            .waiting
            .iter()
            .filter(|w| w.who.pid == pid && w.end == End::Open)
            .map(|w| self.timeline.now_ns - w.from_ns)
            .sum();
        let waited_ns = suffers.wait_ns + open_ns;
        let held_permille = 1000 * most.write_ns / self.watched_ns();
        let starved = held_permille >= STARVED_PERMILLE
            && most.writes >= COUNT_MIN
            && waited_ns >= STARVED_TIMES * suffers.write_ns.max(WAIT_NS_MIN)
            && most.write_ns >= STARVED_TIMES * suffers.write_ns;
        let (had_ns, gave_up) = (suffers.write_ns, suffers.gave_up);
        let holder_sql = self.most(holder, |times| times.total_ns);
        let kind = Kind::Starvation { holder, holder_sql, held_permille, waited_ns, had_ns, gave_up };
        starved.then(|| Case::of_process(kind))
    }

    fn disk(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid)?;
        let (syncs, sync_ns) = (tally.syncs.count, tally.syncs.total_ns);
        let sync_permille = 1000 * sync_ns / self.write_ns(pid).0.max(1);
        let waited = tally.waited_for_syncs_ns >= WAIT_NS_MIN;
        (sync_permille >= DISK_PERMILLE && syncs >= COUNT_MIN && waited).then(|| {
            let kind = Kind::Disk { syncs, sync_permille, sync_ns_mean: sync_ns / syncs };
            Case { sql: self.most(pid, |times| times.total_ns), ..Case::of_process(kind) }
        })
    }

    /// The statement under the write lock of a process with the most of something.
    fn most(&self, pid: u32, of: impl Fn(&Times) -> u64) -> Option<String> {
        let statements = self.tallies.get(&pid)?.statements.iter();
        statements.max_by_key(|(_, times)| of(times)).map(|(sql, _)| sql.clone())
    }

    fn readers_block_writer(&self, pid: u32) -> Option<Case> {
        let drains = &self.tallies.get(&pid)?.drains;
        let Times { count: times, max_ns: longest_ns, max_tid, .. } = drains.waits;
        let (readers, longest_read) = (drains.readers.iter().copied().collect(), drains.reading.sql.clone());
        let kind = Kind::ReadersBlockWriter { times, longest_ns, readers, longest_read };
        (times > 0).then(|| Case { tid: Some(max_tid), ..Case::of_process(kind) })
    }

    fn reader_pins_log(&self, pid: u32) -> Option<Case> {
        let state = &self.samples.last()?.state;
        let log = state.log.as_ref()?;
        let now_ns = self.timeline.now_ns;
        let open = self.held.iter().filter(|hold| hold.who.pid == pid && hold.ns(now_ns) >= PINNED_NS);
        let marks = open.filter_map(|hold| match hold.lock {
            Lock::Read(mark) => Some((log.frame_of(mark)?, hold)),
            _ => None,
        });
        let (frame, hold) = marks.min_by_key(|(frame, _)| *frame)?;
        let behind_frames = log.frames.saturating_sub(frame);
        let (held_ns, log_bytes) = (hold.ns(now_ns), state.log_bytes);
        let kind = Kind::ReaderPinsLog { reader: pid, behind_frames, held_ns, log_bytes };
        let sql = || self.timeline.last_statement(hold);
        (behind_frames >= PINNED_FRAMES).then(|| Case { kind, tid: Some(hold.who.tid), sql: sql() })
    }

    /// The log starts again when all of it is copied and no reader uses it. A log that is long and grows, although no
    /// single reader pins it, never has such a moment.
    fn log_never_restarts(&self) -> Option<Finding> {
        let frames = |sample: &Sample| Some((sample.at_ns, sample.state.log.as_ref()?.frames));
        let logs: Vec<(u64, u32)> = self.samples.iter().filter_map(frames).collect();
        let grew = logs.windows(2).rev().take_while(|pair| pair[0].1 <= pair[1].1).count();
        let (from_ns, began) = logs.iter().rev().nth(grew).copied()?;
        let (to_ns, frames) = logs.last().copied()?;
        let since = |hold: &&Hold| hold.database == self.database && hold.to_ns.is_none_or(|to_ns| to_ns >= from_ns);
        let holds = || self.timeline.holds.iter().chain(self.held.iter().copied()).filter(since);
        let checkpoints = holds().filter(|hold| hold.lock == Lock::Checkpoint).count();
        let (grown_frames, long) = (frames - began, LONG_LOG_FRAMES[usize::from(checkpoints == 0)]);
        if frames < long || grown_frames < GROWN_FRAMES || to_ns - from_ns < LONG_LOG_NS {
            return None;
        }
        // With checkpoints, those that read are the cause; without, those that write.
        let is_cause = |hold: &&Hold| match hold.lock {
            Lock::Read(_) => checkpoints > 0 && hold.mode == Mode::Shared,
            lock => checkpoints == 0 && lock.is_writers(),
        };
        let mut causes: BTreeMap<u32, u64> = BTreeMap::new();
        for hold in holds().filter(is_cause) {
            *causes.entry(hold.who.pid).or_default() += hold.ns(self.timeline.now_ns);
        }
        let pid = *causes.iter().max_by_key(|(_, ns)| **ns)?.0;
        let (log_bytes, processes) = (self.samples.last()?.state.log_bytes, causes.len());
        let kind = Kind::LogNeverRestarts { log_bytes, frames, grown_frames, checkpoints, processes };
        Some(Finding { database: self.database, pid, case: Case::of_process(kind) })
    }

    fn checkpoint_blocks_writers(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid)?;
        let Times { count: times, max_ns: longest_ns, .. } = tally.checkpoints.times;
        let longest_wait_ns = tally.waited_for_ns;
        let kind = Kind::CheckpointBlocksWriters { times, longest_ns, longest_wait_ns };
        let worth = longest_ns >= WAIT_NS_MIN && longest_wait_ns >= WAIT_NS_MIN;
        worth.then(|| Case::of_longest(kind, &tally.checkpoints))
    }

    fn checkpoint_in_commit(&self, pid: u32) -> Option<Case> {
        let told = &self.tallies.get(&pid)?.own_checkpoints;
        let Times { count: times, max_ns: longest_ns, .. } = told.times;
        let kind = Kind::CheckpointInCommit { times, longest_ns };
        (longest_ns >= CHECKPOINT_NS_MIN).then(|| Case::of_longest(kind, told))
    }

    /// Whether more of the work is lost to refusals and waits than to syncs.
    fn is_contended(&self) -> bool {
        let of = |of: fn(&Sums) -> u64| self.sums.values().map(|sums| of(sums)).sum::<u64>();
        2 * of(|sums| sums.refusals) >= of(|sums| sums.writes) || of(|sums| sums.wait_ns) >= of(|sums| sums.sync_ns)
    }

    fn small_commits(&self, pid: u32) -> Option<Case> {
        let sums = self.sums.get(&pid)?;
        let commits_per_s = sums.writes * SECOND / self.watched_ns();
        let sync_permille = 1000 * sums.sync_ns / self.watched_ns();
        let each_synced = sums.syncs >= sums.writes && !self.is_contended();
        let kind = Kind::SmallCommits { commits_per_s, sync_permille };
        (commits_per_s >= COMMITS_PER_S && each_synced && sync_permille >= COMMITS_PERMILLE)
            .then(|| Case { sql: self.most(pid, |times| times.count), ..Case::of_process(kind) })
    }

    fn churn(&self) -> Option<Finding> {
        // The last close removes the `-shm`, and the next opening creates another file: each count may miss some. With a
        // rollback journal only calls and new processes are seen.
        let of = |sums: &Sums| sums.connects.max(sums.last_closes).max(sums.recoveries).max(sums.opens);
        let connects: u64 = self.sums.values().map(|sums| of(sums)).sum();
        let per_s = connects * SECOND / self.watched_ns();
        let (&pid, _) = self.sums.iter().max_by_key(|(_, sums)| of(sums))?;
        let processes = self.sums.values().filter(|sums| of(sums) > 0).count();
        let recoveries = self.sums.values().map(|sums| sums.recoveries).sum();
        let kind = Kind::OpenCloseChurn { per_s, processes, recoveries };
        let case = Case::of_process(kind);
        (per_s >= CONNECTS_PER_S && connects >= COUNT_MIN).then_some(Finding { database: self.database, pid, case })
    }
}

#[cfg(test)]
#[path = "finding_tests.rs"]
mod tests;
