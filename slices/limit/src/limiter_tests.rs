//! Tests of the limiter on made-up searches.

use super::*;
use crate::saved::{Arm, Probe, Relaxed};
use crate::testing::{arm, met, saved};

fn relaxed(suspect: Suspect, fewer: bool) -> Arm {
    let how = format!("other {}", suspect.word());
    Arm { relaxed: Some(Relaxed { of: 0, suspect: suspect.word().to_string(), how, fewer }), ..arm("A", "durable") }
}

/// A contender of 100/s with these loads, and its rate with each suspect relaxed.
fn searched(used: Busy, relaxed_to: &[(Suspect, f64)], rounds: usize) -> Saved {
    let values = |rate: f64| (0..rounds).map(|round| Some(rate * (1.0 + round as f64 / 1000.0))).collect::<Vec<_>>();
    let mut arms = vec![arm("A", "durable")];
    arms.extend(
        relaxed_to.iter().map(|(suspect, rate)| relaxed(*suspect, *suspect == Suspect::Processors && *rate < 100.0)),
    );
    let all: Vec<Vec<Option<f64>>> =
        std::iter::once(100.0).chain(relaxed_to.iter().map(|(_, rate)| *rate)).map(values).collect();
    let all: Vec<&[Option<f64>]> = all.iter().map(Vec::as_slice).collect();
    let mut saved = saved(arms, &all);
    saved.probes.push(Probe { used: Some(used), ..met(0, 99.0) });
    saved
}

fn busy(writing: f64, clients: f64, client_cpu: f64) -> Busy {
    Busy { writing: Some(writing), clients, client_cpu, ..Busy::default() }
}

fn found(saved: &Saved) -> Limiter {
    limiter(&suspects(saved, 0))
}

#[test]
fn the_one_suspect_that_moves_the_rate_and_is_busy_is_named() {
    use Suspect::{Clients, Processors, Syncs, Writers};
    for (used, to, limiter) in [
        (busy(0.9, 0.7, 0.5), [(Writers, 180.0), (Clients, 101.0), (Processors, 99.0)], Writers),
        (busy(0.3, 0.9, 0.5), [(Writers, 102.0), (Clients, 190.0), (Processors, 98.0)], Clients),
        // Fewer syncs also shorten the time for which the lock is held; half the writes means half the syncs.
        (busy(0.9, 0.7, 0.5), [(Writers, 180.0), (Syncs, 300.0), (Processors, 99.0)], Syncs),
        // Fewer writes help, but the lock is mostly free.
        (busy(0.2, 0.9, 0.5), [(Writers, 150.0), (Clients, 190.0), (Processors, 99.0)], Clients),
    ] {
        for rounds in [3, 6] {
            assert_eq!(found(&searched(used.clone(), &to, rounds)), Limiter::One(limiter), "{to:?}");
        }
        assert!(matches!(found(&searched(used, &to, 2)), Limiter::None(why) if why.contains("3 rounds")));
    }
}

#[test]
fn without_one_that_stands_out_none_is_named() {
    use Suspect::{Clients, Writers};
    let none = |used, to: [(Suspect, f64); 2]| match found(&searched(used, &to, 6)) {
        Limiter::None(why) => why,
        one => panic!("{one:?}"),
    };
    assert!(none(busy(0.9, 0.9, 0.5), [(Writers, 104.0), (Clients, 97.0)]).contains("nothing that was relaxed"));
    assert!(none(busy(0.9, 0.9, 0.5), [(Writers, 140.0), (Clients, 130.0)]).contains("each of writers, clients"));
}

/// A high percentile is of few operations: waiting for locks may take a small part of the time.
#[test]
fn the_busy_handler_is_named_while_the_lock_is_mostly_free() {
    use Suspect::{BusyHandler, Writers};
    let of = |writing, waiting, to: &[(Suspect, f64)]| {
        let used = Busy { waiting: Some(waiting), ..busy(writing, 0.2, 0.5) };
        found(&searched(used, to, 3))
    };
    assert_eq!(of(0.3, 0.05, &[(BusyHandler, 120.0), (Writers, 150.0)]), Limiter::One(BusyHandler));
    assert_eq!(
        of(0.7, 0.5, &[(BusyHandler, 120.0), (Writers, 150.0)]),
        Limiter::One(Writers),
        "one waits for the other"
    );
    let none = |found: Limiter| matches!(found, Limiter::None(_));
    assert!(none(of(0.3, 0.05, &[(BusyHandler, 101.0)])) && none(of(0.3, 0.005, &[(BusyHandler, 120.0)])));
}

#[test]
fn what_helps_is_named_and_not_what_is_busy_too() {
    let used = Busy { generator: 0.8, ..busy(0.9, 0.9, 1.0) };
    assert_eq!(found(&searched(used, &[(Suspect::Writers, 180.0)], 6)), Limiter::One(Suspect::Writers));
}

#[test]
fn the_generator_is_not_named_if_something_else_moves_the_rate() {
    let used = Busy { generator: 0.8, ..busy(0.1, 0.1, 0.5) };
    let found = found(&searched(used, &[(Suspect::Clients, 190.0)], 6));
    assert!(matches!(&found, Limiter::None(why) if why.contains("is not busy")), "{found:?}");
}

#[test]
fn a_round_that_says_otherwise_keeps_a_suspect_from_being_named() {
    let mut searched = searched(busy(0.9, 0.9, 0.5), &[(Suspect::Writers, 150.0)], 4);
    assert_eq!(found(&searched), Limiter::One(Suspect::Writers));
    searched.capacities.iter_mut().filter(|c| (c.arm, c.round) == (1, 2)).for_each(|c| c.rate_per_s = Some(101.0));
    assert!(matches!(found(&searched), Limiter::None(_)));
}

#[test]
fn rounds_in_which_an_arm_has_nothing_keep_its_suspect_from_being_named() {
    let mut searched = searched(busy(0.9, 0.9, 0.5), &[(Suspect::Syncs, 150.0)], 6);
    assert_eq!(found(&searched), Limiter::One(Suspect::Syncs));
    let of_arm = searched.capacities.iter_mut().filter(|c| c.arm == 1 && c.round % 2 == 0);
    of_arm.for_each(|capacity| capacity.rate_per_s = None);
    assert!(matches!(found(&searched), Limiter::None(why) if why.contains("more than the margin")));
    searched.capacities.iter_mut().filter(|c| c.arm == 1).for_each(|capacity| capacity.rate_per_s = None);
    assert!(matches!(found(&searched), Limiter::None(why) if why.contains("naming one takes 3 rounds")));
}

#[test]
fn a_loop_that_takes_its_processor_is_named_where_nothing_else_helps() {
    let used = |generator| Busy { generator, ..busy(0.1, 0.9, 1.9) };
    for (saved, limiter) in [
        (searched(used(0.8), &[], 1), Limiter::One(Suspect::Generator)),
        (searched(used(0.8), &[(Suspect::Clients, 101.0)], 6), Limiter::One(Suspect::Generator)),
        (searched(used(0.8), &[(Suspect::Clients, 190.0)], 6), Limiter::One(Suspect::Clients)),
    ] {
        assert_eq!(found(&saved), limiter);
    }
    assert!(matches!(found(&searched(used(0.5), &[(Suspect::Clients, 101.0)], 6)), Limiter::None(_)));
}

#[test]
fn a_suspect_that_is_used_too_little_to_be_named_need_not_be_relaxed() {
    let all = [(Suspect::Syncs, 100.0), (Suspect::Writers, 100.0), (Suspect::Clients, 100.0)];
    let searched = searched(busy(0.9, 0.5, 0.5), &all, 3);
    let is_out = |saved: &Saved, arm| suspected(saved, arm).is_some_and(|of| !of.can_be_named());
    let left_out: Vec<bool> = (0..searched.arms.len()).map(|arm| is_out(&searched, arm)).collect();
    assert_eq!(left_out, [false, false, false, true], "the contender, syncs, writers, clients");
    let unknown = self::searched(Busy { clients: 0.9, ..Busy::default() }, &all, 3);
    let left_out: Vec<bool> = (0..unknown.arms.len()).map(|arm| is_out(&unknown, arm)).collect();
    assert_eq!(left_out, [false, false, true, false], "nothing measures the use of writers");
    let is_unknown = |arm| suspected(&unknown, arm).is_some_and(|of| of.is_use_unknown());
    assert!(is_unknown(2) && !is_unknown(1));
    let none = Saved { probes: vec![], ..searched };
    assert!(!is_out(&none, 3), "no evidence is no reason");
}

/// A search on this number of processors.
fn on(processors: u32, used: Busy, to: &[(Suspect, f64)]) -> Saved {
    Saved { processors, ..searched(used, to, 6) }
}

#[test]
fn fewer_processors_name_them_only_if_the_others_could_do_the_work() {
    let found =
        |processors, client_cpu| found(&on(processors, busy(0.1, 0.1, client_cpu), &[(Suspect::Processors, 75.0)]));
    assert_eq!(found(8, 5.6), Limiter::One(Suspect::Processors), "70 % of eight are 89 % of six at a lower rate");
    for (processors, client_cpu, share) in [(8, 7.2, "90.0 %"), (2, 1.3, "65.0 %")] {
        let words =
            format!("the processors are {share} busy; that they are the limit is not shown on {processors} processors");
        assert_eq!(found(processors, client_cpu), Limiter::None(words));
    }
    let cleared = on(2, busy(0.1, 0.9, 1.3), &[(Suspect::Processors, 98.0), (Suspect::Clients, 130.0)]);
    assert_eq!(self::found(&cleared), Limiter::One(Suspect::Clients), "one of two does the work after all");
    let searched = on(2, busy(0.1, 0.1, 1.3), &[(Suspect::Processors, 75.0)]);
    assert!(suspected(&searched, 1).is_some_and(|of| !of.can_be_named()), "a budget has no time for it");
}

#[test]
fn half_the_writes_name_no_writers_while_the_processors_may_be_the_limit() {
    use Suspect::{Processors, Writers};
    let used = |client_cpu| busy(0.9, 0.1, client_cpu);
    let all = |fewer: f64| [(Writers, 118.0), (Processors, fewer)];
    assert_eq!(found(&on(8, used(5.6), &all(75.0))), Limiter::One(Processors));
    assert_eq!(found(&on(8, used(5.6), &all(99.0))), Limiter::One(Writers), "fewer processors do as much");
    assert_eq!(found(&on(8, used(0.5), &all(99.0))), Limiter::One(Writers), "they are idle");
    for open in [on(2, used(1.5), &all(55.0)), on(8, used(5.6), &all(99.0)[..1])] {
        assert!(matches!(found(&open), Limiter::None(why) if why.contains("take less of the processors")));
    }
}

#[test]
fn writers_of_a_server_are_those_that_wait_for_locks() {
    let found = |sessions| {
        let used = Busy { writing: None, server_waiting: Some(sessions), ..busy(0.0, 0.1, 0.5) };
        found(&searched(used, &[(Suspect::Writers, 150.0)], 6))
    };
    assert_eq!(found(2.0), Limiter::One(Suspect::Writers));
    assert!(matches!(found(0.1), Limiter::None(why) if why.contains("is not busy")));
}

#[test]
fn an_undecided_suspect_keeps_another_from_being_named() {
    use Suspect::{Clients, Writers};
    let all = [(Writers, 180.0), (Clients, 101.0)];
    for rounds in [3, 6] {
        let mut searched = searched(busy(0.9, 0.9, 0.5), &all, rounds);
        assert_eq!(found(&searched), Limiter::One(Writers));
        assert!(suspected(&searched, 2).is_some_and(|of| of.is_cleared && !of.is_undecided()));
        for other in [None, Some(190.0)] {
            let of_arm = searched.capacities.iter_mut().filter(|c| (c.arm, c.round) == (2, 2));
            of_arm.for_each(|capacity| capacity.rate_per_s = other);
            assert!(suspected(&searched, 2).is_some_and(|of| of.is_undecided() && !of.is_cleared));
            let found = found(&searched);
            assert!(
                matches!(&found, Limiter::None(why) if why.contains("undecided, as its rounds differ: clients")),
                "{found:?}"
            );
        }
    }
    let mut noisy = searched(busy(0.9, 0.9, 0.5), &all, 6);
    noisy.capacities.iter_mut().filter(|c| (c.arm, c.round) == (2, 2)).for_each(|c| c.rate_per_s = Some(130.0));
    assert!(suspected(&noisy, 2).is_some_and(|of| of.is_undecided()));
    assert_eq!(found(&noisy), Limiter::One(Writers), "less in every round than half the writes in the median");
    let idle = searched(busy(0.9, 0.1, 0.5), &all, 3);
    assert_eq!(found(&idle), Limiter::One(Writers), "idle clients are not the limit");
}

#[test]
fn the_processors_of_a_foreign_server_are_unknown_and_not_idle() {
    let used = Busy { writing: None, server_waiting: Some(2.0), ..busy(0.0, 0.9, 0.1) };
    let share = |saved: &Saved| {
        suspects(saved, 0).into_iter().find(|of| of.suspect == Suspect::Processors).and_then(|of| of.use_share)
    };
    let own = searched(used.clone(), &[(Suspect::Writers, 150.0)], 6);
    assert_eq!((share(&own), found(&own)), (Some(0.05), Limiter::One(Suspect::Writers)));
    for foreign in [Saved { attached: true, ..own.clone() }, Saved { service: true, ..own }] {
        assert_eq!(share(&foreign), None);
        assert!(matches!(found(&foreign), Limiter::None(why) if why.contains("they are not measured")));
    }
    let clients = Saved { service: true, ..searched(used, &[(Suspect::Clients, 150.0)], 6) };
    assert_eq!(found(&clients), Limiter::One(Suspect::Clients));
    let said = crate::stops::sentence(&clients, 0);
    assert!(said.contains("not tried in 3 rounds: processors (not measured)"), "{said}");
    let shown = format!("{:?}", crate::stops::section(&clients).expect("a table"));
    assert!(shown.contains("\"clients\"") && !shown.contains("\"syncs\"") && !shown.contains("\"writers\""), "{shown}");
    let without = Saved { capacities: vec![], ..clients };
    assert!(crate::stops::section(&without).is_none(), "no rate, no evidence near it");
}
