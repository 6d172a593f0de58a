//! The only file that uses the parser: text in, tree out. A scan of the text adds what the parser's tree lacks:
//! numbers of parameters, the two forms of LIMIT, nesting depth.

use std::borrow::Cow;

use bumpalo::Bump;
use fallible_iterator::FallibleIterator;
use sqlite3_parser::lexer::sql::{Error, Parser};

pub(crate) use sqlite3_parser::ast as tree;

pub(crate) mod places;
pub(crate) mod token;

/// Deepest nesting of parentheses that is passed to the parser. SQLite's own limit on an expression's depth is 1,000.
const PARENTHESES_MAX: usize = 500;
/// Longest statement: the default of `SQLITE_MAX_SQL_LENGTH`.
const LENGTH_MAX: usize = 1_000_000;
/// Most parameters: the default of `SQLITE_MAX_VARIABLE_NUMBER`.
const PARAMETERS_MAX: u16 = 32_766;

/// Result of a scan.
pub(crate) struct Scan<'a> {
    /// The text with every bare `?` written as `?1`, `?2`, ...
    pub text: Cow<'a, str>,
    /// Named parameters with their numbers.
    pub names: Vec<(&'a str, u16)>,
}

/// A text that cannot be parsed: offset in the caller's text, and reason.
pub(crate) struct Unscannable(pub usize, pub String);

/// Characters at which [`scan`] stops; most texts have few of them.
const SPECIAL: [bool; 256] = {
    let (mut special, characters, mut at) = ([false; 256], b"'\"`[-/()?:@$\0", 0);
    while at < characters.len() {
        special[characters[at] as usize] = true;
        at += 1;
    }
    special
};

/// Parameters found so far, and the rewritten text, if it differs.
struct Numbered<'a> {
    sql: &'a str,
    names: Vec<(&'a str, u16)>,
    largest: u16,
    rewritten: String,
    /// Length of the text that is already rewritten.
    copied: usize,
}

impl<'a> Numbered<'a> {
    fn next_number(&mut self, at: usize) -> Result<u16, Unscannable> {
        self.largest += 1;
        if self.largest > PARAMETERS_MAX {
            return Err(Unscannable(at, format!("more than {PARAMETERS_MAX} parameters")));
        }
        Ok(self.largest)
    }

    /// Handles a `?`, with or without a number; returns the offset of its last character.
    fn question_mark(&mut self, at: usize) -> Result<usize, Unscannable> {
        let digits = self.sql.as_bytes()[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            let number: u16 = self.sql[at + 1..at + 1 + digits].parse().unwrap_or(0);
            if number == 0 || number > PARAMETERS_MAX {
                return Err(Unscannable(at, format!("parameter numbers are 1 to {PARAMETERS_MAX}")));
            }
            self.largest = self.largest.max(number);
            return Ok(at + digits);
        }
        let number = self.next_number(at)?;
        if self.copied == 0 {
            // Most texts have fewer than ten parameters.
            self.rewritten.reserve(self.sql.len() + 16);
        }
        self.rewritten.push_str(&self.sql[self.copied..=at]);
        push_number(&mut self.rewritten, number);
        self.copied = at + 1;
        Ok(at)
    }

    /// Handles a named parameter; returns the offset of its last character.
    fn name(&mut self, at: usize) -> Result<usize, Unscannable> {
        let (length, of_tcl) = name_length(&self.sql.as_bytes()[at..]);
        let name = &self.sql[at..at + length];
        let known = self.names.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
        if known.is_none() && length > 1 {
            let number = self.next_number(at)?;
            self.names.push((name, number));
        }
        if of_tcl {
            // The parser does not accept such names. The replacement has the same length, not counting the number.
            self.rewritten.push_str(&self.sql[self.copied..at]);
            self.rewritten.push('?');
            push_number(&mut self.rewritten, known.unwrap_or(self.largest));
            self.rewritten.extend(std::iter::repeat_n(' ', length - 1));
            self.copied = at + length;
        }
        Ok(at + length - 1)
    }

    /// The result for the text up to `end`.
    fn found(mut self, end: usize) -> Scan<'a> {
        let unchanged = self.copied == 0 && end == self.sql.len();
        if unchanged {
            return Scan { text: Cow::Borrowed(self.sql), names: self.names };
        }
        self.rewritten.push_str(&self.sql[self.copied..end]);
        Scan { text: Cow::Owned(self.rewritten), names: self.names }
    }
}

/// The end of a quoted text or name that begins here.
fn closing(bytes: &[u8], from: usize) -> Result<usize, Unscannable> {
    let close = if bytes[from] == b'[' { b']' } else { bytes[from] };
    let mut at = from + 1;
    while at < bytes.len() && bytes[at] != close {
        if bytes[at] == 0 {
            return Err(Unscannable(at, "a NUL character in a text".into()));
        }
        at += 1;
    }
    if at == bytes.len() {
        return Err(Unscannable(from, format!("`{}` is never closed", bytes[from] as char)));
    }
    Ok(at)
}

/// Numbers the parameters as SQLite does: `?` is one more than the largest so far, a name keeps its first number.
pub(crate) fn scan(sql: &str) -> Result<Scan<'_>, Unscannable> {
    if sql.len() > LENGTH_MAX {
        return Err(Unscannable(0, format!("{} bytes; a statement has at most {LENGTH_MAX}", sql.len())));
    }
    let bytes = sql.as_bytes();
    let mut numbered = Numbered { sql, names: Vec::new(), largest: 0, rewritten: String::new(), copied: 0 };
    let (mut at, mut depth) = (0, 0usize);
    loop {
        at += bytes[at..].iter().take_while(|byte| !SPECIAL[usize::from(**byte)]).count();
        let Some(&byte) = bytes.get(at) else { break };
        match byte {
            b'\'' | b'"' | b'`' | b'[' => at = closing(bytes, at)?,
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                // An unterminated comment extends to the end of the text.
                let Some(end) = sql[at + 2..].find("*/") else { return Ok(numbered.found(at)) };
                at += 2 + end + 2;
                continue;
            }
            b'(' => {
                depth += 1;
                if depth > PARENTHESES_MAX {
                    return Err(Unscannable(at, format!("more than {PARENTHESES_MAX} nested parentheses")));
                }
            }
            b')' => depth = depth.saturating_sub(1),
            b'?' => at = numbered.question_mark(at)?,
            b':' | b'@' | b'$' if !is_word(at.checked_sub(1).map(|b| bytes[b])) => at = numbered.name(at)?,
            0 => return Err(Unscannable(at, "a NUL character".into())),
            _ => {}
        }
        at += 1;
    }
    Ok(numbered.found(sql.len()))
}

/// Length of a named parameter including its first character, and whether it has a form of Tcl, with `::` or a part
/// in parentheses.
fn name_length(bytes: &[u8]) -> (usize, bool) {
    let (mut at, mut of_tcl) = (1, false);
    loop {
        match bytes.get(at) {
            Some(b':') if bytes.get(at + 1) == Some(&b':') && is_word(bytes.get(at + 2).copied()) => {
                of_tcl = true;
                at += 2;
            }
            Some(b'(') if at > 1 => {
                let inside = bytes[at..].iter().take_while(|b| !b.is_ascii_whitespace() && **b != b')').count();
                return match bytes.get(at + inside) {
                    Some(b')') => (at + inside + 1, true),
                    _ => (at, of_tcl),
                };
            }
            Some(byte) if is_word(Some(*byte)) => at += 1,
            _ => return (at, of_tcl),
        }
    }
}

fn push_number(out: &mut String, number: u16) {
    if number < 10 {
        out.push((b'0' + number as u8) as char);
    } else {
        out.push_str(&number.to_string());
    }
}

fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b > 0x7f)
}

/// A statement that the parser rejects: byte offset and message.
pub(crate) struct Unparsable(pub usize, pub String);

/// Parses the statements of `text` into `bump`, and passes each with its number to `each`, until that returns false.
///
/// The trees are never dropped (the bump owns their memory), so that dropping a deep one cannot overflow the stack.
pub(crate) fn statements<'a>(
    bump: &'a Bump,
    text: &'a str,
    mut each: impl FnMut(usize, &'a tree::Cmd<'a>) -> bool,
) -> Result<(), Unparsable> {
    let mut parser = Parser::new(bump, text.as_bytes());
    for number in 0.. {
        match parser.next() {
            Ok(None) => break,
            Ok(Some(command)) => {
                if !each(number, bump.alloc(command)) {
                    break;
                }
            }
            Err(error) => return Err(describe(&error, text)),
        }
    }
    Ok(())
}

fn describe(error: &Error, text: &str) -> Unparsable {
    let said = error.to_string();
    // The message is followed by the place.
    let ends = [" at line: ", " at Some(", " at None"].into_iter().filter_map(|place| said.find(place));
    let words = said[..ends.min().unwrap_or(said.len())].to_string();
    let position = match error {
        Error::ParserError(_, position) => position.as_ref(),
        Error::UnrecognizedToken(position)
        | Error::UnterminatedLiteral(position)
        | Error::UnterminatedBracket(position)
        | Error::UnterminatedBlockComment(position)
        | Error::BadVariableName(position)
        | Error::BadNumber(position)
        | Error::ExpectedEqualsSign(position)
        | Error::MalformedBlobLiteral(position)
        | Error::MalformedHexInteger(position) => position.as_ref(),
        _ => None,
    };
    Unparsable(position.map_or(0, |p| offset_of(text, p.line, p.column)), words)
}

/// The offset of the parser's line and column (bytes), both from 1.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// The offset in the caller's text of an offset in the text with numbered placeholders.
pub(crate) fn unnumbered(sql: &str, numbered: &str, offset: usize) -> usize {
    let mut at = 0;
    for byte in numbered.bytes().take(offset) {
        // A character that the caller's text lacks is a digit of a number added after `?`.
        at += usize::from(!byte.is_ascii_digit() || sql.as_bytes().get(at) == Some(&byte));
    }
    at
}

/// The form of LIMIT with two numbers. The tree does not distinguish them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LimitForm {
    /// `LIMIT count OFFSET skipped`
    Offset,
    /// `LIMIT skipped, count`
    Comma,
    /// Both forms occur.
    Mixed,
}

/// The form of LIMIT that a text uses; needed only for a LIMIT with two numbers.
pub(crate) fn limit_form(text: &str) -> LimitForm {
    let bytes = text.as_bytes();
    let (mut comma, mut offset) = (false, false);
    // Depth of parentheses of every LIMIT that has not ended.
    let mut open: Vec<usize> = Vec::new();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"' | b'`' | b'[') => {
                let close = if quote == b'[' { b']' } else { quote };
                at += 1;
                while at < bytes.len() && bytes[at] != close {
                    at += 1;
                }
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at + 2..].find("*/").map_or(bytes.len(), |end| at + 2 + end + 1);
            }
            b';' => open.clear(),
            b'(' => depth += 1,
            b')' => {
                while open.last() == Some(&depth) {
                    open.pop();
                }
                depth = depth.saturating_sub(1);
            }
            b',' if open.last() == Some(&depth) => {
                comma = true;
                open.pop();
            }
            byte if byte.is_ascii_alphabetic() => {
                let length = bytes[at..].iter().take_while(|b| is_word(Some(**b))).count();
                let word = &bytes[at..at + length];
                if word.eq_ignore_ascii_case(b"limit") {
                    open.push(depth);
                } else if word.eq_ignore_ascii_case(b"offset") && open.last() == Some(&depth) {
                    offset = true;
                    open.pop();
                }
                at += length - 1;
            }
            byte if is_word(Some(byte)) => {
                at += bytes[at..].iter().take_while(|b| is_word(Some(**b))).count() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    match (comma, offset) {
        (true, true) => LimitForm::Mixed,
        (true, false) => LimitForm::Comma,
        _ => LimitForm::Offset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(sql: &str) -> String {
        scan(sql).map(|s| s.text.into_owned()).unwrap_or_else(|e| panic!("{}", e.1))
    }

    #[test]
    fn parameters_are_numbered_as_sqlite_numbers_them() {
        assert_eq!(numbered("SELECT ?, ?5, ?, '?' , \"?\" -- ?\n, ?"), "SELECT ?1, ?5, ?6, '?' , \"?\" -- ?\n, ?7");
        let Ok(found) = scan("SELECT :a, @b, $c, :a, ?") else { panic!() };
        assert_eq!(found.names, [(":a", 1), ("@b", 2), ("$c", 3)]);
        assert_eq!(found.text, "SELECT :a, @b, $c, :a, ?4");
        assert_eq!(numbered("SELECT $::a, $b::c(d), ?, $::a;"), "SELECT ?1   , ?2       , ?3, ?1   ;");
        let (sql, text) = ("SELECT $::a, ?, x", "SELECT ?1   , ?2, x");
        assert_eq!((numbered(sql).as_str(), unnumbered(sql, text, text.len() - 1)), (text, sql.len() - 1));
        assert!(scan("SELECT ?0").is_err());
        assert!(scan("SELECT 'open").is_err());
    }

    #[test]
    fn both_forms_of_limit_are_distinguished() {
        assert_eq!(limit_form("SELECT a, b FROM t LIMIT 1 OFFSET 2"), LimitForm::Offset);
        assert_eq!(limit_form("SELECT a, b FROM t LIMIT 1, 2"), LimitForm::Comma);
        assert_eq!(limit_form("SELECT a, (SELECT 1 LIMIT 1), c FROM t LIMIT max(1, 2) OFFSET 3"), LimitForm::Offset);
        assert_eq!(limit_form("SELECT (SELECT 1 LIMIT 1, 1) FROM t LIMIT 1 OFFSET 2"), LimitForm::Mixed);
    }
}
