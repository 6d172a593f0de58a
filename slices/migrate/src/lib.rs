//! `contend migrate`: a SQLite database moved to PostgreSQL or MariaDB, or back, with a proof that every value is the same.
//!
//! ```text
//! look ─► profile ─► plan ─► misfits ─► write ─► prove
//!                      └──── ledger (a table on the server) ────► back ─► remake ─► prove
//! ```
//!
//! `look` and `profile` read the source, once and in one read transaction. `plan` and `misfits` are pure. `write`
//! carries out the plan step by step and records its progress in the `ledger`, so that it can be resumed. `back` uses
//! SQLite's original statements in the ledger, which `remake` executes. `prove` reads both sides again.

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
mod remake;
mod rows;
mod server;
mod show;
mod stopped;
mod there;
mod verb;
mod write;

use contend::slice::Slice;

/// Adds `contend migrate`.
pub const SLICE: Slice = Slice { name: "migrate", verbs: &[verb::VERB], ..Slice::NONE };
