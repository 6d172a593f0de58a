//! What the workers of a study take for themselves, measured before its first trial.

use crate::engine;
use crate::record::model::{Floor, Run, Slot};
use crate::study::model::{Condition, Contender, Study};
use crate::trial::overhead::{idle_as, null_contender};
use crate::trial::plans::Plans;
use crate::trial::run::Session;
use crate::trial::stop::Cancelled;
use crate::trial::trial::Bench;
use crate::trial::workers::crew::Failure;
use crate::trial::workers::process::Launch;
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// Operations of the measurement of the worker's own cost.
const GENERATOR_OPERATIONS: u32 = 20_000;

/// The same for workers in other languages, of which a compiler may warm up first.
const FLOOR_OPERATIONS: u32 = 100_000;

/// Axes that say how many clients there are and how long, and not what they do.
const OF_LOAD: [&str; 5] = ["clients", "duration", "operations_each", "processes", "rate_per_s"];

impl Session<'_> {
    /// Nanoseconds the worker itself needs per operation: one client of the first plan, on the null driver.
    pub(super) fn generator(&self, run: &Run, condition: usize, plans: &mut Plans) -> Result<u64> {
        let Some(slot) = run.schedule.iter().copied().find(|s| s.condition == condition) else { return Ok(0) };
        let null = null_contender(&run.study.contenders[slot.contender])?;
        Ok(self.null_cost(run, &slot, &null, &self.common.site.own, GENERATOR_OPERATIONS, plans)?.ns_per_operation)
    }

    /// What the workers of the contenders' drivers take for themselves, each measured once. Of conditions that differ in the
    /// load only, the first stands for all: a single client does the same under each.
    pub(super) fn floors(&self, run: &Run, condition: usize, plans: &mut Plans) -> Result<Vec<Floor>> {
        let study = &run.study;
        if self.common.site.instead.worker.is_some() {
            return Ok(vec![]);
        }
        let same = |other: &usize| same_operations(&study.conditions[*other], &study.conditions[condition]);
        if let Some(before) = (0..condition).find(same) {
            let known = run.floors.iter().filter(|floor| floor.condition == before);
            return Ok(known.map(|floor| Floor { condition, ..floor.clone() }).collect());
        }
        let mut floors: Vec<Floor> = vec![];
        for slot in run.schedule.iter().filter(|slot| slot.round == 1 && slot.condition == condition) {
            let contender = &study.contenders[slot.contender];
            let Some(null) = engine::floor_of(contender) else { continue };
            // The worker that does nothing is built with the others; who built one by hand has no floor, and is told so.
            let Ok(launch) = Launch::of(null) else { continue };
            if floors.iter().any(|floor| floor.driver == null.name) {
                continue;
            }
            let idle = idle_as(contender, null);
            floors.push(self.null_cost(run, slot, &idle, &launch, FLOOR_OPERATIONS, plans)?);
        }
        Ok(floors)
    }

    /// Drivers that do nothing whose worker is not there.
    pub(super) fn floors_missing(&self, study: &Study) -> Vec<String> {
        if self.common.site.instead.worker.is_some() {
            return vec![];
        }
        let needed: BTreeMap<_, _> =
            study.contenders.iter().filter_map(engine::floor_of).map(|null| (null.name, null)).collect();
        let missing = needed.into_values().filter(|null| Launch::of(null).is_err());
        missing.map(|null| null.name.to_string()).collect()
    }

    fn null_cost(
        &self,
        run: &Run,
        slot: &Slot,
        null: &Contender,
        launch: &Launch,
        operations: u32,
        plans: &mut Plans,
    ) -> Result<Floor> {
        // A driver that executes nothing has no dialect: it gets the workload's own words.
        let own = self.workloads[slot.condition].of(None);
        let bench = Bench { workload: own, ..self.bench(run, slot, None) };
        let drawn = plans.of(&run.study, own, *slot)?;
        let what = || format!("cannot measure the worker's own cost with driver {}", null.driver);
        match bench.null_cost(null, &drawn, launch, operations) {
            Ok(floor) => Ok(Floor { driver: null.driver.clone(), condition: slot.condition, ..floor }),
            Err(Failure::Cancelled) => Err(Cancelled.into()),
            Err(Failure::Fatal(e)) => Err(e.context(what())),
            Err(Failure::Invalid(r)) => bail!("{}: {}: {}", what(), r.kind, r.detail),
        }
    }
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
