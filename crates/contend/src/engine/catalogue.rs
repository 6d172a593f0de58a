//! Which engines there are. An engine is a file of this room and an entry here.

use super::product::Engine;
use super::{http, mariadb, postgres, sqlite, translator};

/// All engines.
pub const ENGINES: &[&Engine] = &[&sqlite::ENGINE, &postgres::ENGINE, &mariadb::ENGINE, &translator::ENGINE];

/// What is measured like an engine, but keeps its data where contend cannot see it.
const SERVICES: &[&Engine] = &[&http::ENGINE];

/// The engine with this name.
pub fn find(name: &str) -> Option<&'static Engine> {
    #[cfg(test)]
    if let Some(engine) = super::changed::find(name) {
        return Some(engine);
    }
    ENGINES.iter().chain(SERVICES).copied().find(|engine| engine.name == name)
}

/// Whether what has this name keeps its data where contend cannot see it.
pub fn is_service(name: &str) -> bool {
    SERVICES.iter().any(|engine| engine.name == name)
}
