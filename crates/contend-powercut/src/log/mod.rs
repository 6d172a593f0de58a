//! The log: what reached the disk, in order. Entries in memory; `format` has the bytes, `writer` appends them.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

mod format;
mod writer;

pub use writer::{Recorded, Writer, now_ns};

use crate::{Error, Result};

/// A file, directory or link: a number that the recorder gives once and never again.
pub type Ino = u64;

/// The top directory.
pub const ROOT: Ino = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    /// A socket or pipe: it has a name, and is left out of images.
    Other,
}

/// Permissions and owner. Kept so that the same user can open an image; no model loses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

/// Something that was there when recording began. A second name of the same file has the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub parent: Ino,
    pub name: OsString,
    pub ino: Ino,
    pub kind: Kind,
    pub attributes: Attributes,
    pub size: u64,
}

/// One change of the file system, or one sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Create {
        parent: Ino,
        name: OsString,
        ino: Ino,
        kind: Kind,
        attributes: Attributes,
        target: OsString,
    },
    Link {
        ino: Ino,
        parent: Ino,
        name: OsString,
    },
    /// A name is taken away: unlink or rmdir. The file lives on while other names or open handles have it.
    Remove {
        parent: Ino,
        name: OsString,
    },
    /// What had the new name is replaced in the same step; with `exchange` both names change places.
    Rename {
        parent: Ino,
        name: OsString,
        to_parent: Ino,
        to_name: OsString,
        exchange: bool,
    },
    /// `sync`: the file was opened with O_SYNC or O_DSYNC, so this write is on disk when it is answered.
    Write {
        ino: Ino,
        offset: u64,
        data: Arc<[u8]>,
        sync: bool,
    },
    Truncate {
        ino: Ino,
        size: u64,
    },
    /// The file is at least this long; what is new reads as zeros.
    Allocate {
        ino: Ino,
        size: u64,
    },
    /// The range reads as zeros; the size stays.
    Zero {
        ino: Ino,
        offset: u64,
        length: u64,
    },
    Attributes {
        ino: Ino,
        attributes: Attributes,
    },
    Sync {
        ino: Ino,
        data_only: bool,
    },
    SyncDirectory {
        ino: Ino,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// CLOCK_MONOTONIC, taken after the request came in and before it was answered; never smaller than in the entry before.
    pub at_ns: u64,
    pub op: Op,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    pub known: Vec<Known>,
    pub entries: Vec<Entry>,
    /// The recorder ended in order: nothing that was answered is missing.
    pub complete: bool,
    /// The bound on the log's size was reached here: later changes were made but not recorded.
    pub full: bool,
}

/// What is wrong with the end of a log that could be read up to there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    pub what: String,
}

impl Log {
    /// The whole log, or an error that says where it is damaged. A log without its last mark (the recorder was killed)
    /// is read, and is not `complete`.
    pub fn read(path: &Path) -> Result<Log> {
        match Log::salvage(path)? {
            (log, None) => Ok(log),
            (log, Some(damage)) => Err(Error::new(format!(
                "{}: {} at byte {}, after {} whole entries; the recorder was stopped while it wrote, or the file was \
                 changed: record again, or read what is whole with Log::salvage",
                path.display(),
                damage.what,
                damage.offset,
                log.entries.len()
            ))),
        }
    }

    /// Everything up to the last whole entry, and what stands behind it if that is not the end of the file.
    pub fn salvage(path: &Path) -> Result<(Log, Option<Damage>)> {
        let bytes = std::fs::read(path).map_err(|e| Error::at(path, "the log cannot be read", e))?;
        format::decode(&bytes).map_err(|e| Error::at(path, "not a log of contend-powercut", e))
    }

    /// Cuts at positions 0..=len: at position C the entries before C have happened.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The latest instant that a power cut at this position can have had (exclusive); `u64::MAX` at the end.
    /// What was acknowledged before it is acknowledged before the cut.
    pub fn ends_ns(&self, position: usize) -> u64 {
        self.entries.get(position).map_or(u64::MAX, |entry| entry.at_ns)
    }

    /// The earliest instant of a power cut at this position; 0 at the beginning. What was sent after it is sent after
    /// everything that the cut leaves.
    pub fn begins_ns(&self, position: usize) -> u64 {
        position.checked_sub(1).and_then(|i| self.entries.get(i)).map_or(0, |entry| entry.at_ns)
    }

    /// The position at an instant: how many entries came before it.
    pub fn position_at(&self, ns: u64) -> usize {
        self.entries.partition_point(|entry| entry.at_ns < ns)
    }
}
