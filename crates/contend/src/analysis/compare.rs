//! Comparisons with a baseline inside one tier and condition, with the round as the unit; effects of a factor, which
//! may cross tiers and have no verdict.

use crate::analysis::cell::Cell;
use crate::analysis::estimate::{Estimator, histograms, pooled};
use crate::analysis::metric::{Metric, plain};
use crate::analysis::trial::{Measure, Scope, TrialRow};
use crate::outcome::Outcome;
use crate::stats::effect::{self, Effect};
use crate::stats::interval::{Interval, MIN_ROUNDS};
use crate::stats::quantile::{Quantile, QuantileValue};
use crate::stats::verdict::{self, Comparison, Direction, LnRatio, RoundPair, Verdict};
use crate::stats::{bootstrap, drift};
use crate::study::model::{Effect as Factor, Study, Variant};
use crate::study::pairs::effect_pairs;

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

/// Compares two cells of the same condition.
pub fn compare(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Compared {
    let study = on.study;
    let rounds = common_rounds(on.rows, baseline, candidate);
    let why_not = not_comparable(on, &rounds, baseline, candidate, metric).or_else(|| looked_at(study, metric));
    let mut comparison = match metric.quantile() {
        Some(of) => compare_quantile(on, &rounds, (baseline, candidate), (of, metric.direction), why_not),
        None => {
            let pairs = pairs(on, &rounds, metric);
            verdict::compare_rounds_by(study.looks(), &pairs, metric.direction, study.margin, why_not.as_deref())
        }
    };
    if both_kept_up(on, baseline, candidate, metric) && !matches!(comparison.verdict, Verdict::NotComparable(_)) {
        comparison.verdict = Verdict::AsAsked;
        comparison.rounds_needed = None;
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

/// Why the values of two cells allow no word, whatever they are: the cells may not be compared, a quantile may not be printed,
/// or both did what was asked. For callers that compare the rounds themselves.
pub fn why_not(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Option<String> {
    let rounds = common_rounds(on.rows, baseline, candidate);
    let no_quantile = || {
        let of = metric.quantile()?;
        let label = |cell: &Cell| on.study.contenders[cell.contender].label.as_str();
        [baseline, candidate].into_iter().find_map(|cell| unprintable(cell, of, label(cell)))
    };
    let is_published = on.study.variant == Variant::AsPublished;
    let published = || is_published.then(|| "the repetitions of the original tell nothing about chance".to_string());
    let asked = || {
        both_kept_up(on, baseline, candidate, metric)
            .then(|| "both did everything that arrived, so each rate is that of the load".to_string())
    };
    not_comparable(on, &rounds, baseline, candidate, metric).or_else(no_quantile).or_else(published).or_else(asked)
}

/// Whether a throughput is that of the load: both arms did all that arrived, at one rate.
fn both_kept_up(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> bool {
    let [asked, other] = [baseline, candidate].map(|cell| cell.rate_per_s(on.rows).filter(|_| cell.kept_up()));
    metric.is_throughput() && asked.is_some() && asked == other
}

/// Why a quantile has no interval: the number of rounds was not fixed in advance.
fn looked_at(study: &Study, metric: &Metric) -> Option<String> {
    study.until?;
    metric.quantile()?;
    Some(
        "the rounds went on until the headline was known, which the interval of a quantile does not allow for"
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
    if tier(baseline) != tier(candidate) {
        return Some(format!("tiers differ: {} against {}; compare inside one tier", tier(candidate), tier(baseline)));
    }
    if rounds.is_empty() {
        return Some(
            "no round has a valid trial of both; fix what \"Trials that do not count\" lists, and run again"
                .to_string(),
        );
    }
    if let Some(unequal) = unequal_work(on, baseline, candidate, metric) {
        return Some(unequal);
    }
    let pairs = pairs(on, rounds, metric);
    if pairs.iter().any(|p| p.baseline.is_nan() || p.candidate.is_nan()) && metric.quantile().is_none() {
        let label = |cell: &Cell| study.contenders[cell.contender].label.clone();
        let cut_off = [baseline, candidate].into_iter().find_map(|cell| no_mean(cell, metric, &label(cell)));
        let of = |p: &RoundPair, candidate: bool| if candidate { p.candidate } else { p.baseline };
        let has_none = |candidate: bool| pairs.iter().all(|p| of(p, candidate).is_nan());
        let without = [(baseline, false), (candidate, true)].into_iter().find(|(_, side)| has_none(*side));
        let without = without.map(|(cell, _)| label(cell));
        return Some(cut_off.unwrap_or_else(|| not_in_every_round(study, metric, without.as_deref())));
    }
    let ratios: Vec<f64> = pairs.iter().filter_map(|p| p.log_ratio()).map(f64::exp).collect();
    let trend = drift::trend(&ratios).filter(|trend| trend.drifting)?;
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

/// Fewest operations of a transaction for judging the share that was refused.
const REFUSALS_MIN: u64 = 20;

/// Why two cells did not do the same work: one refuses what the other does, so rates and times of the rest are not
/// comparable. The as-published variant compares them anyway.
fn unequal_work(on: &Estimator<'_>, baseline: &Cell, candidate: &Cell, metric: &Metric) -> Option<String> {
    let study = on.study;
    if study.variant == Variant::AsPublished || !metric.is_of_work() {
        return None;
    }
    let committed = |cell: &Cell, role: &str, transaction: u16| {
        let found = cell.transactions.iter().find(|t| t.role == role && t.transaction == transaction)?;
        let outcome = |outcome| found.pool.counts.outcome(outcome);
        let refused = [Outcome::Rejected, Outcome::Conflict, Outcome::Timeout].into_iter().map(outcome).sum::<u64>();
        let all = outcome(Outcome::Committed) + refused;
        (all >= REFUSALS_MIN).then(|| outcome(Outcome::Committed) as f64 / all as f64)
    };
    baseline.transactions.iter().find_map(|of| {
        let [base, other] = [baseline, candidate].map(|cell| committed(cell, &of.role, of.transaction));
        let (base, other) = (base?, other?);
        let label = |cell: &Cell| &study.contenders[cell.contender].label;
        ((base - other).abs() > study.margin).then(|| {
            format!(
                "not the same work: of {} {} % were committed with {}, {} % with {}; let both finish them (begin=immediate, a \
                 longer busy_timeout, retry=backoff), and run again",
                on.transactions.get(usize::from(of.transaction)).map_or("a transaction", String::as_str),
                plain(other * 100.0),
                label(candidate),
                plain(base * 100.0),
                label(baseline)
            )
        })
    })
}

/// Compares quantiles pooled over the common rounds; the interval of the ratio comes from the bootstrap.
fn compare_quantile(
    on: &Estimator<'_>,
    rounds: &[Pair<'_>],
    (baseline, candidate): (&Cell, &Cell),
    ((measure, quantile, scope), direction): ((Measure, Quantile, Scope), Direction),
    why_not: Option<String>,
) -> Comparison {
    let study = on.study;
    let unprintable =
        |cell: &Cell| unprintable(cell, (measure, quantile, scope), &study.contenders[cell.contender].label);
    let why_not = unprintable(baseline).or_else(|| unprintable(candidate)).or(why_not);
    let arm = |rows: Vec<&TrialRow<'_>>| histograms(rows.into_iter(), measure, scope);
    let arms = arm(rounds.iter().map(|(b, _)| *b).collect()).zip(arm(rounds.iter().map(|(_, c)| *c).collect()));
    let center = arms.as_ref().and_then(|(b, c)| {
        let ratio = pooled(c, quantile)? as f64 / pooled(b, quantile)?.max(1) as f64;
        (ratio > 0.0).then(|| ratio.ln())
    });
    let interval = arms
        .and_then(|(b, c)| bootstrap::quantile_ratio_interval(&b, &c, quantile, study.load.seed))
        .map(|i| Interval { low: i.low.ln(), high: i.high.ln(), coverage: i.coverage });
    let ratio = LnRatio { center, interval, rounds: rounds.len() };
    let mut comparison = verdict::judge(ratio, direction, study.margin, why_not.as_deref());
    if rounds.len() < MIN_ROUNDS && why_not.is_none() {
        comparison.verdict = Verdict::NoWords;
    }
    comparison
}

/// Why a quantile may not be printed, and so not compared; `label` is the contender's.
pub fn unprintable(cell: &Cell, (measure, quantile, scope): (Measure, Quantile, Scope), label: &str) -> Option<String> {
    match cell.pool(scope).dist(measure).quantile(quantile).value {
        QuantileValue::Exact(_) => None,
        QuantileValue::AtLeast(_) => {
            Some(format!("timeouts or cut-off operations reach into the {} of {label}", quantile.label()))
        }
        QuantileValue::TooFew { n, needed } => {
            Some(format!("{} needs {needed} operations, {label} has {n}; measure longer", quantile.label()))
        }
    }
}

/// Why a mean may not be compared: some operations were cut off; `label` is the contender's.
pub fn no_mean(cell: &Cell, metric: &Metric, label: &str) -> Option<String> {
    let reach = || format!("timeouts or cut-off operations reach into the {} of {label}", metric.label());
    metric.mean().is_some_and(|(measure, scope)| cell.cut_off(measure, scope)).then(reach)
}

/// Round and value.
type Rounds = Vec<(u32, f64)>;

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
            None => Err("no trial of a matched pair".to_string()),
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
    let label = |cell: &Cell| study.contenders[cell.contender].label.clone();
    let without = |cell: &Cell| match metric.quantile() {
        Some(of) => unprintable(cell, of, &label(cell)),
        None => no_mean(cell, metric, &label(cell)),
    };
    if let Some(reason) = both.find_map(without) {
        return Err(reason);
    }
    let by_round: Vec<[Rounds; 2]> = cells.iter().map(|(a, b)| [on.rounds(a, metric), on.rounds(b, metric)]).collect();
    let value = |of: &[(u32, f64)], round: u32| of.iter().find(|(r, _)| *r == round).map(|(_, v)| *v);
    let all_pairs = |round: u32| -> Option<Vec<RoundPair>> {
        let pair = |[a, b]: &[Rounds; 2]| Some(RoundPair { baseline: value(a, round)?, candidate: value(b, round)? });
        by_round.iter().map(pair).collect()
    };
    let first = by_round.first().ok_or_else(|| effect::NoEffect::NoPairs.to_string())?;
    let rounds: Vec<Vec<RoundPair>> = first[0].iter().filter_map(|(round, _)| all_pairs(*round)).collect();
    if rounds.is_empty() {
        return Err("no round has valid trials of every matched pair".to_string());
    }
    if let Some(unequal) = cells.iter().find_map(|(a, b)| unequal_work(on, a, b, metric)) {
        return Err(unequal);
    }
    effect::factor_effect(study.looks(), &rounds).map_err(|e| e.to_string())
}
