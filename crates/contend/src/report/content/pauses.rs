//! Facts that workers report: pauses of a garbage collector, lag of an event loop, time of a compiler.

use crate::analysis::Findings;
use crate::analysis::cell::Cell;
use crate::analysis::reported::{self, Over};
use crate::outcome::mark::COMPILING_FACT;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Table};
use crate::stats::precision::{Ns, Percent};

/// A fact of a worker's `done`, with its format.
#[derive(Debug, Clone, Copy)]
struct Fact {
    name: &'static str,
    over: Over,
    show: fn(f64) -> String,
}

struct Column {
    title: &'static str,
    fact: Fact,
    /// A second fact in small print.
    small: Option<Fact>,
}

const COLUMNS: [Column; 6] = [
    Column {
        title: "garbage collection|",
        fact: Fact { name: "gc_pause_ns", over: Over::Together, show: time },
        small: Some(Fact { name: "gc_pauses", over: Over::Together, show: runs }),
    },
    Column::new("longest pause|", Fact { name: "gc_pause_ns_max", over: Over::Longest, show: time }),
    Column::new("loop lag p99|", Fact { name: "event_loop_lag_ns_p99", over: Over::Longest, show: time }),
    Column::new("longest lag|", Fact { name: "event_loop_lag_ns_max", over: Over::Longest, show: time }),
    Column::new("loop busy|", Fact { name: "event_loop_busy_permille", over: Over::Mean, show: permille }),
    Column {
        title: "compiling after run-in|",
        fact: Fact { name: COMPILING_FACT, over: Over::Together, show: time },
        small: Some(Fact { name: "jit_ns", over: Over::Together, show: of_time }),
    },
];

const NOTE: &str = "Everything is counted from the beginning of the run-in to the end of the trial, except compiling, \
                    which is counted after the run-in (in brackets: with it): a worker that compiled there was not \
                    warmed up yet. Figures are means of the trials that count, over all processes of a trial; longest \
                    pause and lag are those of the worst process of all these trials. Java counts whole milliseconds. \
                    Go's collector runs next to the program: its time is that in which the whole program stood still, \
                    and its longest is of the last 256 stops. Rust has no collector. PHP frees unreferenced values at \
                    once; how long it looks for cycles is not measured.";

fn time(ns: f64) -> String {
    Ns(ns.round() as u64).to_string()
}

fn permille(share: f64) -> String {
    Percent(share / 1000.0).to_string()
}

fn of_time(ns: f64) -> String {
    format!("of {}", time(ns))
}

/// A mean count, with one decimal below ten.
fn runs(mean: f64) -> String {
    match mean.round() as usize {
        n if mean >= 10.0 || mean == n as f64 => words::counted(n, "run"),
        _ => format!("{mean:.1} runs"),
    }
}

impl Fact {
    /// `None` if no worker reports it.
    fn shown(&self, findings: &Findings<'_>, cell: &Cell) -> Option<String> {
        reported::fact(findings, cell, self.name, self.over).map(self.show)
    }
}

impl Column {
    const fn new(title: &'static str, fact: Fact) -> Self {
        Self { title, fact, small: None }
    }

    /// `None` if no worker reports it.
    fn cell(&self, findings: &Findings<'_>, cell: &Cell) -> Option<TableCell> {
        let (text, small) = (self.fact.shown(findings, cell), self.small.and_then(|fact| fact.shown(findings, cell)));
        let is_told = text.is_some() || small.is_some();
        let cell = || text.map_or(TableCell::muted(NOTHING), TableCell::new).small(small.unwrap_or_default());
        is_told.then(cell)
    }
}

/// A row for each contender and condition whose workers report such facts, over valid trials; empty if no worker does.
pub fn blocks(findings: &Findings<'_>) -> Vec<Block> {
    let row =
        |cell: &Cell| (cell.condition, cell.contender, COLUMNS.each_ref().map(|column| column.cell(findings, cell)));
    let rows: Vec<_> = findings.cells.iter().map(row).filter(|(.., cells)| cells.iter().any(Option::is_some)).collect();
    if rows.is_empty() {
        return vec![];
    }
    let is_told = |at: &usize| rows.iter().any(|(.., cells)| cells[*at].is_some());
    let columns: Vec<usize> = (0..COLUMNS.len()).filter(is_told).collect();
    let mut head = vec!["contender", "condition"];
    head.extend(columns.iter().map(|&at| COLUMNS[at].title));
    let mut table = Table::new(&head);
    for (condition, contender, found) in rows {
        let mut cells = vec![
            TableCell::new(words::label(findings, contender)).series(contender),
            TableCell::new(words::condition(findings, condition)),
        ];
        cells.extend(columns.iter().map(|&at| found[at].clone().unwrap_or(TableCell::muted(NOTHING))));
        table.row(cells);
    }
    vec![
        Block::Heading("Pauses and compiling, as the workers report them".to_string()),
        Block::Table(table),
        Block::Note(NOTE.to_string()),
    ]
}
