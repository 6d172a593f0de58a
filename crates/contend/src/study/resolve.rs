//! From a study file and the choices of a run to the study that runs.
//!
//! Every variant and extent of the file is read and expanded first, so that mistakes in rarely used ones are found.
//! Overrides are applied to the chosen one afterwards, so later errors come from the command line.

use super::axis::{self, Expanded};
use super::choices::{self, Choices};
use super::edition::{Edition, Problem};
use super::file::File;
use super::layers;
use super::model::{
    Along, Answer, Contender, Effect, Export, Extent, Grid, OwnMetric, Published, Readback, Resolved, Study, Tier,
    Variant, Whole,
};
use super::parts::{self, Part};
use super::questions::{self, Covered, Reach};
use super::spec::{self, Spec};
use super::{along, dependence, export, grid, label, metric, readback};
use crate::engine;
use crate::source::{FileError, Source, mistakes};
use crate::stats::verdict::MARGIN;
use std::collections::BTreeSet;
use std::fmt;

/// The axis of `--set` that chooses among the parts.
const PART: &str = "part";

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

/// The one study that a run with these choices carries out, of a file without parts.
///
/// # Errors
/// As for [`resolve_parts`]; and a file with parts.
pub fn resolve(source: &Source, choices: &Choices) -> Result<Study, StudyError> {
    let mut whole = resolve_parts(source, choices)?;
    match whole.studies.pop() {
        Some(study) if !whole.has_parts() && study.part.is_none() => Ok(study),
        _ => Err(StudyError::Usage(format!("study {} has parts; resolve all of them", whole.name))),
    }
}

/// Removes contenders from a study, by name; each comes with the limit that the report states for it. A tier without its
/// baseline gets another one; these limits are returned, too.
pub fn leave_out(study: &mut Study, absent: &[(String, String)]) -> Vec<String> {
    if absent.is_empty() {
        return vec![];
    }
    let is_absent = |contender: &Contender| absent.iter().any(|(name, _)| *name == contender.name);
    let (gone, left): (Vec<Contender>, Vec<Contender>) =
        std::mem::take(&mut study.contenders).into_iter().partition(is_absent);
    let before = std::mem::take(&mut study.baselines);
    study.baselines = one_per_tier(left.iter().filter(|contender| before.contains(&contender.name)), &left);
    let replaced = gone.iter().filter(|contender| before.contains(&contender.name));
    let instead = replaced.filter_map(|gone| {
        let new = left.iter().find(|c| c.tier == gone.tier && study.baselines.contains(&c.name))?;
        Some(format!("{} is the baseline of its tier, {}, instead of {}", new.label, new.tier, gone.label))
    });
    let instead: Vec<String> = instead.collect();
    study.contenders = left;
    study.limits.extend(absent.iter().map(|(_, words)| words).chain(&instead).cloned());
    questions::leave_out_uncovered(study);
    instead
}

/// The study that a run with these choices carries out, or those of its parts that take part in it.
///
/// # Errors
/// Anything wrong in the file, in any of its parts and variants, and overrides that do not fit.
pub fn resolve_parts(source: &Source, choices: &Choices) -> Result<Whole, StudyError> {
    resolve_checked(source, choices, &|_, _| Ok(()))
}

/// As [`resolve_parts`]; the mistakes that `check` finds in a resolved study are reported with all others.
pub(super) fn resolve_checked(
    source: &Source,
    choices: &Choices,
    check: &dyn Fn(&Source, &Whole) -> Result<(), StudyError>,
) -> Result<Whole, StudyError> {
    let read = |source: &Source| {
        let whole = resolve_once(source, choices)?;
        check(source, &whole).map(|()| whole)
    };
    let mistake = |source: &Source| match read(source) {
        Err(StudyError::File(error)) => Some(error),
        _ => None,
    };
    read(source).map_err(|error| match error {
        StudyError::File(first) => mistakes::all(source, first, dependence::KIND, mistake).into(),
        usage => usage,
    })
}

fn resolve_once(source: &Source, choices: &Choices) -> Result<Whole, StudyError> {
    let written = parts::read(source)?;
    let name = name_of(source);
    let checked: Vec<Checked> = written.parts.iter().map(|part| check(source, part)).collect::<Result<_, _>>()?;
    let chosen = chosen_parts(&name, &checked, choices).map_err(StudyError::Usage)?;
    let built_in = source.name.starts_with(&super::LIBRARY.prefix());
    let studies = chosen.into_iter().map(|chosen| Study { built_in, ..chosen.study(&name) }).collect();
    Ok(Whole { name, question: written.question, variant: choices.variant, extent: choices.extent, studies })
}

/// Rejects a quick run of a study without a quick form: it would be a full run with the wrong name.
///
/// # Errors
/// What to use instead, and any mistake in the parts of the file.
pub fn check_quick(source: &Source, variant: Variant) -> Result<(), StudyError> {
    match parts::read(source)?.parts.iter().any(|part| part.has_quick(variant)) {
        true => Ok(()),
        false => Err(StudyError::Usage(format!(
            "study {} has no quick form: --quick would measure all of it. Leave --quick out and give --rounds and \
             --window, or write a [quick] into the file",
            name_of(source)
        ))),
    }
}

/// A part that was checked in all its variants.
struct Checked<'w> {
    part: &'w Part,
    reach: Reach,
    metrics: Vec<OwnMetric>,
    exports: Vec<Export>,
    answers: Vec<Answer>,
    effects: Vec<Effect>,
    grids: Vec<Grid>,
    alongs: Vec<Along>,
    readbacks: Vec<Readback>,
    published: Vec<Published>,
}

fn check<'w>(source: &Source, part: &'w Part) -> Result<Checked<'w>, StudyError> {
    let in_file = |problem: Problem| in_file(source, part.name(), &problem);
    let file = &part.file;
    check_file(file).map_err(in_file)?;
    let metrics = metric::read_metrics(file).map_err(in_file)?;
    let reach = read_all(part, &metrics).map_err(in_file)?;
    questions::check_elsewhere(&metrics, &reach).map_err(in_file)?;
    questions::check_kept(file, &reach).map_err(in_file)?;
    Ok(Checked {
        part,
        answers: questions::read_answers(file, &metrics, &reach).map_err(in_file)?,
        effects: questions::read_effects(file, &metrics, &reach).map_err(in_file)?,
        grids: grid::read(file, &metrics, &reach).map_err(in_file)?,
        alongs: along::read(file, &metrics, &reach).map_err(in_file)?,
        readbacks: readback::read(file).map_err(in_file)?,
        published: questions::read_published(file, &metrics, &reach).map_err(in_file)?,
        exports: export::read(file, &reach).map_err(in_file)?,
        reach,
        metrics,
    })
}

/// A part of this run.
struct Chosen<'w> {
    checked: &'w Checked<'w>,
    variant: Variant,
    extent: Extent,
    edition: Edition,
    contenders: Vec<Contender>,
}

impl Chosen<'_> {
    fn study(self, name: &str) -> Study {
        let Chosen { checked, variant, extent, edition, contenders } = self;
        let (file, head) = (&checked.part.file, checked.part.head.as_ref());
        let mut load = edition.load.clone();
        if load.operations.is_none() || edition.axes.iter().any(|axis| axis.name == "duration") {
            load.run_in_ns = edition.run_in_ns;
        }
        let mut study = Study {
            name: name.to_string(),
            built_in: false,
            part: head.map(|head| head.name.clone()),
            about: head.map(|head| head.about.clone()).unwrap_or_default(),
            beside: head.and_then(|head| head.beside.clone()),
            question: file.question.clone(),
            workload: file.workload.clone(),
            scenario: file.scenario.clone(),
            kind: edition.kind.clone(),
            variant,
            extent,
            headline: edition.headline.clone(),
            margin: file.margin.unwrap_or(MARGIN),
            compact: file.compact.unwrap_or(true),
            rounds: edition.rounds,
            until: None,
            again: (variant == Variant::AsPublished).then_some(0),
            baselines: baselines(&edition, &contenders),
            conditions: axis::expand_conditions(&edition.axes),
            load,
            contenders,
            metrics: checked.metrics.clone(),
            exports: checked.exports.clone(),
            answers: checked.answers.clone(),
            effects: checked.effects.clone(),
            grids: checked.grids.clone(),
            alongs: checked.alongs.clone(),
            readbacks: checked.readbacks.clone(),
            published: checked.published.clone(),
            kept: file.kept.clone(),
            changes: file.changes.clone(),
            limits: file.limits_of(variant, extent),
            left_out: vec![],
            kinds: edition.of_kind.into_iter().map(|values| (edition.kind.clone(), values)).collect(),
        };
        let edition = checked.part.editions().iter().position(|edition| *edition == (variant, extent));
        if let Some(whole) = edition.and_then(|index| checked.reach.editions.get(index)) {
            study.left_out = questions::taken_away(&study, whole);
        }
        questions::leave_out_uncovered(&mut study);
        study
    }
}

/// The parts that take part in this run, with the overrides applied.
fn chosen_parts<'w>(study: &str, all: &'w [Checked<'w>], choices: &Choices) -> Result<Vec<Chosen<'w>>, String> {
    let has_parts = all.iter().any(|checked| checked.part.head.is_some());
    if !has_parts {
        return all.iter().map(|checked| choose_only(study, checked, choices)).collect();
    }
    let is_named = choices.set.iter().any(|(name, _)| name == PART);
    let (wanted, choices) = wanted_parts(study, all, choices)?;
    let kind = if choices.variant == Variant::AsPublished { "as-published" } else { choices.extent.word() };
    let mut editions = vec![];
    for checked in wanted {
        let Some(variant) = checked.part.variant_in(choices.variant, choices.extent) else {
            if is_named {
                let runs = runs_of(checked);
                return Err(format!("a requested part takes no part in {kind} runs of study {study}: {runs}"));
            }
            continue;
        };
        let edition = layers::read(&checked.part.file, variant, choices.extent).map_err(|problem| problem.message)?;
        editions.push((checked, variant, edition));
    }
    if editions.is_empty() {
        let parts: Vec<String> = all.iter().map(runs_of).collect();
        return Err(format!("no part takes part in {kind} runs of study {study}: {}", parts.join("; ")));
    }
    let named = |checked: &Checked| checked.part.name().unwrap_or_default().to_string();
    let known = choices::shared_out(editions.iter().map(|(checked, _, edition)| (named(checked), edition)), &choices)?;
    let mut chosen = vec![];
    for ((checked, variant, mut edition), choices) in editions.into_iter().zip(known) {
        let contenders =
            multiply_out(&mut edition, &choices).map_err(|message| format!("part {}: {message}", named(checked)))?;
        chosen.push(Chosen { checked, variant, extent: choices.extent, edition, contenders });
    }
    keep_matching(chosen, &choices.only)
}

/// The kinds of run that have a part, as options.
fn runs_of(checked: &Checked) -> String {
    let flags: Vec<String> = checked.part.runs().into_iter().map(|kind| format!("--{}", kind.word())).collect();
    format!("{} runs with {}", checked.part.name().unwrap_or_default(), flags.join(" or "))
}

/// Applies `--only`: removes contenders that do not match, and parts without contenders.
fn keep_matching<'w>(mut chosen: Vec<Chosen<'w>>, only: &[String]) -> Result<Vec<Chosen<'w>>, String> {
    if only.is_empty() {
        return Ok(chosen);
    }
    let all: Vec<&Contender> = chosen.iter().flat_map(|part| &part.contenders).collect();
    if let Some(pattern) = choices::unmatched(&all, only) {
        return Err(choices::matches_none(all.into_iter(), pattern));
    }
    chosen.iter_mut().for_each(|part| choices::keep_only(&mut part.contenders, only));
    chosen.retain(|part| !part.contenders.is_empty());
    Ok(chosen)
}

/// The parts that `--set part=...` names, all without it, and the other choices.
fn wanted_parts<'w>(
    study: &str,
    all: &'w [Checked<'w>],
    choices: &Choices,
) -> Result<(Vec<&'w Checked<'w>>, Choices), String> {
    let mut others = choices.clone();
    others.set.retain(|(name, _)| name != PART);
    let mut named = choices.set.iter().filter(|(name, _)| name == PART);
    let Some((_, names)) = named.next() else { return Ok((all.iter().collect(), others)) };
    if named.next().is_some() {
        return Err(format!("--set {PART} is given twice"));
    }
    let known: Vec<&str> = all.iter().filter_map(|checked| checked.part.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("study {study} has no part `{unknown}`; parts are {}", known.join(", ")));
    }
    let wanted = all.iter().filter(|checked| names.iter().any(|name| checked.part.name() == Some(name))).collect();
    Ok((wanted, others))
}

fn in_file(source: &Source, part: Option<&str>, problem: &Problem) -> StudyError {
    let path = parts::locate(source, part, &problem.path);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    StudyError::File(source.error(&path, problem.message.as_str()))
}

/// `NAME` for `studies/NAME.toml`, for `NAME/study.toml`, and for `built-in study NAME`.
fn name_of(source: &Source) -> String {
    let mut names = source.name.rsplit(['/', '\\']).filter(|name| !matches!(*name, "" | "." | ".."));
    let name = names.next().unwrap_or_default();
    let name = if name == "study.toml" { names.next().unwrap_or(name) } else { name };
    let name = name.strip_prefix(&super::LIBRARY.prefix()).unwrap_or(name);
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
            return Err(Problem::new(path, "a quick form cannot have a quick form"));
        }
    }
    Ok(())
}

/// Reads and multiplies out every variant and extent.
fn read_all(part: &Part, metrics: &[OwnMetric]) -> Result<Reach, Problem> {
    let file = &part.file;
    let (mut editions, mut numbers) = (Vec::new(), BTreeSet::new());
    for (variant, extent) in part.editions() {
        for layer in file.layers(variant, extent) {
            if let Some(headline) = layer.headline {
                metric::check_metric(headline, metrics)
                    .map_err(|message| Problem::at(layer.path, &["headline"], message))?;
            }
        }
        let edition = layers::read(file, variant, extent)?;
        let contenders = expand(&edition)?;
        check_common(&edition)?;
        check_scenario(file, &contenders, &edition)?;
        let conditions = axis::expand_conditions(&edition.axes);
        let axes = conditions.iter().flat_map(|condition| &condition.axes);
        numbers.extend(axes.filter(|(_, value)| value.parse::<f64>().is_ok()).map(|(axis, _)| axis.clone()));
        let conditions = conditions.into_iter().map(|condition| condition.label).collect();
        editions.push((edition, Covered { contenders, conditions }));
    }
    let (editions, covered): (Vec<Edition>, Vec<Covered>) = editions.into_iter().unzip();
    let reach = Reach { editions: covered, numbers };
    for (edition, covered) in editions.iter().zip(&reach.editions) {
        check_baselines(edition, &covered.contenders, &reach)?;
    }
    Ok(reach)
}

/// Checks that no tier in the file replaces a common setting of the file without a word. Options may do that.
fn check_common(edition: &Edition) -> Result<(), Problem> {
    let mut replaced = axis::expand_contenders(edition)?.into_iter().filter_map(|of| Some((of.replaced?, of.spec)));
    let Some(((key, why), spec)) = replaced.next() else { return Ok(()) };
    let mut path = edition.common_path.clone();
    path.push(key);
    let message = format!("{why} ({spec}): leave one of the two out, or set it in the contenders");
    Err(Problem { path, message })
}

/// Checks that a study with apps has a scenario.
fn check_scenario(file: &File, contenders: &[Contender], edition: &Edition) -> Result<(), Problem> {
    let Some(app) = contenders.iter().find(|c| engine::is_app(c)).filter(|_| file.scenario.is_none()) else {
        return Ok(());
    };
    let place = edition.entries.iter().find(|entry| entry.draft.driver.as_ref() == Some(&app.driver));
    let mut path = place.map(|entry| entry.path.clone()).unwrap_or_default();
    path.push("driver".to_string());
    let message = format!("{} is an app: `scenario` must name the scenario that its clients send", app.driver);
    Err(Problem { path, message })
}

/// A study without parts, with the overrides applied. The file was checked before.
fn choose_only<'w>(study: &str, checked: &'w Checked<'w>, choices: &Choices) -> Result<Chosen<'w>, String> {
    let file = &checked.part.file;
    if choices.variant == Variant::AsPublished && file.as_published.is_none() {
        return Err(format!("study {study} has no as-published variant"));
    }
    let mut edition = layers::read(file, choices.variant, choices.extent).map_err(|problem| problem.message)?;
    let contenders = multiply_out(&mut edition, choices)?;
    let chosen = Chosen { checked, variant: choices.variant, extent: choices.extent, edition, contenders };
    keep_matching(vec![chosen], &choices.only)?.pop().ok_or_else(|| "no contender is left".to_string())
}

fn multiply_out(edition: &mut Edition, choices: &Choices) -> Result<Vec<Contender>, String> {
    choices::apply(edition, choices)?;
    expand(edition).map_err(|problem| problem.message)
}

/// Contenders with their labels; neither names nor labels repeat.
fn expand(edition: &Edition) -> Result<Vec<Contender>, Problem> {
    let expanded = axis::expand_contenders(edition)?;
    let labels = label::labels(&expanded, &edition.common);
    let mut contenders: Vec<Contender> = Vec::new();
    for (Expanded { spec, path, .. }, label) in expanded.into_iter().zip(labels) {
        let name = spec.to_string();
        if let Some(twin) = contenders.iter().find(|other| other.name == name || other.label == label) {
            let message = match twin.name == name && twin.label != label {
                true => format!("`{}` and `{label}` are the same contender: {name}", twin.label),
                false => format!(
                    "two contenders are called `{label}`: {} and {name}; labels must differ, and so must contenders",
                    twin.name
                ),
            };
            return Err(Problem { path, message });
        }
        let Spec { engine, driver, model, worker, settings, tier } = spec;
        let resolved = Resolved::default();
        contenders.push(engine::resolved(Contender {
            name,
            label,
            engine,
            driver,
            model,
            worker,
            settings,
            tier,
            resolved,
        }));
    }
    Ok(contenders)
}

/// The contender of a baseline, by its label or else by its spec.
fn baseline<'c>(text: &str, edition: &Edition, contenders: &'c [Contender]) -> Option<&'c Contender> {
    contenders.iter().find(|contender| contender.label == text).or_else(|| {
        let name = spec::parse(text).ok()?.complete(&edition.common).ok()?.to_string();
        contenders.iter().find(|contender| contender.name == name)
    })
}

/// Checks baselines: one may be missing only if another variant has it, and no tier may have two.
fn check_baselines(edition: &Edition, contenders: &[Contender], reach: &Reach) -> Result<(), Problem> {
    let mut found: Vec<&Contender> = Vec::new();
    for (index, text) in edition.baseline.iter().enumerate() {
        let wrong = |message: String| {
            let mut path = edition.baseline_path.clone();
            path.push(index.to_string());
            Problem { path, message }
        };
        let Some(this) = baseline(text, edition, contenders) else {
            if reach.editions.iter().any(|other| baseline(text, edition, &other.contenders).is_some()) {
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
fn baselines(edition: &Edition, contenders: &[Contender]) -> Vec<String> {
    one_per_tier(edition.baseline.iter().filter_map(|text| baseline(text, edition, contenders)), contenders)
}

fn one_per_tier<'c>(named: impl Iterator<Item = &'c Contender>, contenders: &'c [Contender]) -> Vec<String> {
    let all: Vec<&Contender> = named.chain(contenders).collect();
    let of_tier = |tier: Tier| all.iter().find(|contender| contender.tier == tier).map(|of| of.name.clone());
    Tier::GROUPS.into_iter().filter_map(of_tier).collect()
}
