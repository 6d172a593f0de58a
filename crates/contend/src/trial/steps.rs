//! The steps of a trial: its window, the crashes that belong to it if there are any, its place in the record. Between the first
//! two others may have their windows.

use crate::engine;
use crate::record::model::{Run, Slot, Trial};
use crate::record::store::TrialWriter;
use crate::trial::data::cache::Bases;
use crate::trial::data::load::Base;
use crate::trial::kind;
use crate::trial::plans::{self, DrawnRound, Plans};
use crate::trial::run::{Note, Session};
use crate::trial::secret::shown;
use crate::trial::stage::Stage;
use crate::trial::stop::Cancelled;
use crate::trial::trial::{Bench, Done};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::Failure;
use crate::workload::Asked;
use anyhow::{Context, Result};

/// A trial whose window is over, and which is not in the record yet.
pub struct Measured {
    trial: Trial,
    series: String,
    writer: TrialWriter,
    /// None if it came to nothing.
    done: Option<Done>,
}

impl Bench<'_> {
    /// Runs one trial and writes it into the record, valid or not.
    ///
    /// # Errors
    /// [`Cancelled`], or what stops the whole run (the record cannot be written).
    pub fn trial(&self, slot: Slot, plans: &mut Plans, base: &Base, admin: &mut Admin<'_>) -> Result<Done> {
        let measured = self.measure(slot, plans, base, admin)?;
        self.conclude(measured)
    }

    /// The window of a trial with its checks.
    ///
    /// # Errors
    /// As for [`Bench::trial`].
    pub fn measure(&self, slot: Slot, plans: &mut Plans, base: &Base, admin: &mut Admin<'_>) -> Result<Measured> {
        let round = plans.of(self.study, self.workload, slot)?;
        let stage = self.stage(slot, &round, base)?;
        let mut writer = self.writer.trial(slot.trial)?;
        let (mut trial, mut series) = (self.blank(&stage), String::new());
        let ran = self.run(&stage, &mut trial, &mut series, &mut writer, admin);
        let done = self.unless_invalid(ran, &mut trial)?;
        self.remove_data()?;
        Ok(Measured { trial, series, writer, done })
    }

    /// The crashes that belong to a trial, and its place in the record.
    ///
    /// # Errors
    /// As for [`Bench::trial`].
    pub fn crash_and_conclude(
        &self,
        mut measured: Measured,
        plans: &mut Plans,
        base: &Base,
        admin: &mut Admin<'_>,
    ) -> Result<Done> {
        if let Some(done) = measured.done.take() {
            let slot = measured.trial.slot;
            let round = plans.of(self.study, self.workload, slot)?;
            let stage = self.stage(slot, &round, base)?;
            let step = kind::KINDS.all().iter().find(|kind| kind.name == self.study.kind.word());
            let step =
                step.with_context(|| format!("nothing carries out a study of kind `{}`", self.study.kind.word()))?;
            let ended = (step.step)(self, &stage, &mut measured.trial, &mut measured.writer, admin);
            let invalid = measured.trial.invalid.clone();
            measured.done = self.unless_invalid(ended.map(|()| Done { invalid, ..done }), &mut measured.trial)?;
            self.remove_data()?;
        }
        self.conclude(measured)
    }

    fn conclude(&self, measured: Measured) -> Result<Done> {
        let Measured { trial, series, writer, done } = measured;
        writer.commit(&trial, &series)?;
        let nothing = Done { throughput_per_s: 0.0, failed: 0, window_ns: 0, invalid: trial.invalid };
        Ok(done.unwrap_or(nothing))
    }

    /// None if a trial came to nothing, which then says why.
    fn unless_invalid(&self, done: Result<Done, Failure>, trial: &mut Trial) -> Result<Option<Done>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(Failure::Cancelled) => Err(Cancelled.into()),
            Err(Failure::Fatal(e)) => Err(e),
            Err(Failure::Invalid(reason)) => {
                trial.invalid.push(shown(reason, self.workload, self.asked));
                Ok(None)
            }
        }
    }

    fn stage<'b>(&'b self, slot: Slot, round: &'b DrawnRound, base: &'b Base) -> Result<Stage<'b>> {
        let contender = &self.study.contenders[slot.contender];
        let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
        let setup = plans::setup_of(engine, contender, base.attached.is_some());
        Ok(Stage { contender, engine, setup, round, base, slot })
    }
}

impl Session<'_> {
    /// All trials that are left, in their order. Crashes come after all of them: images are written long after rates were
    /// measured, on a disk that has not seen any.
    pub(super) fn trials(
        &self,
        run: &Run,
        left: &[Slot],
        asked: Option<&Asked>,
        (plans, bases, admin): (&mut Plans, &mut Bases, &mut Admin<'_>),
        measured_ns: &mut u64,
    ) -> Result<()> {
        let (study, total) = (&run.study, run.schedule.len());
        let (mut to_crash, mut unfinished) = (vec![], left.len());
        let tell = self.common.tell;
        for slot in left {
            let base = self.base(bases, study, slot, admin)?;
            tell(Note::Begins { study, slot: *slot, total, left: unfinished });
            let bench = self.bench(run, slot, asked);
            if study.powercut.is_some() && slot.round == study.rounds {
                to_crash.push((slot, bench.measure(*slot, plans, &base, admin)?));
            } else {
                let done = bench.trial(*slot, plans, &base, admin)?;
                *measured_ns += done.window_ns;
                tell(Note::Done { study, slot: *slot, done: &done });
                unfinished -= 1;
            }
        }
        for (slot, measured) in to_crash {
            let base = self.base(bases, study, slot, admin)?;
            tell(Note::Begins { study, slot: *slot, total, left: unfinished });
            let done = self.bench(run, slot, asked).crash_and_conclude(measured, plans, &base, admin)?;
            *measured_ns += done.window_ns;
            tell(Note::Done { study, slot: *slot, done: &done });
            unfinished -= 1;
        }
        Ok(())
    }
}
