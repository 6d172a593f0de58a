//! Rows as text for a bulk load: PostgreSQL's COPY, MariaDB's LOAD DATA. Both use a line per row, tabs between
//! values, and backslash escapes.

use anyhow::{Context, Result};
use contend_sql::{ParamType, Untagged, untagged};
use contend_worker::argument::Argument;
use std::io::Write;

/// Format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Copy,
    LoadData,
}

/// Appends a row. `holds`: types of the columns.
pub fn put(out: &mut Vec<u8>, form: Form, row: &[Argument<'_>], holds: &[ParamType]) {
    for (at, (value, holds)) in row.iter().zip(holds).enumerate() {
        if at > 0 {
            out.push(b'\t');
        }
        match value {
            Argument::Null => out.extend(b"\\N"),
            Argument::Integer(i) => written(out, format_args!("{i}")),
            Argument::Real(r) => put_real(out, form, *r, *holds),
            Argument::Text(bytes) => put_bytes(out, bytes),
            Argument::Blob(bytes) if form == Form::LoadData => put_bytes(out, bytes),
            Argument::Blob(bytes) => {
                out.extend(b"\\\\x");
                for byte in *bytes {
                    out.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
                }
            }
        }
    }
    out.push(b'\n');
}

fn written(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing into memory cannot fail.
    let _ = out.write_fmt(text);
}

/// The shortest digits that read back as the same double.
fn put_real(out: &mut Vec<u8>, form: Form, r: f64, holds: ParamType) {
    match (form, holds) {
        (Form::Copy, _) if r.is_infinite() => out.extend(if r > 0.0 { &b"Infinity"[..] } else { b"-Infinity" }),
        // Decimal notation, without an exponent.
        (Form::LoadData, ParamType::Number) => written(out, format_args!("{r}")),
        _ => written(out, format_args!("{r:?}")),
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend(b"\\\\"),
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            0 => out.extend(b"\\0"),
            byte => out.push(*byte),
        }
    }
}

/// Reads the tagged values of a row, and passes the row on.
///
/// # Errors
/// A value has no tag, or the row is not taken.
pub fn untag<T>(
    values: &[Argument<'_>],
    tagged: &[bool],
    take: impl FnOnce(&[Argument<'_>]) -> Result<T>,
) -> Result<T> {
    if !tagged.contains(&true) {
        return take(values);
    }
    let mut read = vec![];
    for (value, tagged) in values.iter().zip(tagged) {
        read.push(match value {
            Argument::Text(text) if *tagged => {
                Some(untagged(text).context("a column without a type holds a value without a tag of its type")?)
            }
            _ => None,
        });
    }
    let mut row = Vec::with_capacity(values.len());
    for (value, read) in values.iter().zip(&read) {
        row.push(match read {
            None => *value,
            Some(Untagged::Integer(n)) => Argument::Integer(*n),
            Some(Untagged::Real(r)) => Argument::Real(*r),
            Some(Untagged::Text(text)) => Argument::Text(text),
            Some(Untagged::Blob(bytes)) => Argument::Blob(bytes),
        });
    }
    take(&row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(form: Form, value: Argument<'_>, holds: ParamType) -> String {
        let mut out = vec![];
        put(&mut out, form, &[value, Argument::Null], &[holds, ParamType::Text]);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn nothing_in_a_value_ends_it() {
        let text = Argument::Text(b"a\tb\\N\n\r.");
        assert_eq!(line(Form::Copy, text, ParamType::Text), "a\\tb\\\\N\\n\\r.\t\\N\n");
        assert_eq!(line(Form::LoadData, Argument::Blob(b"\0\\"), ParamType::Blob), "\\0\\\\\t\\N\n");
        assert_eq!(line(Form::Copy, Argument::Blob(b"\0\xab"), ParamType::Blob), "\\\\x00ab\t\\N\n");
        assert_eq!(line(Form::Copy, Argument::Real(f64::NEG_INFINITY), ParamType::Real), "-Infinity\t\\N\n");
        assert_eq!(line(Form::LoadData, Argument::Real(1.5e-7), ParamType::Number), "0.00000015\t\\N\n");
        assert_eq!(line(Form::LoadData, Argument::Real(1e300), ParamType::Real), "1e300\t\\N\n");
    }

    #[test]
    fn tagged_values_are_read() {
        let row = [Argument::Text(b"i5"), Argument::Text(b"i5"), Argument::Text(b"x00"), Argument::Null];
        let tagged = [true, false, true, true];
        let read = untag(&row, &tagged, |row| Ok(format!("{row:?}"))).expect("a row");
        let wanted = [Argument::Integer(5), Argument::Text(b"i5"), Argument::Blob(&[0]), Argument::Null];
        assert_eq!(read, format!("{wanted:?}"));
        assert!(untag(&[Argument::Text(b"5")], &[true], |_| Ok(())).is_err());
    }
}
