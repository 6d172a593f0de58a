//! Judges whether a probe's measurements meet the bounds. Pure.

use crate::search::ProbeResult;
use serde::{Deserialize, Serialize};

/// Measurement for one bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// `None`: nothing was measured.
    pub value: Option<f64>,
    /// Whether the value is only a lower bound.
    pub at_least: bool,
    /// Number of observations, and how many the value needs.
    pub n: u64,
    pub needed: u64,
    /// Largest allowed value.
    pub most: f64,
}

/// Median response times of the first and the last third of a window, by the end of operations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Thirds {
    /// First third, ns.
    pub first_ns: u64,
    /// Last third, ns.
    pub last_ns: u64,
}

/// The last third is slower if its median is this many times that of the first ...
const SLOWER: f64 = 1.5;
/// ... and at least this share of the allowed time. A queue of a few operations comes and goes.
const WORTH_IT: f64 = 0.25;

/// Whether the backlog grows during the window. `most_ns` is the time that the bounds allow.
pub fn grows(thirds: Thirds, most_ns: Option<f64>) -> bool {
    let (first, last) = (thirds.first_ns as f64, thirds.last_ns as f64);
    last > first * SLOWER && last > most_ns.unwrap_or(0.0) * WORTH_IT
}

/// Backlog at the end of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backlog {
    pub thirds: Option<Thirds>,
    /// Operations that were due and not started.
    pub unsent: u64,
    /// Most operations that may wait: one for each client, and no more than the strictest bound may leave out.
    pub room: f64,
    pub rate_per_s: f64,
}

impl Backlog {
    /// Whether more operations wait than there is room for, and more than arrive in the time that the bounds allow.
    fn waits(self, most_ns: Option<f64>) -> bool {
        let in_time = self.rate_per_s * most_ns.unwrap_or(0.0) / 1e9;
        self.unsent as f64 > self.room.max(in_time)
    }
}

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Meets,
    /// The bound with this index is missed.
    Misses(usize),
    Grows,
    /// A service's answers are not those of the lowest value.
    Differs,
    /// This many operations had not started at the end of the window.
    Waiting(u64),
    /// Too few observations for the bound with this index.
    TooFew(usize),
    /// The metric of the bound with this index is not measured here, however long the window is.
    NotMeasured(usize),
}

impl Verdict {
    pub fn seen(self) -> ProbeResult {
        match self {
            Verdict::Meets => ProbeResult::Meets,
            Verdict::Misses(_) | Verdict::Grows | Verdict::Differs | Verdict::Waiting(_) => ProbeResult::Misses,
            Verdict::TooFew(_) | Verdict::NotMeasured(_) => ProbeResult::NoValue,
        }
    }
}

/// Judges all bounds. Fewer observations are needed to miss a bound than to meet it.
pub fn judge(measured: &[Measured], backlog: Backlog, most_ns: Option<f64>) -> Verdict {
    let missed = |of: &Measured| of.value.is_some_and(|value| value > of.most);
    if let Some(at) = measured.iter().position(missed) {
        return Verdict::Misses(at);
    }
    if let Some(at) = measured.iter().position(|of| of.value.is_none() && of.n >= of.needed) {
        return Verdict::NotMeasured(at);
    }
    if backlog.waits(most_ns) {
        return Verdict::Waiting(backlog.unsent);
    }
    if backlog.thirds.is_some_and(|thirds| grows(thirds, most_ns)) {
        return Verdict::Grows;
    }
    let too_few = |of: &Measured| of.value.is_none() || of.at_least || of.n < of.needed;
    measured.iter().position(too_few).map_or(Verdict::Meets, Verdict::TooFew)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MET: Measured = Measured { value: Some(10.0), at_least: false, n: 3_000, needed: 3_000, most: 50.0 };

    const NONE: Backlog = Backlog { thirds: None, unsent: 0, room: 4.0, rate_per_s: 100.0 };

    #[test]
    fn every_bound_must_be_met_with_enough_observations() {
        let missed = Measured { value: Some(51.0), n: 20, ..MET };
        let few = Measured { n: 2_999, ..MET };
        let nothing = Measured { value: None, n: 0, ..MET };
        let cut_off = Measured { at_least: true, ..MET };
        for (measured, verdict) in [
            (vec![MET, MET], Verdict::Meets),
            (vec![MET, missed], Verdict::Misses(1)),
            (vec![few, missed], Verdict::Misses(1)),
            (vec![few, MET], Verdict::TooFew(0)),
            (vec![nothing], Verdict::TooFew(0)),
            (vec![MET, Measured { value: None, n: 1, needed: 1, ..MET }], Verdict::NotMeasured(1)),
            (vec![MET, cut_off], Verdict::TooFew(1)),
        ] {
            assert_eq!(judge(&measured, NONE, None), verdict, "{measured:?}");
        }
    }

    #[test]
    fn a_backlog_that_grows_misses() {
        let thirds = |first_ns, last_ns| Thirds { first_ns, last_ns };
        assert!(grows(thirds(10, 30), Some(50.0)) && grows(thirds(10, 30), None));
        assert!(!grows(thirds(2, 8), Some(50.0)), "a few operations wait");
        assert!(!grows(thirds(30, 40), Some(50.0)) && !grows(thirds(40, 10), Some(50.0)));
        assert_eq!(judge(&[MET], Backlog { thirds: Some(thirds(10, 40)), ..NONE }, Some(50.0)), Verdict::Grows);
    }

    #[test]
    fn operations_that_did_not_begin_are_a_backlog_beyond_one_for_each_client() {
        let judged = |unsent, most_ns| judge(&[MET], Backlog { unsent, ..NONE }, most_ns);
        assert_eq!(judged(4, Some(1e6)), Verdict::Meets);
        assert_eq!(judged(5, Some(1e6)), Verdict::Waiting(5));
        assert_eq!(judged(5, None), Verdict::Waiting(5));
        assert_eq!(judged(9, Some(1e8)), Verdict::Meets, "ten arrive in the time that is allowed");
    }
}
