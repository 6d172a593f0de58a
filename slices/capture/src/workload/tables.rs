//! Tables of a workload: schema, number of rows, and a generator for each column.

use crate::allowed::Allowed;
use crate::content::quoted;
use crate::literal::{CHOICES, text};
use crate::manifest::{Column, Content, Table};
use crate::sql::{Token, tokens};
use crate::workload::generator::{is_serial, key, key_of, line, of_column, paired_with, plain, skew_of};
use crate::workload::naming::Names;
use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Entries `content` of the workload's tables, by the name of the table.
pub type Files = BTreeMap<String, String>;

/// Counts of a database, and a copy of it if its values may be used.
pub struct Tables<'c> {
    pub content: &'c Content,
    pub values: Option<&'c Connection>,
    /// Files with the rows.
    pub rows: Files,
}

impl<'c> Tables<'c> {
    pub fn of(content: &'c Content, values: Option<&'c Connection>) -> Tables<'c> {
        Tables { content, values, rows: Files::new() }
    }

    /// Tables that a workload can express.
    pub fn all(&self) -> Vec<&'c Table> {
        let is_virtual = |table: &&Table| table.ddl.to_ascii_uppercase().starts_with("CREATE VIRTUAL");
        let shadow = |table: &&Table| {
            let all = self.content.tables.iter().filter(is_virtual);
            all.into_iter().any(|owner| table.name.starts_with(&format!("{}_", owner.name)))
        };
        self.content.tables.iter().filter(|table| !is_virtual(table) && !shadow(table)).collect()
    }

    /// Numbers of rows, for `[scale]`.
    pub fn write_scale(&self, out: &mut String) {
        for table in self.all() {
            // Pairs are written out for this number of rows.
            let is_fixed = self.all().into_iter().any(|other| {
                paired_with(self.content, other).is_some_and(|name| name.eq_ignore_ascii_case(&table.name))
            });
            let rows = if is_fixed { format!("{{ fixed = {} }}", table.rows) } else { table.rows.to_string() };
            line(out, &format!("rows_{}", plain(&table.name)), &rows);
        }
    }

    /// Writes tables, indexes and generators of columns; `left_out` gets what has no place in a workload.
    ///
    /// # Errors
    /// The values cannot be read.
    pub fn write(&self, out: &mut String, names: &Names, left_out: &mut Vec<String>) -> Result<()> {
        for table in self.all() {
            let _ = write!(out, "\n[table.{}]\n", key(&table.name));
            line(out, "ddl", &text(&table.ddl));
            let indexes: Vec<String> =
                self.content.others.iter().filter_map(|sql| self.index(table, sql, left_out)).collect();
            if !indexes.is_empty() {
                line(out, "indexes", &format!("[{}]", indexes.join(", ")));
            }
            line(out, "rows", &text(&format!("rows_{}", plain(&table.name))));
            if let Some(file) = self.rows.get(&table.name) {
                line(out, "content", file);
            }
            let _ = write!(out, "\n[table.{}.columns]\n", key(&table.name));
            for (column, allowed) in table.columns.iter().zip(&Allowed::of_all(table)) {
                if let Some(keys) = names.of_keys(table, column).or_else(|| self.of_reference(names, table, column)) {
                    line(out, &key(&column.name), &keys);
                    continue;
                }
                let named = names.of_rows(table, column);
                if named.is_some() && column.has_default && column.kind == "text" && allowed.words.is_empty() {
                    left_out.push(format!(
                        "{}.{} has made-up names, and its default value in the schema is none of them: a row that is inserted without a \
                         value is not found by its name. A capture with --values=full has the values.",
                        table.name, column.name
                    ));
                }
                let choices = named.map_or_else(|| self.choices(table, column), |of| Ok(Some(of)))?;
                line(out, &key(&column.name), &of_column(self.content, table, (column, allowed), choices));
            }
        }
        let taken = self.all();
        for table in self.content.tables.iter().filter(|table| !taken.iter().any(|of| of.name == table.name)) {
            left_out.push(format!("Virtual tables and their parts are not taken over: {}", table.name));
        }
        for sql in &self.content.others {
            let word = tokens(sql).get(1).map_or(String::new(), |token| match token {
                Token::Word(word) => word.to_ascii_lowercase(),
                _ => String::new(),
            });
            if matches!(word.as_str(), "trigger" | "view") {
                let begin: String = sql.chars().take(80).collect();
                left_out.push(format!("Triggers and views are not taken over: {begin}"));
            }
        }
        Ok(())
    }

    /// An index of this table, as a TOML text. Made-up rows do not follow one that is unique over expressions or for some rows.
    fn index(&self, table: &Table, sql: &str, left_out: &mut Vec<String>) -> Option<String> {
        let words = tokens(sql);
        let is = |at: usize, word: &str| words.get(at).is_some_and(|token| token.is_word(word));
        let is_unique = is(1, "unique");
        let on = words.iter().position(|token| token.is_word("on"))?;
        if !is(0, "create") || !is(1 + usize::from(is_unique), "index") || !words.get(on + 1)?.is_name(&table.name) {
            return None;
        }
        let begin = sql.find(char::is_whitespace)?;
        let list = &words[on + 2..];
        if !is_unique || self.rows.contains_key(&table.name) || is_of_columns(table, list) {
            return Some(text(sql));
        }
        left_out.push(format!(
            "An index is not unique in the workload, because its rows are made up without a look at it: {sql}"
        ));
        let rest = sql[begin..].trim_start();
        Some(text(&format!("CREATE {}", rest["unique".len()..].trim_start())))
    }

    /// The generator of a column that refers to one that names rows.
    fn of_reference(&self, names: &Names, table: &Table, column: &Column) -> Option<String> {
        let (other, key) = key_of(self.content, table, column);
        names.of_keys(other, key).filter(|_| other.rows > 0)?;
        let nulls = column.nulls as f64 / column.seen.max(1) as f64;
        let null = if nulls > 0.0 { format!(", null = {nulls:.3}") } else { String::new() };
        let how = if column.is_unique() { ", each = 1".into() } else { skew_of(table, column, other.rows) };
        Some(format!("{{ ref = {}{how}{null} }}", text(&format!("{}.{}", other.name, key.name))))
    }

    /// The values of a column, if they are known and few.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn choices(&self, table: &Table, column: &Column) -> Result<Option<String>> {
        let Some(copy) = self.values else { return Ok(None) };
        // With too many among the rows that were examined the others need no look.
        if column.distinct > CHOICES as u64 || is_serial(table, column) {
            return Ok(None);
        }
        let (table, column) = (quoted(&table.name), quoted(&column.name));
        let sql = format!(
            "SELECT {column}, count(*) FROM {table} WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT {}",
            CHOICES + 1
        );
        let mut statement = copy.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let (mut values, mut weights) = (vec![], vec![]);
        while let Some(row) = rows.next()? {
            values.push(match row.get_ref(0)? {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                    Ok(value) if value.len() <= 200 => text(value),
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            });
            weights.push(row.get::<_, i64>(1)?.to_string());
        }
        let few = !values.is_empty() && values.len() <= CHOICES;
        Ok(few.then(|| format!("{{ choice = [{}], weights = [{}] }}", values.join(", "), weights.join(", "))))
    }
}

/// Whether a list in brackets has columns of the table alone, or one that makes each row unique, and nothing follows it.
fn is_of_columns(table: &Table, list: &[Token]) -> bool {
    let named = |token: &&Token| table.columns.iter().find(|column| token.is_name(&column.name));
    let is_part = |token: &Token| {
        let words = ["collate", "nocase", "binary", "rtrim", "asc", "desc"];
        matches!(token, Token::Sign("(" | "," | ")"))
            || words.iter().any(|word| token.is_word(word))
            || named(&token).is_some()
    };
    let is_one_list = list.iter().filter(|token| **token == Token::Sign("(")).count() == 1;
    let is_whole = is_one_list && list.iter().all(is_part);
    let columns = list.iter().take_while(|token| !token.is_word("where"));
    is_whole || columns.filter_map(|token| named(&token)).any(|column| column.unique)
}
