//! A value as a segment stores it.

use contend_interpose::format::value;
use std::borrow::Cow;

/// A value: its type and bits, or its type and bytes.
#[derive(Debug, PartialEq)]
pub enum Given<'v> {
    Number(u8, u64),
    Bytes(u8, Cow<'v, [u8]>),
    Opaque,
}

pub fn integer(number: i64) -> Given<'static> {
    Given::Number(value::INTEGER, number.cast_unsigned())
}

pub fn real(number: f64) -> Given<'static> {
    Given::Number(value::REAL, number.to_bits())
}
