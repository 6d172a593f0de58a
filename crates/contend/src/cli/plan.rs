//! `contend plan show`: the exact plan of a worker, and how to carry it out by hand.

use super::run::open_found;
use super::shell::quoted;
use super::{OK, print};
use crate::engine;
use crate::engine::dsn::Typed;
use crate::load::{Arrivals, Load};
use crate::record::model::Slot;
use crate::record::store::Record;
use crate::source::Source;
use crate::study::model::{Condition, Contender, Resolved, Study};
use crate::study::{CYCLE, spec};
use crate::trial::data::cache::ATTACHED;
use crate::trial::dialect::dialect;
use crate::trial::over_http::{Asking, timeout_ms};
use crate::trial::plans::{self, Plans, Sql};
use crate::units::duration_ns;
use crate::workload::{self, Asked, Workload};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Parser, ValueHint};
use contend_wire::database::Database;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Show the plan that a worker gets
#[derive(Parser)]
pub(super) enum PlanVerb {
    /// Print the plan of one worker exactly as the worker gets it
    Show(ShowArgs),
}

#[derive(Args)]
pub(super) struct ShowArgs {
    /// A built-in workload (see `contend list workloads`) or the path of a workload file
    #[arg(required_unless_present = "record", conflicts_with = "record", value_hint = ValueHint::AnyPath)]
    workload: Option<String>,
    /// The plan of a trial of this record
    #[arg(long, value_name = "DIR", requires = "trial", value_hint = ValueHint::DirPath)]
    record: Option<PathBuf>,
    /// The part of the study that the trial belongs to
    #[arg(long, value_name = "NAME", requires = "record", conflicts_with = "workload")]
    part: Option<String>,
    /// Number of the trial
    #[arg(long, value_name = "N", requires = "record", conflicts_with = "workload")]
    trial: Option<u32>,
    /// Number of the worker
    #[arg(long, value_name = "K", default_value_t = 0)]
    worker: usize,
    /// The plan of the serving worker, for clients over HTTP
    #[arg(long, conflicts_with = "worker")]
    serving: bool,
    /// Contender whose settings are in the plan
    #[arg(long, value_name = "SPEC", default_value = "sqlite", conflicts_with = "record")]
    contender: String,
    /// Profile of the workload
    #[arg(long, conflicts_with = "record")]
    profile: Option<String>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1, conflicts_with = "record", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Multiplies the workload's row counts
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, conflicts_with = "record")]
    scale: f64,
    /// Clients in each worker process; of a workload with several roles only those that leave it open
    #[arg(long, value_name = "N", conflicts_with = "record")]
    clients: Option<u32>,
    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "2s", conflicts_with = "record")]
    window: String,
    /// Operations drawn for each client
    #[arg(long, value_name = "N", default_value_t = CYCLE, conflicts_with = "record")]
    cycle: u32,
    /// Database named in the plan
    #[arg(long, value_name = "FILE", default_value = "app-0.db", value_hint = ValueHint::FilePath)]
    database: PathBuf,
}

/// The trial whose plan is shown.
struct Of {
    study: Study,
    workload: Workload,
    slot: Slot,
    /// The requests of an app's clients.
    asked: Option<Asked>,
    /// Data of the trial, if it is from a record.
    base: Option<PathBuf>,
}

pub(super) fn plan(verb: &PlanVerb) -> Result<u8> {
    let PlanVerb::Show(args) = verb;
    show(args)
}

fn show(args: &ShowArgs) -> Result<u8> {
    let of = match (&args.record, args.trial) {
        (Some(dir), Some(number)) => of_record(dir, args.part.as_deref(), number)?,
        _ => {
            let name = args.workload.as_deref().context("name a workload, or --record and --trial")?;
            let workload = workload::parse(&workload::LIBRARY.open(name, |path| super::read_text(path))?)?;
            let contenders = vec![contender(&args.contender)?];
            let profile = args.profile.as_deref();
            let mut study = {
                let drawn = Drawn { seed: args.seed, scale: args.scale, cycle: args.cycle };
                single(&workload, contenders, profile, &drawn)?
            };
            ensure!(
                args.clients.is_none() || !workload.own_counts().contains(&"clients"),
                "--clients changes nothing: every role of workload {} has its own number",
                workload.name
            );
            study.load.clients = args.clients;
            study.load.window_ns = duration_ns(&args.window).map_err(|e| anyhow!("--window: {e}"))?;
            let slot = Slot { trial: 1, round: 1, condition: 0, contender: 0 };
            Of { study, workload, slot, asked: None, base: None }
        }
    };
    let (text, by_hand) = plan_of(&of, args)?;
    print(&text)?;
    crate::tell!("\n{by_hand}");
    Ok(OK)
}

fn of_record(dir: &Path, part: Option<&str>, number: u32) -> Result<Of> {
    let record = record_of(dir, part)?;
    let slot = record.run.slot(number);
    let slot = slot.ok_or_else(|| anyhow!("{} has no trial {number}", dir.display()))?;
    let run = &record.run;
    let workload = workload::parse(&Source::new(run.workload.file.clone(), run.workload.text.clone()))?;
    // Without the values of secrets, which a shown plan must not hold.
    let scenario = run.scenario.as_ref().map(|s| workload::parse(&Source::new(s.file.clone(), s.text.clone())));
    let asked = scenario.transpose()?.map(|scenario| workload::asked(&scenario, &workload)).transpose()?;
    let base =
        record.trials.iter().chain(&record.again).find(|t| t.slot.trial == number).map(|t| record.dir.join(&t.base));
    Ok(Of { study: record.run.study, workload, slot, asked, base })
}

/// The record in which to look for the trial.
fn record_of(dir: &Path, part: Option<&str>) -> Result<Record> {
    let mut record = open_found(dir)?;
    match part {
        None if record.parts.len() == 1 => Ok(record.parts.remove(0).1),
        None => bail!("{} has parts; name one with --part: {}", dir.display(), record.names()),
        Some(part) if record.file.is_alone() => bail!("{} has no parts, so no part `{part}`", dir.display()),
        Some(part) => {
            let names = record.names();
            let found = record.parts.into_iter().find(|(name, _)| name == part);
            found
                .map(|(_, record)| record)
                .ok_or_else(|| anyhow!("{} has no part `{part}`; it has {names}", dir.display()))
        }
    }
}

/// Placeholder for the address of the serving worker, which is unknown until it runs.
const SERVED_AT: &str = "http://127.0.0.1:1";

/// The plan, and how to carry it out by hand.
fn plan_of(of: &Of, args: &ShowArgs) -> Result<(String, String)> {
    let Of { study, slot, .. } = of;
    let contender = &study.contenders[slot.contender];
    let engine = engine::find(&contender.engine).context("unknown engine")?;
    let attached = of.base.as_ref().is_some_and(|base| base.ends_with(ATTACHED));
    let setup = plans::setup_of(engine, contender, attached);
    let workload = workload::with_axes(&of.workload, &study.conditions[slot.condition].axes)?;
    let workload = &match dialect(contender) {
        Some(dialect) => {
            workload::spoken(&workload, dialect, engine.server.map_or(str::to_string, |server| server.load))?
        }
        None => workload,
    };
    let round = Plans::default().of(study, workload, *slot)?;
    let files: Vec<String> = databases(&args.database, workload.databases).collect();
    let databases = files.iter().map(|file| match engine.server {
        Some(_) if file.contains("://") => Ok(Database::Server(Typed::parse(file)?.dsn.address)),
        _ => Ok(Database::File(file.clone())),
    });
    let databases = databases.collect::<Result<Vec<_>, String>>().map_err(|e| anyhow!("--database: {e}"))?;
    let sql = Sql::of(workload, engine, &setup);
    let served = engine::is_over_http(contender);
    if args.serving {
        ensure!(served, "{}: no worker serves it: its clients work with the database themselves", contender.label);
        let plan = round.encode_server(contender, &setup, &sql, &databases)?;
        return Ok((plan, "This is the plan of the serving worker; clients send requests to it.".to_string()));
    }
    let plans = match served {
        false => round.encode(contender, &setup, &sql, &databases)?,
        true => {
            let hosts = engine::app::hosts(contender, databases.len());
            let timeout_ms = timeout_ms(contender);
            let asking = Asking { url: SERVED_AT, secret: None, asked: of.asked.as_ref(), hosts, timeout_ms };
            round.encode_http(contender, &setup, &sql, &asking)?
        }
    };
    let Some(pieces) = plans.get(args.worker) else {
        bail!("there is no worker {}; the plan has {} workers", args.worker, plans.len());
    };
    let by_hand = match served {
        true => format!(
            "The serving worker gets another plan, which --serving shows. {SERVED_AT} stands for its address, which is \
             known once it is there."
        ),
        false => {
            let base = of.base.as_ref().filter(|base| base.is_file() && setup.service.is_none());
            let copy = |base: &PathBuf| {
                files.iter().map(|to| format!("cp {} {to}\n  ", quoted(&base.display().to_string()))).collect()
            };
            let fresh: String = base.map(copy).unwrap_or_default();
            format!("To carry it out by hand, keep it in a file:\n  {fresh}contend worker --plan FILE")
        }
    };
    Ok((pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect(), by_hand))
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
    Ok(engine::resolved(Contender {
        name: spec.to_string(),
        label: spec.to_string(),
        engine: spec.engine,
        driver: spec.driver,
        model: spec.model,
        worker: spec.worker,
        settings: spec.settings,
        tier: spec.tier,
        resolved: Resolved::default(),
    }))
}

/// Inputs for drawing the operations of a study.
pub(super) struct Drawn {
    pub(super) seed: u64,
    pub(super) scale: f64,
    /// Operations drawn for each client.
    pub(super) cycle: u32,
}

/// A study without comparisons, for looking at a workload alone.
pub(super) fn single(
    workload: &Workload,
    contenders: Vec<Contender>,
    profile: Option<&str>,
    drawn: &Drawn,
) -> Result<Study> {
    let Drawn { seed, scale, cycle } = *drawn;
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
        arrivals: Arrivals::default(),
        cycle,
        scale,
        seed,
    };
    let condition = Condition { label: String::new(), profile, axes: BTreeMap::new() };
    Ok(Study::alone(&workload.name, &workload.about, load, contenders, vec![condition]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_decides_is_not_given_in_addition() {
        let parse = |args: &[&str]| PlanVerb::try_parse_from([&["plan", "show"], args].concat()).map(drop);
        let of_record = ["--record", "r", "--trial", "1"];
        assert!(
            parse(&of_record).is_ok() && parse(&[&of_record[..], &["--part", "a", "--worker", "2"]].concat()).is_ok()
        );
        let own = [
            &["bank"][..],
            &["--contender", "sqlite"],
            &["--profile", "p"],
            &["--seed", "1"],
            &["--scale", "1"],
            &["--clients", "2"],
            &["--window", "2s"],
            &["--cycle", "9"],
        ];
        for own in own {
            let all = [&of_record[..], own].concat();
            let error = parse(&all).expect_err(own[0]).to_string();
            assert!(error.contains("cannot be used with"), "{error}");
        }
        for wrong in [&["--record", "r"][..], &["bank", "--trial", "1"], &["bank", "--serving", "--worker", "1"], &[]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
