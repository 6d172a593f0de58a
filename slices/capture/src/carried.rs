//! Keys that one statement returns and a later statement of the transaction uses: `SELECT id FROM task ... LIMIT 1`, then `DELETE
//! FROM task WHERE id = ?`. Captured are the values of arguments and not those of rows, so the places say it: a statement that
//! returns at most one row, with a key of the table, and after it a search for that key.

use crate::generator::{column_of, is_serial};
use crate::manifest::{Column, Content, Table};
use crate::sql::{Does, Shape, Token};
use crate::trace::Call;
use std::collections::BTreeSet;

/// A statement that returned at most one row.
pub struct Read<'c> {
    /// The columns of its result, where they are columns of its table.
    columns: Vec<Option<(&'c Table, &'c Column)>>,
    /// Numbers of the columns that later statements use.
    kept: BTreeSet<usize>,
}

impl<'c> Read<'c> {
    /// `None` if it is no such statement.
    pub fn of(content: &'c Content, shape: &Shape, tokens: &[Token], calls: &[&Call]) -> Option<Read<'c>> {
        let is_one = calls.iter().all(|call| call.rows <= 1) && calls.iter().any(|call| call.rows == 1);
        if shape.does != Does::Read || shape.tables.len() != 1 || !is_one {
            return None;
        }
        let table = content.tables.iter().find(|table| table.name.eq_ignore_ascii_case(&shape.tables[0]))?;
        let is_word = |token: &Token, word: &str| matches!(token, Token::Word(of) if of.eq_ignore_ascii_case(word));
        let from = tokens.iter().position(|token| is_word(token, "from"))?;
        let first = tokens.iter().position(|token| is_word(token, "select"))? + 1;
        let items: Vec<&[Token]> = split(tokens.get(first..from)?);
        let columns = match items[..] {
            [[Token::Sign("*")]] => table.columns.iter().map(|column| Some((table, column))).collect(),
            _ => items.iter().map(|item| column_of(content, &shape.tables, named(item)?)).collect(),
        };
        Some(Read { columns, kept: BTreeSet::new() })
    }

    /// The number of the column that has a key of the table, if this is a key.
    pub fn keep(&mut self, table: &Table, column: &Column) -> Option<usize> {
        let is_key = is_serial(table, column) || column.unique || column.names_rows();
        let is_it = |of: &Option<(&Table, &Column)>| {
            of.is_some_and(|(other, found)| {
                let refers = found.refers.as_ref().is_some_and(|(to, key)| {
                    to.eq_ignore_ascii_case(&table.name) && (key.is_empty() || key.eq_ignore_ascii_case(&column.name))
                });
                refers || (other.name == table.name && found.name == column.name)
            })
        };
        let at = self.columns.iter().position(is_it).filter(|_| is_key)?;
        self.kept.insert(at);
        Some(at)
    }

    /// The entry `keep` of the step with this number; empty if nothing of it is used.
    pub fn entry(&self, step: usize) -> String {
        let kept: Vec<String> = self.kept.iter().map(|column| format!("{} = {column}", name(step, *column))).collect();
        if kept.is_empty() { String::new() } else { format!("keep = {{ {} }}\n", kept.join(", ")) }
    }
}

/// The name of a kept value.
pub fn name(step: usize, column: usize) -> String {
    format!("k{step}_{column}")
}

/// Whether the value at a token is compared with `=`.
pub fn is_equal(tokens: &[Token], at: usize) -> bool {
    let sign = |back: usize| at.checked_sub(back).map(|at| &tokens[at]);
    sign(1) == Some(&Token::Sign("=")) && !matches!(sign(2), Some(Token::Sign("<" | ">" | "!")))
}

/// The items of a list, without the commas between them.
fn split<'t, 's>(tokens: &'t [Token<'s>]) -> Vec<&'t [Token<'s>]> {
    let mut depth = 0;
    let is_comma = |token: &Token| {
        depth += match token {
            Token::Sign("(") => 1,
            Token::Sign(")") => -1,
            _ => 0,
        };
        depth == 0 && *token == Token::Sign(",")
    };
    tokens.split(is_comma).collect()
}

/// The column of an item such as `id`, `t.id` or `"t"."id" AS "key"`.
fn named<'t>(item: &[Token<'t>]) -> Option<&'t str> {
    let all = item.split(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("as"))).next()?;
    match all {
        [Token::Word(word)] => Some(word.rsplit('.').next().unwrap_or(word)),
        [.., Token::Sign("."), Token::Word(word)] => Some(word),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens;

    #[test]
    fn the_items_of_a_select_are_columns_or_not() {
        let all = tokens(r#"id, t.a, "t"."b" AS "x", max(c, d), e + 1"#);
        let names: Vec<Option<&str>> = split(&all).into_iter().map(named).collect();
        let plain: Vec<Option<&str>> = names.iter().map(|name| name.map(|name| name.trim_matches('"'))).collect();
        let wanted = [Some("id"), Some("a"), Some("b"), None, None];
        assert!(
            plain
                .iter()
                .zip(&wanted)
                .all(|(a, b)| a.map(|a| a.rsplit('.').next().unwrap_or(a).trim_matches('"')) == *b),
            "{names:?}"
        );
    }

    #[test]
    fn only_equality_takes_a_kept_value() {
        let all = tokens("DELETE FROM t WHERE a = ? AND b >= ? AND c IN (?)");
        let places = (0..all.len()).filter(|&at| matches!(all[at], Token::Parameter(_)));
        assert_eq!(places.map(|at| is_equal(&all, at)).collect::<Vec<_>>(), [true, false, false]);
    }
}
