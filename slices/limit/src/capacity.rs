//! Capacities over the rounds and their ratios, with the intervals and verdicts of every report.

use crate::of::MOST;
use crate::saved::{Arm, Capacity, Saved};
use crate::search::STEP;
use contend_stats::interval::{Interval, median, median_interval};
use contend_stats::precision::count;
use contend_stats::verdict::{Comparison, Direction, RoundPair, compare_rounds};
use serde::Serialize;

/// The capacity of an arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub arm: usize,
    /// Median over the rounds, where a round without a value ranks below all others; `None` if such a round is the
    /// middle.
    pub value: Option<f64>,
    /// Of the rate at which the bounds begin to be missed: that is up to a step above the values.
    pub interval: Option<Interval>,
    /// Whether the interval has no upper end: greater numbers were not tried.
    pub is_open: bool,
    /// Rounds with a value, and all searched rounds.
    pub rounds: usize,
    pub searched: usize,
    /// Why the first round without a value has none.
    pub why: Option<String>,
    /// The highest value that met the bounds in that round, and the lowest that missed one, if the time was used up.
    pub met: Option<f64>,
    pub missed: Option<f64>,
}

/// Estimates of all arms, in their order.
pub fn estimates(saved: &Saved) -> Vec<Estimate> {
    (0..saved.arms.len()).map(|arm| estimate(saved, arm)).collect()
}

pub fn estimate(saved: &Saved, arm: usize) -> Estimate {
    let values: Vec<f64> = saved.values(arm).into_iter().map(|(_, value)| value).collect();
    let of_arm = || saved.capacities.iter().filter(|capacity| capacity.arm == arm);
    let without = of_arm().find(|capacity| capacity.value().is_none());
    let interval = median_interval(&values).filter(|_| values.len() == of_arm().count());
    Estimate {
        arm,
        value: middle(&values, of_arm().count()),
        // Rounds are not missing at random, so there is no interval without them.
        interval: interval.map(|of| up_to_a_step(saved, of)),
        is_open: interval.is_some_and(|of| is_most(saved, of.high)),
        rounds: values.len(),
        searched: of_arm().count(),
        why: without.map(|capacity| capacity.why.clone()),
        met: without.and_then(|capacity| capacity.met),
        missed: without.and_then(|capacity| capacity.missed),
    }
}

/// The interval with its upper end raised: each value is the lower end of a bracket, low by up to a step in every round.
fn up_to_a_step(saved: &Saved, interval: Interval) -> Interval {
    let high = interval.high * STEP;
    // Where more was tried, it missed: only an open interval ends at the greatest number.
    Interval { high: if saved.of().is_rate() { high } else { high.floor().min(MOST) }, ..interval }
}

/// Whether a number is the greatest that is tried: the true one may be greater.
fn is_most(saved: &Saved, value: f64) -> bool {
    !saved.of().is_rate() && value >= MOST
}

fn middle(values: &[f64], searched: usize) -> Option<f64> {
    let missing = searched.saturating_sub(values.len());
    let all: Vec<f64> = values.iter().copied().chain(std::iter::repeat_n(0.0, missing)).collect();
    // With an even number, the lower of the two in the middle must be a value too.
    median(&all).filter(|_| missing * 2 < searched)
}

/// The capacity of `arm` relative to that of `base`, over the rounds in which both have a value. Different tiers get
/// no verdict, nor do services, whose answers a search does not compare, and numbers that may be greater.
pub fn compare(saved: &Saved, base: usize, arm: usize) -> Comparison {
    let tier = |arm: usize| &saved.arms[arm].tier;
    let why_not = (tier(base) != tier(arm))
        .then(|| format!("tiers differ: {} against {}; compare inside one tier", tier(arm), tier(base)));
    let services = "the answers of services are not compared here; compare them with: contend http A B";
    let why_not = why_not.or_else(|| saved.service.then(|| services.to_string()));
    let mut values = saved.values(base).into_iter().chain(saved.values(arm));
    let is_open = values.any(|(_, value)| is_most(saved, value));
    let most = || format!("more than {} were not tried", count(MOST as u64));
    compare_with(saved, (base, arm), why_not.or_else(|| is_open.then(most)))
}

/// As [`compare`], for arms whose tiers may differ: not a comparison of contenders, but the search for a limit's
/// cause.
pub fn compare_with(saved: &Saved, (base, arm): (usize, usize), why_not: Option<String>) -> Comparison {
    let pairs = pairs(saved, base, arm);
    let is_whole = |arm: usize| estimate(saved, arm).rounds == estimate(saved, arm).searched;
    let why_not = why_not.or_else(|| pairs.is_empty().then(|| "no round has a value of both".to_string()));
    let why_not = why_not.or_else(|| (!is_whole(base) || !is_whole(arm)).then(|| "a round has no value".to_string()));
    compare_rounds(&pairs, Direction::HigherIsBetter, saved.margin, why_not.as_deref())
}

/// Result of an arm with a relaxed suspect in one round, relative to the value of its contender there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Its own highest rate.
    Is(f64),
    /// It met the bounds at the only rate that was tried.
    AtLeast(f64),
    /// It missed one there.
    Below(f64),
    /// It was searched and has no value.
    Nothing,
}

impl Shown {
    pub fn measured(&self) -> Option<f64> {
        match self {
            Shown::Is(ratio) => Some(*ratio),
            Shown::AtLeast(_) | Shown::Below(_) | Shown::Nothing => None,
        }
    }

    pub fn at_least(&self) -> Option<f64> {
        if let Shown::AtLeast(ratio) = self { Some(*ratio) } else { None }
    }

    pub fn below(&self) -> Option<f64> {
        if let Shown::Below(ratio) = self { Some(*ratio) } else { None }
    }
}

/// Results of an arm in the rounds in which its contender has a value.
pub fn shown(saved: &Saved, base: usize, arm: usize) -> Vec<Shown> {
    let values = saved.values(base);
    let of_arm = saved.capacities.iter().filter(|capacity| capacity.arm == arm);
    let shown = |capacity: &Capacity| {
        let (_, value) = values.iter().find(|(round, _)| *round == capacity.round)?;
        let is = capacity.value().map(|of| Shown::Is(of / value));
        let at_least = || capacity.met.map(|of| Shown::AtLeast(of / value));
        let below = || capacity.missed.map(|of| Shown::Below(of / value));
        Some(is.or_else(at_least).or_else(below).unwrap_or(Shown::Nothing))
    };
    of_arm.filter_map(shown).collect()
}

/// Values of the rounds in which both arms have one.
pub fn pairs(saved: &Saved, base: usize, arm: usize) -> Vec<RoundPair> {
    let (base, arm) = (saved.values(base), saved.values(arm));
    let pair = |(round, baseline): &(u32, f64)| {
        let (_, candidate) = arm.iter().find(|(other, _)| other == round)?;
        Some(RoundPair { baseline: *baseline, candidate: *candidate })
    };
    base.iter().filter_map(pair).collect()
}

/// Arms without a relaxed suspect.
pub fn plain_arms(saved: &Saved) -> impl Iterator<Item = (usize, &Arm)> {
    saved.arms.iter().enumerate().filter(|(_, arm)| arm.relaxed.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{arm, saved};
    use contend_stats::verdict::Verdict;

    #[test]
    fn capacities_have_the_intervals_and_words_of_other_figures() {
        let slow = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0].map(Some);
        let fast = slow.map(|value| value.map(|value| value * 2.0));
        let saved = saved(vec![arm("A", "durable"), arm("B", "durable"), arm("C", "bounded")], &[&slow, &fast, &fast]);
        let first = estimate(&saved, 0);
        assert_eq!((first.value, first.rounds, first.searched), (Some(100.0), 6, 6));
        assert_eq!(first.interval.map(|interval| (interval.low, interval.high)), Some((98.0, 102.0 * STEP)));
        assert_eq!(compare(&saved, 0, 1).verdict, Verdict::Faster);
        assert!(matches!(compare(&saved, 0, 2).verdict, Verdict::NotComparable(why) if why.contains("tiers differ")));
    }

    #[test]
    fn numbers_that_may_be_greater_are_not_compared_and_have_no_upper_end() {
        let most = [Some(MOST); 6];
        let few = [400.0, 410.0, 390.0, 400.0, 420.0, 400.0].map(Some);
        let arms = || vec![arm("A", "durable"), arm("B", "durable")];
        let clients = Saved { of: "clients".to_string(), ..saved(arms(), &[&few, &most]) };
        let why = |saved: &Saved| match compare(saved, 0, 1).verdict {
            Verdict::NotComparable(why) => why,
            other => other.to_string(),
        };
        assert_eq!(why(&clients), "more than 1,024 were not tried");
        assert!(estimate(&clients, 1).is_open && !estimate(&clients, 0).is_open);
        let many = Saved { of: "clients".to_string(), ..saved(arms(), &[&[Some(1_010.0); 6], &most]) };
        let high = estimate(&many, 0).interval.map(|interval| interval.high);
        assert_eq!(high, Some(MOST), "that number was tried, and missed");
        assert_eq!(why(&saved(arms(), &[&few, &most])), "faster", "a rate may be of any size");
        let services = Saved { service: true, ..saved(arms(), &[&few, &few]) };
        assert!(why(&services).contains("contend http A B"));
    }

    #[test]
    fn rounds_without_a_value_are_left_out_and_said() {
        let some = [Some(10.0), None, Some(12.0)];
        let saved = saved(vec![arm("A", "durable"), arm("B", "durable")], &[&some, &[None, Some(9.0), Some(12.0)]]);
        let found = estimate(&saved, 0);
        assert_eq!((found.value, found.rounds, found.searched), (Some(10.0), 2, 3), "a missing one is the lowest");
        assert_eq!(middle(&[10.0, 12.0], 4), None);
        assert_eq!(found.why.as_deref(), Some("none found"));
        let comparison = compare(&saved, 0, 1);
        assert!(matches!(comparison.verdict, Verdict::NotComparable(why) if why.contains("a round has no value")));
    }
}
