//! What can be read of a record without knowing that it is a directory.

use crate::record::model::{Run, Trial};
use crate::record::store::Record;
use anyhow::Result;
use contend_wire::sample::Sample;

/// A record of one run.
pub trait Recorded {
    fn run(&self) -> &Run;

    fn trials(&self) -> &[Trial];

    /// Names of trials that are there but cannot be read, with the reason.
    fn damaged(&self) -> &[(String, String)];

    /// Hands all samples of a trial to `each`, in the order in which they were written.
    ///
    /// # Errors
    /// They cannot be read, or are not those that were written; `each` has then seen some of them, or all.
    fn samples(&self, trial: u32, each: &mut dyn FnMut(Sample)) -> Result<()>;

    /// The CSV of what processes and files took during a trial; see `docs/formats.md`.
    ///
    /// # Errors
    /// It cannot be read.
    fn series(&self, trial: u32) -> Result<String>;
}

impl Recorded for Record {
    fn run(&self) -> &Run {
        &self.run
    }

    fn trials(&self) -> &[Trial] {
        &self.trials
    }

    fn damaged(&self) -> &[(String, String)] {
        &self.damaged
    }

    fn samples(&self, trial: u32, each: &mut dyn FnMut(Sample)) -> Result<()> {
        Record::samples(self, trial, each)
    }

    fn series(&self, trial: u32) -> Result<String> {
        Record::series(self, trial)
    }
}
