//! Segments, read: the records of each thread in their order, and all of them by time.

use anyhow::{Result, ensure};
use contend_interpose::format::{MAGIC, VERSION, header, kind, record};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where segments are, in the capture's directory.
pub const SEGMENTS: &str = "segments";

/// The process and thread that a record is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    pub process: u64,
    pub pid: u32,
    pub tid: u32,
}

/// A record as it lies in a segment.
pub struct Raw {
    pub who: Who,
    bytes: Vec<u8>,
}

impl Raw {
    pub fn kind(&self) -> u8 {
        self.bytes[record::KIND]
    }

    pub fn a(&self) -> u8 {
        self.bytes[record::A]
    }

    pub fn b(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[record::B], self.bytes[record::B + 1]])
    }

    /// A number at a place; 0 where the record is too short.
    pub fn u64(&self, at: usize) -> u64 {
        self.bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }

    pub fn u32(&self, at: usize) -> u32 {
        self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    pub fn i32(&self, at: usize) -> i32 {
        self.u32(at).cast_signed()
    }

    pub fn id(&self) -> u64 {
        self.u64(record::ID)
    }

    pub fn t(&self) -> u64 {
        self.u64(record::T)
    }

    pub fn bytes(&self, at: usize, length: u64) -> &[u8] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        &rest[..rest.len().min(usize::try_from(length).unwrap_or(usize::MAX))]
    }

    /// Whether `t` is a time.
    fn is_timed(&self) -> bool {
        !matches!(self.kind(), kind::TEXT | kind::PROCESS | kind::LIBRARY | kind::BIND | kind::CLEAR)
    }
}

/// All records by time, and how many could not be written. Values that are bound have the time of the call that follows.
///
/// # Errors
/// A file cannot be read, or is not a segment of this version.
pub fn read(dir: &Path) -> Result<(Vec<Raw>, u64)> {
    let mut files: Vec<PathBuf> = vec![];
    for entry in fs::read_dir(dir)?.flatten() {
        files.extend(Some(entry.path()).filter(|path| path.extension().is_some_and(|end| end == "seg")));
    }
    let mut threads: BTreeMap<Who, Vec<(u64, Vec<Raw>)>> = BTreeMap::new();
    let mut lost = BTreeMap::new();
    for path in files {
        let serial = path.file_stem().and_then(|stem| stem.to_str()?.rsplit('-').next()?.parse().ok()).unwrap_or(0);
        if let Some((who, records, lost_here)) = of_file(&path)? {
            let most: &mut u64 = lost.entry(who.process).or_default();
            *most = lost_here.max(*most);
            threads.entry(who).or_default().push((serial, records));
        }
    }
    let mut all: Vec<(u64, Raw)> = vec![];
    for mut segments in threads.into_values() {
        segments.sort_by_key(|(serial, _)| *serial);
        let mut records: Vec<Raw> = segments.into_iter().flat_map(|(_, records)| records).collect();
        let mut next = u64::MAX;
        let mut timed: Vec<(u64, Raw)> = vec![];
        while let Some(raw) = records.pop() {
            next = if raw.is_timed() { raw.t() } else { next };
            timed.push((next, raw));
        }
        timed.reverse();
        all.append(&mut timed);
    }
    // Stable: what a thread did at one time stays in its order.
    all.sort_by_key(|(at, _)| *at);
    Ok((all.into_iter().map(|(_, raw)| raw).collect(), lost.values().sum()))
}

fn of_file(path: &Path) -> Result<Option<(Who, Vec<Raw>, u64)>> {
    let bytes = fs::read(path)?;
    let head = Raw { who: Who { process: 0, pid: 0, tid: 0 }, bytes };
    if head.u64(0) != MAGIC {
        // The process was ended while it made the file.
        return Ok(None);
    }
    let version = head.u32(header::VERSION);
    ensure!(version == VERSION, "{}: version {version}, this contend reads {VERSION}", path.display());
    let who = Who { process: head.u64(header::PROCESS), pid: head.u32(header::PID), tid: head.u32(header::TID) };
    let end = usize::try_from(head.u64(header::COMMITTED))?;
    let bytes = head.bytes.len();
    ensure!(end <= bytes, "{} is cut: {bytes} bytes are left of {end}; copy the capture again", path.display());
    let (mut at, mut records) = (header::BYTES, vec![]);
    while at + record::HEAD <= end {
        let length = head.u32(at) as usize;
        let is_whole = length >= record::HEAD && length.is_multiple_of(8) && at + length <= end;
        ensure!(is_whole, "{} is damaged at byte {at}: copy the capture again", path.display());
        records.push(Raw { who, bytes: head.bytes[at..at + length].to_vec() });
        at += length;
    }
    Ok(Some((who, records, head.u64(header::LOST))))
}
