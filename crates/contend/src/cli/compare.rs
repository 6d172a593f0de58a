//! `contend compare`: two records.

use super::run::open_found;
use super::{INVALID, OK, print, style};
use crate::analysis::compare_parts::PartsComparison;
use crate::analysis::compare_records::RecordComparison;
use crate::analysis::{self, Parts};
use crate::record::parts::{StudyRecord, check_two_runs};
use crate::report::{compare_parts, compare_records};
use anyhow::{Result, anyhow, bail};
use clap::{Parser, ValueHint};
use std::path::{Path, PathBuf};

/// Compare two records
#[derive(Parser)]
#[command(after_help = "Examples:
  contend compare results/A results/B        two records of the same study

Exit status: 0 compared, whatever the words are; 1 nothing could be compared, or with
--fail-if-slower something is slower or cannot be compared (what cannot be told, or has too few
rounds for a word, passes); 2 usage. To fail a build, better use `contend gate`: all its answers
together are wrong in at most one of a hundred, and `cannot tell` is not a pass there.")]
pub(super) struct CompareArgs {
    /// Directories of two records: first the baseline, then the one to judge
    #[arg(value_hint = ValueHint::DirPath, num_args = 2, required = true)]
    records: Vec<PathBuf>,
    /// Exit with status 1 if something is slower or cannot be compared: the headline of a contender, or a variant of --csv
    #[arg(long, display_order = 99)]
    fail_if_slower: bool,
    /// Print JSON instead of text
    #[arg(long, display_order = 100)]
    json: bool,
}

pub(super) fn compare(args: &CompareArgs) -> Result<u8> {
    let (text, compared) = records(args)?;
    print(&text)?;
    let all = || compared.parts.iter().map(|part| &part.comparison);
    let fails = args.fail_if_slower && all().any(RecordComparison::fails_if_slower);
    Ok(if fails || all().all(|comparison| comparison.rows.is_empty()) { INVALID } else { OK })
}

/// The text to print, and the comparison.
fn records(args: &CompareArgs) -> Result<(String, PartsComparison)> {
    let [baseline, candidate] = args.records.as_slice() else { bail!("compare needs two records") };
    let (a, b) = (open_found(baseline)?, open_found(candidate)?);
    match (a.file.is_alone(), b.file.is_alone()) {
        (false, true) => return Err(uneven(baseline, &a)),
        (true, false) => return Err(uneven(candidate, &b)),
        _ => {}
    }
    for ((_, part), (_, other)) in a.parts.iter().zip(&b.parts) {
        check_two_runs([(baseline, &part.run), (candidate, &other.run)])?;
    }
    let [a, b] = [&a, &b].map(|record| Parts::new(&record.file, &record.parts));
    let comparison = analysis::compare_parts::compare(&a, &b);
    let text = match (comparison.of_alone(), args.json) {
        (Some(only), true) => to_json(only)?,
        (Some(only), false) => compare_records::text(only, style()),
        (None, true) => to_json(&comparison)?,
        (None, false) => compare_parts::text(&comparison, style()),
    };
    Ok((text, comparison))
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
