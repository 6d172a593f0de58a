//! A value sent to the database or read from it.

/// A value to bind, or of a row, as one of SQLite's types. Texts are bytes, because a database may return invalid
/// UTF-8.
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
