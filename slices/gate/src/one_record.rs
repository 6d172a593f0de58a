//! Judges the contenders of one record against its baseline: two builds of a service that `contend http` measured in the same
//! rounds, or two builds of a driver.

use crate::judge::{COVERAGE, Judged, judge_pairs_of};
use crate::page::{Compared, OfRecords, Page};
use crate::records::{baseline_of, failed, is_baseline, labelled, not_told, open, rounds_of};
use anyhow::{Context, Result, ensure};
use contend::analysis::Findings;
use contend::analysis::cell::Cell;
use contend::analysis::compare::{drift, of_load, why_not};
use contend::analysis::compare_records::{not_sealed_of, trials_of};
use contend::analysis::metric::{self, Metric};
use contend_stats::interval::median;
use contend_stats::verdict::{RoundPair, Verdict};
use std::path::Path;

/// A contender and the baseline of its tier, with the values of the rounds that have both.
struct Pair {
    name: String,
    base: String,
    metric: Metric,
    rounds: Vec<RoundPair>,
    /// Why these may not be compared.
    why_not: Option<String>,
    /// Why they show nothing but that B is slower.
    unless_slower: Option<String>,
    drift: Option<String>,
}

/// Judges every contender that is not a baseline.
///
/// # Errors
/// The record cannot be read, or has nothing to compare.
pub fn judged(dir: &Path, margin: f64) -> Result<Page> {
    let record = open(dir)?;
    judged_in(&Findings::new(&record), dir, margin)
}

fn judged_in(findings: &Findings<'_>, dir: &Path, margin: f64) -> Result<Page> {
    let headline = &findings.study.headline;
    let metric = metric::find(findings.study, headline).with_context(|| format!("no metric is called {headline}"))?;
    let (mut pairs, mut untold): (Vec<Pair>, Vec<Judged>) = (vec![], vec![]);
    let others = || findings.cells.iter().filter(|cell| !is_baseline(findings, cell));
    ensure!(
        others().any(|cell| baseline_of(findings, cell).is_some()),
        "{} has no baseline with another contender of its tier; a gate of one record needs both, such as one of \
         `contend http URL_A URL_B`",
        dir.display()
    );
    for cell in others() {
        match pair(findings, cell, &metric) {
            Ok(pair) => pairs.push(pair),
            Err(told) => untold.push(told),
        }
    }
    // All comparisons together are wrong in at most one gate of a hundred.
    let coverage = 1.0 - (1.0 - COVERAGE) / pairs.len() as f64;
    let of = OfRecords {
        question: "Is B slower than A?",
        columns: &["B", "A", "A|", "B|", "B / A|", "rounds|"],
        metric: &metric,
        margin,
        warnings: warnings(&dir.display().to_string(), findings),
        note: format!("Both are in {}, in the same rounds. All intervals hold together with 99 %.", dir.display()),
    };
    let compared = pairs.into_iter().map(|pair| compared(pair, (coverage, margin))).collect();
    Ok(of.page(compared, untold))
}

fn warnings(name: &str, findings: &Findings<'_>) -> Vec<String> {
    let of_trials = trials_of(name, findings).into_iter().map(|said| format!("{said}."));
    not_sealed_of(name, findings).into_iter().chain(of_trials).collect()
}

/// The values of a contender that is not a baseline.
///
/// # Errors
/// The answer without them.
fn pair(findings: &Findings<'_>, cell: &Cell, headline: &Metric) -> Result<Pair, Judged> {
    let name = labelled(findings, cell);
    let Some(base) = baseline_of(findings, cell) else { return Err(not_told(name, "its tier has no baseline")) };
    if let Some(failed) = failed(name.clone(), base, (findings, cell)) {
        return Err(failed);
    }
    let rounds = rounds_of(findings, base, cell, headline);
    if rounds.is_empty() {
        return Err(not_told(name, "no round has a valid trial of both it and its baseline"));
    }
    let on = findings.estimator();
    let of = |metric: &Metric| why_not(&on, base, cell, metric).or_else(|| of_load(&on, base, cell, metric));
    let pair = Pair {
        name,
        base: findings.study.contenders[base.contender].label.clone(),
        metric: headline.clone(),
        rounds,
        why_not: of(headline),
        unless_slower: None,
        drift: drift(&on, base, cell, headline),
    };
    let throughput = findings.metric("throughput_ops_per_s").filter(|metric| of(metric).is_none());
    let Some(metric) = throughput.filter(|_| pair.why_not.is_some() && falls_behind(findings, base, cell)) else {
        return Ok(pair);
    };
    let rounds = rounds_of(findings, base, cell, &metric);
    let drift = drift(&on, base, cell, &metric);
    Ok(Pair { metric, rounds, why_not: None, unless_slower: pair.why_not, drift, ..pair })
}

/// Whether only the baseline kept up with a fixed rate. The contender's times are then lower bounds, but its throughput shows
/// whether it is slower.
fn falls_behind(findings: &Findings<'_>, base: &Cell, cell: &Cell) -> bool {
    let asked = base.kept_up_at(&findings.rows);
    asked.is_some() && asked == cell.rate_per_s(&findings.rows) && !cell.kept_up()
}

fn compared(pair: Pair, (coverage, margin): (f64, f64)) -> Compared {
    let metric = &pair.metric;
    let mut comparison = judge_pairs_of(&pair.rounds, metric.direction, (coverage, margin), pair.why_not.as_deref());
    if let Some(why) = pair.unless_slower.filter(|_| comparison.verdict != Verdict::Slower) {
        comparison.verdict = Verdict::NotComparable(why);
    }
    let middle = |of: fn(&RoundPair) -> f64| {
        let values: Vec<f64> = pair.rounds.iter().map(of).filter(|value| value.is_finite()).collect();
        median(&values).map_or("-".to_string(), |value| metric.show_with_unit(value))
    };
    Compared {
        of_a: format!("the {} of A, {}", metric.label(), pair.base),
        cells: vec![pair.base.clone(), middle(|round| round.baseline), middle(|round| round.candidate)],
        rounds: pair.rounds.len().to_string(),
        direction: metric.direction,
        comparison,
        drift: pair.drift,
        name: pair.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Judgement;
    use contend::outcome::reason::{Invalid, Reason};
    use contend::record::store::Record;

    /// A record with two contenders that are not a baseline, both durable.
    fn record() -> Record {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/records/format-3");
        Record::open(&dir).expect("a fixture")
    }

    fn page(record: &Record) -> Page {
        judged_in(&Findings::new(record), Path::new("record"), 0.05).expect("a page")
    }

    fn line<'p>(page: &'p Page, name: &str) -> &'p str {
        let answer = page.answers.iter().find(|answer| answer.name == name).expect("judged");
        assert_eq!(answer.judgement, Judgement::NotComparable, "{}", answer.line);
        &answer.line
    }

    #[test]
    fn a_contender_that_is_never_valid_keeps_the_gate_from_passing() {
        let mut record = record();
        let lost = record.run.study.contenders.iter().position(|of| of.label == "mattn, full").expect("a contender");
        let reason = Reason { kind: Invalid::WorkerDied, detail: "it crashed".to_string(), against: None };
        record.trials.iter_mut().filter(|t| t.slot.contender == lost).for_each(|t| t.invalid = vec![reason.clone()]);
        let page = page(&record);
        let answer = page.answers.iter().find(|answer| answer.name == "mattn, full").expect("judged");
        assert_eq!((answer.judgement, page.judgement()), (Judgement::Failed, Judgement::Failed));
        assert_eq!(answer.line, "mattn, full: failed: no trial of B is valid.");
        assert!(page.warnings.iter().any(|said| said.contains("of record do not count")), "{:?}", page.warnings);
    }

    #[test]
    fn a_record_without_seals_says_so_first() {
        assert!(page(&record()).warnings[0].starts_with("record: Not sealed: run.toml and 10 other files"));
    }

    #[test]
    fn a_tier_without_a_baseline_keeps_the_gate_from_passing() {
        let mut record = record();
        record.run.study.baselines.truncate(1);
        assert!(line(&page(&record), "rusqlite, normal").contains("its tier has no baseline"));
    }

    #[test]
    fn a_throughput_that_is_that_of_the_load_is_no_pass() {
        let mut record = record();
        record.run.study.load.rate_per_s = Some(100.0);
        assert!(
            line(&page(&record), "nothing").contains("each rate is that of the load"),
            "{:?}",
            page(&record).answers
        );
    }

    #[test]
    fn a_contender_that_refuses_operations_is_no_pass() {
        let page = page(&record());
        assert!(line(&page, "mattn, full").contains("not the same work"), "{:?}", page.answers);
    }
}
