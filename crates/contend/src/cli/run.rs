//! `contend run`.

use super::order::{self, OrderArgs};
use super::shell::quoted;
use super::{INVALID, OK, STOPPED, print, stop_on_signals, style};
use crate::analysis::Parts;
use crate::record::parts::{ALONE, StudyRecord};
use crate::record::store::{Record, RecordWriter};
use crate::report;
use crate::source::Source;
use crate::stats::precision::{Ns, counted};
use crate::study::model::{Condition, Study, Variant};
use crate::study::{Choices, assumed_operation_ns, estimate_left_ns, estimate_ns, kind, until};
use crate::trial::data::disk::is_full;
use crate::trial::note::Note;
use crate::trial::order::{Order, Resumption};
use crate::trial::run::{Ending, resume, run as run_session};
use crate::trial::server::attached::Attached;
use crate::ui::Progress;
use crate::units::rate_per_s;
use crate::workload;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Parser, ValueHint};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Run a study and write its report
#[derive(Parser)]
#[command(after_help = "Examples:
  contend run                               the first built-in study, quick
  contend run wordpress --set profile=public --rounds 6
  contend run wordpress --until 'ratio within 5 %'
  contend run wordpress --set synchronous=full,normal --only '*FULL*'
  contend run wordpress --rate 500          open loop: 500 arrivals per second
  contend run my-study.toml --out results/mine
  contend run my-study.toml --set part=a,b  only these parts of a study
  contend run --resume results/mine         continue an interrupted run")]
pub(super) struct RunArgs {
    #[command(flatten)]
    order: OrderArgs,
    /// Measure the way the original did, flaws included
    #[arg(long)]
    as_published: bool,
    /// Open loop: arrivals per second over all clients
    #[arg(long, value_name = "PER_SECOND", value_parser = rate_per_s)]
    rate: Option<f64>,
    /// Go on until the ratio of each contender to its baseline is known with this precision, such as 'ratio within 5 %', in at
    /// most --rounds rounds [default: 40]. Its intervals allow for looking again and again, and need more rounds for it
    #[arg(long, value_name = "PRECISION", value_parser = until::parse)]
    until: Option<f64>,
    /// Most rounds that run again because other programs or the disk disturbed them; 0: none [default: 3, or a fifth of the
    /// rounds before if that is more; with --as-published 0]
    #[arg(long, value_name = "N")]
    again: Option<u32>,
    /// Continue the interrupted run of this record, with the same --dsn and worker commands
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = [
        "study", "quick", "full", "as_published", "set", "contender", "only", "driver", "rounds", "clients", "processes",
        "until", "again", "rate", "scale", "seed", "window", "out",
    ])]
    resume: Option<PathBuf>,
    /// Print the result as JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    let progress = Progress::new(args.order.quiet);
    let tell = |note: Note<'_>| progress.show(&note);
    let deadlines = order::deadlines(&args.order);
    let instead = order::instead(&args.order);
    // A run that is rejected at once has not touched the record.
    let began = args.resume.is_none() && !args.order.out.as_deref().is_some_and(RecordWriter::is_record);
    let (dir, ending) = match &args.resume {
        Some(dir) => {
            let attached = args.order.dsn.as_deref().map(Attached::typed).transpose()?;
            if let Some(rest) = expected_rest(dir) {
                progress.say(&rest);
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
            let order = ordered(args)?;
            progress.say(&expected(&order));
            (order.out.clone(), run_session(&order, &cancelled, &tell))
        }
    };
    progress.finish();
    ended(&dir, ending, began, &how_to_resume(&dir, args), || conclude(&dir, args.json, args.order.quiet))
}

fn ordered(args: &RunArgs) -> Result<Order> {
    let variant = if args.as_published { Variant::AsPublished } else { Variant::Corrected };
    let choices = Choices { rate_per_s: args.rate, ..order::choices(&args.order, variant)? };
    let mut order = order::order(&args.order, &order::source(&args.order)?, &choices)?;
    for study in &mut order.whole.studies {
        if let Some(kind) = kind::find(&study.kind).filter(|kind| kind.verb != "run") {
            bail!("study {} is of kind `{}`; carry it out with contend {}", study.name, kind.name, kind.verb);
        }
        study.again = args.again.or(study.again);
        args.until.map_or(Ok(()), |within| until::apply(study, within, args.order.rounds)).map_err(|e| anyhow!(e))?;
    }
    Ok(order)
}

/// Prints the end of a run and returns its exit status. `began`: whether `dir` holds this run.
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

/// The size of the run, and its estimated time.
fn expected(order: &Order) -> String {
    let whole = &order.whole;
    let parts = if whole.has_parts() { format!(", {}", counted(whole.studies.len(), "part")) } else { String::new() };
    let each = whole.studies.iter().zip(&order.workloads);
    let estimated_ns = each
        .map(|(study, workload)| estimate_ns(study).saturating_add(tails_ns(study, workload)))
        .fold(0, u64::saturating_add);
    let most = if whole.studies.iter().any(|study| study.until.is_some()) { "at most " } else { "" };
    let assumed = whole.studies.iter().find_map(assumed_operation_ns);
    let assumed = assumed.map_or(String::new(), |ns| format!(" if an operation takes {} ms", ns / 1_000_000));
    format!("study {}{parts}: {most}about {}{assumed}", whole.name, in_words(estimated_ns))
}

/// Time after the windows of a study's trials, ns, in which operations come to their ends.
fn tails_ns(study: &Study, workload: &Source) -> u64 {
    let Ok(workload) = workload::parse(workload) else { return 0 };
    let tail_ns = |at: &Condition| {
        let workload = workload::with_axes(&workload, &at.axes).ok()?;
        Some(workload::tail_ns(&workload, &study.load.under(&at.axes), at.profile.as_deref()))
    };
    let round_ns = study.conditions.iter().filter_map(tail_ns).fold(0, u64::saturating_add);
    round_ns.saturating_mul(study.contenders.len() as u64).saturating_mul(u64::from(study.rounds))
}

/// Remaining trials and time of an interrupted run; `None` if it is complete or unreadable (resuming reports that).
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
        ("--dsn", args.order.dsn.is_some()),
        ("--worker-command", args.order.worker_command.is_some()),
        ("--client-command", args.order.client_command.is_some()),
    ];
    let used: Vec<&str> = used.into_iter().filter_map(|(option, used)| used.then_some(option)).collect();
    let same = if used.is_empty() { String::new() } else { format!(", with the same {}", used.join(" and ")) };
    let dir = quoted(&dir.display().to_string());
    format!("continue with: contend run --resume {dir}{same}; see what is there with: contend report {dir}")
}

/// Writes the report of a record into its directory.
pub(super) fn write_report(found: &StudyRecord, dir: &Path) -> Result<report::Written> {
    let parts = Parts::new(&found.file, &found.parts);
    parts.alone().map_or_else(|| report::parts::write(&parts, dir), |findings| report::write(findings, dir))
}

/// Writes the report of a complete run and prints its first screen. The status is that of the worst part.
pub fn conclude(dir: &Path, json: bool, quiet: bool) -> Result<u8> {
    let found = StudyRecord::open(dir)?;
    let written = write_report(&found, dir)?;
    print(&if json { written.json.clone() } else { report::terminal(&written, style()) })?;
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

/// Most invalid trials that are named on the terminal.
const NAMED: usize = 3;

/// Prints why trials of a record are invalid, and how to look at them; returns their number.
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
            quoted(&dir.display().to_string()),
            trial.slot.trial
        );
    }
    if found > NAMED {
        crate::tell!("  and {} more: the report has them all", found - NAMED);
    }
    found
}

/// Opens the record in `dir`, with or without parts, for other verbs.
pub(super) fn open_found(dir: &Path) -> Result<StudyRecord> {
    StudyRecord::open(dir).with_context(|| format!("cannot read the record in {}", dir.display()))
}
