//! Report of a kind of study: the parts that a slice adds.

use crate::analysis::Findings;
use crate::registry::Registry;
use crate::report::document::{Block, Id, Section};
use anyhow::Result;

/// The parts of a report for one kind of study.
pub struct ReportParts {
    /// Name of the kind.
    pub kind: &'static str,
    /// Answers to the study's questions, first of all.
    pub answers: fn(&Findings<'_>) -> Vec<Block>,
    /// The table of the first screen under a condition, instead of the table of contenders.
    pub table: fn(&Findings<'_>, usize) -> Option<Block>,
    /// Note below that table.
    pub note: &'static str,
    /// Sections right after the answer.
    pub sections: fn(&Findings<'_>) -> Vec<Option<Section>>,
    /// The section whose charts the end of a run shows, instead of throughput.
    pub chart: Id,
    /// Further files: name and contents.
    pub files: fn(&Findings<'_>) -> Result<Vec<File>>,
}

/// Name and contents of a further file of the report.
pub type File = (&'static str, String);

pub static REPORT_PARTS: Registry<ReportParts> = Registry::empty();

/// The report parts for the study's kind; `None` for `load`, and for a kind whose slice this contend lacks.
pub fn of(findings: &Findings<'_>) -> Option<&'static ReportParts> {
    let kind = findings.kind()?;
    REPORT_PARTS.all().iter().copied().find(|report| report.kind == kind)
}
