//! What a study says about its workload, held against the workload: profiles, sizes, transactions.

use super::arm::value_text;
use super::file::File;
use super::metric::transaction_of;
use super::model::Study;
use super::resolve::StudyError;
use crate::source::Source;

/// The names of a workload that a study may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    pub profiles: Vec<String>,
    /// Names of `[scale]`.
    pub scale: Vec<String>,
    pub transactions: Vec<String>,
}

/// Checks a resolved study against its workload.
///
/// # Errors
/// The first name the workload does not have, at the line of the study that uses it; without a line if
/// it was typed.
pub fn check_vocabulary(source: &Source, study: &Study, workload: &Vocabulary) -> Result<(), StudyError> {
    let missing = |kind: &str, name: &str, known: &[String]| {
        format!("workload {} has no {kind} `{name}`; it has {}", study.workload, known.join(", "))
    };
    for condition in &study.conditions {
        if let Some(profile) = condition.profile.as_ref().filter(|profile| !workload.profiles.contains(profile)) {
            return Err(at_axis(source, "profile", profile, missing("profile", profile, &workload.profiles)));
        }
        for (axis, value) in &condition.axes {
            let of_load = matches!(axis.as_str(), "clients" | "processes" | "rate_per_s" | "scale");
            if !of_load && !workload.scale.contains(axis) {
                return Err(at_axis(source, axis, value, missing("scale", axis, &workload.scale)));
            }
        }
    }
    for (index, metric) in study.metrics.iter().enumerate() {
        for (key, counts) in [("numerator", &metric.numerator), ("denominator", &metric.denominator)] {
            for (position, count) in counts.iter().enumerate() {
                let transaction = transaction_of(count).filter(|name| !workload.transactions.iter().any(|t| t == name));
                if let Some(transaction) = transaction {
                    let path = ["metric", &index.to_string(), key, &position.to_string()];
                    let message = missing("transaction", transaction, &workload.transactions);
                    return Err(source.error(&path, message).into());
                }
            }
        }
    }
    Ok(())
}

/// An error at the first axis of the file that has this value.
fn at_axis(source: &Source, axis: &str, value: &str, message: String) -> StudyError {
    let Ok(file) = source.parse::<File>() else { return StudyError::Usage(message) };
    for layer in file.arms().into_iter().flat_map(|(variant, extent)| file.layers(variant, extent)) {
        let values = layer.axes.and_then(|axes| axes.get(axis)).into_iter().flatten();
        let index = values.map(value_text).position(|text| text.as_deref() == Ok(value));
        if let Some(index) = index {
            let index = index.to_string();
            return source.error(&[layer.path, &["axes", axis, &index]].concat(), message).into();
        }
    }
    StudyError::Usage(message)
}
