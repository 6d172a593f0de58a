//! What the names of a formula stand for, in one trial and in a cell.

use crate::outcome::Outcome;
use crate::record::tally::Counts;
use crate::report::summary::cell::Cell;
use crate::report::summary::estimate::Estimator;
use crate::report::summary::metric::{Figure, standard};
use crate::report::summary::trial::{GroupRow, TrialRow};
use crate::study::quantity::{Of, Quantity};

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
        "committed_begun" => Some(counts.committed_begun),
        _ => Outcome::ALL.into_iter().find(|outcome| outcome.word() == count).map(|o| counts.outcome(o)),
    }
}

/// The quantity in a cell. Counts and times are means of its valid trials, so that a ratio of counts is that
/// of all operations; figures are what tables show, but for lower bounds, which are no values to reckon with.
pub fn of_cell(name: &str, estimator: &Estimator<'_>, cell: &Cell) -> Option<f64> {
    if let Ok(Quantity::Figure(name)) = Quantity::read(name) {
        return figure_of_cell(&standard(name)?, estimator, cell);
    }
    let of_trial = |&index: &usize| of_trial(name, &estimator.rows[index], estimator.transactions);
    let sum: f64 = cell.valid.iter().map(of_trial).sum::<Option<f64>>()?;
    cell.has_data().then(|| sum / cell.valid.len() as f64)
}

/// A figure as a number to reckon with.
pub fn figure_of_cell(figure: &Figure, estimator: &Estimator<'_>, cell: &Cell) -> Option<f64> {
    let estimate = estimator.estimate(cell, figure);
    estimate.value.filter(|_| !estimate.at_least)
}
