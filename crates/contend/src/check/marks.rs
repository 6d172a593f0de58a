//! What a reader should know about a trial that counts: found in its samples, in words.

use crate::record::tally::{Bin, Tally, trend};

/// All that is found.
pub fn of_work(tally: &Tally, clients: u32) -> Vec<String> {
    starved(tally, clients).into_iter().chain(unsteady(&tally.bins)).collect()
}

/// An operation counts by when it was due. A client that has waited since before the window has none in it, so
/// its wait is in no latency: that must be said.
fn starved(tally: &Tally, clients: u32) -> Option<String> {
    let starved = tally.clients.values().filter(|c| c.first_due_ns.is_none()).count();
    (starved > 0).then(|| format!("starved: {starved} of {clients} clients began nothing in the window"))
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
