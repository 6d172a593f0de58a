//! How a workload, carried out on SQLite in memory, differs from its capture. Generators that miss the program's values show here,
//! and not as a wrong speed in a study.

use crate::program::Shapes;
use crate::sql::Does;
use crate::trace::Call;
use crate::workload::ordered::{Ordered, with_argument};
use crate::workload::trial::{FAILURES, OPERATIONS, Tallies, Tally, Trial, carry_out};
use anyhow::Result;
use contend::stats::precision::counted;
use std::collections::{BTreeMap, BTreeSet};

/// Executions that a mean needs on both sides.
const EXECUTIONS_MIN: u64 = 10;
/// How far the means may be apart: a factor, and a difference in rows.
const FACTOR: f64 = 1.5;
const DIFFERENCE: f64 = 0.2;
/// Distance of a statement with too few executions; larger than any measured one.
const UNSEEN: f64 = 1e3;

/// A statement of the workload in the capture: rows that it returned, or changed.
pub struct Found {
    /// Its text as the program wrote it, without its values.
    pub text: String,
    pub does: Does,
    pub rows: u64,
    pub executions: u64,
    /// Executions that failed, but for locks.
    pub failed: u64,
    /// Whether the program left rows unread.
    pub is_cut: bool,
    pub ordered: Vec<Ordered>,
}

impl Found {
    pub fn of(shapes: &Shapes, number: usize, calls: &[&Call]) -> Found {
        let shape = &shapes.all[number];
        let done = || calls.iter().filter(|call| !call.has_failed() && !call.is_pending());
        Found {
            text: shapes.written[number].clone(),
            does: shape.does,
            rows: done().map(|call| shape.does.rows_of(call)).sum(),
            executions: done().count() as u64,
            failed: calls.iter().filter(|call| call.has_failed() && !call.is_busy()).count() as u64,
            is_cut: calls.iter().any(|call| call.is_cut),
            ordered: vec![],
        }
    }

    /// A sentence, if more than one of 20 executions failed in the program.
    pub fn failures(&self) -> Option<String> {
        let all = self.executions + self.failed;
        let is_often = self.failed as f64 > FAILURES * all as f64;
        is_often.then(|| {
            format!(
                "{} of {} failed in the program, and drawn values do not repeat that: {}",
                self.failed,
                counted(all as usize, "execution"),
                self.text
            )
        })
    }
}

/// Statements of each transaction, in order.
pub type All<'a> = BTreeMap<&'a str, &'a [Found]>;

/// How a transaction of the workload differs from the captured one.
pub struct Difference {
    pub transaction: String,
    pub what: Differs,
    pub sentence: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Differs {
    /// Operations fail.
    Fails,
    /// A statement finds another number of rows.
    Rows,
}

/// Takes the arguments that fit best into the workload; returns what then differs from the capture.
///
/// # Errors
/// The workload is not tried out, and why.
pub fn fit(text: &mut String, found: &All, trial: &Trial) -> Result<Vec<Difference>> {
    let tried = |text: &str| carry_out(text, trial, OPERATIONS);
    let mut tallies = tried(text)?;
    let mut nearest: BTreeMap<(&str, usize), (f64, Option<usize>)> = BTreeMap::new();
    for (name, at, statement) in ordered(found) {
        let distance = distance(statement, &tallies, name, at).filter(|distance| *distance > 0.0);
        nearest.extend(distance.map(|distance| ((name, at), (distance, None))));
    }
    if nearest.is_empty() {
        return Ok(differences(found, &tallies));
    }
    for end in 0..2 {
        let all = nearest.keys().map(|place| (*place, end)).collect();
        let moved = tried(&with_ends(text, found, &all))?;
        for ((name, at), (before, chosen)) in &mut nearest {
            let now = distance(&found[name][*at], &moved, name, *at).filter(|now| now < before);
            (*before, *chosen) = now.map_or((*before, *chosen), |now| (now, Some(end)));
        }
    }
    let chosen = nearest.into_iter().filter_map(|(place, (_, end))| Some((place, end?))).collect();
    *text = with_ends(text, found, &chosen);
    tallies = tried(text)?;
    Ok(differences(found, &tallies))
}

/// Transactions whose statements find the captured numbers of rows better in the first workload than in the other one, or that fail
/// less there; none if they cannot be tried out.
pub fn better((one, other): (&str, &str), found: &All, trial: &Trial) -> BTreeSet<String> {
    // A queue that is empty after more operations than were captured is no reason.
    let operations = OPERATIONS.min(u32::try_from(trial.transactions).unwrap_or(OPERATIONS));
    let tried = |text| carry_out(text, trial, operations);
    let Ok([one, other]) = tried(one).and_then(|one| Ok([one, tried(other)?])) else {
        return BTreeSet::new();
    };
    let failed = |tallies: &Tallies, name: &str| tallies.get(name).map_or(0.0, Tally::failed_share);
    let apart = |tallies: &Tallies, name: &str, all: &[Found]| -> f64 {
        let of = |(at, statement)| distance(statement, tallies, name, at).unwrap_or(UNSEEN);
        all.iter().enumerate().map(of).sum()
    };
    let is_better = |name: &str, all: &[Found]| {
        let (by_one, by_other) = (failed(&one, name), failed(&other, name));
        by_other > by_one + FAILURES || apart(&one, name, all) < apart(&other, name, all)
    };
    found.iter().filter(|(name, all)| is_better(name, all)).map(|(name, _)| (*name).to_string()).collect()
}

/// Statements with arguments that are compared by order: transaction, place in it, statement.
fn ordered<'a>(found: &All<'a>) -> impl Iterator<Item = (&'a str, usize, &'a Found)> {
    found.iter().flat_map(|(name, all)| {
        let all = all.iter().enumerate().filter(|(_, statement)| !statement.ordered.is_empty());
        all.map(move |(at, statement)| (*name, at, statement))
    })
}

/// The workload with these ends in place of the arguments of statements.
fn with_ends(text: &str, found: &All, ends: &BTreeMap<(&str, usize), usize>) -> String {
    let mut out = text.to_string();
    for ((name, at), end) in ends {
        for argument in &found[name][*at].ordered {
            out = with_argument(&out, (name, &argument.name), argument.ends[*end]);
        }
    }
    out
}

/// Mean numbers of rows of a statement in the capture and in the workload; `None` with too few executions.
fn means(found: &Found, tallies: &Tallies, (name, at): (&str, usize)) -> Option<(f64, f64)> {
    let (rows, executions) = *tallies.get(name)?.statements.get(at)?;
    let enough = found.executions.min(executions) >= EXECUTIONS_MIN && matches!(found.does, Does::Read | Does::Write);
    enough.then(|| (found.rows as f64 / found.executions as f64, rows as f64 / executions as f64))
}

/// How far both means are apart, on a logarithmic scale; 0 if that is near enough.
fn distance(found: &Found, tallies: &Tallies, name: &str, at: usize) -> Option<f64> {
    let (captured, here) = means(found, tallies, (name, at))?;
    let (low, high) = (captured.min(here), captured.max(here));
    let is_near = high - low < DIFFERENCE || high < low * FACTOR || (found.is_cut && here > captured);
    Some(if is_near { 0.0 } else { ((high + DIFFERENCE) / (low + DIFFERENCE)).ln() })
}

fn differences(found: &All, tallies: &Tallies) -> Vec<Difference> {
    let mut out = vec![];
    for (name, statements) in found {
        let Some(tally) = tallies.get(*name) else { continue };
        let difference = |what, sentence: String| Difference {
            transaction: (*name).to_string(),
            what,
            sentence: format!("{name}: {sentence}"),
        };
        out.extend(tally.failures().map(|sentence| difference(Differs::Fails, sentence)));
        let differs = |(at, found): (usize, &Found)| {
            distance(found, tallies, name, at).filter(|distance| *distance > 0.0)?;
            let (captured, here) = means(found, tallies, (name, at))?;
            let does = if found.does == Does::Read { "returns" } else { "changes" };
            let (here, captured, text) = (shown(here), shown(captured), &found.text);
            let sentence = format!(
                "a statement {does} {here} rows in the workload, and {captured} in the capture (means): {text}"
            );
            Some(difference(Differs::Rows, sentence))
        };
        out.extend(statements.iter().enumerate().filter_map(differs));
    }
    out
}

fn shown(mean: f64) -> String {
    if mean >= 10.0 { format!("{mean:.0}") } else { format!("{mean:.2}") }
}
