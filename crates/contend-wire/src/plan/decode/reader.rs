//! The lines of a plan and their fields.

use crate::FormatError;
use crate::literal::unescape;
use crate::plan::{ANY_ROWS, Source};

/// Reads the lines of a plan in their order, knowing which one it is at.
pub(super) struct Reader<'a> {
    pub(super) lines: std::iter::Peekable<std::str::Split<'a, char>>,
    pub(super) at: usize,
    /// The line that needs the highest session value, with its slot, until the login is known.
    pub(super) session_use: Option<(usize, u16)>,
}

/// The fields of one line after its kind.
pub(super) struct Fields<'a> {
    pub(super) line: usize,
    kind: &'static str,
    pub(super) fields: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    pub(super) fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError::new("plan", self.line, message)
    }

    pub(super) fn text(&mut self, what: &str) -> Result<&'a str, FormatError> {
        self.fields.next().ok_or_else(|| self.error(format!("a `{}` line without its {what}", self.kind)))
    }

    pub(super) fn unescaped(&mut self, what: &str) -> Result<String, FormatError> {
        let field = self.text(what)?;
        unescape(field).map_err(|e| self.error(e))
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, FormatError> {
        let field = self.text(what)?;
        field.parse().map_err(|_| self.error(format!("{what} `{}` is not a number that fits", crate::crop(field))))
    }

    pub(super) fn end(mut self) -> Result<(), FormatError> {
        match self.fields.next() {
            None => Ok(()),
            Some(extra) => Err(self.error(format!("an extra field: `{}`", crate::crop(extra)))),
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { lines: text.split('\n').peekable(), at: 0, session_use: None }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError::new("plan", self.at, message)
    }

    /// The next line if it is of this kind.
    pub(super) fn next_if(&mut self, kind: &'static str) -> Option<Fields<'a>> {
        let line = self.lines.peek()?;
        let mut fields = line.split('\t');
        if fields.next() != Some(kind) {
            return None;
        }
        self.lines.next();
        self.at += 1;
        Some(Fields { line: self.at, kind, fields })
    }

    pub(super) fn expect(&mut self, kind: &'static str) -> Result<Fields<'a>, FormatError> {
        match self.next_if(kind) {
            Some(fields) => Ok(fields),
            None => {
                let found = self.lines.peek().map_or("the end of the text", |line| *line);
                Err(FormatError::new(
                    "plan",
                    self.at + 1,
                    format!("expected a `{kind}` line, found `{}`", crate::crop(found)),
                ))
            }
        }
    }
}

pub(super) fn expect_index(f: &mut Fields<'_>, index: usize) -> Result<(), FormatError> {
    let found: usize = f.number("number")?;
    if found == index { Ok(()) } else { Err(f.error(format!("expected number {index}, found {found}"))) }
}

pub(super) fn list<T>(f: &mut Fields<'_>, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, FormatError> {
    let field = f.text(what)?;
    if field == "-" {
        return Ok(vec![]);
    }
    field
        .split(',')
        .map(|item| read(item).ok_or_else(|| f.error(format!("`{}` in the list of {what}", crate::crop(item)))))
        .collect()
}

/// `MIN..MAX` or `MIN..*`.
pub(super) fn bounds(text: &str) -> Option<(u32, u32)> {
    let (min, max) = text.split_once("..")?;
    let max = if max == "*" { ANY_ROWS } else { max.parse().ok()? };
    Some((min.parse().ok()?, max)).filter(|(min, max)| min <= max)
}

/// The rest of a line as sources.
pub(super) fn sources(f: Fields<'_>) -> Result<Vec<Source>, FormatError> {
    let (line, fields) = (f.line, f.fields);
    fields.map(Source::decode).collect::<Result<Vec<_>, _>>().map_err(|m| FormatError::new("plan", line, m))
}
