//! Figures: those every study has, and the study's own, which are formulas.

use super::quantity::kind_of;
use crate::stats::quantile::Quantile;
use crate::study::model::Metric;

/// Kinds of transactions that throughput, times and counts may be limited to, after a dot.
pub const KINDS: [&str; 2] = ["read", "write"];

/// Times of an operation; each is a figure with `_mean` and with the quantiles.
const TIMES: [&str; 4] = ["response_ns", "service_ns", "lock_wait_ns", "acquire_wait_ns"];

const THROUGHPUT: &str = "throughput_ops_per_s";

/// Further figures every study has. Less is better of each.
const FURTHER: [&str; 12] = [
    "lock_wait_share",
    "failed_share",
    "cpu_ns_client",
    "cpu_ns_per_operation",
    "cpu_ns_server",
    "rss_bytes_client",
    "rss_bytes_server",
    "written_bytes",
    "written_bytes_per_operation",
    "size_bytes_db",
    "size_bytes_wal",
    "size_bytes_compact",
];

/// The figures every study has, without those of one kind of transactions.
pub fn standard_names() -> Vec<String> {
    let stats = || Quantile::ALL.map(Quantile::column).into_iter().chain(["mean"]);
    let times = TIMES.into_iter().flat_map(|time| stats().map(move |stat| format!("{time}_{stat}")));
    std::iter::once(THROUGHPUT.to_string()).chain(times).chain(FURTHER.map(str::to_string)).collect()
}

/// Whether this is one of [`TIMES`] with a statistic.
pub fn is_time(name: &str) -> bool {
    let stat = TIMES.iter().find_map(|time| name.strip_prefix(time)?.strip_prefix('_'));
    stat.is_some_and(|stat| stat == "mean" || Quantile::ALL.iter().any(|quantile| quantile.column() == stat))
}

/// Whether a figure that every study has is of operations that were carried out: their rate, or a time.
pub fn is_of_work_done(name: &str) -> bool {
    let whole = kind_of(name).map_or(name, |(whole, _)| whole);
    whole == THROUGHPUT || is_time(whole)
}

/// Whether more of it is better; none if there is no such metric.
pub fn direction(own: &[Metric], name: &str) -> Option<bool> {
    let found = own.iter().find(|metric| metric.name == name).map(|metric| metric.higher_is_better);
    found.or_else(|| standard_direction(name))
}

/// Whether more is better of a figure that every study has. Throughput and times may be limited to
/// transactions that read or write, as in `response_ns_p95.write`.
pub fn standard_direction(name: &str) -> Option<bool> {
    let whole = kind_of(name).map_or(name, |(whole, _)| whole);
    match whole {
        THROUGHPUT => Some(true),
        whole if is_time(whole) => Some(false),
        _ => FURTHER.contains(&name).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_standard_figure_has_a_direction_and_some_have_kinds() {
        let names = standard_names();
        assert_eq!(names.len(), 1 + 4 * 7 + 12);
        for name in &names {
            assert_eq!(standard_direction(name), Some(name == THROUGHPUT), "{name}");
            let limited = name == THROUGHPUT || is_time(name);
            assert_eq!(standard_direction(&format!("{name}.write")).is_some(), limited, "{name}");
        }
        for name in ["response_ns", "response_ns_p42", "response_ns_p99.reads", "throughput", "", ".read"] {
            assert_eq!(standard_direction(name), None, "{name}");
        }
    }
}
