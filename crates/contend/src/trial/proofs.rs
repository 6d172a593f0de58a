//! Proofs that slices bring of what contenders promise.

use crate::record::evidence::Known;
use crate::record::model::{Run, Trial};
use crate::registry::Registry;
use anyhow::Result;
use std::path::Path;

/// Proofs of what contenders promise: how it is known whether a tier holds. Paths are the directory of the record.
pub struct Proofs {
    /// Fails if proofs cannot be read; asked before a run begins.
    pub readable: fn(&Path) -> Result<()>,
    /// Keeps what the finished trials of a run prove.
    pub keep: fn(&Run, &[Trial], &Path) -> Result<()>,
    /// How the tier of each contender is known by now.
    pub known: fn(&Run, &[Trial], &Path) -> Result<Vec<Known>>,
}

pub static PROOFS: Registry<Proofs> = Registry::empty();
