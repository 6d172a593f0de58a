//! Values on their way to and from PostgreSQL: in the server's binary form where types fit, else as text,
//! which the server converts as it would a literal.

use crate::argument::Argument;
use bytes::{BufMut, BytesMut};
use postgres::types::{Format, FromSql, IsNull, ToSql, Type};
use std::error::Error;
use std::fmt::Write as _;

type BoxedError = Box<dyn Error + Sync + Send>;

/// A value to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Param<'a> {
    /// The value.
    pub value: Argument<'a>,
    /// The type is not known here: everything travels as text.
    pub as_text: bool,
}

/// The types whose binary form is that of an integer, a real, a text or bytes.
fn has_binary_form(value: Argument<'_>, ty: &Type) -> bool {
    match value {
        Argument::Null | Argument::Text(_) => false,
        Argument::Integer(i) => match *ty {
            Type::INT8 | Type::FLOAT8 | Type::BOOL => true,
            Type::INT4 => i32::try_from(i).is_ok(),
            Type::INT2 => i16::try_from(i).is_ok(),
            _ => false,
        },
        Argument::Real(_) => *ty == Type::FLOAT8,
        Argument::Blob(_) => *ty == Type::BYTEA,
    }
}

fn is_whole(ty: &Type) -> bool {
    matches!(*ty, Type::INT8 | Type::INT4 | Type::INT2)
}

impl Param<'_> {
    fn binary(&self, ty: &Type) -> bool {
        !self.as_text && has_binary_form(self.value, ty)
    }

    fn put_binary(&self, ty: &Type, out: &mut BytesMut) {
        match self.value {
            Argument::Integer(i) => match *ty {
                Type::INT8 => out.put_i64(i),
                Type::INT4 => out.put_i32(i as i32),
                Type::INT2 => out.put_i16(i as i16),
                Type::BOOL => out.put_u8(u8::from(i != 0)),
                _ => out.put_f64(i as f64),
            },
            Argument::Real(r) => out.put_f64(r),
            Argument::Text(bytes) | Argument::Blob(bytes) => out.put_slice(bytes),
            Argument::Null => {}
        }
    }

    fn put_text(&self, ty: &Type, out: &mut BytesMut) -> Result<(), std::fmt::Error> {
        match self.value {
            Argument::Integer(i) => write!(out, "{i}"),
            // A whole number for a whole column: SQLite would store it as one, too.
            Argument::Real(r) if is_whole(ty) && r.fract() == 0.0 && r.abs() < 9e15 => write!(out, "{}", r as i64),
            Argument::Real(r) => write!(out, "{r:?}"),
            Argument::Text(bytes) => {
                out.put_slice(bytes);
                Ok(())
            }
            Argument::Blob(bytes) => {
                out.put_slice(b"\\x");
                bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
            }
            Argument::Null => Ok(()),
        }
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        if self.value == Argument::Null {
            return Ok(IsNull::Yes);
        }
        if self.binary(ty) {
            self.put_binary(ty, out);
        } else {
            self.put_text(ty, out)?;
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        self.to_sql(ty, out)
    }

    fn encode_format(&self, ty: &Type) -> Format {
        if self.binary(ty) { Format::Binary } else { Format::Text }
    }
}

/// Why a value is none of SQLite's kinds.
type Odd = &'static str;

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], Odd> {
    raw.try_into().map_err(|_| "a value whose length does not fit its type")
}

/// A value of a row, or why it has no counterpart. Matters only if the value is kept or answered.
pub struct Cell<'a>(pub Result<Argument<'a>, Odd>);

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(Cell(value(ty, raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Cell(Ok(Argument::Null)))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A value as SQLite stores it in a column of its kind: a decimal number is an integer if it has no fraction, whatever its
/// scale.
pub struct Stored<'a>(pub Result<Argument<'a>, Odd>);

impl<'a> FromSql<'a> for Stored<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        let whole = |text: String| Argument::of_decimal(&text).ok_or(UNREADABLE);
        Ok(Stored(if *ty == Type::NUMERIC { decimal(raw).and_then(whole) } else { value(ty, raw) }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Stored(Ok(Argument::Null)))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A boolean is 0 or 1, a decimal number an integer if it has no digits behind the point, else a real.
fn value<'a>(ty: &Type, raw: &'a [u8]) -> Result<Argument<'a>, Odd> {
    Ok(match *ty {
        Type::INT8 => Argument::Integer(i64::from_be_bytes(fixed(raw)?)),
        Type::INT4 => Argument::Integer(i32::from_be_bytes(fixed(raw)?).into()),
        Type::INT2 => Argument::Integer(i16::from_be_bytes(fixed(raw)?).into()),
        Type::OID => Argument::Integer(u32::from_be_bytes(fixed(raw)?).into()),
        Type::BOOL => Argument::Integer(u8::from_be_bytes(fixed(raw)?).into()),
        Type::FLOAT8 => Argument::Real(f64::from_be_bytes(fixed(raw)?)),
        Type::FLOAT4 => Argument::Real(f32::from_be_bytes(fixed(raw)?).into()),
        Type::NUMERIC => number(&decimal(raw)?)?,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::CHAR | Type::JSON => {
            Argument::Text(raw)
        }
        Type::BYTEA => Argument::Blob(raw),
        // What a function without a result gives.
        Type::VOID => Argument::Null,
        _ => return Err("a value of a type that has no counterpart in SQLite"),
    })
}

const UNREADABLE: Odd = "a decimal number that cannot be read";

fn number<'a>(text: &str) -> Result<Argument<'a>, Odd> {
    if let Ok(whole) = text.parse() {
        return Ok(Argument::Integer(whole));
    }
    text.parse().map(Argument::Real).map_err(|_| UNREADABLE)
}

/// The server's decimal numbers as text: count of digits, weight of the first, sign, digits after the point, then
/// the digits, each from 0 to 9999 (PostgreSQL, `numeric_send`).
fn decimal(raw: &[u8]) -> Result<String, Odd> {
    const NEGATIVE: u16 = 0x4000;
    let word = |i: usize| -> Result<u16, Odd> {
        let bytes = raw.get(2 * i..2 * i + 2).ok_or("a decimal number that is cut off")?;
        Ok(u16::from_be_bytes(fixed(bytes)?))
    };
    let (digits, weight, sign, scale) = (word(0)?, word(1)? as i16, word(2)?, word(3)?);
    if sign > NEGATIVE {
        return Err("a number that is not finite");
    }
    let mut text = if sign == NEGATIVE { "-".to_string() } else { String::new() };
    let group = |at: i16| if (0..digits as i16).contains(&at) { word(4 + at as usize) } else { Ok(0) };
    // Writing into a String cannot fail.
    text.push('0');
    for at in 0..=weight {
        let _ = write!(text, "{:04}", group(at)?);
    }
    if scale > 0 {
        text.push('.');
        for at in 0..=(scale as i16 / 4) {
            let _ = write!(text, "{:04}", group(weight + 1 + at)?);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(value: Argument<'_>, ty: &Type, as_text: bool) -> (bool, Vec<u8>) {
        let param = Param { value, as_text };
        let mut out = BytesMut::new();
        assert!(matches!(param.to_sql(ty, &mut out), Ok(IsNull::No)));
        (matches!(param.encode_format(ty), Format::Binary), out.to_vec())
    }

    #[test]
    fn values_are_sent_in_the_servers_type() {
        assert_eq!(sent(Argument::Integer(-2), &Type::INT8, false), (true, (-2i64).to_be_bytes().to_vec()));
        assert_eq!(sent(Argument::Integer(7), &Type::INT4, false), (true, 7i32.to_be_bytes().to_vec()));
        assert_eq!(sent(Argument::Integer(1 << 40), &Type::INT4, false), (false, b"1099511627776".to_vec()));
        assert_eq!(sent(Argument::Integer(7), &Type::TEXT, false), (false, b"7".to_vec()));
        assert_eq!(sent(Argument::Integer(2), &Type::BOOL, false), (true, vec![1]));
        assert_eq!(sent(Argument::Real(0.5), &Type::FLOAT8, false), (true, 0.5f64.to_be_bytes().to_vec()));
        assert_eq!(sent(Argument::Real(3.0), &Type::INT8, false), (false, b"3".to_vec()));
        assert_eq!(sent(Argument::Blob(&[0, 255]), &Type::BYTEA, false), (true, vec![0, 255]));
        assert_eq!(sent(Argument::Blob(&[0, 255]), &Type::BYTEA, true), (false, b"\\x00ff".to_vec()));
        assert_eq!(sent(Argument::Text("é".as_bytes()), &Type::TEXT, false), (false, "é".into()));
    }

    #[test]
    fn a_value_without_a_counterpart_is_a_value_all_the_same() {
        for (ty, raw, odd) in [
            (Type::TIMESTAMPTZ, vec![0; 8], "no counterpart"),
            (Type::NUMERIC, raw(&[0, 0, 0xC000, 0]), "not finite"),
            (Type::INT8, vec![0; 4], "whose length"),
        ] {
            assert!(Cell::from_sql(&ty, &raw).unwrap().0.unwrap_err().contains(odd), "{ty}");
        }
        let zero = raw(&[0, 0, 0, 2]);
        assert_eq!(Cell::from_sql(&Type::NUMERIC, &zero).unwrap().0, Ok(Argument::Real(0.0)));
        assert_eq!(Stored::from_sql(&Type::NUMERIC, &zero).unwrap().0, Ok(Argument::Integer(0)));
    }

    fn raw(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn decimal_numbers_become_integers_or_reals() {
        let weight = |n: i16| n as u16;
        for (words, cell) in [
            (vec![0, 0, 0, 0], Argument::Integer(0)),
            (vec![2, 1, 0, 0, 12, 34], Argument::Integer(120_034)),
            (vec![1, 1, 0x4000, 0, 3], Argument::Integer(-30_000)),
            (vec![2, 0, 0, 2, 1, 2500], Argument::Real(1.25)),
            (vec![1, 0, 0, 2, 5], Argument::Real(5.0)),
            (vec![1, weight(-1), 0, 4, 5], Argument::Real(0.0005)),
            (vec![1, weight(-2), 0, 8, 1], Argument::Real(0.000_000_01)),
        ] {
            assert_eq!(value(&Type::NUMERIC, &raw(&words)).unwrap(), cell, "{words:?}");
        }
        assert!(decimal(&raw(&[0, 0, 0xC000, 0])).is_err(), "not a number");
        assert!(decimal(&raw(&[2, 0, 0])).is_err(), "cut off");
    }
}
