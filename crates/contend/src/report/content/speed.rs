//! The headline of a contender, for tables of slices.

use crate::analysis::Findings;

/// The headline of a contender and its rounds, as numbers and as text.
pub struct Speed {
    pub value: f64,
    pub shown: String,
    pub rounds: Vec<(f64, String)>,
}

impl Speed {
    /// The slowest and the fastest round; empty for a single round.
    pub fn range(&self) -> String {
        let by_value = |a: &&(f64, String), b: &&(f64, String)| a.0.total_cmp(&b.0);
        match (self.rounds.iter().min_by(by_value), self.rounds.iter().max_by(by_value)) {
            (Some((_, low)), Some((_, high))) if self.rounds.len() > 1 => format!("{low} to {high}"),
            _ => String::new(),
        }
    }
}

/// `None` if the contender has no valid round.
pub fn rate(findings: &Findings<'_>, condition: usize, contender: usize) -> Option<Speed> {
    let cell = findings.cell(condition, contender).filter(|cell| cell.has_data())?;
    let metric = findings.headline.as_ref()?;
    let estimate = findings.estimator().estimate(cell, metric);
    let value = estimate.value?;
    let rounds = estimate.rounds.iter().map(|(_, value)| (*value, metric.show(*value))).collect();
    Some(Speed { value, shown: metric.show(value), rounds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_of_several_rounds() {
        let of = |values: &[f64]| {
            let rounds = values.iter().map(|value| (*value, format!("{value}/s"))).collect();
            Speed { value: 2.0, shown: String::new(), rounds }.range()
        };
        assert_eq!(of(&[2.0]), "");
        assert_eq!(of(&[2.0, 1.5, 3.0]), "1.5/s to 3/s");
    }
}
