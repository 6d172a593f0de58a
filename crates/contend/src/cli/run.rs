//! `contend run`.

use super::{INVALID, OK, STOPPED, colour, print, stop_on_signals};
use crate::analysis::Parts;
use crate::engine;
use crate::record::parts::{ALONE, StudyRecord};
use crate::record::store::{Record, RecordWriter};
use crate::report;
use crate::source::Source;
use crate::stats::precision::{Ns, counted};
use crate::study::model::{Contender, Extent, Study, Variant, Whole};
use crate::study::{
    self, Choices, Vocabulary, check_quick, check_vocabulary, estimate_left_ns, estimate_ns, parse_set, resolve_parts,
};
use crate::trial::data::disk::is_full;
use crate::trial::note::Note;
use crate::trial::order::{Order, Resumption};
use crate::trial::run::{Ending, resume, run as run_session};
use crate::trial::secret;
use crate::trial::server::attached::{Attached, without_passwords};
use crate::trial::server::private::Programs;
use crate::trial::watch::machine;
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::trial::workers::processes::Deadlines;
use crate::ui::Progress;
use crate::units::{duration_ns, rate_per_s};
use crate::workload::{self, scenario};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Parser, ValueHint};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Run a study and write its report
#[derive(Parser)]
#[command(after_help = "Examples:
  contend run                               the first built-in study, quick
  contend run wordpress --set profile=public --rounds 6
  contend run wordpress --set synchronous=full,normal --only '*FULL*'
  contend run wordpress --rate 500          open loop: 500 arrivals per second, however long they take
  contend run my-study.toml --out results/mine
  contend run my-study.toml --set part=a,b  only these parts of a study that has several
  contend run --resume results/mine         continue an interrupted run")]
pub(super) struct RunArgs {
    /// A built-in study (see `contend list studies`) or the path of a study file
    #[arg(value_hint = ValueHint::AnyPath)]
    study: Option<String>,
    /// Few cells and short windows (default without a study)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The whole study (default with a study)
    #[arg(long)]
    full: bool,
    /// Measure the way the original did, flaws included
    #[arg(long)]
    as_published: bool,
    /// Values of an axis or a setting, such as journal_mode=wal,delete, profile=public or clients=1,8; part=a,b for parts of
    /// a study. Can be given several times
    #[arg(long, value_name = "AXIS=V,...")]
    set: Vec<String>,
    /// An additional contender: engine[/driver[/model]]:key=value,... (see `contend list engines` and `contend list drivers`)
    #[arg(long, value_name = "SPEC")]
    contender: Vec<String>,
    /// Only contenders whose label or spec matches (a part of it, or with * and ?); may be repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Use this driver for every contender whose engine has it (see `contend list drivers`)
    #[arg(long, value_name = "NAME")]
    driver: Option<String>,
    /// Number of rounds; in each round every contender runs once
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Clients in each worker process
    #[arg(long, value_name = "N")]
    clients: Option<u32>,
    /// Worker processes
    #[arg(long, value_name = "N")]
    processes: Option<u32>,
    /// Open loop: arrivals per second over all clients
    #[arg(long, value_name = "PER_SECOND", value_parser = rate_per_s)]
    rate: Option<f64>,
    /// Multiplies the workload's row counts
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Length of the measured window, such as 2s or 500ms
    #[arg(long, value_name = "TIME")]
    window: Option<String>,
    /// Directory of the record [default: results/DATE-STUDY, with -as-published and -quick for such runs]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Continue the interrupted run of this record, with the same --dsn and worker commands
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = [
        "study", "quick", "full", "as_published", "set", "contender", "only", "driver", "rounds", "clients", "processes",
        "rate", "scale", "seed", "window", "out",
    ])]
    resume: Option<PathBuf>,
    /// Work on this running server instead of private ones: postgres://USER@HOST/ or mysql://USER@HOST/, the password
    /// with password_env=NAME or password_file=PATH after a `?` (other users can see one in the address itself)
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    dsn: Option<String>,
    /// Allow data on a file system in memory, where a sync costs nothing
    #[arg(long)]
    allow_tmpfs: bool,
    /// Start this shell command as the worker instead of the driver's own
    #[arg(long, value_name = "COMMAND")]
    worker_command: Option<String>,
    /// Start this shell command instead of contend's own HTTP client (with transport=http)
    #[arg(long, value_name = "COMMAND")]
    client_command: Option<String>,
    /// Deadlines in seconds: for a worker to get ready, to be silent while it works and to hand over its samples, and for
    /// the check of one database's data [default: 60, 15, 60 and 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: Option<u64>,
    /// Print the result as JSON instead of text
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    let progress = Progress::new(args.quiet);
    let tell = |note: Note<'_>| progress.show(&note);
    let deadlines = deadlines(args);
    let instead = InsteadOf {
        worker: args.worker_command.as_deref().map(Launch::shell),
        client: args.client_command.as_deref().map(Launch::shell),
    };
    // What is refused at once has not touched the record.
    let began = args.resume.is_none() && !args.out.as_deref().is_some_and(RecordWriter::is_record);
    let (dir, ending) = match &args.resume {
        Some(dir) => {
            let attached = args.dsn.as_deref().map(Attached::typed).transpose()?;
            if let Some(rest) = expected_rest(dir).filter(|_| !args.quiet) {
                crate::tell!("{rest}");
            }
            (
                dir.clone(),
                resume(
                    &Resumption { dir, instead: &instead, attached: attached.as_ref(), deadlines },
                    &cancelled,
                    &tell,
                ),
            )
        }
        None => {
            let order = order(args, instead, deadlines)?;
            if !args.quiet {
                crate::tell!("{}", expected(&order.whole));
            }
            (order.out.clone(), run_session(&order, &cancelled, &tell))
        }
    };
    progress.finish();
    ended(&dir, ending, began, &how_to_resume(&dir, args), || conclude(&dir, args.json, args.quiet))
}

/// What is said at the end of a run, however it came, and its exit status. `began`: what lies in `dir` is of this run.
pub fn ended(
    dir: &Path,
    ending: Result<Ending>,
    began: bool,
    how_to_resume: &str,
    complete: impl FnOnce() -> Result<u8>,
) -> Result<u8> {
    match ending {
        Ok(Ending::Complete) => complete(),
        Ok(Ending::Stopped) => {
            match RecordWriter::is_record(dir) {
                true => crate::tell!("Stopped. Finished trials are kept; {how_to_resume}"),
                false => crate::tell!("Stopped before the first trial; nothing is left."),
            }
            Ok(STOPPED)
        }
        Err(e) => {
            if is_full(&e) {
                crate::tell!("The disk is full: free some room.");
            }
            if began && RecordWriter::is_record(dir) {
                crate::tell!("Finished trials are kept; {how_to_resume}");
            }
            Err(e)
        }
    }
}

/// What is about to run, and about how long it takes.
fn expected(whole: &Whole) -> String {
    let parts = if whole.has_parts() { format!(", {}", counted(whole.studies.len(), "part")) } else { String::new() };
    let estimated_ns = whole.studies.iter().map(estimate_ns).fold(0, u64::saturating_add);
    format!("study {}{parts}: about {}", whole.name, in_words(estimated_ns))
}

/// What is left of a run, and about how long that takes; nothing of what cannot be read or is complete, which resuming says.
fn expected_rest(dir: &Path) -> Option<String> {
    let found = StudyRecord::open(dir).ok()?;
    let records: Vec<&Record> = found.parts.iter().map(|(_, part)| part).collect();
    let (mut trials, mut left_ns) = (0, 0u64);
    for record in &records {
        let done: BTreeSet<u32> = record.trials.iter().map(|trial| trial.slot.trial).collect();
        let left = || record.run.schedule.iter().filter(|slot| !done.contains(&slot.trial));
        trials += left().count();
        left_ns = left_ns.saturating_add(estimate_left_ns(&record.run.study, left()));
    }
    let all: usize = records.iter().map(|record| record.run.schedule.len()).sum();
    let study = &records.first()?.run.study.name;
    (trials > 0)
        .then(|| format!("study {study}: {trials} of {} left, about {}", counted(all, "trial"), in_words(left_ns)))
}

fn in_words(ns: u64) -> String {
    match ns.div_ceil(1_000_000_000) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

fn how_to_resume(dir: &Path, args: &RunArgs) -> String {
    let used = [
        ("--dsn", args.dsn.is_some()),
        ("--worker-command", args.worker_command.is_some()),
        ("--client-command", args.client_command.is_some()),
    ];
    let used: Vec<&str> = used.into_iter().filter_map(|(option, used)| used.then_some(option)).collect();
    let same = if used.is_empty() { String::new() } else { format!(", with the same {}", used.join(" and ")) };
    format!("continue with: contend run --resume {}{same}", dir.display())
}

/// Writes the report of a record into its directory.
pub(super) fn write_report(found: &StudyRecord, dir: &Path) -> Result<report::Written> {
    let parts = Parts::new(&found.file, &found.parts);
    parts.alone().map_or_else(|| report::parts::write(&parts, dir), |findings| report::write(findings, dir))
}

/// The report of a complete run, and what the user sees of it. The status is that of the worst part.
pub fn conclude(dir: &Path, json: bool, quiet: bool) -> Result<u8> {
    let found = StudyRecord::open(dir)?;
    let written = write_report(&found, dir)?;
    print(&if json { written.json.clone() } else { report::terminal(&written, colour()) })?;
    if !quiet {
        say_time(found.parts.iter().map(|(_, record)| record));
    }
    let invalid: usize = found.parts.iter().map(|(part, record)| say_invalid(dir, part, record)).sum();
    Ok(if invalid == 0 { OK } else { INVALID })
}

fn say_time<'r>(records: impl Iterator<Item = &'r Record>) {
    let finished = records.filter_map(|record| record.run.finished.as_ref());
    let sum = finished.fold((0, 0), |(elapsed, measured), f| (elapsed + f.elapsed_ns, measured + f.measured_ns));
    if let (elapsed_ns, measured_ns @ 1..) = sum {
        crate::tell!("The run took {}, of which {} were measured.", Ns(elapsed_ns), Ns(measured_ns));
    }
}

/// Trials that do not count and are named on the terminal.
const NAMED: usize = 3;

/// Says why trials of a record do not count, and how to look at them; how many there are.
fn say_invalid(dir: &Path, part: &str, record: &Record) -> usize {
    let invalid = || record.trials.iter().filter(|t| !t.invalid.is_empty());
    let found = invalid().count();
    let option = if part == ALONE { String::new() } else { format!(" --part {part}") };
    if found > 0 {
        let of = record.run.study.part.as_ref().map_or(String::new(), |part| format!(" of part {part}"));
        let are = if found == 1 { "is" } else { "are" };
        crate::tell!(
            "\n{found} of {}{of} {are} invalid and not in any ranking:",
            counted(record.trials.len(), "trial")
        );
    }
    for trial in invalid().take(NAMED) {
        for reason in &trial.invalid {
            crate::tell!("  trial {} ({}): {}: {}", trial.slot.trial, trial.contender, reason.kind, reason.detail);
        }
        crate::tell!(
            "  see the plans of its workers: contend plan show --record {}{option} --trial {}",
            dir.display(),
            trial.slot.trial
        );
    }
    if found > NAMED {
        crate::tell!("  and {} more: the report has them all", found - NAMED);
    }
    found
}

fn deadlines(args: &RunArgs) -> Deadlines {
    match args.deadline.map(Duration::from_secs) {
        None => Deadlines::default(),
        Some(time) => Deadlines { ready: time, silence: time, collect: time, check: time, ..Deadlines::default() },
    }
}

fn order(args: &RunArgs, instead: InsteadOf, deadlines: Deadlines) -> Result<Order> {
    let (mut whole, workloads, scenarios) = study_and_workloads(args)?;
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
        instead,
        secrets: BTreeMap::new(),
        deadlines,
        allow_tmpfs: args.allow_tmpfs,
        attached,
    })
}

/// Contenders of the study whose server this machine lacks are left out with a note; one that was typed must be
/// there.
fn leave_out_missing(study: &mut Study, args: &RunArgs, attached: Option<&Attached>) -> Result<()> {
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

fn study_and_workloads(args: &RunArgs) -> Result<(Whole, Vec<Source>, Vec<Option<Source>>)> {
    // The first of the built-in ones needs nothing but this binary.
    let first = study::builtin_names().next().context("no study is built in")?;
    let name = args.study.as_deref().unwrap_or(first);
    // A directory has its study in a file of this name, such as a capture.
    let inside = std::path::Path::new(name).join("study.toml");
    let name = if inside.is_file() { &inside.display().to_string() } else { name };
    let source = study::open(name, |path| super::read_text(path))?;
    let choices = choices(args)?;
    let whole = resolve_parts(&source, &choices)?;
    if args.quick {
        check_quick(&source, choices.variant)?;
    }
    let of_study = |study| secret::from_environment_only(&workload_of(&source, study)?);
    let workloads = whole.studies.iter().map(of_study).collect::<Result<Vec<_>>>()?;
    let both = whole.studies.iter().zip(&workloads);
    let scenarios = both.map(|(study, workload)| scenario_of(&source, study, workload)).collect::<Result<_>>()?;
    Ok((whole, workloads, scenarios))
}

/// The workload of a study or part, which must have all the names that are used of it.
fn workload_of(source: &Source, study: &Study) -> Result<Source> {
    let workload = workload::open(&study.workload, |path| read_beside(source, path))?;
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
    super::read_text(beside.join(path)).or_else(|_| super::read_text(path))
}

/// The scenario of a study or part, whose requests must fit its workload.
fn scenario_of(source: &Source, study: &Study, workload: &Source) -> Result<Option<Source>> {
    let asks = study.contenders.iter().any(engine::is_app);
    let Some(name) = study.scenario.as_ref().filter(|_| asks) else { return Ok(None) };
    let found = scenario::filled_in(&scenario::open(name, |path| read_beside(source, path))?, &[])?;
    workload::asked(&workload::parse(&found)?, &workload::parse(workload)?)?;
    Ok(Some(secret::from_environment_only(&found)?))
}

fn choices(args: &RunArgs) -> Result<Choices> {
    let variant = if args.as_published { Variant::AsPublished } else { Variant::Corrected };
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
    choices.rate_per_s = args.rate;
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

/// Opens the record in `dir`, with or without parts, for other verbs.
pub(super) fn open_found(dir: &Path) -> Result<StudyRecord> {
    StudyRecord::open(dir).with_context(|| format!("cannot read the record in {}", dir.display()))
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
