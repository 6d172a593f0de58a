//! Definition files (workloads, studies, scenarios) and errors that point into them: file, line, key.

pub mod library;
pub mod mistakes;

use serde::de::DeserializeOwned;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

/// A definition file: its name as the user knows it, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Path, or `built-in workload NAME`.
    pub name: String,
    pub text: String,
}

/// A mistake in a definition file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    pub file: String,
    /// Counted from 1; 0 if the error is about the file as a whole.
    pub line: usize,
    /// Path of the key, such as `transaction.comment.step[2].sql`; empty for syntax errors.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
    /// The file's other mistakes, in the order of their lines.
    pub further: Vec<FileError>,
    pub(crate) place: Box<Location>,
}

/// The place of a mistake, for the code that removes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Location {
    /// Path of the key, even where `FileError::key` does not show it; empty if there is none.
    path: Vec<String>,
    /// Whether the keys and types of this file alone forbid it, whatever the rest of the file contains.
    by_itself: bool,
    /// The key that was probably meant.
    instead: Option<String>,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        self.further.iter().try_for_each(|error| write!(f, "\n{error}"))
    }
}

impl std::error::Error for FileError {}

impl FileError {
    /// Joins errors into one, without repetitions and in their order; `None` if there are none.
    pub fn together(errors: impl IntoIterator<Item = FileError>) -> Option<FileError> {
        let mut all: Vec<FileError> = vec![];
        for one in errors.into_iter().flat_map(FileError::each) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(FileError { further: all.collect(), ..first })
    }

    /// The errors that were joined, one by one.
    fn each(mut self) -> Vec<FileError> {
        let further = std::mem::take(&mut self.further);
        std::iter::once(self).chain(further).collect()
    }
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Reads the file into `T`, whose fields define the allowed keys.
    ///
    /// # Errors
    /// Syntax, unknown keys, missing keys and wrong types, with their line.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(&self.text).map_err(|e| self.toml_error(&e))
    }

    /// The file as tables whose values carry their place in the text.
    ///
    /// # Errors
    /// Syntax, with its line.
    pub fn table(&self) -> Result<DeTable<'_>, FileError> {
        DeTable::parse(&self.text).map(Spanned::into_inner).map_err(|e| self.toml_error(&e))
    }

    /// Reads a table of this file, or one assembled from its values, into `T`.
    ///
    /// # Errors
    /// As for [`Source::parse`].
    pub fn read<T: DeserializeOwned>(&self, table: Spanned<DeTable<'_>>) -> Result<T, FileError> {
        T::deserialize(Deserializer::from(table)).map_err(|e| self.toml_error(&e))
    }

    /// Whether the file has a value at a path of keys.
    pub fn contains(&self, path: &[&str]) -> bool {
        let Ok(document) = toml_edit::Document::parse(self.text.as_str()) else { return false };
        path.iter().try_fold(document.as_item(), |item, step| below(item, step)).is_some()
    }

    /// For each of these lists, named by their keys: the indexes of its elements that have a key.
    pub fn with_key(&self, lists: &[Vec<&str>], key: &str) -> Vec<Vec<usize>> {
        let document = toml_edit::Document::parse(self.text.as_str()).ok();
        let whole = document.as_ref().map(|document| document.as_item());
        let indexes = |list: &Vec<&str>| {
            let list = list.iter().try_fold(whole?, |item, step| item.get(*step))?;
            let elements = (0..).map_while(|at| list.get(at)).enumerate();
            Some(elements.filter(|(_, element)| element.get(key).is_some()).map(|(at, _)| at).collect())
        };
        lists.iter().map(|list| indexes(list).unwrap_or_default()).collect()
    }

    fn toml_error(&self, error: &toml::de::Error) -> FileError {
        let (instead, path) = (meant(error.message()), self.path_of(error));
        let is_whole = path.len() == 1 && error.message().starts_with("missing field ");
        FileError {
            file: self.name.clone(),
            line: error.span().filter(|_| !is_whole).map_or(0, |span| self.line_of_byte(span.start)),
            key: self.display_path(&path.iter().map(String::as_str).collect::<Vec<_>>()),
            message: match &instead {
                Some(found) => format!("{}; did you mean `{found}`?", error.message()),
                None => error.message().to_string(),
            },
            further: vec![],
            place: Box::new(Location {
                path,
                by_itself: true,
                instead: instead.filter(|_| error.message().starts_with("unknown field ")),
            }),
        }
    }

    /// An error at a key. `path` has names and, for arrays, indexes from 0.
    pub fn error(&self, path: &[&str], message: impl Into<String>) -> FileError {
        FileError {
            file: self.name.clone(),
            line: self.line_of(path),
            key: self.display_path(path),
            message: message.into(),
            further: vec![],
            place: Box::new(Location { path: path.iter().map(ToString::to_string).collect(), ..Location::default() }),
        }
    }

    /// The line of the longest prefix of `path` that is in the file; 0 if there is none.
    fn line_of(&self, path: &[&str]) -> usize {
        let Ok(document) = toml_edit::Document::parse(self.text.as_str()) else { return 0 };
        let mut item = document.as_item();
        let mut line = 0;
        for step in path {
            let Some(next) = below(item, step) else { break };
            let key = item.as_table_like().and_then(|table| table.get_key_value(step)).map(|(key, _)| key);
            let key_start = key.and_then(|key| key.span()).map(|span| span.start);
            // A table that appears only in the headers of its sub-tables has no span.
            if let Some(start) = key_start.or_else(|| next.span().map(|span| span.start)) {
                line = self.line_of_byte(start);
            }
            item = next;
        }
        line
    }

    /// A path as in messages: `transaction.comment.step[2].sql`.
    fn display_path(&self, path: &[&str]) -> String {
        let document = toml_edit::Document::parse(self.text.as_str()).ok();
        let mut item = document.as_ref().map(|document| document.as_item());
        let mut out = String::new();
        for step in path {
            let is_key = item.is_some_and(toml_edit::Item::is_table_like);
            match step.parse::<usize>() {
                Ok(_) if item.is_some_and(|item| item.as_value().is_some_and(|of| !of.is_array())) && !is_key => {}
                Ok(index) if !is_key => out.push_str(&format!("[{}]", index + 1)),
                _ if out.is_empty() => out.push_str(step),
                _ => {
                    out.push('.');
                    out.push_str(step);
                }
            }
            item = item.and_then(|item| below(item, step));
        }
        out
    }

    /// Path of the wrong key, or of the table that lacks one.
    fn path_of(&self, error: &toml::de::Error) -> Vec<String> {
        let Some(span) = error.span() else { return vec![] };
        let lacks = error.message().strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        // If the file as a whole lacks a key, the error has no useful span.
        let is_whole = lacks.is_some() && (span.is_empty() || span.end >= self.text.len());
        let mut path = if is_whole { vec![] } else { self.path_of_byte(span.start) };
        path.extend(lacks.map(str::to_string));
        path
    }

    /// The deepest key whose name or value contains this byte of the text.
    fn path_of_byte(&self, byte: usize) -> Vec<String> {
        let mut deepest = vec![];
        if let Ok(document) = toml_edit::Document::parse(self.text.as_str()) {
            find_byte(document.as_item(), byte, &mut vec![], &mut deepest);
        }
        deepest
    }

    fn line_of_byte(&self, byte: usize) -> usize {
        let end = byte.min(self.text.len());
        self.text.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() + 1
    }
}

/// Stores the path of the deepest item at a byte in `deepest`.
fn find_byte(item: &toml_edit::Item, byte: usize, path: &mut Vec<String>, deepest: &mut Vec<String>) {
    let is_at = |span: Option<std::ops::Range<usize>>| span.is_some_and(|span| span.contains(&byte));
    if is_at(item.span()) && path.len() > deepest.len() {
        deepest.clone_from(path);
    }
    let mut below = |step: String, item: &toml_edit::Item, is_key: bool| {
        path.push(step);
        if is_key && path.len() > deepest.len() {
            deepest.clone_from(path);
        }
        find_byte(item, byte, path, deepest);
        path.pop();
    };
    if let Some(table) = item.as_table_like() {
        for (name, value) in table.iter() {
            let key = table.key(name).and_then(toml_edit::Key::span);
            below(name.to_string(), value, is_at(key));
        }
    } else if let Some(tables) = item.as_array_of_tables() {
        for (index, table) in tables.iter().enumerate() {
            below(index.to_string(), &toml_edit::Item::Table(table.clone()), false);
        }
    } else if let Some(array) = item.as_array() {
        for (index, value) in array.iter().enumerate() {
            below(index.to_string(), &toml_edit::Item::Value(value.clone()), false);
        }
    }
}

/// The value at a key of a table, or at an index of an array.
fn below<'i>(item: &'i toml_edit::Item, step: &str) -> Option<&'i toml_edit::Item> {
    if item.is_table_like() { item.get(step) } else { item.get(step.parse::<usize>().ok()?) }
}

/// The word that was probably meant, from serde's message: it quotes the wrong word first, then the allowed ones.
fn meant(message: &str) -> Option<String> {
    let mut words = message.strip_prefix("unknown ")?.split('`').skip(1).step_by(2);
    words.next().and_then(|wrong| nearest(wrong, words)).map(str::to_string)
}

/// The known word that is nearest to a mistyped one, if any is near.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let limit = (word.chars().count() / 3).max(1);
    let near = known.into_iter().map(|found| (edits(word, found), found)).filter(|(edits, _)| *edits <= limit);
    near.min_by_key(|(edits, _)| *edits).map(|(_, found)| found)
}

/// ` (did you mean ...?)`, or an empty string if no known word is near.
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map_or(String::new(), |found| format!(" (did you mean `{found}`?)"))
}

/// Edit distance: letters to insert, remove or replace, and neighbours to exchange, to turn one word into the other.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_words_find_their_neighbour() {
        let known = ["margin", "rounds", "headline", "questions"];
        for (word, expected) in [
            ("margins", Some("margin")),
            ("rouns", Some("rounds")),
            ("haedline", Some("headline")),
            ("margin", Some("margin")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("bnak", ["bank", "knab"]), Some("bank"), "exchanged letters are one mistake");
    }

    const TEXT: &str = "about = 'x'\n\n[table.posts]\nrows = 5\n\n[[invariant]]\nname = 'a'\n[[invariant]]\nname = 'b'\nsql = ''\n\n[load]\nretry = { tries = 3 }\n";

    #[test]
    fn errors_name_the_line_of_their_key() {
        let source = Source::new("w.toml", TEXT);
        for (path, line) in [
            (&["about"][..], 1),
            (&["table", "posts", "rows"], 4),
            (&["table", "posts"], 3),
            (&["invariant", "1", "sql"], 10),
            (&["invariant", "1", "missing"], 8),
            (&["load", "retry", "tries"], 13),
        ] {
            assert_eq!(source.error(path, "wrong").line, line, "{path:?}");
        }
        assert_eq!(
            source.error(&["invariant", "1", "sql"], "is empty").to_string(),
            "w.toml:10: invariant[2].sql: is empty"
        );
        let numbered = Source::new("w.toml", "[transaction.1]\nkind = 'x'\n[transaction.2]\nkind = 'y'\n");
        assert_eq!(numbered.error(&["transaction", "2", "kind"], "").to_string(), "w.toml:4: transaction.2.kind: ");
    }

    #[test]
    fn unknown_keys_and_syntax_errors_name_their_line() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct File {
            about: String,
        }
        let unknown = Source::new("w.toml", "about = 'x'\ncolour = 1\n").parse::<File>().unwrap_err();
        assert_eq!((unknown.line, unknown.key.as_str()), (2, "colour"), "{unknown}");
        assert!(unknown.message.contains("colour"), "{unknown}");
        let near = Source::new("w.toml", "abut = 'x'\n").parse::<File>().unwrap_err();
        assert!(near.message.ends_with("; did you mean `about`?"), "{near}");
        let syntax = Source::new("w.toml", "about = 'x'\nb = = 1\n").parse::<File>().unwrap_err();
        assert_eq!((syntax.line, syntax.key.as_str()), (2, ""), "{syntax}");
    }
}
