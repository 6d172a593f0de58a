//! The names in a formula: metrics (also of some operations or of another contender), codes, and numbers of a workload
//! or a contender.

use crate::analysis::formula::Formula;
use crate::analysis::metric::table::{Dot, Of, OverRounds, Part, Row, TABLE, Work, row};
use crate::analysis::trial::{Scope, TrialRow};
use crate::source::nearest;
use contend_wire::sample::{CodeSpace, sqlstate_to_code};

/// A parsed name of a formula.
#[derive(Debug, Clone, Copy)]
pub enum Name<'n> {
    Listed(&'static Row, Part<'n>),
    /// Attempts that ended with this code.
    Code(CodeSpace, u32),
    /// A name of the contender with this label, in the same round under the same condition.
    Elsewhere(&'n str, &'n str),
    /// A number of `[scale]`, a setting, or unknown.
    Number(&'n str),
}

impl<'n> Name<'n> {
    /// # Errors
    /// A name with a dot that is neither a metric nor a code.
    pub fn read(name: &'n str) -> Result<Self, String> {
        if let Some((name, label)) = name.strip_suffix(']').and_then(|name| name.split_once("@[")) {
            return Self::read(name).map(|_| Name::Elsewhere(name, label));
        }
        let (head, rest) = name.split_once('.').map_or((name, None), |(head, rest)| (head, Some(rest)));
        if head == "code" {
            return code(rest.unwrap_or_default());
        }
        let Some(rest) = rest else {
            return Ok(row(name).map_or(Name::Number(name), |row| Name::Listed(row, Part::Kind(Scope::All))));
        };
        let part = row(head).and_then(|row| Some((row, part(row.dot, rest)?)));
        part.map(|(row, part)| Name::Listed(row, part)).ok_or_else(|| with_dot(name, head, rest))
    }

    /// The kind of operations that it counts or times.
    pub fn work(&self) -> Work {
        match self {
            Name::Listed(row, _) => row.work,
            Name::Code(..) => Work::NotDone,
            Name::Elsewhere(name, _) => Name::read(name).map_or(Work::None, |name| name.work()),
            Name::Number(_) => Work::None,
        }
    }

    /// How the numbers of trials become one.
    pub fn over_rounds(&self) -> OverRounds {
        match self {
            Name::Listed(row, _) => row.over_rounds(),
            Name::Elsewhere(name, _) => Name::read(name).map_or(OverRounds::Mean, |name| name.over_rounds()),
            Name::Code(..) | Name::Number(_) => OverRounds::Mean,
        }
    }

    /// The number in one trial; `None` if it was not measured there or is unknown. `whole` is the name as written.
    pub fn of_trial(&self, whole: &str, row: &TrialRow<'_>, transactions: &[String]) -> Option<f64> {
        let measured = row.measured.as_ref()?;
        match self {
            Name::Listed(listed, part) => listed.of_trial(*part, row, transactions),
            Name::Code(space, code) => Some(measured.counts.codes.get(&(*space, *code)).copied().unwrap_or(0) as f64),
            Name::Elsewhere(..) => row.elsewhere.get(whole).copied(),
            Name::Number(name) => row.numbers.get(*name).copied(),
        }
    }
}

/// Parses the part after the dot of a metric.
fn part(dot: Dot, rest: &str) -> Option<Part<'_>> {
    match (dot, rest) {
        (_, "") | (Dot::Nothing, _) => None,
        (Dot::Table, table) => Some(Part::Table(table)),
        (_, "read") => Some(Part::Kind(Scope::Read)),
        (_, "write") => Some(Part::Kind(Scope::Write)),
        (Dot::Transaction, transaction) => Some(Part::Transaction(transaction)),
        (Dot::Kind, _) => None,
    }
}

/// Names of the metrics by which contenders can be compared.
pub fn compared_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|row| row.better.is_some()).map(|row| row.name.as_str())
}

fn count_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|row| matches!(row.of, Of::Count(_))).map(|row| row.name.as_str())
}

fn listed_counts() -> String {
    count_names().collect::<Vec<_>>().join(", ")
}

fn with_dot(name: &str, head: &str, rest: &str) -> String {
    let advice = match nearest(head, count_names().chain(compared_names())) {
        Some(found) if found != head => format!("; did you mean `{found}.{rest}`?"),
        _ => {
            format!("; a dot follows a count ({}) or, before read or write, throughput or a latency", listed_counts())
        }
    };
    format!("there is no `{name}`{advice}")
}

fn code<'n>(code: &str) -> Result<Name<'n>, String> {
    let (space, number) = code.split_once('.').unwrap_or((code, ""));
    let known = CodeSpace::from_word(space).and_then(|space| {
        let plain = || number.parse::<u32>().ok().filter(|n| n.to_string() == number);
        let code = if space == CodeSpace::Sqlstate { sqlstate_to_code(number) } else { plain() };
        Some(Name::Code(space, code?))
    });
    known.ok_or_else(|| {
        format!("`code.{code}` is not a code; write code.SPACE.NUMBER, such as code.sqlite.517 or code.sqlstate.40001")
    })
}

/// Names that depend on the study, its workload and its contenders.
#[derive(Debug, Default)]
pub struct KnownNames<'v> {
    pub transactions: &'v [String],
    pub scale: &'v [String],
    pub tables: &'v [String],
    pub settings: Vec<&'static str>,
    /// The study's own metrics, where formulas may use them.
    pub metrics: Vec<&'v str>,
}

/// Parses a formula, and its names as far as possible without the workload.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &str) -> Result<Formula, String> {
    let formula = Formula::parse(text)?;
    formula.names().into_iter().try_for_each(|name| Name::read(name).map(drop))?;
    Ok(formula)
}

/// Checks every name of a formula.
///
/// # Errors
/// The first unknown name, with the nearest known one.
pub fn check(text: &str, known: &KnownNames) -> Result<(), String> {
    read(text)?.names().into_iter().try_for_each(|name| check_name(name, known))
}

fn check_name(name: &str, known: &KnownNames) -> Result<(), String> {
    let near = |name: &str, all: &[String]| nearest(name, all.iter().map(String::as_str)).map(str::to_string);
    match Name::read(name)? {
        Name::Elsewhere(name, _) => check_name(name, known),
        Name::Listed(row, Part::Transaction(transaction)) if !known.transactions.iter().any(|t| t == transaction) => {
            let head = &row.name;
            let advice = match near(transaction, known.transactions) {
                Some(found) => format!("did you mean `{head}.{found}`?"),
                None => format!("it has {}, and there are {head}.read and {head}.write", known.transactions.join(", ")),
            };
            Err(format!("the workload has no transaction `{transaction}`; {advice}"))
        }
        Name::Listed(row, Part::Table(table)) if !known.tables.iter().any(|t| t == table) => {
            let advice = near(table, known.tables);
            let advice = advice.map_or(String::new(), |found| format!("; did you mean `{}.{found}`?", row.name));
            Err(format!("the workload has no table `{table}`{advice}"))
        }
        Name::Number(name) => {
            let added = known.scale.iter().map(String::as_str).chain(known.settings.iter().copied());
            let added: Vec<&str> = added.chain(known.metrics.iter().copied()).collect();
            if added.contains(&name) { Ok(()) } else { Err(unknown(name, &added)) }
        }
        _ => Ok(()),
    }
}

fn unknown(name: &str, added: &[&str]) -> String {
    let others = TABLE.iter().filter(|row| row.better.is_none() && !matches!(row.of, Of::Count(_)));
    let named: Vec<&str> = others.map(|row| row.name.as_str()).chain(added.iter().copied()).collect();
    let mut all = named.clone();
    count_names().chain(compared_names()).for_each(|name| all.push(name));
    match nearest(name, all.iter().copied()) {
        Some(found) => format!("there is no `{name}`; did you mean `{found}`?"),
        None => format!("there is no `{name}`; there are counts ({}), metrics, {}", listed_counts(), named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        for (name, expected) in [
            ("committed", "committed Kind(All)"),
            ("rows.write", "rows Kind(Write)"),
            ("planned.read", "planned Kind(Read)"),
            ("planned.page_view", "planned Transaction(\"page_view\")"),
            ("service_ns_p99.read", "service_ns_p99 Kind(Read)"),
            ("acquire_wait_ns_mean", "acquire_wait_ns_mean Kind(All)"),
            ("cpu_ns_client", "cpu_ns_client Kind(All)"),
            ("response_ns_p99.page_view", "response_ns_p99 Transaction(\"page_view\")"),
            ("longest_stall_ns.read", "longest_stall_ns Kind(Read)"),
            ("table_bytes.posts", "table_bytes Table(\"posts\")"),
            ("window_s", "window_s Kind(All)"),
            ("code.sqlite.517", "Code(Sqlite, 517)"),
            ("code.sqlstate.40001", "Code(Sqlstate, 6718465)"),
            ("cpu_ns_client@[WAL, b]", "Elsewhere(\"cpu_ns_client\", \"WAL, b\")"),
            ("posts", "Number(\"posts\")"),
        ] {
            let read = match Name::read(name).unwrap() {
                Name::Listed(row, part) => format!("{} {part:?}", row.name),
                other => format!("{other:?}"),
            };
            assert_eq!(read, expected, "{name}");
        }
        for (name, message) in [
            ("committed.", "there is no `committed.`"),
            ("comitted.write", "did you mean `committed.write`?"),
            ("cpu_ns_client.read", "a dot follows a count"),
            ("throughput_ops_per_s.pay", "a dot follows a count"),
            ("code", "is not a code"),
            ("code.sqlite", "is not a code"),
            ("code.sqlite.x", "is not a code"),
            ("code.sqlite.07", "is not a code"),
            ("code.oracle.1", "is not a code"),
        ] {
            let error = Name::read(name).unwrap_err();
            assert!(error.contains(message), "{name}: {error}");
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        let (transactions, scale) = (["pay".to_string()], ["posts".to_string()]);
        let known = KnownNames {
            transactions: &transactions,
            scale: &scale,
            tables: &[],
            settings: vec!["busy_timeout"],
            metrics: vec!["completion"],
        };
        for good in
            ["databases * busy_timeout + posts", "committed.pay / window_s", "completion + service_ns_mean.read"]
        {
            assert_eq!(check(good, &known), Ok(()), "{good}");
        }
        for (bad, message) in [
            ("database", "there is no `database`; did you mean `databases`?"),
            ("windows", "did you mean `window_s`?"),
            ("busy_time_out", "did you mean `busy_timeout`?"),
            ("1 + comitted", "did you mean `committed`?"),
            ("committed.pai", "no transaction `pai`; did you mean `committed.pay`?"),
            ("committed.withdraw", "it has pay, and there are committed.read"),
            ("table_bytes.posts", "the workload has no table `posts`"),
            ("zzzzzzzz", "there are counts (planned"),
        ] {
            let error = check(bad, &known).unwrap_err();
            assert!(error.contains(message), "{bad}: {error}");
        }
    }
}
