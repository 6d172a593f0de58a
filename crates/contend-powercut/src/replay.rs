//! The disk as a power cut could have left it.

use std::path::Path;

use crate::lies::Lie;
use crate::log::{Ino, Log};
use crate::{Error, Result};

/// The version of all models: figures of different versions must not be compared.
pub const MODELS_VERSION: u32 = 1;

/// What a cut does to writes that were not synced. `docs/powercut.md` has the exact promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Model {
    /// The process dies, the machine goes on: everything written is there.
    Kill,
    /// Nothing that was not synced is there.
    Drop,
    /// Any pages of 4 KiB are there, each in any of its versions.
    Reorder,
    /// The same, and pages can be torn into sectors of 512 bytes.
    Torn,
    /// Everything up to some moment is there, and nothing later.
    Prefix,
}

/// When names, sizes and cuts of files persist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Namespace {
    /// In order, as ext4 and XFS do.
    Journal,
    /// A change of a directory needs a sync of that directory.
    Posix,
}

/// One image, bit for bit: the same log, lies and cut give the same image on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cut {
    /// The entries before it have happened.
    pub position: usize,
    pub model: Model,
    pub namespace: Namespace,
    pub seed: u64,
}

impl Model {
    pub const ALL: [Model; 5] = [Model::Kill, Model::Drop, Model::Reorder, Model::Torn, Model::Prefix];

    pub fn name(self) -> &'static str {
        match self {
            Model::Kill => "kill",
            Model::Drop => "drop",
            Model::Reorder => "reorder",
            Model::Torn => "torn",
            Model::Prefix => "prefix",
        }
    }
}

impl Namespace {
    pub const ALL: [Namespace; 2] = [Namespace::Journal, Namespace::Posix];

    pub fn name(self) -> &'static str {
        match self {
            Namespace::Journal => "journal",
            Namespace::Posix => "posix",
        }
    }
}

impl std::str::FromStr for Model {
    type Err = Error;

    fn from_str(name: &str) -> Result<Model> {
        let known = || Model::ALL.map(Model::name).join(", ");
        let found = Model::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| Error::new(format!("`{name}` is no model; there are {}", known())))
    }
}

impl std::str::FromStr for Namespace {
    type Err = Error;

    fn from_str(name: &str) -> Result<Namespace> {
        let found = Namespace::ALL.into_iter().find(|namespace| namespace.name() == name);
        found.ok_or_else(|| Error::new(format!("`{name}` is no namespace model; there are journal, posix")))
    }
}

/// A piece that an image has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The entry of the log that made it.
    pub entry: usize,
    pub ino: Ino,
    /// Path of the file at the cut (or its last one).
    pub path: String,
    /// Of data: where and how many bytes. Names and sizes: 0, 0.
    pub offset: u64,
    pub bytes: u64,
    /// In words: `write of 4096 bytes at 8192`, `name removed`, ...
    pub what: String,
}

/// Rebuilds images from a copy of the directory as it was when recording began, and the log.
pub struct Replayer {
    _position: usize,
}

/// A directory tree. It does not depend on the replayer any more, so it can be written by another thread.
pub struct Image {
    lost: Vec<Loss>,
}

impl Replayer {
    /// `base`: a copy of the recorded directory, made before recording began.
    pub fn new(base: &Path, log: &Log) -> Result<Replayer> {
        Replayer::with_lies(base, log, &[])
    }

    /// On a disk that breaks its word.
    pub fn with_lies(_base: &Path, _log: &Log, _lies: &[Lie]) -> Result<Replayer> {
        Err(Error::new("replaying is not there yet"))
    }

    /// Ascending positions are cheap; a smaller one than before starts again.
    pub fn image(&mut self, _cut: &Cut) -> Result<Image> {
        Err(Error::new("replaying is not there yet"))
    }
}

impl Image {
    /// What it lacks of the tree as the program saw it at the cut.
    pub fn lost(&self) -> &[Loss] {
        &self.lost
    }

    /// Into a directory that is empty or not there.
    pub fn write(&self, _dir: &Path) -> Result<()> {
        Err(Error::new("replaying is not there yet"))
    }

    /// The same, after removing what the directory has.
    pub fn rewrite(&self, dir: &Path) -> Result<()> {
        self.write(dir)
    }
}
