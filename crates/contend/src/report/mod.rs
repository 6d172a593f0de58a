//! A report: a pure function of the record. No clock, no environment, nothing looked up; the same record
//! gives the same bytes on every machine.
//!
//! ```text
//! Record ─► Findings (numbers) ─► Document (what is said) ─┬─► report.md, report.txt, report.html
//!                 └─► CSVs, gnuplot script                └─► the end of `run`, on the terminal
//! ```

pub mod compare_parts;
pub mod compare_records;
pub mod content;
pub mod csv;
pub mod document;
pub mod export;
pub mod gnuplot;
pub mod html;
pub mod json;
pub mod kind;
pub mod markdown;
mod plot;
pub mod text;
pub mod volume;

#[cfg(test)]
mod claims_tests;
#[cfg(test)]
mod formats_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod workers_tests;

use crate::analysis::Findings;
use crate::analysis::plain::Study;
use crate::report::document::{Block, Document};
use crate::report::export::sheet::Sheet;
use crate::report::text::Colour;
use crate::report::volume::Volume;
use crate::stats::plain::is_harmful;
use anyhow::{Context, Result, anyhow};
use std::path::{Path, PathBuf};

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub contents: String,
}

/// A report that has been written.
#[derive(Debug)]
pub struct Written {
    pub files: Vec<PathBuf>,
    /// About one screen, for the end of a run; see [`terminal`].
    pub terminal: Terminal,
    /// The same numbers for a program.
    pub json: String,
    /// Trials that do not count.
    pub invalid: usize,
}

/// What the end of a run is made from.
#[derive(Debug)]
pub enum Terminal {
    One(Document),
    Parts(Volume),
}

/// All files of the report.
pub fn render(findings: &Findings<'_>) -> Result<Vec<File>> {
    files(findings, &content::document(findings))
}

fn files(findings: &Findings<'_>, document: &Document) -> Result<Vec<File>> {
    let mut files = pages(document);
    files.extend([
        file("trials.csv", csv::trials(findings)?),
        file("transactions.csv", csv::transactions(findings)?),
        file("latencies.csv", csv::latencies(findings)?),
        file("charts.gnuplot", gnuplot::script(findings)),
    ]);
    if let Some(telling) = kind::of(findings) {
        files.extend((telling.files)(findings)?.into_iter().map(|(name, contents)| file(name, contents)));
    }
    let study = std::slice::from_ref(&findings.run.study);
    // A record from elsewhere may claim any name.
    for export in findings.exports() {
        let contents = export::csv(findings, export)?;
        let script = match Sheet::read(&export.file, &contents, study) {
            Ok(sheet) => export::gnuplot::script(&sheet, &export.file),
            Err(why) => format!("# There is nothing to draw: {}\n", why.replace('\n', " ")),
        };
        files.push(file(&script_name(&export.file), script));
        files.push(file(&export.file, contents));
    }
    Ok(files)
}

/// The gnuplot script beside an exported CSV.
fn script_name(csv: &str) -> String {
    format!("{}.gnuplot", csv.trim_end_matches(".csv"))
}

fn pages(document: &Document) -> Vec<File> {
    vec![
        file("report.html", html::html(document)),
        file("report.md", markdown::markdown(document)),
        file("report.txt", text::text(document, Colour::No)),
    ]
}

fn file(name: &str, contents: String) -> File {
    File { name: name.to_string(), contents }
}

/// Writes all files of the report into `out`, each as a whole.
pub fn write(findings: &Findings<'_>, out: &Path) -> Result<Written> {
    let document = content::document(findings);
    let paths = write_files(&files(findings, &document)?, out)?;
    let invalid = findings.rows.iter().filter(|row| !row.is_valid()).count();
    Ok(Written { files: paths, terminal: Terminal::One(document), json: json::json(findings), invalid })
}

/// Draws a CSV that is in the columns of an export of one of these studies; `file` is its name and `text` its
/// contents. Text for a terminal, and the files written.
///
/// # Errors
/// The file is not of that form, at which line; or nothing can be written.
pub fn import(file_name: &str, text: &str, studies: &[Study], out: &Path) -> Result<(String, Vec<PathBuf>)> {
    let sheet = Sheet::read(file_name, text, studies).map_err(|message| anyhow!(message))?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let document = export::page::document(&sheet, &one_line(file_name));
    let mut files = pages(&document);
    let script = format!("{}.gnuplot", sheet.export.file.trim_end_matches(".csv"));
    files.push(file(&script, export::gnuplot::script(&sheet, &sheet.export.file)));
    files.push(file(&sheet.export.file, text.to_string()));
    let paths = write_files(&files, out)?;
    Ok((text::text(&document, Colour::No), paths))
}

fn write_files(files: &[File], out: &Path) -> Result<Vec<PathBuf>> {
    files.iter().map(|file| write_file(out, &file.name, &file.contents)).collect()
}

/// The section whose charts the end of a run shows.
const THROUGHPUT: &str = "throughput";

/// Most bar charts at the end of a run.
const CHARTS_MAX: usize = 4;

/// The end of a run on the terminal: the answer, its tables, charts, and where the files are.
pub fn terminal(written: &Written, colour: Colour) -> String {
    let mut out = match &written.terminal {
        Terminal::One(document) => first_screen(document, colour),
        Terminal::Parts(volume) => volume::terminal(volume, colour),
    };
    out.push('\n');
    let unasked = unanswered(&written.terminal);
    if !unasked.is_empty() {
        out += &text::wrapped(
            &format!(
                "Without an answer in this run: {}.",
                unasked.iter().map(|ask| format!("“{ask}”")).collect::<Vec<_>>().join("; ")
            ),
            "",
            "  ",
        );
    }
    if let Some(page) = written.files.iter().find(|path| path.ends_with("report.html")) {
        let beyond = "What this does not show, all tables and the circumstances are in";
        out += &format!("{beyond} {} (as text: report.md, report.txt).\n", page.display());
    }
    for path in &written.files {
        out += &format!("{}\n", path.display());
    }
    out
}

/// Questions that this run does not answer, each once.
fn unanswered(terminal: &Terminal) -> Vec<String> {
    let documents: Vec<&Document> = match terminal {
        Terminal::One(document) => vec![document],
        Terminal::Parts(volume) => volume.chapters.iter().map(|chapter| &chapter.document).collect(),
    };
    let mut asked: Vec<String> = vec![];
    for ask in documents.iter().flat_map(|document| &document.unanswered) {
        if !asked.contains(ask) {
            asked.push(ask.clone());
        }
    }
    asked
}

fn first_screen(document: &Document, colour: Colour) -> String {
    let mut out = text::head(document, colour);
    let answer = document.sections.iter().filter(|s| s.id == "answer").flat_map(|s| &s.blocks);
    let shown = answer.filter(|b| matches!(b, Block::Answer { .. } | Block::Table(_)) || is_condition(document, b));
    let has_chart = document.sections.iter().any(|s| s.id == document.chart);
    let chart = if has_chart { document.chart } else { THROUGHPUT };
    let chart = document.sections.iter().filter(|s| s.id == chart).flat_map(|s| &s.blocks);
    let bars: Vec<&Block> = chart.filter(|b| matches!(b, Block::Bars(_))).collect();
    let lines = document.sections.iter().filter(|s| s.id == "over-axis").flat_map(|s| &s.blocks);
    let lines: Vec<&Block> = lines.filter(|b| matches!(b, Block::Lines(_))).take(1).collect();
    // Lines say in one chart what bars say in one for each condition.
    let charts = if lines.is_empty() { bars.into_iter().take(CHARTS_MAX).collect() } else { lines };
    shown.chain(charts).for_each(|block| out += &text::render_block(block, colour));
    out
}

/// Writes a file as a whole; its path.
fn write_file(out: &Path, name: &str, contents: &str) -> Result<PathBuf> {
    let path = out.join(name);
    let aside = out.join(format!(".{name}.partial"));
    std::fs::write(&aside, contents)
        .and_then(|()| std::fs::rename(&aside, &path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Text as one line, without control characters.
fn one_line(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || is_harmful(c));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_condition(document: &Document, block: &Block) -> bool {
    matches!(block, Block::Heading(text) if document.conditions.contains(text))
}
