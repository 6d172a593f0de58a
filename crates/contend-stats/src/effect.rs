//! The effect of one factor over everything else that was varied: a ratio and its interval, without verdict or rank.
//!
//! A factor (WAL instead of DELETE) occurs in several matched pairs of contenders that differ in nothing else. Per
//! round the effect is the geometric mean of the pairs' ratios; over the rounds it has a median and a sign-test
//! interval like any comparison. Pairs may lie in different durability tiers: the effect says what a setting costs, not
//! which contender to prefer, and its printed form says that it crosses tiers.

use crate::interval::{self, Interval, Looks};
use crate::verdict::RoundPair;
use serde::Serialize;

/// The effect of a factor on one metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// Median over the rounds of the geometric mean over the pairs of with / without.
    pub ratio: f64,
    pub interval: Option<Interval>,
    pub rounds: usize,
    /// Matched pairs in each round.
    pub pairs: usize,
}

/// Why there is no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEffect {
    NoPairs,
    /// Rounds that do not hold the same pairs would compare different things.
    UnequalPairs {
        round: usize,
    },
    /// A value is 0 or missing.
    NoRatio {
        round: usize,
        pair: usize,
    },
}

impl std::fmt::Display for NoEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoEffect::NoPairs => write!(f, "no two contenders differ in this factor alone"),
            NoEffect::UnequalPairs { round } => write!(f, "round {round} does not hold every matched pair"),
            NoEffect::NoRatio { round, pair } => write!(f, "pair {pair} of round {round} has no ratio"),
        }
    }
}

impl std::error::Error for NoEffect {}

/// The effect from every round's matched pairs: `candidate` with the factor, `baseline` without.
pub fn factor_effect(looks: Looks, rounds: &[Vec<RoundPair>]) -> Result<Effect, NoEffect> {
    let pairs = rounds.first().map_or(0, Vec::len);
    if pairs == 0 {
        return Err(NoEffect::NoPairs);
    }
    let means: Vec<f64> =
        (1..).zip(rounds).map(|(number, round)| mean_log_ratio(number, round, pairs)).collect::<Result<_, _>>()?;
    let ratio = interval::median(&means).ok_or(NoEffect::NoPairs)?.exp();
    Ok(Effect { ratio, interval: looks.median_interval(&means).map(Interval::exp), rounds: rounds.len(), pairs })
}

fn mean_log_ratio(round: usize, matched: &[RoundPair], pairs: usize) -> Result<f64, NoEffect> {
    if matched.len() != pairs {
        return Err(NoEffect::UnequalPairs { round });
    }
    let log_ratio = |(pair, values): (usize, &RoundPair)| values.log_ratio().ok_or(NoEffect::NoRatio { round, pair });
    let log_ratios: Vec<f64> = (1..).zip(matched).map(log_ratio).collect::<Result<_, _>>()?;
    Ok(log_ratios.iter().sum::<f64>() / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ratios: &[f64]) -> Vec<RoundPair> {
        ratios.iter().map(|&candidate| RoundPair { baseline: 1.0, candidate }).collect()
    }

    #[test]
    fn the_geometric_mean_of_the_pairs_then_the_median_of_the_rounds() {
        let effect = factor_effect(Looks::Once, &vec![round(&[2.0, 8.0]); 12]).unwrap();
        assert!((effect.ratio - 4.0).abs() < 1e-12);
        assert_eq!((effect.rounds, effect.pairs), (12, 2));
        let interval = effect.interval.unwrap();
        assert!((interval.low - 4.0).abs() < 1e-12 && (interval.high - 4.0).abs() < 1e-12);
    }

    #[test]
    fn opposite_effects_cancel_and_few_rounds_have_no_interval() {
        let effect = factor_effect(Looks::Once, &vec![round(&[2.0, 0.5]); 3]).unwrap();
        assert!((effect.ratio - 1.0).abs() < 1e-12);
        assert_eq!(effect.interval, None);
    }

    #[test]
    fn what_cannot_be_matched_is_named() {
        assert_eq!(factor_effect(Looks::Once, &[]), Err(NoEffect::NoPairs));
        assert_eq!(
            factor_effect(Looks::Once, &[round(&[1.0, 1.0]), round(&[1.0])]),
            Err(NoEffect::UnequalPairs { round: 2 })
        );
        let error = factor_effect(Looks::Once, &[round(&[1.0]), round(&[0.0])]).unwrap_err();
        assert_eq!(error.to_string(), "pair 1 of round 2 has no ratio");
    }
}
