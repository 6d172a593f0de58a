//! `--until 'ratio within 5 %'`: rounds continue until the headline's ratios are known this precisely.

use super::kind::LOAD;
use super::model::{Study, Until, Variant};
use crate::analysis::metric;
use crate::stats::interval::Looks;

/// Most rounds, unless `--rounds` sets another number.
pub const ROUNDS_MAX: u32 = 40;

/// Reads `ratio within 5 %`.
///
/// # Errors
/// The expected form.
pub fn parse(text: &str) -> Result<f64, String> {
    let spaced = text.replace('%', " % ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let percent: Option<f64> = match words.as_slice() {
        ["ratio", "within", number, "%"] => number.parse().ok(),
        _ => None,
    };
    let within = percent.filter(|percent| *percent > 0.0 && percent.is_finite()).map(|percent| percent / 100.0);
    within.ok_or_else(|| format!("`{text}` is not understood; write it as 'ratio within 5 %'"))
}

/// Makes a study run until its ratios are known within `within`, with at most `rounds` rounds.
///
/// # Errors
/// Why it cannot.
pub fn apply(study: &mut Study, within: f64, rounds: Option<u32>) -> Result<(), String> {
    let rounds_max = rounds.unwrap_or(ROUNDS_MAX);
    refusal(study, rounds_max).map_or(Ok(()), |why| Err(format!("--until: {why}")))?;
    (study.rounds, study.until) = (rounds_max, Some(Until { within, rounds_max }));
    Ok(())
}

fn refusal(study: &Study, rounds_max: u32) -> Option<String> {
    let least = Looks::AfterEach.rounds_min();
    let is_quantile = metric::find(study, &study.headline).is_some_and(|metric| metric.quantile().is_some());
    let is_baseline = |name: &String, label: &String| study.baselines.iter().any(|b| b == name || b == label);
    let baselines = study.contenders.iter().filter(|c| is_baseline(&c.name, &c.label));
    let pairs = baselines.filter(|b| study.contenders.iter().any(|c| c.tier == b.tier && c.name != b.name)).count();
    let refusals = [
        (
            (rounds_max as usize) < least,
            format!("it needs --rounds {least} or more; with fewer there is no interval that may be looked at again"),
        ),
        (
            study.variant == Variant::AsPublished,
            "the original's repetitions have no intervals; leave --as-published out".to_string(),
        ),
        (
            study.kind != LOAD,
            format!("trials of kind `{}` do more in the last round, which must be known in advance", study.kind),
        ),
        (
            is_quantile,
            format!(
                "the headline {} is a quantile, whose interval needs a number of rounds that is fixed in advance; choose a \
                 study with another headline, such as throughput_ops_per_s",
                study.headline
            ),
        ),
        (pairs == 0, "no tier has a baseline and another contender, so there is no ratio".to_string()),
    ];
    refusals.into_iter().find(|(refused, _)| *refused).map(|(_, why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_written_as_a_sentence() {
        for text in ["ratio within 5 %", " ratio  within 5% "] {
            assert_eq!(parse(text), Ok(0.05), "{text}");
        }
        assert_eq!(parse("ratio within 0.5 %"), Ok(0.005));
        for text in ["", "5 %", "ratio within 5", "ratio within -5 %", "ratio within 0 %", "ratio within NaN %"] {
            assert!(parse(text).unwrap_err().contains("ratio within 5 %"), "{text}");
        }
    }
}
