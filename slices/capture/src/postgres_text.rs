//! Texts of PostgreSQL's statements as they are stored: without comments, with stand-ins for literals if values are
//! hashed, and with all strings in single quotes, so that [`crate::sql`] reads them.

use crate::token::{end_of, is_word, number, quoted, stand_for};
use contend_interpose::position::Position;
use contend_interpose::token::{is_of_the_language, negative};

/// A literal, as SQL writes it.
enum Literal {
    /// `'...'` without backslashes, `E'...'`, or the text between dollars.
    Text(Vec<u8>),
    /// `E'...'` with other escapes than of quotes, `U&'...'`.
    Escaped(Vec<u8>),
    /// Numbers and bits.
    Other,
}

/// The text to store. `has_backslashes`: plain strings have escapes (`standard_conforming_strings = off`). Passwords
/// of roles and servers become stand-ins even if `is_full`.
pub fn written(sql: &[u8], has_backslashes: bool, key: [u64; 2], is_full: bool) -> Vec<u8> {
    let end = sql.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';').map_or(0, |last| last + 1);
    let sql = &sql[..end];
    let words = Words::of(sql, has_backslashes);
    let key = (if is_full { words.have_a_password() } else { !words.are_settings() }).then_some(key);
    let (mut out, mut at, mut gap) = (Vec::with_capacity(sql.len()), 0, false);
    let (mut place, mut position, mut before) = (Place::Begin, Position::default(), &b""[..]);
    while at < sql.len() {
        let rest = &sql[at..];
        let blank = blank(rest);
        if blank > 0 {
            (at, gap) = (at + blank, true);
            continue;
        }
        if gap && !out.is_empty() {
            out.push(b' ');
        }
        gap = false;
        let (length, literal) = match negative(sql, at, before) {
            Some(end) => (end - at, Some(Literal::Other)),
            None => token(rest, has_backslashes),
        };
        let raw = &rest[..length];
        (at, before) = (at + length, raw);
        let is_value = literal.is_none() && place.is_value(raw);
        let is_column = position.is_column(raw, tokens(&sql[at..], has_backslashes));
        (place, position) = (place.after(raw), position.after(raw));
        match (literal, key) {
            (Some(Literal::Other), _) if is_column => out.extend_from_slice(raw),
            // No password is a number.
            (Some(Literal::Other), _) if is_full && raw.iter().all(|byte| b"-0123456789".contains(byte)) => {
                out.extend_from_slice(raw)
            }
            // The same text in quotes has the same stand-in.
            (None, Some(key)) if is_value => stand_for(&quoted(&plain(raw)), key, &mut out),
            (None, _) | (Some(Literal::Other), None) => out.extend_from_slice(raw),
            (Some(Literal::Text(inner)), None) => out.extend(quoted(&inner)),
            (Some(Literal::Escaped(raw)), None) => out.extend(raw),
            (Some(Literal::Text(inner)), Some(key)) => {
                let plain = quoted(&inner);
                if is_of_the_language(&plain) { out.extend(plain) } else { stand_for(&plain, key, &mut out) }
            }
            (Some(Literal::Escaped(raw)), Some(key)) => stand_for(&[b"'", &raw[..]].concat(), key, &mut out),
            (Some(Literal::Other), Some(key)) => stand_for(raw, key, &mut out),
        }
    }
    out
}

/// Place in a statement that may give a value to a setting of the program's own, one with a dot in its name. PostgreSQL takes
/// words there, too: `SET app.customer = eve`.
#[derive(Clone, Copy)]
enum Place {
    Begin,
    /// In ALTER or CREATE, which can end with SET.
    Defines,
    /// After SET; whether the name has a dot.
    Set(bool),
    /// Up to the end of the statement.
    Value,
    Elsewhere,
}

impl Place {
    /// The place after a token.
    fn after(self, token: &[u8]) -> Place {
        let is = |word: &[u8]| token.eq_ignore_ascii_case(word);
        match self {
            _ if token == b";" => Place::Begin,
            Place::Begin | Place::Defines if is(b"set") => Place::Set(false),
            Place::Begin if is(b"alter") || is(b"create") => Place::Defines,
            Place::Begin => Place::Elsewhere,
            Place::Set(true) if token == b"=" || is(b"to") => Place::Value,
            Place::Set(false) if token == b"=" || is(b"to") => Place::Elsewhere,
            Place::Set(has_dot) => Place::Set(has_dot || token.contains(&b'.')),
            other => other,
        }
    }

    /// Whether a token that is no literal is a value here.
    fn is_value(self, token: &[u8]) -> bool {
        matches!(self, Place::Value)
            && (is_word(token[0]) || token[0] == b'"')
            && !token.eq_ignore_ascii_case(b"default")
    }
}

/// A word as PostgreSQL reads it: in lower case, or without its quotes.
fn plain(word: &[u8]) -> Vec<u8> {
    match word {
        [b'"', inner @ .., b'"'] => inner.to_vec(),
        _ => word.to_ascii_lowercase(),
    }
}

/// The words of a statement that say what it is.
struct Words {
    /// In lower case, without those of its literals; names keep their dots.
    all: Vec<Vec<u8>>,
    is_script: bool,
}

impl Words {
    fn of(sql: &[u8], has_backslashes: bool) -> Words {
        let (mut words, mut at) = (Words { all: vec![], is_script: false }, 0);
        let mut is_joined = false;
        while at < sql.len() {
            let rest = &sql[at..];
            let length = match blank(rest) {
                0 => token(rest, has_backslashes).0,
                blank => {
                    at += blank;
                    is_joined = false;
                    continue;
                }
            };
            let raw = &rest[..length];
            words.is_script |= raw == b";";
            let is_part = is_word(raw[0]) || raw == b"." || raw[0] == b'"';
            match words.all.last_mut().filter(|_| is_joined && is_part) {
                Some(last) => last.extend(raw.to_ascii_lowercase()),
                None if is_part => words.all.push(raw.to_ascii_lowercase()),
                None => {}
            }
            (at, is_joined) = (at + length, is_part);
        }
        words
    }

    fn at(&self, place: usize) -> &[u8] {
        self.all.get(place).map_or(b"", Vec::as_slice)
    }

    /// Whether its literals are settings of the server's own and names, which are not replaced.
    fn are_settings(&self) -> bool {
        if self.is_script {
            return false;
        }
        match self.at(0) {
            // Settings with a dot are the program's: they may say who is served.
            b"set" => {
                let place = if matches!(self.at(1), b"local" | b"session") { 2 } else { 1 };
                !self.at(place).contains(&b'.') && !self.at(place + 1).starts_with(b".")
            }
            b"show" | b"reset" | b"begin" | b"start" | b"commit" | b"end" | b"abort" | b"rollback" | b"savepoint"
            | b"release" => self.at(1) != b"prepared",
            _ => false,
        }
    }

    /// Whether it may have the password of a role or of another server.
    fn have_a_password(&self) -> bool {
        const OF: [&[u8]; 5] = [b"password", b"mapping", b"server", b"subscription", b"connection"];
        const WITHOUT: [&[u8]; 12] = [
            b"table",
            b"column",
            b"index",
            b"unique",
            b"view",
            b"materialized",
            b"temp",
            b"temporary",
            b"unlogged",
            b"sequence",
            b"type",
            b"schema",
        ];
        let may_have = |at: usize| {
            let of = if self.at(at + 1) == b"or" { at + 3 } else { at + 1 };
            matches!(self.at(at), b"create" | b"alter") && !WITHOUT.contains(&self.at(of))
        };
        self.all.iter().any(|word| OF.contains(&word.as_slice())) && (0..self.all.len()).any(may_have)
    }
}

/// The tokens of a statement.
fn tokens(mut rest: &[u8], has_backslashes: bool) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        while let length @ 1.. = blank(rest) {
            rest = &rest[length..];
        }
        let length = (!rest.is_empty()).then(|| token(rest, has_backslashes).0)?;
        rest.split_off(..length)
    })
}

/// Length of white space or a comment at the beginning. Comments nest.
fn blank(rest: &[u8]) -> usize {
    match rest {
        [byte, ..] if byte.is_ascii_whitespace() => 1,
        [b'-', b'-', ..] => memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1),
        [b'/', b'*', ..] => {
            let (mut depth, mut at) = (1, 2);
            while depth > 0 && at < rest.len() {
                match &rest[at..] {
                    [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
                    [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
                    _ => at += 1,
                }
            }
            at
        }
        _ => 0,
    }
}

/// Length of the first token, and the literal that it is.
fn token(rest: &[u8], has_backslashes: bool) -> (usize, Option<Literal>) {
    match rest {
        [b'\'', ..] => string(rest, 1, has_backslashes),
        [b'e' | b'E', b'\'', ..] => string(rest, 2, true),
        [b'n' | b'N', b'\'', ..] => string(rest, 2, has_backslashes),
        [b'b' | b'B' | b'x' | b'X', b'\'', ..] => (string(rest, 2, false).0, Some(Literal::Other)),
        [b'u' | b'U', b'&', b'\'', ..] => {
            let length = string(rest, 3, false).0;
            (length, Some(Literal::Escaped(rest[..length].to_vec())))
        }
        [b'u' | b'U', b'&', b'"', ..] => (2 + end_of(&rest[2..], b'"', false), None),
        [b'"', ..] => (end_of(rest, b'"', false), None),
        [b'$', ..] => dollars(rest),
        [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => (number(rest), Some(Literal::Other)),
        [byte, ..] if is_word(*byte) => {
            (rest.iter().take_while(|byte| is_word(**byte) || **byte == b'$').count(), None)
        }
        _ => (1, None),
    }
}

/// A string whose text begins after `before` bytes.
fn string(rest: &[u8], before: usize, has_backslashes: bool) -> (usize, Option<Literal>) {
    let length = before - 1 + end_of(&rest[before - 1..], b'\'', has_backslashes);
    let raw = &rest[before..length];
    let raw = raw.strip_suffix(b"'").unwrap_or(raw);
    let (mut inner, mut at, mut is_escaped) = (vec![], 0, false);
    while at < raw.len() {
        let is_pair = match (raw[at], raw.get(at + 1)) {
            (b'\'', Some(b'\'')) => true,
            (b'\\', Some(b'\'' | b'\\')) => has_backslashes,
            _ => false,
        };
        is_escaped |= raw[at] == b'\\' && has_backslashes && !is_pair;
        at += usize::from(is_pair);
        inner.push(raw[at]);
        at += 1;
    }
    if !is_escaped {
        return (length, Some(Literal::Text(inner)));
    }
    // Only its quotes are written in another way.
    let doubled = with_doubled_quotes(raw);
    (length, Some(Literal::Escaped([b"E'", &doubled[..], b"'"].concat())))
}

/// With `''` for `\'`.
fn with_doubled_quotes(raw: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (vec![], 0);
    while at < raw.len() {
        let length = match &raw[at..] {
            [b'\\', b'\'', ..] => {
                out.extend_from_slice(b"''");
                2
            }
            [b'\\', byte, ..] => {
                out.extend_from_slice(&[b'\\', *byte]);
                2
            }
            other => {
                out.push(other[0]);
                1
            }
        };
        at += length;
    }
    out
}

/// `$$...$$`, `$tag$...$tag$`, or a parameter such as `$1`.
fn dollars(rest: &[u8]) -> (usize, Option<Literal>) {
    let tag = 1 + rest[1..].iter().take_while(|byte| is_word(**byte)).count();
    if rest.get(tag) != Some(&b'$') || rest[1].is_ascii_digit() {
        return (tag, None);
    }
    let (delimiter, text) = rest.split_at(tag + 1);
    let inner = memchr::memmem::find(text, delimiter).unwrap_or(text.len());
    let length = (delimiter.len() + inner + delimiter.len()).min(rest.len());
    (length, Some(Literal::Text(text[..inner].to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(sql: &str) -> String {
        String::from_utf8(written(sql.as_bytes(), false, [1, 2], false)).expect("text")
    }

    fn full(sql: &str, has_backslashes: bool) -> String {
        String::from_utf8(written(sql.as_bytes(), has_backslashes, [1, 2], true)).expect("text")
    }

    #[test]
    fn numbers_of_columns_stay() {
        let sql = "SELECT a, count(*) FROM t GROUP BY 2 ORDER BY 2 DESC NULLS LAST, 1";
        assert_eq!(hashed(sql), sql);
        for sql in [
            "SELECT a FROM t ORDER BY 2 FETCH FIRST 77 ROWS ONLY",
            "INSERT INTO t SELECT * FROM u ORDER BY 2 RETURNING id, 77",
            "SELECT a FROM t ORDER BY 77 /* /* a */ DESC */ IS NULL",
            "SELECT a FROM t ORDER BY 77 BETWEEN a AND b",
        ] {
            assert!(!hashed(sql).contains("77"), "{sql}: {}", hashed(sql));
        }
    }

    #[test]
    fn no_literal_survives_in_any_of_its_forms() {
        for sql in [
            "SELECT 'secret', E'it\\'s secret', e'\\\\', 'secret', $$it's secret$$, $a$ $$ secret $a$",
            "SELECT U&'secret' UESCAPE '!', N'secret', ARRAY['secret', 4711], a[4711], x'5ec4e7', B'1010110'",
            "SELECT /* secret /* a */ secret */ 1 -- secret\n, 4711, 0x5ec4e7, .4711, 4711e3, 4_711, a[1:4711]",
            "SET app.customer = 'secret'",
            "SET LOCAL \"app\".\"customer\" = 'secret'",
            "SET app /**/ . customer = 'secret'",
            "SET app.customer = secret",
            "set session app.customer to \"secret\", default, Secret",
            "BEGIN; SET LOCAL \"app.customer\" = secret; COMMIT",
            "ALTER ROLE a SET app.customer TO secret",
            "BEGIN; SET x = 'secret'; COMMIT",
            "DO $$ BEGIN PERFORM 'secret'; END $$",
            "SELECT data ? 'secret', data #> '{secret}', @4711, #4711, a::text || 'secret'",
            "SELECT 'secret",
            "SELECT $$secret",
            "SELECT E'\\",
            "PREPARE TRANSACTION 'secret'",
        ] {
            let stored = hashed(sql);
            for value in ["secret", "4711", "5ec4e7", "4_711", "1010110"] {
                assert!(!stored.to_lowercase().contains(value), "{value}: {stored}");
            }
            for end in 0..sql.len() {
                hashed(&sql[..end]);
            }
        }
        let stored = hashed("SELECT 'a', E'a', $$a$$, $1::int, 0, 1, \"b 'c'\", t$1 FROM u&\"d\";  ");
        let all: Vec<&str> = stored.matches("'#").collect();
        assert_eq!(all.len(), 3, "{stored}");
        let one = &stored[stored.find("'#").expect("a stand-in")..][..19];
        assert_eq!(stored.matches(one).count(), 3, "equal values stay equal: {stored}");
        assert!(stored.ends_with(", $1::int, 0, 1, \"b 'c'\", t$1 FROM u&\"d\""), "{stored}");
    }

    #[test]
    fn the_text_of_a_full_capture_does_the_same() {
        assert_eq!(
            full("SELECT $$it's$$, E'it\\'s', E'a\\nb\\'c' -- x", false),
            "SELECT 'it''s', 'it''s', E'a\\nb''c'"
        );
        assert_eq!(full("SELECT 'C:\\dir'", false), "SELECT 'C:\\dir'");
        assert_eq!(full("SELECT 'a\\\\b', 'a\\tb'", true), "SELECT 'a\\b', E'a\\tb'");
        assert_eq!(full("SELECT U&'d\\0061t'", false), "SELECT U&'d\\0061t'");
    }

    #[test]
    fn a_password_is_in_no_text() {
        for sql in [
            "CREATE ROLE eve LOGIN PASSWORD 'secret'",
            "alter user eve with encrypted password $$secret$$",
            "CREATE USER MAPPING FOR eve SERVER s OPTIONS (password 'secret')",
            "CREATE SUBSCRIPTION s CONNECTION 'host=h password=secret' PUBLICATION p",
        ] {
            assert!(!full(sql, false).contains("secret") && !hashed(sql).contains("secret"), "{sql}");
        }
        for sql in [
            "CREATE TABLE users (id int DEFAULT 7, password varchar(255) DEFAULT 'none')",
            "CREATE OR REPLACE VIEW server AS SELECT 5 AS n, 'a' AS connection",
            "ALTER TABLE subscription ALTER COLUMN price TYPE numeric(10,2)",
        ] {
            assert_eq!(full(sql, false), sql, "it has no password");
        }
        for limit in ["LIMIT 5", "LIMIT -1"] {
            assert!(full(&format!("CREATE ROLE eve CONNECTION {limit} PASSWORD 'secret'"), false).contains(limit));
        }
    }

    #[test]
    fn settings_stay() {
        for sql in [
            "SET search_path TO 'a', b",
            "SET statement_timeout = 5000",
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "SET app.customer TO DEFAULT",
            "UPDATE t SET a.b = c",
        ] {
            assert_eq!(hashed(sql), sql);
        }
        assert_eq!(hashed("SET app.customer = Eve"), hashed("SET app.customer = 'eve'"));
        let negative = hashed("UPDATE t SET a = a + -4711");
        assert_eq!(negative, hashed("UPDATE t SET a = a + - 4711"));
        assert!(
            !negative.contains('-') && hashed("SELECT a -4711").contains(" -"),
            "the sign of a value or an operator: {negative}"
        );
    }
}
