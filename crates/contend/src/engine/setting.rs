//! Settings that contenders may name, and what a plan makes of them.

use std::collections::BTreeMap;

/// Settings by name, as text, in canonical form.
pub type Settings = BTreeMap<String, String>;

/// The setting that says how clients reach the database. Every engine has it, with its own values.
pub const TRANSPORT: &str = "transport";

/// Its value for clients that ask a worker over HTTP, in which the driver is.
pub const HTTP: &str = "http";

/// One setting a contender may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub values: Values,
    /// The value where the setting is not named.
    pub default: &'static str,
    pub about: &'static str,
}

/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number in this range.
    Integer(i64, i64),
    /// Any text that is not empty.
    Text,
    /// The address of a service.
    Address(CheckAddress),
}

/// Says what is wrong with the address of a service.
#[derive(Debug, Clone, Copy)]
pub struct CheckAddress(pub fn(&str) -> Result<(), String>);

impl PartialEq for CheckAddress {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for CheckAddress {}

impl Setting {
    /// The canonical form of a value.
    ///
    /// # Errors
    /// What the setting may be, in words.
    pub fn canonical(&self, value: &str) -> Result<String, String> {
        let value = value.trim();
        let word = value.to_ascii_lowercase();
        match self.values {
            Values::Text if value.is_empty() => Err(format!("`{}` is empty", self.name)),
            Values::Text => Ok(value.to_string()),
            Values::Address(CheckAddress(check)) => check(value).map(|()| value.to_string()),
            Values::Words(words) if words.contains(&word.as_str()) => Ok(word),
            Values::Words(words) => {
                Err(format!("`{}` cannot be `{word}`; it is one of {}", self.name, words.join(", ")))
            }
            Values::Integer(low, high) => match word.parse::<i64>() {
                Ok(n) if (low..=high).contains(&n) => Ok(n.to_string()),
                _ => Err(format!("`{}` cannot be `{word}`; it is a whole number from {low} to {high}", self.name)),
            },
        }
    }
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
    /// The data is there for one connection only.
    pub one_connection: bool,
    /// Nothing was set: what is read back is reported only.
    pub only_told: bool,
    /// Where the clients go instead of the data: a service that is not contend's.
    pub service: Option<String>,
}

impl Setup {
    /// Adds the settings with these names that a contender names: a worker rejects those its model has no use for.
    pub fn pass_on<'n>(&mut self, names: impl IntoIterator<Item = &'n str>, settings: &Settings) {
        for name in names {
            if let Some(value) = settings.get(name) {
                self.options.push((name.to_string(), value.clone()));
                // The worker reports it by itself.
                self.readbacks.push(Expected::reported(name, value));
            }
        }
    }
}

/// A setting that is read back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    pub name: String,
    pub sql: String,
    pub value: String,
    /// What will do as well, such as the answer of a version that has no such setting and works that way always.
    pub or: Option<&'static str>,
}

impl Expected {
    /// Asked of every connection.
    pub(super) fn asked(name: &str, sql: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.to_string(), sql: sql.into(), value: value.into(), or: None }
    }

    /// Reported by the worker, of itself.
    pub(super) fn reported(name: &str, value: impl Into<String>) -> Self {
        Self::asked(name, "", value)
    }

    /// Whether this is what was to be found.
    pub fn is(&self, found: &str) -> bool {
        found == self.value || Some(found) == self.or
    }
}
