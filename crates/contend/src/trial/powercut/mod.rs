//! Crashes: what each setting keeps of what it has acknowledged. The load of a trial is carried out once more on a
//! recording file system; the disk is rebuilt as a power cut at many of its moments could have left it; every such
//! image is opened with the contender's configuration and judged. Beside it the database's processes are really
//! killed. `docs/study-durability.md` says how it is judged and why it can be believed.

pub mod cuts;
mod images;
mod judge;
mod kills;
mod place;
pub mod recorder;
pub mod replay;

use crate::check::controls::{Promise, controls};
use crate::check::survival::Ledger;
use crate::check::{Invalid, survival};
use crate::engine;
use crate::record::powercut::{BASE_DIR, LOG_FILE, Powercut};
use crate::record::store::TrialWriter;
use crate::study::model::Powercut as Wanted;
use crate::trial::admin::{Admin, Cancelled};
use crate::trial::crew::{Crew, Failure};
use crate::trial::data::{self, Fresh, Making};
use crate::trial::plans::{DrawnRound, Sql};
use crate::trial::process::monotonic_ns;
use crate::trial::run::{Bench, Done, Stage};
use crate::trial::session::Note;
use anyhow::{Result, anyhow};
use contend_powercut::log::Log;
use contend_powercut::{record, replay as model};
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use judge::Judge;
use place::{Place, copy_same, size};
use recorder::Recorder;
use std::collections::BTreeMap;
use std::path::Path;

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
        let promise = Promise {
            tier: stage.contender.tier,
            survives_kill: (stage.engine.survives_kill)(&stage.contender.settings),
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
        if let Some(why) = record::unavailable() {
            return Err(not_possible(why));
        }
        if let Some(why) = self.no_crashes(stage) {
            return Err(not_possible(why.to_string()));
        }
        (self.progress)(Note::Phase("recording what reaches the disk"));
        let (log_file, base) = (writer.partial_dir().join(LOG_FILE), writer.partial_dir().join(BASE_DIR));
        let bound = u64::from(wanted.bound_mib) << 20;
        let fallback = self.data_dir.parent().unwrap_or(&self.data_dir);
        let place = Place::make(size(&stage.base.path), bound, fallback, self.janitor)?;
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
        let idle = engine::driver(stage.contender).is_none_or(|driver| driver.executes_nothing);
        match () {
            () if stage.base.attached.is_some() => Some("a server that somebody else runs is not made to crash"),
            () if idle || !stage.engine.executes => Some("the contender keeps no data"),
            () if self.workload.databases != 1 => Some("the workload has several databases; crashes are made of one"),
            () => None,
        }
    }

    /// The load on the recorder.
    fn record(
        &self,
        stage: &Stage<'_>,
        wanted: &Wanted,
        found: &mut Powercut,
        place: &Place<'_>,
        (base, log_file): (&Path, &Path),
        admin: &mut Admin<'_>,
    ) -> Result<Recording, Failure> {
        let (backing, mountpoint) = (place.path("backing"), place.empty("mount")?);
        let laid_out = place.empty("base")?;
        let server_log = place.path("server.log");
        self.making(stage, &laid_out, &server_log, |making| data::lay_out(making, admin)).map_err(prepare)?;
        copy_same(&laid_out, &backing)?;
        copy_same(&laid_out, base)?;
        let bound = u64::from(wanted.bound_mib) << 20;
        let recorder = Recorder::start(&backing, &mountpoint, log_file, bound, self.janitor).map_err(prepare)?;
        let fresh = self.making(stage, &mountpoint, &server_log, |making| data::open(making, self.janitor, admin));
        let fresh = fresh.map_err(prepare)?;
        let (round, begun_ns) = (stage.round.for_window(wanted.window_ns), monotonic_ns());
        let samples = self.load(stage, &round, &fresh, place.path("").as_path())?;
        found.recorded_ns = monotonic_ns() - begun_ns;
        drop(fresh);
        let recorded = recorder.end().map_err(prepare)?;
        let log = Log::read(log_file).map_err(|e| prepare(anyhow!("{e}")))?;
        (found.entries, found.log_bytes, found.log_full) = (recorded.entries, recorded.bytes, recorded.full);
        let ledger = self.ledger(&round, samples);
        found.acknowledged = ledger.acknowledged().count() as u64;
        if found.acknowledged == 0 {
            return Err(prepare(anyhow!("nothing was committed on the recorder")));
        }
        Ok(Recording { log, ledger })
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

    /// The clients at work on a database, in a window without a run-in.
    fn load(
        &self,
        stage: &Stage<'_>,
        round: &DrawnRound,
        fresh: &Fresh<'_>,
        logs: &Path,
    ) -> Result<Vec<Sample>, Failure> {
        let sql = Sql::of(self.workload, stage.engine, &stage.setup);
        let plans = round.encode(stage.contender, &stage.setup, &sql, &fresh.databases)?;
        let mut crew = Crew::new(self.janitor, self.deadlines, self.cancelled);
        crew.prepare(&self.launch(stage.contender)?, &plans, logs)?;
        compare_clocks(&mut crew)?;
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
        let wanted = data::Wanted {
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

/// How often a worker that is slow to tell its clock is asked again.
const CLOCK_TRIES: u32 = 5;

/// Samples are held against the log, so their clocks must agree. On a busy machine a worker may be slow to say.
fn compare_clocks(crew: &mut Crew<'_>) -> Result<(), Failure> {
    for _ in 1..CLOCK_TRIES {
        match crew.compare_clocks() {
            Err(Failure::Invalid(reason)) if reason.kind == Invalid::Clock.word() => {}
            other => return other,
        }
    }
    crew.compare_clocks()
}

/// Samples as they arrive.
fn decode(bytes: &[u8], samples: &mut Vec<Sample>) -> Result<()> {
    for piece in bytes.as_chunks::<SAMPLE_BYTES>().0 {
        samples.push(Sample::decode(piece).map_err(|e| anyhow!(e))?);
    }
    Ok(())
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
fn over_http(contender: &crate::study::model::Contender) -> crate::study::model::Contender {
    let mut other = contender.clone();
    other.settings.insert(engine::TRANSPORT.to_string(), engine::HTTP.to_string());
    other
}
