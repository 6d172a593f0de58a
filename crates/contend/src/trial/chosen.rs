//! A run whose trials are chosen one by one: each choice sees the results of the trials before it.
//!
//! The record has the usual form: conditions and schedule grow with it, and each trial goes through every check. Such a
//! run has one study without parts and cannot be resumed.

use crate::record::model::{Finished, Overhead, Run, ScenarioInfo, Slot};
use crate::record::store::{Record, RecordWriter};
use crate::study::model::{Condition, Study};
use crate::trial::clock::monotonic_ns;
use crate::trial::data::cache::{self, Bases};
use crate::trial::data::disk;
use crate::trial::dialect::{one_per_engine, under_conditions};
use crate::trial::header::{checked, prepared};
use crate::trial::note::{Done, Note};
use crate::trial::order::Order;
use crate::trial::plans::{self, Plans};
use crate::trial::recorded::asked_of;
use crate::trial::run::{Ending, stopped_is_no_error};
use crate::trial::secret::filled_in;
use crate::trial::server::attached;
use crate::trial::session::{Common, Session};
use crate::trial::site::Site;
use crate::trial::stop::Cancelled;
use crate::trial::workers::admin::Admin;
use crate::trial::{overhead, programs, resume, trial};
use crate::workload::{self, Asked, Dialects, Workload};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// A trial to run next.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub round: u32,
    /// Position of the contender in the study.
    pub contender: usize,
    /// The condition; it may differ from those of the study only in axes of load.
    pub condition: Condition,
}

/// Chooses the next trial from a record that holds only the last trial (at first, none); `None` ends the run.
pub type Choose<'c> = dyn FnMut(&Record) -> Result<Option<Choice>> + 'c;

/// Runs trials as they are chosen. Their record is the directory `name` in that of the order. Data and the overhead of
/// the workers are prepared for the order's rounds and conditions.
///
/// # Errors
/// Those of any run, and those of `choose`.
pub fn run_chosen(
    order: &Order,
    name: &str,
    choose: &mut Choose<'_>,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<Ending> {
    stopped_is_no_error(begin(order, name, choose, cancelled, tell))
}

fn begin(
    order: &Order,
    name: &str,
    choose: &mut Choose<'_>,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<Ending> {
    let begun_ns = monotonic_ns();
    let ([study], [source]) = (order.whole.studies.as_slice(), order.workloads.as_slice()) else {
        anyhow::bail!("study {} has several parts; choose one with --set part=NAME", order.whole.name);
    };
    let workloads = checked(study, source, &order.secrets)?;
    let mut site = Site::open(&order.out, &order.instead, order.may_lack_syncs())?;
    site.attach(order.attached.as_ref());
    let mut admin = site.admin(cancelled)?;
    attached::try_out(site.attached.as_ref(), study.contenders.iter(), &mut admin)?;
    // A service has no data here.
    let phase = |what| {
        if !study.is_of_service() {
            tell(Note::Phase(what))
        }
    };
    phase("measuring what a sync costs on this disk");
    let disk = disk::measure(&site.scratch)?;
    let begun = prepared(study, source, &order.command, &disk)?;
    let scenario = order.scenarios.first().and_then(Option::as_ref);
    let run = Run {
        scenario: scenario.map(|s| ScenarioInfo { file: s.name.clone(), text: s.text.clone() }),
        programs: programs::of(study, &order.instead),
        instead: resume::instead(&order.instead, site.attached.as_ref()),
        ..begun
    };
    let mut bases = Bases::default();
    for (condition, workload) in study.conditions.iter().zip(&workloads) {
        phase("loading data");
        for contender in one_per_engine(study) {
            bases.of(&site, workload, contender, &study.load.under(&condition.axes), &mut admin)?;
        }
    }
    let dir = order.out.join(name);
    RecordWriter::create(&dir, &run)?;
    cache::prune(&site.cache);
    let common = Common { site: &site, deadlines: order.deadlines, cancelled, tell, begun_ns };
    let workload = filled_in(workload::parse(source)?, &order.secrets)?;
    let asked = asked_of(&run)?;
    let mut chosen = Chosen { common, dir, workload, asked, run, workloads, plans: Plans::default(), bases };
    let ended = chosen.go(choose, &mut admin);
    chosen.run.spent_ns = monotonic_ns() - begun_ns;
    if let Ok(measured_ns) = ended {
        chosen.run.finished = Some(Finished { elapsed_ns: chosen.run.spent_ns, measured_ns });
    }
    chosen.session()?.writer.write_run(&chosen.run)?;
    match ended {
        Ok(_) => Ok(Ending::Complete),
        Err(e) if e.is::<Cancelled>() => Ok(Ending::Stopped),
        Err(e) => Err(e),
    }
}

/// The run so far.
struct Chosen<'s> {
    common: Common<'s>,
    dir: PathBuf,
    workload: Workload,
    asked: Option<Asked>,
    run: Run,
    /// One for each condition so far.
    workloads: Vec<Dialects>,
    plans: Plans,
    bases: Bases,
}

impl Chosen<'_> {
    fn session(&self) -> Result<Session<'_>> {
        Ok(Session {
            common: self.common,
            workloads: &self.workloads,
            writer: RecordWriter::resume(&self.dir)?,
            asked: self.asked.as_ref(),
        })
    }

    /// Runs all trials and returns the sum of their windows.
    fn go(&mut self, choose: &mut Choose<'_>, admin: &mut Admin<'_>) -> Result<u64> {
        (self.common.tell)(Note::Phase("measuring the worker's own cost"));
        self.run.overheads_missing = overhead::missing(&self.session()?, &self.run.study);
        for condition in 0..self.run.study.conditions.len() {
            self.measure_overhead(condition)?;
        }
        let (disk, overhead_ns) = (&self.run.disk, self.run.overhead_ns_per_operation);
        (self.common.tell)(Note::Prepared { disk, overhead_ns });
        // The prepared slots are not trials.
        self.run.schedule.clear();
        self.session()?.writer.write_run(&self.run)?;
        let mut record = Record::open(&self.dir)?;
        let mut measured_ns = 0;
        while let Some(choice) = choose(&record)? {
            if (self.common.cancelled)() {
                return Err(Cancelled.into());
            }
            let slot = self.schedule(choice)?;
            measured_ns += self.measure(slot, admin)?.window_ns;
            record.run = self.run.clone();
            record.trials = vec![Record::trial(&record.dir, &self.run, slot.trial)?];
        }
        let now = programs::of(&self.run.study, &self.common.site.instead);
        resume::same_programs(&self.run.programs, &now, &self.dir)?;
        Ok(measured_ns)
    }

    fn measure_overhead(&mut self, condition: usize) -> Result<()> {
        let mut plans = std::mem::take(&mut self.plans);
        let session = self.session()?;
        let ns = overhead::of_rust_worker(&session, &self.run, condition, &mut plans)?;
        let overheads = overhead::of_each_worker(&session, &self.run, condition, &mut plans)?;
        self.run.overhead_ns_by_condition.push(ns);
        self.run.overhead_ns_per_operation = self.run.overhead_ns_per_operation.max(ns);
        self.run.overheads.extend(overheads);
        self.plans = plans;
        Ok(())
    }

    /// Appends the choice to the schedule, and its condition to the conditions if it is new.
    fn schedule(&mut self, choice: Choice) -> Result<Slot> {
        let known = self.run.study.conditions.iter().position(|known| *known == choice.condition);
        let condition = known.map_or_else(|| self.add(choice.condition), Ok)?;
        let trial = self.run.schedule.len() as u32 + 1;
        let slot = Slot { trial, round: choice.round, condition, contender: choice.contender };
        self.run.schedule.push(slot);
        if known.is_none() {
            self.know_overhead(condition)?;
        }
        self.session()?.writer.write_run(&self.run)?;
        Ok(slot)
    }

    fn add(&mut self, condition: Condition) -> Result<usize> {
        let alone = Study { conditions: vec![condition.clone()], ..self.run.study.clone() };
        let workload = under_conditions(&self.workload, &alone)?.pop().context("one condition has one workload")?;
        let fits = plans::check(&alone, 0, workload.of(None));
        fits.and_then(|()| plans::check_connections(&alone, 0, workload.of(None)))
            .with_context(|| format!("condition `{}`", condition.label))?;
        self.workloads.push(workload);
        self.run.study.conditions.push(condition);
        Ok(self.run.study.conditions.len() - 1)
    }

    /// Takes the overhead under a condition from an earlier one with the same operations, or else measures it.
    fn know_overhead(&mut self, condition: usize) -> Result<()> {
        let Some(like) = overhead::like(&self.run.study, condition) else { return self.measure_overhead(condition) };
        self.run.overhead_ns_by_condition.push(self.run.overhead_ns_under(like));
        let overheads = self.run.overheads.iter().filter(|overhead| overhead.condition == like);
        let overheads: Vec<_> = overheads.map(|overhead| Overhead { condition, ..overhead.clone() }).collect();
        self.run.overheads.extend(overheads);
        Ok(())
    }

    fn measure(&mut self, slot: Slot, admin: &mut Admin<'_>) -> Result<Done> {
        let (mut plans, mut bases) = (std::mem::take(&mut self.plans), std::mem::take(&mut self.bases));
        let session = self.session()?;
        let base = session.base(&mut bases, &self.run.study, &slot, admin)?;
        let done = trial::trial(&session.bench(&self.run, &slot), slot, &mut plans, &base, admin)?;
        (self.plans, self.bases) = (plans, bases);
        Ok(done)
    }
}
