//! What a study sets for its trials, as numbers that a formula may name.

use super::model::{Condition, Load, Study};
use crate::units;
use std::collections::BTreeMap;

/// Numbers that a study sets for its trials of a contender under a condition, by name: of the load, and settings that are
/// numbers. No `window_s` where a number of operations decides.
pub fn set_by(study: &Study, condition: usize, contender: usize) -> BTreeMap<String, f64> {
    let contender = &study.contenders[contender];
    let mut set = BTreeMap::new();
    for (name, value) in &contender.resolved.settings {
        if let Ok(number) = value.parse() {
            set.insert(name.clone(), number);
        }
    }
    let load = load_under(&study.load, &study.conditions[condition]);
    set.insert("scale".to_string(), load.scale);
    set.extend(load.rate_per_s.map(|rate| ("rate_per_s".to_string(), rate)));
    if load.window_ns > 0 {
        set.insert("window_s".to_string(), load.window_ns as f64 / 1e9);
    }
    set
}

/// The load under a condition that may set some of it.
pub fn load_under(load: &Load, condition: &Condition) -> Load {
    let axis = |name| condition.axes.get(name);
    let count = |name, else_| axis(name).map_or(else_, |n: &String| n.parse().ok());
    let mut load = load.clone();
    load.processes = count("processes", load.processes);
    load.clients = count("clients", load.clients);
    load.operations = count("operations_each", load.operations);
    load.rate_per_s = axis("rate_per_s").map_or(load.rate_per_s, |rate| rate.parse().ok());
    if let Some(window_ns) = axis("duration").and_then(|text| units::duration_ns(text).ok()) {
        (load.window_ns, load.operations) = (window_ns, None);
    }
    load.scale = axis("scale").and_then(|scale| scale.parse().ok()).unwrap_or(load.scale);
    load
}
