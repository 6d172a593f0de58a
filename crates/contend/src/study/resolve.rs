//! From a study file and the choices of a run to the study that runs.
//!
//! Every variant and extent of the file is read and multiplied out first, whichever is chosen: a mistake
//! in one that is seldom run is found all the same. Overrides are applied to the chosen one after that,
//! so what then goes wrong is the command line's fault.

use super::arm::{self, Arm, Problem};
use super::axis::{self, Expanded};
use super::choices::{self, Choices};
use super::file::File;
use super::label;
use super::model::{Contender, Metric, Study, Tier, Variant};
use super::questions::{self, Covered, Reach};
use super::spec::{self, Spec};
use crate::source::{FileError, Source};
use std::fmt;

const DEFAULT_MARGIN: f64 = 0.05;

/// Why there is no study to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StudyError {
    /// The study file is wrong.
    File(FileError),
    /// An override does not fit the study.
    Usage(String),
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StudyError::File(error) => error.fmt(f),
            StudyError::Usage(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for StudyError {}

impl From<FileError> for StudyError {
    fn from(error: FileError) -> Self {
        StudyError::File(error)
    }
}

/// The study that a run with these choices carries out.
///
/// # Errors
/// Anything wrong in the file, in any of its variants, and overrides that do not fit.
pub fn resolve(source: &Source, choices: &Choices) -> Result<Study, StudyError> {
    let file: File = source.parse()?;
    let in_file = |problem: Problem| in_file(source, &problem);
    check_file(&file).map_err(in_file)?;
    let metrics = questions::read_metrics(&file).map_err(in_file)?;
    let reach = read_all(&file, &metrics).map_err(in_file)?;
    let answers = questions::read_answers(&file, &metrics, &reach).map_err(in_file)?;
    let effects = questions::read_effects(&file, &metrics, &reach).map_err(in_file)?;
    let published = questions::read_published(&file, &metrics, &reach).map_err(in_file)?;

    let (arm, contenders) = choose(&file, choices, &name_of(source)).map_err(StudyError::Usage)?;
    let mut study = Study {
        name: name_of(source),
        question: file.question,
        workload: file.workload,
        kind: file.kind,
        variant: choices.variant,
        extent: choices.extent,
        headline: arm.headline.clone(),
        margin: file.margin.unwrap_or(DEFAULT_MARGIN),
        rounds: arm.rounds,
        baselines: baselines(&arm, &contenders),
        conditions: axis::expand_conditions(&arm.axes),
        load: arm.load,
        contenders,
        metrics,
        answers,
        effects,
        published,
        changes: file.changes,
        limits: file.limits,
    };
    questions::leave_out_uncovered(&mut study);
    Ok(study)
}

fn in_file(source: &Source, problem: &Problem) -> StudyError {
    let path: Vec<&str> = problem.path.iter().map(String::as_str).collect();
    StudyError::File(source.error(&path, problem.message.as_str()))
}

/// `NAME` for `studies/NAME.toml` and for `built-in study NAME`.
fn name_of(source: &Source) -> String {
    let name = source.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_prefix(super::BUILTIN_PREFIX).unwrap_or(name);
    name.strip_suffix(".toml").unwrap_or(name).to_string()
}

fn check_file(file: &File) -> Result<(), Problem> {
    for (key, text) in [("question", &file.question), ("workload", &file.workload)] {
        if text.trim().is_empty() {
            return Err(Problem::new(&[key], "must not be empty"));
        }
    }
    if file.margin.is_some_and(|margin| !(0.0..1.0).contains(&margin)) {
        return Err(Problem::new(&["margin"], "must be a fraction from 0 up to 1, such as 0.05 for 5 %"));
    }
    let quick = file.quick.as_ref();
    let nested = file.as_published.as_ref().and_then(|published| published.quick.as_deref());
    for (path, overlay) in [(&["quick", "quick"][..], quick), (&["as_published", "quick", "quick"], nested)] {
        if overlay.is_some_and(|overlay| overlay.quick.is_some()) {
            return Err(Problem::new(path, "a quick form has no quick form of its own"));
        }
    }
    Ok(())
}

/// Reads and multiplies out every variant and extent.
fn read_all(file: &File, metrics: &[Metric]) -> Result<Reach, Problem> {
    let mut arms = Vec::new();
    for (variant, extent) in file.arms() {
        for layer in file.layers(variant, extent) {
            if let Some(headline) = layer.headline {
                questions::check_metric(headline, metrics)
                    .map_err(|message| Problem::at(layer.path, &["headline"], message))?;
            }
        }
        let arm = arm::read(file, variant, extent)?;
        let contenders = expand(&arm)?;
        let conditions = axis::expand_conditions(&arm.axes).into_iter().map(|condition| condition.label).collect();
        arms.push((arm, Covered { contenders, conditions }));
    }
    let (arms, covered): (Vec<Arm>, Vec<Covered>) = arms.into_iter().unzip();
    let reach = Reach { arms: covered };
    for (arm, covered) in arms.iter().zip(&reach.arms) {
        check_baselines(arm, &covered.contenders, &reach)?;
    }
    Ok(reach)
}

/// The chosen variant with the overrides applied. The file is known to be right.
fn choose(file: &File, choices: &Choices, study: &str) -> Result<(Arm, Vec<Contender>), String> {
    if choices.variant == Variant::AsPublished && file.as_published.is_none() {
        return Err(format!("study {study} has no as-published variant"));
    }
    let mut arm = arm::read(file, choices.variant, choices.extent).map_err(|problem| problem.message)?;
    choices::apply(&mut arm, choices)?;
    let mut contenders = expand(&arm).map_err(|problem| problem.message)?;
    if let Some(pattern) = &choices.only {
        choices::keep_only(&mut contenders, pattern)?;
    }
    Ok((arm, contenders))
}

/// Contenders with their labels; neither names nor labels repeat.
fn expand(arm: &Arm) -> Result<Vec<Contender>, Problem> {
    let expanded = axis::expand_contenders(arm)?;
    let labels = label::labels(&expanded, &arm.common);
    let mut contenders: Vec<Contender> = Vec::new();
    for (Expanded { spec, path, .. }, label) in expanded.into_iter().zip(labels) {
        let name = spec.to_string();
        if let Some(twin) = contenders.iter().find(|other| other.name == name || other.label == label) {
            return Err(Problem {
                path,
                message: format!(
                    "two contenders are called `{label}`: {} and {name}; labels must differ, and so must contenders",
                    twin.name
                ),
            });
        }
        let Spec { engine, driver, model, settings, tier } = spec;
        contenders.push(Contender { name, label, engine, driver, model, settings, tier });
    }
    Ok(contenders)
}

/// The contender a baseline means: by its label, else by its spec.
fn baseline<'c>(text: &str, arm: &Arm, contenders: &'c [Contender]) -> Option<&'c Contender> {
    contenders.iter().find(|contender| contender.label == text).or_else(|| {
        let name = spec::parse(text).ok()?.complete(&arm.common).ok()?.to_string();
        contenders.iter().find(|contender| contender.name == name)
    })
}

/// A baseline may be missing here only if another variant has it, and no tier may have two.
fn check_baselines(arm: &Arm, contenders: &[Contender], reach: &Reach) -> Result<(), Problem> {
    let mut found: Vec<&Contender> = Vec::new();
    for (index, text) in arm.baseline.iter().enumerate() {
        let wrong = |message: String| {
            let mut path = arm.baseline_path.clone();
            path.push(index.to_string());
            Problem { path, message }
        };
        let Some(this) = baseline(text, arm, contenders) else {
            if reach.arms.iter().any(|other| baseline(text, arm, &other.contenders).is_some()) {
                continue;
            }
            return Err(wrong(reach.check_contender(text).err().unwrap_or_default()));
        };
        if let Some(other) = found.iter().find(|other| other.tier == this.tier) {
            let message =
                format!("`{}` and `{}` are both {}; a tier has one baseline", other.label, this.label, this.tier);
            return Err(wrong(message));
        }
        found.push(this);
    }
    Ok(())
}

/// One baseline per tier: the one the study names, else the first contender of the tier.
fn baselines(arm: &Arm, contenders: &[Contender]) -> Vec<String> {
    let named: Vec<&Contender> = arm.baseline.iter().filter_map(|text| baseline(text, arm, contenders)).collect();
    Tier::ALL
        .into_iter()
        .filter_map(|tier| named.iter().copied().chain(contenders).find(|contender| contender.tier == tier))
        .map(|contender| contender.name.clone())
        .collect()
}
