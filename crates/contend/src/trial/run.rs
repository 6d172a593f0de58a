//! A whole run: what is measured once, then part by part the slots of the schedule. It can be resumed anywhere. A study
//! without parts is its own only part.

use crate::analysis::{Findings, until};
use crate::record::evidence::KnownTier;
use crate::record::model::{Finished, Instead, Run, ScenarioInfo, Slot, StudyFile, Trial};
use crate::record::parts::{ALONE, StudyRecord, has_parts, part_dir, undo_study, write_study};
use crate::record::seal::{self, Unsealed};
use crate::record::store::{Record, RecordWriter, STUDY_FILE};
use crate::source::Source;
use crate::stats::interval::Looks;
use crate::trial::clock::monotonic_ns;
use crate::trial::data::cache::{self, Bases};
use crate::trial::data::disk;
use crate::trial::dialect::{one_per_engine, under_conditions};
use crate::trial::header::{checked, prepared, study_file};
use crate::trial::note::Note;
use crate::trial::order::{Order, Resumption};
use crate::trial::plans::Plans;
use crate::trial::proofs::PROOFS;
use crate::trial::recorded::asked_of;
use crate::trial::secret::filled_in;
use crate::trial::server::attached::{self, Left};
use crate::trial::session::{Common, Session};
use crate::trial::site::Site;
use crate::trial::stop::Cancelled;
use crate::trial::watch::{machine, mount};
use crate::trial::workers::admin::Admin;
use crate::trial::{again, overhead, programs, resume, statements, trial};
use crate::workload::{self, Asked, Dialects};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// Stopped by the user; finished trials are in the record.
    Stopped,
}

/// Reports damaged proofs before the run spends time.
fn proofs_are_readable(out: &Path) -> Result<()> {
    PROOFS.all().iter().try_for_each(|proofs| (proofs.readable)(out))
}

/// Turns cancellation into [`Ending::Stopped`].
pub(super) fn stopped_is_no_error(ending: Result<Ending>) -> Result<Ending> {
    match ending {
        Err(e) if e.is::<Cancelled>() => Ok(Ending::Stopped),
        other => other,
    }
}

/// Runs a study from its beginning, all of its parts.
pub fn run(order: &Order, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    stopped_is_no_error(begin(order, cancelled, tell))
}

/// Rejects everything that cannot run before the record exists, and loads the data of all parts before the first trial.
fn begin(order: &Order, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    let begun_ns = monotonic_ns();
    let studies = order.whole.studies.iter().zip(&order.workloads);
    let workloads =
        studies.map(|(study, source)| checked(study, source, &order.secrets)).collect::<Result<Vec<_>>>()?;
    let mut site = Site::open(&order.out, &order.instead, order.may_lack_syncs())?;
    proofs_are_readable(&site.out)?;
    site.attach(order.attached.as_ref());
    let mut admin = site.admin(cancelled)?;
    let contenders = order.whole.studies.iter().flat_map(|study| &study.contenders);
    attached::try_out(site.attached.as_ref(), contenders, &mut admin)?;
    let instead = resume::instead(&order.instead, site.attached.as_ref());
    for (of, dialects) in order.whole.studies.iter().zip(&order.workloads).zip(&workloads) {
        statements::try_out(&site, of, dialects, &mut admin)?;
    }
    tell(Note::Phase("measuring what a sync costs on this disk"));
    let disk = disk::measure(&site.scratch)?;
    let mut bases = Bases::default();
    let mut parts = vec![];
    let studies = order.whole.studies.iter().zip(&order.workloads);
    for (at, ((study, source), workloads)) in studies.zip(workloads).enumerate() {
        let scenario = order.scenarios.get(at).and_then(Option::as_ref);
        let scenario = scenario.map(|s| ScenarioInfo { file: s.name.clone(), text: s.text.clone() });
        let programs = programs::of(study, &order.instead);
        let begun = prepared(study, source, &order.command, &disk)?;
        let run = Run { scenario, programs, instead: instead.clone(), ..begun };
        let (dir, asked) = (part_dir(&order.out, study.part.as_deref().unwrap_or(ALONE)), asked_of(&run)?);
        parts.push(Task { dir, run, workloads, asked, before: vec![] });
    }
    for part in &parts {
        let study = &part.run.study;
        for (condition, workload) in study.conditions.iter().zip(&part.workloads) {
            let load = study.load.under(&condition.axes);
            tell(Note::Phase("loading data"));
            for contender in one_per_engine(study) {
                bases.of(&site, workload, contender, &load, &mut admin)?;
            }
        }
    }
    let file = study_file(order);
    create(&order.out, &file, &parts)?;
    cache::prune(&site.cache);
    let common = Common { site: &site, deadlines: order.deadlines, cancelled, tell, begun_ns };
    go_through(common, parts, bases, &mut admin, file)
}

/// Creates the records of the parts, then `study.toml`, which joins them.
fn create(out: &Path, file: &StudyFile, parts: &[Task]) -> Result<()> {
    if RecordWriter::is_record(out) {
        return Err(RecordWriter::taken(out));
    }
    // Parts of a run that was killed before it made `study.toml`.
    let rests = parts.iter().map(|part| &part.dir).filter(|dir| *dir != out && RecordWriter::has_no_trial(dir));
    rests.for_each(|dir| RecordWriter::undo(dir));
    let mut made = vec![];
    let all = parts.iter().try_for_each(|part| {
        RecordWriter::create(&part.dir, &part.run)?;
        made.push(&part.dir);
        Ok(())
    });
    let all = all.and_then(|()| write_study(out, file));
    if all.is_err() {
        // Parts without `study.toml` are not a record and would block the next run.
        made.into_iter().for_each(|dir| RecordWriter::undo(dir));
        undo_study(out);
    }
    all
}

/// Continues a run that was interrupted.
pub fn resume(of: &Resumption<'_>, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    stopped_is_no_error(go_on(of, cancelled, tell))
}

fn go_on(of: &Resumption<'_>, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    let Resumption { dir, instead, attached, deadlines } = *of;
    let begun_ns = monotonic_ns();
    let found = StudyRecord::open(dir)?;
    let whole = std::path::absolute(dir)?.parent().map(Path::to_path_buf).unwrap_or_default();
    if has_parts(&whole)
        && found.parts.iter().any(|(name, record)| record.run.study.part.as_ref().is_some_and(|p| p != name))
    {
        bail!("{} is a part; resume the whole run with --resume {}", dir.display(), whole.display());
    }
    if found.is_complete() {
        bail!("{} is complete; there is nothing to resume", dir.display());
    }
    let is_of_study = |file: &Unsealed| file.file == STUDY_FILE;
    if found.parts.iter().any(|(_, record)| record.unsealed.iter().any(is_of_study)) {
        bail!("{} {}", dir.join(STUDY_FILE).display(), seal::WOULD_BE_SEALED);
    }
    let now = resume::instead(instead, attached.map(|attached| &attached.address));
    let mut site = Site::reopen(dir, instead)?;
    // Another run may have gone on until now.
    let found = StudyRecord::open(dir)?;
    if found.is_complete() {
        bail!("{} is complete; there is nothing to resume", dir.display());
    }
    let left = found.parts.into_iter().map(|(_, record)| record).filter(|record| record.run.finished.is_none());
    let left: Vec<Task> = left.map(|record| unfinished(record, &now)).collect::<Result<_>>()?;
    for task in &left {
        resume::same_programs(&task.run.programs, &programs::of(&task.run.study, instead), dir)?;
        resume::same_disk(&task.run, dir, &mount::of(&site.scratch))?;
    }
    proofs_are_readable(&site.out)?;
    site.attach(attached);
    let mut admin = site.admin(cancelled)?;
    let contenders = left.iter().flat_map(|task| &task.run.study.contenders);
    attached::try_out(site.attached.as_ref(), contenders, &mut admin)?;
    let common = Common { site: &site, deadlines, cancelled, tell, begun_ns };
    go_through(common, left, Bases::default(), &mut admin, found.file)
}

/// The rest of an interrupted run, if it may be continued on this machine with these replacements.
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
    Ok(Task {
        dir: record.dir,
        workloads,
        asked,
        run: record.run,
        before: record.trials.into_iter().chain(record.again).collect(),
    })
}

/// A study to run, or the rest of it.
struct Task {
    dir: PathBuf,
    run: Run,
    /// One per condition.
    workloads: Vec<Dialects>,
    /// The scenario of the clients of apps.
    asked: Option<Asked>,
    /// Finished trials.
    before: Vec<Trial>,
}

/// Runs the remaining parts in order; the time since the run began counts to the first.
fn go_through(
    common: Common<'_>,
    tasks: Vec<Task>,
    mut bases: Bases,
    admin: &mut Admin<'_>,
    file: StudyFile,
) -> Result<Ending> {
    let mut begun_ns = common.begun_ns;
    for task in tasks {
        if !file.is_alone() {
            let part = task.run.study.part.as_deref();
            let number = file.parts.iter().position(|name| Some(name.as_str()) == part).map_or(0, |at| at + 1);
            (common.tell)(Note::Part { study: &task.run.study, number, total: file.parts.len() });
        }
        let ending = go(common, task, &mut bases, admin, begun_ns)?;
        if ending != Ending::Complete {
            return Ok(ending);
        }
        begun_ns = monotonic_ns();
    }
    write_study(&common.site.out, &StudyFile { finished: Some(machine::now_utc()), ..file })?;
    Ok(Ending::Complete)
}

/// Measures the overhead, then runs the missing trials of the schedule.
fn go(common: Common<'_>, task: Task, bases: &mut Bases, admin: &mut Admin<'_>, begun_ns: u64) -> Result<Ending> {
    let Task { dir, mut run, workloads, asked, before } = task;
    let session = Session { common, workloads: &workloads, writer: RecordWriter::resume(&dir)?, asked: asked.as_ref() };
    let done: BTreeSet<u32> = before.iter().map(|t| t.slot.trial).collect();
    let measured_ns: u64 = before.iter().map(|t| t.window_end_ns.saturating_sub(t.window_start_ns)).sum();
    let mut plans = Plans::default();
    let result = (|| -> Result<(u64, u32)> {
        measure_overhead(&session, &mut run, &mut plans)?;
        (session.common.tell)(Note::Prepared { disk: &run.disk, overhead_ns: run.overhead_ns_per_operation });
        let measured = trials(&session, &mut run, done, &mut Tools { plans: &mut plans, bases, admin })?;
        resume::same_programs(&run.programs, &programs::of(&run.study, &session.common.site.instead), &dir)?;
        Ok(measured)
    })();
    run.spent_ns += monotonic_ns() - begun_ns;
    match result {
        Ok((newly_ns, rounds)) => {
            run.schedule.retain(|slot| slot.round <= rounds);
            run.study.rounds = rounds;
            // This comes last: an unfinished run can be resumed and then does it again.
            run.tiers = tiers(&session, &run)
                .context("every trial is finished, but the evidence for the tiers cannot be written")?;
            let measured_ns = measured_ns + newly_ns;
            // The time of a session that was killed is not known.
            run.finished = Some(Finished { elapsed_ns: run.spent_ns.max(measured_ns), measured_ns });
            session.writer.write_run(&run)?;
            Ok(Ending::Complete)
        }
        Err(e) => {
            // The first error is reported; this only keeps the time spent.
            let _ = session.writer.write_run(&run);
            if (session.common.cancelled)() && !e.is::<Left>() { Ok(Ending::Stopped) } else { Err(e) }
        }
    }
}

/// Measures the overhead of the workers unless it is known.
fn measure_overhead(session: &Session<'_>, run: &mut Run, plans: &mut Plans) -> Result<()> {
    (session.common.tell)(Note::Phase("measuring the worker's own cost"));
    if run.overhead_ns_per_operation == 0 {
        // An interrupted measurement starts again.
        run.overhead_ns_by_condition.clear();
        run.overheads.clear();
        run.overheads_missing = overhead::missing(session, &run.study);
        for condition in 0..run.study.conditions.len() {
            let ns = overhead::of_rust_worker(session, run, condition, plans)?;
            run.overhead_ns_by_condition.push(ns);
            let overheads = overhead::of_each_worker(session, run, condition, plans)?;
            run.overheads.extend(overheads);
        }
        run.overhead_ns_per_operation = run.overhead_ns_by_condition.iter().copied().max().unwrap_or(0);
        session.writer.write_run(run)?;
    }
    Ok(())
}

/// Plans, data and the script worker for trials.
struct Tools<'t, 'a> {
    plans: &'t mut Plans,
    bases: &'t mut Bases,
    admin: &'t mut Admin<'a>,
}

/// Runs the remaining trials in order, until `until` is met; returns the measured time and the number of rounds. The
/// sequels of the study's kind come after all windows, so what a sequel writes cannot disturb a measurement.
fn trials(
    session: &Session<'_>,
    run: &mut Run,
    mut done: BTreeSet<u32>,
    tools: &mut Tools<'_, '_>,
) -> Result<(u64, u32)> {
    let Tools { plans, bases, admin } = tools;
    let (mut measured_ns, mut to_continue) = (0, vec![]);
    let tell = session.common.tell;
    while let Some(slot) = next(session, run, &done, plans)? {
        if is_enough(session, run, &slot)? {
            return Ok((measured_ns, slot.round - 1));
        }
        let (study, total) = (&run.study, run.schedule.len());
        let left = run.schedule.iter().filter(|slot| !done.contains(&slot.trial)).count() + to_continue.len();
        let base = session.base(bases, study, &slot, admin)?;
        tell(Note::Begins { study, slot, total, left });
        let bench = session.bench(run, &slot);
        if study.of_kind().is_some() && slot.round == study.rounds {
            to_continue.push((slot, trial::measure(&bench, slot, plans, &base, admin)?));
        } else {
            let trial = trial::trial(&bench, slot, plans, &base, admin)?;
            measured_ns += trial.window_ns;
            tell(Note::Done { study, slot, done: &trial });
        }
        done.insert(slot.trial);
    }
    let (study, total) = (&run.study, run.schedule.len());
    for (left, (slot, under_way)) in (1..=to_continue.len()).rev().zip(to_continue) {
        let base = session.base(bases, study, &slot, admin)?;
        tell(Note::Begins { study, slot, total, left });
        let done = trial::sequel_and_conclude(&session.bench(run, &slot), under_way, plans, &base, admin)?;
        measured_ns += done.window_ns;
        tell(Note::Done { study, slot, done: &done });
    }
    Ok((measured_ns, study.rounds))
}

/// The next trial; after a disturbance the first of those that run again.
fn next(session: &Session<'_>, run: &mut Run, done: &BTreeSet<u32>, plans: &Plans) -> Result<Option<Slot>> {
    let at = run.schedule.iter().position(|slot| !done.contains(&slot.trial)).unwrap_or(run.schedule.len());
    let ended: Vec<Slot> = again::ended(run, at).copied().collect();
    let seen = |slot: &Slot| {
        let trial = Record::trial(session.writer.dir(), run, slot.trial)?;
        Ok((trial.marks, trial.invalid))
    };
    let seen = ended.iter().map(seen).collect::<Result<Vec<_>>>()?;
    if again::is_due(run, &ended, &seen) {
        again::replace(run, &ended);
        plans.forget_answers();
        session.writer.write_run(run)?;
        (session.common.tell)(Note::Again { study: &run.study, first: ended[0] });
    }
    Ok(run.schedule.iter().find(|slot| !done.contains(&slot.trial)).copied())
}

/// Whether the complete pairs of rounds before this slot satisfy `until`.
fn is_enough(session: &Session<'_>, run: &Run, slot: &Slot) -> Result<bool> {
    let is_first = run.schedule.iter().find(|other| other.round == slot.round) == Some(slot);
    let pairs_are_whole = slot.round % 2 == 1 && slot.round as usize > Looks::AfterEach.rounds_min();
    if run.study.until.is_none() || !is_first || !pairs_are_whole {
        return Ok(false);
    }
    (session.common.tell)(Note::Phase("checking whether the ratios are known well enough"));
    let record = Record::open(session.writer.dir())?;
    Ok(until::is_known(&Findings::new(&record)))
}

/// Keeps the proofs of this run, and returns how the tiers of its contenders are known.
fn tiers(session: &Session<'_>, run: &Run) -> Result<Vec<KnownTier>> {
    let (out, trials) = (&session.common.site.out, Record::open(session.writer.dir())?.trials);
    let mut known = vec![];
    for proofs in PROOFS.all() {
        // A worker given by the user may report any version, so its run proves nothing.
        if session.common.site.instead.worker.is_none() {
            (proofs.keep)(run, &trials, out)?;
        }
        known.extend((proofs.known)(run, &trials, out)?);
    }
    Ok(known)
}

/// The workload of a run under each of its conditions.
fn workloads(run: &Run, secrets: &BTreeMap<String, String>) -> Result<Vec<Dialects>> {
    let source = Source::new(run.workload.file.clone(), run.workload.text.clone());
    under_conditions(&filled_in(workload::parse(&source)?, secrets)?, &run.study)
}
