//! Options of a run: the study, the choices in it, and where it runs.

use super::read_text;
use crate::engine;
use crate::source::library::Library;
use crate::source::{FileError, Source, nearest};
use crate::study::model::{Condition, Contender, Extent, Study, Variant, Whole};
use crate::study::spec::{self, Draft};
use crate::study::{self, Choices, StudyError, Vocabulary, check_quick, parse_set, resolve_named};
use crate::trial::order::Order;
use crate::trial::secret;
use crate::trial::server::attached::{Attached, without_passwords};
use crate::trial::server::private::Programs;
use crate::trial::watch::machine;
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::trial::workers::processes::Deadlines;
use crate::units::duration_ns;
use crate::workload::{self, scenario};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueHint};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of every verb that runs a study.
#[derive(Args)]
pub struct OrderArgs {
    /// A built-in study (see `contend list studies`) or the path of a study file
    #[arg(value_hint = ValueHint::AnyPath)]
    pub study: Option<String>,
    /// Fewer conditions and short windows (default without a study)
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// The whole study (default with a study)
    #[arg(long)]
    pub full: bool,
    /// Values of an axis or a setting, such as journal_mode=wal,delete, profile=public or clients=1,8; part=a,b for parts of
    /// a study. Can be given several times
    #[arg(long, value_name = "AXIS=V,...")]
    pub set: Vec<String>,
    /// An additional contender: engine[/driver[/model]][@WORKER]:key=value,... (see `contend list engines` and `contend list drivers`); WORKER is a build of the driver's worker, or its directory
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
    /// Directory of the record [default: a new one in results/, named after date and study]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Work on this running server instead of private ones: postgres://USER@HOST/ or mysql://USER@HOST/, the password
    /// with password_env=NAME or password_file=PATH after a `?` (other users can see one in the address itself)
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub dsn: Option<String>,
    /// Allow data where a power cut can lose data that was synced: in memory, or mounted so that a sync does not reach the disk
    /// (`volatile`, `nobarrier`)
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

/// The deadlines from the command line.
pub fn deadlines(args: &OrderArgs) -> Deadlines {
    match args.deadline.map(Duration::from_secs) {
        None => Deadlines::default(),
        Some(time) => Deadlines { ready: time, silence: time, collect: time, check: time, ..Deadlines::default() },
    }
}

/// Programs from the command line that replace contend's own.
pub fn instead(args: &OrderArgs) -> InsteadOf {
    InsteadOf {
        worker: args.worker_command.as_deref().map(Launch::shell),
        client: args.client_command.as_deref().map(Launch::shell),
    }
}

/// The study from the command line, else the first built-in one, which needs only this binary.
///
/// # Errors
/// It is unknown, or cannot be read.
pub fn source(args: &OrderArgs) -> Result<Source> {
    let first = study::LIBRARY.names().into_iter().next().context("no study is built in")?;
    let name = args.study.as_deref().unwrap_or(first);
    // In a directory, such as a capture, the study is in this file.
    let inside = Path::new(name).join("study.toml");
    // A directory that happens to be called like the first study is not it.
    let inside = Some(inside).filter(|inside| args.study.is_some() && inside.is_file());
    let is_own = !study::LIBRARY.names().contains(&name) && Path::new(name).is_dir();
    if is_own && inside.is_none() {
        bail!("{name} has no study.toml; if it is a capture, `contend capture to-workload {name}` says why");
    }
    let name = inside.map_or_else(|| name.to_string(), |inside| inside.display().to_string());
    study::LIBRARY.open(&name, |path| read_text(path))
}

/// The study with the options applied, ready to run. `choices` has options that only some verbs offer.
///
/// # Errors
/// The option that does not fit, or what is missing.
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
        command: without_passwords(super::arguments(), &["--dsn"]),
        instead: instead(args),
        secrets: BTreeMap::new(),
        deadlines: deadlines(args),
        allow_tmpfs: args.allow_tmpfs,
        attached,
    })
}

/// Leaves out contenders whose server this machine lacks, with a note. One from the command line must be available.
fn leave_out_missing(study: &mut Study, args: &OrderArgs, attached: Option<&Attached>) -> Result<()> {
    let mut absent = vec![];
    let typed: Vec<Draft> = args.contender.iter().filter_map(|text| spec::parse(text).ok()).collect();
    for contender in &study.contenders {
        let Some(engine) = engine::find(&contender.engine) else { continue };
        let there = attached.is_some_and(|attached| attached.fits(engine));
        let no_server = engine.server.filter(|_| !there).and_then(|server| Programs::find(server).err());
        // A worker from the command line replaces all workers.
        let no_worker = || Launch::of_contender(contender).err().filter(|_| args.worker_command.is_none());
        let names = |draft: &Draft, by_engine: bool| {
            let driver = draft.driver.as_deref().unwrap_or(engine.usual_driver().name);
            draft.engine.name == engine.name && (by_engine || driver == contender.driver)
        };
        let typed = typed.iter().any(|draft| names(draft, no_server.is_some()));
        let Some(e) = no_server.or_else(no_worker) else { continue };
        let named = args.driver.as_ref() == Some(&contender.driver);
        if typed || named || study.contenders.iter().all(|c| is_missing(c, contender)) {
            return Err(e.context(format!("contender {}", contender.label)));
        }
        crate::tell!("Left out: {}. {e:#}", contender.label);
        absent.push((contender.name.clone(), format!("{} was left out: {e:#}", contender.label)));
    }
    let part = study.part.as_ref().map_or_else(String::new, |part| format!("part {part}: "));
    ensure!(absent.len() < study.contenders.len(), "{part}nothing to run: every contender was left out");
    for words in study::leave_out(study, &absent) {
        crate::tell!("{words}.");
    }
    Ok(())
}

/// Whether another contender lacks the same program.
fn is_missing(other: &Contender, one: &Contender) -> bool {
    let needs = |c: &Contender| engine::driver(c).is_some_and(|driver| driver.program.is_some());
    let absent = |c: &Contender| Launch::of_contender(c).is_err();
    other.engine == one.engine && (!needs(one) || absent(other))
}

fn study_and_workloads(
    args: &OrderArgs,
    source: &Source,
    choices: &Choices,
) -> Result<(Whole, Vec<Source>, Vec<Option<Source>>)> {
    let whole = resolve_named(source, choices, &|study| vocabulary(&probable_workload(source, study)?))
        .map_err(|error| with_workloads_mistakes(source, error))?;
    if args.quick {
        check_quick(source, choices.variant)?;
    }
    let checked = |study: &Study| checked_workload(source, study.part.as_deref(), &study.workload);
    let workloads = all_or_errors(whole.studies.iter().map(checked))?;
    all_or_errors(
        whole.studies.iter().zip(&workloads).map(|(study, workload)| check_numbers(source, study, workload)),
    )?;
    let workloads = workloads.iter().map(secret::from_environment_only).collect::<Result<Vec<_>>>()?;
    let both = whole.studies.iter().zip(&workloads);
    let scenarios = both.map(|(study, workload)| scenario_of(source, study, workload)).collect::<Result<_>>()?;
    Ok((whole, workloads, scenarios))
}

/// The mistakes of a study file together with those of its workloads, so that a user can mend all of them.
fn with_workloads_mistakes(source: &Source, error: StudyError) -> StudyError {
    let StudyError::File(error) = error else { return error };
    if workload::parse(source).is_ok() {
        let what = "this is a workload; a study names it (`workload = ...`) and has contenders";
        let next =
            format!("`contend limit {}` takes the workload alone, docs/study-file.md shows a study", source.name);
        return StudyError::File(source.error(&[], format!("{what}: {next}")));
    }
    let file: toml::Table = source.text.parse().unwrap_or_default();
    let parts = file.get("part").and_then(toml::Value::as_table).into_iter().flatten();
    let parts = parts.filter_map(|(name, part)| Some((Some(name.as_str()), part.as_table()?)));
    let tables = parts.chain([(None, &file)]);
    let named = tables.filter_map(|(part, table)| Some((part, table.get("workload")?.as_str()?)));
    let wrong = |(part, name): (Option<&str>, &str)| checked_workload(source, part, name).err()?.downcast().ok();
    let mut all: Vec<FileError> = named.filter_map(wrong).chain([error.clone()]).collect();
    all.sort_by_key(|error| error.file != source.name);
    StudyError::File(FileError::together(all).unwrap_or(error))
}

/// All values, or all errors together.
fn all_or_errors<T>(all: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut right, mut wrong) = (vec![], vec![]);
    for one in all {
        match one.map_err(|error| error.downcast::<FileError>()) {
            Ok(one) => right.push(one),
            Err(Ok(error)) => wrong.push(error),
            Err(Err(error)) => match error.downcast::<StudyError>()? {
                StudyError::File(error) => wrong.push(error),
                typed => return Err(typed.into()),
            },
        }
    }
    FileError::together(wrong).map_or(Ok(right), |error| Err(error.into()))
}

/// The workload of a study or part. A workload that is not there is a mistake of the study file.
fn checked_workload(source: &Source, part: Option<&str>, name: &str) -> Result<Source> {
    let own = part.map(|part| ["part", part, "workload"]).filter(|own| source.contains(own));
    let key = own.as_ref().map_or(&["workload"][..], |own| own);
    let workload = workload_named(source, name).map_err(|error| source.error(key, format!("{error:#}")))?;
    workload::parse(&workload)?;
    Ok(workload)
}

/// The workload of a study, or the built-in one that was probably meant.
fn probable_workload(source: &Source, study: &Study) -> Option<Source> {
    let meant = || workload::LIBRARY.find(nearest(&study.workload, workload::LIBRARY.names())?);
    workload_named(source, &study.workload).ok().or_else(meant)
}

/// A built-in workload, a file, or a directory with a `workload.toml`, such as a capture.
fn workload_named(source: &Source, name: &str) -> Result<Source> {
    let is_built_in = workload::LIBRARY.find(name).is_some();
    let is_directory = !is_built_in && (beside(source, name).is_dir() || Path::new(name).is_dir());
    let inside = format!("{}/workload.toml", name.trim_end_matches('/'));
    let named = if is_directory { &inside } else { name };
    open_beside(&workload::LIBRARY, source, named)
}

/// The names in a workload that a study may use. Of a workload with mistakes, those of its sections; `None` if one of them
/// is missing, as under a mistyped name.
fn vocabulary(workload: &Source) -> Option<Vocabulary> {
    if let Ok(parsed) = workload::parse(workload) {
        return Some(Vocabulary {
            profiles: parsed.profiles.keys().cloned().collect(),
            scale: parsed.scale.keys().chain(&parsed.presets).cloned().collect(),
            transactions: parsed.transactions.iter().map(|t| t.name.clone()).collect(),
            tables: parsed.tables.iter().map(|t| t.name.clone()).collect(),
            own_counts: parsed.own_counts(),
        });
    }
    let file: toml::Table = workload.text.parse().ok()?;
    let names = |section: &str| Some(file.get(section)?.as_table()?.keys().cloned().collect::<Vec<_>>());
    Some(Vocabulary {
        profiles: names("profile")?,
        scale: ["scale", "preset"].into_iter().filter_map(names).flatten().collect(),
        transactions: names("transaction")?,
        tables: names("table")?,
        own_counts: vec![],
    })
}

/// Checks the values of axes that are numbers or presets of a study's workload.
///
/// # Errors
/// A condition's values cannot be read, and one of them by itself neither: each such value, at its line of the study.
fn check_numbers(source: &Source, study: &Study, workload: &Source) -> Result<()> {
    let parsed = workload::parse(workload)?;
    let is_own = |axis: &str| parsed.scale.contains_key(axis) || parsed.presets.iter().any(|preset| preset == axis);
    let fails = |axes: BTreeMap<String, String>| workload::with_axes(&parsed, &axes).err();
    let own = |condition: &Condition| {
        let values = condition.axes.iter().filter(|(axis, _)| is_own(axis));
        values.map(|(axis, value)| (axis.clone(), value.clone())).collect::<BTreeMap<_, _>>()
    };
    let wrong = study.conditions.iter().map(own).filter(|axes| fails(axes.clone()).is_some());
    let values: BTreeSet<(String, String)> = wrong.flatten().collect();
    all_or_errors(values.into_iter().filter_map(|(axis, value)| {
        let error = fails(BTreeMap::from([(axis.clone(), value.clone())]))?;
        Some(Err::<(), _>(study::at_axis(source, study, &axis, &value, error.to_string()).into()))
    }))
    .map(drop)
}

/// A path in a study file is relative to that file.
fn beside(source: &Source, path: &str) -> PathBuf {
    Path::new(&source.name).parent().map(Path::to_path_buf).unwrap_or_default().join(path)
}

/// A definition by its name, or from the file next to the study file; if there is none, from the one in the current directory.
/// The source has the path that was read.
fn open_beside(library: &Library, source: &Source, name: &str) -> Result<Source> {
    let first = beside(source, name);
    let is_there = library.find(name).is_none() && fs::symlink_metadata(&first).is_ok();
    let path = if is_there { first.display().to_string() } else { name.to_string() };
    library.open(&path, |path| read_text(path))
}

/// The scenario of a study or part, whose requests must fit its workload.
fn scenario_of(source: &Source, study: &Study, workload: &Source) -> Result<Option<Source>> {
    let asks = study.contenders.iter().any(engine::is_app);
    let Some(name) = study.scenario.as_ref().filter(|_| asks) else { return Ok(None) };
    let found = scenario::filled_in(&open_beside(&scenario::LIBRARY, source, name)?, &[])?;
    workload::asked(&workload::parse(&found)?, &workload::parse(workload)?)?;
    Ok(Some(secret::from_environment_only(&found)?))
}

/// The choices from the options, without a rate.
///
/// # Errors
/// An option that cannot be read.
pub fn choices(args: &OrderArgs, variant: Variant) -> Result<Choices> {
    // Without a named study the answer should come soon; a named study runs in full unless `--quick` is given.
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
    // The rest of a killed warm-up would block the next one.
    let taken = |path: &PathBuf| path.exists() || warm_up_of(path).is_ok_and(|aside| aside.exists());
    if !taken(&first) {
        return first;
    }
    (2..).map(|n| results.join(format!("{name}-{n}"))).find(|path| !taken(path)).unwrap_or(first)
}

/// Directory of the warm-up's record while it exists; the cache next to it is also the run's.
pub fn warm_up_of(out: &Path) -> Result<PathBuf> {
    // A trailing slash stays in an absolute path, but is not part of its last name.
    let out = std::path::absolute(out).with_context(|| format!("--out {}", out.display()))?;
    let name = out.file_name().with_context(|| format!("--out {} is not the name of a directory", out.display()))?;
    let mut name = name.to_os_string();
    name.push(".warm");
    Ok(out.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_same_name_elsewhere_replaces_none_that_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let source = Source::new(dir.path().join("study.toml").display().to_string(), "");
        let open = || open_beside(&workload::LIBRARY, &source, "Cargo.toml");
        assert_eq!(open().unwrap().name, "Cargo.toml", "there is none next to the study");
        fs::write(dir.path().join("Cargo.toml"), b"\xff").unwrap();
        let error = open().unwrap_err().to_string();
        assert!(error.contains(&dir.path().join("Cargo.toml").display().to_string()), "{error}");
    }
}
