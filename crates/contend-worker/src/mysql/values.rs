//! Values on their way to and from MariaDB, statements with their values written into them, and what the
//! server's count of affected rows means.

use crate::argument::Argument;
use contend_wire::statement::{Effect, Placeholder};
use mysql::consts::ColumnType;
use mysql::{Column, Value};

/// Number of the character set of bytes.
const BINARY: u16 = 63;

/// Why a value is none of SQLite's kinds. Matters only if the value is kept or answered.
type Odd = &'static str;

const FOREIGN: Odd = "a value of a type that has no counterpart in SQLite";

/// A value to be bound.
pub fn as_sql(value: Argument<'_>) -> Value {
    match value {
        Argument::Null => Value::NULL,
        Argument::Integer(i) => Value::Int(i),
        Argument::Real(r) => Value::Double(r),
        Argument::Text(bytes) | Argument::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// A value as one of SQLite's kinds. In the text protocol all values arrive as bytes; the column says what
/// they are.
///
/// # Errors
/// A type without a counterpart, or a number that is none.
pub fn cell<'a>(value: &'a Value, column: &Column) -> Result<Argument<'a>, Odd> {
    use ColumnType as T;
    match value {
        Value::NULL => Ok(Argument::Null),
        Value::Int(i) => Ok(Argument::Integer(*i)),
        Value::UInt(u) => Ok(i64::try_from(*u).map_or(Argument::Real(*u as f64), Argument::Integer)),
        Value::Float(r) => Ok(Argument::Real((*r).into())),
        Value::Double(r) => Ok(Argument::Real(*r)),
        Value::Bytes(bytes) => match column.column_type() {
            T::MYSQL_TYPE_TINY
            | T::MYSQL_TYPE_SHORT
            | T::MYSQL_TYPE_INT24
            | T::MYSQL_TYPE_LONG
            | T::MYSQL_TYPE_LONGLONG
            | T::MYSQL_TYPE_YEAR
            | T::MYSQL_TYPE_DECIMAL
            | T::MYSQL_TYPE_NEWDECIMAL => number(bytes),
            T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => real(bytes),
            T::MYSQL_TYPE_VARCHAR
            | T::MYSQL_TYPE_VAR_STRING
            | T::MYSQL_TYPE_STRING
            | T::MYSQL_TYPE_TINY_BLOB
            | T::MYSQL_TYPE_MEDIUM_BLOB
            | T::MYSQL_TYPE_LONG_BLOB
            | T::MYSQL_TYPE_BLOB
            | T::MYSQL_TYPE_ENUM
            | T::MYSQL_TYPE_JSON => Ok(match column.character_set() {
                BINARY => Argument::Blob(bytes),
                _ => Argument::Text(bytes),
            }),
            _ => Err(FOREIGN),
        },
        _ => Err(FOREIGN),
    }
}

/// A DECIMAL is sent with all its digits behind the point.
fn number<'a>(bytes: &[u8]) -> Result<Argument<'a>, Odd> {
    std::str::from_utf8(bytes).ok().and_then(Argument::of_decimal).ok_or("a number that cannot be read")
}

fn real<'a>(bytes: &[u8]) -> Result<Argument<'a>, Odd> {
    let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.map(Argument::Real).ok_or("a number that cannot be read")
}

/// What the server's count of affected rows means for a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// The rows it changed or found.
    Rows,
    /// A row replaced counts twice (deleted or found, then written): an upsert or REPLACE.
    Twice,
}

impl Counting {
    /// What holds for this statement.
    pub fn of(effect: Effect) -> Self {
        if effect.upserts.is_some() { Self::Twice } else { Self::Rows }
    }

    /// Rows as SQLite counts them. For several rows at once the server says in words how many there were
    /// (`Records: 3  Duplicates: 1  Warnings: 0`); each counts once, and none if nothing happened to any.
    pub fn rows(self, affected: u64, info: &str) -> u32 {
        let records = || info.strip_prefix("Records: ")?.split_whitespace().next()?.parse().ok();
        let rows = match self {
            Counting::Rows => affected,
            Counting::Twice => affected.min(records().unwrap_or(1)),
        };
        u32::try_from(rows).unwrap_or(u32::MAX)
    }
}

/// A statement cut at its placeholders.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<String>,
}

impl Template {
    /// Cuts a text at its placeholders, which are written `?`. The text may begin after the beginning of the statement.
    pub fn of(sql: &str, placeholders: &[Placeholder]) -> Self {
        let mut rest = sql;
        let mut parts: Vec<String> = vec![];
        let mut cut = 0;
        for placeholder in placeholders {
            let (part, after) = rest.split_at_checked(placeholder.at as usize - cut).unwrap_or((rest, ""));
            parts.push(part.to_string());
            rest = after.get(1..).unwrap_or_default();
            cut = placeholder.at as usize + 1;
        }
        parts.push(rest.to_string());
        Self { parts }
    }

    /// The statement with these values as literals. Whether a backslash in a text is a character like others is the server's
    /// setting.
    pub fn filled(&self, values: &[Value], no_backslash: bool) -> String {
        let mut sql = String::new();
        self.fill_into(&mut sql, values, no_backslash);
        sql
    }

    /// Appends the statement with these values as literals.
    pub fn fill_into(&self, sql: &mut String, values: &[Value], no_backslash: bool) {
        sql.push_str(&self.parts[0]);
        for (value, part) in values.iter().zip(&self.parts[1..]) {
            push_literal(sql, value, no_backslash);
            sql.push_str(part);
        }
    }

    /// Placeholders it has.
    pub fn places(&self) -> usize {
        self.parts.len() - 1
    }
}

/// Appends a value as a literal. A real keeps its exponent: without one it would be a decimal number.
fn push_literal(sql: &mut String, value: &Value, no_backslash_escape: bool) {
    match value {
        Value::Double(r) => sql.push_str(&format!("{r:e}")),
        Value::Int(i) if *i < 0 => sql.push_str(&format!("({i})")),
        other => sql.push_str(&other.as_sql(no_backslash_escape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sql: &str, at: &[u32], values: &[Value]) -> String {
        let placeholders: Vec<_> = at.iter().map(|at| Placeholder { at: *at, number: None }).collect();
        Template::of(sql, &placeholders).filled(values, true)
    }

    #[test]
    fn values_stand_where_the_placeholders_were() {
        let text = Value::Bytes(b"it's \\ ?".to_vec());
        assert_eq!(filled("SELECT ?, '?', /* ? */ ?", &[7, 23], &[Value::Int(1), Value::NULL]), {
            "SELECT 1, '?', /* ? */ NULL"
        });
        assert_eq!(filled("SELECT 'it''s ?', ?", &[18], &[text]), "SELECT 'it''s ?', 'it''s \\ ?'");
        let values = [Value::Double(0.5), Value::Int(-1)];
        assert_eq!(filled("SELECT 'é', ? + ?", &[13, 17], &values), "SELECT 'é', 5e-1 + (-1)");
    }

    #[test]
    fn rows_are_counted_as_sqlite_counts_them() {
        assert_eq!(Counting::of(Effect::default()).rows(3, "Rows matched: 3  Changed: 0  Warnings: 0"), 3);
        let upsert = Counting::of(Effect { upserts: Some(1), ..Effect::default() });
        assert_eq!((upsert.rows(2, ""), upsert.rows(1, ""), upsert.rows(0, "")), (1, 1, 0));
        assert_eq!(upsert.rows(4, "Records: 3  Duplicates: 1  Warnings: 0"), 3);
        assert_eq!(upsert.rows(0, "Records: 3  Duplicates: 3  Warnings: 3"), 0);
    }
}
