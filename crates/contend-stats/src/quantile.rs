//! Which quantiles may be printed, and as what.
//!
//! A quantile q needs 30 observations beyond it, (1 - q) x n >= 30 with n pooled over the rounds; with fewer, a handful
//! of stalls decides it. A censored observation (a timeout, an operation in flight at the end) is known only to have
//! taken *at least* its value. It keeps its place in the order; where it could move a quantile, the quantile is printed
//! as "at least x".

use crate::histogram::Histogram;
use serde::Serialize;

/// Observations that must lie beyond a quantile before it is printed.
pub const MIN_BEYOND: u64 = 30;

/// The closed list of quantiles in every table of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantile {
    P50,
    P90,
    P95,
    P99,
    P999,
    Max,
}

impl Quantile {
    pub const ALL: [Quantile; 6] =
        [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max];

    /// In thousandths, so that ranks are counted in integers.
    pub fn per_mille(self) -> u64 {
        match self {
            Quantile::P50 => 500,
            Quantile::P90 => 900,
            Quantile::P95 => 950,
            Quantile::P99 => 990,
            Quantile::P999 => 999,
            Quantile::Max => 1000,
        }
    }

    pub fn fraction(self) -> f64 {
        self.per_mille() as f64 / 1000.0
    }

    /// As a reader knows it.
    pub fn label(self) -> &'static str {
        match self {
            Quantile::P50 => "p50",
            Quantile::P90 => "p90",
            Quantile::P95 => "p95",
            Quantile::P99 => "p99",
            Quantile::P999 => "p99.9",
            Quantile::Max => "max",
        }
    }

    /// As it ends the name of a column.
    pub fn column(self) -> &'static str {
        if self == Quantile::P999 { "p999" } else { self.label() }
    }

    /// How many observations it takes to print this quantile.
    pub fn needed(self) -> u64 {
        match 1000 - self.per_mille() {
            0 => 1,
            beyond => (MIN_BEYOND * 1000).div_ceil(beyond),
        }
    }

    /// ceil(q x n), 1 for the smallest observation.
    pub fn rank(self, n: u64) -> u64 {
        let rank = (u128::from(n) * u128::from(self.per_mille())).div_ceil(1000);
        u64::try_from(rank).expect("a rank is at most n").max(1)
    }
}

/// What may be printed for a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantileValue {
    Exact(u64),
    /// Censored observations reach into it: it is this or more.
    AtLeast(u64),
    TooFew {
        n: u64,
        needed: u64,
    },
}

/// The observations of one metric, pooled over workers and rounds: those that ended, those known only to have
/// taken at least so long, and those that never began.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    pub ended: Histogram,
    pub censored: Histogram,
    /// Operations that were due and never begun: for ranks they are longer than any that ended.
    pub unsent: u64,
}

impl Observations {
    pub fn merge(&mut self, other: &Observations) {
        self.ended.merge(&other.ended);
        self.censored.merge(&other.censored);
        self.unsent += other.unsent;
    }

    /// All observations; 0 if none began.
    pub fn len(&self) -> u64 {
        let began = self.ended.len() + self.censored.len();
        if began == 0 { 0 } else { began + self.unsent }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mean of those that began. None if one is censored: leaving it out would make the slowest look the fastest.
    pub fn mean(&self) -> Option<u64> {
        self.censored.is_empty().then(|| self.ended.mean()).flatten()
    }

    /// All observations in one order. A bound that censored operations set is never above the truth, so those that
    /// never began stand at the longest that ended.
    pub fn ranked(&self) -> Ranked<'_> {
        let mut pooled = self.ended.clone();
        pooled.merge(&self.censored);
        if !self.is_empty() {
            pooled.record_n(self.ended.max().unwrap_or(0), self.unsent);
        }
        Ranked { pooled, ended: &self.ended }
    }

    /// The quantile under the rule of minima.
    pub fn quantile(&self, quantile: Quantile) -> QuantileValue {
        self.ranked().quantile(quantile)
    }

    /// The quantile whatever the number of observations (but one), for as-published tables, which mark it.
    pub fn unchecked_quantile(&self, quantile: Quantile) -> QuantileValue {
        self.ranked().unchecked_quantile(quantile)
    }
}

/// Observations in their order, for several quantiles.
pub struct Ranked<'a> {
    pooled: Histogram,
    ended: &'a Histogram,
}

impl Ranked<'_> {
    pub fn len(&self) -> u64 {
        self.pooled.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pooled.is_empty()
    }

    /// The value below which this share lies.
    pub fn at(&self, share: f64) -> Option<u64> {
        self.pooled.quantile(share)
    }

    /// Whether the observation of this rank, with this value, is known only as a lower bound: fewer that really ended
    /// are at or below it. A censored one below may in truth belong above, and then the quantile moves up.
    pub fn is_bound(&self, value_ns: u64, rank: u64) -> bool {
        self.ended.count_up_to(value_ns) < rank
    }

    /// The quantile under the rule of minima.
    pub fn quantile(&self, quantile: Quantile) -> QuantileValue {
        let (n, needed) = (self.len(), quantile.needed());
        if n < needed { QuantileValue::TooFew { n, needed } } else { self.unchecked_quantile(quantile) }
    }

    /// The quantile whatever the number of observations (but one).
    pub fn unchecked_quantile(&self, quantile: Quantile) -> QuantileValue {
        let value_ns = match quantile {
            Quantile::Max => self.pooled.max(),
            other => self.at(other.fraction()),
        };
        match value_ns {
            None => QuantileValue::TooFew { n: 0, needed: 1 },
            Some(ns) if self.is_bound(ns, quantile.rank(self.len())) => QuantileValue::AtLeast(ns),
            Some(ns) => QuantileValue::Exact(ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(ended: &[(u64, u64)], censored: &[(u64, u64)]) -> Observations {
        let mut all = Observations::default();
        ended.iter().for_each(|&(value_ns, count)| all.ended.record_n(value_ns, count));
        censored.iter().for_each(|&(value_ns, count)| all.censored.record_n(value_ns, count));
        all
    }

    #[test]
    fn thirty_observations_must_lie_beyond() {
        let needed: Vec<u64> = Quantile::ALL.iter().map(|quantile| quantile.needed()).collect();
        assert_eq!(needed, [60, 300, 600, 3000, 30_000, 1]);
        let few = observations(&[(100, 2999)], &[]);
        assert_eq!(few.quantile(Quantile::P95), QuantileValue::Exact(100));
        assert_eq!(few.quantile(Quantile::P99), QuantileValue::TooFew { n: 2999, needed: 3000 });
        assert_eq!(few.unchecked_quantile(Quantile::P99), QuantileValue::Exact(100));
        assert_eq!(observations(&[(100, 3000)], &[]).quantile(Quantile::P99), QuantileValue::Exact(100));
    }

    #[test]
    fn timeouts_beyond_a_quantile_leave_it_exact_and_inside_make_it_a_lower_bound() {
        // 2 % of operations ran into a timeout of 1,000 ns.
        let all = observations(&[(100, 9800)], &[(1000, 200)]);
        assert_eq!(all.quantile(Quantile::P95), QuantileValue::Exact(100));
        assert_eq!(all.quantile(Quantile::P99), QuantileValue::AtLeast(1000));
        assert_eq!(all.quantile(Quantile::Max), QuantileValue::AtLeast(1000));
    }

    #[test]
    fn an_operation_cut_off_early_may_belong_above_any_quantile() {
        // Cut off after 10 ns, faster than any that ended: their full duration is unknown.
        let all = observations(&[(100, 450), (900, 450)], &[(10, 100)]);
        assert_eq!(all.quantile(Quantile::P50), QuantileValue::AtLeast(100));
        let few_cut_off = observations(&[(100, 700), (900, 200)], &[(10, 100)]);
        assert_eq!(few_cut_off.quantile(Quantile::P50), QuantileValue::Exact(100));
    }

    #[test]
    fn operations_that_never_began_are_longer_than_any_that_ended() {
        // 2 of 16 clients hang: 10 % of the operations that were due never began, 2 were cut off after 8 s.
        let mut all = Observations { unsent: 1000, ..observations(&[(100, 8000), (200, 998)], &[(8_000_000, 2)]) };
        assert_eq!(all.quantile(Quantile::P50), QuantileValue::Exact(100));
        for (quantile, least) in [(Quantile::P90, 200), (Quantile::P95, 200), (Quantile::P99, 200)] {
            assert_eq!(all.quantile(quantile), QuantileValue::AtLeast(least), "{quantile:?}");
        }
        assert_eq!(all.len(), 10_000);
        all.unsent = 4;
        all.censored = Histogram::new();
        assert_eq!(all.mean(), Some(111));
        assert_eq!(all.quantile(Quantile::P99), QuantileValue::Exact(200));
        let none_began = Observations { unsent: 1000, ..Observations::default() };
        assert_eq!(none_began.quantile(Quantile::P50), QuantileValue::TooFew { n: 0, needed: 60 });
    }

    #[test]
    fn nothing_measured_is_never_zero() {
        for quantile in Quantile::ALL {
            assert!(matches!(observations(&[], &[]).quantile(quantile), QuantileValue::TooFew { n: 0, .. }));
            assert!(matches!(observations(&[], &[]).unchecked_quantile(quantile), QuantileValue::TooFew { n: 0, .. }));
        }
    }

    #[test]
    fn merging_pools_the_rounds() {
        let mut pooled = observations(&[(100, 40)], &[]);
        pooled.merge(&observations(&[(300, 19)], &[(500, 1)]));
        assert_eq!(pooled.quantile(Quantile::P50), QuantileValue::Exact(100));
    }
}
