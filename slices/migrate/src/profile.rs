//! Profiles of the source's columns: kinds of values, counted over all rows.

use crate::look::{Table, each_row, listed};
use crate::stopped::go_on;
use anyhow::Result;
use contend_wire::kept::quoted;
use contend_worker::argument::Argument;
use rusqlite::Connection;
use std::sync::atomic::AtomicBool;

/// Digits before and after the point of MariaDB's widest decimal numbers, as `contend-sql` declares them.
const DECIMAL_DIGITS: usize = 30;
/// From this value on, a real without a fraction is not a 64-bit integer.
const INTEGER_END: f64 = 9_223_372_036_854_775_808.0;

/// A kind of value, as finely as servers' types distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Null,
    Integer,
    /// A real without a fraction that fits into an integer.
    Whole,
    NegativeZero,
    Real,
    /// A real with more digits before or after the point than MariaDB's decimal numbers have.
    Far,
    Infinite,
    Text,
    /// A text that contains a NUL.
    TextWithNul,
    /// A text that is not Unicode.
    BrokenText,
    Blob,
}

impl Sort {
    pub const ALL: [Sort; 11] = [
        Sort::Null,
        Sort::Integer,
        Sort::Whole,
        Sort::NegativeZero,
        Sort::Real,
        Sort::Far,
        Sort::Infinite,
        Sort::Text,
        Sort::TextWithNul,
        Sort::BrokenText,
        Sort::Blob,
    ];

    fn of(value: &Argument<'_>) -> Sort {
        match value {
            Argument::Null => Sort::Null,
            Argument::Integer(_) => Sort::Integer,
            Argument::Real(r) => Sort::of_real(*r),
            Argument::Text(bytes) => match std::str::from_utf8(bytes) {
                Err(_) => Sort::BrokenText,
                Ok(text) if text.contains('\0') => Sort::TextWithNul,
                Ok(_) => Sort::Text,
            },
            Argument::Blob(_) => Sort::Blob,
        }
    }

    fn of_real(r: f64) -> Sort {
        if !r.is_finite() {
            return Sort::Infinite;
        }
        if r == 0.0 && r.is_sign_negative() {
            return Sort::NegativeZero;
        }
        if r.fract() == 0.0 && (-INTEGER_END..INTEGER_END).contains(&r) {
            return Sort::Whole;
        }
        let digits = r.abs().to_string();
        let (before, behind) = digits.split_once('.').unwrap_or((&digits, ""));
        if before.len() > DECIMAL_DIGITS || behind.len() > DECIMAL_DIGITS { Sort::Far } else { Sort::Real }
    }
}

/// Number of values, and place of the first one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Occurrences {
    pub count: u64,
    /// As a phrase: `rowid 17`.
    pub first: String,
}

impl Occurrences {
    pub fn note(&mut self, place: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = place();
        }
        self.count += 1;
    }
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Column {
    /// By [`Sort`], in the order of its values.
    seen: [Occurrences; Sort::ALL.len()],
    /// Longest text or blob.
    pub longest_bytes: usize,
    pub longest_characters: usize,
    pub least: i64,
    pub largest: i64,
}

impl Column {
    pub fn of(&self, sort: Sort) -> &Occurrences {
        &self.seen[sort as usize]
    }

    fn take(&mut self, value: &Argument<'_>, place: impl FnOnce() -> String) {
        self.seen[Sort::of(value) as usize].note(place);
        match value {
            Argument::Text(bytes) | Argument::Blob(bytes) => {
                self.longest_bytes = self.longest_bytes.max(bytes.len());
                self.longest_characters = self.longest_characters.max(characters(value));
            }
            Argument::Integer(i) => {
                self.least = self.least.min(*i);
                self.largest = self.largest.max(*i);
            }
            _ => {}
        }
    }
}

/// Characters of a text, bytes of a blob.
pub fn characters(value: &Argument<'_>) -> usize {
    match value {
        // All bytes except continuation bytes of UTF-8.
        Argument::Text(bytes) => bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count(),
        Argument::Blob(bytes) => bytes.len(),
        Argument::Null | Argument::Integer(_) | Argument::Real(_) => 0,
    }
}

/// The values of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    pub rows: u64,
    /// Largest rowid, if columns do not hide it.
    pub largest_rowid: i64,
    /// In the order of the table's columns.
    pub columns: Vec<Column>,
}

/// Reads a table once.
///
/// # Errors
/// The source cannot be read, or a signal arrived.
pub fn of_table(connection: &Connection, table: &Table, stop: &AtomicBool) -> Result<Profile> {
    let mut profile = Profile { columns: vec![Column::default(); table.columns.len()], ..Profile::default() };
    let columns = listed(table.columns.iter().map(String::as_str));
    each_row(connection, &table.all_rows(&columns), |number, rowid, values| {
        go_on(stop)?;
        profile.rows = number;
        profile.largest_rowid = profile.largest_rowid.max(rowid);
        for (column, value) in profile.columns.iter_mut().zip(values) {
            column.take(value, || table.place(rowid, number));
        }
        Ok(())
    })?;
    let encoding: String = connection.pragma_query_value(None, "encoding", |row| row.get(0))?;
    let unit: Option<fn([u8; 2]) -> u16> = match encoding.as_str() {
        "UTF-16le" => Some(u16::from_le_bytes),
        "UTF-16be" => Some(u16::from_be_bytes),
        _ => None,
    };
    if let Some(unit) = unit {
        profile.columns.iter_mut().for_each(|column| column.seen[Sort::BrokenText as usize] = Occurrences::default());
        broken_utf16((connection, stop), table, unit, &mut profile)?;
    }
    Ok(profile)
}

/// Counts texts of a database in UTF-16 that are not, such as one with half of a pair. SQLite gives them as other texts in UTF-8.
fn broken_utf16(
    (connection, stop): (&Connection, &AtomicBool),
    table: &Table,
    unit: fn([u8; 2]) -> u16,
    profile: &mut Profile,
) -> Result<()> {
    let as_stored = |name: &String| format!("CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) END", quoted(name));
    let columns: Vec<String> = table.columns.iter().map(as_stored).collect();
    each_row(connection, &table.all_rows(&columns.join(", ")), |number, rowid, values| {
        go_on(stop)?;
        for (column, value) in profile.columns.iter_mut().zip(values) {
            let Argument::Blob(bytes) = value else { continue };
            let (pairs, rest) = bytes.as_chunks::<2>();
            if !rest.is_empty() || char::decode_utf16(pairs.iter().copied().map(unit)).any(|c| c.is_err()) {
                column.seen[Sort::BrokenText as usize].note(|| table.place(rowid, number));
            }
        }
        Ok(())
    })
}

/// Number of rows in which the size of some columns exceeds `most`. SQLite's own functions count in the encoding of the
/// database, or to the first NUL.
///
/// # Errors
/// The source cannot be read, or a signal arrived.
pub fn above(
    (connection, stop): (&Connection, &AtomicBool),
    table: &Table,
    columns: &[&str],
    size: &dyn Fn(&[Argument<'_>]) -> usize,
    most: usize,
) -> Result<Occurrences> {
    let mut seen = Occurrences::default();
    each_row(connection, &table.all_rows(&listed(columns.iter().copied())), |number, rowid, values| {
        go_on(stop)?;
        if size(values) > most {
            seen.note(|| table.place(rowid, number));
        }
        Ok(())
    })?;
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_as_servers_tell_them_apart() {
        let sorts = [
            (Argument::Real(2.0), Sort::Whole),
            (Argument::Real(0.0), Sort::Whole),
            (Argument::Real(-0.0), Sort::NegativeZero),
            (Argument::Real(0.1), Sort::Real),
            (Argument::Real(1e20), Sort::Real),
            (Argument::Real(1e30), Sort::Far),
            (Argument::Real(1e-30), Sort::Real),
            (Argument::Real(1.5e-30), Sort::Far),
            (Argument::Real(-9.3e18), Sort::Real),
            (Argument::Real(f64::NEG_INFINITY), Sort::Infinite),
            (Argument::Text(b"a\0b"), Sort::TextWithNul),
            (Argument::Text(b"\xff\0"), Sort::BrokenText),
            (Argument::Text(b""), Sort::Text),
        ];
        for (value, sort) in sorts {
            assert_eq!(Sort::of(&value), sort, "{value:?}");
        }
    }

    #[test]
    fn a_signal_ends_the_reading_of_a_table() {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").expect("made");
        let schema = crate::look::schema(&connection).expect("read");
        let (table, stop) = (&schema.tables[0], AtomicBool::new(true));
        let stopped = of_table(&connection, table, &stop).expect_err("stopped");
        assert!(stopped.is::<contend::trial::stop::Cancelled>());
        assert!(above((&connection, &stop), table, &["a"], &|_| 0, 0).is_err());
    }
}
