//! Crashes: what each setting keeps of what it has acknowledged. The load of a trial is carried out once more on a
//! recording file system; the disk is rebuilt as a power cut at many of its moments could have left it; every such
//! image is opened with the contender's configuration and judged. Beside it the database's processes are really
//! killed. `docs/study-durability.md` says how it is judged and why it can be believed.

pub mod cuts;
mod images;
mod judge;
pub mod kernel;
mod kills;
mod lies;
pub mod place;
pub mod recorder;
pub mod replay;
pub mod shim;
mod write_back;

use crate::check::controls::{Promise, controls};
use crate::check::survival::Ledger;
use crate::check::{Invalid, crashes_count, survival};
use crate::engine::{self, Engine};
use crate::record::powercut::{BASE_DIR, LOG_FILE, Powercut};
use crate::record::store::TrialWriter;
use crate::stats::precision::Ns;
use crate::study::model::{Contender, Powercut as Wanted};
use crate::trial::data::fresh;
use crate::trial::data::fresh::{Fresh, Making};
use crate::trial::data::load;
use crate::trial::plans::{DrawnRound, Sql};
use crate::trial::run::Note;
use crate::trial::stop::Cancelled;
use crate::trial::trial::{Bench, Done, Stage};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::admin::script_target;
use crate::trial::workers::crew::{Crew, Failure};
use crate::trial::workers::process::{Launch, monotonic_ns};
use crate::trial::workers::refusal::Whose;
use anyhow::{Result, anyhow};
use contend_powercut::log::Log;
use contend_powercut::replay as model;
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use judge::Judge;
use place::{Place, copy_same, size};
use recorder::Recorder;
use shim::Way;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Commits below which a recording shows little: it is made again in a longer window.
const COMMITS_MIN: u64 = 60;

/// How many times as long, attempt by attempt.
const LONGER: [u64; 3] = [1, 4, 16];

/// What the recorder left: the log, and who was told what.
struct Recording {
    log: Log,
    ledger: Ledger,
}

impl Bench<'_> {
    /// The crashes of a trial, in a study that makes some.
    pub(super) fn crash(
        &self,
        stage: &Stage<'_>,
        trial: &mut crate::record::model::Trial,
        writer: &mut TrialWriter,
        admin: &mut Admin<'_>,
        done: Done,
    ) -> Result<Done, Failure> {
        let Some(wanted) = &self.study.powercut else { return Ok(done) };
        if !crashes_count(&trial.invalid) {
            // Nobody would be shown what they left.
            return Ok(Done { invalid: trial.invalid.clone(), ..done });
        }
        let mut found = Powercut { models_version: model::MODELS_VERSION, ..Powercut::default() };
        self.remove_data()?;
        match self.cut(stage, wanted, &mut found, writer, admin) {
            Ok(()) => {}
            Err(Failure::Invalid(reason)) => found.not_verified = Some(format!("{}: {}", reason.kind, reason.detail)),
            Err(other) => return Err(other),
        }
        if found.failing.is_empty() {
            // Nothing to rebuild, or nothing was recorded.
            let _ = std::fs::remove_dir_all(writer.partial_dir().join(BASE_DIR));
            let _ = std::fs::remove_file(writer.partial_dir().join(LOG_FILE));
        }
        self.kill(stage, wanted, &mut found, writer.partial_dir(), admin)?;
        self.cut_kernel(stage, wanted, &mut found)?;
        let told = !engine::as_it_comes(stage.contender);
        let promise = Promise {
            tier: stage.contender.tier,
            survives_kill: told.then(|| (stage.engine.survives_kill)(&stage.contender.settings)),
            syncs: told.then(|| (stage.engine.syncs)(&stage.contender.settings)),
        };
        found.controls = controls(promise, &found);
        let failed = found.controls.iter().filter(|control| !control.holds);
        trial.invalid.extend(failed.map(|c| Invalid::Control.because(format!("{}: {}", c.name, c.found))));
        trial.marks.extend(found.not_verified.iter().map(|why| format!("not verified: {why}")));
        trial.powercut = Some(found);
        Ok(Done { invalid: trial.invalid.clone(), ..done })
    }

    /// Power cuts.
    fn cut(
        &self,
        stage: &Stage<'_>,
        wanted: &Wanted,
        found: &mut Powercut,
        writer: &mut TrialWriter,
        admin: &mut Admin<'_>,
    ) -> Result<(), Failure> {
        let not_possible = |why: String| Failure::Invalid(Invalid::Prepare.because(why));
        if let Some(why) = self.no_crashes(stage) {
            return Err(not_possible(why.to_string()));
        }
        let driver = engine::driver(stage.contender);
        let own = stage.engine.server.is_none()
            && self.instead.worker.is_none()
            && !engine::is_over_http(stage.contender)
            && driver.is_some_and(|driver| driver.program.is_none());
        if let Way::Shim(why) = shim::way(own).map_err(|e| not_possible(e.to_string()))? {
            found.by_vfs = Some(why);
        }
        (self.progress)(Note::Phase("recording what reaches the disk"));
        let (log_file, base) = (writer.partial_dir().join(LOG_FILE), writer.partial_dir().join(BASE_DIR));
        let bound = u64::from(wanted.bound_mib) << 20;
        let fallback = self.data_dir.parent().unwrap_or(&self.data_dir);
        let place = Place::make(size(&stage.base.path), bound, fallback, self.janitor).map_err(prepare)?;
        let recording = self.record(stage, wanted, found, &place, (&base, &log_file), admin)?;
        (self.progress)(Note::Phase("cutting the power"));
        let begun_ns = monotonic_ns();
        let judge = Judge::new(stage.engine, &stage.setup, self.workload, stage.round.load.scale, recording.ledger);
        let images = images::Images { bench: self, stage, wanted, place: &place, log: &recording.log, judge: &judge };
        images.judge_all(&base, found, writer.partial_dir(), admin)?;
        images.judge_lies(&base, found, writer.partial_dir(), admin)?;
        found.judging_ns = monotonic_ns() - begun_ns;
        Ok(())
    }

    /// Why nothing may crash.
    fn no_crashes(&self, stage: &Stage<'_>) -> Option<&'static str> {
        why_no_crashes(stage.contender, stage.engine, stage.base.attached.is_some(), self.workload.databases)
    }

    /// The load on the recorder; once more in a longer window if hardly anything was committed.
    fn record(
        &self,
        stage: &Stage<'_>,
        wanted: &Wanted,
        found: &mut Powercut,
        place: &Place<'_>,
        (base, log_file): (&Path, &Path),
        admin: &mut Admin<'_>,
    ) -> Result<Recording, Failure> {
        let laid_out = place.empty("base").map_err(prepare)?;
        let server_log = place.path("server.log");
        self.making(stage, &laid_out, &server_log, |making| fresh::lay_out(making, admin)).map_err(prepare)?;
        copy_same(&laid_out, base).map_err(prepare)?;
        for (attempt, times) in LONGER.iter().enumerate() {
            let least_ns = stage.engine.server.map_or(0, |server| server.write_back_ns);
            let window_ns = (wanted.window_ns * times).max(least_ns);
            let recording = self.record_once(stage, (window_ns, wanted.bound_mib), found, place, log_file, admin)?;
            // A longer window adds nothing to a log that is full.
            if found.acknowledged >= COMMITS_MIN || found.log_full || attempt + 1 == LONGER.len() {
                if found.acknowledged == 0 {
                    return Err(prepare(anyhow!("nothing was committed on the recorder in {}", Ns(window_ns))));
                }
                return Ok(recording);
            }
            std::fs::remove_file(log_file).map_err(|e| prepare(e.into()))?;
        }
        Err(prepare(anyhow!("nothing was recorded")))
    }

    fn record_once(
        &self,
        stage: &Stage<'_>,
        (window_ns, bound_mib): (u64, u32),
        found: &mut Powercut,
        place: &Place<'_>,
        log_file: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<Recording, Failure> {
        let backing = place.empty("backing").map_err(prepare)?;
        let mountpoint = place.empty("mount").map_err(prepare)?;
        copy_same(&place.path("base"), &backing).map_err(prepare)?;
        let bound = u64::from(bound_mib) << 20;
        if found.by_vfs.is_some() {
            return self.record_by_shim(stage, (window_ns, bound), found, place, &backing, log_file);
        }
        let recorder = Recorder::start(&backing, &mountpoint, log_file, bound, self.janitor).map_err(prepare)?;
        let server_log = place.path("server.log");
        let fresh = self.making(stage, &mountpoint, &server_log, |making| fresh::open(making, self.janitor, admin));
        let fresh = fresh.map_err(prepare)?;
        let round = stage.round.for_window(window_ns);
        let samples = self.load_and_write_back(stage, &round, &fresh, place.path("").as_path())?;
        drop(fresh);
        let recorded = recorder.end().map_err(prepare)?;
        (found.entries, found.log_bytes, found.log_full) = (recorded.entries, recorded.bytes, recorded.full);
        let log = read_log(log_file)?;
        Ok(self.recording(log, &round, samples, found))
    }

    /// The same where nothing can be mounted: the clients of one process, which records itself.
    fn record_by_shim(
        &self,
        stage: &Stage<'_>,
        (window_ns, bound): (u64, u64),
        found: &mut Powercut,
        place: &Place<'_>,
        dir: &Path,
        log_file: &Path,
    ) -> Result<Recording, Failure> {
        let fresh = self.making(stage, dir, &place.path("server.log"), Fresh::embedded);
        let round = stage.round.for_window(window_ns).of_one_worker();
        let launch = shim::launch(dir, log_file, bound).map_err(prepare)?;
        let samples = self.load_with(&launch, stage, &round, &fresh, place.path("").as_path())?;
        let log = read_log(log_file)?;
        let bytes = std::fs::metadata(log_file).map_or(0, |file| file.len());
        (found.entries, found.log_bytes, found.log_full) = (log.len() as u64, bytes, log.full);
        Ok(self.recording(log, &round, samples, found))
    }

    /// What was recorded beside what was sent; how much that is goes into what was found.
    fn recording(&self, log: Log, round: &DrawnRound, samples: Vec<Sample>, found: &mut Powercut) -> Recording {
        let ledger = self.ledger(round, samples);
        found.acknowledged = ledger.acknowledged().count() as u64;
        found.recorded_ns = ledger.span_ns().map_or(0, |(first, last)| last - first);
        Recording { log, ledger }
    }

    /// What was sent, from the samples of all clients.
    fn ledger(&self, round: &DrawnRound, samples: Vec<Sample>) -> Ledger {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for sample in &samples {
            let count = counts.entry(sample.client).or_default();
            *count = (*count).max(sample.operation + 1);
        }
        let marks: BTreeMap<u32, Vec<Option<i64>>> = round
            .clients()
            .map(|c| (c.id, self.workload.marks_of(c, counts.get(&c.id).copied().unwrap_or(0))))
            .collect();
        let mark = |client, number| marks.get(&client)?.get(number as usize).copied().flatten();
        Ledger::from_samples(samples, mark)
    }

    /// The clients at work, while a server is told to write its pages to the data files.
    fn load_and_write_back(
        &self,
        stage: &Stage<'_>,
        round: &DrawnRound,
        fresh: &Fresh<'_>,
        logs: &Path,
    ) -> Result<Vec<Sample>, Failure> {
        let Some(server) = stage.engine.server else { return self.load(stage, round, fresh, logs) };
        let (done, janitor) = (AtomicBool::new(false), self.janitor);
        let target = script_target(stage.engine, &fresh.inside[0]);
        let log = logs.join("write-back.log");
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| write_back::keep_on(server, &target, &log, janitor, &done));
            let samples = self.load(stage, round, fresh, logs);
            done.store(true, Ordering::Relaxed);
            let written = writing.join().unwrap_or_else(|_| Err(anyhow!("whoever writes pages back broke down")));
            // What became of the clients matters more.
            samples.and_then(|samples| written.map(|()| samples).map_err(prepare))
        })
    }

    /// The clients at work on a database, in a window without a run-in.
    fn load(
        &self,
        stage: &Stage<'_>,
        round: &DrawnRound,
        fresh: &Fresh<'_>,
        logs: &Path,
    ) -> Result<Vec<Sample>, Failure> {
        self.load_with(&self.launch(stage.contender)?, stage, round, fresh, logs)
    }

    fn load_with(
        &self,
        launch: &Launch,
        stage: &Stage<'_>,
        round: &DrawnRound,
        fresh: &Fresh<'_>,
        logs: &Path,
    ) -> Result<Vec<Sample>, Failure> {
        let sql = Sql::of(self.workload, stage.engine, &stage.setup);
        let plans = round.encode(stage.contender, &stage.setup, &sql, &fresh.databases)?;
        let whose = Whose::Driver(stage.contender.driver.clone());
        let mut crew = Crew::new(whose, self.janitor, self.deadlines, self.cancelled);
        crew.prepare(launch, &plans, logs)?;
        crew.compare_clocks()?;
        let end_ns = crew.start() + round.load.window_ns;
        let mut samples = vec![];
        crew.collect(Some(end_ns), round.load.drain_ns, &mut |b| decode(b, &mut samples), || (), &mut |_| ())?;
        crew.dismiss();
        Ok(samples)
    }

    /// Hands on what data in this directory is made from and for.
    pub(super) fn making<T>(
        &self,
        stage: &Stage<'_>,
        dir: &Path,
        server_log: &Path,
        make: impl FnOnce(&Making<'_>) -> T,
    ) -> T {
        let load = &stage.round.load;
        let wanted = load::Wanted {
            engine: stage.engine,
            workload: self.workload,
            scale: load.scale,
            seed: load.seed,
            before: (stage.engine.before_load)(&stage.contender.settings),
            loader: String::new(),
            by: stage.engine.loader,
        };
        make(&Making {
            engine: stage.engine,
            base: stage.base,
            wanted: &wanted,
            dir,
            setup: &stage.setup,
            settings: &stage.contender.settings,
            connections: stage.round.connections(stage.contender) as u32,
            server_log,
        })
    }
}

/// Why a contender's processes are not killed, and its power is not cut.
fn why_no_crashes(contender: &Contender, engine: &Engine, attached: bool, databases: u32) -> Option<&'static str> {
    let idle = engine::driver(contender).is_none_or(|driver| driver.executes_nothing);
    match () {
        () if attached => Some("a server that somebody else runs is not made to crash"),
        () if engine::is_app(contender) => {
            Some("what clients ask of an app leaves no marks, so nothing tells which of it is kept")
        }
        () if idle || !engine.executes => Some("the contender keeps no data"),
        () if databases != 1 => Some("the workload has several databases; crashes are made of one"),
        () => None,
    }
}

/// Samples as they arrive.
fn decode(bytes: &[u8], samples: &mut Vec<Sample>) -> Result<()> {
    for piece in bytes.as_chunks::<SAMPLE_BYTES>().0 {
        samples.push(Sample::decode(piece).map_err(|e| anyhow!(e))?);
    }
    Ok(())
}

fn read_log(file: &Path) -> Result<Log, Failure> {
    Log::read(file).map_err(|e| prepare(anyhow!("{e}")))
}

/// What keeps the power from being cut, unless it is the user.
fn prepare(error: anyhow::Error) -> Failure {
    if error.is::<Cancelled>() {
        return Failure::Cancelled;
    }
    Failure::Invalid(Invalid::Prepare.because(format!("{error:#}")))
}

/// The instant of a cut: between two entries of the log.
fn instant(log: &Log, position: usize) -> survival::Instant {
    survival::Instant { after_ns: log.begins_ns(position), before_ns: log.ends_ns(position) }
}

/// The setup of a contender whose database is in a worker that is asked over HTTP.
fn over_http(contender: &Contender) -> Contender {
    let mut other = contender.clone();
    other.settings.insert(engine::TRANSPORT.to_string(), engine::HTTP.to_string());
    engine::resolved(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::app::is_app;
    use crate::study::model::{Resolved, Tier};

    #[test]
    fn who_leaves_no_marks_is_not_made_to_crash() {
        let of = |driver: &str, attached, databases| {
            let engine = engine::find("sqlite").expect("an engine");
            let contender = Contender {
                name: String::new(),
                label: String::new(),
                engine: engine.name.to_string(),
                driver: driver.to_string(),
                model: String::new(),
                settings: BTreeMap::new(),
                tier: Tier::Durable,
                resolved: Resolved::default(),
            };
            why_no_crashes(&contender, engine, attached, databases)
        };
        let own = engine::find("sqlite").expect("an engine").drivers().find(|d| !d.executes_nothing).expect("a driver");
        assert_eq!(of(own.name, false, 1), None);
        assert!(of(own.name, true, 1).expect("a reason").contains("somebody else"));
        assert!(of(own.name, false, 2).expect("a reason").contains("several databases"));
        let apps: Vec<_> = engine::find("sqlite").expect("an engine").drivers().filter(|d| is_app(d.name)).collect();
        assert!(!apps.is_empty());
        for app in apps {
            assert!(of(app.name, false, 1).expect("a reason").contains("no marks"), "{}", app.name);
        }
    }
}
