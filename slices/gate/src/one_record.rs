//! Judges the contenders of one record against its baseline: two builds of a service that `contend http` measured in the same
//! rounds, or two builds of a driver.

use crate::judge::{COVERAGE, Judged, judge_pairs_of, judgement};
use crate::page::{Page, line};
use crate::records::{is_baseline, of_rounds, open};
use anyhow::{Context, Result, ensure};
use contend::analysis::Findings;
use contend::analysis::cell::Cell;
use contend::analysis::metric::{self, Metric};
use contend::report::document::{Cell as TableCell, Table};
use contend_stats::interval::median;
use contend_stats::precision::{Percent, Ratio, counted};
use contend_stats::verdict::{Comparison, Direction, RoundPair};
use std::path::Path;

/// A contender and the baseline of its tier, with the values of the rounds that have both.
struct Pair {
    name: String,
    base: String,
    rounds: Vec<RoundPair>,
}

/// Judges every contender that is not a baseline.
///
/// # Errors
/// The record cannot be read, or has nothing to compare.
pub fn judged(dir: &Path, margin: f64) -> Result<Page> {
    let record = open(dir)?;
    let findings = Findings::new(&record);
    let headline = &findings.study.headline;
    let metric = metric::find(findings.study, headline).with_context(|| format!("no metric is called {headline}"))?;
    let pairs: Vec<Pair> = findings.cells.iter().filter_map(|cell| pair(&findings, cell, &metric)).collect();
    ensure!(
        !pairs.is_empty(),
        "{} has no baseline with another contender of its tier; a gate of one record needs both, such as one of \
         `contend http URL_A URL_B`",
        dir.display()
    );
    // All comparisons together are wrong in at most one gate of a hundred.
    let coverage = 1.0 - (1.0 - COVERAGE) / pairs.len() as f64;
    let judged = |pair: &Pair| judge_pairs_of(&pair.rounds, metric.direction, (coverage, margin));
    let compared: Vec<(&Pair, Comparison)> = pairs.iter().map(|pair| (pair, judged(pair))).collect();
    Ok(page(&compared, &metric, dir, margin))
}

fn pair(findings: &Findings<'_>, cell: &Cell, metric: &Metric) -> Option<Pair> {
    if is_baseline(findings, cell) {
        return None;
    }
    let (base, rounds) = of_rounds(findings, cell, metric)?;
    let contender = &findings.study.contenders[cell.contender].label;
    let condition = &findings.study.conditions[cell.condition].label;
    let several = findings.study.conditions.len() > 1;
    let name = if several { format!("{contender} ({condition})") } else { contender.clone() };
    let base = findings.study.contenders[base.contender].label.clone();
    Some(Pair { name, base, rounds })
}

fn page(compared: &[(&Pair, Comparison)], metric: &Metric, dir: &Path, margin: f64) -> Page {
    let label = metric.label();
    let answer = |(pair, comparison): &(&Pair, Comparison)| {
        let has = if metric.direction == Direction::LowerIsBetter { "takes" } else { "has" };
        let line = line(comparison, (has, &format!("the {label} of A, {}", pair.base)), margin, None);
        let judgement = judgement(&comparison.verdict);
        Judged { name: pair.name.clone(), line: format!("{}: {line}", pair.name), judgement }
    };
    let mut table = Table::new(&["B", "A", "A|", "B|", "B / A|", "rounds|"]);
    for (pair, comparison) in compared {
        let middle = |of: fn(&RoundPair) -> f64| {
            let values: Vec<f64> = pair.rounds.iter().map(of).collect();
            median(&values).map_or("-".to_string(), |value| metric.show_with_unit(value))
        };
        table.row([
            TableCell::new(&pair.name),
            TableCell::new(&pair.base),
            TableCell::new(middle(|round| round.baseline)),
            TableCell::new(middle(|round| round.candidate)),
            TableCell::new(comparison.ratio.map_or("-".to_string(), |ratio| Ratio(ratio).to_string())),
            TableCell::new(pair.rounds.len().to_string()),
        ]);
    }
    Page {
        title: "contend gate".to_string(),
        question: "Is B slower than A?".to_string(),
        facts: vec![label.clone(), counted(compared.len(), "comparison"), format!("margin {}", Percent(margin))],
        warnings: vec![],
        answers: compared.iter().map(answer).collect(),
        table,
        note: format!("Both are in {}, in the same rounds. All intervals hold together with 99 %.", dir.display()),
        origin: format!("Made by contend {}.", env!("CARGO_PKG_VERSION")),
    }
}
