//! Values that programs bind, converted for the server, and values of the server, converted for SQLite.

use bytes::{BufMut, BytesMut};
use std::error::Error;
use std::fmt::Write as _;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type};

type BoxedError = Box<dyn Error + Sync + Send>;

/// A value of one of SQLite's five types.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// The oldest SQLite of this program.
static OLDEST: AtomicU32 = AtomicU32::new(contend_sql::SQLITE);

/// Has translations give the answers of this version of SQLite, too.
pub fn answers_as(version: u32) {
    OLDEST.fetch_min(version, Relaxed);
}

/// The version of SQLite whose answers the program gets.
pub fn oldest() -> u32 {
    OLDEST.load(Relaxed)
}

impl Value {
    /// A valid text.
    pub fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    /// Its text; a blob's bytes are read as UTF-8.
    pub fn into_words(self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Integer(i) => i.to_string(),
            Value::Real(r) => contend_sql::real_text(r, oldest()),
            Value::Text(bytes) | Value::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// All values are sent as text. The translation gives the type of each placeholder, so the server reads the value as
/// it would read a literal. The server itself rejects texts with NUL: an error here would leave out one message of a batch.
impl ToSql for Value {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        match self {
            Value::Null => return Ok(IsNull::Yes),
            Value::Integer(i) => write!(out, "{i}")?,
            Value::Real(r) => write!(out, "{r:?}")?,
            Value::Text(bytes) => out.put_slice(bytes),
            Value::Blob(bytes) => {
                out.put_slice(b"\\x");
                bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        self.to_sql(ty, out)
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }
}

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], BoxedError> {
    raw.try_into().map_err(|_| "a value whose length does not fit its type".into())
}

/// A boolean becomes 0 or 1. A decimal number becomes an integer if it has no fraction, else a real.
impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Value, BoxedError> {
        Ok(match *ty {
            Type::INT8 => Value::Integer(i64::from_be_bytes(fixed(raw)?)),
            Type::INT4 => Value::Integer(i32::from_be_bytes(fixed(raw)?).into()),
            Type::INT2 => Value::Integer(i16::from_be_bytes(fixed(raw)?).into()),
            Type::OID => Value::Integer(u32::from_be_bytes(fixed(raw)?).into()),
            Type::BOOL => Value::Integer(u8::from_be_bytes(fixed(raw)?).into()),
            // SQLite has no NaN: it is NULL.
            Type::FLOAT8 => {
                Some(f64::from_be_bytes(fixed(raw)?)).filter(|r| !r.is_nan()).map_or(Value::Null, Value::Real)
            }
            Type::NUMERIC => numeric(raw)?,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::JSON => {
                Value::Text(raw.into())
            }
            Type::BYTEA => Value::Blob(raw.into()),
            Type::VOID => Value::Null,
            _ => return Err(format!("a value of type {ty} has no counterpart in SQLite").into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Value, BoxedError> {
        Ok(Value::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Binary form of decimal numbers: count of digits, weight of the first, sign, digits after the point, then the
/// digits, each from 0 to 9999 (PostgreSQL, `numeric_send`).
fn numeric(raw: &[u8]) -> Result<Value, BoxedError> {
    const NEGATIVE: u16 = 0x4000;
    let words: Vec<u16> = raw.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let [count, weight, sign, _, digits @ ..] = words.as_slice() else {
        return Err("a decimal number that is cut off".into());
    };
    if *sign > NEGATIVE || digits.len() != usize::from(*count) {
        return Err("a decimal number that is not finite".into());
    }
    let weight = i32::from(*weight as i16);
    let mut text = String::from(if *sign == NEGATIVE { "-0" } else { "0" });
    for at in 0..=weight.max(-1) {
        write!(text, "{:04}", digits.get(at as usize).copied().unwrap_or(0))?;
    }
    let behind: Vec<u16> = ((weight + 1).min(0)..0)
        .map(|_| 0)
        .chain(digits.iter().skip(usize::try_from(weight + 1).unwrap_or(0)).copied())
        .collect();
    if behind.iter().all(|group| *group == 0)
        && let Ok(whole) = text.parse()
    {
        return Ok(Value::Integer(whole));
    }
    text.push('.');
    behind.iter().try_for_each(|group| write!(text, "{group:04}"))?;
    Ok(Value::Real(text.trim_end_matches('.').parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn decimal_numbers_become_integers_or_reals() {
        let weight = |n: i16| n as u16;
        for (words, value) in [
            (vec![0, 0, 0, 0], Value::Integer(0)),
            (vec![0, 0, 0, 2], Value::Integer(0)),
            (vec![2, 1, 0, 0, 12, 34], Value::Integer(120_034)),
            (vec![1, 1, 0x4000, 0, 3], Value::Integer(-30_000)),
            (vec![2, 0, 0, 2, 1, 2500], Value::Real(1.25)),
            (vec![1, weight(-1), 0, 4, 5], Value::Real(0.0005)),
            (vec![1, weight(-2), 0, 8, 1], Value::Real(0.000_000_01)),
            (vec![1, 5, 0, 0, 1], Value::Real(1e20)),
        ] {
            assert_eq!(numeric(&decimal(&words)).expect("a number"), value, "{words:?}");
        }
        assert!(numeric(&decimal(&[0, 0, 0xC000, 0])).is_err(), "not a number");
        assert!(numeric(&decimal(&[2, 0, 0])).is_err(), "cut off");
    }

    #[test]
    fn values_are_sent_as_text() {
        let sent = |value: Value| {
            let mut out = BytesMut::new();
            value.to_sql(&Type::UNKNOWN, &mut out).map(|_| out.to_vec()).map_err(|e| e.to_string())
        };
        assert_eq!(sent(Value::Integer(-2)), Ok(b"-2".to_vec()));
        assert_eq!(sent(Value::Real(0.1)), Ok(b"0.1".to_vec()));
        assert_eq!(sent(Value::Blob(vec![0, 255])), Ok(b"\\x00ff".to_vec()));
        assert_eq!(sent(Value::text("é")), Ok("é".into()));
        assert_eq!(sent(Value::text("a\0b")), Ok(b"a\0b".to_vec()));
    }
}
