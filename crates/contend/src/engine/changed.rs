//! Other tables of engines, for tests of what must not depend on them: of SQLite every default, language, fact and tier is
//! another, and the drivers come in another order.

use super::{Driver, Engine, Setting, Values, sqlite};
use crate::contender::Tier;
use std::cell::Cell;
use std::sync::LazyLock;

thread_local! {
    static IN_PLACE: Cell<bool> = const { Cell::new(false) };
}

static SQLITE: LazyLock<Engine> = LazyLock::new(|| Engine {
    libraries: Vec::leak(sqlite::ENGINE.libraries.iter().rev().map(driver).collect()),
    settings: Vec::leak(sqlite::ENGINE.settings.iter().map(setting).collect()),
    tier: |_| Tier::Unsafe,
    ..sqlite::ENGINE
});

/// Calls a function while this thread finds the other tables.
pub fn with<T>(act: impl FnOnce() -> T) -> T {
    IN_PLACE.set(true);
    let done = act();
    IN_PLACE.set(false);
    done
}

/// The engine of this name in the other tables, while they are in place.
pub(super) fn find(name: &str) -> Option<&'static Engine> {
    (IN_PLACE.get() && name == SQLITE.name).then(|| &*SQLITE)
}

fn driver(driver: &Driver) -> Driver {
    Driver {
        name: driver.name,
        language: "Klingon",
        models: driver.models,
        about: driver.about,
        program: None,
        facts: &[("honour", "much")],
        executes_nothing: !driver.executes_nothing,
    }
}

fn setting(setting: &Setting) -> Setting {
    let (values, default) = match setting.values {
        Values::Words(words) => {
            (Values::Words(words), *words.iter().find(|word| **word != setting.default).unwrap_or(&setting.default))
        }
        Values::Integer(low, high) => (Values::Integer(low, high), &*String::leak(low.to_string())),
        Values::Text | Values::Url => (Values::Text, "another"),
    };
    Setting { name: setting.name, values, default, about: setting.about }
}
