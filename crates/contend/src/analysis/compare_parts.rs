//! Comparison of two records of a study with parts: each part with the part of the same name.

use crate::analysis::compare_records::{self, RecordComparison};
use crate::analysis::{Findings, Parts};
use crate::record::parts::ALONE;
use serde::Serialize;

/// Comparisons of the parts that both records have; A is the baseline.
#[derive(Debug, Clone, Serialize)]
pub struct PartsComparison {
    pub parts: Vec<PartComparison>,
    /// Names of parts that only A has; `only_in_b` those of B.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct PartComparison {
    pub part: String,
    #[serde(flatten)]
    pub comparison: RecordComparison,
}

impl PartsComparison {
    /// The comparison of two studies without parts.
    pub fn of_alone(&self) -> Option<&RecordComparison> {
        self.parts.iter().find(|part| part.part == ALONE).map(|part| &part.comparison)
    }
}

/// Compares B with A, part by part in the order of A.
pub fn compare(a: &Parts<'_>, b: &Parts<'_>) -> PartsComparison {
    let compared = |(name, part): &(String, Findings<'_>)| {
        let comparison = compare_records::compare(part, b.part(name)?);
        Some(PartComparison { part: name.clone(), comparison })
    };
    PartsComparison {
        parts: a.parts.iter().filter_map(compared).collect(),
        only_in_a: lacking(a, b),
        only_in_b: lacking(b, a),
    }
}

fn lacking(mine: &Parts<'_>, other: &Parts<'_>) -> Vec<String> {
    mine.parts.iter().map(|(name, _)| name).filter(|name| other.part(name).is_none()).cloned().collect()
}
