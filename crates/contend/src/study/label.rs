//! Labels of contenders: the explicit one, or the settings in which contenders differ.

use super::axis::Expanded;
use crate::engine::{self, Settings};
use crate::stats::harmless::is_invisible;
use std::collections::{BTreeMap, BTreeSet};

/// Two settings that SQLite users read as one, written `WAL/FULL`.
const PAIR: [&str; 2] = ["journal_mode", "synchronous"];
/// Settings whose values are clear without the name.
const SPEAKING: [&str; 1] = ["begin"];

/// Checks the label that a user gives a contender: labels are compared by people, so what looks the same must be the same.
///
/// # Errors
/// It is empty, or has a character that is not visible.
pub fn check_label(label: &str) -> Result<(), String> {
    if label.trim().is_empty() {
        return Err("must not be empty".to_string());
    }
    match label.chars().find(|c| is_invisible(*c)) {
        Some(c) => Err(format!(
            "`{}` has a character that is not visible: U+{:04X}",
            label.replace(is_invisible, "?"),
            u32::from(c)
        )),
        None => Ok(()),
    }
}

/// A label for each contender, without the common settings. Labels of the study's contenders depend only on these, so
/// that a contender from the command line does not rename them.
pub(super) fn labels(contenders: &[Expanded], common: &Settings) -> Vec<String> {
    let own = contenders.iter().filter(|contender| !contender.added);
    let (own, all) = (Differing::among(own), Differing::among(contenders.iter()));
    contenders.iter().map(|contender| label(contender, if contender.added { &all } else { &own }, common)).collect()
}

/// What contenders differ in. Settings are compared between contenders of one engine.
struct Differing {
    engine: bool,
    driver: bool,
    model: bool,
    /// Labels of the named builds of workers.
    workers: BTreeMap<String, String>,
    settings: BTreeSet<String>,
}

impl Differing {
    fn among<'c>(contenders: impl Iterator<Item = &'c Expanded>) -> Self {
        let contenders: Vec<&Expanded> = contenders.collect();
        // Contenders with an explicit label do not lengthen the others' labels.
        let several = |part: &dyn Fn(&Expanded) -> String| {
            let unnamed = contenders.iter().filter(|contender| contender.given_label.is_none());
            unnamed.map(|contender| part(contender)).collect::<BTreeSet<_>>().len() > 1
        };
        let keys: BTreeSet<&String> = contenders.iter().flat_map(|contender| contender.spec.settings.keys()).collect();
        let mut values = BTreeSet::new();
        for contender in &contenders {
            values
                .extend(keys.iter().map(|key| (contender.spec.engine.clone(), (*key).clone(), value(contender, key))));
        }
        let differs = |key: &String| {
            let engines: Vec<_> = values.iter().filter(|(_, name, _)| name == key).map(|(engine, ..)| engine).collect();
            engines.windows(2).any(|pair| pair[0] == pair[1])
        };
        Self {
            engine: several(&|contender| contender.spec.engine.clone()),
            driver: several(&|contender| contender.spec.driver.clone()),
            model: several(&|contender| contender.spec.model.clone()),
            workers: told_apart(contenders.iter().filter_map(|contender| contender.spec.worker.as_deref()).collect()),
            settings: keys.iter().filter(|key| differs(key)).map(|key| (*key).clone()).collect(),
        }
    }
}

fn label(contender: &Expanded, differing: &Differing, common: &Settings) -> String {
    let spec = &contender.spec;
    let own = contender.given_label.is_none();
    let mut parts: Vec<String> = contender.given_label.clone().into_iter().collect();
    let shown = |key: &str, differs: bool| if own { differs } else { contender.from_axes.contains(key) };
    if own && differing.engine {
        parts.push(spec.engine.clone());
    }
    if shown("driver", differing.driver) {
        parts.push(spec.driver.clone());
    }
    if shown("model", differing.model) {
        parts.push(spec.model.clone());
    }
    if let Some(worker) =
        spec.worker.as_ref().and_then(|worker| differing.workers.get(worker)).filter(|_| shown("worker", true))
    {
        parts.push(format!("@{worker}"));
    }
    let pair_shown = PAIR.iter().any(|key| shown(key, differing.settings.contains(*key)));
    if pair_shown && has(contender, PAIR[0]) {
        parts.push(PAIR.map(|key| value(contender, key).to_ascii_uppercase()).join("/"));
    }
    for key in differing.settings.iter().filter(|key| !PAIR.contains(&key.as_str()) && has(contender, key)) {
        let value = value(contender, key);
        if !shown(key, true) || common.get(key) == Some(&value) {
            continue;
        }
        parts.push(if SPEAKING.contains(&key.as_str()) { value } else { format!("{key}={value}") });
    }
    if shown("tier", false) {
        parts.push(spec.tier.to_string());
    }
    if parts.is_empty() { spec.engine.clone() } else { parts.join(", ") }
}

/// The components in which each path differs from the others; for a single path its last component.
fn told_apart(paths: BTreeSet<&str>) -> BTreeMap<String, String> {
    let split: Vec<Vec<&str>> = paths.iter().map(|path| path.split('/').collect()).collect();
    let shortest = split.iter().map(Vec::len).min().unwrap_or(0);
    let alike = |at: &dyn Fn(&[&str], usize) -> String| {
        let same = |&i: &usize| split.windows(2).all(|pair| at(&pair[0], i) == at(&pair[1], i));
        (0..shortest.saturating_sub(1)).take_while(same).count()
    };
    let head = alike(&|path, i| path[i].to_string());
    let tail = if paths.len() > 1 { alike(&|path, i| path[path.len() - 1 - i].to_string()) } else { 0 };
    let part = |path: &Vec<&str>| path[head..(path.len() - tail).max(head + 1)].join("/");
    paths.iter().map(ToString::to_string).zip(split.iter().map(part)).collect()
}

fn has(contender: &Expanded, key: &str) -> bool {
    engine::find(&contender.spec.engine).is_some_and(|engine| engine.setting(key).is_some())
}

/// The effective value: the requested one or the default.
fn value(contender: &Expanded, key: &str) -> String {
    let spec = &contender.spec;
    match engine::find(&spec.engine).filter(|engine| engine.setting(key).is_some()) {
        Some(engine) => engine.value(&spec.settings, key).to_string(),
        None => String::new(),
    }
}
