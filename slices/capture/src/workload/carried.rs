//! Keys that one statement returns and a later statement of the transaction uses: `SELECT id FROM task ... LIMIT 1`, then `DELETE
//! FROM task WHERE id = ?`; or `INSERT INTO bill ...`, then `INSERT INTO item (bill_id) VALUES (?)`. A capture has the values of
//! arguments and not of rows, so positions decide: a statement with at most one row that has a key of its table, and after it a
//! search for that key, or a value for a column that refers to it.

use crate::content::quoted;
use crate::literal::text;
use crate::manifest::{Column, Content, Table};
use crate::sql::{Does, Shape, Token, tokens, without_quotes};
use crate::trace::Call;
use crate::workload::generator::{column_of, is_serial, key_of};
use crate::workload::lists::{Use, is_upsert};
use std::collections::BTreeMap;

/// A statement with at most one row.
pub struct Read<'c> {
    /// The columns of its result, where they are columns of its table.
    columns: Vec<Option<(&'c Table, &'c Column)>>,
    /// Numbers of the columns that later statements use, and the values that these had.
    kept: BTreeMap<usize, String>,
    /// Whether it is an INSERT without `RETURNING`, to which the key is added.
    inserts: bool,
}

impl<'c> Read<'c> {
    /// `None` if it is no such statement.
    pub fn of(content: &'c Content, shape: &Shape, tokens: &[Token], calls: &[&Call]) -> Option<Read<'c>> {
        let table = shape.tables.first().filter(|_| matches!(shape.does, Does::Read | Does::Write))?;
        let table = content.tables.iter().find(|known| known.name.eq_ignore_ascii_case(table))?;
        let place = |word: &str| tokens.iter().position(|token| token.is_word(word));
        let is_one = calls.iter().all(|call| call.rows <= 1) && calls.iter().any(|call| call.rows == 1);
        let list = match (shape.does, place("returning")) {
            (Does::Write, Some(at)) => tokens.get(at + 1..),
            (Does::Read, _) if shape.tables.len() == 1 => tokens.get(place("select")? + 1..place("from")?),
            _ => return Self::of_insert(table, tokens, calls),
        };
        let items: Vec<&[Token]> = split(list.filter(|_| is_one)?);
        let columns = match items[..] {
            _ if has_star(&items) && (items.len() > 1 || is_computed(table)) => return None,
            [[Token::Sign("*")]] => table.columns.iter().map(|column| Some((table, column))).collect(),
            _ => items.iter().map(|item| column_of(content, &shape.tables[..1], named(item)?)).collect(),
        };
        Some(Read { columns, kept: BTreeMap::new(), inserts: false })
    }

    /// An INSERT of one row, to which the database gives the key.
    fn of_insert(table: &'c Table, tokens: &[Token], calls: &[&Call]) -> Option<Read<'c>> {
        let key = table.columns.iter().find(|column| is_serial(table, column))?;
        let names = tokens.iter().take_while(|token| !token.is_word("values"));
        let has_key = names.into_iter().any(|token| token.is_name(&key.name));
        let is_one = !calls.is_empty() && calls.iter().all(|call| call.changes == 1);
        let is_plain = tokens[0].is_word("insert") && !is_upsert(tokens) && tokens.get(3) == Some(&Token::Sign("("));
        (is_plain && is_one && !has_key).then(|| Read {
            columns: vec![Some((table, key))],
            kept: BTreeMap::new(),
            inserts: true,
        })
    }

    /// The number of the column that has the key, if a value of this column is one. What an INSERT or UPDATE stores is the key of the
    /// row that it refers to: that the author of a post also writes the comment is not known, nor that a new row has an old key.
    /// Places with other values use an earlier statement.
    pub fn keep(
        &mut self,
        content: &'c Content,
        place: (&'c Table, &'c Column),
        (of, values): (Use, &str),
    ) -> Option<usize> {
        let (table, key) = key_of(content, place.0, place.1);
        let refers = (&table.name, &key.name) != (&place.0.name, &place.1.name);
        let is_key = is_serial(table, key) || key.unique || key.names_rows();
        let is_it = |own: &Option<(&'c Table, &'c Column)>| {
            own.is_some_and(|(own_table, own)| {
                let refers_too = of == Use::Searched && !self.inserts;
                let (found, column) = if refers_too { key_of(content, own_table, own) } else { (own_table, own) };
                found.name == table.name && column.name == key.name
            })
        };
        let at = self.columns.iter().position(is_it)?;
        let is_free = self.kept.get(&at).is_none_or(|known| known == values);
        if !is_key || !is_free || ((of == Use::Stored || self.inserts) && !refers) {
            return None;
        }
        self.kept.insert(at, values.to_string());
        Some(at)
    }

    /// Whether a later statement uses something of it.
    pub fn is_used(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether it can find no row although a later statement uses one.
    pub fn may_find_none(&self) -> bool {
        self.is_used() && !self.inserts
    }

    /// What the statement gets to return its key, as part of a TOML text.
    pub fn returning(&self) -> String {
        let key = self.columns.iter().flatten().next().filter(|_| self.inserts && self.is_used());
        let sql = key.map_or(String::new(), |(_, key)| format!(" RETURNING {}", quoted(&key.name)));
        let toml = text(&sql);
        toml[1..toml.len() - 1].to_string()
    }

    /// The entry `keep` of the step with this number; empty if nothing of it is used.
    pub fn entry(&self, step: usize) -> String {
        let kept: Vec<String> = self.kept.keys().map(|column| format!("{} = {column}", name(step, *column))).collect();
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

fn has_star(items: &[&[Token]]) -> bool {
    items.iter().any(|item| item.last() == Some(&Token::Sign("*")) || item.first() == Some(&Token::Sign("*")))
}

/// Whether a table may have generated columns, of which `*` has more than are counted here.
fn is_computed(table: &Table) -> bool {
    let all = tokens(&table.ddl);
    all.windows(2).any(|two| two[0].is_word("as") && two[1] == Token::Sign("("))
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
    let all = item.split(|token| token.is_word("as")).next()?;
    match all {
        [Token::Word(word)] => Some(without_quotes(word.rsplit('.').next().unwrap_or(word))),
        [Token::Word(_), Token::Sign("."), Token::Word(word)] => Some(without_quotes(word)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_of_a_select_are_columns_or_not() {
        let all = tokens(r#"id, t.a, "t"."b" AS "x", max(c, d), e + 1"#);
        let names: Vec<Option<&str>> = split(&all).into_iter().map(named).collect();
        assert_eq!(names, [Some("id"), Some("a"), Some("b"), None, None]);
    }

    #[test]
    fn only_equality_takes_a_kept_value() {
        let all = tokens("DELETE FROM t WHERE a = ? AND b >= ? AND c IN (?)");
        let places = (0..all.len()).filter(|&at| matches!(all[at], Token::Parameter(_)));
        assert_eq!(places.map(|at| is_equal(&all, at)).collect::<Vec<_>>(), [true, false, false]);
    }
}
