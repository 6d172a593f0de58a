//! Finds the offset that a refusal refers to. The tree has no offsets. So the tree is written out as tokens, where
//! the refused one is recognised by its address in memory, and the token with the same number is looked up in the
//! text. This code runs only for refusals.

use std::convert::Infallible;

use bumpalo::Bump;
use fallible_iterator::FallibleIterator;
use sqlite3_parser::ast::fmt::{ToTokens, TokenStream};
use sqlite3_parser::lexer::Scanner;
use sqlite3_parser::lexer::sql::{Parser, TokenType, Tokenizer};

use super::token::Token;
use super::tree::Cmd;
use super::{Unparsable, describe, offset_of};
use crate::names::unquote;
use crate::refuse::No;

/// A statement as a list of tokens: their texts and addresses.
#[derive(Default)]
struct Written(Vec<(String, std::ops::Range<usize>)>);

impl TokenStream for Written {
    type Error = Infallible;

    fn append(&mut self, kind: TokenType, value: Option<&str>) -> Result<(), Infallible> {
        let text = value.or(kind.as_str()).unwrap_or_default();
        let from = text.as_ptr() as usize;
        let text = if kind == TokenType::TK_BLOB { format!("x'{text}'") } else { text.to_string() };
        // A numbered parameter is formatted for each writing, so its address has no meaning.
        let place = if text.starts_with('?') { 0..0 } else { from..from + value.map_or(0, str::len) };
        self.0.push((text, place));
        Ok(())
    }
}

/// Counts the tokens before the one that a refusal concerns. Writing out a tree is recursive, so this is only for
/// texts of bounded length.
pub(crate) fn count(command: &Cmd, no: &mut No) {
    let mut written = Written::default();
    let Ok(()) = command.to_tokens(&mut written);
    for token in [&mut no.anchor].into_iter().chain(no.part.as_mut().map(|(token, _)| token)) {
        let Some(at) = written.0.iter().position(|(_, place)| place.contains(&token.address)) else { continue };
        let text = &written.0[at].0;
        token.before = Some(written.0[..at].iter().filter(|(other, _)| other.eq_ignore_ascii_case(text)).count());
        token.text.clone_from(text);
    }
}

/// The tokens of a text with their offsets, up to the first that cannot be read.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut scanner = Scanner::new(Tokenizer::new());
    let mut found = vec![];
    while let Ok((from, Some(_), to)) = scanner.scan(text.as_bytes()) {
        found.extend(text.get(from..to).map(|token| (from, token)));
    }
    found
}

/// The offset of the refused token in its statement; by default that of the first token.
pub(crate) fn offset(statement: &str, no: &No) -> usize {
    let tokens = tokens(statement);
    let reads =
        |token: &str, wanted: &str| token.eq_ignore_ascii_case(wanted) || unquote(token).eq_ignore_ascii_case(wanted);
    let find = |token: &Token, from: usize| -> Option<usize> {
        let all = tokens.iter().enumerate().skip(if token.before.is_some() { 0 } else { from });
        let mut same = all.filter(|(_, (_, text))| match token.before {
            Some(_) => text.eq_ignore_ascii_case(&token.text),
            None => reads(text, &token.text),
        });
        Some(same.nth(token.before.unwrap_or(0))?.0)
    };
    let part = no.part.as_ref().and_then(|(token, lead)| Some((find(token, 0)?, *lead)));
    let anchored = !no.anchor.text.is_empty();
    let anchor =
        anchored.then(|| part.and_then(|(at, _)| find(&no.anchor, at)).or_else(|| find(&no.anchor, 0))).flatten();
    let at = anchor.or(part.map(|(at, lead)| at.saturating_sub(lead))).unwrap_or(0);
    tokens.get(at).map_or(statement.len() - statement.trim_start().len(), |(offset, _)| *offset)
}

/// Reads the statements of a text one by one, so that the place of each is known: passes begin, end and result to
/// `each`. After a statement that the parser rejects, continues behind the next semicolon. Stops when `each` returns
/// false.
pub(crate) fn one_by_one<'a>(
    bump: &'a Bump,
    text: &'a str,
    mut each: impl FnMut(std::ops::Range<usize>, Result<&'a Cmd<'a>, Unparsable>) -> bool,
) {
    let mut from = 0;
    while from < text.len() {
        let rest = &text[from..];
        let mut parser = Parser::new(bump, rest.as_bytes());
        let (to, read) = match parser.next() {
            Ok(None) => return,
            Ok(Some(command)) => {
                let end = parser.position();
                (offset_of(rest, end.line, end.column), Ok(&*bump.alloc(command)))
            }
            Err(error) => {
                let Unparsable(at, words) = describe(&error, rest);
                let behind = tokens(&rest[at..]).into_iter().find(|(_, token)| *token == ";");
                (behind.map_or(rest.len(), |(offset, _)| at + offset + 1), Err(Unparsable(from + at, words)))
            }
        };
        // Whatever the result, the next statement begins behind this one.
        let next = from + to.max(1).min(rest.len());
        if !each(from..next, read) || !text.is_char_boundary(next) {
            return;
        }
        from = next;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, Options, Target, translate, translate_script};

    const SCHEMA: &str =
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, \"the c\" REAL); CREATE TABLE u (a, d TEXT)";

    /// The text behind the place that a refusal names.
    fn refused(sql: &str) -> String {
        let mut catalogue = Catalogue::default();
        catalogue.learn(SCHEMA).expect("the schema");
        let refusal = translate(sql, &catalogue, &Options::to(Target::Postgres)).expect_err(sql);
        sql[refusal.offset..].to_string()
    }

    #[test]
    fn a_refusal_points_to_the_expression() {
        for (sql, place) in [
            ("SELECT max(a), min(a), a FROM t", "a FROM"),
            ("SELECT max(a), min(a), \"the c\" FROM t", "\"the c\" FROM"),
            ("SELECT a FROM t WHERE id > 1 AND b < a", "b < a"),
            ("SELECT a FROM t WHERE id > ? AND a = ? AND b < a", "b < a"),
            ("SELECT CASE WHEN a THEN a ELSE b END FROM t", "CASE"),
            ("SELECT id, (CASE a WHEN 1 THEN b ELSE a END) FROM t", "CASE a"),
            ("SELECT b, no_such(b) FROM t", "no_such"),
            ("SELECT 'word' AS word, word.x FROM t", "x FROM"),
            ("SELECT a FROM t /* missing */ -- missing\n WHERE 'missing' = missing", "missing"),
        ] {
            let found = refused(sql);
            assert!(found.starts_with(place), "{sql}: {found}");
        }
    }

    #[test]
    fn a_refusal_is_in_its_own_statement() {
        assert_eq!(refused("SELECT a FROM t; SELECT b < a, b FROM t"), "b < a, b FROM t");
        assert_eq!(refused("SELECT missing FROM t WHERE 1 -- ;\n"), "missing FROM t WHERE 1 -- ;\n");
    }

    #[test]
    fn all_refusals_are_told() {
        let mut catalogue = Catalogue::default();
        catalogue.learn(SCHEMA).expect("the schema");
        let sql = "SELECT a FROM t;;\nSELECT x FROM t;\nSELECT ?, FROM t WHERE 'a;b';\nSELECT y FROM t WHERE a = ?;\n\
            CREATE TABLE v (w INTEGER);\nSELECT w, z FROM v";
        let found = translate_script(sql, &catalogue, &Options::to(Target::MariaDb)).expect_err("refused");
        let places: Vec<_> = found.iter().map(|r| (r.rule, r.line, r.column)).collect();
        assert_eq!(
            places,
            [("unknown-column", 2, 8), ("syntax", 3, 11), ("unknown-column", 4, 8), ("unknown-column", 6, 11)],
            "{found:?}"
        );
        assert!(
            translate_script("SELECT a FROM t; SELECT id FROM t", &catalogue, &Options::to(Target::MariaDb)).is_ok()
        );
    }
}
