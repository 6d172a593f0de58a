//! The log: all changes and syncs of the recorded directory, in order. `model` has the entries in memory, `format` their
//! bytes, and `writer` appends them.

use std::path::Path;

mod format;
mod model;
mod writer;

pub use model::{Attributes, Damage, Entry, Ino, Kind, Known, Log, Op, ROOT};
pub use writer::{Recorded, Writer, now_ns};

use crate::{Error, Result};

impl Log {
    /// The whole log, or an error that names the damaged place. A log without its last mark (the recorder was killed)
    /// is returned, and is not `complete`.
    pub fn read(path: &Path) -> Result<Log> {
        match Log::salvage(path)? {
            (log, None) => Ok(log),
            (log, Some(damage)) => Err(Error::new(format!(
                "{}: {} at byte {}, after {} whole entries; the recorder was stopped while it wrote, or the file was \
                 changed: record again, or read the complete entries with Log::salvage",
                path.display(),
                damage.what,
                damage.offset,
                log.entries.len()
            ))),
        }
    }

    /// Everything up to the last whole entry, and the damage after it, if any.
    pub fn salvage(path: &Path) -> Result<(Log, Option<Damage>)> {
        let bytes = std::fs::read(path).map_err(|e| Error::at(path, "the log cannot be read", e))?;
        format::decode(&bytes).map_err(|e| Error::at(path, "not a log of contend-powercut", e))
    }
}
