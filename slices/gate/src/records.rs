//! Compares two records with a common baseline.
//!
//! Each record has, per round, the ratio of a contender to the baseline, which cancels the state of the machine at
//! that time. The ratios of two records are not pairs, so the ratio of ratios is the Hodges-Lehmann shift with its
//! exact interval (docs/gate.md).

use crate::judge::{COVERAGE, Judged, Judgement, judgement};
use crate::page::{Page, line};
use anyhow::{Context, Result, bail, ensure};
use contend::analysis::Findings;
use contend::analysis::cell::Cell;
use contend::analysis::compare_records::{self, RecordComparison};
use contend::analysis::metric::{self, Metric};
use contend::record::parts::StudyRecord;
use contend::record::store::Record;
use contend::report::document::{Cell as TableCell, Table};
use contend_stats::interval::median;
use contend_stats::precision::{Percent, Ratio, counted};
use contend_stats::shift::{log_shift, log_shift_interval_of};
use contend_stats::verdict::{Comparison, Direction, LnRatio, RoundPair, Verdict, judge};
use std::path::Path;

/// One contender under one condition, in both records.
struct Pair {
    name: String,
    /// Ratios of its rounds to the baseline, in A and in B.
    ratios: [Vec<f64>; 2],
}

/// Judges record B against record A.
///
/// # Errors
/// A record cannot be read, or they share no contender and baseline.
pub fn judged(a: &Path, b: &Path, margin: f64) -> Result<Page> {
    let (record_a, record_b) = (open(a)?, open(b)?);
    let (of_a, of_b) = (Findings::new(&record_a), Findings::new(&record_b));
    let headline = &of_a.study.headline;
    ensure!(
        *headline == of_b.study.headline,
        "the headlines differ: {headline} in A, {} in B; compare records of one study",
        of_b.study.headline
    );
    let metric = metric::find(of_a.study, headline).with_context(|| format!("no metric is called {headline}"))?;
    let (pairs, missing) = pairs(&of_a, &of_b, &metric);
    ensure!(
        !pairs.is_empty(),
        "{} and {} have no baseline and no other contender in common, under the same condition and in valid rounds; a gate \
         of two records needs a contender that did not change, named as baseline, in both",
        a.display(),
        b.display()
    );
    let both = compare_records::compare(&of_a, &of_b);
    let why_not = (!both.differences.is_empty()).then(|| both.differences.join("; "));
    // All comparisons together are wrong in at most one gate of a hundred.
    let coverage = 1.0 - (1.0 - COVERAGE) / pairs.len() as f64;
    let judged = |pair: &Pair| judge_pair(pair, &metric, (coverage, margin), why_not.as_deref());
    let compared: Vec<Comparison> = pairs.iter().map(judged).collect();
    let all: Vec<(&Pair, Comparison)> = pairs.iter().zip(compared).collect();
    let mut page = Page { warnings: warnings(&both), ..page(&all, &metric, (a, b), margin) };
    page.answers.extend(missing.into_iter().map(not_told));
    Ok(page)
}

/// Contenders that are not judged, or judged with fewer rounds: a pass does not include them.
fn warnings(both: &RecordComparison) -> Vec<String> {
    let alone = [("A", &both.only_in_a), ("B", &both.only_in_b)].into_iter().filter(|(_, names)| !names.is_empty());
    let alone = alone.map(|(record, names)| format!("Only in {record}, and not judged: {}.", names.join(", ")));
    alone.chain(both.disturbances.iter().map(|said| format!("{said}."))).collect()
}

pub fn open(dir: &Path) -> Result<Record> {
    let mut found = StudyRecord::open(dir).with_context(|| format!("cannot read the record in {}", dir.display()))?;
    match found.parts.len() {
        1 => Ok(found.parts.remove(0).1),
        _ => bail!("{} has parts; judge one of them: {}/NAME", dir.display(), dir.display()),
    }
}

/// The answer for a contender that is missing or invalid in B: cannot tell, not a pass.
fn not_told(name: String) -> Judged {
    let line = format!("{name}: cannot tell: B has no valid round with both it and the baseline of A");
    Judged { name, line, judgement: Judgement::CannotTell }
}

/// Contenders of A other than a baseline: those that both records have under the same condition, and the names of the
/// others.
fn pairs(a: &Findings<'_>, b: &Findings<'_>, metric: &Metric) -> (Vec<Pair>, Vec<String>) {
    let (mut found, mut missing) = (vec![], vec![]);
    for cell in a.cells.iter().filter(|cell| !is_baseline(a, cell)) {
        let (contender, condition) = names(a, cell);
        let other = b.cells.iter().find(|other| names(b, other) == (contender, condition));
        let ratios = |of: &Findings<'_>, cell: &Cell| ratios(of, cell, metric);
        let Some((base_a, of_a)) = ratios(a, cell) else { continue };
        let several = a.study.conditions.len() > 1;
        let name = if several { format!("{contender} ({condition})") } else { contender.to_string() };
        match other.and_then(|other| ratios(b, other)) {
            Some((base_b, of_b)) if base_b == base_a => found.push(Pair { name, ratios: [of_a, of_b] }),
            _ => missing.push(name),
        }
    }
    (found, missing)
}

fn names<'f>(of: &'f Findings<'_>, cell: &Cell) -> (&'f str, &'f str) {
    (&of.study.contenders[cell.contender].name, &of.study.conditions[cell.condition].label)
}

pub fn is_baseline(of: &Findings<'_>, cell: &Cell) -> bool {
    let contender = &of.study.contenders[cell.contender];
    of.study.baselines.iter().any(|name| *name == contender.name || *name == contender.label)
}

/// The baseline of the contender's tier, and the values of the rounds that have both.
pub fn of_rounds<'f>(of: &'f Findings<'_>, cell: &Cell, metric: &Metric) -> Option<(&'f Cell, Vec<RoundPair>)> {
    let tier = of.study.contenders[cell.contender].tier;
    let base = of.cells.iter().find(|base| {
        base.condition == cell.condition && is_baseline(of, base) && of.study.contenders[base.contender].tier == tier
    })?;
    let (own, others) = (of.estimator().rounds(cell, metric), of.estimator().rounds(base, metric));
    let pair = |(round, candidate): &(u32, f64)| {
        let (_, baseline) = others.iter().find(|(other, _)| other == round)?;
        let ratio = candidate / baseline;
        (ratio.is_finite() && ratio > 0.0).then_some(RoundPair { baseline: *baseline, candidate: *candidate })
    };
    let rounds: Vec<RoundPair> = own.iter().filter_map(pair).collect();
    (!rounds.is_empty()).then_some((base, rounds))
}

/// Name of the baseline of the contender's tier, and its ratio to the baseline in each round that has both.
fn ratios(of: &Findings<'_>, cell: &Cell, metric: &Metric) -> Option<(String, Vec<f64>)> {
    let (base, rounds) = of_rounds(of, cell, metric)?;
    let ratios = rounds.iter().map(|round| round.candidate / round.baseline).collect();
    Some((names(of, base).0.to_string(), ratios))
}

fn judge_pair(pair: &Pair, metric: &Metric, (coverage, margin): (f64, f64), why_not: Option<&str>) -> Comparison {
    let [a, b] = &pair.ratios;
    let ratio = LnRatio {
        center: log_shift(a, b),
        interval: log_shift_interval_of(a, b, coverage),
        rounds: a.len().min(b.len()),
    };
    let mut comparison = judge(ratio, metric.direction, margin, why_not);
    if ratio.interval.is_none() && why_not.is_none() {
        comparison.verdict = Verdict::CannotTell;
    }
    comparison
}

fn page(compared: &[(&Pair, Comparison)], metric: &Metric, (a, b): (&Path, &Path), margin: f64) -> Page {
    let label = metric.label();
    let of_a = format!("the {label} of A, each against its baseline");
    let has = if metric.direction == Direction::LowerIsBetter { "takes" } else { "has" };
    let answer = |(pair, comparison): &(&Pair, Comparison)| {
        let line = line(comparison, (has, &of_a), margin, None);
        Judged {
            name: pair.name.clone(),
            line: format!("{}: {line}", pair.name),
            judgement: judgement(&comparison.verdict),
        }
    };
    let mut table = Table::new(&["contender", "A / its baseline|", "B / its baseline|", "B / A|", "rounds|"]);
    for (pair, comparison) in compared {
        let middle = |ratios: &[f64]| median(ratios).map_or("-".to_string(), |ratio| Ratio(ratio).to_string());
        table.row([
            TableCell::new(&pair.name),
            TableCell::new(middle(&pair.ratios[0])),
            TableCell::new(middle(&pair.ratios[1])),
            TableCell::new(comparison.ratio.map_or("-".to_string(), |ratio| Ratio(ratio).to_string())),
            TableCell::new(format!("{} and {}", pair.ratios[0].len(), pair.ratios[1].len())),
        ]);
    }
    Page {
        title: "contend gate".to_string(),
        question: "Is B slower than A, each against its own baseline?".to_string(),
        facts: vec![label.clone(), counted(compared.len(), "comparison"), format!("margin {}", Percent(margin))],
        warnings: vec![],
        answers: compared.iter().map(answer).collect(),
        table,
        note: format!(
            "A is {}, B is {}. All intervals hold together with 99 %. Rounds of two records are not pairs.",
            a.display(),
            b.display()
        ),
        origin: format!("Made by contend {}.", env!("CARGO_PKG_VERSION")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend::analysis::metric::listed;
    use contend_stats::interval::MIN_ROUNDS;

    /// Ratios to the baseline that vary by up to one per cent.
    fn ratios(middle: f64, rounds: usize, turn: usize) -> Vec<f64> {
        (0..rounds).map(|at| middle * (1.0 + 0.01 * ((at * turn % 11) as f64 / 5.0 - 1.0))).collect()
    }

    fn judged(a: f64, b: f64, rounds: usize) -> Comparison {
        let metric = listed("throughput_ops_per_s").expect("a metric");
        let pair = Pair { name: "new".to_string(), ratios: [ratios(a, rounds, 3), ratios(b, rounds, 7)] };
        judge_pair(&pair, &metric, (COVERAGE, 0.05), None)
    }

    #[test]
    fn a_contender_that_lost_against_its_baseline_is_slower() {
        assert_eq!(judgement(&judged(2.0, 1.8, 12).verdict), Judgement::Slower);
        assert_eq!(judged(2.0, 2.2, 12).verdict, Verdict::Faster);
        assert_eq!(judged(2.0, 2.0, 12).verdict, Verdict::NoDifference);
        assert_eq!(judged(2.0, 1.8, 4).verdict, Verdict::CannotTell, "four rounds cover less than 99 %");
        assert_eq!(judged(2.0, 1.8, MIN_ROUNDS).verdict, Verdict::Slower);
    }

    #[test]
    fn what_differs_otherwise_takes_the_words_away() {
        let metric = listed("throughput_ops_per_s").expect("a metric");
        let pair = Pair { name: "new".to_string(), ratios: [ratios(2.0, 12, 3), ratios(1.0, 12, 7)] };
        let comparison = judge_pair(&pair, &metric, (COVERAGE, 0.05), Some("the kernel differs: 5 in A, 6 in B"));
        assert_eq!(judgement(&comparison.verdict), Judgement::CannotTell);
        let all = [(&pair, comparison)];
        let page = page(&all, &metric, (Path::new("old"), Path::new("new")), 0.05);
        assert!(page.answers[0].line.contains("not comparable: the kernel differs"), "{}", page.answers[0].line);
    }
}
