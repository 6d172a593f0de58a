//! From a record to findings: a pass over its samples, cell by cell, and everything derived from them.

pub mod along;
pub mod answer;
pub mod axis;
pub mod cell;
pub mod circumstances;
pub mod compare;
pub mod compare_parts;
pub mod compare_records;
pub mod course;
pub mod dist;
mod elsewhere;
pub mod estimate;
pub mod findings;
pub mod formula;
pub mod grid;
pub mod kind;
pub mod messages;
pub mod metric;
pub mod plain;
pub mod reported;
pub mod requests;
pub mod responses;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod until;

pub use findings::{Answered, Drift, Findings, Reproduced, Why};

use crate::analysis::circumstances::Circumstances;
use crate::analysis::kind::ANALYSES;
use crate::outcome::reason::deeds_count;
use crate::record::model::{StudyFile, Trial};
use crate::record::parts::ALONE;
use crate::record::recorded::Recorded;
use crate::study::model::{Extent, Variant};

/// Findings of a run, part by part.
pub struct Parts<'r> {
    /// Name of the study.
    pub study: &'r str,
    pub question: &'r str,
    pub variant: Variant,
    pub extent: Extent,
    /// Start of the run, UTC, RFC 3339.
    pub started: &'r str,
    /// Whether the run was not interrupted.
    pub complete: bool,
    /// Name and findings of each part, in running order.
    pub parts: Vec<(String, Findings<'r>)>,
}

impl<'r> Parts<'r> {
    /// Reads the record of every part.
    pub fn new(file: &'r StudyFile, parts: &'r [(String, impl Recorded)]) -> Self {
        let parts = parts.iter().map(|(name, part)| (name.clone(), Findings::new(part))).collect();
        Self {
            study: &file.study,
            question: &file.question,
            variant: file.variant,
            extent: file.extent,
            started: &file.started,
            complete: file.finished.is_some(),
            parts,
        }
    }

    /// Findings of a study without parts.
    pub fn alone(&self) -> Option<&Findings<'r>> {
        self.part(ALONE)
    }

    pub fn part(&self, name: &str) -> Option<&Findings<'r>> {
        self.parts.iter().find(|(found, _)| found == name).map(|(_, part)| part)
    }
}

impl<'r> Findings<'r> {
    /// Reads every trial's samples once, and those of services a second time for their requests.
    pub fn new(record: &'r dyn Recorded) -> Self {
        let run = record.run();
        let study = &run.study;
        let info = &run.workload.transactions;
        let mut findings = Findings {
            study,
            circumstances: Circumstances::of(run),
            run,
            trials: record.trials(),
            again: record.again(),
            damaged: record.damaged(),
            unsealed: record.unsealed(),
            transactions: info.iter().map(|t| t.name.clone()).collect(),
            writes: info.iter().map(|t| t.write).collect(),
            rows: vec![],
            cells: vec![],
            headline: metric::find(study, &study.headline),
            comparisons: vec![],
            self_comparisons: vec![],
            effects: vec![],
            answers: vec![],
            reproduced: vec![],
            drifts: vec![],
            grids: vec![],
            alongs: vec![],
            strangers: vec![],
            requests: vec![],
            of_kind: None,
        };
        findings.read_cells(record);
        elsewhere::look(study, &mut findings.rows, &findings.transactions);
        findings.compare();
        findings.self_comparisons = findings.compare_with_itself();
        findings.effects = findings.factor_effects();
        findings.answers = study.answers.iter().flat_map(|a| answer::answer(&findings, a)).collect();
        findings.reproduced = study.published.iter().map(|p| findings.reproduced(p)).collect();
        findings.drifts = findings.drifting();
        findings.grids = grid::grids(study, &findings.estimator(), &findings.cells);
        findings.alongs = along::alongs(study, &findings.estimator(), &findings.cells);
        if let Some(kind) = findings.kind().and_then(|kind| ANALYSES.all().iter().find(|of| of.kind == kind)) {
            findings.of_kind = Some((kind.findings)(record));
        }
        if findings.of_service() {
            let readable = |trial: &Trial| {
                let row = findings.rows.iter().find(|row| row.number == trial.slot.trial);
                row.is_some_and(|row| deeds_count(&row.reasons))
            };
            // A trial whose samples could not be read has a reason for it in its row.
            findings.requests = requests::sums_of(record, &readable).unwrap_or_default();
        }
        findings
    }
}
