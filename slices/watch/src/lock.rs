//! SQLite's locks: the file and bytes of each, and the effect of a lock call of the kernel.
//!
//! Sources: SQLite's `os_unix.c` (the database file) and `wal.c` (the `-shm` file).

use serde::{Deserialize, Serialize};
use std::fmt;

/// First of the lock bytes in the database file.
pub const PENDING_BYTE: i64 = 0x4000_0000;
/// First of the lock bytes in the `-shm` file.
const SHM_BYTE: i64 = 120;

/// The database's file that a lock call concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum File {
    Database,
    Shm,
}

/// A lock of SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lock {
    /// Database file: blocks new readers while a writer waits for the last one.
    Pending,
    /// Database file: held by the one writer.
    Reserved,
    /// Database file: shared by readers; a writer takes it exclusively to change the file (EXCLUSIVE).
    Shared,
    /// `-shm`: held by the one writer in WAL mode.
    WalWrite,
    /// `-shm`: held while the log is copied into the database.
    Checkpoint,
    /// `-shm`: held while the log's index is rebuilt.
    Recover,
    /// `-shm`: held by a reader with this read mark, 0 to 4.
    Read(u8),
    /// `-shm`: held by every connection (the dead-man switch).
    Connected,
}

impl Lock {
    /// All locks of a file.
    fn of(file: File) -> &'static [Lock] {
        use Lock::{Checkpoint, Connected, Pending, Read, Recover, Reserved, Shared, WalWrite};
        match file {
            File::Database => &[Pending, Reserved, Shared],
            File::Shm => &[WalWrite, Checkpoint, Recover, Read(0), Read(1), Read(2), Read(3), Read(4), Connected],
        }
    }

    /// The byte that represents the lock. SHARED has 510 bytes; the first one identifies it.
    fn byte(self) -> i64 {
        match self {
            Lock::Pending => PENDING_BYTE,
            Lock::Reserved => PENDING_BYTE + 1,
            Lock::Shared => PENDING_BYTE + 2,
            Lock::WalWrite => SHM_BYTE,
            Lock::Checkpoint => SHM_BYTE + 1,
            Lock::Recover => SHM_BYTE + 2,
            Lock::Read(mark) => SHM_BYTE + 3 + i64::from(mark),
            Lock::Connected => SHM_BYTE + 8,
        }
    }

    /// Whether it is exclusive to one writer: RESERVED or WAL_WRITE.
    pub fn is_writers(self) -> bool {
        matches!(self, Lock::Reserved | Lock::WalWrite)
    }

    /// Locks in a byte range of a file, both ends included.
    pub fn in_range(file: File, first: i64, last: i64) -> impl Iterator<Item = Lock> {
        Lock::of(file).iter().copied().filter(move |lock| (first..=last).contains(&lock.byte()))
    }
}

/// The name in SQLite's documentation, such as `WAL_READ_LOCK(3)`.
impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lock::Pending => f.write_str("PENDING"),
            Lock::Reserved => f.write_str("RESERVED"),
            Lock::Shared => f.write_str("SHARED"),
            Lock::WalWrite => f.write_str("WAL_WRITE_LOCK"),
            Lock::Checkpoint => f.write_str("WAL_CKPT_LOCK"),
            Lock::Recover => f.write_str("WAL_RECOVER_LOCK"),
            Lock::Read(mark) => write!(f, "WAL_READ_LOCK({mark})"),
            Lock::Connected => f.write_str("WAL DMS"),
        }
    }
}

/// Mode in which a lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Shared,
    Alone,
}

/// Effect of a lock call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    Taken(Mode),
    /// No call: it was found held, and the time at which it was taken is unknown.
    Held(Mode),
    /// Another process holds it (`EAGAIN`).
    Refused(Mode),
    Released,
}

impl Change {
    /// From the kernel's `type` (0 read, 1 write, 2 unlock) and return value; `None` for errors other than refusals.
    pub fn of(kind: u8, ret: i32) -> Option<Change> {
        const EAGAIN: i32 = -11;
        let mode = if kind == 0 { Mode::Shared } else { Mode::Alone };
        match (kind, ret) {
            (2, 0) => Some(Change::Released),
            (0 | 1, 0) => Some(Change::Taken(mode)),
            (0 | 1, EAGAIN) => Some(Change::Refused(mode)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: File, first: i64, last: i64) -> Vec<Lock> {
        Lock::in_range(file, first, last).collect()
    }

    #[test]
    fn byte_ranges_are_those_of_sqlite() {
        assert_eq!(found(File::Database, 0x4000_0000, 0x4000_0001), [Lock::Pending, Lock::Reserved]);
        assert_eq!(found(File::Database, 0x4000_0002, 0x4000_0002 + 509), [Lock::Shared]);
        assert_eq!(found(File::Shm, 120, 120), [Lock::WalWrite]);
        assert_eq!(found(File::Shm, 127, 127), [Lock::Read(4)]);
        assert_eq!(found(File::Shm, 128, 128), [Lock::Connected]);
    }

    #[test]
    fn closing_a_file_touches_all_of_its_locks() {
        assert_eq!(found(File::Database, 0, i64::MAX).len(), 3);
        assert_eq!(found(File::Shm, 0, i64::MAX).len(), 9);
        assert!(found(File::Shm, 0x4000_0000, 0x4000_0001).is_empty());
    }

    #[test]
    fn a_call_takes_releases_or_is_refused() {
        assert_eq!(Change::of(0, 0), Some(Change::Taken(Mode::Shared)));
        assert_eq!(Change::of(1, -11), Some(Change::Refused(Mode::Alone)));
        assert_eq!(Change::of(2, 0), Some(Change::Released));
        assert_eq!(Change::of(1, -9), None, "a bad descriptor is no refusal");
    }
}
