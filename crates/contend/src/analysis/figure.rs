//! The closed list of figures a report knows, each with its unit and the way it improves; the study's own
//! metrics beside them.
//!
//! A name may end in `.read` or `.write`: the figure over transactions of that kind only.

use crate::analysis::formula::Formula;
use crate::analysis::quantity::Quantity;
use crate::analysis::standard::standard_direction;
use crate::analysis::trial::{Measure, Scope, TrialRow};
use crate::analysis::value;
pub use crate::stats::precision::plain;
use crate::stats::precision::{Bytes, Ns, Percent, Rate, count};
use crate::stats::quantile::Quantile;
use crate::stats::verdict::Direction;
use crate::study::model::Study;

use crate::analysis::tally::Counts;
use crate::outcome::Outcome;

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Ns,
    Bytes,
    Share,
    /// Operations, each of which counts.
    Count,
    Plain,
}

impl Unit {
    /// The value as a reader sees it.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond => Rate(value).to_string(),
            Unit::Ns => Ns(value.round() as u64).to_string(),
            Unit::Bytes => Bytes(value.round() as u64).to_string(),
            Unit::Share => Percent(value).to_string(),
            Unit::Count => count(value.round() as u64),
            Unit::Plain => plain(value),
        }
    }
}

/// The value in the unit that the name ends in; none if it ends in none. A short time keeps its digits.
fn in_unit(name: &str, value: f64) -> Option<String> {
    let time = |ns: f64| if ns < 1000.0 { format!("{} ns", plain(ns)) } else { Unit::Ns.show(ns) };
    Some(match name.rsplit('_').next()? {
        "ns" => time(value),
        "us" => time(value * 1e3),
        "ms" => time(value * 1e6),
        "s" => time(value * 1e9),
        "percent" => format!("{} %", plain(value)),
        "bytes" => Unit::Bytes.show(value),
        "mib" => format!("{} MiB", plain(value)),
        _ => return None,
    })
}

/// Findings of a latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stat {
    Mean,
    Quantile(Quantile),
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Throughput(Scope),
    Latency { measure: Measure, stat: Stat, scope: Scope },
    LockWaitShare,
    CpuClient,
    CpuPerOperation,
    WrittenBytes,
    WrittenPerOperation,
    RssClient,
    CpuServer,
    RssServer,
    SizeDb,
    SizeWal,
    SizeCompact,
    FailedShare,
    Own(Formula),
}

/// A figure of the closed list, or of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub name: String,
    pub what: What,
    pub unit: Unit,
    pub direction: Direction,
}

/// The figure of this name; none if neither the tool nor the study has it.
pub fn find(study: &Study, name: &str) -> Option<Figure> {
    if let Some(own) = study.metrics.iter().find(|m| m.name == name) {
        let (direction, formula) = (direction(own.higher_is_better), Formula::parse(&own.value).ok()?);
        let unit = if counts(&formula, &own.value) { Unit::Count } else { Unit::Plain };
        return Some(Figure { name: name.to_string(), what: What::Own(formula), unit, direction });
    }
    standard(name)
}

/// Whether a formula only adds up operations.
fn counts(formula: &Formula, text: &str) -> bool {
    let operations =
        |name: &str| matches!(Quantity::read(name), Ok(Quantity::Count(count, _)) if count != "longest_stall_ns");
    !text.contains(['*', '/', '-']) && !formula.names().is_empty() && formula.names().into_iter().all(operations)
}

/// A figure that every study has.
pub fn standard(name: &str) -> Option<Figure> {
    let (head, scope) = match name.split_once('.') {
        None => (name, Scope::All),
        Some((head, "read")) => (head, Scope::Read),
        Some((head, "write")) => (head, Scope::Write),
        Some(_) => return None,
    };
    let (what, unit) = match (head, scope) {
        ("throughput_ops_per_s", scope) => (What::Throughput(scope), Unit::PerSecond),
        ("lock_wait_share", Scope::All) => (What::LockWaitShare, Unit::Share),
        ("failed_share", Scope::All) => (What::FailedShare, Unit::Share),
        ("cpu_ns_client", Scope::All) => (What::CpuClient, Unit::Ns),
        ("cpu_ns_per_operation", Scope::All) => (What::CpuPerOperation, Unit::Ns),
        ("written_bytes", Scope::All) => (What::WrittenBytes, Unit::Bytes),
        ("written_bytes_per_operation", Scope::All) => (What::WrittenPerOperation, Unit::Bytes),
        ("rss_bytes_client", Scope::All) => (What::RssClient, Unit::Bytes),
        ("cpu_ns_server", Scope::All) => (What::CpuServer, Unit::Ns),
        ("rss_bytes_server", Scope::All) => (What::RssServer, Unit::Bytes),
        ("size_bytes_db", Scope::All) => (What::SizeDb, Unit::Bytes),
        ("size_bytes_wal", Scope::All) => (What::SizeWal, Unit::Bytes),
        ("size_bytes_compact", Scope::All) => (What::SizeCompact, Unit::Bytes),
        _ => (latency(head, scope)?, Unit::Ns),
    };
    let direction = direction(standard_direction(name)?);
    Some(Figure { name: name.to_string(), what, unit, direction })
}

fn direction(higher_is_better: bool) -> Direction {
    if higher_is_better { Direction::HigherIsBetter } else { Direction::LowerIsBetter }
}

fn latency(head: &str, scope: Scope) -> Option<What> {
    let (measure, rest) = Measure::ALL.into_iter().find_map(|m| Some((m, head.strip_prefix(m.column())?)))?;
    let rest = rest.strip_prefix('_')?;
    let quantile = || Quantile::ALL.into_iter().find(|q| q.column() == rest).map(Stat::Quantile);
    let stat = if rest == "mean" { Stat::Mean } else { quantile()? };
    Some(What::Latency { measure, stat, scope })
}

impl Figure {
    /// As a heading: `throughput`, `p99 response time of writes`.
    pub fn label(&self) -> String {
        match &self.what {
            What::Throughput(scope) => format!("throughput{}", scope.of()),
            What::Latency { measure, stat, scope } => {
                let stat = match stat {
                    Stat::Mean => "mean",
                    Stat::Quantile(q) => q.label(),
                };
                format!("{stat} {}{}", measure.words(), scope.of())
            }
            What::LockWaitShare => "share of time waiting for locks".to_string(),
            What::CpuClient => "CPU time of the clients".to_string(),
            What::CpuPerOperation => "CPU time per operation, clients and server".to_string(),
            What::WrittenBytes => "bytes written by clients and server".to_string(),
            What::WrittenPerOperation => "bytes written per operation, clients and server".to_string(),
            What::RssClient => "resident memory of the clients, room for samples included".to_string(),
            What::CpuServer => "CPU time of the server".to_string(),
            What::RssServer => "resident memory of the server".to_string(),
            What::SizeDb => "database size".to_string(),
            What::SizeWal => "largest log or journal".to_string(),
            What::SizeCompact => "database size, compacted".to_string(),
            What::FailedShare => "share of operations that failed".to_string(),
            What::Own(_) => self.name.replace('_', " "),
        }
    }

    /// The quantile it is, if it is one.
    pub fn quantile(&self) -> Option<(Measure, Quantile, Scope)> {
        match self.what {
            What::Latency { measure, stat: Stat::Quantile(quantile), scope } => Some((measure, quantile, scope)),
            _ => None,
        }
    }

    /// What it is the mean of, if it is one.
    pub fn mean(&self) -> Option<(Measure, Scope)> {
        match self.what {
            What::Latency { measure, stat: Stat::Mean, scope } => Some((measure, scope)),
            _ => None,
        }
    }

    pub fn show(&self, value: f64) -> String {
        self.unit.show(value)
    }

    /// With the unit that a study's own figure has at the end of its name: `longest_stall_ms`, `own_us_per_operation`.
    pub fn show_with_unit(&self, value: f64) -> String {
        if self.unit != Unit::Plain {
            return self.show(value);
        }
        match self.name.rsplit_once("_per_") {
            Some((of, per)) => match in_unit(of, value) {
                Some(shown) => format!("{shown} per {per}"),
                None if per == "s" => Unit::PerSecond.show(value),
                None => format!("{} per {}", plain(value), per.replace('_', " ")),
            },
            None => in_unit(&self.name, value).unwrap_or_else(|| plain(value)),
        }
    }

    /// What one trial says; none if it was not measured there.
    pub fn of_trial(&self, row: &TrialRow, transactions: &[String]) -> Option<f64> {
        let measured = row.measured.as_ref()?;
        let whole = |value: Option<u64>| value.map(|v| v as f64);
        let per_operation = |value: Option<u64>| {
            let operations = measured.counts.committed_inside;
            (operations > 0).then_some(()).and(value).map(|v| v as f64 / operations as f64)
        };
        match &self.what {
            What::Throughput(scope) => Some(measured.throughput_per_s(*scope)),
            What::Latency { measure, stat, scope } => {
                let numbers = measured.scope(*scope).numbers(*measure);
                whole(match stat {
                    Stat::Mean => numbers.mean_ns,
                    Stat::Quantile(q) => numbers.quantile(*q),
                })
            }
            What::LockWaitShare => measured.lock_wait_share(),
            What::FailedShare => failed_share(&measured.counts),
            What::CpuClient => whole(row.cpu_ns),
            What::CpuPerOperation => per_operation(row.cpu_ns_all),
            What::WrittenBytes => whole(row.written_bytes),
            What::WrittenPerOperation => per_operation(row.written_bytes),
            What::RssClient => whole(row.rss_bytes),
            What::CpuServer => whole(row.cpu_ns_server),
            What::RssServer => whole(row.rss_bytes_server),
            What::SizeDb => whole(row.size_bytes_db),
            What::SizeWal => whole(row.size_bytes_wal),
            What::SizeCompact => whole(row.size_bytes_compact),
            What::Own(formula) => formula.value(&|name| value::of_trial(name, row, transactions)),
        }
    }
}

/// Operations that did not commit, of those that were due.
pub fn failed_share(counts: &Counts) -> Option<f64> {
    let planned = counts.planned();
    (planned > 0).then(|| (planned - counts.outcome(Outcome::Committed)) as f64 / planned as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_studys_own_figure_has_the_unit_of_its_name() {
        let shown = |name: &str, value: f64| {
            let what = What::Own(Formula::parse("elapsed_s").unwrap());
            let direction = Direction::LowerIsBetter;
            Figure { name: name.to_string(), what, unit: Unit::Plain, direction }.show_with_unit(value)
        };
        for (name, value, expected) in [
            ("longest_stall_ms", 1370.0, "1.37 s"),
            ("query_us", 489.0, "489 µs"),
            ("query_us", 0.0743, "74.3 ns"),
            ("lookup_ns", 335.2, "335 ns"),
            ("rows_written_per_s", 6403.0, "6,400/s"),
            ("requests_per_minute", 12.0, "12.0 per minute"),
            ("own_us_per_operation", 4.0, "4.00 µs per operation"),
            ("share_percent", 6.184, "6.18 %"),
            ("peak_mib", 15.8, "15.8 MiB"),
            ("lock_errors", 3.0, "3.00"),
        ] {
            assert_eq!(shown(name, value), expected, "{name}");
        }
    }

    #[test]
    fn operations_that_are_only_added_up_are_shown_one_by_one() {
        let is_count = |text: &str| counts(&Formula::parse(text).unwrap(), text);
        assert!(is_count("conflict + timeout") && is_count("planned.read"));
        for text in
            ["100 * conflict", "conflict / planned", "elapsed_s", "1", "longest_stall_ns", "planned - committed"]
        {
            assert!(!is_count(text), "{text}");
        }
        assert_eq!(Unit::Count.show(12968.0), "12,968");
    }
}
