//! Contenders and the tiers they promise after a crash, as plain types. Engines interpret a contender's settings and
//! studies combine contenders, so neither room owns the type.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a crash may lose (see `docs/methodology.md`). Ordered: a greater tier loses less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// contend cannot see what keeps the data, or no setting and no proof says anything about it.
    Unknown,
    /// A power cut may corrupt the database.
    Unsafe,
    /// Consistent after a power cut; the last commits may be gone.
    Bounded,
    /// Every acknowledged commit is there.
    Durable,
}

impl Tier {
    /// Tiers that settings can reach.
    pub const ALL: [Tier; 3] = [Tier::Durable, Tier::Bounded, Tier::Unsafe];
    /// The groups of a report, in their order.
    pub const GROUPS: [Tier; 4] = [Tier::Durable, Tier::Bounded, Tier::Unsafe, Tier::Unknown];

    pub fn word(self) -> &'static str {
        match self {
            Tier::Unknown => "unknown",
            Tier::Unsafe => "unsafe",
            Tier::Bounded => "bounded",
            Tier::Durable => "durable",
        }
    }

    pub fn promise(self) -> &'static str {
        match self {
            Tier::Unknown => "what survives a power cut is not known here",
            Tier::Unsafe => "a power cut may corrupt the database",
            Tier::Bounded => "consistent after a power cut, but the last commits may be gone",
            Tier::Durable => "every acknowledged commit survives a power cut",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Engine, driver, model and settings under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contender {
    /// Canonical spec: `engine/driver/model[@worker]:key=value,...`, keys sorted.
    pub name: String,
    /// Short name in tables and charts, unique in the study.
    pub label: String,
    /// Name of the engine.
    pub engine: String,
    /// Name of the driver.
    pub driver: String,
    /// Name of the driver's model.
    pub model: String,
    /// Absolute path of a build of the worker, or of its directory, that the study or the command line named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Settings that the study or the command line named.
    pub settings: BTreeMap<String, String>,
    /// Tier that the settings reach.
    pub tier: Tier,
    /// Facts from the tables of engines and drivers at the start of the run.
    pub resolved: Resolved,
}

/// Facts about a contender that its name does not contain. They are taken once from the tables of engines and drivers
/// and stored in the record, so a report does not change when the tables do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Language of the driver, such as `Rust`; empty if the driver is not known.
    pub language: String,
    /// Whether the driver is the engine's default one.
    pub usual_driver: bool,
    /// Whether the driver executes nothing, so that the settings promise nothing.
    pub executes_nothing: bool,
    /// Whether the contender is a service, which keeps its data where contend cannot see it.
    pub service: bool,
    /// Contender on which the overhead of its worker is measured; absent for apps and for clients over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<NullDriver>,
    /// Properties that matter when choosing a driver, as pairs of name and value: `["cgo", "needed"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub driver_facts: Vec<(String, String)>,
    /// Value of every setting of the engine, defaults filled in.
    pub settings: BTreeMap<String, String>,
}

/// The null driver of a contender's worker, and the model it runs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullDriver {
    /// Driver that executes nothing.
    pub driver: String,
    /// Model in which it is measured.
    pub model: String,
}
