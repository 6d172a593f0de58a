//! Values on their way to and from MariaDB, statements with their values written into them, and what the
//! server's count of affected rows means.

use crate::arguments::Argument;
use mysql::consts::ColumnType;
use mysql::{Column, Value};

/// Number of the character set of bytes.
const BINARY: u16 = 63;

/// Why a value is none of SQLite's kinds: that matters only to somebody who wants it.
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

/// A value as one of SQLite's kinds. In the text protocol all values arrive as bytes; the column tells what
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

fn number<'a>(bytes: &[u8]) -> Result<Argument<'a>, Odd> {
    // A DECIMAL is sent with all its digits behind the point.
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').parse().ok(),
        false => text.parse().ok(),
    };
    let whole = std::str::from_utf8(bytes).ok().and_then(trimmed);
    whole.map_or_else(|| real(bytes), |whole| Ok(Argument::Integer(whole)))
}

fn real<'a>(bytes: &[u8]) -> Result<Argument<'a>, Odd> {
    let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    number.map(Argument::Real).ok_or("a number that is none")
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
    pub fn of(sql: &str) -> Self {
        let upper = sql.trim_start().to_ascii_uppercase();
        if upper.starts_with("REPLACE") || upper.contains("ON DUPLICATE KEY UPDATE") { Self::Twice } else { Self::Rows }
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
    no_backslash_escape: bool,
}

impl Template {
    /// Cuts a statement at every `?` that stands outside quotes and comments.
    pub fn of(sql: &str, no_backslash_escape: bool) -> Self {
        let mut parts = vec![String::new()];
        let mut rest = sql;
        while let Some(length) = token(rest, no_backslash_escape) {
            let (text, after) = rest.split_at(length);
            match text {
                "?" => parts.push(String::new()),
                _ => parts.last_mut().expect("there is always one").push_str(text),
            }
            rest = after;
        }
        Self { parts, no_backslash_escape }
    }

    /// The statement with these values as literals.
    pub fn filled(&self, values: &[Value]) -> String {
        let mut sql = String::new();
        self.fill_into(&mut sql, values);
        sql
    }

    /// Appends the statement with these values as literals.
    pub fn fill_into(&self, sql: &mut String, values: &[Value]) {
        sql.push_str(&self.parts[0]);
        for (value, part) in values.iter().zip(&self.parts[1..]) {
            push_literal(sql, value, self.no_backslash_escape);
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

/// Bytes of the next token, as far as placeholders are concerned; none at the end.
fn token(sql: &str, no_backslash_escape: bool) -> Option<usize> {
    let first = sql.chars().next()?;
    let until = |end: &str, from: usize| sql[from..].find(end).map_or(sql.len(), |at| from + at + end.len());
    Some(match first {
        '\'' | '"' => quoted(sql, first as u8, !no_backslash_escape),
        '`' => quoted(sql, b'`', false),
        '#' => until("\n", 1),
        '-' if sql.starts_with("-- ") => until("\n", 2),
        '/' if sql.starts_with("/*") => until("*/", 2),
        other => other.len_utf8(),
    })
}

/// The end of a quoted token. A doubled quote ends one token and begins the next, which comes to the same.
fn quoted(sql: &str, quote: u8, backslash: bool) -> usize {
    let bytes = sql.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash => at += 1,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    sql.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sql: &str, values: &[Value]) -> String {
        Template::of(sql, true).filled(values)
    }

    #[test]
    fn values_stand_where_the_placeholders_were() {
        let text = Value::Bytes(b"it's \\ ?".to_vec());
        assert_eq!(filled("SELECT ?, '?', `?` -- ?\n, /* ? */ ?", &[Value::Int(1), Value::NULL]), {
            "SELECT 1, '?', `?` -- ?\n, /* ? */ NULL"
        });
        assert_eq!(filled("SELECT 'it''s ?', ?", &[text]), "SELECT 'it''s ?', 'it''s \\ ?'");
        assert_eq!(filled("SELECT 'é', ? + ?", &[Value::Double(0.5), Value::Int(-1)]), "SELECT 'é', 5e-1 + (-1)");
        assert_eq!(Template::of("SELECT '\\'?', ?", false).parts.len(), 2);
    }

    #[test]
    fn rows_are_counted_as_sqlite_counts_them() {
        assert_eq!(Counting::of("UPDATE t SET a = 1").rows(3, "Rows matched: 3  Changed: 0  Warnings: 0"), 3);
        let upsert = Counting::of("INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE a = VALUES(a)");
        assert_eq!((upsert.rows(2, ""), upsert.rows(1, ""), upsert.rows(0, "")), (1, 1, 0));
        assert_eq!(upsert.rows(4, "Records: 3  Duplicates: 1  Warnings: 0"), 3);
        assert_eq!(upsert.rows(0, "Records: 3  Duplicates: 3  Warnings: 3"), 0);
        assert_eq!(Counting::of(" replace INTO t VALUES (1)"), Counting::Twice);
    }
}
