//! Rows as the JSON text of a serving worker's answers: each row is an object by column name.

use crate::argument::Argument;
use std::io::Write as _;

/// The rows of one operation so far.
#[derive(Debug, Default)]
pub struct JsonRows {
    /// Objects, separated by commas.
    text: Vec<u8>,
    /// Whether the object at the end has a member.
    has_member: bool,
    /// Whether a value had no form in JSON.
    unrepresentable: bool,
}

impl JsonRows {
    /// Begins a row.
    pub fn begin_row(&mut self) {
        if !self.text.is_empty() {
            self.text.push(b',');
        }
        self.text.push(b'{');
        self.has_member = false;
    }

    /// Adds a column. Bytes become `{"hex":"00ff"}`; invalid UTF-8 in texts is lost.
    pub fn value(&mut self, name: &str, value: Argument<'_>) {
        if std::mem::replace(&mut self.has_member, true) {
            self.text.push(b',');
        }
        quote(&mut self.text, name);
        self.text.push(b':');
        let written = match value {
            Argument::Null => self.text.write_all(b"null"),
            Argument::Integer(i) => write!(self.text, "{i}"),
            // As in SQLite's own JSON.
            Argument::Real(r) if r.is_infinite() => self.text.write_all(if r > 0.0 { b"9e999" } else { b"-9e999" }),
            Argument::Real(r) => {
                self.unrepresentable |= r.is_nan();
                write!(self.text, "{r:?}")
            }
            Argument::Text(text) => {
                quote(&mut self.text, &String::from_utf8_lossy(text));
                Ok(())
            }
            Argument::Blob(bytes) => {
                self.text.extend_from_slice(b"{\"hex\":\"");
                bytes.iter().for_each(|byte| self.text.extend(hex(*byte)));
                self.text.write_all(b"\"}")
            }
        };
        written.expect("memory can be written to");
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        self.text.push(b'}');
    }

    /// `{"rows":[...]}`; `None` if a value has no form in JSON.
    pub fn finish(self) -> Option<Vec<u8>> {
        if self.unrepresentable {
            return None;
        }
        let mut body = Vec::with_capacity(self.text.len() + 12);
        body.extend_from_slice(b"{\"rows\":[");
        body.extend_from_slice(&self.text);
        body.extend_from_slice(b"]}");
        Some(body)
    }
}

fn hex(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}

/// Appends a text as a JSON string.
pub fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0..=0x1f => {
                out.extend(b"\\u00");
                out.extend(hex(byte));
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(rows: &[&[(&str, Argument<'_>)]]) -> Option<String> {
        let mut answer = JsonRows::default();
        for row in rows {
            answer.begin_row();
            row.iter().for_each(|(name, value)| answer.value(name, *value));
            answer.end_row();
        }
        answer.finish().map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn rows_are_objects_by_column_name() {
        assert_eq!(finished(&[]).unwrap(), r#"{"rows":[]}"#);
        let first = [("id", Argument::Integer(i64::MIN)), ("v", Argument::Real(0.5)), ("n", Argument::Null)];
        let second = [("id", Argument::Text("a\"\\\n\u{1}é".as_bytes())), ("b", Argument::Blob(&[0, 255]))];
        let expected = "{\"rows\":[{\"id\":-9223372036854775808,\"v\":0.5,\"n\":null},\
                        {\"id\":\"a\\\"\\\\\\n\\u0001é\",\"b\":{\"hex\":\"00ff\"}}]}";
        assert_eq!(finished(&[&first, &second]).unwrap(), expected);
    }

    #[test]
    fn what_json_does_not_have_is_no_answer() {
        assert_eq!(finished(&[&[("r", Argument::Real(f64::NAN))]]), None);
        assert_eq!(finished(&[&[("r", Argument::Real(f64::NEG_INFINITY))]]).unwrap(), r#"{"rows":[{"r":-9e999}]}"#);
        assert!(finished(&[&[("r", Argument::Real(1e300))]]).unwrap().contains("1e300"));
    }
}
