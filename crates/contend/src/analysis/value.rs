//! What the names of a formula stand for, in one trial and in a cell.

use crate::analysis::cell::Cell;
use crate::analysis::estimate::Estimator;
use crate::analysis::figure::{Figure, Stat, What, standard};
use crate::analysis::formula::Formula;
use crate::analysis::quantity::{Of, Quantity};
use crate::analysis::tally::Counts;
use crate::analysis::trial::{GroupRow, Measure, TrialRow};
use crate::outcome::Outcome;
use crate::stats::quantile::QuantileValue;
use crate::study::model::Study;

/// The quantity in one trial; none if it was not measured there or nobody knows it.
pub fn of_trial(name: &str, row: &TrialRow, transactions: &[String]) -> Option<f64> {
    let measured = row.measured.as_ref()?;
    match Quantity::read(name).ok()? {
        Quantity::Count(count, of) => {
            let transaction = |name| transactions.iter().position(|t| t == name);
            let counts = match of {
                Of::All => measured.counts.clone(),
                Of::Reads => measured.counts_of(|group| !group.write),
                Of::Writes => measured.counts_of(|group| group.write),
                Of::Transaction(name) => {
                    let number = transaction(name)?;
                    measured.counts_of(|group: &GroupRow| usize::from(group.transaction) == number)
                }
            };
            counted(count, &counts).map(|n| n as f64)
        }
        Quantity::Code(space, code) => Some(measured.counts.codes.get(&(space, code)).copied().unwrap_or(0) as f64),
        Quantity::Figure(name) => standard(name)?.of_trial(row, transactions),
        Quantity::TimeOf(name, transaction) => {
            let (measure, stat) = time(name)?;
            let number = transactions.iter().position(|t| t == transaction)?;
            let group = only(measured.groups.iter().filter(|group| usize::from(group.transaction) == number))?;
            let numbers = group.measures.numbers(measure);
            let value = match stat {
                Stat::Mean => numbers.mean_ns,
                Stat::Quantile(quantile) => numbers.quantile(quantile),
            };
            value.map(|ns| ns as f64)
        }
        Quantity::Elsewhere(..) => row.set.get(name).copied(),
        Quantity::Other("elapsed_s") => Some(measured.elapsed_ns as f64 / 1e9),
        Quantity::Other(name) => row.set.get(name).copied(),
    }
}

fn counted(count: &str, counts: &Counts) -> Option<u64> {
    match count {
        "planned" => Some(counts.planned()),
        "attempts" => Some(counts.attempts),
        "retries" => Some(counts.retries),
        "rows" => Some(counts.rows),
        "longest_stall_ns" => Some(counts.longest_stall_ns),
        "committed_begun" => Some(counts.committed_begun),
        _ => Outcome::ALL.into_iter().find(|outcome| outcome.word() == count).map(|o| counts.outcome(o)),
    }
}

/// The quantity in a cell. Counts and times are means of its valid trials, so that a ratio of counts is that
/// of all operations; figures are what tables show, but for lower bounds, which are no values to reckon with.
pub fn of_cell(name: &str, estimator: &Estimator<'_>, cell: &Cell) -> Option<f64> {
    match Quantity::read(name) {
        Ok(Quantity::Figure(name)) => return figure_of_cell(&standard(name)?, estimator, cell),
        Ok(Quantity::TimeOf(name, transaction)) => return time_in_cell(name, transaction, estimator, cell),
        _ => {}
    }
    let of_trial = |&index: &usize| of_trial(name, &estimator.rows[index], estimator.transactions);
    let sum: f64 = cell.valid.iter().map(of_trial).sum::<Option<f64>>()?;
    cell.has_data().then(|| sum / cell.valid.len() as f64)
}

/// Gives each row what its study's formulas ask of another contender in the same round.
pub fn look_elsewhere(study: &Study, rows: &mut [TrialRow], transactions: &[String]) {
    let formulas: Vec<Formula> = study.metrics.iter().filter_map(|m| Formula::parse(&m.value).ok()).collect();
    for whole in formulas.iter().flat_map(Formula::names) {
        let Ok(Quantity::Elsewhere(name, label)) = Quantity::read(whole) else { continue };
        let there = |row: &TrialRow| study.contenders[row.contender].label == label && row.is_valid();
        let found: Vec<((u32, usize), f64)> = rows
            .iter()
            .filter(|row| there(row))
            .filter_map(|row| Some(((row.round, row.condition), of_trial(name, row, transactions)?)))
            .collect();
        for row in rows.iter_mut() {
            let same = found.iter().find(|(place, _)| *place == (row.round, row.condition));
            row.set.extend(same.map(|(_, value)| (whole.to_string(), *value)));
        }
    }
}

/// A time of one transaction, all valid rounds pooled; none where too few operations carry the quantile, or timeouts
/// reach into it.
fn time_in_cell(name: &str, transaction: &str, estimator: &Estimator<'_>, cell: &Cell) -> Option<f64> {
    let (measure, stat) = time(name)?;
    let number = estimator.transactions.iter().position(|t| t == transaction)?;
    let pool = only(cell.transactions.iter().filter(|group| usize::from(group.transaction) == number))?;
    let dist = pool.pool.dist(measure);
    let ns = match stat {
        Stat::Mean => dist.mean_ns,
        Stat::Quantile(quantile) => match dist.quantile(quantile).value {
            QuantileValue::AtLeast(_) => None,
            _ => dist.quantile(quantile).ns(),
        },
    };
    ns.map(|ns| ns as f64)
}

fn time(name: &str) -> Option<(Measure, Stat)> {
    match standard(name)?.what {
        What::Latency { measure, stat, .. } => Some((measure, stat)),
        _ => None,
    }
}

/// The only one: of a transaction that several roles have there is no single time.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next();
    first.filter(|_| all.next().is_none())
}

/// A figure as a number to reckon with.
pub fn figure_of_cell(figure: &Figure, estimator: &Estimator<'_>, cell: &Cell) -> Option<f64> {
    let estimate = estimator.estimate(cell, figure);
    estimate.value.filter(|_| !estimate.at_least)
}
