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

/// The observations of one metric, pooled over workers and rounds: those that ended, and those known only to have
/// taken at least so long.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    pub ended: Histogram,
    pub censored: Histogram,
}

impl Observations {
    pub fn merge(&mut self, other: &Observations) {
        self.ended.merge(&other.ended);
        self.censored.merge(&other.censored);
    }

    pub fn len(&self) -> u64 {
        self.ended.len() + self.censored.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// None if one is censored: leaving it out would make the slowest look the fastest.
    pub fn mean(&self) -> Option<u64> {
        self.censored.is_empty().then(|| self.ended.mean()).flatten()
    }

    /// The quantile under the rule of minima.
    pub fn quantile(&self, quantile: Quantile) -> QuantileValue {
        let (n, needed) = (self.len(), quantile.needed());
        if n < needed { QuantileValue::TooFew { n, needed } } else { self.unchecked_quantile(quantile) }
    }

    /// The quantile whatever the number of observations (but one), for as-published tables, which mark it.
    pub fn unchecked_quantile(&self, quantile: Quantile) -> QuantileValue {
        let n = self.len();
        if n == 0 {
            return QuantileValue::TooFew { n, needed: 1 };
        }
        let mut pooled = self.ended.clone();
        pooled.merge(&self.censored);
        let value_ns = match quantile {
            Quantile::Max => pooled.max(),
            other => pooled.quantile(other.fraction()),
        };
        let value_ns = value_ns.expect("there are observations");
        // The value stands only if enough observations that really ended are at or below it; a censored one below
        // may in truth belong above, and then the quantile moves up.
        if self.ended.count_up_to(value_ns) >= quantile.rank(n) {
            QuantileValue::Exact(value_ns)
        } else {
            QuantileValue::AtLeast(value_ns)
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
