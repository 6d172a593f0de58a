//! One trial, from top to bottom: fresh data, the window, the checks, its place in the record. The sequel of the
//! study's kind comes after the windows of all trials.

use crate::outcome::reason::{Invalid, Reason};
use crate::record::model::{Footprint, RECORD_VERSION, Slot, Trial};
use crate::record::store::{SAMPLES_FILE, TrialWriter};
use crate::study::kind::Tables;
use crate::trial::aftermath::Aftermath;
use crate::trial::bench::Bench;
use crate::trial::data::disk;
use crate::trial::data::fresh::Fresh;
use crate::trial::data::load::Base;
use crate::trial::kind;
use crate::trial::note::Done;
use crate::trial::plans::{self, DrawnRound, Plans};
use crate::trial::processors;
use crate::trial::review::Review;
use crate::trial::schema;
use crate::trial::secret::shown;
use crate::trial::stage::Stage;
use crate::trial::standing;
use crate::trial::stop::Cancelled;
use crate::trial::watch::orphans;
use crate::trial::window::window;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::Failure;
use crate::{engine, outcome};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::time::Duration;

/// Log of the server, in the trial's directory.
const SERVER_LOG: &str = "server.log";

/// A trial between its window and its place in the record.
pub struct UnderWay {
    trial: Trial,
    series: String,
    writer: TrialWriter,
    /// `None` if the trial has no result.
    done: Option<Done>,
}

/// Runs one trial and writes it into the record, valid or not.
///
/// # Errors
/// [`Cancelled`], or what stops the whole run (the record cannot be written).
pub fn trial(bench: &Bench<'_>, slot: Slot, plans: &mut Plans, base: &Base, admin: &mut Admin<'_>) -> Result<Done> {
    conclude(measure(bench, slot, plans, base, admin)?)
}

/// Runs the window of a trial and its checks.
///
/// # Errors
/// As for [`trial`].
pub fn measure(
    bench: &Bench<'_>,
    slot: Slot,
    plans: &mut Plans,
    base: &Base,
    admin: &mut Admin<'_>,
) -> Result<UnderWay> {
    let round = plans.of(bench.study, bench.workload, slot)?;
    let stage = stage(bench, slot, &round, base)?;
    let writer = bench.writer.trial(slot.trial)?;
    let mut under_way = UnderWay { trial: blank(bench, &stage), series: String::new(), writer, done: None };
    let restricted = processors::restrict(&bench.study.conditions[slot.condition])?;
    let ran = run(bench, &stage, &mut under_way, admin);
    let beyond = beyond_trial()?;
    drop(restricted);
    under_way.done = unless_invalid(bench, ran, &mut under_way.trial)?;
    add(beyond, &mut under_way);
    bench.remove_data()?;
    Ok(under_way)
}

/// What a trial would have changed for later ones: processes that still run, and what programs inherit from contend. Both end here.
///
/// # Errors
/// They cannot be ended.
fn beyond_trial() -> Result<Vec<Reason>> {
    let left = orphans::end_left()?;
    let said = format!("{} still ran after the trial; contend ended what was left", left.join(", "));
    let left = (!left.is_empty()).then(|| Invalid::LeftRunning.because(said));
    let changes = standing::changes()?.into_iter().map(|change| Invalid::Processors.because(change));
    Ok(left.into_iter().chain(changes).collect())
}

fn add(reasons: Vec<Reason>, to: &mut UnderWay) {
    if let Some(done) = &mut to.done {
        done.invalid.extend(reasons.iter().cloned());
    }
    to.trial.invalid.extend(reasons);
}

/// Makes fresh data, then runs window and checks.
fn run(bench: &Bench<'_>, stage: &Stage<'_>, under_way: &mut UnderWay, admin: &mut Admin<'_>) -> Result<Done, Failure> {
    let mut fresh = bench.fresh_data(stage, &under_way.writer.partial_dir().join(SERVER_LOG), admin)?;
    let done = unless_disk_full(bench, on_fresh_data(bench, stage, &mut fresh, under_way, admin));
    if let Some(databases) = &mut fresh.attached {
        databases.drop_all(admin)?;
    }
    done
}

/// A failure on a full disk does not count against the contender: the run stops, and can be resumed. Checked before the data is
/// removed, which makes room again.
fn unless_disk_full(bench: &Bench<'_>, done: Result<Done, Failure>) -> Result<Done, Failure> {
    match perhaps_of_disk(&done).filter(|_| bench.nearly_full()) {
        Some(reason) => Err(Failure::Fatal(disk::full(shown(reason.clone(), bench.workload, bench.asked)))),
        None => done,
    }
}

/// The first reason that a full disk may have caused. A disk that rejects every commit leaves no other reason than `nothing-done`.
fn perhaps_of_disk(done: &Result<Done, Failure>) -> Option<&Reason> {
    match done {
        Ok(done) => done.invalid.iter().find(|reason| !reason.kind.is_of_pace()),
        Err(Failure::Invalid(reason)) => Some(reason),
        Err(_) => None,
    }
}

/// How long a server may take to end after it was killed.
const DYING: Duration = Duration::from_secs(1);

fn on_fresh_data(
    bench: &Bench<'_>,
    stage: &Stage<'_>,
    fresh: &mut Fresh<'_>,
    under_way: &mut UnderWay,
    admin: &mut Admin<'_>,
) -> Result<Done, Failure> {
    let UnderWay { trial, series, writer, .. } = under_way;
    let fastest_before_ns = bench.quiet_disk(stage, trial)?;
    let schemas = schema::read(stage, fresh, admin);
    trial.invalid.extend(schema::lost_in_a_crash(stage, &schemas));
    let ran = window(bench, stage, fresh, writer, admin)?;
    let died = fresh.server.as_mut().and_then(|server| server.death());
    let died = died.or_else(|| ran.served.as_ref()?.death.clone());
    trial.invalid.extend(died.map(|how| Invalid::ServerDied.because(how)));
    let aftermath = Aftermath { bench, stage, ran: &ran, fresh };
    trial.server = aftermath.server_info(admin)?;
    let review = Review { bench, stage, ran: &ran };
    review.describe(trial);
    series.clone_from(&ran.observed.series);
    writer.flush()?;
    let mut probe = disk::sync_probe(&bench.data_dir)?;
    probe.fastest_ns = probe.fastest_ns.min(fastest_before_ns).min(bench.disk.sync_ns_min);
    let (tally, ever) = review.check(trial, &writer.partial_dir().join(SAMPLES_FILE), probe)?;
    review.count_commits(trial, &ever);
    trial.invalid.extend(schema::changed(bench, &schemas, &schema::read(stage, fresh, admin)));
    aftermath.check_data(trial, &ever, admin)?;
    // A killed server takes time to end, so it may still have existed at the end of the window.
    if trial.invalid.iter().any(|reason| reason.kind == Invalid::Invariant) {
        let ended = fresh.server.as_mut().and_then(|server| server.death_within(DYING));
        if let Some(how) = ended {
            trial.invalid.retain(|reason| reason.kind != Invalid::Invariant);
            trial.invalid.push(Invalid::ServerDied.because(how));
        }
    }
    let counts = tally.counts(|_| true);
    let rejected = counts.outcome(outcome::Outcome::Rejected);
    Ok(Done {
        throughput_per_s: tally.throughput_per_s(),
        failed: counts.planned() - counts.outcome(outcome::Outcome::Committed) - rejected,
        rejected,
        window_ns: tally.elapsed_ns(),
        invalid: trial.invalid.clone(),
    })
}

/// Runs the sequel of the study's kind, and writes the trial into the record.
///
/// # Errors
/// As for [`trial`].
pub fn sequel_and_conclude(
    bench: &Bench<'_>,
    mut under_way: UnderWay,
    plans: &mut Plans,
    base: &Base,
    admin: &mut Admin<'_>,
) -> Result<Done> {
    if let Some(done) = under_way.done.take() {
        let slot = under_way.trial.slot;
        let round = plans.of(bench.study, bench.workload, slot)?;
        let stage = stage(bench, slot, &round, base)?;
        let sequel = kind::SEQUELS.all().iter().find(|sequel| sequel.kind == bench.study.kind);
        let sequel =
            sequel.with_context(|| format!("this contend cannot carry out studies of kind `{}`", bench.study.kind))?;
        let ended = (sequel.run)(bench, &stage, &mut under_way.trial, &mut under_way.writer, admin);
        let beyond = beyond_trial()?;
        let invalid = under_way.trial.invalid.clone();
        under_way.done = unless_invalid(bench, ended.map(|()| Done { invalid, ..done }), &mut under_way.trial)?;
        add(beyond, &mut under_way);
        bench.remove_data()?;
    }
    conclude(under_way)
}

fn conclude(under_way: UnderWay) -> Result<Done> {
    let UnderWay { trial, series, writer, done } = under_way;
    writer.commit(&trial, &series)?;
    let nothing = Done { throughput_per_s: 0.0, failed: 0, rejected: 0, window_ns: 0, invalid: trial.invalid };
    Ok(done.unwrap_or(nothing))
}

/// `None` if the trial has no result; its reason is then in `trial`.
fn unless_invalid(bench: &Bench<'_>, done: Result<Done, Failure>, trial: &mut Trial) -> Result<Option<Done>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Failure::Cancelled) => Err(Cancelled.into()),
        Err(Failure::Fatal(e)) => Err(e),
        Err(Failure::Invalid(reason)) => {
            trial.invalid.push(shown(reason, bench.workload, bench.asked));
            Ok(None)
        }
    }
}

fn stage<'b>(bench: &'b Bench<'_>, slot: Slot, round: &'b DrawnRound, base: &'b Base) -> Result<Stage<'b>> {
    let contender = &bench.study.contenders[slot.contender];
    let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
    let setup = plans::setup_of(engine, contender, base.attached.is_some());
    Ok(Stage { contender, engine, setup, round, base, slot })
}

fn blank(bench: &Bench<'_>, stage: &Stage<'_>) -> Trial {
    let condition = &bench.study.conditions[stage.slot.condition];
    Trial {
        format: RECORD_VERSION,
        slot: stage.slot,
        contender: stage.contender.name.clone(),
        condition: condition.label.clone(),
        tier: stage.contender.tier,
        invalid: vec![],
        marks: vec![],
        seed: stage.round.seed,
        base: stage.base.beside(bench.writer.dir()),
        plan_sha256: stage.round.sha256.clone(),
        load_model: stage.round.load.model().to_string(),
        window_start_ns: 0,
        window_end_ns: 0,
        workers: vec![],
        server: None,
        settings: BTreeMap::new(),
        tier_reported: None,
        planned: stage.round.planned.clone(),
        foreign_cpu_permille: 0,
        server_unwatched: false,
        fsync_ns_p50_before: 0,
        invariants: vec![],
        footprint: Footprint::default(),
        clients: stage.round.clients().count() as u32,
        samples: None,
        samples_sha256: None,
        series_sha256: None,
        bound_sha256: None,
        scale: bench.workload.numbers(stage.round.load.scale),
        tables: BTreeMap::new(),
        kinds: Tables::default(),
    }
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
