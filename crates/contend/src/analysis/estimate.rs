//! A metric of a cell with its interval, and the values of its rounds.

use crate::analysis::cell::Cell;
use crate::analysis::dist::{self, Shown};
use crate::analysis::metric::name::Name;
use crate::analysis::metric::table::{Of, OverRounds, Part, Row, Stat, only};
use crate::analysis::metric::{self, Metric, What};
use crate::analysis::trial::{Measure, Scope, TrialRow};
use crate::stats::histogram::SparseHistogram;
use crate::stats::quantile::{Observations, Quantile, QuantileValue};
use crate::stats::{bootstrap, interval};
use crate::study::model::{Study, Variant};

/// Estimate of one metric in a cell.
#[derive(Debug, Clone, Default)]
pub struct Estimate {
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The value is a lower bound.
    pub at_least: bool,
    /// Printed although there are too few observations.
    pub few: bool,
    /// Why there is no value, if that is known.
    pub lacking: Option<Lacking>,
    /// Round and value of each valid trial that has one.
    pub rounds: Vec<(u32, f64)>,
}

/// Why a metric has no value in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacking {
    NothingMeasured,
    /// A quantile needs more operations than there are.
    TooFew {
        n: u64,
        needed: u64,
    },
    /// Some operations were cut off or never began, so the mean is unknown.
    CutOff,
}

/// Estimates metrics of cells from the rows of their trials.
#[derive(Debug, Clone, Copy)]
pub struct Estimator<'a> {
    pub rows: &'a [TrialRow<'a>],
    pub transactions: &'a [String],
    pub study: &'a Study,
}

impl Estimator<'_> {
    /// The metric of a cell. Rates and sizes: median of the rounds with its exact interval. Quantiles: those of the
    /// pooled operations, with the bootstrap over rounds. A study's own metric: its formula over the quantities of the
    /// cell.
    pub fn estimate(&self, cell: &Cell, metric: &Metric) -> Estimate {
        let rounds = self.rounds(cell, metric);
        let values: Vec<f64> = rounds.iter().map(|(_, v)| *v).collect();
        if let Some((measure, quantile, scope)) = metric.quantile() {
            return Estimate { rounds, ..self.quantile(cell, measure, quantile, scope) };
        }
        if let What::Own(formula) = &metric.what {
            let value = formula.value(&|name| self.named(name, cell));
            return Estimate { value, rounds, ..Estimate::default() };
        }
        if metric.means().iter().any(|&(measure, scope)| !cell.has_mean(measure, scope)) {
            // Rounds in which every operation began and ended are a biased choice, so they do not give a value.
            let lacking = Some(Lacking::CutOff);
            return Estimate { lacking, rounds, ..Estimate::default() };
        }
        let interval = self.study.looks().median_interval(&values);
        Estimate {
            value: interval::median(&values),
            low: interval.map(|i| i.low),
            high: interval.map(|i| i.high),
            rounds,
            ..Estimate::default()
        }
    }

    /// The value of a formula's name in a cell. Counts and circumstances are means over its valid trials (`rounds` is
    /// their number), so that a ratio of counts is that of all operations. Metrics are the values in tables, except lower
    /// bounds, which have no value here.
    pub fn named(&self, whole: &str, cell: &Cell) -> Option<f64> {
        let name = Name::read(whole).ok()?;
        match name {
            Name::Listed(Row { of: Of::Time(measure, stat), .. }, Part::Transaction(transaction)) => {
                return self.time_of(*measure, *stat, transaction, cell);
            }
            Name::Listed(row, _) if matches!(row.over_rounds(), OverRounds::Pooled | OverRounds::Median) => {
                return self.value(cell, &metric::listed(whole)?);
            }
            _ => {}
        }
        let of_trial = |&index: &usize| name.of_trial(whole, &self.rows[index], self.transactions);
        let sum: f64 = cell.valid.iter().map(of_trial).sum::<Option<f64>>()?;
        let trials = if name.over_rounds() == OverRounds::Sum { 1 } else { cell.valid.len() };
        cell.has_data().then(|| sum / trials as f64)
    }

    /// The metric as a number for formulas; `None` for a lower bound.
    pub fn value(&self, cell: &Cell, metric: &Metric) -> Option<f64> {
        let estimate = self.estimate(cell, metric);
        estimate.value.filter(|_| !estimate.at_least)
    }

    /// A study's own metric where a quantile in it is a lower bound: its value with that bound, if the formula rises with it.
    /// So it is a lower bound as well.
    pub fn own_at_least(&self, cell: &Cell, metric: &Metric) -> Option<f64> {
        let What::Own(formula) = &metric.what else { return None };
        let bound = |name: &str| {
            let estimate = self.estimate(cell, &metric::listed(name)?);
            estimate.value.filter(|_| estimate.at_least)
        };
        let with = |larger: &str| {
            let bound = |name: &str| bound(name).map(|bound| if name == larger { 2.0 * bound } else { bound });
            formula.value(&|name| self.named(name, cell).or_else(|| bound(name)))
        };
        let rises = |value: f64| formula.names().into_iter().all(|name| with(name) >= Some(value));
        with("").filter(|value| rises(*value))
    }

    /// A time of one transaction over all valid rounds; `None` if there are too few operations for the quantile, or
    /// timeouts reach into it.
    fn time_of(&self, measure: Measure, stat: Stat, transaction: &str, cell: &Cell) -> Option<f64> {
        let number = self.transactions.iter().position(|name| name == transaction)?;
        let pool = only(cell.transactions.iter().filter(|group| usize::from(group.transaction) == number))?;
        let dist = pool.pool.dist(measure);
        let ns = match stat {
            Stat::Mean => cell.mean_ns(dist),
            Stat::Quantile(quantile) => match dist.quantile(quantile).value {
                QuantileValue::AtLeast(_) => None,
                _ => dist.quantile(quantile).ns(),
            },
        };
        ns.map(|ns| ns as f64)
    }

    /// The metric in each valid round.
    pub fn rounds(&self, cell: &Cell, metric: &Metric) -> Vec<(u32, f64)> {
        let value = |&index: &usize| {
            let row = &self.rows[index];
            Some((row.round, metric.of_trial(row, self.transactions)?))
        };
        cell.valid.iter().filter_map(value).collect()
    }

    /// The metric over some rounds of a cell, as a comparison uses it: the quantile of their operations, else the
    /// median of their values. `None` if a round has no value.
    pub fn estimate_of(&self, rounds: &[usize], metric: &Metric) -> Option<Estimate> {
        let rows = || rounds.iter().map(|&index| &self.rows[index]);
        if let Some((measure, quantile, scope)) = metric.quantile() {
            let observed = observed(rows(), measure, scope)?;
            return Some(of_shown(dist::shown(&observed.ranked(), quantile, self.as_published())));
        }
        let values: Option<Vec<f64>> = rows().map(|row| metric.of_trial(row, self.transactions)).collect();
        Some(Estimate { value: Some(interval::median(&values?)?), ..Estimate::default() })
    }

    /// Whether quantiles are printed without their minimum, as the original did.
    pub fn as_published(&self) -> bool {
        self.study.variant == Variant::AsPublished
    }

    fn quantile(&self, cell: &Cell, measure: Measure, quantile: Quantile, scope: Scope) -> Estimate {
        let shown = cell.pool(scope).dist(measure).quantile(quantile);
        let rows = cell.valid.iter().map(|&i| &self.rows[i]);
        let interval = match (shown.value, quantile) {
            // The interval needs a number of rounds that was fixed in advance.
            (QuantileValue::Exact(_), q) if q != Quantile::Max && self.study.until.is_none() => {
                histograms(rows, measure, scope)
                    .and_then(|rounds| bootstrap::quantile_interval(&rounds, quantile, self.study.load.seed))
            }
            _ => None,
        };
        Estimate { low: interval.map(|i| i.low_ns as f64), high: interval.map(|i| i.high_ns as f64), ..of_shown(shown) }
    }
}

fn of_shown(shown: Shown) -> Estimate {
    let lacking = match shown.value {
        QuantileValue::TooFew { n: 0, .. } => Some(Lacking::NothingMeasured),
        QuantileValue::TooFew { n, needed } => Some(Lacking::TooFew { n, needed }),
        _ => None,
    };
    Estimate {
        value: shown.ns().map(|ns| ns as f64),
        at_least: matches!(shown.value, QuantileValue::AtLeast(_)),
        few: shown.few,
        lacking,
        ..Estimate::default()
    }
}

/// All observations of these rounds; `None` if a round has none.
pub fn observed<'a>(
    rows: impl Iterator<Item = &'a TrialRow<'a>>,
    measure: Measure,
    scope: Scope,
) -> Option<Observations> {
    let mut all = Observations::default();
    for row in rows {
        all.merge(&row.measured.as_ref()?.observations(measure, scope)?);
    }
    Some(all)
}

/// The distributions of these rounds; `None` if a round has none.
pub fn histograms<'a>(
    rows: impl Iterator<Item = &'a TrialRow<'a>>,
    measure: Measure,
    scope: Scope,
) -> Option<Vec<SparseHistogram>> {
    rows.map(|row| row.measured.as_ref()?.histogram(measure, scope)).collect()
}
