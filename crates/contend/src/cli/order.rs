//! What a run is ordered with on the command line: a study, what is chosen of it, and where it runs.

use super::read_text;
use crate::engine;
use crate::source::Source;
use crate::study::model::{Contender, Extent, Study, Variant, Whole};
use crate::study::{self, Choices, Vocabulary, check_quick, check_vocabulary, parse_set, resolve_parts};
use crate::trial::order::Order;
use crate::trial::secret;
use crate::trial::server::attached::{Attached, without_passwords};
use crate::trial::server::private::Programs;
use crate::trial::watch::machine;
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::trial::workers::processes::Deadlines;
use crate::units::duration_ns;
use crate::workload::{self, scenario};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueHint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of every verb that runs a study.
#[derive(Args)]
pub struct OrderArgs {
    /// A built-in study (see `contend list studies`) or the path of a study file
    #[arg(value_hint = ValueHint::AnyPath)]
    pub study: Option<String>,
    /// Few cells and short windows (default without a study)
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// The whole study (default with a study)
    #[arg(long)]
    pub full: bool,
    /// Values of an axis or a setting, such as journal_mode=wal,delete, profile=public or clients=1,8; part=a,b for parts of
    /// a study. Can be given several times
    #[arg(long, value_name = "AXIS=V,...")]
    pub set: Vec<String>,
    /// An additional contender: engine[/driver[/model]]:key=value,... (see `contend list engines` and `contend list drivers`)
    #[arg(long, value_name = "SPEC")]
    pub contender: Vec<String>,
    /// Only contenders whose label or spec matches (a part of it, or with * and ?); may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,
    /// Use this driver for every contender whose engine has it (see `contend list drivers`)
    #[arg(long, value_name = "NAME")]
    pub driver: Option<String>,
    /// Number of rounds; in each round every contender runs once
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Clients in each worker process
    #[arg(long, value_name = "N")]
    pub clients: Option<u32>,
    /// Worker processes
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// Multiplies the workload's row counts
    #[arg(long, value_name = "FACTOR")]
    pub scale: Option<f64>,
    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Length of the measured window, such as 2s or 500ms
    #[arg(long, value_name = "TIME")]
    pub window: Option<String>,
    /// Directory of the record [default: results/DATE-STUDY, with -as-published and -quick for such runs]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Work on this running server instead of private ones: postgres://USER@HOST/ or mysql://USER@HOST/, the password
    /// with password_env=NAME or password_file=PATH after a `?` (other users can see one in the address itself)
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub dsn: Option<String>,
    /// Allow data on a file system in memory, where a sync costs nothing
    #[arg(long)]
    pub allow_tmpfs: bool,
    /// Start this shell command as the worker instead of the driver's own
    #[arg(long, value_name = "COMMAND")]
    pub worker_command: Option<String>,
    /// Start this shell command instead of contend's own HTTP client (with transport=http)
    #[arg(long, value_name = "COMMAND")]
    pub client_command: Option<String>,
    /// Deadlines in seconds: for a worker to get ready, to be silent while it works and to hand over its samples, and for
    /// the check of one database's data [default: 60, 15, 60 and 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub deadline: Option<u64>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// The deadlines that were typed.
pub fn deadlines(args: &OrderArgs) -> Deadlines {
    match args.deadline.map(Duration::from_secs) {
        None => Deadlines::default(),
        Some(time) => Deadlines { ready: time, silence: time, collect: time, check: time, ..Deadlines::default() },
    }
}

/// Programs that were typed in place of contend's own.
pub fn instead(args: &OrderArgs) -> InsteadOf {
    InsteadOf {
        worker: args.worker_command.as_deref().map(Launch::shell),
        client: args.client_command.as_deref().map(Launch::shell),
    }
}

/// The study that was typed; without one the first of the built-in ones, which needs nothing but this binary.
///
/// # Errors
/// It is not known, or cannot be read.
pub fn source(args: &OrderArgs) -> Result<Source> {
    let first = study::LIBRARY.names().into_iter().next().context("no study is built in")?;
    let name = args.study.as_deref().unwrap_or(first);
    // A directory has its study in a file of this name, such as a capture.
    let inside = Path::new(name).join("study.toml");
    let name = if inside.is_file() { &inside.display().to_string() } else { name };
    study::LIBRARY.open(name, |path| read_text(path))
}

/// A study with what the options choose of it, ready to run. `choices` is for what only some verbs offer.
///
/// # Errors
/// What does not fit, or is not there.
pub fn order(args: &OrderArgs, source: &Source, choices: &Choices) -> Result<Order> {
    let (mut whole, workloads, scenarios) = study_and_workloads(args, source, choices)?;
    let attached = args.dsn.as_deref().map(Attached::typed).transpose()?;
    if let Some(attached) = &attached {
        let mut contenders = whole.studies.iter().flat_map(|study| &study.contenders);
        if !contenders.any(|c| engine::find(&c.engine).is_some_and(|engine| attached.fits(engine))) {
            bail!("--dsn: no contender runs on a server of {}://", attached.address.scheme);
        }
    }
    for study in &mut whole.studies {
        leave_out_missing(study, args, attached.as_ref())?;
    }
    let out = match &args.out {
        Some(dir) => dir.clone(),
        None => default_out(&whole),
    };
    Ok(Order {
        whole,
        workloads,
        scenarios,
        out,
        command: without_passwords(super::arguments()),
        instead: instead(args),
        secrets: BTreeMap::new(),
        deadlines: deadlines(args),
        allow_tmpfs: args.allow_tmpfs,
        attached,
    })
}

/// Contenders of the study whose server this machine lacks are left out with a note; one that was typed must be
/// there.
fn leave_out_missing(study: &mut Study, args: &OrderArgs, attached: Option<&Attached>) -> Result<()> {
    let mut absent = vec![];
    for contender in &study.contenders {
        let Some(engine) = engine::find(&contender.engine) else { continue };
        let there = attached.is_some_and(|attached| attached.fits(engine));
        let no_server = engine.server.filter(|_| !there).and_then(|server| Programs::find(server).err());
        // A worker named on the command line takes the place of them all.
        let driver = engine::driver(contender).filter(|_| args.worker_command.is_none());
        let whose =
            if no_server.is_some() { engine.name.to_string() } else { format!("{}/{}", engine.name, contender.driver) };
        let Some(e) = no_server.or_else(|| Launch::of(driver?).err()) else { continue };
        let typed = args.contender.iter().any(|spec| spec.starts_with(&whose));
        let named = args.driver.as_ref() == Some(&contender.driver);
        if typed || named || study.contenders.iter().all(|c| is_missing(c, contender)) {
            return Err(e.context(format!("contender {}", contender.label)));
        }
        crate::tell!("Left out: {}. {e:#}", contender.label);
        absent.push((contender.name.clone(), format!("{} was left out: {e:#}", contender.label)));
    }
    study::leave_out(study, &absent);
    Ok(())
}

/// Whether what one contender lacks is lacking for another, too.
fn is_missing(other: &Contender, one: &Contender) -> bool {
    let needs = |c: &Contender| engine::driver(c).is_some_and(|driver| driver.program.is_some());
    let absent = |c: &Contender| engine::driver(c).is_some_and(|driver| Launch::of(driver).is_err());
    other.engine == one.engine && (!needs(one) || absent(other))
}

fn study_and_workloads(
    args: &OrderArgs,
    source: &Source,
    choices: &Choices,
) -> Result<(Whole, Vec<Source>, Vec<Option<Source>>)> {
    let whole = resolve_parts(source, choices)?;
    if args.quick {
        check_quick(source, choices.variant)?;
    }
    let of_study = |study| secret::from_environment_only(&workload_of(source, study)?);
    let workloads = whole.studies.iter().map(of_study).collect::<Result<Vec<_>>>()?;
    let both = whole.studies.iter().zip(&workloads);
    let scenarios = both.map(|(study, workload)| scenario_of(source, study, workload)).collect::<Result<_>>()?;
    Ok((whole, workloads, scenarios))
}

/// The workload of a study or part, which must have all the names that are used of it.
fn workload_of(source: &Source, study: &Study) -> Result<Source> {
    let workload = workload::LIBRARY.open(&study.workload, |path| read_beside(source, path))?;
    let parsed = workload::parse(&workload)?;
    let vocabulary = Vocabulary {
        profiles: parsed.profiles.keys().cloned().collect(),
        scale: parsed.scale.keys().chain(&parsed.presets).cloned().collect(),
        transactions: parsed.transactions.iter().map(|t| t.name.clone()).collect(),
        tables: parsed.tables.iter().map(|t| t.name.clone()).collect(),
    };
    check_vocabulary(source, study, &vocabulary)?;
    Ok(workload)
}

/// A path in a study file is relative to that file.
fn read_beside(source: &Source, path: &str) -> std::io::Result<String> {
    let beside = Path::new(&source.name).parent().map(Path::to_path_buf).unwrap_or_default();
    read_text(beside.join(path)).or_else(|_| read_text(path))
}

/// The scenario of a study or part, whose requests must fit its workload.
fn scenario_of(source: &Source, study: &Study, workload: &Source) -> Result<Option<Source>> {
    let asks = study.contenders.iter().any(engine::is_app);
    let Some(name) = study.scenario.as_ref().filter(|_| asks) else { return Ok(None) };
    let found = scenario::filled_in(&scenario::LIBRARY.open(name, |path| read_beside(source, path))?, &[])?;
    workload::asked(&workload::parse(&found)?, &workload::parse(workload)?)?;
    Ok(Some(secret::from_environment_only(&found)?))
}

/// What the options choose of a study, and no rate.
///
/// # Errors
/// An option that cannot be read.
pub fn choices(args: &OrderArgs, variant: Variant) -> Result<Choices> {
    // Without a study the answer should come soon; who names one wants it whole, unless they say so.
    let quick = args.quick || (args.study.is_none() && !args.full);
    let mut choices = Choices::new(variant, if quick { Extent::Quick } else { Extent::Full });
    choices.set = args.set.iter().map(|s| parse_set(s)).collect::<Result<_, _>>().map_err(|e| anyhow!(e))?;
    choices.contenders.clone_from(&args.contender);
    choices.only.clone_from(&args.only);
    choices.driver.clone_from(&args.driver);
    choices.rounds = args.rounds;
    choices.clients = args.clients;
    choices.processes = args.processes;
    choices.scale = args.scale;
    choices.seed = args.seed;
    choices.window_ns =
        args.window.as_deref().map(|w| duration_ns(w).map_err(|e| anyhow!("--window: {e}"))).transpose()?;
    Ok(choices)
}

/// `results/DATE-STUDY[-as-published][-quick]`, numbered when it is taken.
fn default_out(whole: &Whole) -> PathBuf {
    let mut name = whole.name.clone();
    if whole.variant == Variant::AsPublished {
        name.push_str("-as-published");
    }
    if whole.extent == Extent::Quick {
        name.push_str("-quick");
    }
    numbered_out(&name)
}

/// `results/DATE-NAME`, numbered when it is taken.
pub fn numbered_out(name: &str) -> PathBuf {
    let date = machine::now_utc();
    let name = format!("{}-{name}", &date[..10]);
    let results = Path::new("results");
    let first = results.join(&name);
    // What a warm-up that was killed left is in the way of the next one.
    let taken = |path: &PathBuf| path.exists() || warm_up_of(path).is_ok_and(|aside| aside.exists());
    if !taken(&first) {
        return first;
    }
    (2..).map(|n| results.join(format!("{name}-{n}"))).find(|path| !taken(path)).unwrap_or(first)
}

/// Where the warm-up's record lies as long as it is there, so that the cache beside it is also the run's.
pub fn warm_up_of(out: &Path) -> Result<PathBuf> {
    // A slash at the end stays in an absolute path, but is no part of its last name.
    let out = std::path::absolute(out).with_context(|| format!("--out {}", out.display()))?;
    let name = out.file_name().with_context(|| format!("--out {} names no directory", out.display()))?;
    let mut name = name.to_os_string();
    name.push(".warm");
    Ok(out.with_file_name(name))
}
