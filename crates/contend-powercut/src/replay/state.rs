//! The disk after some entries of the log: what the program sees, what is certain, and what is pending.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Namespace;
use super::names::{Directories, Names, Renaming};
use super::object::{At, Change, Object};
use crate::lies::Lie;
use crate::log::{Entry, Ino, Kind, Known, Log, Op, ROOT};
use crate::{Error, Result};

/// Entries between two searches for files that cannot be reached any more.
const SWEEP: usize = 4096;

#[derive(Clone)]
pub struct Base {
    pub known: Vec<Known>,
    pub contents: HashMap<Ino, Arc<Vec<u8>>>,
}

pub struct State {
    pub position: usize,
    pub objects: BTreeMap<Ino, Object>,
    /// Names as the program sees them.
    pub live: Directories,
    /// Durable names under each namespace model, in the order of `Namespace::ALL`.
    pub names: [Names; 2],
    /// Metadata before this entry is certain under the journal model.
    pub committed: At,
    highest: Ino,
    disk: Disk,
}

/// The faults of the disk, and their state.
struct Disk {
    lies: Vec<Lie>,
    syncs: u32,
    written_last: Ino,
    /// Delayed syncs: length of the log at which each is carried out, file, and whether of data only.
    late: Vec<(usize, Ino, bool)>,
}

impl Base {
    pub fn load(base: &Path, log: &Log) -> Result<Base> {
        let mut paths = HashMap::from([(ROOT, base.to_path_buf())]);
        let mut contents = HashMap::new();
        for known in &log.known {
            let path = paths.get(&known.parent).map(|parent: &PathBuf| parent.join(&known.name)).ok_or_else(|| {
                Error::new(format!("the log refers to directory {}, which is not in it", known.parent))
            })?;
            if known.kind == Kind::File && !contents.contains_key(&known.ino) {
                let bytes = std::fs::read(&path).map_err(|e| Error::at(&path, "the base cannot be read", e))?;
                if bytes.len() as u64 != known.size {
                    return Err(Error::new(format!(
                        "{}: {} bytes, but {} when recording began: the base must be a copy of the directory made \
                         before it was mounted",
                        path.display(),
                        bytes.len(),
                        known.size
                    )));
                }
                contents.insert(known.ino, Arc::new(bytes));
            }
            paths.insert(known.ino, path);
        }
        Ok(Base { known: log.known.clone(), contents })
    }
}

impl State {
    pub fn new(base: &Base, lies: &[Lie]) -> State {
        let (mut objects, mut live) = (BTreeMap::new(), Directories::from([(ROOT, BTreeMap::new())]));
        let mut highest = ROOT;
        for known in &base.known {
            highest = highest.max(known.ino);
            live.entry(known.parent).or_default().insert(known.name.clone(), known.ino);
            let object = objects
                .entry(known.ino)
                .or_insert_with(|| Object::new(known.ino, known.kind, known.attributes, Default::default()));
            object.durable = base.contents.get(&known.ino).cloned().unwrap_or_default();
            object.live_size = object.durable.len() as u64;
        }
        let names = [(); 2].map(|()| Names { durable: live.clone(), pending: vec![] });
        let disk = Disk { lies: lies.to_vec(), syncs: 0, written_last: ROOT, late: vec![] };
        State { position: 0, objects, live, names, committed: 0, highest, disk }
    }

    pub fn names(&self, namespace: Namespace) -> &Names {
        &self.names[usize::from(namespace == Namespace::Posix)]
    }

    /// Applies one entry. `synced`: the write is durable without a sync of its own in the log.
    pub fn advance(&mut self, entry: &Entry, synced: bool) -> Result<()> {
        let at = self.position as At;
        self.position += 1;
        self.late_syncs();
        match &entry.op {
            Op::Create { parent, name, ino, kind, attributes, target } => {
                self.highest = self.highest.max(*ino);
                self.objects.insert(*ino, Object::new(*ino, *kind, *attributes, target.clone()));
                self.renamed(at, vec![(*parent, name.clone(), Some(*ino))], &[])?;
                self.shaped(*ino, at);
            }
            Op::Link { ino, parent, name } => self.renamed(at, vec![(*parent, name.clone(), Some(*ino))], &[])?,
            Op::Remove { parent, name } => {
                let ino = self.child(*parent, name)?;
                self.renamed(at, vec![(*parent, name.clone(), None)], &[ino])?;
            }
            Op::Rename { parent, name, to_parent, to_name, exchange } => {
                let moved = self.child(*parent, name)?;
                let replaced = self.live.get(to_parent).and_then(|dir| dir.get(to_name)).copied();
                let back = if *exchange { replaced } else { None };
                let names = vec![(*parent, name.clone(), back), (*to_parent, to_name.clone(), Some(moved))];
                self.renamed(at, names, replaced.as_slice())?;
            }
            Op::Write { ino, offset, data, .. } => {
                self.change(at, *ino, Change::Write { offset: *offset, data: data.clone() })?;
                self.disk.written_last = *ino;
                if synced {
                    self.sync(*ino, true);
                }
            }
            Op::Truncate { ino, size } => self.change(at, *ino, Change::Truncate { size: *size })?,
            Op::Allocate { ino, size } => self.change(at, *ino, Change::Allocate { size: *size })?,
            Op::Zero { ino, offset, length } => {
                self.change(at, *ino, Change::Zero { offset: *offset, length: *length })?;
            }
            Op::Attributes { ino, attributes } => {
                if let Some(object) = self.objects.get_mut(ino) {
                    object.attributes = *attributes;
                }
            }
            Op::Sync { ino, data_only } => self.sync(*ino, *data_only),
            Op::SyncDirectory { ino } => self.sync_directory(*ino),
        }
        if self.position.is_multiple_of(SWEEP) {
            self.sweep();
        }
        Ok(())
    }

    fn child(&self, parent: Ino, name: &OsStr) -> Result<Ino> {
        self.live.get(&parent).and_then(|dir| dir.get(name)).copied().ok_or_else(|| {
            Error::new(format!("entry {}: directory {parent} has no `{}`", self.position - 1, name.to_string_lossy()))
        })
    }

    fn renamed(&mut self, at: At, names: Vec<(Ino, std::ffi::OsString, Option<Ino>)>, also: &[Ino]) -> Result<()> {
        let inos = || names.iter().filter_map(|(.., ino)| *ino);
        if let Some(unknown) = inos().find(|ino| *ino > self.highest) {
            return Err(self.unknown(unknown));
        }
        let is_directory = |ino: Ino| self.objects.get(&ino).is_some_and(|object| object.kind == Kind::Directory);
        let moves_directory = names.len() > 1 && inos().any(is_directory);
        let concerned: Vec<Ino> = names.iter().map(|(parent, ..)| *parent).chain(inos()).collect();
        for ino in concerned.into_iter().chain(also.iter().copied()) {
            self.touch(ino, at);
        }
        let renaming = Renaming { at, names, moves_directory };
        renaming.apply(&mut self.live);
        self.names[0].pending.push(renaming.clone());
        self.names[1].pending.push(renaming);
        Ok(())
    }

    /// Notes a change of metadata. The top directory has no object, but can be synced.
    fn touch(&mut self, ino: Ino, at: At) {
        let object = self.objects.entry(ino).or_insert_with(|| {
            let attributes = crate::log::Attributes { mode: 0o755, uid: 0, gid: 0 };
            Object::new(ino, Kind::Directory, attributes, Default::default())
        });
        object.changed = at + 1;
    }

    fn shaped(&mut self, ino: Ino, at: At) {
        if let Some(object) = self.objects.get_mut(&ino) {
            object.shaped = at + 1;
        }
    }

    fn change(&mut self, at: At, ino: Ino, change: Change) -> Result<()> {
        match self.objects.get_mut(&ino) {
            Some(object) => {
                if object.push(at, change) {
                    object.changed = at + 1;
                    object.shaped = at + 1;
                }
                Ok(())
            }
            // The file has no name and was removed by `sweep`: no program can see it.
            None if ino <= self.highest => Ok(()),
            None => Err(self.unknown(ino)),
        }
    }

    fn unknown(&self, ino: Ino) -> Error {
        Error::new(format!("entry {}: file {ino} was never created: not a log of one recording", self.position - 1))
    }

    /// Carries out a sync, or what a faulty disk does instead.
    fn sync(&mut self, ino: Ino, data_only: bool) {
        self.disk.syncs += 1;
        let mut target = ino;
        for lie in self.disk.lies.clone() {
            match lie {
                Lie::IgnoreSync { every } if self.disk.syncs.is_multiple_of(every.max(1)) => return,
                Lie::IgnoreSyncOf { suffix } if self.live_name(ino).is_some_and(|name| name.ends_with(&suffix)) => {
                    return;
                }
                Lie::LateSync { entries } => return self.disk.late.push((self.position + entries, ino, data_only)),
                Lie::SyncOtherFile => target = self.disk.other_than(ino),
                _ => (),
            }
        }
        self.sync_now(target, data_only);
    }

    fn sync_now(&mut self, ino: Ino, data_only: bool) {
        let keeps_metadata = !self.disk.lies.contains(&Lie::NoMetadata);
        if let Some(object) = self.objects.get_mut(&ino) {
            object.persist();
            if keeps_metadata {
                self.committed = self.committed.max(if data_only { object.shaped } else { object.changed });
                self.names[0].commit(self.committed);
            }
        }
    }

    fn sync_directory(&mut self, ino: Ino) {
        self.disk.syncs += 1;
        let ignored = self.disk.lies.iter().any(|lie| match lie {
            Lie::IgnoreSync { every } => self.disk.syncs.is_multiple_of((*every).max(1)),
            Lie::NoDirectorySync => true,
            _ => false,
        });
        if !ignored {
            if let Some(object) = self.objects.get(&ino) {
                self.committed = self.committed.max(object.changed);
                self.names[0].commit(self.committed);
            }
            self.names[1].commit_directory(ino);
        }
    }

    fn late_syncs(&mut self) {
        let due = self.disk.late.partition_point(|(position, ..)| *position < self.position);
        for (_, ino, data_only) in self.disk.late.drain(..due).collect::<Vec<_>>() {
            self.sync_now(ino, data_only);
        }
    }

    fn live_name(&self, ino: Ino) -> Option<String> {
        let mut all = self.live.values().flatten();
        all.find(|(_, child)| **child == ino).map(|(name, _)| name.to_string_lossy().into_owned())
    }

    /// Removes files that have no name, neither for the program nor in any image.
    fn sweep(&mut self) {
        let mut used: HashSet<Ino> = self.live.values().flat_map(|dir| dir.values().copied()).collect();
        used.insert(ROOT);
        for names in &self.names {
            used.extend(names.durable.values().flat_map(|dir| dir.values().copied()));
            used.extend(names.pending.iter().flat_map(|change| change.names.iter().filter_map(|(.., ino)| *ino)));
        }
        self.objects.retain(|ino, _| used.contains(ino));
        self.live.retain(|ino, _| used.contains(ino));
        self.names.iter_mut().for_each(|names| names.durable.retain(|ino, _| used.contains(ino)));
    }

    /// A path for every file that has one, either as the program sees it or as it is on disk.
    pub fn paths(&self, namespace: Namespace) -> HashMap<Ino, PathBuf> {
        let mut paths = HashMap::new();
        for directories in [&self.live, &self.names(namespace).durable] {
            let mut open = vec![(ROOT, PathBuf::new())];
            while let Some((ino, path)) = open.pop() {
                for (name, child) in directories.get(&ino).into_iter().flatten() {
                    let path = path.join(name);
                    if directories.contains_key(child) {
                        open.push((*child, path.clone()));
                    }
                    paths.entry(*child).or_insert(path);
                }
            }
        }
        paths
    }
}

impl Disk {
    fn other_than(&self, ino: Ino) -> Ino {
        if self.written_last == ino { ROOT } else { self.written_last }
    }
}
