//! Compares two records with a common baseline.
//!
//! Each record has, per round, the ratio of a contender to the baseline, which cancels the state of the machine at
//! that time. The ratios of two records are not pairs, so the ratio of ratios is the Hodges-Lehmann shift with its
//! exact interval (docs/gate.md).

use crate::judge::{COVERAGE, Judged, Judgement, judge_by_interval};
use crate::page::{Compared, OfRecords, Page};
use anyhow::{Context, Result, bail, ensure};
use contend::analysis::Findings;
use contend::analysis::cell::Cell;
use contend::analysis::compare::{drift, of_load, why_not};
use contend::analysis::compare_records::{self, RecordComparison};
use contend::analysis::estimate::Estimator;
use contend::analysis::metric::{self, Metric};
use contend::analysis::trial::Scope;
use contend::outcome::Outcome;
use contend::record::parts::{StudyRecord, check_two_runs};
use contend::record::store::Record;
use contend_stats::interval::median;
use contend_stats::precision::{Percent, Ratio};
use contend_stats::shift::{log_shift, log_shift_interval_of};
use contend_stats::verdict::{Comparison, LnRatio, RoundPair, Verdict};
use std::path::Path;

/// One contender under one condition, in both records.
struct Pair {
    name: String,
    metric: Metric,
    /// Ratios of its rounds to the baseline, in A and in B; not finite where a round has no value.
    ratios: [Vec<f64>; 2],
    /// Why these may not be compared.
    why_not: Option<String>,
    /// Why they show nothing but that B is slower.
    unless_slower: Option<String>,
    drift: Option<String>,
}

/// Judges record B against record A.
///
/// # Errors
/// A record cannot be read, both are the same, or they share no contender and baseline.
pub fn judged(a: &Path, b: &Path, margin: f64) -> Result<Page> {
    let (record_a, record_b) = (open(a)?, open(b)?);
    check_two_runs([(a, &record_a.run), (b, &record_b.run)])?;
    judged_in((&Findings::new(&record_a), a), (&Findings::new(&record_b), b), margin)
}

fn judged_in((of_a, a): (&Findings<'_>, &Path), (of_b, b): (&Findings<'_>, &Path), margin: f64) -> Result<Page> {
    let headline = &of_a.study.headline;
    ensure!(
        *headline == of_b.study.headline,
        "the headlines differ: {headline} in A, {} in B; compare records of one study",
        of_b.study.headline
    );
    let metric = metric::find(of_a.study, headline).with_context(|| format!("no metric is called {headline}"))?;
    let both = compare_records::compare(of_a, of_b);
    let (mut pairs, mut untold): (Vec<Pair>, Vec<Judged>) = (vec![], vec![]);
    for cell in of_a.cells.iter().filter(|cell| !is_baseline(of_a, cell)) {
        match pair((of_a, cell), of_b, (&metric, &both)) {
            Ok(pair) => pairs.push(pair),
            Err(told) => untold.push(told),
        }
    }
    ensure!(
        !pairs.is_empty() || untold.iter().any(|told| told.judgement == Judgement::Failed),
        "{} and {} have no baseline and no other contender in common, under the same condition and in valid rounds; a gate \
         of two records needs a contender that did not change, named as baseline, in both",
        a.display(),
        b.display()
    );
    // All comparisons together are wrong in at most one gate of a hundred.
    let coverage = 1.0 - (1.0 - COVERAGE) / pairs.len() as f64;
    let of = OfRecords {
        question: "Is B slower than A, each against its own baseline?",
        columns: &["contender", "A / its baseline|", "B / its baseline|", "B / A|", "rounds|"],
        metric: &metric,
        margin,
        warnings: warnings(&both),
        note: format!(
            "A is {}, B is {}. All intervals hold together with 99 %. Rounds of two records are not pairs.",
            a.display(),
            b.display()
        ),
    };
    let compared = pairs.into_iter().map(|pair| compared(pair, (coverage, margin))).collect();
    Ok(of.page(compared, untold))
}

/// Contenders that are not judged, or judged with fewer rounds: a pass does not include them.
fn warnings(both: &RecordComparison) -> Vec<String> {
    let alone = [("A", &both.only_in_a), ("B", &both.only_in_b)].into_iter().filter(|(_, names)| !names.is_empty());
    let alone = alone.map(|(record, names)| format!("Only in {record}, and not judged: {}.", names.join(", ")));
    both.said_not_sealed
        .iter()
        .cloned()
        .chain(alone)
        .chain(both.disturbances.iter().map(|said| format!("{said}.")))
        .collect()
}

pub fn open(dir: &Path) -> Result<Record> {
    let at = dir.display();
    ensure!(
        !dir.join(crate::saved::FILE).is_file(),
        "{at} is the record of a gate; `contend report {at}` shows it again"
    );
    let mut found = StudyRecord::open(dir).with_context(|| format!("cannot read the record in {}", dir.display()))?;
    match found.parts.len() {
        1 => Ok(found.parts.remove(0).1),
        _ => bail!("{} has parts; judge one of them: {}/NAME", dir.display(), dir.display()),
    }
}

/// The answer for a contender without values: not a pass.
pub fn not_told(name: String, why: &str) -> Judged {
    Judged { line: format!("{name}: not comparable: {why}."), name, judgement: Judgement::NotComparable }
}

/// A contender fails if it commits less than this share of what A commits, each of the operations that it begins. The bound is
/// far from what chance does; smaller differences are *not comparable*.
const COMMITS: f64 = 0.5;
/// Fewest operations for that.
const OPERATIONS_MIN: u64 = 20;

/// The answer for a contender that does not do the work of A: all its trials are invalid, or it commits much less of what it
/// begins. What it never begins is missing in its throughput.
pub fn failed(name: String, a: &Cell, (findings, b): (&Findings<'_>, &Cell)) -> Option<Judged> {
    let share = |of: &Cell| {
        let counts = &of.pool(Scope::All).counts;
        let begun = counts.planned() - counts.outcome(Outcome::Unsent);
        (begun >= OPERATIONS_MIN).then(|| counts.outcome(Outcome::Committed) as f64 / begun as f64)
    };
    let why = match (share(a), share(b)) {
        _ if a.has_data() && !b.has_data() && is_its_fault(findings, b) => "no trial of B is valid".to_string(),
        (Some(of_a), Some(of_b)) if of_b < COMMITS * of_a => {
            format!("B commits {} of its operations, A {}", Percent(of_b), Percent(of_a))
        }
        _ => return None,
    };
    Some(Judged { line: format!("{name}: failed: {why}."), name, judgement: Judgement::Failed })
}

/// Whether each trial of a contender, all of them invalid, has a reason that the machine does not explain.
fn is_its_fault(findings: &Findings<'_>, cell: &Cell) -> bool {
    let has_own = |row: &usize| findings.rows[*row].reasons.iter().any(|reason| !reason.kind.is_of_machine());
    !cell.invalid.is_empty() && cell.invalid.iter().all(has_own)
}

/// The values of a contender of A that is not a baseline, in both records.
///
/// # Errors
/// The answer without them.
fn pair(
    (a, cell): (&Findings<'_>, &Cell),
    b: &Findings<'_>,
    (metric, both): (&Metric, &RecordComparison),
) -> Result<Pair, Judged> {
    let untold = |why| not_told(named(a, cell), why);
    let base = baseline_of(a, cell).ok_or_else(|| untold("its tier has no baseline in A"))?;
    let of_a = ratios(a, base, cell, metric);
    if of_a.is_empty() {
        return Err(untold("A has no valid round with both it and its baseline"));
    }
    let other = b.cells.iter().find(|other| names(b, other) == names(a, cell));
    let other = other.and_then(|other| Some((other, baseline_of(b, other)?)));
    let same = other.filter(|(_, other_base)| names(b, other_base) == names(a, base));
    let none = || untold("B has no valid round with both it and the baseline of A");
    let (other, other_base) = same.ok_or_else(none)?;
    if let Some(failed) = failed(named(a, cell), cell, (b, other)).filter(|_| other_base.has_data()) {
        return Err(failed);
    }
    let both_of = |metric: &Metric| [ratios(a, base, cell, metric), ratios(b, other_base, other, metric)];
    let ratios = both_of(metric);
    if ratios[1].is_empty() {
        return Err(none());
    }
    let sides = [("A", a, base, cell), ("B", b, other_base, other)];
    let within = |of: Within, metric: &Metric| {
        let mut found = sides.iter().filter_map(|(which, findings, base, cell)| {
            of(&findings.estimator(), base, cell, metric).map(|why| format!("in {which}: {why}"))
        });
        found.next()
    };
    let why_not = |metric: &Metric| {
        let own = differs(both, names(a, cell), metric).or_else(|| differs(both, names(a, base), metric));
        own.or_else(|| within(why_not, metric))
    };
    let of_headline = why_not(metric).or_else(|| within(of_load, metric));
    let throughput = a.metric("throughput_ops_per_s").filter(|metric| why_not(metric).is_none());
    let behind = of_headline.is_some() && falls_behind(sides.map(|(_, findings, base, cell)| (findings, base, cell)));
    let name = named(a, cell);
    Ok(match throughput.filter(|_| behind) {
        Some(metric) => {
            let drift = within(drift, &metric);
            Pair { name, ratios: both_of(&metric), metric, why_not: None, unless_slower: of_headline, drift }
        }
        None => {
            let drift = within(drift, metric);
            Pair { name, metric: metric.clone(), ratios, why_not: of_headline, unless_slower: None, drift }
        }
    })
}

/// Something about the values of a contender and its baseline within one record.
type Within = fn(&Estimator<'_>, &Cell, &Cell, &Metric) -> Option<String>;

/// Whether all of both records kept up with one fixed rate, except for the contender in B. Its times are then lower bounds, but
/// its throughput shows whether it is slower.
fn falls_behind([(a, base_a, of_a), (b, base_b, of_b)]: [(&Findings<'_>, &Cell, &Cell); 2]) -> bool {
    let asked = of_a.kept_up_at(&a.rows);
    let is_asked = |rate: Option<f64>| asked.is_some() && rate == asked;
    let kept_up = is_asked(base_a.kept_up_at(&a.rows)) && is_asked(base_b.kept_up_at(&b.rows));
    kept_up && is_asked(of_b.rate_per_s(&b.rows)) && !of_b.kept_up()
}

/// Why a contender of one record is not comparable with itself in the other one.
fn differs(both: &RecordComparison, (contender, condition): (&str, &str), metric: &Metric) -> Option<String> {
    let mut rows = both.rows.iter().filter(|row| row.metric == metric.name);
    let row = rows.find(|row| (row.contender.as_str(), row.condition.as_str()) == (contender, condition));
    match row.map(|row| &row.comparison.verdict) {
        Some(Verdict::NotComparable(why)) => Some(why.clone()),
        _ => None,
    }
}

/// Full name of the contender, and label of the condition.
fn names<'f>(of: &'f Findings<'_>, cell: &Cell) -> (&'f str, &'f str) {
    (&of.study.contenders[cell.contender].name, &of.study.conditions[cell.condition].label)
}

/// The contender's full name, with the condition if there are several.
fn named(of: &Findings<'_>, cell: &Cell) -> String {
    under(of, cell, names(of, cell).0)
}

/// The same with the contender's label.
pub fn labelled(of: &Findings<'_>, cell: &Cell) -> String {
    under(of, cell, &of.study.contenders[cell.contender].label)
}

fn under(of: &Findings<'_>, cell: &Cell, contender: &str) -> String {
    let several = of.study.conditions.len() > 1;
    if several { format!("{contender} ({})", names(of, cell).1) } else { contender.to_string() }
}

pub fn is_baseline(of: &Findings<'_>, cell: &Cell) -> bool {
    let contender = &of.study.contenders[cell.contender];
    of.study.baselines.iter().any(|name| *name == contender.name || *name == contender.label)
}

/// The baseline of the contender's tier, under the same condition.
pub fn baseline_of<'f>(of: &'f Findings<'_>, cell: &Cell) -> Option<&'f Cell> {
    let tier = |cell: &Cell| of.study.contenders[cell.contender].tier;
    let mut baselines = of.cells.iter().filter(|base| is_baseline(of, base));
    baselines.find(|base| base.condition == cell.condition && tier(base) == tier(cell))
}

/// The values of the rounds that have valid trials of both; not a number where one has no value.
pub fn rounds_of(of: &Findings<'_>, base: &Cell, cell: &Cell, metric: &Metric) -> Vec<RoundPair> {
    let rounds = |cell: &Cell| cell.valid.iter().map(|at| of.rows[*at].round).collect::<Vec<u32>>();
    let (own, others) = (of.estimator().rounds(cell, metric), of.estimator().rounds(base, metric));
    let value = |values: &[(u32, f64)], round: u32| {
        values.iter().find(|(other, _)| *other == round).map_or(f64::NAN, |(_, value)| *value)
    };
    let of_base = rounds(base);
    let common = rounds(cell).into_iter().filter(|round| of_base.contains(round));
    common.map(|round| RoundPair { baseline: value(&others, round), candidate: value(&own, round) }).collect()
}

fn ratios(of: &Findings<'_>, base: &Cell, cell: &Cell, metric: &Metric) -> Vec<f64> {
    rounds_of(of, base, cell, metric).iter().map(|round| round.candidate / round.baseline).collect()
}

fn judge_pair(pair: &Pair, (coverage, margin): (f64, f64)) -> Comparison {
    let [a, b] = &pair.ratios;
    let is_whole = a.iter().chain(b).all(|ratio| ratio.is_finite() && *ratio > 0.0);
    let ratio = LnRatio {
        center: log_shift(a, b).filter(|_| is_whole),
        interval: log_shift_interval_of(a, b, coverage).filter(|_| is_whole),
        rounds: a.len().min(b.len()),
    };
    let why_not = pair.why_not.as_deref().or((!is_whole).then_some("a round has no value above zero"));
    let mut comparison = judge_by_interval(ratio, pair.metric.direction, margin, why_not);
    if let Some(why) = pair.unless_slower.as_ref().filter(|_| comparison.verdict != Verdict::Slower) {
        comparison.verdict = Verdict::NotComparable(why.clone());
    }
    comparison
}

fn compared(pair: Pair, (coverage, margin): (f64, f64)) -> Compared {
    let middle = |ratios: &[f64]| median(ratios).map_or("-".to_string(), |ratio| Ratio(ratio).to_string());
    Compared {
        of_a: format!("the {} of A, each against its baseline", pair.metric.label()),
        direction: pair.metric.direction,
        cells: pair.ratios.iter().map(|ratios| middle(ratios)).collect(),
        rounds: format!("{} and {}", pair.ratios[0].len(), pair.ratios[1].len()),
        comparison: judge_pair(&pair, (coverage, margin)),
        drift: pair.drift,
        name: pair.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judgement;
    use contend::analysis::metric::listed;
    use contend_stats::interval::MIN_ROUNDS;

    /// Ratios to the baseline that vary by up to one per cent.
    fn ratios(middle: f64, rounds: usize, turn: usize) -> Vec<f64> {
        (0..rounds).map(|at| middle * (1.0 + 0.01 * ((at * turn % 11) as f64 / 5.0 - 1.0))).collect()
    }

    fn pair(ratios: [Vec<f64>; 2], why_not: Option<String>) -> Pair {
        let metric = listed("throughput_ops_per_s").expect("a metric");
        Pair { name: "new".to_string(), metric, ratios, why_not, unless_slower: None, drift: None }
    }

    fn judged(a: f64, b: f64, rounds: usize) -> Comparison {
        judge_pair(&pair([ratios(a, rounds, 3), ratios(b, rounds, 7)], None), (COVERAGE, 0.05))
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
        let why_not = Some("the kernel differs: 5 in A, 6 in B".to_string());
        let whole = [ratios(2.0, 12, 3), ratios(1.0, 12, 7)];
        let differs = judge_pair(&pair(whole.clone(), why_not), (COVERAGE, 0.05));
        assert!(matches!(differs.verdict, Verdict::NotComparable(why) if why.contains("the kernel differs")));
        let mut lost = whole;
        lost[1][3] = 0.0;
        let lost = judge_pair(&pair(lost, None), (COVERAGE, 0.05));
        assert_eq!(
            (judgement(&lost.verdict), lost.ratio),
            (Judgement::NotComparable, None),
            "rounds are not lost at random"
        );
    }

    fn fixture() -> Record {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/records/format-3");
        Record::open(&dir).expect("a fixture")
    }

    fn line(a: &Record, b: &Record) -> String {
        let name = Path::new("record");
        let page = judged_in((&Findings::new(a), name), (&Findings::new(b), name), 0.05).expect("a page");
        let nothing = a.run.study.contenders.iter().find(|of| of.label == "nothing").expect("a contender");
        let answer = page.answers.iter().find(|answer| answer.name == nothing.name).expect("judged");
        assert_eq!(answer.judgement, Judgement::NotComparable, "{}", answer.line);
        answer.line.clone()
    }

    #[test]
    fn another_condition_of_the_same_label_takes_the_words_away() {
        let (a, mut b) = (fixture(), fixture());
        b.run.study.conditions[0].axes.insert("clients".to_string(), "2".to_string());
        assert!(line(&a, &b).contains("the condition differs"), "{}", line(&a, &b));
    }

    #[test]
    fn a_throughput_of_both_records_that_is_that_of_the_load_is_no_pass() {
        let mut a = fixture();
        a.run.study.load.rate_per_s = Some(100.0);
        assert!(line(&a, &a).contains("in A: both did everything that arrived"), "{}", line(&a, &a));
    }
}
