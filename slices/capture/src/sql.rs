//! Shapes of statements: texts that differ only in their values are the same statement.

use crate::trace::{Call, Value};
use contend_interpose::text::is_of_the_language;
use std::rc::Rc;

/// Effect of a statement on transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Does {
    Begin(Begin),
    Commit,
    Rollback,
    Savepoint,
    Pragma,
    Read,
    Write,
    Schema,
    Other,
}

impl Does {
    /// Rows that a call of such a statement changed, if it writes, or else returned.
    pub fn rows_of(self, call: &Call) -> u64 {
        if self == Does::Write { call.changes.max(0).cast_unsigned() } else { call.rows }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Begin {
    Deferred,
    Immediate,
    Exclusive,
}

/// A token of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'s> {
    Word(&'s str),
    /// A literal with its text.
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

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Splits a statement into tokens, without white space and comments.
pub fn tokens<'s>(sql: &'s str) -> Vec<Token<'s>> {
    let (bytes, mut at, mut found) = (sql.as_bytes(), 0, vec![]);
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
        let (length, make): (usize, fn(&'s str) -> Token<'s>) = match rest[0] {
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
        found.push(make(&sql[at..at + length]));
        at += length;
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

/// The shape of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Its text with `?` for literals and parameters, and `?, ...` for lists of them.
    pub text: String,
    pub does: Does,
    /// Tables that it names, in lower case; the one that it writes comes first.
    pub tables: Vec<String>,
}

impl Shape {
    /// Whether it is a PRAGMA that only asks for something, such as `PRAGMA page_count`.
    pub fn only_asks(&self) -> bool {
        const TAKE_A_NAME: [&str; 6] =
            ["table_info", "table_xinfo", "index_list", "index_info", "index_xinfo", "foreign_key_list"];
        const ACT: [&str; 4] = ["wal_checkpoint", "optimize", "incremental_vacuum", "shrink_memory"];
        let name = self.text.split([' ', '(', '=', '.']).rfind(|word| !word.is_empty() && !word.ends_with(')'));
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let gives = self.text.contains(['=', '(']) && !TAKE_A_NAME.iter().any(|of| self.text.contains(of));
        self.does == Does::Pragma && !gives && !self.text.contains(';') && !ACT.contains(&name.as_str())
    }
}

/// The shape of a statement.
pub fn shape(sql: &str) -> Shape {
    let tokens = tokens(sql);
    let does = does(&tokens);
    // A server's SET may be in every transaction, with other values.
    let keep =
        matches!(does, Does::Pragma | Does::Begin(_) | Does::Savepoint | Does::Schema) && word(&tokens, 0) != "set";
    let mut parts: Vec<&str> = vec![];
    for token in &tokens {
        let part = match token {
            Token::Literal(_) | Token::Parameter(_) if !keep => "?",
            Token::Word(text) | Token::Sign(text) | Token::Literal(text) | Token::Parameter(text) => text,
        };
        // Lists of different lengths have the same shape.
        match part {
            "?" if parts.ends_with(&["?", ","]) => parts.push("..."),
            "?" if parts.ends_with(&["...", ","]) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Shape { text: joined(&parts), does, tables: tables(&tokens) }
}

/// Joins tokens with spaces where a person would write them.
pub fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        let before = i.checked_sub(1).map_or("", |before| parts[before]);
        let tight =
            matches!(*part, "," | ")" | "." | ";" | "::" | "[" | "]") || matches!(before, "(" | "." | "" | "::" | "[");
        let doubled = matches!((before, *part), ("<" | ">" | "!" | "=", "=") | ("<", ">") | ("|", "|") | ("-", ">"));
        let call = *part == "(" && before.bytes().all(is_word) && !is_keyword(before);
        if !(tight || doubled || call) {
            text.push(' ');
        }
        text += part;
    }
    text
}

/// Whether a statement's result depends on the time or number of its executions.
pub fn is_of_the_moment(sql: &str) -> bool {
    const WORDS: &[&str] = &["random", "randomblob", "current_timestamp", "current_time", "current_date", "'now'"];
    let moment = |token: &Token| matches!(token, Token::Word(word) if WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)));
    tokens(sql).iter().any(moment)
}

fn is_keyword(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "in", "values", "and", "or", "not", "where", "from", "join", "on", "as", "select", "into", "exists", "when",
        "then", "over", "by",
    ];
    WORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word)) || word.is_empty()
}

fn word<'t>(tokens: &'t [Token<'t>], at: usize) -> String {
    match tokens.get(at) {
        Some(Token::Word(word)) => word.to_ascii_lowercase(),
        _ => String::new(),
    }
}

fn does(tokens: &[Token]) -> Does {
    let begin = |at| match word(tokens, at).as_str() {
        "immediate" => Begin::Immediate,
        "exclusive" => Begin::Exclusive,
        _ => Begin::Deferred,
    };
    match word(tokens, 0).as_str() {
        "begin" => Does::Begin(begin(1)),
        "start" => Does::Begin(Begin::Deferred),
        "commit" | "end" => Does::Commit,
        "abort" => Does::Rollback,
        "rollback" if tokens.iter().any(|token| token.is_word("to")) => Does::Savepoint,
        "rollback" => Does::Rollback,
        "savepoint" | "release" => Does::Savepoint,
        "pragma" | "set" | "show" | "reset" => Does::Pragma,
        "select" | "values" | "table" | "declare" | "fetch" => Does::Read,
        "insert" | "update" | "delete" | "replace" | "merge" | "call" | "do" | "execute" | "load" => Does::Write,
        // COPY t FROM, but not COPY (SELECT ... FROM t) TO.
        "copy" => {
            let is_in = |token: &Token| token.is_word("stdin");
            if tokens.iter().any(is_in) { Does::Write } else { Does::Read }
        }
        "with" => {
            const WRITES: &[&str] = &["insert", "update", "delete", "replace"];
            let writes = tokens
                .iter()
                .any(|token| matches!(token, Token::Word(word) if WRITES.iter().any(|w| w.eq_ignore_ascii_case(word))));
            if writes { Does::Write } else { Does::Read }
        }
        "create" | "drop" | "alter" | "reindex" | "analyze" | "vacuum" | "truncate" | "comment" | "grant"
        | "revoke" => Does::Schema,
        _ => Does::Other,
    }
}

fn tables(tokens: &[Token]) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    for at in 0..tokens.len() {
        let is_before = matches!(word(tokens, at).as_str(), "from" | "join" | "into" | "update" | "table");
        if !is_before {
            continue;
        }
        let mut next = at + 1;
        while matches!(
            word(tokens, next).as_str(),
            "or" | "replace" | "ignore" | "abort" | "fail" | "rollback" | "if" | "not" | "exists"
        ) {
            next += 1;
        }
        // `main.t` is the same table as `t`.
        let name =
            if tokens.get(next + 1) == Some(&Token::Sign(".")) { word(tokens, next + 2) } else { word(tokens, next) };
        let name = name.trim_matches(['"', '`', '[', ']']).to_string();
        if !name.is_empty() && !matches!(name.as_str(), "select" | "set") && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The value of a literal, as if it had been bound. In a capture of hashes the literals are stand-ins.
pub fn literal(text: &str, is_hashed: bool) -> Value {
    let bytes = text.as_bytes();
    let plain = match bytes[0] {
        b'\'' => {
            let inner = text[1..].strip_suffix('\'').unwrap_or(&text[1..]);
            Value::Text(Rc::from(inner.replace("''", "'").into_bytes()))
        }
        b'x' | b'X' => Value::Blob(Rc::from(blob(&text[1..]))),
        _ if text.starts_with("0x") || text.starts_with("0X") => {
            Value::Integer(u64::from_str_radix(&text[2..], 16).unwrap_or(0).cast_signed())
        }
        _ => match text.parse::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Real(text.parse().unwrap_or(0.0)),
        },
    };
    match plain {
        // A language's own text, such as `now`, is no stand-in.
        Value::Text(text) if is_hashed => Value::Hash(3, 0, stood_for(&text).unwrap_or_else(|| hash(&text))),
        Value::Blob(bytes) if is_hashed => Value::Hash(4, 0, hash(&bytes)),
        Value::Integer(number) if is_hashed && !(0..=1).contains(&number) => Value::Hash(1, 8, number.cast_unsigned()),
        Value::Real(number) if is_hashed => Value::Hash(2, 8, number.to_bits()),
        plain => plain,
    }
}

/// The hash in a stand-in for a text.
fn stood_for(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"#").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn blob(quoted: &str) -> Vec<u8> {
    let digits: Vec<u8> = quoted.bytes().filter_map(|byte| char::from(byte).to_digit(16).map(|d| d as u8)).collect();
    digits.chunks_exact(2).map(|two| two[0] << 4 | two[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pragma_asks_unless_it_gives_a_value_or_acts() {
        let asks = ["PRAGMA page_count", "pragma main.user_version", "PRAGMA table_info(t)"];
        let does_more = [
            "PRAGMA synchronous = 1",
            "PRAGMA journal_mode(wal)",
            "PRAGMA wal_checkpoint",
            "PRAGMA main.optimize",
            "SELECT 1",
        ];
        assert!(asks.iter().all(|sql| shape(sql).only_asks()));
        assert!(!does_more.iter().any(|sql| shape(sql).only_asks()));
    }

    #[test]
    fn the_same_statement_with_other_values_has_one_shape() {
        let one = shape("SELECT a.b FROM t AS a WHERE x = 5 AND y IN ('a', 'b''c') -- why\n LIMIT ?");
        assert_eq!(one.text, "SELECT a.b FROM t AS a WHERE x = ? AND y IN (?, ...) LIMIT ?");
        assert_eq!(one, shape("SELECT a.b  FROM t AS a WHERE x=17 AND y IN (?1,?2,:n) LIMIT 3"));
        let insert = "INSERT INTO sale(a, b, c) VALUES (?, ..., datetime('now'))";
        assert_eq!(shape("INSERT INTO sale (a, b, c) VALUES (1, 2, datetime('now'))").text, insert);
        assert_eq!((one.does, one.tables), (Does::Read, vec!["t".to_string()]));
        assert_eq!(shape("INSERT OR IGNORE INTO main.\"my t\" VALUES (count(*), x'00')").tables, ["my t"]);
        assert_eq!(shape("update or rollback t set a = 1").tables, ["t"]);
    }

    #[test]
    fn texts_of_postgres_have_shapes_too() {
        let text =
            shape("SELECT a[$1], ARRAY[1, 2], x::text, $2::numeric(5, 2) FROM t WHERE d @> '{}' AND e #> $3").text;
        assert_eq!(text, "SELECT a[?], ARRAY[?, ...], x::text, ?::numeric(?, ...) FROM t WHERE d @ > ? AND e # > ?");
        assert_eq!(shape("SELECT t.[a b], [c] FROM [t]").text, "SELECT t.[a b], [c] FROM [t]", "SQLite's names");
    }

    #[test]
    fn what_statements_do() {
        for (sql, expected) in [
            ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", Does::Begin(Begin::Deferred)),
            ("ABORT", Does::Rollback),
            ("COPY t (a) FROM STDIN", Does::Write),
            ("COPY (SELECT a FROM t) TO STDOUT", Does::Read),
            ("MERGE INTO t USING s ON a = b WHEN MATCHED THEN DELETE", Does::Write),
            ("TRUNCATE t", Does::Schema),
            ("SET LOCAL lock_timeout = 5", Does::Pragma),
            ("BEGIN", Does::Begin(Begin::Deferred)),
            ("begin immediate transaction", Does::Begin(Begin::Immediate)),
            ("END", Does::Commit),
            ("ROLLBACK TO a", Does::Savepoint),
            ("ROLLBACK", Does::Rollback),
            ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", Does::Write),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Does::Read),
            ("/* x */ PRAGMA user_version", Does::Pragma),
        ] {
            assert_eq!(shape(sql).does, expected, "{sql}");
        }
        for broken in ["'", "x'", "[", "\"", "/*", "--", "1e", "", "?", "é", "x'é"] {
            shape(broken);
        }
    }

    #[test]
    fn literals_are_values() {
        assert_eq!(literal("'it''s'", false), Value::Text(Rc::from(*b"it's")));
        assert_eq!(literal("'é", false), Value::Text(Rc::from("é".as_bytes())), "unfinished");
        assert_eq!(literal("x'0aFF'", false), Value::Blob(Rc::from([10, 255])));
        assert_eq!((literal("0x10", false), literal("1e3", false)), (Value::Integer(16), Value::Real(1000.0)));
    }
}
