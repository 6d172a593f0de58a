//! Facts of trials other than metrics, for reports: servers, settings read back, facts of workers, marks and
//! disturbances.

use crate::analysis::Findings;
use crate::analysis::cell::Cell;
use crate::analysis::responses::Responses;
use crate::outcome::mark::{Mark, is_disturbed};
use crate::record::model::{ServerInfo, Trial};
use crate::record::seal::{self, Unsealed};
use crate::stats::interval;
use crate::study::model::{Slot, Tier};
use std::collections::{BTreeMap, BTreeSet};

/// Files of the record without a seal, by their paths in it.
pub fn not_sealed(findings: &Findings<'_>) -> Vec<String> {
    findings.unsealed.iter().map(|unsealed| unsealed.file.clone()).collect()
}

/// Sentences on the files without a seal; none if every file has one.
pub fn said_not_sealed(findings: &Findings<'_>) -> Vec<String> {
    let (old, stripped): (Vec<&Unsealed>, Vec<&Unsealed>) = findings.unsealed.iter().partition(|file| file.is_old());
    let of_stripped = stripped.split_first().map(|(first, others)| seal::said_not_sealed(&first.file, others.len()));
    let of_old = (!old.is_empty()).then(|| {
        "Record formats 1 and 2 had no seals: nothing shows whether this record was changed after contend wrote it."
            .to_string()
    });
    of_stripped.into_iter().chain(of_old).collect()
}

/// The server of a contender under one condition.
pub struct Server {
    pub condition: usize,
    pub contender: usize,
    /// Version in the last trial.
    pub version: String,
    /// Median CPU time per second of the window, over the valid trials like the next two.
    pub cpu_ns_per_s: Option<u64>,
    /// Median memory.
    pub rss_bytes: Option<u64>,
    /// Median of bytes written per second of the window.
    pub written_bytes_per_s: Option<u64>,
    /// Conditions under which the translated workload returns SQLite's answers.
    pub translation: BTreeSet<String>,
}

/// Servers of all cells that have one.
pub fn servers(findings: &Findings<'_>) -> Vec<Server> {
    let of = |cell: &Cell| {
        let server = |&row: &usize| findings.rows[row].trial.server.as_ref();
        let all: Vec<&ServerInfo> = cell.invalid.iter().chain(&cell.valid).filter_map(server).collect();
        let valid = || cell.valid.iter().filter_map(|row| Some((findings.rows[*row].trial, server(row)?)));
        Some(Server {
            condition: cell.condition,
            contender: cell.contender,
            version: all.last()?.version.clone(),
            cpu_ns_per_s: median(valid().filter_map(|(trial, server)| per_second(trial, server.cpu_ns?))),
            rss_bytes: median(valid().filter_map(|(_, server)| server.rss_bytes)),
            written_bytes_per_s: median(valid().filter_map(|(trial, of)| per_second(trial, of.written_bytes?))),
            translation: all.iter().flat_map(|server| server.translation.iter().cloned()).collect(),
        })
    };
    findings.cells.iter().filter_map(of).collect()
}

fn of_contender<'f>(findings: &'f Findings<'_>, contender: usize) -> impl Iterator<Item = &'f Trial> {
    findings.trials.iter().filter(move |trial| trial.slot.contender == contender)
}

fn per_second(trial: &Trial, in_window: u64) -> Option<u64> {
    let window_ns = trial.window_end_ns.saturating_sub(trial.window_start_ns);
    let scaled = u128::from(in_window) * 1_000_000_000;
    scaled.checked_div(u128::from(window_ns)).and_then(|per_s| u64::try_from(per_s).ok())
}

fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    interval::median(&values.map(|value| value as f64).collect::<Vec<f64>>()).map(|median| median as u64)
}

/// Values of a setting by contender, several joined; `None` where no connection reported it. A worker's fact about its
/// library comes first, because the worker may have changed the connection's setting to carry out plans.
pub fn readback(findings: &Findings<'_>, name: &str) -> Vec<Option<String>> {
    let contenders = &findings.study.contenders;
    let of = |contender: usize| {
        // Prefixed with the driver by workers that have several.
        let of_driver = format!("{}.{name}", contenders[contender].driver);
        let told = of_contender(findings, contender).flat_map(|trial| {
            let hello = trial.workers.iter().map(|worker| &worker.hello);
            let said: Vec<&String> =
                hello.filter_map(|hello| hello.get(&of_driver).or_else(|| hello.get(name))).collect();
            if said.is_empty() { trial.settings.get(name).into_iter().collect() } else { said }
        });
        let values: BTreeSet<&str> = told.map(String::as_str).collect();
        (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join("; "))
    };
    (0..contenders.len()).map(of).collect()
}

/// Tier of a contender's settings as first read back.
pub fn tier_reported(findings: &Findings<'_>, contender: usize) -> Option<Tier> {
    of_contender(findings, contender).find(|trial| !trial.settings.is_empty())?.tier_reported
}

/// Settings of a contender as read back, with all values over its trials.
pub fn settings(findings: &Findings<'_>, contender: usize) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in of_contender(findings, contender).flat_map(|trial| &trial.settings) {
        all.entry(name.clone()).or_default().insert(value.clone());
    }
    all
}

/// A fact of workers' `hello`.
pub struct Hello<'r> {
    pub name: &'r str,
    pub value: &'r str,
    /// Contenders with this value; empty if all have it.
    pub by: Vec<&'r str>,
}

/// Each fact of the workers with its values.
pub fn hello<'r>(findings: &Findings<'r>) -> Vec<Hello<'r>> {
    let mut facts: BTreeMap<&str, BTreeMap<&str, BTreeSet<usize>>> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for trial in findings.trials {
        all.insert(trial.slot.contender);
        for (name, value) in trial.workers.iter().flat_map(|worker| &worker.hello) {
            facts.entry(name).or_default().entry(value).or_default().insert(trial.slot.contender);
        }
    }
    let label = |at: usize| findings.study.contenders.get(at).map_or("?", |contender| contender.label.as_str());
    let mut said = vec![];
    for (name, values) in facts {
        for (value, by) in values {
            let by = if by == all { vec![] } else { by.into_iter().map(label).collect() };
            said.push(Hello { name, value, by });
        }
    }
    said
}

/// How a fact of the workers of several trials becomes one number.
#[derive(Debug, Clone, Copy)]
pub enum Over {
    /// All workers of a trial together, and the mean of the trials.
    Together,
    /// The mean of all workers of all trials.
    Mean,
    /// The longest of all.
    Longest,
}

/// A number that workers report when they end, over the valid trials of a cell; `None` where no worker reports it.
pub fn fact(findings: &Findings<'_>, cell: &Cell, name: &str, over: Over) -> Option<f64> {
    let told = |&row: &usize| -> Vec<u64> {
        let facts = findings.rows[row].trial.workers.iter().filter_map(|worker| worker.done.get(name));
        facts.filter_map(|text| text.parse().ok()).collect()
    };
    let trials: Vec<Vec<u64>> = cell.valid.iter().map(told).filter(|told| !told.is_empty()).collect();
    let all = || trials.iter().flatten().copied();
    let parts = match over {
        Over::Longest => return all().max().map(|ns| ns as f64),
        Over::Together => trials.len(),
        Over::Mean => all().count(),
    };
    (parts > 0).then(|| all().sum::<u64>() as f64 / parts as f64)
}

/// Number of valid trials, and of those with a mark.
pub struct Marked {
    pub counting: usize,
    /// With a mark of a disturbance.
    pub disturbed: usize,
    /// With another mark.
    pub otherwise: usize,
    /// Largest CPU time of other programs in a trial with a watched server, in thousandths.
    pub foreign_permille: u32,
}

pub fn marked(findings: &Findings<'_>) -> Marked {
    let counting = || findings.rows.iter().filter(|row| row.is_valid()).map(|row| row.trial);
    let watched = counting().filter(|trial| !trial.server_unwatched);
    Marked {
        counting: counting().count(),
        disturbed: counting().filter(|trial| is_disturbed(&trial.marks)).count(),
        otherwise: counting().filter(|trial| trial.marks.iter().any(|mark| !mark.is_disturbance())).count(),
        foreign_permille: watched.map(|trial| trial.foreign_cpu_permille).max().unwrap_or(0),
    }
}

/// Number of trials of the schedule that are not in the record. Those that cannot be read are in it.
pub fn missing(findings: &Findings<'_>) -> usize {
    let schedule = findings.circumstances.schedule;
    let is_scheduled =
        |name: &str| name.parse().is_ok_and(|number: u32| schedule.iter().any(|slot| slot.trial == number));
    let unread = findings.damaged.iter().filter(|(name, _)| is_scheduled(name)).count();
    schedule.len().saturating_sub(findings.trial_count() + unread)
}

/// A trial that was disturbed, or in a round with one that was: it ran again and does not count.
pub struct RanAgain<'r> {
    pub slot: Slot,
    pub marks: &'r [Mark],
    /// What a service answered in it.
    pub responses: Responses,
}

/// All of them, in their order.
pub fn ran_again<'r>(findings: &Findings<'r>) -> Vec<RanAgain<'r>> {
    let of =
        |trial: &'r Trial| RanAgain { slot: trial.slot, marks: &trial.marks, responses: Responses::of_trials([trial]) };
    findings.again.iter().map(of).collect()
}

/// Number of rounds, each under one condition, that ran again; and of all.
pub fn rounds_again(findings: &Findings<'_>) -> (usize, usize) {
    let rounds: BTreeSet<_> = findings.again.iter().map(|trial| (trial.slot.round, trial.slot.condition)).collect();
    (rounds.len(), findings.study.rounds as usize * findings.study.conditions.len())
}

/// CPU time of other programs in all trials.
pub struct Foreign {
    /// Thousandths in the median trial; `max_permille` in the busiest.
    pub median_permille: u32,
    pub max_permille: u32,
    /// Whether it includes the time of a server that contend did not start.
    pub with_server: bool,
}

pub fn foreign(findings: &Findings<'_>) -> Foreign {
    let permille = || findings.trials.iter().map(|trial| trial.foreign_cpu_permille);
    Foreign {
        median_permille: median(permille().map(u64::from)).unwrap_or(0) as u32,
        max_permille: permille().max().unwrap_or(0),
        with_server: findings.trials.iter().any(|trial| trial.server_unwatched),
    }
}

/// Distinct numbers of clients of trials, under one condition or all.
pub fn clients(findings: &Findings<'_>, condition: Option<usize>) -> BTreeSet<u32> {
    let here = |trial: &&Trial| condition.is_none_or(|condition| trial.slot.condition == condition);
    findings.trials.iter().filter(here).map(|trial| trial.clients).collect()
}
