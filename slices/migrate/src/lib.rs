//! `contend migrate`: a SQLite database moved to PostgreSQL or MariaDB, or back, with a proof that every value is the same.
//!
//! ```text
//! look ─► profile ─► plan ─► misfits, violations, rehearse ─► write ─► prove
//!                      └──── ledger (a table on the server) ────► back ─► remake ─► prove
//! ```
//!
//! `look` and `profile` read the source in one read transaction. `plan` and `misfits` are pure. `violations` finds rows
//! that break constraints, `rehearse` what the server refuses; if there is any of it, nothing is written. `write` carries
//! out the plan step by step and records its progress in the `ledger`, so that it can be resumed. `back` uses SQLite's
//! original statements in the ledger, which `remake` executes. `prove` reads both sides again.

mod back;
mod digest;
mod kept;
mod ledger;
mod look;
mod misfits;
mod plan;
mod profile;
mod progress;
mod prove;
mod rehearse;
mod remake;
mod rows;
mod server;
mod show;
mod stopped;
mod there;
mod verb;
mod violations;
mod write;

use contend::slice::Slice;

/// Adds `contend migrate`.
pub const SLICE: Slice = Slice { name: "migrate", verbs: &[verb::VERB], ..Slice::NONE };
