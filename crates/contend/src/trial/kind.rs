//! Sequels of kinds of study: what a trial does beyond its window.

use crate::record::model::Trial;
use crate::record::store::TrialWriter;
use crate::registry::Registry;
use crate::trial::bench::Bench;
use crate::trial::stage::Stage;
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::Failure;

/// What trials of one kind of study do beyond their window.
pub struct Sequel {
    /// Name of the kind.
    pub kind: &'static str,
    /// Continues a trial of the last round, after the windows of all trials. Its results go into `Trial::kinds`, its files
    /// into the directory of the writer, which becomes that of the trial.
    pub run: fn(&Bench<'_>, &Stage<'_>, &mut Trial, &mut TrialWriter, &mut Admin<'_>) -> Result<(), Failure>,
}

pub static SEQUELS: Registry<Sequel> = Registry::empty();
