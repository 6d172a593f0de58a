//! What an operation costs the worker itself: one client's plan on a driver that does nothing.

use crate::engine::{self, Driver};
use crate::record::model::{Floor, Slot};
use crate::record::store::{SAMPLES_FILE, read_samples};
use crate::study::model::Contender;
use crate::trial::plans::{DrawnRound, Sql};
use crate::trial::trial::Bench;
use crate::trial::workers::crew::{Crew, Failure, Window};
use crate::trial::workers::process::Launch;
use crate::trial::workers::refusal::Whose;
use anyhow::{Context, Result, anyhow};
use contend_wire::database::Database;
use contend_wire::plan::Step;

impl Bench<'_> {
    /// What a worker takes for itself: one client's plan on its driver that does nothing.
    pub fn null_cost(
        &self,
        null: &Contender,
        round: &DrawnRound,
        launch: &Launch,
        operations: u32,
    ) -> Result<Floor, Failure> {
        let engine = engine::find(&null.engine).context("a contender's engine must be known")?;
        let slot = Slot { trial: 0, round: 0, condition: 0, contender: 0 };
        let single = round.single_client(operations);
        let mut setup = (engine.setup)(&null.settings);
        // What is left is how transactions begin.
        (setup.options, setup.session, setup.readbacks) = (vec![], vec![], vec![]);
        (setup.one_connection, setup.service) = (false, None);
        let mut writer = self.writer.trial(slot.trial)?;
        let whose = Whose::Driver(null.driver.clone());
        let mut sql = Sql::of(self.workload, engine, &setup);
        sql.transactions.iter_mut().flat_map(|t| &mut t.steps).for_each(without_waiting);
        // It opens nothing, so there need not be anything.
        let nowhere = vec![Database::File("nowhere".to_string()); self.workload.databases as usize];
        let plans = single.encode(null, &setup, &sql, &nowhere)?;
        let mut crew = Crew::of_processes(whose, launch, writer.partial_dir(), &self.supervision());
        crew.prepare(&plans)?;
        let window = Window { begins_ns: crew.start(), ends_ns: None, drain_ns: single.load.drain_ns };
        crew.collect(&window, &mut |bytes: &[u8]| writer.samples(bytes))?;
        crew.dismiss();
        writer.flush()?;
        let mut ends = vec![];
        read_samples(&writer.partial_dir().join(SAMPLES_FILE), |s| ends.push(s.finished_ns))?;
        Ok(floor(&ends))
    }
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
