//! Appends to a log. Each entry is written to the file in one call, before the change is answered. So the log of a
//! killed recorder is whole up to its last entry.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::time::{ClockId, clock_gettime};

use super::format::{self, Record};
use super::{Ino, Known, Op};
use crate::{Error, Result};

/// A log that is being written; shared by all threads of a recorder.
pub struct Writer {
    path: PathBuf,
    bound_bytes: u64,
    state: Mutex<State>,
}

struct State {
    file: File,
    buffer: Vec<u8>,
    written: u64,
    entries: u64,
    full: bool,
    failed: Option<String>,
}

/// Result of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub entries: u64,
    pub bytes: u64,
    /// The size limit was reached; later changes are not in the log.
    pub full: bool,
    /// The log could not be written, or a change could not be made (disk full, ...); later changes are not in the log.
    pub failed: Option<String>,
}

impl Writer {
    /// Creates a log. The file must not exist: a log is never overwritten.
    pub fn create(path: &Path, bound_bytes: u64) -> Result<Writer> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|e| Error::at(path, "the log cannot be created (an old one must be removed first)", e))?;
        let state = State { file, buffer: vec![], written: 0, entries: 0, full: false, failed: None };
        let writer = Writer { path: path.to_path_buf(), bound_bytes, state: Mutex::new(state) };
        writer.lock().put(format::MAGIC).map_err(|e| Error::at(path, "the log cannot be written", e))?;
        Ok(writer)
    }

    /// Records something that existed before the first change.
    pub fn known(&self, known: &Known) -> Result<()> {
        self.lock().record(0, &Record::Known(known)).map_err(|e| Error::at(&self.path, "the log cannot be written", e))
    }

    /// Records a change. Call it after the change and before its answer. Once the size limit is reached or the file
    /// cannot be written, nothing more is recorded; the log and [`Recorded`] report it.
    pub fn append(&self, op: &Op) {
        self.put(&Record::Op(op));
    }

    /// As [`Writer::append`], for a write, without copying its data.
    pub fn write(&self, ino: Ino, offset: u64, data: &[u8], sync: bool) {
        self.put(&Record::Write { ino, offset, data, sync });
    }

    fn put(&self, record: &Record) {
        let mut state = self.lock();
        if state.full || state.failed.is_some() {
            return;
        }
        // Inside the lock, so that times never decrease between entries.
        let at_ns = now_ns();
        let done = if state.written >= self.bound_bytes {
            state.full = true;
            state.record(at_ns, &Record::Full)
        } else {
            state.entries += 1;
            state.record(at_ns, record)
        };
        if let Err(e) = done {
            state.failed = Some(format!("{}: the log cannot be written: {e}", self.path.display()));
        }
    }

    /// Ends the recording because of an error outside the recorded program. The first reason stays.
    pub fn fail(&self, why: &str) {
        self.lock().failed.get_or_insert_with(|| why.to_string());
    }

    /// Writes the last mark: every acknowledged change is in the log.
    pub fn end(&self) -> Recorded {
        let mut state = self.lock();
        if state.failed.is_none()
            && let Err(e) = state.record(now_ns(), &Record::End)
        {
            state.failed = Some(format!("{}: the log cannot be written: {e}", self.path.display()));
        }
        state.recorded()
    }

    pub fn recorded(&self) -> Recorded {
        self.lock().recorded()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn record(&mut self, at_ns: u64, record: &Record) -> std::io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        format::encode(&mut buffer, at_ns, record);
        let done = self.put(&buffer);
        self.buffer = buffer;
        done
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn recorded(&self) -> Recorded {
        Recorded { entries: self.entries, bytes: self.written, full: self.full, failed: self.failed.clone() }
    }
}

/// The clock of the log, which all processes of a machine share.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
