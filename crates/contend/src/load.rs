//! How hard and how long clients work, and the axes for it that every study has. `study` and `workload` both depend on
//! this, and not on each other.

use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An axis that is available in every study, for any workload.
pub struct Axis {
    pub name: &'static str,
    /// Its name in conditions.
    pub key: &'static str,
    /// Whether study files and options may set it; otherwise only the command itself does.
    pub is_offered: bool,
}

const fn axis(name: &'static str) -> Axis {
    Axis { name, key: name, is_offered: true }
}

/// Axis of the number of processors that a trial may use.
pub const PROCESSORS: &str = "processors";

/// All axes of load. A workload's own numbers must have other names.
pub const AXES: [Axis; 8] = [
    axis("profile"),
    axis("clients"),
    axis("duration"),
    Axis { is_offered: false, ..axis("operations_each") },
    axis("processes"),
    axis(PROCESSORS),
    Axis { key: "rate_per_s", ..axis("rate") },
    axis("scale"),
];

/// Names that study files and options may set.
pub fn offered() -> impl Iterator<Item = &'static str> {
    AXES.iter().filter(|axis| axis.is_offered).map(|axis| axis.name)
}

/// Whether a study file or an option may set an axis of this name.
pub fn is_offered(name: &str) -> bool {
    offered().any(|known| known == name)
}

/// Names that a workload may not use for its own numbers, in alphabetical order.
pub fn reserved() -> Vec<&'static str> {
    let mut names: Vec<&str> = AXES.iter().flat_map(|axis| [axis.name, axis.key]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The key of an axis in conditions, given its name in study files.
pub fn key(name: &str) -> &str {
    AXES.iter().find(|axis| axis.name == name).map_or(name, |axis| axis.key)
}

/// How hard and how long the clients work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Processes per role; `None`: as the workload's roles say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Clients in each process; `None`: as the workload's roles say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Operations of each client; `None` if the window decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u32>,
    /// Length of the measured window; 0 if `operations` decides.
    pub window_ns: u64,
    pub run_in_ns: u64,
    pub drain_ns: u64,
    /// Arrivals per second over all clients; `None` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Operations drawn for each closed-loop client, which repeats them.
    pub cycle: u32,
    /// Multiplies the workload's row counts.
    pub scale: f64,
    pub seed: u64,
}

/// Spacing of arrivals in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    #[default]
    Poisson,
    Constant,
}

impl Load {
    /// `open` or `closed`.
    pub fn model(&self) -> &'static str {
        if self.rate_per_s.is_some() { "open" } else { "closed" }
    }

    /// The load with a condition's axes applied.
    pub fn under(&self, axes: &BTreeMap<String, String>) -> Self {
        let axis = |name| axes.get(name);
        let count = |name, else_| axis(name).map_or(else_, |n: &String| n.parse().ok());
        let mut load = self.clone();
        load.processes = count("processes", load.processes);
        load.clients = count("clients", load.clients);
        load.operations = count("operations_each", load.operations);
        load.rate_per_s = axis("rate_per_s").map_or(load.rate_per_s, |rate| rate.parse().ok());
        if let Some(window_ns) = axis("duration").and_then(|text| units::duration_ns(text).ok()) {
            (load.window_ns, load.operations) = (window_ns, None);
        }
        load.scale = axis("scale").and_then(|scale| scale.parse().ok()).unwrap_or(load.scale);
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_but_profile_and_processors_changes_the_load() {
        let load = Load {
            processes: None,
            clients: None,
            operations: None,
            window_ns: 1,
            run_in_ns: 0,
            drain_ns: 0,
            rate_per_s: None,
            arrivals: Arrivals::Poisson,
            cycle: 1,
            scale: 1.0,
            seed: 1,
        };
        for axis in AXES.iter().filter(|axis| !["profile", PROCESSORS].contains(&axis.name)) {
            let value = if axis.name == "duration" { "7s" } else { "7" };
            let changed = load.under(&BTreeMap::from([(axis.key.to_string(), value.to_string())]));
            assert_ne!(changed, load, "{}", axis.name);
        }
    }

    #[test]
    fn names_and_keys_of_axes_are_reserved() {
        let expected = [
            "clients",
            "duration",
            "operations_each",
            "processes",
            PROCESSORS,
            "profile",
            "rate",
            "rate_per_s",
            "scale",
        ];
        assert_eq!(reserved(), expected);
    }
}
