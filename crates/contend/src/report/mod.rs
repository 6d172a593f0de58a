//! A report is a pure function of the record: no clock, no environment, no lookups. The same record gives the same
//! bytes on every machine.
//!
//! ```text
//! Record ─► Findings (numbers) ─► Document (what is said) ─┬─► report.md, report.txt, report.html
//!                 └─► CSVs, gnuplot script                └─► the end of `run`, on the terminal
//! ```

pub mod compare_parts;
pub mod compare_records;
pub mod content;
pub mod csv;
pub mod document;
pub mod export;
mod files;
pub mod gnuplot;
pub mod html;
pub mod json;
pub mod kind;
pub mod markdown;
pub mod parts;
mod plot;
mod single;
pub mod text;
pub mod volume;

#[cfg(test)]
mod claims_tests;
#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod formats_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdicts_tests;
#[cfg(test)]
mod workers_tests;

pub use files::{File, Terminal, Written};
pub use single::{import, render, write};

use crate::report::document::{Block, Document, Id};
use crate::report::text::Style;

/// Most bar charts at the end of a run.
const CHARTS_MAX: usize = 4;

/// The end of a run on the terminal: the answer, its tables, charts, and where the files are.
pub fn terminal(written: &Written, style: Style) -> String {
    let mut out = match &written.terminal {
        Terminal::One(document) => first_screen(document, style),
        Terminal::Parts(volume) => volume::text::answers(volume, style),
    };
    out.push('\n');
    let unasked = unanswered(&written.terminal);
    if !unasked.is_empty() {
        out += &text::wrapped(
            &format!(
                "Without an answer in this run: {}.",
                unasked.iter().map(|ask| format!("“{ask}”")).collect::<Vec<_>>().join("; ")
            ),
            ["", "  "],
            style,
        );
    }
    if written.files.iter().any(|path| path.ends_with("report.html")) {
        let beyond = "What this does not show, all tables and the circumstances are in report.html (as text: report.md, report.txt):";
        out += &text::wrapped(beyond, ["", ""], style);
    }
    for path in &written.files {
        out += &format!("{}\n", path.display());
    }
    out
}

/// Questions that this run does not answer, each once.
fn unanswered(terminal: &Terminal) -> Vec<String> {
    let documents: Vec<&Document> = match terminal {
        Terminal::One(document) => vec![document],
        Terminal::Parts(volume) => volume.chapters.iter().map(|chapter| &chapter.document).collect(),
    };
    let mut asked: Vec<String> = vec![];
    for ask in documents.iter().flat_map(|document| &document.unanswered) {
        if !asked.contains(ask) {
            asked.push(ask.clone());
        }
    }
    asked
}

fn first_screen(document: &Document, style: Style) -> String {
    let mut out = text::head(document, style);
    let of_answer: Vec<&Block> = document.blocks(Id::Answer).collect();
    let is_title = |at: usize| {
        let next = of_answer.get(at + 1);
        matches!((of_answer[at], next), (Block::Heading(_), Some(Block::Table(_))))
    };
    let shown = of_answer.iter().enumerate().filter(|(at, block)| {
        matches!(block, Block::Answer { .. } | Block::Notes(_) | Block::Table(_))
            || document.is_condition(block)
            || is_title(*at)
    });
    let shown = shown.map(|(_, block)| *block);
    let chart = if document.has(document.chart) { document.chart } else { Id::Throughput };
    let bars: Vec<&Block> = document.blocks(chart).filter(|b| matches!(b, Block::Bars(_))).collect();
    let lines: Vec<&Block> = document.blocks(Id::OverAxis).filter(|b| matches!(b, Block::Lines(_))).take(1).collect();
    // One chart of lines replaces the bars of each condition.
    let charts = if lines.is_empty() { bars.into_iter().take(CHARTS_MAX).collect() } else { lines };
    shown.chain(charts).for_each(|block| out += &text::render_block(block, style));
    out
}
