//! How a database keeps its changes: the journal mode in its header, and its rollback journal.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// First bytes of a rollback journal. A commit removes or clears them.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// Places of the write and the read version in the header of a database.
const VERSIONS: [usize; 2] = [18, 19];

/// Journal mode, as the header of the database says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Journal {
    Wal,
    /// DELETE, TRUNCATE, PERSIST, MEMORY or OFF: only the connections know which.
    Rollback,
    /// The file is empty: it has no header before its first commit.
    #[default]
    Unknown,
}

impl Journal {
    /// The mode of the database at a path. Only contend's own process opens it, which holds no lock on it.
    pub fn of(path: &Path) -> Journal {
        let mut head = vec![];
        if let Some(file) = regular(path) {
            // A file that cannot be read has no known mode.
            let _ = file.take(VERSIONS[1] as u64 + 1).read_to_end(&mut head);
        }
        Journal::of_header(&head)
    }

    fn of_header(head: &[u8]) -> Journal {
        match VERSIONS.map(|at| head.get(at)) {
            [Some(2), Some(2)] => Journal::Wal,
            [Some(_), Some(_)] => Journal::Rollback,
            _ => Journal::Unknown,
        }
    }

    /// Its word, such as `wal`.
    pub fn word(self) -> &'static str {
        match self {
            Journal::Wal => "wal",
            Journal::Rollback => "rollback",
            Journal::Unknown => "unknown",
        }
    }
}

/// Opens a file for reading. `None` if there is none, or something else took its place: a pipe would wait for a writer.
pub fn regular(path: &Path) -> Option<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// A rollback journal with content: inode, bytes and time of the last change, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    pub inode: u64,
    pub bytes: u64,
    pub changed_ns: i128,
}

/// The rollback journal at a path. `None` if it is missing, empty, or cleared by the last commit.
pub fn content(path: &Path) -> Option<Content> {
    let mut file = regular(path)?;
    let metadata = file.metadata().ok()?;
    let mut head = [0; MAGIC.len()];
    file.read_exact(&mut head).ok()?;
    let changed_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    (head == MAGIC).then_some(Content { inode: metadata.ino(), bytes: metadata.len(), changed_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_database_is_not_waited_for() {
        let pipe = std::env::temp_dir().join(format!("contend-pipe-{}", std::process::id()));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        assert!(regular(&pipe).is_none());
        assert_eq!((Journal::of(&pipe), content(&pipe)), (Journal::Unknown, None));
        std::fs::remove_file(&pipe).expect("removed");
    }

    #[test]
    fn the_header_of_a_database_says_its_mode() {
        let mut head = b"SQLite format 3\0".to_vec();
        assert_eq!(Journal::of_header(&head), Journal::Unknown, "cut short");
        head.extend([16, 0, 1, 1]);
        assert_eq!(Journal::of_header(&head), Journal::Rollback);
        head[18..20].copy_from_slice(&[2, 2]);
        assert_eq!(Journal::of_header(&head), Journal::Wal);
        assert_eq!(Journal::of_header(&[]), Journal::Unknown, "no commit yet");
    }
}
