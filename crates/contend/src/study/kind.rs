//! Kinds of study: what trials do beyond their window. The core has `load`, which adds nothing; slices register others
//! with their own keys.
//!
//! The keys of a kind are in a table with its name: `[limit]` for `kind = "limit"`, overlaid by `[quick.limit]`. The
//! core reads, checks and records their values; only the slice interprets them.

use crate::contender::Contender;
use crate::registry::Registry;
use crate::source::did_you_mean;
use crate::units;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The kind of study that every contend has: many clients carry out a mix of transactions.
pub const LOAD: &str = "load";

/// A kind of study in study files.
#[derive(Debug)]
pub struct Kind {
    /// Word after `kind =`, and name of its table in study files and records.
    pub name: &'static str,
    /// Keys of its table.
    pub keys: &'static [Key],
    /// The verb that carries out studies of this kind.
    pub verb: &'static str,
    /// Whether writing transactions leave marks, by which they are found in the data.
    pub marks: bool,
    /// Time that a contender's sequel takes beyond its window, ns, from the recorded values.
    pub estimate_ns: fn(&Table, &Contender) -> u64,
}

/// A key in the table of a kind.
#[derive(Debug)]
pub struct Key {
    /// Name in study files, and after `--set` if it is `settable`.
    pub name: &'static str,
    /// Name in records, with the unit: `window_ns`.
    pub recorded: &'static str,
    pub takes: Takes,
    /// Value if the key is left out, as typed after `--set`; empty: the record has none.
    pub otherwise: &'static str,
    /// Whether `--set NAME=VALUE,...` changes it.
    pub settable: bool,
}

/// Values that a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// A whole number.
    Number {
        least: u32,
        most: u32,
    },
    /// A list with at least one of these words.
    Words(&'static [&'static str]),
    /// A duration longer than 0, recorded in ns.
    Duration,
    Text,
    /// A list of texts, each of which the slice reads; the error says how to write one.
    Checked(fn(&str) -> Result<(), String>),
}

/// Kinds from slices.
#[cfg(not(test))]
pub static KINDS: Registry<Kind> = Registry::empty();
#[cfg(test)]
pub static KINDS: Registry<Kind> = Registry::with(&[&super::tests::kind::KIND]);

/// The kind of this name; `None` for [`LOAD`] and for unknown ones.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.all().iter().copied().find(|kind| kind.name == name)
}

/// Tables by kind of study, as a record keeps them: keys of a study, or results of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tables(BTreeMap<String, Table>);

impl<'de> Deserialize<'de> for Tables {
    /// Takes every table that is not a field of the struct; other unknown fields are ignored.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let table = |(name, value)| match value {
            Value::Table(table) => Some((name, table)),
            _ => None,
        };
        Ok(Self(all.into_iter().filter_map(table).collect()))
    }
}

impl FromIterator<(String, Table)> for Tables {
    fn from_iter<I: IntoIterator<Item = (String, Table)>>(tables: I) -> Self {
        Self(tables.into_iter().collect())
    }
}

impl Tables {
    pub fn get(&self, kind: &str) -> Option<&Table> {
        self.0.get(kind)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Table)> {
        self.0.iter().map(|(kind, table)| (kind.as_str(), table))
    }

    /// The table of a kind as the slice's type; `None` if it is missing or does not fit.
    pub fn read<T: DeserializeOwned>(&self, kind: &str) -> Option<T> {
        self.get(kind)?.clone().try_into().ok()
    }

    /// Sets the table of a kind.
    ///
    /// # Errors
    /// The value cannot be written as a table of TOML.
    pub fn put<T: Serialize>(&mut self, kind: &str, value: &T) -> Result<(), toml::ser::Error> {
        self.0.insert(kind.to_string(), Table::try_from(value)?);
        Ok(())
    }
}

impl Takes {
    /// A value as written in a study file.
    pub(super) fn written(self, value: &Value) -> Result<Value, String> {
        match (self, value) {
            (Takes::Number { .. }, Value::Integer(n)) => self.number(*n),
            (Takes::Number { .. }, _) => Err("must be a whole number".to_string()),
            (Takes::Words(_) | Takes::Checked(_), Value::Array(values)) => {
                let word = |value: &Value| value.as_str().map(str::to_string).ok_or("must be a list of words");
                self.typed(&values.iter().map(word).collect::<Result<Vec<_>, _>>()?)
            }
            (Takes::Words(_) | Takes::Checked(_), _) => Err("must be a list of words".to_string()),
            (Takes::Duration, Value::String(text)) => self.typed(std::slice::from_ref(text)),
            (Takes::Duration, _) => Err("must be a duration, such as \"500ms\"".to_string()),
            (Takes::Text, Value::String(_)) => Ok(value.clone()),
            (Takes::Text, _) => Err("must be a text".to_string()),
        }
    }

    /// A value as typed after `--set`.
    pub(super) fn typed(self, values: &[String]) -> Result<Value, String> {
        match (self, values) {
            (Takes::Words(known), words) => checked(words, known),
            (Takes::Checked(read), texts) => {
                texts.iter().try_for_each(|text| read(text))?;
                Ok(Value::Array(texts.iter().cloned().map(Value::String).collect()))
            }
            (Takes::Number { .. }, [one]) => {
                self.number(one.parse().map_err(|_| format!("`{one}` is not a whole number"))?)
            }
            (Takes::Number { .. }, _) => Err("takes one number".to_string()),
            (Takes::Duration, [one]) => match units::duration_ns(one)? {
                0 => Err("must be longer than 0".to_string()),
                ns => i64::try_from(ns).map(Value::Integer).map_err(|_| "is too long".to_string()),
            },
            (Takes::Text, [one]) => Ok(Value::String(one.clone())),
            (Takes::Duration | Takes::Text, _) => Err("takes one value".to_string()),
        }
    }

    fn number(self, n: i64) -> Result<Value, String> {
        match self {
            Takes::Number { least, .. } if n < i64::from(least) => Err(format!("must be at least {least}")),
            Takes::Number { most, .. } if n > i64::from(most) => Err(format!("must be at most {most}")),
            _ => Ok(Value::Integer(n)),
        }
    }
}

fn checked(words: &[String], known: &[&str]) -> Result<Value, String> {
    if words.is_empty() {
        return Err(format!("needs at least one of {}", known.join(", ")));
    }
    match words.iter().find(|word| !known.contains(&word.as_str())) {
        Some(word) => {
            let advice = did_you_mean(word, known.iter().copied());
            Err(format!("`{word}` is not one of {}{advice}", known.join(", ")))
        }
        None => Ok(Value::Array(words.iter().cloned().map(Value::String).collect())),
    }
}

impl Kind {
    pub(super) fn key(&self, name: &str) -> Result<&'static Key, String> {
        self.keys.iter().find(|key| key.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.keys.iter().map(|key| key.name).collect();
            let advice = did_you_mean(name, names.iter().copied());
            format!("there is no such key{advice}; keys are {}", names.join(", "))
        })
    }

    /// Defaults of all keys that have one.
    ///
    /// # Errors
    /// A bug of the slice: a default that its key does not accept.
    pub fn defaults(&self) -> Result<Table, String> {
        let given = self.keys.iter().filter(|key| !key.otherwise.is_empty());
        let value = |key: &Key| {
            let values: Vec<String> = match key.takes {
                Takes::Words(_) => key.otherwise.split(',').map(str::to_string).collect(),
                _ => vec![key.otherwise.to_string()],
            };
            let value = key.takes.typed(&values).map_err(|message| format!("{}: {message}", key.name))?;
            Ok((key.recorded.to_string(), value))
        };
        given.map(value).collect()
    }
}
