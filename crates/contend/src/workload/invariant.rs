//! Invariants: what must be true of the data after any number of concurrent operations.

use contend_wire::literal::Value;
use std::collections::BTreeMap;

/// A query that returns one value, and the condition on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Invariant {
    pub name: String,
    pub sql: String,
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expect {
    /// Exactly this text.
    Text(String),
    Number(Relation, Linear),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Equals,
    AtLeast,
    AtMost,
}

/// A sum of counts times constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linear(pub Vec<Term>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub factor: i64,
    pub of: Quantity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    One,
    /// Rows a table was loaded with.
    Rows(String),
    /// Committed operations of a transaction, by its index.
    Committed(usize),
}

impl Linear {
    /// The lowest and highest value, given the rows loaded and, per transaction, how many operations
    /// are known to have committed and how many may have (outcome unknown). Counts are of the whole
    /// trial: what run-in and drain committed is in the data too.
    pub fn bounds(&self, rows: &BTreeMap<String, u64>, counts: impl Fn(usize) -> (u64, u64)) -> (i64, i64) {
        let (mut low, mut high) = (0i64, 0i64);
        for term in &self.0 {
            let (least, most) = match &term.of {
                Quantity::One => (1, 1),
                Quantity::Rows(table) => (rows[table], rows[table]),
                Quantity::Committed(transaction) => {
                    let (committed, unknown) = counts(*transaction);
                    (committed, committed + unknown)
                }
            };
            let (a, b) = (term.factor.saturating_mul(least as i64), term.factor.saturating_mul(most as i64));
            low = low.saturating_add(a.min(b));
            high = high.saturating_add(a.max(b));
        }
        (low, high)
    }
}

impl Invariant {
    /// The lowest and highest allowed answer; `None` if the answer is a text.
    pub fn bounds(&self, rows: &BTreeMap<String, u64>, counts: impl Fn(usize) -> (u64, u64)) -> Option<(i64, i64)> {
        let Expect::Number(relation, linear) = &self.expect else { return None };
        let (low, high) = linear.bounds(rows, counts);
        Some(match relation {
            Relation::Equals => (low, high),
            Relation::AtLeast => (low, i64::MAX),
            Relation::AtMost => (i64::MIN, high),
        })
    }

    /// Judges an answer: it must be one row, of which the first column counts.
    pub fn judge(
        &self,
        answer: &[Vec<Value>],
        rows: &BTreeMap<String, u64>,
        counts: impl Fn(usize) -> (u64, u64),
    ) -> Judged {
        let found = answer.first().and_then(|row| row.first());
        let (allowed, expected) = match (&self.expect, self.bounds(rows, counts)) {
            (Expect::Text(text), _) => (matches!(found, Some(Value::Text(t)) if t == text), text.clone()),
            (Expect::Number(..), Some((low, high))) => {
                (found.and_then(whole).is_some_and(|n| (low..=high).contains(&n)), in_words(low, high))
            }
            (Expect::Number(..), None) => unreachable!("a number always has bounds"),
        };
        let holds = allowed && answer.len() == 1;
        let found = match (found, answer.len()) {
            (Some(found), 1) => shown(found),
            (_, rows) => format!("{rows} rows"),
        };
        Judged { found, expected, holds }
    }
}

/// Found and expected answer, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub found: String,
    pub expected: String,
    pub holds: bool,
}

/// Some engines return sums as reals or texts.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(i) => Some(*i),
        Value::Real(r) if r.fract() == 0.0 && r.abs() < 9e15 => Some(*r as i64),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn in_words(low: i64, high: i64) -> String {
    match (low, high) {
        (low, i64::MAX) => format!("at least {low}"),
        (i64::MIN, high) => format!("at most {high}"),
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Integer(i) => i.to_string(),
        Value::Real(r) => r.to_string(),
        Value::Text(text) => text.chars().take(200).collect(),
        other => other.encode().chars().take(200).collect(),
    }
}

/// Meaning of the names in a sum.
pub struct Vocabulary<'a> {
    pub is_table: &'a dyn Fn(&str) -> bool,
    /// The index of a transaction.
    pub transaction: &'a dyn Fn(&str) -> Option<usize>,
    /// A fixed number of `[scale]`.
    pub number: &'a dyn Fn(&str) -> Option<i64>,
}

/// Reads a sum such as `rows.a + batch*committed.b - 1`.
///
/// # Errors
/// The wrong term, in words.
pub fn parse_linear(text: &str, names: &Vocabulary<'_>) -> Result<Linear, String> {
    let mut terms = vec![];
    let mut rest = text.trim();
    let mut sign = 1;
    if let Some(negative) = rest.strip_prefix('-') {
        (sign, rest) = (-1, negative);
    }
    loop {
        // A name may contain a sign: the longest term that is one counts.
        let ends: Vec<usize> = rest.match_indices(['+', '-']).map(|(at, _)| at).chain([rest.len()]).collect();
        let term = |end: &usize| Some((*end, parse_term(rest[..*end].trim(), sign, names).ok()?));
        let Some((end, term)) = ends.iter().rev().find_map(term) else {
            return parse_term(rest[..ends[0]].trim(), sign, names).map(|term| Linear(vec![term]));
        };
        terms.push(term);
        if end == rest.len() {
            return Ok(Linear(terms));
        }
        sign = if rest.as_bytes()[end] == b'-' { -1 } else { 1 };
        rest = &rest[end + 1..];
    }
}

fn parse_term(text: &str, sign: i64, names: &Vocabulary<'_>) -> Result<Term, String> {
    let known = |text: &str| text.parse::<i64>().ok().or_else(|| (names.number)(text));
    let (factor, of) = match text.split_once('*') {
        None => (None, text),
        Some((a, b)) if known(a.trim()).is_some() => (Some(a.trim()), b.trim()),
        Some((a, b)) => (Some(b.trim()), a.trim()),
    };
    let number = |text| known(text).ok_or_else(|| format!("`{text}` is neither a whole number nor fixed in [scale]"));
    let factor = number(factor.unwrap_or("1"))?.saturating_mul(sign);
    if let Some(name) = of.strip_prefix("rows.") {
        if !(names.is_table)(name) {
            return Err(format!("there is no table `{name}`"));
        }
        return Ok(Term { factor, of: Quantity::Rows(name.to_string()) });
    }
    if let Some(name) = of.strip_prefix("committed.") {
        let index = (names.transaction)(name).ok_or_else(|| format!("there is no transaction `{name}`"))?;
        return Ok(Term { factor, of: Quantity::Committed(index) });
    }
    match known(of) {
        Some(n) => Ok(Term { factor: factor.saturating_mul(n), of: Quantity::One }),
        None => Err(format!(
            "`{of}` is not a number, a fixed name of [scale], `rows.TABLE` or `committed.TRANSACTION` (put a text to compare with in single quotes inside: \"'ok'\")"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(text: &str) -> Result<Linear, String> {
        let transactions = ["pay", "refund", "pay-back"];
        let names = Vocabulary {
            is_table: &|t| t == "account",
            transaction: &|t| transactions.iter().position(|name| *name == t),
            number: &|name| (name == "batch").then_some(20),
        };
        parse_linear(text, &names)
    }

    #[test]
    fn unknown_outcomes_widen_the_bounds_on_their_side() {
        let rows = BTreeMap::from([("account".to_string(), 100)]);
        let counts = |t: usize| [(10, 2), (3, 1), (5, 0)][t];
        for (text, low, high) in [
            ("rows.account", 100, 100),
            ("rows.account + batch*committed.pay - batch", 280, 320),
            ("rows.account + committed.pay", 110, 112),
            ("2*committed.pay + rows.account * 3", 320, 324),
            ("committed.pay - committed.refund", 6, 9),
            ("committed.pay-back-committed.refund - 1", 0, 1),
            ("-1 + rows.account", 99, 99),
            ("7", 7, 7),
        ] {
            assert_eq!(linear(text).unwrap().bounds(&rows, counts), (low, high), "{text}");
        }
    }

    #[test]
    fn what_is_no_term_is_said() {
        assert!(linear("rows.nothing").unwrap_err().contains("no table `nothing`"));
        assert!(linear("committed.nothing").unwrap_err().contains("no transaction `nothing`"));
        assert!(linear("pay +").is_err() && linear("x*rows.account").is_err() && linear("").is_err());
    }

    #[test]
    fn answers_are_checked_against_the_bounds() {
        let rows = BTreeMap::from([("account".to_string(), 100)]);
        let counts = |_: usize| (1, 1);
        let invariant = |relation| Invariant {
            name: "n".into(),
            sql: String::new(),
            expect: Expect::Number(relation, linear("rows.account + committed.pay").unwrap()),
        };
        let judge = |i: &Invariant, value: Value| i.judge(&[vec![value]], &rows, counts);
        let equals = invariant(Relation::Equals);
        for good in [Value::Integer(101), Value::Integer(102), Value::Real(101.0), Value::Text("102".into())] {
            assert!(judge(&equals, good).holds);
        }
        for bad in [Value::Integer(100), Value::Integer(103), Value::Null, Value::Real(101.5)] {
            let judged = judge(&equals, bad);
            assert!(!judged.holds && judged.expected == "101 to 102", "{judged:?}");
        }
        assert!(judge(&invariant(Relation::AtLeast), Value::Integer(9999)).holds);
        assert!(judge(&invariant(Relation::AtMost), Value::Integer(-5)).holds);
        let text = Invariant { name: "t".into(), sql: String::new(), expect: Expect::Text("ok".into()) };
        assert!(judge(&text, Value::Text("ok".into())).holds);
        assert!(!judge(&text, Value::Integer(1)).holds);
        let two = [vec![Value::Text("ok".into())], vec![Value::Text("ok".into())]];
        assert!(!text.judge(&two, &rows, counts).holds, "a second row is a second complaint");
        assert!(!text.judge(&[], &rows, counts).holds);
    }
}
