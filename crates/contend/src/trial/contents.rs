//! Contents of a table, and how they differ from another contender's: column, rows and an example.

use crate::units::{hex, write_time};
use crate::workload::own_key::OwnKey;
use contend_wire::literal::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Replaces values that come from the database's clock: they depend on the time of the run, not on the operations.
const CLOCK: &str = "(time of the run)";

/// The rows of a table in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Columns whose values come from the database's clock.
    pub clocked: BTreeSet<String>,
}

impl Contents {
    /// Of the keys that the engine chose only the order is compared.
    pub fn of(columns: Vec<String>, mut rows: Vec<Vec<Value>>, key: Option<OwnKey>, run: &During) -> Self {
        if let Some(key) = key {
            rank(&mut rows, key);
        }
        let mut clocked = BTreeSet::new();
        let mut shown = |row: Vec<Value>| {
            let one = |(column, value): (usize, Value)| match run.made(&value) {
                true => {
                    clocked.insert(columns.get(column).cloned().unwrap_or_default());
                    CLOCK.to_string()
                }
                false => value.encode(),
            };
            row.into_iter().enumerate().map(one).collect()
        };
        let mut rows: Vec<Vec<String>> = rows.into_iter().map(&mut shown).collect();
        rows.sort_unstable();
        Self { columns, rows, clocked }
    }

    /// Number of rows and their digest.
    pub fn in_short(&self) -> String {
        let lines: Vec<String> = self.rows.iter().map(|row| row.join("\t")).collect();
        format!("{} rows, {}", self.rows.len(), hex(&Sha256::digest(lines.join("\n"))[..8]))
    }

    /// Columns and rows in which `other` differs, in words; `None` if both are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.rows == other.rows {
            return None;
        }
        let (missing, more) = (without(&self.rows, &other.rows), without(&other.rows, &self.rows));
        if self.rows.len() != other.rows.len() {
            let row = missing.first().or(more.first()).map(|row| row.iter().map(|value| shown(value)).collect());
            let example = row.map_or(String::new(), |row: Vec<String>| row.join(", "));
            return Some(format!("{} rows instead of {}, such as {example}", other.rows.len(), self.rows.len()));
        }
        let mut columns: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        for (here, there) in missing.iter().zip(&more) {
            for (at, (here_value, there_value)) in here.iter().zip(*there).enumerate().filter(|(_, (a, b))| a != b) {
                let example = || {
                    let (there, here, key) = (shown(there_value), shown(here_value), shown(&here[0]));
                    format!("{there} instead of {here} where {} = {key}", self.name(0))
                };
                columns.entry(at).or_insert_with(|| (0, example())).0 += 1;
            }
        }
        let words = columns.iter().map(|(at, (rows, example))| {
            format!("column {}: {rows} of {} rows differ, such as {example}", self.name(*at), self.rows.len())
        });
        Some(words.collect::<Vec<_>>().join("; "))
    }

    fn name(&self, column: usize) -> String {
        self.columns.get(column).cloned().unwrap_or_else(|| (column + 1).to_string())
    }
}

/// An encoded value for messages.
fn shown(encoded: &str) -> String {
    match encoded.split_at_checked(1) {
        Some(("n", "")) => "NULL".to_string(),
        Some(("i" | "r", number)) => number.to_string(),
        Some(("t", text)) => format!("'{}'", text.chars().take(60).collect::<String>()),
        _ => encoded.chars().take(60).collect(),
    }
}

/// The rows of `rows` that `other` lacks; both are sorted.
fn without<'r>(rows: &'r [Vec<String>], other: &[Vec<String>]) -> Vec<&'r Vec<String>> {
    let mut there = other.iter().peekable();
    let is_more = |row: &&Vec<String>| {
        while there.next_if(|other| *other < *row).is_some() {}
        there.next_if(|other| *other == *row).is_none()
    };
    rows.iter().filter(is_more).collect()
}

/// The time in which the data was made.
pub struct During {
    /// First and last date, as prefix of a text: `2026-01-31`.
    dates: RangeInclusive<String>,
    /// Seconds since 1970.
    seconds: RangeInclusive<i64>,
}

impl During {
    /// Allows for loaded data, which is kept for 30 days without use, and for servers in another time zone.
    pub fn until(now_s: i64) -> Self {
        const DAY_S: i64 = 86_400;
        let seconds = now_s - 60 * DAY_S..=now_s + DAY_S;
        let date = |seconds: i64| {
            let mut text = String::new();
            write_time(seconds, &mut text);
            text.truncate("2026-01-31".len());
            text
        };
        Self { dates: date(*seconds.start())..=date(*seconds.end()), seconds }
    }

    /// Whether a value comes from the clock during the run. The times that operations write are years away.
    fn made(&self, value: &Value) -> bool {
        match value {
            Value::Integer(seconds) => self.seconds.contains(seconds),
            Value::Text(text) => {
                let date = text.get(..10).filter(|date| date.bytes().filter(|b| *b == b'-').count() == 2);
                date.is_some_and(|date| self.dates.start().as_str() <= date && date <= self.dates.end().as_str())
            }
            _ => false,
        }
    }
}

/// Replaces the keys that the engine chose by consecutive ones.
fn rank(rows: &mut [Vec<Value>], key: OwnKey) {
    let number = |row: &Vec<Value>| match row.get(key.column) {
        Some(Value::Integer(i)) if *i > key.above => Some(*i),
        _ => None,
    };
    rows.sort_by_key(number);
    for (row, place) in rows.iter_mut().filter(|row| number(row).is_some()).zip(key.above.max(0).saturating_add(1)..) {
        row[key.column] = Value::Integer(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: OwnKey = OwnKey { column: 0, above: 0 };

    fn contents(rows: &[(i64, &str, Value)]) -> Contents {
        let columns = ["id", "name", "at"].map(str::to_string).to_vec();
        let row = |(id, name, at): &(i64, &str, Value)| {
            vec![Value::Integer(*id), Value::Text((*name).to_string()), at.clone()]
        };
        let run = During::until(crate::units::unix_seconds("2026-11-23 09:00:00").unwrap());
        Contents::of(columns, rows.iter().map(row).collect(), Some(KEY), &run)
    }

    fn text(value: &str) -> Value {
        Value::Text(value.to_string())
    }

    #[test]
    fn a_difference_names_column_rows_and_an_example() {
        let first = contents(&[(1, "a", text("x")), (2, "b", text("y")), (3, "c", Value::Null)]);
        let other = contents(&[(1, "a", text("x")), (7, "B", text("y")), (9, "C", Value::Null)]);
        let said = first.difference(&other).unwrap();
        assert_eq!(said, "column name: 2 of 3 rows differ, such as 'B' instead of 'b' where id = 2");
        let fewer = first.difference(&contents(&[(1, "a", text("x"))])).unwrap();
        assert!(fewer.starts_with("1 rows instead of 3, such as 2, 'b'"), "{fewer}");
        assert_eq!(
            first.difference(&contents(&[(4, "a", text("x")), (5, "b", text("y")), (6, "c", Value::Null)])),
            None
        );
        let loaded = |key| {
            let rows = [key, 9].map(|key| vec![Value::Integer(key)]).to_vec();
            Contents::of(vec!["id".to_string()], rows, Some(OwnKey { above: 7, ..KEY }), &During::until(1_700_000_000))
        };
        assert!(loaded(5).difference(&loaded(6)).is_some(), "a key that was loaded");
    }

    #[test]
    fn the_time_of_the_run_is_not_compared_but_must_be_there() {
        let first = contents(&[(1, "a", text("2026-11-23 10:00:00")), (2, "b", Value::Integer(1_795_424_401))]);
        let later = contents(&[(1, "a", text("2026-11-23 10:00:02")), (2, "b", Value::Integer(1_795_424_404))]);
        assert_eq!(first.difference(&later), None);
        assert_eq!(first.clocked, BTreeSet::from(["at".to_string()]));
        let none = contents(&[(1, "a", Value::Null), (2, "b", Value::Integer(1_795_424_404))]);
        assert!(first.difference(&none).unwrap().starts_with("column at: 1 of 2 rows differ"));
        let own = contents(&[(1, "a", text("2023-11-14 22:13:20"))]);
        assert!(own.clocked.is_empty(), "what operations write is compared");
    }
}
