//! `contend durability`: images that failed, rebuilt.

use super::{OK, print};
use crate::record::store::Record;
use crate::trial::powercut::replay::rebuild;
use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueHint};
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub(super) enum DurabilityVerb {
    /// Rebuild an image that failed, bit for bit, and say how to open it
    Replay(ReplayArgs),
}

#[derive(Args)]
#[command(after_help = "Example:
  contend durability replay results/2026-11-21-durability/0007-2 --to /tmp/image")]
pub(super) struct ReplayArgs {
    /// The image as the report names it: RECORD/TRIAL-IMAGE
    #[arg(value_name = "ID", value_hint = ValueHint::AnyPath)]
    id: String,
    /// Where to put it; must be empty or not there [default: image-TRIAL-IMAGE]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    to: Option<PathBuf>,
}

pub(super) fn replay(args: &ReplayArgs) -> Result<u8> {
    let (dir, name) = args.id.rsplit_once('/').unwrap_or((".", &args.id));
    let numbers = name.split_once('-').and_then(|(trial, image)| Some((trial.parse().ok()?, image.parse().ok()?)));
    let (trial, image) = numbers.with_context(|| {
        format!("`{}` is no image: write RECORD/TRIAL-IMAGE as the report does, such as results/DIR/0007-2", args.id)
    })?;
    let record = Record::open(Path::new(dir))?;
    let to = args.to.clone().unwrap_or_else(|| PathBuf::from(format!("image-{name}")));
    print(&rebuild(&record, trial, image, &to)?)?;
    Ok(OK)
}
