//! Estimates how long a study takes from the study alone: for users, and for tests that limit quick forms.

use super::kind;
use super::model::{Condition, Contender, Slot, Study};
use crate::engine;
use crate::load::Load;
use std::collections::BTreeSet;

/// Time of a trial outside its window: fresh data, start of workers, quiet disk, checks. Measured as 0.2 to 0.6 s on
/// two processors with an ordinary disk.
const AROUND_NS: u64 = 500_000_000;

/// Additional time for a server: copying its data directory, start and stop (0.6 s for MariaDB, 1.5 s for PostgreSQL);
/// and for an app: start and first requests (1 to 2.5 s).
const SERVER_NS: u64 = 1_000_000_000;
const APP_NS: u64 = 1_500_000_000;

/// Time before the first trial, for loading data once per engine and measuring the overhead under each condition.
const LOADING_NS: u64 = 500_000_000;
const COST_NS: u64 = 300_000_000;

/// Time of one operation, for trials that end after a number of them. Those of go-drivers took 0.1 to 2.3 ms with a sync
/// of 0.2 ms; with a slow disk and other writers a commit takes tens of milliseconds.
const OPERATION_NS: u64 = 2_000_000;

/// Estimated time of a study, ns. It ignores the workload: the size of its data, its roles, and the time after a window.
pub fn estimate_ns(study: &Study) -> u64 {
    let engines: BTreeSet<&str> = study.contenders.iter().map(|contender| contender.engine.as_str()).collect();
    let loading_ns = LOADING_NS * engines.len() as u64;
    let before_ns = loading_ns + COST_NS * study.conditions.len() as u64;
    let round = study.conditions.iter().flat_map(|at| study.contenders.iter().map(move |c| trial_ns(study, at, c)));
    let round_ns = round.fold(0, u64::saturating_add);
    // The sequel of a kind is carried out once, in the last round.
    let step_ns = study.contenders.iter().map(|c| step_ns(study, c)).fold(0, u64::saturating_add);
    let step_ns = step_ns.saturating_mul(study.conditions.len() as u64);
    round_ns.saturating_mul(u64::from(study.rounds)).saturating_add(before_ns).saturating_add(step_ns)
}

/// Estimated time of these trials of a study, ns, with data loaded and overhead measured.
pub fn estimate_left_ns<'s>(study: &Study, slots: impl Iterator<Item = &'s Slot>) -> u64 {
    let of = |slot: &Slot| {
        let (at, contender) = (study.conditions.get(slot.condition)?, study.contenders.get(slot.contender)?);
        let step_ns = if slot.round == study.rounds { step_ns(study, contender) } else { 0 };
        Some(trial_ns(study, at, contender).saturating_add(step_ns))
    };
    slots.filter_map(of).fold(0, u64::saturating_add)
}

/// Time of an operation that the estimate assumes, ns; `None` if no trial ends after a number of operations.
pub fn assumed_operation_ns(study: &Study) -> Option<u64> {
    let assumes = |at: &Condition| {
        let load = study.load.under(&at.axes);
        load.operations.is_some() && load.rate_per_s.is_none()
    };
    study.conditions.iter().any(assumes).then_some(OPERATION_NS)
}

fn trial_ns(study: &Study, at: &Condition, contender: &Contender) -> u64 {
    let load = study.load.under(&at.axes);
    let server_ns = engine::find(&contender.engine).and_then(|engine| engine.server).map_or(0, |_| SERVER_NS);
    let app_ns = if engine::is_app(contender) { APP_NS } else { 0 };
    let around_ns = AROUND_NS + server_ns + app_ns;
    load.run_in_ns.saturating_add(measured_ns(&load)) + around_ns
}

/// Time of the sequel of the study's kind for one contender.
fn step_ns(study: &Study, contender: &Contender) -> u64 {
    let sequel = kind::find(&study.kind).zip(study.of_kind());
    sequel.map_or(0, |(kind, values)| (kind.estimate_ns)(values, contender))
}

/// Length of the window; in an open loop with a number of operations, the time of their arrivals.
fn measured_ns(load: &Load) -> u64 {
    match (load.operations, load.rate_per_s) {
        (None, _) => load.window_ns,
        (Some(operations), None) => u64::from(operations) * OPERATION_NS,
        (Some(operations), Some(rate)) => {
            let clients = u64::from(load.clients.unwrap_or(1)) * u64::from(load.processes.unwrap_or(1));
            (operations as f64 * clients as f64 / rate * 1e9) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::study::model::{Extent, Variant};
    use crate::study::{Choices, resolve};

    fn study(load: &str, contender: &str) -> Study {
        let text = format!(
            "question = 'q'\nworkload = 'w'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
             axes = {{ clients = [1, 2] }}\nload = {{ {load} }}\n[[contender]]\n{contender}\n"
        );
        let choices = Choices::new(Variant::Corrected, Extent::Full);
        resolve(&Source::new("e.toml", text), &choices).unwrap()
    }

    fn estimated(load: &str, engine: &str) -> u64 {
        estimate_ns(&study(load, &format!("engine = '{engine}'")))
    }

    const BEFORE_NS: u64 = LOADING_NS + 2 * COST_NS;

    #[test]
    fn every_trial_counts_with_what_is_around_it() {
        assert_eq!(
            estimated("window = '2s', run_in = '400ms'", "sqlite"),
            BEFORE_NS + 12 * (2_400_000_000 + AROUND_NS)
        );
        assert_eq!(estimated("operations = 100", "sqlite"), BEFORE_NS + 12 * (100 * OPERATION_NS + AROUND_NS));
        let assumed = |load: &str| assumed_operation_ns(&study(load, "engine = 'sqlite'"));
        assert_eq!(assumed("operations = 100"), Some(OPERATION_NS));
        assert_eq!((assumed("operations = 100, rate = 10"), assumed("window = '2s', run_in = '0s'")), (None, None));
    }

    #[test]
    fn a_server_is_started_for_every_trial() {
        let load = "window = '1s', run_in = '0s'";
        assert_eq!(estimated(load, "postgres") - estimated(load, "sqlite"), 12 * SERVER_NS);
    }

    #[test]
    fn operations_that_arrive_at_a_rate_take_as_long_as_the_rate_says() {
        let (each, rate) = (2000, 10);
        let of_clients: u64 = [1, 2].iter().map(|clients| clients * each / rate * 1_000_000_000).sum();
        let expected = BEFORE_NS + 6 * of_clients + 12 * AROUND_NS;
        assert_eq!(estimated(&format!("operations = {each}, rate = {rate}"), "sqlite"), expected);
    }

    #[test]
    fn no_load_is_too_long_for_the_estimate() {
        let longest = "window = '87600h', run_in = '87600h'";
        let whole = Study { rounds: u32::MAX, ..study(longest, "engine = 'sqlite'") };
        assert_eq!(estimate_ns(&whole), u64::MAX);
    }

    #[test]
    fn what_is_left_of_a_run_is_its_trials() {
        let study = study("window = '2s', run_in = '400ms'", "engine = 'sqlite'");
        let schedule = crate::study::schedule(&study, 1);
        assert_eq!(estimate_left_ns(&study, schedule[9..].iter()), 3 * (2_400_000_000 + AROUND_NS));
        let unknown = Slot { contender: 9, ..schedule[0] };
        assert_eq!(estimate_left_ns(&study, [unknown].iter()), 0, "a damaged schedule is reported elsewhere");
    }

    #[test]
    fn the_step_of_a_kind_belongs_to_the_last_round() {
        let load = study("operations = 100", "engine = 'sqlite'");
        let (mut kinds, kind) = (load.kinds.clone(), crate::study::tests::kind::KIND.name);
        kinds.put(kind, &toml::Table::new()).unwrap();
        let of_kind = Study { kind: kind.to_string(), kinds, ..load.clone() };
        assert_eq!(estimate_ns(&of_kind) - estimate_ns(&load), 2 * 7, "two conditions, the last round of six");
    }
}
