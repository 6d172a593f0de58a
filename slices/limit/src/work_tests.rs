//! Searches of simulated contenders with a budget: no time passes, probes add what they would take to a clock.

use super::*;
use crate::bound;
use crate::relax::Suspect;
use crate::saved::{Arm, Budget, Busy, Relaxed};
use crate::testing::{arm, met, saved};
use contend::study::model::Condition;
use std::cell::Cell;

const S: u64 = 1_000_000_000;
/// Time of a probe beyond its window.
const EXTRA_NS: u64 = S;
/// Capacity of a contender that fails at every rate.
const FAILING: f64 = 555.0;
/// Capacity of a contender for which the bounded metric is not measured.
const UNMEASURED: f64 = 777.0;

/// Capacity of a contender whose operations take longer than the bound at every rate.
const SLOW: f64 = 666.0;
/// The same in a closed loop only, where they wait for one another.
const CROWDED: f64 = 667.0;

/// Capacity of a contender whose clients wait for one another in a closed loop, and what they reach there.
const STARVED: f64 = 70.0;
const STARVED_REACHES: f64 = 3.33;

/// A contender of this capacity, with the capacity of an arm in which each suspect is relaxed.
struct Simulated {
    capacity: f64,
    used: Busy,
    relaxed: Vec<(Suspect, f64)>,
}

fn writer(capacity: f64, with_half_the_writes: f64) -> Simulated {
    let used = Busy { writing: Some(0.9), clients: 0.3, client_cpu: 0.4, ..Busy::default() };
    let relaxed = vec![(Suspect::Writers, with_half_the_writes), (Suspect::Clients, capacity)];
    Simulated { capacity, used, relaxed }
}

/// The arms of simulated contenders, those as they are first, and the capacity of each.
fn arms(contenders: &[Simulated]) -> (Vec<Arm>, Vec<f64>) {
    let names = ["A", "B", "C", "D"];
    let mut arms: Vec<Arm> = names[..contenders.len()].iter().map(|name| arm(name, "durable")).collect();
    let mut capacities: Vec<f64> = contenders.iter().map(|contender| contender.capacity).collect();
    for (of, contender) in contenders.iter().enumerate() {
        for (suspect, capacity) in &contender.relaxed {
            let how = format!("other {}", suspect.word());
            let relaxed = Relaxed { of, suspect: suspect.word().to_string(), how, fewer: false };
            arms.push(Arm { relaxed: Some(relaxed), ..arms[of].clone() });
            capacities.push(*capacity);
        }
    }
    (arms, capacities)
}

/// A search of these contenders with this budget; the time that it took is in its budget.
fn searched(contenders: &[Simulated], budget_ns: u64) -> Saved {
    searched_until(contenders, Some(budget_ns), usize::MAX)
}

/// The same of a search that is stopped after this number of probes.
fn searched_until(contenders: &[Simulated], budget_ns: Option<u64>, probes: usize) -> Saved {
    let (arms, capacities) = arms(contenders);
    let clock = Cell::new(0);
    let mut saved = saved(arms, &[]);
    (saved.rounds, saved.window_ns) = (6, S / 2);
    saved.budget = budget_ns.map(|total_ns| Budget { total_ns, ..Budget::default() });
    let now = || clock.get();
    let mut work = work(saved, &now);
    let mut next = work.step(None);
    while let Some(choice) = next {
        let arm = work.asked.as_ref().map(|(arm, _)| *arm).unwrap();
        let of = work.saved.contender(arm);
        let looked = probed(&choice, arm, capacities[arm], &contenders[of].used);
        clock.set(clock.get() + looked.probe.window_ns + EXTRA_NS);
        next = work.step(Some(looked));
        if work.saved.probes.len() == probes {
            work.stop();
            break;
        }
        assert!(work.saved.probes.len() < 1000, "it ends");
    }
    work.saved
}

/// The work of a search before its first probe.
fn work(saved: Saved, clock: &dyn Fn() -> u64) -> Work<'_> {
    let place = |contender: usize| ArmSetup {
        contender,
        condition: Condition { label: "default".to_string(), profile: None, axes: Default::default() },
    };
    let places = (0..saved.arms.len()).map(place).collect();
    let ways =
        Ways { relaxing: Relaxing::Busy, lowers: true, clock, tell: &|_| {}, processes: &|_| Default::default() };
    Work::new(PathBuf::new(), bound::bounds(&bound::usual()).unwrap(), (places, saved), ways)
}

/// The rounds from which a service's first probes draw, if this one of them is disturbed and runs again; and their conditions.
fn drawn(service: bool, disturbed: usize) -> Vec<(u32, Condition)> {
    let contender = writer(940.0, 1700.0);
    let (arms, _) = arms(std::slice::from_ref(&contender));
    let mut work = work(Saved { service, rounds: 6, ..saved(arms, &[]) }, &|| 0);
    let (mut next, mut all) = (work.step(None), vec![]);
    for at in 0..5 {
        let choice = next.expect("it goes on");
        let mut looked = probed(&choice, 0, contender.capacity, &contender.used);
        looked.probe.disturbed = at == disturbed;
        all.push((choice.round, choice.condition));
        next = work.step(Some(looked));
    }
    assert!(work.saved.probes[disturbed].again && work.saved.probes.iter().all(|probe| probe.round == 1));
    all
}

#[test]
fn each_probe_of_a_service_draws_its_own_work_and_so_does_one_that_runs_again() {
    for disturbed in 0..4 {
        let all = drawn(true, disturbed);
        assert_eq!(all.iter().map(|(round, _)| *round).collect::<Vec<u32>>(), [1, 2, 3, 4, 5]);
        assert_eq!(all[disturbed].1, all[disturbed + 1].1, "it runs again as it was");
        assert!(drawn(false, disturbed).iter().all(|(round, _)| *round == 1), "fresh data, equal work");
    }
}

#[test]
fn a_disturbed_probe_without_time_for_another_one_did_not_run_again() {
    for (at_ns, stops, ran) in [(2 * S, false, true), (60 * S - S / 10, false, false), (2 * S, true, false)] {
        let contender = writer(940.0, 1700.0);
        let (arms, _) = arms(std::slice::from_ref(&contender));
        let (clock, budget) = (Cell::new(0), Some(Budget { total_ns: 60 * S, ..Budget::default() }));
        let now = || clock.get();
        let mut work = work(Saved { budget, rounds: 6, ..saved(arms, &[]) }, &now);
        let choice = work.step(None).expect("a first trial");
        clock.set(at_ns);
        let mut looked = probed(&choice, 0, contender.capacity, &contender.used);
        looked.probe.disturbed = true;
        work.step(Some(looked));
        if stops {
            work.stop();
        }
        let probe = &work.saved.probes[0];
        assert_eq!((probe.disturbed, probe.again), (true, ran), "{at_ns}");
        assert_eq!(probe.seen_in_words().ends_with("; ran again"), ran, "{}", probe.seen_in_words());
    }
}

fn probed(choice: &Choice, arm: usize, capacity: f64, used: &Busy) -> Looked {
    let rate_per_s: Option<f64> = choice.condition.axes.get("rate_per_s").map(|rate| rate.parse().unwrap());
    let window_ns = contend::units::duration_ns(&choice.condition.axes["duration"]).unwrap();
    let meets = rate_per_s.is_none_or(|rate| rate <= capacity);
    let verdict = match meets {
        _ if capacity == UNMEASURED && rate_per_s.is_some() => Verdict::NotMeasured(0),
        _ if capacity == FAILING && rate_per_s.is_some() => Verdict::Misses(1),
        _ if capacity == SLOW && rate_per_s.is_some() => Verdict::Misses(0),
        true => Verdict::Meets,
        false => Verdict::Misses(0),
    };
    let probe = Probe {
        round: choice.round,
        rate_per_s,
        window_ns,
        seen: rate_per_s.map(|_| verdict.seen()),
        used: Some(used.clone()),
        values: vec![1e6, 0.2],
        why: if verdict == Verdict::NotMeasured(0) { "it is not measured".to_string() } else { String::new() },
        ..met(arm, rate_per_s.unwrap_or(if capacity == STARVED { STARVED_REACHES } else { capacity * 1.2 }))
    };
    let has_floor = capacity == SLOW || capacity == CROWDED && rate_per_s.is_none();
    let floor = has_floor.then(|| Floor { bound: 0, name: "import".to_string(), least_ns: 90e6, share: 0.5 });
    Looked { probe, verdict: Some(verdict), lacking: None, floor }
}

#[test]
fn a_bound_on_something_that_is_not_measured_ends_each_round_at_once() {
    let found = searched(&[writer(UNMEASURED, UNMEASURED)], 300 * S);
    assert!(found.capacities.iter().all(|of| of.value().is_none()), "{:?}", found.capacities);
    assert_eq!(found.capacities[0].why, "it is not measured");
    let probes = found.probes.iter().filter(|probe| probe.rate_per_s.is_some());
    assert!(probes.clone().count() <= found.capacities.len(), "one in a round");
    assert!(probes.into_iter().all(|probe| probe.window_ns < 10 * S), "no window grows");
}

#[test]
fn a_bound_below_what_an_operation_takes_is_found_at_the_lowest_rate() {
    let found = searched(&[writer(SLOW, SLOW)], 300 * S);
    let why = "response_ns_p95<=50ms is too low: at the lowest rate that a window can judge, the fastest `import` took 90.0 ms, and \
               50.0 % of the operations take longer than the bound; allow more";
    assert!(found.capacities[0].why.starts_with(why), "{}", found.capacities[0].why);
    let first: Vec<&Probe> = found.probes.iter().filter(|probe| probe.round == 1 && probe.arm == 0).collect();
    assert!(first.len() <= 4 && first[1].rate_per_s.is_some_and(|rate| rate < 130.0), "{first:?}");
    assert!(first.iter().all(|probe| probe.window_ns <= S), "a short window shows it: {first:?}");

    let found = searched(&[writer(CROWDED, CROWDED)], 300 * S);
    let rate = found.capacities[0].rate_per_s.expect("a rate");
    assert!((CROWDED / 1.05..=CROWDED).contains(&rate), "{rate}");
    let low = found.probes.iter().filter(|probe| probe.rate_per_s.is_some_and(|rate| rate < CROWDED / 2.0));
    assert_eq!(low.count(), 1, "one short probe at the lowest rate, then from the closed loop's");
}

#[test]
fn a_closed_loop_that_reaches_almost_nothing_is_no_upper_end() {
    let found = searched_until(&[writer(STARVED, STARVED)], Some(150 * S), usize::MAX);
    assert_eq!(found.bounds[0], "response_ns_p95<=50ms");
    let rate = found.capacities[0].rate_per_s.expect("a rate");
    assert!((STARVED / 1.05..=STARVED).contains(&rate), "{rate}");
    let rates: Vec<f64> = found.probes.iter().filter_map(|probe| probe.rate_per_s).collect();
    assert!(rates[0] > STARVED, "short windows come first: {rates:?}");
}

#[test]
fn no_probe_begins_that_would_end_after_the_budget() {
    for budget_s in (12..120).step_by(7) {
        let found = searched(&[writer(STARVED, STARVED), writer(1600.0, 1650.0)], budget_s * S);
        assert!(spent_s(&found) <= budget_s as f64, "{} s of {budget_s}", spent_s(&found));
    }
}

#[test]
fn a_contender_without_a_rate_gets_no_further_experiments() {
    let found = searched_until(&[writer(FAILING, FAILING)], None, usize::MAX);
    let relaxed = |of: &&Capacity| found.arms[of.arm].relaxed.is_some();
    let later = |of: &&Capacity| of.round > 1;
    assert!(found.capacities.iter().filter(relaxed).filter(later).count() > 0);
    for of in found.capacities.iter().filter(relaxed).filter(later) {
        assert_eq!(of.why, "its contender has no rate so far");
    }
    assert!(found.probes.iter().all(|probe| found.arms[probe.arm].relaxed.is_none() || probe.round == 1));
}

#[test]
fn a_contender_that_fails_at_every_rate_leaves_the_time_to_others() {
    let found = searched(&[writer(FAILING, FAILING), writer(1200.0, 2000.0)], 300 * S);
    assert!(found.values(0).is_empty() && found.values(1).len() >= 4, "{:?}", found.capacities);
    let of_first = found.probes.iter().filter(|probe| probe.arm == 0);
    let spent_s = of_first.map(|probe| (probe.window_ns + EXTRA_NS) as f64 / 1e9).sum::<f64>();
    assert!(spent_s < 30.0, "{spent_s} s of 300");
}

/// Rounds of each arm.
fn rounds(saved: &Saved) -> Vec<usize> {
    let is_known = |capacity: &&Capacity| capacity.value().or(capacity.met).or(capacity.missed).is_some();
    let of_arm = |arm: usize| saved.capacities.iter().filter(is_known).filter(|capacity| capacity.arm == arm).count();
    (0..saved.arms.len()).map(of_arm).collect()
}

fn spent_s(saved: &Saved) -> f64 {
    saved.budget.as_ref().unwrap().spent_ns as f64 / 1e9
}

#[test]
fn five_minutes_hold_two_contenders_and_what_stops_them() {
    let found = searched(&[writer(1200.0, 2000.0), writer(2000.0, 2050.0)], 300 * S);
    assert!(spent_s(&found) <= 300.0 && found.complete, "{} s", spent_s(&found));
    let [a, b, writers_of_a, clients_of_a, writers_of_b, clients_of_b] = rounds(&found)[..] else { panic!() };
    assert!(a >= 4 && a == b, "{a} {b}");
    assert_eq!((writers_of_a, writers_of_b), (3, 3), "in the rounds that a name takes");
    assert_eq!((clients_of_a, clients_of_b), (0, 0), "used too little to be named");
    let suspects = crate::limiter::suspects(&found, 0);
    assert_eq!(crate::limiter::limiter(&suspects), crate::limiter::Limiter::One(Suspect::Writers));
    for (arm, capacity) in [(0, 1200.0), (1, 2000.0)] {
        assert!(found.values(arm).iter().all(|(_, rate)| (rate / capacity - 1.0).abs() < 0.05), "{arm}");
    }
    let probes = found.probes.iter().filter(|probe| probe.arm == 2 && probe.rate_per_s.is_some()).count();
    assert_eq!(probes, 2 * 3, "two equal results for one rate in each round");
    assert_eq!((found.bounds[0].as_str(), found.budget.unwrap().lowered.as_str()), ("response_ns_p99<=50ms", ""));
}

#[test]
fn what_a_budget_does_not_hold_is_in_the_record() {
    let four = || [940.0, 1600.0, 1800.0, 1500.0].map(|capacity| writer(capacity, capacity * 1.5));
    let found = searched(&four(), 130 * S);
    let of_arms = rounds(&found);
    assert!(spent_s(&found) <= 130.0 && of_arms[..4].iter().all(|rounds| *rounds >= 1), "{of_arms:?}");
    let full = of_arms[..4].iter().filter(|rounds| **rounds >= 3).count();
    assert!((2..4).contains(&full) && of_arms[..full].iter().all(|rounds| *rounds >= 3), "the first ones: {of_arms:?}");
    assert!(
        of_arms[4..].iter().all(|rounds| [0, 3].contains(rounds)),
        "an arm that is begun can be named: {of_arms:?}"
    );
    let left_out = found.budget.as_ref().unwrap().left_out.clone();
    assert!(!left_out.is_empty() && left_out.iter().all(|arm| of_arms[*arm] == 0), "{left_out:?} {of_arms:?}");
    let all = searched(&four(), 3600 * S);
    assert_eq!(rounds(&all)[..4], [6; 4]);
    assert_eq!(all.budget.unwrap().left_out, [0; 0]);
}

#[test]
fn a_budget_that_holds_less_than_a_round_says_so() {
    let found = searched(&[writer(940.0, 1700.0), writer(1600.0, 1650.0)], 20 * S);
    assert!(spent_s(&found) <= 20.0, "{} s", spent_s(&found));
    let why: Vec<&str> = found.capacities.iter().map(|capacity| capacity.why.as_str()).collect();
    assert!(why.iter().any(|why| why.contains("would exceed the time of 20s")), "{why:?}");
    let cut = found.capacities.iter().find(|capacity| capacity.missed.is_some()).expect("one is cut in its search");
    let capacity = [940.0, 1600.0][cut.arm];
    assert!(cut.met.is_none_or(|met| met <= capacity) && cut.missed.is_some_and(|missed| missed > capacity), "{cut:?}");
}

#[test]
fn a_search_that_is_stopped_keeps_what_it_knows() {
    // The closed loop, and probes above and below.
    let found = searched_until(&[writer(940.0, 1700.0)], Some(300 * S), 3);
    let [cut] = &found.capacities[..] else { panic!("{:?}", found.capacities) };
    assert_eq!((found.complete, cut.value(), cut.why.as_str()), (false, None, "it was stopped"));
    let (met, missed) = (cut.met.expect("one that met"), cut.missed.unwrap_or(f64::INFINITY));
    assert!(met <= 940.0 && missed > 940.0, "{cut:?}");
    // Between two rounds nothing is under way that was not said.
    let whole = searched(&[writer(940.0, 1700.0)], 300 * S);
    let later = searched_until(&[writer(940.0, 1700.0)], Some(300 * S), whole.probes.len() - 1);
    assert!(later.capacities.iter().all(|capacity| capacity.why.is_empty()), "a later round is left out");
}

#[test]
fn a_rate_that_is_too_low_for_a_quantile_gets_a_lower_one_and_a_sentence() {
    let found = searched(&[writer(200.0, 350.0), writer(1600.0, 1650.0)], 300 * S);
    assert_eq!(found.bounds, ["response_ns_p95<=50ms", "failed<=0.1%"], "for all, or they could not be compared");
    let said = found.budget.unwrap().lowered;
    assert!(said.contains("instead of response_ns_p99<=50ms") && said.contains("240/s"), "{said}");
}
