//! The disk as a power cut could have left it: the replayer, which makes images under the persistence models.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use fate::{Chance, Data, Fate, Metadata};
use image::{Content, Item};
use names::Directories;
use object::{At, Change};
use state::{Base, State};

use crate::lies::Lie;
use crate::log::{Entry, Ino, Kind, Log, Op, ROOT};
use crate::{Error, Result};

mod fate;
mod files;
mod image;
mod loss;
mod model;
mod names;
mod object;
mod state;

pub use image::Image;
pub use loss::Loss;
pub use model::{Cut, MODELS_VERSION, Model, Namespace};

/// Rebuilds images from the log and a copy of the directory as it was when recording began.
pub struct Replayer {
    base: Base,
    entries: Vec<Entry>,
    /// Writes with O_SYNC or O_DSYNC for which the kernel sent no sync.
    self_synced: HashSet<usize>,
    lies: Vec<Lie>,
    state: State,
}

impl Replayer {
    /// `base`: a copy of the recorded directory, made before recording began.
    pub fn new(base: &Path, log: &Log) -> Result<Replayer> {
        Replayer::with_lies(base, log, &[])
    }

    /// As [`Replayer::new`], with a disk that has these faults.
    pub fn with_lies(base: &Path, log: &Log, lies: &[Lie]) -> Result<Replayer> {
        if log.entries.len() >= At::MAX as usize {
            return Err(Error::new(format!("the log has {} entries, more than can be replayed", log.entries.len())));
        }
        let base = Base::load(base, log)?;
        let state = State::new(&base, lies);
        let (entries, self_synced) = (log.entries.clone(), self_synced(&log.entries));
        Ok(Replayer { base, entries, self_synced, lies: lies.to_vec(), state })
    }

    /// The same recording with other faults of the disk. Cheaper than reading everything again.
    pub fn lying(&self, lies: &[Lie]) -> Replayer {
        Replayer {
            base: self.base.clone(),
            entries: self.entries.clone(),
            self_synced: self.self_synced.clone(),
            lies: lies.to_vec(),
            state: State::new(&self.base, lies),
        }
    }

    /// The image of a cut. Ascending positions are cheap; a smaller one starts from the beginning.
    pub fn image(&mut self, cut: &Cut) -> Result<Image> {
        self.advance(cut.position)?;
        let fate = self.fate(cut);
        Ok(self.build(cut.namespace, &fate))
    }

    fn advance(&mut self, position: usize) -> Result<()> {
        if position > self.entries.len() {
            let n = self.entries.len();
            return Err(Error::new(format!("there is no position {position}: the log has {n} entries")));
        }
        if position < self.state.position {
            self.state = State::new(&self.base, &self.lies);
        }
        while self.state.position < position {
            let i = self.state.position;
            self.state.advance(&self.entries[i], self.self_synced.contains(&i))?;
        }
        Ok(())
    }

    /// Decides what reaches the disk, as `docs/powercut.md` promises.
    fn fate(&self, cut: &Cut) -> Fate {
        let state = &self.state;
        let certain = match cut.namespace {
            Namespace::Journal => state.committed,
            Namespace::Posix => 0,
        };
        let chance = Chance::new(cut);
        match cut.model {
            Model::Kill => Fate::all(),
            Model::Drop => Fate { data: Data::Before(0), metadata: Metadata::Before(certain) },
            Model::Prefix => {
                let point = self.moment(cut, &chance);
                Fate { data: Data::Before(point), metadata: Metadata::Before(point.max(certain)) }
            }
            Model::Reorder | Model::Torn => {
                let metadata = match cut.namespace {
                    Namespace::Journal => Metadata::Before(self.journal_end(&chance)),
                    Namespace::Posix => Metadata::Lost(self.random_losses(&chance)),
                };
                Fate { data: Data::Random(chance), metadata }
            }
        }
    }

    /// A random entry between the first change that is not certain and the cut.
    fn moment(&self, cut: &Cut, chance: &Chance) -> At {
        let position = self.state.position as At;
        let names = self.state.names(cut.namespace).pending.first().map(|change| change.at);
        let files = self.state.objects.values().filter_map(|object| object.pending.first()).map(|event| event.at);
        let first = files.chain(names).min().unwrap_or(position);
        first + chance.point((position - first) as usize) as At
    }

    /// A random end of the journal, not before the entries that are certain.
    fn journal_end(&self, chance: &Chance) -> At {
        let committed = self.state.committed;
        let mut pending: Vec<At> = self.resizings().map(|(_, at)| at).filter(|at| *at >= committed).collect();
        pending.extend(self.state.names(Namespace::Journal).pending.iter().map(|change| change.at));
        pending.sort_unstable();
        pending.get(chance.point(pending.len())).copied().unwrap_or(self.state.position as At)
    }

    /// Truncations and growths that are not certain, file by file.
    fn resizings(&self) -> impl Iterator<Item = (Ino, At)> {
        self.state.objects.values().flat_map(|object| {
            let resizing = |change: &Change| matches!(change, Change::Truncate { .. } | Change::Allocate { .. });
            object.pending.iter().filter(move |event| resizing(&event.change)).map(|event| (object.ino, event.at))
        })
    }

    fn random_losses(&self, chance: &Chance) -> HashSet<At> {
        let mut losses = self.state.names(Namespace::Posix).random_losses(chance);
        losses.extend(self.resizing_losses(|at| chance.loses(at)));
        losses
    }

    /// The changes of size that are lost: for each file, all from some point on.
    fn resizing_losses(&self, mut lost: impl FnMut(At) -> bool) -> HashSet<At> {
        let mut losing = None;
        let mut losses = HashSet::new();
        for (ino, at) in self.resizings() {
            if losing == Some(ino) || lost(at) {
                losing = Some(ino);
                losses.insert(at);
            }
        }
        losses
    }

    fn build(&self, namespace: Namespace, fate: &Fate) -> Image {
        let names = self.state.names(namespace);
        let changed = match &fate.metadata {
            Metadata::All => Directories::new(),
            _ => names.changed(fate),
        };
        let all = matches!(fate.metadata, Metadata::All);
        let directory = |ino: &Ino| match all {
            true => self.state.live.get(ino),
            false => changed.get(ino).or_else(|| names.durable.get(ino)),
        };
        let mut image = Image::default();
        let mut first_names: HashMap<Ino, PathBuf> = HashMap::new();
        let mut open = vec![(ROOT, PathBuf::new())];
        while let Some((ino, path)) = open.pop() {
            for (name, child) in directory(&ino).into_iter().flatten() {
                let Some(object) = self.state.objects.get(child) else { continue };
                let path = path.join(name);
                let content = match object.kind {
                    Kind::Other => continue,
                    Kind::Directory => {
                        open.push((*child, path.clone()));
                        Content::None
                    }
                    Kind::Symlink => Content::Target(object.target.clone()),
                    Kind::File => match first_names.get(child) {
                        Some(first) => Content::SameAs(first.clone()),
                        None => {
                            first_names.insert(*child, path.clone());
                            let patches = if object.pending.is_empty() { vec![] } else { object.patches(fate) };
                            Content::Bytes { durable: object.durable.clone(), patches }
                        }
                    },
                };
                image.items.push(Item { path, kind: object.kind, attributes: object.attributes, content });
            }
        }
        image
    }
}

/// Of this many writes with O_DSYNC at least one is directly followed by a sync of the file, if the kernel sends syncs
/// after such writes. Not all are: the kernel splits long writes, and writes of several threads overlap.
const WRITES_OF_A_SYNC: usize = 4;

/// Writes with O_DSYNC that are durable by themselves: all of a log if the kernel sends no syncs after them. If it does,
/// only the sync makes a write certain. A program's own syncs on an older kernel follow few such writes.
fn self_synced(entries: &[Entry]) -> HashSet<usize> {
    let mut synced_next: HashMap<Ino, bool> = HashMap::new();
    let (mut found, mut followed) = (HashSet::new(), 0);
    for (i, entry) in entries.iter().enumerate().rev() {
        match &entry.op {
            Op::Sync { ino, .. } => drop(synced_next.insert(*ino, true)),
            Op::Write { ino, sync, .. } => {
                let synced = synced_next.insert(*ino, false).unwrap_or(false);
                if *sync {
                    found.insert(i);
                    followed += usize::from(synced);
                }
            }
            _ => (),
        }
    }
    if followed * WRITES_OF_A_SYNC >= found.len() { HashSet::new() } else { found }
}
