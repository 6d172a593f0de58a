//! Workloads: what is done. A TOML file says which tables there are and what they are filled with,
//! which transactions run on them and what must be true afterwards; this module reads it, makes the
//! data and draws every choice of every client before a trial begins.
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
pub mod invariant;
pub mod marks;
pub mod model;
mod random;
mod resolve;
pub mod scenario;
pub mod secret;
pub mod sql;
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
pub use translate::{Dialect, Editions, Rewrite, spoken};

use crate::source::{FileError, Source, did_you_mean, mistakes};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;

/// The workloads that come with contend.
const BUILT_IN: &[(&str, &str)] = &[
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
    resolve::workload(source, axes).map_err(|error| mistakes::all(source, error, dependence::follows, first))
}

/// The built-in workload of this name.
pub fn builtin(name: &str) -> Option<Source> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(Source::new(format!("built-in workload {name}"), *text))
}

/// Names of the built-in workloads.
pub fn builtin_names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// A workload by its built-in name, or from a file that `read` reads.
///
/// # Errors
/// The file cannot be read, or the name is not known.
pub fn open(name_or_path: &str, read: impl Fn(&str) -> std::io::Result<String>) -> Result<Source> {
    if let Some(source) = builtin(name_or_path) {
        return Ok(source);
    }
    if !name_or_path.ends_with(".toml") && !name_or_path.contains('/') {
        bail!(
            "there is no workload `{name_or_path}`{}: name one of {}, or a file that ends in .toml",
            did_you_mean(name_or_path, builtin_names()),
            builtin_names().join(", ")
        );
    }
    let text = read(name_or_path).with_context(|| format!("cannot read workload {name_or_path}"))?;
    Ok(Source::new(name_or_path, text))
}

/// A workload with other numbers in `[scale]`. Axes of the load are left to [`Workload::draw_clients`].
///
/// # Errors
/// An axis that is neither, or not a number.
pub fn with_axes(workload: &Workload, axes: &BTreeMap<String, String>) -> Result<Workload, FileError> {
    let other = read(&workload.source, axes)?;
    Ok(Workload { secrets: workload.secrets.clone(), ..other })
}
