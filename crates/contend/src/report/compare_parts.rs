//! Two records of a study with parts, for a terminal.

use crate::analysis::compare_parts::{PartComparison, PartsComparison};
use crate::report::compare_records;

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
