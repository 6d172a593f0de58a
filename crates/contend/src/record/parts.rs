//! The record of a study that is made of parts: what holds for the whole, and an ordinary record for each part.
//!
//! ```text
//! results/2026-11-21-library/
//!   study.toml
//!   contention/run.toml  contention/trials/0001/ ...
//!   latency/run.toml ...
//! ```

use crate::record::model::{RECORD_VERSION, StudyFile};
use crate::record::store::{Record, STUDY_FILE, read_toml, sync_dir, write_toml};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A record with parts, as read; every part that was asked for is there, with or without trials.
#[derive(Debug)]
pub struct StudyRecord {
    pub dir: PathBuf,
    pub file: StudyFile,
    /// In the order in which they run.
    pub parts: Vec<(String, Record)>,
}

/// What a directory holds.
pub enum Found {
    /// The record of a study without parts, or of one part.
    One(Box<Record>),
    Parts(Box<StudyRecord>),
}

impl Found {
    /// Reads whichever record a directory holds, everything but samples.
    ///
    /// # Errors
    /// It holds none, or one that is damaged or too new.
    pub fn open(dir: &Path) -> Result<Self> {
        match has_parts(dir) {
            true => StudyRecord::open(dir).map(Box::new).map(Self::Parts),
            false => Record::open(dir).map(Box::new).map(Self::One),
        }
    }
}

/// Whether a directory holds the record of a study with parts.
pub fn has_parts(dir: &Path) -> bool {
    dir.join(STUDY_FILE).exists()
}

/// Beside `study.toml` while it is written.
fn partial(dir: &Path) -> PathBuf {
    dir.join(format!(".{STUDY_FILE}.partial"))
}

/// Takes away what began a record with parts, or was to begin it.
pub fn undo_study(dir: &Path) {
    for path in [partial(dir), dir.join(STUDY_FILE)] {
        let _ = fs::remove_file(path);
    }
}

/// Replaces `study.toml` as a whole.
pub fn write_study(dir: &Path, file: &StudyFile) -> Result<()> {
    let aside = partial(dir);
    write_toml(&aside, file)?;
    fs::rename(&aside, dir.join(STUDY_FILE)).with_context(|| format!("cannot replace {STUDY_FILE}"))?;
    sync_dir(dir)
}

/// Reads `study.toml`.
///
/// # Errors
/// It is damaged, too new, or names a part that cannot be a directory of the record.
pub fn read_study(dir: &Path) -> Result<StudyFile> {
    let file: StudyFile = read_toml(&dir.join(STUDY_FILE))?;
    debug_assert!(file.format <= RECORD_VERSION);
    let outside = |name: &String| name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']);
    if let Some(name) = file.parts.iter().find(|name| outside(name)) {
        bail!("{} names a part `{name}`, which is no directory of it; it is damaged", dir.join(STUDY_FILE).display());
    }
    Ok(file)
}

impl StudyRecord {
    /// Reads everything but samples.
    pub fn open(dir: &Path) -> Result<Self> {
        let file = read_study(dir)?;
        let read = |name: &String| {
            let part = dir.join(name);
            let record = Record::open(&part).with_context(|| format!("part {name} of {}", dir.display()))?;
            Ok((name.clone(), record))
        };
        let parts = file.parts.iter().map(read).collect::<Result<_>>()?;
        Ok(Self { dir: dir.to_path_buf(), file, parts })
    }

    pub fn part(&self, name: &str) -> Option<&Record> {
        self.parts.iter().find(|(found, _)| found == name).map(|(_, record)| record)
    }

    /// Names of its parts, for messages.
    pub fn names(&self) -> String {
        self.file.parts.join(", ")
    }
}
