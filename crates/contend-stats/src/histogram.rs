//! A histogram of nanoseconds: three significant digits, merged but never averaged.
//!
//! Percentiles of several workers or rounds come from the merged histogram; the average of two percentiles is the
//! percentile of nothing. Values above 1 h are clamped to it; the largest is kept as it was.

use hdrhistogram::Histogram as Hdr;

/// Longest duration that is distinguished from longer ones.
pub const MAX_NS: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Values with their counts, ascending by value, for the bootstrap.
pub type SparseHistogram = Vec<(u64, u64)>;

/// A distribution of durations.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: Hdr<u64>,
    /// Exact maximum before clamping: a bucket's upper edge is not an observation.
    max_ns: u64,
    sum_ns: u128,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    pub fn new() -> Self {
        let buckets = Hdr::new(SIGNIFICANT_DIGITS).expect("3 significant digits are always supported");
        Histogram { buckets, max_ns: 0, sum_ns: 0 }
    }

    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Records the same value `count` times: how a sparse histogram is read back.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let kept_ns = value_ns.min(MAX_NS);
        self.buckets.record_n(kept_ns, count).expect("an auto-resizing histogram takes every value up to one hour");
        self.max_ns = self.max_ns.max(value_ns);
        self.sum_ns += u128::from(value_ns) * u128::from(count);
    }

    pub fn merge(&mut self, other: &Histogram) {
        self.buckets.add(&other.buckets).expect("an auto-resizing histogram takes every other one");
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    pub fn len(&self) -> u64 {
        self.buckets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The exact mean, rounded down to a nanosecond.
    pub fn mean(&self) -> Option<u64> {
        let mean_ns = self.sum_ns.checked_div(u128::from(self.len()))?;
        Some(u64::try_from(mean_ns).expect("a mean of u64 fits in u64"))
    }

    /// The exact largest value.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The value of rank ceil(q x n): at least a share `q` of the observations is not above it. Correct to three
    /// significant digits and never above the exact maximum.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.buckets.value_at_quantile(q).min(self.max_ns))
    }

    /// How many observations are in the buckets up to and including the one of `value_ns`.
    pub fn count_up_to(&self, value_ns: u64) -> u64 {
        if self.is_empty() { 0 } else { self.buckets.count_between(0, value_ns.min(MAX_NS)) }
    }

    /// The non-empty buckets, ascending: (highest value of the bucket, count).
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let buckets = self.buckets.iter_recorded();
        buckets.map(|bucket| (bucket.value_iterated_to().min(self.max_ns), bucket.count_at_value()))
    }

    pub fn to_sparse(&self) -> SparseHistogram {
        self.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values_ns: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values_ns.into_iter().for_each(|value_ns| histogram.record(value_ns));
        histogram
    }

    #[test]
    fn merging_four_workers_is_one_histogram_of_all_samples() {
        let samples_ns = |worker: u64| (1..=1000).map(move |i| i * i * (worker + 1) * 37);
        let all = of((0..4).flat_map(samples_ns));
        let mut merged = Histogram::new();
        (0..4).for_each(|worker| merged.merge(&of(samples_ns(worker))));
        assert_eq!(merged.to_sparse(), all.to_sparse());
        assert_eq!((merged.len(), merged.mean(), merged.max()), (all.len(), all.mean(), all.max()));
        for q in [0.5, 0.9, 0.99, 0.999] {
            assert_eq!(merged.quantile(q), all.quantile(q));
        }
    }

    #[test]
    fn the_percentile_of_all_is_not_the_average_of_the_percentiles() {
        let (fast, slow) = (of(vec![100; 900]), of(vec![10_000; 100]));
        let mut both = fast.clone();
        both.merge(&slow);
        assert_eq!(both.quantile(0.5), Some(100));
        assert_eq!(both.quantile(0.9), Some(100));
        assert!(both.quantile(0.95).unwrap() > 9_980);
    }

    #[test]
    fn values_outside_the_range_are_clamped_and_the_largest_is_kept() {
        let histogram = of([0, 1, MAX_NS, MAX_NS + 1, u64::MAX]);
        assert_eq!(histogram.len(), 5);
        assert_eq!(histogram.max(), Some(u64::MAX));
    }

    #[test]
    fn nothing_is_told_apart_from_a_nanosecond() {
        let histogram = of([0, 0, 0, 1, 5000]);
        assert_eq!((histogram.quantile(0.5), histogram.quantile(0.8), histogram.count_up_to(0)), (Some(0), Some(1), 3));
        assert_eq!(histogram.to_sparse()[..2], [(0, 3), (1, 1)]);
        assert_eq!(of([0]).to_sparse(), [(0, 1)]);
    }

    #[test]
    fn quantiles_are_within_a_thousandth_and_the_maximum_is_exact() {
        let histogram = of(1..=1_234_567);
        for q in [0.5, 0.9, 0.99, 0.999] {
            let (exact, found) = (q * 1_234_567.0, histogram.quantile(q).unwrap() as f64);
            assert!((found / exact - 1.0).abs() < 0.001, "{q}: {found}");
        }
        assert_eq!(histogram.max(), Some(1_234_567));
        assert_eq!(histogram.quantile(1.0), Some(1_234_567));
    }

    #[test]
    fn an_empty_histogram_has_no_values() {
        let empty = Histogram::new();
        assert_eq!((empty.mean(), empty.max(), empty.quantile(0.5), empty.iter().count()), (None, None, None, 0));
    }

    #[test]
    fn a_sparse_histogram_reads_back() {
        let histogram = of((1..5000).map(|i| i * 977));
        let mut again = Histogram::new();
        histogram.iter().for_each(|(value_ns, count)| again.record_n(value_ns, count));
        assert_eq!(again.to_sparse(), histogram.to_sparse());
    }
}
