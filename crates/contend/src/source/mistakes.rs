//! Finds all mistakes of a definition file in one call. A reader stops at the first mistake; that mistake is removed
//! from the text and the file is read again, until no mistake is left. Mistakes that only the removal caused are not
//! reported.

use super::{FileError, Location, Source};
use toml_edit::{DocumentMut, InlineTable, Item, Value};

/// Most mistakes reported. Each costs one more reading of the file.
const MOST: usize = 40;

/// Path of keys from the top of the file; indexes count from 0.
pub type Path = [String];

/// A key that was removed from a file, or a required key that was put in.
pub struct Removed {
    path: Vec<String>,
    /// True if the key was missing and was put in.
    is_put_in: bool,
}

impl Removed {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_put_in(&self) -> bool {
        self.is_put_in
    }
}

/// Rules of one kind of file.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Whether a mistake at `path`, with this text, may be caused by keys that were removed or put in elsewhere.
    pub follows: fn(removed: &[Removed], path: &Path, text: &str) -> bool,
    /// For a required key that is missing: its place, and a value in TOML with which the search can continue. Of a table that
    /// is there, the keys that it lacks are put in.
    pub lacking: fn(path: &Path) -> Option<(&Path, &'static str)>,
}

/// Joins the first mistake with those that are found once it is removed. `read` reads a file and reports its first
/// mistake, or several that do not depend on each other.
#[must_use]
pub fn all(source: &Source, first: FileError, kind: Kind, read: impl Fn(&Source) -> Option<FileError>) -> FileError {
    let Ok(file) = source.text.parse::<DocumentMut>() else { return first };
    let mut repair = Repair { source, kind, file, removed: vec![], renamed: vec![] };
    let mut found = first.each();
    let mut next = found.first().cloned();
    while found.len() < MOST && next.is_some_and(|known| repair.take_out(&known)) {
        let errors = read(&repair.source()).map(FileError::each).unwrap_or_default();
        for error in &errors {
            let original = repair.original(&error.place.path);
            let placed = repair.placed(error, &original);
            let is_known = found.iter().any(|known| (known.line, &known.message) == (placed.line, &placed.message));
            if !is_known && !repair.follows(error, &original) {
                found.push(placed);
            }
        }
        next = errors.into_iter().next();
    }
    found.sort_by_key(|error| error.line);
    let further = found.split_off(1);
    FileError { further, ..found.remove(0) }
}

struct Repair<'s> {
    /// The file as the user wrote it.
    source: &'s Source,
    kind: Kind,
    /// The file without the mistakes found so far.
    file: DocumentMut,
    removed: Vec<Removed>,
    /// Mistyped keys that have been renamed, with their correct names.
    renamed: Vec<(Vec<String>, String)>,
}

impl Repair<'_> {
    fn source(&self) -> Source {
        Source::new(self.source.name.clone(), self.file.to_string())
    }

    /// Converts a path in the reduced file to the user's file: adds removed elements before it and restores key
    /// names.
    fn original(&self, path: &Path) -> Vec<String> {
        let mut original = path.to_vec();
        for at in 0..original.len() {
            let (before, step) = (original[..at].to_vec(), original[at].clone());
            if let Some((_, written)) = self.renamed.iter().find(|(to, _)| to[..] == original[..=at]) {
                original[at].clone_from(written);
            } else if let Ok(mut index) = step.parse::<usize>() {
                let gone = self
                    .removed
                    .iter()
                    .filter(|r| !r.is_put_in && r.path.len() == at + 1 && r.path[..at] == before[..]);
                let mut gone: Vec<usize> = gone.filter_map(|removed| removed.path[at].parse().ok()).collect();
                gone.sort_unstable();
                gone.into_iter().for_each(|gone| index += usize::from(gone <= index));
                original[at] = index.to_string();
            }
        }
        original
    }

    fn follows(&self, error: &FileError, original: &Path) -> bool {
        let around = self.removed.iter().any(|removed| removed.path.starts_with(original));
        let text = self.text_at(&error.place.path);
        // A key that the table lacks may be there under a misspelled name.
        let table = |path: &Path| path.split_last().map(|(_, table)| table.to_vec());
        let mut gone = self.removed.iter().filter(|removed| !removed.is_put_in);
        let renamed = text.is_empty() && gone.any(|removed| table(&removed.path) == table(original));
        around
            || error.place.by_itself && renamed
            || !error.place.by_itself && (self.kind.follows)(&self.removed, original, &text)
    }

    fn text_at(&self, path: &Path) -> String {
        let mut item = Some(self.file.as_item());
        for step in path {
            item = item.and_then(|item| step.parse::<usize>().map_or_else(|_| item.get(step), |at| item.get(at)));
        }
        item.map(ToString::to_string).unwrap_or_default()
    }

    /// The error with its place in the user's file.
    fn placed(&self, error: &FileError, original: &Path) -> FileError {
        let path: Vec<&str> = original.iter().map(String::as_str).collect();
        let placed = self.source.error(&path, error.message.as_str());
        // The reader's path may belong to the reduced file; a key that a part lacks has no place in either.
        if error.line == 0 { FileError { key: error.key.clone(), ..placed } } else { placed }
    }

    /// Removes this mistake from the file; false if nothing can be removed.
    fn take_out(&mut self, error: &FileError) -> bool {
        let Location { path, instead, .. } = &*error.place;
        if self.put_in(path) {
            return true;
        }
        // A required key is missing: remove the table that lacks it.
        (1..=path.len()).rev().any(|depth| {
            let instead = instead.as_deref().filter(|_| depth == path.len());
            self.take_out_at(&path[..depth], instead)
        })
    }

    /// Puts in a required key that is missing, if a value is known for it.
    fn put_in(&mut self, path: &Path) -> bool {
        let Some((at, value)) = (self.kind.lacking)(path) else { return false };
        let Some((last, tables)) = at.split_last() else { return false };
        let Ok(value) = value.parse::<Value>() else { return false };
        let mut item = Some(self.file.as_item_mut());
        for step in tables {
            item = item.and_then(|item| below(item, step));
        }
        let Some(table) = item.and_then(Item::as_table_like_mut) else { return false };
        if !table.contains_key(last) {
            table.insert(last, Item::Value(value));
            self.removed.push(Removed { path: at.to_vec(), is_put_in: true });
            return true;
        }
        let Some(there) = table.get_mut(last).and_then(Item::as_table_like_mut) else { return false };
        let needed = value.as_inline_table().into_iter().flat_map(InlineTable::iter);
        let lacked: Vec<_> = needed.filter(|(key, _)| !there.contains_key(key)).collect();
        for (key, value) in &lacked {
            there.insert(key, Item::Value((*value).clone()));
            self.removed.push(Removed { path: [at, &[key.to_string()]].concat(), is_put_in: true });
        }
        !lacked.is_empty()
    }

    fn take_out_at(&mut self, path: &Path, instead: Option<&str>) -> bool {
        let original = self.original(path);
        let Some((last, parents)) = path.split_last() else { return false };
        let mut item = Some(self.file.as_item_mut());
        for step in parents {
            item = item.and_then(|item| below(item, step));
        }
        let Some(item) = item else { return false };
        let Some(taken) = taken_out(item, last) else { return false };
        match (instead, item.as_table_like_mut()) {
            (Some(meant), Some(table)) if !table.contains_key(meant) => {
                table.insert(meant, taken);
                let mut to = original;
                to.pop();
                to.push(meant.to_string());
                self.renamed.push((to, last.clone()));
            }
            _ => self.removed.push(Removed { path: original, is_put_in: false }),
        }
        true
    }
}

/// An entry of a table or an element of an array.
fn below<'i>(item: &'i mut Item, step: &str) -> Option<&'i mut Item> {
    match step.parse::<usize>() {
        Ok(at) => item.get_mut(at),
        Err(_) => item.get_mut(step),
    }
}

/// Removes an entry of a table or an element of an array.
fn taken_out(from: &mut Item, step: &str) -> Option<Item> {
    if let Some(table) = from.as_table_like_mut() {
        return table.remove(step);
    }
    let at: usize = step.parse().ok()?;
    if let Some(tables) = from.as_array_of_tables_mut() {
        return (at < tables.len()).then(|| {
            let taken = tables.get(at).cloned().map_or(Item::None, Item::Table);
            tables.remove(at);
            taken
        });
    }
    let array = from.as_array_mut()?;
    (at < array.len()).then(|| Item::Value(array.remove(at)))
}
