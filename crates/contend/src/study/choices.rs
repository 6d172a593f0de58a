//! The choices of a run: variant, extent, and overrides from the command line.

use super::axis;
use super::edition::{Axis, Edition, Entry};
use super::keys;
use super::layers::ROUNDS_MAX;
use super::load::is_positive;
use super::model::{Contender, Extent, Variant};
use super::spec;
use crate::load;
use crate::units::duration_text;
use std::collections::BTreeSet;

/// The choices of one run. Every override is optional and checked against the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    pub variant: Variant,
    pub extent: Extent,
    /// Values of axes instead of the study's.
    pub set: Vec<(String, Vec<String>)>,
    /// Specs of further contenders.
    pub contenders: Vec<String>,
    /// Only contenders whose label or name matches: a label itself, a glob, or a part of either.
    pub only: Vec<String>,
    /// Driver for every contender whose engine has it.
    pub driver: Option<String>,
    pub rounds: Option<u32>,
    pub clients: Option<u32>,
    pub processes: Option<u32>,
    pub rate_per_s: Option<f64>,
    pub scale: Option<f64>,
    pub seed: Option<u64>,
    pub window_ns: Option<u64>,
}

impl Choices {
    /// The study as it is written.
    pub fn new(variant: Variant, extent: Extent) -> Self {
        Self {
            variant,
            extent,
            set: Vec::new(),
            contenders: Vec::new(),
            only: Vec::new(),
            driver: None,
            rounds: None,
            clients: None,
            processes: None,
            rate_per_s: None,
            scale: None,
            seed: None,
            window_ns: None,
        }
    }
}

/// Reads `AXIS=VALUE,...` as typed after `--set`.
///
/// # Errors
/// How to write it.
pub fn parse_set(text: &str) -> Result<(String, Vec<String>), String> {
    let wrong = || format!("--set {text}: write AXIS=VALUE,...");
    let (axis, values) = text.split_once('=').ok_or_else(wrong)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_string()).collect();
    if axis.trim().is_empty() || values.iter().any(String::is_empty) {
        return Err(wrong());
    }
    Ok((axis.trim().to_string(), values))
}

/// Applies everything that holds before contenders are multiplied out.
pub(super) fn apply(edition: &mut Edition, choices: &Choices) -> Result<(), String> {
    if let Some(driver) = &choices.driver {
        if choices.set.iter().any(|(name, _)| name == "driver") {
            return Err("--driver and --set driver contradict each other; write one of them".to_string());
        }
        set_driver(edition, driver)?;
    }
    for (position, (name, values)) in choices.set.iter().enumerate() {
        if choices.set[..position].iter().any(|(earlier, _)| earlier == name) {
            return Err(format!("--set {name} is given twice"));
        }
        set_axis(edition, name, values)?;
    }
    for text in &choices.contenders {
        let draft = spec::parse(text).map_err(|message| format!("--contender {text}: {message}"))?;
        edition.added.push(Entry { draft, label: None, path: Vec::new() });
    }
    apply_load(edition, choices)
}

fn apply_load(edition: &mut Edition, choices: &Choices) -> Result<(), String> {
    let counts = [("rounds", choices.rounds), ("clients", choices.clients), ("processes", choices.processes)];
    if let Some((name, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
        return Err(format!("--{name} must be at least 1"));
    }
    if choices.rounds.is_some_and(|rounds| rounds > ROUNDS_MAX) {
        return Err(format!("--rounds must be at most {ROUNDS_MAX}"));
    }
    for (name, number) in [("rate", choices.rate_per_s), ("scale", choices.scale)] {
        if number.is_some_and(|number| !is_positive(number)) {
            return Err(format!("--{name} must be more than 0"));
        }
    }
    if choices.seed.is_some_and(|seed| i64::try_from(seed).is_err()) {
        return Err(format!("--seed must be at most {}, the largest integer of TOML", i64::MAX));
    }
    edition.rounds = choices.rounds.unwrap_or(edition.rounds);
    edition.load.seed = choices.seed.unwrap_or(edition.load.seed);
    // As `--set`: an error if every role has its own number, so that they change nothing.
    for (name, count) in [("clients", choices.clients), ("processes", choices.processes)] {
        if let Some(count) = count {
            set_axis(edition, name, &[count.to_string()])?;
        }
    }
    if let Some(rate) = choices.rate_per_s.filter(|rate| !narrow(edition, "rate", &rate.to_string())) {
        edition.load.rate_per_s = Some(rate);
    }
    if let Some(scale) = choices.scale.filter(|scale| !narrow(edition, "scale", &scale.to_string())) {
        edition.load.scale = scale;
    }
    match choices.window_ns {
        Some(0) => return Err("--window must be longer than 0".to_string()),
        Some(window_ns) if narrow(edition, "duration", &duration_text(window_ns)) => {}
        Some(window_ns) => {
            edition.load.window_ns = window_ns;
            edition.load.operations = None;
        }
        None => {}
    }
    Ok(())
}

/// The choices that apply to each part. A choice that applies to no part is an error, with the first part's message.
pub(super) fn shared_out<'a>(
    parts: impl Iterator<Item = (String, &'a Edition)>,
    choices: &Choices,
) -> Result<Vec<Choices>, String> {
    let parts: Vec<(String, &Edition)> = parts.collect();
    let no_part = |known: &dyn Fn(&Edition) -> bool| !parts.iter().any(|(_, edition)| known(edition));
    let (first, edition) = parts.first().ok_or("there is no part to run")?;
    for (name, _) in &choices.set {
        if no_part(&|edition| can_set(edition, name)) {
            let message = if name == "profile" { unknown_axis(edition, name) } else { why_not_set(edition, name) };
            return Err(format!("no part of this run has it; part {first}: {message}"));
        }
    }
    if let Some(driver) = choices.driver.as_ref().filter(|driver| no_part(&|edition| has_driver(edition, driver))) {
        let mut known: Vec<&str> = parts.iter().flat_map(|(_, edition)| driver_names(edition)).collect();
        known.sort_unstable();
        known.dedup();
        return Err(format!("--driver {driver}: no engine of any part has it; drivers are {}", known.join(", ")));
    }
    let of_part = |(_, edition): &(String, &Edition)| {
        let mut own = choices.clone();
        own.only.clear();
        own.set.retain(|(name, _)| can_set(edition, name));
        own.driver = own.driver.filter(|driver| has_driver(edition, driver));
        // A contender joins the parts with its engine, or all parts if none has it.
        own.contenders.retain(|text| has_engine(edition, text) || no_part(&|edition| has_engine(edition, text)));
        own
    };
    Ok(parts.iter().map(of_part).collect())
}

fn driver_names(edition: &Edition) -> impl Iterator<Item = &'static str> {
    edition.entries.iter().flat_map(|entry| entry.draft.engine.drivers()).map(|driver| driver.name)
}

fn has_driver(edition: &Edition, name: &str) -> bool {
    driver_names(edition).any(|driver| driver == name)
}

fn has_engine(edition: &Edition, contender: &str) -> bool {
    let engine = spec::parse(contender).map(|draft| draft.engine.name);
    engine.is_ok_and(|engine| edition.entries.iter().any(|entry| entry.draft.engine.name == engine))
}

/// Whether an axis of this name changes anything in a part. Profiles belong to a workload, so the part must have them.
fn can_set(edition: &Edition, name: &str) -> bool {
    let has_axis = edition.axes.iter().any(|axis| axis.name == name);
    has_axis || (name != "profile" && settable(edition, name).is_ok())
}

fn why_not_set(edition: &Edition, name: &str) -> String {
    settable(edition, name).err().unwrap_or_else(|| unknown_axis(edition, name))
}

/// Reduces an axis of the study to one value; false if the study has no such axis.
fn narrow(edition: &mut Edition, axis: &str, value: &str) -> bool {
    let found = edition.axes.iter_mut().find(|found| found.name == axis);
    found.map(|found| found.values = vec![value.to_string()]).is_some()
}

/// Whether an axis of this name may be set in the study.
fn settable(edition: &Edition, name: &str) -> Result<(), String> {
    if keys::settable(&edition.kind, name).is_some() {
        return Ok(());
    }
    let has_axis = edition.axes.iter().any(|axis| axis.name == name);
    let of_contenders = edition.entries.iter().any(|entry| entry.draft.knows(name));
    if !has_axis && !of_contenders && !load::is_offered(name) {
        return Err(unknown_axis(edition, name));
    }
    if !load::is_offered(name) && of_contenders && edition.entries.iter().all(|entry| entry.draft.names(name)) {
        return Err(format!(
            "--set {name}: every contender of this study sets `{name}` itself; choose among them with --only, \
             or add one with --contender"
        ));
    }
    Ok(())
}

fn set_axis(edition: &mut Edition, name: &str, values: &[String]) -> Result<(), String> {
    if let Some((key, of_kind)) = keys::settable(&edition.kind, name).zip(edition.of_kind.as_mut()) {
        return keys::set(of_kind, key, values).map_err(|message| format!("--set {name}: {message}"));
    }
    settable(edition, name)?;
    let axis =
        axis::read(name, values, &edition.entries).map_err(|wrong| format!("--set {name}: {}", wrong.message))?;
    let usual = edition.axes.iter().find(|axis| axis.name == name).and_then(|axis| axis.usual.clone());
    let axis = Axis { usual, ..axis };
    edition.axes.retain(|axis| axis.name != name);
    edition.axes.push(axis);
    edition.axes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(())
}

fn unknown_axis(edition: &Edition, name: &str) -> String {
    let axes: Vec<&str> = edition.axes.iter().map(|axis| axis.name.as_str()).collect();
    let axes = if axes.is_empty() { "none".to_string() } else { axes.join(", ") };
    let settings: BTreeSet<&str> = edition.entries.iter().flat_map(|entry| entry.draft.setting_names()).collect();
    let settings: Vec<&str> = settings.into_iter().collect();
    format!(
        "--set {name}: there is no such axis; the study's axes are {axes}; also possible are {} and the settings \
         tier, driver, model, {}",
        load::offered().collect::<Vec<_>>().join(", "),
        settings.join(", ")
    )
}

fn set_driver(edition: &mut Edition, driver: &str) -> Result<(), String> {
    let mut known = BTreeSet::new();
    let mut found = false;
    for entry in &mut edition.entries {
        let drivers = || entry.draft.engine.drivers();
        known.extend(drivers().map(|driver| driver.name));
        let Some(chosen) = drivers().find(|candidate| candidate.name == driver) else { continue };
        found = true;
        entry.draft.driver = Some(driver.to_string());
        entry.draft.model = entry.draft.model.take().filter(|model| chosen.model(model).is_some());
    }
    if !found {
        let known: Vec<&str> = known.into_iter().collect();
        return Err(format!("--driver {driver}: no engine of this study has it; drivers are {}", known.join(", ")));
    }
    // An axis of drivers would be left without contenders to multiply.
    edition.axes.retain(|axis| axis.name != "driver");
    Ok(())
}

/// Why a pattern matches no contender: the contenders that it could name, each once.
pub(super) fn matches_none<'c>(contenders: impl Iterator<Item = &'c Contender>, pattern: &str) -> String {
    let mut labels: Vec<String> = vec![];
    for contender in contenders {
        let label = format!("`{}`", contender.label);
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    format!("--only {pattern} matches no contender; contenders are {}", labels.join(", "))
}

/// The pattern that matches none of these contenders, if one does.
pub(super) fn unmatched<'p>(contenders: &[&Contender], patterns: &'p [String]) -> Option<&'p String> {
    patterns.iter().find(|pattern| !contenders.iter().any(|contender| matches_label(contenders, contender, pattern)))
}

/// Keeps the contenders that match one of the patterns, possibly none.
pub(super) fn keep_only(contenders: &mut Vec<Contender>, patterns: &[String]) {
    let all = contenders.clone();
    let all: Vec<&Contender> = all.iter().collect();
    contenders.retain(|contender| patterns.iter().any(|pattern| matches_label(&all, contender, pattern)));
}

/// An exact label matches alone, even if other labels begin with it.
fn matches_label(all: &[&Contender], contender: &Contender, pattern: &str) -> bool {
    match all.iter().any(|other| other.label.eq_ignore_ascii_case(pattern)) {
        true => contender.label.eq_ignore_ascii_case(pattern),
        false => matches(pattern, &contender.label) || matches(pattern, &contender.name),
    }
}

/// A glob if the pattern has a `*` or `?`, else a part of the text; ignores case.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    if !pattern.contains(['*', '?']) {
        return text.contains(&pattern);
    }
    glob(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
}

fn glob(pattern: &[char], text: &[char]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((&'*', rest)), _) => (0..=text.len()).any(|skipped| glob(rest, &text[skipped..])),
        (Some((wanted, pattern)), Some((found, text))) => (*wanted == '?' || wanted == found) && glob(pattern, text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_globs_or_parts() {
        for (pattern, text, expected) in [
            ("wal", "WAL/FULL", true),
            ("WAL/*", "WAL/FULL", true),
            ("*/full", "WAL/FULL", true),
            ("*deferred", "WAL/FULL, deferred", true),
            ("WAL/????", "WAL/NORMAL", false),
            ("W?L*", "WAL/NORMAL", true),
            ("FULL*", "WAL/FULL", false),
            ("**", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn set_is_an_axis_and_its_values() {
        assert_eq!(parse_set("clients=1, 8"), Ok(("clients".to_string(), vec!["1".to_string(), "8".to_string()])));
        for wrong in ["clients", "=1", "clients=", "clients=1,,2"] {
            assert!(parse_set(wrong).unwrap_err().contains("AXIS=VALUE"), "{wrong}");
        }
    }
}
