//! Values of all three engines in one normal form, and their equality.

use std::fmt;

/// A value in one of SQLite's five storage classes. An integer is not a text, and 1 is not 1.0.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
    /// A value of a type that SQLite lacks, with the type's name: equal to nothing.
    Foreign(String),
}

/// Largest relative difference of equal reals: sums may have another order, functions another library.
const REAL_TOLERANCE: f64 = 1e-13;
/// Largest difference of equal reals near zero, where the rest of a sum is rounding error.
const REAL_TOLERANCE_AT_ZERO: f64 = 1e-15;

impl Value {
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Real(a), Value::Real(b)) => {
                let allowed = (REAL_TOLERANCE * a.abs().max(b.abs())).max(REAL_TOLERANCE_AT_ZERO);
                a == b || (a - b).abs() <= allowed
            }
            (Value::Foreign(_), _) | (_, Value::Foreign(_)) => false,
            (a, b) => a == b,
        }
    }

    /// A decimal number of a server as drivers return it: an integer without a fraction, else a real.
    pub fn decimal(text: &str) -> Value {
        let trimmed = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        match trimmed.parse::<i64>() {
            Ok(whole) => Value::Integer(whole),
            Err(_) => text.parse().map_or_else(|_| Value::Foreign(format!("decimal {text}")), Value::Real),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => write!(f, "NULL"),
            Value::Integer(i) => write!(f, "{i}"),
            Value::Real(r) => write!(f, "{r:?}"),
            Value::Text(bytes) => write!(f, "'{}'", String::from_utf8_lossy(bytes).escape_debug()),
            Value::Blob(bytes) => {
                write!(f, "x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, "'")
            }
            Value::Foreign(name) => write!(f, "<{name}>"),
        }
    }
}

pub type Row = Vec<Value>;

/// A row as text, with reals shortened to the digits that must agree.
fn sort_key(row: &Row) -> String {
    let cell = |value: &Value| match value {
        // Both zeros are printed alike, because they are equal.
        Value::Real(r) => format!("{:.9e}", r + 0.0),
        other => other.to_string(),
    };
    row.iter().map(cell).collect::<Vec<_>>().join("|")
}

/// A description of rows, at most a few.
pub fn show(rows: &[Row]) -> String {
    const SHOWN: usize = 8;
    let line = |row: &Row| format!("({})", row.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
    let more = if rows.len() > SHOWN { format!(" and {} more", rows.len() - SHOWN) } else { String::new() };
    rows.iter().take(SHOWN).map(line).collect::<Vec<_>>().join(" ") + &more
}

/// The difference between expected and actual rows. Without `ordered`, their order does not matter.
pub fn difference(wanted: &[Row], found: &[Row], ordered: bool) -> Option<String> {
    let (mut a, mut b) = (wanted.to_vec(), found.to_vec());
    if !ordered {
        a.sort_by_cached_key(sort_key);
        b.sort_by_cached_key(sort_key);
    }
    let same_row = |(x, y): (&Row, &Row)| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.same(y));
    let same = a.len() == b.len() && a.iter().zip(&b).all(same_row);
    (!same).then(|| format!("wanted {} row(s): {}; found {}: {}", a.len(), show(&a), b.len(), show(&b)))
}
