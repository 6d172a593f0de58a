//! The gate on simulated machines: how often it is wrong about equal builds, and how often it finds a slower one.
//!
//! `cargo test -p contend-gate -- --ignored --nocapture` prints the tables of docs/gate.md.

use crate::judge::{COVERAGE, judge, rounds_min};
use crate::rounds::{Ground, rounds};
use crate::saved::{By, Gate, Side, Took, VERSION, Why};
use anyhow::{Result, bail};
use contend::outcome::mark::Mark;
use contend_stats::interval::median_ranks_at_any_time;
use contend_stats::normal;
use contend_stats::verdict::Verdict;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Bernoulli, Distribution, LogNormal, Normal};

const GATES: u64 = 2000;
const SECOND_NS: u64 = 1_000_000_000;

/// A gate without rounds.
pub fn gate() -> Gate {
    Gate {
        format: VERSION,
        contend: "0".to_string(),
        started: String::new(),
        command: vec![],
        a: "old".to_string(),
        b: "new".to_string(),
        before: None,
        by: By::Wall,
        margin: 0.05,
        budget_ns: 3600 * SECOND_NS,
        rounds_max: 60,
        warm_up: 1,
        seed: 1,
        processors: 2,
        may_leave: vec![],
        ended: Why::Decided,
        error: None,
        rounds_ns: 0,
        rounds: vec![],
    }
}

/// A machine whose speed drifts at random, and on which other programs run now and then.
struct Simulated {
    random: ChaCha8Rng,
    now_ns: u64,
    spread: f64,
    /// Relative duration of B.
    effect: f64,
    /// Probability that another program is busy during a run.
    busy: f64,
    speed: f64,
    is_disturbed: bool,
    runs: usize,
    fails_at: Option<usize>,
}

impl Simulated {
    fn new(seed: u64, spread: f64, effect: f64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let (now_ns, speed, is_disturbed) = (0, 0.0, false);
        Self { random, now_ns, spread, effect, busy: 0.0, speed, is_disturbed, runs: 0, fails_at: None }
    }
}

impl Ground for Simulated {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn settle(&mut self, _: Option<u64>) -> Result<()> {
        self.speed += Normal::new(0.0, 0.03)?.sample(&mut self.random);
        self.is_disturbed = false;
        Ok(())
    }

    fn run(&mut self, side: Side, place: &str) -> Result<Took> {
        self.runs += 1;
        if self.fails_at == Some(self.runs) {
            bail!("{} failed in {place}", side.name());
        }
        let mut wall = self.speed.exp() * Normal::new(1.0, self.spread)?.sample(&mut self.random).max(0.1);
        if side == Side::B {
            wall *= 1.0 + self.effect;
        }
        if Bernoulli::new(self.busy)?.sample(&mut self.random) {
            self.is_disturbed = true;
            wall *= 1.0 + LogNormal::new(-1.0, 1.0)?.sample(&mut self.random);
        }
        let wall_ns = (wall * SECOND_NS as f64) as u64;
        self.now_ns += wall_ns;
        Ok(Took { wall_ns, cpu_ns: wall_ns / 2 })
    }

    fn marks(&mut self) -> Vec<Mark> {
        self.is_disturbed.then_some(Mark::NoisyCpu { permille: 500 }).into_iter().collect()
    }
}

fn run(ground: &mut Simulated, gate: Gate) -> Gate {
    let mut gate = gate;
    rounds(&mut gate, ground, &mut |_| Ok(())).expect("simulated commands succeed");
    gate
}

/// Gates of simulated builds, with their verdicts.
fn gates(spread: f64, effect: f64, busy: f64) -> Vec<(Gate, Verdict)> {
    let one = |seed: u64| {
        let mut ground = Simulated { busy, ..Simulated::new(seed, spread, effect) };
        let gate = run(&mut ground, Gate { seed, ..gate() });
        let verdict = judge(gate.counting(), gate.by, gate.margin).verdict;
        (gate, verdict)
    };
    (0..GATES).map(one).collect()
}

fn share(gates: &[(Gate, Verdict)], counts: impl Fn(&Verdict) -> bool) -> f64 {
    gates.iter().filter(|(_, verdict)| counts(verdict)).count() as f64 / gates.len() as f64
}

/// Probability that B's time is ever outside the whole interval within `rounds` rounds, if it is longer in a round
/// with probability `longer`. Exact, over all sequences.
fn ever_beyond(rounds: usize, longer: f64) -> f64 {
    let mut still = vec![1.0];
    let mut found = 0.0;
    for n in 1..=rounds {
        let at = |k: usize| still.get(k).copied().unwrap_or(0.0);
        // State k: B took longer in k of n rounds.
        let next = |k: usize| at(k) * (1.0 - longer) + if k > 0 { at(k - 1) * longer } else { 0.0 };
        let mut now: Vec<f64> = (0..=n).map(next).collect();
        let lower = median_ranks_at_any_time(n, COVERAGE).map_or(0, |ranks| ranks.lower);
        for k in (0..=n).filter(|k| n - *k < lower) {
            found += std::mem::take(&mut now[k]);
        }
        still = now;
    }
    found
}

/// Probability that B takes longer in a round, with normal noise in each run.
fn longer(spread: f64, effect: f64) -> f64 {
    normal::cumulative(f64::ln_1p(effect) / (spread * std::f64::consts::SQRT_2))
}

#[test]
fn equal_builds_differ_in_at_most_one_gate_of_a_hundred_counted_exactly() {
    let slower = ever_beyond(200, 0.5);
    // By symmetry, faster is as likely as slower.
    assert!((0.002..=0.005).contains(&slower), "{slower}");
}

#[test]
fn equal_builds_differ_in_at_most_one_gate_of_a_hundred() {
    for (spread, busy) in [(0.02, 0.0), (0.04, 0.0), (0.08, 0.0), (0.04, 0.1), (0.04, 0.5)] {
        let rate = share(&gates(spread, 0.0, busy), Verdict::is_difference);
        assert!(rate <= 0.01, "noise {spread}, disturbed {busy}: {rate}");
    }
}

#[test]
fn ten_percent_are_found() {
    let power = ever_beyond(40, longer(0.04, 0.10));
    assert!(power > 0.99, "{power}");
    let found = share(&gates(0.04, 0.10, 0.0), |verdict| *verdict == Verdict::Slower);
    assert!(found > 0.95, "{found}");
    let wrong = share(&gates(0.04, 0.10, 0.0), |verdict| matches!(verdict, Verdict::Faster | Verdict::SlightlyFaster));
    assert!(wrong <= 0.005, "{wrong}");
}

#[test]
fn disturbed_rounds_are_run_again_by_their_mark() {
    let mut ground = Simulated { busy: 0.2, ..Simulated::new(1, 0.04, 0.0) };
    let gate = run(&mut ground, Gate { rounds_max: 40, margin: 1e-9, ..gate() });
    let again: Vec<_> = gate.rounds.iter().filter(|round| round.again).collect();
    assert!(again.len() >= 5 && again.len() <= gate.rounds.len() / 5, "{} of {}", again.len(), gate.rounds.len());
    assert!(again.iter().all(|round| !round.marks.is_empty()));
    assert_eq!((gate.counting().count(), gate.rounds_ns < ground.now_ns), (40, true), "without the warm-up");
    assert!(gate.rounds_ns > gate.rounds.iter().map(|round| round.a.wall_ns + round.b.wall_ns).sum::<u64>() / 2);
    assert_eq!(ground.runs, 2 * (gate.rounds.len() + 1), "each run is in a round or in the warm-up");
}

#[test]
fn a_budget_ends_before_the_round_that_does_not_fit() {
    let mut ground = Simulated::new(1, 0.001, 0.0);
    let gate = run(&mut ground, Gate { margin: 1e-9, budget_ns: 21 * SECOND_NS, ..gate() });
    assert_eq!(gate.ended, Why::Budget);
    assert!(gate.rounds.len() >= 6 && ground.now_ns <= 21 * SECOND_NS, "{} rounds", gate.rounds.len());
    // The first round runs, whatever the budget.
    let gate = run(&mut Simulated::new(1, 0.001, 0.0), Gate { budget_ns: 1, ..super::simulation::gate() });
    assert_eq!((gate.rounds.len(), gate.ended), (1, Why::Budget));
}

#[test]
fn a_clear_answer_ends_early_and_a_pair_of_rounds_is_an_order_and_its_reverse() {
    let gate = run(&mut Simulated::new(3, 0.02, 0.5), gate());
    assert_eq!((gate.ended, gate.rounds.len()), (Why::Decided, rounds_min().next_multiple_of(2) as usize));
    assert!(gate.rounds.as_chunks::<2>().0.iter().all(|[one, two]| one.first != two.first));
}

#[test]
fn a_failure_ends_the_gate_and_says_where() {
    let mut ground = Simulated { fails_at: Some(7), ..Simulated::new(1, 0.02, 0.0) };
    let mut gate = gate();
    let error = rounds(&mut gate, &mut ground, &mut |_| Ok(())).expect_err("the seventh run");
    assert!(error.to_string().contains("failed in round 3"), "{error}");
    assert_eq!((gate.ended, gate.rounds.len()), (Why::Failed, 2));
}

#[test]
#[ignore = "prints the tables of docs/gate.md"]
fn print_the_tables() {
    println!("\nExact chance that the interval excludes 1 on the right side at some look, by the number of rounds:\n");
    println!("| noise per run | planted | 12 | 20 | 40 | 100 | 200 |\n|---|---|---|---|---|---|---|");
    for (spread, effect) in [(0.02, 0.05), (0.02, 0.10), (0.04, 0.05), (0.04, 0.10), (0.08, 0.10), (0.08, 0.20)] {
        let chance = |rounds| format!("{:.1} %", 100.0 * ever_beyond(rounds, longer(spread, effect)));
        let cells = [12, 20, 40, 100, 200].map(chance).join(" | ");
        println!("| {:.0} % | {:.0} % | {cells} |", 100.0 * spread, 100.0 * effect);
    }
    println!("\nEqual builds, both directions together, 200 rounds: {:.2} %\n", 200.0 * ever_beyond(200, 0.5));
    println!("{GATES} simulated gates of at most 60 rounds, margin 5 %:\n");
    println!(
        "| noise per run | disturbed runs | B takes | faster | slower | slightly | no difference | cannot tell | rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (spread, busy) in [(0.02, 0.0), (0.04, 0.0), (0.08, 0.0), (0.04, 0.1), (0.04, 0.5)] {
        for effect in [0.0, 0.04, 0.10] {
            let all = gates(spread, effect, busy);
            let part = |counts: &dyn Fn(&Verdict) -> bool| format!("{:.1} %", 100.0 * share(&all, counts));
            let slightly = |v: &Verdict| matches!(v, Verdict::SlightlyFaster | Verdict::SlightlySlower);
            let mut rounds: Vec<usize> = all.iter().map(|(gate, _)| gate.rounds.len()).collect();
            rounds.sort_unstable();
            println!(
                "| {:.0} % | {:.0} % | {:+.0} % | {} | {} | {} | {} | {} | {} |",
                100.0 * spread,
                100.0 * busy,
                100.0 * effect,
                part(&|v| *v == Verdict::Faster),
                part(&|v| *v == Verdict::Slower),
                part(&slightly),
                part(&|v| *v == Verdict::NoDifference),
                part(&|v| *v == Verdict::CannotTell),
                rounds[rounds.len() / 2]
            );
        }
    }
}
