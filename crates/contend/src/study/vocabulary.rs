//! What a study says about its workload, held against the workload: profiles, sizes, transactions.

use super::edition::value_text;
use super::export;
use super::model::Study;
use super::parts;
use super::resolve::StudyError;
use crate::analysis::metric::name::{self, Known};
use crate::engine;
use crate::source::Source;

/// The names of a workload that a study may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    pub profiles: Vec<String>,
    /// Names of `[scale]`.
    pub scale: Vec<String>,
    pub transactions: Vec<String>,
    pub tables: Vec<String>,
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
            return Err(at_axis(source, study, "profile", profile, missing("profile", profile, &workload.profiles)));
        }
        for (axis, value) in &condition.axes {
            let of_load = matches!(axis.as_str(), "clients" | "duration" | "processes" | "rate_per_s" | "scale");
            if !of_load && !workload.scale.contains(axis) {
                return Err(at_axis(source, study, axis, value, missing("scale", axis, &workload.scale)));
            }
        }
    }
    let known = Known {
        transactions: &workload.transactions,
        scale: &workload.scale,
        tables: &workload.tables,
        settings: all_settings(),
        metrics: vec![],
    };
    for (index, metric) in study.metrics.iter().enumerate() {
        name::check(&metric.value, &known).map_err(|message| {
            let path = ["metric", &index.to_string(), "value"].map(str::to_string);
            let path = parts::locate(source, study.part.as_deref(), &path);
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            source.error(&path, message)
        })?;
    }
    export::check(&study.exports, &study.metrics, &known).map_err(|(path, message)| {
        let path = parts::locate(source, study.part.as_deref(), &path);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        source.error(&path, message)
    })?;
    Ok(())
}

/// Names of the settings of all engines: a formula may be about one that is left out of a run.
fn all_settings() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = engine::ENGINES.iter().flat_map(|engine| engine.setting_names()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// An error at the first axis of the file, or of the part, that has this value.
fn at_axis(source: &Source, study: &Study, axis: &str, value: &str, message: String) -> StudyError {
    let Ok(written) = parts::read(source) else { return StudyError::Usage(message) };
    let part = written.parts.iter().find(|part| part.name() == study.part.as_deref());
    let editions = part.into_iter().flat_map(|part| part.editions().into_iter().map(move |edition| (part, edition)));
    for layer in editions.flat_map(|(part, (variant, extent))| part.file.layers(variant, extent)) {
        let values = layer.axes.and_then(|axes| axes.get(axis)).into_iter().flatten();
        let index = values.map(value_text).position(|text| text.as_deref() == Ok(value));
        if let Some(index) = index {
            let path: Vec<String> =
                [layer.path, &["axes", axis, &index.to_string()]].concat().into_iter().map(str::to_string).collect();
            let path = parts::locate(source, study.part.as_deref(), &path);
            return source.error(&path.iter().map(String::as_str).collect::<Vec<_>>(), message).into();
        }
    }
    StudyError::Usage(message)
}
