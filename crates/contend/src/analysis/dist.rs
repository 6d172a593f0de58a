//! A pooled distribution, reduced to what may be printed.

use crate::stats::quantile::{MIN_BEYOND, Observations, Quantile, QuantileValue, Ranked};

/// Points of a curve: the share beyond each point, repeated for each power of ten (p20, p30 ... p90, p92).
const BEYOND: [f64; 10] = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1];
/// Tolerance: products of counts with powers of ten are not exact.
const ROUNDING: f64 = 1e-6;

/// A quantile as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub value: QuantileValue,
    /// Printed although there are too few observations, as the original did.
    pub few: bool,
}

impl Shown {
    /// The number, exact or a lower bound.
    pub fn ns(self) -> Option<u64> {
        match self.value {
            QuantileValue::Exact(ns) | QuantileValue::AtLeast(ns) => Some(ns),
            QuantileValue::TooFew { .. } => None,
        }
    }
}

/// One point of a latency curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// 1 / (1 - q).
    pub one_in: f64,
    pub ns: u64,
    /// Lower bound: censored operations reach this point.
    pub at_least: bool,
    /// Fewer observations beyond the point than a quantile needs.
    pub few: bool,
}

/// What may be printed of pooled observations.
#[derive(Debug, Clone, Default)]
pub struct Dist {
    pub n: u64,
    pub censored: u64,
    pub unsent: u64,
    /// Of those that began; `None` if some are only lower bounds.
    pub mean_ns: Option<u64>,
    quantiles: Vec<Shown>,
    pub curve: Vec<CurvePoint>,
}

impl Dist {
    /// `always` prints quantiles without the minimum, with a mark.
    pub fn new(observations: &Observations, always: bool) -> Self {
        let ranked = observations.ranked();
        Self {
            n: ranked.len(),
            censored: observations.censored.len(),
            unsent: observations.unsent,
            mean_ns: observations.mean(),
            quantiles: Quantile::ALL.map(|q| shown(&ranked, q, always)).to_vec(),
            curve: curve(&ranked, always),
        }
    }

    pub fn quantile(&self, quantile: Quantile) -> Shown {
        let none = Shown { value: QuantileValue::TooFew { n: 0, needed: quantile.needed() }, few: false };
        self.quantiles.get(quantile as usize).copied().unwrap_or(none)
    }
}

/// A quantile as it is printed. `always` prints it without the minimum.
pub fn shown(ranked: &Ranked<'_>, quantile: Quantile, always: bool) -> Shown {
    let value = ranked.quantile(quantile);
    let few = matches!(value, QuantileValue::TooFew { .. });
    if few && always && !ranked.is_empty() {
        return Shown { value: ranked.unchecked_quantile(quantile), few: true };
    }
    Shown { value, few: false }
}

/// Points in ascending order, as far as there are observations.
fn curve(ranked: &Ranked<'_>, always: bool) -> Vec<CurvePoint> {
    let smallest_tail = if always { 1 } else { MIN_BEYOND };
    let point = |step: usize| {
        let tail = BEYOND[step % BEYOND.len()] / 10f64.powi((step / BEYOND.len()) as i32);
        let beyond = ranked.len() as f64 * tail + ROUNDING;
        (beyond >= smallest_tail as f64).then(|| curve_point(ranked, tail, beyond))
    };
    (0..).map_while(point).collect()
}

fn curve_point(ranked: &Ranked<'_>, tail: f64, beyond: f64) -> CurvePoint {
    let n = ranked.len();
    let ns = ranked.at(1.0 - tail).unwrap_or(0);
    let rank = n - (beyond.floor() as u64).min(n);
    CurvePoint { one_in: 1.0 / tail, ns, at_least: ranked.is_bound(ns, rank), few: beyond < MIN_BEYOND as f64 }
}
