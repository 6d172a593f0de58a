//! What a disk holds after a power cut: a file system that records every write and sync, and a replayer that rebuilds
//! the disk as a power cut at any moment of the recording could have left it.
//!
//! The crate contains nothing about databases or benchmarks. A program writes to a directory under [`record::mount`].
//! The caller reads the [`log::Log`], has a [`replay::Replayer`] make an [`replay::Image`] for each [`replay::Cut`],
//! opens the image and judges it. [`minimise::minimise`] finds the lost pieces that matter. `docs/powercut.md` has
//! the promises.

use std::fmt;
use std::path::Path;

pub mod lies;
pub mod log;
pub mod minimise;
pub mod record;
pub mod replay;

/// An error as a sentence for people: which file or process, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }

    pub(crate) fn at(path: &Path, what: &str, error: impl fmt::Display) -> Error {
        Error(format!("{}: {what}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
