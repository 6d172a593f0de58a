//! Analysis of a kind of study: what a slice makes of the results that its steps left in the trials.

use crate::record::recorded::Recorded;
use crate::registry::Registry;
use std::any::Any;

/// What one kind of study adds to findings.
pub struct Analysis {
    /// Name of the kind.
    pub kind: &'static str,
    /// Findings of a run of this kind, in the slice's own type, which `Findings::of_kind` returns.
    pub findings: fn(&dyn Recorded) -> Box<dyn Any>,
}

pub static ANALYSES: Registry<Analysis> = Registry::empty();
