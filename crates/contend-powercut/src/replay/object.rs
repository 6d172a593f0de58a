//! A file, directory or link: its durable content, and the changes since.

use std::sync::Arc;

use crate::log::{Attributes, Ino, Kind};

/// Index of an entry in the log.
pub type At = u32;

/// A file, directory or link, whether or not it has a name at the moment.
pub struct Object {
    pub ino: Ino,
    pub kind: Kind,
    pub attributes: Attributes,
    pub target: std::ffi::OsString,
    /// Durable content. Shared with the images, copied when it changes.
    pub durable: Arc<Vec<u8>>,
    /// All changes since, in order.
    pub pending: Vec<Event>,
    /// Size as the program sees it.
    pub live_size: u64,
    /// One more than the last entry that changed its names, its size or (of a directory) its content.
    pub changed: At,
    /// One more than the last entry that created it or changed its size: the metadata needed to find its data.
    pub shaped: At,
}

#[derive(Clone)]
pub struct Event {
    pub at: At,
    pub change: Change,
}

#[derive(Clone)]
pub enum Change {
    Write { offset: u64, data: Arc<[u8]> },
    Zero { offset: u64, length: u64 },
    Truncate { size: u64 },
    Allocate { size: u64 },
}

impl Change {
    /// The range of bytes, if the change writes data without changing the size.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            Change::Write { offset, data } => Some((*offset, *offset + data.len() as u64)),
            Change::Zero { offset, length } => Some((*offset, offset + length)),
            Change::Truncate { .. } | Change::Allocate { .. } => None,
        }
    }
}

impl Object {
    pub fn new(ino: Ino, kind: Kind, attributes: Attributes, target: std::ffi::OsString) -> Object {
        let durable = Arc::default();
        Object { ino, kind, attributes, target, durable, pending: vec![], live_size: 0, changed: 0, shaped: 0 }
    }

    /// Adds a change. True if it changed the size, which is metadata.
    pub fn push(&mut self, at: At, change: Change) -> bool {
        let before = self.live_size;
        match &change {
            Change::Write { .. } => {
                let (_, end) = change.range().unwrap_or_default();
                self.live_size = before.max(end);
            }
            Change::Zero { .. } => (),
            Change::Truncate { size } => self.live_size = *size,
            Change::Allocate { size } => self.live_size = before.max(*size),
        }
        // A truncation to the same size is still ordered among the other changes.
        let resized = before != self.live_size || matches!(change, Change::Truncate { .. });
        self.pending.push(Event { at, change });
        resized
    }
}
