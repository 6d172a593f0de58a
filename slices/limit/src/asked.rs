//! What is searched: a study, a workload, a capture, or services at addresses.

use crate::of::Of;
use anyhow::{Result, anyhow, bail, ensure};
use contend::cli::order::{OrderArgs, choices, deadlines, order, source};
use contend::slice::{OfServices, of_services};
use contend::source::Source;
use contend::study::axis_words;
use contend::study::model::{Study, Variant};
use contend::trial::order::Order;
use contend::units::duration_ns;
use contend::workload;
use contend_stats::interval::MIN_ROUNDS;
use std::path::Path;

/// Rounds of a search without a study: the fewest with intervals.
const ROUNDS: u32 = MIN_ROUNDS as u32;
/// Number with which a search on an axis begins.
const FIRST: &str = "1";
/// The axis of a capture's study. Its loads differ in pauses, which an open loop does not have; `full` has none, and the closed loop
/// before the search is to reach the most.
const LOAD: &str = "load";
/// Connections to a service if its scenario says no number, and the shortest window, without options.
const CONNECTIONS: u32 = 64;
const WINDOW_NS: u64 = 1_000_000_000;

/// What the command line says of services in addition to what every study has.
pub struct Services<'a> {
    /// Addresses after the first.
    pub more: &'a [String],
    pub ca: Option<&'a Path>,
    pub pids: &'a [u32],
    pub scenario: Option<&'a str>,
}

/// The order for what the command line names.
///
/// # Errors
/// It is unknown, or an option does not fit.
pub fn asked(given: &OrderArgs, services: &Services<'_>, of: &Of) -> Result<Order> {
    let more = services.more;
    let taken = [
        ("rate", false),
        ("clients", given.clients.is_some()),
        ("processes", given.processes.is_some()),
        ("scale", given.scale.is_some()),
    ];
    ensure!(!taken.contains(&(of.name(), true)), "--{0} is what --of {0} searches; leave one out", of.name());
    let addresses: Vec<String> = given.study.iter().chain(more).cloned().collect();
    let window = given.window.as_deref().map(|text| duration_ns(text).map_err(|e| anyhow!("--window: {e}")));
    let of_options = OfServices {
        addresses: &addresses,
        rounds: given.rounds.unwrap_or(ROUNDS),
        clients: given.clients,
        clients_default: CONNECTIONS,
        window_ns: window.transpose()?.unwrap_or(WINDOW_NS),
        seed: given.seed,
        ca: services.ca,
        pids: services.pids,
        scenario: services.scenario,
        set: &given.set,
    };
    if let Some(order) = of_services(&of_options)? {
        fits_services(given, services)?;
        ensure!(
            of.is_rate() || of.name() == "clients",
            "--of {}: of a service at an address, rate or clients can be searched",
            of.name()
        );
        return Ok(Order { deadlines: deadlines(given), ..order });
    }
    for (option, used) in [
        ("--ca", services.ca.is_some()),
        ("--pid", !services.pids.is_empty()),
        ("--scenario", services.scenario.is_some()),
    ] {
        ensure!(!used, "{option} is for services at addresses; name one, such as http://127.0.0.1:8000/");
    }
    ensure!(more.is_empty(), "{}: several are searched together only if they are addresses", more[0]);
    let source = source(given)?;
    let source = of_workload(&source)?.unwrap_or(source);
    let mut choices = choices(given, Variant::Corrected)?;
    if of.is_rate() && is_capture(given) && !choices.set.iter().any(|(axis, _)| axis == LOAD) {
        choices.set.push((LOAD.to_string(), vec!["full".to_string()]));
    }
    if let Of::Axis(name) = of {
        choices.set.push((name.clone(), vec![FIRST.to_string()]));
    }
    let mut order = order(given, &source, &choices)?;
    order.whole.studies.iter_mut().try_for_each(|study| without_number(study, of))?;
    Ok(order)
}

fn is_capture(given: &OrderArgs) -> bool {
    let path = given.study.as_ref().map(Path::new);
    // The directory, or its study file.
    path.is_some_and(|path| {
        [Some(path), path.parent()].into_iter().flatten().any(|dir| dir.join("capture.json").is_file())
    })
}

/// Takes the first number of the searched axis out of the labels of conditions; each probe has its own.
fn without_number(study: &mut Study, of: &Of) -> Result<()> {
    let Of::Axis(name) = of else { return Ok(()) };
    let words = axis_words(name, FIRST);
    for condition in &mut study.conditions {
        let is_number = condition.axes.get(name).is_some_and(|value| value == FIRST);
        let known =
            "rate, clients, processes, scale, or an axis of the study that is a number of the workload's [scale]";
        ensure!(is_number, "--of {name}: it is not a number of the load; search for {known}");
        let others: Vec<&str> = condition.label.split(", ").filter(|part| *part != words).collect();
        condition.label = if others.is_empty() { "default".to_string() } else { others.join(", ") };
    }
    Ok(())
}

fn fits_services(given: &OrderArgs, services: &Services<'_>) -> Result<()> {
    let options = [
        ("--set", !given.set.is_empty() && services.scenario.is_none()),
        ("--contender", !given.contender.is_empty()),
        ("--only", !given.only.is_empty()),
        ("--driver", given.driver.is_some()),
        ("--processes", given.processes.is_some()),
        ("--scale", given.scale.is_some()),
        ("--dsn", given.dsn.is_some()),
        ("--worker-command", given.worker_command.is_some()),
        ("--client-command", given.client_command.is_some()),
    ];
    match options.into_iter().find(|(_, used)| *used) {
        Some((option, _)) => bail!("{option} changes nothing for a service at an address"),
        None => Ok(()),
    }
}

/// A study of the workload in a file: SQLite in WAL, with and without a sync at each commit, and PostgreSQL. `None` for a file that is a study.
///
/// # Errors
/// A mistake in the workload.
fn of_workload(source: &Source) -> Result<Option<Source>> {
    let Ok(table) = source.text.parse::<toml::Table>() else { return Ok(None) };
    if table.contains_key("contender") || !table.contains_key("transaction") {
        return Ok(None);
    }
    let parsed = workload::parse(source)?;
    let profile = parsed.profiles.keys().next().map(|name| format!("axes = {{ profile = [{name:?}] }}\n"));
    let study = include_str!("workload.toml");
    let path = std::path::absolute(&source.name)?;
    let text = format!("workload = {:?}\n{}{study}", path.display().to_string(), profile.unwrap_or_default());
    Ok(Some(Source::new(parsed.name, text)))
}
