//! Everyday spellings in study files: `p99` for a metric, `"200/s"` for a rate, a single value instead of a list.

use crate::units::rate_per_s;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use toml::Value;

/// The name of a metric: `p99` is `response_ns_p99`, `p99.write` that of writes, `throughput` is `throughput_ops_per_s`.
pub fn canonical(name: &str) -> String {
    let (stem, end) = name.split_once('.').map_or((name, String::new()), |(stem, kind)| (stem, format!(".{kind}")));
    let is_quantile = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match stem.strip_prefix('p') {
        Some(digits) if is_quantile(digits) => format!("response_ns_{stem}{end}"),
        _ if stem == "throughput" => format!("throughput_ops_per_s{end}"),
        _ => name.to_string(),
    }
}

pub(super) fn metric<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(canonical(&String::deserialize(from)?))
}

pub(super) fn metric_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(|name| canonical(&name)))
}

/// Lists by name. A single value is a list of one.
pub(super) fn lists<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeMap<String, Vec<Value>>>, D::Error> {
    let list = |value| if let Value::Array(values) = value { values } else { vec![value] };
    let written = Option::<BTreeMap<String, Value>>::deserialize(from)?;
    Ok(written.map(|all| all.into_iter().map(|(name, value)| (name, list(value))).collect()))
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`rate` must be a number of operations per second, such as 200 or \"200/s\"")]
enum Rate {
    Number(f64),
    Text(String),
}

pub(super) fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    match Rate::deserialize(from)? {
        Rate::Number(number) => Ok(Some(number)),
        Rate::Text(text) => rate_per_s(&text).map(Some).map_err(D::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_as_people_say_them() {
        for (written, meant) in [
            ("p99", "response_ns_p99"),
            ("p99.write", "response_ns_p99.write"),
            ("throughput", "throughput_ops_per_s"),
            ("throughput.read", "throughput_ops_per_s.read"),
            ("planned", "planned"),
            ("p", "p"),
            ("page_us", "page_us"),
        ] {
            assert_eq!(canonical(written), meant);
        }
    }
}
