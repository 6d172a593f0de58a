//! A value on its way to the database or from it.

/// A value to be bound, or of a row, in SQLite's kinds. Texts are bytes: what a database gave back need not be UTF-8.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// SQL NULL.
    Null,
    /// 64-bit integer.
    Integer(i64),
    /// Double.
    Real(f64),
    /// Text.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}
