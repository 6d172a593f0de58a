//! The rules over the whole watch of SQLite databases, by which findings are made. Pure: a timeline and samples of the
//! log in, findings out. A finding requires that its evidence was seen; a healthy program gets none.

use crate::finding::{Case, Finding, Kind, REFUSAL_NS};
use crate::hold::{End, GAP_NS_MIN, Gap, KeptOut, LONG_NS_MIN, PAUSES_NS_MIN, Wait};
use crate::lock::Lock;
use crate::moment::Moment;
use crate::tally::{Refused, Sums, Tally, Times};
use crate::target::Sample;
use crate::timeline::Timeline;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

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
/// Connections per second that count as churn.
const CONNECTS_PER_S: u64 = 5;
/// Time from which on their rate is meaningful: programs open several connections when they begin.
const CHURN_NS_MIN: u64 = 5 * SECOND;
/// Fewest events for a rate or a share to be meaningful.
const COUNT_MIN: u64 = 5;
/// Pauses under the lock explain the calls that it refused if at least one in this many fell into them.
const EXPLAINED_PART: u64 = 4;

/// All findings of a timeline. `samples`: for each database by index, oldest first.
pub fn findings(timeline: &Timeline, samples: &[Vec<Sample>]) -> Vec<Finding> {
    let mut found = vec![];
    for database in 0..samples.len() {
        let view = View::new(timeline, database, samples.get(database).map_or(&[], Vec::as_slice));
        let of_now = view.now.findings(true);
        let is_idle = |of: &Finding, pid| of.pid == pid && matches!(of.case.kind, Kind::IdleInTransaction { .. });
        for pid in view.pids() {
            let outside = view.program_holds_lock(pid);
            let is_outside = outside.is_some() || of_now.iter().any(|of| is_idle(of, pid));
            let [read_before, fresh] = view.refused(pid);
            let cases = [
                outside,
                view.long_transaction(pid).filter(|_| !is_outside || view.works_more(pid)),
                read_before,
                fresh,
                view.timeout_too_short(pid),
                view.starvation(pid),
                view.readers_block_writer(pid),
                view.checkpoint_blocks_writers(pid),
                view.checkpoint_in_commit(pid),
                // Larger transactions would hold the lock for longer.
                view.small_commits(pid).or_else(|| view.disk(pid)).filter(|_| !is_outside),
            ];
            found.extend(cases.into_iter().flatten().map(|case| view.finding(pid, case)));
        }
        found.extend(of_now);
        found.extend(view.churn());
    }
    found
}

/// The data of one database that findings are made from.
struct View<'t> {
    timeline: &'t Timeline,
    now: Moment<'t>,
    sums: BTreeMap<u32, &'t Sums>,
    /// Tallies that include the locks held now.
    tallies: BTreeMap<u32, Tally>,
    /// The two processes that held the write lock for the longest time, the longest first.
    longest: [Option<u32>; 2],
    /// The longest hold of the write lock, and that of another process, the longest first.
    longest_holds: [(u32, u64); 2],
    is_contended: bool,
}

impl<'t> View<'t> {
    fn new(timeline: &'t Timeline, database: usize, samples: &'t [Sample]) -> Self {
        let now = Moment::new(timeline, database, samples);
        let sums = timeline.sums.iter().filter(|((d, _), _)| *d == database).map(|((_, pid), sums)| (*pid, sums));
        let of_database = timeline.tallies.iter().filter(|((d, _), _)| *d == database);
        let mut tallies: BTreeMap<u32, Tally> = of_database.map(|((_, pid), tally)| (*pid, tally.clone())).collect();
        for hold in &now.held {
            tallies.entry(hold.who.pid).or_default().hold(&timeline.up_to_now(hold), timeline.now_ns);
        }
        for wait in &now.waiting {
            let mut wait = Wait::clone(wait);
            timeline.add_causes(&mut wait);
            wait.causes.iter().for_each(|cause| tallies.entry(cause.pid).or_default().waited_for(&wait, cause));
        }
        let sums: BTreeMap<u32, &Sums> = sums.collect();
        // Once, not for each process: a script may start thousands in an hour.
        let (longest, is_contended) = (longest(&sums), is_contended(&sums));
        let view = View { timeline, now, sums, tallies, longest, longest_holds: [(0, 0); 2], is_contended };
        let mut holds: Vec<(u32, u64)> = view.pids().into_iter().map(|pid| (pid, view.write_ns(pid).1)).collect();
        holds.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        holds.resize(2.max(holds.len()), (0, 0));
        View { longest_holds: [holds[0], holds[1]], ..view }
    }

    fn pids(&self) -> BTreeSet<u32> {
        self.sums.keys().copied().chain(self.tallies.keys().copied()).collect()
    }

    /// Watched time; at least one second, so that rates are meaningful.
    fn watched_ns(&self) -> u64 {
        self.timeline.now_ns.saturating_sub(self.timeline.from_ns).max(SECOND)
    }

    /// Total time for which a process held the write lock, and the longest hold.
    fn write_ns(&self, pid: u32) -> (u64, u64) {
        let (total, max) = self.sums.get(&pid).map_or((0, 0), |sums| (sums.write_ns, sums.write_ns_max));
        let open = || self.now.open_writes(pid).map(|hold| hold.ns(self.timeline.now_ns));
        (total + open().sum::<u64>(), open().max().unwrap_or(0).max(max))
    }

    fn finding(&self, pid: u32, case: Case) -> Finding {
        let tally = self.tallies.get(&pid);
        let waited_for = tally.map(|tally| tally.waited_for).unwrap_or_default();
        let cost_ns = match &case.kind {
            Kind::ProgramHoldsLock { refused, .. } => waited_for.pauses.total_ns + refused * REFUSAL_NS,
            Kind::LongTransaction { .. } => waited_for.work.total_ns,
            Kind::Disk { .. } => waited_for.syncs.total_ns,
            Kind::CheckpointBlocksWriters { .. } => waited_for.checkpoints.total_ns,
            Kind::ReadersBlockWriter { waited_ns, .. } | Kind::Starvation { waited_ns, .. } => *waited_ns,
            Kind::ReadThenWrite { refused, .. }
            | Kind::NoBusyTimeout { refused, .. }
            | Kind::RefusedAtOnce { refused, .. } => refused * REFUSAL_NS,
            Kind::TimeoutTooShort { .. } => tally.map_or(0, |tally| tally.gave_up.total_ns),
            // `Moment` has the costs of what it finds; the others keep no other process waiting.
            Kind::IdleInTransaction { .. }
            | Kind::ReaderPinsLog { .. }
            | Kind::LogNeverRestarts { .. }
            | Kind::CheckpointInCommit { .. }
            | Kind::SmallCommits { .. }
            | Kind::OpenCloseChurn { .. } => 0,
        };
        Finding { cost_ns, ..self.now.finding(pid, case) }
    }

    fn program_holds_lock(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid).filter(|tally| self.timeline.sees_statements && tally.outside.count > 0)?;
        // Prefer a gap with known statements if it is as long: texts are not known from the first moment on.
        let is_as_long = 10 * tally.known_gap.ns >= 9 * tally.gap.ns;
        let longest = if is_as_long { &tally.known_gap } else { &tally.gap };
        let Gap { ns: longest_gap_ns, tid, before, after } = longest.clone();
        let held_ns = tally.outside_held_ns;
        let (outside_ns, longest_wait_ns) = (tally.outside.total_ns, tally.waited_for.pauses.max_ns);
        let KeptOut { refused, gave_up, pauses_ns, longest_pause_ns, .. } = tally.outside_kept_out;
        let refused_in_all = tally.refused_others;
        let is_most = longest_wait_ns >= GAP_NS_MIN && 2 * outside_ns >= self.write_ns(pid).0;
        // A long pause that kept others out stays one however much else the process does. Shorter ones must explain what
        // others were refused, because a busy machine makes some in every program.
        let explains = refused >= COUNT_MIN && EXPLAINED_PART * refused >= refused_in_all;
        let keeps_out = pauses_ns >= PAUSES_NS_MIN && (explains || longest_pause_ns >= PAUSES_NS_MIN);
        let worth = is_most || keeps_out;
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
            refused_in_all,
            gave_up,
        };
        worth.then_some(Case { kind, tid: Some(tid), sql: None })
    }

    fn long_transaction(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid)?;
        let Times { count: holds, max_ns: longest_ns, .. } = tally.long.times;
        let longest_wait_ns = self.timeline.sees_waits.then_some(tally.waited_for.work.max_ns);
        let began_before = tally.long.began_before;
        let kind = Kind::LongTransaction { holds, longest_ns, began_before, longest_wait_ns };
        let may_wait = longest_wait_ns.is_none_or(|ns| ns >= LONG_NS_MIN);
        (holds > 0 && may_wait).then(|| Case::of_longest(kind, &tally.long))
    }

    /// Refused without a retry, after a read and without one: both causes, as far as they can be known.
    fn refused(&self, pid: u32) -> [Option<Case>; 2] {
        let Some(tally) = self.tallies.get(&pid) else { return [None, None] };
        let Tally { refused_after_read: after_read, refused_fresh: fresh, .. } = tally;
        let case = |of: &Refused, count: u64, kind: &dyn Fn(Option<u32>, Option<String>) -> Kind| {
            let (holder, sql) = of.example.as_ref().map_or((None, None), |wait| (wait.holder, wait.holder_sql.clone()));
            (count > 0).then(|| Case::of_wait(kind(holder, sql), of.example.as_ref()))
        };
        if !tally.sees_refused {
            let (of, refused) = (if after_read.count > 0 { after_read } else { fresh }, after_read.count + fresh.count);
            return [case(of, refused, &|holder, _| Kind::RefusedAtOnce { refused, holder }), None];
        }
        let (outdated, longest_ns) = (after_read.outdated, tally.read_ns_max);
        let read_before = case(after_read, after_read.count, &|holder, holder_sql| Kind::ReadThenWrite {
            refused: after_read.count,
            outdated,
            longest_ns,
            holder,
            holder_sql,
        });
        let (refused, is_unknown) = (fresh.count, 2 * fresh.unknown > fresh.count);
        let at_once = case(fresh, refused, &|holder, holder_sql| match is_unknown {
            true => Kind::RefusedAtOnce { refused, holder },
            false => Kind::NoBusyTimeout { refused, holder, holder_sql },
        });
        [read_before, at_once]
    }

    /// Whether a process worked under the lock in some of its transactions, and for longer than it paused in others.
    fn works_more(&self, pid: u32) -> bool {
        self.tallies.get(&pid).is_some_and(|tally| tally.long.times.total_ns > tally.outside.total_ns)
    }

    fn timeout_too_short(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid).filter(|tally| tally.gave_up.count > 0)?;
        let (holder_times, longest) = tally.mostly_gave_up().map(|(times, wait)| (*times, wait)).unzip();
        let (holder, holder_sql) = longest.map_or((None, None), |wait| (wait.holder, wait.holder_sql.clone()));
        // The holder may be another thread of the same process.
        let writes =
            || self.longest_holds.iter().find(|(other, _)| *other != pid || holder == Some(pid)).map(|(_, ns)| *ns);
        let reads = || Some(self.tallies.get(&holder?)?.read_ns_max);
        let held_ns_max = match longest {
            Some(wait) if wait.is_for_own_readers() => Some(tally.blocked.read_ns),
            Some(wait) if wait.is_for_readers() => reads(),
            _ => writes(),
        };
        let kind = Kind::TimeoutTooShort {
            gave_up: tally.gave_up.count,
            longest_ns: tally.gave_up.max_ns,
            holder,
            holder_sql,
            holder_times: holder_times.unwrap_or(0),
            held_ns_max: held_ns_max.unwrap_or(0),
        };
        Some(Case::of_wait(kind, longest))
    }

    fn starvation(&self, pid: u32) -> Option<Case> {
        let had_ns = self.sums.get(&pid)?.write_ns;
        let holder = self.longest.into_iter().flatten().find(|other| *other != pid)?;
        let most = self.sums.get(&holder)?;
        let writes = self.tallies.get(&pid).map(|tally| tally.write_waits).unwrap_or_default();
        let is_its = |wait: &&&Wait| wait.who.pid == pid && wait.end == End::Open && wait.lock.is_writers();
        let open = || self.now.waiting.iter().filter(is_its).map(|wait| self.timeline.now_ns - wait.from_ns);
        let waited_ns = writes.times.total_ns + open().sum::<u64>();
        let longest_ns = open().max().unwrap_or(0).max(writes.times.max_ns);
        let held_permille = 1000 * most.write_ns / self.watched_ns();
        let starved = held_permille >= STARVED_PERMILLE
            && most.writes >= COUNT_MIN
            && waited_ns >= STARVED_TIMES * had_ns.max(WAIT_NS_MIN)
            && most.write_ns >= STARVED_TIMES * had_ns
            // Short waits add up in a long watch.
            && (writes.gave_up > 0 || longest_ns >= LONG_NS_MIN);
        starved.then(|| {
            let (holder_sql, gave_up) = (self.most(holder, |times| times.total_ns), writes.gave_up);
            Case::of_process(Kind::Starvation { holder, holder_sql, held_permille, waited_ns, had_ns, gave_up })
        })
    }

    fn disk(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid)?;
        let (syncs, sync_ns) = (tally.syncs.count, tally.syncs.total_ns);
        let sync_permille = 1000 * sync_ns / self.write_ns(pid).0.max(1);
        let waited = tally.waited_for.syncs.max_ns >= WAIT_NS_MIN;
        (sync_permille >= DISK_PERMILLE && syncs >= COUNT_MIN && waited).then(|| {
            let kind = Kind::Disk { syncs, sync_permille, sync_ns_mean: sync_ns / syncs };
            Case { sql: self.most(pid, |times| times.total_ns), ..Case::of_process(kind) }
        })
    }

    /// The statement under the write lock of a process with the most of something.
    fn most(&self, pid: u32, of: impl Fn(&Times) -> u64) -> Option<String> {
        let statements = self.tallies.get(&pid)?.statements.iter();
        statements.max_by_key(|(_, times)| of(times)).and_then(|(sql, _)| sql.clone())
    }

    fn readers_block_writer(&self, pid: u32) -> Option<Case> {
        let blocked = &self.tallies.get(&pid)?.blocked;
        let Times { count: times, total_ns: waited_ns, max_ns: longest_ns, .. } = blocked.waits;
        let (gave_up, read_ns, writers) = (blocked.gave_up, blocked.read_ns, blocked.writers.iter().copied().collect());
        let kind = Kind::ReadersBlockWriter { times, waited_ns, longest_ns, gave_up, writers, read_ns };
        (times > 0).then(|| Case { kind, tid: Some(blocked.tid), sql: blocked.sql.clone() })
    }

    fn checkpoint_blocks_writers(&self, pid: u32) -> Option<Case> {
        let tally = self.tallies.get(&pid)?;
        let Times { count: times, max_ns: longest_ns, .. } = tally.checkpoints.times;
        let longest_wait_ns = tally.waited_for.checkpoints.max_ns;
        let kind = Kind::CheckpointBlocksWriters { times, longest_ns, longest_wait_ns };
        let worth = longest_ns >= WAIT_NS_MIN && longest_wait_ns >= WAIT_NS_MIN;
        worth.then(|| Case::of_longest(kind, &tally.checkpoints))
    }

    fn checkpoint_in_commit(&self, pid: u32) -> Option<Case> {
        let own = &self.tallies.get(&pid)?.own_checkpoints;
        let Times { count: times, max_ns: longest_ns, .. } = own.times;
        let kind = Kind::CheckpointInCommit { times, longest_ns };
        (longest_ns >= CHECKPOINT_NS_MIN).then(|| Case::of_longest(kind, own))
    }

    fn small_commits(&self, pid: u32) -> Option<Case> {
        let sums = self.sums.get(&pid)?;
        let commits_per_s = sums.writes * SECOND / self.watched_ns();
        let sync_permille = 1000 * sums.sync_ns / self.watched_ns();
        let each_synced = sums.syncs >= sums.writes && !self.is_contended;
        let kind = Kind::SmallCommits { commits_per_s, sync_permille };
        (commits_per_s >= COMMITS_PER_S && each_synced && sync_permille >= COMMITS_PERMILLE)
            .then(|| Case { sql: self.most(pid, |times| times.count), ..Case::of_process(kind) })
    }

    fn churn(&self) -> Option<Finding> {
        let is_open = |pid: u32| self.now.held.iter().any(|hold| hold.lock == Lock::Connected && hold.who.pid == pid);
        let closed = self.sums.iter().map(|(&pid, sums)| (pid, sums.did_not_stay(is_open(pid))));
        let closed: BTreeMap<u32, u64> = closed.filter(|(_, count)| *count > 0).collect();
        // Of a process whose calls are seen, each connection is.
        let is_counted =
            |pid: u32| self.timeline.visible.contains_key(&pid) && self.sums[&pid].is_counted(is_open(pid));
        let at_least = !closed.keys().all(|pid| is_counted(*pid));
        let connects: u64 = closed.values().sum();
        let per_s = connects * SECOND / self.watched_ns();
        let (&pid, _) = closed.iter().max_by_key(|(_, count)| **count)?;
        let recoveries = self.sums.values().map(|sums| sums.recoveries).sum();
        let kind = Kind::OpenCloseChurn { per_s, at_least, processes: closed.len(), recoveries };
        let is_churn = per_s >= CONNECTS_PER_S && self.watched_ns() >= CHURN_NS_MIN;
        is_churn.then(|| self.now.finding(pid, Case::of_process(kind)))
    }
}

fn longest(sums: &BTreeMap<u32, &Sums>) -> [Option<u32>; 2] {
    let most = |except: Option<u32>| {
        let others = sums.iter().filter(|(pid, _)| Some(**pid) != except);
        others.max_by_key(|(_, sums)| sums.write_ns).map(|(pid, _)| *pid)
    };
    let first = most(None);
    [first, most(first)]
}

/// Whether more of the work is lost to refusals and waits than to syncs.
fn is_contended(sums: &BTreeMap<u32, &Sums>) -> bool {
    let of = |of: fn(&Sums) -> u64| sums.values().map(|sums| of(sums)).sum::<u64>();
    2 * of(|sums| sums.refusals) >= of(|sums| sums.writes) || of(|sums| sums.wait_ns) >= of(|sums| sums.sync_ns)
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
