//! Texts of MariaDB's statements as they are stored: without comments, with stand-ins for literals if values are hashed,
//! and with all strings in single quotes and without escapes, so that [`crate::sql`] reads them.

use crate::token::{end_of, is_word, number, quoted, stand_for};
use contend_interpose::position::Position;
use contend_interpose::token::{is_of_the_language, negative};

/// How the session writes literals (`sql_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    pub has_backslashes: bool,
    /// Text in double quotes is a name.
    pub has_ansi_quotes: bool,
}

impl Mode {
    /// That of stored texts.
    pub const STORED: Mode = Mode { has_backslashes: false, has_ansi_quotes: true };

    /// Another number for each.
    pub fn number(self) -> u8 {
        u8::from(self.has_backslashes) + 2 * u8::from(self.has_ansi_quotes)
    }
}

/// A piece of a statement.
enum Piece<'s> {
    Blank,
    /// A string without its quotes and escapes.
    Text(Vec<u8>),
    /// Numbers and bits.
    Other(&'s [u8]),
    /// A word, a name in quotes, or one sign.
    Plain(&'s [u8]),
}

impl Piece<'_> {
    /// Its bytes; none for white space and strings.
    fn raw(&self) -> &[u8] {
        match self {
            Piece::Other(raw) | Piece::Plain(raw) => raw,
            Piece::Blank | Piece::Text(_) => b"",
        }
    }
}

/// The text to store. Passwords of users and servers become stand-ins even if `is_full`.
pub fn written(sql: &[u8], mode: Mode, key: [u64; 2], is_full: bool) -> Vec<u8> {
    let end = sql.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';').map_or(0, |last| last + 1);
    let pieces = pieces(&sql[..end], mode);
    let words = Words::of(&pieces);
    let lower = sql.to_ascii_lowercase();
    // Its later statements may have literals in another form than its first.
    if words.is_script && has(&lower, b"sql_mode") {
        return b"a_text_that_changes_sql_mode".to_vec();
    }
    if is_version_decided(&sql[..end]) {
        return b"a_text_whose_version_decides".to_vec();
    }
    let key = (if is_full { words.have_a_password(&lower) } else { !words.are_settings() }).then_some(key);
    let (mut out, mut gap, mut place) = (Vec::with_capacity(sql.len()), false, Place::Begin);
    let mut position = Position::default();
    for (at, piece) in pieces.iter().enumerate() {
        if matches!(piece, Piece::Blank) {
            gap = true;
            continue;
        }
        // Here `--` begins a comment only before white space.
        let is_minus = piece.raw().starts_with(b"-") && out.last() == Some(&b'-');
        if (gap && !out.is_empty()) || is_minus {
            out.push(b' ');
        }
        gap = false;
        let is_value = matches!(piece, Piece::Plain(raw) if place.is_value(raw));
        place = place.after(piece);
        let next = pieces[at + 1..].iter().filter(|piece| !matches!(piece, Piece::Blank)).map(Piece::raw);
        let is_column = position.is_column(piece.raw(), next);
        position = position.after(piece.raw());
        match (piece, key) {
            (Piece::Other(raw), _) if is_column => out.extend_from_slice(raw),
            // The same text in quotes has the same stand-in.
            (Piece::Plain(raw), Some(key)) if is_value => {
                stand_for(&quoted(raw), key, &mut out);
            }
            (Piece::Plain(raw), _) | (Piece::Other(raw), None) => out.extend_from_slice(raw),
            (Piece::Other(raw), Some(key)) => stand_for(raw, key, &mut out),
            (Piece::Text(inner), key) => match (quoted(inner), key) {
                (plain, Some(key)) if !is_of_the_language(&plain) => stand_for(&plain, key, &mut out),
                (plain, _) => out.extend(plain),
            },
            (Piece::Blank, _) => {}
        }
    }
    out
}

/// Place in a statement that may give a value to a variable, which can be a word: `SET app.customer = eve`.
#[derive(Clone, Copy)]
enum Place {
    Begin,
    Set,
    Value,
    Elsewhere,
}

impl Place {
    /// The place after a piece.
    fn after(self, piece: &Piece) -> Place {
        let token = if let Piece::Plain(raw) = piece { raw } else { &b""[..] };
        match self {
            _ if token == b";" => Place::Begin,
            Place::Begin if token.eq_ignore_ascii_case(b"set") => Place::Set,
            Place::Begin => Place::Elsewhere,
            Place::Set if token == b"=" => Place::Value,
            // The names of a statement: `SET STATEMENT ... FOR SELECT`, `SET @a = (SELECT ...)`.
            Place::Set if [&b"for"[..], b"select"].iter().any(|word| token.eq_ignore_ascii_case(word)) => {
                Place::Elsewhere
            }
            Place::Value => Place::Set,
            other => other,
        }
    }

    /// Whether a word or name is a value here.
    fn is_value(self, token: &[u8]) -> bool {
        const KEPT: [&[u8]; 6] = [b"default", b"null", b"on", b"off", b"true", b"false"];
        let is_name = is_word(token[0]) || matches!(token[0], b'"' | b'`');
        matches!(self, Place::Value) && is_name && !KEPT.iter().any(|kept| token.eq_ignore_ascii_case(kept))
    }
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The words and signs of a statement.
struct Words {
    /// In lower case; an empty one stands for a literal.
    all: Vec<Vec<u8>>,
    is_script: bool,
}

impl Words {
    fn of(pieces: &[Piece]) -> Words {
        let all = pieces.iter().filter_map(|piece| match piece {
            Piece::Blank => None,
            Piece::Plain(raw) => Some(raw.to_ascii_lowercase()),
            Piece::Text(_) | Piece::Other(_) => Some(vec![]),
        });
        let all: Vec<Vec<u8>> = all.collect();
        Words { is_script: all.iter().any(|word| word == b";"), all }
    }

    fn at(&self, place: usize) -> &[u8] {
        self.all.get(place).map_or(b"", Vec::as_slice)
    }

    /// Whether its literals are known settings of the server's own, which are not replaced.
    fn are_settings(&self) -> bool {
        const KNOWN: [&[u8]; 9] = [
            b"sql_",
            b"autocommit",
            b"time_zone",
            b"character_set",
            b"collation",
            b"timeout",
            b"isolation",
            b"_checks",
            b"max_statement_time",
        ];
        const WITHOUT_SIGN: [&[u8]; 4] = [b"names", b"character", b"charset", b"transaction"];
        if self.at(0) != b"set" || self.at(1) == b"statement" || self.is_script {
            return false;
        }
        let is_variable =
            |at: usize| self.at(at) == b"@" && self.at(at + 1) != b"@" && (at == 0 || self.at(at - 1) != b"@");
        if (0..self.all.len()).any(|at| self.at(at) == b"(" || is_variable(at)) {
            return false;
        }
        let mut given = (1..self.all.len()).filter(|at| self.at(*at) == b"=").peekable();
        if given.peek().is_none() {
            let place = if matches!(self.at(1), b"session" | b"global" | b"local") { 2 } else { 1 };
            return WITHOUT_SIGN.contains(&self.at(place));
        }
        given.all(|at| {
            let name = if self.at(at - 1) == b":" { at.saturating_sub(2) } else { at - 1 };
            // A dot follows the scope of a variable of the server's own, and otherwise a name that a program has chosen.
            let has_scope = [&b"session"[..], b"global", b"local"].contains(&self.at(name.saturating_sub(2)));
            let is_own = name > 1 && self.at(name - 1) == b"." && !has_scope;
            !is_own && KNOWN.iter().any(|known| has(self.at(name), known))
        })
    }

    /// Whether it may have the password of a user or of another server. `lower`: its text.
    fn have_a_password(&self, lower: &[u8]) -> bool {
        const OF: [&[u8]; 4] = [b"password", b"identified", b"server", b"connection"];
        const IN: [&[u8]; 9] =
            [b"create", b"alter", b"grant", b"set", b"change", b"start", b"prepare", b"execute", b"install"];
        const WITHOUT: [&[u8]; 8] =
            [b"table", b"index", b"unique", b"fulltext", b"spatial", b"view", b"temporary", b"sequence"];
        let of = if self.at(1) == b"or" { 3 } else { 1 };
        if !self.is_script && matches!(self.at(0), b"create" | b"alter") && WITHOUT.contains(&self.at(of)) {
            // A table of another server has its address, for some engines in a comment or an option.
            let is = |known: &[&[u8]]| self.all.iter().any(|word| known.contains(&word.as_slice()));
            let is_elsewhere = is(&[b"comment", b"option_list"]) && has(lower, b"password");
            return is(&[b"connection"]) || is_elsewhere || has(lower, b"password('") || has(lower, b"password(\"");
        }
        let may_have =
            if self.is_script { self.all.iter().any(|word| IN.contains(&&word[..])) } else { IN.contains(&self.at(0)) };
        let calls =
            |at: usize| self.at(at).ends_with(b"password") && self.at(at).len() <= 12 && self.at(at + 1) == b"(";
        (0..self.all.len()).any(calls) || may_have && OF.iter().any(|word| has(lower, word))
    }
}

fn pieces(sql: &[u8], mode: Mode) -> Vec<Piece<'_>> {
    let (mut found, mut at, mut is_conditional) = (vec![], 0, false);
    let mut before: &[u8] = b"";
    while at < sql.len() {
        let rest = &sql[at..];
        // The server executes what is in `/*! ... */`.
        let (length, piece) = if let Some(length) = conditional(rest) {
            is_conditional = true;
            (length, Piece::Blank)
        } else if is_conditional && rest.starts_with(b"*/") {
            is_conditional = false;
            (2, Piece::Blank)
        } else if let Some(end) = negative(sql, at, before) {
            (end - at, Piece::Other(&sql[at..end]))
        } else {
            piece(rest, mode)
        };
        if !matches!(piece, Piece::Blank) {
            before = &rest[..length];
        }
        at += length;
        found.push(piece);
    }
    found
}

/// Whether a comment such as `/*!50701 ... */` has a sign in it that begins a string or a comment: a server of another
/// version skips it to the first `*/`, and what follows begins elsewhere.
fn is_version_decided(sql: &[u8]) -> bool {
    let starts = memchr::memmem::find_iter(sql, b"/*").map(|at| &sql[at..]);
    let numbered = starts.filter(|rest| conditional(rest).is_some_and(|length| rest[length - 1].is_ascii_digit()));
    let inner = numbered.map(|rest| &rest[2..memchr::memmem::find(rest, b"*/").unwrap_or(rest.len()).max(2)]);
    inner.into_iter().any(|text| text.iter().any(|byte| b"'\"`#".contains(byte)) || has(text, b"--"))
}

/// Length of `/*!`, `/*!50701` or `/*M!100100`.
fn conditional(rest: &[u8]) -> Option<usize> {
    let marks: [&[u8]; 2] = [b"/*!", b"/*M!"];
    let mark = marks.into_iter().find(|mark| rest.starts_with(mark))?;
    Some(mark.len() + rest[mark.len()..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count())
}

fn piece(rest: &[u8], mode: Mode) -> (usize, Piece<'_>) {
    let line = || memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
    let plain = |length: usize| (length, Piece::Plain(&rest[..length]));
    let other = |length: usize| (length, Piece::Other(&rest[..length]));
    match rest {
        [byte, ..] if byte.is_ascii_whitespace() || *byte == 0x0b => (1, Piece::Blank),
        [b'#', ..] | [b'-', b'-'] => (line(), Piece::Blank),
        [b'-', b'-', after, ..] if after.is_ascii_whitespace() || after.is_ascii_control() => (line(), Piece::Blank),
        [b'/', b'*', ..] => {
            let length = memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |at| at + 4);
            (length, Piece::Blank)
        }
        [b'"', ..] if mode.has_ansi_quotes => plain(end_of(rest, b'"', false)),
        [b'\'' | b'"', ..] => string(rest, 1, mode),
        [b'n' | b'N', b'\'', ..] => string(rest, 2, mode),
        [b'b' | b'B' | b'x' | b'X', b'\'', ..] => other(1 + end_of(&rest[1..], b'\'', false)),
        [b'`', ..] => plain(end_of(rest, b'`', false)),
        [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => other(number(rest)),
        [byte, ..] if is_word(*byte) || *byte == b'$' => {
            plain(rest.iter().take_while(|byte| is_word(**byte) || **byte == b'$').count())
        }
        _ => plain(1),
    }
}

/// A string whose text begins after `before` bytes.
fn string(rest: &[u8], before: usize, mode: Mode) -> (usize, Piece<'_>) {
    let quote = rest[before - 1];
    let length = before - 1 + end_of(&rest[before - 1..], quote, mode.has_backslashes);
    let length = length.min(rest.len());
    let raw = &rest[before.min(length)..length];
    let raw = raw.strip_suffix(&[quote]).unwrap_or(raw);
    let (mut inner, mut at) = (Vec::with_capacity(raw.len()), 0);
    while at < raw.len() {
        at += match (raw[at], raw.get(at + 1)) {
            (b'\\', Some(after)) if mode.has_backslashes => {
                match after {
                    b'0' => inner.push(0),
                    b'b' => inner.push(8),
                    b'n' => inner.push(b'\n'),
                    b'r' => inner.push(b'\r'),
                    b't' => inner.push(b'\t'),
                    b'Z' => inner.push(26),
                    // Of LIKE: the backslash stays.
                    b'%' | b'_' => inner.extend([b'\\', *after]),
                    other => inner.push(*other),
                }
                2
            }
            (byte, after) => {
                inner.push(byte);
                if byte == quote && after == Some(&quote) { 2 } else { 1 }
            }
        };
    }
    (length, Piece::Text(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Mode = Mode { has_backslashes: true, has_ansi_quotes: false };

    fn hashed(sql: &str, mode: Mode) -> String {
        String::from_utf8(written(sql.as_bytes(), mode, [1, 2], false)).expect("text")
    }

    fn full(sql: &str, mode: Mode) -> String {
        String::from_utf8(written(sql.as_bytes(), mode, [1, 2], true)).expect("text")
    }

    #[test]
    fn no_literal_survives_in_any_of_its_forms() {
        for sql in [
            "SELECT 'secret', \"secret\", 'it\\'s secret', \"it\\\"s secret\", '\\\\', 'secret', \"a\"\"secret\"",
            "SELECT N'secret', _utf8mb4'secret', _binary \"secret\", x'5ec4e7', X'5ec4e7', 0x5ec4e7, b'1010110', 0b1010110",
            "SELECT 1 -- secret\n, 2 # secret\n, 4711 /* secret */, .4711, 4711e3, 5--4711",
            "SELECT /*! 'secret', */ /*!50001 4711, */ /*M!100100 \"secret\", */ 1 /* secret */",
            "SELECT 2 */* secret */ 3 /*!50001 + /* secret */ 4711 */",
            "SET @customer = 'secret'",
            "SET @@sql_mode = 'ANSI', @a := 'secret'",
            "SET sql_mode = (SELECT 'secret')",
            "SET STATEMENT max_statement_time=4711 FOR SELECT 'secret'",
            "SET app.customer = secret, @@app.customer := secret",
            "SET app.timeout = 'secret'",
            "SET @customer = secret",
            "SET @customer := `secret`; SET @customer = secret",
            "SET PASSWORD = 'secret'",
            "SET PASSWORD FOR 'a'@'b' = PASSWORD('secret')",
            "SET NAMES utf8mb4, @a = 'secret'",
            "SET x = 'secret'",
            "BEGIN; SET autocommit = 0; SELECT 'secret'",
            "SHOW TABLES LIKE 'secret'",
            "SELECT @'secret', @\"secret\"",
            "SELECT 'secret",
            "SELECT \"secret\\",
            "XA COMMIT 'secret'",
            "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT 'a\\', 'secret'",
        ] {
            for mode in [USUAL, Mode { has_backslashes: false, ..USUAL }] {
                // A text is read in the mode in which the server reads it.
                if !mode.has_backslashes && sql.contains('\\') && !sql.contains("sql_mode") {
                    continue;
                }
                let stored = hashed(sql, mode);
                for value in ["secret", "4711", "5ec4e7", "1010110"] {
                    assert!(!stored.contains(value), "{value}: {stored}");
                }
                for end in 0..sql.len() {
                    hashed(&sql[..end], mode);
                }
            }
        }
        let stored = hashed("SELECT 'a''b', \"a'b\", 'a\\'b', ?, 0, 1, `b 'c'`, t$1 FROM `d`;  ", USUAL);
        let one = &stored[stored.find("'#").expect("a stand-in")..][..19];
        assert_eq!(stored.matches(one).count(), 3, "equal values stay equal: {stored}");
        assert!(stored.ends_with(", ?, 0, 1, `b 'c'`, t$1 FROM `d`"), "{stored}");
    }

    #[test]
    fn the_mode_of_the_session_counts() {
        let ansi = Mode { has_ansi_quotes: true, ..USUAL };
        assert_eq!(hashed("SELECT \"a b\" FROM t", ansi), "SELECT \"a b\" FROM t");
        let plain = Mode { has_backslashes: false, ..USUAL };
        assert_eq!(full("SELECT 'C:\\', \"it's\"", plain), "SELECT 'C:\\', 'it''s'");
        assert_eq!(full("SELECT 'C:\\\\', \"it's\\n\", 'a\\%'", USUAL), "SELECT 'C:\\', 'it''s\n', 'a\\%'");
        assert_eq!(full("SELECT 5--1, 5 -- 1", USUAL), "SELECT 5- -1, 5");
        assert_eq!(hashed("SELECT a FROM t ORDER BY 2 # x\n, 3", USUAL), "SELECT a FROM t ORDER BY 2 , 3");
        for sql in [
            "SELECT a FROM t ORDER BY 2 LIMIT 77",
            "INSERT INTO t SELECT * FROM u ORDER BY 2 RETURNING id, 77",
            "SELECT a FROM t ORDER BY 77 # DESC\n IS NULL",
            "SELECT a FROM t GROUP BY 77 IN (a) WITH ROLLUP",
            "SELECT a FROM t ORDER BY 77 'limit'",
        ] {
            assert!(!hashed(sql, USUAL).contains("77"), "{sql}: {}", hashed(sql, USUAL));
        }
        let again = written(b"SELECT 'C:\\', 'it''s', \"n\"", Mode::STORED, [1, 2], false);
        let again = String::from_utf8(again).expect("text");
        assert!(again.ends_with(", \"n\"") && !again.contains("it") && again.matches("'#").count() == 2, "{again}");
    }

    #[test]
    fn a_password_is_in_no_text() {
        for sql in [
            "CREATE USER eve IDENTIFIED BY 'secret'",
            "alter user eve identified via mysql_native_password using PASSWORD('secret')",
            "GRANT ALL ON *.* TO eve@localhost IDENTIFIED BY \"secret\"",
            "SET PASSWORD FOR eve = PASSWORD('secret')",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'secret')",
            "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='secret'",
            "CREATE TABLE t (a int) ENGINE=FEDERATED CONNECTION='mysql://u:secret@h/d/t'",
            "BEGIN; CREATE USER eve IDENTIFIED BY 'secret'",
            "PREPARE s FROM 'CREATE USER eve IDENTIFIED BY ''secret'''",
            "CREATE TABLE t (a int) ENGINE=SPIDER COMMENT='user \"u\", password \"secret\"'",
            "CREATE VIEW v AS SELECT PASSWORD('secret')",
        ] {
            assert!(!full(sql, USUAL).contains("secret") && !hashed(sql, USUAL).contains("secret"), "{sql}");
        }
        for sql in [
            "UPDATE users SET password = 'value'",
            "CREATE TABLE wp_posts (id int(11), post_password varchar(255) DEFAULT 'none', KEY (post_password(10)))",
            "CREATE TABLE servers (id int(11))",
            "INSERT INTO reset_password(user_id) VALUES (5)",
        ] {
            assert_eq!(full(sql, USUAL), sql, "the program's own tables and columns");
        }
    }

    #[test]
    fn settings_stay() {
        for sql in [
            "SET NAMES 'utf8mb4' COLLATE utf8mb4_bin",
            "SET @@session.sql_mode = 'STRICT_ALL_TABLES', time_zone := '+02:00'",
            "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET innodb_lock_wait_timeout = 5",
            "SET AUTOCOMMIT=0",
        ] {
            assert_eq!(hashed(sql, USUAL), sql);
        }
    }

    #[test]
    fn a_comment_that_only_some_versions_skip_hides_no_literal() {
        for sql in ["SELECT /*!99999 don't */ 'secret'", "SELECT /*!99999 -- x */ 'a\nsecret'"] {
            let text = String::from_utf8(written(sql.as_bytes(), USUAL, [1, 2], false)).expect("a text");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
