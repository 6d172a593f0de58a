//! Tests that hold for every engine.

use super::common::{AS_IT_COMES, OPENED};
use super::*;
use crate::contender::{Contender, Resolved, Tier};

fn contender(engine: &Engine, driver: &Driver) -> Contender {
    Contender {
        name: String::new(),
        label: String::new(),
        engine: engine.name.to_string(),
        driver: driver.name.to_string(),
        model: driver.models[0].name.to_string(),
        worker: None,
        settings: Settings::new(),
        tier: Tier::Durable,
        resolved: Resolved::default(),
    }
}

#[test]
fn what_connections_tell_is_read_as_settings() {
    for engine in ENGINES {
        let setup = (engine.setup)(&Settings::new());
        let reported = setup.readbacks.into_iter().map(|read| (read.name, read.value)).collect();
        let settings = engine.settings_reported(&reported);
        assert_eq!(
            (engine.durability.tier)(&settings),
            (engine.durability.tier)(&Settings::new()),
            "{}: {settings:?}",
            engine.name
        );
    }
}

#[test]
fn as_it_comes_sets_nothing_and_asks_everything() {
    for engine in ENGINES.iter().filter(|engine| engine.executes) {
        let settings = Settings::from([(OPENED.to_string(), AS_IT_COMES.to_string())]);
        let (set, comes) = ((engine.setup)(&settings), engine.setup_with(&settings));
        for tier in Tier::ALL {
            let named = (engine.durability.tier_settings)(tier)
                .iter()
                .map(|(name, value)| ((*name).to_string(), (*value).to_string()));
            let settings: Settings = named.chain(settings.clone()).collect();
            assert_eq!(engine.tier_of(&settings), Tier::Unknown, "what is not set promises nothing: {settings:?}");
        }
        assert!(
            comes.session.len() <= set.session.len() && comes.options.is_empty() && comes.prepare.is_empty(),
            "{}",
            engine.name
        );
        assert!(comes.only_read && comes.readbacks.len() >= set.readbacks.iter().filter(|r| !r.sql.is_empty()).count());
    }
}

#[test]
fn every_driver_has_one_of_its_own_worker_that_does_nothing() {
    for engine in ENGINES.iter().filter(|engine| engine.executes) {
        for driver in workers::all().filter(|driver| driver.engines.contains(&engine.name)) {
            let contender = contender(engine, driver);
            let null = null_driver_of(&contender).expect("a null driver");
            assert_eq!((null.language, null.executes_nothing), (driver.language, true), "{}", driver.name);
            assert_eq!(executes(&contender), !driver.executes_nothing, "{}", driver.name);
        }
    }
}

#[test]
fn waits_before_another_try_are_half_to_one_and_a_half_times_as_long() {
    let settings: Settings = [("retry".to_string(), "backoff".to_string())].into_iter().collect();
    for engine in ENGINES {
        let jitter = engine.retry(&settings).jitter_permille;
        let (low, high) = (jitter.iter().min().copied(), jitter.iter().max().copied());
        assert_eq!((low, high, jitter.len()), (Some(500), Some(1489), 97), "{}", engine.name);
    }
}

#[test]
fn settings_of_a_worker_reach_it_only_if_they_are_named_and_its_driver_executes() {
    for engine in ENGINES {
        for driver in engine.drivers().filter(|driver| !app::is_app(driver.name)) {
            for setting in driver.settings {
                let mut contender = contender(engine, driver);
                let named = |contender: &Contender| {
                    let setup = setup_of(engine, contender);
                    let option = setup.options.iter().any(|(name, _)| name == setting.name);
                    assert_eq!(
                        option,
                        setup.readbacks.iter().any(|read| read.name == setting.name),
                        "{}",
                        setting.name
                    );
                    option
                };
                assert!(!named(&contender));
                contender.settings.insert(setting.name.to_string(), setting.default.to_string());
                assert!(named(&contender), "{}/{}: {}", engine.name, driver.name, setting.name);
                assert!(engine.may_name(Some(driver.name), None, setting.name));
                assert!(!engine.may_name(Some("null"), None, setting.name), "{}", setting.name);
            }
        }
    }
}
