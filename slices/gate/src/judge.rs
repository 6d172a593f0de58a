//! Compares two builds and decides what may be claimed. Pure.
//!
//! The rounds are evaluated as they arrive, so the interval is one that holds at all looks together (as in `contend
//! run --until`), here with a coverage of 99 %: two equal builds are called different in at most one gate of a
//! hundred.

use crate::saved::{By, Round};
use contend_stats::interval::{median, median_interval_at_any_time, median_ranks_at_any_time};
use contend_stats::verdict::{Comparison, Direction, LnRatio, ROUNDS_MAX, RoundPair, Verdict, judge as judge_ratio};

/// Coverage of the interval at all looks together.
pub const COVERAGE: f64 = 0.99;

/// The result of a gate for a change; the worst one is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// B is faster, not different, or slower by less than the margin.
    Passes,
    /// The rounds do not decide.
    CannotTell,
    /// The rounds allow no comparison, however many there are.
    NotComparable,
    /// B is slower, and the median ratio exceeds the margin.
    Slower,
    /// B does not do the work that A does.
    Failed,
}

/// The result of one comparison.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The time or the contender that is compared.
    pub name: String,
    /// One line for a pull request.
    pub line: String,
    pub judgement: Judgement,
}

/// Compares B with A over their rounds.
pub fn judge<'r>(rounds: impl Iterator<Item = &'r Round>, by: By, margin: f64) -> Comparison {
    let pair = |round: &Round| RoundPair { baseline: by.of(round.a) as f64, candidate: by.of(round.b) as f64 };
    judge_pairs(&rounds.map(pair).collect::<Vec<_>>(), margin)
}

/// Compares the times of rounds.
fn judge_pairs(pairs: &[RoundPair], margin: f64) -> Comparison {
    judge_pairs_of(pairs, Direction::LowerIsBetter, (COVERAGE, margin), None)
}

/// Compares values of rounds, with this coverage at all looks together. `why_not` is the reason why they may not be compared.
pub fn judge_pairs_of(
    pairs: &[RoundPair],
    direction: Direction,
    (coverage, margin): (f64, f64),
    why_not: Option<&str>,
) -> Comparison {
    let ln: Option<Vec<f64>> = pairs.iter().map(|pair| pair.log_ratio()).collect();
    let why_not = why_not.or_else(|| ln.is_none().then_some("a round has no value above zero"));
    let ln = ln.unwrap_or_default();
    let interval = median_interval_at_any_time(&ln, coverage);
    let ratio = LnRatio { center: median(&ln), interval, rounds: pairs.len() };
    judge_by_interval(ratio, direction, margin, why_not)
}

/// The word for a ratio and its interval. *Slightly slower* takes the whole interval inside the margin, because it passes: an
/// interval that reaches beyond the margin is *cannot tell*, whether it excludes 1 or not.
pub fn judge_by_interval(ratio: LnRatio, direction: Direction, margin: f64, why_not: Option<&str>) -> Comparison {
    let mut comparison = judge_ratio(ratio, direction, margin, why_not);
    if comparison.verdict == Verdict::SlightlySlower && !is_within(&comparison, margin) {
        comparison.verdict = Verdict::CannotTell;
    }
    comparison
}

fn is_within(comparison: &Comparison, margin: f64) -> bool {
    let within = |(low, high): (f64, f64)| low > 1.0 / (1.0 + margin) && high < 1.0 + margin;
    comparison.low.zip(comparison.high).is_some_and(within)
}

/// Whether more rounds would hardly change the result: the verdict is definite, and a slight difference is known to
/// be within the margin.
pub fn is_decided(comparison: &Comparison, margin: f64) -> bool {
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower | Verdict::SlightlySlower | Verdict::NoDifference => true,
        Verdict::SlightlyFaster => is_within(comparison, margin),
        _ => false,
    }
}

pub fn judgement(verdict: &Verdict) -> Judgement {
    match verdict {
        Verdict::Slower => Judgement::Slower,
        Verdict::Faster | Verdict::SlightlyFaster | Verdict::SlightlySlower | Verdict::NoDifference => {
            Judgement::Passes
        }
        Verdict::CannotTell | Verdict::NoWords => Judgement::CannotTell,
        Verdict::NotComparable(_) | Verdict::AsAsked => Judgement::NotComparable,
    }
}

/// Fewest rounds with an interval.
pub fn rounds_min() -> u32 {
    let enough = |rounds: &u32| median_ranks_at_any_time(*rounds as usize, COVERAGE).is_some();
    (1..=ROUNDS_MAX).find(enough).unwrap_or(ROUNDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ratios: &[f64]) -> Vec<RoundPair> {
        ratios.iter().map(|ratio| RoundPair { baseline: 1e9, candidate: 1e9 * ratio }).collect()
    }

    #[test]
    fn words_need_eleven_rounds() {
        assert_eq!(rounds_min(), 11);
        assert_eq!(judge_pairs(&pairs(&[2.0; 10]), 0.05).verdict, Verdict::CannotTell);
        assert_eq!(judge_pairs(&pairs(&[2.0; 11]), 0.05).verdict, Verdict::Slower);
        assert_eq!(judge_pairs(&pairs(&[0.5; 11]), 0.05).verdict, Verdict::Faster);
    }

    #[test]
    fn a_slight_difference_goes_on_until_it_is_known_to_be_slight() {
        let mut ratios = [1.01, 1.02, 1.03, 1.04].repeat(3);
        let known = judge_pairs(&pairs(&ratios), 0.05);
        assert_eq!((&known.verdict, is_decided(&known, 0.05)), (&Verdict::SlightlySlower, true));
        ratios[0] = 1.2;
        ratios[4] = 1.2;
        let open = judge_pairs(&pairs(&ratios), 0.05);
        assert_eq!((&open.verdict, is_decided(&open, 0.05)), (&Verdict::CannotTell, false));
        assert_eq!((judgement(&known.verdict), judgement(&open.verdict)), (Judgement::Passes, Judgement::CannotTell));
        let faster: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
        let faster = judge_pairs(&pairs(&faster), 0.05);
        assert_eq!((&faster.verdict, is_decided(&faster, 0.05)), (&Verdict::SlightlyFaster, false));
        assert_eq!(judgement(&faster.verdict), Judgement::Passes, "however much faster it is");
    }

    #[test]
    fn a_time_of_nothing_is_no_ratio() {
        let nothing = judge_pairs(&[RoundPair { baseline: 0.0, candidate: 1.0 }; 20], 0.05);
        assert_eq!(judgement(&nothing.verdict), Judgement::NotComparable);
    }
}
