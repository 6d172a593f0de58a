//! The load: merges the `[load]` tables of a file.

use super::edition::Problem;
use super::file::{Layer, Load as Written};
use crate::load::Load;
use crate::units;

const DEFAULT_RUN_IN_NS: u64 = 500_000_000;
const DEFAULT_DRAIN_NS: u64 = 2_000_000_000;
/// Operations drawn for each client of a closed loop before it begins again.
pub const CYCLE: u32 = 16_384;
const DEFAULT_SEED: u64 = 1;

/// The load of a study's layers, key by key, and the run-in of a window that replaces its `operations`.
pub(super) fn read(layers: &[Layer]) -> Result<(Load, u64), Problem> {
    for layer in layers {
        check(layer)?;
    }
    // `window` and `operations` exclude each other: the first layer with either of them decides.
    let end =
        layers.iter().find(|layer| layer.load.is_some_and(|load| load.window.is_some() || load.operations.is_some()));
    let end =
        end.ok_or_else(|| Problem::new(&["load"], "has neither `window` nor `operations`: a trial needs an end"))?;
    let operations = end.load.and_then(|load| load.operations);
    let window_ns = match operations {
        Some(_) => 0,
        None => duration_ns(std::slice::from_ref(end), "window", |load| load.window.as_ref())?.unwrap_or_default(),
    };
    if operations.is_none() && window_ns == 0 {
        return Err(Problem::at(end.path, &["load", "window"], "must be longer than 0"));
    }
    // Operations are counted from the start, so a run-in would take some of them.
    let own_run_in_ns = duration_ns(std::slice::from_ref(end), "run_in", |load| load.run_in.as_ref())?;
    if operations.is_some() && own_run_in_ns.is_some_and(|ns| ns > 0) {
        let message = "a trial that ends after `operations` counts all of them: leave it out, or give a `window`";
        return Err(Problem::at(end.path, &["load", "run_in"], message));
    }
    let of_window_ns = duration_ns(layers, "run_in", |load| load.run_in.as_ref())?.unwrap_or(DEFAULT_RUN_IN_NS);
    let load = Load {
        processes: first(layers, |load| load.processes),
        clients: first(layers, |load| load.clients),
        operations,
        window_ns,
        run_in_ns: if operations.is_some() { 0 } else { of_window_ns },
        drain_ns: duration_ns(layers, "drain", |load| load.drain.as_ref())?.unwrap_or(DEFAULT_DRAIN_NS),
        rate_per_s: first(layers, |load| load.rate),
        arrivals: first(layers, |load| load.arrivals).unwrap_or_default(),
        cycle: first(layers, |load| load.cycle).unwrap_or(CYCLE),
        scale: first(layers, |load| load.scale).unwrap_or(1.0),
        seed: first(layers, |load| load.seed).unwrap_or(DEFAULT_SEED),
    };
    Ok((load, of_window_ns))
}

/// Whether a rate or a factor is finite and above 0.
pub(super) fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

fn first<T>(layers: &[Layer], key: impl Fn(&Written) -> Option<T>) -> Option<T> {
    layers.iter().find_map(|layer| layer.load.and_then(&key))
}

fn duration_ns<'f>(
    layers: &[Layer<'f>],
    key: &str,
    value: impl Fn(&'f Written) -> Option<&'f String>,
) -> Result<Option<u64>, Problem> {
    let found = layers.iter().find_map(|layer| Some((layer.path, layer.load.and_then(&value)?)));
    let Some((path, text)) = found else { return Ok(None) };
    units::duration_ns(text).map(Some).map_err(|message| Problem::at(path, &["load", key], message))
}

fn check(layer: &Layer) -> Result<(), Problem> {
    let Some(load) = layer.load else { return Ok(()) };
    let wrong = |key, message: &str| Err(Problem::at(layer.path, &["load", key], message));
    if load.window.is_some() && load.operations.is_some() {
        return wrong("operations", "a trial ends after `window` or after `operations`, not both");
    }
    for (key, count) in [
        ("processes", load.processes),
        ("clients", load.clients),
        ("operations", load.operations),
        ("cycle", load.cycle),
    ] {
        if count == Some(0) {
            return wrong(key, "must be at least 1");
        }
    }
    for (key, number) in [("rate", load.rate), ("scale", load.scale)] {
        if number.is_some_and(|number| !is_positive(number)) {
            return wrong(key, "must be more than 0");
        }
    }
    Ok(())
}
