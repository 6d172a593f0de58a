//! The load that a study sets for its trials under a condition.

use super::model::{Condition, Load};
use crate::units;

/// The load under a condition that may set some of it.
pub fn load_under(load: &Load, condition: &Condition) -> Load {
    let axis = |name| condition.axes.get(name);
    let count = |name, else_| axis(name).map_or(else_, |n: &String| n.parse().ok());
    let mut load = load.clone();
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
