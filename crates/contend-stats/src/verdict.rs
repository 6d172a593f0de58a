//! The words of a comparison.
//!
//! Per round the log ratio candidate / baseline; its median, its exact interval, and one of a closed list of words, in
//! this order: the caller has a reason against it = not comparable; the interval excludes 1 = faster or slower, slightly
//! so when the median is inside the margin; the interval lies inside the margin = no difference beyond the margin; else
//! cannot tell. Fewer than six rounds give a ratio without words. *Both did what was asked* is decided by the caller,
//! which knows the load.

use crate::interval::{self, Interval, Looks};
use crate::precision::plain;
use serde::Serialize;
use std::fmt;

/// The effect below which a difference is called slight, or none: 5 %.
pub const MARGIN: f64 = 0.05;

/// Most rounds of a study: beyond them the machine is too noisy, or the effect too small.
pub const ROUNDS_MAX: u32 = 200;

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    HigherIsBetter,
    LowerIsBetter,
}

/// What one round measured in the two arms. Any unit, as long as both share it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundPair {
    pub baseline: f64,
    pub candidate: f64,
}

impl RoundPair {
    /// ln(candidate / baseline), or `None` without a ratio (a zero, an infinity). Computed as the difference of the
    /// logarithms, so that swapping the arms only flips the sign.
    pub fn log_ratio(self) -> Option<f64> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        (positive(self.baseline) && positive(self.candidate)).then(|| self.candidate.ln() - self.baseline.ln())
    }
}

/// The closed list of words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "word", content = "reason")]
pub enum Verdict {
    #[serde(rename = "faster")]
    Faster,
    #[serde(rename = "slower")]
    Slower,
    #[serde(rename = "slightly faster")]
    SlightlyFaster,
    #[serde(rename = "slightly slower")]
    SlightlySlower,
    #[serde(rename = "no difference beyond the margin")]
    NoDifference,
    #[serde(rename = "cannot tell")]
    CannotTell,
    #[serde(rename = "not comparable")]
    NotComparable(String),
    /// Both arms did everything that they were given to do, so their rates are those of the load.
    #[serde(rename = "both did what was asked")]
    AsAsked,
    /// Too few rounds for any word.
    #[serde(rename = "no words")]
    NoWords,
}

impl Verdict {
    /// Whether a check that nothing is slower fails: it is slower, or cannot be compared.
    pub fn fails_if_slower(&self) -> bool {
        matches!(self, Verdict::Slower | Verdict::NotComparable(_))
    }

    /// Whether the word claims that the arms differ.
    pub fn is_difference(&self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower | Verdict::SlightlyFaster | Verdict::SlightlySlower)
    }

    /// The word for the candidate and the baseline exchanged.
    pub fn mirrored(&self) -> Verdict {
        match self {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::SlightlyFaster => Verdict::SlightlySlower,
            Verdict::SlightlySlower => Verdict::SlightlyFaster,
            same => same.clone(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::SlightlyFaster => "slightly faster",
            Verdict::SlightlySlower => "slightly slower",
            Verdict::NoDifference => "no difference beyond the margin",
            Verdict::CannotTell => "cannot tell",
            Verdict::AsAsked => "both did what was asked",
            Verdict::NotComparable(reason) => return write!(f, "not comparable: {reason}"),
            Verdict::NoWords => "too few rounds for words",
        };
        f.write_str(word)
    }
}

/// The comparison of a candidate with the baseline, for one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Median over the rounds of candidate / baseline.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub coverage: Option<f64>,
    pub rounds: u32,
    pub verdict: Verdict,
    /// Relative: 0.03 is 3 %. See [`minimum_detectable_effect`].
    pub minimum_detectable_effect: Option<f64>,
    /// When the verdict is *cannot tell*: see [`rounds_needed`].
    pub rounds_needed: Option<u32>,
}

/// Compares two arms over their rounds. `why_not` is the caller's reason why they may not be compared, such as
/// different tiers, unequal work or drift.
pub fn compare_rounds(rounds: &[RoundPair], direction: Direction, margin: f64, why_not: Option<&str>) -> Comparison {
    compare_rounds_by(Looks::Once, rounds, direction, margin, why_not)
}

/// The same for rounds whose number was decided as `looks` says.
pub fn compare_rounds_by(
    looks: Looks,
    rounds: &[RoundPair],
    direction: Direction,
    margin: f64,
    why_not: Option<&str>,
) -> Comparison {
    let log_ratios: Option<Vec<f64>> = rounds.iter().map(|round| round.log_ratio()).collect();
    let Some(log_ratios) = log_ratios else {
        let reason = why_not.map_or_else(|| no_ratio(rounds), str::to_owned);
        return Comparison::new(rounds.len(), None, None, Verdict::NotComparable(reason));
    };
    let ratio = LnRatio {
        center: interval::median(&log_ratios),
        interval: looks.median_interval(&log_ratios),
        rounds: log_ratios.len(),
    };
    let mut comparison = judge(ratio, direction, margin, why_not);
    if ratio.interval.is_none() && why_not.is_none() {
        comparison.verdict = Verdict::NoWords;
    }
    comparison
}

/// Why rounds have no ratio, and what to do.
pub fn no_ratio(rounds: &[RoundPair]) -> String {
    format!("{}; measure longer, or compare another metric", without_ratio(rounds))
}

fn without_ratio(rounds: &[RoundPair]) -> String {
    let neither = |round: &&RoundPair| round.candidate == 0.0 && round.baseline == 0.0;
    match rounds.iter().filter(neither).count() {
        all if all == rounds.len() => return "neither had any".to_string(),
        0 => {}
        some => return format!("in {some} of {} rounds neither had any", rounds.len()),
    }
    let without: Vec<&RoundPair> = rounds.iter().filter(|round| round.log_ratio().is_none()).collect();
    let first = without.first().expect("called because a round has no ratio");
    let (candidate, baseline) = (plain(first.candidate), plain(first.baseline));
    match (without.len(), rounds.len()) {
        (_, 1) => format!("{candidate} against {baseline} is not a ratio"),
        (some, all) => format!("{some} of {all} rounds have no ratio (such as {candidate} against {baseline})"),
    }
}

/// Logarithm of candidate / baseline over some rounds.
#[derive(Debug, Clone, Copy)]
pub struct LnRatio {
    pub center: Option<f64>,
    pub interval: Option<Interval>,
    pub rounds: usize,
}

/// The word for a ratio and its interval. Without an interval the word is *cannot tell*; with one that is too wide, the
/// rounds needed are estimated.
pub fn judge(ratio: LnRatio, direction: Direction, margin: f64, why_not: Option<&str>) -> Comparison {
    let LnRatio { center: ln_center, interval: ln_interval, rounds } = ratio;
    let verdict = match (why_not, ln_center, ln_interval) {
        (Some(reason), _, _) => Verdict::NotComparable(reason.to_owned()),
        (None, Some(center), Some(interval)) => word(center, interval, direction, margin),
        _ => Verdict::CannotTell,
    };
    let mut comparison = Comparison::new(rounds, ln_center, ln_interval, verdict);
    if let (Verdict::CannotTell, Some(center), Some(interval)) = (&comparison.verdict, ln_center, ln_interval) {
        comparison.rounds_needed = Some(rounds_needed(rounds, (center, half_width(interval)), margin));
    }
    comparison
}

fn word(ln_center: f64, ln: Interval, direction: Direction, margin: f64) -> Verdict {
    // The margin is symmetric in the logarithm, so that swapping the arms mirrors the words.
    let ln_margin = margin.ln_1p();
    if ln.low > 0.0 || ln.high < 0.0 {
        let better = (ln_center > 0.0) == (direction == Direction::HigherIsBetter);
        return match (better, ln_center.abs() > ln_margin) {
            (true, true) => Verdict::Faster,
            (true, false) => Verdict::SlightlyFaster,
            (false, true) => Verdict::Slower,
            (false, false) => Verdict::SlightlySlower,
        };
    }
    if ln.low > -ln_margin && ln.high < ln_margin { Verdict::NoDifference } else { Verdict::CannotTell }
}

impl Comparison {
    fn new(rounds: usize, ln_center: Option<f64>, ln_interval: Option<Interval>, verdict: Verdict) -> Comparison {
        let interval = ln_interval.map(Interval::exp);
        Comparison {
            ratio: ln_center.map(f64::exp),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            coverage: interval.map(|interval| interval.coverage),
            rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
            verdict,
            minimum_detectable_effect: ln_interval.map(|interval| minimum_detectable_effect(half_width(interval))),
            rounds_needed: None,
        }
    }
}

fn half_width(ln_interval: Interval) -> f64 {
    (ln_interval.high - ln_interval.low) / 2.0
}

/// The smallest effect that these rounds could have distinguished from none: e^h - 1 with h the half width of the log
/// interval. An interval of this width that is centred on a larger effect excludes 1. An effect of just this size is
/// found about every other time; one of twice this size nearly always.
pub fn minimum_detectable_effect(ln_half_width: f64) -> f64 {
    ln_half_width.exp_m1()
}

/// Fewest rounds for a word with this median: n x (h / max(|c|, m - |c|))^2 with m = ln(1 + margin), up to the next even
/// number (rounds are run in pairs, a permutation and its reverse), and at least two more than there are. The interval
/// must exclude 1 (h < |c|) or lie inside the margin (h < m - |c|), whichever is sooner.
///
/// The width of an order-statistic interval of the median falls with the square root of n (David & Nagaraja, Order
/// Statistics, 7.1 and 10.2: the sample median is asymptotically normal with variance 1 / (4 n f(m)^2)); solving
/// h' = h sqrt(n / n') gives the formula. It is an estimate, as c and h are.
pub fn rounds_needed(rounds: usize, (ln_center, ln_half_width): (f64, f64), margin: f64) -> u32 {
    let wanted = ln_center.abs().max(margin.ln_1p() - ln_center.abs());
    let shrunk = rounds as f64 * (ln_half_width / wanted).powi(2);
    let at_least = (rounds + 2) as f64;
    // A float cast saturates, and u32::MAX is odd.
    let needed = shrunk.max(at_least).ceil() as u32;
    needed.checked_next_multiple_of(2).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
