//! Numbers of columns in `GROUP BY 1, 2` and `ORDER BY 2 DESC`: they are part of a statement, and no values.

/// Longest number of a column; a stand-in for a value is longer.
const DIGITS_MAX: usize = 4;

/// Words after which a comma separates no more columns.
const ENDS: [&[u8]; 14] = [
    b"limit",
    b"offset",
    b"fetch",
    b"having",
    b"window",
    b"union",
    b"except",
    b"intersect",
    b"select",
    b"for",
    b"rows",
    b"range",
    b"groups",
    b"into",
];

/// A place in a statement, moved from token to token.
#[derive(Clone, Copy, Default)]
pub enum Position {
    #[default]
    Elsewhere,
    /// After GROUP or ORDER.
    Word,
    /// In a list of columns, within this number of brackets; whether a column begins here.
    List(u32, bool),
}

impl Position {
    /// The place after a token.
    #[must_use]
    pub fn after(self, token: &[u8]) -> Position {
        let is = |word: &[u8]| token.eq_ignore_ascii_case(word);
        match self {
            _ if is(b"group") || is(b"order") => Position::Word,
            Position::Word if is(b"by") => Position::List(0, true),
            Position::List(depth, _) if token == b"(" => Position::List(depth + 1, false),
            Position::List(0, _) if matches!(token, b")" | b";") || ENDS.iter().any(|end| is(end)) => {
                Position::Elsewhere
            }
            Position::List(depth, _) if token == b")" => Position::List(depth - 1, false),
            Position::List(0, _) if token == b"," => Position::List(0, true),
            Position::List(depth, _) => Position::List(depth, false),
            _ => Position::Elsewhere,
        }
    }

    /// Whether a token is the number of a column. `next`: the first byte of the next token; an operator makes it a part of a sum.
    pub fn is_column(self, token: &[u8], next: Option<u8>) -> bool {
        let is_alone = next.is_none_or(|byte| matches!(byte, b',' | b')' | b';') || byte.is_ascii_alphabetic());
        let is_number = token.len() <= DIGITS_MAX && token.iter().all(u8::is_ascii_digit);
        matches!(self, Position::List(0, true)) && is_number && is_alone
    }
}
