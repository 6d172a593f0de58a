//! A watched server as lines, JSON, a summary and a screen.

use super::finding::words;
use super::look::{Client, State};
use super::source::Server;
use crate::lines::{finding, padded, since, wrapped_tail};
use crate::words::{NO_FINDING, Words, one_line, time};
use serde::Serialize;
use std::collections::BTreeSet;

/// Statements whose waits are listed at the end.
const WAITS_SHOWN: usize = 10;

/// Numbers of clients, of active, idle-in-transaction and waiting ones, the longest wait, old versions, deadlocks.
pub fn figures(server: &Server) -> [u64; 7] {
    let (clients, counters) = (&server.history.clients, &server.history.counters);
    let count = |is: &dyn Fn(&Client) -> bool| clients.iter().filter(|client| is(client)).count() as u64;
    [
        clients.len() as u64,
        count(&|client| client.state == State::Active),
        count(&|client| client.state == State::IdleInTransaction),
        count(&|client| client.wait.is_some()),
        clients.iter().filter_map(|client| Some(client.wait.as_ref()?.ns)).max().unwrap_or(0),
        counters.old_versions,
        counters.deadlocks,
    ]
}

/// One line of text.
pub fn line(at: &str, server: &Server) -> String {
    let [clients, active, idle, waiting, longest, old_versions, _] = figures(server);
    let version = &server.version;
    let mut out = format!("{at} {version}: {clients} clients, {active} active, {idle} idle in transaction");
    if waiting > 0 {
        out += &format!("; {waiting} wait, up to {}", time(longest));
    }
    out + &format!("; {old_versions} old versions of rows")
}

#[derive(Serialize)]
struct JsonLine<'a> {
    /// When the watch began, in UTC.
    began: &'a str,
    /// Seconds since the watch began.
    at_s: f64,
    server: &'a str,
    version: &'a str,
    clients: &'a [Client],
    counters: &'a super::look::Counters,
    findings: Vec<super::finding::Finding>,
}

/// The current state as a line of JSON, with all findings so far.
pub fn json_line(server: &Server) -> String {
    let history = &server.history;
    let line = JsonLine {
        began: &server.began,
        at_s: history.now_ns.saturating_sub(history.from_ns) as f64 / 1e9,
        server: &server.address,
        version: &server.version,
        clients: &history.clients,
        counters: &history.counters,
        findings: server.findings(),
    };
    serde_json::to_string(&line).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// Findings as sentences, each with a key that does not change while the finding lasts.
pub fn found(server: &Server) -> Vec<(String, Words)> {
    let key = |finding: &super::finding::Finding| {
        format!("{:?} {:?} {}", finding.client, std::mem::discriminant(&finding.kind), finding.kind.about())
    };
    server.findings().iter().map(|finding| (key(finding), words(finding))).collect()
}

/// Current waits: each blocking client, and below it the clients that wait for it.
pub fn tree(server: &Server, width: usize) -> Vec<String> {
    let clients = &server.history.clients;
    let blocks =
        |id: u64| clients.iter().filter(move |c| c.wait.as_ref().is_some_and(|wait| wait.blocked_by.contains(&id)));
    let (mut lines, mut shown) = (vec![], BTreeSet::new());
    let mut waiting: Vec<&Client> = clients.iter().filter(|client| client.wait.is_some()).collect();
    waiting.sort_by_key(|client| std::cmp::Reverse(client.wait.as_ref().map(|wait| wait.ns)));
    let roots = clients.iter().filter(|client| client.wait.is_none() && blocks(client.id).next().is_some());
    // Clients in a circle, or with a blocker that the server does not name, come last as their own roots.
    for root in roots.chain(waiting) {
        let mut next = vec![(root, 0)];
        while let Some((client, depth)) = next.pop() {
            if shown.insert(client.id) {
                let indent = "  ".repeat(depth);
                lines.push(format!("{indent}{}", one_line(&one(client), width.saturating_sub(indent.len()))));
                next.extend(blocks(client.id).map(|waiter| (waiter, depth + 1)));
            }
        }
    }
    lines
}

fn one(client: &Client) -> String {
    let sql = client.statement.as_ref().map_or(String::new(), |sql| format!(": {sql}"));
    let state = match (&client.wait, client.state) {
        (Some(wait), _) => format!("waits {} for {}", time(wait.ns), wait.what),
        (None, State::IdleInTransaction) => format!("idle in transaction for {}, after", time(client.state_ns)),
        (None, State::Active) => format!("works for {}", time(client.state_ns)),
        (None, State::Idle) => "idle".to_string(),
    };
    format!("{} {} {state}{sql}", client.id, client.who)
}

/// The summary: findings, then waits between clients, waits by statement, and what was not seen.
pub fn summary(server: &Server, width: usize) -> String {
    let found = found(server);
    let mut out = String::new();
    if found.is_empty() {
        out += &format!("{NO_FINDING}\n");
    }
    for (_, words) in &found {
        out += &finding(words, width);
        out.push('\n');
    }
    out += &format!("\n{} ({})\n", server.address, server.version);
    let tree = tree(server, width - 2);
    if !tree.is_empty() {
        out += "Who waits for whom, at the end:\n";
        tree.iter().for_each(|line| out += &format!("  {line}\n"));
    }
    let waits = server.history.waits.by_statement();
    if waits.is_empty() {
        out += "No client was seen waiting for a lock.\n";
    } else {
        let mut rows = vec![["waiting statement", "waits", "in all", "longest"].map(str::to_string)];
        for (sql, waits) in waits.iter().take(WAITS_SHOWN) {
            rows.push([one_line(sql, width - 32), waits.count.to_string(), time(waits.total_ns), time(waits.max_ns)]);
        }
        out += &padded(&rows, width);
    }
    let watched_ns = server.history.now_ns.saturating_sub(server.history.from_ns);
    out += &format!("\n{}", since(&server.began, watched_ns));
    out += &format!("\nDepth: sampled. Not seen: {}.", server.missing().join("; "));
    wrapped_tail(out, width)
}
