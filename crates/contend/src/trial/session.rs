//! What the trials of one study of a run share.

use crate::record::model::{Run, Slot};
use crate::record::store::RecordWriter;
use crate::study::model::Study;
use crate::trial::bench::Bench;
use crate::trial::data::cache::Bases;
use crate::trial::data::load::Base;
use crate::trial::dialect::dialect;
use crate::trial::note::Note;
use crate::trial::site::Site;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::processes::Deadlines;
use crate::workload::{Asked, Dialects, Workload};
use anyhow::Result;

/// What all parts of a run share.
#[derive(Clone, Copy)]
pub struct Common<'s> {
    pub site: &'s Site,
    pub deadlines: Deadlines,
    pub cancelled: &'s dyn Fn() -> bool,
    pub tell: &'s dyn Fn(Note<'_>),
    /// Clock when the run began.
    pub begun_ns: u64,
}

/// One study that is running.
pub struct Session<'s> {
    pub common: Common<'s>,
    /// One per condition.
    pub workloads: &'s [Dialects],
    pub writer: RecordWriter,
    /// The scenario of the clients of apps.
    pub asked: Option<&'s Asked>,
}

impl Session<'_> {
    pub fn base(&self, bases: &mut Bases, study: &Study, slot: &Slot, admin: &mut Admin<'_>) -> Result<Base> {
        let load = study.load.under(&study.conditions[slot.condition].axes);
        bases.of(self.common.site, &self.workloads[slot.condition], &study.contenders[slot.contender], &load, admin)
    }

    /// The workload of a slot in its contender's dialect.
    pub fn workload(&self, study: &Study, slot: &Slot) -> &Workload {
        self.workloads[slot.condition].of(dialect(&study.contenders[slot.contender]))
    }

    pub fn bench<'b>(&'b self, run: &'b Run, slot: &Slot) -> Bench<'b> {
        Bench {
            study: &run.study,
            workload: self.workload(&run.study, slot),
            writer: &self.writer,
            data_dir: self.common.site.scratch.join("trial"),
            instead: &self.common.site.instead,
            deadlines: self.common.deadlines,
            janitor: &self.common.site.janitor,
            disk: &run.disk,
            overhead_ns_per_operation: run.overhead_ns_under(slot.condition),
            transactions: &run.workload.transactions,
            asked: self.asked,
            cancelled: self.common.cancelled,
            progress: self.common.tell,
        }
    }
}
