//! `contend plan show`: what a worker is told to do, to the byte, and how to carry it out by hand.

use super::run::open_found;
use super::{OK, print};
use crate::engine;
use crate::record::model::Slot;
use crate::record::parts::Found;
use crate::record::store::Record;
use crate::source::Source;
use crate::study::model::{Condition, Contender, Extent, Load, Study, TrialKind, Variant};
use crate::study::{self, spec};
use crate::trial::dialect::dialect;
use crate::trial::plans::{Plans, Sql};
use crate::units::duration_ns;
use crate::workload::{self, Workload};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueHint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct ShowArgs {
    /// A built-in workload (see `contend list workloads`) or the path of a workload file
    #[arg(required_unless_present = "record", conflicts_with = "record", value_hint = ValueHint::AnyPath)]
    workload: Option<String>,
    /// The plan of a trial of this record
    #[arg(long, value_name = "DIR", requires = "trial", value_hint = ValueHint::DirPath)]
    record: Option<PathBuf>,
    /// The part of the study that the trial belongs to
    #[arg(long, value_name = "NAME", requires = "record")]
    part: Option<String>,
    /// Number of the trial
    #[arg(long, value_name = "N")]
    trial: Option<u32>,
    /// Number of the worker
    #[arg(long, value_name = "K", default_value_t = 0)]
    worker: usize,
    /// Contender whose settings the plan carries
    #[arg(long, value_name = "SPEC", default_value = "sqlite")]
    contender: String,
    /// Profile of the workload
    #[arg(long)]
    profile: Option<String>,
    /// Everything random follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Multiplies the workload's row counts
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,
    /// Clients in each worker process, where the workload does not say
    #[arg(long, value_name = "N")]
    clients: Option<u32>,
    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "2s")]
    window: String,
    /// Operations drawn for each client
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    cycle: u32,
    /// Database the plan names
    #[arg(long, value_name = "FILE", default_value = "app-0.db", value_hint = ValueHint::FilePath)]
    database: PathBuf,
}

pub(super) fn show(args: &ShowArgs) -> Result<u8> {
    let (study, workload, slot, base) = match (&args.record, args.trial) {
        (Some(dir), Some(number)) => {
            let record = record_of(dir, args.part.as_deref())?;
            let slot = record.run.schedule.iter().find(|s| s.trial == number).copied();
            let slot = slot.ok_or_else(|| anyhow!("{} has no trial {number}", dir.display()))?;
            let source = Source::new(record.run.workload.file.clone(), record.run.workload.text.clone());
            let base = record.trials.iter().find(|t| t.slot.trial == number).map(|t| record.dir.join(&t.base));
            (record.run.study, workload::parse(&source)?, slot, base)
        }
        _ => {
            let name = args.workload.as_deref().context("name a workload, or --record and --trial")?;
            let workload = workload::parse(&workload::open(name, |path| super::read_text(path))?)?;
            let contenders = vec![contender(&args.contender)?];
            let profile = args.profile.as_deref();
            let mut study = single(&workload, contenders, profile, args.seed, args.scale, args.cycle)?;
            study.load.clients = args.clients;
            study.load.window_ns = duration_ns(&args.window).map_err(|e| anyhow!("--window: {e}"))?;
            (study, workload, Slot { trial: 1, round: 1, condition: 0, contender: 0 }, None)
        }
    };
    let (text, databases) = plan(&study, &workload, slot, args)?;
    print(&text)?;
    let copy = |base: &PathBuf, to: &String| format!("cp {} {to}\n  ", base.display());
    let fresh: String = base.iter().flat_map(|base| databases.iter().map(|to| copy(base, to))).collect();
    eprintln!("\nTo carry it out by hand, keep it in a file:\n  {fresh}contend worker --plan FILE");
    Ok(OK)
}

/// The record that a trial is looked for in.
fn record_of(dir: &Path, part: Option<&str>) -> Result<Record> {
    match (open_found(dir)?, part) {
        (Found::One(record), None) => Ok(*record),
        (Found::One(_), Some(part)) => bail!("{} has no parts, so no part `{part}`", dir.display()),
        (Found::Parts(mut record), None) if record.parts.len() == 1 => Ok(record.parts.remove(0).1),
        (Found::Parts(record), None) => bail!("{} has parts; name one with --part: {}", dir.display(), record.names()),
        (Found::Parts(record), Some(part)) => {
            let names = record.names();
            let found = record.parts.into_iter().find(|(name, _)| name == part);
            found
                .map(|(_, record)| record)
                .ok_or_else(|| anyhow!("{} has no part `{part}`; it has {names}", dir.display()))
        }
    }
}

/// The plan, and the databases that it names.
fn plan(study: &Study, workload: &Workload, slot: Slot, args: &ShowArgs) -> Result<(String, Vec<String>)> {
    let contender = &study.contenders[slot.contender];
    let engine = engine::find(&contender.engine).context("unknown engine")?;
    let setup = (engine.setup)(&contender.settings);
    let workload = workload.with_axes(&study.conditions[slot.condition].axes)?;
    let workload = &match dialect(contender) {
        Some(dialect) => workload.spoken(dialect, engine.server.map_or(str::to_string, |server| server.load))?,
        None => workload,
    };
    let round = Plans::default().of(study, workload, slot)?;
    let databases: Vec<String> = databases(&args.database, workload.databases).collect();
    let plans = round.encode(contender, &setup, &Sql::of(workload, engine, &setup), &databases)?;
    let Some(pieces) = plans.get(args.worker) else {
        bail!("there is no worker {}; the plan has {} workers", args.worker, plans.len());
    };
    Ok((pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect(), databases))
}

/// One file for each database: the first as named, the others with their number after the name.
fn databases(first: &Path, count: u32) -> impl Iterator<Item = String> {
    let extension = first.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
    let stem = first.with_extension("").display().to_string();
    (0..count).map(move |number| match number {
        0 => format!("{stem}{extension}"),
        _ => format!("{stem}-{number}{extension}"),
    })
}

/// A contender as typed.
pub(super) fn contender(text: &str) -> Result<Contender> {
    let spec = spec::parse(text).and_then(|draft| draft.complete(&engine::Settings::new()));
    let spec = spec.map_err(|e| anyhow!("--contender: {e}"))?;
    Ok(Contender {
        name: spec.to_string(),
        label: spec.to_string(),
        engine: spec.engine,
        driver: spec.driver,
        model: spec.model,
        settings: spec.settings,
        tier: spec.tier,
    })
}

/// A study without comparisons, so that a workload can be looked at by itself.
pub(super) fn single(
    workload: &Workload,
    contenders: Vec<Contender>,
    profile: Option<&str>,
    seed: u64,
    scale: f64,
    cycle: u32,
) -> Result<Study> {
    let profile = match profile {
        Some(name) if !workload.profiles.contains_key(name) => {
            let there: Vec<&str> = workload.profiles.keys().map(String::as_str).collect();
            bail!("workload {} has no profile `{name}`; it has {}", workload.name, there.join(", "));
        }
        Some(name) => Some(name.to_string()),
        None => workload.profiles.keys().next().cloned(),
    };
    let load = Load {
        processes: None,
        clients: None,
        operations: None,
        window_ns: 2_000_000_000,
        run_in_ns: 0,
        drain_ns: 2_000_000_000,
        rate_per_s: None,
        arrivals: study::model::Arrivals::default(),
        cycle,
        scale,
        seed,
    };
    Ok(Study {
        name: workload.name.clone(),
        part: None,
        about: String::new(),
        beside: None,
        question: workload.about.clone(),
        workload: workload.name.clone(),
        scenario: None,
        kind: TrialKind::Load,
        variant: Variant::Corrected,
        extent: Extent::Full,
        headline: "throughput_ops_per_s".to_string(),
        margin: crate::stats::verdict::MARGIN,
        compact: false,
        rounds: 1,
        load,
        contenders,
        conditions: vec![Condition { label: String::new(), profile, axes: BTreeMap::new() }],
        baselines: vec![],
        metrics: vec![],
        exports: vec![],
        answers: vec![],
        effects: vec![],
        grids: vec![],
        alongs: vec![],
        readbacks: vec![],
        published: vec![],
        powercut: None,
        kept: vec![],
        changes: vec![],
        limits: vec![],
    })
}
