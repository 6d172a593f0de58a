//! Precision of the headline's ratios.

use crate::analysis::Findings;

/// Relative half width of the widest interval of the headline's ratios; `None` if there is no ratio, or one has no
/// interval.
pub fn widest(findings: &Findings<'_>) -> Option<f64> {
    let of_headline = findings.comparisons.iter().filter(|compared| compared.metric.name == findings.study.headline);
    let half_widths: Option<Vec<f64>> =
        of_headline.map(|compared| compared.comparison.minimum_detectable_effect).collect();
    half_widths?.into_iter().reduce(f64::max)
}

/// Whether all ratios are as precise as the study requires.
pub fn is_known(findings: &Findings<'_>) -> bool {
    let wanted = findings.study.until.map(|until| until.within);
    wanted.zip(widest(findings)).is_some_and(|(within, widest)| widest <= within)
}
