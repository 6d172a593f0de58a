//! One variant and extent of a study file before axes are applied, so that overrides from the command line can change
//! it.

use super::spec::Draft;
use crate::engine::Settings;
use crate::load;
use crate::load::Load;
use toml::{Table, Value};

/// Something wrong at a key of the file.
#[derive(Debug)]
pub(super) struct Problem {
    pub path: Vec<String>,
    pub message: String,
}

impl Problem {
    pub fn new(path: &[&str], message: impl Into<String>) -> Self {
        Self::at(&[], path, message)
    }

    pub fn at(prefix: &[&str], path: &[&str], message: impl Into<String>) -> Self {
        let path = prefix.iter().chain(path).map(ToString::to_string).collect();
        Self { path, message: message.into() }
    }
}

/// A contender before axes and common settings.
pub(super) struct Entry {
    pub draft: Draft,
    pub label: Option<String>,
    /// Path in the file; empty if it was typed.
    pub path: Vec<String>,
}

pub(super) struct Edition {
    pub headline: String,
    pub rounds: u32,
    pub baseline: Vec<String>,
    /// Path of the list of baselines in the file.
    pub baseline_path: Vec<String>,
    pub common: Settings,
    /// Path of the table of common settings in the file.
    pub common_path: Vec<String>,
    pub axes: Vec<Axis>,
    pub entries: Vec<Entry>,
    /// Contenders from the command line, which no axis multiplies.
    pub added: Vec<Entry>,
    pub load: Load,
    /// Run-in of a window, also of one that replaces `operations`.
    pub run_in_ns: u64,
    /// Name of the study's kind, and the values of its keys.
    pub kind: String,
    pub of_kind: Option<Table>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axis {
    pub name: String,
    pub values: Vec<String>,
    /// Whether it multiplies contenders instead of conditions.
    pub of_contenders: bool,
    /// Single value of a number of the workload that the study does not vary; labels leave it out.
    pub usual: Option<String>,
}

impl Axis {
    /// Sets `usual` if the study does not vary this number of the workload. Labels always name axes of load.
    pub fn with_usual(mut self) -> Self {
        if !self.of_contenders && !load::is_offered(&self.name) && self.values.len() == 1 {
            self.usual = self.values.first().cloned();
        }
        self
    }
}

/// The text of a value in the form in which settings are written on the command line.
pub(super) fn value_text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(n) => Ok(n.to_string()),
        Value::Float(x) => Ok(x.to_string()),
        Value::Boolean(on) => Ok(if *on { "on" } else { "off" }.to_string()),
        _ => Err("must be a text, a number or a boolean".to_string()),
    }
}
