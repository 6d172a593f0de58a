//! `contend predict`.

use crate::carry_out::carry_out;
use crate::prediction::{Ask, Prediction, of_sweep};
use crate::sweeps::{Kind, subjects};
use crate::text;
use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueHint};
use contend::analysis::Findings;
use contend::cli::{INVALID, OK, STOPPED, print};
use contend::record::parts::StudyRecord;
use contend::units::duration_ns;
use contend_stats::harmless::harmless;
use std::path::PathBuf;

/// Predict numbers of clients, or rates, that a record did not measure
///
/// The record needs a sweep: a study with an axis `clients`, `processes` or `processors` (closed loop) or `rate` (open
/// loop), best with seven numbers or more. Laws are fitted to it, and chosen by how well they predict its two largest numbers, which they
/// have not seen; a law that fails there predicts nothing.
#[derive(Parser)]
#[command(after_help = "Examples:
  contend run my-study.toml --set clients=1,2,3,4,6,8,12,16 --out results/sweep
  contend predict results/sweep                2 and 4 times 16 clients
  contend predict results/sweep --at 24,48     these numbers of clients
  contend predict results/rates --bound 20ms   a study with an axis `rate`
  contend predict results/sweep --carry-out    without syncs: and measures it
  contend run my-study.toml --set processors=1,2,3,4 --out results/processors

Exit status: 0 something is predicted, 1 nothing is, 2 usage or environment, 130 stopped.")]
pub struct PredictArgs {
    /// Directory of the record
    #[arg(value_hint = ValueHint::DirPath)]
    record: PathBuf,
    /// Numbers of clients, or rates, to predict [default: 2 and 4 times the largest; rates 1.25 and 1.5 times]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    at: Vec<f64>,
    /// Open loop: the rate at which the mean response time reaches this
    #[arg(long, value_name = "TIME")]
    bound: Option<String>,
    /// Carry out what is predicted: every contender that waits for syncs without them, and with --bound at the rate
    #[arg(long)]
    carry_out: bool,
    /// Directory of what is carried out [default: results/DATE-carried-out]
    #[arg(long, value_name = "DIR", requires = "carry_out", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn predict(args: &PredictArgs) -> Result<u8> {
    ensure!(args.at.iter().all(|at| *at >= 1.0 && *at <= 1e9), "--at: numbers from 1 to 1,000,000,000");
    let bound_ns = args.bound.as_deref().map(duration_ns).transpose().map_err(|e| anyhow::anyhow!("--bound: {e}"))?;
    let dir = args.record.display();
    let found = StudyRecord::open(&args.record).with_context(|| format!("cannot read the record in {dir}"))?;
    let ask = Ask { at: &args.at, bound_s: bound_ns.map(|ns| ns as f64 / 1e9) };
    let (mut all, mut carried_out): (Vec<Prediction>, Result<bool>) = (vec![], Ok(true));
    ensure!(!args.carry_out || found.parts.len() == 1, "--carry-out: {dir} has several parts; name one, {dir}/PART");
    for (_, record) in &found.parts {
        let subjects = subjects(&Findings::new(record));
        let mut predictions: Vec<Prediction> = subjects.iter().map(|subject| of_sweep(subject, &ask)).collect();
        if args.carry_out && !subjects.is_empty() {
            carried_out = carry_out(record, (&subjects, &mut predictions), args.out.as_deref());
        }
        all.extend(predictions);
    }
    ensure!(
        !all.is_empty(),
        "{dir} has no contender with valid trials at several numbers of clients or rates; run a study with an axis such as \
         --set clients=1,2,3,4,6,8,12,16 (docs/predict.md)"
    );
    ensure!(
        args.bound.is_none() || all.iter().any(|prediction| prediction.kind == Kind::Rate),
        "--bound needs a sweep over `rate`, and {dir} has none"
    );
    print(&match args.json {
        true => serde_json::to_string_pretty(&all)? + "\n",
        false => harmless(&text::text(&all)).into_owned(),
    })?;
    // The predictions are printed whatever became of the experiments.
    if !carried_out? {
        return Ok(STOPPED);
    }
    Ok(if all.iter().any(Prediction::says_something) { OK } else { INVALID })
}
