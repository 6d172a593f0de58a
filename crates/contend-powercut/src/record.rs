//! The recording file system: a directory passed through, every change logged before it is answered.

use std::path::{Path, PathBuf};

use crate::log::Recorded;
use crate::{Error, Result};

#[derive(Debug, Clone)]
pub struct Options {
    /// Where the files really are. Nobody else may change it while it is mounted.
    pub backing: PathBuf,
    /// An empty directory outside `backing`.
    pub mountpoint: PathBuf,
    /// Must not exist, and lie outside `backing`.
    pub log: PathBuf,
    /// Nothing is recorded beyond this size; the log and the summary say so.
    pub bound_bytes: u64,
    /// How many requests are carried out at once.
    pub threads: usize,
}

/// A running recorder. Dropping it unmounts.
pub struct Mount {
    _mountpoint: PathBuf,
}

/// Mounts and returns; the work is done by threads of this process.
pub fn mount(_options: &Options) -> Result<Mount> {
    Err(Error::new("recording is not there yet"))
}

impl Mount {
    /// So far.
    pub fn recorded(&self) -> Recorded {
        Recorded { entries: 0, bytes: 0, full: false, failed: None }
    }

    /// Until somebody unmounts it (`unmount` below, umount, fusermount3 -u), then the summary.
    pub fn wait(self) -> Result<Recorded> {
        Err(Error::new("recording is not there yet"))
    }

    /// Unmounts and returns the summary. Fails while files are open on it; then it stays mounted.
    pub fn unmount(self) -> Result<Recorded> {
        Err(Error::new("recording is not there yet"))
    }
}

/// Unmounts what is left there, in use or not, dead recorder or not. Nothing mounted there is no error.
pub fn unmount(_mountpoint: &Path) -> Result<()> {
    Err(Error::new("recording is not there yet"))
}

/// Whether something is mounted there (also when its recorder is dead).
pub fn is_mounted(_mountpoint: &Path) -> bool {
    false
}

/// Why recording is not possible here, in words, or nothing.
pub fn unavailable() -> Option<String> {
    None
}
