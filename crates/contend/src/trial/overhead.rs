//! What an operation costs the worker itself: one client's plan on a driver that does nothing.

use crate::engine::{self, Driver};
use crate::record::model::{Floor, Run, Slot};
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

/// Operations of the measurement of the worker's own cost.
const GENERATOR_OPERATIONS: u32 = 20_000;

/// The same for workers in other languages, of which a compiler may warm up first.
const FLOOR_OPERATIONS: u32 = 100_000;

/// Axes that say how many clients there are and how long, and not what they do.
const OF_LOAD: [&str; 5] = ["clients", "duration", "operations_each", "processes", "rate_per_s"];

/// A contender whose driver does nothing, and how its worker is started.
struct Idle<'i> {
    contender: &'i Contender,
    launch: &'i Launch,
    operations: u32,
}

/// Nanoseconds the worker itself needs per operation: one client of the first plan, on the null driver.
pub fn generator(session: &Session<'_>, run: &Run, condition: usize, plans: &mut Plans) -> Result<u64> {
    let Some(slot) = run.schedule.iter().copied().find(|s| s.condition == condition) else { return Ok(0) };
    let null = null_contender(&run.study.contenders[slot.contender])?;
    Ok({
        let idle = Idle { contender: &null, launch: &session.common.site.own, operations: GENERATOR_OPERATIONS };
        cost_under(session, run, &slot, &idle, plans)?
    }
    .ns_per_operation)
}

/// What the workers of the contenders' drivers take for themselves, each measured once. Of conditions that differ in the
/// load only, the first stands for all: a single client does the same under each.
pub fn floors(session: &Session<'_>, run: &Run, condition: usize, plans: &mut Plans) -> Result<Vec<Floor>> {
    let study = &run.study;
    if session.common.site.instead.worker.is_some() {
        return Ok(vec![]);
    }
    if let Some(before) = like(study, condition) {
        let known = run.floors.iter().filter(|floor| floor.condition == before);
        return Ok(known.map(|floor| Floor { condition, ..floor.clone() }).collect());
    }
    let mut floors: Vec<Floor> = vec![];
    for slot in run.schedule.iter().filter(|slot| slot.round == 1 && slot.condition == condition) {
        let contender = &study.contenders[slot.contender];
        let Some(null) = engine::null_driver_of(contender) else { continue };
        // The worker that does nothing is built with the others; who built one by hand has no floor, and is told so.
        let Ok(launch) = Launch::of(null) else { continue };
        if floors.iter().any(|floor| floor.driver == null.name) {
            continue;
        }
        let contender = &idle_as(contender, null);
        let idle = Idle { contender, launch: &launch, operations: FLOOR_OPERATIONS };
        floors.push(cost_under(session, run, slot, &idle, plans)?);
    }
    Ok(floors)
}

/// Drivers that do nothing whose worker is not there.
pub fn floors_missing(session: &Session<'_>, study: &Study) -> Vec<String> {
    if session.common.site.instead.worker.is_some() {
        return vec![];
    }
    let needed: BTreeMap<_, _> =
        study.contenders.iter().filter_map(engine::null_driver_of).map(|null| (null.name, null)).collect();
    let missing = needed.into_values().filter(|null| Launch::of(null).is_err());
    missing.map(|null| null.name.to_string()).collect()
}

fn cost_under(session: &Session<'_>, run: &Run, slot: &Slot, idle: &Idle<'_>, plans: &mut Plans) -> Result<Floor> {
    let null = idle.contender;
    // A null driver has no dialect: it gets the workload's own SQL.
    let own = session.workloads[slot.condition].of(None);
    let bench = Bench { workload: own, asked: None, ..session.bench(run, slot) };
    let drawn = plans.of(&run.study, own, *slot)?;
    let what = || format!("cannot measure the worker's own cost with driver {}", null.driver);
    match null_cost(&bench, idle, &drawn) {
        Ok(floor) => Ok(Floor { driver: null.driver.clone(), condition: slot.condition, ..floor }),
        Err(Failure::Cancelled) => Err(Cancelled.into()),
        Err(Failure::Fatal(e)) => Err(e.context(what())),
        Err(Failure::Invalid(r)) => bail!("{}: {}: {}", what(), r.kind, r.detail),
    }
}

/// What a worker takes for itself: one client's plan on its driver that does nothing.
fn null_cost(bench: &Bench<'_>, idle: &Idle<'_>, round: &DrawnRound) -> Result<Floor, Failure> {
    let Idle { contender: null, launch, operations } = *idle;
    let engine = engine::find(&null.engine).context("a contender's engine must be known")?;
    let slot = Slot { trial: 0, round: 0, condition: 0, contender: 0 };
    let single = round.single_client(operations);
    let mut setup = (engine.setup)(&null.settings);
    // What is left is how transactions begin.
    (setup.options, setup.session, setup.readbacks) = (vec![], vec![], vec![]);
    (setup.one_connection, setup.service) = (false, None);
    let mut writer = bench.writer.trial(slot.trial)?;
    let whose = Whose::Driver(null.driver.clone());
    let mut sql = Sql::of(bench.workload, engine, &setup);
    sql.transactions.iter_mut().flat_map(|t| &mut t.steps).for_each(without_waiting);
    // It opens nothing, so there need not be anything.
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
    Ok(floor(&ends))
}

/// The figures of the later half of operations that ended at these times, one after the other.
fn floor(ends: &[u64]) -> Floor {
    let warm = &ends[ends.len() / 2..];
    let mut times: Vec<u64> = warm.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    times.sort_unstable();
    // The longest thousandth is told apart: on a busy machine it would be most of the mean.
    let most = &times[..times.len() - times.len() / 1000];
    let sum: u64 = most.iter().sum();
    Floor {
        driver: String::new(),
        condition: 0,
        operations: times.len() as u64,
        ns_per_operation: sum.checked_div(most.len() as u64).unwrap_or(0),
        ns_p999: times.get(times.len() * 999 / 1000).copied().unwrap_or(0),
        ns_max: times.last().copied().unwrap_or(0),
    }
}

/// Waiting is no cost of the worker.
fn without_waiting(step: &mut Step) {
    if let Step::Hold { ns } | Step::Pause { ns } = step {
        *ns = 0;
    }
}

/// The contender whose driver does nothing, to measure what the worker itself costs.
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
    fn a_floor_is_of_the_later_half() {
        let cold = [0, 900, 1_800, 2_700];
        let warm = [2_710, 2_720, 2_730, 2_790];
        let ends: Vec<u64> = cold.into_iter().chain(warm).collect();
        let found = floor(&ends);
        assert_eq!((found.operations, found.ns_per_operation, found.ns_max), (3, 26, 60));
        assert_eq!(floor(&[]).ns_per_operation, 0);
        assert_eq!(floor(&[5]).operations, 0);
    }
}
