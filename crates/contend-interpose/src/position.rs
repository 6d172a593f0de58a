//! Numbers of columns in `GROUP BY 1, 2` and `ORDER BY 2 DESC`: they are part of a statement, and no values.

/// Longest number of a column; a stand-in for a value is longer.
const DIGITS_MAX: usize = 4;

/// Words after which a comma separates no more columns.
const ENDS: [&[u8]; 21] = [
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
    b"returning",
    b"on",
    b"order",
    b"with",
    b"lock",
    b"separator",
    b"loop",
];
/// Words after the number of a column, in its term.
const DIRECTIONS: [&[u8]; 3] = [b"asc", b"desc", b"nulls"];

fn is_one_of(words: &[&[u8]], token: &[u8]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(token))
}

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
            Position::List(0, _) if matches!(token, b")" | b";") || is_one_of(&ENDS, token) => Position::Elsewhere,
            Position::List(depth, _) if token == b")" => Position::List(depth - 1, false),
            Position::List(0, _) if token == b"," => Position::List(0, true),
            Position::List(depth, _) => Position::List(depth, false),
            _ => Position::Elsewhere,
        }
    }

    /// Whether a token is the number of a column. `next`: the tokens after it. A number in an expression, as in
    /// `ORDER BY 2024 IN (y)`, is a value.
    pub fn is_column<'s>(self, token: &[u8], next: impl Iterator<Item = &'s [u8]>) -> bool {
        let is_number = token.len() <= DIGITS_MAX && token.iter().all(u8::is_ascii_digit);
        matches!(self, Position::List(0, true)) && is_number && is_whole(next)
    }
}

/// Whether a term has no more parts in these tokens, other than a collation and a direction.
fn is_whole<'s>(mut next: impl Iterator<Item = &'s [u8]>) -> bool {
    while let Some(token) = next.next() {
        if token.eq_ignore_ascii_case(b"collate") && next.next().is_some() {
            continue;
        }
        return matches!(token, b"," | b")" | b";") || is_one_of(&DIRECTIONS, token) || is_one_of(&ENDS, token);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statement with `#` for each number that is a value.
    fn hashed(sql: &str) -> String {
        let tokens: Vec<&str> = sql.split(' ').collect();
        let (mut position, mut out) = (Position::default(), vec![]);
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens[at + 1..].iter().map(|token| token.as_bytes());
            let is_number = token.bytes().all(|byte| byte.is_ascii_digit());
            let is_value = is_number && !position.is_column(token.as_bytes(), next);
            out.push(if is_value { "#" } else { token });
            position = position.after(token.as_bytes());
        }
        out.join(" ")
    }

    #[test]
    fn numbers_of_columns_stay() {
        for sql in [
            "SELECT a FROM t ORDER BY 2",
            "SELECT a FROM t GROUP BY 2 , 3 HAVING b ORDER BY 2 DESC NULLS LAST , 3 ASC LIMIT x",
            "SELECT a FROM t ORDER BY 2 COLLATE NOCASE , 3 collate \"b\" desc",
            "SELECT * FROM ( SELECT a FROM t ORDER BY 2 ) UNION SELECT a FROM u ORDER BY 2 ;",
            "INSERT INTO t SELECT a FROM u GROUP BY 2 ON CONFLICT DO NOTHING",
            "INSERT INTO t SELECT a FROM u ORDER BY 2 RETURNING id",
            "SELECT a FROM t GROUP BY 2 WITH ROLLUP",
            "SELECT a FROM t GROUP BY 2 UNION SELECT a FROM u ORDER BY 2 FOR UPDATE",
        ] {
            assert_eq!(hashed(sql), sql);
        }
    }

    #[test]
    fn numbers_in_terms_and_behind_the_list_are_values() {
        for sql in [
            "INSERT INTO t SELECT * FROM u ORDER BY a RETURNING id , 1234",
            "INSERT INTO t SELECT * FROM u ORDER BY 2 RETURNING id , 1234",
            "INSERT INTO t SELECT * FROM u ORDER BY a ON DUPLICATE KEY UPDATE b , 1234",
            "SELECT * FROM t ORDER BY 1234 IS NULL",
            "SELECT * FROM t ORDER BY a , 1234 IN ( y )",
            "SELECT * FROM t ORDER BY 1234 NOT IN ( y ) , a",
            "SELECT * FROM t GROUP BY 1234 BETWEEN a AND b",
            "SELECT * FROM t ORDER BY 1234 LIKE a",
            "SELECT * FROM t ORDER BY 1234 COLLATE nocase = a",
            "SELECT * FROM t ORDER BY 1234 COLLATE",
            "SELECT * FROM t ORDER BY 1234 ISNULL , 2",
            "SELECT * FROM t ORDER BY 1234 AND a OR 1234",
            "SELECT * FROM t ORDER BY 1234 ascending",
            "SELECT * FROM t ORDER BY 1234 \"limit\"",
            "SELECT * FROM t ORDER BY a LIMIT 5 , 1234",
        ] {
            assert!(!hashed(sql).contains("1234"), "{}", hashed(sql));
        }
    }
}
