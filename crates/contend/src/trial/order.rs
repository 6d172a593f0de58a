//! What to run or to continue.

use crate::source::Source;
use crate::study::model::Whole;
use crate::trial::server::attached::Attached;
use crate::trial::workers::process::InsteadOf;
use crate::trial::workers::processes::Deadlines;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run to make.
pub struct Order {
    pub whole: Whole,
    /// The workload of each part.
    pub workloads: Vec<Source>,
    /// The scenario of each part that has one, for clients of apps.
    pub scenarios: Vec<Option<Source>>,
    /// The record's directory.
    pub out: PathBuf,
    pub command: Vec<String>,
    pub instead: InsteadOf,
    /// Values of secrets, by name.
    pub secrets: BTreeMap<String, String>,
    pub deadlines: Deadlines,
    /// Whether the data may be where a sync does not keep it.
    pub allow_tmpfs: bool,
    /// A running server instead of private ones.
    pub attached: Option<Attached>,
}

impl Order {
    /// Whether the record may be where a sync keeps nothing: services have their data elsewhere.
    pub fn may_lack_syncs(&self) -> bool {
        self.allow_tmpfs || self.whole.studies.iter().all(|study| study.is_of_service())
    }
}

/// A run to continue.
pub struct Resumption<'r> {
    /// The record's directory.
    pub dir: &'r Path,
    pub instead: &'r InsteadOf,
    pub attached: Option<&'r Attached>,
    pub deadlines: Deadlines,
}
