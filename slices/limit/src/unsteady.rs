//! What a reader should know of the probes that met the bounds: marks, logs that grow, windows of two speeds.

use crate::capacity::plain_arms;
use crate::growth::{Growth, Speeds};
use crate::saved::{Probe, Saved};
use crate::search::ProbeResult;
use contend_stats::precision::{Bytes, Ns};
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
    said
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
}
