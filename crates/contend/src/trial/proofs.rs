//! Proofs of promised durability, which slices register.

use crate::record::evidence::KnownTier;
use crate::record::model::{Run, Trial};
use crate::registry::Registry;
use anyhow::Result;
use std::path::Path;

/// Functions that keep and read proofs of tiers. Paths are the directory of the record.
pub struct Proofs {
    /// Fails if proofs cannot be read; asked before a run begins.
    pub readable: fn(&Path) -> Result<()>,
    /// Keeps what the finished trials of a run prove.
    pub keep: fn(&Run, &[Trial], &Path) -> Result<()>,
    /// How the tier of each contender is known so far.
    pub known: fn(&Run, &[Trial], &Path) -> Result<Vec<KnownTier>>,
}

pub static PROOFS: Registry<Proofs> = Registry::empty();
