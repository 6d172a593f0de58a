//! Facts of a contender from the tables, which a record keeps.

use super::catalogue::{find, is_service};
use super::lookup::{driver, null_driver_of};
use super::product::Engine;
use crate::contender::{Contender, NullDriver, Resolved, Tier};
use std::collections::BTreeMap;

/// A contender with the facts of the current tables.
pub fn resolved(contender: Contender) -> Contender {
    Contender { resolved: facts(&contender), ..contender }
}

fn facts(contender: &Contender) -> Resolved {
    let engine = find(&contender.engine);
    let driver = driver(contender);
    let usual = engine.and_then(|engine| engine.drivers().next());
    let overhead = null_driver_of(contender)
        .map(|idle| NullDriver { driver: idle.name.to_string(), model: idle.models[0].name.to_string() });
    let pair = |(name, value): &(&str, &str)| ((*name).to_string(), (*value).to_string());
    Resolved {
        language: driver.map_or("", |driver| driver.language).to_string(),
        usual_driver: usual.is_none_or(|usual| usual.name == contender.driver),
        executes_nothing: driver.is_some_and(|driver| driver.executes_nothing),
        service: is_service(&contender.engine),
        overhead,
        driver_facts: driver.map_or(vec![], |driver| driver.facts.iter().map(pair).collect()),
        settings: engine.map_or_else(BTreeMap::new, |engine| values(engine, contender)),
    }
}

fn values(engine: &Engine, contender: &Contender) -> BTreeMap<String, String> {
    let value = |name: &str| engine.value(&contender.settings, name).to_string();
    engine.setting_names().into_iter().map(|name| (name.to_string(), value(name))).collect()
}

/// The tier of the settings that connections reported; `None` for an unknown engine.
pub fn tier_reported(engine: &str, reported: &BTreeMap<String, String>) -> Option<Tier> {
    let engine = find(engine)?;
    Some((engine.durability.tier)(&engine.settings_reported(reported)))
}
