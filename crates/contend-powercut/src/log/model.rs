//! The entries of a log in memory.

use std::ffi::OsString;
use std::sync::Arc;

/// Number of a file, directory or link; the recorder never reuses one.
pub type Ino = u64;

/// The top directory.
pub const ROOT: Ino = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    /// A socket or pipe. It has a name, but is not part of images.
    Other,
}

/// Permissions and owner. They are kept so that the same user can open an image; no model loses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

/// A file, directory or link that existed when recording began. A second name of the same file has the same number.
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
    /// A name is removed: unlink or rmdir. The file exists as long as it has other names or open handles.
    Remove {
        parent: Ino,
        name: OsString,
    },
    /// A file that had the new name is replaced in the same step. With `exchange`, both names are swapped.
    Rename {
        parent: Ino,
        name: OsString,
        to_parent: Ino,
        to_name: OsString,
        exchange: bool,
    },
    /// `sync`: the file was opened with O_SYNC or O_DSYNC, so this write is on disk when it is acknowledged.
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
    /// The file is at least this long; added bytes read as zeros.
    Allocate {
        ino: Ino,
        size: u64,
    },
    /// The range reads as zeros; the size does not change.
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
    /// CLOCK_MONOTONIC, read after the request arrived and before it was answered; never decreases between entries.
    pub at_ns: u64,
    pub op: Op,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    pub known: Vec<Known>,
    pub entries: Vec<Entry>,
    /// The recorder ended in order: every acknowledged change is in the log.
    pub complete: bool,
    /// The log reached its size limit here: later changes were made but not recorded.
    pub full: bool,
}

/// Damage after the last whole entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    pub what: String,
}

impl Log {
    /// Number of entries, and the last position of a cut. At position `p`, the entries before `p` have happened.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Latest time of a power cut at this position (exclusive); `u64::MAX` at the end. A change acknowledged before
    /// it is acknowledged before the cut.
    pub fn ends_ns(&self, position: usize) -> u64 {
        self.entries.get(position).map_or(u64::MAX, |entry| entry.at_ns)
    }

    /// Earliest time of a power cut at this position; 0 at the beginning. A request sent after it is not in the
    /// image.
    pub fn begins_ns(&self, position: usize) -> u64 {
        position.checked_sub(1).and_then(|i| self.entries.get(i)).map_or(0, |entry| entry.at_ns)
    }

    /// The position at a time: the number of earlier entries.
    pub fn position_at(&self, ns: u64) -> usize {
        self.entries.partition_point(|entry| entry.at_ns < ns)
    }
}
