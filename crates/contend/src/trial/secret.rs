//! Where the values of secrets come from, and that processes which contend starts do not inherit them.

use crate::record::model::Reason;
use crate::source::Source;
use crate::workload::{Asked, Workload, scenario};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::process::Command;

/// What the names of the environment variables begin with.
const PREFIX: &str = "CONTEND_SECRET_";

/// The environment variable that a secret is read from.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase())
}

/// Its value in the environment; none if it is empty or not there.
pub fn from_environment(name: &str) -> Option<String> {
    std::env::var(variable(name)).ok().filter(|value| !value.is_empty())
}

/// A file without what it says of secrets that the environment has: a record keeps its text, and the user who resumes the run has
/// to give them again.
///
/// # Errors
/// The file cannot be read as TOML.
pub fn from_environment_only(source: &Source) -> Result<Source> {
    let given: Vec<String> =
        scenario::secret_names(source)?.into_iter().filter(|name| from_environment(name).is_some()).collect();
    scenario::without_defaults(source, given.iter())
}

/// The workload with the values of its secrets: as given, else from the environment where its file has none.
///
/// # Errors
/// A secret without a value, and how to give it one.
pub fn told(mut workload: Workload, given: &BTreeMap<String, String>) -> Result<Workload> {
    for name in workload.secrets.lacking() {
        let value = given.get(&name).filter(|value| !value.is_empty()).cloned();
        match value.or_else(|| from_environment(&name)) {
            Some(value) => workload.secrets.tell(&name, value),
            None => bail!(
                "{}: the secret `{name}` has no value, as none is ever part of a record: set the environment variable {}",
                workload.name,
                variable(&name)
            ),
        }
    }
    Ok(workload)
}

/// A reason without the secrets that a service may have answered with.
pub fn shown(reason: Reason, workload: &Workload, asked: Option<&Asked>) -> Reason {
    Reason { detail: hidden(&reason.detail, workload, asked), ..reason }
}

/// A text without them.
pub fn hidden(text: &str, workload: &Workload, asked: Option<&Asked>) -> String {
    let text = workload.secrets.hidden(text);
    match asked {
        Some(asked) => asked.secrets.hidden(&text),
        None => text,
    }
}

/// A worker is told what it needs in its plan; the environment of a process can be read by others of the same user.
pub fn keep_from(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(PREFIX) {
            command.env_remove(name);
        }
    }
    command
}
