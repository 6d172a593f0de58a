//! Intervals of pooled quantiles by a cluster bootstrap over rounds.
//!
//! A p99 belongs to the pooled samples of all rounds, but the samples of one round share that round's luck, so the
//! rounds are drawn with replacement and never the samples (Davison & Hinkley, Bootstrap Methods and their
//! Application, 3.8; Field & Welsh, JRSS B 69, 2007). For a ratio both arms draw the same rounds: they were run as
//! pairs. The percentile interval is too narrow for a handful of rounds; its percentiles are moved outwards as in
//! Hesterberg, The American Statistician 69, 2015 ("expanded percentile interval").

use crate::histogram::{MAX_NS, SparseHistogram};
use crate::interval::{self, Interval, MIN_ROUNDS};
use crate::normal;
use crate::quantile::Quantile;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// How often the rounds are resampled.
pub const RESAMPLES: usize = 1000;

/// An interval of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NsInterval {
    pub low_ns: u64,
    pub high_ns: u64,
}

/// The 95 % interval of a pooled quantile of one arm; none below six rounds, or when a round has no samples. Values of
/// [`MAX_NS`] stand for operations that did not end: an interval that they reach into has no end.
pub fn quantile_interval(rounds: &[SparseHistogram], quantile: Quantile, seed: u64) -> Option<NsInterval> {
    let arm = Arm::new(rounds)?;
    let mut resampled: Vec<u64> = draws(rounds.len(), seed).map(|times| arm.quantile(&times, quantile)).collect();
    resampled.sort_unstable();
    let (low, high) = expanded_ranks(rounds.len());
    (resampled[high] < MAX_NS).then(|| NsInterval { low_ns: resampled[low], high_ns: resampled[high] })
}

/// The 95 % interval of the ratio candidate / baseline of a pooled quantile, paired by round. The coverage is the
/// nominal one; `docs/methodology.md` has the measured. None if operations that did not end decide the quantile of any
/// resample, or if it is 0 in one.
pub fn quantile_ratio_interval(
    baseline: &[SparseHistogram],
    candidate: &[SparseHistogram],
    quantile: Quantile,
    seed: u64,
) -> Option<Interval> {
    if baseline.len() != candidate.len() {
        return None;
    }
    let (baseline, candidate) = (Arm::new(baseline)?, Arm::new(candidate)?);
    let rounds = baseline.cumulative.len();
    let ratio = |times: Vec<u64>| {
        let (of, over) = (candidate.quantile(&times, quantile), baseline.quantile(&times, quantile));
        (of > 0 && over > 0 && of.max(over) < MAX_NS).then(|| of as f64 / over as f64)
    };
    let resampled = interval::sorted(&draws(rounds, seed).map(ratio).collect::<Option<Vec<f64>>>()?);
    let (low, high) = expanded_ranks(rounds);
    Some(Interval { low: resampled[low], high: resampled[high], coverage: interval::COVERAGE })
}

/// For each resample, how many times each round was drawn.
pub fn draws(rounds: usize, seed: u64) -> impl Iterator<Item = Vec<u64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..RESAMPLES).map(move |_| {
        let mut times = vec![0; rounds];
        (0..rounds).for_each(|_| times[rng.random_range(0..rounds)] += 1);
        times
    })
}

/// Indices into the sorted resamples: the tail is P(Z < -t sqrt(n / (n - 1))) instead of 2.5 %.
pub fn expanded_ranks(rounds: usize) -> (usize, usize) {
    let n = rounds as f64;
    let tail = normal::cumulative(-normal::student_975(rounds - 1) * (n / (n - 1.0)).sqrt());
    let low = (tail * RESAMPLES as f64) as usize;
    (low, RESAMPLES - 1 - low)
}

/// One arm's rounds on a common axis. A quantile of any mixture of them is then a binary search over cumulative
/// counts, a few hundred additions, however many samples there were.
struct Arm {
    values_ns: Vec<u64>,
    /// Per round: the count of samples at or below each of `values_ns`.
    cumulative: Vec<Vec<u64>>,
}

impl Arm {
    fn new(rounds: &[SparseHistogram]) -> Option<Arm> {
        let empty = |round: &SparseHistogram| round.iter().all(|&(_, count)| count == 0);
        if rounds.len() < MIN_ROUNDS || rounds.iter().any(empty) {
            return None;
        }
        let mut values_ns: Vec<u64> = rounds.iter().flatten().map(|&(value_ns, _)| value_ns).collect();
        values_ns.sort_unstable();
        values_ns.dedup();
        let cumulative = rounds.iter().map(|round| cumulative(round, &values_ns)).collect();
        Some(Arm { values_ns, cumulative })
    }

    fn quantile(&self, times: &[u64], quantile: Quantile) -> u64 {
        let up_to = |index: usize| -> u64 {
            self.cumulative.iter().zip(times).map(|(round, times)| round[index] * times).sum()
        };
        let last = self.values_ns.len() - 1;
        let rank = quantile.rank(up_to(last));
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = (low + high) / 2;
            if up_to(middle) < rank { low = middle + 1 } else { high = middle }
        }
        self.values_ns[low]
    }
}

fn cumulative(round: &SparseHistogram, values_ns: &[u64]) -> Vec<u64> {
    let mut buckets = round.iter().peekable();
    let mut sum = 0;
    let up_to = |&value_ns: &u64| {
        while let Some(&(_, count)) = buckets.next_if(|&&(bucket_ns, _)| bucket_ns <= value_ns) {
            sum += count;
        }
        sum
    };
    values_ns.iter().map(up_to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use rand_distr::{Distribution, LogNormal};

    /// Rounds of log-normal latencies that share a factor within the round.
    fn rounds(count: usize, samples: usize, factor: f64, seed: u64) -> Vec<SparseHistogram> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let latency = LogNormal::new(13.0, 1.0).unwrap();
        let machine = LogNormal::new(0.0, 0.05).unwrap();
        let round = |_| {
            let shared = factor * machine.sample(&mut rng);
            let mut histogram = Histogram::new();
            (0..samples).for_each(|_| histogram.record((latency.sample(&mut rng) * shared) as u64));
            histogram.to_sparse()
        };
        (0..count).map(round).collect()
    }

    fn pooled(rounds: &[SparseHistogram]) -> Histogram {
        let mut all = Histogram::new();
        rounds.iter().flatten().for_each(|&(value_ns, count)| all.record_n(value_ns, count));
        all
    }

    #[test]
    fn every_round_once_is_the_pooled_histogram() {
        let rounds = rounds(12, 2000, 1.0, 1);
        let (arm, all) = (Arm::new(&rounds).unwrap(), pooled(&rounds));
        for quantile in Quantile::ALL {
            assert_eq!(Some(arm.quantile(&[1; 12], quantile)), all.quantile(quantile.fraction()), "{quantile:?}");
        }
    }

    #[test]
    fn the_interval_contains_the_pooled_quantile_and_is_the_same_for_the_same_seed() {
        let rounds = rounds(12, 5000, 1.0, 2);
        for quantile in [Quantile::P50, Quantile::P95, Quantile::P99] {
            let interval = quantile_interval(&rounds, quantile, 7).unwrap();
            let value_ns = pooled(&rounds).quantile(quantile.fraction()).unwrap();
            assert!(interval.low_ns <= value_ns && value_ns <= interval.high_ns);
            assert_eq!(quantile_interval(&rounds, quantile, 7), Some(interval));
        }
    }

    #[test]
    fn a_planted_ratio_is_inside_and_one_is_not() {
        let (baseline, candidate) = (rounds(12, 5000, 1.0, 3), rounds(12, 5000, 1.5, 4));
        let interval = quantile_ratio_interval(&baseline, &candidate, Quantile::P95, 7).unwrap();
        assert!(interval.low > 1.0 && interval.low < 1.5 && interval.high > 1.5, "{interval:?}");
    }

    #[test]
    fn identical_rounds_in_both_arms_have_a_ratio_of_exactly_one() {
        let same = rounds(6, 500, 1.0, 5);
        let interval = quantile_ratio_interval(&same, &same, Quantile::P99, 7).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 1.0));
    }

    #[test]
    fn too_few_rounds_or_an_empty_round_have_no_interval() {
        assert_eq!(quantile_interval(&rounds(5, 100, 1.0, 6), Quantile::P50, 7), None);
        let mut with_empty = rounds(6, 100, 1.0, 6);
        with_empty[2].clear();
        assert_eq!(quantile_interval(&with_empty, Quantile::P50, 7), None);
        assert_eq!(quantile_ratio_interval(&with_empty, &rounds(7, 100, 1.0, 6), Quantile::P50, 7), None);
    }

    #[test]
    fn no_interval_reaches_into_operations_that_never_began() {
        let (mut some, none) = (rounds(6, 500, 1.0, 5), rounds(6, 500, 1.0, 6));
        some[0].push((MAX_NS, 20));
        assert_eq!(quantile_interval(&some, Quantile::P99, 7), None);
        assert_eq!(quantile_ratio_interval(&some, &none, Quantile::P99, 7), None);
        assert_eq!(quantile_ratio_interval(&none, &some, Quantile::P99, 7), None);
        assert!(quantile_ratio_interval(&none, &some, Quantile::P50, 7).is_some());
    }

    #[test]
    fn a_quantile_of_zero_has_no_ratio() {
        let (some, none) = (rounds(6, 500, 1.0, 5), vec![vec![(0, 500)]; 6]);
        for (baseline, candidate) in [(&some, &none), (&none, &some), (&none, &none)] {
            assert_eq!(quantile_ratio_interval(baseline, candidate, Quantile::P50, 7), None);
        }
    }

    #[test]
    fn few_rounds_move_the_percentiles_outwards() {
        let (six, _) = expanded_ranks(6);
        let (twenty, _) = expanded_ranks(20);
        assert!(six < twenty && twenty < RESAMPLES / 40, "{six} {twenty}");
    }
}
