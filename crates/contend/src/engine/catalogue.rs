//! Which engines there are. An engine is a file of this room and an entry here.

use super::product::Engine;
use super::{mariadb, postgres, sqlite, translator};
use crate::registry::Registry;

/// All engines.
pub const ENGINES: &[&Engine] = &[&sqlite::ENGINE, &postgres::ENGINE, &mariadb::ENGINE, &translator::ENGINE];

/// Services that slices bring: measured like engines, but with data that contend does not see.
pub static SERVICES: Registry<Engine> = Registry::empty();

/// What people call engines, too.
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

/// Whether what has this name keeps its data where contend cannot see it.
pub fn is_service(name: &str) -> bool {
    SERVICES.all().iter().any(|engine| engine.name == name)
}
