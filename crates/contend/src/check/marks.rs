//! What a reader should know about a trial that counts: found in its samples, in words.

use crate::analysis::tally::{Bin, ClientTally, Tally, trend};
use crate::stats::precision::Ns;
use contend_wire::handshake::{Facts, fact};
use std::collections::{BTreeMap, BTreeSet};

/// Foreign CPU time from which a trial is marked, in thousandths of the machine's capacity.
const FOREIGN_CPU_PERMILLE: u32 = 50;

/// How marks begin that are about what came from outside: the machine was not quiet.
const NOISY: &str = "noisy";

/// Whether a mark tells of something that disturbed the trial; what else is marked was found in the work itself.
pub fn is_disturbance(mark: &str) -> bool {
    mark.starts_with(NOISY)
}

/// Whether one of a trial's marks does.
pub fn is_disturbed(marks: &[String]) -> bool {
    marks.iter().any(|mark| is_disturbance(mark))
}

/// The disk was not quiet before the window.
pub fn noisy_disk(sync_ns: u64) -> String {
    format!("{NOISY} disk: a sync took {} right before", Ns(sync_ns))
}

/// Others used the processors in the window, by how much in thousandths of what these could do.
pub fn noisy_cpu(permille: u32) -> Option<String> {
    let percent = f64::from(permille) / 10.0;
    (permille > FOREIGN_CPU_PERMILLE).then(|| format!("{NOISY}: others used {percent:.1} % of the CPU"))
}

/// Busy time of all processors that was not ours, in thousandths of what all of them could do while it was observed. The
/// kernel counts in ticks, so a short time may seem to hold a little more than there was.
pub fn foreign_cpu_permille(busy_ns: u64, ours_ns: u64, observed_ns: u64, processors: u32) -> u32 {
    let capacity_ns = u128::from(observed_ns.max(1)) * u128::from(processors.max(1));
    (u128::from(busy_ns.saturating_sub(ours_ns)) * 1000 / capacity_ns).min(1000) as u32
}

/// All that is found in the work; `due` are the clients that had something to do in the window.
pub fn of_work(tally: &Tally, due: &BTreeSet<u32>) -> Vec<String> {
    starved(&tally.clients, due).into_iter().chain(unsteady(&tally.bins)).collect()
}

/// What a worker tells of the time that its language's compiler took after the run-in.
pub const COMPILING_FACT: &str = "jit_in_window_ns";

/// That time, 0 where a worker tells of none.
pub fn compiling_ns(done: &Facts) -> u64 {
    fact(done, COMPILING_FACT).and_then(|told| told.parse().ok()).unwrap_or(0)
}

/// Share of the window, in thousandths, from which a language's compiler that still works in it is told of.
const COMPILING_PERMILLE: u64 = 50;

/// Whether the compilers of a trial's workers still worked in the window, for so long together: the run-in was too short to
/// warm up, whether or not the throughput shows it.
pub fn not_warm(compiling_ns: u64, window_ns: u64) -> Option<String> {
    let told = || format!("not warm: compiled for {} in a window of {}", Ns(compiling_ns), Ns(window_ns));
    (compiling_ns.saturating_mul(1000) > window_ns.saturating_mul(COMPILING_PERMILLE)).then(told)
}

/// An operation counts by when it was due. A client that has waited since before the window has none in it, so
/// its wait is in no latency: that must be said. Of whom the plan asked nothing in the window nothing was kept.
fn starved(clients: &BTreeMap<u32, ClientTally>, due: &BTreeSet<u32>) -> Option<String> {
    let waited = |(id, client): &(&u32, &ClientTally)| client.first_due_ns.is_none() && due.contains(*id);
    let (starved, all) = (clients.iter().filter(waited).count(), clients.len());
    (starved > 0).then(|| format!("starved: {starved} of {all} clients began nothing in the window"))
}

/// A rate that still changes has no mean: a compiler that goes on warming up, a file that grows, a cache that fills.
fn unsteady(bins: &[Bin]) -> Option<String> {
    let trend = trend(bins).filter(|trend| trend.drifting)?;
    let how = if trend.change > 0.0 { "climbs" } else { "falls" };
    let percent = trend.change.abs() * 100.0;
    Some(format!(
        "no steady state: the throughput {how} by {percent:.0} % from the first third of the window to the last"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(of: impl Fn(u64) -> u64) -> Vec<Bin> {
        (0..100).map(|i| Bin { committed: of(i), ..Bin::default() }).collect()
    }

    #[test]
    fn only_who_had_something_to_do_is_starved() {
        let began = ClientTally { first_due_ns: Some(1), ..ClientTally::default() };
        let clients = BTreeMap::from([(0, began), (1, ClientTally::default()), (2, ClientTally::default())]);
        let starved = |due: &[u32]| starved(&clients, &due.iter().copied().collect());
        assert_eq!(starved(&[0]), None, "the others had nothing due");
        let found = starved(&[0, 2]).expect("client 2 waited");
        assert_eq!(found, "starved: 1 of 3 clients began nothing in the window");
        assert!(!is_disturbance(&found));
    }

    #[test]
    fn the_time_of_all_processors_is_held_against_all_processors() {
        const S: u64 = 1_000_000_000;
        // Others keep 14 of 32 processors busy for 10 s; this process may use two of them.
        let permille = foreign_cpu_permille(142 * S, 2 * S, 10 * S, 32);
        assert_eq!(permille, 437);
        assert_eq!(noisy_cpu(permille).as_deref(), Some("noisy: others used 43.7 % of the CPU"));
        assert_eq!((foreign_cpu_permille(S, 2 * S, S, 1), noisy_cpu(50)), (0, None));
        assert_eq!(foreign_cpu_permille(S + S / 100, 0, S, 1), 1000, "a tick more than there was");
        assert!(is_disturbance(&noisy_cpu(51).unwrap()) && is_disturbance(&noisy_disk(9_000_000)));
    }

    #[test]
    fn who_compiles_in_the_window_was_not_warm() {
        const MS: u64 = 1_000_000;
        assert_eq!(not_warm(20 * MS, 400 * MS), None);
        let told = not_warm(156 * MS, 400 * MS).expect("two fifths of it");
        assert_eq!(told, "not warm: compiled for 156 ms in a window of 400 ms");
        assert!(!is_disturbance(&told));
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
            assert!(expected.is_none_or(|words| found.unwrap().contains(words)), "{what}");
        }
    }
}
