//! Axes: lists of values that multiply either contenders (settings, tier, driver, model) or conditions
//! (profile, load, sizes of the data).

use super::edition::{Axis, Edition, Entry, Problem};
use super::load::is_positive;
use super::model::Condition;
use super::spec::{Draft, Spec};
use crate::load;
use crate::units;
use std::collections::{BTreeMap, BTreeSet};

/// A mistake in an axis, with the value at fault.
#[derive(Debug)]
pub(super) struct Wrong {
    pub index: Option<usize>,
    pub message: String,
}

/// A contender with all axes applied and all defaults filled in.
pub(super) struct Expanded {
    pub spec: Spec,
    pub given_label: Option<String>,
    /// Keys that were set by axes.
    pub from_axes: BTreeSet<String>,
    /// Common setting of the file that the contender's tier replaces, with a sentence about it.
    pub replaced: Option<(String, String)>,
    /// Whether it was typed on the command line.
    pub added: bool,
    pub path: Vec<String>,
}

/// Checks an axis against the contenders it is for.
pub(super) fn read(name: &str, values: &[String], entries: &[Entry]) -> Result<Axis, Wrong> {
    let of_contenders = !load::is_offered(name) && entries.iter().any(|entry| entry.draft.knows(name));
    let whole = |message: &str| Err(Wrong { index: None, message: message.to_string() });
    if values.is_empty() {
        return whole("an axis needs at least one value");
    }
    if of_contenders && !entries.iter().any(|entry| multiplies(name, &entry.draft)) {
        return whole("every contender sets this itself, so the axis would change nothing");
    }
    let mut axis = Axis { name: name.to_string(), values: Vec::new(), of_contenders, usual: None };
    for (index, value) in values.iter().enumerate() {
        let wrong = |message| Wrong { index: Some(index), message };
        let value = if of_contenders { contender_value(name, value, entries) } else { condition_value(name, value) };
        let value = value.map_err(wrong)?;
        if axis.values.contains(&value) {
            return Err(wrong(format!("`{value}` is given twice")));
        }
        axis.values.push(value);
    }
    Ok(axis)
}

/// Contenders in the order of the file, axes in alphabetical order with the first varying slowest.
pub(super) fn expand_contenders(edition: &Edition) -> Result<Vec<Expanded>, Problem> {
    let mut all = Vec::new();
    for entry in &edition.entries {
        let mut drafts = vec![(entry.draft.clone(), BTreeSet::new())];
        for axis in edition.axes.iter().filter(|axis| axis.of_contenders && multiplies(&axis.name, &entry.draft)) {
            drafts = multiply(axis, &drafts).map_err(|message| problem(entry, message))?;
        }
        for (draft, from_axes) in drafts {
            all.push(complete(entry, &draft, from_axes, edition)?);
        }
    }
    for entry in &edition.added {
        all.push(complete(entry, &entry.draft, BTreeSet::new(), edition)?);
    }
    Ok(all)
}

/// Conditions, the profile varying slowest, then the other axes in alphabetical order.
pub(super) fn expand_conditions(axes: &[Axis]) -> Vec<Condition> {
    let mut axes: Vec<&Axis> = axes.iter().filter(|axis| !axis.of_contenders).collect();
    axes.sort_by_key(|axis| (axis.name != "profile", axis.name.clone()));
    let mut all = vec![Condition { label: String::new(), profile: None, axes: BTreeMap::new() }];
    for axis in axes {
        all = all.iter().flat_map(|at| axis.values.iter().map(|value| with(at, axis, value))).collect();
    }
    for condition in all.iter_mut().filter(|condition| condition.label.is_empty()) {
        condition.label = "default".to_string();
    }
    all
}

fn problem(entry: &Entry, message: String) -> Problem {
    Problem { path: entry.path.clone(), message }
}

fn complete(entry: &Entry, draft: &Draft, from_axes: BTreeSet<String>, edition: &Edition) -> Result<Expanded, Problem> {
    let replaced = draft.replaced_by_tier(&edition.common).filter(|_| !entry.path.is_empty());
    let at_model = |message| Problem { path: [&entry.path[..], &["model".to_string()]].concat(), message };
    draft.program().map_err(at_model)?;
    let spec = draft.complete(&edition.common).map_err(|message| problem(entry, message))?;
    Ok(Expanded {
        spec,
        given_label: entry.label.clone(),
        from_axes,
        replaced,
        added: entry.path.is_empty(),
        path: entry.path.clone(),
    })
}

/// Whether the axis multiplies a contender: not if the contender sets this key itself.
fn multiplies(axis: &str, draft: &Draft) -> bool {
    draft.knows(axis) && !draft.names(axis)
}

type Drafts = Vec<(Draft, BTreeSet<String>)>;

fn multiply(axis: &Axis, drafts: &Drafts) -> Result<Drafts, String> {
    let mut multiplied = Vec::with_capacity(drafts.len() * axis.values.len());
    for (draft, from_axes) in drafts {
        for value in &axis.values {
            let (mut draft, mut from_axes) = (draft.clone(), from_axes.clone());
            draft.set(&axis.name, value)?;
            from_axes.insert(axis.name.clone());
            multiplied.push((draft, from_axes));
        }
    }
    Ok(multiplied)
}

/// The canonical form of a value; every contender that the axis multiplies must accept it.
fn contender_value(name: &str, value: &str, entries: &[Entry]) -> Result<String, String> {
    let mut canonical = value.trim().to_string();
    for entry in entries.iter().filter(|entry| multiplies(name, &entry.draft)) {
        let mut draft = Draft::new(entry.draft.engine.name)?;
        draft.driver.clone_from(&entry.draft.driver);
        draft.set(name, value)?;
        canonical = draft.settings.get(name).cloned().unwrap_or(canonical);
    }
    Ok(canonical)
}

fn condition_value(name: &str, value: &str) -> Result<String, String> {
    let value = value.trim();
    let number = || value.parse::<f64>().ok().filter(|number| is_positive(*number));
    let count = || value.parse::<u32>().ok().filter(|count| *count > 0);
    match name {
        "profile" if !value.is_empty() => Ok(value.to_string()),
        "profile" => Err("must name a profile of the workload".to_string()),
        "clients" | "processes" | load::PROCESSORS => {
            count().map(|n| n.to_string()).ok_or_else(|| format!("`{value}` is not a whole number above 0"))
        }
        "duration" => match units::duration_ns(value)? {
            0 => Err("must be longer than 0".to_string()),
            window_ns => Ok(units::duration_text(window_ns)),
        },
        "rate" => match units::rate_per_s(value)? {
            rate if is_positive(rate) => Ok(rate.to_string()),
            _ => Err(format!("`{value}` is not a rate above 0")),
        },
        "scale" => number().map(|x| x.to_string()).ok_or_else(|| format!("`{value}` is not a number above 0")),
        _ => value.parse::<u64>().map(|n| n.to_string()).or_else(|_| preset(value)).map_err(|()| {
            format!(
                "`{value}` is neither a whole number nor a word; `{name}` is not a setting, so it must be a name of the \
                 workload's [scale], or one of its presets"
            )
        }),
    }
}

/// The name of a preset of the workload, which sets several numbers of its `[scale]`.
fn preset(value: &str) -> Result<String, ()> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let word = value.bytes().next().is_some_and(|b| b.is_ascii_alphabetic()) && value.bytes().all(fits);
    if word { Ok(value.to_string()) } else { Err(()) }
}

/// A value of an axis as it stands in the label of a condition.
pub fn axis_words(axis: &str, value: &str) -> String {
    match (axis, value) {
        ("profile", _) => value.to_string(),
        ("clients", "1") => "1 client".to_string(),
        ("processes", "1") => "1 process".to_string(),
        (load::PROCESSORS, "1") => "1 processor".to_string(),
        ("clients" | "processes" | load::PROCESSORS, _) => format!("{value} {axis}"),
        ("rate", _) => format!("{value}/s"),
        ("scale", _) => format!("scale {value}"),
        ("duration", _) => format!("{value} long"),
        _ => format!("{axis}={value}"),
    }
}

fn with(condition: &Condition, Axis { name: axis, usual, .. }: &Axis, value: &str) -> Condition {
    let mut condition = condition.clone();
    if usual.as_deref() == Some(value) {
        condition.axes.insert(axis.clone(), value.to_string());
        return condition;
    }
    if !condition.label.is_empty() {
        condition.label.push_str(", ");
    }
    condition.label.push_str(&axis_words(axis, value));
    if axis == "profile" {
        condition.profile = Some(value.to_string());
    } else {
        condition.axes.insert(load::key(axis).to_string(), value.to_string());
    }
    condition
}
