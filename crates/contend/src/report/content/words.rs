//! Formats and words for metrics and verdicts, shared by all sections.

use crate::analysis::cell::Cell;
use crate::analysis::compare::Compared;
use crate::analysis::dist::Shown;
use crate::analysis::estimate::{Estimate, Lacking};
use crate::analysis::metric::Metric;
use crate::analysis::plain::Tier;
use crate::analysis::{Answered, Findings, Why};
use crate::report::document::{Cell as TableCell, Tone};
use crate::stats::precision::{Ns, Percent, Ratio, alike};
pub use crate::stats::precision::{count, counted};
use crate::stats::quantile::QuantileValue;
use crate::stats::verdict::{Comparison, ROUNDS_MAX, Verdict};

/// Placeholder for values that were not measured.
pub const NOTHING: &str = "-";
pub const TOO_SMALL: &str = "n too small";
/// Mark of a quantile that was printed with too few operations.
pub const FEW: &str = "†";
pub const FEW_NOTE: &str =
    "† fewer operations than this percentile needs (30 beyond it); printed because the original printed it.";

/// A quantile under the rule of minima.
pub fn quantile(shown: Shown) -> TableCell {
    match shown.value {
        QuantileValue::Exact(ns) if shown.few => TableCell::new(format!("{} {FEW}", Ns(ns))),
        QuantileValue::Exact(ns) => TableCell::new(Ns(ns).to_string()),
        QuantileValue::AtLeast(ns) if shown.few => TableCell::new(format!("at least {} {FEW}", Ns(ns))),
        QuantileValue::AtLeast(ns) => TableCell::new(format!("at least {}", Ns(ns))),
        QuantileValue::TooFew { n: 0, .. } => TableCell::muted(NOTHING),
        QuantileValue::TooFew { .. } => TableCell::muted(TOO_SMALL),
    }
}

/// A metric with its interval.
pub fn estimate(metric: &Metric, estimate: &Estimate) -> TableCell {
    let Some(value) = estimate.value else {
        let few = matches!(estimate.lacking, Some(Lacking::TooFew { .. }));
        return TableCell::muted(if few { TOO_SMALL } else { NOTHING });
    };
    let bound = if estimate.at_least { "at least " } else { "" };
    let few = if estimate.few { " †" } else { "" };
    let (shown, small) = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => range([value, low, high].map(|value| metric.show(value))),
        _ => (metric.show(value), String::new()),
    };
    TableCell::new(format!("{bound}{shown}{few}")).small(small)
}

/// `4,400 to 4,610`, or nothing.
pub fn interval(metric: &Metric, estimate: &Estimate) -> String {
    match (estimate.value, estimate.low, estimate.high) {
        (Some(value), Some(low), Some(high)) => range([value, low, high].map(|value| metric.show(value))).1,
        _ => String::new(),
    }
}

/// A value with its interval, in one precision; the unit is left out of the interval if both ends have that of the value.
pub fn range(texts: [String; 3]) -> (String, String) {
    let [value, low, high] = alike(texts);
    let split = |text: &String| {
        let end = text.find(|c: char| !c.is_ascii_digit() && !".,".contains(c)).unwrap_or(text.len());
        (text[..end].to_string(), text[end..].to_string())
    };
    let [(_, unit), (low_number, low_unit), (high_number, high_unit)] = [&value, &low, &high].map(split);
    if unit == low_unit && unit == high_unit {
        return (value, format!("{low_number} to {high_number}"));
    }
    (value, format!("{low} to {high}"))
}

/// The word of a comparison.
pub fn word(findings: &Findings<'_>, verdict: &Verdict) -> String {
    match verdict {
        Verdict::NoWords if findings.as_published() => "no word, as published".to_string(),
        Verdict::NotComparable(_) => "not comparable".to_string(),
        other => other.to_string(),
    }
}

pub fn tone(verdict: &Verdict) -> Tone {
    match verdict {
        Verdict::Faster | Verdict::SlightlyFaster => Tone::Better,
        Verdict::Slower | Verdict::SlightlySlower => Tone::Worse,
        _ => Tone::Muted,
    }
}

/// Ratio and interval of a comparison.
pub fn ratio(low: Option<f64>, middle: Option<f64>, high: Option<f64>) -> TableCell {
    let Some(middle) = middle else { return TableCell::muted(NOTHING) };
    match (low, high) {
        (Some(low), Some(high)) => {
            let (text, small) = range([middle, low, high].map(|ratio| Ratio(ratio).to_string()));
            TableCell::new(text).small(small)
        }
        _ => TableCell::new(Ratio(middle).to_string()),
    }
}

/// As [`ratio`], in grey if the cells are not comparable.
pub fn compared_ratio(c: &Comparison) -> TableCell {
    let cell = ratio(c.low, c.ratio, c.high);
    if matches!(c.verdict, Verdict::NotComparable(_)) { cell.tone(Tone::Muted) } else { cell }
}

/// The word, with a remark in small print.
pub fn verdict(findings: &Findings<'_>, compared: &Compared) -> TableCell {
    let comparison = &compared.comparison;
    let small = match (&comparison.verdict, comparison.rounds_needed) {
        (Verdict::NotComparable(reason), _) => reason.clone(),
        (Verdict::NoWords, _) if !findings.as_published() => {
            format!("{} of {} needed", comparison.rounds, findings.study.looks().rounds_min())
        }
        (_, Some(rounds)) if rounds > ROUNDS_MAX => "too much noise, or too small a difference, to tell".to_string(),
        (_, Some(rounds)) => format!("at least {} rounds would", count(u64::from(rounds))),
        _ => String::new(),
    };
    TableCell::new(word(findings, &comparison.verdict)).small(small).tone(tone(&comparison.verdict))
}

/// Valid rounds out of scheduled ones.
pub fn rounds(cell: &Cell) -> String {
    match (cell.valid.len(), cell.scheduled) {
        (valid, scheduled) if valid == scheduled => valid.to_string(),
        (valid, scheduled) => format!("{valid} of {scheduled}"),
    }
}

/// A count with its share: `0`, `3 (<0.1 %)`, `120 (4.2 %)`.
pub fn share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (_, 0) => NOTHING.to_string(),
        (0, _) => "0".to_string(),
        (part, whole) if (part as f64) < 0.0005 * whole as f64 => format!("{} (<0.1 %)", count(part)),
        (part, whole) if part < whole && part as f64 >= 0.9995 * whole as f64 => format!("{} (>99.9 %)", count(part)),
        (part, whole) => format!("{} ({})", count(part), Percent(part as f64 / whole as f64)),
    }
}

/// The answer to a question, or why there is none.
pub fn answer(answered: &Answered) -> String {
    let why = match &answered.said {
        Ok(sentence) => return sentence.text.clone(),
        Err(Why::NoCondition(label)) => format!("the condition {label} is not part of this run"),
        Err(Why::NoMetric(name)) => format!("it has no metric {name}"),
        Err(Why::NoValidTrial(label)) => format!("it has no valid trial of {label}"),
    };
    format!("This run does not answer it: {why}.")
}

/// Heading of a tier, and its promise.
pub fn tier(findings: &Findings<'_>, tier: Tier) -> (String, String) {
    let broken = findings.no_sync().is_some() && matches!(tier, Tier::Durable | Tier::Bounded);
    let unseen: Vec<&str> =
        findings.syncs_unseen(tier).into_iter().map(|contender| label(findings, contender)).collect();
    let but = match (broken, unseen.is_empty()) {
        (true, _) => " (not on this file system)".to_string(),
        (false, true) => String::new(),
        (false, false) => {
            format!(" ({}: syncs not seen from outside)", labels(&unseen))
        }
    };
    (tier.word().to_string(), format!("{}{but}", tier.promise()))
}

/// Label of a condition as a heading.
pub fn condition(findings: &Findings<'_>, index: usize) -> String {
    let label = &findings.study.conditions[index].label;
    if label.is_empty() { "the one load of this study".to_string() } else { label.clone() }
}

/// Heading of the column of contenders.
pub fn subject(findings: &Findings<'_>) -> &'static str {
    if findings.of_service() { "service" } else { "contender" }
}

/// Several labels in a sentence; in quotes if one of them holds a comma or semicolon.
pub fn labels(labels: &[&str]) -> String {
    let quoted = labels.len() > 1 && labels.iter().any(|label| label.contains([',', ';']));
    let shown = |label: &&str| if quoted { format!("\"{label}\"") } else { (*label).to_string() };
    labels.iter().map(shown).collect::<Vec<_>>().join(", ")
}

pub fn label<'a>(findings: &'a Findings<'_>, contender: usize) -> &'a str {
    &findings.study.contenders[contender].label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_commas_are_told_apart() {
        assert_eq!(labels(&["WAL/FULL", "DELETE/FULL"]), "WAL/FULL, DELETE/FULL");
        assert_eq!(labels(&["MariaDB, durable", "WAL/FULL"]), "\"MariaDB, durable\", \"WAL/FULL\"");
        assert_eq!(labels(&["MariaDB, durable"]), "MariaDB, durable");
    }
}
