//! The inputs of a trial: contender, plans, base data.

use crate::engine::{Engine, Setup};
use crate::record::model::Slot;
use crate::study::model::Contender;
use crate::trial::data::fresh::Making;
use crate::trial::data::load::{Base, Wanted};
use crate::trial::plans::DrawnRound;
use crate::workload::Workload;
use std::path::Path;

/// The inputs of a trial.
pub struct Stage<'b> {
    pub contender: &'b Contender,
    pub engine: &'static Engine,
    pub setup: Setup,
    pub round: &'b DrawnRound,
    pub base: &'b Base,
    pub slot: Slot,
}

impl Stage<'_> {
    /// Calls `make` with the inputs for fresh data in this directory.
    pub fn making<T>(
        &self,
        workload: &Workload,
        dir: &Path,
        server_log: &Path,
        make: impl FnOnce(&Making<'_>) -> T,
    ) -> T {
        let load = &self.round.load;
        let wanted = Wanted {
            engine: self.engine,
            workload,
            scale: load.scale,
            seed: load.seed,
            before: (self.engine.before_load)(&self.contender.settings),
            loader: String::new(),
            by: self.engine.loader,
        };
        make(&Making {
            engine: self.engine,
            base: self.base,
            wanted: &wanted,
            dir,
            setup: &self.setup,
            settings: &self.contender.settings,
            connections: self.round.connections(self.contender) as u32,
            server_log,
        })
    }
}
