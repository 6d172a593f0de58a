//! The number of rounds, and why the run stopped there if it was not fixed in advance.

use crate::analysis::{Findings, until};
use crate::report::content::words::counted;
use crate::stats::precision::Percent;
use std::collections::BTreeSet;

/// For the line of facts: `6 rounds`, `14 of at most 40 rounds: each ratio is known within 5.0 %`.
pub fn rounds(findings: &Findings<'_>) -> String {
    let study = findings.study;
    let rounds = counted(study.rounds as usize, "round");
    let Some(wanted) = study.until else { return rounds };
    let within = Percent(wanted.within);
    if findings.circumstances.finished.is_none() {
        let begun: BTreeSet<u32> = findings.rows.iter().map(|row| row.round).collect();
        return format!("{} of at most {} rounds: the run was interrupted", begun.len(), wanted.rounds_max);
    }
    match until::widest(findings) {
        _ if until::is_known(findings) => {
            format!("{} of at most {} rounds: each ratio is known within {within}", study.rounds, wanted.rounds_max)
        }
        Some(widest) => {
            let widest = Percent(widest).to_string();
            let but = if widest == within.to_string() { ", but almost".to_string() } else { format!(", but {widest}") };
            format!("{rounds}, the most allowed: not each ratio is known within {within}{but}")
        }
        None => format!("{rounds}, the most allowed: not each ratio is known within {within}"),
    }
}

/// A note on the intervals of such a run; `None` if the number of rounds was fixed in advance.
pub fn method(findings: &Findings<'_>) -> Option<String> {
    let wanted = findings.study.until?;
    Some(format!(
        "The rounds went on until each ratio of the headline was known within {}, or there were {}. Intervals of medians \
         allow for that: they hold with 95 % at all looks together. Quantiles have no verdict, because their intervals need \
         a number of rounds that is fixed in advance.",
        Percent(wanted.within),
        wanted.rounds_max
    ))
}
