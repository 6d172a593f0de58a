//! `contend gate`: whether one build is slower than another, for continuous integration.
//!
//! ```text
//! two commands ─► rounds ◄─► machine (a run) ─► gate.toml ─┐
//! two records with a common baseline ──────────────────────┴► judge ─► page: text, Markdown, JUnit XML; exit status
//! ```
//!
//! `rounds` decides which command runs next and when to stop; `judge` compares. Both are pure. `machine` runs the
//! commands, `unreported` looks at their processes meanwhile, `left` judges what they left running, `saved` is the record,
//! `records` compares two records, `verb` is the command line.

mod judge;
mod junit;
mod left;
mod machine;
mod one_record;
mod page;
mod records;
mod rounds;
mod saved;
#[cfg(test)]
mod simulation;
mod unreported;
mod verb;

use contend::slice::{OwnRecord, Slice};

/// Adds `contend gate`.
pub const SLICE: Slice = Slice { name: "gate", verbs: &[verb::VERB], records: &[RECORD], ..Slice::NONE };

const RECORD: OwnRecord = OwnRecord { file: saved::FILE, report: verb::report };
