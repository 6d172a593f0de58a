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
mod manifest;
mod program;
mod segment;
mod session;
mod show;
mod sql;
mod summary;
mod trace;
mod verb;

use contend::slice::Slice;

/// What contend gains: `contend capture`.
pub const SLICE: Slice = Slice { name: "capture", verbs: &[verb::VERB], ..Slice::NONE };
