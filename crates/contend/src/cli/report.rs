//! `contend report`: the report of a record, or of an imported CSV.

use super::run::{open_found, write_report};
use super::{INVALID, OK, print, style};
use crate::record::parts::ALONE;
use crate::record::store::Record;
use crate::report;
use crate::slice;
use crate::study::model::{Extent, Study, Variant};
use crate::study::{self, Choices, resolve_parts};
use anyhow::{Context, Result};
use clap::{Parser, ValueHint};
use std::path::{Path, PathBuf};

/// Write the report of a record again, from the record alone
#[derive(Parser)]
pub(super) struct ReportArgs {
    /// Directory of the record
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "import", conflicts_with = "import")]
    dir: Option<PathBuf>,
    /// Print the numbers as JSON instead of the text
    #[arg(long, conflicts_with = "import")]
    json: bool,
    /// Draw a CSV with the columns of a study's export, from any source, instead of a record
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    import: Option<PathBuf>,
    /// The study of that export, if it is not built in
    #[arg(long, value_name = "STUDY", value_hint = ValueHint::FilePath, requires = "import")]
    study: Option<String>,
    /// Directory for the charts [default: FILE without .csv]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "import")]
    out: Option<PathBuf>,
}

pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    if let Some(file) = &args.import {
        return import(args, file);
    }
    let dir = args.dir.as_deref().context("which record? Name its directory")?;
    let own = slice::all().iter().flat_map(|slice| slice.records).find(|record| dir.join(record.file).is_file());
    if let Some(record) = own {
        return (record.report)(dir, args.json);
    }
    let found = open_found(dir)?;
    let written = write_report(&found, dir)?;
    let damaged: usize = found.parts.iter().map(|(name, part)| say_damaged(part, name)).sum();
    print(&if args.json { written.json.clone() } else { report::terminal(&written, style()) })?;
    Ok(if damaged == 0 && written.invalid == 0 { OK } else { INVALID })
}

/// Prints which trials of a record cannot be read; returns their number.
fn say_damaged(record: &Record, part: &str) -> usize {
    let part = if part == ALONE { String::new() } else { format!(" of part {part}") };
    for (name, why) in &record.damaged {
        crate::tell!("contend: trial {name}{part} is left out: {why}");
    }
    record.damaged.len()
}

fn import(args: &ReportArgs, file: &Path) -> Result<u8> {
    let text = super::read_text(file).with_context(|| format!("cannot read {}", file.display()))?;
    let out = args.out.clone().unwrap_or_else(|| file.with_extension(""));
    anyhow::ensure!(out != file, "{} has no extension to leave out: say where to write with --out", file.display());
    let studies = studies(args.study.as_deref())?;
    let (text, files) = report::import(&file.display().to_string(), &text, &studies, &out)?;
    let files: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
    print(&format!("{text}\n{files}"))?;
    Ok(OK)
}

/// The studies whose exports are tried: the named one, or all built-in ones.
fn studies(named: Option<&str>) -> Result<Vec<Study>> {
    let sources = match named {
        Some(name) => vec![study::LIBRARY.open(name, |path| super::read_text(path))?],
        None => study::LIBRARY.sources().collect(),
    };
    let full = Choices::new(Variant::Corrected, Extent::Full);
    let published = Choices::new(Variant::AsPublished, Extent::Full);
    let mut studies = vec![];
    for source in &sources {
        studies.extend(resolve_parts(source, &full)?.studies);
        // An as-published part may be missing in other runs.
        studies.extend(resolve_parts(source, &published).map(|whole| whole.studies).unwrap_or_default());
    }
    Ok(studies)
}
