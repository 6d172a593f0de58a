//! Studies: which contenders, under which conditions, how often.
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
pub mod spelling;
pub mod until;
mod vocabulary;
pub mod with_setting;

pub use crate::source::library::Embedded;
pub use axis::axis_words;
pub use choices::{Choices, parse_set};
pub use estimate::{assumed_operation_ns, estimate_left_ns, estimate_ns};
pub use label::check_label;
pub use layers::ROUNDS_MAX;
pub use load::CYCLE;
pub use resolve::{StudyError, check_quick, leave_out, resolve, resolve_parts};
pub use schedule::{SplitMix64, schedule, seed_of_round, slots};
pub use vocabulary::{Vocabulary, at_axis, check_vocabulary, resolve_named};

use crate::registry::Registry;
use crate::source::library::Library;

/// The studies that are part of the program; those of slices come last.
pub static LIBRARY: Library =
    Library { kind: "study", all: || BUILT_IN.iter().chain(OF_SLICES.all().iter().copied()).copied().collect() };

/// Studies from slices.
#[cfg(not(test))]
pub static OF_SLICES: Registry<Embedded> = Registry::empty();
#[cfg(test)]
pub static OF_SLICES: Registry<Embedded> = Registry::with(&[&tests::kind::STUDY]);

const BUILT_IN: &[Embedded] = &[
    ("wordpress", include_str!("../../../../studies/wordpress.toml")),
    ("async", include_str!("../../../../studies/async.toml")),
    ("backlog", include_str!("../../../../studies/backlog.toml")),
    ("go-drivers", include_str!("../../../../studies/go-drivers.toml")),
    ("plex", include_str!("../../../../studies/plex.toml")),
    ("gameplan", include_str!("../../../../studies/gameplan.toml")),
    ("languages", include_str!("../../../../studies/languages.toml")),
    ("locked", include_str!("../../../../studies/locked.toml")),
    ("wordpress-driver", include_str!("../../../../studies/wordpress-driver.toml")),
    ("wordpress-rate", include_str!("../../../../studies/wordpress-rate.toml")),
    ("wordpress-http", include_str!("../../../../studies/wordpress-http.toml")),
];

#[cfg(test)]
pub(crate) mod tests;
