//! The database servers of a run: versions, resources, and the conditions under which the translated workload is equal
//! to the original.

use crate::analysis::Findings;
use crate::analysis::reported;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Id, Section, Table};
use crate::stats::precision::{Bytes, Ns};
use std::collections::BTreeSet;

/// One row for each contender on a server, under each condition; `None` without servers.
pub fn servers(findings: &Findings<'_>) -> Option<Section> {
    let mut table = Table::new(&["contender", "condition", "server", "CPU per second|", "memory|"]);
    let mut conditions = BTreeSet::new();
    for server in reported::servers(findings) {
        let shown = |value: Option<String>| value.map_or(TableCell::muted(NOTHING), TableCell::new);
        table.row(vec![
            TableCell::new(words::label(findings, server.contender)).series(server.contender),
            TableCell::new(words::condition(findings, server.condition)),
            TableCell::new(&server.version),
            shown(server.cpu_ns_per_s.map(|ns| Ns(ns).to_string())),
            shown(server.rss_bytes.map(|n| Bytes(n).to_string())),
        ]);
        conditions.extend(server.translation);
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.push(Block::Note(
        "Medians over the trials that count. CPU is that of all processes of the server in a second of the window; memory is what they \
         have for themselves, and once what they share. A server that already ran is not measured."
            .to_string(),
    ));
    if !conditions.is_empty() {
        blocks.push(Block::Text("The workload ran in translation. Answers are SQLite's if:".to_string()));
        blocks.push(Block::List(conditions.into_iter().collect()));
    }
    Some(Section { id: Id::Other("servers"), title: "Servers".to_string(), blocks })
}
