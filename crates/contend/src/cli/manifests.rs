//! Manifests of a user's own workers: `worker.toml` in the directories of `CONTEND_WORKERS`, or one level below them.

use super::read_text;
use crate::engine::workers::{self, Added};
use crate::source::Source;
use crate::trial::workers::process::named_dirs;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

const NAME: &str = "worker.toml";

/// Adds their drivers to the built-in ones.
///
/// # Errors
/// A manifest that cannot be read or is wrong: file, line and key.
pub(super) fn add() -> Result<()> {
    let Some(dirs) = named_dirs() else { return Ok(()) };
    let manifests = dirs.iter().flat_map(|dir| below(dir)).map(|path| read(&path)).collect::<Result<Vec<_>>>()?;
    Ok(workers::add(&manifests)?)
}

/// The manifests of one directory, in the order of their paths; empty if the directory does not exist.
fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path().join(NAME)).chain([dir.join(NAME)]).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}

fn read(path: &Path) -> Result<Added> {
    let shown = path.display().to_string();
    let text = read_text(path).with_context(|| format!("cannot read {shown}"))?;
    // Commands in it are carried out from anywhere.
    let home = std::path::absolute(path.parent().unwrap_or(Path::new(".")))?;
    Ok(Added { source: Source::new(shown, text), home: home.display().to_string() })
}
