//! Apps: whole programs that keep their data in a database and answer requests. For contend an app is a driver that is
//! reached over HTTP only, described by `apps/NAME/app.toml`.

use super::catalogue;
pub use super::declared::HOST;
use super::declared::{self, SettingFile, kept, kept_all};
use super::driver::{Conformance, Driver, Model, Opens, Program};
use super::product::Engine;
use super::setting::{Expected, Setting, Setup, TRANSPORT};
use crate::contender::Contender;
use crate::source::{FileError, Source};
use contend_wire::plan::Connections;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The built-in apps.
const FILES: &[(&str, &str)] = &[
    ("gameplan", include_str!("../../../../apps/gameplan/app.toml")),
    ("wordpress", include_str!("../../../../apps/wordpress/app.toml")),
];

/// The built-in apps; a test reads all their files.
static APPS: LazyLock<Vec<App>> = LazyLock::new(|| {
    let read = |(name, text): &(&str, &str)| {
        read(name, &Source::new(format!("built-in app {name}"), *text)).unwrap_or_else(|e| panic!("{e}"))
    };
    FILES.iter().map(read).collect()
});

/// One app; kept for the life of the process, because tables of settings are static.
#[derive(Debug)]
pub struct App {
    driver: &'static Driver,
    /// The Host header of its first site, by engine.
    hosts: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AppFile {
    about: String,
    language: String,
    program: String,
    build: String,
    needs: String,
    programs: Vec<String>,
    model: ModelFile,
    host: BTreeMap<String, String>,
    #[serde(default)]
    setting: BTreeMap<String, SettingFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    name: String,
    about: String,
}

fn read(name: &str, source: &Source) -> Result<App, FileError> {
    let file: AppFile = source.parse()?;
    for (engine, host) in &file.host {
        let wrong = |message: String| source.error(&["host", engine], message);
        if catalogue::find(engine).is_none_or(|engine| engine.setting_of_its_own(TRANSPORT).is_none()) {
            return Err(wrong(format!("there is no engine `{engine}` that can be behind HTTP")));
        }
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == ',' || c.is_control()) {
            return Err(wrong(format!("`{host}` is not a host")));
        }
    }
    if file.host.is_empty() {
        return Err(source.error(&["host"], "an app speaks at least one engine"));
    }
    let settings =
        file.setting.iter().map(|(name, file)| declared::setting(name, file, source)).collect::<Result<Vec<_>, _>>()?;
    let model = Model {
        name: kept(&file.model.name),
        about: kept(&file.model.about),
        connections: Connections::Client,
        opens: Opens::ONE,
        clients_share: false,
        lacks: &[],
    };
    let program = Program {
        name: kept(&file.program),
        build: kept(&file.build),
        needs: kept(&file.needs),
        programs: kept_all(&file.programs),
        run: &[],
    };
    let driver = Driver {
        name: kept(name),
        language: kept(&file.language),
        engines: kept_all(&file.host.keys().cloned().collect::<Vec<_>>()),
        models: Vec::leak(vec![model]),
        about: kept(&file.about),
        program: Some(program),
        facts: &[],
        settings: Vec::leak(settings),
        executes_nothing: false,
        dialect: None,
        conformance: Conformance::default(),
    };
    Ok(App { driver: Box::leak(Box::new(driver)), hosts: file.host })
}

/// Drivers of this engine that are apps.
pub fn drivers(engine: &str) -> impl Iterator<Item = &'static Driver> {
    APPS.iter().map(|app| app.driver).filter(move |driver| driver.engines.contains(&engine))
}

/// Settings that apps on this engine have.
pub fn settings(engine: &str) -> impl Iterator<Item = &'static Setting> {
    drivers(engine).flat_map(|driver| driver.settings)
}

/// Whether a contender with this driver can have this setting: an app's settings are for that app only.
pub fn may_name(driver: Option<&str>, setting: &str) -> bool {
    let of = |app: &App| app.driver.settings.iter().any(|own| own.name == setting);
    APPS.iter().find(|app| of(app)).is_none_or(|app| driver == Some(app.driver.name))
}

/// Whether this driver is an app.
pub fn is_app(driver: &str) -> bool {
    app(driver).is_some()
}

fn app(driver: &str) -> Option<&'static App> {
    APPS.iter().find(|app| app.driver.name == driver)
}

/// The Host headers of a contender's sites, one for each database; `None` if its driver is not an app.
pub fn hosts(contender: &Contender, databases: usize) -> Option<Vec<String>> {
    let first = app(&contender.driver)?.hosts.get(&contender.engine)?;
    let host = |i| if i == 0 { first.clone() } else { format!("{i}.{first}") };
    Some((0..databases).map(host).collect())
}

/// Adds the options of an app to a setup. The app reports its settings itself; a rejected host shows in the first
/// request.
pub fn add_settings(engine: &Engine, contender: &Contender, setup: &mut Setup) {
    let Some(app) = app(&contender.driver) else { return };
    for setting in app.driver.settings {
        let value = contender.settings.get(setting.name).map_or(setting.default, String::as_str);
        setup.options.push((setting.name.to_string(), value.to_string()));
        setup.readbacks.push(Expected::reported(setting.name, value));
    }
    setup.options.push(("engine".to_string(), engine.name.to_string()));
    setup.options.extend(app.hosts.get(engine.name).map(|host| (HOST.to_string(), host.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "about = 'a'\nlanguage = 'b'\nprogram = 'c'\nbuild = 'd'\nneeds = 'n'\nprograms = []\n\
        [model]\nname = 'e'\nabout = 'f'\n[host]\nsqlite = 'a.test'\n\
        [setting.hands]\nabout = 'g'\nleast = 1\nmost = 8\ndefault = 2\n";

    #[test]
    fn every_app_can_be_read_and_its_settings_are_its_own() {
        for (name, _) in FILES {
            let app = app(name).expect("it is there");
            for engine in catalogue::ENGINES.iter().filter(|e| drivers(e.name).any(|d| d.name == *name)) {
                for setting in app.driver.settings {
                    assert_eq!(setting.canonical(setting.default).as_deref(), Ok(setting.default));
                    assert!(may_name(Some(name), setting.name) && !may_name(None, setting.name));
                    assert!(engine.setting(setting.name).is_some());
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = |text: String| read("x", &Source::new("app.toml", text)).unwrap_err().to_string();
        assert!(read("x", &Source::new("app.toml", TEXT)).is_ok());
        for (from, to, expected) in [
            ("sqlite = ", "oracle = ", "app.toml:11: host.oracle: there is no engine"),
            ("a.test", "a test", "app.toml:11: host.sqlite: `a test` is not a host"),
            ("default = 2", "default = 9", "app.toml:16: setting.hands.default: 9 is not between 1 and 8"),
            ("hands", "busy_timeout", "app.toml:12: setting.busy_timeout: an engine has"),
            ("language", "tongue", "app.toml:2"),
        ] {
            let found = error(TEXT.replace(from, to));
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn sites_have_hosts_of_their_own_and_the_app_is_told() {
        let (name, _) = FILES[0];
        let engine = catalogue::ENGINES.iter().find(|e| drivers(e.name).any(|d| d.name == name)).unwrap();
        let contender = Contender {
            name: String::new(),
            label: String::new(),
            engine: engine.name.to_string(),
            driver: name.to_string(),
            model: String::new(),
            worker: None,
            settings: std::collections::BTreeMap::new(),
            tier: crate::contender::Tier::Unsafe,
            resolved: crate::contender::Resolved::default(),
        };
        let hosts = hosts(&contender, 2).unwrap();
        assert_eq!(hosts[1], format!("1.{}", hosts[0]));
        let mut setup = Setup::default();
        add_settings(engine, &contender, &mut setup);
        assert!(setup.options.contains(&(HOST.to_string(), hosts[0].clone())));
        assert!(setup.options.contains(&("engine".to_string(), engine.name.to_string())));
        assert_eq!(setup.options.len(), setup.readbacks.len() + 2);
    }
}
