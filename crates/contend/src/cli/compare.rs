//! `contend compare`: two records.

use super::run::open_found;
use super::{INVALID, OK, print};
use crate::analysis::{self, Findings, Parts};
use crate::record::parts::{Found, StudyRecord};
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
    let comparison = match (open_found(baseline)?, open_found(candidate)?) {
        (Found::One(a), Found::One(b)) => {
            let comparison = analysis::compare_records::compare(&Findings::new(&*a), &Findings::new(&*b));
            let text = if args.json { to_json(&comparison)? } else { compare_records::text(&comparison) };
            return Ok((text, !comparison.rows.is_empty()));
        }
        (Found::Parts(a), Found::Parts(b)) => {
            let [a, b] = [&a, &b].map(|record| Parts::new(&record.file, &record.parts));
            analysis::compare_parts::compare(&a, &b)
        }
        (Found::Parts(a), Found::One(_)) => return Err(uneven(baseline, &a)),
        (Found::One(_), Found::Parts(b)) => return Err(uneven(candidate, &b)),
    };
    let compared = comparison.parts.iter().any(|part| !part.comparison.rows.is_empty());
    let text = if args.json { to_json(&comparison)? } else { compare_parts::text(&comparison) };
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
