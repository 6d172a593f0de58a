//! Two records of a study with parts: each part against the part of the same name.

use crate::record::parts::StudyRecord;
use crate::record::store::Record;
use crate::report::compare_records::{self, RecordComparison};
use serde::Serialize;

/// All parts that both have; A is the baseline.
#[derive(Debug, Clone, Serialize)]
pub struct PartsComparison {
    pub parts: Vec<PartComparison>,
    /// Names of parts that only one of them has.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct PartComparison {
    pub part: String,
    #[serde(flatten)]
    pub comparison: RecordComparison,
}

/// Compares B with A, part by part in the order of A.
pub fn compare(a: &StudyRecord, b: &StudyRecord) -> PartsComparison {
    let compared = |(name, part): &(String, Record)| {
        let comparison = compare_records::compare(part, b.part(name)?);
        Some(PartComparison { part: name.clone(), comparison })
    };
    PartsComparison {
        parts: a.parts.iter().filter_map(compared).collect(),
        only_in_a: lacking(a, b),
        only_in_b: lacking(b, a),
    }
}

fn lacking(mine: &StudyRecord, other: &StudyRecord) -> Vec<String> {
    mine.file.parts.iter().filter(|name| other.part(name).is_none()).cloned().collect()
}

/// For a terminal.
pub fn text(comparison: &PartsComparison) -> String {
    let part = |part: &PartComparison| format!("\nPart {}\n{}", part.part, compare_records::text(&part.comparison));
    let mut out: String = comparison.parts.iter().map(part).collect();
    for (which, only) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        if !only.is_empty() {
            out += &format!("\nParts only in {which}: {}\n", only.join(", "));
        }
    }
    if comparison.parts.is_empty() {
        out += "\nThe two records have no part in common.\n";
    }
    out
}
