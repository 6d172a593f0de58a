//! Marks of a trial, found in its samples and in the load of its machine.

use crate::analysis::tally::{Bin, ClientTally, Tally, trend};
use crate::outcome::mark::{COMPILING_FACT, Mark};
use contend_wire::handshake::{Facts, fact};
use std::collections::{BTreeMap, BTreeSet};

/// Foreign CPU time from which a trial is marked, in thousandths of the machine's capacity.
const FOREIGN_CPU_PERMILLE: u32 = 50;

/// Mark for other programs that used the processors in the window, in thousandths of their capacity.
pub fn noisy_cpu(permille: u32) -> Option<Mark> {
    (permille > FOREIGN_CPU_PERMILLE).then_some(Mark::NoisyCpu { permille })
}

/// Share of the window from which on the time that a container's limit took is marked, in thousandths.
const THROTTLED_PERMILLE: u64 = 10;

/// Mark for a container's CPU limit that held processes back.
pub fn throttled(throttled_ns: u64, window_ns: u64) -> Option<Mark> {
    let is_much = throttled_ns.saturating_mul(1000) > window_ns.saturating_mul(THROTTLED_PERMILLE);
    is_much.then_some(Mark::Throttled { throttled_ns, window_ns })
}

/// Smallest step of the wall clock that is marked, and the share of the time, in millionths, from which on a difference is a step:
/// a time daemon may slow or speed the clock by 500 millionths.
const STEP_NS_MIN: u64 = 100_000_000;
const STEP_PPM: u64 = 1000;

/// Mark for a wall clock that was set, from its lead over the monotonic clock before and after so much time. Measured times are
/// not of this clock; the values of `:now` are.
pub fn clock_set(before_ns: i64, after_ns: i64, elapsed_ns: u64) -> Option<Mark> {
    let by_ns = after_ns.saturating_sub(before_ns);
    let is_step = by_ns.unsigned_abs() >= STEP_NS_MIN.max(elapsed_ns / 1_000_000 * STEP_PPM);
    is_step.then_some(Mark::ClockSet { by_ms: by_ns / 1_000_000 })
}

/// CPU time of other programs, in thousandths of the capacity of all processors during the observation. The kernel counts in ticks,
/// so the share of a short time can be a little too large.
pub fn foreign_cpu_permille(busy_ns: u64, ours_ns: u64, observed_ns: u64, processors: u32) -> u32 {
    let capacity_ns = u128::from(observed_ns.max(1)) * u128::from(processors.max(1));
    (u128::from(busy_ns.saturating_sub(ours_ns)) * 1000 / capacity_ns).min(1000) as u32
}

/// All marks of the work itself; `due` are the clients with an operation due in the window.
pub fn of_work(tally: &Tally, due: &BTreeSet<u32>) -> Vec<Mark> {
    starved(&tally.clients, due).into_iter().chain(unsteady(&tally.bins)).collect()
}

/// Compile time that a worker reports; 0 if it reports none.
pub fn compiling_ns(done: &Facts) -> u64 {
    fact(done, COMPILING_FACT).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Share of the window from which on the time of a compiler is marked, in thousandths.
const COMPILING_PERMILLE: u64 = 50;

/// Mark for compilers of the workers' language that still worked in the window: the run-in was too short to warm up, even if the
/// throughput does not show it.
pub fn not_warm(compiled_ns: u64, window_ns: u64) -> Option<Mark> {
    let cold = compiled_ns.saturating_mul(1000) > window_ns.saturating_mul(COMPILING_PERMILLE);
    cold.then_some(Mark::NotWarm { compiled_ns, window_ns })
}

/// Mark for clients that waited through the whole window. An operation counts by when it was due, so their wait is in no latency.
/// Clients with nothing scheduled in the window do not count as starved.
fn starved(clients: &BTreeMap<u32, ClientTally>, due: &BTreeSet<u32>) -> Option<Mark> {
    let waited = |(id, client): &(&u32, &ClientTally)| client.first_free_ns.is_none() && due.contains(*id);
    let starved = clients.iter().filter(waited).count() as u64;
    (starved > 0).then_some(Mark::Starved { clients: starved, of: clients.len() as u64 })
}

/// Mark for a throughput that still changes, so that it has no mean: a compiler warms up, a file grows, a cache fills.
fn unsteady(bins: &[Bin]) -> Option<Mark> {
    let trend = trend(bins).filter(|trend| trend.drifting)?;
    let change_ppm = trend.change.is_finite().then(|| (trend.change * 1e6).round() as i64);
    Some(Mark::NoSteadyState { change_ppm })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::mark::is_disturbed;

    fn bins(of: impl Fn(u64) -> u64) -> Vec<Bin> {
        (0..100).map(|i| Bin { committed: of(i), ..Bin::default() }).collect()
    }

    #[test]
    fn a_wall_clock_that_was_set_is_marked_and_one_that_is_slewed_is_not() {
        const S: i64 = 1_000_000_000;
        let set = |by_ns: i64, elapsed_s: u64| clock_set(7 * S, 7 * S + by_ns, elapsed_s * S as u64);
        assert_eq!(set(3600 * S, 10), Some(Mark::ClockSet { by_ms: 3_600_000 }));
        let back = set(-S / 2, 10).expect("a step back");
        assert!(back.to_string().contains("jumped back by 0.5 s"), "{back}");
        assert_eq!(set(S / 20, 10), None);
        assert_eq!((set(S, 3600), set(S, 600).is_some()), (None, true), "slewed for an hour");
        assert!(!is_disturbed(&[back]));
    }

    #[test]
    fn only_who_had_something_to_do_is_starved() {
        let began = ClientTally { first_free_ns: Some(1), ..ClientTally::default() };
        let clients = BTreeMap::from([(0, began), (1, ClientTally::default()), (2, ClientTally::default())]);
        let starved = |due: &[u32]| starved(&clients, &due.iter().copied().collect());
        assert_eq!(starved(&[0]), None, "the others had nothing due");
        let found = starved(&[0, 2]).expect("client 2 waited");
        assert_eq!(found.to_string(), "starved: 1 of 3 clients began nothing in the window");
        assert!(!found.is_disturbance());
    }

    #[test]
    fn the_time_of_all_processors_is_held_against_all_processors() {
        const S: u64 = 1_000_000_000;
        // Others keep 14 of 32 processors busy for 10 s; this process may use two of them.
        let permille = foreign_cpu_permille(142 * S, 2 * S, 10 * S, 32);
        assert_eq!(permille, 437);
        assert_eq!(noisy_cpu(permille).unwrap().to_string(), "noisy: others used 43.7 % of the CPU");
        assert_eq!((foreign_cpu_permille(S, 2 * S, S, 1), noisy_cpu(50)), (0, None));
        assert_eq!(foreign_cpu_permille(S + S / 100, 0, S, 1), 1000, "a tick more than there was");
        assert!(is_disturbed(&[noisy_cpu(51).unwrap()]) && is_disturbed(&[Mark::NoisyDisk { sync_ns: 9_000_000 }]));
    }

    #[test]
    fn a_limit_is_marked_and_is_no_disturbance() {
        const MS: u64 = 1_000_000;
        assert_eq!(throttled(10 * MS, 1000 * MS), None);
        let mark = throttled(700 * MS, 1000 * MS).expect("most of it");
        assert!(mark.to_string().ends_with("held processes back for 700 ms in a window of 1.00 s"), "{mark}");
        assert!(!is_disturbed(&[mark]), "it would be the same again");
    }

    #[test]
    fn who_compiles_in_the_window_was_not_warm() {
        const MS: u64 = 1_000_000;
        assert_eq!(not_warm(20 * MS, 400 * MS), None);
        let told = not_warm(156 * MS, 400 * MS).expect("two fifths of it");
        assert_eq!(told.to_string(), "not warm: compiled for 156 ms in a window of 400 ms");
        assert!(!is_disturbed(&[told]));
    }

    #[test]
    fn a_trial_that_never_gets_steady_says_so() {
        for (what, course, expected) in [
            ("warms up to the end", bins(|i| 50 + i), Some("climbs by")),
            ("gets slower and slower", bins(|i| 200 - i), Some("falls by")),
            ("steady", bins(|i| 100 + i % 3), None),
            ("changes too little to matter", bins(|i| 1000 + i), None),
            ("swings", bins(|i| if i / 25 % 2 == 0 { 50 } else { 150 }), None),
        ] {
            let found = unsteady(&course);
            assert_eq!(found.is_some(), expected.is_some(), "{what}: {found:?}");
            assert!(expected.is_none_or(|words| found.unwrap().to_string().contains(words)), "{what}");
        }
    }
}
