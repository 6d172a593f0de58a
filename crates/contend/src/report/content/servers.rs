//! The database servers of a run: what they say of themselves, what they took, and under which conditions the
//! translation of the workload asks of them what the original asks of SQLite.

use crate::analysis::Findings;
use crate::analysis::plain::{ServerInfo, Trial};
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Section, Table};
use crate::stats::precision::{Bytes, Ns};
use std::collections::BTreeSet;

/// One row for each contender on a server; none without any.
pub fn servers(findings: &Findings<'_>) -> Option<Section> {
    let mut table = Table::new(&["contender", "server", "CPU per second|", "memory|"]);
    let mut conditions = BTreeSet::new();
    for contender in 0..findings.run.study.contenders.len() {
        let its = findings.trials.iter().filter(|trial| trial.slot.contender == contender);
        let trials: Vec<(&Trial, &ServerInfo)> = its.filter_map(|t| Some((t, t.server.as_ref()?))).collect();
        let Some((_, server)) = trials.last() else { continue };
        conditions.extend(trials.iter().flat_map(|(_, server)| server.translation.iter().cloned()));
        let shown = |value: Option<String>| value.map_or(TableCell::muted(NOTHING), TableCell::new);
        table.row(vec![
            TableCell::new(words::label(findings, contender)).series(contender),
            TableCell::new(&server.version),
            shown(median(trials.iter().filter_map(|(trial, server)| cpu_per_second(trial, server))).map(ns)),
            shown(median(trials.iter().filter_map(|(_, server)| server.rss_bytes)).map(|n| Bytes(n).to_string())),
        ]);
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.push(Block::Note(
        "Medians over trials. CPU is that of all processes of the server in a second of the window; memory is what they \
         have for themselves, and once what they share. A server that was there before is not measured."
            .to_string(),
    ));
    if !conditions.is_empty() {
        blocks
            .push(Block::Text("The workload ran in translation, which gives SQLite's answers as far as:".to_string()));
        blocks.push(Block::List(conditions.into_iter().collect()));
    }
    Some(Section { id: "servers", title: "Servers".to_string(), blocks })
}

fn ns(value: u64) -> String {
    Ns(value).to_string()
}

fn cpu_per_second(trial: &Trial, server: &ServerInfo) -> Option<u64> {
    let window_ns = trial.window_end_ns.saturating_sub(trial.window_start_ns);
    let cpu_ns = u128::from(server.cpu_ns?);
    (cpu_ns * 1_000_000_000).checked_div(u128::from(window_ns)).and_then(|ns| u64::try_from(ns).ok())
}

fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}
