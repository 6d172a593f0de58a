//! The comparison method compared with itself: how often it sees a difference between two identical systems, and how
//! often it finds one that is there.
//!
//! Every synthetic round shares a machine factor between both arms, as interleaved rounds do: a random walk, 3 % a
//! round, that blocks run one after the other would mistake for a difference. On top of it each arm has its own noise:
//! normal, skewed (log-normal), or heavy-tailed (Pareto). Seeds are fixed.
//!
//! `cargo test -p contend-stats -- --ignored --nocapture --test-threads=1` prints the tables of docs/methodology.md.
//!
//! Power: a planted difference of 10 % is found in at least 80 % of comparisons at 12 rounds with 4 % noise per arm.

use crate::bootstrap;
use crate::histogram::Histogram;
use crate::interval::{self, Looks};
use crate::quantile::Quantile;
use crate::verdict::{Direction, MARGIN, RoundPair, Verdict, compare_rounds, compare_rounds_by};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal, Normal, Pareto};

const ROUNDS: [usize; 3] = [6, 12, 20];
/// Ten times the 200 comparisons that the method is held to: at 200, chance alone moves a rate of 4 % by 1.4 points.
const COMPARISONS: usize = 2000;
const MACHINE_DRIFT: f64 = 0.03;

#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    LogNormal,
    Pareto,
}

const NOISES: [Noise; 3] = [Noise::Normal, Noise::LogNormal, Noise::Pareto];

impl Noise {
    /// A factor around 1. `spread` is the standard deviation of the first; the others are harsher.
    fn sample(self, spread: f64, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Noise::Normal => Normal::new(1.0, spread).unwrap().sample(rng).max(0.1),
            Noise::LogNormal => LogNormal::new(0.0, 5.0 * spread).unwrap().sample(rng),
            // Tail index 1.5: the mean exists, the variance does not.
            Noise::Pareto => 1.0 + spread * Pareto::new(1.0, 1.5).unwrap().sample(rng),
        }
    }
}

fn synthetic_rounds(count: usize, noise: Noise, spread: f64, effect: f64, rng: &mut ChaCha8Rng) -> Vec<RoundPair> {
    let step = Normal::new(0.0, MACHINE_DRIFT).unwrap();
    let mut machine: f64 = 0.0;
    let mut round = || {
        machine += step.sample(rng);
        let mut arm = |factor: f64| 1e6 * machine.exp() * factor * noise.sample(spread, rng);
        RoundPair { baseline: arm(1.0), candidate: arm(1.0 + effect) }
    };
    (0..count).map(|_| round()).collect()
}

/// The words of `COMPARISONS` comparisons of a candidate that takes `effect` longer.
fn words(rounds: usize, noise: Noise, spread: f64, effect: f64, seed: u64) -> Vec<Verdict> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut word = || {
        let data = synthetic_rounds(rounds, noise, spread, effect, &mut rng);
        compare_rounds(&data, Direction::LowerIsBetter, MARGIN, None).verdict
    };
    (0..COMPARISONS).map(|_| word()).collect()
}

fn share(words: &[Verdict], counts: impl Fn(&Verdict) -> bool) -> f64 {
    words.iter().filter(|word| counts(word)).count() as f64 / words.len() as f64
}

fn false_positives(rounds: usize, noise: Noise) -> f64 {
    share(&words(rounds, noise, 0.04, 0.0, 1000 * noise as u64 + rounds as u64), Verdict::is_difference)
}

fn power(rounds: usize, spread: f64, effect: f64) -> f64 {
    let slower = |word: &Verdict| matches!(word, Verdict::Slower | Verdict::SlightlySlower);
    share(&words(rounds, Noise::Normal, spread, effect, 100 + rounds as u64), slower)
}

#[test]
fn identical_systems_differ_in_at_most_one_comparison_in_twenty() {
    for noise in NOISES {
        for rounds in ROUNDS {
            let rate = false_positives(rounds, noise);
            assert!(rate <= 0.05, "{noise:?}, {rounds} rounds: {rate}");
        }
    }
}

/// The same data run as blocks, all of one arm and then all of the other: the machine's walk is no longer shared.
fn false_positives_of_blocks(rounds: usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(50 + rounds as u64);
    let mut word = || {
        let data = synthetic_rounds(2 * rounds, Noise::Normal, 0.04, 0.0, &mut rng);
        let (first, second) = data.split_at(rounds);
        let pairs = first.iter().zip(second);
        let blocks: Vec<RoundPair> =
            pairs.map(|(a, b)| RoundPair { baseline: a.baseline, candidate: b.candidate }).collect();
        compare_rounds(&blocks, Direction::LowerIsBetter, MARGIN, None).verdict
    };
    share(&(0..COMPARISONS).map(|_| word()).collect::<Vec<_>>(), Verdict::is_difference)
}

#[test]
fn blocks_instead_of_rounds_would_deceive() {
    assert!(false_positives_of_blocks(12) > 0.25, "{}", false_positives_of_blocks(12));
}

#[test]
fn a_difference_of_ten_percent_is_found() {
    assert!(power(12, 0.04, 0.10) >= 0.80, "{}", power(12, 0.04, 0.10));
    assert!(power(20, 0.04, 0.10) >= 0.95, "{}", power(20, 0.04, 0.10));
}

#[test]
fn a_difference_is_never_found_in_the_wrong_direction() {
    let words = words(12, Noise::Normal, 0.04, 0.10, 5);
    assert_eq!(share(&words, |word| matches!(word, Verdict::Faster | Verdict::SlightlyFaster)), 0.0);
}

/// Two arms of per-round histograms that share each round's machine factor.
fn histogram_rounds(count: usize, rng: &mut ChaCha8Rng) -> [Vec<Vec<(u64, u64)>>; 2] {
    let round_noise = Normal::new(0.0, 0.04).unwrap();
    let latency = LogNormal::new(13.0, 0.8).unwrap();
    let mut arm_of_round = |machine: f64| {
        let factor = (machine + round_noise.sample(rng)).exp();
        let mut histogram = Histogram::new();
        (0..400).for_each(|_| histogram.record((latency.sample(rng) * factor) as u64));
        histogram.to_sparse()
    };
    let machine = |round: usize| round as f64 * MACHINE_DRIFT;
    let rounds: Vec<_> = (0..count).map(|round| [arm_of_round(machine(round)), arm_of_round(machine(round))]).collect();
    [0, 1].map(|arm| rounds.iter().map(|round: &[Vec<(u64, u64)>; 2]| round[arm].clone()).collect())
}

/// How often the bootstrap interval of a ratio of equal quantiles leaves out 1.
fn bootstrap_misses(rounds: usize, quantile: Quantile, comparisons: usize) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(7 + rounds as u64);
    let mut misses = |seed: usize| {
        let [baseline, candidate] = histogram_rounds(rounds, &mut rng);
        let interval = bootstrap::quantile_ratio_interval(&baseline, &candidate, quantile, seed as u64).unwrap();
        interval.low > 1.0 || interval.high < 1.0
    };
    (0..comparisons).filter(|&seed| misses(seed)).count() as f64 / comparisons as f64
}

#[test]
fn the_bootstrap_interval_misses_about_one_time_in_twenty() {
    let rate = bootstrap_misses(12, Quantile::P95, 100);
    assert!(rate <= 0.10, "{rate}");
}

/// Rounds of one comparison, looked at after each pair of rounds until the ratio is known within `within`, at most
/// `ROUNDS_LOOKED_AT`.
struct Run {
    rounds: usize,
    /// Whether the interval was narrow enough in the end.
    known: bool,
    /// Whether the last word claims a difference.
    differs: bool,
    /// Whether any word on the way claims a difference.
    ever_differed: bool,
}

const ROUNDS_LOOKED_AT: usize = 60;

fn run_until(looks: Looks, data: &[RoundPair], within: f64) -> Run {
    let mut run = Run { rounds: 0, known: false, differs: false, ever_differed: false };
    for rounds in (2..=data.len()).step_by(2) {
        let found = compare_rounds_by(looks, &data[..rounds], Direction::LowerIsBetter, MARGIN, None);
        let known = found.minimum_detectable_effect.is_some_and(|half_width| half_width <= within);
        let differs = found.verdict.is_difference();
        run = Run { rounds, known, differs, ever_differed: run.ever_differed || differs };
        if known {
            break;
        }
    }
    run
}

fn runs_until(looks: Looks, noise: Noise, spread: f64, effect: f64, within: f64) -> Vec<Run> {
    let mut rng = ChaCha8Rng::seed_from_u64(300 + noise as u64);
    let mut run = || run_until(looks, &synthetic_rounds(ROUNDS_LOOKED_AT, noise, spread, effect, &mut rng), within);
    (0..COMPARISONS).map(|_| run()).collect()
}

fn share_of(runs: &[Run], counts: impl Fn(&Run) -> bool) -> f64 {
    runs.iter().filter(|run| counts(run)).count() as f64 / runs.len() as f64
}

#[test]
fn identical_systems_that_are_looked_at_again_and_again_seldom_differ() {
    for noise in NOISES {
        // So narrow that every round is looked at.
        let runs = runs_until(Looks::AfterEach, noise, 0.04, 0.0, 1e-6);
        let rate = share_of(&runs, |run| run.ever_differed);
        assert!(rate <= 0.05, "{noise:?}: {rate}");
    }
    let naive = share_of(&runs_until(Looks::Once, Noise::Normal, 0.04, 0.0, 1e-6), |run| run.ever_differed);
    assert!(naive > 0.10, "the usual interval would deceive: {naive}");
}

/// The fewest rounds, fixed in advance, with which half of all intervals are so narrow.
fn rounds_fixed(spread: f64, within: f64) -> usize {
    let narrow = |rounds: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(400);
        let found = (0..COMPARISONS).map(|_| {
            let data = synthetic_rounds(rounds, Noise::Normal, spread, 0.0, &mut rng);
            compare_rounds(&data, Direction::LowerIsBetter, MARGIN, None).minimum_detectable_effect
        });
        2 * found.flatten().filter(|half_width| *half_width <= within).count() >= COMPARISONS
    };
    (6..).step_by(2).find(|rounds| narrow(*rounds)).expect("enough rounds are enough")
}

fn median_rounds(runs: &[Run]) -> usize {
    let mut rounds: Vec<usize> = runs.iter().map(|run| run.rounds).collect();
    rounds.sort_unstable();
    rounds[rounds.len() / 2]
}

#[test]
#[ignore = "prints the tables of docs/methodology.md"]
fn print_the_tables_of_until() {
    println!(
        "\nClaims of a difference between identical systems in {ROUNDS_LOOKED_AT} rounds, looked at after every two:\n"
    );
    println!("| interval | normal | log-normal | Pareto |\n|---|---|---|---|");
    for (name, looks) in [("of `--until`", Looks::AfterEach), ("of a fixed number of rounds", Looks::Once)] {
        let ever = |noise| share_of(&runs_until(looks, noise, 0.04, 0.0, 1e-6), |run| run.ever_differed);
        let rates = NOISES.map(|noise| format!("{:.1} %", 100.0 * ever(noise)));
        println!("| {name} | {} |", rates.join(" | "));
    }
    println!("\nRounds until the ratio is known, normal noise, at most {ROUNDS_LOOKED_AT}:\n");
    println!(
        "| noise per arm | within | known in time | rounds, median | fixed in advance | claims on A/A | 10 % found |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (spread, within) in [(0.02, 0.05), (0.04, 0.05), (0.04, 0.10), (0.08, 0.10)] {
        let same = runs_until(Looks::AfterEach, Noise::Normal, spread, 0.0, within);
        let other = runs_until(Looks::AfterEach, Noise::Normal, spread, 0.10, within);
        println!(
            "| {:.0} % | {:.0} % | {:.0} % | {} | {} | {:.1} % | {:.0} % |",
            100.0 * spread,
            100.0 * within,
            100.0 * share_of(&same, |run| run.known),
            median_rounds(&same),
            rounds_fixed(spread, within),
            100.0 * share_of(&same, |run| run.differs),
            100.0 * share_of(&other, |run| run.differs)
        );
    }
}

#[test]
#[ignore = "prints the tables of docs/methodology.md"]
fn print_the_tables() {
    println!("\nFalse positives, {COMPARISONS} comparisons of identical systems per cell, 4 % noise:\n");
    println!("| rounds | in theory | normal | log-normal | Pareto | blocks, normal |\n|---|---|---|---|---|---|");
    for rounds in ROUNDS {
        let nominal = 1.0 - interval::median_ranks(rounds).unwrap().coverage;
        let rates = NOISES.map(|noise| format!("{:.1} %", 100.0 * false_positives(rounds, noise)));
        let blocks = 100.0 * false_positives_of_blocks(rounds);
        println!("| {rounds} | {:.1} % | {} | {blocks:.1} % |", 100.0 * nominal, rates.join(" | "));
    }
    println!("\nPower, normal noise, share of comparisons that find the planted difference:\n");
    println!("| rounds | noise per arm | 3 % | 5 % | 10 % | 20 % |\n|---|---|---|---|---|---|");
    for rounds in ROUNDS {
        for spread in [0.02, 0.04, 0.08] {
            let found =
                [0.03, 0.05, 0.10, 0.20].map(|effect| format!("{:.0} %", 100.0 * power(rounds, spread, effect)));
            println!("| {rounds} | {:.0} % | {} |", 100.0 * spread, found.join(" | "));
        }
    }
    println!("\nBootstrap interval of a ratio of equal quantiles, share of 400 that leave out 1:\n");
    println!("| rounds | p50 | p95 | p99 |\n|---|---|---|---|");
    for rounds in ROUNDS {
        let quantiles = [Quantile::P50, Quantile::P95, Quantile::P99];
        let rates = quantiles.map(|quantile| format!("{:.1} %", 100.0 * bootstrap_misses(rounds, quantile, 400)));
        println!("| {rounds} | {} |", rates.join(" | "));
    }
}
