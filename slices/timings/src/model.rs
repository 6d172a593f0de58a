//! What is asked of a table, and what it answers.

use crate::value::{Measured, Unit};
use contend_stats::verdict::{Comparison, Direction, MARGIN};
use serde::Serialize;

/// How lines of two variants are paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairing {
    /// By a column named `pair`, `round` or `run`, if there is one.
    Auto,
    Column(String),
    /// Not paired, even if there is such a column.
    Unpaired,
}

/// Names and meanings of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    pub variant: String,
    pub value: String,
    /// Column whose values form groups; variants are compared within each group.
    pub by: Option<String>,
    /// Variant that the others are compared with; the first in the file by default.
    pub baseline: Option<String>,
    pub pairing: Pairing,
    /// Whether values are rates instead of durations.
    pub higher_is_better: bool,
    pub margin: f64,
    /// Unit of plain numbers, if the column's name does not end with one.
    pub unit: Option<Unit>,
}

impl CsvOptions {
    pub fn new(variant: &str, value: &str) -> Self {
        CsvOptions {
            variant: variant.into(),
            value: value.into(),
            by: None,
            baseline: None,
            pairing: Pairing::Auto,
            higher_is_better: false,
            margin: MARGIN,
            unit: None,
        }
    }

    pub fn direction(&self) -> Direction {
        if self.higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter }
    }
}

/// How two arms were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Ratios per pair and the sign-test interval.
    Pairs,
    /// The Hodges-Lehmann shift of the logarithms and its Mann-Whitney interval.
    UnpairedRuns,
    /// One value per arm, or values that are medians.
    MediansAlone,
}

/// The values of one variant in one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    pub values: usize,
    pub median: Measured,
}

/// One variant against the baseline in one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupComparison {
    pub group: Option<String>,
    pub variant: String,
    pub baseline_arm: Arm,
    pub variant_arm: Arm,
    pub method: Method,
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Why there is no verdict, if the interval alone does not show it.
    pub why: Option<String>,
}

/// A line that is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnusedLine {
    pub line: u64,
    pub group: Option<String>,
    pub variant: String,
    pub reason: String,
}

/// The result for a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CsvComparison {
    pub value_column: String,
    pub group_column: Option<String>,
    pub pair_column: Option<String>,
    pub baseline: String,
    pub direction: Direction,
    pub margin: f64,
    pub comparisons: Vec<GroupComparison>,
    pub unused_lines: Vec<UnusedLine>,
    /// Lines that begin with `#`.
    pub comment_lines: usize,
    pub summary: String,
}
