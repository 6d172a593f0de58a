//! The persistence models by name. `docs/powercut.md` has their exact promises.

use crate::{Error, Result};

/// Version of all models: results of different versions must not be compared. Since version 2, a data-only sync
/// leaves renames after the file's creation uncertain.
pub const MODELS_VERSION: u32 = 2;

/// What a cut does to writes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Model {
    /// The process is killed and the machine continues: everything written is there.
    Kill,
    /// Everything that was not synced is lost.
    Drop,
    /// Any subset of the pages of 4 KiB is there, each in any of its versions.
    Reorder,
    /// As `Reorder`, and pages can be torn into sectors of 512 bytes.
    Torn,
    /// Everything before some moment is there, and nothing after it.
    Prefix,
}

/// When names, sizes and truncations persist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Namespace {
    /// In order, as in ext4 and XFS.
    Journal,
    /// A change of a directory needs a sync of that directory.
    Posix,
}

/// Identifies one image, bit for bit: the same log, faults and cut give the same image on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Number of entries that have happened.
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
        found.ok_or_else(|| Error::new(format!("`{name}` is not a model; models are {}", known())))
    }
}

impl std::str::FromStr for Namespace {
    type Err = Error;

    fn from_str(name: &str) -> Result<Namespace> {
        let found = Namespace::ALL.into_iter().find(|namespace| namespace.name() == name);
        found.ok_or_else(|| {
            Error::new(format!("`{name}` is not a namespace model; namespace models are journal, posix"))
        })
    }
}
