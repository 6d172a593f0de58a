//! What happens right above the highest rate, if answers are wrong there: a bound on times does not show it.

use crate::bound::{Bound, recorded};
use crate::failures;
use crate::of::Of;
use crate::saved::{NEAR, Probe, Saved};
use crate::search::ProbeResult;
use contend_stats::precision::counted;

/// ` At 103/s 4.10 % of the operations fail.`; empty unless most probes right above the found value missed for such a reason.
pub fn sentence(saved: &Saved, of: &Of, (arm, found): (usize, f64)) -> String {
    let bounds = recorded(&saved.bounds);
    let is_near = |probe: &&Probe| {
        probe.arm == arm
            && probe.seen == Some(ProbeResult::Misses)
            && probe.at().is_some_and(|at| is_above(of, at, found))
    };
    let mut above: Vec<(f64, Option<String>)> =
        saved.probes.iter().filter(is_near).filter_map(|probe| Some((probe.at()?, wrong(probe, &bounds)))).collect();
    above.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wrong = above.iter().filter(|(_, what)| what.is_some()).count();
    let first = above.iter().find_map(|(at, what)| Some((at, what.as_ref()?)));
    let said = first.filter(|_| wrong * 2 > above.len());
    said.map_or(String::new(), |(at, what)| format!(" At {} {what}.", of.words(*at)))
}

/// A rate at which answers differ, this many times below one that met the bounds, shows that not the rate changed them ...
const FAR_BELOW: f64 = 1.25;
/// ... if it happens this often.
const CHANGES: usize = 2;
const ADVICE: &str = "see \"Scenarios that write\" in docs/limits.md";

/// Why the search of an arm cannot go on after this probe.
pub fn ends(saved: &Saved, probe: &Probe) -> Option<String> {
    changed(saved, probe).or_else(|| found_none(saved, probe))
}

/// Why not: operations find no row to work on, at a rate far below another one, too, and no rate met the bounds.
fn found_none(saved: &Saved, probe: &Probe) -> Option<String> {
    let bounds = recorded(&saved.bounds);
    let misses = |probe: &Probe| probe.found_none && probe.seen == Some(ProbeResult::Misses);
    let at = probe.at().filter(|_| misses(probe))?;
    let of_arm = || saved.probes.iter().filter(|other| other.arm == probe.arm);
    let is_far = of_arm().filter(|other| misses(other)).filter_map(Probe::at).any(|other| at * FAR_BELOW <= other);
    let has_met = of_arm().any(|other| other.seen == Some(ProbeResult::Meets));
    let failed = failed(probe, &bounds).filter(|_| is_far && !has_met)?;
    Some(format!(
        "operations find no row to work on, whatever the rate: at {} {failed}; {}",
        saved.of().words(at),
        failures::NO_ROWS
    ))
}

/// Why the search of an arm cannot go on after this probe: the service answers in another way than before, whatever the rate.
fn changed(saved: &Saved, probe: &Probe) -> Option<String> {
    let of = saved.of();
    let of_arm = || saved.probes.iter().filter(|other| other.arm == probe.arm);
    let met = of_arm().filter(|other| other.seen == Some(ProbeResult::Meets)).filter_map(Probe::at).fold(0.0, f64::max);
    let is_change = |probe: &Probe| probe.differs && probe.at().is_some_and(|at| at * FAR_BELOW <= met);
    let before = of_arm().filter(|other| is_change(other)).count();
    (is_change(probe) && before + 1 >= CHANGES).then(|| {
        format!(
            "the service's answers changed during the search. {} met the bounds before; now, at {}, {}. If the service keeps what \
             it is sent, give each request values that no other request has: {ADVICE}",
            of.words(met),
            of.words(probe.at().unwrap_or(0.0)),
            probe.why
        )
    })
}

/// How answers differed in the last probe of an arm that missed for that reason, if most of those that missed did.
pub fn mostly(saved: &Saved, arm: usize) -> Option<String> {
    let missed = misses(saved, arm);
    let (of, last) = most(&missed, "had other answers", |probe| probe.differs)?;
    let at = saved.of().words(last.at()?);
    Some(format!("{of}: at {at} {}; if the service keeps what it is sent, {ADVICE}", last.why))
}

/// What failed in the last probe of an arm that missed the bound on failures, if most of those that missed did.
pub fn mostly_failed(saved: &Saved, arm: usize) -> Option<String> {
    let bounds = recorded(&saved.bounds);
    let missed = misses(saved, arm);
    let (of, last) = most(&missed, "had failed operations", |probe| failed(probe, &bounds).is_some())?;
    let at = saved.of().words(last.at()?);
    Some(format!("{of}: at {at} {}; {}", failed(last, &bounds)?, failures::advice(last, saved.service)))
}

pub fn misses(saved: &Saved, arm: usize) -> Vec<&Probe> {
    let is_miss = |probe: &&Probe| probe.arm == arm && probe.seen == Some(ProbeResult::Misses);
    saved.probes.iter().filter(is_miss).collect()
}

/// The last of the probes for which this holds, and how many there are, if they are most of all.
fn most<'p>(missed: &[&'p Probe], what: &str, holds: impl Fn(&Probe) -> bool) -> Option<(String, &'p Probe)> {
    let found: Vec<&&Probe> = missed.iter().filter(|probe| holds(probe)).collect();
    let last = found.last().filter(|_| found.len() * 2 > missed.len())?;
    Some((format!("Of {} that missed, {} {what}", counted(missed.len(), "probe"), found.len()), last))
}

/// Right above: of numbers, always the next one.
fn is_above(of: &Of, at: f64, found: f64) -> bool {
    let most = if of.is_rate() { found * NEAR } else { (found * NEAR).max(found + 1.0) };
    at > found && at <= most
}

/// In which way the answers of a probe were wrong.
fn wrong(probe: &Probe, bounds: &[Bound]) -> Option<String> {
    if probe.differs {
        return Some(probe.why.clone());
    }
    failed(probe, bounds)
}

/// `4.10 % of the operations fail: HTTP 503 (9 times): busy`, if they are more than the bound allows.
fn failed(probe: &Probe, bounds: &[Bound]) -> Option<String> {
    let failures = bounds.iter().position(Bound::is_of_failures)?;
    let share = *probe.values.get(failures)?;
    let bound = &bounds[failures];
    let what = if probe.failures.is_empty() { String::new() } else { format!(": {}", probe.failures) };
    (share > bound.most).then(|| format!("{} of the operations fail{what}", bound.metric.show_with_unit(share)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{arm, met, saved};

    fn missed(rate: f64, share: f64) -> Probe {
        Probe { seen: Some(ProbeResult::Misses), values: vec![1e6, share], ..met(0, rate) }
    }

    fn said(probes: Vec<Probe>) -> String {
        let bounds = ["response_ns_p99<=50ms", "failed<=0.1%"].map(str::to_string).to_vec();
        let saved = Saved { bounds, probes, ..saved(vec![arm("A", "durable")], &[&[Some(100.0)]]) };
        sentence(&saved, &saved.of(), (0, 100.0))
    }

    #[test]
    fn failures_and_other_answers_right_above_the_rate_are_named() {
        assert_eq!(said(vec![missed(105.0, 0.041), missed(103.0, 0.0204)]), " At 103/s 2.0 % of the operations fail.");
        let differs = Probe { differs: true, why: "answers differ: 9 % empty".to_string(), ..missed(104.0, 0.0) };
        assert_eq!(said(vec![differs]), " At 104/s answers differ: 9 % empty.");
    }

    #[test]
    fn rates_far_above_and_slow_answers_are_not() {
        assert_eq!(said(vec![missed(120.0, 0.5), missed(95.0, 0.5)]), "");
        assert_eq!(said(vec![missed(103.0, 0.0), missed(104.0, 0.02)]), "", "one of two is no majority");
        assert_eq!(said(vec![Probe { values: vec![], ..missed(103.0, 0.0) }]), "");
    }

    #[test]
    fn right_above_a_number_is_the_next_one() {
        let probe = Probe { number: Some(4), rate_per_s: None, ..missed(0.0, 0.2) };
        let bounds = ["response_ns_p99<=50ms", "failed<=0.1%"].map(str::to_string).to_vec();
        let of = Saved { of: "clients".to_string(), bounds, ..saved(vec![arm("A", "durable")], &[&[Some(3.0)]]) };
        let said = |probe| sentence(&Saved { probes: vec![probe], ..of.clone() }, &of.of(), (0, 3.0));
        assert!(said(probe.clone()).starts_with(" At 4 clients 20.0 %"), "{}", said(probe.clone()));
        assert_eq!(said(Probe { number: Some(5), ..probe }), "");
    }

    fn differs(rate: f64) -> Probe {
        Probe { differs: true, why: "answers differ: 9 % empty".to_string(), ..missed(rate, 0.0) }
    }

    #[test]
    fn other_answers_far_below_a_rate_that_met_are_a_change_of_the_service() {
        let saved = |probes| Saved { probes, ..saved(vec![arm("A", "unknown")], &[&[None]]) };
        let why = changed(&saved(vec![met(0, 749.0), differs(588.0)]), &differs(335.0)).expect("twice");
        for part in ["749/s met the bounds before", "at 335/s, answers differ: 9 % empty", "values that no other"] {
            assert!(why.contains(part), "{why}");
        }
        assert_eq!(changed(&saved(vec![met(0, 749.0)]), &differs(335.0)), None, "once may be a burst");
        assert_eq!(changed(&saved(vec![met(0, 749.0), differs(700.0)]), &differs(690.0)), None, "near the rate");
        assert_eq!(changed(&saved(vec![met(0, 749.0), differs(588.0)]), &missed(335.0, 0.5)), None);
    }

    #[test]
    fn a_search_ends_where_operations_find_no_row_at_rates_far_apart() {
        let bounds = ["response_ns_p99<=50ms", "failed<=0.1%"].map(str::to_string).to_vec();
        let of = |probes| Saved { bounds: bounds.clone(), probes, ..saved(vec![arm("A", "durable")], &[&[None]]) };
        let empty = |rate| Probe { found_none: true, ..missed(rate, 0.14) };
        let why = ends(&of(vec![empty(46.0)]), &empty(23.0)).expect("twice");
        assert!(why.starts_with("operations find no row to work on, whatever the rate: at 23.0/s 14.0 % of"), "{why}");
        assert!(why.ends_with(failures::NO_ROWS), "{why}");
        assert_eq!(ends(&of(vec![]), &empty(23.0)), None, "once may be a burst");
        assert_eq!(ends(&of(vec![empty(25.0)]), &empty(23.0)), None, "near the rate");
        assert_eq!(ends(&of(vec![met(0, 20.0), empty(46.0)]), &empty(23.0)), None, "a rate met the bounds");
        assert_eq!(ends(&of(vec![missed(46.0, 0.14)]), &empty(23.0)), None, "another failure");
    }

    #[test]
    fn a_reason_that_most_misses_have_is_said_with_the_last_of_them() {
        let of = |probes| mostly(&Saved { probes, ..saved(vec![arm("A", "unknown")], &[&[None]]) }, 0);
        let said = of(vec![met(0, 90.0), differs(80.0), missed(70.0, 0.0), differs(60.0)]).expect("two of three");
        assert!(said.starts_with("Of 3 probes that missed, 2 had other answers: at 60.0/s answers differ"), "{said}");
        assert!(said.ends_with(ADVICE), "{said}");
        assert_eq!(of(vec![missed(70.0, 0.02)]), None, "that is a bound");
        assert_eq!(of(vec![differs(80.0), missed(70.0, 0.0)]), None);
    }
}
