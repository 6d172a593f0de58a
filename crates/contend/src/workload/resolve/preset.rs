//! `[preset.AXIS.VALUE]`: numbers of `[scale]` that are set together, under one name.

use super::at::{At, listed};
use crate::load;
use crate::source::FileError;
use std::collections::BTreeMap;
use toml::Value;

/// Numbers by axis and value.
type Presets = BTreeMap<String, BTreeMap<String, BTreeMap<String, u64>>>;

/// The axes with every preset replaced by its numbers. A number that is an axis itself wins over a preset.
///
/// # Errors
/// A preset with the name of something else or an unknown number, two presets that set the same number, or an unknown
/// value of a preset.
pub fn expanded(
    presets: &Presets,
    scale: &BTreeMap<String, Value>,
    axes: &BTreeMap<String, String>,
    at: &At<'_>,
) -> Result<BTreeMap<String, String>, FileError> {
    for (axis, values) in presets {
        check(axis, values, scale, &at.key(axis))?;
    }
    let (chosen, mut numbers): (BTreeMap<_, _>, BTreeMap<_, _>) =
        axes.clone().into_iter().partition(|(axis, _)| presets.contains_key(axis));
    let said: Vec<String> = numbers.keys().cloned().collect();
    for (axis, value) in &chosen {
        let Some(preset) = presets[axis].get(value) else {
            let known = listed(presets[axis].keys());
            return at.key(axis).fail(format!("there is no `{value}`{known}"));
        };
        for (name, number) in preset.iter().filter(|(name, _)| !said.contains(name)) {
            if numbers.insert(name.clone(), number.to_string()).is_some() {
                return at.key(axis).key(value).key(name).fail(format!("another preset sets `{name}` too"));
            }
        }
    }
    Ok(numbers)
}

fn check(
    axis: &str,
    values: &BTreeMap<String, BTreeMap<String, u64>>,
    scale: &BTreeMap<String, Value>,
    at: &At<'_>,
) -> Result<(), FileError> {
    if scale.contains_key(axis) || load::reserved().contains(&axis) {
        return at.fail(format!("`{axis}` is the name of a number or of an axis of every study; choose another"));
    }
    for (value, numbers) in values {
        if let Some(name) = numbers.keys().find(|name| !scale.contains_key(*name)) {
            return at.key(value).key(name).fail(format!("`{name}` is not in [scale]{}", listed(scale.keys())));
        }
    }
    Ok(())
}
