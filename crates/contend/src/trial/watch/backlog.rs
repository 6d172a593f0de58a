//! How far the checkpoints and the readers of SQLite's write-ahead logs are behind, read from the `-shm` files and
//! `/proc/locks`. No lock is taken and no database is opened: this process has no locks that closing a file could drop.

use crate::engine::wal::{HEADER_BYTES, Log};
use procfs::{FromBufRead, Lock, LockKind, LockMode};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// First byte of a `-shm` file whose lock is a reader's; there are five, one for each read mark.
const READ_BYTE: u64 = 123;
const READ_MARKS: u64 = 5;

/// All logs of a trial at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Frames that no checkpoint has copied yet.
    pub frames: u64,
    /// Frames that were written since the oldest snapshot in use was taken, of the log where they are most.
    pub reader_behind: u64,
    /// How long that snapshot has been seen in use.
    pub reader_ns: u64,
}

/// What is remembered between two looks: since when a log's oldest snapshot has been in use.
#[derive(Debug, Default)]
pub struct Logs {
    oldest: HashMap<u64, (u32, u64)>,
}

impl Logs {
    /// Looks at all logs below a directory; `None` without any.
    pub fn look(&mut self, dir: &Path, now_ns: u64) -> Option<Backlog> {
        let mut found = vec![];
        logs_below(dir, &mut found);
        if found.is_empty() {
            self.oldest.clear();
            return None;
        }
        let marks = marks_in_use();
        let mut sum = Backlog::default();
        for (inode, log) in found {
            sum.frames += u64::from(log.backlog());
            let of_file = marks.iter().filter(|(file, _)| *file == inode);
            let Some(frame) = of_file.filter_map(|(_, mark)| log.frame_of(*mark)).min() else {
                self.oldest.remove(&inode);
                continue;
            };
            let (known, since_ns) = self.oldest.get(&inode).copied().unwrap_or((frame, now_ns));
            let since_ns = if known == frame { since_ns } else { now_ns };
            self.oldest.insert(inode, (frame, since_ns));
            let behind = u64::from(log.frames.saturating_sub(frame));
            if behind >= sum.reader_behind {
                (sum.reader_behind, sum.reader_ns) = (behind, now_ns.saturating_sub(since_ns));
            }
        }
        Some(sum)
    }
}

fn logs_below(dir: &Path, found: &mut Vec<(u64, Log)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            logs_below(&path, found);
        } else if entry.file_name().to_string_lossy().ends_with("-shm")
            && let Ok(file) = File::open(&path)
        {
            let inode = file.metadata().map_or(0, |metadata| metadata.ino());
            let mut header = Vec::with_capacity(HEADER_BYTES);
            // A header that cannot be read is none.
            let _ = file.take(HEADER_BYTES as u64).read_to_end(&mut header);
            found.extend(Log::read(&header).map(|log| (inode, log)));
        }
    }
}

/// Files with a read mark that a process has locked, and its number. Another file may have the same number on another device;
/// it is not one of a trial's.
fn marks_in_use() -> Vec<(u64, u8)> {
    let locks = File::open("/proc/locks").ok().and_then(|file| procfs::Locks::from_buf_read(BufReader::new(file)).ok());
    let locks = locks.map_or(vec![], |locks| locks.0);
    let is_read = |lock: &&Lock| matches!((&lock.mode, &lock.kind), (LockMode::Advisory, LockKind::Read));
    let read = locks.iter().filter(is_read);
    let marks = read.flat_map(|lock| {
        let (first, last) = (lock.offset_first, lock.offset_last.unwrap_or(u64::MAX));
        (0..READ_MARKS)
            .filter(move |mark| (first..=last).contains(&(READ_BYTE + mark)))
            .map(|mark| (lock.inode, mark as u8))
    });
    marks.collect()
}
