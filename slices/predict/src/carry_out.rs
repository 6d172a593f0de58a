//! Carries out what was predicted: the contender without syncs, and the rate at which a bound is reached.

use crate::prediction::{Intervention, Prediction};
use crate::sweeps::{Kind, Subject, measured_at};
use anyhow::{Context, Result, ensure};
use contend::analysis::Findings;
use contend::cli::order::numbered_out;
use contend::cli::stop_on_signals;
use contend::load;
use contend::record::parts::StudyRecord;
use contend::record::store::Record;
use contend::source::Source;
use contend::study::model::{Condition, Contender, Study, Whole};
use contend::study::with_setting::without_syncs;
use contend::trial::order::Order;
use contend::trial::run::{Ending, run};
use contend::trial::watch::machine;
use contend::trial::workers::process::InsteadOf;
use contend::trial::workers::processes::Deadlines;
use contend::ui::Progress;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Most rounds that are carried out.
const ROUNDS: u32 = 6;

/// One experiment: these contenders under this condition.
struct Experiment {
    /// Position of the prediction.
    of: usize,
    contenders: Vec<Contender>,
    condition: Condition,
    /// What the axis has there.
    x: f64,
    kind: Kind,
    /// What the law says without syncs; `None` for a rate.
    predicted_per_s: Option<f64>,
}

/// Carries out the interventions and the bound of each prediction of a record, and adds what was measured to them. False if the
/// user stopped it.
///
/// # Errors
/// There is nothing to carry out, or the record is of other programs or another server than contend's.
pub fn carry_out(
    record: &Record,
    (subjects, predictions): (&[Subject], &mut [Prediction]),
    out: Option<&Path>,
) -> Result<bool> {
    let own = &record.run.instead;
    ensure!(
        own.server.is_none() && own.worker.is_none() && own.client.is_none(),
        "--carry-out starts contend's own servers and workers, and this record is of others"
    );
    let (here, there) = (machine::describe(), &record.run.machine);
    ensure!(
        (&here.cpu, here.cores, &here.kernel) == (&there.cpu, there.cores, &there.kernel),
        "--carry-out compares with what the record's machine measured ({}, {} processors, kernel {}), and this one is {}, {} \
         processors, kernel {}",
        there.cpu,
        there.cores,
        there.kernel,
        here.cpu,
        here.cores,
        here.kernel
    );
    let experiments = experiments(record, subjects, predictions)?;
    let out = out.map_or_else(|| numbered_out("carried-out"), Path::to_path_buf);
    let stop = stop_on_signals()?;
    let progress = Progress::new(false);
    for (number, experiment) in experiments.iter().enumerate() {
        let order = order(record, experiment, out.join(format!("{}", number + 1)));
        let ending = run(&order, &|| stop.load(Ordering::Relaxed), &|note| progress.show(&note));
        progress.finish();
        if ending? == Ending::Stopped {
            contend::tell!("Stopped. What is finished is in {}.", order.out.display());
            return Ok(false);
        }
        add(experiment, &order.out, &mut predictions[experiment.of])?;
    }
    ensure!(
        !experiments.is_empty(),
        "nothing can be carried out: no law with a flush or one writer is trusted, or the contender waits for no sync; and \
         without --bound there is no rate"
    );
    Ok(true)
}

fn experiments(record: &Record, subjects: &[Subject], predictions: &[Prediction]) -> Result<Vec<Experiment>> {
    let study = &record.run.study;
    let mut all = vec![];
    for (of, (subject, prediction)) in subjects.iter().zip(predictions).enumerate() {
        let base = &study.contenders[subject.contender_at];
        let largest = &study.conditions[subject.largest];
        let x = subject.points.last().map_or(0.0, |point| point.x);
        if let Some(predicted_per_s) = prediction.without_syncs_per_s
            && let Some((_, relaxed)) = without_syncs(base)?
        {
            let contenders = vec![base.clone(), relaxed];
            let condition = largest.clone();
            all.push(Experiment {
                of,
                contenders,
                condition,
                x,
                kind: subject.kind,
                predicted_per_s: Some(predicted_per_s),
            });
        }
        if let Some(rate) = prediction.bound.as_ref().and_then(|bound| bound.rate_per_s) {
            let mut condition = largest.clone();
            condition.axes.insert(load::key("rate").to_string(), format!("{rate:.3}"));
            condition.label = format!("{rate:.0}/s, as predicted");
            all.push(Experiment {
                of,
                contenders: vec![base.clone()],
                condition,
                x: rate,
                kind: subject.kind,
                predicted_per_s: None,
            });
        }
    }
    Ok(all)
}

/// The run of an experiment, with the record's workload and load.
fn order(record: &Record, experiment: &Experiment, out: PathBuf) -> Order {
    let run = &record.run;
    let question = "What is measured of what was predicted?";
    let contenders = experiment.contenders.clone();
    let conditions = vec![experiment.condition.clone()];
    let alone = Study::alone(&run.study.name, question, run.study.load.clone(), contenders, conditions);
    let rounds = run.study.rounds.min(ROUNDS);
    let study = Study { workload: run.study.workload.clone(), scenario: run.study.scenario.clone(), rounds, ..alone };
    Order {
        whole: Whole {
            name: study.name.clone(),
            question: study.question.clone(),
            variant: study.variant,
            extent: study.extent,
            studies: vec![study],
        },
        workloads: vec![Source::new(run.workload.file.clone(), run.workload.text.clone())],
        scenarios: vec![
            run.scenario.as_ref().map(|scenario| Source::new(scenario.file.clone(), scenario.text.clone())),
        ],
        out,
        command: contend::cli::arguments().collect(),
        instead: InsteadOf::default(),
        secrets: BTreeMap::new(),
        deadlines: Deadlines::default(),
        allow_tmpfs: run.disk.no_sync().is_some(),
        attached: None,
    }
}

/// Adds what an experiment measured.
fn add(experiment: &Experiment, out: &Path, prediction: &mut Prediction) -> Result<()> {
    let found = StudyRecord::open(out)?;
    let (_, record) = found.parts.first().context("a run has a record")?;
    let findings = Findings::new(record);
    let measured = |contender: usize| {
        let value = measured_at(&findings, contender, experiment.kind);
        value.with_context(|| {
            format!(
                "{} has no valid trial or did not keep up in {}",
                experiment.contenders[contender].label,
                out.display()
            )
        })
    };
    match experiment.predicted_per_s {
        Some(predicted_per_s) => prediction.interventions.push(Intervention {
            contender: experiment.contenders[1].label.clone(),
            clients: experiment.x,
            predicted_per_s,
            measured_per_s: measured(1)?,
            with_syncs_per_s: Some(measured(0)?),
        }),
        None => {
            if let Some(bound) = &mut prediction.bound {
                bound.measured_s = Some(measured(0)?);
            }
        }
    }
    Ok(())
}
