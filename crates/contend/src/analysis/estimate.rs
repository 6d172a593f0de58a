//! A figure of a cell with its interval, and the values of its rounds.

use crate::analysis::cell::Cell;
use crate::analysis::figure::{Figure, What};
use crate::analysis::trial::{Measure, Scope, TrialRow};
use crate::analysis::value;
use crate::stats::bootstrap;
use crate::stats::histogram::{Histogram, SparseHistogram};
use crate::stats::interval;
use crate::stats::quantile::{Quantile, QuantileValue};

/// What a cell says of one figure.
#[derive(Debug, Clone, Default)]
pub struct Estimate {
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The value is a lower bound.
    pub at_least: bool,
    /// Printed although the observations are too few.
    pub few: bool,
    /// Why there is no value, if there is something to say.
    pub lacking: Option<String>,
    /// Round and value of each valid trial that has one.
    pub rounds: Vec<(u32, f64)>,
}

/// Estimates from rows and what the study knows.
#[derive(Debug, Clone, Copy)]
pub struct Estimator<'a> {
    pub rows: &'a [TrialRow],
    pub transactions: &'a [String],
    pub seed: u64,
}

impl Estimator<'_> {
    /// The figure of a cell. Rates, sizes and the like: the median of the rounds with its exact interval.
    /// Quantiles: of the pooled operations, with the bootstrap over rounds. A study's own: its formula over
    /// the quantities of the cell.
    pub fn estimate(&self, cell: &Cell, figure: &Figure) -> Estimate {
        let rounds = self.rounds(cell, figure);
        let values: Vec<f64> = rounds.iter().map(|(_, v)| *v).collect();
        if let Some((measure, quantile, scope)) = figure.quantile() {
            return Estimate { rounds, ..self.quantile(cell, measure, quantile, scope) };
        }
        if let What::Own(formula) = &figure.what {
            let value = formula.value(&|name| value::of_cell(name, self, cell));
            return Estimate { value, rounds, ..Estimate::default() };
        }
        if cell.cut_off(figure) {
            // The rounds in which nothing was cut off are the lucky ones: they do not stand for the others.
            let lacking = Some("some operations were cut off and took nobody knows how long".to_string());
            return Estimate { lacking, rounds, ..Estimate::default() };
        }
        let interval = interval::median_interval(&values);
        Estimate {
            value: interval::median(&values),
            low: interval.map(|i| i.low),
            high: interval.map(|i| i.high),
            rounds,
            ..Estimate::default()
        }
    }

    /// The figure in each valid round.
    pub fn rounds(&self, cell: &Cell, figure: &Figure) -> Vec<(u32, f64)> {
        let value = |&index: &usize| {
            let row = &self.rows[index];
            Some((row.round, figure.of_trial(row, self.transactions)?))
        };
        cell.valid.iter().filter_map(value).collect()
    }

    /// The figure over some rounds of a cell, as a comparison takes it: the quantile of their operations, else the median
    /// of their values. None where one of them has none.
    pub fn estimate_of(&self, rounds: &[usize], figure: &Figure) -> Option<Estimate> {
        let rows = || rounds.iter().map(|&index| &self.rows[index]);
        let value = match figure.quantile() {
            Some((measure, quantile, scope)) => pooled(&histograms(rows(), measure, scope)?, quantile)? as f64,
            None => {
                let values: Option<Vec<f64>> = rows().map(|row| figure.of_trial(row, self.transactions)).collect();
                interval::median(&values?)?
            }
        };
        Some(Estimate { value: Some(value), ..Estimate::default() })
    }

    fn quantile(&self, cell: &Cell, measure: Measure, quantile: Quantile, scope: Scope) -> Estimate {
        let shown = cell.pool(scope).dist(measure).quantile(quantile);
        let lacking = match shown.value {
            QuantileValue::TooFew { n: 0, .. } => Some("nothing was measured".to_string()),
            QuantileValue::TooFew { n, needed } => Some(format!("it takes {needed} operations and there are {n}")),
            _ => None,
        };
        let rows = cell.valid.iter().map(|&i| &self.rows[i]);
        let interval = match (shown.value, quantile) {
            (QuantileValue::Exact(_), q) if q != Quantile::Max => histograms(rows, measure, scope)
                .and_then(|rounds| bootstrap::quantile_interval(&rounds, quantile, self.seed)),
            _ => None,
        };
        Estimate {
            value: shown.ns().map(|ns| ns as f64),
            low: interval.map(|i| i.low_ns as f64),
            high: interval.map(|i| i.high_ns as f64),
            at_least: matches!(shown.value, QuantileValue::AtLeast(_)),
            few: shown.few,
            lacking,
            rounds: vec![],
        }
    }
}

/// The quantile of all that these rounds hold.
pub fn pooled(rounds: &[SparseHistogram], quantile: Quantile) -> Option<u64> {
    let mut all = Histogram::new();
    rounds.iter().flatten().for_each(|&(value_ns, count)| all.record_n(value_ns, count));
    all.quantile(quantile.fraction())
}

/// The distributions of these rounds; none if one of them has none.
pub fn histograms<'a>(
    rows: impl Iterator<Item = &'a TrialRow>,
    measure: Measure,
    scope: Scope,
) -> Option<Vec<SparseHistogram>> {
    rows.map(|row| row.measured.as_ref()?.histogram(measure, scope)).collect()
}
