//! Changed tables, for tests of what must not depend on them: SQLite has other defaults and tiers, and every driver has
//! another language and other facts.

use super::driver::Driver;
use super::product::{Durability, Engine};
use super::setting::{Setting, Values};
use super::sqlite;
use crate::contender::Tier;
use std::cell::Cell;
use std::sync::LazyLock;

thread_local! {
    static IN_PLACE: Cell<bool> = const { Cell::new(false) };
}

static SQLITE: LazyLock<Engine> = LazyLock::new(|| Engine {
    settings: Vec::leak(sqlite::ENGINE.settings.iter().map(setting).collect()),
    durability: Durability { tier: |_| Tier::Unsafe, ..sqlite::ENGINE.durability },
    ..sqlite::ENGINE
});

/// Calls a function with the changed tables in this thread.
pub fn with<T>(act: impl FnOnce() -> T) -> T {
    IN_PLACE.set(true);
    let done = act();
    IN_PLACE.set(false);
    done
}

/// The engine of this name in the changed tables, while they are active.
pub(super) fn find(name: &str) -> Option<&'static Engine> {
    (IN_PLACE.get() && name == SQLITE.name).then(|| &*SQLITE)
}

/// The driver in the changed tables, while they are active.
pub(super) fn driver(driver: &'static Driver) -> &'static Driver {
    if !IN_PLACE.get() {
        return driver;
    }
    let executes_nothing = !driver.executes_nothing;
    Box::leak(Box::new(Driver { language: "Klingon", facts: &[("honour", "much")], executes_nothing, ..*driver }))
}

fn setting(setting: &Setting) -> Setting {
    let default = match setting.values {
        Values::Words(words) => words.iter().find(|word| **word != setting.default).copied().unwrap_or(setting.default),
        Values::Integer(low, _) => String::leak(low.to_string()),
        _ => "another",
    };
    Setting { default, ..*setting }
}
