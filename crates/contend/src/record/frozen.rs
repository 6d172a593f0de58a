//! Facts about contenders that records before format 3 lack: what the tables of engines and drivers contained when that
//! format began. They are data next to this file, and stay as they are: the reports of old records never change.

use crate::contender::{Contender, NullDriver, Resolved, Tier};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static FROZEN: LazyLock<Frozen> =
    LazyLock::new(|| toml::from_str(include_str!("format-2.toml")).expect("a test reads it"));

/// Names and values of settings.
type Settings = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frozen {
    engine: BTreeMap<String, Engine>,
    driver: BTreeMap<String, Driver>,
    /// Null drivers by language.
    null: BTreeMap<String, Idle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Engine {
    usual_driver: String,
    #[serde(default)]
    service: bool,
    /// Every setting with its default.
    settings: Settings,
    /// Words of reported values, for the settings that decide the tier; none if the value is its own word.
    #[serde(default)]
    reported: BTreeMap<String, Settings>,
    /// The first rule that applies decides.
    tier: Vec<Rule>,
}

/// A tier, and the values of settings that it needs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(default)]
    is: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    is_not: BTreeMap<String, Vec<String>>,
    tier: Tier,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Driver {
    language: String,
    engines: Vec<String>,
    #[serde(default)]
    executes_nothing: bool,
    #[serde(default)]
    app: bool,
    #[serde(default)]
    facts: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Idle {
    driver: String,
    model: String,
    engines: Vec<String>,
}

impl Engine {
    /// The value of a setting, or its default.
    fn value<'s>(&'s self, settings: &'s Settings, name: &str) -> &'s str {
        settings.get(name).or_else(|| self.settings.get(name)).map_or("", String::as_str)
    }

    /// The settings among the facts that connections reported.
    fn read(&self, reported: &Settings) -> Settings {
        let word = |(name, words): (&String, &Settings)| {
            let value = reported.get(name)?;
            let word = if words.is_empty() { value } else { words.get(value)? };
            Some((name.clone(), word.clone()))
        };
        self.reported.iter().filter_map(word).collect()
    }
}

/// The facts of a contender.
pub fn resolved(contender: &Contender) -> Resolved {
    let engine = FROZEN.engine.get(&contender.engine);
    let driver = FROZEN.driver.get(&contender.driver).filter(|driver| driver.engines.contains(&contender.engine));
    let mut settings = engine.map_or_else(Settings::new, |engine| engine.settings.clone());
    for (name, value) in &mut settings {
        if let Some(set) = contender.settings.get(name) {
            value.clone_from(set);
        }
    }
    let over_http = engine.is_some_and(|engine| engine.value(&contender.settings, "transport") == "http");
    let idle = driver.filter(|driver| !driver.app && !over_http).and_then(|driver| FROZEN.null.get(&driver.language));
    let idle = idle.filter(|idle| idle.engines.contains(&contender.engine));
    Resolved {
        language: driver.map_or_else(String::new, |driver| driver.language.clone()),
        usual_driver: engine.is_none_or(|engine| engine.usual_driver == contender.driver),
        executes_nothing: driver.is_some_and(|driver| driver.executes_nothing),
        service: engine.is_some_and(|engine| engine.service),
        overhead: idle.map(|idle| NullDriver { driver: idle.driver.clone(), model: idle.model.clone() }),
        driver_facts: driver.map_or_else(Vec::new, |driver| driver.facts.clone()),
        settings,
    }
}

/// The tier of the settings that connections reported; `None` for an unknown engine.
pub fn tier_reported(engine: &str, reported: &BTreeMap<String, String>) -> Option<Tier> {
    let engine = FROZEN.engine.get(engine)?;
    let settings = engine.read(reported);
    let has = |(name, values): (&String, &Vec<String>)| values.iter().any(|v| v == engine.value(&settings, name));
    let applies = |rule: &&Rule| rule.is.iter().all(has) && !rule.is_not.iter().any(has);
    engine.tier.iter().find(applies).map(|rule| rule.tier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
    }

    #[test]
    fn tiers_follow_from_what_connections_reported() {
        for (engine, pairs, expected) in [
            ("sqlite", &[("journal_mode", "wal"), ("synchronous", "1")][..], Tier::Bounded),
            ("sqlite", &[("journal_mode", "wal"), ("synchronous", "2")], Tier::Durable),
            ("sqlite", &[("synchronous", "2")], Tier::Bounded),
            ("sqlite", &[("synchronous", "0")], Tier::Unsafe),
            ("postgres", &[("synchronous_commit", "off")], Tier::Bounded),
            ("postgres", &[("fsync", "off"), ("synchronous_commit", "on")], Tier::Unsafe),
            ("mariadb", &[("innodb_flush_log_at_trx_commit", "2")], Tier::Bounded),
            ("mariadb", &[("log_bin", "1"), ("sync_binlog", "1")], Tier::Durable),
            ("mariadb", &[("log_bin", "1"), ("sync_binlog", "10")], Tier::Bounded),
            ("mariadb", &[("innodb_flush_method", "O_DIRECT_NO_FSYNC")], Tier::Unknown),
            ("translator", &[], Tier::Unknown),
        ] {
            assert_eq!(tier_reported(engine, &reported(pairs)), Some(expected), "{engine} {pairs:?}");
        }
        assert_eq!(tier_reported("elsewhere", &reported(&[])), None);
    }

    #[test]
    fn defaults_and_null_drivers_are_those_of_then() {
        let contender = |engine: &str, driver: &str, settings: &[(&str, &str)]| Contender {
            name: String::new(),
            label: String::new(),
            engine: engine.to_string(),
            driver: driver.to_string(),
            model: "thread".to_string(),
            worker: None,
            settings: reported(settings),
            tier: Tier::Unknown,
            resolved: Resolved::default(),
        };
        let mattn = resolved(&contender("sqlite", "mattn", &[("journal_mode", "wal")]));
        assert_eq!((mattn.language.as_str(), mattn.usual_driver, mattn.executes_nothing), ("Go", false, false));
        assert_eq!((mattn.settings["journal_mode"].as_str(), mattn.settings["synchronous"].as_str()), ("wal", "full"));
        assert_eq!(mattn.overhead.map(|idle| idle.driver).as_deref(), Some("go-null"));
        assert_eq!(resolved(&contender("sqlite", "mattn", &[("transport", "http")])).overhead, None);
        assert_eq!(resolved(&contender("sqlite", "wordpress", &[])).overhead, None);
        let strange = resolved(&contender("elsewhere", "mattn", &[]));
        assert_eq!((strange.language.as_str(), strange.usual_driver), ("", true));
    }
}
