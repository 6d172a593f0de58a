//! What an operation costs the worker itself: one client's plan on a driver that does nothing.

use crate::engine;
use crate::record::model::Slot;
use crate::record::store::{SAMPLES_FILE, read_samples};
use crate::study::model::Contender;
use crate::trial::crew::{Crew, Failure};
use crate::trial::plans::{DrawnRound, Sql};
use crate::trial::process::Launch;
use crate::trial::run::Bench;
use anyhow::{Context, Result, anyhow};
use contend_wire::plan::Step;

impl Bench<'_> {
    /// What one operation costs the worker itself: the first worker's plan on a driver that does nothing.
    pub fn null_cost(
        &self,
        null: &Contender,
        round: &DrawnRound,
        launch: &Launch,
        operations: u32,
    ) -> Result<u64, Failure> {
        let engine = engine::find(&null.engine).context("a contender's engine must be known")?;
        let slot = Slot { trial: 0, round: 0, condition: 0, contender: 0 };
        let single = round.single_client(operations);
        let mut setup = (engine.setup)(&null.settings);
        // What is left is how transactions begin.
        (setup.options, setup.session, setup.readbacks, setup.one_connection) = (vec![], vec![], vec![], false);
        let mut writer = self.writer.trial(slot.trial)?;
        let mut crew = Crew::new(self.janitor, self.deadlines, self.cancelled);
        let mut sql = Sql::of(self.workload, engine, &setup);
        sql.transactions.iter_mut().flat_map(|t| &mut t.steps).for_each(without_waiting);
        // It opens nothing, so there need not be anything.
        let nowhere = vec!["nowhere".to_string(); self.workload.databases as usize];
        let plans = single.encode(null, &setup, &sql, &nowhere)?;
        crew.prepare(launch, &plans, writer.partial_dir())?;
        crew.start();
        crew.collect(None, single.load.drain_ns, &mut writer, || (), &mut |_| ())?;
        crew.dismiss();
        writer.flush()?;
        let (mut done, mut first_ns, mut last_ns) = (0, u64::MAX, 0);
        read_samples(&writer.partial_dir().join(SAMPLES_FILE), |s| {
            done += 1;
            first_ns = first_ns.min(s.started_ns);
            last_ns = last_ns.max(s.finished_ns);
        })?;
        Ok(last_ns.saturating_sub(first_ns).checked_div(done).unwrap_or(0))
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
    Ok(Contender { driver: driver.name.to_string(), model: driver.models[0].name.to_string(), ..like.clone() })
}
