//! `contend compare`: two records.

use super::run::open_found;
use super::{INVALID, OK, print};
use crate::analysis::{self, Parts};
use crate::record::parts::StudyRecord;
use crate::report::{compare_parts, compare_records};
use anyhow::{Result, anyhow, bail};
use clap::{Parser, ValueHint};
use std::path::{Path, PathBuf};

/// Compare two records
#[derive(Parser)]
pub(super) struct CompareArgs {
    /// Directories of two records: first the baseline, then the one to judge
    #[arg(value_hint = ValueHint::DirPath, num_args = 2, required = true)]
    records: Vec<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, display_order = 100)]
    json: bool,
}

pub(super) fn compare(args: &CompareArgs) -> Result<u8> {
    let (text, compared) = records(args)?;
    print(&text)?;
    Ok(if compared { OK } else { INVALID })
}

/// What is printed, and whether anything was compared.
fn records(args: &CompareArgs) -> Result<(String, bool)> {
    let [baseline, candidate] = args.records.as_slice() else { bail!("compare needs two records") };
    let (a, b) = (open_found(baseline)?, open_found(candidate)?);
    match (a.file.is_alone(), b.file.is_alone()) {
        (false, true) => return Err(uneven(baseline, &a)),
        (true, false) => return Err(uneven(candidate, &b)),
        _ => {}
    }
    let [a, b] = [&a, &b].map(|record| Parts::new(&record.file, &record.parts));
    let comparison = analysis::compare_parts::compare(&a, &b);
    let compared = comparison.parts.iter().any(|part| !part.comparison.rows.is_empty());
    let text = match (comparison.of_alone(), args.json) {
        (Some(only), true) => to_json(only)?,
        (Some(only), false) => compare_records::text(only),
        (None, true) => to_json(&comparison)?,
        (None, false) => compare_parts::text(&comparison),
    };
    Ok((text, compared))
}

fn to_json(comparison: &impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(comparison)? + "\n")
}

fn uneven(dir: &Path, record: &StudyRecord) -> anyhow::Error {
    let dir = dir.display();
    anyhow!(
        "{dir} has parts and the other record has none; compare with one of them: {dir}/NAME, where NAME is one of {}",
        record.names()
    )
}
