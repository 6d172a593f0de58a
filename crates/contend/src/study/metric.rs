//! Figures: those every study has, and the study's own, which are ratios of counts.

use super::model::{Metric, Study};
use contend_wire::sample::{CodeSpace, sqlstate_to_code};

/// A figure every study has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standard {
    /// Also its column in `trials.csv`.
    pub name: &'static str,
    pub higher_is_better: bool,
}

const fn more(name: &'static str) -> Standard {
    Standard { name, higher_is_better: true }
}

const fn less(name: &'static str) -> Standard {
    Standard { name, higher_is_better: false }
}

/// The figures every study has.
pub const STANDARD: &[Standard] = &[
    more("throughput_ops_per_s"),
    less("response_ns_p50"),
    less("response_ns_p90"),
    less("response_ns_p95"),
    less("response_ns_p99"),
    less("response_ns_p999"),
    less("response_ns_max"),
    less("service_ns_p50"),
    less("service_ns_p90"),
    less("service_ns_p95"),
    less("service_ns_p99"),
    less("service_ns_p999"),
    less("service_ns_max"),
    less("lock_wait_ns_p50"),
    less("lock_wait_ns_p90"),
    less("lock_wait_ns_p95"),
    less("lock_wait_ns_p99"),
    less("lock_wait_ns_p999"),
    less("lock_wait_ns_max"),
    less("response_ns_mean"),
    less("service_ns_mean"),
    less("lock_wait_ns_mean"),
    less("lock_wait_share"),
    less("failed_share"),
    less("cpu_ns_client"),
    less("cpu_ns_per_operation"),
    less("rss_bytes_client"),
    less("written_bytes"),
    less("written_bytes_per_operation"),
    less("size_bytes_db"),
    less("size_bytes_wal"),
    less("size_bytes_compact"),
];

/// Counts a metric may add up, each alone or as `COUNT.TRANSACTION`.
pub const COUNTS: [&str; 9] =
    ["committed", "rejected", "conflict", "timeout", "unknown", "unsent", "retries", "attempts", "planned"];

/// Whether more of it is better; none if the study has no such metric.
pub fn higher_is_better(study: &Study, name: &str) -> Option<bool> {
    direction(&study.metrics, name)
}

/// As [`higher_is_better`], before there is a study. Throughput and latencies may be limited to transactions
/// that read or write, as in `response_ns_p95.write`.
pub(super) fn direction(own: &[Metric], name: &str) -> Option<bool> {
    let limited = name.strip_suffix(".read").or_else(|| name.strip_suffix(".write"));
    let name = limited
        .filter(|n| n.starts_with("throughput") || n.contains("_ns_p") || n.ends_with("_ns_max"))
        .unwrap_or(name);
    own.iter()
        .find(|metric| metric.name == name)
        .map(|metric| metric.higher_is_better)
        .or_else(|| STANDARD.iter().find(|metric| metric.name == name).map(|metric| metric.higher_is_better))
}

/// Value of a study's own metric. An empty denominator is 1. None if the denominator adds up to 0 or a
/// count is not known; a count that is known to be zero has to be given as such.
pub fn metric_value(metric: &Metric, counts: &dyn Fn(&str) -> Option<u64>) -> Option<f64> {
    let sum = |names: &[String]| names.iter().map(|name| counts(name).map(u128::from)).sum::<Option<u128>>();
    let numerator = sum(&metric.numerator)?;
    let denominator = if metric.denominator.is_empty() { 1 } else { sum(&metric.denominator)? };
    (denominator > 0).then(|| metric.factor * numerator as f64 / denominator as f64)
}

/// The transaction a count is limited to, if it is.
pub fn transaction_of(count: &str) -> Option<&str> {
    count.split_once('.').filter(|(head, _)| *head != "code").map(|(_, transaction)| transaction)
}

/// Checks the spelling of a count.
///
/// # Errors
/// What can be counted.
pub(super) fn check_count(count: &str) -> Result<(), String> {
    let (head, rest) = count.split_once('.').map_or((count, None), |(head, rest)| (head, Some(rest)));
    if head == "code" {
        return check_code(rest.unwrap_or_default());
    }
    if COUNTS.contains(&head) && rest != Some("") {
        return Ok(());
    }
    Err(format!(
        "`{count}` is no count; counts are {}, each alone or as COUNT.TRANSACTION, and code.SPACE.NUMBER",
        COUNTS.join(", ")
    ))
}

fn check_code(code: &str) -> Result<(), String> {
    let (space, number) = code.split_once('.').unwrap_or((code, ""));
    let known = match CodeSpace::from_word(space) {
        Some(CodeSpace::Sqlstate) => sqlstate_to_code(number).is_some(),
        Some(_) => number.parse::<u32>().is_ok_and(|n| n.to_string() == number),
        None => false,
    };
    if known {
        return Ok(());
    }
    Err(format!("`code.{code}` names no code; write code.SPACE.NUMBER, such as code.sqlite.517 or code.sqlstate.40001"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(numerator: &[&str], denominator: &[&str]) -> Metric {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Metric {
            name: "m".to_string(),
            about: String::new(),
            numerator: owned(numerator),
            denominator: owned(denominator),
            factor: 1000.0,
            higher_is_better: false,
        }
    }

    fn counts(name: &str) -> Option<u64> {
        match name {
            "conflict" => Some(3),
            "timeout" => Some(1),
            "planned" => Some(800),
            "code.sqlite.517" | "unsent" => Some(0),
            "committed.comment" => Some(u64::MAX),
            _ => None,
        }
    }

    #[test]
    fn metrics_are_ratios_of_sums() {
        for (numerator, denominator, expected) in [
            (&["conflict", "timeout"][..], &["planned"][..], Some(5.0)),
            (&["code.sqlite.517"], &["planned"], Some(0.0)),
            (&["conflict"], &[], Some(3_000.0)),
            (&["conflict"], &["unsent"], None),
            (&["rejected"], &["planned"], None),
            (&["conflict"], &["planned", "attempts"], None),
            (&["committed.comment", "committed.comment"], &["committed.comment"], Some(2_000.0)),
        ] {
            assert_eq!(
                metric_value(&metric(numerator, denominator), &counts),
                expected,
                "{numerator:?}/{denominator:?}"
            );
        }
    }

    #[test]
    fn counts_are_checked() {
        for good in ["committed", "planned.page_view", "code.sqlite.517", "code.sqlstate.40001", "code.http.503"] {
            assert_eq!(check_count(good), Ok(()), "{good}");
        }
        for bad in
            ["", "commits", "committed.", "code", "code.sqlite", "code.sqlite.x", "code.sqlite.07", "code.oracle.1"]
        {
            assert!(check_count(bad).is_err(), "{bad}");
        }
        assert_eq!(transaction_of("conflict.comment"), Some("comment"));
        assert_eq!(transaction_of("code.sqlite.517"), None);
        assert_eq!(transaction_of("conflict"), None);
    }
}
