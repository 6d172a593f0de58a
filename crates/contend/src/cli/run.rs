//! `contend run`.

use super::{INVALID, OK, RunArgs, STOPPED, colour, print};
use crate::record::store::{Record, RecordWriter};
use crate::report;
use crate::stats::precision::Ns;
use crate::study::model::{Extent, Study, Variant};
use crate::study::{self, Choices, Vocabulary, check_vocabulary, parse_set, resolve};
use crate::trial::crew::Deadlines;
use crate::trial::machine;
use crate::trial::process::Launch;
use crate::trial::session::{Ending, Note, Order, resume, run as run_session};
use crate::ui::Progress;
use crate::units::duration_ns;
use crate::workload;
use anyhow::{Context, Result, anyhow};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second one ends the tool at once; the janitor then cleans up.
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(STOPPED), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let cancelled = || stop.load(Ordering::Relaxed);
    let progress = Progress::new(args.quiet);
    let tell = |note: Note<'_>| progress.show(&note);
    let deadlines = deadlines(args);
    let launch = args.worker_command.as_deref().map(launch);
    // What is refused at once has not touched the record.
    let began = args.resume.is_none() && !args.out.as_deref().is_some_and(RecordWriter::is_record);
    let (dir, ending) = match &args.resume {
        Some(dir) => (dir.clone(), resume(dir, launch.as_ref(), deadlines, &cancelled, &tell)),
        None => {
            let order = order(args, launch, deadlines)?;
            (order.out.clone(), run_session(&order, &cancelled, &tell))
        }
    };
    progress.finish();
    match ending {
        Ok(Ending::Complete) => conclude(&dir, args.json),
        Ok(Ending::Stopped) => {
            match RecordWriter::is_record(&dir) {
                true => eprintln!("Stopped. Finished trials are kept; {}", how_to_resume(&dir)),
                false => eprintln!("Stopped before the first trial; nothing is left."),
            }
            Ok(STOPPED)
        }
        Err(e) => {
            if began && RecordWriter::is_record(&dir) {
                eprintln!("Finished trials are kept; {}", how_to_resume(&dir));
            }
            Err(e)
        }
    }
}

fn how_to_resume(dir: &Path) -> String {
    format!("continue with: contend run --resume {}", dir.display())
}

/// The report of a complete run, and what the user sees of it.
fn conclude(dir: &Path, json: bool) -> Result<u8> {
    let record = Record::open(dir)?;
    let written = report::write(&record, dir)?;
    print(&if json { written.json.clone() } else { report::terminal(&written, colour()) })?;
    if let Some(finished) = record.run.finished.as_ref().filter(|f| f.measured_ns > 0) {
        let times = finished.elapsed_ns as f64 / finished.measured_ns as f64;
        eprintln!(
            "The run took {}: {} of measured windows, times {times:.2} for everything around them.",
            Ns(finished.elapsed_ns),
            Ns(finished.measured_ns),
        );
    }
    let invalid = record.trials.iter().filter(|t| !t.invalid.is_empty()).count();
    if invalid == 0 {
        return Ok(OK);
    }
    eprintln!("\n{invalid} of {} trials are invalid and not in any ranking:", record.trials.len());
    for trial in record.trials.iter().filter(|t| !t.invalid.is_empty()).take(3) {
        for reason in &trial.invalid {
            eprintln!("  trial {} ({}): {}: {}", trial.slot.trial, trial.contender, reason.kind, reason.detail);
        }
        eprintln!(
            "  see what its workers were told: contend plan show --record {} --trial {}",
            dir.display(),
            trial.slot.trial
        );
    }
    Ok(INVALID)
}

fn deadlines(args: &RunArgs) -> Deadlines {
    match args.deadline.map(Duration::from_secs) {
        None => Deadlines::default(),
        Some(time) => Deadlines { ready: time, silence: time, collect: time },
    }
}

/// Through a shell, so that quotes and launchers such as `ssh HOST` or `env NAME=VALUE` work as typed. The worker
/// takes the place of the shell: what is measured and killed by its number must be the worker.
fn launch(command: &str) -> Launch {
    Launch { program: PathBuf::from("/bin/sh"), args: vec!["-c".to_string(), format!("exec {command}")] }
}

fn order(args: &RunArgs, launch: Option<Launch>, deadlines: Deadlines) -> Result<Order> {
    let (study, workload) = study_and_workload(args)?;
    let out = match &args.out {
        Some(dir) => dir.clone(),
        None => default_out(&study),
    };
    Ok(Order {
        study,
        workload,
        out,
        command: std::env::args().collect(),
        launch,
        deadlines,
        allow_tmpfs: args.allow_tmpfs,
    })
}

fn study_and_workload(args: &RunArgs) -> Result<(Study, crate::source::Source)> {
    // The first of the built-in ones needs nothing but this binary.
    let first = study::builtin_names().next().context("no study is built in")?;
    let name = args.study.as_deref().unwrap_or(first);
    let source = study::open(name, |path| std::fs::read_to_string(path))?;
    let study = resolve(&source, &choices(args)?)?;
    let beside = Path::new(&source.name).parent().map(Path::to_path_buf).unwrap_or_default();
    let workload = workload::open(&study.workload, |path| {
        // A path in a study file is relative to that file.
        std::fs::read_to_string(beside.join(path)).or_else(|_| std::fs::read_to_string(path))
    })?;
    let parsed = workload::parse(&workload)?;
    let vocabulary = Vocabulary {
        profiles: parsed.profiles.keys().cloned().collect(),
        scale: parsed.scale.keys().cloned().collect(),
        transactions: parsed.transactions.iter().map(|t| t.name.clone()).collect(),
    };
    check_vocabulary(&source, &study, &vocabulary)?;
    Ok((study, workload))
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
fn default_out(study: &Study) -> PathBuf {
    let date = machine::now_utc();
    let mut name = format!("{}-{}", &date[..10], study.name);
    if study.variant == Variant::AsPublished {
        name.push_str("-as-published");
    }
    if study.extent == Extent::Quick {
        name.push_str("-quick");
    }
    let results = Path::new("results");
    let first = results.join(&name);
    let taken = |path: &PathBuf| path.exists();
    if !taken(&first) {
        return first;
    }
    (2..).map(|n| results.join(format!("{name}-{n}"))).find(|path| !taken(path)).unwrap_or(first)
}

/// Opens the record in `dir`, for other verbs.
pub(super) fn open_record(dir: &Path) -> Result<Record> {
    Record::open(dir).with_context(|| format!("cannot read the record in {}", dir.display()))
}
