//! Processors that each process of a service uses, read while its probes run. A process that uses one whole processor while
//! others are idle probably computes in one thread.

use crate::beyond::misses;
use crate::capacity::estimate;
use crate::saved::{Probe, Saved};
use crate::search::ProbeResult;
use contend::record::model::Trial;
use contend::trial::clock::monotonic_ns;
use contend::trial::watch::usage;
use contend_stats::interval::median;
use contend_stats::precision::plain;
use std::collections::BTreeMap;

/// Least time between two readings, ns.
const EVERY_NS: u64 = 100_000_000;
/// Least part of a window between its first and its last reading.
const PART_MIN: f64 = 0.5;
/// Least use that is kept, in processors.
const LEAST: f64 = 0.01;

/// About one whole processor.
const WHOLE: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Most processors that any other process of the service uses ...
const OTHER_MAX: f64 = 0.5;
/// ... and greatest share of the machine's processors that is used, if processors are idle.
const BUSY_MAX: f64 = 0.9;

/// Processors that the processes of a trial's service used in its window, by number and name.
pub type OfTrial<'p> = dyn Fn(&Trial) -> BTreeMap<String, f64> + 'p;

/// CPU time of the processes of each service at one moment.
struct Reading {
    at_ns: u64,
    used_ns: Vec<BTreeMap<String, u64>>,
}

/// The processes of the services of a search.
pub struct Processes<'p> {
    /// First process of each service, in the order of the contenders; empty if none is known.
    first: &'p [u32],
    /// Readings since the last probe.
    readings: Vec<Reading>,
}

impl<'p> Processes<'p> {
    pub fn below(first: &'p [u32]) -> Self {
        Self { first, readings: vec![] }
    }

    /// Reads them, unless that was done just before.
    pub fn look(&mut self) {
        let at_ns = monotonic_ns();
        let is_due = self.readings.last().is_none_or(|last| at_ns >= last.at_ns + EVERY_NS);
        if is_due && !self.first.is_empty() {
            self.readings.push(Reading { at_ns, used_ns: self.first.iter().map(|first| used_ns(*first)).collect() });
        }
    }

    /// Processors that the processes of a trial's service used in its window, by number and name.
    pub fn take(&mut self, trial: &Trial) -> BTreeMap<String, f64> {
        let window = trial.window_start_ns..=trial.window_end_ns;
        let all = std::mem::take(&mut self.readings);
        let inside: Vec<Reading> = all.into_iter().filter(|reading| window.contains(&reading.at_ns)).collect();
        match inside.as_slice() {
            [first, .., last] if covers(last.at_ns - first.at_ns, trial) => {
                between(trial.slot.contender, first, last).unwrap_or_default()
            }
            _ => BTreeMap::new(),
        }
    }
}

fn covers(ns: u64, trial: &Trial) -> bool {
    ns as f64 >= (trial.window_end_ns - trial.window_start_ns) as f64 * PART_MIN
}

/// CPU time of a process and each of its descendants, by number and name.
fn used_ns(first: u32) -> BTreeMap<String, u64> {
    let tree = usage::tree(first).into_iter();
    let all = tree.filter_map(|process| {
        let name = process.stat().ok()?.comm;
        Some((format!("{} ({name})", process.pid), usage::of_process(process.pid as u32).cpu_ns))
    });
    all.collect()
}

fn between(service: usize, first: &Reading, last: &Reading) -> Option<BTreeMap<String, f64>> {
    let (before, after) = (first.used_ns.get(service)?, last.used_ns.get(service)?);
    let ns = (last.at_ns - first.at_ns) as f64;
    let used = after.iter().filter_map(|(name, used)| {
        let processors = used.saturating_sub(*before.get(name)?) as f64 / ns;
        (processors >= LEAST).then(|| (name.clone(), processors))
    });
    Some(used.collect())
}

/// A process of a service that uses about one whole processor while others are idle.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole<'s> {
    /// Its number and name.
    pub process: &'s str,
    /// Processors that it uses ...
    pub processors: f64,
    /// ... at this rate or number.
    pub at: f64,
}

/// Such a process at the found rate, or else at the lowest or the highest one that missed a bound.
pub fn whole(saved: &Saved, arm: usize) -> Option<Whole<'_>> {
    let found = estimate(saved, arm).value;
    let above = |at: &f64| found.is_none_or(|found| *at > found);
    let missed = || misses(saved, arm).into_iter().filter_map(Probe::at).filter(above);
    let at = |rate: Option<f64>, seen| of_probes(saved, arm, (rate?, seen));
    let at_missed = |rate: Option<f64>| at(rate, ProbeResult::Misses);
    let at_found = at(found, ProbeResult::Meets);
    at_found.or_else(|| at_missed(missed().reduce(f64::min))).or_else(|| at_missed(missed().reduce(f64::max)))
}

/// Such a process in most probes near a rate with this result.
fn of_probes(saved: &Saved, arm: usize, (rate, seen): (f64, ProbeResult)) -> Option<Whole<'_>> {
    let near: Vec<&Probe> = saved.near(arm, seen, rate).collect();
    let found: Vec<(&str, f64)> = near.iter().filter_map(|probe| of_probe(saved, probe)).collect();
    let (process, _) = *found.last().filter(|_| found.len() * 2 > near.len())?;
    let used: Vec<f64> = found.iter().filter(|(other, _)| *other == process).map(|(_, used)| *used).collect();
    let whole = Whole { process, processors: median(&used)?, at: rate };
    Some(whole).filter(|_| used.len() == found.len())
}

fn of_probe<'s>(saved: &Saved, probe: &'s Probe) -> Option<(&'s str, f64)> {
    let (name, most) = probe.processes.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
    let others = probe.processes.iter().filter(|(other, _)| *other != name).all(|(_, used)| *used <= OTHER_MAX);
    let used = probe.used.as_ref()?;
    let all = used.client_cpu + used.server_cpu? + used.other_cpu;
    let is_idle = all <= f64::from(saved.machine.as_ref()?.cores) * BUSY_MAX;
    (WHOLE.contains(most) && others && is_idle).then_some((name, *most))
}

/// Such a process as a sentence: a suspect, which no experiment confirms.
pub fn sentence(saved: &Saved, arm: usize) -> String {
    let Some(Whole { process, processors, at }) = whole(saved, arm) else { return String::new() };
    let (at, used) = (saved.of().words(at), plain(processors));
    format!(
        " At {at} the process {process} uses one whole processor ({used}) while others are idle: it probably computes in one \
         thread, which may be the limit."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::Busy;
    use crate::testing::{arm, met, saved};
    use contend::record::model::Machine;

    /// A search that found 100/s, with a probe there in which processes of a service used these processors of four.
    fn searched(processes: &[(&str, f64)], others: f64) -> Saved {
        let server_cpu = Some(processes.iter().map(|(_, used)| used).sum());
        let used = Busy { client_cpu: 0.5, server_cpu, other_cpu: others, ..Busy::default() };
        let processes = processes.iter().map(|(name, used)| (name.to_string(), *used)).collect();
        let machine = toml::from_str::<Machine>(
            "cpu = \"\"\ncores = 4\nmemory_bytes = 1\nkernel = \"\"\nos = \"\"\nvirtual_machine = false",
        );
        let probes = vec![Probe { processes, used: Some(used), ..met(0, 100.0) }];
        Saved { probes, machine: machine.ok(), ..saved(vec![arm("A", "unknown")], &[&[Some(100.0)]]) }
    }

    #[test]
    fn a_process_that_uses_one_processor_is_named_while_others_are_idle() {
        let one = [("7 (app)", 0.97), ("8 (helper)", 0.02)];
        let said = sentence(&searched(&one, 0.3), 0);
        assert!(
            said.contains("At 100/s the process 7 (app) uses one whole processor (0.970) while others are idle"),
            "{said}"
        );
        assert!(said.contains("probably") && !said.contains("stopped by"), "a suspect: {said}");
        for (processes, others, why) in [
            (&[("7 (app)", 0.8)][..], 0.3, "it is not busy"),
            (&[("7 (app)", 1.7)], 0.3, "it has several threads"),
            (&[("7 (app)", 1.0), ("8 (app)", 0.9)], 0.3, "there are several such processes"),
            (&one, 2.5, "no processor is idle"),
            (&[], 0.3, "none is known"),
        ] {
            assert_eq!(sentence(&searched(processes, others), 0), "", "{why}");
        }
    }

    #[test]
    fn a_rate_that_missed_a_bound_shows_it_too() {
        let found = searched(&[("7 (app)", 1.0)], 0.0);
        let missed = Probe { seen: Some(ProbeResult::Misses), ..found.probes[0].clone() };
        let none = Saved { probes: vec![missed.clone()], capacities: vec![], ..found.clone() };
        assert_eq!(whole(&none, 0), Some(Whole { process: "7 (app)", processors: 1.0, at: 100.0 }));
        let near = Probe { processes: [("7 (app)".to_string(), 0.8)].into(), ..missed.clone() };
        let far = Probe { rate_per_s: Some(200.0), ..missed };
        let both = |probes| Saved { probes, capacities: vec![], ..found.clone() };
        assert_eq!(
            whole(&both(vec![near.clone(), far]), 0).map(|of| of.at),
            Some(200.0),
            "it is not busy at the lowest"
        );
        assert_eq!(whole(&both(vec![near]), 0), None);
    }
}
