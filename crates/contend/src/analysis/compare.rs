//! Comparisons with a baseline inside one tier and condition, with the round as the unit; effects of a factor, which
//! may cross tiers and have no verdict.

use crate::analysis::cell::Cell;
use crate::analysis::dist;
use crate::analysis::estimate::{Estimator, histograms, observed};
use crate::analysis::metric::{Metric, plain};
use crate::analysis::responses::{self, Responses};
use crate::analysis::tally::Counts;
use crate::analysis::trial::{Measure, Scope, TrialRow};
use crate::outcome::Outcome;
use crate::outcome::reason::{Bias, Invalid};
use crate::stats::effect::{self, Effect};
use crate::stats::interval::{Interval, MIN_ROUNDS};
use crate::stats::precision::counted;
use crate::stats::quantile::{Quantile, QuantileValue};
use crate::stats::verdict::{self, Comparison, Direction, LnRatio, RoundPair, Verdict};
use crate::stats::{bootstrap, drift};
use crate::study::model::{Effect as Factor, Study, Variant};
use crate::study::pairs::effect_pairs;
use contend_wire::sample::{CodeSpace, worker_code};

/// One comparison and its circumstances.
#[derive(Debug, Clone)]
pub struct Compared {
    pub condition: usize,
    pub baseline: usize,
    pub candidate: usize,
    pub metric: Metric,
    pub comparison: Comparison,
    /// Rounds in the schedule; fewer may have a valid trial of both.
    pub scheduled: usize,
}

/// What to do if no trial counts.
const NO_TRIALS: &str = "fix what \"Trials that do not count\" lists, and run again";

/// Compares two cells of the same condition.
pub fn compare(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Compared {
    let study = on.study;
    let rounds = common_rounds(on.rows, baseline, candidate);
    let forbidden = not_comparable(on, &rounds, baseline, candidate, metric)
        .or_else(|| drift_of(on, &rounds, metric))
        .or_else(|| no_interval(study, metric));
    let mut comparison = match metric.quantile() {
        Some(of) => compare_quantile(on, &rounds, (baseline, candidate), (of, metric.direction), forbidden),
        None => {
            let pairs = pairs(on, &rounds, metric);
            verdict::compare_rounds_by(study.looks(), &pairs, metric.direction, study.margin, forbidden.as_deref())
        }
    };
    if both_kept_up(on, baseline, candidate, metric) {
        as_asked(&mut comparison);
    }
    if study.variant == Variant::AsPublished && !matches!(comparison.verdict, Verdict::NotComparable(_)) {
        // The original's repetitions tell nothing about chance.
        comparison.verdict = Verdict::NoWords;
    }
    Compared {
        condition: candidate.condition,
        baseline: baseline.contender,
        candidate: candidate.contender,
        metric: metric.clone(),
        comparison,
        scheduled: baseline.scheduled.max(candidate.scheduled),
    }
}

/// Sets the word for throughputs of contenders that both did what was asked, if the two may be compared.
pub fn as_asked(comparison: &mut Comparison) {
    if !matches!(comparison.verdict, Verdict::NotComparable(_)) {
        comparison.verdict = Verdict::AsAsked;
        comparison.rounds_needed = None;
    }
}

/// Why the values of two cells allow no word, whatever they are: the cells may not be compared, or a quantile may not be printed.
/// For callers that compare the rounds themselves; see [`drift`] and [`of_load`], too.
pub fn why_not(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Option<String> {
    let rounds = common_rounds(on.rows, baseline, candidate);
    let no_quantile = || {
        let of = metric.quantile()?;
        let label = |cell: &Cell| on.study.contenders[cell.contender].label.as_str();
        [baseline, candidate].into_iter().find_map(|cell| unprintable(cell, of, label(cell)))
    };
    let is_published = on.study.variant == Variant::AsPublished;
    let published = || is_published.then(|| "the repetitions of the original tell nothing about chance".to_string());
    not_comparable(on, &rounds, baseline, candidate, metric).or_else(no_quantile).or_else(published)
}

/// Why two throughputs are both that of the load.
pub fn of_load(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Option<String> {
    both_kept_up(on, baseline, candidate, metric)
        .then(|| "both did everything that arrived, so each rate is that of the load".to_string())
}

/// The drift of the ratio of two cells over their rounds, in words.
pub fn drift(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Option<String> {
    drift_of(on, &common_rounds(on.rows, baseline, candidate), metric)
}

/// Whether a throughput is that of the load: both arms did all that arrived, at one rate.
fn both_kept_up(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> bool {
    let [asked, other] = [baseline, candidate].map(|cell| cell.kept_up_at(on.rows));
    metric.is_throughput() && asked.is_some() && asked == other
}

/// Why a quantile has no interval: it is a maximum, or the number of rounds was not fixed in advance.
pub fn no_interval(study: &Study, metric: &Metric) -> Option<String> {
    if metric.quantile()?.1 == Quantile::Max {
        return Some("a maximum is a single operation, so it has no interval; compare a percentile".to_string());
    }
    study.until?;
    Some(
        "the rounds went on until the headline was known, which the interval of a quantile does not allow for; run again \
         with --rounds instead of --until"
            .to_string(),
    )
}

/// Rows of a round in which both are valid: (baseline, candidate).
type Pair<'a> = (&'a TrialRow<'a>, &'a TrialRow<'a>);

fn common_rounds<'a>(rows: &'a [TrialRow<'a>], baseline: &Cell, candidate: &Cell) -> Vec<Pair<'a>> {
    let partner = |row: &TrialRow<'_>| candidate.valid.iter().map(|&i| &rows[i]).find(|other| other.round == row.round);
    baseline.valid.iter().map(|&i| &rows[i]).filter_map(|row| Some((row, partner(row)?))).collect()
}

fn pairs(on: &Estimator<'_>, rounds: &[Pair<'_>], metric: &Metric) -> Vec<RoundPair> {
    let pair = |(b, c): &Pair<'_>| {
        let value = |row: &TrialRow<'_>| metric.of_trial(row, on.transactions).unwrap_or(f64::NAN);
        RoundPair { baseline: value(b), candidate: value(c) }
    };
    rounds.iter().map(pair).collect()
}

/// Why two cells may not be compared at all.
fn not_comparable(
    on: &Estimator<'_>,
    rounds: &[Pair<'_>],
    baseline: &Cell,
    candidate: &Cell,
    metric: &Metric,
) -> Option<String> {
    let study = on.study;
    let tier = |cell: &Cell| study.contenders[cell.contender].tier;
    let label = |cell: &Cell| study.contenders[cell.contender].label.as_str();
    if tier(baseline) != tier(candidate) {
        return Some(format!("tiers differ: {} against {}; compare inside one tier", tier(candidate), tier(baseline)));
    }
    if let Some(lost) = [baseline, candidate].into_iter().find_map(|cell| lost_rounds(on, cell, label(cell))) {
        return Some(lost);
    }
    if rounds.is_empty() {
        return Some(format!("no round has a valid trial of both; {NO_TRIALS}"));
    }
    let cells = [baseline, candidate];
    let lacks_mean = || cells.into_iter().find_map(|cell| no_mean(cell, metric, label(cell)));
    if let Some(why) = unequal_work(on, baseline, candidate, metric).or_else(lacks_mean) {
        return Some(why);
    }
    let pairs = pairs(on, rounds, metric);
    let lacks = [0, 1].map(|side| pairs.iter().filter(|p| [p.baseline, p.candidate][side].is_nan()).count());
    if lacks != [0, 0] && metric.quantile().is_none() {
        let without = (0..2).find(|&side| lacks[side] == pairs.len()).map(|side| label(cells[side]));
        return Some(not_in_every_round(study, metric, without));
    }
    None
}

fn drift_of(on: &Estimator<'_>, rounds: &[Pair<'_>], metric: &Metric) -> Option<String> {
    let ratios: Vec<f64> = pairs(on, rounds, metric).iter().filter_map(|p| p.log_ratio()).map(f64::exp).collect();
    let trend = drift::trend_of_ratios(&ratios).filter(|trend| trend.drifting)?;
    Some(format!(
        "drift: the ratio changes by {:+.0} % from the first rounds to the last; wait until the machine is quiet, or \
         measure longer windows",
        trend.change * 100.0
    ))
}

/// Why a metric cannot be compared that was not measured in every round, and what to do; `without` is the contender that
/// has no value in any. A study's own metric is named by its description, because its name alone says little.
fn not_in_every_round(study: &Study, metric: &Metric, without: Option<&str>) -> String {
    let own = study.metrics.iter().find(|own| own.name == metric.name && !own.about.is_empty());
    let name = own.map_or_else(|| metric.label(), |own| format!("\"{}\"", own.about));
    match without {
        Some(label) => format!("{label} has no value of {name} in any round; compare contenders that have one"),
        None => format!("some rounds have no value of {name}; measure longer windows (--window), so that each has one"),
    }
}

/// Why the valid rounds of a cell are a biased choice: others do not count because of the very speed that is compared.
pub fn lost_rounds(on: &Estimator<'_>, cell: &Cell, label: &str) -> Option<String> {
    let all = cell.valid.len() + cell.invalid.len();
    // Whether a service can be reached is up to it; contend itself starts everything else.
    let of_kind = |kind: Invalid| kind.biases_the_rest().filter(|of| *of != Bias::Up || on.study.is_of_service());
    [Bias::Up, Bias::Better, Bias::Slower].into_iter().find_map(|bias| {
        let is_biased = |row: usize| on.rows[row].reasons.iter().any(|of| of_kind(of.kind) == Some(bias));
        let lost = cell.invalid.iter().filter(|&&row| is_biased(row)).count();
        let of = format!("in {lost} of {}", counted(all, "round"));
        (lost > 0).then(|| match bias {
            Bias::Up => format!("{of} {label} could not be reached, and the others tell nothing of these; let it run through all rounds, and run again"),
            Bias::Better => format!(
                "{of} {label} committed nothing, and the others are its better ones; use a longer window (--window) or \
                 fewer clients, so that it commits in each, and run again"
            ),
            Bias::Slower => format!(
                "{of} the clients of {label} were the limit, in its faster ones; use larger operations or fewer clients, \
                 and run again"
            ),
        })
    })
}

/// Fewest operations of a transaction for judging the share that was refused.
const REFUSALS_MIN: u64 = 20;

/// Refused operations are in no time. If a contender refuses its slowest ones, a quantile of the others is that of a
/// lower rank: with a tenth of the share beyond the quantile, 0.1 % for p99, it changes by less than 5 % (log-normal
/// times with sigma 1). A mean changes most by the slowest, so it gets the same tenth of the margin.
const REFUSED_OF_BEYOND: f64 = 0.1;

/// Largest difference of the shares that were refused.
fn refused_most(metric: &Metric, margin: f64) -> f64 {
    match metric.quantile() {
        Some((_, quantile, _)) => margin.min((1.0 - quantile.fraction()) * REFUSED_OF_BEYOND),
        None if !metric.means().is_empty() => margin * REFUSED_OF_BEYOND,
        None => margin,
    }
}

/// What to do so that both cells do the same work, by the outcome in which they differ most.
fn advice(counts: &[Counts; 2], is_of_service: bool) -> &'static str {
    use Outcome::{Conflict, Rejected, Timeout, Unsent};
    const NO_ROW: (CodeSpace, u32) = (CodeSpace::Worker, worker_code::NOT_KEPT);
    let count = |outcome: Outcome| counts.each_ref().map(|counts| counts.outcome(outcome));
    let share = |side: usize, outcome: Outcome| count(outcome)[side] as f64 / counts[side].planned().max(1) as f64;
    let apart = |all: &[Outcome]| all.iter().map(|of| share(0, *of) - share(1, *of)).sum::<f64>().abs();
    let no_row: u64 = counts.iter().filter_map(|counts| counts.codes.get(&NO_ROW)).sum();
    if count(Unsent) != [0, 0] {
        "choose a rate with which both keep up"
    } else if is_of_service {
        "let both answer them as the scenario expects"
    } else if apart(&[Rejected]) <= apart(&[Conflict, Timeout]) {
        "let both finish them (begin=immediate, a longer busy_timeout, retry=backoff)"
    } else if 2 * no_row > count(Rejected).iter().sum() {
        "a statement found no row for those after it, as in an empty queue: load more such rows, or give the transactions that \
         make them a larger share"
    } else {
        "let both accept them: no lock refused most of them, and contend explain CODE has the causes"
    }
}

/// Why two cells of a run did not do the same work. The as-published variant compares them anyway.
pub fn unequal_work(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Option<String> {
    let arms = [baseline, candidate].map(|cell| (cell, on.study.contenders[cell.contender].label.as_str()));
    if on.as_published() {
        return None;
    }
    let responses = || responses::difference(arms.map(|(cell, label)| (Responses::of(on.rows, cell), label)), on);
    not_the_same_work(on, arms, metric).or_else(|| responses().filter(|_| metric.is_of_work()))
}

/// Why two cells, each with its name, did not do the same work: one refuses or leaves out what the other does, so rates
/// and times of the rest are not comparable.
pub fn not_the_same_work(on: &Estimator<'_>, arms: [(&Cell, &str); 2], metric: &Metric) -> Option<String> {
    use Outcome::{Committed, Conflict, Rejected, Unsent};
    let margin = on.study.margin;
    let done: (&[Outcome], f64, &str) = (&[Committed], margin, "committed");
    let refused: (&[Outcome], f64, &str) = (&[Rejected, Conflict], refused_most(metric, margin), "refused");
    // Operations that never began belong to no role where several have the transaction.
    let kinds = arms[0].0.transactions.iter().flat_map(|of| [Some(of.role.as_str()), None].map(|role| (of, role)));
    kinds.filter(|_| metric.is_of_work()).find_map(|(of, role)| {
        let counts = arms.map(|(cell, _)| cell.counts(role, of.transaction));
        // A throughput lacks the operations that never began. That is the difference which it shows.
        let all = [0, 1].map(|side| {
            let never = if metric.is_throughput() { counts[side].outcome(Unsent) } else { 0 };
            counts[side].planned() - never
        });
        if all.iter().any(|all| *all < REFUSALS_MIN) {
            return None;
        }
        let is_of_service = on.study.is_of_service();
        let advice = advice(&counts, is_of_service);
        let name = on.transactions.get(usize::from(of.transaction)).map_or("a transaction", String::as_str);
        let [(_, of_base), (_, of_other)] = arms;
        if let Some([base, other]) = responses::failed(&counts, margin * REFUSED_OF_BEYOND).filter(|_| is_of_service) {
            return Some(format!(
                "not the same work: of {name} {other} failed with {of_other}, {base} with {of_base}; {advice}, and run again"
            ));
        }
        [done, refused].into_iter().find_map(|(outcomes, most, word)| {
            let [base, other] = [0, 1]
                .map(|side| outcomes.iter().map(|of| counts[side].outcome(*of)).sum::<u64>() as f64 / all[side] as f64);
            ((base - other).abs() > most).then(|| {
                format!(
                    "not the same work: of {name} {} % were {word} with {of_other}, {} % with {of_base}; {advice}, and \
                     run again",
                    plain(other * 100.0),
                    plain(base * 100.0),
                )
            })
        })
    })
}

/// Compares quantiles pooled over the common rounds; the interval of the ratio comes from the bootstrap.
fn compare_quantile(
    on: &Estimator<'_>,
    rounds: &[Pair<'_>],
    (baseline, candidate): (&Cell, &Cell),
    ((measure, quantile, scope), direction): ((Measure, Quantile, Scope), Direction),
    forbidden: Option<String>,
) -> Comparison {
    let study = on.study;
    let sides = [0, 1].map(|side| rounds.iter().map(move |pair| [pair.0, pair.1][side]));
    let observed = sides.clone().map(|rows| observed(rows, measure, scope).unwrap_or_default());
    let ranked = [0, 1].map(|side| observed[side].ranked());
    let not_printed = |side: usize| {
        let label = &study.contenders[[baseline, candidate][side].contender].label;
        let shown = dist::shown(&ranked[side], quantile, on.as_published());
        unprintable_value(shown.value, observed[side].unsent, quantile, label)
    };
    let values = [0, 1].map(|side| match ranked[side].unchecked_quantile(quantile) {
        QuantileValue::Exact(ns) | QuantileValue::AtLeast(ns) => ns as f64,
        QuantileValue::TooFew { .. } => 0.0,
    });
    let pair = RoundPair { baseline: values[0], candidate: values[1] };
    // Values that are not printed have no ratio.
    let not_printed = not_printed(0).or_else(|| not_printed(1));
    let center = pair.log_ratio().filter(|_| not_printed.is_none());
    let no_ratio = || center.is_none().then(|| verdict::no_ratio(&[pair]));
    let forbidden = forbidden.or(not_printed).or_else(no_ratio);
    let [b, c] = sides.map(|rows| histograms(rows, measure, scope));
    // Its interval needs a number of rounds that is fixed in advance.
    let has_interval = quantile != Quantile::Max && center.is_some() && study.until.is_none();
    let interval = b.zip(c).filter(|_| has_interval).and_then(|(b, c)| {
        let ratio = bootstrap::quantile_ratio_interval(&b, &c, quantile, study.load.seed)?;
        Some(Interval { low: ratio.low.ln(), high: ratio.high.ln(), coverage: ratio.coverage })
    });
    let ratio = LnRatio { center, interval, rounds: rounds.len() };
    let mut comparison = verdict::judge(ratio, direction, study.margin, forbidden.as_deref());
    if rounds.len() < MIN_ROUNDS && forbidden.is_none() {
        comparison.verdict = Verdict::NoWords;
    }
    comparison
}

/// Why a quantile of a cell may not be printed, and so not compared; `label` is the contender's.
pub fn unprintable(cell: &Cell, (measure, quantile, scope): (Measure, Quantile, Scope), label: &str) -> Option<String> {
    let dist = cell.pool(scope).dist(measure);
    unprintable_value(dist.quantile(quantile).value, dist.unsent, quantile, label)
}

fn unprintable_value(value: QuantileValue, unsent: u64, quantile: Quantile, label: &str) -> Option<String> {
    match value {
        QuantileValue::Exact(_) => None,
        QuantileValue::AtLeast(_) => Some(reach_into(unsent, quantile.label(), label)),
        QuantileValue::TooFew { n: 0, .. } => {
            Some(format!("{label} has no values for a {}; compare a metric that all contenders have", quantile.label()))
        }
        QuantileValue::TooFew { n, needed } => {
            Some(format!("{} needs {needed} operations, {label} has {n}; measure longer", quantile.label()))
        }
    }
}

fn reach_into(unsent: u64, what: &str, label: &str) -> String {
    let (never, advice) = match unsent {
        0 => {
            ("", "measure longer (--window) if the window cut them off, or compare a percentile that they do not reach")
        }
        _ => ("operations that never began, ", "choose a rate with which it keeps up, and run again"),
    };
    format!(
        "{never}timeouts, cut-off operations or those with an unknown end reach into the {what} of {label}; {advice}"
    )
}

/// Why a mean may not be compared: some operations were cut off or never began; `label` is the contender's.
pub fn no_mean(cell: &Cell, metric: &Metric, label: &str) -> Option<String> {
    let lacking = metric.means().into_iter().find(|&(measure, scope)| !cell.has_mean(measure, scope));
    lacking.map(|(measure, scope)| reach_into(cell.pool(scope).dist(measure).unsent, &metric.label(), label))
}

/// The effect of a factor under one condition.
#[derive(Debug, Clone)]
pub struct FactorEffect {
    pub about: String,
    pub condition: usize,
    pub metric: Option<Metric>,
    pub factor: Factor,
    pub result: Result<Effect, String>,
    /// Labels of the matched pairs: without the factor, with it.
    pub pairs: Vec<(usize, usize)>,
    pub crosses_tiers: bool,
}

/// The effect of a factor on the cells of one condition.
pub fn factor_effect(
    on: &Estimator<'_>,
    cells: &[Cell],
    condition: usize,
    factor: &Factor,
    metric: Option<Metric>,
) -> FactorEffect {
    let study = on.study;
    let pairs = effect_pairs(study, factor);
    let tier = |contender: usize| study.contenders[contender].tier;
    let crosses_tiers = pairs.iter().any(|&(from, to)| tier(from) != tier(to));
    let cell = |contender: usize| cells.iter().find(|c| c.condition == condition && c.contender == contender);
    let result = match &metric {
        None => Err(format!("`{}` is not a metric of this study", factor.metric)),
        Some(metric) => match pairs.iter().map(|&(a, b)| cell(a).zip(cell(b))).collect::<Option<Vec<_>>>() {
            None => Err(format!("a matched pair has no trial; {NO_TRIALS}")),
            Some(cells) => effect_of_cells(on, &cells, metric),
        },
    };
    FactorEffect {
        about: factor.about.clone(),
        condition,
        metric,
        factor: factor.clone(),
        result,
        pairs,
        crosses_tiers,
    }
}

fn effect_of_cells(on: &Estimator<'_>, cells: &[(&Cell, &Cell)], metric: &Metric) -> Result<Effect, String> {
    let study = on.study;
    let mut both = cells.iter().flat_map(|&(a, b)| [a, b]);
    let label = |cell: &Cell| study.contenders[cell.contender].label.as_str();
    let without = |cell: &Cell| {
        let of = label(cell);
        let no_value = || metric.quantile().and_then(|quantile| unprintable(cell, quantile, of));
        lost_rounds(on, cell, of).or_else(no_value).or_else(|| no_mean(cell, metric, of))
    };
    if let Some(reason) = both.find_map(without) {
        return Err(reason);
    }
    let (first, _) = cells.first().ok_or_else(|| effect::NoEffect::NoPairs.to_string())?;
    let row = |cell: &Cell, round: u32| cell.valid.iter().map(|&i| &on.rows[i]).find(|row| row.round == round);
    let all_pairs =
        |round: u32| -> Option<Vec<Pair<'_>>> { cells.iter().map(|(a, b)| row(a, round).zip(row(b, round))).collect() };
    let valid: Vec<Vec<Pair<'_>>> = first.valid.iter().filter_map(|&i| all_pairs(on.rows[i].round)).collect();
    if valid.is_empty() {
        return Err(format!("no round has valid trials of every matched pair; {NO_TRIALS}"));
    }
    let rounds: Vec<Vec<RoundPair>> = valid.iter().map(|round| pairs(on, round, metric)).collect();
    if rounds.iter().flatten().any(|pair| pair.baseline.is_nan() || pair.candidate.is_nan()) {
        return Err(not_in_every_round(study, metric, None));
    }
    if let Some(unequal) = cells.iter().find_map(|(a, b)| unequal_work(on, a, b, metric)) {
        return Err(unequal);
    }
    effect::factor_effect(study.looks(), &rounds).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_follows_from_what_ended_most_operations() {
        let of = |outcome, (space, code)| {
            let (mut done, mut refused) = (Counts::default(), Counts::default());
            done.add(Outcome::Committed, 9);
            refused.add(outcome, 9);
            refused.codes.insert((space, code), 9);
            advice(&[done, refused], false)
        };
        let no_row = (CodeSpace::Worker, worker_code::NOT_KEPT);
        assert!(of(Outcome::Conflict, (CodeSpace::Sqlite, 517)).contains("busy_timeout"));
        assert!(of(Outcome::Timeout, (CodeSpace::Sqlite, 5)).contains("busy_timeout"));
        let empty = of(Outcome::Rejected, no_row);
        assert!(empty.contains("found no row") && !empty.contains("busy_timeout"), "{empty}");
        let refused = of(Outcome::Rejected, (CodeSpace::Sqlite, 19));
        assert!(refused.contains("contend explain") && !refused.contains("busy_timeout"), "{refused}");
        assert!(of(Outcome::Unsent, no_row).contains("rate"));
        let mut both = [Counts::default(), Counts::default()];
        both.iter_mut().for_each(|counts| counts.add(Outcome::Rejected, 50));
        both[0].add(Outcome::Conflict, 10);
        both[1].add(Outcome::Committed, 10);
        assert!(advice(&both, false).contains("busy_timeout"), "they differ in conflicts");
    }
}
