//! Reads segments: the records of each thread in order, and all of them by time.

use crate::manifest::write_private;
use crate::pack::{pack, unpack};
use anyhow::{Context, Result, ensure};
use contend_interpose::format::{MAGIC, VERSION, header, kind, record};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of the segments in a capture.
pub const SEGMENTS: &str = "segments";

/// Process and thread of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    pub process: u64,
    pub pid: u32,
    pub tid: u32,
}

/// A record as stored in a segment.
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

    /// A number at an offset; 0 if the record is too short.
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

/// Losses that the library counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// Records that could not be written.
    pub records: u64,
    /// Calls on statements and connections beyond those that it can keep apart.
    pub untracked: u64,
}

/// All records by time, and what is lost. Bound values have the time of the following call.
///
/// # Errors
/// A file cannot be read, or is not a segment of this version.
pub fn read(dir: &Path) -> Result<(Vec<Raw>, Lost)> {
    let mut threads: BTreeMap<Who, Vec<(u64, Vec<Raw>)>> = BTreeMap::new();
    let (mut lost, mut unwritten) = (BTreeMap::new(), 0);
    for path in files(dir)? {
        let serial = path.file_stem().and_then(|stem| stem.to_str()?.rsplit('-').next()?.parse().ok()).unwrap_or(0);
        if let Some(Segment { who, records, lost: lost_here, .. }) = of_file(&path)? {
            let most: &mut Lost = lost.entry(who.process).or_default();
            most.records = lost_here.records.max(most.records);
            most.untracked = lost_here.untracked.max(most.untracked);
            threads.entry(who).or_default().push((serial, records));
        } else if fs::metadata(&path)?.len() == 0 {
            // A thread that could not write its first record has no place for a count.
            unwritten += 1;
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
    // A stable sort: records of a thread with equal times keep their order.
    all.sort_by_key(|(at, _)| *at);
    let records = unwritten + lost.values().map(|lost| lost.records).sum::<u64>();
    let lost = Lost { records, untracked: lost.values().map(|lost| lost.untracked).sum() };
    Ok((all.into_iter().map(|(_, raw)| raw).collect(), lost))
}

/// The files of all segments.
///
/// # Errors
/// The directory cannot be read.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|end| end == "seg")).collect())
}

/// The bytes of a file; a pipe under the name of a segment would wait for a writer.
fn read_regular(path: &Path) -> Result<Vec<u8>> {
    ensure!(fs::metadata(path)?.is_file(), "{} is not a regular file", path.display());
    Ok(fs::read(path)?)
}

/// Packs all segments, of which each is replaced when its packed form is complete.
///
/// # Errors
/// A file cannot be read or written, or is damaged.
pub fn pack_all(dir: &Path) -> Result<()> {
    for path in files(dir)? {
        let bytes = read_regular(&path)?;
        if bytes.starts_with(&MAGIC.to_ne_bytes()) {
            let packed = pack(&bytes).with_context(|| format!("cannot pack {}", path.display()))?;
            write_private(&path, &packed)?;
        }
    }
    Ok(())
}

/// A segment: its thread, the bytes of its header, its records, and what it counts as lost.
pub struct Segment {
    pub who: Who,
    pub head: Vec<u8>,
    pub records: Vec<Raw>,
    lost: Lost,
}

/// Reads a segment; `None` if its process ended while it created the file, which then is empty or begins with zeros.
///
/// # Errors
/// It cannot be read, is damaged, or is of another version.
pub fn of_file(path: &Path) -> Result<Option<Segment>> {
    let bytes = read_regular(path)?;
    let unpacked = unpack(&bytes).with_context(|| format!("{} is damaged: copy the capture again", path.display()))?;
    let bytes = unpacked.unwrap_or(bytes);
    ensure!(
        bytes.iter().take(8).all(|byte| *byte == 0) || bytes.starts_with(&MAGIC.to_ne_bytes()),
        "{} does not begin like a segment: copy the capture again",
        path.display()
    );
    let head = Raw { who: Who { process: 0, pid: 0, tid: 0 }, bytes };
    if head.u64(0) != MAGIC {
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
    let lost = Lost { records: head.u64(header::LOST), untracked: head.u64(header::UNTRACKED) };
    Ok(Some(Segment { who, head: head.bytes[..header::BYTES].to_vec(), records, lost }))
}
