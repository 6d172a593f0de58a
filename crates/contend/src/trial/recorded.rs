//! The workload and scenario of a run: written into its record and read back from it.

use crate::record::model::{DataInfo, Run, TransactionInfo, WorkloadInfo};
use crate::source::Source;
use crate::study::model::Study;
use crate::trial::dialect::under_conditions;
use crate::trial::secret::filled_in;
use crate::workload::{self, Asked, Data, Workload};
use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// The scenario of a run with apps.
pub(super) fn asked_of(run: &Run) -> Result<Option<Asked>> {
    let Some(scenario) = &run.scenario else { return Ok(None) };
    let workload = workload::parse(&Source::new(run.workload.file.clone(), run.workload.text.clone()))?;
    let scenario =
        filled_in(workload::parse(&Source::new(scenario.file.clone(), scenario.text.clone()))?, &BTreeMap::new())?;
    Ok(Some(workload::asked(&scenario, &workload)?))
}

/// The workload of a study, and its data under each condition.
pub(super) fn workload_info(workload: &Workload, source: &Source, study: &Study) -> Result<WorkloadInfo> {
    let mut data: Vec<DataInfo> = vec![];
    // The data is the same in every dialect.
    for (condition, dialects) in study.conditions.iter().zip(under_conditions(workload, study)?) {
        let workload = dialects.of(None);
        let load = study.load.under(&condition.axes);
        let (rows, sha256) =
            (workload.rows(load.scale), Data { workload, scale: load.scale, seed: load.seed }.sha256());
        match data.iter_mut().find(|data| data.sha256 == sha256) {
            Some(same) => same.conditions.push(condition.label.clone()),
            None => data.push(DataInfo { conditions: vec![condition.label.clone()], rows, sha256 }),
        }
    }
    let first = data.first().context("a study without conditions has no data")?;
    Ok(WorkloadInfo {
        name: workload.name.clone(),
        about: workload.about.clone(),
        file: source.name.clone(),
        text: source.text.clone(),
        sha256: workload.sha256.clone(),
        rows: first.rows.clone(),
        data_sha256: first.sha256.clone(),
        transactions: workload
            .transactions
            .iter()
            .map(|t| TransactionInfo { name: t.name.clone(), write: t.writes })
            .collect(),
        data: if data.len() > 1 { data } else { vec![] },
    })
}
