//! `contend http`: a scenario carried out against any service, with the record and the report of every other run.

mod given;
mod study;

use super::run::{conclude, ended, numbered_out};
use super::{INVALID, OK, STOPPED, print, stop_on_signals};
use crate::analysis::requests;
use crate::engine;
use crate::record::store::{Record, RecordWriter};
use crate::report;
use crate::stats::precision::Ns;
use crate::study::ROUNDS_MAX;
use crate::study::model::{Study, Whole};
use crate::trial::note::Note;
use crate::trial::order::Order;
use crate::trial::run::{Ending, run as run_session};
use crate::trial::secret;
use crate::trial::service;
use crate::trial::workers::process::InsteadOf;
use crate::trial::workers::processes::Deadlines;
use crate::ui::Progress;
use crate::workload::{self, scenario};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Parser, ValueEnum, ValueHint};
use given::Given;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Carry out a scenario against a service over HTTP and write its report
#[derive(Parser, Clone)]
#[command(after_help = "Examples:
  contend http http://127.0.0.1:8080/items?page=1 --clients 50 --duration 10s
  contend http examples/notes.toml --url http://127.0.0.1:8080 --rate 100,200,400
  contend http gameplan --port 8000 --site gp-sqlite.test --clients 8 --requests 600
  CONTEND_SECRET_PASSWORD=... contend http gameplan --port 8000 --mode write --clients 1,8,64 --requests 300

A scenario file is described in docs/http.md.")]
pub struct HttpArgs {
    /// A scenario file, the name of a built-in scenario (gameplan, wordpress), or an address http://HOST:PORT/PATH for
    /// every request
    #[arg(value_hint = ValueHint::AnyPath)]
    scenario: String,
    /// Address of the service: http://HOST:PORT
    #[arg(long, value_hint = ValueHint::Url, default_value = "http://127.0.0.1:8000")]
    url: String,
    /// Instead of --url: the service is on this port of this machine
    #[arg(long, conflicts_with = "url", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The scenario's variable `mode`, or its profile if it has no such variable
    #[arg(long)]
    mode: Option<String>,
    /// The scenario's variable `user`
    #[arg(long)]
    user: Option<String>,
    /// The scenario's secret `password`. Other users can read a command line while it runs, but not the environment
    /// variable CONTEND_SECRET_PASSWORD
    #[arg(long)]
    password: Option<String>,
    /// The Host header, instead of the address
    #[arg(long, visible_alias = "site")]
    host: Option<String>,
    /// Closed loop: number of clients, each with a connection, that wait for their answers [default: the scenario's, or
    /// 8]; with --rate the number of connections that share the arrivals. Several numbers are measured one by one
    #[arg(long, visible_alias = "conc", value_name = "N,...", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Open loop: arrivals per second over all clients. Several numbers are measured one by one
    #[arg(long, value_name = "PER_SECOND,...", value_delimiter = ',')]
    rate: Vec<f64>,
    /// How arrivals are spaced in an open loop
    #[arg(long, value_enum, default_value_t = Spacing::Poisson)]
    arrivals: Spacing,
    /// Length of the measured window [default: the scenario's number of requests, or 10s]
    #[arg(long, value_name = "TIME", conflicts_with = "requests")]
    duration: Option<String>,
    /// Instead of a window: number of operations in all, shared by the clients
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..))]
    requests: Option<u32>,
    /// With a number of requests: number of operations before them, not counted [default: the scenario's]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "duration"])]
    warm: Option<u32>,
    /// Time before the window, not counted
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    run_in: String,
    /// Time after the window for requests in flight
    #[arg(long, value_name = "TIME", default_value = "2s")]
    drain: String,
    /// Number of rounds; in each round everything is measured once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    rounds: u32,
    /// Variables of the scenario, and secrets (better given in the environment, see docs/http.md)
    #[arg(long, value_name = "NAME=V,...")]
    set: Vec<String>,
    /// Longest time for a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Event loops of the client
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,
    /// A new TCP connection for each request
    #[arg(long)]
    close: bool,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Name in the report and in the JSON line [default: the scenario's]
    #[arg(long)]
    label: Option<String>,
    /// Directory of the record [default: results/DATE-http-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Print one line of JSON instead of the report: label, total, ok, failed, wall_s, req_per_s (what succeeded inside the
    /// window), p50_ms, p95_ms, p99_ms, max_ms (response times of successful requests; null, like the rate, without a valid
    /// trial), err_sample (a list of message, code and count). With several rates or numbers of clients a line for each
    #[arg(long)]
    json_line: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Spacing {
    Poisson,
    Constant,
}

pub(super) fn http(args: &HttpArgs) -> Result<u8> {
    if let Some((url, path)) = args.scenario.contains("://").then(|| scenario::address(&args.scenario)) {
        ensure!(args.port.is_none(), "--port: the address already has a port");
        return carry_out(&HttpArgs { url, ..args.clone() }, Some(&path));
    }
    match args.port {
        Some(port) => carry_out(&HttpArgs { url: format!("http://127.0.0.1:{port}"), ..args.clone() }, None),
        None => carry_out(args, None),
    }
}

/// `path` is what every request asks for, where there is no scenario.
fn carry_out(args: &HttpArgs, path: Option<&str>) -> Result<u8> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    engine::http::check_url(&args.url).map_err(|e| anyhow!("--url: {e}"))?;
    let written = match path {
        Some(path) => scenario::of_path(path),
        None => scenario::open(&args.scenario, |path| super::read_text(path))?,
    };
    let Given { secrets, variables, profile } = given::given(args, &written)?;
    let source = scenario::filled_in(&scenario::without_defaults(&written, secrets.keys())?, &variables)?;
    let before = secret::told(workload::parse(&source)?, &secrets)?;
    ensure!(
        !before.requests.is_empty(),
        "{}: this file sends no requests, so it is not a scenario; use it with contend run",
        source.name
    );
    let study = study::study(args, &before, profile, study::contender(args, &before)?)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => numbered_out(&format!("http-{}", before.name)),
    };
    ensure!(!RecordWriter::is_record(&out), "{} is already a record; choose another --out", out.display());
    let warm = study::warm(args, &before)?;
    let warm_up = (warm > 0).then(|| study::of_warm_up(&study, &before, warm)).transpose()?;
    let aside = warm_up.map(|study| Ok::<_, anyhow::Error>((warm_up_of(&out)?, study))).transpose()?;
    if let Some((aside, _)) = aside.as_ref().filter(|(aside, _)| aside.exists()) {
        bail!(in_the_way(aside));
    }
    let lists = service::lists(&out, &before, &study.contenders[0], &cancelled);
    let lists = lists.map_err(|e| anyhow!("{}: {}", source.name, before.secrets.hidden(&format!("{e:#}"))))?;
    let mut order = Order {
        whole: whole(study),
        workloads: vec![scenario::with_lists(&source, &lists)?],
        scenarios: vec![None],
        out: out.clone(),
        command: before.secrets.hidden_in_command(std::env::args()),
        instead: InsteadOf::default(),
        secrets,
        deadlines: Deadlines::default(),
        allow_tmpfs: true,
        attached: None,
    };
    let progress = Progress::new(args.quiet || args.json_line);
    progress.show(&Note::Phase("measuring the client's own cost"));
    if let Some((aside, study)) = aside {
        progress.show(&Note::Phase(&format!("warming up with {warm} operations")));
        if !warmed(&mut order, aside, study, &cancelled, &|note| progress.show(&note))? {
            progress.finish();
            eprintln!("Stopped during the warm-up; nothing was kept.");
            return Ok(STOPPED);
        }
    }
    let ending = run_session(&order, &cancelled, &|note| show(&progress, &note));
    progress.finish();
    ended(&out, ending, true, &how_to_resume(&out, &order.secrets), || match args.json_line {
        true => json_lines(&out, args.label.as_deref().unwrap_or(&before.name)),
        false => conclude(&out, false, args.quiet),
    })
}

/// A study without parts as all that is run.
fn whole(study: Study) -> Whole {
    Whole {
        name: study.name.clone(),
        question: study.question.clone(),
        variant: study.variant,
        extent: study.extent,
        studies: vec![study],
    }
}

/// What is said of a disk and of data, where there is none, would only raise questions.
fn show(progress: &Progress, note: &Note<'_>) {
    match note {
        Note::Phase(_) => {}
        Note::Prepared { generator_ns, .. } => {
            progress.show(&Note::Phase(&format!(
                "the client's own cost is {} for a request, without sending it",
                Ns(*generator_ns)
            )));
        }
        other => progress.show(other),
    }
}

/// A secret is in no record: to continue, the user has to give it again, in the environment.
fn how_to_resume(dir: &Path, secrets: &BTreeMap<String, String>) -> String {
    let variables: Vec<String> = secrets.keys().map(|name| secret::variable(name)).collect();
    let again = match variables.as_slice() {
        [] => String::new(),
        names => format!(", with {} in the environment", names.join(" and ")),
    };
    format!("continue with: contend run --resume {}{again}", dir.display())
}

/// Where the warm-up's record lies as long as it is there, so that the cache beside it is also the run's.
pub(super) fn warm_up_of(out: &Path) -> Result<PathBuf> {
    // A slash at the end stays in an absolute path, but is no part of its last name.
    let out = std::path::absolute(out).with_context(|| format!("--out {}", out.display()))?;
    let name = out.file_name().with_context(|| format!("--out {} names no directory", out.display()))?;
    let mut name = name.to_os_string();
    name.push(".warm");
    Ok(out.with_file_name(name))
}

fn in_the_way(aside: &Path) -> String {
    format!(
        "{} exists, and the warm-up needs this path; remove it if it is not needed, or choose another --out",
        aside.display()
    )
}

/// Carries out a study whose record is thrown away; false if it was stopped.
fn warmed(
    order: &mut Order,
    aside: PathBuf,
    study: Study,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<bool> {
    if let Some(parent) = aside.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    // What this makes it may remove; what was there, or another run makes meanwhile, it may not.
    std::fs::create_dir(&aside).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => anyhow!(in_the_way(&aside)),
        _ => anyhow!(e).context(format!("cannot create {}", aside.display())),
    })?;
    let out = std::mem::replace(&mut order.out, aside);
    let measured = std::mem::replace(&mut order.whole.studies[0], study);
    // Only how far it is: its measurements are not a result.
    let ending = run_session(order, cancelled, &|note| {
        if matches!(note, Note::Operations(_)) {
            tell(note);
        }
    });
    std::fs::remove_dir_all(&order.out).with_context(|| format!("cannot remove {}", order.out.display()))?;
    (order.out, order.whole.studies[0]) = (out, measured);
    Ok(!matches!(ending?, Ending::Stopped))
}

/// The run as one line for each condition. Why a trial does not count was said when it was over.
fn json_lines(dir: &Path, label: &str) -> Result<u8> {
    let record = Record::open(dir)?;
    print(&report::line::lines(&record.run.study.conditions, &requests::sums(&record)?, label))?;
    Ok(if record.trials.iter().all(|t| t.invalid.is_empty()) { OK } else { INVALID })
}
