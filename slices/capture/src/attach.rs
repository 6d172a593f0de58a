//! ATTACH statements of a program: which file gets which name.

use crate::manifest::Database;
use crate::sql::{Token, tokens};
use crate::trace::{Call, Trace, Value};
use contend_interpose::token::first_word;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An ATTACH.
#[derive(Debug, PartialEq, Eq)]
pub struct Attached {
    /// `None` for a database in memory or a temporary one.
    pub path: Option<PathBuf>,
    /// The name in SQL.
    pub schema: String,
}

/// File and name of an ATTACH. `None` if the call is another statement, or the file is computed or hashed.
pub fn attached(call: &Call) -> Option<Attached> {
    let (word, length) = first_word(call.sql.as_bytes());
    if word[..length] != *b"attach" {
        return None;
    }
    let all = tokens(&call.sql);
    let is = |at: usize, word: &str| all.get(at).is_some_and(|token| token.is_word(word));
    let from = if is(1, "database") { 2 } else { 1 };
    if !is(0, "attach") || !is(from + 1, "as") {
        return None;
    }
    let mut places = 0..;
    let mut text = |token: &Token| match token {
        Token::Literal(text) | Token::Word(text) => Some(unquoted(text)),
        Token::Parameter(_) => {
            let place = places.next()?;
            match call.values.get(place).map(|(_, value)| value) {
                Some(Value::Text(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
                _ => None,
            }
        }
        Token::Sign(_) => None,
    };
    let file = text(all.get(from)?)?;
    let schema = text(all.get(from + 2)?)?;
    let in_memory = file.is_empty() || file.starts_with(":memory:") || file.contains("mode=memory");
    Some(Attached { path: (!in_memory).then(|| path_of(&file)), schema })
}

/// A name or text without its quotes.
pub fn unquoted(text: &str) -> String {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"' | '`' | '[')) else { return text.into() };
    let close = if quote == '[' { ']' } else { quote };
    let inner = text[1..].strip_suffix(close).unwrap_or(&text[1..]);
    inner.replace(&format!("{close}{close}"), &close.to_string())
}

/// The path in `file:...?...#...`, or the name itself.
fn path_of(name: &str) -> PathBuf {
    let Some(rest) = name.strip_prefix("file:") else { return name.into() };
    let rest = rest.strip_prefix("//").map_or(rest, |rest| rest.find('/').map_or("", |at| &rest[at..]));
    rest.split(['?', '#']).next().unwrap_or(rest).into()
}

/// The number of the captured database with this path. The working directory of the program is unknown: a relative path
/// fits the only database whose path ends with it.
pub fn number(databases: &[Database], path: &Path) -> Option<usize> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if path.is_absolute() {
        return databases.iter().position(|database| database.path == real || database.path == path);
    }
    let end = path.strip_prefix(".").unwrap_or(path);
    let mut fits = databases.iter().enumerate().filter(|(_, database)| database.path.ends_with(end));
    let (first, _) = fits.next()?;
    fits.next().is_none().then_some(first)
}

/// Names that the program gave to attached databases, in lower case.
pub fn schemas(trace: &Trace) -> BTreeSet<String> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for call in trace.calls.iter().filter(|call| seen.insert(call.sql.as_ptr())) {
        // Also in captures of hashes, and in scripts of several statements.
        let all = tokens(&call.sql);
        let is = |at: usize, word: &str| all.get(at).is_some_and(|token| token.is_word(word));
        for at in (0..all.len()).filter(|at| is(*at, "attach")) {
            let name = (at + 2..(at + 4).min(all.len())).find(|at| is(*at, "as")).and_then(|at| all.get(at + 1));
            if let Some(Token::Word(name)) = name {
                found.insert(unquoted(name).to_ascii_lowercase());
            }
        }
    }
    found
}

/// Whether a statement names a table of one of these attached databases.
pub fn names_one_of(sql: &str, schemas: &BTreeSet<String>) -> bool {
    let all = tokens(sql);
    all.windows(2).any(|two| match two {
        [Token::Word(name), Token::Sign(".")] => schemas.contains(&unquoted(name).to_ascii_lowercase()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_attached_databases_are_found() {
        let schemas: BTreeSet<String> = ["old".to_string()].into();
        assert!(names_one_of("INSERT INTO \"Old\".t SELECT * FROM t", &schemas));
        assert!(!names_one_of("SELECT old FROM main.t", &schemas));
        assert_eq!(path_of("file:///data/a.db?mode=ro"), Path::new("/data/a.db"));
        assert_eq!(unquoted("'it''s'"), "it's");
    }
}
