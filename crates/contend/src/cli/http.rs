//! `contend http`: a scenario carried out against any service, with the record and the report of every other run.

use super::run::{conclude, numbered_out};
use super::{INVALID, OK, STOPPED, print, stop_on_signals};
use crate::engine;
use crate::record::store::{Record, RecordWriter};
use crate::report;
use crate::source::Source;
use crate::study::CYCLE;
use crate::study::model::{Arrivals, Condition, Contender, Load, Study, Tier, Whole};
use crate::trial::crew::Deadlines;
use crate::trial::process::InsteadOf;
use crate::trial::secret;
use crate::trial::service;
use crate::trial::session::{Ending, Order, run as run_session};
use crate::ui::Progress;
use crate::units::duration_ns;
use crate::workload::{self, Workload, scenario};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum, ValueHint};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

#[derive(Args, Clone)]
#[command(after_help = "Examples:
  contend http examples/notes.toml --url http://127.0.0.1:8080 --clients 50
  contend http gameplan --url http://127.0.0.1:8000 --host gp-sqlite.test --clients 8 --requests 600
  CONTEND_SECRET_PASSWORD=... contend http gameplan --url http://127.0.0.1:8000 --set mode=write --rate 20

A scenario file is described in docs/http.md.")]
pub struct HttpArgs {
    /// A scenario file, or the name of a built-in scenario (gameplan, wordpress)
    #[arg(value_hint = ValueHint::AnyPath)]
    scenario: String,
    /// Where the service is: http://HOST:PORT
    #[arg(long, value_hint = ValueHint::Url, default_value = "http://127.0.0.1:8000")]
    url: String,
    /// In place of --url: the service is at this port of this machine
    #[arg(long, conflicts_with = "url", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The Host header, in place of the address
    #[arg(long, visible_alias = "site")]
    host: Option<String>,
    /// Closed loop: clients, each with a connection, that wait for their answers [default: 8]; with --rate the
    /// connections that arrivals are spread over
    #[arg(long, visible_alias = "conc", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    clients: Option<u32>,
    /// Open loop: arrivals per second over all clients
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// How arrivals are spaced in an open loop
    #[arg(long, value_enum, default_value_t = Spacing::Poisson)]
    arrivals: Spacing,
    /// Length of the measured window [default: the scenario's number of requests, or else 10s]
    #[arg(long, value_name = "TIME", conflicts_with = "requests")]
    duration: Option<String>,
    /// Instead of a window: so many operations in all, shared by the clients
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..))]
    requests: Option<u32>,
    /// With a number of requests: so many operations before them, which do not count [default: the scenario's]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "duration"])]
    warm: Option<u32>,
    /// Time before the window, which does not count
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    run_in: String,
    /// How long requests under way may take after the window
    #[arg(long, value_name = "TIME", default_value = "2s")]
    drain: String,
    /// Rounds: how often the whole is measured
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Variables of the scenario, and secrets, which are better put into the environment (see docs/http.md)
    #[arg(long, value_name = "NAME=V,...")]
    set: Vec<String>,
    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Event loops of the client
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,
    /// A new TCP connection for each request
    #[arg(long)]
    close: bool,
    /// Everything random follows from it
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Name in the report and in the JSON line [default: the scenario's]
    #[arg(long)]
    label: Option<String>,
    /// Directory of the record [default: results/DATE-http-SCENARIO]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Print one line of JSON instead of the report: label, total, ok, failed, wall_s, req_per_s (what succeeded inside the
    /// window), p50_ms, p95_ms, p99_ms, max_ms (response times of those that succeeded; null, as the rate, without a valid
    /// trial), err_sample
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
    match args.port {
        Some(port) => carry_out(&HttpArgs { url: format!("http://127.0.0.1:{port}"), ..args.clone() }),
        None => carry_out(args),
    }
}

fn carry_out(args: &HttpArgs) -> Result<u8> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    engine::http::check_url(&args.url).map_err(|e| anyhow!("--url: {e}"))?;
    let written = scenario::open(&args.scenario, |path| super::read_text(path))?;
    let (secrets, variables) = given(&written, &args.set)?;
    let source = scenario::filled_in(&scenario::without_defaults(&written, secrets.keys())?, &variables)?;
    let before = secret::told(workload::parse(&source)?, &secrets)?;
    ensure!(!before.requests.is_empty(), "{}: a scenario sends requests; run this file with contend run", source.name);
    let contender = contender(args, &before)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => numbered_out(&format!("http-{}", before.name)),
    };
    ensure!(!RecordWriter::is_record(&out), "{} is a record already; choose another --out", out.display());
    let warm = requests(args, &before).and(args.warm.or(before.warm)).unwrap_or(0);
    let aside = (warm > 0).then(|| warm_up_of(&out)).transpose()?;
    if let Some(aside) = aside.as_ref().filter(|aside| aside.exists()) {
        bail!(in_the_way(aside));
    }
    let lists = service::lists(&out, &before, &contender, &cancelled);
    let lists = lists.map_err(|e| anyhow!("{}: {}", source.name, before.secrets.hidden(&format!("{e:#}"))))?;
    let source = scenario::with_lists(&source, &lists)?;
    let parsed = workload::parse(&source)?;
    let study = study(args, &parsed, contender)?;
    let mut order = Order {
        whole: Whole {
            name: study.name.clone(),
            question: study.question.clone(),
            variant: study.variant,
            extent: study.extent,
            studies: vec![study],
        },
        workloads: vec![source],
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
    if let Some(aside) = aside
        && !warmed(&mut order, aside, warm, &cancelled)?
    {
        return Ok(STOPPED);
    }
    let ending = run_session(&order, &cancelled, &|note| progress.show(&note));
    progress.finish();
    match ending? {
        Ending::Stopped => Ok(STOPPED),
        Ending::Complete if args.json_line => json_line(&out, args.label.as_deref().unwrap_or(&before.name)),
        Ending::Complete => conclude(&out, false, args.quiet),
    }
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
        "{} is there, and the warm-up needs that place; remove it if nobody needs it, or choose another --out",
        aside.display()
    )
}

/// Carries out so many operations whose record is thrown away; false if it was stopped.
fn warmed(order: &mut Order, aside: PathBuf, operations: u32, cancelled: &dyn Fn() -> bool) -> Result<bool> {
    if let Some(parent) = aside.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    // What this makes it may remove; what was there, or another run makes meanwhile, it may not.
    std::fs::create_dir(&aside).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => anyhow!(in_the_way(&aside)),
        _ => anyhow!(e).context(format!("cannot create {}", aside.display())),
    })?;
    let (out, measured) = (std::mem::replace(&mut order.out, aside), order.whole.studies[0].clone());
    let study = &mut order.whole.studies[0];
    study.load.operations = Some(operations.div_ceil(measured.load.clients.unwrap_or(1)));
    study.rounds = 1;
    let ending = run_session(order, cancelled, &|_| {});
    std::fs::remove_dir_all(&order.out).with_context(|| format!("cannot remove {}", order.out.display()))?;
    (order.out, order.whole.studies[0]) = (out, measured);
    Ok(!matches!(ending?, Ending::Stopped))
}

/// Names and values as typed.
type Pairs = Vec<(String, String)>;

/// What was given of a scenario's secrets, with `--set` or in the environment, and of its variables.
fn given(scenario: &Source, typed: &[String]) -> Result<(BTreeMap<String, String>, Pairs)> {
    let names = scenario::secret_names(scenario)?;
    let from_environment = |name: &String| Some((name.clone(), secret::from_environment(name)?));
    let mut secrets: BTreeMap<String, String> = names.iter().filter_map(from_environment).collect();
    let known = scenario::variables(scenario)?;
    let mut variables = vec![];
    for list in typed {
        let mut after = None;
        for (name, value) in set(list)? {
            if names.contains(&name) {
                after = Some(secret::variable(&name));
                secrets.insert(name, value);
                continue;
            }
            if let Some(variable) = after.as_ref().filter(|_| !known.contains_key(&name)) {
                // It may be the rest of the secret, so it is not shown.
                bail!(
                    "--set: what follows the secret, after a comma, is no variable of {}; a secret that has a comma \
                     is given in the environment variable {variable}",
                    scenario.name
                );
            }
            variables.push((name, value));
        }
    }
    Ok((secrets, variables))
}

fn set(list: &str) -> Result<Pairs> {
    list.split(',')
        .map(|pair| {
            // It may be part of a password, so it is not shown.
            let (name, value) =
                pair.split_once('=').context("--set: write NAME=VALUE,NAME=VALUE; a value cannot have a comma")?;
            Ok((name.trim().to_string(), value.to_string()))
        })
        .collect()
}

fn contender(args: &HttpArgs, workload: &Workload) -> Result<Contender> {
    let engine = &engine::http::ENGINE;
    let (driver, model) = (&engine.libraries[0], &engine.libraries[0].models[0]);
    let mut settings = BTreeMap::from([("url".to_string(), args.url.clone())]);
    settings.extend(args.host.iter().map(|host| ("host".to_string(), host.clone())));
    settings.insert("timeout_ms".to_string(), (args.timeout * 1000).to_string());
    settings.insert("threads".to_string(), args.threads.to_string());
    if args.close {
        settings.insert("connection".to_string(), "close".to_string());
    }
    for (name, value) in &mut settings {
        let setting = engine.setting(name).context("a setting of the engine")?;
        *value = setting.canonical(value).map_err(|e| anyhow!(e))?;
    }
    let listed: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Contender {
        name: format!("{}/{}/{}:{}", engine.name, driver.name, model.name, listed.join(",")),
        label: args.label.clone().unwrap_or_else(|| workload.name.clone()),
        engine: engine.name.to_string(),
        driver: driver.name.to_string(),
        model: model.name.to_string(),
        settings,
        tier: Tier::Unknown,
    })
}

/// How many operations are measured, where that decides and not a window.
fn requests(args: &HttpArgs, workload: &Workload) -> Option<u32> {
    match (args.requests, &args.duration, args.rate) {
        (None, None, None) => workload.operations,
        (requests, ..) => requests,
    }
}

fn study(args: &HttpArgs, workload: &Workload, contender: Contender) -> Result<Study> {
    let clients = args.clients.unwrap_or(8);
    let requests = requests(args, workload);
    let duration = args.duration.as_deref().unwrap_or("10s");
    let time = |text: &str, option: &str| duration_ns(text).map_err(|e| anyhow!("{option}: {e}"));
    let load = Load {
        processes: None,
        clients: Some(clients),
        operations: requests.map(|requests| requests.div_ceil(clients)),
        window_ns: if requests.is_some() { 0 } else { time(duration, "--duration")? },
        run_in_ns: if requests.is_some() { 0 } else { time(&args.run_in, "--run-in")? },
        drain_ns: time(&args.drain, "--drain")?,
        rate_per_s: args.rate,
        arrivals: match args.arrivals {
            Spacing::Poisson => Arrivals::Poisson,
            Spacing::Constant => Arrivals::Constant,
        },
        cycle: CYCLE,
        scale: 1.0,
        seed: args.seed,
    };
    ensure!(args.rate.is_none_or(|rate| rate.is_finite() && rate > 0.0), "--rate: a number above 0");
    let condition = Condition {
        label: workload.mode.clone().unwrap_or_else(|| workload.name.clone()),
        profile: workload.mode.clone(),
        axes: BTreeMap::new(),
    };
    let (name, question) = (format!("http-{}", workload.name), format!("How does {} answer?", args.url));
    let study = Study::alone(&name, &question, load, vec![contender], condition);
    Ok(Study { workload: args.scenario.clone(), rounds: args.rounds, ..study })
}

/// The run as one line, and which trials do not count in full.
fn json_line(dir: &Path, label: &str) -> Result<u8> {
    let record = Record::open(dir)?;
    for trial in &record.trials {
        if let Some(reason) = trial.invalid.first() {
            eprintln!("trial {} is invalid: {}: {}", trial.slot.trial, reason.kind, reason.detail);
        }
    }
    print(&format!("{}\n", report::line::line(&record, label)?))?;
    Ok(if record.trials.iter().all(|t| t.invalid.is_empty()) { OK } else { INVALID })
}
