//! A whole run: everything measured once beforehand, then part by part, each by its schedule slot by slot, resumable
//! anywhere. A study without parts is its own only part.

use crate::record::evidence::Known;
use crate::record::model::{Disk, Finished, Instead, Run, ScenarioInfo, Slot, StudyFile, Trial};
use crate::record::parts::{Found, has_parts, undo_study, write_study};
use crate::record::store::{Record, RecordWriter};
use crate::source::Source;
use crate::study::load_under;
use crate::study::model::{Study, Whole};
use crate::trial::data::cache::{self, Bases};
use crate::trial::data::disk;
use crate::trial::data::load::Base;
use crate::trial::dialect::{dialect, one_per_engine, under_conditions};
use crate::trial::header::{checked, prepared, study_file};
use crate::trial::plans::Plans;
use crate::trial::proofs::PROOFS;
use crate::trial::recorded::asked_of;
use crate::trial::resume;
use crate::trial::secret::told;
use crate::trial::server::attached::{self, Attached, Left};
use crate::trial::site::Site;
use crate::trial::stop::Cancelled;
use crate::trial::trial::{Bench, Done};
use crate::trial::watch::machine;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::process::{InsteadOf, monotonic_ns};
use crate::trial::workers::processes::Deadlines;
use crate::workload::{self, Asked, Editions, Workload};
use anyhow::{Context, Result, bail};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What happens in a run, for the code that shows it.
#[derive(Debug)]
pub enum Note<'n> {
    /// Something that takes a moment begins.
    Phase(&'n str),
    /// What was found beforehand.
    Prepared { disk: &'n Disk, generator_ns: u64 },
    /// A part begins, counted from 1.
    Part { study: &'n Study, number: usize, total: usize },
    /// A trial begins; `total` trials in all, `left` with this one.
    Begins { study: &'n Study, slot: Slot, total: usize, left: usize },
    /// Operations so far in it.
    Operations(u64),
    /// A trial is in the record.
    Done { study: &'n Study, slot: Slot, done: &'n Done },
}

/// What is to be run.
pub struct Order {
    pub whole: Whole,
    /// The workload of each study of the whole.
    pub workloads: Vec<Source>,
    /// What clients of apps send, for each study of the whole that says so.
    pub scenarios: Vec<Option<Source>>,
    /// The record's directory.
    pub out: PathBuf,
    pub command: Vec<String>,
    pub instead: InsteadOf,
    /// Values of secrets that are given, by name.
    pub secrets: BTreeMap<String, String>,
    pub deadlines: Deadlines,
    /// Whether the data may lie on a file system in memory.
    pub allow_tmpfs: bool,
    /// A running server instead of private ones.
    pub attached: Option<Attached>,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// Stopped by the user; what is finished is in the record.
    Stopped,
}

/// Damaged proofs are reported before a study takes its time.
fn proofs_are_readable(out: &Path) -> Result<()> {
    PROOFS.all().iter().try_for_each(|proofs| (proofs.readable)(out))
}

/// A stopped run is not an error, at any point.
fn stopped_is_no_error(ending: Result<Ending>) -> Result<Ending> {
    match ending {
        Err(e) if e.is::<Cancelled>() => Ok(Ending::Stopped),
        other => other,
    }
}

/// Runs a study from its beginning, all of its parts.
pub fn run(order: &Order, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    stopped_is_no_error(begin(order, cancelled, tell))
}

/// Everything that can be refused is refused before the record is there, and data is loaded for all parts before the
/// first of them takes its time.
fn begin(order: &Order, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    let begun_ns = monotonic_ns();
    let studies = order.whole.studies.iter().zip(&order.workloads);
    let workloads = studies.map(|(study, source)| checked(study, source, order)).collect::<Result<Vec<_>>>()?;
    let mut site = Site::open(&order.out, &order.instead, order.allow_tmpfs)?;
    proofs_are_readable(&site.out)?;
    site.attach(order.attached.as_ref());
    let mut admin = site.admin(cancelled)?;
    let contenders = order.whole.studies.iter().flat_map(|study| &study.contenders);
    attached::try_out(site.attached.as_ref(), contenders, &mut admin)?;
    let instead = resume::instead(&order.instead, site.attached.as_ref());
    tell(Note::Phase("measuring what a sync costs on this disk"));
    let disk = disk::measure(&site.scratch)?;
    let mut bases = Bases::default();
    let mut parts = vec![];
    let studies = order.whole.studies.iter().zip(&order.workloads);
    for (at, ((study, source), workloads)) in studies.zip(workloads).enumerate() {
        let scenario = order.scenarios.get(at).and_then(Option::as_ref);
        let scenario = scenario.map(|s| ScenarioInfo { file: s.name.clone(), text: s.text.clone() });
        let run = Run { scenario, instead: instead.clone(), ..prepared(study, source, &order.command, &disk)? };
        let (dir, asked) = (part_dir(&order.out, study.part.as_deref()), asked_of(&run)?);
        parts.push(Task { dir, run, workloads, asked, before: vec![] });
    }
    for part in &parts {
        let study = &part.run.study;
        for (condition, workload) in study.conditions.iter().zip(&part.workloads) {
            let load = load_under(&study.load, condition);
            tell(Note::Phase("loading data"));
            for contender in one_per_engine(study) {
                bases.of(&site, workload, contender, load.scale, load.seed, &mut admin)?;
            }
        }
    }
    let file = order.whole.has_parts().then(|| study_file(order));
    create(&order.out, file.as_ref(), &parts)?;
    cache::prune(&site.cache);
    let crew = Common { site: &site, deadlines: order.deadlines, cancelled, tell };
    crew.go_through(parts, bases, &mut admin, begun_ns, file)
}

/// The directory of a part's record; that of the run, for a study without parts.
fn part_dir(out: &Path, part: Option<&str>) -> PathBuf {
    part.map_or_else(|| out.to_path_buf(), |part| out.join(part))
}

/// Makes the record: first the parts, then what says that they belong together.
fn create(out: &Path, file: Option<&StudyFile>, parts: &[Task]) -> Result<()> {
    if file.is_some() && RecordWriter::is_record(out) {
        return Err(RecordWriter::taken(out));
    }
    let mut made = vec![];
    let all = parts.iter().try_for_each(|part| {
        RecordWriter::create(&part.dir, &part.run)?;
        made.push(&part.dir);
        Ok(())
    });
    let all = all.and_then(|()| file.map_or(Ok(()), |file| write_study(out, file)));
    if all.is_err() {
        // Parts without the whole are no record, and would be in the way of the next one.
        made.into_iter().for_each(|dir| RecordWriter::undo(dir));
        file.into_iter().for_each(|_| undo_study(out));
    }
    all
}

/// Continues a run that was interrupted.
pub fn resume(
    dir: &Path,
    instead: &InsteadOf,
    attached: Option<&Attached>,
    deadlines: Deadlines,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<Ending> {
    stopped_is_no_error(go_on(dir, instead, attached, deadlines, cancelled, tell))
}

fn go_on(
    dir: &Path,
    instead: &InsteadOf,
    attached: Option<&Attached>,
    deadlines: Deadlines,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<Ending> {
    let begun_ns = monotonic_ns();
    let (file, records) = match Found::open(dir)? {
        Found::One(record) => {
            let whole = std::path::absolute(dir)?.parent().map(Path::to_path_buf).unwrap_or_default();
            if record.run.study.part.is_some() && has_parts(&whole) {
                bail!("{} is a part; resume the whole run with --resume {}", dir.display(), whole.display());
            }
            (None, vec![*record])
        }
        Found::Parts(found) => (Some(found.file), found.parts.into_iter().map(|(_, record)| record).collect()),
    };
    let complete = |record: &Record| record.run.finished.is_some();
    if records.iter().all(complete) && file.as_ref().is_none_or(|file| file.finished.is_some()) {
        bail!("{} is complete; there is nothing to resume", dir.display());
    }
    let now = resume::instead(instead, attached.map(|attached| &attached.address));
    let left = records.into_iter().filter(|record| !complete(record));
    let left: Vec<Task> = left.map(|record| unfinished(record, &now)).collect::<Result<_>>()?;
    let mut site = Site::open(dir, instead, true)?;
    proofs_are_readable(&site.out)?;
    site.attach(attached);
    let mut admin = site.admin(cancelled)?;
    let contenders = left.iter().flat_map(|task| &task.run.study.contenders);
    attached::try_out(site.attached.as_ref(), contenders, &mut admin)?;
    let crew = Common { site: &site, deadlines, cancelled, tell };
    crew.go_through(left, Bases::default(), &mut admin, begun_ns, file)
}

/// What is left of an interrupted run, if it may be continued here and with this.
fn unfinished(record: Record, now: &Instead) -> Result<Task> {
    let dir = &record.dir;
    if let Some((name, why)) = record.damaged.first() {
        bail!("trial {name} of {} is damaged ({why}); remove its directory, then resume", dir.display());
    }
    let study = &record.run.study;
    let known = |s: &Slot| s.condition < study.conditions.len() && s.contender < study.contenders.len();
    if record.run.schedule.is_empty() || !record.run.schedule.iter().all(known) {
        bail!("the schedule in {} does not fit its study; the record is damaged", dir.display());
    }
    resume::fits(&record.run, dir, &machine::describe(), now)?;
    let workloads = workloads(&record.run, &BTreeMap::new())?;
    let asked = asked_of(&record.run)?;
    Ok(Task { dir: record.dir, workloads, asked, run: record.run, before: record.trials })
}

/// A study to run, or the rest of it.
struct Task {
    dir: PathBuf,
    run: Run,
    /// One per condition.
    workloads: Vec<Editions>,
    /// What clients of apps send.
    asked: Option<Asked>,
    /// Trials that are finished.
    before: Vec<Trial>,
}

/// What all parts of a run share.
#[derive(Clone, Copy)]
pub(super) struct Common<'s> {
    pub(super) site: &'s Site,
    deadlines: Deadlines,
    cancelled: &'s dyn Fn() -> bool,
    pub(super) tell: &'s dyn Fn(Note<'_>),
}

impl Common<'_> {
    /// Runs what is left, one part after the other; the first also answers for the time since the run began.
    fn go_through(
        &self,
        tasks: Vec<Task>,
        mut bases: Bases,
        admin: &mut Admin<'_>,
        mut begun_ns: u64,
        file: Option<StudyFile>,
    ) -> Result<Ending> {
        for task in tasks {
            if let (Some(part), Some(file)) = (&task.run.study.part, &file) {
                let number = file.parts.iter().position(|name| name == part).map_or(0, |at| at + 1);
                (self.tell)(Note::Part { study: &task.run.study, number, total: file.parts.len() });
            }
            let Task { dir, run, workloads, asked, before } = task;
            let writer = RecordWriter::resume(&dir)?;
            let session = Session { common: *self, workloads: &workloads, writer };
            let ending = session.go(run, asked, before, &mut bases, admin, begun_ns)?;
            if ending != Ending::Complete {
                return Ok(ending);
            }
            begun_ns = monotonic_ns();
        }
        if let Some(file) = file {
            write_study(&self.site.out, &StudyFile { finished: Some(machine::now_utc()), ..file })?;
        }
        Ok(Ending::Complete)
    }
}

/// One study at work.
pub(super) struct Session<'s> {
    pub(super) common: Common<'s>,
    /// One per condition.
    pub(super) workloads: &'s [Editions],
    writer: RecordWriter,
}

impl Session<'_> {
    /// Measures the generator, then runs what the schedule still lacks.
    fn go(
        &self,
        mut run: Run,
        asked: Option<Asked>,
        before: Vec<Trial>,
        bases: &mut Bases,
        admin: &mut Admin<'_>,
        begun_ns: u64,
    ) -> Result<Ending> {
        let done: std::collections::BTreeSet<u32> = before.iter().map(|t| t.slot.trial).collect();
        let mut measured_ns: u64 = before.iter().map(|t| t.window_end_ns.saturating_sub(t.window_start_ns)).sum();
        let left: Vec<Slot> = run.schedule.iter().filter(|s| !done.contains(&s.trial)).copied().collect();
        let plans = RefCell::new(Plans::default());
        let study = run.study.clone();
        let result = (|| -> Result<()> {
            (self.common.tell)(Note::Phase("measuring the worker's own cost"));
            if run.generator_ns_per_operation == 0 {
                // A measurement that was cut off begins again.
                run.generator_ns_by_condition.clear();
                run.floors.clear();
                run.floors_missing = self.floors_missing(&study);
                for condition in 0..study.conditions.len() {
                    let ns = self.generator(&run, condition, &mut plans.borrow_mut())?;
                    run.generator_ns_by_condition.push(ns);
                    let floors = self.floors(&run, condition, &mut plans.borrow_mut())?;
                    run.floors.extend(floors);
                }
                run.generator_ns_per_operation = run.generator_ns_by_condition.iter().copied().max().unwrap_or(0);
                self.writer.write_run(&run)?;
            }
            (self.common.tell)(Note::Prepared { disk: &run.disk, generator_ns: run.generator_ns_per_operation });
            self.trials(&run, &left, asked.as_ref(), (&mut plans.borrow_mut(), bases, admin), &mut measured_ns)
        })();
        run.spent_ns += monotonic_ns() - begun_ns;
        match result {
            Ok(()) => {
                // Last: what is not finished can be resumed, and this is done again.
                run.tiers = self.tiers(&run).context("every trial is over, but how tiers are known cannot be kept")?;
                run.finished = Some(Finished { elapsed_ns: run.spent_ns, measured_ns });
                self.writer.write_run(&run)?;
                Ok(Ending::Complete)
            }
            Err(e) => {
                // The first error is the one to report; this only keeps the time spent.
                let _ = self.writer.write_run(&run);
                if (self.common.cancelled)() && !e.is::<Left>() { Ok(Ending::Stopped) } else { Err(e) }
            }
        }
    }

    /// Keeps what this run has proved, and tells how the tiers of its contenders are known.
    fn tiers(&self, run: &Run) -> Result<Vec<Known>> {
        let (out, trials) = (&self.common.site.out, Record::open(self.writer.dir())?.trials);
        let mut known = vec![];
        for proofs in PROOFS.all() {
            // A worker that the user named may report any version, so its run proves nothing.
            if self.common.site.instead.worker.is_none() {
                (proofs.keep)(run, &trials, out)?;
            }
            known.extend((proofs.known)(run, &trials, out)?);
        }
        Ok(known)
    }

    pub(super) fn base(&self, bases: &mut Bases, study: &Study, slot: &Slot, admin: &mut Admin<'_>) -> Result<Base> {
        let load = load_under(&study.load, &study.conditions[slot.condition]);
        bases.of(
            self.common.site,
            &self.workloads[slot.condition],
            &study.contenders[slot.contender],
            load.scale,
            load.seed,
            admin,
        )
    }

    /// The workload of a slot in its contender's dialect.
    pub(super) fn workload(&self, study: &Study, slot: &Slot) -> &Workload {
        self.workloads[slot.condition].of(dialect(&study.contenders[slot.contender]))
    }

    pub(super) fn bench<'b>(&'b self, run: &'b Run, slot: &Slot, asked: Option<&'b Asked>) -> Bench<'b> {
        Bench {
            study: &run.study,
            workload: self.workload(&run.study, slot),
            writer: &self.writer,
            data_dir: self.common.site.scratch.join("trial"),
            instead: &self.common.site.instead,
            deadlines: self.common.deadlines,
            janitor: &self.common.site.janitor,
            disk: &run.disk,
            generator_ns_per_operation: run.generator_ns_under(slot.condition),
            transactions: &run.workload.transactions,
            asked,
            cancelled: self.common.cancelled,
            progress: self.common.tell,
        }
    }
}

/// The workload of a run under each of its conditions.
fn workloads(run: &Run, secrets: &BTreeMap<String, String>) -> Result<Vec<Editions>> {
    let source = Source::new(run.workload.file.clone(), run.workload.text.clone());
    under_conditions(&told(workload::parse(&source)?, secrets)?, &run.study)
}
