//! The study that `contend http` makes of its options: one contender, the service, and a condition for each load.

use crate::args::{HttpArgs, Spacing};
use crate::engine::ENGINE;
use anyhow::{Context, Result, anyhow, ensure};
use contend::engine;
use contend::load::{Arrivals, Load};
use contend::study::CYCLE;
use contend::study::model::{Condition, Contender, Resolved, Study, Tier};
use contend::trial::plans;
use contend::units::duration_ns;
use contend::workload::model::ClientCount;
use contend::workload::{DrawRequest, Workload};
use std::collections::BTreeMap;

/// Clients of roles that do not say how many they are, where the command does not say it either.
const CLIENTS: u32 = 8;

/// The service, as what is measured.
pub fn contender(args: &HttpArgs, workload: &Workload) -> Result<Contender> {
    let engine = &ENGINE;
    let (driver, model) = (engine.usual_driver(), &engine.usual_driver().models[0]);
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
    Ok(engine::resolved(Contender {
        name: format!("{}/{}/{}:{}", engine.name, driver.name, model.name, listed.join(",")),
        label: args.label.clone().unwrap_or_else(|| workload.name.clone()),
        engine: engine.name.to_string(),
        driver: driver.name.to_string(),
        model: model.name.to_string(),
        settings,
        tier: Tier::Unknown,
        resolved: Resolved::default(),
    }))
}

/// How many operations are measured, where that decides and not a window.
fn requests(args: &HttpArgs, workload: &Workload) -> Option<u32> {
    match (args.requests, &args.duration, args.rate.is_empty()) {
        (None, None, true) => workload.operations,
        (requests, ..) => requests,
    }
}

/// How many operations come before those, in their own run.
///
/// # Errors
/// They are asked for, but a window decides what is measured.
pub fn warm(args: &HttpArgs, workload: &Workload) -> Result<u32> {
    let measured = requests(args, workload);
    ensure!(
        measured.is_some() || args.warm.is_none(),
        "--warm: a number of requests comes before a number of requests: say --requests as well; before a window it is \
         --run-in TIME"
    );
    Ok(measured.and(args.warm.or(workload.warm)).unwrap_or(0))
}

/// All of it; what cannot be done is said before the service is asked for anything. `profile` takes the place of the one
/// that the scenario names.
///
/// # Errors
/// Which option asks for what cannot be.
pub fn study(args: &HttpArgs, workload: &Workload, profile: Option<String>, contender: Contender) -> Result<Study> {
    let requests = requests(args, workload);
    let load = load(args, workload, requests)?;
    let mode = profile.or_else(|| workload.mode.clone());
    let (name, question) = (format!("http-{}", workload.name), format!("How does {} answer?", args.url));
    let conditions = conditions(args, workload, mode.as_ref());
    let alone = Study::alone(&name, &question, load, vec![contender], conditions);
    let mut study = Study { workload: args.scenario.clone(), rounds: args.rounds, ..alone };
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
    // Of several roles each has its own number, or none; the only one's is a default.
    let says = |clients: &ClientCount| *clients != ClientCount::Asked;
    let follows = |clients: &ClientCount| match clients {
        ClientCount::Asked => true,
        ClientCount::PerProcess(_) => workload.roles.len() == 1,
        ClientCount::PerDatabase(_) => false,
    };
    ensure!(
        args.clients.is_empty() || workload.roles.iter().any(|role| follows(&role.clients)),
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

/// One for each rate and number of clients, in the order typed.
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

/// A number of operations is of all clients together: each gets its part, which differs where their number does.
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

/// The same for a warm-up with so many operations: under its first condition, once.
pub fn of_warm_up(study: &Study, workload: &Workload, operations: u32) -> Result<Study> {
    let each = operations.div_ceil(clients(study, 0, workload)?);
    let mut warm = study.clone();
    warm.conditions.truncate(1);
    warm.conditions[0].axes.remove("operations_each");
    (warm.load.operations, warm.rounds) = (Some(each), 1);
    Ok(warm)
}
