//! Settings of contenders, and their form in a plan.

use std::collections::BTreeMap;

/// Settings by name, as text, in canonical form.
pub type Settings = BTreeMap<String, String>;

/// Setting for how clients reach the database. Every engine has it, with its own values.
pub const TRANSPORT: &str = "transport";

/// Its value for clients that send requests to a serving worker, which has the driver.
pub const HTTP: &str = "http";

/// One setting of contenders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub values: Values,
    /// The value if the setting is not set.
    pub default: &'static str,
    pub about: &'static str,
}

/// Allowed values of a setting.
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

/// Checks the address of a service; the error is the mistake.
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
    /// The allowed values, in words.
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
    /// SQL that begins a writing transaction without its own way to begin.
    pub begin_write: Option<String>,
    /// Whether the data exists for one connection only.
    pub one_connection: bool,
    /// Whether nothing was set, so that values are read back and compared with nothing.
    pub only_read: bool,
    /// Address of the service to measure, instead of data.
    pub service: Option<String>,
    /// First process of the service, if it runs here and its use is to be measured.
    pub service_pid: Option<u32>,
}

impl Setup {
    /// Passes on those of these settings that a contender sets: a worker rejects settings that its model does not use.
    pub fn pass_on<'n>(&mut self, names: impl IntoIterator<Item = &'n str>, settings: &Settings) {
        for name in names {
            if let Some(value) = settings.get(name) {
                self.options.push((name.to_string(), value.clone()));
                // The worker reports it itself.
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
    /// Another accepted value, such as that of a version without the setting that always behaves this way.
    pub or: Option<&'static str>,
}

impl Expected {
    /// A setting read by SQL from every connection.
    pub(super) fn asked(name: &str, sql: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.to_string(), sql: sql.into(), value: value.into(), or: None }
    }

    /// A setting that the worker reports itself.
    pub(super) fn reported(name: &str, value: impl Into<String>) -> Self {
        Self::asked(name, "", value)
    }

    /// Whether the value found is accepted.
    pub fn is(&self, found: &str) -> bool {
        found == self.value || Some(found) == self.or
    }
}
