//! A record as a trait, so that analysis does not depend on its directory.

use crate::record::model::{Run, Trial};
use crate::record::seal::Unsealed;
use crate::record::store::Record;
use anyhow::Result;
use contend_wire::sample::Sample;

/// A record of one run.
pub trait Recorded {
    fn run(&self) -> &Run;

    fn trials(&self) -> &[Trial];

    /// Trials that were disturbed and ran again, which do not count.
    fn again(&self) -> &[Trial];

    /// Names of trials that cannot be read, with the reason.
    fn damaged(&self) -> &[(String, String)];

    /// Files without a seal.
    fn unsealed(&self) -> &[Unsealed];

    /// Passes all samples of a trial to `each`, in the order of the file.
    ///
    /// # Errors
    /// They cannot be read, or were changed after they were written; `each` may have seen some or all of them.
    fn samples(&self, trial: u32, each: &mut dyn FnMut(Sample)) -> Result<()>;

    /// The CSV with resources over the time of a trial; see `docs/formats.md`.
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

    fn again(&self) -> &[Trial] {
        &self.again
    }

    fn damaged(&self) -> &[(String, String)] {
        &self.damaged
    }

    fn unsealed(&self) -> &[Unsealed] {
        &self.unsealed
    }

    fn samples(&self, trial: u32, each: &mut dyn FnMut(Sample)) -> Result<()> {
        Record::samples(self, trial, each)
    }

    fn series(&self, trial: u32) -> Result<String> {
        Record::series(self, trial)
    }
}
