//! How far checkpoints and readers of SQLite's write-ahead logs are behind, read from the `-shm` files and
//! `/proc/locks`. It opens no database and takes no lock, so closing a file cannot drop a lock of this process.

use crate::engine::wal::{HEADER_BYTES, Log};
use procfs::{FromBufRead, Lock, LockKind, LockMode};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// First of the five bytes of a `-shm` file that readers lock, one for each read mark.
const READ_BYTE: u64 = 123;
const READ_MARKS: u64 = 5;

/// All logs of a trial at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Frames that no checkpoint has copied yet.
    pub frames: u64,
    /// Frames written since the oldest snapshot in use, in the log where they are most.
    pub reader_behind: u64,
    /// How long that snapshot has been seen in use.
    pub reader_ns: u64,
    /// The process that uses it; `None` if no process reads from a log.
    pub reader_pid: Option<u32>,
}

/// State between two readings: since when each log's oldest snapshot has been in use.
#[derive(Debug, Default)]
pub struct Logs {
    oldest: HashMap<u64, (u32, u64)>,
}

impl Logs {
    /// Reads all logs below a directory; `None` if there are none.
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
            let of_file = marks.iter().filter(|mark| mark.inode == inode);
            let oldest = of_file.filter_map(|mark| Some((log.frame_of(mark.number)?, mark.pid))).min();
            let Some((frame, pid)) = oldest else {
                self.oldest.remove(&inode);
                continue;
            };
            let (known, since_ns) = self.oldest.get(&inode).copied().unwrap_or((frame, now_ns));
            let since_ns = if known == frame { since_ns } else { now_ns };
            self.oldest.insert(inode, (frame, since_ns));
            let behind = u64::from(log.frames.saturating_sub(frame));
            if behind >= sum.reader_behind {
                (sum.reader_behind, sum.reader_ns) = (behind, now_ns.saturating_sub(since_ns));
                sum.reader_pid = pid;
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
            // An unreadable header counts as missing.
            let _ = file.take(HEADER_BYTES as u64).read_to_end(&mut header);
            found.extend(Log::read(&header).map(|log| (inode, log)));
        }
    }
}

/// A read mark that a process has locked.
struct Mark {
    inode: u64,
    number: u8,
    /// `None` for a lock of an open file description.
    pid: Option<u32>,
}

/// All read marks in use. The same inode on another device is not a file of the trial.
fn marks_in_use() -> Vec<Mark> {
    let locks = File::open("/proc/locks").ok().and_then(|file| procfs::Locks::from_buf_read(BufReader::new(file)).ok());
    let locks = locks.map_or(vec![], |locks| locks.0);
    let is_read = |lock: &&Lock| matches!((&lock.mode, &lock.kind), (LockMode::Advisory, LockKind::Read));
    let read = locks.iter().filter(is_read);
    let marks = read.flat_map(|lock| {
        let (first, last) = (lock.offset_first, lock.offset_last.unwrap_or(u64::MAX));
        (0..READ_MARKS).filter(move |mark| (first..=last).contains(&(READ_BYTE + mark))).map(|mark| Mark {
            inode: lock.inode,
            number: mark as u8,
            pid: lock.pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0),
        })
    });
    marks.collect()
}
