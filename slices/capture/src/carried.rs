//! Keys that one statement returns and a later statement of the transaction uses: `SELECT id FROM task ... LIMIT 1`, then `DELETE
//! FROM task WHERE id = ?`; or `INSERT INTO bill ...`, then `INSERT INTO item (bill_id) VALUES (?)`. Captured are the values of
//! arguments and not those of rows, so the places say it: a statement with at most one row that has a key of its table, and after
//! it a value for that key or for a column that refers to it.

use crate::content::quoted;
use crate::generator::{column_of, is_serial};
use crate::lists::{Use, is_upsert};
use crate::literal::text;
use crate::manifest::{Column, Content, Table};
use crate::sql::{Does, Shape, Token};
use crate::trace::Call;
use std::collections::BTreeSet;

/// A statement with at most one row.
pub struct Read<'c> {
    /// The columns of its result, where they are columns of its table.
    columns: Vec<Option<(&'c Table, &'c Column)>>,
    /// Numbers of the columns that later statements use.
    kept: BTreeSet<usize>,
    /// Whether it is an INSERT without `RETURNING`, to which the key is added.
    inserts: bool,
}

impl<'c> Read<'c> {
    /// `None` if it is no such statement.
    pub fn of(content: &'c Content, shape: &Shape, tokens: &[Token], calls: &[&Call]) -> Option<Read<'c>> {
        let table = shape.tables.first().filter(|_| matches!(shape.does, Does::Read | Does::Write))?;
        let table = content.tables.iter().find(|known| known.name.eq_ignore_ascii_case(table))?;
        let place = |word: &str| tokens.iter().position(|token| is_word(token, word));
        let is_one = calls.iter().all(|call| call.rows <= 1) && calls.iter().any(|call| call.rows == 1);
        let list = match (shape.does, place("returning")) {
            (Does::Write, Some(at)) => tokens.get(at + 1..),
            (Does::Read, _) if shape.tables.len() == 1 => tokens.get(place("select")? + 1..place("from")?),
            _ => return Self::of_insert(table, tokens, calls),
        };
        let items: Vec<&[Token]> = split(list.filter(|_| is_one)?);
        let columns = match items[..] {
            [[Token::Sign("*")]] => table.columns.iter().map(|column| Some((table, column))).collect(),
            _ => items.iter().map(|item| column_of(content, &shape.tables[..1], named(item)?)).collect(),
        };
        Some(Read { columns, kept: BTreeSet::new(), inserts: false })
    }

    /// An INSERT of one row, to which the database gives the key.
    fn of_insert(table: &'c Table, tokens: &[Token], calls: &[&Call]) -> Option<Read<'c>> {
        let key = table.columns.iter().find(|column| is_serial(table, column))?;
        let names = tokens.iter().take_while(|token| !is_word(token, "values"));
        let has_key = names.into_iter().any(|token| is_word(token, &key.name));
        let is_one = !calls.is_empty() && calls.iter().all(|call| call.changes == 1);
        let is_plain = is_word(&tokens[0], "insert") && !is_upsert(tokens) && tokens.get(3) == Some(&Token::Sign("("));
        (is_plain && is_one && !has_key).then(|| Read {
            columns: vec![Some((table, key))],
            kept: BTreeSet::new(),
            inserts: true,
        })
    }

    /// The number of the column that has the key, if a value of this column is one. What is stored is the key of the row itself:
    /// that the author of a post also writes the comment is not known.
    pub fn keep(&mut self, content: &'c Content, (table, column): (&'c Table, &'c Column), of: Use) -> Option<usize> {
        let (key_table, key) = key_of(content, table, column);
        let is_key = is_serial(key_table, key) || key.unique || key.names_rows();
        let of_row = of == Use::Stored;
        let is_it = |of: &Option<(&'c Table, &'c Column)>| {
            of.is_some_and(|(own_table, own)| {
                let (table, column) = if of_row { (own_table, own) } else { key_of(content, own_table, own) };
                table.name == key_table.name && column.name == key.name
            })
        };
        let at = self.columns.iter().position(is_it).filter(|_| is_key)?;
        self.kept.insert(at);
        Some(at)
    }

    /// What the statement gets to return its key, as part of a TOML text.
    pub fn returning(&self) -> String {
        let key = self.columns.iter().flatten().next().filter(|_| self.inserts && !self.kept.is_empty());
        let sql = key.map_or(String::new(), |(_, key)| format!(" RETURNING {}", quoted(&key.name)));
        let toml = text(&sql);
        toml[1..toml.len() - 1].to_string()
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

/// The column that a column refers to, or itself.
fn key_of<'c>(content: &'c Content, table: &'c Table, column: &'c Column) -> (&'c Table, &'c Column) {
    let referred = || {
        let (name, key) = column.refers.as_ref()?;
        let table = content.tables.iter().find(|known| known.name.eq_ignore_ascii_case(name))?;
        let is_key = |column: &&Column| {
            if key.is_empty() { is_serial(table, column) } else { column.name.eq_ignore_ascii_case(key) }
        };
        Some((table, table.columns.iter().find(is_key)?))
    };
    referred().unwrap_or((table, column))
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(of) if of.trim_matches(['"', '`', '[', ']']).eq_ignore_ascii_case(word))
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
