//! Workloads: what clients do. A TOML file defines tables, their data, transactions and invariants. This module reads
//! it, makes the data, and draws every choice of every client before a trial.
//!
//! Pure: text in, text and plans out; the same file, scale and seed give the same bytes anywhere.
//! `docs/workload-file.md` describes the file.

pub mod asked;
pub mod data;
mod dependence;
pub mod draw;
mod file;
pub mod fixed;
mod generate;
mod generator;
pub mod growing;
pub mod invariant;
pub mod marks;
pub mod model;
pub mod own_key;
mod pace;
mod random;
mod resolve;
pub mod rows;
pub mod scenario;
pub mod secret;
pub mod sql;
mod tail;
pub mod touching;
mod translate;
mod words;

#[cfg(test)]
mod tests;

pub use asked::{Asked, asked};
pub use data::{Data, rows_to_load};
pub use draw::{DrawRequest, Drawn, DrawnRole, DrawnWorker};
pub use invariant::Invariant;
pub use model::{Role, Table, TransactionSpec, Translated, Workload};
pub use sql::without_values;
pub use tail::tail_ns;
pub use translate::{Dialect, Dialects, Rewrite, spoken};

use crate::source::library::{Embedded, Library};
use crate::source::{FileError, Source, mistakes};
use std::collections::BTreeMap;

/// The workloads that come with contend.
pub static LIBRARY: Library = Library { kind: "workload", all: || BUILT_IN.to_vec() };

const BUILT_IN: &[Embedded] = &[
    ("backlog", include_str!("../../../../workloads/backlog.toml")),
    ("bank", include_str!("../../../../workloads/bank.toml")),
    ("chain", include_str!("../../../../workloads/chain.toml")),
    ("gameplan", include_str!("../../../../workloads/gameplan.toml")),
    ("library", include_str!("../../../../workloads/library.toml")),
    ("locking", include_str!("../../../../workloads/locking.toml")),
    ("lookups", include_str!("../../../../workloads/lookups.toml")),
    ("playback", include_str!("../../../../workloads/playback.toml")),
    ("rowinsert", include_str!("../../../../workloads/rowinsert.toml")),
    ("rowread", include_str!("../../../../workloads/rowread.toml")),
    ("seeding", include_str!("../../../../workloads/seeding.toml")),
    ("stock", include_str!("../../../../workloads/stock.toml")),
    ("tpcb", include_str!("../../../../workloads/tpcb.toml")),
    ("translation", include_str!("../../../../workloads/translation.toml")),
    ("wordpress", include_str!("../../../../workloads/wordpress.toml")),
    ("wordpress-site", include_str!("../../../../workloads/wordpress-site.toml")),
];

/// Reads a workload.
///
/// # Errors
/// What is wrong, with its file, line and key.
pub fn parse(source: &Source) -> Result<Workload, FileError> {
    read(source, &BTreeMap::new())
}

fn read(source: &Source, axes: &BTreeMap<String, String>) -> Result<Workload, FileError> {
    let first = |source: &Source| resolve::workload(source, axes).err();
    resolve::workload(source, axes).map_err(|error| mistakes::all(source, error, dependence::KIND, first))
}

/// A workload with other numbers in `[scale]`. Axes of the load are left to [`Workload::draw_clients`].
///
/// # Errors
/// An axis that is neither, or not a number.
pub fn with_axes(workload: &Workload, axes: &BTreeMap<String, String>) -> Result<Workload, FileError> {
    let other = read(&workload.source, axes)?;
    Ok(Workload { secrets: workload.secrets.clone(), ..other })
}
