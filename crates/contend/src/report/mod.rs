//! A report: a pure function of the record. No clock, no environment, nothing looked up; the same record
//! gives the same bytes on every machine.
//!
//! ```text
//! Record ─► Summary (numbers) ─► Document (what is said) ─┬─► report.md, report.txt, report.html
//!                 └─► CSVs, gnuplot script                └─► the end of `run`, on the terminal
//! ```

pub mod compare_records;
pub mod content;
pub mod csv;
pub mod document;
pub mod gnuplot;
pub mod html;
pub mod json;
pub mod markdown;
pub mod summary;
pub mod text;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use crate::record::store::Record;
use crate::report::document::{Block, Document};
use crate::report::summary::Summary;
use crate::report::text::Colour;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub contents: String,
}

/// A report that has been written.
#[derive(Debug)]
pub struct Written {
    pub files: Vec<PathBuf>,
    /// About one screen, for the end of a run; see [`terminal`].
    pub terminal: Document,
    /// The same numbers for a program.
    pub json: String,
    /// Trials that do not count.
    pub invalid: usize,
}

/// All files of the report.
pub fn render(record: &Record) -> Result<Vec<File>> {
    let summary = Summary::new(record);
    files(&summary, &content::document(&summary))
}

fn files(summary: &Summary<'_>, document: &Document) -> Result<Vec<File>> {
    let file = |name, contents| File { name, contents };
    Ok(vec![
        file("report.html", html::html(document)),
        file("report.md", markdown::markdown(document)),
        file("report.txt", text::text(document, Colour::No)),
        file("trials.csv", csv::trials(summary)?),
        file("transactions.csv", csv::transactions(summary)?),
        file("latencies.csv", csv::latencies(summary)?),
        file("charts.gnuplot", gnuplot::script(summary)),
    ])
}

/// Writes all files of the report into `out`, each as a whole.
pub fn write(record: &Record, out: &Path) -> Result<Written> {
    let summary = Summary::new(record);
    let document = content::document(&summary);
    let mut paths = vec![];
    for file in files(&summary, &document)? {
        let path = out.join(file.name);
        let aside = out.join(format!(".{}.partial", file.name));
        std::fs::write(&aside, file.contents)
            .and_then(|()| std::fs::rename(&aside, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        paths.push(path);
    }
    let invalid = summary.rows.iter().filter(|row| !row.is_valid()).count();
    Ok(Written { files: paths, terminal: document, json: json::json(&summary), invalid })
}

/// The end of a run on the terminal: the answer, its table, one chart, and where the files are.
pub fn terminal(written: &Written, colour: Colour) -> String {
    let document = &written.terminal;
    let mut out = text::head(document, colour);
    let answer = document.sections.iter().filter(|s| s.id == "answer").flat_map(|s| &s.blocks);
    let shown = answer.filter(|b| matches!(b, Block::Answer { .. } | Block::Table(_)) || is_condition(document, b));
    let chart = document.sections.iter().filter(|s| s.id == "throughput").flat_map(|s| &s.blocks);
    let chart = chart.filter(|b| matches!(b, Block::Bars(_))).take(1);
    shown.chain(chart).for_each(|block| out += &text::render_block(block, colour));
    out.push('\n');
    for path in &written.files {
        out += &format!("{}\n", path.display());
    }
    out
}

/// Text as one line, without control characters.
fn one_line(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_condition(document: &Document, block: &Block) -> bool {
    matches!(block, Block::Heading(text) if document.conditions.contains(text))
}
