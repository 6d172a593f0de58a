//! Simulated systems whose law is known: measured as contend measures, with up to 16 clients, and then simulated at the
//! predicted numbers, 32, 64 and 128.

use crate::choose::{GOOD, Point, Sweep, Tried, USABLE, Word, is_linear};
use crate::law::Law;
use crate::predict::{Reached, limit, outlook};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, LogNormal};

const OPERATIONS: usize = 10_000;
const MEASURED: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const PREDICTED: [usize; 3] = [32, 64, 128];
const ROUNDS: u32 = 6;

/// What clients queue for after the time that they spend alone.
#[derive(Debug, Clone, Copy)]
enum System {
    /// This number of servers; each takes `service_s` for an operation.
    Servers {
        count: usize,
        service_s: f64,
    },
    Log {
        flush_s: f64,
        service_s: f64,
    },
    /// One server, slower by a share for everybody who waits: work that is done again.
    Crowd {
        service_s: f64,
        share: f64,
    },
}

struct Simulation {
    system: System,
    parallel_s: f64,
    random: ChaCha8Rng,
}

impl Simulation {
    /// Clients think for times that differ widely.
    fn own_s(&mut self) -> f64 {
        let factor: f64 = Exp1.sample(&mut self.random);
        self.parallel_s * factor
    }

    /// Service differs by about half.
    fn about(&mut self, mean_s: f64) -> f64 {
        mean_s * LogNormal::new(-0.1, 0.447).unwrap().sample(&mut self.random)
    }

    /// Operations per second of this number of clients.
    fn throughput(&mut self, clients: usize) -> f64 {
        let mut ready_s: Vec<f64> = (0..clients).map(|_| self.own_s()).collect();
        let servers = if let System::Servers { count, .. } = self.system { count } else { 1 };
        let mut free_s = vec![0.0f64; servers];
        let (mut done, mut begun) = (0, (0, 0.0));
        while done < OPERATIONS + begun.0 {
            ready_s.sort_by(f64::total_cmp);
            free_s.sort_by(f64::total_cmp);
            let start_s = ready_s[0].max(free_s[0]);
            let waiting = ready_s.iter().filter(|ready_s| **ready_s <= start_s).count();
            let (served, time_s) = match self.system {
                System::Servers { service_s, .. } => (1, self.about(service_s)),
                System::Log { flush_s, service_s } => (waiting, self.about(flush_s) + waiting as f64 * service_s),
                System::Crowd { service_s, share } => (1, self.about(service_s) * (1.0 + share * waiting as f64)),
            };
            free_s[0] = start_s + time_s;
            for ready_s in &mut ready_s[..served] {
                *ready_s = start_s + time_s + self.own_s();
            }
            done += served;
            if begun.0 == 0 && done >= OPERATIONS / 10 {
                begun = (done, free_s[0]);
            }
        }
        (done - begun.0) as f64 / (free_s.iter().copied().fold(0.0, f64::max) - begun.1)
    }
}

fn throughput(system: System, parallel_s: f64, clients: usize, round: u32) -> f64 {
    let random = ChaCha8Rng::seed_from_u64(u64::from(round) << 16 | clients as u64);
    // Rounds of a real machine differ by more than chance inside them.
    let noise = LogNormal::new(0.0, 0.01).unwrap();
    let mut simulation = Simulation { system, parallel_s, random };
    simulation.throughput(clients) * noise.sample(&mut simulation.random)
}

fn measured(system: System, parallel_s: f64, cpu_s: f64) -> Vec<Point> {
    let point = |&clients: &usize| Point {
        x: clients as f64,
        rounds: (1..=ROUNDS).map(|round| (round, throughput(system, parallel_s, clients, round))).collect(),
        cpu_s: (1..=ROUNDS).map(|round| (round, cpu_s)).collect(),
    };
    MEASURED.iter().map(point).collect()
}

/// A system, the time that clients spend alone, and the law that holds.
struct Case {
    system: System,
    parallel_s: f64,
    law: &'static str,
}

impl Case {
    fn sweep(&self) -> Sweep {
        let System::Servers { count, .. } = self.system else { return ROOM };
        if self.law == "processors" { Sweep::Closed { processors: count as u32 } } else { ROOM }
    }

    /// Where the processors are not the resource, they have little to do.
    fn points(&self) -> Vec<Point> {
        measured(self.system, self.parallel_s, if self.law == "processors" { 1e-3 } else { 0.05e-3 })
    }

    /// What the system really does with the numbers that are predicted.
    fn truth(&self) -> [f64; 3] {
        PREDICTED.map(|clients| throughput(self.system, self.parallel_s, clients, 99))
    }
}

/// Errors of a law at what was not measured.
fn errors(tried: &Tried, truth: [f64; 3]) -> String {
    let error = |(clients, truth)| tried.value(clients as f64).expect("fitted") / truth - 1.0;
    let errors = PREDICTED.into_iter().zip(truth).map(error);
    errors.map(|error| format!("{:+.0} %", 100.0 * error)).collect::<Vec<_>>().join(" | ")
}

const ROOM: Sweep = Sweep::Closed { processors: 64 };

/// Systems of every law; each is seen below its knee, at it, or far beyond it, by the clients' own time.
fn cases() -> Vec<Case> {
    let writer = System::Servers { count: 1, service_s: 1e-3 };
    let slow_disk = System::Log { flush_s: 2e-3, service_s: 0.05e-3 };
    let fast_disk = System::Log { flush_s: 1e-3, service_s: 0.1e-3 };
    let four = System::Servers { count: 4, service_s: 1e-3 };
    let of = |system, law, own: &[f64]| -> Vec<Case> {
        own.iter().map(|&parallel_s| Case { system, parallel_s, law }).collect()
    };
    [
        of(writer, "one writer", &[0.2e-3, 2e-3, 6e-3, 12e-3, 13e-3, 14e-3, 15e-3, 20e-3, 30e-3, 50e-3]),
        of(slow_disk, "group commit", &[0.3e-3, 2e-3, 8e-3]),
        of(fast_disk, "group commit", &[0.3e-3, 1e-3, 3e-3]),
        of(four, "processors", &[0.0, 0.5e-3, 2e-3, 6e-3]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn within(word: Word) -> f64 {
    if word == Word::Good { GOOD } else { USABLE }
}

/// Prints the table of docs/predict.md with `--nocapture`.
#[test]
fn the_right_law_is_chosen_and_keeps_its_word() {
    println!("| law | own time | 32 | 64 | 128 | USL: 32 | 64 | 128 |\n|---|---|---|---|---|---|---|---|");
    let mut kept = 0;
    for case in cases() {
        let outlook = outlook(case.sweep(), &case.points(), &PREDICTED.map(|clients| clients as f64), 1);
        let tried = &outlook.tried[outlook.chosen.expect("a law")];
        // A system that did not reach its limit does not show which law it follows.
        let is_right = outlook.linear || tried.law.name() == case.law;
        assert!(is_right, "{:?}, own time {}: {}", case.system, case.parallel_s, tried.law.name());
        let usl = outlook.tried.iter().find(|tried| tried.law == Law::Usl).expect("it is always tried");
        let truth = case.truth();
        let (right, wrong) = (errors(tried, truth), errors(usl, truth));
        println!("| {} | {:.1} ms | {right} | {wrong} |", case.law, 1e3 * case.parallel_s);
        assert!(outlook.predictions.iter().all(|said| said.x <= 64.0), "four times 16 clients at most");
        for said in outlook.predictions.iter().filter(|said| said.word != Word::NoPrediction) {
            let at = PREDICTED.iter().position(|clients| *clients as f64 == said.x).expect("asked for");
            let error = said.value / truth[at] - 1.0;
            assert!(error.abs() <= within(said.word), "{:?} {}: {said:?} {error}", case.system, case.parallel_s);
            assert!(!outlook.linear, "no limit was reached: {said:?}");
            kept += 1;
        }
        assert_eq!(outlook.peak, None, "nothing fell");
    }
    assert!(kept >= 20, "predictions that kept their word: {kept}, at least 20 expected");
}

/// 32 clients on 1 to 8 processors, with time that they spend alone, and perhaps a queue that one processor serves at a time.
#[test]
fn processors_that_were_not_measured_are_predicted() {
    const CLIENTS: usize = 32;
    let on = |processors: usize, own_s: f64, serial: f64, round: u32| {
        let cpu_s = 1e-3;
        let processors = throughput(System::Servers { count: processors, service_s: cpu_s }, own_s, CLIENTS, round);
        // Amdahl: the serial part of each operation cannot be shared.
        1.0 / (serial * cpu_s + (1.0 - serial) / processors)
    };
    for (own_s, serial) in [(0.0, 0.0), (8e-3, 0.0), (0.0, 0.1)] {
        let point = |&processors: &usize| Point {
            x: processors as f64,
            rounds: (1..=ROUNDS).map(|round| (round, on(processors, own_s, serial, round))).collect(),
            cpu_s: (1..=ROUNDS).map(|round| (round, 1e-3)).collect(),
        };
        let points: Vec<Point> = [1, 2, 3, 4, 6, 8].iter().map(point).collect();
        let outlook = outlook(Sweep::Processors { clients: CLIENTS as u32 }, &points, &[12.0, 16.0, 64.0], 1);
        let law = outlook.tried[outlook.chosen.expect("a law")].law.name();
        // Without time alone, both laws are a straight line.
        let right: &[&str] = match (own_s > 0.0, serial > 0.0) {
            (true, _) => &["processors"],
            (_, true) => &["Amdahl"],
            _ => &["processors", "Amdahl"],
        };
        assert!(right.contains(&law), "{own_s} {serial}: {law}");
        // Processors that are all busy show no limit.
        assert_eq!(outlook.linear, (own_s, serial) == (0.0, 0.0));
        assert_eq!(outlook.predictions.is_empty(), outlook.linear);
        assert!(outlook.predictions.iter().all(|said| said.x <= 32.0));
        for said in &outlook.predictions {
            let error = said.value / on(said.x as usize, own_s, serial, 99) - 1.0;
            assert!(said.word != Word::NoPrediction && error.abs() <= within(said.word), "{said:?}: {error}");
        }
    }
    let two: Vec<Point> = [1.0, 2.0].map(|x| Point { x, rounds: vec![(1, 1e3 * x)], cpu_s: vec![(1, 1e-3)] }).to_vec();
    let few = outlook(Sweep::Processors { clients: 8 }, &two, &[4.0], 1);
    assert_eq!((few.chosen, few.predictions.len()), (None, 0), "two numbers leave nothing to fit");
}

#[test]
fn a_peak_needs_a_point_beyond_it() {
    let crowd = System::Crowd { service_s: 1e-3, share: 0.05 };
    let points = measured(crowd, 4e-3, 0.05e-3);
    let all = outlook(ROOM, &points, &[], 1);
    assert_eq!(all.tried[all.chosen.unwrap()].law, Law::Usl);
    let peak = all.peak.expect("it fell after 6 clients");
    assert!((4.0..10.0).contains(&peak.x), "{peak:?}");
    assert!(points.last().unwrap().median().unwrap() < peak.value);
    assert_eq!(outlook(ROOM, &points[..6], &[], 1).peak, None, "8 clients are not beyond it by more than chance");
    let five: Vec<Point> =
        points.iter().map(|point| Point { rounds: point.rounds[..5].to_vec(), ..point.clone() }).collect();
    assert_eq!(outlook(ROOM, &five, &[], 1).peak, None, "five rounds have no interval");
}

/// Mean response time of a queue with Poisson arrivals, as simulated.
fn mean_response(rate_per_s: f64, (servers, service_s): (usize, f64), round: u32) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(round) << 16 | rate_per_s as u64);
    let (mut now_s, mut free_s, mut sum_s) = (0.0f64, vec![0.0f64; servers], 0.0);
    let count = 20 * OPERATIONS;
    for _ in 0..count {
        let gap: f64 = Exp1.sample(&mut random);
        now_s += gap / rate_per_s;
        let next = free_s.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a server");
        *next = now_s.max(*next) + service_s * LogNormal::new(-0.1, 0.447).unwrap().sample(&mut random);
        sum_s += *next - now_s;
    }
    sum_s / count as f64
}

const ONE: (usize, f64) = (1, 1e-3);

#[test]
fn the_rate_of_a_bound_is_predicted_in_an_open_loop() {
    let point = |rate: f64| Point {
        x: rate,
        rounds: (1..=ROUNDS).map(|round| (round, mean_response(rate, ONE, round))).collect(),
        cpu_s: vec![],
    };
    let points = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0].map(point);
    let outlook = outlook(Sweep::Open, &points, &[850.0], 1);
    let said = outlook.predictions[0];
    let error = said.value / mean_response(850.0, ONE, 99) - 1.0;
    assert!(said.word != Word::NoPrediction && error.abs() <= within(said.word), "{said:?}: {error}");
    let bound_s = mean_response(900.0, ONE, 99);
    let Reached::At(found) = limit(&outlook, &points, bound_s) else { panic!("within reach") };
    assert!((found.x / 900.0 - 1.0).abs() < 0.05, "{found:?}");
    assert_eq!(found.word, outlook.word);
    assert_eq!(limit(&outlook, &points, 1e-6), Reached::AtLowest, "every rate takes longer");
    assert_eq!(limit(&outlook, &points[..0], bound_s), Reached::Unknown);
    assert_eq!(limit(&outlook, &points, f64::INFINITY), Reached::Not);
}

/// Where nothing queues yet, the law fits with any capacity.
#[test]
fn an_open_loop_far_from_its_limit_predicts_nothing_beyond() {
    let rates = [20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0];
    let shows_nothing = |flat: bool, value: &dyn Fn(f64, u32) -> f64| {
        let rounds = |x: f64| (1..=ROUNDS).map(|round| (round, value(x, round))).collect();
        let points = rates.map(|x| Point { x, rounds: rounds(x), cpu_s: vec![] });
        let outlook = outlook(Sweep::Open, &points, &[80.0, 175.0, 420.0], 1);
        assert!(outlook.linear && outlook.predictions.iter().all(|said| said.x == 80.0), "{outlook:?}");
        assert_eq!((limit(&outlook, &points, 10.0), is_linear(Sweep::Open, &points)), (Reached::NoLimit, flat));
        // A bound that was measured to be exceeded is within what was measured.
        limit(&outlook, &points, 24e-3)
    };
    assert_eq!(shows_nothing(true, &|rate, round| mean_response(rate, (8, 20e-3), round)), Reached::NoLimit);
    // It grows, but the rounds differ too much to show where it has no end.
    let noise = |rate: f64, round: u32| 1.0 + 0.03 * (f64::from((3 * round + rate as u32 / 20) % 7) - 3.0);
    let crossed = shows_nothing(false, &|rate, round| (20e-3 + 5e-5 * rate) * noise(rate, round));
    assert!(
        matches!(crossed, Reached::Unknown) || matches!(crossed, Reached::At(found) if found.x <= 140.0),
        "{crossed:?}"
    );
}

#[test]
fn too_few_points_predict_nothing() {
    let points = measured(System::Servers { count: 1, service_s: 1e-3 }, 2e-3, 0.05e-3);
    let three = outlook(ROOM, &points[..2], &[4.0], 1);
    assert_eq!((three.chosen, three.word, three.predictions.len()), (None, Word::NoPrediction, 0));
    assert_eq!(outlook(ROOM, &[], &[4.0], 1).chosen, None);
    let bare: Vec<Point> = points.iter().map(|point| Point { cpu_s: vec![], ..point.clone() }).collect();
    let without_cpu = outlook(ROOM, &bare, &[32.0], 1);
    assert!(without_cpu.tried.iter().all(|tried| tried.cap_per_s.is_none() && tried.law.name() != "processors"));
}
