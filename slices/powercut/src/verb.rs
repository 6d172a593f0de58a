//! `contend durability`: rebuilds failed images, and prints proofs.

use crate::evidence;
use crate::keys::Wanted;
use crate::replay::rebuild;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Parser, ValueHint};
use contend::cli::{OK, print};
use contend::record::evidence::CUTS_MIN;
use contend::record::parts::StudyRecord;
use contend::record::store::Record;
use std::path::{Path, PathBuf};

/// Inspect what a power cut left
#[derive(Parser)]
#[command(after_help = "Power is cut by a study:
  contend run durability --quick      what each engine loses
  contend run capture-1/crash.toml    what your own program would lose
  contend run my-study.toml           kind = \"powercut\" (docs/study-file.md)")]
pub enum DurabilityVerb {
    /// Rebuild a failed image, bit for bit, and print how to open it
    Replay(ReplayArgs),
    /// Print what records prove about tiers, as contend's own file for other machines
    Evidence(EvidenceArgs),
}

#[derive(Args)]
#[command(after_help = "Example:
  contend durability evidence results/DIR > evidence/durability.toml")]
pub struct EvidenceArgs {
    /// Records of studies that cut the power
    #[arg(value_name = "RECORD", required = true, value_hint = ValueHint::DirPath)]
    records: Vec<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  contend durability replay results/DIR/0007-2 --to /tmp/image
  contend durability replay results/DIR/power/0007-2")]
pub struct ReplayArgs {
    /// The record's directory and the image as its report names it: RECORD/TRIAL-IMAGE, or RECORD/PART/TRIAL-IMAGE
    #[arg(value_name = "ID", value_hint = ValueHint::AnyPath)]
    id: String,
    /// Directory to put it in; must be empty or not exist [default: image-TRIAL-IMAGE]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    to: Option<PathBuf>,
}

pub fn durability(verb: &DurabilityVerb) -> Result<u8> {
    match verb {
        DurabilityVerb::Replay(args) => replay(args),
        DurabilityVerb::Evidence(args) => evidence(args),
    }
}

fn replay(args: &ReplayArgs) -> Result<u8> {
    let (dir, name) = args.id.rsplit_once('/').unwrap_or((".", &args.id));
    let numbers = name.split_once('-').and_then(|(trial, image)| Some((trial.parse().ok()?, image.parse().ok()?)));
    let (trial, image) = numbers.with_context(|| {
        format!("`{}` is not an image: write RECORD/TRIAL-IMAGE as in the report, such as results/DIR/0007-2", args.id)
    })?;
    let mut found = StudyRecord::open(Path::new(dir))?;
    if !found.file.is_alone() {
        bail!(
            "{dir} has parts, each with its own images: write {dir}/PART/{name}, where PART is one of {}",
            found.names()
        );
    }
    let (_, record) = found.parts.remove(0);
    let to = args.to.clone().unwrap_or_else(|| PathBuf::from(format!("image-{name}")));
    print(&rebuild(&record, trial, image, &to)?)?;
    Ok(OK)
}

/// The records in a directory that have power cuts; for a study with parts, those of its parts.
fn that_cut(dir: &Path) -> Result<Vec<Record>> {
    let found = StudyRecord::open(dir)?;
    if found.file.is_alone() {
        return Ok(found.parts.into_iter().map(|(_, record)| record).collect());
    }
    let names = found.names();
    let cut =
        found.parts.into_iter().map(|(_, record)| record).filter(|record| Wanted::of(&record.run.study).is_some());
    let cut: Vec<Record> = cut.collect();
    ensure!(!cut.is_empty(), "no part of {} cuts the power; its parts are {names}", dir.display());
    Ok(cut)
}

fn evidence(args: &EvidenceArgs) -> Result<u8> {
    let mut records = vec![];
    for dir in &args.records {
        records.extend(that_cut(dir)?);
    }
    let nothing = |record: &&Record| evidence::proved(&record.run, &record.trials).is_empty();
    if let Some(record) = records.iter().find(nothing) {
        bail!(
            "{} proves nothing: it needs trials that count, every model, and at least {} power cuts of a contender",
            record.dir.display(),
            CUTS_MIN
        );
    }
    print(&evidence::shipped(records.iter().map(|record| (&record.run, record.trials.as_slice())))?)?;
    Ok(OK)
}
