//! Details: transactions, outcomes and their codes, fairness between clients.

use crate::analysis::Findings;
use crate::analysis::cell::{Cell, Pool};
use crate::analysis::metric::Metric;
use crate::analysis::plain::OwnMetric;
use crate::analysis::trial::{Scope, failed};
use crate::outcome::explain::Subject;
use crate::outcome::{self, Outcome};
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Id, Section, Stack, StackRow, Table, Tone};
use crate::stats::precision::{Ns, Percent, Ratio};
use crate::stats::quantile::Quantile;
use contend_wire::sample::CodeSpace;
use std::collections::BTreeMap;

/// A row per contender and transaction, reads and writes apart.
pub fn transactions(findings: &Findings<'_>) -> Option<Section> {
    let mut blocks = vec![];
    for condition in 0..findings.study.conditions.len() {
        for scope in [Scope::Read, Scope::Write] {
            if let Some(table) = transaction_table(findings, condition, scope) {
                let title = format!("{}: {}", words::condition(findings, condition), scope.word());
                blocks.push(Block::Heading(title));
                blocks.push(Block::Table(table));
            }
        }
    }
    if blocks.is_empty() {
        return None;
    }
    blocks.push(Block::Note(
        match findings.of_service() {
            true => {
                "Response counts from when the request was due, service from when it was sent. Both also hold requests that \
                 timed out or were cut off, as lower bounds; response also those with another answer than expected."
            }
            false => {
                "Response counts from when the operation was due, service only the last attempt. Both \
                 also hold operations that timed out or were cut off, as lower bounds."
            }
        }
        .to_string(),
    ));
    if findings.as_published() {
        blocks.push(Block::Note(words::FEW_NOTE.to_string()));
    }
    let title = if findings.of_service() { "Every kind of request" } else { "Every transaction" };
    Some(Section { id: Id::Other("transactions"), title: title.to_string(), blocks })
}

fn transaction_table(findings: &Findings<'_>, condition: usize, scope: Scope) -> Option<Table> {
    let mut head = vec![
        words::subject(findings),
        "n|",
        "mean|",
        "p50|",
        "p95|",
        "p99|",
        "p99.9|",
        "max|",
        "service p50|",
        "service p99|",
        "lock wait p99|",
    ];
    // Locks behind a service are unknown.
    head.truncate(head.len() - usize::from(findings.of_service()));
    let mut table = Table::new(&head);
    table.condition = Some(condition);
    for (number, (name, write)) in findings.transactions.iter().zip(&findings.writes).enumerate() {
        if !scope.holds(*write) {
            continue;
        }
        let mut rows = vec![];
        for cell in findings.cells.iter().filter(|c| c.condition == condition && c.has_data()) {
            let here = cell.transactions.iter().filter(|t| usize::from(t.transaction) == number);
            rows.extend(here.map(|t| (cell, t.role.as_str(), &t.pool)));
        }
        if rows.is_empty() {
            continue;
        }
        table.group(name.clone(), "");
        let several_roles = rows.iter().any(|(_, role, _)| *role != rows[0].1);
        for (cell, role, pool) in rows {
            let name = words::label(findings, cell.contender);
            let first = TableCell::new(name).series(cell.contender).small(if several_roles { role } else { "" });
            table.row(std::iter::once(first).chain(latencies(cell, pool)).take(head.len()));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn latencies(cell: &Cell, pool: &Pool) -> Vec<TableCell> {
    let mean = cell.mean_ns(&pool.response).map_or(TableCell::muted(NOTHING), |ns| TableCell::new(Ns(ns).to_string()));
    let mut cells = vec![TableCell::new(words::count(pool.response.n)), mean];
    for quantile in [Quantile::P50, Quantile::P95, Quantile::P99, Quantile::P999, Quantile::Max] {
        cells.push(words::quantile(pool.response.quantile(quantile)));
    }
    cells.push(words::quantile(pool.service.quantile(Quantile::P50)));
    cells.push(words::quantile(pool.service.quantile(Quantile::P99)));
    cells.push(words::quantile(pool.lock_wait.quantile(Quantile::P99)));
    cells
}

/// The study's own metrics.
pub fn own_metrics(findings: &Findings<'_>) -> Option<Section> {
    let study = &findings.study;
    let metrics: Vec<_> = study.metrics.iter().filter_map(|m| findings.metric(&m.name)).collect();
    if metrics.is_empty() || findings.cells.iter().all(|cell| !cell.has_data()) {
        return None;
    }
    let labels: Vec<String> = metrics.iter().map(|f| format!("{}|", f.label())).collect();
    let mut blocks = vec![];
    for condition in 0..study.conditions.len() {
        let title = words::condition(findings, condition);
        let titles: Vec<&str> = std::iter::once(title.as_str()).chain(labels.iter().map(String::as_str)).collect();
        let mut table = Table::new(&titles);
        table.condition = Some(condition);
        for cell in findings.cells.iter().filter(|c| c.condition == condition && c.has_data()) {
            let name = TableCell::new(words::label(findings, cell.contender)).series(cell.contender);
            let values = metrics.iter().map(|f| words::estimate(f, &findings.estimator().estimate(cell, f)));
            table.row(std::iter::once(name).chain(values));
        }
        blocks.push(Block::Table(table));
    }
    let meaning = |(metric, own): (&Metric, &OwnMetric)| format!("{}: {}", metric.label(), own.about);
    blocks.push(Block::List(metrics.iter().zip(&study.metrics).map(meaning).collect()));
    Some(Section { id: Id::Other("own"), title: "This study's own figures".to_string(), blocks })
}

/// Outcomes of the operations, with their codes.
pub fn outcomes(findings: &Findings<'_>) -> Option<Section> {
    let conditions = 0..findings.study.conditions.len();
    let mut blocks: Vec<Block> =
        conditions.clone().filter_map(|condition| outcome_mix(findings, condition)).map(Block::Stack).collect();
    if blocks.is_empty() {
        return None;
    }
    blocks.push(Block::Heading("Counts".to_string()));
    blocks.extend(conditions.filter_map(|condition| outcome_table(findings, condition)).map(Block::Table));
    match codes(findings) {
        Some(table) => {
            blocks.push(Block::Heading("Errors by code".to_string()));
            blocks.push(Block::Table(table));
            blocks.push(Block::Note(
                "Counted per attempt: an operation that was tried again and then committed has its failed attempts here."
                    .to_string(),
            ));
        }
        None => blocks.push(Block::Text("No attempt failed.".to_string())),
    }
    Some(Section { id: Id::Other("outcomes"), title: "What became of the operations".to_string(), blocks })
}

fn outcome_mix(findings: &Findings<'_>, condition: usize) -> Option<Stack> {
    let rows: Vec<StackRow> = findings
        .cells
        .iter()
        .filter(|c| c.condition == condition && c.has_data() && c.pool(Scope::All).counts.planned() > 0)
        .map(|cell| mix_row(findings, cell))
        .collect();
    let several = findings.study.conditions.len() > 1;
    let title = if several { words::condition(findings, condition) } else { "Outcomes".to_string() };
    let legend = Outcome::ALL.map(Outcome::shown).to_vec();
    (!rows.is_empty()).then_some(Stack { title, condition, legend, rows })
}

fn mix_row(findings: &Findings<'_>, cell: &Cell) -> StackRow {
    let counts = &cell.pool(Scope::All).counts;
    let planned = counts.planned();
    let label = words::label(findings, cell.contender).to_string();
    let lines = Outcome::ALL.iter().filter(|o| counts.outcome(**o) > 0);
    let tip: Vec<String> =
        lines.map(|o| format!("{}: {}", o.shown(), words::share(counts.outcome(*o), planned))).collect();
    StackRow {
        series: cell.contender,
        parts: Outcome::ALL.map(|o| counts.outcome(o) as f64 / planned as f64).to_vec(),
        shown: match failed(counts) {
            0 => "all committed".to_string(),
            not => format!("{} not", words::share(not, planned)),
        },
        tip: format!("{label}\n{}", tip.join("\n")),
        label,
    }
}

fn outcome_table(findings: &Findings<'_>, condition: usize) -> Option<Table> {
    let mut titles = vec![words::condition(findings, condition)];
    titles.push("due|".to_string());
    titles.extend(Outcome::ALL.map(|o| format!("{}|", o.shown())));
    titles.push("retries|".to_string());
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = Table::new(&titles);
    table.condition = Some(condition);
    for cell in findings.cells.iter().filter(|c| c.condition == condition && c.has_data()) {
        let counts = &cell.pool(Scope::All).counts;
        let mut cells = vec![TableCell::new(words::label(findings, cell.contender)).series(cell.contender)];
        cells.push(TableCell::new(words::count(counts.planned())));
        let outcome = |o: Outcome| {
            let n = counts.outcome(o);
            let tone = if n == 0 { Tone::Muted } else { Tone::Plain };
            TableCell::new(words::count(n)).tone(tone)
        };
        cells.extend(Outcome::ALL.map(outcome));
        cells.push(TableCell::new(words::count(counts.retries)));
        table.row(cells);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn codes(findings: &Findings<'_>) -> Option<Table> {
    let mut seen: BTreeMap<(CodeSpace, u32), Vec<(&Cell, u64)>> = BTreeMap::new();
    for cell in findings.cells.iter().filter(|c| c.has_data()) {
        for (code, n) in &cell.pool(Scope::All).counts.codes {
            seen.entry(*code).or_default().push((cell, *n));
        }
    }
    let mut table = Table::new(&["contender", "condition", "attempts|"]);
    for ((space, code), cells) in &seen {
        let meaning = outcome::lookup(*space, *code).map_or("a code this tool does not know", |row| row.meaning);
        let explained = Subject::Code(*space, *code).explanation();
        let explained = explained.map_or(String::new(), |one| format!(". {}", one.in_words()));
        table.group(outcome::code_name(*space, *code), format!("{meaning}{explained}"));
        for (cell, n) in cells {
            table.row([
                TableCell::new(words::label(findings, cell.contender)).series(cell.contender),
                TableCell::new(words::condition(findings, cell.condition)),
                TableCell::new(words::count(*n)),
            ]);
        }
    }
    (!seen.is_empty()).then_some(table)
}

/// How evenly the clients were served, and how long they waited for each other.
pub fn fairness(findings: &Findings<'_>) -> Option<Section> {
    let (of_service, mut blocks) = (findings.of_service(), vec![]);
    for condition in 0..findings.study.conditions.len() {
        let title = words::condition(findings, condition);
        let nothing = if of_service { "with no answer|" } else { "with no commit|" };
        let mut head = vec![
            &title,
            "clients|",
            "Jain's index|",
            "in the worst round|",
            "best against worst|",
            nothing,
            "waiting for locks|",
        ];
        head.truncate(head.len() - usize::from(of_service));
        let mut table = Table::new(&head);
        table.condition = Some(condition);
        for cell in findings.cells.iter().filter(|c| c.condition == condition && c.has_data()) {
            table.row(fairness_row(findings, cell).into_iter().take(head.len()));
        }
        if !table.rows.is_empty() {
            blocks.push(Block::Table(table));
        }
    }
    if blocks.is_empty() {
        return None;
    }
    let locks = " Waiting for locks is a share of the time spent in attempts.";
    blocks.push(Block::Note(format!(
        "Jain's index is 1 when every client got as much done and 1/n when one of n got everything. It \
         is taken among clients of one role; where there are several, of the role served least evenly, which is named. \
         The other columns are of the round with the lowest index.{}",
        if of_service { "" } else { locks }
    )));
    let title = if of_service { "Fairness" } else { "Fairness and lock waits" };
    Some(Section { id: Id::Other("fairness"), title: title.to_string(), blocks })
}

fn fairness_row(findings: &Findings<'_>, cell: &Cell) -> Vec<TableCell> {
    let mut cells = vec![TableCell::new(words::label(findings, cell.contender)).series(cell.contender)];
    match &cell.fairness {
        Some(f) => cells.extend([
            TableCell::new(words::count(f.clients as u64)).small(f.role.as_deref().unwrap_or_default()),
            TableCell::new(format!("{:.3}", f.jain_median)),
            TableCell::new(format!("{:.3}", f.worst.jain_index)),
            f.worst.max_over_min.map_or(TableCell::muted("one got nothing"), |r| TableCell::new(Ratio(r).to_string())),
            TableCell::new(words::count(f.worst.starved as u64)),
        ]),
        None => cells.resize(6, TableCell::muted(NOTHING)),
    }
    cells.push(
        cell.lock_wait_share.map_or(TableCell::muted("not measured"), |s| TableCell::new(Percent(s).to_string())),
    );
    cells
}
