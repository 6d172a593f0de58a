//! Names: directories as they are certainly on disk, and the changes since. Each namespace model has its own
//! instance, because the models differ in when a change is certain.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};

use super::fate::{Chance, Fate};
use super::object::At;
use crate::log::Ino;

pub type Directory = BTreeMap<OsString, Ino>;
pub type Directories = HashMap<Ino, Directory>;

/// A change of one or several names in one step, which makes a rename atomic.
#[derive(Clone)]
pub struct Renaming {
    pub at: At,
    pub names: Vec<(Ino, OsString, Option<Ino>)>,
    /// Directories move in the order of their moves; otherwise one could end up inside itself.
    pub moves_directory: bool,
}

pub struct Names {
    pub durable: Directories,
    pub pending: Vec<Renaming>,
}

impl Renaming {
    pub fn apply(&self, directories: &mut Directories) {
        for (parent, name, ino) in &self.names {
            let directory = directories.entry(*parent).or_default();
            match ino {
                Some(ino) => drop(directory.insert(name.clone(), *ino)),
                None => drop(directory.remove(name)),
            }
        }
    }

    /// The keys of earlier changes that must persist first: those of the same name (an old file is removed before a
    /// new one gets its name), and moves of directories.
    fn keys(&self) -> impl Iterator<Item = (Ino, &OsStr)> {
        let moving = self.moves_directory.then_some((0, OsStr::new("")));
        self.names.iter().map(|(parent, name, _)| (*parent, name.as_os_str())).chain(moving)
    }
}

impl Names {
    /// Makes all changes before the entry certain.
    pub fn commit(&mut self, before: At) {
        let certain = self.pending.partition_point(|change| change.at < before);
        for change in self.pending.drain(..certain) {
            change.apply(&mut self.durable);
        }
    }

    /// Makes the changes of this directory certain, and those that must persist before them.
    pub fn commit_directory(&mut self, directory: Ino) {
        let mut needed: HashSet<(Ino, OsString)> = HashSet::new();
        let mut certain = vec![false; self.pending.len()];
        for (i, change) in self.pending.iter().enumerate().rev() {
            let inside = change.names.iter().any(|(parent, ..)| *parent == directory);
            if inside || change.keys().any(|(parent, name)| needed.contains(&(parent, name.to_os_string()))) {
                certain[i] = true;
                needed.extend(change.keys().map(|(parent, name)| (parent, name.to_os_string())));
            }
        }
        let durable = &mut self.durable;
        let mut certain = certain.into_iter();
        self.pending.retain(|change| {
            let certain = certain.next().unwrap_or(false);
            if certain {
                change.apply(durable);
            }
            !certain
        });
    }

    /// The changes that are lost, given a choice for each; the result respects the order between them.
    pub fn losses(&self, mut lost: impl FnMut(At) -> bool) -> HashSet<At> {
        let mut keys: HashSet<(Ino, &OsStr)> = HashSet::new();
        let mut losses = HashSet::new();
        for change in &self.pending {
            if change.keys().any(|key| keys.contains(&key)) || lost(change.at) {
                keys.extend(change.keys());
                losses.insert(change.at);
            }
        }
        losses
    }

    pub fn random_losses(&self, chance: &Chance) -> HashSet<At> {
        self.losses(|at| chance.loses(at))
    }

    /// The directories that differ from their durable state.
    pub fn changed(&self, fate: &Fate) -> Directories {
        let mut changed = Directories::new();
        for change in self.pending.iter().filter(|change| fate.keeps_metadata(change.at)) {
            for (parent, ..) in &change.names {
                changed.entry(*parent).or_insert_with(|| self.durable.get(parent).cloned().unwrap_or_default());
            }
            change.apply(&mut changed);
        }
        changed
    }
}
