//! Values as they stand in a tab-separated line: one letter for the kind, then the value.
//!
//! | text | value |
//! |---|---|
//! | `n` | NULL |
//! | `i-5` | integer, 64 bit |
//! | `r0.25` | real; shortest text that reads back to the same bits |
//! | `tname` | text, escaped as below |
//! | `T12` | text number 12 of the plan's text table |
//! | `x00ff` | blob |
//!
//! Escapes in texts: `\\`, `\t`, `\n`, `\r`, `\0`. Nothing else is special.

use std::fmt::Write as _;

/// One value bound to a statement or read from a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// 64-bit integer.
    Integer(i64),
    /// Double; never NaN or infinite.
    Real(f64),
    /// UTF-8 text.
    Text(String),
    /// A text of the plan's text table, by number.
    TextRef(u32),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Appends `text` with its tabs, line ends, NULs and backslashes escaped. What lies between them is
/// copied in one piece: writing a load is mostly this.
pub fn escape_into(out: &mut String, text: &str) {
    let mut copied = 0;
    for (i, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'\\' => "\\\\",
            b'\t' => "\\t",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\0' => "\\0",
            _ => continue,
        };
        out.push_str(&text[copied..i]);
        out.push_str(escaped);
        copied = i + 1;
    }
    out.push_str(&text[copied..]);
}

/// `text` escaped for one field of a line.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_into(&mut out, text);
    out
}

/// The text behind an escaped field.
///
/// # Errors
/// A backslash before anything but `\\ t n r 0`, or at the end.
pub fn unescape(field: &str) -> Result<String, String> {
    let mut out = String::with_capacity(field.len());
    unescape_into(&mut out, field)?;
    Ok(out)
}

/// Appends the text behind an escaped field.
///
/// # Errors
/// As [`unescape`].
pub fn unescape_into(out: &mut String, field: &str) -> Result<(), String> {
    let mut rest = field;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        out.push(match after.next() {
            Some('\\') => '\\',
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('0') => '\0',
            Some(other) => return Err(format!("unknown escape `\\{other}`")),
            None => return Err("a backslash at the end".to_string()),
        });
        rest = after.as_str();
    }
    out.push_str(rest);
    Ok(())
}

/// A [`Value`] that borrows its text or bytes from the line it was read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// 64-bit integer.
    Integer(i64),
    /// Double; never NaN or infinite.
    Real(f64),
    /// UTF-8 text.
    Text(&'a str),
    /// A text of the plan's text table, by number.
    TextRef(u32),
    /// Bytes.
    Blob(&'a [u8]),
}

/// Room for what cannot be borrowed as it stands: escaped texts and blobs. Kept from value to value, it
/// spares a loader one allocation for each.
#[derive(Debug, Default)]
pub struct Scratch {
    text: String,
    bytes: Vec<u8>,
}

impl<'a> ValueRef<'a> {
    /// Reads a field of the table above.
    ///
    /// # Errors
    /// An unknown kind or a value that does not fit it, in words.
    pub fn decode(field: &'a str, scratch: &'a mut Scratch) -> Result<Self, String> {
        let mut chars = field.chars();
        let kind = chars.next().ok_or("an empty field where a value was expected")?;
        let rest = chars.as_str();
        let bad = |what: &str| format!("`{}` is not {what}", crate::crop(field));
        match kind {
            'n' if rest.is_empty() => Ok(ValueRef::Null),
            'i' => rest.parse().map(ValueRef::Integer).map_err(|_| bad("an integer of 64 bits")),
            'r' => match rest.parse::<f64>() {
                Ok(r) if r.is_finite() => Ok(ValueRef::Real(r)),
                _ => Err(bad("a finite real")),
            },
            't' if !rest.contains('\\') => Ok(ValueRef::Text(rest)),
            't' => {
                scratch.text.clear();
                unescape_into(&mut scratch.text, rest)?;
                Ok(ValueRef::Text(&scratch.text))
            }
            'T' => rest.parse().map(ValueRef::TextRef).map_err(|_| bad("a text number")),
            'x' => {
                scratch.bytes.clear();
                decode_hex_into(&mut scratch.bytes, rest).ok_or_else(|| bad("a blob in hexadecimal"))?;
                Ok(ValueRef::Blob(&scratch.bytes))
            }
            _ => Err(bad("a value (it must start with one of n i r t T x)")),
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(i) => Value::Integer(i),
            ValueRef::Real(r) => Value::Real(r),
            ValueRef::Text(t) => Value::Text(t.to_string()),
            ValueRef::TextRef(n) => Value::TextRef(n),
            ValueRef::Blob(b) => Value::Blob(b.to_vec()),
        }
    }
}

impl Value {
    /// Appends the value in the form of the table above.
    ///
    /// # Panics
    /// On a real that is not finite: no engine contend drives stores one, so drawing it is a defect.
    pub fn encode_into(&self, out: &mut String) {
        match self {
            Value::Null => out.push('n'),
            Value::Integer(i) => {
                let _ = write!(out, "i{i}");
            }
            Value::Real(r) => {
                assert!(r.is_finite(), "a real in a plan must be finite, found {r}");
                let _ = write!(out, "r{r:?}");
            }
            Value::Text(t) => {
                out.push('t');
                escape_into(out, t);
            }
            Value::TextRef(n) => {
                let _ = write!(out, "T{n}");
            }
            Value::Blob(bytes) => {
                out.push('x');
                for b in bytes {
                    let _ = write!(out, "{b:02x}");
                }
            }
        }
    }

    /// The value as one field.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        self.encode_into(&mut out);
        out
    }

    /// Reads a field of the table above.
    ///
    /// # Errors
    /// An unknown kind or a value that does not fit it, in words.
    pub fn decode(field: &str) -> Result<Self, String> {
        ValueRef::decode(field, &mut Scratch::default()).map(Value::from)
    }
}

fn decode_hex_into(out: &mut Vec<u8>, text: &str) -> Option<()> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let digit = |b: u8| (b as char).to_digit(16);
    for pair in bytes.chunks_exact(2) {
        out.push((digit(pair[0])? * 16 + digit(pair[1])?) as u8);
    }
    Some(())
}
