//! One trial, reduced to what a report needs: counts, latencies as a few numbers, and sparse histograms for the
//! bootstrap. Its size does not grow with the number of samples.

use crate::analysis::circumstances::{self, OverheadTimes};
use crate::analysis::tally::{Counts, Latencies, Tally, per_second, trend};
use crate::load::Load;
use crate::outcome::Outcome;
use crate::outcome::mark::Mark;
use crate::record::model::{Reason, Run, ServerInfo, Trial, WorkerInfo};
use crate::stats::drift::Trend;
use crate::stats::fairness::{Fairness, fairness};
use crate::stats::histogram::{Histogram, MAX_NS, SparseHistogram};
use crate::stats::quantile::{Observations, Quantile, QuantileValue};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Which transactions a metric is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    Read,
    Write,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::All, Scope::Read, Scope::Write];

    pub fn holds(self, write: bool) -> bool {
        match self {
            Scope::All => true,
            Scope::Read => !write,
            Scope::Write => write,
        }
    }

    /// Suffix of a metric's label.
    pub fn of(self) -> &'static str {
        match self {
            Scope::All => "",
            Scope::Read => " of reads",
            Scope::Write => " of writes",
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Scope::All => "all",
            Scope::Read => "reads",
            Scope::Write => "writes",
        }
    }
}

/// A time of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Response,
    Service,
    LockWait,
    AcquireWait,
}

impl Measure {
    pub const ALL: [Measure; 4] = [Measure::Response, Measure::Service, Measure::LockWait, Measure::AcquireWait];

    /// Prefix of its columns.
    pub fn column(self) -> &'static str {
        match self {
            Measure::Response => "response_ns",
            Measure::Service => "service_ns",
            Measure::LockWait => "lock_wait_ns",
            Measure::AcquireWait => "acquire_wait_ns",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Measure::Response => "response time",
            Measure::Service => "service time",
            Measure::LockWait => "lock wait",
            Measure::AcquireWait => "wait for a connection",
        }
    }
}

/// The numbers of one distribution in one trial; empty if nothing was measured.
#[derive(Debug, Clone, Default)]
pub struct Numbers {
    pub n: u64,
    /// Of operations that began; a cell in which some never began has no mean.
    pub mean_ns: Option<u64>,
    quantiles: [Option<u64>; Quantile::ALL.len()],
}

impl Numbers {
    /// Quantiles of a single trial need no minimum of observations: they are input for further statistics.
    fn of(observations: &Observations) -> Self {
        let ranked = observations.ranked();
        let exact = |quantile| match ranked.unchecked_quantile(quantile) {
            QuantileValue::Exact(ns) => Some(ns),
            QuantileValue::AtLeast(_) | QuantileValue::TooFew { .. } => None,
        };
        Self { n: ranked.len(), mean_ns: observations.mean(), quantiles: Quantile::ALL.map(exact) }
    }

    pub fn quantile(&self, quantile: Quantile) -> Option<u64> {
        self.quantiles[quantile as usize]
    }
}

/// Latencies of operations that began, as observations. Waits of unfinished attempts for locks or a connection are
/// unknown and left out.
pub fn observations(latencies: &Latencies, measure: Measure) -> Observations {
    measured(latencies, measure).unwrap_or_default()
}

/// The same with the operations that never began, which have a rank among the response times.
pub fn all_observations(counts: &Counts, latencies: &Latencies, measure: Measure) -> Observations {
    Observations { unsent: unsent(counts, measure), ..observations(latencies, measure) }
}

fn unsent(counts: &Counts, measure: Measure) -> u64 {
    if measure == Measure::Response { counts.outcome(Outcome::Unsent) } else { 0 }
}

fn measured(latencies: &Latencies, measure: Measure) -> Option<Observations> {
    let only = |ended: &Histogram| Some(Observations { ended: ended.clone(), ..Observations::default() });
    match measure {
        Measure::Response => {
            Some(Observations { ended: latencies.committed().clone(), censored: latencies.censored(), unsent: 0 })
        }
        Measure::Service => {
            let censored = latencies.service_censored.clone();
            Some(Observations { ended: latencies.service.clone(), censored, unsent: 0 })
        }
        Measure::LockWait => only(&latencies.lock_wait).filter(|_| latencies.lock_wait_measured),
        Measure::AcquireWait => only(&latencies.acquire_wait).filter(|_| latencies.acquire_wait_measured),
    }
}

/// Numbers of each measure.
#[derive(Debug, Clone, Default)]
pub struct Measures([Numbers; Measure::ALL.len()]);

impl Measures {
    fn of(counts: &Counts, latencies: &Latencies) -> Self {
        Self(Measure::ALL.map(|measure| Numbers::of(&all_observations(counts, latencies, measure))))
    }

    pub fn numbers(&self, measure: Measure) -> &Numbers {
        &self.0[measure as usize]
    }
}

/// One transaction in one role.
#[derive(Debug, Clone)]
pub struct GroupRow {
    pub role: String,
    pub transaction: u16,
    pub write: bool,
    pub counts: Counts,
    /// Response counts timeouts and unknown operations as lower bounds.
    pub measures: Measures,
    /// Response times by outcome; lower bounds for timeouts and unknown operations.
    pub responses: Vec<(Outcome, Numbers)>,
    /// Service times of committed operations alone.
    pub service_committed: Numbers,
}

/// Operations due for each client of a role without a commit from which on its clients count as starved.
const DUE_EACH_MIN: u64 = 2;

/// How evenly the clients of one role were served.
#[derive(Debug, Clone)]
pub struct RoleFairness {
    pub role: String,
    pub clients: usize,
    /// Clients without a single commit.
    pub starved: usize,
    /// `None` if no client committed.
    pub fairness: Option<Fairness>,
}

/// Observations of one round in little memory.
#[derive(Debug, Clone)]
struct Kept {
    ended: SparseHistogram,
    censored: SparseHistogram,
    unsent: u64,
}

/// Each measure of one kind of transaction; `None` if it was not measured.
type RoundHistograms = [Option<Kept>; Measure::ALL.len()];

/// Numbers from the samples of a trial.
#[derive(Debug, Clone)]
pub struct Measured {
    pub elapsed_ns: u64,
    window_start_ns: u64,
    /// End of the last attempt, in the drain or before.
    last_finished_ns: u64,
    pub counts: Counts,
    pub groups: Vec<GroupRow>,
    scopes: [Measures; 3],
    committed_inside: [u64; 3],
    pub busy_ns: u64,
    pub lock_wait_ns: Option<u64>,
    /// By role, because clients of different roles do different things.
    pub fairness: Vec<RoleFairness>,
    /// Trend of the commits over the window.
    pub trend: Option<Trend>,
    histograms: [RoundHistograms; 2],
}

impl Measured {
    fn new(tally: &Tally, writes: &[bool]) -> Self {
        let in_scope =
            |scope: Scope| move |g: &crate::analysis::tally::Group| scope.holds(is_write(writes, g.transaction));
        let all = tally.latencies(|_| true);
        let alone = |h: &Histogram| Numbers::of(&Observations { ended: h.clone(), ..Observations::default() });
        let groups = tally.groups.iter().map(|g| GroupRow {
            role: g.role.clone(),
            transaction: g.transaction,
            write: is_write(writes, g.transaction),
            counts: g.counts.clone(),
            measures: Measures::of(&g.counts, &g.latencies),
            responses: Outcome::ALL
                .into_iter()
                .filter_map(|outcome| Some((outcome, alone(g.latencies.response(outcome)?))))
                .collect(),
            service_committed: alone(&g.latencies.service),
        });
        Self {
            elapsed_ns: tally.elapsed_ns(),
            window_start_ns: tally.window_start_ns,
            last_finished_ns: tally.last_finished_ns,
            counts: tally.counts(|_| true),
            groups: sorted(groups.collect()),
            scopes: Scope::ALL
                .map(|scope| Measures::of(&tally.counts(in_scope(scope)), &tally.latencies(in_scope(scope)))),
            committed_inside: Scope::ALL.map(|scope| tally.counts(in_scope(scope)).committed_inside),
            busy_ns: all.busy_ns,
            lock_wait_ns: (all.lock_wait_measured && all.busy_ns > 0).then_some(all.lock_wait_ns),
            fairness: fairness_by_role(tally),
            trend: trend(&tally.bins),
            histograms: [Scope::Read, Scope::Write].map(|scope| {
                let (counts, latencies) = (tally.counts(in_scope(scope)), tally.latencies(in_scope(scope)));
                Measure::ALL.map(|measure| {
                    let Observations { ended, censored, .. } = measured(&latencies, measure)?;
                    let unsent = unsent(&counts, measure);
                    Some(Kept { ended: ended.to_sparse(), censored: censored.to_sparse(), unsent })
                })
            }),
        }
    }

    /// Time from the start of the clients to the end of their last attempt.
    pub fn clients_ns(&self, run_in_ns: u64) -> u64 {
        self.last_finished_ns.saturating_sub(self.window_start_ns.saturating_sub(run_in_ns))
    }

    pub fn scope(&self, scope: Scope) -> &Measures {
        &self.scopes[scope as usize]
    }

    pub fn throughput_per_s(&self, scope: Scope) -> f64 {
        per_second(self.committed_inside[scope as usize], self.elapsed_ns)
    }

    /// Share of the time in attempts that was spent waiting for locks.
    pub fn lock_wait_share(&self) -> Option<f64> {
        self.lock_wait_ns.map(|ns| ns as f64 / self.busy_ns as f64)
    }

    /// Counts over the groups that `wanted` chooses.
    pub fn counts_of(&self, wanted: impl Fn(&GroupRow) -> bool) -> Counts {
        let mut sum = Counts::default();
        self.groups.iter().filter(|g| wanted(g)).for_each(|g| sum.merge(&g.counts));
        sum
    }

    /// The observations of this round; `None` if they were not measured.
    pub fn observations(&self, measure: Measure, scope: Scope) -> Option<Observations> {
        let kinds = match scope {
            Scope::Read => &self.histograms[..1],
            Scope::Write => &self.histograms[1..],
            Scope::All => &self.histograms[..],
        };
        let mut all = Observations::default();
        for kind in kinds {
            let kept = kind[measure as usize].as_ref()?;
            kept.ended.iter().for_each(|&(value_ns, count)| all.ended.record_n(value_ns, count));
            kept.censored.iter().for_each(|&(value_ns, count)| all.censored.record_n(value_ns, count));
            all.unsent += kept.unsent;
        }
        Some(all)
    }

    /// The same as one distribution for the bootstrap, in which operations that did not end are longer than all others: how much
    /// longer they would have taken is unknown.
    pub fn histogram(&self, measure: Measure, scope: Scope) -> Option<SparseHistogram> {
        let Observations { ended: mut all, censored, unsent } = self.observations(measure, scope)?;
        all.record_n(MAX_NS, censored.len() + unsent);
        Some(all.to_sparse())
    }
}

/// One trial: its place, whether it counts, what it measured.
#[derive(Debug, Clone)]
pub struct TrialRow<'r> {
    pub number: u32,
    pub round: u32,
    pub condition: usize,
    pub contender: usize,
    pub(super) trial: &'r Trial,
    /// Why it does not count; empty if it is valid.
    pub reasons: Vec<Reason>,
    /// The load under its condition.
    pub load: Load,
    /// Overhead of its driver's worker, if it was measured.
    pub overhead: Option<OverheadTimes>,
    /// Numbers of the workload's `[scale]` and settings that are numbers, by name.
    pub numbers: BTreeMap<String, f64>,
    /// Values of other contenders in the same round for formulas, by the whole name.
    pub elsewhere: BTreeMap<String, f64>,
    /// `None` when the samples cannot be read, or there was no window.
    pub measured: Option<Measured>,
}

impl<'r> TrialRow<'r> {
    /// Results of the study's kind in this trial, in the slice's own type.
    pub fn of_kind<T: DeserializeOwned>(&self, kind: &str) -> Option<T> {
        self.trial.kinds.read(kind)
    }

    pub fn marks(&self) -> &'r [Mark] {
        &self.trial.marks
    }

    /// CPU time of other programs in the window, in thousandths.
    pub fn foreign_cpu_permille(&self) -> u32 {
        self.trial.foreign_cpu_permille
    }

    /// Whether this includes a server that contend did not start.
    pub fn is_server_unwatched(&self) -> bool {
        self.trial.server_unwatched
    }

    pub fn fsync_ns_before(&self) -> u64 {
        self.trial.fsync_ns_p50_before
    }

    /// `closed` or `open`.
    pub fn load_model(&self) -> &'r str {
        &self.trial.load_model
    }

    pub fn clients(&self) -> u32 {
        self.trial.clients
    }

    /// The row of a trial; `tally` is the error if its samples could not be read.
    pub fn new(trial: &'r Trial, tally: Result<&Tally, String>, run: &'r Run, writes: &[bool]) -> Self {
        let mut reasons = trial.invalid.clone();
        let measured = match tally {
            Ok(tally) => (tally.elapsed_ns() > 0).then(|| Measured::new(tally, writes)),
            Err(detail) => {
                reasons.push(crate::outcome::reason::Invalid::Samples.because(detail));
                None
            }
        };
        let slot = trial.slot;
        let contender = &run.study.contenders[slot.contender];
        let overhead = contender.resolved.overhead.as_ref();
        let settings = contender.resolved.settings.iter();
        let settings = settings.filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?)));
        Self {
            number: slot.trial,
            round: slot.round,
            condition: slot.condition,
            contender: slot.contender,
            trial,
            reasons,
            load: run.study.load.under(&run.study.conditions[slot.condition].axes),
            overhead: overhead.and_then(|idle| run.overhead(slot.condition, &idle.driver)).map(circumstances::times),
            numbers: settings.chain(trial.scale.iter().map(|(name, n)| (name.clone(), *n as f64))).collect(),
            elsewhere: BTreeMap::new(),
            measured,
        }
    }

    pub fn is_valid(&self) -> bool {
        self.reasons.is_empty()
    }

    pub fn had_workers(&self) -> bool {
        !self.trial.workers.is_empty()
    }

    /// CPU time over all workers; `None` unless every one of them reported it.
    pub fn cpu_ns(&self) -> Option<u64> {
        over_workers(self.trial, |w| was_seen(w).then_some(w.cpu_ns))
    }

    /// Resident memory over all workers; `None` unless every one of them reported it.
    pub fn rss_bytes(&self) -> Option<u64> {
        over_workers(self.trial, |w| was_seen(w).then_some(w.rss_bytes))
    }

    /// CPU time of workers and server together, because an embedded database works in its clients; `None` if a server
    /// was not watched.
    pub fn cpu_ns_all(&self) -> Option<u64> {
        with_server(self.trial, |w| was_seen(w).then_some(w.cpu_ns), |server| server.cpu_ns)
    }

    /// Bytes written by workers and server together.
    pub fn written_bytes(&self) -> Option<u64> {
        with_server(self.trial, |w| w.written_bytes, |server| server.written_bytes)
    }

    /// Size of the database; 0 means not measured, because a database is never empty.
    pub fn size_bytes_db(&self) -> Option<u64> {
        Some(self.trial.footprint.size_bytes_db).filter(|bytes| *bytes > 0)
    }

    /// Size of the log, which may be 0; measured whenever that of the database was.
    pub fn size_bytes_wal(&self) -> Option<u64> {
        let footprint = &self.trial.footprint;
        (footprint.size_bytes_db > 0 || footprint.size_bytes_wal > 0).then_some(footprint.size_bytes_wal)
    }
}

/// Whether the transaction of this number writes.
pub fn is_write(writes: &[bool], transaction: u16) -> bool {
    writes.get(usize::from(transaction)).copied().unwrap_or(false)
}

fn sorted(mut groups: Vec<GroupRow>) -> Vec<GroupRow> {
    groups.sort_by(|a, b| (a.transaction, &a.role).cmp(&(b.transaction, &b.role)));
    groups
}

/// The sum over all workers; `None` without workers, or if one has no value.
fn over_workers(trial: &Trial, of: impl Fn(&WorkerInfo) -> Option<u64>) -> Option<u64> {
    let mut each = trial.workers.iter().map(of);
    each.next()?.and_then(|first| each.try_fold(first, |sum, value| Some(sum.saturating_add(value?))))
}

/// The sum over workers and server; `None` if a server was not watched.
fn with_server(
    trial: &Trial,
    worker: impl Fn(&WorkerInfo) -> Option<u64>,
    server: impl Fn(&ServerInfo) -> Option<u64>,
) -> Option<u64> {
    let clients = over_workers(trial, worker).filter(|_| !trial.server_unwatched)?;
    trial.server.as_ref().map_or(Some(clients), |running| Some(clients.saturating_add(server(running)?)))
}

/// Whether the worker was observed: a live process has memory.
fn was_seen(worker: &WorkerInfo) -> bool {
    worker.rss_bytes > 0
}

/// Fairness by role, including clients that had nothing due. A role without a commit is left out if its clients had hardly
/// anything due.
fn fairness_by_role(tally: &Tally) -> Vec<RoleFairness> {
    let planned = |role: &str| {
        let of_role = tally.groups.iter().filter(|group| group.role == role);
        of_role.map(|group| group.counts.planned()).sum::<u64>()
    };
    let is_told = |(role, commits): &(&String, &Vec<u64>)| {
        commits.iter().any(|count| *count > 0) || planned(role) >= DUE_EACH_MIN * commits.len() as u64
    };
    let of = |(role, commits): (&String, &Vec<u64>)| RoleFairness {
        role: role.clone(),
        clients: commits.len(),
        // With little due for each, a client without a commit may have had nothing to do.
        starved: match planned(role) >= DUE_EACH_MIN * commits.len() as u64 {
            true => commits.iter().filter(|&&count| count == 0).count(),
            false => 0,
        },
        fairness: fairness(commits),
    };
    tally.commits_by_role.iter().filter(|(_, commits)| !commits.is_empty()).filter(is_told).map(of).collect()
}

/// Operations that were due and did not commit.
pub fn failed(counts: &Counts) -> u64 {
    counts.planned() - counts.outcome(Outcome::Committed)
}
