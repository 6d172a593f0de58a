//! Findings about one moment: an open transaction, a reader, a log that grows. They end before the watch does, so the
//! worst case of each is kept. Pure, like `findings`.

use crate::finding::{Case, Finding, Kind, REFUSAL_NS};
use crate::hold::{Hold, Wait, Waiter};
use crate::lock::{Lock, Mode};
use crate::target::Sample;
use crate::timeline::Timeline;
use std::collections::{BTreeMap, BTreeSet};

const SECOND: u64 = 1_000_000_000;

/// A transaction without a statement for this long is idle.
const IDLE_NS_MIN: u64 = SECOND;
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
/// Most past cases that are kept.
const PAST_MAX: usize = 1_000;

/// The locks and waits of a database at one moment.
pub struct Moment<'t> {
    timeline: &'t Timeline,
    database: usize,
    samples: &'t [Sample],
    pub held: Vec<&'t Hold>,
    pub waiting: Vec<&'t Wait>,
}

impl<'t> Moment<'t> {
    /// `samples`: those of this database, oldest first.
    pub fn new(timeline: &'t Timeline, database: usize, samples: &'t [Sample]) -> Self {
        let held = timeline.held().filter(|hold| hold.database == database).collect();
        let waiting = timeline.waiting().filter(|wait| wait.database == database).collect();
        Moment { timeline, database, samples, held, waiting }
    }

    /// All of them; only with `log`, for which all recent holds are read, that about a log that no single reader pins.
    pub fn findings(&self, log: bool) -> Vec<Finding> {
        let may_be_one = |hold: &&&Hold| hold.lock.is_writers() || matches!(hold.lock, Lock::Read(_));
        let pids: BTreeSet<u32> = self.held.iter().filter(may_be_one).map(|hold| hold.who.pid).collect();
        let of = |pid: u32| [self.idle_in_transaction(pid), self.reader_pins_log(pid)].map(|case| (pid, case));
        let found =
            pids.into_iter().flat_map(of).filter_map(|(pid, case)| Some(self.with_cost(self.finding(pid, case?))));
        let mut found: Vec<Finding> = found.collect();
        if log && !pin_log(&found) {
            found.extend(self.log_never_restarts());
        }
        found
    }

    pub fn finding(&self, pid: u32, case: Case) -> Finding {
        Finding { database: self.database, pid, case, cost_ns: 0, seen_ns: None, further: None }
    }

    /// With what an open transaction costs others.
    fn with_cost(&self, finding: Finding) -> Finding {
        let Kind::IdleInTransaction { waiter, .. } = finding.case.kind else { return finding };
        let open: Vec<&Hold> = self.open_writes(finding.pid).collect();
        let refused: u64 = open.iter().map(|hold| hold.kept_out_so_far().refused).sum();
        let waited = |wait: &&Wait| open.iter().map(|hold| wait.for_ns(hold, self.timeline.now_ns)).sum::<u64>();
        let now_ns: u64 = self.waiting.iter().map(waited).sum();
        let waited_ns = now_ns.max(waiter.map_or(0, |waiter| waiter.ns));
        Finding { cost_ns: waited_ns + refused * REFUSAL_NS, ..finding }
    }

    /// Write locks that a process holds.
    pub fn open_writes(&self, pid: u32) -> impl Iterator<Item = &'t Hold> {
        self.held.iter().copied().filter(move |hold| hold.lock.is_writers() && hold.who.pid == pid)
    }

    fn idle_in_transaction(&self, pid: u32) -> Option<Case> {
        let (now_ns, visible_ns) = (self.timeline.now_ns, self.timeline.visible_ns(pid));
        // A lock that no statement took belongs to a checkpoint or a backup, which run without statements. The statement
        // of an earlier lock was not visible.
        let is_of_transaction = |hold: &&Hold| !hold.is_kept && (hold.statement_ns > 0 || hold.from_ns <= visible_ns);
        let open = self.open_writes(pid).filter(is_of_transaction).find(|hold| hold.ns(now_ns) >= IDLE_NS_MIN)?;
        let is_checkpoint = |hold: &&'t Hold| hold.who.pid == pid && hold.lock == Lock::Checkpoint;
        let works_unseen = open.from_ns <= visible_ns && self.timeline.may_work_unseen(pid);
        if !self.timeline.sees_statements || works_unseen || self.held.iter().any(is_checkpoint) {
            return None;
        }
        let (since_ns, last) = self.timeline.idle_since(open)?;
        let idle_ns = now_ns.saturating_sub(since_ns);
        let waits = self.waiting.iter().map(|wait| (wait.who.pid, wait.for_ns(open, now_ns)));
        let waits = waits.filter(|(_, ns)| *ns > 0).map(|(pid, ns)| Waiter { pid, ns, gave_up: false });
        let kept_out = open.kept_out_so_far();
        let waiter = waits.chain(kept_out.longest).max_by_key(|waiter| waiter.ns);
        let (held_ns, began_before, gave_up) = (open.ns(now_ns), open.began_before, kept_out.gave_up);
        let kind = Kind::IdleInTransaction { held_ns, began_before, idle_ns, last, gave_up, waiter };
        (idle_ns >= IDLE_NS_MIN).then_some(Case { kind, tid: Some(open.who.tid), sql: None })
    }

    fn reader_pins_log(&self, pid: u32) -> Option<Case> {
        let state = &self.samples.last()?.state;
        let now_ns = self.timeline.now_ns;
        let may_pin = |hold: &Hold| hold.who.pid == pid && hold.ns(now_ns) >= PINNED_NS;
        let (behind_frames, hold) = self.timeline.oldest_reader(self.database, state.log.as_ref()?, may_pin)?;
        let (held_ns, log_bytes) = (hold.ns(now_ns), state.log_bytes);
        let kind = Kind::ReaderPinsLog { reader: pid, behind_frames, held_ns, log_bytes };
        let is_one = self.timeline.is_one_reader(hold);
        let (tid, sql) = (is_one.then_some(hold.who.tid), || self.timeline.last_statement(hold));
        (behind_frames >= PINNED_FRAMES).then(|| Case { kind, tid, sql: if is_one { sql() } else { None } })
    }

    /// The log starts again when all of it is copied and no reader uses it. A log that is long and grows, although no
    /// single reader pins it, never has such a moment.
    fn log_never_restarts(&self) -> Option<Finding> {
        let frames = |sample: &Sample| Some((sample.at_ns, sample.state.log.as_ref()?.frames));
        let logs: Vec<(u64, u32)> = self.samples.iter().filter_map(frames).collect();
        let grew = logs.windows(2).rev().take_while(|pair| pair[0].1 <= pair[1].1).count();
        let (from_ns, began) = logs.iter().rev().nth(grew).copied()?;
        let (to_ns, frames) = logs.last().copied()?;
        let grown_frames = frames - began;
        if frames < LONG_LOG_FRAMES[0] || grown_frames < GROWN_FRAMES || to_ns - from_ns < LONG_LOG_NS {
            return None;
        }
        let recent = |hold: &&Hold| hold.to_ns.is_none_or(|to_ns| to_ns >= from_ns);
        let ended = || self.timeline.holds.iter().rev().take_while(recent);
        let holds = || ended().filter(|hold| hold.database == self.database).chain(self.held.iter().copied());
        let checkpoints = holds().filter(|hold| hold.lock == Lock::Checkpoint).count();
        if frames < LONG_LOG_FRAMES[usize::from(checkpoints == 0)] {
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
        Some(self.finding(pid, Case::of_process(kind)))
    }
}

/// Whether one of these says that a reader pins the log.
fn pin_log(found: &[Finding]) -> bool {
    found.iter().any(|finding| matches!(finding.case.kind, Kind::ReaderPinsLog { .. }))
}

/// Place of a finding about one moment (database, kind and process), and its size. `None` for other kinds.
fn place(finding: &Finding) -> Option<((usize, u8, u32), u64)> {
    let (kind, pid, size) = match &finding.case.kind {
        Kind::IdleInTransaction { idle_ns, .. } => (0, finding.pid, *idle_ns),
        Kind::ReaderPinsLog { behind_frames, .. } => (1, finding.pid, u64::from(*behind_frames)),
        // A database has one log, whichever process reads it most.
        Kind::LogNeverRestarts { frames, .. } => (2, 0, u64::from(*frames)),
        _ => return None,
    };
    Some(((finding.database, kind, pid), size))
}

/// The worst case so far of each finding about one moment.
#[derive(Debug, Default)]
pub struct Worst {
    found: BTreeMap<(usize, u8, u32), (u64, Finding)>,
    /// When a reader last pinned the log of a database.
    pinned_ns: BTreeMap<usize, u64>,
    /// Time of the last check for logs that never restart.
    logs_ns: u64,
}

impl Worst {
    /// Looks at this moment. `samples`: of each database by index, oldest first.
    pub fn look(&mut self, timeline: &Timeline, samples: &[Vec<Sample>]) {
        let now_ns = timeline.now_ns;
        let log = now_ns >= self.logs_ns + SECOND;
        if log {
            self.logs_ns = now_ns;
        }
        for (database, samples) in samples.iter().enumerate() {
            let found = Moment::new(timeline, database, samples).findings(log);
            if pin_log(&found) {
                self.pinned_ns.insert(database, samples.last().map_or(now_ns, |sample| sample.at_ns));
            }
            for mut finding in found {
                let Some((place, size)) = place(&finding).filter(|_| !self.is_pinned(&finding, samples)) else {
                    continue;
                };
                finding.seen_ns = Some(now_ns.saturating_sub(timeline.from_ns));
                let is_worst = match self.found.get(&place) {
                    Some((worst, _)) => size >= *worst,
                    None => self.found.len() < PAST_MAX,
                };
                if is_worst {
                    self.found.insert(place, (size, finding));
                }
            }
        }
    }

    /// Adds to findings what is past by now.
    pub fn with_past(&self, mut found: Vec<Finding>, samples: &[Vec<Sample>]) -> Vec<Finding> {
        found.retain(|finding| !samples.get(finding.database).is_some_and(|samples| self.is_pinned(finding, samples)));
        // The finding about pauses under the lock covers a transaction that was left open and has ended.
        let covers = |now: &Finding, past: &Finding| {
            matches!(now.case.kind, Kind::ProgramHoldsLock { .. })
                && matches!(past.case.kind, Kind::IdleInTransaction { .. })
                && (now.database, now.pid) == (past.database, past.pid)
        };
        for (at, (_, past)) in &self.found {
            let is_found = |now: &Finding| place(now).is_some_and(|(place, _)| place == *at) || covers(now, past);
            if !found.iter().any(is_found) {
                found.push(past.clone());
            }
        }
        found
    }

    /// Whether this says that a log never restarts, although a reader has pinned it in the time of these samples: it may
    /// restart now.
    fn is_pinned(&self, finding: &Finding, samples: &[Sample]) -> bool {
        let pinned_ns = self.pinned_ns.get(&finding.database);
        let is_recent = || samples.first().zip(pinned_ns).is_some_and(|(first, pinned_ns)| first.at_ns <= *pinned_ns);
        matches!(finding.case.kind, Kind::LogNeverRestarts { .. }) && is_recent()
    }
}
