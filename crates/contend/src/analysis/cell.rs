//! One contender under one condition: its valid trials pooled.
//!
//! Histograms exist only while a cell is added up, so memory grows with the number of trials, not with the number of
//! samples.

use crate::analysis::course::{Course, CourseBuilder};
use crate::analysis::dist::{Dist, Shown};
use crate::analysis::tally::{Bin, Counts, Latencies, Tally};
use crate::analysis::trial::{Measure, Measured, RoleFairness, Scope, TrialRow, all_observations, failed, is_write};
use crate::stats::drift::TRIAL_BINS;
use crate::stats::fairness::Fairness;
use crate::stats::interval;
use crate::stats::quantile::{Observations, Quantile};
use std::collections::BTreeMap;

/// Counts and distributions of one kind of transaction.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    pub counts: Counts,
    pub response: Dist,
    pub service: Dist,
    /// Without observations if the driver does not measure it.
    pub lock_wait: Dist,
    pub acquire_wait: Dist,
}

impl Pool {
    pub fn dist(&self, measure: Measure) -> &Dist {
        match measure {
            Measure::Response => &self.response,
            Measure::Service => &self.service,
            Measure::LockWait => &self.lock_wait,
            Measure::AcquireWait => &self.acquire_wait,
        }
    }
}

/// One transaction in one role.
#[derive(Debug, Clone)]
pub struct TransactionPool {
    pub role: String,
    pub transaction: u16,
    pub pool: Pool,
}

/// One stretch of the window, over all rounds.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Middle of the stretch.
    pub at_ns: f64,
    pub committed_per_s: f64,
    pub failed_per_s: f64,
    pub p50: Shown,
    pub p95: Shown,
}

/// Clients of one role that got nothing in a round.
#[derive(Debug, Clone)]
pub struct Starved {
    /// `None` if there is only one role.
    pub role: Option<String>,
    pub starved: usize,
    /// Clients of the role.
    pub clients: usize,
}

impl Starved {
    pub fn share(&self) -> f64 {
        self.starved as f64 / self.clients as f64
    }
}

/// Fairness between the clients of one role over the rounds.
#[derive(Debug, Clone)]
pub struct FairnessOverRounds {
    /// The role that was served least evenly; `None` if there is only one role.
    pub role: Option<String>,
    pub jain_median: f64,
    /// The least fair round.
    pub worst: Fairness,
    pub clients: usize,
}

/// One contender under one condition.
#[derive(Debug, Clone)]
pub struct Cell {
    pub condition: usize,
    pub contender: usize,
    /// Number of its trials in the schedule.
    pub scheduled: usize,
    /// Indices into the rows of the findings, in the order of rounds.
    pub valid: Vec<usize>,
    pub invalid: Vec<usize>,
    pools: Vec<Pool>,
    pub transactions: Vec<TransactionPool>,
    pub elapsed_ns: u64,
    /// Clients of all valid trials together.
    pub clients: u64,
    pub fairness: Option<FairnessOverRounds>,
    /// `None` if each client committed something in each round.
    pub starved: Option<Starved>,
    pub lock_wait_share: Option<f64>,
    pub timeline: Vec<Stretch>,
    pub course: Vec<Course>,
}

/// The cell of a contender under a condition.
pub fn find(cells: &[Cell], condition: usize, contender: usize) -> Option<&Cell> {
    cells.iter().find(|cell| cell.condition == condition && cell.contender == contender)
}

/// Largest share of failed operations for a contender that kept up.
const KEPT_UP: f64 = 0.001;
/// One of so many operations of a transaction may not have begun, or it has no mean.
const UNSENT_OF: u64 = 100;

impl Cell {
    /// The pool of this kind of transaction.
    pub fn pool(&self, scope: Scope) -> &Pool {
        &self.pools[scope as usize]
    }

    /// Counts of a transaction in one role, or in all.
    pub fn counts(&self, role: Option<&str>, transaction: u16) -> Counts {
        let mut sum = Counts::default();
        let wanted = |of: &&TransactionPool| of.transaction == transaction && role.is_none_or(|role| of.role == role);
        self.transactions.iter().filter(wanted).for_each(|of| sum.merge(&of.pool.counts));
        sum
    }

    /// Whether some operations of this kind were cut off.
    pub fn cut_off(&self, measure: Measure, scope: Scope) -> bool {
        self.pool(scope).dist(measure).censored > 0
    }

    /// Whether there is a mean of this kind: no operation was cut off, and each one began.
    pub fn has_mean(&self, measure: Measure, scope: Scope) -> bool {
        self.have_begun(self.pool(scope).dist(measure)) && !self.cut_off(measure, scope)
    }

    /// The mean of the operations of one transaction. Those of a rare one may all be among the operations that never began.
    pub fn mean_ns(&self, of: &Dist) -> Option<u64> {
        of.mean_ns.filter(|_| self.have_begun(of) && of.unsent * UNSENT_OF <= of.n)
    }

    /// Whether all operations began, except for at most one of each client: it may have been due in the moment in which the
    /// window ended.
    fn have_begun(&self, of: &Dist) -> bool {
        of.unsent <= self.clients
    }

    /// Whether the contender did everything that was due, except for at most one operation in a thousand.
    pub fn kept_up(&self) -> bool {
        let counts = &self.pool(Scope::All).counts;
        counts.planned() > 0 && failed(counts) as f64 <= KEPT_UP * counts.planned() as f64
    }

    /// The rate that was asked for in an open loop, if the contender kept up with it.
    pub fn kept_up_at(&self, rows: &[TrialRow<'_>]) -> Option<f64> {
        self.rate_per_s(rows).filter(|_| self.kept_up())
    }

    /// Arrivals per second in an open loop.
    pub fn rate_per_s(&self, rows: &[TrialRow<'_>]) -> Option<f64> {
        rows[*self.valid.first()?].load.rate_per_s
    }

    pub fn has_data(&self) -> bool {
        !self.valid.is_empty()
    }
}

/// Adds up the valid trials of a cell.
#[derive(Default)]
pub struct CellBuilder {
    groups: BTreeMap<(u16, String), (Counts, Latencies)>,
    bins: Vec<Bin>,
    course: CourseBuilder,
}

impl CellBuilder {
    /// Adds the series of a trial with this window.
    pub fn add_series(&mut self, series: &str, window_ns: u64) {
        self.course.add(series, window_ns);
    }

    pub fn add(&mut self, tally: &Tally) {
        for group in &tally.groups {
            let key = (group.transaction, group.role.clone());
            let (counts, latencies) = self.groups.entry(key).or_insert_with(|| (Counts::default(), Latencies::none()));
            counts.merge(&group.counts);
            latencies.merge(&group.latencies);
        }
        let per_stretch = tally.bins.len().div_ceil(TRIAL_BINS).max(1);
        self.bins.resize_with(TRIAL_BINS, Bin::default);
        for (stretch, bins) in self.bins.iter_mut().zip(tally.bins.chunks(per_stretch)) {
            for bin in bins {
                stretch.committed += bin.committed;
                stretch.failed += bin.failed;
                stretch.response.merge(&bin.response);
            }
        }
    }

    /// The cell; `rows` are all rows of the findings so far.
    pub fn finish(self, place: CellPlace, rows: &[TrialRow<'_>], writes: &[bool], always: bool) -> Cell {
        let measured: Vec<&Measured> = place.valid.iter().filter_map(|&i| rows[i].measured.as_ref()).collect();
        let pool = |wanted: &dyn Fn(u16) -> bool| {
            let (mut counts, mut latencies) = (Counts::default(), Latencies::none());
            for ((_, _), (c, l)) in self.groups.iter().filter(|((t, _), _)| wanted(*t)) {
                counts.merge(c);
                latencies.merge(l);
            }
            to_pool(counts, &latencies, always)
        };
        let elapsed_ns: u64 = measured.iter().map(|m| m.elapsed_ns).sum();
        Cell {
            condition: place.condition,
            contender: place.contender,
            scheduled: place.scheduled,
            pools: Scope::ALL.map(|scope| pool(&|t| scope.holds(is_write(writes, t)))).to_vec(),
            transactions: self
                .groups
                .iter()
                .map(|((transaction, role), (counts, latencies))| TransactionPool {
                    role: role.clone(),
                    transaction: *transaction,
                    pool: to_pool(counts.clone(), latencies, always),
                })
                .collect(),
            elapsed_ns,
            clients: place.valid.iter().map(|&i| u64::from(rows[i].clients())).sum(),
            fairness: fairness_over_rounds(&measured),
            starved: starved_most(&measured),
            lock_wait_share: lock_wait_share(&measured),
            timeline: timeline(&self.bins, elapsed_ns, measured.len(), always),
            course: self.course.finish(),
            valid: place.valid,
            invalid: place.invalid,
        }
    }
}

/// Contender, condition and trials of a cell.
pub struct CellPlace {
    pub condition: usize,
    pub contender: usize,
    pub scheduled: usize,
    pub valid: Vec<usize>,
    pub invalid: Vec<usize>,
}

fn to_pool(counts: Counts, latencies: &Latencies, always: bool) -> Pool {
    let dist = |measure| Dist::new(&all_observations(&counts, latencies, measure), always);
    let [response, service, lock_wait, acquire_wait] = Measure::ALL.map(dist);
    Pool { counts, response, service, lock_wait, acquire_wait }
}

/// Fairness of the role with the lowest median. Roles are kept apart because their clients do different things.
fn fairness_over_rounds(measured: &[&Measured]) -> Option<FairnessOverRounds> {
    let mut by_role: BTreeMap<&str, Vec<&RoleFairness>> = BTreeMap::new();
    for of_round in measured.iter().flat_map(|m| &m.fairness) {
        by_role.entry(&of_round.role).or_default().push(of_round);
    }
    let several = by_role.len() > 1;
    let of_role = |(role, rounds): (&str, Vec<&RoleFairness>)| {
        let jain: Vec<f64> = rounds.iter().filter_map(|r| Some(r.fairness?.jain_index)).collect();
        let worst = rounds.iter().filter_map(|r| r.fairness).min_by(|a, b| a.jain_index.total_cmp(&b.jain_index))?;
        Some(FairnessOverRounds {
            role: several.then(|| role.to_string()),
            jain_median: interval::median(&jain)?,
            worst,
            clients: rounds.iter().map(|r| r.clients).max()?,
        })
    };
    by_role.into_iter().filter_map(of_role).min_by(|a, b| a.jain_median.total_cmp(&b.jain_median))
}

/// The round and role with the largest share of clients that got nothing.
fn starved_most(measured: &[&Measured]) -> Option<Starved> {
    let several = measured.iter().any(|of_round| of_round.fairness.len() > 1);
    let all = measured.iter().flat_map(|of_round| &of_round.fairness).filter(|of_role| of_role.starved > 0);
    let starved = |of: &RoleFairness| Starved {
        role: several.then(|| of.role.clone()),
        starved: of.starved,
        clients: of.clients,
    };
    all.map(starved).max_by(|a, b| a.share().total_cmp(&b.share()))
}

fn lock_wait_share(measured: &[&Measured]) -> Option<f64> {
    let waited: Option<u64> = measured.iter().map(|m| m.lock_wait_ns).sum();
    let busy: u64 = measured.iter().map(|m| m.busy_ns).sum();
    waited.filter(|_| busy > 0).map(|waited| waited as f64 / busy as f64)
}

fn timeline(bins: &[Bin], elapsed_ns: u64, rounds: usize, always: bool) -> Vec<Stretch> {
    if rounds == 0 || elapsed_ns == 0 {
        return vec![];
    }
    let stretch_ns = elapsed_ns as f64 / rounds as f64 / bins.len() as f64;
    let stretch_s_all_rounds = stretch_ns * rounds as f64 / 1e9;
    let stretch = |(index, bin): (usize, &Bin)| {
        let dist = Dist::new(&Observations { ended: bin.response.clone(), ..Observations::default() }, always);
        Stretch {
            at_ns: (index as f64 + 0.5) * stretch_ns,
            committed_per_s: bin.committed as f64 / stretch_s_all_rounds,
            failed_per_s: bin.failed as f64 / stretch_s_all_rounds,
            p50: dist.quantile(Quantile::P50),
            p95: dist.quantile(Quantile::P95),
        }
    };
    bins.iter().enumerate().map(stretch).collect()
}
