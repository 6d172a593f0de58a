//! The header of a `-shm` file (the index of the write-ahead log): how long the log is, how much of it has been copied
//! back, and from where readers still read. Source: SQLite's `wal.c`, `WalIndexHdr` and `WalCkptInfo`.

use std::path::{Path, PathBuf};

/// The path of one of SQLite's files next to the database, such as `app.db-wal`.
pub fn companion(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Bytes of the header that are read.
pub const HEADER_BYTES: usize = 136;

/// Version of the format that this module reads.
const VERSION: u32 = 3_007_000;

/// A read mark that no reader uses.
const UNUSED: u32 = 0xffff_ffff;

/// Contents of the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Bytes of a page, such as 4096.
    pub page_bytes: u32,
    /// Number of commits, which wraps: `iChange`.
    pub commits: u32,
    /// Valid frames in the log: `mxFrame`.
    pub frames: u32,
    /// Frames that have been copied into the database: `nBackfill`.
    pub copied: u32,
    /// Frame up to which readers with this mark see the log; `None` if unused.
    pub read_marks: [Option<u32>; 5],
}

impl Log {
    /// Reads the header. `None` while it is being written, is not there yet, or has another version.
    pub fn read(bytes: &[u8]) -> Option<Log> {
        const SECOND_COPY: usize = 48;
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        // A writer changes the second copy first, so two equal copies are complete.
        if bytes.get(..SECOND_COPY)? != bytes.get(SECOND_COPY..2 * SECOND_COPY)? || word(0)? != VERSION {
            return None;
        }
        let page = u16::from_ne_bytes(bytes.get(14..16)?.try_into().ok()?);
        let mark = |index: usize| word(100 + 4 * index).filter(|&mark| mark != UNUSED);
        Some(Log {
            page_bytes: if page == 1 { 65_536 } else { u32::from(page) },
            commits: word(8)?,
            frames: word(16)?,
            copied: word(96)?,
            read_marks: std::array::from_fn(mark),
        })
    }

    /// The frame up to which a reader with this mark sees the log. A reader with mark 0 reads the database alone: while it does,
    /// a checkpoint copies nothing, so its frame is the last one that was copied.
    pub fn frame_of(&self, mark: u8) -> Option<u32> {
        if mark == 0 { Some(self.copied) } else { self.read_marks.get(usize::from(mark)).copied().flatten() }
    }

    /// Frames that no checkpoint has copied yet.
    pub fn backlog(&self) -> u32 {
        self.frames.saturating_sub(self.copied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(frames: u32, copied: u32, marks: [u32; 5]) -> Vec<u8> {
        let mut bytes = vec![0u8; HEADER_BYTES];
        for copy in [0, 48] {
            bytes[copy..copy + 4].copy_from_slice(&VERSION.to_ne_bytes());
            bytes[copy + 8..copy + 12].copy_from_slice(&7u32.to_ne_bytes());
            bytes[copy + 14..copy + 16].copy_from_slice(&4096u16.to_ne_bytes());
            bytes[copy + 16..copy + 20].copy_from_slice(&frames.to_ne_bytes());
        }
        bytes[96..100].copy_from_slice(&copied.to_ne_bytes());
        for (index, mark) in marks.iter().enumerate() {
            bytes[100 + 4 * index..104 + 4 * index].copy_from_slice(&mark.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn a_header_says_what_is_not_copied_yet() {
        let log = Log::read(&header(9126, 3, [0, 3, 9123, UNUSED, UNUSED])).expect("a header");
        assert_eq!((log.page_bytes, log.commits, log.frames, log.backlog()), (4096, 7, 9126, 9123));
        assert_eq!(log.read_marks, [Some(0), Some(3), Some(9123), None, None]);
        assert_eq!([0, 2, 3, 9].map(|mark| log.frame_of(mark)), [Some(3), Some(9123), None, None]);
    }

    #[test]
    fn a_header_that_is_being_written_is_not_believed() {
        let mut torn = header(10, 0, [0; 5]);
        torn[16] = 11;
        assert_eq!(Log::read(&torn), None);
        assert_eq!(Log::read(&[0; HEADER_BYTES]), None, "a new file");
        assert_eq!(Log::read(&torn[..40]), None, "a short file");
    }
}
