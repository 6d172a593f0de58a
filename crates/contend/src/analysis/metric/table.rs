//! The one table of metrics: every number of a trial that has a name, with its unit, which way is better, and how it
//! is computed.

use crate::analysis::tally::Counts;
use crate::analysis::trial::{GroupRow, Measure, Numbers, Scope, TrialRow};
use crate::outcome::Outcome;
use crate::record::model::{ServerInfo, TableBytes, Used};
use crate::registry::Registry;
use crate::stats::quantile::Quantile;
use crate::stats::unit::Unit;
use crate::stats::verdict::Direction;
use std::sync::LazyLock;

/// Statistic of the times of many operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stat {
    Mean,
    Quantile(Quantile),
}

/// How a metric is computed for one trial; `None` where it was not measured.
#[derive(Debug, Clone, Copy)]
pub enum Of {
    /// Commits in the window per second.
    Throughput,
    Time(Measure, Stat),
    Count(fn(&Counts) -> u64),
    /// Size of tables on disk.
    Tables(fn(TableBytes) -> u64),
    Trial(fn(&TrialRow<'_>) -> Option<f64>),
    /// 1 for each trial.
    Rounds,
}

/// How the rounds of a cell become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverRounds {
    /// Quantile of all operations, pooled.
    Pooled,
    Median,
    Mean,
    Sum,
}

impl OverRounds {
    pub fn words(self) -> &'static str {
        match self {
            OverRounds::Pooled => "quantile of all operations",
            OverRounds::Median => "median of the rounds",
            OverRounds::Mean => "mean of the rounds",
            OverRounds::Sum => "sum of the rounds",
        }
    }
}

/// The operations that a metric is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Done,
    /// Operations or attempts without a result.
    NotDone,
    /// Not about operations.
    None,
}

/// What a metric may be limited to, after a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dot {
    Nothing,
    /// `.read` or `.write`.
    Kind,
    /// `.read`, `.write` or the name of a transaction.
    Transaction,
    /// The name of a table.
    Table,
}

impl Dot {
    pub fn words(self) -> &'static str {
        match self {
            Dot::Nothing => "",
            Dot::Kind => "read, write",
            Dot::Transaction => "read, write, or a transaction",
            Dot::Table => "a table",
        }
    }
}

/// The operations or tables that a metric is limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'n> {
    Kind(Scope),
    Transaction(&'n str),
    Table(&'n str),
}

/// One metric.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub unit: Unit,
    /// `None` for a name that only formulas use.
    pub better: Option<Direction>,
    /// Heading, without the part after the dot.
    pub label: String,
    pub dot: Dot,
    pub work: Work,
    /// Whether `trials.csv` has a column for it.
    pub in_csv: bool,
    pub of: Of,
}

/// Metrics of kinds of study, from slices.
#[cfg(not(test))]
pub static OF_KINDS: Registry<fn() -> Vec<Row>> = Registry::empty();
#[cfg(test)]
pub static OF_KINDS: Registry<fn() -> Vec<Row>> = Registry::with(&[&tests::METRICS]);

/// All metrics, in the order of `trials.csv`; those of kinds last.
pub static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let times = Measure::ALL.into_iter().flat_map(times);
    let of_kinds = OF_KINDS.all().iter().flat_map(|rows| rows());
    counts()
        .into_iter()
        .chain([throughput()])
        .chain(times)
        .chain(compared())
        .chain(circumstances())
        .chain(of_kinds)
        .collect()
});

/// Columns of `trials.csv` before the metrics: of the trial's contender and load, then (after its axes) of the trial.
pub const COLUMNS: [&str; 2] = [
    "study variant trial profile contender engine tier driver model tier_known tier_power_cuts load_model clients",
    "round valid reason marks elapsed_ns",
];

/// The metric of this name, without anything after a dot.
pub fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

impl Row {
    fn new(name: &str, unit: Unit, label: &str, of: Of) -> Self {
        Self {
            name: name.to_string(),
            unit,
            better: None,
            label: label.to_string(),
            dot: Dot::Nothing,
            work: Work::None,
            in_csv: false,
            of,
        }
    }

    /// A number of a trial, only for formulas.
    pub fn of_trial_only(name: &str, unit: Unit, label: &str, of: fn(&TrialRow<'_>) -> Option<f64>) -> Self {
        Self::new(name, unit, label, Of::Trial(of))
    }

    fn in_csv(mut self) -> Self {
        self.in_csv = true;
        self
    }

    /// Which way is better; empty for names that only formulas use.
    pub fn better_word(&self) -> &'static str {
        match self.better {
            Some(Direction::HigherIsBetter) => "more",
            Some(Direction::LowerIsBetter) => "less",
            None => "",
        }
    }

    pub fn over_rounds(&self) -> OverRounds {
        match self.of {
            Of::Time(_, Stat::Quantile(_)) => OverRounds::Pooled,
            Of::Rounds => OverRounds::Sum,
            _ if self.better.is_some() => OverRounds::Median,
            _ => OverRounds::Mean,
        }
    }

    /// Whether it counts operations.
    pub fn counts_operations(&self) -> bool {
        matches!(self.of, Of::Count(_)) && self.unit == Unit::Count
    }

    /// The metric in one trial; `transactions` are their names in the order of their numbers.
    pub fn of_trial(&self, part: Part<'_>, row: &TrialRow<'_>, transactions: &[String]) -> Option<f64> {
        match self.of {
            Of::Trial(of) => return of(row),
            Of::Tables(of) => return of_tables(of, part, row),
            Of::Rounds => return Some(1.0),
            _ => {}
        }
        let measured = row.measured.as_ref()?;
        let number = |name: &str| transactions.iter().position(|transaction| transaction == name);
        let is = |number: usize| move |group: &GroupRow| usize::from(group.transaction) == number;
        match (self.of, part) {
            (Of::Throughput, Part::Kind(scope)) => Some(measured.throughput_per_s(scope)),
            (Of::Time(measure, stat), Part::Kind(scope)) => time(measured.scope(scope).numbers(measure), stat),
            (Of::Time(measure, stat), Part::Transaction(name)) => {
                let is = is(number(name)?);
                let group = only(measured.groups.iter().filter(|group| is(group)))?;
                time(group.measures.numbers(measure), stat)
            }
            (Of::Count(of), Part::Kind(Scope::All)) => Some(of(&measured.counts) as f64),
            (Of::Count(of), Part::Kind(scope)) => {
                Some(of(&measured.counts_of(|group| scope.holds(group.write))) as f64)
            }
            (Of::Count(of), Part::Transaction(name)) => Some(of(&measured.counts_of(is(number(name)?))) as f64),
            _ => None,
        }
    }
}

fn time(numbers: &Numbers, stat: Stat) -> Option<f64> {
    let ns = match stat {
        Stat::Mean => numbers.mean_ns,
        Stat::Quantile(quantile) => numbers.quantile(quantile),
    };
    ns.map(|ns| ns as f64)
}

fn of_tables(of: fn(TableBytes) -> u64, part: Part<'_>, row: &TrialRow<'_>) -> Option<f64> {
    let tables = &row.trial.tables;
    match part {
        Part::Table(name) => tables.get(name).map(|bytes| of(*bytes) as f64),
        _ => (!tables.is_empty()).then(|| tables.values().map(|bytes| of(*bytes) as f64).sum()),
    }
}

/// The item if there is exactly one: a transaction of several roles has no single time.
pub fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next();
    first.filter(|_| all.next().is_none())
}

/// Counts of operations due in the window.
fn counts() -> Vec<Row> {
    use Work::{Done, NotDone};
    let count = |name: &str, label: &str, work: Work, of: fn(&Counts) -> u64| Row {
        dot: Dot::Transaction,
        work,
        ..Row::new(name, Unit::Count, label, Of::Count(of))
    };
    let outcome = |of: Outcome, label: &str, work: Work, count_of: fn(&Counts) -> u64| {
        count(of.word(), label, work, count_of).in_csv()
    };
    use Outcome::{Committed, Conflict, Rejected, Timeout, Unknown, Unsent};
    vec![
        count("planned", "operations due in the window", NotDone, Counts::planned).in_csv(),
        outcome(Committed, "operations that were committed", Done, |counts| counts.outcome(Committed)),
        outcome(Rejected, "operations that were rejected", NotDone, |counts| counts.outcome(Rejected)),
        outcome(Conflict, "operations that ended with a conflict", NotDone, |counts| counts.outcome(Conflict)),
        outcome(Timeout, "operations that timed out", NotDone, |counts| counts.outcome(Timeout)),
        outcome(Unknown, "operations whose outcome is unknown", NotDone, |counts| counts.outcome(Unknown)),
        outcome(Unsent, "operations that were due and never sent", NotDone, |counts| counts.outcome(Unsent)),
        count("retries", "attempts after the first", NotDone, |counts| counts.retries).in_csv(),
        count("attempts", "attempts of operations", NotDone, |counts| counts.attempts),
        count("committed_begun", "committed operations that also began in the window", Done, |counts| {
            counts.committed_begun
        }),
        count("rows", "rows returned or changed by committed operations", Done, |counts| counts.rows),
        Row {
            unit: Unit::Ns,
            ..count(
                "longest_stall_ns",
                "longest time from when a client's operation was due to its next success in the same transaction",
                Work::None,
                |counts| counts.longest_stall_ns,
            )
        },
    ]
}

fn throughput() -> Row {
    Row {
        better: Some(Direction::HigherIsBetter),
        dot: Dot::Kind,
        work: Work::Done,
        in_csv: true,
        ..Row::new("throughput_ops_per_s", Unit::PerSecond, "throughput", Of::Throughput)
    }
}

/// The quantiles and the mean of one time of an operation.
fn times(measure: Measure) -> impl Iterator<Item = Row> {
    let stats = Quantile::ALL.into_iter().map(Stat::Quantile).chain([Stat::Mean]);
    stats.map(move |stat| {
        let (end, label) = match stat {
            Stat::Mean => ("mean", "mean"),
            Stat::Quantile(quantile) => (quantile.column(), quantile.label()),
        };
        let (name, label) = (format!("{}_{end}", measure.column()), format!("{label} {}", measure.words()));
        Row {
            better: Some(Direction::LowerIsBetter),
            dot: Dot::Transaction,
            work: Work::Done,
            in_csv: measure != Measure::AcquireWait && stat != Stat::Mean,
            ..Row::new(&name, Unit::Ns, &label, Of::Time(measure, stat))
        }
    })
}

/// Other metrics to compare by: shares, processors, memory, disk. Less is better for each.
fn compared() -> Vec<Row> {
    use Unit::{Bytes, Ns, Share};
    let less = |name: &str, unit: Unit, label: &str, of: fn(&TrialRow<'_>) -> Option<f64>| Row {
        better: Some(Direction::LowerIsBetter),
        ..Row::new(name, unit, label, Of::Trial(of))
    };
    vec![
        less("cpu_ns_client", Ns, "CPU time of the clients", |row| whole(row.cpu_ns())).in_csv(),
        less("cpu_ns_server", Ns, "CPU time of the server", |row| of_server(row, |server| server.cpu_ns)).in_csv(),
        less("rss_bytes_client", Bytes, "resident memory of the clients, room for samples included", |row| {
            whole(row.rss_bytes())
        })
        .in_csv(),
        less("rss_bytes_server", Bytes, "resident memory of the server", |row| {
            of_server(row, |server| server.rss_bytes)
        })
        .in_csv(),
        less("written_bytes", Bytes, "bytes written by clients and server", |row| whole(row.written_bytes())).in_csv(),
        less("size_bytes_db", Bytes, "database size", |row| whole(row.size_bytes_db())).in_csv(),
        less("size_bytes_wal", Bytes, "largest log or journal", |row| whole(row.size_bytes_wal())).in_csv(),
        less("size_bytes_compact", Bytes, "database size, compacted", |row| {
            whole(row.trial.footprint.size_bytes_compact)
        }),
        less("lock_wait_share", Share, "share of time waiting for locks", |row| {
            row.measured.as_ref()?.lock_wait_share()
        }),
        less("failed_share", Share, "share of operations that failed", |row| {
            failed_share(&row.measured.as_ref()?.counts)
        }),
        less("cpu_ns_per_operation", Ns, "CPU time per operation, clients and server", |row| {
            per_operation(row, row.cpu_ns_all())
        }),
        less("written_bytes_per_operation", Bytes, "bytes written per operation, clients and server", |row| {
            per_operation(row, row.written_bytes())
        }),
    ]
}

/// Settings and facts of a trial, for formulas.
fn circumstances() -> Vec<Row> {
    let rounds = Row::new("rounds", Unit::Plain, "rounds in which the trial counts", Of::Rounds);
    [rounds].into_iter().chain(load()).chain(server()).chain(data_and_overhead()).collect()
}

type OfTrial = fn(&TrialRow<'_>) -> Option<f64>;

fn rows(all: Vec<(&str, Unit, &str, OfTrial)>) -> Vec<Row> {
    all.into_iter().map(|(name, unit, label, of)| Row::new(name, unit, label, Of::Trial(of))).collect()
}

fn load() -> Vec<Row> {
    use Unit::{Plain, S};
    rows(vec![
        ("window_s", S, "length of the window as configured", |row| {
            (row.load.window_ns > 0).then(|| row.load.window_ns as f64 / 1e9)
        }),
        ("elapsed_s", S, "length of the window as it was", |row| Some(row.measured.as_ref()?.elapsed_ns as f64 / 1e9)),
        ("clients_s", S, "time from the start of the clients to the end of their last attempt", |row| {
            Some(row.measured.as_ref()?.clients_ns(row.load.run_in_ns) as f64 / 1e9)
        }),
        ("clients", Plain, "clients of all roles", |row| row.had_workers().then(|| f64::from(row.trial.clients))),
        ("processes", Plain, "worker processes", |row| row.had_workers().then_some(row.trial.workers.len() as f64)),
        ("rate_per_s", Unit::PerSecond, "arrivals per second", |row| row.load.rate_per_s),
        ("scale", Plain, "factor of the row counts", |row| Some(row.load.scale)),
        ("databases", Plain, "databases", |row| row.numbers.get("databases").copied()),
    ])
}

fn server() -> Vec<Row> {
    use Unit::{Bytes, Count, Ns, Plain};
    rows(vec![
        ("server_lock_waits", Count, "waits for locks that the server reports", |row| {
            of_server(row, |server| server.lock_waits.map(|waits| waits.count))
        }),
        ("server_lock_wait_ns", Ns, "sum of these waits", |row| {
            of_server(row, |server| server.lock_waits.map(|waits| waits.total_ns))
        }),
        ("server_lock_wait_ns_max", Ns, "longest of these waits", |row| {
            of_server(row, |server| server.lock_waits.map(|waits| waits.max_ns))
        }),
        ("pss_bytes_server", Bytes, "memory of the server, shared memory divided among its users", |row| {
            of_server(row, |server| server.pss_bytes)
        }),
        ("written_bytes_server", Bytes, "bytes written by the server", |row| {
            of_server(row, |server| server.written_bytes)
        }),
        ("cpu_ns_daemon", Ns, "CPU time of the database server alone", |row| of_daemon(row, |used| Some(used.cpu_ns))),
        ("rss_bytes_daemon", Bytes, "resident memory of the database server alone", |row| {
            of_daemon(row, |used| Some(used.rss_bytes))
        }),
        ("pss_bytes_daemon", Bytes, "memory of the database server alone, shared memory divided", |row| {
            of_daemon(row, |used| used.pss_bytes)
        }),
        ("written_bytes_daemon", Bytes, "bytes written by the database server alone", |row| {
            of_daemon(row, |used| used.written_bytes)
        }),
        ("cpu_ns_serving", Ns, "CPU time of the worker that serves", |row| of_serving(row, |used| Some(used.cpu_ns))),
        ("rss_bytes_serving", Bytes, "resident memory of the worker that serves", |row| {
            of_serving(row, |used| Some(used.rss_bytes))
        }),
        ("pss_bytes_serving", Bytes, "memory of the worker that serves, shared memory divided", |row| {
            of_serving(row, |used| used.pss_bytes)
        }),
        ("written_bytes_serving", Bytes, "bytes written by the worker that serves", |row| {
            of_serving(row, |used| used.written_bytes)
        }),
        ("server_syncs_per_commit", Plain, "syncs per commit, as the server counts them", |row| {
            let syncs = row.trial.server.as_ref()?.syncs.filter(|syncs| syncs.commits > 0)?;
            Some(syncs.count as f64 / syncs.commits as f64)
        }),
        ("serving_retries", Count, "retries inside an app", |row| of_app(row, "retries")),
        ("serving_gave_up", Count, "operations that an app gave up", |row| of_app(row, "gave_up")),
    ])
}

fn data_and_overhead() -> Vec<Row> {
    use Unit::{Bytes, Ns};
    let tables = |name: &str, label: &str, of: fn(TableBytes) -> u64| Row {
        dot: Dot::Table,
        ..Row::new(name, Bytes, label, Of::Tables(of))
    };
    let sizes = [
        tables("table_bytes", "size of the rows of all tables, compacted", |bytes| bytes.rows),
        tables("index_bytes", "size of the indexes of all tables, compacted", |bytes| bytes.indexes),
    ];
    let others = rows(vec![
        ("floor_ns", Ns, "overhead of the worker per operation, without the longest thousandth", |row| {
            Some(row.overhead?.mean_ns as f64)
        }),
        ("floor_ns_p999", Ns, "p99.9 of the worker's overhead", |row| Some(row.overhead?.p999_ns as f64)),
        ("floor_ns_max", Ns, "longest overhead of the worker", |row| Some(row.overhead?.max_ns as f64)),
    ]);
    sizes.into_iter().chain(others).collect()
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn per_operation(row: &TrialRow<'_>, value: Option<u64>) -> Option<f64> {
    let operations = row.measured.as_ref()?.counts.committed_inside;
    (operations > 0).then_some(())?;
    value.map(|value| value as f64 / operations as f64)
}

fn of_server(row: &TrialRow<'_>, of: impl Fn(&ServerInfo) -> Option<u64>) -> Option<f64> {
    whole(row.trial.server.as_ref().and_then(of))
}

fn of_daemon(row: &TrialRow<'_>, of: impl Fn(Used) -> Option<u64>) -> Option<f64> {
    of_server(row, |server| server.daemon.and_then(&of))
}

fn of_serving(row: &TrialRow<'_>, of: impl Fn(Used) -> Option<u64>) -> Option<f64> {
    of_server(row, |server| server.serving.and_then(&of))
}

/// A number that an app reports.
fn of_app(row: &TrialRow<'_>, fact: &str) -> Option<f64> {
    of_server(row, |server| server.done.get(fact)?.parse().ok())
}

/// Operations that did not commit, as a share of those that were due.
pub fn failed_share(counts: &Counts) -> Option<f64> {
    let planned = counts.planned();
    (planned > 0).then(|| (planned - counts.outcome(Outcome::Committed)) as f64 / planned as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces the metrics of slices in tests: one that an embedded study uses.
    pub static METRICS: fn() -> Vec<Row> =
        || vec![Row::of_trial_only("recorded_syncs_per_commit", Unit::Plain, "", |_| Some(1.0))];
}
