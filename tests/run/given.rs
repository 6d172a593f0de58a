//! Records with given figures: what contend concludes from them does not depend on the machine.

use crate::support::root;
use contend::record::model::{Run, Slot, Trial};
use contend::record::store::{Record, RecordWriter};
use contend::study::model::Condition;
use contend_wire::sample::{CodeSpace, STEP_NONE, Sample};
use std::path::Path;

/// Length of the window of each trial.
pub const WINDOW_NS: u64 = 2_000_000_000;

/// A record whose run and trials others are made from.
pub fn fixture() -> Record {
    Record::open(&root().join("tests/fixtures/records/format-3")).expect("a fixture")
}

/// The run with this number of rounds and these conditions: each contender once in each round under each condition.
pub fn planned(mut run: Run, rounds: u32, conditions: Vec<Condition>) -> Run {
    run.machine.cores = 64;
    run.study.rounds = rounds;
    (run.study.load.window_ns, run.study.load.operations) = (WINDOW_NS, None);
    run.study.conditions = conditions;
    let contenders = run.study.contenders.len();
    let arms = (0..run.study.conditions.len()).flat_map(|condition| (0..contenders).map(move |arm| (condition, arm)));
    let slots = (1..=rounds).flat_map(|round| arms.clone().map(move |arm| (round, arm))).zip(1..);
    run.schedule =
        slots.map(|((round, (condition, contender)), trial)| Slot { trial, round, condition, contender }).collect();
    run
}

/// What the clients of a trial do.
pub struct Work {
    /// Time of each operation.
    pub each_ns: f64,
    /// Operations that fail, of ten.
    pub failing: u32,
}

impl From<f64> for Work {
    fn from(each_ns: f64) -> Self {
        Self { each_ns, failing: 0 }
    }
}

/// Writes a record, each trial as `figures` makes it from the first trial of `like`.
pub fn write<W: Into<Work>>(dir: &Path, run: &Run, like: &Record, figures: impl Fn(&mut Trial) -> W) {
    let writer = RecordWriter::create(dir, run).expect("a record");
    for slot in &run.schedule {
        let mut trial = like.trials[0].clone();
        let contender = &run.study.contenders[slot.contender];
        trial.slot = *slot;
        (trial.contender, trial.tier) = (contender.name.clone(), contender.tier);
        trial.condition.clone_from(&run.study.conditions[slot.condition].label);
        trial.window_end_ns = trial.window_start_ns + WINDOW_NS;
        trial.marks.clear();
        let work = figures(&mut trial).into();
        write_trial(&writer, trial, &work);
    }
}

/// A trial whose clients work without a pause.
fn write_trial(writer: &RecordWriter, mut trial: Trial, Work { each_ns, failing }: &Work) {
    let of_each = operations(*each_ns);
    trial.samples = Some(u64::from(trial.clients * of_each));
    let mut open = writer.trial(trial.slot.trial).expect("a trial");
    for client in 0..trial.clients {
        for operation in 0..of_each {
            let at = |n: u32| trial.window_start_ns + (f64::from(n) * each_ns) as u64;
            let fails = operation % 10 < *failing;
            let sample = Sample {
                client,
                operation,
                transaction: 1,
                attempt: 0,
                failed_step: if fails { 0 } else { STEP_NONE },
                code_space: if fails { CodeSpace::Http } else { CodeSpace::Ok },
                flags: 0,
                code: if fails { 500 } else { 0 },
                rows: 1,
                due_ns: at(operation),
                started_ns: at(operation),
                finished_ns: at(operation + 1),
                lock_wait_ns: 0,
                acquire_wait_ns: 0,
            };
            open.samples(&sample.encode()).expect("written");
        }
    }
    open.commit(&trial, "offset_ns\n").expect("a trial");
}

/// Operations of a client in a window.
pub fn operations(each_ns: f64) -> u32 {
    (WINDOW_NS as f64 / each_ns) as u32
}

/// A factor that differs from trial to trial by up to one per cent.
pub fn noise(trial: u32) -> f64 {
    1.0 + 0.01 * (f64::from(trial * 7 % 11) / 5.0 - 1.0)
}
