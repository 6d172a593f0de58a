//! Suspects for the limit of a contender, and the arms in which they are relaxed.

use crate::saved::{Arm, Relaxed};
use anyhow::Result;
use contend::load::PROCESSORS;
use contend::source::Source;
use contend::study::model::{Condition, Contender};
use contend::study::with_setting::{with_setting, without_syncs};
use contend::trial::order::Order;
use contend::workload::model::{ClientCount, Mix, RoleMix};
use contend::workload::{self, Workload};
use contend_stats::precision::counted;
use std::fmt::Write as _;

/// Prefix of the names of profiles with half the writes.
const HALF_WRITES: &str = "half-writes";

/// How the probes of an arm are run.
#[derive(Debug, Clone)]
pub struct ArmSetup {
    pub contender: usize,
    /// Condition without a rate.
    pub condition: Condition,
}

/// A suspect: what may limit a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspect {
    /// Waiting for the disk at each commit.
    Syncs,
    /// The lock that only one writer can hold.
    Writers,
    /// Pauses of SQLite's busy handler, in which a client waits although the lock is free.
    BusyHandler,
    Processors,
    /// All clients are busy.
    Clients,
    /// The worker's own loop.
    Generator,
}

impl Suspect {
    pub const ALL: [Suspect; 6] = [
        Suspect::Syncs,
        Suspect::Writers,
        Suspect::BusyHandler,
        Suspect::Processors,
        Suspect::Clients,
        Suspect::Generator,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Suspect::Syncs => "syncs",
            Suspect::Writers => "writers",
            Suspect::BusyHandler => "busy handler",
            Suspect::Processors => "processors",
            Suspect::Clients => "clients",
            Suspect::Generator => "generator",
        }
    }

    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|suspect| suspect.word() == word)
    }
}

/// Number of processors of the machine, and of those that contend may use.
#[derive(Debug, Clone, Copy)]
pub struct Processors {
    pub all: usize,
    pub allowed: usize,
}

/// Adds an arm after the others for each suspect that can be relaxed.
///
/// # Errors
/// The workload cannot be read.
pub fn add(order: &mut Order, places: &mut Vec<ArmSetup>, arms: &mut Vec<Arm>, processors: Processors) -> Result<()> {
    let parsed = workload::parse(&order.workloads[0])?;
    // A second profile makes it necessary to name the original one.
    let only = parsed.profiles.keys().next().filter(|_| parsed.profiles.len() == 1);
    let conditions = order.whole.studies.iter_mut().flat_map(|study| &mut study.conditions);
    for condition in conditions.chain(places.iter_mut().map(|place| &mut place.condition)) {
        condition.profile = condition.profile.take().or_else(|| only.cloned());
    }
    for of in 0..arms.len() {
        let mut relaxed = vec![];
        // A service has its own settings and its own processors.
        if !order.whole.studies[0].is_of_service() {
            relaxed.extend(less_syncs(order, &places[of])?);
            relaxed.extend(half_writes(order, &parsed, &places[of]));
            relaxed.extend(tries_each_ms(order, &places[of])?);
            // Those of a server that contend did not start stay as they are.
            relaxed.extend(other_processors(&places[of], processors).filter(|_| order.attached.is_none()));
        }
        relaxed.extend(more_clients(order, &parsed, &places[of]));
        for (suspect, how, place) in relaxed {
            let contender = &order.whole.studies[0].contenders[place.contender];
            let fewer = suspect == Suspect::Processors && processors.allowed == processors.all;
            arms.push(Arm {
                contender: place.contender,
                tier: contender.tier.to_string(),
                against: None,
                relaxed: Some(Relaxed { of, suspect: suspect.word().to_string(), how, fewer }),
                ..arms[of].clone()
            });
            places.push(place);
        }
    }
    Ok(())
}

/// A suspect, a description of how it is relaxed, and the resulting place.
type Found = (Suspect, String, ArmSetup);

fn less_syncs(order: &mut Order, place: &ArmSetup) -> Result<Option<Found>> {
    let found = without_syncs(&order.whole.studies[0].contenders[place.contender])?;
    Ok(found.map(|(how, contender)| (Suspect::Syncs, how, with_contender(order, place, contender))))
}

/// Only of a driver whose worker has a busy handler of its own, and if the contender waits for locks at all.
fn tries_each_ms(order: &mut Order, place: &ArmSetup) -> Result<Option<Found>> {
    let base = &order.whole.studies[0].contenders[place.contender];
    let waits = base.resolved.settings.get("busy_timeout").is_some_and(|ms| ms != "0");
    let found = with_setting(base, "busy_handler", "1ms")?.filter(|_| waits);
    Ok(found.map(|(how, contender)| (Suspect::BusyHandler, how, with_contender(order, place, contender))))
}

/// The place with another contender, which the study gets.
fn with_contender(order: &mut Order, place: &ArmSetup, contender: Contender) -> ArmSetup {
    let study = &mut order.whole.studies[0];
    let known = study.contenders.iter().position(|other| other.name == contender.name);
    let at = known.unwrap_or_else(|| {
        study.contenders.push(contender);
        study.contenders.len() - 1
    });
    ArmSetup { contender: at, ..place.clone() }
}

/// Only if reads can replace the writes.
fn half_writes(order: &mut Order, workload: &Workload, place: &ArmSetup) -> Option<Found> {
    let asked = place.condition.profile.as_ref()?;
    let mix = workload.profiles.get(asked)?;
    let writes = |number: usize| workload.transactions[number].writes;
    let both = mix.iter().any(|(number, _)| writes(*number)) && mix.iter().any(|(number, _)| !writes(*number));
    if !both || workload.roles.iter().any(|role| !matches!(role.mix, RoleMix::Asked)) {
        return None;
    }
    let name = format!("{HALF_WRITES}-{asked}");
    let source = &mut order.workloads[0];
    if !workload.profiles.contains_key(&name) && !source.text.contains(&heading(&name)) {
        let text = format!("{}\n{}", source.text.trim_end(), halved(workload, mix, &name));
        *source = Source::new(source.name.clone(), text);
    }
    let mut place = place.clone();
    place.condition.label = format!("{}, half the writes", place.condition.label);
    place.condition.profile = Some(name);
    Some((Suspect::Writers, "half the writes".to_string(), place))
}

fn heading(profile: &str) -> String {
    format!("[profile.\"{profile}\"]")
}

/// The profile as text of a workload file.
fn halved(workload: &Workload, mix: &Mix, name: &str) -> String {
    let mut text = format!("{}\n", heading(name));
    let _ = write!(text, "mix = {{ ");
    for (at, (number, weight)) in mix.iter().enumerate() {
        let transaction = &workload.transactions[*number];
        let weight = if transaction.writes { weight / 2.0 } else { *weight };
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}\"{}\" = {weight:?}", transaction.name);
    }
    text + " }\n"
}

/// A quarter fewer processors, at least one fewer: a single one of many would have no visible effect.
pub fn fewer_processors(allowed: usize) -> Option<usize> {
    allowed.checked_sub(step(allowed)).filter(|number| *number > 0)
}

fn step(allowed: usize) -> usize {
    (allowed / 4).max(1)
}

/// A quarter more processors if contend may not use all, else a quarter fewer.
fn other_processors(place: &ArmSetup, processors: Processors) -> Option<Found> {
    // A study that varies their number lists each of them.
    if place.condition.axes.contains_key(PROCESSORS) {
        return None;
    }
    let Processors { all, allowed } = processors;
    let number = if allowed < all { (allowed + step(allowed)).min(all) } else { fewer_processors(allowed)? };
    let mut place = place.clone();
    place.condition.axes.insert(PROCESSORS.to_string(), number.to_string());
    let how = format!("{} instead of {allowed}", counted(number, "processor"));
    place.condition.label = format!("{}, {how}", place.condition.label);
    Some((Suspect::Processors, how, place))
}

/// Twice as many clients, for a workload with one role.
fn more_clients(order: &Order, workload: &Workload, place: &ArmSetup) -> Option<Found> {
    let [role] = workload.roles.as_slice() else { return None };
    let of_role = match role.clients {
        ClientCount::Asked => 1,
        ClientCount::PerProcess(clients) => clients,
        ClientCount::PerDatabase(_) => return None,
    };
    let load = order.whole.studies[0].load.under(&place.condition.axes);
    let clients = load.clients.unwrap_or(of_role);
    let mut place = place.clone();
    place.condition.axes.insert("clients".to_string(), (clients * 2).to_string());
    place.condition.label = format!("{}, twice the clients", place.condition.label);
    Some((Suspect::Clients, "twice the clients".to_string(), place))
}
