//! All mistakes of a definition file at once. A reader stops at the first mistake: it is taken out of the text, and the file is
//! read again, until there is none. Mistakes that only the taking out made are not reported.

use super::{FileError, Place, Source};
use toml_edit::{DocumentMut, Item};

/// Most mistakes reported; each costs a reading of the file.
const MOST: usize = 40;

/// Keys from the top of the file, with indexes from 0.
pub type Path = [String];

/// Something that was taken out of a file.
pub struct Removed {
    path: Vec<String>,
}

impl Removed {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether what is wrong at a place, with this text, may follow from what was taken out elsewhere.
pub type Follows = fn(removed: &[Removed], path: &Path, text: &str) -> bool;

/// The first mistake with those found when it is not there. `read` reads a file and reports its first mistake.
#[must_use]
pub fn all(
    source: &Source,
    first: FileError,
    follows: Follows,
    read: impl Fn(&Source) -> Option<FileError>,
) -> FileError {
    let Ok(file) = source.text.parse::<DocumentMut>() else { return first };
    let mut repair = Repair { source, file, removed: vec![], renamed: vec![] };
    let mut found = vec![first.clone()];
    let mut next = Some(first);
    while found.len() < MOST && next.is_some_and(|known| repair.take_out(&known)) {
        next = read(&repair.source());
        let Some(error) = &next else { break };
        let original = repair.original(&error.place.path);
        if !repair.follows(error, &original, follows) {
            found.push(repair.placed(error, &original));
        }
    }
    found.sort_by_key(|error| error.line);
    let further = found.split_off(1);
    FileError { further, ..found.remove(0) }
}

struct Repair<'s> {
    /// As the user wrote it.
    source: &'s Source,
    /// What is left of it.
    file: DocumentMut,
    removed: Vec<Removed>,
    /// Mistyped keys that have their right name now.
    renamed: Vec<(Vec<String>, String)>,
}

impl Repair<'_> {
    fn source(&self) -> Source {
        Source::new(self.source.name.clone(), self.file.to_string())
    }

    /// The path in the user's file of a path in what is left: elements before it are gone, and keys have another name.
    fn original(&self, path: &Path) -> Vec<String> {
        let mut original = path.to_vec();
        for at in 0..original.len() {
            let (before, step) = (original[..at].to_vec(), original[at].clone());
            if let Some((_, written)) = self.renamed.iter().find(|(to, _)| to[..] == original[..=at]) {
                original[at].clone_from(written);
            } else if let Ok(mut index) = step.parse::<usize>() {
                let gone = self.removed.iter().filter(|r| r.path.len() == at + 1 && r.path[..at] == before[..]);
                let mut gone: Vec<usize> = gone.filter_map(|removed| removed.path[at].parse().ok()).collect();
                gone.sort_unstable();
                gone.into_iter().for_each(|gone| index += usize::from(gone <= index));
                original[at] = index.to_string();
            }
        }
        original
    }

    fn follows(&self, error: &FileError, original: &Path, follows: Follows) -> bool {
        let around = self.removed.iter().any(|removed| removed.path.starts_with(original));
        let text = self.text_at(&error.place.path);
        // A key that a table lacks may have been there under an unknown name.
        let table = |path: &Path| path.split_last().map(|(_, table)| table.to_vec());
        let renamed = text.is_empty() && self.removed.iter().any(|removed| table(&removed.path) == table(original));
        around || error.place.by_itself && renamed || !error.place.by_itself && follows(&self.removed, original, &text)
    }

    fn text_at(&self, path: &Path) -> String {
        let mut item = Some(self.file.as_item());
        for step in path {
            item = item.and_then(|item| step.parse::<usize>().map_or_else(|_| item.get(step), |at| item.get(at)));
        }
        item.map(ToString::to_string).unwrap_or_default()
    }

    /// The error as it is in the user's file.
    fn placed(&self, error: &FileError, original: &Path) -> FileError {
        let path: Vec<&str> = original.iter().map(String::as_str).collect();
        let placed = self.source.error(&path, error.message.as_str());
        // The path that the reader shows may be of what is left, or of a part.
        let key = if error.place.by_itself { error.key.clone() } else { placed.key.clone() };
        FileError { key, ..placed }
    }

    /// Makes the file one without this mistake; false if nothing can be taken out.
    fn take_out(&mut self, error: &FileError) -> bool {
        let Place { path, instead, .. } = &*error.place;
        // A key that should be there: the table that lacks it goes.
        (1..=path.len()).rev().any(|depth| {
            let instead = instead.as_deref().filter(|_| depth == path.len());
            self.take_out_at(&path[..depth], instead)
        })
    }

    fn take_out_at(&mut self, path: &Path, instead: Option<&str>) -> bool {
        let original = self.original(path);
        let Some((last, parents)) = path.split_last() else { return false };
        let mut item = Some(self.file.as_item_mut());
        for step in parents {
            item = item.and_then(|item| match step.parse::<usize>() {
                Ok(at) => item.get_mut(at),
                Err(_) => item.get_mut(step),
            });
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
            _ => self.removed.push(Removed { path: original }),
        }
        true
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
