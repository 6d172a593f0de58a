//! Values of secrets: read from arguments or the environment, and kept from the processes that contend starts.

use crate::record::model::Reason;
use crate::source::Source;
use crate::workload::{Asked, Workload, scenario};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::process::Command;

/// Prefix of the environment variables.
const PREFIX: &str = "CONTEND_SECRET_";

/// The environment variable that a secret is read from.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase())
}

/// The value in the environment; `None` if it is empty or not set.
pub fn from_environment(name: &str) -> Option<String> {
    std::env::var(variable(name)).ok().filter(|value| !value.is_empty())
}

/// The file without the values of secrets that come from the environment. A record keeps its text, so the user who
/// resumes the run has to set them again.
///
/// # Errors
/// The file cannot be read as TOML.
pub fn from_environment_only(source: &Source) -> Result<Source> {
    let given: Vec<String> =
        scenario::secret_names(source)?.into_iter().filter(|name| from_environment(name).is_some()).collect();
    scenario::without_defaults(source, given.iter())
}

/// The workload with values for the secrets that its file leaves open: the given ones, else those in the environment.
///
/// # Errors
/// A secret without a value, and how to give it one.
pub fn filled_in(mut workload: Workload, given: &BTreeMap<String, String>) -> Result<Workload> {
    for name in workload.secrets.lacking() {
        let value = given.get(&name).filter(|value| !value.is_empty()).cloned();
        match value.or_else(|| from_environment(&name)) {
            Some(value) => workload.secrets.tell(&name, value),
            None => bail!(
                "{}: the secret `{name}` has no value, because a record never contains secrets: set the environment \
                 variable {}",
                workload.name,
                variable(&name)
            ),
        }
    }
    Ok(workload)
}

/// The reason with secrets masked: a service may have repeated one in its answer.
pub fn shown(reason: Reason, workload: &Workload, asked: Option<&Asked>) -> Reason {
    Reason { detail: hidden(&reason.detail, workload, asked), ..reason }
}

/// The text with secrets masked.
pub fn hidden(text: &str, workload: &Workload, asked: Option<&Asked>) -> String {
    let text = workload.secrets.hidden(text);
    match asked {
        Some(asked) => asked.secrets.hidden(&text),
        None => text,
    }
}

/// Variables that change how fast programs run or what they do, and are in no record. A command that sets them is in the record.
const STEERING: [&str; 14] = [
    "LD_AUDIT",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "MALLOC_PERTURB_",
    "NODE_OPTIONS",
    "NODE_V8_COVERAGE",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "GOGC",
    "GOMEMLIMIT",
    "GOMAXPROCS",
    "GODEBUG",
];

/// Removes from the environment of a worker what would change its speed, and secrets.
pub fn keep_plain(command: &mut Command) -> &mut Command {
    for name in STEERING {
        command.env_remove(name);
    }
    keep_from(command)
}

/// Removes secrets from the environment of a command. Other processes of the same user can read it; workers get what
/// they need in their plan.
pub fn keep_from(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(PREFIX) {
            command.env_remove(name);
        }
    }
    command
}
