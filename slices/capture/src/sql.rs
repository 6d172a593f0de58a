//! Shapes of statements: texts that differ only in their values are the same statement.

pub use crate::statement::{Token, tokens, without_quotes};
use crate::statement::{is_word, statements, word};
use crate::trace::{Call, Value};
use contend_interpose::token::is_of_the_language;
use std::ops::Range;
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

/// The shape of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Its text with `?` for literals and parameters, and `?, ...` for lists of them.
    pub text: String,
    /// Of a script: what weighs most in it.
    pub does: Does,
    /// What each statement of it does: a script has several.
    pub parts: Vec<Does>,
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
    let statements = statements(&tokens);
    let all: Vec<Does> = statements.iter().map(|place| does(&tokens[place.clone()])).collect();
    let does = weightiest(&all);
    let keep = keeps_literals(&tokens, does) || does == Does::Schema;
    let made_up = all_made_up(&tokens);
    let mut parts: Vec<&str> = vec![];
    for (at, token) in tokens.iter().enumerate() {
        let part = match token {
            Token::Literal(_) | Token::Parameter(_) if !keep => "?",
            _ if made_up.contains(&at) => "?",
            Token::Word(text) | Token::Sign(text) | Token::Literal(text) | Token::Parameter(text) => text,
        };
        // Lists of different lengths have the same shape.
        match part {
            "?" if parts.ends_with(&["?", ","]) => parts.push("..."),
            "?" if parts.ends_with(&["...", ","]) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Shape { text: joined(&parts), does, parts: all, tables: tables(&tokens) }
}

/// Whether literals of a statement say what it does. A server's SET may be in every transaction, with other values.
fn keeps_literals(tokens: &[Token], does: Does) -> bool {
    matches!(does, Does::Pragma | Does::Begin(_) | Does::Savepoint) && word(tokens, 0) != "set"
}

/// Longest statement for people, in bytes; a longer one is cut.
const WRITTEN_MOST: usize = 1_000;

/// A statement as its program wrote it, so that it can be found in the source: on one line, without comments, with `...` for
/// literals and for names that the program made up.
pub fn as_written(sql: &str) -> String {
    let (tokens, does) = (tokens(sql), shape(sql).does);
    let (keep, made_up) = (keeps_literals(&tokens, does), all_made_up(&tokens));
    let (mut out, mut end) = (String::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        let (Token::Word(text) | Token::Sign(text) | Token::Literal(text) | Token::Parameter(text)) = token;
        let from = text.as_ptr().addr() - sql.as_ptr().addr();
        if out.len() > WRITTEN_MOST {
            return out + "...";
        }
        if at > 0 && from > end {
            out.push(' ');
        }
        let is_hidden = made_up.contains(&at) || !keep && matches!(token, Token::Literal(_));
        out += if is_hidden { "..." } else { text };
        end = from + text.len();
    }
    out
}

/// A text with `?` for all literals other than those that never have a stand-in.
pub fn without_stand_ins(sql: &str) -> String {
    let tokens = tokens(sql);
    let parts = tokens.iter().map(|token| match token {
        Token::Literal(text) if !matches!(*text, "0" | "1") && !is_of_the_language(text.as_bytes()) => "?",
        Token::Word(text) | Token::Sign(text) | Token::Literal(text) | Token::Parameter(text) => text,
    });
    joined(&parts.collect::<Vec<_>>())
}

/// What weighs most in a script.
fn weightiest(parts: &[Does]) -> Does {
    const ORDER: [Does; 5] =
        [Does::Write, Does::Schema, Does::Begin(Begin::Exclusive), Does::Begin(Begin::Immediate), Does::Read];
    let weighs = |does: &Does| ORDER.iter().position(|other| other == does).unwrap_or(ORDER.len());
    parts.iter().min_by_key(|does| weighs(does)).copied().unwrap_or(Does::Other)
}

/// The places of such names in all statements of a text.
fn all_made_up(tokens: &[Token]) -> Vec<usize> {
    let of = |place: Range<usize>| Some(place.start + made_up(&tokens[place])?);
    statements(tokens).into_iter().filter_map(of).collect()
}

/// The place of a name that says nothing about the work: of a savepoint, or of a cursor or prepared statement that a program
/// has made up with a digit, such as `c_17`.
fn made_up(statement: &[Token]) -> Option<usize> {
    let is_to = || statement.iter().any(|token| token.is_word("to"));
    let verb = word(statement, 0);
    let at = match verb.as_str() {
        "savepoint" | "declare" | "prepare" | "execute" => 1,
        "release" | "deallocate" | "close" | "fetch" | "move" => statement.len() - 1,
        "rollback" if is_to() => statement.len() - 1,
        _ => return None,
    };
    let is_savepoint = matches!(verb.as_str(), "savepoint" | "release" | "rollback");
    let is_name = |name: &str| is_savepoint || name.bytes().any(|byte| byte.is_ascii_digit());
    matches!(statement.get(at)?, Token::Word(name) | Token::Literal(name) if is_name(name)).then_some(at)
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

/// What a single statement does.
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
        "with" => does_with(tokens),
        "explain" => does_explained(tokens),
        "create" | "drop" | "alter" | "reindex" | "analyze" | "vacuum" | "truncate" | "comment" | "grant"
        | "revoke" => Does::Schema,
        // (SELECT ...) UNION (SELECT ...), of a server.
        "" if tokens.first() == Some(&Token::Sign("(")) => does(&tokens[1..]),
        _ => Does::Other,
    }
}

/// What a statement that begins with WITH does. A query in it can write, too (PostgreSQL).
fn does_with(tokens: &[Token]) -> Does {
    const WRITES: [&str; 5] = ["insert", "update", "delete", "replace", "merge"];
    let (mut depth, mut is_first) = (0, false);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth -= 1,
            Token::Word(_) if depth == 0 || is_first => {
                let word = word(tokens, at);
                // A column or table may have the name of a function: `replace (...)`.
                let is_name = tokens.get(at + 1).is_some_and(|next| matches!(next, Token::Sign("(" | "," | ")" | ".")));
                if WRITES.contains(&word.as_str()) && !is_name {
                    return Does::Write;
                }
                if depth == 0 && matches!(word.as_str(), "select" | "values") {
                    return Does::Read;
                }
            }
            _ => {}
        }
        is_first = *token == Token::Sign("(");
    }
    Does::Read
}

/// EXPLAIN executes its statement with ANALYZE only.
fn does_explained(tokens: &[Token]) -> Does {
    const BEGIN: [&str; 8] = ["select", "insert", "update", "delete", "merge", "with", "values", "execute"];
    let begin = (1..tokens.len()).find(|&at| BEGIN.contains(&word(tokens, at).as_str()));
    let executes = |begin: &usize| tokens[..*begin].iter().any(|token| token.is_word("analyze"));
    begin.filter(executes).map_or(Does::Read, |begin| does(&tokens[begin..]))
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
        b'-' => {
            let digits = text[1..].trim_start();
            match (format!("-{digits}").parse(), literal(digits, false)) {
                (Ok(number), _) => Value::Integer(number),
                (_, Value::Integer(number)) => Value::Integer(number.wrapping_neg()),
                (_, Value::Real(number)) => Value::Real(-number),
                (_, other) => other,
            }
        }
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
        for [positive, negative] in [
            ["INSERT INTO t VALUES (5, 1.5)", "INSERT INTO t VALUES (-5, - 1.5)"],
            ["UPDATE t SET a = a + 5 WHERE b = .5", "UPDATE t SET a=a+-5 WHERE b=-.5"],
            ["SELECT 5 FROM t WHERE a IN (1, 2) LIMIT 5", "SELECT -5 FROM t WHERE a IN (1, -2, -3) LIMIT -1"],
            ["SELECT a - 5, (b) - 5, ? - 5 FROM t", "SELECT a -17, (b)-17, ?-17 FROM t"],
        ] {
            assert_eq!(shape(positive), shape(negative));
        }
        let insert = "INSERT INTO sale(a, b, c) VALUES (?, ..., datetime('now'))";
        assert_eq!(shape("INSERT INTO sale (a, b, c) VALUES (1, 2, datetime('now'))").text, insert);
        assert_eq!((one.does, one.tables), (Does::Read, vec!["t".to_string()]));
        assert_eq!(shape("INSERT OR IGNORE INTO main.\"my t\" VALUES (count(*), x'00')").tables, ["my t"]);
        assert_eq!(shape("update or rollback t set a = 1").tables, ["t"]);
    }

    #[test]
    fn a_statement_is_shown_as_the_program_wrote_it_without_its_values() {
        for (sql, expected) in [
            ("UPDATE b SET mailed=1  WHERE id=? -- why\n", "UPDATE b SET mailed=... WHERE id=?"),
            ("INSERT INTO s(a,b)\n  VALUES (:a,'x''y', 2)", "INSERT INTO s(a,b) VALUES (:a,..., ...)"),
            ("SELECT datetime('now'),x'00' /* c */ FROM t", "SELECT datetime('now'),... FROM t"),
            ("PRAGMA busy_timeout=5000", "PRAGMA busy_timeout=5000"),
            ("SAVEPOINT sp_17", "SAVEPOINT ..."),
            ("CREATE TABLE t (a TEXT DEFAULT 'é')", "CREATE TABLE t (a TEXT DEFAULT ...)"),
        ] {
            assert_eq!(as_written(sql), expected);
        }
    }

    #[test]
    fn names_that_a_program_makes_up_are_not_in_the_shape() {
        for (sql, expected) in [
            ("SAVEPOINT sp_17", "SAVEPOINT ?"),
            ("RELEASE SAVEPOINT \"sp_17\";", "RELEASE SAVEPOINT ?;"),
            ("ROLLBACK TO sp_17; RELEASE sp_17", "ROLLBACK TO ?; RELEASE ?"),
            ("SAVEPOINT before_mail", "SAVEPOINT ?"),
            ("DECLARE orders CURSOR FOR SELECT a FROM t", "DECLARE orders CURSOR FOR SELECT a FROM t"),
            ("DEALLOCATE pdo_stmt_00000001", "DEALLOCATE ?"),
            ("DECLARE c_17 CURSOR FOR SELECT a1 FROM t2", "DECLARE ? CURSOR FOR SELECT a1 FROM t2"),
            ("FETCH FORWARD 100 FROM c_17", "FETCH FORWARD ? FROM ?"),
        ] {
            assert_eq!(shape(sql).text, expected, "{sql}");
        }
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
            ("WITH a AS (SELECT 1) SELECT replace(a, 'x', 'y'), insert FROM a", Does::Read),
            ("WITH a (b) AS (DELETE FROM t RETURNING b) SELECT * FROM a", Does::Write),
            ("WITH a AS (SELECT 1 FOR UPDATE) REPLACE INTO t SELECT * FROM a", Does::Write),
            ("(SELECT 1) UNION (SELECT 2)", Does::Read),
            ("EXPLAIN QUERY PLAN DELETE FROM t", Does::Read),
            ("EXPLAIN (ANALYZE, BUFFERS) DELETE FROM t", Does::Write),
            ("BEGIN; UPDATE t SET a = 1; COMMIT", Does::Write),
            ("PRAGMA foreign_keys = 1; CREATE TABLE t (a);", Does::Schema),
            ("BEGIN; BEGIN IMMEDIATE", Does::Begin(Begin::Immediate)),
            ("COMMIT; SELECT 1", Does::Read),
        ] {
            assert_eq!(shape(sql).does, expected, "{sql}");
        }
        let trigger = "CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET a = 1; DELETE FROM s; END; COMMIT;";
        assert_eq!(shape(trigger).parts, [Does::Schema, Does::Commit]);
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
        assert_eq!((literal("- 0x10", false), literal("-1e3", false)), (Value::Integer(-16), Value::Real(-1000.0)));
        assert_eq!(literal("-9223372036854775808", false), Value::Integer(i64::MIN));
    }
}
