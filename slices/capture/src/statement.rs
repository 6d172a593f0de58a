//! Tokens and statements of a text.

use contend_interpose::position::Position;
use contend_interpose::token::{self, is_of_the_language};
use std::ops::Range;

/// A token of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'s> {
    /// Also the number of a column in `ORDER BY 2`.
    Word(&'s str),
    /// A literal with its text, also with the sign of a negative number.
    Literal(&'s str),
    /// `?`, `?1`, `:name`, `@name`, `$name`.
    Parameter(&'s str),
    Sign(&'s str),
}

impl Token<'_> {
    /// Whether a value stands here.
    pub fn is_value(&self) -> bool {
        matches!(self, Token::Literal(_) | Token::Parameter(_))
    }

    /// Whether this is a keyword.
    pub fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Whether this is a name, with or without quotes.
    pub fn is_name(&self, name: &str) -> bool {
        matches!(self, Token::Word(word) if without_quotes(word).eq_ignore_ascii_case(name))
    }
}

/// A name as it is written, without its quotes.
pub fn without_quotes(name: &str) -> &str {
    name.trim_matches(['"', '`', '[', ']'])
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Splits a statement into tokens, without white space and comments.
pub fn tokens<'s>(sql: &'s str) -> Vec<Token<'s>> {
    let (bytes, mut at, mut found, mut position) = (sql.as_bytes(), 0, vec![], Position::default());
    let mut before: &[u8] = b"";
    while at < bytes.len() {
        let rest = &bytes[at..];
        let run = |from: usize, is: fn(u8) -> bool| from + rest[from..].iter().take_while(|b| is(**b)).count();
        let until =
            |end: &[u8]| rest.windows(end.len()).position(|part| part == end).map_or(rest.len(), |n| n + end.len());
        let quoted = |close: u8| {
            let mut i = 1;
            while i < rest.len() && (rest[i] != close || rest.get(i + 1) == Some(&close)) {
                i += if rest[i] == close { 2 } else { 1 };
            }
            (i + 1).min(rest.len())
        };
        let negative = token::negative(bytes, at, before);
        let (length, make): (usize, fn(&'s str) -> Token<'s>) = match rest[0] {
            b'-' if negative.is_some() => (negative.unwrap_or(at) - at, Token::Literal),
            byte if byte.is_ascii_whitespace() => (0, Token::Sign),
            b'-' if rest.starts_with(b"--") => {
                at += until(b"\n");
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at += until(b"*/");
                continue;
            }
            b'\'' => {
                let length = quoted(b'\'');
                let is_word = is_of_the_language(&rest[..length]);
                (length, if is_word { Token::Word } else { Token::Literal })
            }
            b'"' | b'`' => (quoted(rest[0]), Token::Word),
            // An element of a server's array: a name in brackets follows no name.
            b'[' if at > 0 && (is_word(bytes[at - 1]) || b")]".contains(&bytes[at - 1])) => (1, Token::Sign),
            b'[' => (until(b"]"), Token::Word),
            b'x' | b'X' if rest.get(1) == Some(&b'\'') => (1 + bytes_of_blob(&rest[1..]), Token::Literal),
            b'0'..=b'9' => (number(rest), Token::Literal),
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => (number(rest), Token::Literal),
            b'?' => (run(1, |b| b.is_ascii_digit()), Token::Parameter),
            b':' if rest.starts_with(b"::") => (2, Token::Sign),
            // A variable of the server's own.
            b'@' if rest.starts_with(b"@@") => (run(2, is_word), Token::Word),
            b':' | b'@' | b'$' | b'#' if rest.get(1).is_some_and(|byte| is_word(*byte)) => {
                (run(1, is_word), Token::Parameter)
            }
            byte if is_word(byte) => (run(0, is_word), Token::Word),
            _ => (1, Token::Sign),
        };
        if length == 0 {
            at += 1;
            continue;
        }
        let text = &sql[at..at + length];
        at += length;
        let is_column = position.is_column(text.as_bytes(), token::tokens(bytes, at));
        found.push(if is_column { Token::Word(text) } else { make(text) });
        (position, before) = (position.after(text.as_bytes()), text.as_bytes());
    }
    found
}

fn bytes_of_blob(rest: &[u8]) -> usize {
    rest[1..].iter().position(|&byte| byte == b'\'').map_or(rest.len(), |n| n + 2)
}

fn number(rest: &[u8]) -> usize {
    let mut i = 0;
    let is_hex = rest.starts_with(b"0x") || rest.starts_with(b"0X");
    while i < rest.len() {
        let is_sign = i > 0 && matches!(rest[i], b'+' | b'-') && matches!(rest[i - 1], b'e' | b'E') && !is_hex;
        if !(is_word(rest[i]) || rest[i] == b'.' || is_sign) {
            break;
        }
        i += 1;
    }
    i
}

/// The text of some of its tokens, with what is between them.
pub fn text_of<'s>(sql: &'s str, some: &[Token<'s>]) -> &'s str {
    let place = |token: &Token<'s>| {
        let (Token::Word(text) | Token::Literal(text) | Token::Parameter(text) | Token::Sign(text)) = token;
        let at = text.as_ptr() as usize - sql.as_ptr() as usize;
        at..at + text.len()
    };
    match (some.first(), some.last()) {
        (Some(first), Some(last)) => &sql[place(first).start..place(last).end],
        _ => "",
    }
}

/// The word at a place, in lower case; empty if there is none.
pub fn word<'t>(tokens: &'t [Token<'t>], at: usize) -> String {
    match tokens.get(at) {
        Some(Token::Word(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// Name and value of `PRAGMA name = value` or `PRAGMA name(value)`, in lower case. Empty texts for what is not there.
pub fn pragma(statement: &[Token]) -> Option<(String, String)> {
    if word(statement, 0) != "pragma" {
        return None;
    }
    let sign = |at: usize, signs: &[&str]| matches!(statement.get(at), Some(Token::Sign(sign)) if signs.contains(sign));
    let at = if sign(2, &["."]) { 3 } else { 1 };
    let text = |token: &Token| match token {
        Token::Word(text) | Token::Literal(text) | Token::Parameter(text) | Token::Sign(text) => text.to_lowercase(),
    };
    let value = statement.get(at + 2..).filter(|_| sign(at + 1, &["=", "("])).unwrap_or_default();
    let value: String = value.iter().filter(|token| **token != Token::Sign(")")).map(text).collect();
    Some((without_quotes(&word(statement, at)).to_string(), value.trim_matches(['\'', '"']).to_string()))
}

/// The places of the statements of a text among its tokens. The body of a trigger or procedure is a part of its CREATE.
pub fn statements(tokens: &[Token]) -> Vec<Range<usize>> {
    let (mut found, mut from, mut is_body) = (vec![], 0, false);
    for to in 0..=tokens.len() {
        if to < tokens.len() && tokens[to] != Token::Sign(";") {
            continue;
        }
        let part = &tokens[from..to];
        is_body = match is_body {
            true => !part.first().is_some_and(|token| token.is_word("end")),
            false => word(part, 0) == "create" && part.iter().any(|token| token.is_word("begin")),
        };
        if !is_body || to == tokens.len() {
            let begin = found.last().map_or(0, |last: &Range<usize>| last.end);
            let begin = (begin..to).find(|&at| tokens[at] != Token::Sign(";"));
            found.extend(begin.map(|begin| begin..to));
        }
        from = to + 1;
    }
    found
}

/// Settings in a text, also in a script, each with the busy timeout in it.
pub fn settings(sql: &str) -> Vec<(String, Option<i64>)> {
    let begins = |word: &str| sql.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word));
    // SQLite has no SET: such a statement is a server's setting, or with a dot the program's own.
    if begins("set ") && !sql.split('=').next().is_some_and(|name| name.contains('.')) {
        return vec![(sql.to_string(), None)];
    }
    // A long INSERT is not worth splitting.
    if !sql.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"pragma")) {
        return vec![];
    }
    let tokens = tokens(sql);
    let settings = statements(&tokens).into_iter().filter_map(|place| {
        let (name, value) = pragma(&tokens[place.clone()])?;
        let timeout_ms = (name == "busy_timeout").then(|| value.parse().ok()).flatten();
        Some((text_of(sql, &tokens[place]).to_string(), timeout_ms))
    });
    settings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_interpose::text::{Sink, room, write};

    #[test]
    fn numbers_of_columns_stay_and_other_numbers_after_them_do_not() {
        let of = |sql: &str| {
            let mut written = vec![0; room(sql.len())];
            let mut sink = Sink::new(&mut written);
            write(sql.as_bytes(), [1, 2], true, &mut sink);
            let length = sink.length;
            String::from_utf8(written[..length].to_vec()).expect("text")
        };
        for sql in [
            "SELECT a, b FROM t GROUP BY 2, lower(a), 12 ORDER BY 3 DESC, 2",
            "SELECT a, b FROM (SELECT b FROM t ORDER BY 2) order by 2 COLLATE nocase; SELECT 1",
            "SELECT a, b FROM t ORDER BY 2 COLLATE \"a b\" DESC, 3 NULLS LAST LIMIT 1",
            "INSERT INTO t SELECT a, b FROM u GROUP BY 2 ORDER BY 3 RETURNING id",
        ] {
            assert_eq!(of(sql), sql);
            assert!(!tokens(sql).iter().any(|token| matches!(token, Token::Literal(text) if *text != "1")), "{sql}");
        }
        assert_eq!(of("SELECT a FROM t ORDER BY 2 /* x */ -- y\n, 3"), "SELECT a FROM t ORDER BY 2 , 3");
        for sql in [
            "SELECT a FROM t WHERE \"order\" = 77",
            "SELECT a FROM t ORDER BY 2 LIMIT 77, 1",
            "SELECT a FROM t ORDER BY 77 + a",
            "SELECT a FROM t ORDER BY a = 77",
            "SELECT a FROM t ORDER BY coalesce(a, 77), 2",
            "SELECT a FROM t GROUP BY 2 HAVING a IN (77, 77)",
            "SELECT a FROM t ORDER BY 77 -1",
            "SELECT a FROM t ORDER BY 1, 99977",
            "SELECT a FROM t ORDER BY 77 /* , */ IS NULL",
            "SELECT a FROM t ORDER BY 2, 77 -- ,\n IN (a)",
            "SELECT a FROM t GROUP BY 77 BETWEEN a AND b",
            "SELECT a FROM t ORDER BY 77 COLLATE \"a b\" = a",
            "INSERT INTO t SELECT a FROM u ORDER BY a RETURNING id, 77",
        ] {
            let numbers = of(sql);
            let mut numbers = numbers.split(|c: char| !c.is_ascii_digit());
            assert!(!numbers.any(|number| number.ends_with("77") && number.len() <= 5), "{}", of(sql));
            assert!(
                tokens(sql).iter().any(|token| matches!(token, Token::Literal(text) if text.contains("77"))),
                "{sql}"
            );
        }
    }
}
