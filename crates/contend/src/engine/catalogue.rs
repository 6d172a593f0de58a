//! The list of engines. An engine is a file of this room and an entry here.

use super::product::Engine;
use super::{mariadb, postgres, sqlite, translator};
use crate::registry::Registry;

/// All engines.
pub const ENGINES: &[&Engine] = &[&sqlite::ENGINE, &postgres::ENGINE, &mariadb::ENGINE, &translator::ENGINE];

/// Services from slices: measured like engines, but contend does not see their data.
pub static SERVICES: Registry<Engine> = Registry::empty();

/// Other names of engines.
const OTHER_NAMES: &[(&str, &str)] = &[("postgresql", "postgres"), ("pg", "postgres"), ("sqlite3", "sqlite")];

/// The engine with this name.
pub fn find(name: &str) -> Option<&'static Engine> {
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name);
    #[cfg(test)]
    if let Some(engine) = super::changed::find(name) {
        return Some(engine);
    }
    ENGINES.iter().chain(SERVICES.all()).copied().find(|engine| engine.name == name)
}

/// Whether this name is a service.
pub fn is_service(name: &str) -> bool {
    SERVICES.all().iter().any(|engine| engine.name == name)
}
