//! Values of a capture.

use crate::manifest::Manifest;
use crate::raw::Raw;
use contend_interpose::format::{record, value};
use contend_interpose::text::stand_in_number;
use std::rc::Rc;

/// More than SQLite allows unless compiled with another limit (10^9 bytes).
const ZEROS_MAX: u64 = 1 << 30;

/// A bound value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(Rc<[u8]>),
    Blob(Rc<[u8]>),
    Zeros(u64),
    Opaque,
    /// Type, length and keyed hash.
    Hash(u8, u64, u64),
}

pub fn value_of(raw: &Raw, manifest: &Manifest) -> Value {
    let (length, kind) = (raw.u64(record::NUMBER), raw.a());
    match (kind, manifest.values) {
        (value::NULL, _) => Value::Null,
        (value::ZEROS, _) => Value::Zeros(length.min(ZEROS_MAX)),
        (value::OPAQUE, _) => Value::Opaque,
        // As a literal's stand-in.
        (value::INTEGER, crate::manifest::Values::Hash) => Value::Hash(kind, 8, stand_in_number(raw.t())),
        (_, crate::manifest::Values::Hash) => {
            Value::Hash(kind, if matches!(kind, value::TEXT | value::BLOB) { length } else { 8 }, raw.t())
        }
        (value::INTEGER, _) => Value::Integer(raw.t().cast_signed()),
        (value::REAL, _) => Value::Real(f64::from_bits(raw.t())),
        (value::TEXT, _) => Value::Text(raw.bytes(record::NUMBER_BYTES, length).into()),
        _ => Value::Blob(raw.bytes(record::NUMBER_BYTES, length).into()),
    }
}
