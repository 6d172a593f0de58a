//! Tokens of a statement, as SQLite reads it.

/// The tokens of a statement from this offset on.
pub fn tokens(sql: &[u8], mut at: usize) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        while blank(sql, at) > at {
            at = blank(sql, at);
        }
        let begin = Some(at).filter(|at| *at < sql.len())?;
        at = token(sql, at).0;
        Some(&sql[begin..at])
    })
}

/// End of the token at this offset, and whether it is a literal.
pub(crate) fn token(sql: &[u8], at: usize) -> (usize, bool) {
    match sql[at] {
        b'\'' => {
            let end = quoted(sql, at, b'\'');
            (end, !is_of_the_language(&sql[at..end]))
        }
        mark @ (b'"' | b'`') => (quoted(sql, at, mark), false),
        b'[' => (quoted(sql, at, b']'), false),
        b'0'..=b'9' => (number(sql, at), true),
        b'.' if sql.get(at + 1).is_some_and(u8::is_ascii_digit) => (number(sql, at), true),
        b'x' | b'X' if sql.get(at + 1) == Some(&b'\'') => (quoted(sql, at + 1, b'\''), true),
        b'?' | b':' | b'@' | b'#' => (word(sql, at + 1), false),
        byte if is_word(byte) => (word(sql, at), false),
        _ => (at + 1, false),
    }
}

/// End of the number that a `-` at this offset belongs to; `None` if it is an operator. `before`: the token before it, empty at the
/// beginning.
pub fn negative(sql: &[u8], at: usize, before: &[u8]) -> Option<usize> {
    /// Words after which a value can begin.
    const WORDS: [&[u8]; 26] = [
        b"select",
        b"distinct",
        b"all",
        b"where",
        b"and",
        b"or",
        b"not",
        b"between",
        b"like",
        b"glob",
        b"is",
        b"case",
        b"when",
        b"then",
        b"else",
        b"limit",
        b"offset",
        b"by",
        b"having",
        b"on",
        b"returning",
        b"default",
        b"escape",
        b"div",
        b"mod",
        b"set",
    ];
    let is_value = match before.last() {
        Some(b')' | b']' | b'\'' | b'"' | b'`' | b'?') => false,
        Some(byte) if is_word(*byte) => WORDS.iter().any(|word| word.eq_ignore_ascii_case(before)),
        _ => true,
    };
    let digits = (at + 1..sql.len()).find(|at| !sql[*at].is_ascii_whitespace())?;
    let is_number =
        sql[digits].is_ascii_digit() || sql[digits] == b'.' && sql.get(digits + 1).is_some_and(u8::is_ascii_digit);
    (sql[at] == b'-' && is_value && is_number).then(|| number(sql, digits))
}

/// The first word of a statement in lower case, at most 16 bytes of it.
pub fn first_word(sql: &[u8]) -> ([u8; 16], usize) {
    let (mut word, mut length, mut i) = ([0u8; 16], 0, 0);
    while blank(sql, i) > i || sql.get(i) == Some(&b';') {
        i = blank(sql, i).max(i + 1);
    }
    while let Some(&byte) = sql.get(i).filter(|byte| is_word(**byte) && length < 16) {
        word[length] = byte.to_ascii_lowercase();
        length += 1;
        i += 1;
    }
    (word, length)
}

/// Whether a literal belongs to the language: the empty text, one punctuation mark, or an argument of date functions.
pub fn is_of_the_language(literal: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] = [
        b"now",
        b"localtime",
        b"utc",
        b"unixepoch",
        b"julianday",
        b"auto",
        b"subsec",
        b"start of day",
        b"start of month",
        b"start of year",
    ];
    let [b'\'', inner @ .., b'\''] = literal else { return false };
    // `%Y-%m-%d`
    let is_mark =
        |at: usize| !inner[at].is_ascii_alphanumeric() || at.checked_sub(1).is_some_and(|at| inner[at] == b'%');
    let is_format =
        inner.starts_with(b"%") && inner.is_ascii() && (0..inner.len()).all(|at| is_mark(at) || inner[at] == b'T');
    let is_short = inner.is_empty() || matches!(inner, [mark] if mark.is_ascii_punctuation());
    is_short || is_format || WORDS.iter().any(|word| word.eq_ignore_ascii_case(inner))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// End of the quoted text from `at` on; a doubled quote is part of it.
fn quoted(sql: &[u8], at: usize, close: u8) -> usize {
    let mut i = at + 1;
    while i < sql.len() {
        if sql[i] == close {
            if close != b']' && sql.get(i + 1) == Some(&close) {
                i += 1;
            } else {
                return i + 1;
            }
        }
        i += 1;
    }
    sql.len()
}

/// End of the white space or comment at this offset; the same offset if there is none.
pub(crate) fn blank(sql: &[u8], at: usize) -> usize {
    match (sql.get(at), sql.get(at + 1)) {
        (Some(byte), _) if byte.is_ascii_whitespace() => at + 1,
        // A byte order mark is white space to SQLite, anywhere between tokens.
        _ if sql[at.min(sql.len())..].starts_with(b"\xef\xbb\xbf") => at + 3,
        (Some(b'-'), Some(b'-')) => sql[at..].iter().position(|&byte| byte == b'\n').map_or(sql.len(), |n| at + n + 1),
        (Some(b'/'), Some(b'*')) => {
            sql[at + 2..].windows(2).position(|two| two == b"*/").map_or(sql.len(), |n| at + n + 4)
        }
        _ => at,
    }
}

fn number(sql: &[u8], at: usize) -> usize {
    let mut i = at;
    while i < sql.len() {
        let sign =
            (sql[i] == b'+' || sql[i] == b'-') && matches!(sql[i - 1], b'e' | b'E') && !sql[at..].starts_with(b"0x");
        if !(is_word(sql[i]) || sql[i] == b'.' || (sign && i > at)) {
            break;
        }
        i += 1;
    }
    i
}

fn word(sql: &[u8], at: usize) -> usize {
    at + sql[at.min(sql.len())..].iter().take_while(|byte| is_word(**byte)).count()
}
