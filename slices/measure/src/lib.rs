//! `contend measure`: how much a database takes on disk, table by table, and how much memory a process takes.
//!
//! `sqlite` reads a file, `server` queries PostgreSQL or MariaDB, `process` reads `/proc`. Each returns a
//! [`model::Measured`], which `text` prints. Several databases are shown side by side, so that the same rows in two engines
//! can be compared.

mod model;
mod process;
mod server;
mod sqlite;
mod text;
mod verb;

use clap::FromArgMatches;
use contend::slice::{Slice, Verb};
use verb::MeasureArgs;

/// Adds `contend measure`.
pub const SLICE: Slice = Slice {
    name: "measure",
    verbs: &[Verb {
        name: "measure",
        after: "explain",
        run: |matches| verb::measure(&MeasureArgs::from_arg_matches(matches)?),
        ..Verb::of::<MeasureArgs>()
    }],
    ..Slice::NONE
};
