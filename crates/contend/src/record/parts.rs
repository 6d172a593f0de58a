//! The record of a run: `study.toml` for the whole, and a record for each part. A study without parts is a run of one
//! part.
//!
//! ```text
//! results/2026-11-21-library/
//!   study.toml
//!   contention/run.toml  contention/trials/0001/ ...
//!   latency/run.toml ...
//! ```

use crate::record::model::{RECORD_VERSION, Run, StudyFile};
use crate::record::store::{Record, STUDY_FILE, sync_dir};
use crate::record::toml_file::{TomlFile, read_toml, write_toml};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the only part of a study without parts. Its record is the directory of the run itself, and there is no
/// `study.toml`.
pub const ALONE: &str = "";

/// The record of a run: one record for each part, including parts without trials.
#[derive(Debug)]
pub struct StudyRecord {
    pub dir: PathBuf,
    pub file: StudyFile,
    /// Name and record of each part, in running order.
    pub parts: Vec<(String, Record)>,
}

/// Whether a directory holds the record of a study with parts.
pub fn has_parts(dir: &Path) -> bool {
    dir.join(STUDY_FILE).exists()
}

/// The directory of a part's record.
pub fn part_dir(dir: &Path, part: &str) -> PathBuf {
    if part == ALONE { dir.to_path_buf() } else { dir.join(part) }
}

impl StudyFile {
    /// Whether the only part is the study itself.
    pub fn is_alone(&self) -> bool {
        self.parts == [ALONE]
    }

    /// The file for a record that is not a part.
    fn alone(run: &Run) -> Self {
        Self {
            format: run.format,
            contend: run.contend.clone(),
            started: run.started.clone(),
            command: run.command.clone(),
            study: run.study.name.clone(),
            question: run.study.question.clone(),
            variant: run.study.variant,
            extent: run.study.extent,
            parts: vec![ALONE.to_string()],
            finished: None,
        }
    }
}

/// Path of `study.toml` while it is written.
fn partial(dir: &Path) -> PathBuf {
    dir.join(format!(".{STUDY_FILE}.partial"))
}

/// Requires that two records, each with its directory, are of two runs: a record and its copy have the same measurements.
///
/// # Errors
/// The directories are one, or the runs have the same random number.
pub fn check_two_runs([(dir, run), (other, of_other)]: [(&Path, &Run); 2]) -> Result<()> {
    let place = |dir: &Path| fs::canonicalize(dir).ok();
    let (a, b) = (dir.display(), other.display());
    if place(dir).is_some_and(|found| Some(found) == place(other)) {
        bail!("{a} and {b} are the same record; name two records");
    }
    if run.id.is_some() && run.id == of_other.id {
        bail!("{a} and {b} are the same record: one is a copy of the other; name records of two runs");
    }
    Ok(())
}

/// Removes `study.toml`, complete or partial.
pub fn undo_study(dir: &Path) {
    for path in [partial(dir), dir.join(STUDY_FILE)] {
        let _ = fs::remove_file(path);
    }
}

/// Replaces `study.toml` atomically; a study without parts has none.
pub fn write_study(dir: &Path, file: &StudyFile) -> Result<()> {
    if file.is_alone() {
        return Ok(());
    }
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
    Ok(read_file(dir)?.value)
}

fn read_file(dir: &Path) -> Result<TomlFile<StudyFile>> {
    let read: TomlFile<StudyFile> = read_toml(&dir.join(STUDY_FILE), |_| Ok(()))?;
    let file = &read.value;
    debug_assert!(file.format <= RECORD_VERSION);
    let outside = |name: &String| name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']);
    if let Some(name) = file.parts.iter().find(|name| outside(name)) {
        bail!(
            "{} names a part `{name}`, and there is no such directory: the record is damaged",
            dir.join(STUDY_FILE).display()
        );
    }
    Ok(read)
}

impl StudyRecord {
    /// Reads the record in a directory, of a whole run or of one part, without samples.
    ///
    /// # Errors
    /// There is no record, or it is damaged or too new.
    pub fn open(dir: &Path) -> Result<Self> {
        if !has_parts(dir) {
            let record = Record::open(dir)?;
            let file = StudyFile::alone(&record.run);
            return Ok(Self { dir: dir.to_path_buf(), file, parts: vec![(ALONE.to_string(), record)] });
        }
        let read = read_file(dir)?;
        let unsealed = read.unsealed(STUDY_FILE);
        let file = read.value;
        let read = |name: &String| {
            let part = part_dir(dir, name);
            let mut record = Record::open(&part).with_context(|| format!("part {name} of {}", dir.display()))?;
            record.unsealed.extend(unsealed.clone());
            Ok((name.clone(), record))
        };
        let parts = file.parts.iter().map(read).collect::<Result<_>>()?;
        Ok(Self { dir: dir.to_path_buf(), file, parts })
    }

    pub fn part(&self, name: &str) -> Option<&Record> {
        self.parts.iter().find(|(found, _)| found == name).map(|(_, record)| record)
    }

    /// Whether the run is complete, so that nothing is left to resume.
    pub fn is_complete(&self) -> bool {
        let parts = self.parts.iter().all(|(_, record)| record.run.finished.is_some());
        parts && (self.file.is_alone() || self.file.finished.is_some())
    }

    /// Names of its parts, for messages.
    pub fn names(&self) -> String {
        self.file.parts.join(", ")
    }
}
