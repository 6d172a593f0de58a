//! Reads one variant and extent of a study file from its layers.

use super::edition::{Axis, Edition, Entry, Problem, value_text};
use super::file::{self, File, Layer, RunKind};
use super::keys;
use super::kind::LOAD;
use super::label::check_label;
use super::model::{Extent, Variant};
use super::spec::Draft;
use super::{axis, load};
use crate::engine::Settings;
use crate::source::did_you_mean;

/// Fewer rounds than this cannot give an interval of 95 %.
const LEAST_ROUNDS: u32 = 6;
const DEFAULT_ROUNDS: u32 = 12;
/// More would take too long, and the schedule of each is in memory.
pub const ROUNDS_MAX: u32 = 10_000;

/// Reads one variant and extent.
pub(super) fn read(file: &File, variant: Variant, extent: Extent) -> Result<Edition, Problem> {
    let layers = file.layers(variant, extent);
    let entries = read_contenders(&layers, RunKind::of(variant, extent))?;
    let (baseline_path, baseline) = find(&layers, |layer| layer.baseline)
        .map_or((&[][..], Vec::new()), |(path, baseline)| (path, baseline.clone()));
    let (load, run_in_ns) = load::read(&layers)?;
    Ok(Edition {
        headline: find(&layers, |layer| layer.headline).map(|(_, headline)| headline.clone()).unwrap_or_default(),
        // Results of a kind need no interval over rounds either.
        rounds: read_rounds(&layers, variant, file.describes == Some(true) || file.kind != LOAD)?,
        baseline,
        baseline_path: Problem::at(baseline_path, &["baseline"], "").path,
        common: read_common(&layers, &entries)?,
        common_path: find(&layers, |layer| layer.settings)
            .map_or_else(Vec::new, |(path, _)| Problem::at(path, &["settings"], "").path),
        axes: read_axes(&layers, &entries)?,
        entries,
        added: Vec::new(),
        load,
        run_in_ns,
        kind: file.kind.clone(),
        of_kind: keys::read(&layers, &file.kind).map_err(|(path, message)| Problem { path, message })?,
    })
}

type Found<'f, T> = Option<(&'static [&'static str], &'f T)>;

/// The value in the first layer that has it, with its path.
fn find<'f, T>(layers: &[Layer<'f>], part: impl Fn(&Layer<'f>) -> Option<&'f T>) -> Found<'f, T> {
    layers.iter().find_map(|layer| part(layer).map(|found| (layer.path, found)))
}

fn read_rounds(layers: &[Layer], variant: Variant, describes: bool) -> Result<u32, Problem> {
    let given = layers.iter().find_map(|layer| layer.rounds.map(|rounds| (layer.path, rounds)));
    let Some((path, rounds)) = given else { return Ok(DEFAULT_ROUNDS) };
    match variant {
        _ if rounds == 0 => Err(Problem::at(path, &["rounds"], "must be at least 1")),
        _ if rounds > ROUNDS_MAX => Err(Problem::at(path, &["rounds"], format!("must be at most {ROUNDS_MAX}"))),
        Variant::Corrected if rounds < LEAST_ROUNDS && !describes => Err(Problem::at(
            path,
            &["rounds"],
            format!(
                "must be at least {LEAST_ROUNDS}: fewer rounds give no interval, so no verdict (a study that only describes says \
                 `describes = true`)"
            ),
        )),
        _ => Ok(rounds),
    }
}

fn read_contenders(layers: &[Layer], kind: RunKind) -> Result<Vec<Entry>, Problem> {
    let (prefix, written) = find(layers, |layer| layer.contender)
        .filter(|(_, written)| !written.is_empty())
        .ok_or_else(|| Problem::new(&["contender"], "a study needs at least one [[contender]]"))?;
    if let Some(index) = written.iter().position(|contender| contender.runs.as_ref().is_some_and(Vec::is_empty)) {
        let message = "must name at least one of quick, full, as-published";
        return Err(Problem::at(prefix, &["contender", &index.to_string(), "runs"], message));
    }
    let takes_part = |contender: &file::Contender| contender.runs.as_ref().is_none_or(|runs| runs.contains(&kind));
    let taking_part = written.iter().enumerate().filter(|(_, contender)| takes_part(contender));
    let entries: Vec<Entry> =
        taking_part.map(|(index, contender)| read_contender(prefix, index, contender)).collect::<Result<_, _>>()?;
    if entries.is_empty() {
        let message = format!("no contender takes part in {} runs: none has it among its `runs`", kind.word());
        return Err(Problem::at(prefix, &["contender"], message));
    }
    Ok(entries)
}

fn read_contender(prefix: &[&str], index: usize, written: &file::Contender) -> Result<Entry, Problem> {
    let index = index.to_string();
    let wrong =
        |path: &[&str], message: String| Problem::at(prefix, &[&["contender", index.as_str()], path].concat(), message);
    let mut draft = Draft::new(&written.engine).map_err(|message| wrong(&["engine"], message))?;
    let said =
        [("driver", &written.driver), ("model", &written.model), ("worker", &written.worker), ("tier", &written.tier)];
    for (key, value) in said {
        if let Some(value) = value {
            draft.set(key, value).map_err(|message| wrong(&[key], message))?;
        }
    }
    for (key, value) in &written.settings {
        if draft.setting(key).is_none() {
            return Err(wrong(&["settings", key], draft.has_no(key)));
        }
        value_text(value)
            .and_then(|value| draft.set(key, &value))
            .map_err(|message| wrong(&["settings", key], message))?;
    }
    written.label.as_deref().map_or(Ok(()), check_label).map_err(|message| wrong(&["label"], message))?;
    Ok(Entry { draft, label: written.label.clone(), path: wrong(&[], String::new()).path })
}

/// Settings common to all contenders: each must be a legal setting of every engine that knows it.
fn read_common(layers: &[Layer], entries: &[Entry]) -> Result<Settings, Problem> {
    let Some((prefix, written)) = find(layers, |layer| layer.settings) else { return Ok(Settings::new()) };
    let mut common = Settings::new();
    for (key, value) in written {
        let wrong = |message| Problem::at(prefix, &["settings", key], message);
        let mut text = value_text(value).map_err(wrong)?;
        let mut known = false;
        for setting in entries.iter().filter_map(|entry| {
            let draft = &entry.draft;
            draft.setting(draft.engine.own_name(key))
        }) {
            text = setting.canonical(&text).map_err(wrong)?;
            known = true;
        }
        if !known {
            let names = entries.iter().flat_map(|entry| entry.draft.setting_names());
            return Err(wrong(format!("no engine of this study has such a setting{}", did_you_mean(key, names))));
        }
        common.insert(key.clone(), text);
    }
    Ok(common)
}

fn read_axes(layers: &[Layer], entries: &[Entry]) -> Result<Vec<Axis>, Problem> {
    let Some((prefix, written)) = find(layers, |layer| layer.axes) else { return Ok(Vec::new()) };
    let mut axes = Vec::new();
    for (name, values) in written {
        let mut texts = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let text = value_text(value)
                .map_err(|message| Problem::at(prefix, &["axes", name, &index.to_string()], message))?;
            texts.push(text);
        }
        let axis = axis::read(name, &texts, entries).map_err(|wrong| {
            let index = wrong.index.map(|index| index.to_string());
            let mut path = vec!["axes", name.as_str()];
            path.extend(index.as_deref());
            Problem::at(prefix, &path, wrong.message)
        })?;
        // An axis that varies in the full form is named in the labels of every form.
        let widest = layers.last().and_then(|layer| layer.axes?.get(name)).map_or(values.len(), Vec::len);
        axes.push(if widest == 1 { axis.with_usual() } else { axis });
    }
    Ok(axes)
}
