//! Values of other contenders in the same round, for formulas: `NAME@[LABEL]`.

use crate::analysis::formula::Formula;
use crate::analysis::metric::name::Name;
use crate::analysis::trial::TrialRow;
use crate::study::model::Study;

/// Fills in each row's values of other contenders under the same condition.
pub fn look(study: &Study, rows: &mut [TrialRow<'_>], transactions: &[String]) {
    let formulas: Vec<Formula> = study.metrics.iter().filter_map(|own| Formula::parse(&own.value).ok()).collect();
    for whole in formulas.iter().flat_map(Formula::names) {
        let Ok(Name::Elsewhere(name, label)) = Name::read(whole) else { continue };
        let Ok(named) = Name::read(name) else { continue };
        let there = |row: &TrialRow<'_>| study.contenders[row.contender].label == label && row.is_valid();
        let found: Vec<((u32, usize), f64)> = rows
            .iter()
            .filter(|row| there(row))
            .filter_map(|row| Some(((row.round, row.condition), named.of_trial(name, row, transactions)?)))
            .collect();
        for row in rows.iter_mut() {
            let same = found.iter().find(|(place, _)| *place == (row.round, row.condition));
            row.elsewhere.extend(same.map(|(_, value)| (whole.to_string(), *value)));
        }
    }
}
