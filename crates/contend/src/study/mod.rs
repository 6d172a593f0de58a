//! Questions: which contenders, under which conditions, how often.
//!
//! A study file (`file`) is read per variant and extent (`edition`), multiplied out along its axes (`axis`,
//! `label`), checked with its answers (`questions`, `sentence`) and becomes a [`model::Study`]
//! ([`resolve()`]), from which the order of the trials follows ([`schedule()`]). Pure: no file is opened
//! and no clock read. `docs/study-file.md` explains every key.

mod along;
mod axis;
pub mod blank;
mod choices;
mod dependence;
mod edition;
mod estimate;
mod export;
mod file;
mod grid;
mod keys;
pub mod kind;
mod label;
mod layers;
pub mod layout;
mod load;
mod metric;
pub mod model;
mod own;
pub mod pairs;
mod parts;
mod questions;
mod readback;
mod resolve;
mod schedule;
mod sentence;
pub mod spec;
mod spelling;
pub mod until;
mod vocabulary;

pub use choices::{Choices, parse_set};
pub use estimate::{estimate_left_ns, estimate_ns};
pub use layers::ROUNDS_MAX;
pub use load::CYCLE;
pub use resolve::{StudyError, check_quick, leave_out, resolve, resolve_parts};
pub use schedule::{SplitMix64, schedule, seed_of_round, slots};
pub use vocabulary::{Vocabulary, check_vocabulary};

use crate::registry::Registry;
use crate::source::{Source, did_you_mean};
use anyhow::{Context, Result, bail};

/// Begins the name of the source of an embedded study.
const BUILTIN_PREFIX: &str = "built-in study ";

/// Name and text of a study that is part of the program.
pub type Embedded = (&'static str, &'static str);

/// Studies that slices bring.
#[cfg(not(test))]
pub static OF_SLICES: Registry<Embedded> = Registry::empty();
#[cfg(test)]
pub static OF_SLICES: Registry<Embedded> = Registry::with(&[&tests::kind::STUDY]);

const BUILTIN: &[Embedded] = &[
    ("wordpress", include_str!("../../../../studies/wordpress.toml")),
    ("async", include_str!("../../../../studies/async.toml")),
    ("backlog", include_str!("../../../../studies/backlog.toml")),
    ("go-drivers", include_str!("../../../../studies/go-drivers.toml")),
    ("plex", include_str!("../../../../studies/plex.toml")),
    ("gameplan", include_str!("../../../../studies/gameplan.toml")),
    ("languages", include_str!("../../../../studies/languages.toml")),
    ("locked", include_str!("../../../../studies/locked.toml")),
    ("wordpress-driver", include_str!("../../../../studies/wordpress-driver.toml")),
    ("wordpress-http", include_str!("../../../../studies/wordpress-http.toml")),
];

fn embedded() -> impl Iterator<Item = &'static Embedded> {
    BUILTIN.iter().chain(OF_SLICES.all().iter().copied())
}

/// The embedded study of this name.
pub fn builtin(name: &str) -> Option<Source> {
    let (name, text) = embedded().find(|(found, _)| *found == name)?;
    Some(Source::new(format!("{BUILTIN_PREFIX}{name}"), *text))
}

/// Names of the embedded studies.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    embedded().map(|(name, _)| *name)
}

/// A study by its built-in name, or from a file that `read` reads.
///
/// # Errors
/// The file cannot be read, or the name is not known.
pub fn open(name_or_path: &str, read: impl Fn(&str) -> std::io::Result<String>) -> Result<Source> {
    if let Some(source) = builtin(name_or_path) {
        return Ok(source);
    }
    if !name_or_path.ends_with(".toml") && !name_or_path.contains('/') {
        let names: Vec<&str> = builtin_names().collect();
        let advice = did_you_mean(name_or_path, names.iter().copied());
        bail!(
            "there is no study `{name_or_path}`{advice}: name one of {}, or a file that ends in .toml",
            names.join(", ")
        );
    }
    let text = read(name_or_path).with_context(|| format!("cannot read study {name_or_path}"))?;
    Ok(Source::new(name_or_path, text))
}

#[cfg(test)]
pub(crate) mod tests;
