//! Finds the placeholders of a statement, its first words and its effect, without parsing the statement: only strings,
//! quoted identifiers and comments are known. This is the only scanner of SQL; workers read none.

use contend_wire::script::Load;
use contend_wire::statement::{Effect, Placeholder, Statement};

/// A part of a statement; all parts in order are the statement again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text without a placeholder.
    Text(&'a str),
    /// `:name`.
    Named {
        name: &'a str,
        /// Whether it stands alone in `IN ( )`.
        in_list: bool,
    },
    /// Any other placeholder: `?`, `?1`, `@a`, `$a`, or a colon without a name.
    Foreign(&'a str),
}

/// The parts of `sql`.
pub fn scan(sql: &str) -> Vec<Piece<'_>> {
    let mut pieces = vec![];
    let mut text_start = 0;
    let mut at = 0;
    // Whether the last two tokens were `IN` and `(`.
    let (mut after_in, mut in_parens) = (false, false);
    while let Some((token, len)) = next_token(&sql[at..]) {
        let end = at + len;
        let lexeme = &sql[at..end];
        let piece = match token {
            Token::Space => None,
            Token::Named => Some(Piece::Named { name: &lexeme[1..], in_list: in_parens && closes(&sql[end..]) }),
            Token::Foreign => Some(Piece::Foreign(lexeme)),
            Token::Word | Token::Other => None,
        };
        if let Some(piece) = piece {
            if text_start < at {
                pieces.push(Piece::Text(&sql[text_start..at]));
            }
            pieces.push(piece);
            text_start = end;
        }
        if token != Token::Space {
            in_parens = after_in && lexeme == "(";
            after_in = token == Token::Word && lexeme.eq_ignore_ascii_case("in");
        }
        at = end;
    }
    if text_start < sql.len() {
        pieces.push(Piece::Text(&sql[text_start..]));
    }
    pieces
}

/// Whether a semicolon is followed by more than space and comments. Bodies of triggers have
/// semicolons of their own, so this is not asked of statements that create one.
pub fn has_second_statement(sql: &str) -> bool {
    let mut at = 0;
    let mut ended = false;
    while let Some((token, len)) = next_token(&sql[at..]) {
        match token {
            Token::Space => {}
            _ if ended => return true,
            _ => ended = &sql[at..at + len] == ";",
        }
        at += len;
    }
    false
}

/// Whether `word` occurs in `sql` as an identifier, quoted or not, in any case.
pub fn mentions(sql: &str, word: &str) -> bool {
    let mut at = 0;
    while let Some((_, len)) = next_token(&sql[at..]) {
        let lexeme = sql[at..at + len].trim_matches(|c| matches!(c, '"' | '`' | '[' | ']'));
        if lexeme.eq_ignore_ascii_case(word) {
            return true;
        }
        at += len;
    }
    false
}

/// Statements that change a session, a transaction or a whole server, by their first words. What such a statement sets
/// holds for everything that comes after it, and nothing reads it back.
const BEHIND: &[&[&str]] = &[
    &["abort"],
    &["alter", "database"],
    &["alter", "role"],
    &["alter", "system"],
    &["alter", "user"],
    &["attach"],
    &["begin"],
    &["commit"],
    &["detach"],
    &["discard"],
    &["end"],
    &["execute"],
    &["explain", "pragma"],
    &["explain", "query", "plan", "pragma"],
    &["pragma"],
    &["prepare"],
    &["reset"],
    &["rollback"],
    &["set"],
    &["start", "transaction"],
    &["use"],
    &["xa"],
];

/// What in `sql` changes a session or a transaction behind contend's back, as it is written there. Savepoints do not.
pub fn behind(sql: &str) -> Option<String> {
    // MariaDB carries out what stands in such a comment, and SQLite takes the mark at the beginning for a space.
    if let Some(comment) = ["/*!", "/*M!"].into_iter().find(|comment| sql.contains(comment)) {
        return Some(comment.to_string());
    }
    if mentions(sql, "set_config") {
        return Some("set_config".to_string());
    }
    let words = first_words(sql.trim_start_matches('\u{feff}'));
    let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let found = BEHIND.iter().find(|known| known.iter().enumerate().all(|(i, word)| is(i, word)))?;
    let noise = usize::from(is(1, "transaction") || is(1, "work"));
    let to_savepoint = is(0, "rollback") && is(1 + noise, "to");
    (!to_savepoint).then(|| words[..found.len()].join(" "))
}

/// The words that a statement begins with, up to anything else. MariaDB has one more way to write a comment.
fn first_words(sql: &str) -> Vec<&str> {
    let (mut words, mut at) = (vec![], 0);
    while let Some((token, len)) = next_token(&sql[at..]) {
        match token {
            Token::Space => {}
            Token::Word => words.push(&sql[at..at + len]),
            Token::Other if sql[at..].starts_with('#') => {
                at += sql[at..].find('\n').unwrap_or(sql.len() - at);
                continue;
            }
            _ => break,
        }
        at += len;
    }
    words
}

/// What `[` and `]` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brackets {
    /// They quote names, as in SQLite.
    Quote,
    /// They are characters like others, as on servers.
    Plain,
}

const CHANGING: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "REPLACE"];
const RETURNING: [&str; 8] = ["SELECT", "VALUES", "WITH", "PRAGMA", "EXPLAIN", "SHOW", "TABLE", "CALL"];

/// A statement with its effect and placeholders.
pub fn statement(sql: &str, brackets: Brackets) -> Statement {
    let words: Vec<String> = tokens(sql, brackets)
        .filter(|(token, _, _)| *token == Token::Word)
        .map(|(_, _, word)| word.to_ascii_uppercase())
        .collect();
    let first = words.first().map_or("", String::as_str);
    let has = |word: &str| words.iter().any(|found| found == word);
    let changes = CHANGING.contains(&first) || first == "WITH" && CHANGING[..3].iter().any(|word| has(word));
    let rows = if changes { has("RETURNING") } else { RETURNING.contains(&first) };
    let replaces = first == "REPLACE" || words.windows(2).any(|pair| pair[0] == "ON" && pair[1] == "DUPLICATE");
    let upserts = replaces.then(|| rows_of_values(sql, brackets));
    let effect = Effect { rows, changes, upserts };
    Statement { sql: sql.to_string(), effect, placeholders: placeholders(sql, brackets) }
}

/// A statement without placeholders that is carried out on its own.
pub fn asked(sql: &str) -> Statement {
    statement(sql, Brackets::Quote)
}

/// The statement that loads the rows of a table.
pub fn load(sql: &str, brackets: Brackets) -> Load {
    let placeholders = placeholders(sql, brackets);
    let mut depth = 0;
    let mut group = None;
    for (_, at, text) in tokens(sql, brackets) {
        match text {
            "(" if depth == 0 => (group, depth) = (Some(at as u32), 1),
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
    }
    let group = group.filter(|at| placeholders.first().is_some_and(|first| *at < first.at));
    Load { sql: sql.to_string(), group, placeholders }
}

fn placeholders(sql: &str, brackets: Brackets) -> Vec<Placeholder> {
    let read = |(token, at, text): (Token, usize, &str)| {
        let number = text.get(1..).and_then(|digits| digits.parse().ok());
        let is_one = token == Token::Foreign && (text.starts_with('?') || number.is_some() && text.starts_with('$'));
        is_one.then_some(Placeholder { at: at as u32, number })
    };
    tokens(sql, brackets).filter_map(read).collect()
}

/// How many `(...)` follow `VALUES`, up to `ON`.
fn rows_of_values(sql: &str, brackets: Brackets) -> u32 {
    let (mut depth, mut rows, mut after_values) = (0, 0, false);
    for (token, _, text) in tokens(sql, brackets) {
        match text {
            "(" => {
                rows += u32::from(depth == 0 && after_values);
                depth += 1;
            }
            ")" => depth -= 1,
            _ if token == Token::Word && depth == 0 => {
                after_values = text.eq_ignore_ascii_case("values");
                if text.eq_ignore_ascii_case("on") && rows > 0 {
                    break;
                }
            }
            _ => {}
        }
    }
    rows
}

/// An identifier as it stands in SQL, quoted only if it must be.
pub fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// White space or a comment.
    Space,
    /// A keyword, an identifier or a number.
    Word,
    Named,
    Foreign,
    /// A string, a quoted identifier, an operator.
    Other,
}

/// The first token and its length in bytes; none at the end.
fn next_token(sql: &str) -> Option<(Token, usize)> {
    token(sql, Brackets::Quote)
}

/// All tokens but white space and comments, each with its first byte and its text.
fn tokens(sql: &str, brackets: Brackets) -> impl Iterator<Item = (Token, usize, &str)> {
    let mut at = 0;
    let next = move || {
        let (token, len) = token(&sql[at..], brackets)?;
        let found = (token, at, &sql[at..at + len]);
        at += len;
        Some(found)
    };
    std::iter::from_fn(next).filter(|(token, _, _)| *token != Token::Space)
}

fn token(sql: &str, brackets: Brackets) -> Option<(Token, usize)> {
    let mut chars = sql.chars();
    let first = chars.next()?;
    let second = chars.next();
    let until = |end: &str, from: usize| sql[from..].find(end).map_or(sql.len(), |i| from + i + end.len());
    Some(match (first, second) {
        ('-', Some('-')) => (Token::Space, until("\n", 2)),
        ('/', Some('*')) => (Token::Space, until("*/", 2)),
        ('\'' | '"' | '`', _) => (Token::Other, quote_end(sql, first)),
        ('[', _) if brackets == Brackets::Quote => (Token::Other, until("]", 1)),
        (':', Some(c)) if is_name_start(c) => (Token::Named, 1 + name_len(&sql[1..])),
        (':' | '?' | '@' | '$', _) => (Token::Foreign, 1 + name_len(&sql[1..])),
        (c, _) if c.is_whitespace() => (Token::Space, c.len_utf8()),
        (c, _) if c == '_' || c.is_alphanumeric() || !c.is_ascii() => (Token::Word, word_len(sql)),
        (c, _) => (Token::Other, c.len_utf8()),
    })
}

/// The end of a quoted token; a doubled quote is part of it.
fn quote_end(sql: &str, quote: char) -> usize {
    let bytes = sql.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == quote as u8 {
            if bytes.get(at + 1) != Some(&(quote as u8)) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    sql.len()
}

fn is_name_start(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic()
}

fn name_len(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// SQLite allows `$` inside identifiers.
fn word_len(text: &str) -> usize {
    text.find(|c: char| c.is_ascii() && c != '_' && c != '$' && !c.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// Whether the next token is a closing parenthesis.
fn closes(sql: &str) -> bool {
    let mut at = 0;
    while let Some((token, len)) = next_token(&sql[at..]) {
        if token != Token::Space {
            return &sql[at..at + len] == ")";
        }
        at += len;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(sql: &str) -> Vec<(&str, bool)> {
        scan(sql)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Named { name, in_list } => Some((name, in_list)),
                _ => None,
            })
            .collect()
    }

    fn joined(pieces: &[Piece<'_>]) -> String {
        pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Foreign(text) => (*text).to_string(),
                Piece::Named { name, .. } => format!(":{name}"),
            })
            .collect()
    }

    #[test]
    fn placeholders_are_found_and_nothing_else() {
        assert_eq!(names("SELECT :a, ':b', \":c\", `:d`, [:e] -- :f\n, /* :g */ :h"), [("a", false), ("h", false)]);
        assert_eq!(names("SELECT 'it''s :a', :b"), [("b", false)]);
        assert_eq!(names("SELECT 'open :a"), []);
        assert_eq!(names("SELECT /* open :a"), []);
        assert_eq!(names("SELECT a$b:c"), [("c", false)]);
    }

    #[test]
    fn lists_are_placeholders_alone_in_the_parentheses_of_in() {
        assert_eq!(
            names("WHERE a IN (:a) AND b in ( /* x */ :b ) AND c = (:c)"),
            [("a", true), ("b", true), ("c", false)]
        );
        assert_eq!(names("WHERE a IN (:a, :b)"), [("a", false), ("b", false)]);
        assert_eq!(names("WHERE a IN (:a + 1)"), [("a", false)]);
        assert_eq!(names("WHERE min(:a)"), [("a", false)]);
    }

    #[test]
    fn foreign_placeholders_are_told_apart() {
        for sql in ["SELECT ?", "SELECT ?1", "SELECT @a", "SELECT $a", "SELECT :"] {
            assert!(scan(sql).iter().any(|p| matches!(p, Piece::Foreign(_))), "{sql}");
        }
    }

    #[test]
    fn second_statements_are_seen() {
        assert!(has_second_statement("SELECT 1; SELECT 2"));
        assert!(!has_second_statement("SELECT ';'; -- done\n"));
        assert!(!has_second_statement("SELECT 1"));
    }

    #[test]
    fn what_changes_a_session_or_a_transaction_is_seen() {
        for (sql, said) in [
            ("PRAGMA synchronous=off", "PRAGMA"),
            (" -- off\n/* x */ pragma main.synchronous(0)", "pragma"),
            ("\u{feff}PRAGMA synchronous", "PRAGMA"),
            ("EXPLAIN QUERY PLAN PRAGMA synchronous = 0", "EXPLAIN QUERY PLAN PRAGMA"),
            ("# off\nSET SESSION x = 1", "SET"),
            ("SET STATEMENT x = 1 FOR SELECT 1", "SET"),
            ("SELECT 1 /*!50000 , 2 */", "/*!"),
            ("SELECT set_config('synchronous_commit', 'off', false)", "set_config"),
            ("alter system set fsync = off", "alter system"),
            ("START TRANSACTION", "START TRANSACTION"),
            ("Begin IMMEDIATE", "Begin"),
            ("COMMIT", "COMMIT"),
            ("END", "END"),
            ("ROLLBACK", "ROLLBACK"),
            ("ROLLBACK WORK", "ROLLBACK"),
            ("attach 'x' AS y", "attach"),
            ("DETACH y", "DETACH"),
        ] {
            assert_eq!(behind(sql).as_deref(), Some(said), "{sql}");
        }
        for sql in [
            "SELECT 'PRAGMA x'",
            "UPDATE t SET a = 1",
            "(SELECT 1)",
            "INSERT INTO t VALUES (1) -- COMMIT",
            "SAVEPOINT a",
            "RELEASE a",
            "ROLLBACK TO a",
            "ROLLBACK TRANSACTION TO SAVEPOINT a",
            "ALTER TABLE t ADD COLUMN system",
            "WITH begin AS (SELECT 1) SELECT * FROM begin",
            "",
        ] {
            assert_eq!(behind(sql), None, "{sql}");
        }
    }

    /// Dialect, placeholders, whether it returns and changes rows, rows of values of an upsert, text.
    #[test]
    fn a_statement_is_described_for_workers() {
        let rows = [
            ("any", 3, true, false, 0, "SELECT a FROM t WHERE b = ? AND c IN (?, ?)"),
            ("any", 1, true, false, 0, "SELECT '?', \"?\", `?` FROM t WHERE a = ?"),
            ("any", 1, true, false, 0, "SELECT 'it''s ?', ?"),
            ("any", 1, true, false, 0, "SELECT 1 -- ? \n, ? /* ? */ FROM t"),
            ("sqlite", 1, true, false, 0, "SELECT [a?b], ? FROM t"),
            ("sqlite", 1, true, false, 0, "SELECT [a'b], ? FROM t"),
            ("server", 2, true, false, 0, "SELECT a[$1] FROM t WHERE b = $2"),
            ("server", 2, false, true, 0, "UPDATE t SET a = $2 WHERE b = $1 AND c = $1"),
            ("sqlite", 2, false, true, 1, "REPLACE INTO t VALUES (?1, ?2, ?1)"),
            ("any", 1, true, false, 0, "SELECT 'C:\\', ?"),
            ("any", 1, false, true, 0, "INSERT INTO t VALUES ('C:\\', ?)"),
            ("any", 1, false, true, 0, "INSERT INTO t VALUES (?, 'RETURNING')"),
            ("any", 0, true, true, 0, "INSERT INTO t VALUES (1) RETURNING id"),
            ("any", 0, true, false, 0, "WITH n AS (SELECT 1) SELECT * FROM n"),
            ("any", 1, true, false, 0, "WITH n AS (SELECT replace(a, 'b', ?) FROM t) SELECT * FROM n"),
            ("any", 0, false, true, 0, "WITH n(i) AS (SELECT 1) INSERT INTO t SELECT i FROM n"),
            ("any", 1, true, true, 0, "WITH n(i) AS (SELECT 1) UPDATE t SET a = ? RETURNING a"),
            ("any", 0, false, true, 0, "delete from t"),
            ("sqlite", 0, true, false, 0, "  PRAGMA journal_mode"),
            ("any", 0, true, false, 0, "VALUES (1), (2)"),
            ("any", 0, false, false, 0, "CREATE TABLE t (returning_ INTEGER)"),
            ("any", 0, false, false, 0, "BEGIN IMMEDIATE"),
            (
                "server",
                2,
                false,
                true,
                1,
                "INSERT INTO t (a, b) VALUES (?, f(?)) ON DUPLICATE KEY UPDATE b = VALUES(b)",
            ),
            (
                "server",
                0,
                false,
                true,
                3,
                "INSERT INTO t VALUES (1, (2)), (3, 4),(5, 6) ON DUPLICATE KEY UPDATE a = (7)",
            ),
            ("server", 1, false, true, 1, "REPLACE INTO t (a) VALUES (?)"),
            ("any", 2, false, true, 0, "INSERT INTO t (a) VALUES (?), (?)"),
            ("server", 0, false, true, 0, "INSERT INTO t SELECT (a) FROM u ON DUPLICATE KEY UPDATE a = 1"),
            ("any", 1, true, false, 0, "SELECT é, ? FROM t"),
        ];
        for (dialect, arguments, returns, changes, upserts, sql) in rows {
            for (name, brackets) in [("sqlite", Brackets::Quote), ("server", Brackets::Plain)] {
                if dialect == "any" || dialect == name {
                    let found = statement(sql, brackets);
                    let effect = Effect { rows: returns, changes, upserts: found.effect.upserts };
                    assert_eq!((found.arguments(), found.effect), (arguments, effect), "{name}: {sql}");
                    assert_eq!(found.effect.upserts.unwrap_or(0), upserts, "{name}: {sql}");
                }
            }
        }
    }

    #[test]
    fn placeholders_and_the_row_of_a_load_have_places() {
        let numbered = statement("SELECT é, $2 + $1", Brackets::Plain).placeholders;
        assert_eq!(numbered, [Placeholder { at: 11, number: Some(2) }, Placeholder { at: 16, number: Some(1) }]);
        for (sql, cut) in [
            ("INSERT INTO t (a, b) VALUES (f(?), ?)", Some(("INSERT INTO t (a, b) VALUES ", "(f(?), ?)"))),
            ("INSERT INTO t VALUES (?)", Some(("INSERT INTO t VALUES ", "(?)"))),
            ("COPY t (a, b) FROM STDIN", None),
        ] {
            let load = load(sql, Brackets::Plain);
            assert_eq!(load.cut().map(|(opening, group, _)| (opening, group)), cut, "{sql}");
            let places = load.cut().map_or(vec![], |(_, _, places)| places);
            assert!(cut.is_none_or(|(_, group)| places.iter().all(|p| group[p.at as usize..].starts_with('?'))));
        }
    }

    #[test]
    fn names_are_found_and_quoted() {
        assert!(mentions("CREATE TABLE \"Posts\" (a)", "posts") && mentions("create table posts(a)", "posts"));
        assert!(!mentions("CREATE TABLE wp_posts (a)", "posts"));
        assert_eq!((quoted("a_1"), quoted("GP Post")), ("a_1".to_string(), "\"GP Post\"".to_string()));
    }

    proptest! {
        #[test]
        fn any_text_is_scanned_into_itself(sql in any::<String>()) {
            prop_assert_eq!(joined(&scan(&sql)), sql);
        }

        #[test]
        fn sql_like_text_is_scanned_into_itself(sql in "[-:?@$'\"`\\[\\]()/*a-cIN1é \n;]{0,60}") {
            prop_assert_eq!(joined(&scan(&sql)), sql.clone());
            has_second_statement(&sql);
            behind(&sql);
        }
    }
}
