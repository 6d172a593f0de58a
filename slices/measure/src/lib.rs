//! `contend measure`: how much a database takes on disk, table by table, and how much memory a process takes.
//!
//! `sqlite` reads a file, `server` queries PostgreSQL or MariaDB, `process` reads `/proc`. Each returns a
//! [`Measured`], which `text` prints. Several databases are shown side by side, so that the same rows in two engines
//! can be compared.

mod process;
mod server;
mod sqlite;
mod text;
mod verb;

use clap::FromArgMatches;
use contend::slice::{Slice, Verb};
use serde::Serialize;
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

/// The sizes of one database or process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Measured {
    /// File, address without its password, or process.
    name: String,
    /// Product and version, or the program of a process.
    what: String,
    /// Sizes of the whole database or process.
    sizes: Vec<Size>,
    /// Largest first.
    tables: Vec<Table>,
}

/// A size of a database or process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Size {
    name: &'static str,
    bytes: u64,
    /// Meaning of the size, or advice; may be empty.
    note: String,
}

impl Size {
    fn new(name: &'static str, bytes: u64, note: impl Into<String>) -> Self {
        Self { name, bytes, note: note.into() }
    }
}

/// Disk space of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Table {
    name: String,
    /// Absent if the server has never counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// Whether the number of rows is the server's estimate.
    estimated: bool,
    /// Bytes of its rows, including unused space.
    rows_bytes: u64,
    /// Bytes of its indexes.
    index_bytes: u64,
    /// Unused bytes in the pages of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    unused_bytes: Option<u64>,
}

impl Table {
    fn bytes(&self) -> u64 {
        self.rows_bytes + self.index_bytes
    }
}

/// Sorts by size, largest first, then by name.
fn sorted(mut tables: Vec<Table>) -> Vec<Table> {
    tables.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.name.cmp(&b.name)));
    tables
}
