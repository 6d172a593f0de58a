//! What the CHECK constraints of a table allow in a column: `state IN ('new', 'paid')`, `qty BETWEEN 1 AND 99`, `length(code) = 3`.
//! Made-up values follow it. What is not understood allows everything.

use crate::literal::{free, written};
use crate::manifest::{Column, Table};
use crate::sql::{Token, literal, tokens, without_quotes};
use crate::trace::Value;

/// Longest text that a CHECK may require; one of more characters is not understood.
const LENGTH_MOST: u64 = 65_535;
/// Texts of words may be this many times as long as their mean.
const WORDS_MOST: u64 = 20;

/// The values that a column may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowed {
    /// The only values, in the order of the schema; empty if a CHECK lists none.
    pub words: Vec<Value>,
    low: Option<Bound>,
    high: Option<Bound>,
    /// The least and the greatest length.
    length: (u64, u64),
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    number: f64,
    /// Whether the number itself is allowed.
    is_in: bool,
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed { words: vec![], low: None, high: None, length: (0, u64::MAX) }
    }
}

impl Allowed {
    pub fn of(table: &Table, column: &Column) -> Allowed {
        Allowed::by(&table.ddl, &names(table), &[&column.name]).remove(0)
    }

    /// What each column of a table may have, in their order.
    pub fn of_all(table: &Table) -> Vec<Allowed> {
        let names = names(table);
        Allowed::by(&table.ddl, &names, &names)
    }

    /// What each of some columns may have. `names`: all columns of the table.
    fn by(ddl: &str, names: &[&str], columns: &[&str]) -> Vec<Allowed> {
        let all = read(ddl);
        let checks = checks(&all);
        let of = |column: &&str| {
            let reader = Reader { names, column };
            checks.iter().map(|check| reader.read(check)).fold(Allowed::default(), Allowed::and)
        };
        columns.iter().map(of).collect()
    }

    /// The only values as TOML; empty if a CHECK lists none.
    pub fn listed(&self) -> Vec<String> {
        self.words.iter().filter_map(written).collect()
    }

    /// Whether the only values are texts; `None` without any.
    pub fn is_text(&self) -> Option<bool> {
        self.words.first().map(|word| matches!(word, Value::Text(_)))
    }

    /// The first of this number of integers, `from` if that is allowed.
    pub fn first(&self, from: i64, count: u64) -> i64 {
        let (low, high) = self.integers();
        let last = high.saturating_sub_unsigned(count.max(1) - 1);
        from.min(last).max(low)
    }

    fn integers(&self) -> (i64, i64) {
        let low = |bound: Bound| if bound.is_in { bound.number.ceil() } else { bound.number.floor() + 1.0 };
        let high = |bound: Bound| if bound.is_in { bound.number.floor() } else { bound.number.ceil() - 1.0 };
        (self.low.map_or(i64::MIN, |bound| low(bound) as i64), self.high.map_or(i64::MAX, |bound| high(bound) as i64))
    }

    /// This number of integers, as the range of a generator: `[1, 20]`.
    pub fn range(&self, count: u64) -> String {
        let first = self.first(1, count);
        let last = first.saturating_add_unsigned(count.max(1) - 1).min(self.integers().1).max(first);
        format!("[{first}, {last}]")
    }

    /// The length that is nearest to this one.
    pub fn length(&self, near: u64) -> u64 {
        near.max(self.length.0).min(self.length.1)
    }

    /// A made-up text of about this length. Short ones have only the number.
    pub fn name(&self, number: usize, length: u64) -> String {
        let width = self.length(length.clamp(8, 64)) as usize;
        let name = format!("{:-<width$}", format!("value-{number}"));
        if name.len() as u64 > self.length.1 { format!("{number:0>width$}") } else { name }
    }

    /// A generator for values of known type, number and length.
    pub fn free(&self, kind: &str, distinct: u64, length: u64, null: &str) -> String {
        let words = self.listed();
        let number = |bound: &Option<Bound>| bound.map(|bound| bound.number);
        match kind {
            _ if !words.is_empty() => format!("{{ choice = [{}]{null} }}", words.join(", ")),
            "integer" => format!("{{ range = {}{null} }}", self.range(distinct)),
            "real" => {
                let span = distinct.max(1) as f64;
                let (low, high) = match (number(&self.low), number(&self.high)) {
                    (Some(low), Some(high)) => (low, high),
                    (Some(low), None) => (low, low + span),
                    (None, Some(high)) => (0f64.min(high - span), high),
                    (None, None) => (0.0, span),
                };
                format!("{{ range = [{low:?}, {high:?}]{null} }}")
            }
            "text" if self.length.0 > 1 || self.length.1 < length.saturating_mul(WORDS_MOST) => {
                format!("{{ format = \"{{hex:{}}}\"{null} }}", self.length(length.max(1)))
            }
            _ => free(kind, distinct, length, null),
        }
    }

    /// What both allow.
    fn and(self, other: Allowed) -> Allowed {
        let words = match (self.words.is_empty(), other.words.is_empty()) {
            (false, false) => self.words.into_iter().filter(|word| other.words.contains(word)).collect(),
            (true, _) => other.words,
            (_, true) => self.words,
        };
        let first = |bound: &Bound| (bound.number, !bound.is_in);
        let is_before = |one: &Bound, other: &Bound| first(one) < first(other);
        let of = |one: Option<Bound>, two: Option<Bound>, takes_later: bool| match (one, two) {
            (Some(one), Some(two)) => Some(if is_before(&one, &two) == takes_later { two } else { one }),
            (one, two) => one.or(two),
        };
        Allowed {
            words,
            low: of(self.low, other.low, true),
            high: of(self.high, other.high, false),
            length: (self.length.0.max(other.length.0), self.length.1.min(other.length.1)),
        }
    }
}

/// Reads a schema.
fn read(ddl: &str) -> Vec<Token<'_>> {
    #[cfg(test)]
    tests::READS.set(tests::READS.get() + 1);
    tokens(ddl)
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

/// The expressions of all CHECK constraints of a CREATE TABLE statement.
fn checks<'t, 's>(all: &'t [Token<'s>]) -> Vec<&'t [Token<'s>]> {
    let mut found = vec![];
    let mut depth = 0;
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth -= 1,
            _ if depth == 1 && token.is_word("check") && all.get(at + 1) == Some(&Token::Sign("(")) => {
                found.extend(inside(&all[at + 1..]));
            }
            _ => {}
        }
    }
    found
}

/// What is in the brackets at the begin of some tokens.
fn inside<'t, 's>(tokens: &'t [Token<'s>]) -> Option<&'t [Token<'s>]> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then(|| &tokens[1..at]);
        }
    }
    None
}

/// Splits an expression at a word outside of brackets. An AND that belongs to BETWEEN splits nothing.
fn split<'t, 's>(tokens: &'t [Token<'s>], word: &str) -> Vec<&'t [Token<'s>]> {
    let (mut depth, mut is_between) = (0, false);
    let splits = |token: &Token| {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth -= 1,
            _ if depth == 0 && token.is_word("between") => is_between = true,
            _ => {}
        }
        let is_it = depth == 0 && token.is_word(word);
        if is_it && is_between && word == "and" {
            is_between = false;
            return false;
        }
        is_it
    };
    tokens.split(splits).collect()
}

/// Reads expressions about a column.
struct Reader<'a> {
    /// All columns of the table: a name in double quotes that is none of these is a text.
    names: &'a [&'a str],
    column: &'a str,
}

/// What a comparison is about.
#[derive(Clone, Copy, PartialEq)]
enum Subject {
    Column,
    Length,
}

impl Reader<'_> {
    fn read(&self, check: &[Token]) -> Allowed {
        let has = |is: &dyn Fn(&Token) -> bool| check.iter().any(is);
        // The words AND and OR of a CASE are not those of the expression.
        if !has(&|token| self.is_it(token)) || has(&|token| token.is_word("case")) {
            return Allowed::default();
        }
        let either = split(check, "or");
        if either.len() > 1 {
            return self.either(&either);
        }
        let all = split(check, "and");
        if all.len() > 1 {
            return all.into_iter().map(|part| self.read(part)).fold(Allowed::default(), Allowed::and);
        }
        match inside(check) {
            Some(whole) if whole.len() + 2 == check.len() => self.read(whole),
            _ => self.comparison(check).unwrap_or_default(),
        }
    }

    /// Lists of words together, or the only part that is not about NULL.
    fn either(&self, parts: &[&[Token]]) -> Allowed {
        let is_null = |part: &&&[Token]| match part {
            [name, is, null] => self.is_it(name) && is.is_word("is") && null.is_word("null"),
            _ => false,
        };
        let mut all: Vec<Allowed> = parts.iter().filter(|part| !is_null(part)).map(|part| self.read(part)).collect();
        if all.len() > 1 && all.iter().any(|allowed| allowed.words.is_empty()) {
            return Allowed::default();
        }
        if all.len() == 1 {
            return all.remove(0);
        }
        let mut words: Vec<Value> = vec![];
        for word in all.into_iter().flat_map(|allowed| allowed.words) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Allowed { words, ..Allowed::default() }
    }

    /// `None` if it is not understood, or about another column.
    fn comparison(&self, part: &[Token]) -> Option<Allowed> {
        let (subject, rest) = self.subject(part)?;
        match rest {
            [word, list @ ..] if word.is_word("in") && subject == Subject::Column => {
                let list = inside(list).filter(|inner| inner.len() + 2 == list.len())?;
                let values = list.split(|token| *token == Token::Sign(",")).map(|item| self.value(item));
                Some(Allowed { words: values.collect::<Option<_>>()?, ..Allowed::default() })
            }
            [word, ends @ ..] if word.is_word("between") => {
                let [low, high] = split(ends, "and")[..] else { return None };
                let low = compared(subject, ">=", self.value(low)?)?;
                Some(low.and(compared(subject, "<=", self.value(high)?)?))
            }
            [word, value @ ..] if word.is_word("is") => compared(subject, "=", self.value(value)?),
            _ => {
                let signs = rest.iter().take_while(|token| matches!(token, Token::Sign("<" | ">" | "=" | "!"))).count();
                compared(subject, &sign(&rest[..signs]), self.value(&rest[signs..])?)
            }
        }
    }

    /// What a comparison begins with, and the rest of it.
    fn subject<'t, 's>(&self, part: &'t [Token<'s>]) -> Option<(Subject, &'t [Token<'s>])> {
        match part {
            [length, Token::Sign("("), name, Token::Sign(")"), rest @ ..]
                if length.is_word("length") && self.is_it(name) =>
            {
                Some((Subject::Length, rest))
            }
            [name, rest @ ..] if self.is_it(name) => Some((Subject::Column, rest)),
            _ => None,
        }
    }

    fn is_it(&self, token: &Token) -> bool {
        matches!(token, Token::Word(_)) && token.is_name(self.column)
    }

    fn value(&self, tokens: &[Token]) -> Option<Value> {
        match tokens {
            [Token::Literal(text)] => Some(literal(text, false)),
            [Token::Sign("+"), rest @ ..] => self.value(rest),
            [Token::Word(text)] if text.starts_with('\'') => Some(literal(text, false)),
            [Token::Word(text)] if text.starts_with('"') => {
                let inner = without_quotes(text);
                let is_column = self.names.iter().any(|name| name.eq_ignore_ascii_case(inner));
                (!is_column).then(|| Value::Text(inner.as_bytes().into()))
            }
            [word] if word.is_word("true") => Some(Value::Integer(1)),
            [word] if word.is_word("false") => Some(Value::Integer(0)),
            _ => None,
        }
    }
}

/// The text of an operator.
fn sign(tokens: &[Token]) -> String {
    tokens.iter().filter_map(|token| if let Token::Sign(sign) = token { Some(*sign) } else { None }).collect()
}

fn compared(subject: Subject, sign: &str, with: Value) -> Option<Allowed> {
    let none = Allowed::default();
    if subject == Subject::Column && matches!(sign, "=" | "==") {
        return Some(Allowed { words: vec![with], ..none });
    }
    let number = match with {
        Value::Integer(number) => number as f64,
        Value::Real(number) => number,
        _ => return None,
    };
    let (is_low, is_high) = (matches!(sign, ">" | ">=" | "=" | "=="), matches!(sign, "<" | "<=" | "=" | "=="));
    if !is_low && !is_high {
        return None;
    }
    let bound = Some(Bound { number, is_in: sign.contains('=') });
    let range = Allowed { low: bound.filter(|_| is_low), high: bound.filter(|_| is_high), ..none.clone() };
    if subject == Subject::Column {
        return Some(range);
    }
    let (low, high) = range.integers();
    let least = u64::try_from(low).unwrap_or(0);
    if least > LENGTH_MOST {
        return None;
    }
    Some(Allowed { length: (least, u64::try_from(high).ok()?), ..none })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        pub static READS: Cell<usize> = const { Cell::new(0) };
    }

    fn allowed(ddl: &str, column: &str) -> Allowed {
        Allowed::by(ddl, &["id", "state", "qty", "code"], &[column]).remove(0)
    }

    #[test]
    fn the_schema_of_a_wide_table_is_read_once() {
        let names: Vec<String> = (0..600).map(|at| format!("c{at}")).collect();
        let columns = names.iter().map(|name| format!("{name} TEXT CHECK (length({name}) > 2)"));
        let ddl = format!("CREATE TABLE t ({})", columns.collect::<Vec<_>>().join(", "));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let before = READS.get();
        let together = Allowed::by(&ddl, &names, &names);
        assert_eq!(READS.get() - before, 1);
        let apart: Vec<Allowed> = names.iter().flat_map(|name| Allowed::by(&ddl, &names, &[name])).collect();
        assert!(together == apart && apart.iter().all(|allowed| allowed.length.0 == 3));
    }

    fn of_state(check: &str) -> Vec<String> {
        allowed(&format!("CREATE TABLE t (id INTEGER, state TEXT CHECK ({check}), qty INT)"), "state").listed()
    }

    #[test]
    fn the_words_of_a_check_are_those_of_a_column() {
        let both = [r#""new""#, r#""it's""#];
        for check in [
            "state IN ('new', 'it''s')",
            "\"state\" in ('new', 'it''s') AND length(state) > 1",
            "state = 'new' OR 'x' = 'y' AND state = 'it''s' OR state IS NULL",
            "(state IS NULL OR (state IN (\"new\", 'it''s')))",
            "state IN ('new', 'old', 'it''s') AND state IN ('new', 'it''s')",
            "(state = 'new' AND qty IS NOT NULL) OR (state = 'it''s' AND qty BETWEEN 1 AND 2)",
        ] {
            assert_eq!(of_state(check), both, "{check}");
        }
        for check in [
            "state NOT IN ('new')",
            "state <> 'new'",
            "state IN (SELECT name FROM s)",
            "state IN ('new') OR qty = 1",
            "CASE WHEN qty = 1 THEN state = 'new' END",
            "lower(state) IN ('new')",
            "state = \"code\"",
            "NOT (state = 'new')",
        ] {
            assert!(of_state(check).is_empty(), "{check}: {:?}", of_state(check));
        }
        assert_eq!(of_state("qty IN (1) AND state IN ('', '%', -1, 0.5)"), [r#""""#, r#""%""#, "-1", "0.5"]);
        let of_table =
            "CREATE TABLE t (id INTEGER, state TEXT, CONSTRAINT c CHECK (state IN ('a')), CHECK (qty IN (TRUE, 7)))";
        assert_eq!(
            (allowed(of_table, "state").listed(), allowed(of_table, "qty").listed()),
            (vec!["\"a\"".into()], vec!["1".into(), "7".into()])
        );
    }

    #[test]
    fn numbers_and_lengths_are_within_the_bounds_of_a_check() {
        let of = |check: &str| allowed(&format!("CREATE TABLE t (qty INT CHECK ({check}))"), "qty");
        for (check, count, expected) in [
            ("qty BETWEEN 10 AND 20 AND id > 5", 5, "[10, 14]"),
            ("qty BETWEEN 10 AND 20", 50, "[10, 20]"),
            ("qty > 0 AND qty < 3", 9, "[1, 2]"),
            ("qty >= -5 AND (qty <= -2)", 2, "[-3, -2]"),
            ("qty >= 2.5", 2, "[3, 4]"),
            ("qty <> 3", 4, "[1, 4]"),
        ] {
            assert_eq!(of(check).range(count), expected, "{check}");
        }
        assert_eq!(of("qty >= 0.5 AND qty < 1").free("real", 9, 8, ""), "{ range = [0.5, 1.0] }");
        assert_eq!(of("qty > 100").free("real", 9, 8, ""), "{ range = [100.0, 109.0] }");
        let short = of("length(qty) <= 12 AND length(qty) >= 3");
        assert_eq!([1, 7, 40].map(|length| short.length(length)), [3, 7, 12]);
        assert_eq!(short.free("text", 900, 40, ""), "{ format = \"{hex:12}\" }");
        assert_eq!(of("length(qty) = 3").free("text", 900, 3, ", null = 0.5"), "{ format = \"{hex:3}\", null = 0.5 }");
        assert_eq!(of("length(qty) = 65535").name(1, 8).len(), 65_535);
        for check in ["length(qty) >= 70000", "length(qty) = 70000", "length(qty) BETWEEN 70000 AND 80000"] {
            assert_eq!(of(check).name(1, 8), "value-1-", "{check}");
        }
        assert_eq!(of("length(qty) > 100").free("text", 900, 50, ""), "{ format = \"{hex:101}\" }");
        assert_eq!(of("length(qty) < 9999").free("text", 900, 60, ""), "{ words = { median = 10 } }");
    }
}
