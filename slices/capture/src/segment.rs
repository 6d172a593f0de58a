//! Reads segments: the records of each thread in order, and all of them by time.

use crate::bound::with_times;
use crate::manifest::{Total, read_own, write_private};
use crate::pack::{TWO_WRITERS, pack, unpack};
use crate::raw::{Raw, Who};
use crate::whole::{Totals, difference};
use anyhow::{Context, Result, ensure};
use contend_interpose::format::{MAGIC, VERSION, header, kind, record};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of the segments in a capture.
pub const SEGMENTS: &str = "segments";

/// Losses that the library counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// Records that could not be written.
    pub records: u64,
    /// Calls on statements and connections beyond those that it can keep apart.
    pub untracked: u64,
}

/// What the segments of a capture have.
pub struct Recorded {
    /// All records by time. Bound values have the time of their execution.
    pub records: Vec<Raw>,
    pub lost: Lost,
    /// Difference from the files at the end of the capture, as a sentence.
    pub damage: Option<String>,
}

/// Reads all segments.
///
/// # Errors
/// A file cannot be read, or is not a segment of this version.
pub fn read(dir: &Path, totals: Option<&Totals>) -> Result<Recorded> {
    let mut threads: BTreeMap<Who, Vec<(u64, Vec<Raw>)>> = BTreeMap::new();
    let (mut lost, mut unwritten) = (BTreeMap::new(), 0);
    let (all, damage) = stored(dir, totals)?;
    for Stored { name, segment, is_empty, .. } in all {
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str());
        let serial = stem.and_then(|stem| stem.rsplit('-').next()?.parse().ok()).unwrap_or(0);
        if let Some(Segment { who, records, lost: lost_here, .. }) = segment {
            let most: &mut Lost = lost.entry(who.process).or_default();
            most.records = lost_here.records.max(most.records);
            most.untracked = lost_here.untracked.max(most.untracked);
            threads.entry(who).or_default().push((serial, records));
        } else if is_empty {
            // A thread that could not write its first record has no place for a count.
            unwritten += 1;
        }
    }
    let in_order = |mut segments: Vec<(u64, Vec<Raw>)>| {
        segments.sort_by_key(|(serial, _)| *serial);
        segments.into_iter().flat_map(|(_, records)| records).collect()
    };
    let threads = threads.into_iter().map(|(who, segments)| (who, in_order(segments)));
    let mut all = with_times(threads.collect());
    // A stable sort: records of a thread with equal times keep their order.
    all.sort_by_key(|(at, _)| *at);
    let records = unwritten + lost.values().map(|lost| lost.records).sum::<u64>();
    let lost = Lost { records, untracked: lost.values().map(|lost| lost.untracked).sum() };
    Ok(Recorded { records: all.into_iter().map(|(_, raw)| raw).collect(), lost, damage })
}

/// The file of a segment.
pub struct Stored {
    pub name: String,
    /// `None` if its process ended while it created the file, which then is empty or begins with zeros.
    pub segment: Option<Segment>,
    is_empty: bool,
}

/// The segment files of a capture, without those that were added after its end, and the difference from that end.
///
/// # Errors
/// A file cannot be read, or is not a segment of this version.
pub fn stored(dir: &Path, totals: Option<&Totals>) -> Result<(Vec<Stored>, Option<String>)> {
    let (mut all, mut found) = (vec![], Totals::new());
    for path in files(dir)? {
        let name = path.file_name().context("a file without a name")?.to_string_lossy().into_owned();
        if totals.is_some_and(|totals| !totals.contains_key(&name)) {
            found.insert(name, Total::of(&[], 0));
            continue;
        }
        let bytes = read_own(&path)?;
        let (hashed, is_empty) = (Total::of(&bytes, 0), bytes.is_empty());
        let segment = of_bytes(&path, bytes)?;
        let records = segment.as_ref().map_or(0, |segment| segment.records.len() as u64);
        found.insert(name.clone(), Total { records, ..hashed });
        all.push(Stored { name, segment, is_empty });
    }
    Ok((all, totals.and_then(|totals| difference(totals, &found))))
}

/// The files of all segments.
///
/// # Errors
/// The directory cannot be read, or is a symbolic link.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let is_link = fs::symlink_metadata(dir).is_ok_and(|there| there.is_symlink());
    ensure!(!is_link, "{} is a symbolic link: a capture has none", dir.display());
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|end| end == "seg")).collect())
}

/// Packs all segments, of which each is replaced when its packed form is complete; returns their totals.
///
/// # Errors
/// A file cannot be read or written, or is damaged.
pub fn pack_all(dir: &Path) -> Result<Totals> {
    let mut totals = Totals::new();
    for path in files(dir)? {
        let bytes = read_own(&path)?;
        let total = if bytes.starts_with(&MAGIC.to_ne_bytes()) {
            let (packed, records) = pack(&bytes).with_context(|| format!("cannot pack {}", path.display()))?;
            write_private(&path, &packed)?;
            Total::of(&packed, records)
        } else {
            // A process that was left behind may still write to the old file.
            write_private(&path, &bytes)?;
            Total::of(&bytes, 0)
        };
        totals.insert(path.file_name().context("a file without a name")?.to_string_lossy().into_owned(), total);
    }
    Ok(totals)
}

/// Least length of a record of this kind.
fn least_bytes(kind: u8) -> usize {
    match kind {
        kind::OPEN => record::OPEN_BYTES,
        kind::PREPARE => record::PREPARE_BYTES,
        kind::STEP => record::STEP_BYTES,
        kind::EXEC => record::EXEC_BYTES,
        _ => record::HEAD,
    }
}

/// A segment: its thread, the bytes of its header, its records, and what it counts as lost.
pub struct Segment {
    pub who: Who,
    pub head: Vec<u8>,
    pub records: Vec<Raw>,
    lost: Lost,
}

/// Reads the bytes of a segment; `None` if its process ended while it created the file.
fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Option<Segment>> {
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
    let least = end.max(header::BYTES);
    ensure!(least <= bytes, "{} is cut: {bytes} bytes are left of {least}; copy the capture again", path.display());
    let (mut at, mut records) = (header::BYTES, vec![]);
    while at + record::HEAD <= end {
        let length = head.u32(at) as usize;
        let least = least_bytes(head.bytes[at + record::KIND]);
        let is_whole = length >= least && length.is_multiple_of(8) && at + length <= end;
        ensure!(
            is_whole,
            "{} is damaged at byte {at}: copy the capture again; if it is no copy, {TWO_WRITERS}",
            path.display()
        );
        records.push(Raw { who, bytes: head.bytes[at..at + length].to_vec() });
        at += length;
    }
    let lost = Lost { records: head.u64(header::LOST), untracked: head.u64(header::UNTRACKED) };
    Ok(Some(Segment { who, head: head.bytes[..header::BYTES].to_vec(), records, lost }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_left_behind_does_not_change_an_unfinished_segment() {
        use std::os::unix::fs::FileExt as _;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("1-1-1.seg");
        fs::write(&path, [0; 4096]).expect("written");
        let mapped = fs::OpenOptions::new().write(true).open(&path).expect("opened");
        let totals = pack_all(dir.path()).expect("packed");
        mapped.write_all_at(&MAGIC.to_ne_bytes(), 0).expect("written");
        let (all, damage) = stored(dir.path(), Some(&totals)).expect("read");
        assert!(damage.is_none() && all.len() == 1 && all[0].segment.is_none(), "{damage:?}");
    }

    /// As two processes leave it that write to one file: no record begins where the last one ended.
    #[test]
    fn a_segment_of_two_writers_is_perhaps_no_bad_copy() {
        let mut bytes = vec![0; header::BYTES + record::HEAD];
        bytes[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes[header::VERSION..][..4].copy_from_slice(&VERSION.to_ne_bytes());
        let end = bytes.len() as u64;
        bytes[header::COMMITTED..][..8].copy_from_slice(&end.to_ne_bytes());
        let packed = pack(&bytes).expect_err("damaged").to_string();
        let read = of_bytes(Path::new("a.seg"), bytes).err().expect("damaged").to_string();
        assert!(packed.contains(TWO_WRITERS) && read.contains(TWO_WRITERS), "{packed} {read}");
    }

    #[test]
    fn a_segment_that_is_cut_anywhere_is_told() {
        let mut whole = [0; header::BYTES];
        whole[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        whole[header::VERSION..][..4].copy_from_slice(&VERSION.to_ne_bytes());
        whole[header::COMMITTED..][..8].copy_from_slice(&(header::BYTES as u64).to_ne_bytes());
        let read = |bytes: usize| of_bytes(Path::new("a.seg"), whole[..bytes].to_vec());
        assert!(read(header::BYTES).is_ok_and(|segment| segment.is_some_and(|segment| segment.records.is_empty())));
        for bytes in header::VERSION + 4..header::BYTES {
            let why = read(bytes).err().expect("it is cut").to_string();
            assert!(why.contains(&format!("a.seg is cut: {bytes} bytes are left of 64")), "{why}");
        }
    }
}
