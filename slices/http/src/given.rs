//! What the command says of a scenario's variables and secrets.

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

/// What the command gives of a scenario.
pub struct Given {
    pub secrets: BTreeMap<String, String>,
    pub variables: Pairs,
    /// A profile that takes the place of the scenario's, where no variable chooses it.
    pub profile: Option<String>,
}

/// What was given of a scenario's secrets, with `--set` or in the environment, and of its variables, with `--set` or the
/// options that are named like them.
///
/// # Errors
/// What was typed and means nothing for this scenario, and how it is said.
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
        ensure!(variables.iter().all(|(name, _)| name != option), "--{option} and --set {option}=... say the same");
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

/// Secrets of the environment and of `--set`, and variables of `--set`.
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
                // It may be the rest of the secret, so it is not shown.
                bail!(
                    "--set: what follows the secret, after a comma, is no variable of {}; a secret that has a comma \
                     is given in the environment variable {variable}",
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
            // It may be part of a password, so it is not shown.
            let (name, value) =
                pair.split_once('=').context("--set: write NAME=VALUE,NAME=VALUE; a value cannot have a comma")?;
            Ok((name.trim().to_string(), value.to_string()))
        })
        .collect()
}
