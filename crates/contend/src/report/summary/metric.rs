//! The closed list of figures a report knows, each with its unit and the way it improves; the study's own
//! metrics beside them.
//!
//! A name may end in `.read` or `.write`: the figure over transactions of that kind only.

use crate::report::summary::quantity;
use crate::report::summary::trial::{Measure, Scope, TrialRow};
use crate::stats::precision::{Bytes, Ns, Percent, Rate};
use crate::stats::quantile::Quantile;
use crate::stats::verdict::Direction;
use crate::study::formula::Formula;
use crate::study::metric::standard_direction;
use crate::study::model::Study;

use crate::outcome::Outcome;
use crate::record::tally::Counts;

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Ns,
    Bytes,
    Share,
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
            Unit::Plain => plain(value),
        }
    }
}

/// A bare number, as precisely as a rate is shown.
pub fn plain(value: f64) -> String {
    Rate(value).to_string().trim_end_matches("/s").to_string()
}

/// Summary of a latency.
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
        return Some(Figure { name: name.to_string(), what: What::Own(formula), unit: Unit::Plain, direction });
    }
    standard(name)
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
            What::Own(formula) => formula.value(&|name| quantity::of_trial(name, row, transactions)),
        }
    }
}

/// Operations that did not commit, of those that were due.
pub fn failed_share(counts: &Counts) -> Option<f64> {
    let planned = counts.planned();
    (planned > 0).then(|| (planned - counts.outcome(Outcome::Committed)) as f64 / planned as f64)
}
