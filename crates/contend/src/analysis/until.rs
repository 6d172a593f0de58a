//! How well the ratios of the headline are known.

use crate::analysis::Findings;

/// Half width of the widest interval of a ratio of the headline to a baseline, relative; none if there is no ratio, or one
/// without an interval.
pub fn widest(findings: &Findings<'_>) -> Option<f64> {
    let of_headline = findings.comparisons.iter().filter(|compared| compared.metric.name == findings.study.headline);
    let half_widths: Option<Vec<f64>> =
        of_headline.map(|compared| compared.comparison.minimum_detectable_effect).collect();
    half_widths?.into_iter().reduce(f64::max)
}

/// Whether all of them are known as well as the study wants.
pub fn is_known(findings: &Findings<'_>) -> bool {
    let wanted = findings.study.until.map(|until| until.within);
    wanted.zip(widest(findings)).is_some_and(|(within, widest)| widest <= within)
}
