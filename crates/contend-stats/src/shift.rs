//! The ratio between two sets of unpaired runs: the Hodges-Lehmann estimate and its exact interval.
//!
//! The shift between the logarithms is estimated by the median of all pairwise differences; its interval is bounded by
//! the order statistics of those differences that the Mann-Whitney test would not reject (Hodges & Lehmann, Annals of
//! Mathematical Statistics 34, 1963; Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 4.2 and 4.3). It
//! is exact for runs in an order drawn by chance; of one variant's runs followed by the other's, it cannot tell the
//! variant from the hour.

use crate::interval::{self, COVERAGE, Interval};
use crate::normal;

/// Runs each arm must have. Three against three reach 90 % at most.
pub const MIN_RUNS: usize = 4;

/// Beyond this many pairs counting takes long, and the normal approximation is off by one difference at most.
const MAX_EXACT_PAIRS: usize = 2500;

/// Median of ln(candidate) - ln(baseline) over all pairs of runs; all values above zero.
pub fn log_shift(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    let all = Differences::of(baseline, candidate);
    let count = all.count();
    if count == 0 {
        return None;
    }
    Some(f64::midpoint(all.nth((count - 1) / 2), all.nth(count / 2)))
}

/// The interval of the log shift with a coverage of at least 95 %; none with fewer than [`MIN_RUNS`] in an arm.
pub fn log_shift_interval(baseline: &[f64], candidate: &[f64]) -> Option<Interval> {
    log_shift_interval_of(baseline, candidate, COVERAGE)
}

/// The same with at least this coverage, which may take more runs.
pub fn log_shift_interval_of(baseline: &[f64], candidate: &[f64], least: f64) -> Option<Interval> {
    if baseline.len().min(candidate.len()) < MIN_RUNS {
        return None;
    }
    let all = Differences::of(baseline, candidate);
    let (skipped, coverage) = skipped_differences(baseline.len(), candidate.len(), least)?;
    Some(Interval { low: all.nth(skipped), high: all.nth(all.count() - 1 - skipped), coverage })
}

/// All differences between the logarithms of two arms, which are never made: of 200,000 runs each there are 4e10.
struct Differences {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
}

impl Differences {
    fn of(baseline: &[f64], candidate: &[f64]) -> Self {
        let logs = |values: &[f64]| interval::sorted(&values.iter().map(|value| value.ln()).collect::<Vec<f64>>());
        Self { baseline: logs(baseline), candidate: logs(candidate) }
    }

    fn count(&self) -> usize {
        self.baseline.len() * self.candidate.len()
    }

    /// How many differences are at most `bound`: those of a larger candidate end at a larger baseline.
    fn at_most(&self, bound: f64) -> usize {
        let (mut count, mut below) = (0, self.baseline.len());
        for candidate in self.candidate.iter().rev() {
            // The differences of one candidate fall as the baseline rises.
            let first = self.baseline[..below].iter().rposition(|base| candidate - base > bound).map_or(0, |at| at + 1);
            count += self.baseline.len() - first;
            below = first;
        }
        count
    }

    /// The difference with `n` others before it in order: the least float that bounds n + 1 of them.
    fn nth(&self, n: usize) -> f64 {
        let ends = |values: &[f64]| (values[0], values[values.len() - 1]);
        let ((base_low, base_high), (low, high)) = (ends(&self.baseline), ends(&self.candidate));
        let (mut low, mut high) = (in_order(low - base_high), in_order(high - base_low));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at_most(out_of_order(middle)) > n {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        out_of_order(low)
    }
}

/// Floats as integers of the same order.
fn in_order(value: f64) -> i128 {
    let bits = (value + 0.0).to_bits().cast_signed();
    i128::from(if bits < 0 { i64::MIN - bits } else { bits })
}

fn out_of_order(place: i128) -> f64 {
    let place = i64::try_from(place).unwrap_or(i64::MAX);
    f64::from_bits((if place < 0 { i64::MIN - place } else { place }).cast_unsigned())
}

/// How many differences to leave out at each end, and the coverage that remains: the largest k with
/// 2 P(U <= k) <= 1 - `least`.
fn skipped_differences(m: usize, n: usize, least: f64) -> Option<(usize, f64)> {
    if m * n > MAX_EXACT_PAIRS {
        return Some(skipped_by_approximation(m, n, least));
    }
    let counts = arrangements(m, n);
    let total: f64 = counts.iter().sum();
    let mut below = 0.0;
    let mut skipped = None;
    for (u, count) in counts.iter().enumerate() {
        below += count / total;
        if 1.0 - 2.0 * below < least {
            break;
        }
        skipped = Some((u, 1.0 - 2.0 * below));
    }
    skipped
}

/// In how many of the arrangements of m and n runs the Mann-Whitney statistic is u, for each u. The largest run is
/// either of the first kind, then it is above all j others, or of the second: f(i, j, u) = f(i-1, j, u-j) +
/// f(i, j-1, u) (Mann & Whitney, Annals of Mathematical Statistics 18, 1947).
fn arrangements(m: usize, n: usize) -> Vec<f64> {
    let mut fewer = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=n {
            let largest_is_first = (0..=i * j).map(|u| u.checked_sub(j).map_or(0.0, |u| fewer[j][u]));
            let largest_is_second = |u: usize| row[j - 1].get(u).copied().unwrap_or(0.0);
            let counts = largest_is_first.enumerate().map(|(u, first)| first + largest_is_second(u)).collect();
            row.push(counts);
        }
        fewer = row;
    }
    fewer.swap_remove(n)
}

fn skipped_by_approximation(m: usize, n: usize, least: f64) -> (usize, f64) {
    let (m, n) = (m as f64, n as f64);
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    let skipped = (m * n / 2.0 - normal::z(least) * deviation - 0.5).floor();
    (skipped as usize, 1.0 - normal::two_sided((m * n / 2.0 - skipped - 0.5) / deviation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_binomial_and_symmetric() {
        let counts = arrangements(4, 4);
        assert_eq!(counts.len(), 17);
        assert_eq!(counts.iter().sum::<f64>(), 70.0);
        assert_eq!(&counts[..5], &[1.0, 1.0, 2.0, 3.0, 5.0]);
        assert!(counts.iter().eq(counts.iter().rev()));
    }

    /// Lower critical values of the two-sided 5 % Mann-Whitney test as printed in textbooks.
    #[test]
    fn published_critical_values() {
        for (m, n, critical) in [(4, 4, 0), (4, 5, 1), (5, 5, 2), (6, 6, 5), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(skipped_differences(m, n, COVERAGE).unwrap().0, critical, "{m} against {n}");
        }
    }

    /// The same for 1 %.
    #[test]
    fn more_coverage_takes_more_runs() {
        for (m, n, critical) in [(5, 5, 0), (6, 6, 2), (8, 8, 7), (10, 10, 16), (20, 20, 105)] {
            assert_eq!(skipped_differences(m, n, 0.99).unwrap().0, critical, "{m} against {n}");
        }
        assert_eq!(skipped_differences(4, 4, 0.99), None);
    }

    #[test]
    fn three_runs_an_arm_cannot_reach_95_percent() {
        assert_eq!(skipped_differences(3, 3, COVERAGE), None);
        assert_eq!(log_shift_interval(&[1.0; 3], &[2.0; 9]), None);
        assert!((skipped_differences(4, 4, COVERAGE).unwrap().1 - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
    }

    #[test]
    fn the_approximation_joins_the_exact_counts() {
        for (m, n) in [(40, 40), (50, 50), (30, 80)] {
            let (exact, coverage) = skipped_differences(m, n, COVERAGE).unwrap();
            let (approximate, approximate_coverage) = skipped_by_approximation(m, n, COVERAGE);
            assert!(exact.abs_diff(approximate) <= 1, "{m} {n}: {exact} {approximate}");
            assert!((coverage - approximate_coverage).abs() < 2e-3);
        }
    }

    #[test]
    fn differences_are_chosen_as_if_all_were_made() {
        let values = |n: u64, factor: u64| (0..n).map(|i| 1.0 + (i * factor % 17) as f64 / 4.0).collect::<Vec<f64>>();
        let (baseline, candidate) = (values(23, 5), values(19, 7));
        let pairs = candidate.iter().flat_map(|c| baseline.iter().map(|b| c.ln() - b.ln()));
        let made = interval::sorted(&pairs.collect::<Vec<f64>>());
        let all = Differences::of(&baseline, &candidate);
        let chosen: Vec<f64> = (0..made.len()).map(|n| all.nth(n)).collect();
        assert_eq!(chosen, made);
        assert_eq!(log_shift(&baseline, &candidate), interval::median(&made));
        assert_eq!((log_shift(&[], &candidate), log_shift(&baseline, &[])), (None, None));
    }

    #[test]
    fn many_runs_take_no_room() {
        let values = |base: f64| (0..40_000).map(|i| base + f64::from(i % 101) / 100.0).collect::<Vec<f64>>();
        let interval = log_shift_interval(&values(10.0), &values(20.0)).unwrap();
        assert!(interval.low > 0.6 && interval.high < 0.7, "{interval:?}");
    }

    #[test]
    fn a_common_factor_is_the_shift() {
        let baseline = [10.0, 11.0, 12.0, 10.5, 11.5];
        let candidate = baseline.map(|value| value * 1.25);
        let shift = log_shift(&baseline, &candidate).unwrap();
        let interval = log_shift_interval(&baseline, &candidate).unwrap();
        assert!((shift.exp() - 1.25).abs() < 1e-9);
        assert!(interval.low < shift && shift < interval.high && interval.low > 0.0, "{interval:?}");
    }
}
