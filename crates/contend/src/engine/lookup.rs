//! Looks up a contender's driver, model and settings.

use super::catalogue::find;
use super::common::COMMON_SETTINGS;
use super::driver::{Driver, Model};
use super::pool::OF_POOL;
use super::product::Engine;
use super::sessions::SAVEPOINTS;
use super::setting::{HTTP, Setting, Settings, Setup, TRANSPORT};
use super::{app, workers};
use crate::contender::{Contender, Tier};

/// The driver of a contender.
pub fn driver(contender: &Contender) -> Option<&'static Driver> {
    find(&contender.engine)?.drivers().find(|driver| driver.name == contender.driver)
}

/// The model of a contender.
pub fn model(contender: &Contender) -> Option<&'static Model> {
    driver(contender)?.model(&contender.model)
}

/// The dialect of a contender's driver if that differs from the engine's; such a driver creates and loads its tables
/// itself.
pub fn own_dialect(contender: &Contender) -> Option<contend_sql::Target> {
    driver(contender)?.dialect
}

/// Whether each statement of a contender in an open transaction has its own savepoint.
pub fn has_savepoints(contender: &Contender) -> bool {
    is_set(contender, SAVEPOINTS, "each")
}

/// Whether a contender's clients send requests to a serving worker.
pub fn is_over_http(contender: &Contender) -> bool {
    is_set(contender, TRANSPORT, HTTP)
}

/// Whether a setting has this value, set or by default.
fn is_set(contender: &Contender, name: &str, value: &str) -> bool {
    let set = |engine: &Engine| engine.own_value(&contender.settings, name) == value;
    find(&contender.engine).is_some_and(|engine| engine.setting_of_its_own(name).is_some() && set(engine))
}

/// Whether contend sets nothing on a contender's connections, so that their settings are the driver's.
pub fn as_it_comes(contender: &Contender) -> bool {
    find(&contender.engine).is_some_and(|engine| engine.is_as_it_comes(&contender.settings))
}

/// Whether a contender is an app, whose requests come from a scenario.
pub fn is_app(contender: &Contender) -> bool {
    app::is_app(&contender.driver)
}

/// Whether a contender's statements reach its data.
pub fn executes(contender: &Contender) -> bool {
    let nothing = driver(contender).is_some_and(|driver| driver.executes_nothing);
    !nothing && find(&contender.engine).is_some_and(|engine| engine.executes)
}

/// Whether a contender commits exactly the transactions of the plan, so that its database's count can be checked. False
/// for apps and drivers with their own dialect, which decide this themselves; with savepoints, which some servers count
/// as transactions; with data in memory; and with pools that close connections, because SQLite's count ends with the
/// last one.
pub fn commits_as_planned(contender: &Contender) -> bool {
    let its_own = is_app(contender) || own_dialect(contender).is_some() || has_savepoints(contender);
    let keeps = !contender.settings.contains_key("pool_idle") && !is_set(contender, "storage", "memory");
    executes(contender) && !its_own && keeps
}

/// Whether a contender can commit inside a kernel whose power is cut: database and driver are in the tool's own worker,
/// and its settings promise consistent data.
pub fn can_boot(contender: &Contender) -> bool {
    let embedded = find(&contender.engine).is_some_and(|engine| engine.executes && engine.server.is_none());
    let own = driver(contender).is_some_and(|driver| driver.program.is_none() && !driver.executes_nothing);
    let promises = matches!(contender.tier, Tier::Durable | Tier::Bounded);
    embedded && own && promises && !is_over_http(contender) && !as_it_comes(contender)
}

/// The null driver of the same worker, which measures the overhead of worker and language. `None` for an app, and for
/// clients over HTTP, which run in the tool's own worker.
pub fn null_driver_of(contender: &Contender) -> Option<&'static Driver> {
    let own = driver(contender).filter(|_| !is_app(contender) && !is_over_http(contender))?;
    find(&contender.engine)?.drivers().find(|driver| driver.executes_nothing && driver.language == own.language)
}

/// How a contender's settings are applied and read back.
pub fn setup_of(engine: &Engine, contender: &Contender) -> Setup {
    let setup = engine.setup_with(&contender.settings);
    if driver(contender).is_some_and(|driver| driver.executes_nothing) {
        let of_pool = |name: &String| OF_POOL.contains(&name.as_str());
        return Setup {
            options: setup.options.into_iter().filter(|(name, _)| of_pool(name)).collect(),
            readbacks: setup.readbacks.into_iter().filter(|read| of_pool(&read.name)).collect(),
            prepare: setup.prepare,
            begin_write: setup.begin_write,
            ..Setup::default()
        };
    }
    if setup.only_read { setup } else { with_drivers_own(contender, setup) }
}

/// Adds the settings of the contender's worker. [`app::add_settings`] adds those of an app.
pub fn with_drivers_own(contender: &Contender, mut setup: Setup) -> Setup {
    let own = driver(contender).filter(|_| !is_app(contender)).map_or(&[][..], |driver| driver.settings);
    setup.pass_on(own.iter().map(|setting| setting.name), &contender.settings);
    setup
}

impl Engine {
    /// Whether a contender with this driver and model (if given) can have this setting: pool settings need a model with
    /// a pool, and an app's settings need that app.
    pub fn may_name(&self, driver: Option<&str>, model: Option<&str>, setting: &str) -> bool {
        let named = driver.and_then(|name| self.drivers().find(|driver| driver.name == name));
        let has_pool = |driver: &Driver| {
            let mut models = driver.models.iter().filter(|known| model.is_none_or(|model| model == known.name));
            models.any(Model::has_pool)
        };
        if OF_POOL.contains(&setting) {
            return app::may_name(driver, setting) && named.is_none_or(has_pool);
        }
        let of_worker = workers::settings(self.name).any(|own| own.name == setting);
        let has = |driver: &Driver| driver.settings.iter().any(|own| own.name == setting);
        app::may_name(driver, setting) && (!of_worker || named.is_none_or(has))
    }

    /// Its drivers: libraries, then apps. The first is the default.
    pub fn drivers(&self) -> impl Iterator<Item = &'static Driver> + use<> {
        let name = self.name;
        let drivers = workers::all().filter(move |driver| driver.engines.contains(&name)).chain(app::drivers(name));
        #[cfg(test)]
        let drivers = drivers.map(super::changed::driver);
        drivers
    }

    /// The default driver.
    ///
    /// # Panics
    /// It has no driver, which a test excludes.
    pub fn usual_driver(&self) -> &'static Driver {
        self.drivers().next().expect("every engine has a driver")
    }

    /// Settings of the engine and of its workers, as they are listed.
    pub fn listed_settings(&self) -> impl Iterator<Item = &'static Setting> {
        self.settings.iter().chain(workers::settings(self.name))
    }

    /// All its settings: those of engine and workers, those of apps, and common ones.
    fn all_settings(&self) -> impl Iterator<Item = &'static Setting> {
        self.listed_settings().chain(app::settings(self.name)).chain(COMMON_SETTINGS)
    }

    /// The setting with this name: of the engine, of one of its drivers, or a common one.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.all_settings().find(|setting| setting.name == name)
    }

    /// Names of all settings, for messages.
    pub fn setting_names(&self) -> Vec<&'static str> {
        self.all_settings().map(|setting| setting.name).collect()
    }

    /// The value of a setting, or its default.
    ///
    /// # Panics
    /// The engine has no such setting.
    pub fn value<'s>(&self, settings: &'s Settings, name: &str) -> &'s str {
        let default = || self.setting(name).expect("a setting of this engine").default;
        settings.get(name).map_or_else(default, String::as_str)
    }
}
