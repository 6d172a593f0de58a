//! Contents of files: the pending changes that reach the disk under a fate.

use std::sync::Arc;

use super::fate::{Fate, Limits};
use super::object::{At, Change, Event, Object};

/// A step from the durable content to that of an image.
#[derive(Clone)]
pub enum Patch {
    Write { offset: u64, data: Arc<[u8]>, from: usize, to: usize },
    Zero { offset: u64, length: u64 },
    Resize(u64),
}

impl Object {
    /// Makes every pending change durable.
    pub fn persist(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let patches = self.patches(&Fate::all());
        apply(Arc::make_mut(&mut self.durable), &patches);
        self.pending.clear();
    }

    /// The changes that reach the disk under this fate.
    pub fn patches(&self, fate: &Fate) -> Vec<Patch> {
        let limits = fate.limits(self);
        let mut patches = vec![];
        let mut size = self.durable.len() as u64;
        // If a truncation did not reach the disk, neither did later writes behind it: the file system allocates their
        // blocks after it frees those of the old content.
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

/// Calls `take` with each part of a data change that reaches the disk; adjacent parts are joined.
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

/// Applies the patches.
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
