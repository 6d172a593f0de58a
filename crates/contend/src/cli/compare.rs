//! `contend compare`: two records, or a CSV of timings.

use super::run::open_found;
use super::{CompareArgs, OK, print};
use crate::analysis::{self, Findings, Parts};
use crate::compare::{CsvOptions, Pairing, compare_csv, render_text};
use crate::record::parts::{Found, StudyRecord};
use crate::report::{compare_parts, compare_records};
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;

pub(super) fn compare(args: &CompareArgs) -> Result<u8> {
    if !(args.margin.is_finite() && args.margin > 0.0) {
        bail!("--margin must be above 0");
    }
    let text = match &args.csv {
        Some(_) => csv(args)?,
        None => records(args)?,
    };
    print(&text)?;
    Ok(OK)
}

fn csv(args: &CompareArgs) -> Result<String> {
    let (Some(file), Some(variant), Some(value)) = (&args.csv, &args.variant, &args.value) else {
        bail!("--csv needs --variant COLUMN and --value COLUMN");
    };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut options = CsvOptions::new(variant, value);
    options.by.clone_from(&args.by);
    options.baseline.clone_from(&args.baseline);
    options.higher_is_better = args.higher_is_better;
    options.margin = args.margin / 100.0;
    options.pairing = match (&args.pair, args.unpaired) {
        (Some(column), _) => Pairing::Column(column.clone()),
        (None, true) => Pairing::Unpaired,
        (None, false) => Pairing::Auto,
    };
    let comparison = compare_csv(&text, &options).map_err(|e| anyhow!("{}: {e}", file.display()))?;
    if args.json { to_json(&comparison) } else { Ok(render_text(&comparison)) }
}

fn records(args: &CompareArgs) -> Result<String> {
    let [baseline, candidate] = args.records.as_slice() else { bail!("compare needs two records") };
    let comparison = match (open_found(baseline)?, open_found(candidate)?) {
        (Found::One(a), Found::One(b)) => {
            let comparison = analysis::compare_records::compare(&Findings::new(&*a), &Findings::new(&*b));
            return if args.json { to_json(&comparison) } else { Ok(compare_records::text(&comparison)) };
        }
        (Found::Parts(a), Found::Parts(b)) => {
            let [a, b] = [&a, &b].map(|record| Parts::new(&record.file, &record.parts));
            analysis::compare_parts::compare(&a, &b)
        }
        (Found::Parts(a), Found::One(_)) => return Err(uneven(baseline, &a)),
        (Found::One(_), Found::Parts(b)) => return Err(uneven(candidate, &b)),
    };
    if args.json { to_json(&comparison) } else { Ok(compare_parts::text(&comparison)) }
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
