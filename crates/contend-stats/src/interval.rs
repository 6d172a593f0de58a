//! The exact interval of a median from order statistics: the inverted sign test.
//!
//! Of n independent values each lies below the true median with probability one half, whatever their distribution, so
//! the chance that the median lies between the l-th smallest and the l-th largest is a sum of binomial terms and holds
//! exactly (Conover, Practical Nonparametric Statistics, 3.2; David & Nagaraja, Order Statistics, 7.1). No normality,
//! no equal variances; what it asks is that the rounds are independent.

use serde::Serialize;

/// Least coverage of an interval.
pub const COVERAGE: f64 = 0.95;
/// With fewer rounds not even min..max covers 95 %: five give 93.75 %.
pub const MIN_ROUNDS: usize = 6;

/// An interval of a ratio (or of its logarithm, where the text says so).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// Probability that a procedure like this one catches the true value.
    pub coverage: f64,
}

impl Interval {
    /// From the logarithm of a ratio to the ratio.
    pub fn exp(self) -> Interval {
        Interval { low: self.low.exp(), high: self.high.exp(), coverage: self.coverage }
    }
}

/// Which order statistics bound the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// 1 is the smallest value.
    pub lower: usize,
    pub upper: usize,
    pub coverage: f64,
}

impl Ranks {
    /// The interval between the two values with these ranks.
    fn interval(self, values: &[f64]) -> Interval {
        let sorted = sorted(values);
        Interval { low: sorted[self.lower - 1], high: sorted[self.upper - 1], coverage: self.coverage }
    }
}

/// The narrowest symmetric pair of order statistics with an exact coverage of at least 95 %; none below six values.
pub fn median_ranks(n: usize) -> Option<Ranks> {
    let mut lower = 0;
    let mut below = 0.0;
    let mut ln_term = -(n as f64) * std::f64::consts::LN_2;
    // `below` is P(X < lower) for X binomial(n, 1/2): the chance to miss on one side with ranks (lower, n + 1 - lower).
    while lower < n / 2 && 1.0 - 2.0 * (below + ln_term.exp()) >= COVERAGE {
        below += ln_term.exp();
        // In logarithms: 2^-n underflows beyond a thousand rounds.
        ln_term += ((n - lower) as f64 / (lower + 1) as f64).ln();
        lower += 1;
    }
    (lower > 0).then(|| Ranks { lower, upper: n + 1 - lower, coverage: 1.0 - 2.0 * below })
}

/// When the number of rounds is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Before the first round.
    Once,
    /// After each round, from the results so far.
    AfterEach,
}

impl Looks {
    /// The interval of the median of `values`; none below [`Looks::rounds_min`] of them.
    pub fn median_interval(self, values: &[f64]) -> Option<Interval> {
        let ranks = match self {
            Looks::Once => median_ranks(values.len()),
            Looks::AfterEach => median_ranks_at_any_time(values.len(), COVERAGE),
        }?;
        Some(ranks.interval(values))
    }

    /// Fewest rounds for an interval.
    pub fn rounds_min(self) -> usize {
        match self {
            Looks::Once => MIN_ROUNDS,
            Looks::AfterEach => 8,
        }
    }
}

/// Ranks for values that come one by one, where a decision to go on follows each: the chance that the interval
/// misses the median after any of them, ever, is at most 1 - `coverage`. None if there are too few values.
///
/// A gambler bets on the sides of the true median on which values fall, with stakes that average over all biased coins.
/// After k of n values fell below it, the wealth is 2^n k! (n - k)! / (n + 1)! times the first stake. The coin is fair,
/// so the wealth ever exceeds 20 with a chance of at most 1 in 20 (Ville 1939). The interval holds the medians for
/// which it does not (Darling & Robbins, PNAS 58, 1967; Robbins, Annals of Mathematical Statistics 41, 1970; Howard &
/// Ramdas, Bernoulli 28, 2022).
pub fn median_ranks_at_any_time(n: usize, coverage: f64) -> Option<Ranks> {
    let most = -(1.0 - coverage).ln();
    let mut lower = 0;
    let mut ln_wealth = n as f64 * std::f64::consts::LN_2 - (n as f64 + 1.0).ln();
    while lower < n / 2 && ln_wealth >= most {
        // From k to k + 1 values below.
        ln_wealth += ((lower + 1) as f64 / (n - lower) as f64).ln();
        lower += 1;
    }
    (lower > 0).then(|| Ranks { lower, upper: n + 1 - lower, coverage })
}

/// The interval of the median between these ranks.
pub fn median_interval_at_any_time(values: &[f64], coverage: f64) -> Option<Interval> {
    Some(median_ranks_at_any_time(values.len(), coverage)?.interval(values))
}

/// The median; the mean of the middle two of an even number.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The sign-test interval of the median of `values`; none below six.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    Looks::Once.median_interval(values)
}

/// The values, the smallest first.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_of_the_formats_page() {
        for (n, lower, upper, percent) in [(6, 1, 6, 96.9), (12, 3, 10, 96.1), (20, 6, 15, 95.9)] {
            let ranks = median_ranks(n).unwrap();
            assert_eq!((ranks.lower, ranks.upper), (lower, upper), "{n} rounds");
            assert!((ranks.coverage * 100.0 - percent).abs() < 0.05, "{n} rounds: {}", ranks.coverage);
        }
    }

    #[test]
    fn fewer_than_six_have_no_interval() {
        assert!((0..MIN_ROUNDS).all(|n| median_ranks(n).is_none()));
        assert_eq!(median_interval(&[1.0; 5]), None);
    }

    /// Against binomial coefficients in exact integers.
    #[test]
    fn coverage_is_exact_and_the_next_narrower_pair_falls_short() {
        for n in 6..=60usize {
            let ranks = median_ranks(n).unwrap();
            let coverage = |lower: usize| {
                let mut term: u128 = 1;
                let mut below: u128 = 0;
                for k in 0..lower {
                    below += term;
                    term = term * (n - k) as u128 / (k + 1) as u128;
                }
                1.0 - 2.0 * below as f64 / 2f64.powi(n as i32)
            };
            assert!((ranks.coverage - coverage(ranks.lower)).abs() < 1e-12);
            assert!(ranks.coverage >= COVERAGE);
            assert!(coverage(ranks.lower + 1) < COVERAGE, "{n} rounds");
        }
    }

    #[test]
    fn looking_after_each_round_costs_width() {
        let lower = |n: usize| median_ranks_at_any_time(n, COVERAGE).map(|ranks| ranks.lower);
        for (n, expected) in [(7, None), (8, Some(1)), (12, Some(2)), (20, Some(4)), (40, Some(11)), (200, Some(77))] {
            assert_eq!(lower(n), expected, "{n} rounds");
        }
        for looks in [Looks::Once, Looks::AfterEach] {
            let of = |n: usize| looks.median_interval(&vec![1.0; n]);
            assert_eq!((of(looks.rounds_min() - 1), of(looks.rounds_min()).is_some()), (None, true));
        }
        assert!((6..300).all(|n| lower(n) <= median_ranks(n).map(|ranks| ranks.lower)), "it is never narrower");
    }

    /// The share of all sequences of coins that ever leave the interval, counted exactly.
    fn ever_missed(coverage: f64) -> f64 {
        let mut still = vec![1.0];
        let mut missed = 0.0;
        for n in 1..=400usize {
            let next = |k: usize| (if k > 0 { still[k - 1] } else { 0.0 } + still.get(k).unwrap_or(&0.0)) / 2.0;
            let mut now: Vec<f64> = (0..=n).map(next).collect();
            let lower = median_ranks_at_any_time(n, coverage).map_or(0, |ranks| ranks.lower);
            for k in (0..=n).filter(|k| *k < lower || n - *k < lower) {
                missed += std::mem::take(&mut now[k]);
            }
            still = now;
        }
        missed
    }

    #[test]
    fn the_median_is_ever_missed_as_seldom_as_it_says() {
        assert!((0.02..=0.05).contains(&ever_missed(COVERAGE)), "{}", ever_missed(COVERAGE));
        assert!((0.003..=0.01).contains(&ever_missed(0.99)), "{}", ever_missed(0.99));
    }

    #[test]
    fn thousands_of_rounds_do_not_underflow() {
        let ranks = median_ranks(5000).unwrap();
        assert!((2400..2500).contains(&ranks.lower));
        assert!((0.95..0.96).contains(&ranks.coverage));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
