//! Values of parameters, in the types of a capture.

use crate::proxy::given::{Given, integer, real};
use contend_interpose::format::value;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Numbers of types (`pg_type.oid`).
mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const JSON: u32 = 114;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
}

/// A parameter of this type; type 0 is unknown.
pub fn given(oid: u32, is_binary: bool, bytes: Option<&[u8]>) -> Given<'_> {
    let Some(bytes) = bytes else { return Given::Number(value::NULL, 0) };
    if is_binary { binary(oid, bytes) } else { text(oid, bytes) }
}

fn text(oid: u32, bytes: &[u8]) -> Given<'_> {
    let plain = || std::str::from_utf8(bytes).ok();
    let number = match oid {
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID => plain().and_then(|text| text.parse().ok()).map(integer),
        oid::FLOAT4 | oid::FLOAT8 => plain().and_then(|text| text.parse().ok()).map(real),
        oid::BOOL => match bytes {
            b"t" | b"true" => Some(integer(1)),
            b"f" | b"false" => Some(integer(0)),
            _ => None,
        },
        oid::BYTEA => bytes.strip_prefix(b"\\x").and_then(hex).map(|bytes| Given::Bytes(value::BLOB, bytes.into())),
        _ => None,
    };
    number.unwrap_or(Given::Bytes(value::TEXT, bytes.into()))
}

fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    digits.chunks(2).map(|two| Some(digit(*two.first()?)? << 4 | digit(*two.get(1)?)?)).collect()
}

fn binary(oid: u32, bytes: &[u8]) -> Given<'_> {
    let text = |bytes| Given::Bytes(value::TEXT, Cow::Borrowed(bytes));
    match (oid, bytes) {
        (oid::BOOL, [byte]) => integer(i64::from(*byte)),
        (oid::INT2, [a, b]) => integer(i64::from(i16::from_be_bytes([*a, *b]))),
        (oid::INT4, [a, b, c, d]) => integer(i64::from(i32::from_be_bytes([*a, *b, *c, *d]))),
        (oid::OID, [a, b, c, d]) => integer(i64::from(u32::from_be_bytes([*a, *b, *c, *d]))),
        (oid::FLOAT4, [a, b, c, d]) => real(f64::from(f32::from_be_bytes([*a, *b, *c, *d]))),
        (oid::INT8, _) if bytes.len() == 8 => integer(bytes.iter().fold(0, |n, byte| n << 8 | i64::from(*byte))),
        (oid::FLOAT8, _) if bytes.len() == 8 => {
            Given::Number(value::REAL, bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
        }
        (oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::JSON, _) => text(bytes),
        (oid::JSONB, [1, json @ ..]) => text(json),
        (oid::UUID, _) if bytes.len() == 16 => Given::Bytes(value::TEXT, uuid(bytes).into_bytes().into()),
        // Other types in the server's own form: equal values have equal bytes.
        _ => Given::Bytes(value::BLOB, bytes.into()),
    }
}

fn uuid(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
        let _ = write!(out, "{dash}{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_in_both_forms() {
        for (oid, text, binary) in [
            (oid::BOOL, "t", &[1][..]),
            (oid::INT2, "-2", &[255, 254]),
            (oid::INT4, "-2", &[255, 255, 255, 254]),
            (oid::INT8, "-2", &[255, 255, 255, 255, 255, 255, 255, 254]),
            (oid::FLOAT8, "1.5", &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0]),
            (oid::BYTEA, "\\x00ff", &[0, 255]),
            (oid::VARCHAR, "it's", b"it's"),
            (oid::JSONB, "{}", b"\x01{}"),
            (
                oid::UUID,
                "00010203-0405-0607-0809-0a0b0c0d0e0f",
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            ),
        ] {
            assert_eq!(given(oid, false, Some(text.as_bytes())), given(oid, true, Some(binary)), "{text}");
        }
        assert_eq!(given(oid::INT4, true, None), Given::Number(value::NULL, 0));
        for (oid, bytes) in [(oid::INT4, &[1][..]), (oid::BOOL, &[]), (0, b"42"), (oid::UUID, &[1])] {
            assert_eq!(given(oid, true, Some(bytes)), Given::Bytes(value::BLOB, bytes.into()), "{oid}");
        }
        assert_eq!(given(oid::INT4, false, Some(b"x")), Given::Bytes(value::TEXT, b"x"[..].into()));
    }
}
