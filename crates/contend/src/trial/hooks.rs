//! Where slices continue what a trial or a run does.

use crate::record::evidence::Known;
use crate::record::model::{Run, Trial};
use crate::record::store::TrialWriter;
use crate::registry::Registry;
use crate::trial::stage::Stage;
use crate::trial::trial::Bench;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::Failure;
use anyhow::Result;
use std::path::Path;

/// What trials of one kind of study do beyond their window.
pub struct Kind {
    /// The word after `kind =` in a study file: `powercut`.
    pub name: &'static str,
    /// Continues a trial of the last round, after the windows of all trials. Findings go into the trial.
    pub step: fn(&Bench<'_>, &Stage<'_>, &mut Trial, &mut TrialWriter, &mut Admin<'_>) -> Result<(), Failure>,
}

/// Proofs of what contenders promise: how it is known whether a tier holds. Paths are the directory of the record.
pub struct Proofs {
    /// Fails if proofs cannot be read; asked before a run begins.
    pub readable: fn(&Path) -> Result<()>,
    /// Keeps what the finished trials of a run prove.
    pub keep: fn(&Run, &[Trial], &Path) -> Result<()>,
    /// How the tier of each contender is known by now.
    pub known: fn(&Run, &[Trial], &Path) -> Result<Vec<Known>>,
}

pub static KINDS: Registry<Kind> = Registry::empty();
pub static PROOFS: Registry<Proofs> = Registry::empty();
