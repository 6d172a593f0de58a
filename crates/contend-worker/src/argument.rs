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

/// From this value on, a real without a fraction is not a 64-bit integer.
const INTEGER_END: f64 = 9_223_372_036_854_775_808.0;

impl Argument<'_> {
    /// A server's decimal number as a NUMERIC column of SQLite stores it: an integer if it has no fraction, also where the
    /// server writes zeros behind the point, and where the nearest double has none. Example: `5.00` is the integer 5.
    /// `None`: not a number.
    pub fn of_decimal(text: &str) -> Option<Self> {
        let whole = match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.'),
            false => text,
        };
        if let Ok(whole) = whole.parse() {
            return Some(Argument::Integer(whole));
        }
        let nearest: f64 = text.parse().ok()?;
        let is_whole = nearest.fract() == 0.0 && nearest > -INTEGER_END && nearest < INTEGER_END;
        Some(if is_whole { Argument::Integer(nearest as i64) } else { Argument::Real(nearest) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use rusqlite::types::ValueRef;

    #[test]
    fn decimal_numbers_are_those_that_sqlite_stores() {
        let db = Connection::open_in_memory().expect("a database");
        db.execute_batch("CREATE TABLE t (n NUMERIC)").expect("made");
        for text in [
            "5",
            "5.00",
            "-0.50",
            "000120034.0000",
            "0.000",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "9223372036854775808.0",
            "9007199254740993.5",
            "1.00000000000000000001",
            "-1.99999999999999999999",
            "123456789012345678901234567890",
            "0.1",
        ] {
            db.execute_batch(&format!("DELETE FROM t; INSERT INTO t VALUES ('{text}')")).expect("stored");
            let mut found = db.prepare("SELECT n FROM t").expect("prepared");
            let mut rows = found.query(()).expect("asked");
            let stored = match rows.next().expect("read").expect("a row").get_ref(0).expect("a value") {
                ValueRef::Integer(i) => Argument::Integer(i),
                ValueRef::Real(r) => Argument::Real(r),
                other => panic!("{other:?}"),
            };
            assert_eq!(Argument::of_decimal(text), Some(stored), "{text}");
        }
        assert_eq!(Argument::of_decimal("no number"), None);
    }
}
