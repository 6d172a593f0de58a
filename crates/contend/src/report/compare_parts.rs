//! Two records of a study with parts, for a terminal.

use crate::analysis::compare_parts::{PartComparison, PartsComparison};
use crate::report::compare_records;
use crate::report::text::{Style, wrapped};

/// For a terminal.
pub fn text(comparison: &PartsComparison, style: Style) -> String {
    let line = |text: &str| format!("\n{}", wrapped(text, ["", "  "], style));
    let part =
        |part: &PartComparison| line(&format!("Part {}", part.part)) + &compare_records::text(&part.comparison, style);
    let mut out: String = comparison.parts.iter().map(part).collect();
    for (which, only) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        if !only.is_empty() {
            out += &line(&format!("Parts only in {which}: {}", only.join(", ")));
        }
    }
    if comparison.parts.is_empty() {
        out += &line("The two records have no part in common.");
    }
    out
}
