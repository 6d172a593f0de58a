//! Random streams and distributions. A stream is named by labels and a seed, so that no draw depends on the draws of
//! other streams.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal, Zipf};
use sha2::{Digest as _, Sha256};

/// A stream of random numbers.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of these labels. Labels are hashed with their length, so that no two lists collide.
    pub fn new(seed: u64, labels: &[&str]) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        for label in labels {
            hash.update((label.len() as u64).to_le_bytes());
            hash.update(label.as_bytes());
        }
        Self(ChaCha8Rng::from_seed(hash.finalize().into()))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0..n; `n` must not be 0. The bias of at most n / 2^64 is far below any sample's noise.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in low..=high.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.abs_diff(low);
        let offset = if span == u64::MAX { self.bits() } else { self.below(span + 1) };
        low.wrapping_add_unsigned(offset)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Log-normally distributed: `median` times e to a normal number of standard deviation `spread`.
    pub fn log_normal(&mut self, median: f64, spread: f64) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.0);
        median * (spread * normal).exp()
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// A choice among things of unequal weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    cumulative: Vec<f64>,
}

impl Weighted {
    /// `weights` must not be negative nor all zero, and their sum must be finite.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let cumulative = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        Self { cumulative: cumulative.collect() }
    }

    /// The probability of each.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let sum = self.cumulative.last().copied().unwrap_or(1.0);
        let before = std::iter::once(&0.0).chain(&self.cumulative);
        self.cumulative.iter().zip(before).map(move |(end, begin)| (end - begin) / sum)
    }

    pub fn draw(&self, stream: &mut Stream) -> usize {
        let last = self.cumulative.len() - 1;
        let point = stream.unit() * self.cumulative[last];
        self.cumulative.partition_point(|end| *end <= point).min(last)
    }
}

/// Where the most frequent numbers of a Zipf distribution lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hot {
    /// Spread over the whole range, in the same way for all streams.
    Scattered,
    First,
    Last,
}

/// A choice among 0..n.
#[derive(Debug, Clone, PartialEq)]
pub enum Picker {
    Uniform { n: u64 },
    Zipf { n: u64, zipf: Zipf<f64>, hot: Hot, stride: u64 },
}

impl Picker {
    /// `n` must not be 0, `exponent` finite and not negative.
    pub fn new(n: u64, exponent: Option<f64>, hot: Hot) -> Self {
        match exponent {
            None => Picker::Uniform { n },
            Some(s) => {
                let zipf = Zipf::new(n as f64, s).expect("a range that is not empty and an exponent of 0 or more");
                Picker::Zipf { n, zipf, hot, stride: scatter_stride(n) }
            }
        }
    }

    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Picker::Uniform { n } => stream.below(*n),
            Picker::Zipf { n, zipf, hot, stride } => {
                let rank = (zipf.sample(&mut stream.0) as u64).clamp(1, *n) - 1;
                match hot {
                    Hot::First => rank,
                    Hot::Last => n - 1 - rank,
                    Hot::Scattered => (u128::from(rank) * u128::from(*stride) % u128::from(*n)) as u64,
                }
            }
        }
    }
}

/// A stride through 0..n that visits every number once: near the golden section and coprime with n.
fn scatter_stride(n: u64) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    let start = (n as f64 * 0.618_033_988_749_895) as u64;
    (start.max(1)..).find(|stride| gcd(*stride, n) == 1).expect("n + 1 is coprime with n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn streams_follow_from_seed_and_labels_alone() {
        let first = |seed, labels: &[&str]| Stream::new(seed, labels).bits();
        assert_eq!(first(1, &["a", "b"]), first(1, &["a", "b"]));
        assert_ne!(first(1, &["a", "b"]), first(2, &["a", "b"]));
        assert_ne!(first(1, &["a", "b"]), first(1, &["ab"]));
        assert_ne!(first(1, &["a", ""]), first(1, &["a"]));
    }

    #[test]
    fn between_reaches_both_ends_and_any_range() {
        let mut stream = Stream::new(1, &["between"]);
        let drawn: BTreeSet<i64> = (0..200).map(|_| stream.between(-2, 2)).collect();
        assert_eq!(drawn, BTreeSet::from([-2, -1, 0, 1, 2]));
        stream.between(i64::MIN, i64::MAX);
        assert_eq!(stream.between(7, 7), 7);
    }

    #[test]
    fn weights_are_kept() {
        let mut stream = Stream::new(1, &["weights"]);
        let weighted = Weighted::new([63.0, 0.0, 37.0]);
        let mut counts = [0u32; 3];
        for _ in 0..100_000 {
            counts[weighted.draw(&mut stream)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((f64::from(counts[0]) / 100_000.0 - 0.63).abs() < 0.01, "{counts:?}");
    }

    /// The share of rank 1 among n is 1 / (sum of k^-s).
    #[test]
    fn the_first_rank_of_zipf_has_its_share() {
        let harmonic: f64 = (1..=1000).map(|k| f64::from(k).powf(-1.1)).sum();
        for hot in [Hot::First, Hot::Last, Hot::Scattered] {
            let picker = Picker::new(1000, Some(1.1), hot);
            let mut stream = Stream::new(1, &["zipf"]);
            let hottest = if hot == Hot::Last { 999 } else { 0 };
            let hits = (0..100_000).filter(|_| picker.draw(&mut stream) == hottest).count();
            let share = hits as f64 / 100_000.0;
            assert!((share - 1.0 / harmonic).abs() < 0.01, "{hot:?}: {share} instead of {}", 1.0 / harmonic);
        }
    }

    #[test]
    fn scattering_meets_every_number_once() {
        for n in [1, 2, 3, 10, 97, 1000, 2048] {
            let stride = scatter_stride(n);
            let met: BTreeSet<u64> = (0..n).map(|rank| rank * stride % n).collect();
            assert_eq!(met.len() as u64, n);
        }
    }

    #[test]
    fn exponential_and_log_normal_have_their_centre() {
        let mut stream = Stream::new(1, &["centre"]);
        let mean = (0..100_000).map(|_| stream.exponential(10.0)).sum::<f64>() / 100_000.0;
        assert!((mean - 10.0).abs() < 0.2, "{mean}");
        let above = (0..100_000).filter(|_| stream.log_normal(450.0, 0.6) > 450.0).count();
        assert!((above as f64 / 100_000.0 - 0.5).abs() < 0.01, "{above}");
    }
}
