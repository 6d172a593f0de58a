//! Contents: what of a file is on disk for certain, and what was done to it since.

use std::sync::Arc;

use super::fate::{Fate, Limits};
use crate::log::{Attributes, Ino, Kind};

/// Index of an entry in the log.
pub type At = u32;

/// A file, directory or link, whether or not it has a name at the moment.
pub struct Object {
    pub ino: Ino,
    pub kind: Kind,
    pub attributes: Attributes,
    pub target: std::ffi::OsString,
    /// On disk for certain. Shared with the images, copied when it changes.
    pub durable: Arc<Vec<u8>>,
    /// Everything since, in order.
    pub pending: Vec<Event>,
    /// As the program sees it.
    pub live_size: u64,
    /// One more than the last entry that changed its names, its size or (of a directory) its content.
    pub changed: At,
    /// One more than the last entry that made it or changed its size: the metadata without which its data cannot be found.
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

/// A step from the durable content to that of an image.
#[derive(Clone)]
pub enum Patch {
    Write { offset: u64, data: Arc<[u8]>, from: usize, to: usize },
    Zero { offset: u64, length: u64 },
    Resize(u64),
}

impl Change {
    /// The bytes it concerns, if it is data and no change of the size.
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

    /// True if the size changed, which is metadata.
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
        // A cut to the same size still takes part in the order of changes.
        let resized = before != self.live_size || matches!(change, Change::Truncate { .. });
        self.pending.push(Event { at, change });
        resized
    }

    /// Everything is on disk now.
    pub fn persist(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let patches = self.patches(&Fate::all());
        apply(Arc::make_mut(&mut self.durable), &patches);
        self.pending.clear();
    }

    /// The steps that this fate lets reach the disk.
    pub fn patches(&self, fate: &Fate) -> Vec<Patch> {
        let limits = fate.limits(self);
        let mut patches = vec![];
        let mut size = self.durable.len() as u64;
        // Where a cut of the file did not reach the disk, what was written there afterwards did not either: its blocks
        // are given out later than those of the old content are taken back.
        let mut barrier = u64::MAX;
        for Event { at, change } in &self.pending {
            match change {
                Change::Write { offset, data } => each_run(&limits, *at, change, barrier, |from, to| {
                    size = size.max(to);
                    let (start, end) = ((from - offset) as usize, (to - offset) as usize);
                    patches.push(Patch::Write { offset: from, data: data.clone(), from: start, to: end });
                }),
                Change::Zero { .. } => each_run(&limits, *at, change, barrier, |from, to| {
                    if from < size {
                        patches.push(Patch::Zero { offset: from, length: to.min(size) - from });
                    }
                }),
                Change::Truncate { size: to } if fate.keeps_metadata(*at) => {
                    size = *to;
                    patches.push(Patch::Resize(size));
                }
                Change::Truncate { size: to } => barrier = barrier.min(*to),
                Change::Allocate { size: to } => {
                    if fate.keeps_metadata(*at) && *to > size && *to <= barrier {
                        size = *to;
                        patches.push(Patch::Resize(size));
                    }
                }
            }
        }
        patches
    }
}

/// Calls `take` with the parts of a data change that reach the disk, neighbours joined.
fn each_run(limits: &Limits, at: At, change: &Change, barrier: u64, mut take: impl FnMut(u64, u64)) {
    let Some((start, end)) = change.range() else { return };
    let Some(unit) = limits.unit() else {
        if limits.keeps(0, at) {
            take_below(start, end, barrier, take);
        }
        return;
    };
    let mut run: Option<(u64, u64)> = None;
    let mut from = start;
    while from < end {
        let to = ((from / unit + 1) * unit).min(end);
        if to <= barrier && limits.keeps(from / unit, at) {
            run = Some((run.map_or(from, |(begin, _)| begin), to));
        } else if let Some((begin, to)) = run.take() {
            take(begin, to);
        }
        from = to;
    }
    if let Some((begin, to)) = run {
        take(begin, to);
    }
}

fn take_below(start: u64, end: u64, barrier: u64, mut take: impl FnMut(u64, u64)) {
    if start < end.min(barrier) {
        take(start, end.min(barrier));
    }
}

/// Carries the steps out.
pub fn apply(content: &mut Vec<u8>, patches: &[Patch]) {
    for patch in patches {
        match patch {
            Patch::Write { offset, data, from, to } => {
                let (begin, data) = (*offset as usize, &data[*from..*to]);
                let end = begin + data.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[begin..end].copy_from_slice(data);
            }
            Patch::Zero { offset, length } => {
                let end = content.len().min((offset + length) as usize);
                content[(*offset as usize).min(end)..end].fill(0);
            }
            Patch::Resize(size) => content.resize(*size as usize, 0),
        }
    }
}
