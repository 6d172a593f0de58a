//! The `[[readback]]` tables of a study file: what connections reported, by contender.

use super::arm::Problem;
use super::file::File;
use super::model::{Contender, Readback, Tier};
use crate::engine;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn read(file: &File) -> Result<Vec<Readback>, Problem> {
    let check = |(index, written): (usize, &super::file::Readback)| {
        let index = index.to_string();
        let wrong = |message: String| Problem::at(&["readback", &index], &["names"], message);
        let mut seen = BTreeSet::new();
        if written.names.is_empty() {
            return Err(wrong(
                "it names nothing; write names of settings, or of facts in a worker's hello".to_string(),
            ));
        }
        if let Some(twice) = written.names.iter().find(|name| !seen.insert(*name)) {
            return Err(wrong(format!("`{twice}` is named twice")));
        }
        Ok(Readback { about: written.about.clone(), ask: written.ask.clone(), names: written.names.clone() })
    };
    file.readback.iter().enumerate().map(check).collect()
}

/// The tier that a contender's settings make, as its connections reported them.
pub fn tier_told(contender: &Contender, told: &BTreeMap<String, String>) -> Option<Tier> {
    let engine = engine::find(&contender.engine)?;
    Some((engine.durability.tier)(&engine.settings_told(told)))
}

/// The language of a contender's driver.
pub fn language(contender: &Contender) -> &'static str {
    engine::driver(contender).map_or("", |driver| driver.language)
}

/// Whether a contender goes through another driver than its engine has by itself.
pub fn has_another_driver(contender: &Contender) -> bool {
    let usual = engine::find(&contender.engine).and_then(|engine| engine.drivers().next());
    usual.is_some_and(|usual| usual.name != contender.driver)
}

/// The driver of a contender's worker that does nothing.
pub fn floor_driver(contender: &Contender) -> Option<&'static str> {
    engine::floor_of(contender).map(|driver| driver.name)
}

/// The model in which that one is measured.
pub fn floor_model(contender: &Contender) -> Option<&'static str> {
    engine::floor_of(contender).map(|driver| driver.models[0].name)
}

/// Whether a contender's driver does nothing, so that its settings promise nothing.
pub fn executes_nothing(contender: &Contender) -> bool {
    engine::driver(contender).is_some_and(|driver| driver.executes_nothing)
}
