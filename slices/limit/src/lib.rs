//! `contend limit`: up to what rate a contender meets a bound.
//!
//! ```text
//! study ─► arms (contender x condition) ─► work: search ◄─► probe (a trial) ─► limit.toml ─► page
//! ```
//!
//! `relax` adds an arm for each suspect, and `limiter` says which of them is the limit. `search`, `judge`, `bound`, `capacity`
//! and `limiter` are pure; `work` keeps the order of the rounds; the core's `trial::chosen` runs the
//! probes.

mod bound;
mod capacity;
mod draw;
mod judge;
mod limiter;
mod page;
mod probe;
mod relax;
mod saved;
mod search;
mod stops;
#[cfg(test)]
mod testing;
mod verb;
mod work;

use contend::slice::{OwnRecord, Slice};

/// What contend gains: `contend limit`.
pub const SLICE: Slice = Slice { name: "limit", verbs: &[verb::VERB], records: &[RECORD], ..Slice::NONE };

const RECORD: OwnRecord = OwnRecord { file: saved::FILE, report: verb::report };
