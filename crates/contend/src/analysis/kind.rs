//! Analysis of a kind of study: how a slice turns the results of its sequels into findings.

use crate::record::recorded::Recorded;
use crate::registry::Registry;
use std::any::Any;

/// The analysis of one kind of study.
pub struct Analysis {
    /// Name of the kind.
    pub kind: &'static str,
    /// Findings of a run of this kind, in the slice's own type, which `Findings::of_kind` returns.
    pub findings: fn(&dyn Recorded) -> Box<dyn Any>,
}

pub static ANALYSES: Registry<Analysis> = Registry::empty();
