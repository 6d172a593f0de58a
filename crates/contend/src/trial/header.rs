//! The beginning of a run: studies and workloads are checked, and the header of the record is made.

use crate::record::model::{Disk, Instead, RECORD_VERSION, Run, StudyFile};
use crate::source::Source;
use crate::study::model::{Study, Whole};
use crate::study::schedule;
use crate::trial::dialect::under_conditions;
use crate::trial::order::Order;
use crate::trial::plans;
use crate::trial::processors;
use crate::trial::recorded::workload_info;
use crate::trial::secret::filled_in;
use crate::trial::server::secrets::random_text;
use crate::trial::watch::machine;
use crate::workload::{self, Dialects};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// The workload of a study under each of its conditions. Conditions that are impossible or too large are rejected
/// before anything is measured, started or loaded.
///
/// # Errors
/// What is wrong, with part and condition.
pub fn checked(study: &Study, source: &Source, secrets: &BTreeMap<String, String>) -> Result<Vec<Dialects>> {
    let part = study.part.as_ref().map_or(String::new(), |part| format!("part {part}, "));
    let workloads = under_conditions(&filled_in(workload::parse(source)?, secrets)?, study);
    let workloads = workloads.map_err(|error| match &study.part {
        Some(part) => error.context(format!("part {part}")),
        None => error,
    })?;
    processors::check(&study.conditions).with_context(|| format!("{part}study {}", study.name))?;
    for (at, (condition, workload)) in study.conditions.iter().zip(&workloads).enumerate() {
        let fits = plans::check(study, at, workload.of(None));
        fits.and_then(|()| plans::check_connections(study, at, workload.of(None)))
            .with_context(|| format!("{part}condition `{}`", condition.label))?;
    }
    Ok(workloads)
}

/// A run that has not begun.
pub(super) fn prepared(study: &Study, source: &Source, command: &[String], disk: &Disk) -> Result<Run> {
    let workload = workload::parse(source)?;
    let schedule = schedule(study, study.load.seed);
    if schedule.is_empty() {
        let part = study.part.as_ref().map_or(String::new(), |part| format!(", part {part},"));
        bail!("study {}{part} has nothing to run: no round, no condition or no contender is left", study.name);
    }
    Ok(Run {
        format: RECORD_VERSION,
        contend: env!("CARGO_PKG_VERSION").to_string(),
        started: machine::now_utc(),
        id: Some(random_text()?),
        command: command.to_vec(),
        instead: Instead::default(),
        machine: machine::describe(),
        disk: disk.clone(),
        workload: workload_info(&workload, source, study)?,
        scenario: None,
        overhead_ns_per_operation: 0,
        overhead_ns_by_condition: vec![],
        overheads: vec![],
        overheads_missing: vec![],
        programs: vec![],
        schedule,
        again: vec![],
        study: study.clone(),
        spent_ns: 0,
        tiers: vec![],
        finished: None,
    })
}

/// `study.toml`, which joins the parts.
pub(super) fn study_file(order: &Order) -> StudyFile {
    let Whole { name, question, variant, extent, studies } = &order.whole;
    StudyFile {
        format: RECORD_VERSION,
        contend: env!("CARGO_PKG_VERSION").to_string(),
        started: machine::now_utc(),
        command: order.command.clone(),
        study: name.clone(),
        question: question.clone(),
        variant: *variant,
        extent: *extent,
        parts: studies.iter().map(|study| study.part.clone().unwrap_or_default()).collect(),
        finished: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::model::{Extent, Variant};
    use crate::study::{Choices, resolve};

    fn disk() -> Disk {
        Disk {
            file_system: "ext4".to_string(),
            fdatasync_ns_p50: 1,
            fsync_ns_p50: 1,
            fsync_ns_p95: 1,
            overwrite_ns_p50: 1,
            sync_ns_min: 1,
            probes: 1,
            mount: None,
        }
    }

    /// Header of a run of a study of the first embedded workload.
    fn prepared_with(axes: &str, edit: impl Fn(&mut Study)) -> Result<Run> {
        let name = workload::LIBRARY.names().into_iter().next().unwrap();
        let text = format!(
            "question = 'q'\nworkload = '{name}'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
             axes = {{ {axes} }}\nload = {{ window = '1s' }}\n[[contender]]\nengine = 'sqlite'\n"
        );
        let choices = Choices::new(Variant::Corrected, Extent::Full);
        let mut study = resolve(&Source::new("s.toml", text), &choices).unwrap();
        edit(&mut study);
        prepared(&study, &workload::LIBRARY.find(name).unwrap(), &[], &disk())
    }

    #[test]
    fn a_run_without_trials_does_not_begin() {
        assert_eq!(prepared_with("clients = [1]", |_| ()).unwrap().schedule.len(), 6);
        let error = prepared_with("clients = [1]", |study| study.rounds = 0).unwrap_err().to_string();
        assert!(error.contains("nothing to run"), "{error}");
    }

    #[test]
    fn conditions_that_differ_in_their_data_say_so() {
        let same = prepared_with("clients = [1, 2]", |_| ()).unwrap().workload;
        assert!(same.data.is_empty(), "{:?}", same.data);
        let scaled = prepared_with("clients = [1, 2], scale = [1, 2]", |_| ()).unwrap().workload;
        let labels: Vec<_> = scaled.data.iter().map(|data| data.conditions.as_slice()).collect();
        assert_eq!(labels, [["1 client, scale 1", "2 clients, scale 1"], ["1 client, scale 2", "2 clients, scale 2"]]);
        assert_eq!((&scaled.rows, &scaled.data_sha256), (&scaled.data[0].rows, &scaled.data[0].sha256));
        assert!(scaled.data[0].rows.iter().any(|(table, rows)| scaled.data[1].rows[table] == 2 * rows));
        assert_ne!(scaled.data[0].sha256, scaled.data[1].sha256);
    }
}
