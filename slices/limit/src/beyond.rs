//! What happens right above the highest rate, if answers are wrong there: a bound on times does not show it.

use crate::bound::{Bound, recorded};
use crate::of::Of;
use crate::saved::{Probe, Saved};
use crate::search::ProbeResult;

/// Probes up to this factor above the found value count as right above it.
const NEAR: f64 = 1.15;

/// ` At 103/s 4.10 % of the operations fail.`; empty unless most probes right above the found value missed for such a reason.
pub fn sentence(saved: &Saved, of: &Of, (arm, found): (usize, f64)) -> String {
    let bounds = recorded(&saved.bounds);
    let is_near = |probe: &&Probe| {
        probe.arm == arm && probe.seen == Some(ProbeResult::Misses) && probe.at().is_some_and(|at| above(at, found))
    };
    let mut above: Vec<(f64, Option<String>)> =
        saved.probes.iter().filter(is_near).filter_map(|probe| Some((probe.at()?, wrong(probe, &bounds)))).collect();
    above.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wrong = above.iter().filter(|(_, what)| what.is_some()).count();
    let first = above.iter().find_map(|(at, what)| Some((at, what.as_ref()?)));
    let said = first.filter(|_| wrong * 2 > above.len());
    said.map_or(String::new(), |(at, what)| format!(" At {} {what}.", of.words(*at)))
}

fn above(at: f64, found: f64) -> bool {
    at > found && at <= found * NEAR
}

/// In which way the answers of a probe were wrong.
fn wrong(probe: &Probe, bounds: &[Bound]) -> Option<String> {
    if probe.differs {
        return Some(probe.why.clone());
    }
    let failures = bounds.iter().position(Bound::is_of_failures)?;
    let share = *probe.values.get(failures)?;
    let bound = &bounds[failures];
    (share > bound.most).then(|| format!("{} of the operations fail", bound.metric.show_with_unit(share)))
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
}
