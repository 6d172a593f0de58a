//! The study's own metrics, and the questions that a run cannot answer.

use crate::stats::unit::Unit;
use serde::{Deserialize, Serialize};

/// A metric of the study itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnMetric {
    pub name: String,
    pub about: String,
    /// A formula over the names in `analysis/metric/table.rs`.
    pub value: String,
    #[serde(default, skip_serializing_if = "is_plain")]
    pub unit: Unit,
    /// Divisor in words, such as `operation`; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub per: String,
    pub higher_is_better: bool,
}

fn is_plain(unit: &Unit) -> bool {
    *unit == Unit::Plain
}

/// A question or effect that this run lacks, because a choice removed a contender or a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum LeftOut {
    /// A question, with the label of the contender or condition that it needs.
    Answer { ask: String, label: String, why: Absence },
    /// No two contenders differ in just this factor.
    Effect { factor: String, from: String, to: String },
}

/// Why a contender or condition is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absence {
    NotPart,
    /// An axis multiplied it.
    Several,
}
