//! Database products contend can measure. Everything the rest of the tool knows about an engine is one
//! [`Engine`] value: its drivers, its table of settings, and how settings become a durability tier and
//! the statements of a connection. Adding an engine adds one file here and one entry to [`ENGINES`].

pub mod sqlite;

use crate::outcome::codes_worth_retrying;
use crate::study::model::Tier;
use contend_wire::plan::Retry;
use contend_wire::sample::CodeSpace;
use std::collections::BTreeMap;

/// Settings by name, as text, in canonical form.
pub type Settings = BTreeMap<String, String>;

/// A database product.
#[derive(Debug)]
pub struct Engine {
    pub name: &'static str,
    pub about: &'static str,
    /// The first is the default.
    pub drivers: &'static [Driver],
    pub settings: &'static [Setting],
    /// The tier that settings reach; settings not given have the engine's default.
    pub tier: fn(&Settings) -> Tier,
    /// The settings that `tier = "..."` stands for.
    pub tier_settings: fn(Tier) -> &'static [(&'static str, &'static str)],
    /// How the settings are applied and read back.
    pub setup: fn(&Settings) -> Setup,
    /// Statements on the connection that loads data: settings that are fixed once the data is there.
    pub before_load: fn(&Settings) -> Vec<String>,
    /// Whether one sync of the disk can make several transactions durable at once.
    pub group_commit: bool,
    /// The engine's own check of its data, and the answer it must give.
    pub integrity: (&'static str, &'static str),
    /// Statements after which the data takes no more room than it needs.
    pub compact: &'static [&'static str],
    /// Whose codes its errors are.
    pub code_space: CodeSpace,
}

/// A client library and the models in which a worker can use it.
#[derive(Debug)]
pub struct Driver {
    pub name: &'static str,
    pub language: &'static str,
    /// The first is the default.
    pub models: &'static [&'static str],
    pub about: &'static str,
}

/// One setting a contender may name.
#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub values: Values,
    /// What holds when it is not named.
    pub default: &'static str,
    pub about: &'static str,
}

/// What a setting may be.
#[derive(Debug)]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number in this range.
    Integer(i64, i64),
}

/// Settings as a plan carries them out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// Options of the worker.
    pub options: Vec<(String, String)>,
    /// Run on every new connection.
    pub session: Vec<String>,
    /// Read back from every connection, each with the value that must be found.
    pub readbacks: Vec<Expected>,
    /// Run once on fresh data, before any worker connects.
    pub prepare: Vec<String>,
    /// SQL that begins a transaction that writes and does not say itself how.
    pub begin_write: Option<String>,
}

/// A setting that is read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub name: String,
    pub sql: String,
    pub value: String,
}

/// Settings that belong to the harness and not to an engine: every contender may name them.
pub const COMMON_SETTINGS: &[Setting] = &[
    Setting {
        name: "retry",
        values: Values::Words(&["none", "spin", "backoff"]),
        default: "none",
        about: "after a conflict or lock timeout: give up, try again at once, or wait 1, 2, 5, 10, 20, 50 ms (with jitter) first",
    },
    Setting {
        name: "retry_tries",
        values: Values::Integer(1, 65_535),
        default: "10",
        about: "attempts of one operation at most, when retry is spin or backoff",
    },
];

/// All engines.
pub const ENGINES: &[&Engine] = &[&sqlite::ENGINE];

/// The engine of this name.
pub fn find(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().copied().find(|engine| engine.name == name)
}

/// Waits of `retry = "backoff"`, in milliseconds; the last one repeats.
const BACKOFF_MS: [u64; 6] = [1, 2, 5, 10, 20, 50];

impl Engine {
    /// What the settings say about trying again.
    pub fn retry(&self, settings: &Settings) -> Retry {
        let tries = self.value(settings, "retry_tries").parse().unwrap_or(1);
        let codes = || codes_worth_retrying(self.code_space);
        match self.value(settings, "retry") {
            "spin" => Retry { tries, codes: codes(), ..Retry::never() },
            "backoff" => Retry {
                tries,
                backoff_ns: BACKOFF_MS.map(|ms| ms * 1_000_000).to_vec(),
                // Half to one and a half times the wait, in an order that does not repeat soon.
                jitter_permille: (0..97).map(|i| 500 + (i * 61 % 97) * 1000 / 97).collect(),
                codes: codes(),
            },
            _ => Retry::never(),
        }
    }

    /// The setting of this name, the engine's own or a common one.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().chain(COMMON_SETTINGS).find(|setting| setting.name == name)
    }

    /// Names of all settings, for messages.
    pub fn setting_names(&self) -> Vec<&'static str> {
        self.settings.iter().chain(COMMON_SETTINGS).map(|setting| setting.name).collect()
    }

    /// The value of a setting, its default if it is not named.
    pub fn value<'s>(&self, settings: &'s Settings, name: &str) -> &'s str {
        settings
            .get(name)
            .map(String::as_str)
            .unwrap_or_else(|| self.setting(name).expect("a setting of this engine").default)
    }
}

impl Setting {
    /// The canonical form of a value.
    ///
    /// # Errors
    /// What the setting may be, in words.
    pub fn canonical(&self, value: &str) -> Result<String, String> {
        let value = value.trim().to_ascii_lowercase();
        match self.values {
            Values::Words(words) if words.contains(&value.as_str()) => Ok(value),
            Values::Words(words) => {
                Err(format!("`{}` cannot be `{value}`; it is one of {}", self.name, words.join(", ")))
            }
            Values::Integer(low, high) => match value.parse::<i64>() {
                Ok(n) if (low..=high).contains(&n) => Ok(n.to_string()),
                _ => Err(format!("`{}` cannot be `{value}`; it is a whole number from {low} to {high}", self.name)),
            },
        }
    }
}
