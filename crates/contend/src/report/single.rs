//! The report of a study without parts or of one part, and that of an imported CSV.

use super::files::{File, Terminal, Written, file, one_line, script_name, write_files};
use super::{content, csv, export, gnuplot, html, json, kind, markdown, text};
use crate::analysis::Findings;
use crate::analysis::plain::Study;
use crate::report::document::Document;
use crate::report::export::sheet::Sheet;
use crate::report::text::Style;
use anyhow::{Context, Result, anyhow};
use std::path::{Path, PathBuf};

/// All files of the report.
pub fn render(findings: &Findings<'_>) -> Result<Vec<File>> {
    files(findings, &content::document(findings))
}

pub(super) fn files(findings: &Findings<'_>, document: &Document) -> Result<Vec<File>> {
    let mut files = pages(document);
    files.extend([
        file("trials.csv", csv::trials(findings)?),
        file("transactions.csv", csv::transactions(findings)?),
        file("latencies.csv", csv::latencies(findings)?),
        file("charts.gnuplot", gnuplot::trials::script(findings)),
    ]);
    if let Some(report) = kind::of(findings) {
        files.extend((report.files)(findings)?.into_iter().map(|(name, contents)| file(name, contents)));
    }
    let study = std::slice::from_ref(findings.study);
    // A record from elsewhere may hold any name.
    for export in findings.exports() {
        let contents = export::csv(findings, export)?;
        let script = match Sheet::read(&export.file, &contents, study) {
            Ok(sheet) => gnuplot::sheet::script(&sheet, &export.file),
            Err(why) => format!("# There is nothing to draw: {}\n", why.replace('\n', " ")),
        };
        files.push(file(&script_name(&export.file), script));
        files.push(file(&export.file, contents));
    }
    Ok(files)
}

fn pages(document: &Document) -> Vec<File> {
    vec![
        file("report.html", html::html(document)),
        file("report.md", markdown::markdown(document)),
        file("report.txt", text::text(document, Style::FILE)),
    ]
}

/// Writes all files of the report into `out`, each atomically.
pub fn write(findings: &Findings<'_>, out: &Path) -> Result<Written> {
    let document = content::document(findings);
    let paths = write_files(&files(findings, &document)?, out)?;
    let invalid = findings.rows.iter().filter(|row| !row.is_valid()).count();
    Ok(Written { files: paths, terminal: Terminal::One(document), json: json::json(findings), invalid })
}

/// Draws a CSV that has the columns of an export of one of these studies; `text` is its contents. Returns text for a
/// terminal and the files written.
///
/// # Errors
/// The line at which the file has another form; or a file cannot be written.
pub fn import(file_name: &str, text: &str, studies: &[Study], out: &Path) -> Result<(String, Vec<PathBuf>)> {
    let sheet = Sheet::read(file_name, text, studies).map_err(|message| anyhow!(message))?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let document = export::page::document(&sheet, &one_line(file_name));
    let mut files = pages(&document);
    let script = format!("{}.gnuplot", sheet.export.file.trim_end_matches(".csv"));
    files.push(file(&script, gnuplot::sheet::script(&sheet, &sheet.export.file)));
    files.push(file(&sheet.export.file, text.to_string()));
    let paths = write_files(&files, out)?;
    Ok((text::text(&document, Style::FILE), paths))
}
