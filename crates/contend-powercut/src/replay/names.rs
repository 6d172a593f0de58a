//! Names: directories as they are on disk for certain, and the changes since. There is one of these for each namespace
//! model, as they differ in when a change is certain.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};

use super::fate::{Chance, Fate};
use super::object::At;
use crate::log::Ino;

pub type Directory = BTreeMap<OsString, Ino>;
pub type Directories = HashMap<Ino, Directory>;

/// Some names get a new meaning, in one step: that is what makes a rename atomic.
#[derive(Clone)]
pub struct Renaming {
    pub at: At,
    pub names: Vec<(Ino, OsString, Option<Ino>)>,
    /// Directories change places in the order in which they did: they would end up inside each other otherwise.
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

    /// What it must not overtake: another change of the same name (the unlink of an old file, before a new one of that
    /// name), or another directory's move.
    fn keys(&self) -> impl Iterator<Item = (Ino, &OsStr)> {
        let moving = self.moves_directory.then_some((0, OsStr::new("")));
        self.names.iter().map(|(parent, name, _)| (*parent, name.as_os_str())).chain(moving)
    }
}

impl Names {
    /// All changes before the entry are certain.
    pub fn commit(&mut self, before: At) {
        let certain = self.pending.partition_point(|change| change.at < before);
        for change in self.pending.drain(..certain) {
            change.apply(&mut self.durable);
        }
    }

    /// The changes of this directory are certain, and what they must not overtake.
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

    /// Which changes are lost when each may be, in an order that could have been.
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

    /// The directories that differ from the durable ones.
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
