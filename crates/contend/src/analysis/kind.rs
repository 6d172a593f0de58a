//! Analysis of a kind of study: what a slice makes of the results that its steps left in the trials.

use crate::analysis::metric::table::Row;
use crate::record::recorded::Recorded;
use crate::registry::Registry;
use std::any::Any;

/// What one kind of study adds to analysis.
pub struct Analysis {
    /// Name of the kind.
    pub kind: &'static str,
    /// Metrics of its trials, behind those of the core in the table.
    pub metrics: fn() -> Vec<Row>,
    /// Findings of a run of this kind, in the slice's own type, which `Findings::of_kind` returns.
    pub findings: fn(&dyn Recorded) -> Box<dyn Any>,
}

#[cfg(not(test))]
pub static ANALYSES: Registry<Analysis> = Registry::empty();
#[cfg(test)]
pub static ANALYSES: Registry<Analysis> = Registry::with(&[&crate::analysis::tests::ANALYSIS]);
