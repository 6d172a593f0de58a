//! Report of a kind of study: what a slice says of its findings, and where.

use crate::analysis::Findings;
use crate::registry::Registry;
use crate::report::document::{Block, Id, Section};
use anyhow::Result;

/// What one kind of study says in a report.
pub struct Telling {
    /// Name of the kind.
    pub kind: &'static str,
    /// Answers to the study's questions, first of all.
    pub answers: fn(&Findings<'_>) -> Vec<Block>,
    /// The table of the first screen under a condition, in place of the table of contenders.
    pub table: fn(&Findings<'_>, usize) -> Option<Block>,
    /// Note below that table.
    pub note: &'static str,
    /// Sections right after the answer.
    pub sections: fn(&Findings<'_>) -> Vec<Option<Section>>,
    /// The section whose charts the end of a run shows, in place of throughput.
    pub chart: Id,
    /// Further files: name and contents.
    pub files: fn(&Findings<'_>) -> Result<Vec<File>>,
}

/// Name and contents of a further file of the report.
pub type File = (&'static str, String);

pub static TELLINGS: Registry<Telling> = Registry::empty();

/// What is said of a study of this kind; `None` for `load`, and for a kind whose slice this contend lacks.
pub fn of(findings: &Findings<'_>) -> Option<&'static Telling> {
    let kind = findings.kind()?;
    TELLINGS.all().iter().copied().find(|telling| telling.kind == kind)
}
