//! The overhead of a worker per operation: one client's plan on a null driver.

use crate::engine::{self, Driver};
use crate::record::model::{Overhead, Run, Slot};
use crate::record::store::{SAMPLES_FILE, read_samples};
use crate::study::model::{Condition, Contender, Study};
use crate::trial::bench::Bench;
use crate::trial::plans::{DrawnRound, Plans, Sql};
use crate::trial::session::Session;
use crate::trial::stop::Cancelled;
use crate::trial::workers::crew::{Crew, Failure, Window};
use crate::trial::workers::process::Launch;
use crate::trial::workers::refusal::Whose;
use anyhow::{Context, Result, anyhow, bail};
use contend_wire::database::Database;
use contend_wire::plan::Step;
use std::collections::BTreeMap;

/// Operations for measuring the overhead of the Rust worker.
const OWN_OPERATIONS: u32 = 20_000;

/// The same for workers in other languages, whose compilers may have to warm up.
const FLOOR_OPERATIONS: u32 = 100_000;

/// Axes that set the number of clients and the time, not what a client does.
const OF_LOAD: [&str; 6] =
    ["clients", "duration", "operations_each", "processes", crate::load::PROCESSORS, "rate_per_s"];

/// A contender with a null driver, and how its worker is started.
struct Idle<'i> {
    contender: &'i Contender,
    launch: &'i Launch,
    operations: u32,
}

/// Overhead of the Rust worker, ns per operation: one client of the first plan, on the null driver.
pub fn of_rust_worker(session: &Session<'_>, run: &Run, condition: usize, plans: &mut Plans) -> Result<u64> {
    let Some(slot) = run.schedule.iter().copied().find(|s| s.condition == condition) else { return Ok(0) };
    let null = null_contender(&run.study.contenders[slot.contender])?;
    Ok({
        let idle = Idle { contender: &null, launch: &session.common.site.own, operations: OWN_OPERATIONS };
        cost_under(session, run, &slot, &idle, plans)?
    }
    .ns_per_operation)
}

/// Overhead of each worker that the contenders need, measured once. Conditions that differ only in load share one
/// measurement: a single client does the same under each.
pub fn of_each_worker(session: &Session<'_>, run: &Run, condition: usize, plans: &mut Plans) -> Result<Vec<Overhead>> {
    let study = &run.study;
    if session.common.site.instead.worker.is_some() {
        return Ok(vec![]);
    }
    if let Some(before) = like(study, condition) {
        let known = run.overheads.iter().filter(|overhead| overhead.condition == before);
        return Ok(known.map(|overhead| Overhead { condition, ..overhead.clone() }).collect());
    }
    let mut overheads: Vec<Overhead> = vec![];
    for slot in run.schedule.iter().filter(|slot| slot.round == 1 && slot.condition == condition) {
        let contender = &study.contenders[slot.contender];
        // Another build may have another loop.
        let Some(null) = engine::null_driver_of(contender).filter(|_| contender.worker.is_none()) else { continue };
        // Null workers are built with the others. If this one is missing (workers built by hand), the run reports that
        // its overhead is unknown.
        let Ok(launch) = Launch::of(null) else { continue };
        if overheads.iter().any(|overhead| overhead.driver == null.name) {
            continue;
        }
        let contender = &idle_as(contender, null);
        let idle = Idle { contender, launch: &launch, operations: FLOOR_OPERATIONS };
        overheads.push(cost_under(session, run, slot, &idle, plans)?);
    }
    Ok(overheads)
}

/// Null drivers whose worker is not built.
pub fn missing(session: &Session<'_>, study: &Study) -> Vec<String> {
    if session.common.site.instead.worker.is_some() {
        return vec![];
    }
    let contends = study.contenders.iter().filter(|contender| contender.worker.is_none());
    let needed: BTreeMap<_, _> = contends.filter_map(engine::null_driver_of).map(|null| (null.name, null)).collect();
    let missing = needed.into_values().filter(|null| Launch::of(null).is_err());
    missing.map(|null| null.name.to_string()).collect()
}

fn cost_under(session: &Session<'_>, run: &Run, slot: &Slot, idle: &Idle<'_>, plans: &mut Plans) -> Result<Overhead> {
    let null = idle.contender;
    // A null driver has no dialect: it gets the workload as written.
    let own = session.workloads[slot.condition].of(None);
    let bench = Bench { workload: own, asked: None, ..session.bench(run, slot) };
    let drawn = plans.of(&run.study, own, *slot)?;
    let what = || format!("cannot measure the worker's own cost with driver {}", null.driver);
    match null_cost(&bench, idle, &drawn) {
        Ok(overhead) => Ok(Overhead { driver: null.driver.clone(), condition: slot.condition, ..overhead }),
        Err(Failure::Cancelled) => Err(Cancelled.into()),
        Err(Failure::Fatal(e)) => Err(e.context(what())),
        Err(Failure::Invalid(r)) => bail!("{}: {}: {}", what(), r.kind, r.detail),
    }
}

/// Overhead of one worker: one client's plan on its null driver.
fn null_cost(bench: &Bench<'_>, idle: &Idle<'_>, round: &DrawnRound) -> Result<Overhead, Failure> {
    let Idle { contender: null, launch, operations } = *idle;
    let engine = engine::find(&null.engine).context("a contender's engine must be known")?;
    let slot = Slot { trial: 0, round: 0, condition: 0, contender: 0 };
    let single = round.single_client(operations);
    let mut setup = (engine.setup)(&null.settings);
    // Only the way transactions begin is kept.
    (setup.options, setup.session, setup.readbacks) = (vec![], vec![], vec![]);
    (setup.one_connection, setup.service) = (false, None);
    let mut writer = bench.writer.trial(slot.trial)?;
    let whose = Whose::Driver(null.driver.clone());
    let mut sql = Sql::of(bench.workload, engine, &setup);
    sql.transactions.iter_mut().flat_map(|t| &mut t.steps).for_each(without_waiting);
    // A null driver opens nothing, so the file need not exist.
    let nowhere = vec![Database::File("nowhere".to_string()); bench.workload.databases as usize];
    let plans = single.encode(null, &setup, &sql, &nowhere)?;
    let mut crew = Crew::of_processes(whose, launch, writer.partial_dir(), &bench.supervision());
    crew.prepare(&plans)?;
    let window = Window { begins_ns: crew.start(), ends_ns: None, drain_ns: single.load.drain_ns };
    crew.collect(&window, &mut |bytes: &[u8]| writer.samples(bytes))?;
    crew.dismiss();
    writer.flush()?;
    let mut ends = vec![];
    read_samples(&writer.partial_dir().join(SAMPLES_FILE), |s| ends.push(s.finished_ns))?;
    Ok(overhead(&ends))
}

/// The overhead from the later half of consecutive operations that ended at these times.
fn overhead(ends: &[u64]) -> Overhead {
    let warm = &ends[ends.len() / 2..];
    let mut times: Vec<u64> = warm.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    times.sort_unstable();
    // The longest thousandth is kept out of the mean: on a busy machine it would dominate it.
    let most = &times[..times.len() - times.len() / 1000];
    let sum: u64 = most.iter().sum();
    Overhead {
        driver: String::new(),
        condition: 0,
        operations: times.len() as u64,
        ns_per_operation: sum.checked_div(most.len() as u64).unwrap_or(0),
        ns_p999: times.get(times.len() * 999 / 1000).copied().unwrap_or(0),
        ns_max: times.last().copied().unwrap_or(0),
    }
}

/// Waiting is not overhead.
fn without_waiting(step: &mut Step) {
    if let Step::Hold { ns } | Step::Pause { ns } = step {
        *ns = 0;
    }
}

/// The contender with the Rust worker's null driver.
pub fn null_contender(like: &Contender) -> Result<Contender> {
    let engine = engine::find(&like.engine).ok_or_else(|| anyhow!("unknown engine {}", like.engine))?;
    let driver = engine.drivers().find(|d| d.name == "null").context("the engine has no null driver")?;
    Ok(idle_as(like, driver))
}

/// A contender with another driver, in its default model.
pub fn idle_as(like: &Contender, driver: &Driver) -> Contender {
    let (driver, model) = (driver.name.to_string(), driver.models[0].name.to_string());
    engine::resolved(Contender { driver, model, ..like.clone() })
}

/// The first condition before this one under which a single client does the same.
pub fn like(study: &Study, condition: usize) -> Option<usize> {
    (0..condition).find(|other| same_operations(&study.conditions[*other], &study.conditions[condition]))
}

/// Whether a single client does the same under both conditions.
fn same_operations(a: &Condition, b: &Condition) -> bool {
    let decides = |condition: &Condition| {
        let of_load = |name: &str| OF_LOAD.contains(&name);
        condition
            .axes
            .iter()
            .filter(|(name, _)| !of_load(name))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect::<Vec<_>>()
    };
    a.profile == b.profile && decides(a) == decides(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_is_of_the_later_half() {
        let cold = [0, 900, 1_800, 2_700];
        let warm = [2_710, 2_720, 2_730, 2_790];
        let ends: Vec<u64> = cold.into_iter().chain(warm).collect();
        let found = overhead(&ends);
        assert_eq!((found.operations, found.ns_per_operation, found.ns_max), (3, 26, 60));
        assert_eq!(overhead(&[]).ns_per_operation, 0);
        assert_eq!(overhead(&[5]).operations, 0);
    }
}
