//! What a study sets for a trial, by name: numbers of the load, and settings that are numbers.

use super::load::load_under;
use super::model::Study;
use crate::engine;
use std::collections::BTreeMap;

/// Names of the settings of all engines: a formula may be about one that is left out of a run.
pub(super) fn all_settings() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = engine::ENGINES.iter().flat_map(|engine| engine.setting_names()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What a study sets for its trials of a contender under a condition, by name: of the load, and settings that
/// are numbers. No window where a number of operations decides.
pub fn set_by(study: &Study, condition: usize, contender: usize) -> BTreeMap<String, f64> {
    let contender = &study.contenders[contender];
    let mut set = BTreeMap::new();
    if let Some(engine) = engine::find(&contender.engine) {
        for name in engine.setting_names() {
            if let Ok(number) = engine.value(&contender.settings, name).parse() {
                set.insert(name.to_string(), number);
            }
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
