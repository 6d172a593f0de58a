//! A place in the file, for messages, and the numbers written there in several forms.

use crate::source::{FileError, Source};
use crate::units::duration_ns;
use crate::workload::model::{Count, Named};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Value;

/// A key of the file.
#[derive(Debug, Clone)]
pub struct At<'a> {
    source: &'a Source,
    path: Vec<String>,
}

impl<'a> At<'a> {
    pub fn new(source: &'a Source) -> Self {
        Self { source, path: vec![] }
    }

    /// The key below this one.
    pub fn key(&self, key: impl ToString) -> Self {
        let mut path = self.path.clone();
        path.push(key.to_string());
        Self { source: self.source, path }
    }

    /// The directory of the file.
    pub fn dir(&self) -> PathBuf {
        Path::new(&self.source.name).parent().map(Path::to_path_buf).unwrap_or_default()
    }

    pub fn error(&self, message: impl Into<String>) -> FileError {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        self.source.error(&path, message)
    }

    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, FileError> {
        Err(self.error(message))
    }

    /// Reads a TOML value as a type.
    pub fn read<T: DeserializeOwned>(&self, value: &Value) -> Result<T, FileError> {
        value.clone().try_into().map_err(|e: toml::de::Error| self.error(e.message()))
    }

    /// `5`, `"name"`, `"4*name"`, or `"fixed*name"` with a fixed name of `[scale]`.
    pub fn count(&self, value: &Value, scale: &BTreeMap<String, Named>) -> Result<Count, FileError> {
        let text = match value {
            Value::Integer(n) => {
                let factor = u64::try_from(*n).map_err(|_| self.error(format!("{n} is negative")))?;
                return Ok(Count { factor, name: None });
            }
            Value::String(text) => text,
            other => {
                return self.fail(format!("expected a number, `\"name\"` or `\"4*name\"`, found {}", other.type_str()));
            }
        };
        let (factor, name) = match text.split_once('*') {
            None => (1, text.trim()),
            Some((factor, name)) if scale.contains_key(factor.trim()) => {
                (self.fixed(&Value::String(factor.trim().to_string()), scale)?, name.trim())
            }
            Some((factor, name)) => {
                let number = factor.trim().parse();
                let wrong = || format!("`{}` is neither a whole number nor in [scale]", factor.trim());
                (number.map_err(|_| self.error(wrong()))?, name.trim())
            }
        };
        if !scale.contains_key(name) {
            return self.fail(format!("`{name}` is not in [scale]{}", listed(scale.keys())));
        }
        Ok(Count { factor, name: Some(name.to_string()) })
    }

    /// A count that the scale does not change.
    pub fn fixed<T: TryFrom<u64>>(&self, value: &Value, scale: &BTreeMap<String, Named>) -> Result<T, FileError> {
        let count = self.count(value, scale)?;
        if let Some(name) = count.name.as_ref().filter(|name| !scale[*name].fixed) {
            return self.fail(format!(
                "`{name}` is multiplied by --scale, which is not possible here; write `{name} = {{ fixed = ... }}`"
            ));
        }
        let number = count.at(scale, 1.0);
        T::try_from(number).map_err(|_| self.error(format!("{number} is too large")))
    }

    /// `100ms`, or `name*1ms` with a fixed name of `[scale]`.
    pub fn duration(&self, text: &str, scale: &BTreeMap<String, Named>) -> Result<u64, FileError> {
        let (times, unit) = match text.split_once('*') {
            None => (1, text),
            Some((name, unit)) => (self.fixed::<u64>(&Value::String(name.trim().to_string()), scale)?, unit),
        };
        duration_ns(unit)
            .ok()
            .and_then(|ns| ns.checked_mul(times))
            .ok_or_else(|| self.error(format!("`{text}` is not a duration such as `10ms`, `0.5s` or `name*1ms`")))
    }
}

/// ` (it has a, b)`, for messages about names that are not there.
pub fn listed<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!(" (there are {})", names.join(", ")) }
}
