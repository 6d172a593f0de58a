//! Makes a study from the options of `contend http`: a contender for each service, and a condition for each load.

use crate::args::{HttpArgs, Spacing};
use crate::engine::ENGINE;
use anyhow::{Context, Result, anyhow, ensure};
use contend::engine;
use contend::load::{Arrivals, Load};
use contend::study::model::{Condition, Contender, Resolved, Study, Tier};
use contend::study::{CYCLE, check_label};
use contend::trial::plans;
use contend::units::duration_ns;
use contend::workload::model::ClientCount;
use contend::workload::{DrawRequest, Workload};
use contend_stats::precision::counted;
use std::collections::BTreeMap;
use std::path::Path;

/// Clients of a role if neither the command nor the scenario gives a number.
const CLIENTS: u32 = 8;

/// Default rounds for several services: the fewest with an interval.
const ROUNDS_TO_COMPARE: u32 = 6;

/// The contenders, one for each service; the first is the baseline.
///
/// # Errors
/// An address that is given twice, or numbers of names and services that do not match.
pub fn contenders(args: &HttpArgs, workload: &Workload) -> Result<Vec<Contender>> {
    ensure!(all_differ(&args.url), "an address is given twice; services are compared by their addresses");
    let several = args.url.len() > 1;
    let of_all = |option: &str, given: usize, one_for_all: bool| {
        let fits = given == 0 || given == args.url.len() || given == 1 && one_for_all;
        let (values, services) = (counted(given, "value"), counted(args.url.len(), "service"));
        ensure!(fits, "{option} has {values} for {services}");
        Ok(())
    };
    of_all("--host", args.host.len(), true)?;
    of_all("--label", args.label.len(), false)?;
    of_all("--pid", args.pid.len(), false)?;
    args.label.iter().try_for_each(|label| check_label(label)).map_err(|message| anyhow!("--label: {message}"))?;
    ensure!(all_differ(&args.label), "--label: a name is given twice");
    let places: Vec<&str> = args.url.iter().map(|url| place(url)).collect();
    let places_differ = all_differ(&places);
    let contender = |(at, url): (usize, &String)| {
        let usual = match (several, places_differ) {
            (false, _) => workload.name.as_str(),
            (true, true) => places[at],
            // http:// and https:// of the same host are compared: what TLS costs.
            (true, false) => url.trim_end_matches('/'),
        };
        let label = args.label.get(at).map_or(usual, String::as_str);
        contender(args, (url, args.host.get(at).or(args.host.first()), args.pid.get(at)), label)
    };
    args.url.iter().enumerate().map(contender).collect()
}

/// Host and port of an address.
pub fn place(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, place)| place).trim_end_matches('/')
}

fn contender(
    args: &HttpArgs,
    (url, host, pid): (&String, Option<&String>, Option<&u32>),
    label: &str,
) -> Result<Contender> {
    let engine = &ENGINE;
    let (driver, model) = (engine.usual_driver(), &engine.usual_driver().models[0]);
    let mut settings = BTreeMap::from([("url".to_string(), url.clone())]);
    if let Some(pid) = pid {
        ensure!(Path::new("/proc").join(pid.to_string()).exists(), "--pid {pid}: there is no such process");
        settings.insert("pid".to_string(), pid.to_string());
    }
    settings.extend(host.map(|host| ("host".to_string(), host.clone())));
    if let Some(ca) = &args.ca {
        ensure!(args.url.iter().any(|url| url.starts_with("https://")), "--ca changes nothing: no address is https://");
        std::fs::File::open(ca).with_context(|| format!("--ca {}: cannot read it", ca.display()))?;
        let path = std::path::absolute(ca).ok().and_then(|path| path.to_str().map(str::to_string));
        settings.insert("ca".to_string(), path.with_context(|| format!("--ca {}: not UTF-8", ca.display()))?);
    }
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
    Ok(engine::resolved(Contender {
        name: format!("{}/{}/{}:{}", engine.name, driver.name, model.name, listed.join(",")),
        label: label.to_string(),
        engine: engine.name.to_string(),
        driver: driver.name.to_string(),
        model: model.name.to_string(),
        worker: None,
        settings,
        tier: Tier::Unknown,
        resolved: Resolved::default(),
    }))
}

/// Number of measured operations; `None` if a window decides.
fn requests(args: &HttpArgs, workload: &Workload) -> Option<u32> {
    match (args.requests, &args.duration, args.rate.is_empty()) {
        (None, None, true) => workload.operations,
        (requests, ..) => requests,
    }
}

/// Number of operations of the warm-up, which is a run of its own.
///
/// # Errors
/// A warm-up by number although a window decides what is measured.
pub fn warm(args: &HttpArgs, workload: &Workload) -> Result<u32> {
    let measured = requests(args, workload);
    ensure!(
        measured.is_some() || args.warm.is_none(),
        "--warm NUMBER needs --requests NUMBER; for a window, use --run-in TIME"
    );
    Ok(measured.and(args.warm.or(workload.warm)).unwrap_or(0))
}

/// The whole study. Everything is checked before the service gets a request. `profile` replaces the scenario's.
///
/// # Errors
/// An option that cannot be satisfied.
pub fn study(
    args: &HttpArgs,
    workload: &Workload,
    profile: Option<String>,
    contenders: Vec<Contender>,
) -> Result<Study> {
    let requests = requests(args, workload);
    let load = load(args, workload, requests)?;
    let mode = profile.or_else(|| workload.mode.clone());
    let (name, several) = (format!("http-{}", workload.name), contenders.len() > 1);
    let question = match args.url.as_slice() {
        [url] => format!("How does {url} answer?"),
        urls => format!("Which answers faster: {}?", urls.join(" or ")),
    };
    let conditions = conditions(args, workload, mode.as_ref());
    let is_open = load.rate_per_s.is_some();
    let baseline = contenders.first().map(|first| first.name.clone());
    let alone = Study::alone(&name, &question, load, contenders, conditions);
    let rounds = args.rounds.unwrap_or(if several { ROUNDS_TO_COMPARE } else { 1 });
    let mut study = Study { workload: args.scenario.join(" "), rounds, ..alone };
    if several {
        study.baselines.extend(baseline);
        // With the same rate for all services the throughput is no result.
        study.headline = if is_open { "response_ns_p95" } else { "throughput_ops_per_s" }.to_string();
    }
    share_out(&mut study, workload, requests)?;
    for (at, condition) in study.conditions.iter().enumerate() {
        plans::check(&study, at, workload).with_context(|| condition.label.clone())?;
    }
    Ok(study)
}

fn load(args: &HttpArgs, workload: &Workload, requests: Option<u32>) -> Result<Load> {
    let time = |text: &str, option: &str| duration_ns(text).map_err(|e| anyhow!("{option}: {e}"));
    let window_ns = time(args.duration.as_deref().unwrap_or("10s"), "--duration")?;
    ensure!(window_ns > 0, "--duration: it must be longer than 0");
    let run_in_ns = time(&args.run_in, "--run-in")?;
    ensure!(args.rate.iter().all(|rate| rate.is_finite() && *rate > 0.0), "--rate: a number above 0");
    ensure!(all_differ(&args.rate), "--rate: a number is given twice");
    ensure!(all_differ(&args.clients), "--clients: a number is given twice");
    let says = |clients: &ClientCount| *clients != ClientCount::Asked;
    ensure!(
        args.clients.is_empty() || !workload.own_counts().contains(&"clients"),
        "--clients changes nothing: every role of the scenario has its own number of clients"
    );
    let all_say = workload.roles.iter().all(|role| says(&role.clients));
    Ok(Load {
        processes: None,
        clients: args.clients.first().copied().or((!all_say).then_some(CLIENTS)),
        operations: requests,
        window_ns: if requests.is_some() { 0 } else { window_ns },
        run_in_ns: if requests.is_some() { 0 } else { run_in_ns },
        drain_ns: time(&args.drain, "--drain")?,
        rate_per_s: args.rate.first().copied(),
        arrivals: match args.arrivals {
            Spacing::Poisson => Arrivals::Poisson,
            Spacing::Constant => Arrivals::Constant,
        },
        cycle: CYCLE,
        scale: 1.0,
        seed: args.seed,
    })
}

fn all_differ<T: PartialEq>(values: &[T]) -> bool {
    (1..values.len()).all(|at| !values[..at].contains(&values[at]))
}

/// A condition for each rate and number of clients, in the order typed.
fn conditions(args: &HttpArgs, workload: &Workload, mode: Option<&String>) -> Vec<Condition> {
    let alone = |count: usize| count < 2;
    let rates: Vec<Option<f64>> =
        if alone(args.rate.len()) { vec![None] } else { args.rate.iter().copied().map(Some).collect() };
    let clients: Vec<Option<u32>> =
        if alone(args.clients.len()) { vec![None] } else { args.clients.iter().copied().map(Some).collect() };
    let condition = |rate: Option<f64>, clients: Option<u32>| {
        let mut axes = BTreeMap::new();
        axes.extend(rate.map(|rate| ("rate_per_s".to_string(), rate.to_string())));
        axes.extend(clients.map(|clients| ("clients".to_string(), clients.to_string())));
        let mut parts: Vec<String> = mode.cloned().into_iter().collect();
        parts.extend(rate.map(|rate| format!("{rate}/s")));
        parts.extend(clients.map(|n| format!("{n} client{}", if n == 1 { "" } else { "s" })));
        let label = if parts.is_empty() { workload.name.clone() } else { parts.join(", ") };
        Condition { label, profile: mode.cloned(), axes }
    };
    rates.iter().flat_map(|rate| clients.iter().map(|clients| condition(*rate, *clients))).collect()
}

/// Divides the operations among the clients; a role with another number of clients gets another share.
fn share_out(study: &mut Study, workload: &Workload, requests: Option<u32>) -> Result<()> {
    let Some(requests) = requests else { return Ok(()) };
    let several = study.conditions.len() > 1;
    for at in 0..study.conditions.len() {
        let each = requests.div_ceil(clients(study, at, workload)?);
        match several {
            true => drop(study.conditions[at].axes.insert("operations_each".to_string(), each.to_string())),
            false => study.load.operations = Some(each),
        }
    }
    Ok(())
}

/// Clients of all roles under a condition.
fn clients(study: &Study, at: usize, workload: &Workload) -> Result<u32> {
    let condition = &study.conditions[at];
    let load = study.load.under(&condition.axes);
    let request = DrawRequest {
        seed: load.seed,
        scale: load.scale,
        profile: condition.profile.as_deref(),
        load: &load,
        axes: &condition.axes,
    };
    Ok(workload.clients(&request)?.max(1))
}

/// The study of a warm-up with this many operations: its first condition, once.
pub fn of_warm_up(study: &Study, workload: &Workload, operations: u32) -> Result<Study> {
    let each = operations.div_ceil(clients(study, 0, workload)?);
    let mut warm = study.clone();
    warm.conditions.truncate(1);
    warm.conditions[0].axes.remove("operations_each");
    (warm.load.operations, warm.rounds) = (Some(each), 1);
    Ok(warm)
}
