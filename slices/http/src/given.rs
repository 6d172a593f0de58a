//! The command's values for a scenario's variables and secrets.

use crate::args::HttpArgs;
use anyhow::{Context, Result, bail, ensure};
use contend::source::Source;
use contend::trial::secret;
use contend::workload::scenario;
use std::collections::BTreeMap;

/// The secret that has its own option.
const PASSWORD: &str = "password";

/// Names and values as typed.
type Pairs = Vec<(String, String)>;

/// The command's values for a scenario.
pub struct Given {
    pub secrets: BTreeMap<String, String>,
    pub variables: Pairs,
    /// A profile instead of the scenario's, if no variable selects it.
    pub profile: Option<String>,
}

/// The values of a scenario's secrets (from `--set` or the environment) and variables (from `--set` or the options
/// with their names).
///
/// # Errors
/// A value that this scenario does not use, and how to give it correctly.
pub fn given(args: &HttpArgs, scenario: &Source) -> Result<Given> {
    let (mut secrets, mut variables) = set_of(scenario, &args.set)?;
    let known = scenario::variables(scenario)?;
    if let Some(password) = &args.password {
        let names = scenario::secret_names(scenario)?;
        ensure!(
            names.iter().any(|name| name == PASSWORD),
            "--password: {} has no [secret] `{PASSWORD}`",
            scenario.name
        );
        secrets.insert(PASSWORD.to_string(), password.clone());
    }
    let mut profile = None;
    for (option, value) in [("mode", &args.mode), ("user", &args.user)] {
        let Some(value) = value else { continue };
        ensure!(
            variables.iter().all(|(name, _)| name != option),
            "--{option} and --set {option}=... set the same variable"
        );
        match option {
            _ if known.contains_key(option) => variables.push((option.to_string(), value.clone())),
            "mode" => profile = Some(value.clone()),
            _ => bail!("--{option}: {}", not_a_variable(scenario, option, &known)),
        }
    }
    Ok(Given { secrets, variables, profile })
}

fn not_a_variable(scenario: &Source, name: &str, known: &BTreeMap<String, String>) -> String {
    let listed = match known.len() {
        0 => "none at all".to_string(),
        _ => known.keys().cloned().collect::<Vec<_>>().join(", "),
    };
    format!("{} has no [variable] `{name}`; it has {listed}; those are set with --set NAME=VALUE", scenario.name)
}

/// Secrets from the environment and `--set`, and variables from `--set`.
fn set_of(scenario: &Source, typed: &[String]) -> Result<(BTreeMap<String, String>, Pairs)> {
    let names = scenario::secret_names(scenario)?;
    let from_environment = |name: &String| Some((name.clone(), secret::from_environment(name)?));
    let mut secrets: BTreeMap<String, String> = names.iter().filter_map(from_environment).collect();
    let known = scenario::variables(scenario)?;
    let mut variables = vec![];
    for list in typed {
        let mut after = None;
        for (name, value) in set(list)? {
            if names.contains(&name) {
                after = Some(secret::variable(&name));
                secrets.insert(name, value);
                continue;
            }
            if let Some(variable) = after.as_ref().filter(|_| !known.contains_key(&name)) {
                // The name may be the rest of the secret, so it is not printed.
                bail!(
                    "--set: the text after the comma is not a variable of {}; give a secret that has a comma in the \
                     environment variable {variable}",
                    scenario.name
                );
            }
            variables.push((name, value));
        }
    }
    Ok((secrets, variables))
}

fn set(list: &str) -> Result<Pairs> {
    list.split(',')
        .map(|pair| {
            // The pair may be part of a password, so it is not printed.
            let (name, value) =
                pair.split_once('=').context("--set: write NAME=VALUE,NAME=VALUE; a value cannot have a comma")?;
            Ok((name.trim().to_string(), value.to_string()))
        })
        .collect()
}
