//! `contend shim`: runs a command with its SQLite databases on PostgreSQL or MariaDB.
//!
//! `verb` has the arguments. `run` starts the command with the library `contend-shim` loaded. `told` reads the
//! library's journal and prints the summary.

mod run;
mod told;
mod verb;

use contend::slice::Slice;

/// Adds `contend shim`.
pub const SLICE: Slice = Slice { name: "shim", verbs: &[verb::VERB], ..Slice::NONE };
