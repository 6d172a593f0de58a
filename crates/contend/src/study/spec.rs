//! Contender specs: `engine[/driver[/model]][@worker]:key=value,...`, as typed and in their one canonical form.
//!
//! A [`Draft`] is a contender as written. Completed, it is a [`Spec`], whose text is the contender's name; parsing this
//! text gives the same spec.

use super::model::Tier;
use crate::engine::{self, Driver, Engine, HTTP, Setting, Settings, TRANSPORT, app};
use crate::source::did_you_mean;
use std::fmt;

/// A contender as written; missing parts have their defaults.
#[derive(Debug, Clone)]
pub struct Draft {
    pub engine: &'static Engine,
    pub driver: Option<String>,
    pub model: Option<String>,
    /// Absolute path of a build of the worker, or of the directory that it is in, instead of contend's own build.
    pub worker: Option<String>,
    /// Stands for the engine's settings of that tier; the resulting tier must equal it.
    pub tier: Option<Tier>,
    /// Canonical values.
    pub settings: Settings,
}

/// A complete contender without its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub engine: String,
    pub driver: String,
    pub model: String,
    /// As in [`Draft`].
    pub worker: Option<String>,
    pub settings: Settings,
    pub tier: Tier,
}

/// Reads a spec as typed.
///
/// # Errors
/// The mistake, with the allowed words.
pub fn parse(text: &str) -> Result<Draft, String> {
    let (head, settings) = text.split_once(':').unwrap_or((text, ""));
    let (head, worker) = head.split_once('@').map_or((head, None), |(head, worker)| (head, Some(worker)));
    let mut parts = head.split('/').map(str::trim);
    let mut draft = Draft::new(parts.next().unwrap_or_default())?;
    for key in ["driver", "model"] {
        parts.next().map_or(Ok(()), |name| draft.set(key, name))?;
    }
    if parts.next().is_some() {
        return Err(format!("`{text}` is not a contender; write engine[/driver[/model]][@worker]:key=value,..."));
    }
    if let Some(worker) = worker {
        draft.set("worker", worker)?;
    }
    for pair in settings.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not a setting; write key=value, separated by commas"))?;
        let key = key.trim();
        if draft.names(key) {
            return Err(format!("`{key}` is given twice in `{text}`"));
        }
        draft.set(key, value)?;
    }
    Ok(draft)
}

impl Draft {
    /// A contender of this engine with all defaults.
    ///
    /// # Errors
    /// The known engines.
    pub fn new(engine: &str) -> Result<Self, String> {
        let engine = engine::find(engine).ok_or_else(|| {
            let names: Vec<&str> = engine::ENGINES.iter().map(|engine| engine.name).collect();
            format!("there is no engine `{engine}`{}; engines are {}", engine::advice(engine), names.join(", "))
        })?;
        Ok(Self { engine, driver: None, model: None, worker: None, tier: None, settings: Settings::new() })
    }

    /// Whether this contender can have this setting; also `tier`, `driver`, `model` and `worker`.
    pub fn knows(&self, key: &str) -> bool {
        matches!(key, "tier" | "driver" | "model" | "worker") || self.setting(key).is_some()
    }

    /// The setting of this name, if a contender of this engine and driver can have it.
    pub fn setting(&self, key: &str) -> Option<&'static Setting> {
        self.engine.setting(key).filter(|_| self.engine.may_name(self.driver.as_deref(), self.model.as_deref(), key))
    }

    /// Names of all such settings.
    pub fn setting_names(&self) -> Vec<&'static str> {
        self.engine.setting_names().into_iter().filter(|name| self.setting(name).is_some()).collect()
    }

    /// Whether the key is set.
    pub fn names(&self, key: &str) -> bool {
        match key {
            "tier" => self.tier.is_some(),
            "driver" => self.driver.is_some(),
            "model" => self.model.is_some(),
            "worker" => self.worker.is_some(),
            _ => self.settings.contains_key(key),
        }
    }

    /// Sets a setting, `tier`, `driver`, `model` or `worker`, replacing an earlier value.
    ///
    /// # Errors
    /// The known names or values.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "tier" => self.tier = Some(parse_tier(value)?),
            "driver" => self.driver = Some(find_driver(self.engine, Some(value))?.name.to_string()),
            "model" => {
                let may_be = |driver: &&Driver| self.driver.as_ref().is_none_or(|own| own == driver.name);
                check_model(&Vec::from_iter(self.engine.drivers().filter(may_be)), value)?;
                self.model = Some(value.to_string());
            }
            "worker" => self.worker = Some(worker_path(value)?),
            _ => {
                let setting = self.setting(key).ok_or_else(|| self.has_no(key))?;
                self.settings.insert(key.to_string(), setting.canonical(value)?);
            }
        }
        Ok(())
    }

    /// Why this contender cannot have a setting of this name.
    pub fn has_no(&self, key: &str) -> String {
        if let (Some(driver), Some(_)) = (&self.driver, self.engine.setting(key)) {
            let model = self.model.as_ref().map_or(String::new(), |model| format!(" in model `{model}`"));
            return format!("driver `{driver}`{model} has no use for the setting `{key}`");
        }
        let (names, engine) = (self.setting_names(), self.engine.name);
        let advice = did_you_mean(key, names.iter().copied());
        format!("{engine} has no setting `{key}`{advice}; settings are tier, {}", names.join(", "))
    }

    /// The driver, and the name of its model.
    ///
    /// # Errors
    /// The driver does not have the model.
    pub fn program(&self) -> Result<(&'static Driver, &str), String> {
        let driver = find_driver(self.engine, self.driver.as_deref())?;
        let model = self.model.as_deref().unwrap_or(driver.models[0].name);
        check_model(&[driver], model).map(|()| (driver, model))
    }

    /// Fills in what is left out: the settings of the tier, then those of `common` that this engine
    /// has, and the defaults of driver and model.
    ///
    /// # Errors
    /// An unknown driver or model, a common value this engine cannot have, or a tier the settings miss.
    pub fn complete(&self, common: &Settings) -> Result<Spec, String> {
        let (driver, model) = self.program()?;
        let may_name = |key: &String| self.engine.may_name(Some(driver.name), Some(model), key);
        if let Some(key) = self.settings.keys().find(|key| !may_name(key)) {
            return Err(format!("driver `{}` in model `{model}` has no use for the setting `{key}`", driver.name));
        }
        let mut settings = self.complete_settings(common)?;
        settings.retain(|key, _| may_name(key));
        let tier = self.engine.tier_of(&settings);
        if let Some(wanted) = self.tier.filter(|wanted| *wanted != tier) {
            return Err(format!("the requested tier is {wanted}, but these settings give {tier}: {}", join(&settings)));
        }
        Ok(Spec {
            engine: self.engine.name.to_string(),
            driver: driver.name.to_string(),
            model: model.to_string(),
            worker: self.own_worker(driver)?,
            settings,
            tier,
        })
    }

    fn own_worker(&self, driver: &Driver) -> Result<Option<String>, String> {
        let asked_over_http = app::is_app(driver.name) || self.engine.name == HTTP;
        match &self.worker {
            Some(_) if asked_over_http => {
                Err(format!("driver `{}` has no worker whose build could be chosen", driver.name))
            }
            worker => Ok(worker.clone()),
        }
    }

    /// The first of the common settings that the tier of this contender replaces by another value: its key there, and a
    /// sentence about it.
    pub fn replaced_by_tier(&self, common: &Settings) -> Option<(String, String)> {
        let tier = self.tier?;
        let own = |key: &String| self.setting(self.engine.own_name(key)).filter(|of| !self.names(of.name));
        common.iter().find_map(|(key, value)| {
            let setting = own(key)?;
            let (_, of_tier) =
                (self.engine.durability.tier_settings)(tier).iter().find(|(name, _)| *name == setting.name)?;
            let value = setting.canonical(value).ok().filter(|value| value != of_tier)?;
            Some((key.clone(), format!("is {value} here, and the tier {tier} of a contender makes it {of_tier}")))
        })
    }

    fn complete_settings(&self, common: &Settings) -> Result<Settings, String> {
        let mut settings = Settings::new();
        for (key, value) in common {
            let key = self.engine.own_name(key);
            if let Some(setting) = self.setting(key) {
                settings.insert(key.to_string(), setting.canonical(value)?);
            }
        }
        for (key, value) in self.tier.map_or(&[][..], self.engine.durability.tier_settings) {
            settings.insert((*key).to_string(), (*value).to_string());
        }
        settings.extend(self.settings.clone());
        self.add_implied(&mut settings)?;
        let driver = self.driver.as_deref().unwrap_or_default();
        if let Some(key) = settings.keys().find(|key| !app::may_name(self.driver.as_deref(), key)) {
            return Err(format!("`{key}` is not a setting of driver `{driver}`"));
        }
        if app::is_app(driver) && settings.insert(TRANSPORT.to_string(), HTTP.to_string()).is_some_and(|t| t != HTTP) {
            return Err(format!("driver `{driver}` is an app: its {TRANSPORT} is {HTTP}"));
        }
        Ok(settings)
    }

    fn add_implied(&self, settings: &mut Settings) -> Result<(), String> {
        for (key, value) in (self.engine.implied)(settings) {
            let named = settings.insert((*key).to_string(), (*value).to_string());
            if let Some(named) = named.filter(|named| named != value) {
                return Err(format!(
                    "`{key}` cannot be {named}: with the other settings {} makes it {value} by itself",
                    self.engine.name
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.engine, self.driver, self.model)?;
        if let Some(worker) = &self.worker {
            write!(f, "@{worker}")?;
        }
        if !self.settings.is_empty() {
            write!(f, ":{}", join(&self.settings))?;
        }
        Ok(())
    }
}

fn join(settings: &Settings) -> String {
    settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The absolute path, so that the run can be resumed from another directory.
fn worker_path(path: &str) -> Result<String, String> {
    let path = path.trim();
    if path.contains([':', ',', '@']) {
        return Err(format!(
            "the path of a worker cannot have `:`, `,` or `@` in it: {path}; link to it by another name"
        ));
    }
    let absolute = std::path::absolute(path).map_err(|e| format!("the path of a worker: `{path}`: {e}"))?;
    absolute.into_os_string().into_string().map_err(|_| format!("the path of a worker is not UTF-8: {path}"))
}

fn find_driver(engine: &'static Engine, name: Option<&str>) -> Result<&'static Driver, String> {
    let Some(name) = name else { return Ok(engine.usual_driver()) };
    engine.drivers().find(|driver| driver.name == name).ok_or_else(|| {
        let names: Vec<&str> = engine.drivers().map(|driver| driver.name).collect();
        let advice = did_you_mean(name, names.iter().copied());
        format!("{} has no driver `{name}`{advice}; drivers are {}", engine.name, names.join(", "))
    })
}

/// Checks that one of these drivers has this model.
fn check_model(drivers: &[&Driver], model: &str) -> Result<(), String> {
    let mut models: Vec<&str> = vec![];
    for name in drivers.iter().flat_map(|driver| driver.model_names()) {
        if !models.contains(&name) {
            models.push(name);
        }
    }
    if models.contains(&model) {
        return Ok(());
    }
    let whose = match drivers {
        [one] => format!("driver `{}` has no", one.name),
        _ => "no driver has a".to_string(),
    };
    let advice = did_you_mean(model, models.iter().copied());
    Err(format!("{whose} model `{model}`{advice}; models are {}", models.join(", ")))
}

fn parse_tier(word: &str) -> Result<Tier, String> {
    let word = word.trim().to_ascii_lowercase();
    Tier::ALL
        .into_iter()
        .find(|tier| tier.word() == word)
        .ok_or_else(|| format!("there is no tier `{word}`; tiers are {}", Tier::ALL.map(Tier::word).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ENGINES, Values};
    use proptest::prelude::*;

    fn libraries(engine: &Engine) -> impl Iterator<Item = &'static Driver> {
        engine.drivers().filter(|driver| !app::is_app(driver.name))
    }

    fn canonical(text: &str) -> Result<String, String> {
        parse(text)?.complete(&Settings::new()).map(|spec| spec.to_string())
    }

    #[test]
    fn specs_have_one_canonical_form() {
        for (typed, printed) in [
            ("sqlite", "sqlite/rusqlite/thread"),
            ("sqlite/null", "sqlite/null/thread"),
            (
                "sqlite: synchronous = FULL, journal_mode=WAL",
                "sqlite/rusqlite/thread:journal_mode=wal,synchronous=full",
            ),
            ("sqlite/null/thread@/a/b/../c:busy_timeout=010", "sqlite/null/thread@/a/b/../c:busy_timeout=10"),
            ("sqlite:busy_timeout=010", "sqlite/rusqlite/thread:busy_timeout=10"),
            ("sqlite:tier=durable", "sqlite/rusqlite/thread:journal_mode=wal,synchronous=full"),
            (
                "mariadb:innodb_flush_log_at_trx_commit=2",
                "mariadb/mysql/thread:innodb_flush_log_at_trx_commit=2,innodb_log_file_buffering=on",
            ),
            ("mariadb:innodb_flush_log_at_trx_commit=1", "mariadb/mysql/thread:innodb_flush_log_at_trx_commit=1"),
            (
                "sqlite:tier=durable,journal_mode=delete,synchronous=extra",
                "sqlite/rusqlite/thread:journal_mode=delete,synchronous=extra",
            ),
        ] {
            assert_eq!(canonical(typed).as_deref(), Ok(printed), "{typed}");
            assert_eq!(canonical(printed).as_deref(), Ok(printed));
        }
    }

    #[test]
    fn a_wrong_spec_says_what_would_be_right() {
        for (typed, part) in [
            ("oracle", "engines are sqlite"),
            ("sqlite/odbc", "drivers are rusqlite"),
            ("sqlite/rusqlite/fibre", "models are thread"),
            ("sqlite/rusqlite/thread/x", "write engine[/driver[/model]][@worker]"),
            ("sqlite:wal", "write key=value"),
            ("sqlite@a,b", "cannot have"),
            ("sqlite@", "the path of a worker"),
            ("sqlite:colour=red", "settings are tier, journal_mode"),
            ("sqlite:journal_mode=red", "one of delete, truncate"),
            ("sqlite:tier=gold", "tiers are durable, bounded, unsafe"),
            (
                "sqlite:tier=durable,synchronous=normal",
                "these settings give bounded: journal_mode=wal,synchronous=normal",
            ),
            ("sqlite:synchronous=full,synchronous=off", "given twice"),
            ("sqlite:tier=durable,connection=as-it-comes", "these settings give unknown: connection=as-it-comes"),
            (
                "mariadb:innodb_flush_log_at_trx_commit=2,innodb_log_file_buffering=off",
                "cannot be off: with the other settings mariadb makes it on",
            ),
        ] {
            let message = canonical(typed).unwrap_err();
            assert!(message.contains(part), "{typed}: {message}");
        }
    }

    #[test]
    fn settings_that_are_not_applied_make_no_tier() {
        let tier = |text: &str| parse(text).unwrap().complete(&Settings::new()).unwrap().tier;
        assert_eq!(tier("sqlite:journal_mode=wal,synchronous=full"), Tier::Durable);
        assert_eq!(tier("sqlite:connection=as-it-comes,journal_mode=wal,synchronous=full"), Tier::Unknown);
        assert_eq!(tier("sqlite:connection=as-it-comes"), Tier::Unknown);
        assert_eq!(tier("sqlite:connection=as-set"), Tier::Bounded);
    }

    #[test]
    fn common_settings_give_way_to_the_tier_and_the_tier_to_what_is_said() {
        let common: Settings = [("synchronous", "off"), ("busy_timeout", "5"), ("fsync", "on")]
            .map(|(k, v)| (k.to_string(), v.to_string()))
            .into_iter()
            .collect();
        let spec = parse("sqlite:tier=durable,synchronous=extra").unwrap().complete(&common).unwrap();
        assert_eq!(spec.to_string(), "sqlite/rusqlite/thread:busy_timeout=5,journal_mode=wal,synchronous=extra");
    }

    fn value_of(setting: &'static Setting) -> BoxedStrategy<String> {
        match setting.values {
            Values::Words(words) => proptest::sample::select(words).prop_map(str::to_string).boxed(),
            Values::Integer(low, high) => (low..=high).prop_map(|n| n.to_string()).boxed(),
            Values::Text => "[a-z]{1,5}".boxed(),
            Values::Address(_) => "http://[a-z]{1,5}:[1-9]".boxed(),
        }
    }

    fn any_spec() -> impl Strategy<Value = Spec> {
        proptest::sample::select(ENGINES).prop_flat_map(|engine: &'static Engine| {
            let own = parse(engine.name).expect("its name is a spec").setting_names();
            let settings: Vec<_> = own
                .into_iter()
                .map(|name| {
                    let value = value_of(engine.setting(name).expect("its own setting"));
                    proptest::option::of(value).prop_map(move |value| (name, value))
                })
                .collect();
            (0..libraries(engine).count(), settings).prop_flat_map(move |(driver, pairs)| {
                let driver = libraries(engine).nth(driver).expect("one of them");
                proptest::sample::select(driver.model_names()).prop_map(move |model| {
                    let settings: Settings =
                        pairs.iter().filter_map(|(k, v)| Some(((*k).to_string(), v.clone()?))).collect();
                    let can_have = |name: &str| engine.may_name(Some(driver.name), Some(model), name);
                    let settings: Settings = settings.into_iter().filter(|(name, _)| can_have(name)).collect();
                    let implied = (engine.implied)(&settings).iter().map(|(k, v)| ((*k).to_string(), (*v).to_string()));
                    let settings: Settings = settings.clone().into_iter().chain(implied).collect();
                    Spec {
                        engine: engine.name.to_string(),
                        driver: driver.name.to_string(),
                        model: model.to_string(),
                        worker: None,
                        tier: engine.tier_of(&settings),
                        settings,
                    }
                })
            })
        })
    }

    proptest! {
        #[test]
        fn a_printed_spec_is_read_as_itself(spec in any_spec()) {
            let read = parse(&spec.to_string()).unwrap().complete(&Settings::new());
            prop_assert_eq!(read, Ok(spec));
        }
    }
}
