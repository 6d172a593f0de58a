//! Kinds of study that slices bring: what a trial does beyond its window.

use crate::record::model::Trial;
use crate::record::store::TrialWriter;
use crate::registry::Registry;
use crate::trial::bench::Bench;
use crate::trial::stage::Stage;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::Failure;

/// What trials of one kind of study do beyond their window.
pub struct Kind {
    /// The word after `kind =` in a study file: `powercut`.
    pub name: &'static str,
    /// Continues a trial of the last round, after the windows of all trials. Findings go into the trial.
    pub step: fn(&Bench<'_>, &Stage<'_>, &mut Trial, &mut TrialWriter, &mut Admin<'_>) -> Result<(), Failure>,
}

pub static KINDS: Registry<Kind> = Registry::empty();
