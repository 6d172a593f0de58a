//! What is to be run, or continued.

use crate::source::Source;
use crate::study::model::Whole;
use crate::trial::server::attached::Attached;
use crate::trial::workers::process::InsteadOf;
use crate::trial::workers::processes::Deadlines;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is to be run.
pub struct Order {
    pub whole: Whole,
    /// The workload of each study of the whole.
    pub workloads: Vec<Source>,
    /// What clients of apps send, for each study of the whole that says so.
    pub scenarios: Vec<Option<Source>>,
    /// The record's directory.
    pub out: PathBuf,
    pub command: Vec<String>,
    pub instead: InsteadOf,
    /// Values of secrets that are given, by name.
    pub secrets: BTreeMap<String, String>,
    pub deadlines: Deadlines,
    /// Whether the data may lie on a file system in memory.
    pub allow_tmpfs: bool,
    /// A running server instead of private ones.
    pub attached: Option<Attached>,
}

/// A run that is continued.
pub struct Resumption<'r> {
    /// The record's directory.
    pub dir: &'r Path,
    pub instead: &'r InsteadOf,
    pub attached: Option<&'r Attached>,
    pub deadlines: Deadlines,
}
