//! The persistence models by name. `docs/powercut.md` has their exact promises.

use crate::{Error, Result};

/// The version of all models: figures of different versions must not be compared. Since 2 a sync of data only leaves
/// names that changed after the file was made uncertain.
pub const MODELS_VERSION: u32 = 2;

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
