//! The files of a report: names, and writing each atomically.

use crate::report::document::Document;
use crate::report::volume::Volume;
use crate::stats::harmless::is_harmful;
use anyhow::{Context, Result};
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
    /// Number of invalid trials.
    pub invalid: usize,
}

/// Source of the text at the end of a run.
#[derive(Debug)]
pub enum Terminal {
    One(Document),
    Parts(Volume),
}

/// The gnuplot script of an exported CSV.
pub(super) fn script_name(csv: &str) -> String {
    format!("{}.gnuplot", csv.trim_end_matches(".csv"))
}

pub(super) fn file(name: &str, contents: String) -> File {
    File { name: name.to_string(), contents }
}

pub(super) fn write_files(files: &[File], out: &Path) -> Result<Vec<PathBuf>> {
    files.iter().map(|file| write_file(out, &file.name, &file.contents)).collect()
}

/// Writes a file atomically; returns its path.
pub(super) fn write_file(out: &Path, name: &str, contents: &str) -> Result<PathBuf> {
    let path = out.join(name);
    let aside = out.join(format!(".{name}.partial"));
    std::fs::write(&aside, contents)
        .and_then(|()| std::fs::rename(&aside, &path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Text as one line, without control characters.
pub(super) fn one_line(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || is_harmful(c));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
