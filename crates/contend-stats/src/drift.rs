//! Finds drifts, which exclude a steady state: a trend inside a trial, or across the rounds.
//!
//! A mean over something that is still changing describes nothing (Barrett et al., OOPSLA 2017). A drift is reported
//! when two things hold together: the Mann-Kendall test finds a trend (Mann, Econometrica 13, 1945; Kendall, Rank
//! Correlation Methods, for the variance with ties), and the last third differs from the first by more than 20 %.
//! The test alone would flag every slight trend of a long trial and every slow wave; the change alone every noisy one.

use crate::normal;
use serde::Serialize;

/// Probability below which a trend is not put down to chance.
const SIGNIFICANCE: f64 = 0.05;
/// Change from the first third to the last that matters.
pub const MAX_CHANGE: f64 = 0.20;
/// With fewer values a trend cannot be distinguished from chance.
pub const MIN_VALUES: usize = 6;
/// Bins that a trial's window is cut into.
pub const TRIAL_BINS: usize = 20;

/// A trend in a series and whether it is a drift.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// Kendall's tau-b against time: 1 always rising, -1 always falling.
    pub tau_b: f64,
    /// Two-sided probability of so strong a trend by chance.
    pub p: f64,
    /// Last third against the first: 0.2 is a rise by 20 %.
    pub change: f64,
    pub drifting: bool,
}

/// Looks for a drift in values in the order of time: a trial's throughput per bin, or a metric per round. `None` for
/// fewer than [`MIN_VALUES`].
pub fn trend(values: &[f64]) -> Option<Trend> {
    if values.len() < MIN_VALUES {
        return None;
    }
    let (tau_b, p) = mann_kendall(values);
    let change = change_between_thirds(values);
    Some(Trend { tau_b, p, change, drifting: p < SIGNIFICANCE && change.abs() > MAX_CHANGE })
}

/// The trend of ratios. They drift if they or their inverses do, so which of the two is the baseline changes nothing.
pub fn trend_of_ratios(ratios: &[f64]) -> Option<Trend> {
    let of = trend(ratios)?;
    let inverses: Vec<f64> = ratios.iter().map(|ratio| 1.0 / ratio).collect();
    let drifting = of.drifting || trend(&inverses).is_some_and(|inverse| inverse.drifting);
    Some(Trend { drifting, ..of })
}

fn change_between_thirds(values: &[f64]) -> f64 {
    let third = values.len() / 3;
    let first: f64 = values[..third].iter().sum();
    let last: f64 = values[values.len() - third..].iter().sum();
    if first == last { 0.0 } else { last / first - 1.0 }
}

/// Kendall's tau-b with time, and the two-sided p of the normal approximation with continuity correction.
fn mann_kendall(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let later = |index: usize| values[index + 1..].iter().map(move |value| value.total_cmp(&values[index]) as i64);
    let score = (0..values.len()).flat_map(later).sum::<i64>() as f64;
    let pairs = n * (n - 1.0) / 2.0;
    let (mut tied_pairs, mut tied_variance) = (0.0, 0.0);
    for ties in tie_lengths(values) {
        tied_pairs += ties * (ties - 1.0) / 2.0;
        tied_variance += ties * (ties - 1.0) * (2.0 * ties + 5.0);
    }
    if tied_pairs == pairs {
        return (0.0, 1.0);
    }
    let deviation = ((n * (n - 1.0) * (2.0 * n + 5.0) - tied_variance) / 18.0).sqrt();
    let corrected = (score.abs() - 1.0).max(0.0);
    (score / (pairs * (pairs - tied_pairs)).sqrt(), normal::two_sided(corrected / deviation))
}

/// How many values are equal, for each value.
fn tie_lengths(values: &[f64]) -> Vec<f64> {
    let sorted = crate::interval::sorted(values);
    sorted.chunk_by(|a, b| a == b).map(|tied| tied.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, LogNormal, Normal};

    /// Noisy throughput with a slope: the share by which the last bin exceeds the first.
    fn series(rng: &mut ChaCha8Rng, n: usize, noise: f64, slope: f64) -> Vec<f64> {
        let noise = LogNormal::new(0.0, noise).unwrap();
        (0..n).map(|i| 1000.0 * (1.0 + slope * i as f64 / (n - 1) as f64) * noise.sample(rng)).collect()
    }

    fn flagged(n: usize, noise: f64, slope: f64) -> usize {
        let mut rng = ChaCha8Rng::seed_from_u64(20);
        (0..1000).filter(|_| trend(&series(&mut rng, n, noise, slope)).unwrap().drifting).count()
    }

    #[test]
    fn a_planted_drift_is_flagged() {
        for (n, noise) in [(20, 0.05), (20, 0.10), (12, 0.05)] {
            assert!(flagged(n, noise, 0.6) >= 980, "rise, {n} bins, noise {noise}: {}", flagged(n, noise, 0.6));
            assert!(flagged(n, noise, -0.5) >= 980, "fall, {n} bins, noise {noise}: {}", flagged(n, noise, -0.5));
        }
    }

    #[test]
    fn stationary_noise_is_rarely_flagged() {
        for (n, noise, at_most) in [(20, 0.05, 0), (20, 0.20, 30), (20, 0.50, 50), (12, 0.20, 50), (6, 0.20, 50)] {
            let found = flagged(n, noise, 0.0);
            assert!(found <= at_most, "{n} bins, noise {noise}: {found} of 1000");
        }
    }

    /// Number of flagged series out of 1,000 in which each bin keeps half of the previous bin's deviation, as with
    /// checkpoints and caches.
    fn flagged_waves(noise: f64) -> usize {
        let mut rng = ChaCha8Rng::seed_from_u64(21);
        let step = Normal::new(0.0, noise).unwrap();
        let mut wave = || {
            let mut level: f64 = 0.0;
            let mut next = || {
                level = 0.5 * level + step.sample(&mut rng);
                level.exp()
            };
            (0..20).map(|_| next()).collect::<Vec<f64>>()
        };
        (0..1000).filter(|_| trend(&wave()).unwrap().drifting).count()
    }

    /// The test of a trend takes a slow wave for one; the condition on the change keeps that in bounds.
    #[test]
    fn slow_waves_are_rarely_flagged() {
        assert!(flagged_waves(0.08) <= 50, "{} of 1000", flagged_waves(0.08));
    }

    #[test]
    #[ignore = "prints the table of docs/methodology.md"]
    fn print_the_table() {
        println!("\nShare of 1000 series flagged as drifting, last value against the first:\n");
        println!("| values | noise | steady | +25 % | +60 % | -50 % |\n|---|---|---|---|---|---|");
        for (n, noise) in [(20, 0.05), (20, 0.10), (20, 0.20), (20, 0.50), (12, 0.05), (12, 0.20), (6, 0.05), (6, 0.20)]
        {
            let rates = [0.0, 0.25, 0.6, -0.5].map(|slope| format!("{:.1} %", flagged(n, noise, slope) as f64 / 10.0));
            println!("| {n} | {:.0} % | {} |", noise * 100.0, rates.join(" | "));
        }
        let waves = [0.05, 0.08, 0.20].map(|noise| format!("{:.1} %", flagged_waves(noise) as f64 / 10.0));
        println!("\nSteady waves of 20 values, noise 5 / 8 / 20 %: {}", waves.join(", "));
    }

    #[test]
    fn a_slight_but_certain_trend_is_not_a_drift() {
        let values: Vec<f64> = (0..20).map(|i| 100.0 + i as f64 * 0.5).collect();
        let trend = trend(&values).unwrap();
        assert!(!trend.drifting && trend.p < 0.001);
        assert!((trend.tau_b - 1.0).abs() < 1e-12);
    }

    /// Kendall's tau-b and p by hand: n = 6, values 1 2 2 3 1 4: S = 8, ties of 2 and 2.
    #[test]
    fn ties_are_taken_into_account() {
        let (tau_b, p) = mann_kendall(&[1.0, 2.0, 2.0, 3.0, 1.0, 4.0]);
        let expected_tau = 7.0 / (15.0f64 * 13.0).sqrt();
        let deviation = ((6.0 * 5.0 * 17.0 - 2.0 * 2.0 * 9.0) / 18.0f64).sqrt();
        assert!((tau_b - expected_tau).abs() < 1e-12, "{tau_b}");
        assert!((p - normal::two_sided(6.0 / deviation)).abs() < 1e-12);
    }

    #[test]
    fn constant_silent_and_short_series() {
        assert_eq!(trend(&[5.0; 20]), Some(Trend { tau_b: 0.0, p: 1.0, change: 0.0, drifting: false }));
        assert!(!trend(&[0.0; 20]).unwrap().drifting);
        assert_eq!(trend(&[1.0; 5]), None);
        let silent_then_busy: Vec<f64> = (0..20).map(|i| if i < 8 { 0.0 } else { i as f64 }).collect();
        assert!(trend(&silent_then_busy).unwrap().drifting);
    }
}
