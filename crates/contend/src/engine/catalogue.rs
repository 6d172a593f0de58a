//! The list of engines. An engine is a file of this room and an entry here.

use super::product::Engine;
use super::{mariadb, postgres, sqlite, translator};
use crate::registry::Registry;
use crate::source::nearest;

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

/// ` (did you mean ...?)` for a name that no engine has, or an empty string if none is near.
pub fn advice(name: &str) -> String {
    let names = ENGINES.iter().map(|engine| engine.name).chain(OTHER_NAMES.iter().map(|(other, _)| *other));
    let meant = if name == "mysql" { Some("mariadb") } else { nearest(name, names) };
    meant.and_then(find).map_or(String::new(), |engine| format!(" (did you mean `{}`?)", engine.name))
}

/// Whether this name is a service.
pub fn is_service(name: &str) -> bool {
    SERVICES.all().iter().any(|engine| engine.name == name)
}
