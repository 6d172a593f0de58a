//! The drivers of all workers: those that come with contend, and those of manifests that a user adds.

use super::app;
use super::driver::Driver;
use super::manifest;
use super::setting::Setting;
use crate::source::{FileError, Source};
use std::sync::OnceLock;

/// The built-in manifests, in the order in which their drivers are listed.
const FILES: &[(&str, &str)] = &[
    ("rust", include_str!("../../../../workers/rust/worker.toml")),
    ("go", include_str!("../../../../workers/go/worker.toml")),
    ("python", include_str!("../../../../workers/python/worker.toml")),
    ("php", include_str!("../../../../workers/php/worker.toml")),
    ("node", include_str!("../../../../workers/node/worker.toml")),
    ("java", include_str!("../../../../workers/java/worker.toml")),
];

static DRIVERS: OnceLock<Vec<&'static Driver>> = OnceLock::new();

/// All drivers except apps.
pub fn all() -> impl Iterator<Item = &'static Driver> {
    DRIVERS.get_or_init(built_in).iter().copied()
}

/// Built-in drivers; a test reads all their manifests.
fn built_in() -> Vec<&'static Driver> {
    let read = |(name, text): &(&str, &str)| {
        let source = Source::new(format!("built-in worker {name}"), *text);
        manifest::read(&source, None).unwrap_or_else(|e| panic!("{e}"))
    };
    FILES.iter().flat_map(read).collect()
}

/// A manifest that a user adds, and its directory.
pub struct Added {
    pub source: Source,
    pub home: String,
}

/// Adds drivers; one with the name of another replaces it. Call it before anything looks up drivers.
///
/// # Errors
/// A mistake in a manifest.
///
/// # Panics
/// Drivers have already been looked up.
pub fn add(manifests: &[Added]) -> Result<(), FileError> {
    let drivers = joined(built_in(), manifests)?;
    DRIVERS.set(drivers).expect("manifests are added before anything asks for drivers");
    Ok(())
}

fn joined(mut drivers: Vec<&'static Driver>, manifests: &[Added]) -> Result<Vec<&'static Driver>, FileError> {
    let mut added: Vec<(&str, &str)> = vec![];
    for Added { source, home } in manifests {
        for driver in manifest::read(source, Some(home))? {
            let wrong = |message: String| Err(source.error(&["driver", driver.name], message));
            if app::is_app(driver.name) {
                return wrong("an app has this name".to_string());
            }
            if let Some((_, file)) = added.iter().find(|(name, _)| *name == driver.name) {
                return wrong(format!("{file} has a driver of this name, too"));
            }
            let clashes = |other: &&&Driver| other.name != driver.name && shares_setting(other, driver);
            if let Some(other) = drivers.iter().find(clashes) {
                return wrong(format!("driver `{}` has a setting of the same name that is another", other.name));
            }
            added.push((driver.name, source.name.as_str()));
            match drivers.iter_mut().find(|other| other.name == driver.name) {
                Some(other) => *other = driver,
                None => drivers.push(driver),
            }
        }
    }
    Ok(drivers)
}

/// Whether two drivers of one engine have different settings with the same name.
fn shares_setting(a: &Driver, b: &Driver) -> bool {
    let differ =
        |x: &Setting| b.settings.iter().any(|y| x.name == y.name && (x.values != y.values || x.default != y.default));
    a.engines.iter().any(|engine| b.engines.contains(engine)) && a.settings.iter().any(differ)
}

/// Settings that drivers of this engine have, each once.
pub fn settings(engine: &str) -> impl Iterator<Item = &'static Setting> {
    let mut found: Vec<&'static Setting> = vec![];
    for setting in all().filter(|driver| driver.engines.contains(&engine)).flat_map(|driver| driver.settings) {
        if !found.iter().any(|known| known.name == setting.name) {
            found.push(setting);
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(file: &str, driver: &str, more: &str) -> Added {
        let text = format!(
            "language = 'Elvish'\nrun = ['elf', '{{driver}}']\n[model.thread]\nabout = 'a'\n\
             [driver.{driver}]\nabout = 'mine'\nengines = ['sqlite']\n{more}"
        );
        Added { source: Source::new(file, text), home: "/here".to_string() }
    }

    #[test]
    fn a_users_driver_takes_the_place_of_one_with_its_name_or_comes_last() {
        let drivers = joined(built_in(), &[added("a", "mattn", ""), added("b", "elf", "")]).unwrap();
        let place = |drivers: &[&Driver], name: &str| drivers.iter().position(|driver| driver.name == name);
        let mattn = place(&drivers, "mattn").unwrap();
        assert_eq!((Some(mattn), drivers[mattn].about), (place(&built_in(), "mattn"), "mine"));
        assert_eq!(drivers.last().unwrap().name, "elf");
        assert_eq!(drivers.len(), built_in().len() + 1);
    }

    #[test]
    fn names_that_are_taken_are_refused() {
        let setting = |default: &str| {
            let values = "about = 'b'\nvalues = ['statements', 'string']";
            format!("settings = ['pool_init']\n[setting.pool_init]\n{values}\ndefault = '{default}'\n")
        };
        let error = |manifests: &[Added]| joined(built_in(), manifests).unwrap_err().to_string();
        let twice = error(&[added("a", "elf", ""), added("b", "elf", "")]);
        assert_eq!(twice, "b:5: driver.elf: a has a driver of this name, too");
        assert_eq!(error(&[added("a", "gameplan", "")]), "a:5: driver.gameplan: an app has this name");
        let clash = error(&[added("a", "elf", &setting("string"))]);
        assert_eq!(clash, "a:5: driver.elf: driver `java-sqlite` has a setting of the same name that is another");
        assert!(joined(built_in(), &[added("a", "elf", &setting("statements"))]).is_ok());
    }
}
