//! Checks the names in a study against its workload: profiles, sizes, transactions.

use super::choices::Choices;
use super::edition::value_text;
use super::export;
use super::file::Layer;
use super::model::{Study, Whole};
use super::parts;
use super::resolve::{StudyError, resolve_checked};
use crate::analysis::metric::name::{self, KnownNames};
use crate::engine;
use crate::load;
use crate::source::{FileError, Source, did_you_mean};

/// The names of a workload that a study may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    pub profiles: Vec<String>,
    /// Names of `[scale]`.
    pub scale: Vec<String>,
    pub transactions: Vec<String>,
    pub tables: Vec<String>,
    /// Of the numbers of clients and processes, those that every role sets itself, so that a study cannot.
    pub own_counts: Vec<&'static str>,
}

/// The study that a run with these choices carries out, or those of its parts that take part in it, checked against their
/// workloads as far as `names` knows them.
///
/// # Errors
/// All mistakes of the file, and the names that a workload does not have.
pub fn resolve_named(
    source: &Source,
    choices: &Choices,
    names: &dyn Fn(&Study) -> Option<Vocabulary>,
) -> Result<Whole, StudyError> {
    resolve_checked(source, choices, &|source, whole| {
        let known = whole.studies.iter().filter_map(|study| Some((study, names(study)?)));
        together(known.flat_map(|(study, names)| wrong_names(source, study, &names)))
    })
}

/// Checks a resolved study against its workload.
///
/// # Errors
/// The names that the workload does not have, at the lines of the study that use them; without a line if one was typed.
pub fn check_vocabulary(source: &Source, study: &Study, workload: &Vocabulary) -> Result<(), StudyError> {
    together(wrong_names(source, study, workload).into_iter())
}

fn together(errors: impl Iterator<Item = StudyError>) -> Result<(), StudyError> {
    let mut found = vec![];
    for error in errors {
        match error {
            StudyError::File(error) => found.push(error),
            typed => return Err(typed),
        }
    }
    FileError::together(found).map_or(Ok(()), |error| Err(error.into()))
}

fn wrong_names(source: &Source, study: &Study, workload: &Vocabulary) -> Vec<StudyError> {
    let mut found = vec![];
    let missing = |kind: &str, name: &str, known: &[String]| {
        let axes: Vec<&str> = if kind == "scale" { load::offered().collect() } else { vec![] };
        let advice = did_you_mean(name, known.iter().map(String::as_str).chain(axes));
        format!("workload {} has no {kind} `{name}`{advice}; it has {}", study.workload, known.join(", "))
    };
    for condition in &study.conditions {
        if let Some(profile) = condition.profile.as_ref().filter(|profile| !workload.profiles.contains(profile)) {
            found.push(at_axis(source, study, "profile", profile, missing("profile", profile, &workload.profiles)));
        }
        for (axis, value) in &condition.axes {
            let of_load = load::AXES.iter().any(|known| known.is_offered && known.key == axis);
            if !of_load && !workload.scale.contains(axis) {
                found.push(at_axis(source, study, axis, value, missing("scale", axis, &workload.scale)));
            }
        }
    }
    for count in &workload.own_counts {
        let message = format!("changes nothing: every role of workload {} has its own number", study.workload);
        found.extend(at_load(source, study, count, message));
    }
    let known = KnownNames {
        transactions: &workload.transactions,
        scale: &workload.scale,
        tables: &workload.tables,
        settings: all_settings(),
        metrics: vec![],
    };
    let in_file = |path: &[String], message| at(source, &parts::locate(source, study.part.as_deref(), path), message);
    for (index, metric) in study.metrics.iter().enumerate() {
        if let Err(message) = name::check(&metric.value, &known) {
            found.push(in_file(&["metric", &index.to_string(), "value"].map(str::to_string), message));
        }
    }
    if let Err((path, message)) = export::check(&study.exports, &study.metrics, &known) {
        found.push(in_file(&path, message));
    }
    found
}

/// Names of the settings of all engines, because a formula may refer to a contender that is not in the run.
fn all_settings() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = engine::ENGINES.iter().flat_map(|engine| engine.setting_names()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// An error at the first axis of the file, or of the part, that has this value; without a line if it was typed.
pub fn at_axis(source: &Source, study: &Study, axis: &str, value: &str, message: String) -> StudyError {
    let path = located(source, study, |layer| {
        let values = layer.axes.and_then(|axes| axes.get(axis)).into_iter().flatten();
        let index = values.map(value_text).position(|text| text.as_deref() == Ok(value))?;
        Some(vec!["axes".to_string(), axis.to_string(), index.to_string()])
    });
    path.first().map_or(StudyError::Usage(message.clone()), |path| at(source, path, message))
}

/// An error at a number of `[load]`. `None` if it is not set, or a part inherits it: other parts may need it.
fn at_load(source: &Source, study: &Study, count: &str, message: String) -> Option<StudyError> {
    let paths = located(source, study, |layer| {
        let is_set = layer.load.is_some_and(|load| match count {
            "clients" => load.clients.is_some(),
            _ => load.processes.is_some(),
        });
        is_set.then(|| vec!["load".to_string(), count.to_string()])
    });
    let own = paths.iter().find(|path| study.part.is_none() || path[0] == "part")?;
    Some(at(source, own, message))
}

fn at(source: &Source, path: &[String], message: String) -> StudyError {
    source.error(&path.iter().map(String::as_str).collect::<Vec<_>>(), message).into()
}

/// The paths in the file of a key in the layers of the study or part.
fn located(source: &Source, study: &Study, find: impl Fn(&Layer) -> Option<Vec<String>>) -> Vec<Vec<String>> {
    let written = parts::read(source).ok();
    let part = written.iter().flat_map(|written| &written.parts).find(|part| part.name() == study.part.as_deref());
    let editions = part.into_iter().flat_map(|part| part.editions().into_iter().map(move |edition| (part, edition)));
    let layers = editions.flat_map(|(part, (variant, extent))| part.file.layers(variant, extent));
    let paths = layers.filter_map(|layer| {
        let of_layer = layer.path.iter().map(ToString::to_string);
        Some(of_layer.chain(find(&layer)?).collect::<Vec<_>>())
    });
    paths.map(|path| parts::locate(source, study.part.as_deref(), &path)).collect()
}
