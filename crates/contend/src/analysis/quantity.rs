//! What a formula may name: counts of a trial's operations, figures, and what was set for the trial.

use super::formula::Formula;
use super::standard::{self, KINDS};
use crate::source::nearest;
use contend_wire::sample::{CodeSpace, sqlstate_to_code};

/// Counts, each alone, as `COUNT.read` or `COUNT.write`, or as `COUNT.TRANSACTION`.
pub const COUNTS: [&str; 12] = [
    "committed",
    "committed_begun",
    "rejected",
    "conflict",
    "timeout",
    "unknown",
    "unsent",
    "retries",
    "attempts",
    "planned",
    "rows",
    "longest_stall_ns",
];

/// What was set for a trial, or is known of it, beside the names of the workload's `[scale]` and the
/// contender's settings: the window as configured and as it was, the time in which there were clients, clients and processes over all roles,
/// arrivals per second, the factor of the row counts, databases; CPU time of a server, and what it tells of waits for
/// locks: their number, their sum, the longest; what a server and the worker that serves used together and each alone;
/// syncs for each commit, as the server or the recorder of a power cut counts them; what an app tried again and gave up;
/// bytes of all tables; what the worker takes for itself.
pub const OF_TRIAL: [&str; 31] = [
    "window_s",
    "elapsed_s",
    "clients_s",
    "clients",
    "processes",
    "rate_per_s",
    "scale",
    "databases",
    "cpu_ns_server",
    "server_lock_waits",
    "server_lock_wait_ns",
    "server_lock_wait_ns_max",
    "pss_bytes_server",
    "written_bytes_server",
    "cpu_ns_daemon",
    "rss_bytes_daemon",
    "pss_bytes_daemon",
    "written_bytes_daemon",
    "cpu_ns_serving",
    "rss_bytes_serving",
    "pss_bytes_serving",
    "written_bytes_serving",
    "server_syncs_per_commit",
    "recorded_syncs_per_commit",
    "serving_retries",
    "serving_gave_up",
    "table_bytes",
    "index_bytes",
    "floor_ns",
    "floor_ns_p999",
    "floor_ns_max",
];

/// Bytes on disk of a table's rows and of its indexes, before the table's name and a dot.
const OF_TABLES: [&str; 2] = ["table_bytes", "index_bytes"];

/// A name of a formula, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity<'n> {
    Count(&'n str, Of<'n>),
    /// Attempts that ended with this code.
    Code(CodeSpace, u32),
    /// A figure that every study has.
    Figure(&'n str),
    /// A time of one transaction.
    TimeOf(&'n str, &'n str),
    /// A quantity of the contender with this label, in the same round under the same condition.
    Elsewhere(&'n str, &'n str),
    /// One of [`OF_TRIAL`], a number of `[scale]`, a setting, or nothing that anybody knows.
    Other(&'n str),
}

/// The operations a count is limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of<'n> {
    All,
    Reads,
    Writes,
    Transaction(&'n str),
}

impl<'n> Quantity<'n> {
    /// Of operations that were carried out: how many, how many rows, how long they took.
    pub fn is_of_work_done(&self) -> bool {
        match self {
            Quantity::Count(count, _) => ["committed", "committed_begun", "rows"].contains(count),
            Quantity::Figure(name) | Quantity::TimeOf(name, _) => standard::is_of_work_done(name),
            Quantity::Elsewhere(name, _) => Self::read(name).is_ok_and(|quantity| quantity.is_of_work_done()),
            Quantity::Code(..) | Quantity::Other(_) => false,
        }
    }

    /// Of operations or attempts that came to nothing.
    pub fn counts_what_was_not_done(&self) -> bool {
        match self {
            Quantity::Count(count, _) => !["committed", "committed_begun", "rows", "longest_stall_ns"].contains(count),
            Quantity::Code(..) => true,
            Quantity::Elsewhere(name, _) => Self::read(name).is_ok_and(|quantity| quantity.counts_what_was_not_done()),
            Quantity::Figure(_) | Quantity::TimeOf(..) | Quantity::Other(_) => false,
        }
    }

    /// # Errors
    /// A name with a dot that is neither a count, a code nor a figure.
    pub fn read(name: &'n str) -> Result<Self, String> {
        if let Some((name, label)) = name.strip_suffix(']').and_then(|name| name.split_once("@[")) {
            return Self::read(name).map(|_| Quantity::Elsewhere(name, label));
        }
        let (head, rest) = name.split_once('.').map_or((name, None), |(head, rest)| (head, Some(rest)));
        if head == "code" {
            return code(rest.unwrap_or_default());
        }
        if COUNTS.contains(&head) && rest != Some("") {
            let of = match rest {
                None => Of::All,
                Some("read") => Of::Reads,
                Some("write") => Of::Writes,
                Some(transaction) => Of::Transaction(transaction),
            };
            return Ok(Quantity::Count(head, of));
        }
        if OF_TABLES.contains(&head) && rest != Some("") {
            return Ok(Quantity::Other(name));
        }
        if standard::standard_direction(name).is_some() {
            return Ok(Quantity::Figure(name));
        }
        match rest {
            None => Ok(Quantity::Other(name)),
            Some(transaction) if standard::is_time(head) && !transaction.is_empty() => {
                Ok(Quantity::TimeOf(head, transaction))
            }
            Some(rest) => Err(with_dot(name, head, rest)),
        }
    }
}

fn with_dot(name: &str, head: &str, rest: &str) -> String {
    let known = standard::standard_names();
    let heads = COUNTS.iter().copied().chain(known.iter().map(String::as_str));
    let advice = match nearest(head, heads) {
        Some(found) if found != head => format!("; did you mean `{found}.{rest}`?"),
        _ => {
            format!("; a dot follows a count ({}) or, before read or write, throughput or a latency", COUNTS.join(", "))
        }
    };
    format!("there is no `{name}`{advice}")
}

fn code<'n>(code: &str) -> Result<Quantity<'n>, String> {
    let (space, number) = code.split_once('.').unwrap_or((code, ""));
    let known = CodeSpace::from_word(space).and_then(|space| {
        let plain = || number.parse::<u32>().ok().filter(|n| n.to_string() == number);
        let code = if space == CodeSpace::Sqlstate { sqlstate_to_code(number) } else { plain() };
        Some(Quantity::Code(space, code?))
    });
    known.ok_or_else(|| {
        format!("`code.{code}` names no code; write code.SPACE.NUMBER, such as code.sqlite.517 or code.sqlstate.40001")
    })
}

/// The names a workload and the contenders add.
#[derive(Debug, Default)]
pub struct Known<'v> {
    pub transactions: &'v [String],
    pub scale: &'v [String],
    pub tables: &'v [String],
    pub settings: Vec<&'static str>,
    /// The study's own metrics, where they may be used.
    pub metrics: Vec<&'v str>,
}

/// Reads a formula, and every name as far as it can be read without the workload.
pub fn read(text: &str) -> Result<Formula, String> {
    let formula = Formula::parse(text)?;
    formula.names().into_iter().try_for_each(|name| Quantity::read(name).map(drop))?;
    Ok(formula)
}

/// Checks every name of a formula.
///
/// # Errors
/// The first name that nobody knows, with the nearest one that is known.
pub fn check(text: &str, known: &Known) -> Result<(), String> {
    read(text)?.names().into_iter().try_for_each(|name| check_name(name, known))
}

fn check_name(name: &str, known: &Known) -> Result<(), String> {
    match Quantity::read(name)? {
        Quantity::Elsewhere(name, _) => check_name(name, known),
        Quantity::Count(head, Of::Transaction(transaction)) | Quantity::TimeOf(head, transaction)
            if !known.transactions.iter().any(|t| t == transaction) =>
        {
            let advice = match nearest(transaction, known.transactions.iter().map(String::as_str)) {
                Some(found) => format!("did you mean `{head}.{found}`?"),
                None => format!("it has {}, and there are {head}.read and {head}.write", known.transactions.join(", ")),
            };
            Err(format!("the workload has no transaction `{transaction}`; {advice}"))
        }
        Quantity::Other(name) => {
            if let Some((head, table)) =
                name.split_once('.').filter(|(_, table)| !known.tables.iter().any(|t| t == table))
            {
                let advice = nearest(table, known.tables.iter().map(String::as_str));
                let advice = advice.map_or(String::new(), |found| format!("; did you mean `{head}.{found}`?"));
                return Err(format!("the workload has no table `{table}`{advice}"));
            }
            let name = name.split_once('.').map_or(name, |(head, _)| head);
            let named: Vec<&str> = OF_TRIAL
                .into_iter()
                .chain(known.scale.iter().map(String::as_str))
                .chain(known.settings.iter().copied())
                .chain(known.metrics.iter().copied())
                .collect();
            if named.contains(&name) {
                return Ok(());
            }
            Err(unknown(name, &named))
        }
        _ => Ok(()),
    }
}

fn unknown(name: &str, named: &[&str]) -> String {
    let standard = standard::standard_names();
    let all = named.iter().copied().chain(COUNTS).chain(standard.iter().map(String::as_str));
    match nearest(name, all) {
        Some(found) => format!("there is no `{name}`; did you mean `{found}`?"),
        None => {
            format!("there is no `{name}`; there are counts ({}), metrics, {}", COUNTS.join(", "), named.join(", "))
        }
    }
}

/// Whether figures of reads and of writes are told apart by `name`'s end.
pub fn kind_of(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(_, kind)| KINDS.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        for (name, expected) in [
            ("committed", Quantity::Count("committed", Of::All)),
            ("rows.write", Quantity::Count("rows", Of::Writes)),
            ("planned.read", Quantity::Count("planned", Of::Reads)),
            ("planned.page_view", Quantity::Count("planned", Of::Transaction("page_view"))),
            ("code.sqlite.517", Quantity::Code(CodeSpace::Sqlite, 517)),
            ("code.sqlstate.40001", Quantity::Code(CodeSpace::Sqlstate, 6_718_465)),
            ("service_ns_p99.read", Quantity::Figure("service_ns_p99.read")),
            ("acquire_wait_ns_mean", Quantity::Figure("acquire_wait_ns_mean")),
            ("cpu_ns_client", Quantity::Figure("cpu_ns_client")),
            ("response_ns_p99.page_view", Quantity::TimeOf("response_ns_p99", "page_view")),
            ("longest_stall_ns.read", Quantity::Count("longest_stall_ns", Of::Reads)),
            ("cpu_ns_client@[WAL, b]", Quantity::Elsewhere("cpu_ns_client", "WAL, b")),
            ("window_s", Quantity::Other("window_s")),
            ("databases", Quantity::Other("databases")),
        ] {
            assert_eq!(Quantity::read(name), Ok(expected), "{name}");
        }
        for (name, message) in [
            ("committed.", "there is no `committed.`"),
            ("comitted.write", "did you mean `committed.write`?"),
            ("cpu_ns_client.read", "a dot follows a count"),
            ("code", "names no code"),
            ("code.sqlite", "names no code"),
            ("code.sqlite.x", "names no code"),
            ("code.sqlite.07", "names no code"),
            ("code.oracle.1", "names no code"),
        ] {
            let error = Quantity::read(name).unwrap_err();
            assert!(error.contains(message), "{name}: {error}");
        }
    }

    #[test]
    fn names_nobody_knows_are_answered_with_the_nearest() {
        let (transactions, scale) = (["pay".to_string()], ["databases".to_string()]);
        let known = Known {
            transactions: &transactions,
            scale: &scale,
            tables: &[],
            settings: vec!["busy_timeout"],
            metrics: vec!["completion"],
        };
        for good in ["databases * busy_timeout", "committed.pay / window_s", "completion + service_ns_mean.read"] {
            assert_eq!(check(good, &known), Ok(()), "{good}");
        }
        for (bad, message) in [
            ("database", "there is no `database`; did you mean `databases`?"),
            ("windows", "did you mean `window_s`?"),
            ("busy_time_out", "did you mean `busy_timeout`?"),
            ("1 + comitted", "did you mean `committed`?"),
            ("committed.pai", "no transaction `pai`; did you mean `committed.pay`?"),
            ("committed.withdraw", "it has pay, and there are committed.read"),
            ("zzzzzzzz", "there are counts (committed"),
        ] {
            let error = check(bad, &known).unwrap_err();
            assert!(error.contains(message), "{bad}: {error}");
        }
    }
}
