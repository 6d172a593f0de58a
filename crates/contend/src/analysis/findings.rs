//! Everything that a report says, as values; how cells, comparisons and effects are found.

use crate::analysis::along::AlongAnswer;
use crate::analysis::cell::{self, Cell, CellBuilder, CellPlace};
use crate::analysis::circumstances::Circumstances;
use crate::analysis::compare::{self, Compared, FactorEffect};
use crate::analysis::estimate::{Estimate, Estimator};
use crate::analysis::grid::FilledGrid;
use crate::analysis::metric::{self, Metric};
use crate::analysis::requests::Sum;
use crate::analysis::tally::{Counting, Tally, Tallying};
use crate::analysis::trial::TrialRow;
use crate::load::Load;
use crate::record::model::{Run, Trial};
use crate::record::recorded::Recorded;
use crate::record::seal::Unsealed;
use crate::stats::drift::{self, Trend};
use crate::study::layout::{Layout, layout};
use crate::study::model::{Export, Grid, Published, Study, Tier, Variant};
use std::any::Any;

/// A question with its answer from this run.
#[derive(Debug, Clone)]
pub struct Answered {
    pub ask: String,
    pub condition: Option<usize>,
    pub said: Result<Sentence, Why>,
}

/// A sentence of the study with its blanks filled in, and the comparison behind it.
#[derive(Debug, Clone)]
pub struct Sentence {
    pub text: String,
    pub compared: Option<Box<Compared>>,
}

/// Why there is no answer, with the missing name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    NoCondition(String),
    NoMetric(String),
    /// The contender has no valid trial.
    NoValidTrial(String),
}

impl Answered {
    pub fn compared(&self) -> Option<&Compared> {
        self.said.as_ref().ok()?.compared.as_deref()
    }
}

/// Compared in every study, in addition to its headline.
const ALSO_COMPARED: [&str; 2] = ["response_ns_p50", "response_ns_p99"];

/// A published number and our estimate of it.
#[derive(Debug, Clone)]
pub struct Reproduced {
    pub published: Published,
    pub metric: Option<Metric>,
    pub ours: Option<Estimate>,
    /// Ours over theirs.
    pub ratio: Option<f64>,
}

/// A drift of the headline over the rounds of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Drift {
    pub condition: usize,
    pub contender: usize,
    pub trend: Trend,
}

/// Everything that a report says, as values.
pub struct Findings<'r> {
    pub study: &'r Study,
    pub circumstances: Circumstances<'r>,
    pub(super) run: &'r Run,
    pub(super) trials: &'r [Trial],
    /// Trials that were disturbed and ran again, which do not count.
    pub(super) again: &'r [Trial],
    /// Names of trials that cannot be read, with the reason.
    pub damaged: &'r [(String, String)],
    /// Files of the record without a seal.
    pub(super) unsealed: &'r [Unsealed],
    /// Names of the transactions, in the order of their numbers.
    pub transactions: Vec<String>,
    /// Whether each transaction writes.
    pub writes: Vec<bool>,
    /// In the order of trials.
    pub rows: Vec<TrialRow<'r>>,
    /// Condition by condition, contenders in the order of the study.
    pub cells: Vec<Cell>,
    pub headline: Option<Metric>,
    pub comparisons: Vec<Compared>,
    /// Contenders that are the same system twice.
    pub self_comparisons: Vec<Compared>,
    pub effects: Vec<FactorEffect>,
    pub answers: Vec<Answered>,
    pub reproduced: Vec<Reproduced>,
    pub drifts: Vec<Drift>,
    /// Condition by condition.
    pub grids: Vec<FilledGrid<'r>>,
    pub alongs: Vec<AlongAnswer<'r>>,
    /// Trials whose slot is not in the study.
    pub strangers: Vec<u32>,
    /// Requests by outcome under each condition, and in it to each contender; empty unless the run loads services.
    pub requests: Vec<Sum>,
    /// Findings of the study's kind, in the type of the slice that brought it.
    pub(super) of_kind: Option<Box<dyn Any>>,
}

/// Counts the samples of a trial. `names` are those of the transactions, in the order of their numbers.
///
/// # Errors
/// The samples cannot be read, or were changed after they were written.
pub fn tally(record: &dyn Recorded, trial: &Trial, counting: Counting, names: &[String]) -> Result<Tally, String> {
    let mut tallying = Tallying::new(trial, counting);
    record.samples(trial.slot.trial, &mut |sample| tallying.push(sample)).map_err(|e| format!("{e:#}"))?;
    Ok(tallying.finish(&trial.planned, names))
}

impl<'r> Findings<'r> {
    /// Whether quantiles are printed without their minimum, as the original did.
    pub fn as_published(&self) -> bool {
        self.study.variant == Variant::AsPublished
    }

    /// The kind of study, if a slice brought it.
    pub fn kind(&self) -> Option<&'r str> {
        self.study.of_kind().map(|_| self.study.kind.as_str())
    }

    /// Findings of the study's kind.
    pub fn of_kind<T: 'static>(&self) -> Option<&T> {
        self.of_kind.as_ref()?.downcast_ref()
    }

    /// Whether some transactions only read, and others write.
    pub fn reads_and_writes(&self) -> bool {
        self.writes.contains(&true) && self.writes.contains(&false)
    }

    /// Number of readable trials.
    pub fn trial_count(&self) -> usize {
        self.trials.len()
    }

    /// Whether the run loads a service instead of a database.
    pub fn of_service(&self) -> bool {
        self.study.is_of_service()
    }

    /// Why a sync did not keep the data, as the end of `a file system ...`. Services and attached servers have theirs
    /// elsewhere; power cuts are simulated.
    pub fn no_sync(&self) -> Option<&str> {
        let is_here = self.trials.iter().any(|trial| !trial.server_unwatched);
        let why = self.circumstances.no_sync.as_deref();
        why.filter(|_| is_here && !self.of_service() && self.kind().is_none())
    }

    /// Contenders of the durable tier on servers whose syncs were not compared with flushes of the disk in any trial. Power cuts
    /// are simulated.
    pub fn syncs_unseen(&self, tier: Tier) -> Vec<usize> {
        let compared = |trial: &&Trial| trial.server.as_ref().is_some_and(|server| server.shows_syncs());
        let on_server = |trial: &&Trial| trial.server.as_ref().is_some_and(|server| server.is_database());
        let unseen = |contender: &usize| {
            let mine = || self.trials.iter().filter(|trial| trial.slot.contender == *contender);
            let executes = !self.study.contenders[*contender].resolved.executes_nothing;
            executes && mine().any(|trial| on_server(&trial)) && !mine().any(|trial| compared(&trial))
        };
        let all = if tier == Tier::Durable && self.kind().is_none() { self.of_tier(tier) } else { vec![] };
        all.into_iter().filter(unseen).collect()
    }

    /// The load under a condition.
    pub fn load(&self, condition: usize) -> Load {
        self.study.load.under(&self.study.conditions[condition].axes)
    }

    /// Rows and columns of a grid; `None` if it has at most one contender.
    pub fn layout(&self, grid: &Grid) -> Option<Layout> {
        layout(self.study, grid)
    }

    /// Exports of the study with safe file names: a record from elsewhere may hold any name.
    pub fn exports(&self) -> impl Iterator<Item = &Export> {
        self.study.exports.iter().filter(|export| Export::check_file(&export.file).is_ok())
    }

    pub fn cell(&self, condition: usize, contender: usize) -> Option<&Cell> {
        cell::find(&self.cells, condition, contender)
    }

    pub fn metric(&self, name: &str) -> Option<Metric> {
        metric::find(self.study, name)
    }

    pub fn estimator(&self) -> Estimator<'_> {
        Estimator { rows: &self.rows, transactions: &self.transactions, study: self.study }
    }

    /// The metric of this name in a cell.
    pub fn estimate(&self, cell: &Cell, name: &str) -> Estimate {
        self.metric(name).map(|metric| self.estimator().estimate(cell, &metric)).unwrap_or_default()
    }

    /// Contenders of a tier, in the order of the study.
    pub fn of_tier(&self, tier: Tier) -> Vec<usize> {
        let contenders = &self.study.contenders;
        (0..contenders.len()).filter(|&i| contenders[i].tier == tier).collect()
    }

    /// The contender that the others of this tier are compared with.
    pub fn baseline(&self, tier: Tier) -> Option<usize> {
        let study = self.study;
        let is_baseline = |index: &usize| {
            let contender = &study.contenders[*index];
            study.baselines.iter().any(|b| *b == contender.name || *b == contender.label)
        };
        self.of_tier(tier).into_iter().find(is_baseline)
    }

    pub(super) fn read_cells(&mut self, record: &dyn Recorded) {
        let study = self.study;
        let known = |s: &crate::record::model::Slot| {
            s.condition < study.conditions.len() && s.contender < study.contenders.len()
        };
        let trials = self.trials;
        self.strangers = trials.iter().filter(|t| !known(&t.slot)).map(|t| t.slot.trial).collect();
        for condition in 0..study.conditions.len() {
            for contender in 0..study.contenders.len() {
                let here = |s: &crate::record::model::Slot| (s.condition, s.contender) == (condition, contender);
                let mut at: Vec<usize> = (0..trials.len()).filter(|&i| here(&trials[i].slot)).collect();
                at.sort_by_key(|&i| (trials[i].slot.round, trials[i].slot.trial));
                let scheduled = self.run.schedule.iter().filter(|s| here(s)).count();
                let cell = self.read_cell(record, (condition, contender), scheduled, &at);
                self.cells.push(cell);
            }
        }
        self.sort_rows();
    }

    fn read_cell(
        &mut self,
        record: &dyn Recorded,
        (condition, contender): (usize, usize),
        scheduled: usize,
        at: &[usize],
    ) -> Cell {
        let mut place = CellPlace { condition, contender, scheduled, valid: vec![], invalid: vec![] };
        let mut builder = CellBuilder::default();
        for &at in at {
            let trial = &self.trials[at];
            let tally = self.tally(record, at);
            let row = TrialRow::new(trial, tally.as_ref().map_err(Clone::clone), self.run, &self.writes);
            match &tally {
                Ok(tally) if row.is_valid() => {
                    builder.add(tally);
                    // Without the series, a report lacks only two charts.
                    let series = record.series(trial.slot.trial).unwrap_or_default();
                    builder.add_series(&series, tally.elapsed_ns());
                    place.valid.push(self.rows.len());
                }
                _ => place.invalid.push(self.rows.len()),
            }
            self.rows.push(row);
        }
        builder.finish(place, &self.rows, &self.writes, self.as_published())
    }

    fn tally(&self, record: &dyn Recorded, at: usize) -> Result<Tally, String> {
        let counting = if self.as_published() { Counting::Original } else { Counting::Corrected };
        tally(record, &self.trials[at], counting, &self.transactions)
    }

    /// Sorts the rows by trial; they were made cell by cell.
    fn sort_rows(&mut self) {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&i| self.rows[i].number);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        for cell in &mut self.cells {
            cell.valid.iter_mut().chain(&mut cell.invalid).for_each(|index| *index = place[*index]);
        }
        self.rows.sort_by_key(|row| row.number);
    }

    /// Metrics to compare, the headline first.
    pub fn compared_metrics(&self) -> Vec<Metric> {
        self.headline_and(&ALSO_COMPARED)
    }

    /// Metrics of the first table: the headline, and throughput.
    pub fn shown_metrics(&self) -> Vec<Metric> {
        self.headline_and(&["throughput_ops_per_s"])
    }

    fn headline_and(&self, names: &[&str]) -> Vec<Metric> {
        let mut metrics: Vec<Metric> = self.headline.iter().cloned().collect();
        for metric in names.iter().filter_map(|name| self.metric(name)) {
            if metrics.iter().all(|have| have.name != metric.name) {
                metrics.push(metric);
            }
        }
        metrics
    }

    pub(super) fn compare(&mut self) {
        let study = self.study;
        let mut all = vec![];
        for condition in 0..study.conditions.len() {
            for tier in Tier::GROUPS {
                let Some(baseline) = self.baseline(tier) else { continue };
                for candidate in self.of_tier(tier).into_iter().filter(|&c| c != baseline) {
                    let Some((b, c)) = self.cell(condition, baseline).zip(self.cell(condition, candidate)) else {
                        continue;
                    };
                    for metric in self.compared_metrics() {
                        all.push(compare::compare(&self.estimator(), b, c, &metric));
                    }
                }
            }
        }
        self.comparisons = all;
    }

    /// Compares contenders that are the same system: their ratio shows the noise of the machine.
    pub(super) fn compare_with_itself(&self) -> Vec<Compared> {
        let study = self.study;
        let Some(headline) = &self.headline else { return vec![] };
        let same = |a: usize, b: usize| {
            let (a, b) = (&study.contenders[a], &study.contenders[b]);
            // A separate worker program may be another build.
            (&a.engine, &a.driver, &a.worker, &a.model, &a.settings)
                == (&b.engine, &b.driver, &b.worker, &b.model, &b.settings)
        };
        let count = study.contenders.len();
        let twins = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).filter(|&(a, b)| same(a, b));
        let pairs = twins.flat_map(|twin| (0..study.conditions.len()).map(move |condition| (condition, twin)));
        pairs
            .filter_map(|(condition, (a, b))| self.cell(condition, a).zip(self.cell(condition, b)))
            .map(|(a, b)| compare::compare(&self.estimator(), a, b, headline))
            .collect()
    }

    /// Number of further comparisons that the report shows: those of answers, and along axes.
    pub fn other_comparisons(&self) -> usize {
        let same = |a: &Compared, b: &Compared| {
            let contenders = |c: &Compared| (c.baseline.min(c.candidate), c.baseline.max(c.candidate));
            (a.condition, contenders(a), &a.metric.name) == (b.condition, contenders(b), &b.metric.name)
        };
        let is_new = |of: &&Compared| !self.comparisons.iter().any(|made| same(made, of));
        let answers = self.answers.iter().filter_map(Answered::compared).filter(is_new).count();
        let axes = || self.alongs.iter().flat_map(|along| &along.found);
        let firsts: usize = axes().flat_map(|axis| &axis.firsts).map(|firsts| firsts.at.len()).sum();
        let turns = axes().flat_map(|axis| &axis.contenders).filter(|of| of.turn.is_compared()).count();
        answers + firsts + turns
    }

    /// The comparison of a candidate with its baseline.
    pub fn compared(&self, condition: usize, candidate: usize, metric: &str) -> Option<&Compared> {
        self.comparisons
            .iter()
            .find(|c| c.condition == condition && c.candidate == candidate && c.metric.name == metric)
    }

    pub(super) fn factor_effects(&self) -> Vec<FactorEffect> {
        let study = self.study;
        let of = |factor: usize, condition: usize| {
            let metric = self.metric(&study.effects[factor].metric);
            compare::factor_effect(&self.estimator(), &self.cells, condition, &study.effects[factor], metric)
        };
        let conditions = 0..study.conditions.len();
        (0..study.effects.len()).flat_map(|factor| conditions.clone().map(move |c| of(factor, c))).collect()
    }

    pub(super) fn reproduced(&self, published: &Published) -> Reproduced {
        let study = self.study;
        let condition = study.conditions.iter().position(|c| c.label == published.condition);
        let contender = study.contenders.iter().position(|c| c.label == published.contender);
        let cell = condition.zip(contender).and_then(|(condition, contender)| self.cell(condition, contender));
        let metric = self.metric(&published.metric);
        let ours = cell.zip(metric.as_ref()).map(|(cell, metric)| self.estimator().estimate(cell, metric));
        let value = ours.as_ref().and_then(|ours| ours.value);
        let ratio = value.filter(|_| published.value > 0.0).map(|value| value / published.value);
        Reproduced { published: published.clone(), metric, ours, ratio }
    }

    pub(super) fn drifting(&self) -> Vec<Drift> {
        let Some(headline) = &self.headline else { return vec![] };
        let drift = |cell: &Cell| {
            let values: Vec<f64> = self.estimator().rounds(cell, headline).into_iter().map(|(_, v)| v).collect();
            let trend = drift::trend(&values).filter(|t| t.drifting)?;
            Some(Drift { condition: cell.condition, contender: cell.contender, trend })
        };
        self.cells.iter().filter_map(drift).collect()
    }
}
