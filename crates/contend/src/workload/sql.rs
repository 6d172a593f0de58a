//! Finds the placeholders of a statement, its first words and its effect without parsing it: only strings, quoted
//! identifiers and comments are recognised. This is the only scanner of SQL; workers read no SQL.

use contend_wire::script::Load;
use contend_wire::statement::{Effect, Placeholder, Statement};

/// A part of a statement; all parts in order give the statement.
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

/// Whether a semicolon is followed by more than space and comments. Not for statements that create a trigger: its body
/// has semicolons.
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

/// Statements that change a session, a transaction or a whole server, by their first words. They affect everything
/// after them, and nothing reads the change back.
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

/// The words in `sql` that change a session or a transaction without contend's knowledge; savepoints do not.
pub fn behind(sql: &str) -> Option<String> {
    // MariaDB carries out the text of such a comment; for SQLite it is a plain comment.
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
    // A checkpoint is work on the database, not a setting.
    let checkpoint = is(0, "pragma") && is(1, "wal_checkpoint");
    (!to_savepoint && !checkpoint).then(|| words[..found.len()].join(" "))
}

/// The leading words of a statement. MariaDB has one more form of comment.
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

/// Meaning of `[` and `]`.
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

/// Words of SQLite's grammar that are no names without quotes.
const RESERVED: &str = " add all alter and as autoincrement between case check collate commit constraint create default \
    deferrable delete distinct drop else escape except exists foreign from group having in index insert intersect into is \
    isnull join limit not nothing notnull null on or order primary references returning select set table then to \
    transaction union unique update using values when where ";

/// An identifier for SQL, quoted only if necessary.
pub fn quoted(name: &str) -> String {
    let is_reserved = RESERVED.contains(&format!(" {} ", name.to_ascii_lowercase()));
    let plain = !is_reserved
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The statement with `?` for each string, blob and number, and without comments: `SELECT * FROM t WHERE a = 'x' -- y`
/// becomes `SELECT * FROM t WHERE a = ?`.
///
/// SQLite takes `"x"` for a string where no column has that name: it is kept if it could be a name.
pub fn without_values(sql: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(sql.len()), 0);
    while let Some((token, len)) = next_token(&sql[at..]) {
        let lexeme = &sql[at..at + len];
        let first = lexeme.chars().next().unwrap_or_default();
        let inside = lexeme.trim_matches('"');
        let is_value = match token {
            Token::Word => first.is_ascii_digit(),
            Token::Other => first == '\'' || (first == '"' && (inside.is_empty() || name_len(inside) < inside.len())),
            _ => false,
        };
        let is_comment = token == Token::Space && !first.is_whitespace();
        // The `x` of a blob and the parts of a number around its point belong to the value.
        let is_rest = is_value && out.ends_with(['?', '.']) && !sql[..at].ends_with(char::is_whitespace);
        if is_rest {
            out.truncate(out.trim_end_matches(['?', '.']).len());
        }
        if first == '\'' && sql[..at].ends_with(['x', 'X']) && !sql[..at - 1].ends_with(|c: char| c.is_alphanumeric()) {
            out.pop();
        }
        out.push_str(if is_value {
            "?"
        } else if is_comment {
            " "
        } else {
            lexeme
        });
        at += len;
    }
    out.trim_end().to_string()
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

/// The first token and its length in bytes; `None` at the end.
fn next_token(sql: &str) -> Option<(Token, usize)> {
    token(sql, Brackets::Quote)
}

/// All tokens except white space and comments, each with its position in bytes and its text.
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

/// The texts of all tokens but white space and comments.
pub fn words_and_signs(sql: &str, brackets: Brackets) -> Vec<&str> {
    tokens(sql, brackets).map(|(_, _, text)| text).collect()
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
        // PostgreSQL's cast.
        (':', Some(':')) => (Token::Other, 2),
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
mod tests;
