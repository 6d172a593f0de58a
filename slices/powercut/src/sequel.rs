//! The sequel of a trial: repeats its load on a recorder, then makes power cuts, then kills.

use crate::controls::{Promise, controls};
use crate::crash::{Crash, prepare};
use crate::images::Images;
use crate::judge::Judge;
use crate::kernel;
use crate::keys::{NAME, Wanted};
use crate::kills::Kills;
use crate::load::Load;
use crate::place::{WorkDir, size};
use crate::results::{BASE_DIR, LOG_FILE, Powercut};
use crate::shim::{self, Way};
use contend::engine;
use contend::outcome::mark::Mark;
use contend::outcome::reason::{Invalid, crashes_count};
use contend::record::model::Trial;
use contend::record::store::TrialWriter;
use contend::trial::bench::Bench;
use contend::trial::clock::monotonic_ns;
use contend::trial::note::Note;
use contend::trial::stage::Stage;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::crew::Failure;
use contend_powercut::replay::MODELS_VERSION;
use std::path::Path;

/// Makes the crashes of a trial.
pub fn crash(
    bench: &Bench<'_>,
    stage: &Stage<'_>,
    trial: &mut Trial,
    writer: &mut TrialWriter,
    admin: &mut Admin<'_>,
) -> Result<(), Failure> {
    let Some(wanted) = &Wanted::of(bench.study) else { return Ok(()) };
    if !crashes_count(&trial.invalid) {
        // A report would not show crashes of a trial that does not count.
        return Ok(());
    }
    let crash = Crash { bench, wanted };
    let found = made(crash, stage, writer.partial_dir(), admin)?;
    let failed = found.controls.iter().filter(|control| !control.holds);
    trial.invalid.extend(failed.map(|c| Invalid::Control.because(format!("{}: {}", c.name, c.found))));
    trial.marks.extend(found.not_verified.iter().map(|why| Mark::NotVerified { why: why.clone() }));
    trial.kinds.put(NAME, &found).map_err(|e| Failure::Fatal(e.into()))
}

/// Results of all crashes, with the controls; `logs` is the trial's directory.
fn made(crash: Crash<'_>, stage: &Stage<'_>, logs: &Path, admin: &mut Admin<'_>) -> Result<Powercut, Failure> {
    let mut found = Powercut { models_version: MODELS_VERSION, ..Powercut::default() };
    crash.remove_data()?;
    match cut(crash, stage, &mut found, logs, admin) {
        Ok(()) => {}
        Err(Failure::Invalid(reason)) => found.not_verified = Some(format!("{}: {}", reason.kind, reason.detail)),
        Err(other) => return Err(other),
    }
    if found.failing.is_empty() {
        // No image needs the base, or nothing was recorded.
        let _ = std::fs::remove_dir_all(logs.join(BASE_DIR));
        let _ = std::fs::remove_file(logs.join(LOG_FILE));
    }
    Kills { crash, logs }.kill(stage, &mut found, admin)?;
    kernel::cut(crash.bench, stage, crash.wanted, &mut found)?;
    let told = !engine::as_it_comes(stage.contender);
    let promise = Promise {
        tier: stage.contender.tier,
        survives_kill: told.then(|| (stage.engine.durability.survives_kill)(&stage.contender.settings)),
        syncs: told.then(|| (stage.engine.durability.syncs)(&stage.contender.settings)),
    };
    found.controls = controls(promise, &found);
    Ok(found)
}

/// Records the load and makes the power cuts.
fn cut(
    crash: Crash<'_>,
    stage: &Stage<'_>,
    found: &mut Powercut,
    logs: &Path,
    admin: &mut Admin<'_>,
) -> Result<(), Failure> {
    let not_possible = |why: String| Failure::Invalid(Invalid::Prepare.because(why));
    if let Some(why) = crash.no_crashes(stage) {
        return Err(not_possible(why.to_string()));
    }
    let driver = engine::driver(stage.contender);
    let own = stage.engine.server.is_none()
        && crash.instead.worker.is_none()
        && !engine::is_over_http(stage.contender)
        && driver.is_some_and(|driver| driver.program.is_none());
    if let Way::Shim(why) = shim::way(own).map_err(|e| not_possible(e.to_string()))? {
        found.by_vfs = Some(why);
    }
    (crash.progress)(Note::Phase("recording what reaches the disk"));
    let (log_file, base) = (logs.join(LOG_FILE), logs.join(BASE_DIR));
    let bound = u64::from(crash.wanted.bound_mib) << 20;
    let fallback = crash.data_dir.parent().unwrap_or(&crash.data_dir);
    let place = WorkDir::make(size(&stage.base.path), bound, fallback, crash.janitor).map_err(prepare)?;
    let load = Load { crash, stage, place: &place };
    let recording = load.record(found, (&base, &log_file), admin)?;
    (crash.progress)(Note::Phase("cutting the power"));
    let begun_ns = monotonic_ns();
    let judge = Judge::new(stage.engine, &stage.setup, crash.workload, stage.round.load.scale, recording.ledger);
    let images = Images { crash, stage, place: &place, log: &recording.log, judge: &judge };
    let judged =
        images.judge_all(&base, found, logs, admin).and_then(|()| images.judge_lies(&base, found, logs, admin));
    found.judging_ns = monotonic_ns() - begun_ns;
    judged
}
