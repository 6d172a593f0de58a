//! `contend capture`: records what an unmodified program does to SQLite, shows it, and does it again.
//!
//! ```text
//! program + library (contend-interpose) ─► segments ─► trace ─► program (transactions) ─► summary ─► show
//! session: databases' content, what is missing ─► manifest ─┘
//! ```
//!
//! `session`, `content` and `foreign` make a capture; `sql`, `trace`, `program` and `summary` are pure functions of what it
//! left.

mod content;
mod foreign;
mod generator;
mod manifest;
mod program;
mod replay;
mod replay_verb;
mod segment;
mod session;
mod show;
mod sql;
mod study;
mod summary;
mod trace;
mod verb;
mod workload;

use contend::slice::Slice;

/// What contend gains: `contend capture` and `contend replay`.
pub const SLICE: Slice = Slice { name: "capture", verbs: &[verb::VERB, replay_verb::VERB], ..Slice::NONE };
