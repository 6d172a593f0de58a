//! Values and generators as text of a workload file.

use crate::trace::Value;

/// Most values that are listed one by one.
pub const CHOICES: usize = 20;

/// A TOML string.
pub fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A known value as TOML.
pub fn written(value: &Value) -> Option<String> {
    match value {
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) if number.is_finite() => Some(format!("{number:?}")),
        Value::Text(bytes) => std::str::from_utf8(bytes).ok().filter(|text| text.len() <= 200).map(text),
        _ => None,
    }
}

/// A generator for values of known type, number and length.
pub fn free(kind: &str, distinct: u64, length: u64, null: &str) -> String {
    match kind {
        "integer" => format!("{{ range = [1, {}]{null} }}", distinct.max(1)),
        "real" => format!("{{ range = [0.0, {}.0]{null} }}", distinct.max(1)),
        "blob" => format!("{{ blob = {}{null} }}", length.clamp(1, 1 << 20)),
        _ if distinct <= CHOICES as u64 && distinct > 0 => {
            let values: Vec<String> = (1..=distinct).map(|i| text(&format!("value-{i}"))).collect();
            format!("{{ choice = [{}]{null} }}", values.join(", "))
        }
        _ if length <= 16 => format!("{{ format = \"{{hex:{}}}\"{null} }}", length.max(1)),
        _ => format!("{{ words = {{ median = {} }}{null} }}", (length / 6).max(1)),
    }
}
