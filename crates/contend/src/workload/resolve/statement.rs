//! Statements from named placeholders to plain ones, each with the source of its value.

use super::at::At;
use crate::source::FileError;
use crate::workload::sql::{Brackets, Piece, scan, words_and_signs};
use contend_wire::literal::Value;
use contend_wire::plan::Source;
use std::collections::BTreeMap;

/// Meaning of a name in a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    Literal(Value),
    Argument {
        first: u32,
        stride: u32,
    },
    /// Drawn only to be part of a format.
    Ingredient,
    Unique {
        first: u32,
        stride: u32,
    },
    Kept {
        slot: u16,
        plus: i64,
    },
    KeptColumn {
        slot: u16,
        max: u16,
    },
}

#[derive(Debug)]
pub struct Name<'a> {
    meaning: Meaning,
    at: At<'a>,
    /// Whether only the present step may use it.
    of_step: bool,
    pub used: bool,
}

impl<'a> Name<'a> {
    pub fn new(meaning: Meaning, at: &At<'a>, of_step: bool) -> Self {
        Self { meaning, at: at.clone(), of_step, used: false }
    }
}

/// The names known at some point of a transaction.
#[derive(Debug, Default)]
pub struct Names<'a> {
    all: BTreeMap<String, Name<'a>>,
    /// Those that only the present step may use. A transaction can have thousands of steps.
    of_step: BTreeMap<String, Name<'a>>,
}

impl<'a> Names<'a> {
    /// Adds a name.
    pub fn declare(&mut self, name: &str, entry: Name<'a>) -> Result<(), FileError> {
        if matches!(name, "now" | "now_ms") {
            return entry.at.fail(format!("`{name}` always means the current time; choose another name"));
        }
        if !name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
        {
            return entry.at.fail(format!("`{name}` cannot be written as a placeholder: use letters, digits and _"));
        }
        if self.all.contains_key(name) || self.of_step.contains_key(name) {
            return entry.at.fail(format!("`{name}` is already the name of an argument or a kept value"));
        }
        let names = if entry.of_step { &mut self.of_step } else { &mut self.all };
        names.insert(name.to_string(), entry);
        Ok(())
    }

    /// What a name means; marks it as used.
    pub fn use_name(&mut self, name: &str) -> Option<&Meaning> {
        let entry = self.of_step.get_mut(name).or_else(|| self.all.get_mut(name))?;
        entry.used = true;
        Some(&entry.meaning)
    }

    /// Forgets the arguments of the present step, which must have been used.
    pub fn close_step(&mut self) -> Result<(), FileError> {
        check_used(self.of_step.iter())?;
        self.of_step.clear();
        Ok(())
    }

    pub fn check_all_used(&self) -> Result<(), FileError> {
        check_used(self.all.iter())
    }

    fn listed(&self) -> String {
        let names: Vec<String> = self.all.keys().chain(self.of_step.keys()).map(|name| format!(":{name}")).collect();
        let own = if names.is_empty() { String::new() } else { format!("{}, ", names.join(", ")) };
        format!("{own}:now, :now_ms")
    }
}

fn check_used<'n, 'a: 'n>(mut names: impl Iterator<Item = (&'n String, &'n Name<'a>)>) -> Result<(), FileError> {
    match names.find(|(_, name)| !name.used) {
        Some((name, entry)) => entry.at.fail(format!("no statement uses `:{name}`")),
        None => Ok(()),
    }
}

/// The statement with `?` for every placeholder, and where each value comes from.
pub fn compile(sql: &str, names: &mut Names<'_>, at: &At<'_>) -> Result<(String, Vec<Source>), FileError> {
    if words_and_signs(sql, Brackets::Quote).contains(&"::") {
        return at.fail("`::` is a cast of PostgreSQL: write CAST(... AS ...), or give the statement in `on.postgres`");
    }
    compile_with(sql, names, at, |_| "?".to_string())
}

/// The same with `mark` of its number, from 1, for every placeholder.
pub fn compile_with(
    sql: &str,
    names: &mut Names<'_>,
    at: &At<'_>,
    mark: impl Fn(usize) -> String,
) -> Result<(String, Vec<Source>), FileError> {
    let mut text = String::with_capacity(sql.len());
    let mut sources = vec![];
    for piece in scan(sql) {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Foreign(placeholder) => {
                return at.fail(format!("placeholders have names: write `:name` instead of `{placeholder}`"));
            }
            Piece::Named { name, in_list } => {
                let new = sources_of(name, in_list, names, at)?;
                let marks: Vec<String> = (1..=new.len()).map(|n| mark(sources.len() + n)).collect();
                text.push_str(&marks.join(", "));
                sources.extend(new);
            }
        }
    }
    Ok((text, sources))
}

pub fn sources_of(name: &str, in_list: bool, names: &mut Names<'_>, at: &At<'_>) -> Result<Vec<Source>, FileError> {
    match name {
        "now" => return Ok(vec![Source::Now { unit_ns: 1_000_000_000 }]),
        "now_ms" => return Ok(vec![Source::Now { unit_ns: 1_000_000 }]),
        _ => {}
    }
    // Numbers beyond 16 bits are rejected when the whole transaction is resolved.
    let narrow = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
    let source = match names.use_name(name) {
        None => {
            let known = names.listed();
            return at
                .fail(format!("no argument and no value kept by an earlier step is called `{name}` (known: {known})"));
        }
        Some(Meaning::KeptColumn { slot, max }) if in_list => {
            return Ok((0..*max).map(|row| Source::KeptRow { slot: *slot, row }).collect());
        }
        Some(Meaning::KeptColumn { .. }) => {
            return at.fail(format!("`:{name}` is a column of several values and can be used only in `IN (:{name})`"));
        }
        Some(Meaning::Literal(value)) => Source::Literal(value.clone()),
        Some(Meaning::Argument { first, stride }) => {
            Source::Argument { first: narrow(*first), stride: narrow(*stride) }
        }
        Some(Meaning::Unique { first, stride }) => Source::Unique { first: narrow(*first), stride: narrow(*stride) },
        Some(Meaning::Kept { slot, plus }) => Source::Kept { slot: *slot, plus: *plus },
        Some(Meaning::Ingredient) => unreachable!("an argument that a statement names is carried by the plan"),
    };
    Ok(vec![source])
}
