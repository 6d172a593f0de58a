//! What a reader should know of a search: marks of the probes that met the bounds, logs that grow, windows of two speeds, rounds
//! that drift.

use crate::capacity::plain_arms;
use crate::growth::{Growth, Speeds};
use crate::of::RATE;
use crate::saved::{Probe, Saved};
use crate::search::ProbeResult;
use contend_stats::drift::trend;
use contend_stats::precision::{Bytes, Ns, Percent, Rate};
use std::mem::{Discriminant, discriminant};

/// One sentence for each contender and kind of unsteadiness.
pub fn warnings(saved: &Saved) -> Vec<String> {
    plain_arms(saved).flat_map(|(arm, of)| of_arm(saved, arm, &of.name())).collect()
}

fn of_arm(saved: &Saved, arm: usize, name: &str) -> Vec<String> {
    let met: Vec<&Probe> =
        saved.probes.iter().filter(|probe| probe.arm == arm && probe.seen == Some(ProbeResult::Meets)).collect();
    let among = |found: &[&Probe]| {
        let such = if found.len() == 1 { "it is" } else { "such as" };
        let trial = found[0].trial;
        (
            format!("{} of {} probes of {name} that meet the bounds", found.len(), met.len()),
            format!("{such} trial {trial}"),
        )
    };
    let mut said = marks(&met, &among);
    let grown: Vec<&Probe> = met.iter().copied().filter(|probe| probe.log.is_some()).collect();
    if let Some(Growth { first_bytes, last_bytes }) = grown.first().and_then(|probe| probe.log) {
        let (of, such) = among(&grown);
        let (first, last) = (Bytes(first_bytes), Bytes(last_bytes));
        said.push(format!(
            "The log grew in {of}, {such}: from {first} to {last}. What happens when it is full is not measured."
        ));
    }
    let split: Vec<&Probe> = met.iter().copied().filter(|probe| probe.speeds.is_some()).collect();
    if let Some(Speeds { fast_ns, slow_ns, .. }) = split.first().and_then(|probe| probe.speeds) {
        let (of, such) = among(&split);
        said.push(format!(
            "The window had a fast and a slow part in {of}, {such}: median responses of {} and {}. The rate depends on how \
             much of each a window has.",
            Ns(fast_ns),
            Ns(slow_ns)
        ));
    }
    said.extend(across_rounds(saved, arm, name));
    said
}

/// What is found in each round changes over the rounds, so that they are no repetitions.
fn across_rounds(saved: &Saved, arm: usize, name: &str) -> Option<String> {
    let of_arm = saved.capacities.iter().filter(|capacity| capacity.arm == arm);
    let found: Vec<f64> = of_arm.filter_map(|of| of.rate_per_s.or(of.number.map(f64::from))).collect();
    let change = trend(&found).filter(|trend| trend.drifting)?.change;
    let (what, verb) = (if saved.of == RATE { "rate" } else { "number" }, if change < 0.0 { "falls" } else { "rises" });
    let show = |value: f64| if saved.of == RATE { Rate(value).to_string() } else { value.to_string() };
    Some(format!(
        "The {what} of {name} {verb} from round to round, by {}: from {} in the first to {} in the last. The interval takes the rounds \
         for repetitions, which they are not.",
        Percent(change.abs()),
        show(found[0]),
        show(*found.last()?)
    ))
}

fn marks(met: &[&Probe], among: &dyn Fn(&[&Probe]) -> (String, String)) -> Vec<String> {
    let kinds_of = |probe: &Probe| probe.marks.iter().map(discriminant).collect::<Vec<_>>();
    let mut kinds: Vec<Discriminant<_>> = vec![];
    met.iter().flat_map(|probe| kinds_of(probe)).for_each(|kind| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    });
    let sentence = |kind: Discriminant<_>| {
        let marked: Vec<&Probe> = met.iter().copied().filter(|probe| kinds_of(probe).contains(&kind)).collect();
        let mark = marked.first()?.marks.iter().find(|mark| discriminant(*mark) == kind)?;
        let (of, such) = among(&marked);
        Some(format!("{of} have a mark, {such}: {mark}."))
    };
    kinds.into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{arm, met, saved};
    use contend::record::model::Mark;

    #[test]
    fn marks_growing_logs_and_two_speeds_are_said_once_for_each_contender() {
        let mut saved = saved(vec![arm("A", "durable"), arm("B", "durable")], &[]);
        let unsteady = vec![Mark::NoSteadyState { change_ppm: Some(-200_000) }];
        let growth = Growth { first_bytes: 4_000_000, last_bytes: 64_000_000 };
        let speeds = Speeds { fast_ns: 1_000_000, slow_ns: 20_000_000, slow: 0.3 };
        saved.probes = vec![
            Probe { trial: 4, marks: unsteady.clone(), log: Some(growth), ..met(0, 90.0) },
            Probe { trial: 5, marks: unsteady.clone(), ..met(0, 91.0) },
            Probe { trial: 6, speeds: Some(speeds), ..met(1, 90.0) },
            Probe { seen: Some(ProbeResult::Misses), marks: unsteady, ..met(1, 190.0) },
        ];
        let said = warnings(&saved);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].starts_with("2 of 2 probes of A that meet the bounds have a mark, such as trial 4: no steady"));
        assert!(said[0].contains("falls by 20 %"), "{said:?}");
        assert!(said[1].starts_with("The log grew in 1 of 2 probes of A") && said[1].contains("it is trial 4"));
        assert!(said[2].contains("fast and a slow part in 1 of 1 probes of B") && said[2].contains("20.0 ms"));
    }

    #[test]
    fn rounds_that_drift_are_no_repetitions() {
        let of = |rates: [f64; 6]| warnings(&saved(vec![arm("A", "durable")], &[&rates.map(Some)]));
        assert_eq!(of([100.0, 104.0, 97.0, 101.0, 99.0, 103.0]), [""; 0]);
        let said = of([176.0, 164.0, 92.0, 73.0, 63.0, 67.0]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("The rate of A falls from round to round, by 61.8 %: from 176/s in the first to 67"),
            "{said:?}"
        );
    }
}
