//! A statement and everything about it that a worker has to know, so that no worker reads SQL.

use crate::literal::{escape, unescape};
use std::fmt::Write as _;

/// A statement of a plan or script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statement {
    /// Its text, in the dialect of the driver.
    pub sql: String,
    /// What it does.
    pub effect: Effect,
    /// Where its arguments go, in the order of the text.
    pub placeholders: Vec<Placeholder>,
}

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effect {
    /// It returns rows.
    pub rows: bool,
    /// It changes rows; if it returns none, their number is the result.
    pub changes: bool,
    /// It replaces existing rows. The number of rows of values it writes; 0 if its text does not show it.
    /// MariaDB counts a replaced row twice.
    pub upserts: Option<u32>,
}

/// A placeholder in the text of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder {
    /// Its first byte, from 0, in the text as UTF-8.
    pub at: u32,
    /// The number it is written with, from 1: `$2`, `?2`. None for `?`, which takes the next argument.
    pub number: Option<u16>,
}

impl Statement {
    /// A statement without placeholders that returns and changes nothing.
    pub fn plain(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), ..Self::default() }
    }

    /// Number of its arguments.
    pub fn arguments(&self) -> usize {
        self.placeholders.iter().fold(0, |most, placeholder| match placeholder.number {
            Some(number) => most.max(usize::from(number)),
            None => most + 1,
        })
    }

    /// `EFFECT`, tab, `SQL`.
    pub fn command_fields(&self) -> String {
        format!("{}\t{}", self.effect.encode(), escape(&self.sql))
    }

    /// `EFFECT`, tab, `PLACEHOLDERS`, tab, `SQL`.
    pub fn fields(&self) -> String {
        format!("{}\t{}\t{}", self.effect.encode(), encode_placeholders(&self.placeholders), escape(&self.sql))
    }

    /// Reads what [`Statement::command_fields`] has written.
    pub(crate) fn command(fields: [&str; 2]) -> Result<Self, String> {
        let [effect, sql] = fields;
        Ok(Self { sql: unescape(sql)?, effect: Effect::decode(effect)?, placeholders: vec![] })
    }

    /// Reads what [`Statement::fields`] has written.
    pub(crate) fn decode(fields: [&str; 3]) -> Result<Self, String> {
        let [effect, placeholders, sql] = fields;
        Ok(Self { placeholders: decode_placeholders(placeholders)?, ..Self::command([effect, sql])? })
    }
}

impl Effect {
    /// A query.
    pub const ROWS: Effect = Effect { rows: true, changes: false, upserts: None };

    fn encode(self) -> String {
        let mut words = vec![];
        if self.rows {
            words.push("rows".to_string());
        }
        if self.changes {
            words.push("changes".to_string());
        }
        if let Some(rows) = self.upserts {
            words.push(format!("upserts={rows}"));
        }
        if words.is_empty() { "-".to_string() } else { words.join(",") }
    }

    fn decode(field: &str) -> Result<Self, String> {
        let mut effect = Effect::default();
        for word in items(field) {
            match word.split_once('=') {
                None if word == "rows" => effect.rows = true,
                None if word == "changes" => effect.changes = true,
                Some(("upserts", rows)) => {
                    let number =
                        rows.parse().map_err(|_| format!("`{}` is not a number of rows", crate::crop(rows)))?;
                    effect.upserts = Some(number);
                }
                _ => return Err(format!("`{}` is not an effect of a statement", crate::crop(word))),
            }
        }
        Ok(effect)
    }
}

/// The items of a list that is `-` when it is empty.
fn items(field: &str) -> impl Iterator<Item = &str> {
    field.split(',').filter(move |_| field != "-")
}

pub(crate) fn encode_placeholders(placeholders: &[Placeholder]) -> String {
    let mut out = String::new();
    for placeholder in placeholders {
        let comma = if out.is_empty() { "" } else { "," };
        let _ = write!(out, "{comma}{}", placeholder.at);
        if let Some(number) = placeholder.number {
            let _ = write!(out, ":{number}");
        }
    }
    if out.is_empty() { "-".to_string() } else { out }
}

pub(crate) fn decode_placeholders(field: &str) -> Result<Vec<Placeholder>, String> {
    let read = |item: &str| {
        let (at, number) = item.split_once(':').map_or((item, None), |(at, number)| (at, Some(number)));
        let number = number.map(str::parse).transpose().ok()?;
        Some(Placeholder { at: at.parse().ok()?, number })
    };
    let wrong = |item: &str| format!("`{}` is not a placeholder's AT or AT:NUMBER", crate::crop(item));
    items(field).map(|item| read(item).ok_or_else(|| wrong(item))).collect()
}
