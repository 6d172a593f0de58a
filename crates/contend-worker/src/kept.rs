//! Values kept from earlier steps of an attempt, for later ones. Nothing here allocates once its buffers have grown.

use crate::answer::JsonRows;
use crate::argument::Argument;
use contend_wire::plan::Head;
use std::ops::Range;

/// A kept value; texts and blobs are in the buffer of [`Kept`].
#[derive(Debug, Clone, PartialEq)]
pub enum KeptValue {
    /// SQL NULL.
    Null,
    /// 64-bit integer.
    Integer(i64),
    /// Double.
    Real(f64),
    /// Text.
    Text(Range<usize>),
    /// Bytes.
    Blob(Range<usize>),
}

/// Values kept from earlier steps of the attempt, by slot. A step that is executed again replaces what it
/// kept before.
#[derive(Debug, Default)]
pub struct Kept {
    slots: Vec<Vec<KeptValue>>,
    buffer: Vec<u8>,
    /// Receives every row, if rows are to be returned.
    pub answer: Option<JsonRows>,
}

impl Kept {
    /// Room for as many slots as the plan's transactions need.
    pub fn new(head: &Head) -> Self {
        Self::with_slots(head.transactions.iter().map(|t| usize::from(t.slots)).max().unwrap_or(0))
    }

    /// Room for this many slots.
    pub fn with_slots(slots: usize) -> Self {
        Self { slots: vec![vec![]; slots], buffer: vec![], answer: None }
    }

    /// All rows of a slot.
    pub fn rows(&self, slot: u16) -> usize {
        self.slots[usize::from(slot)].len()
    }

    /// Forgets everything, for a new attempt.
    #[inline]
    pub fn clear(&mut self) {
        for slot in &mut self.slots {
            slot.clear();
        }
        self.buffer.clear();
    }

    /// Forgets what one slot holds.
    pub fn clear_slot(&mut self, slot: u16) {
        self.slots[usize::from(slot)].clear();
    }

    /// Appends a value to a slot.
    pub fn push(&mut self, slot: u16, value: KeptValue) {
        self.slots[usize::from(slot)].push(value);
    }

    /// Keeps a copy of a value as the next row of a slot.
    #[inline]
    pub fn keep(&mut self, slot: u16, value: Argument<'_>) {
        let kept = match value {
            Argument::Null => KeptValue::Null,
            Argument::Integer(i) => KeptValue::Integer(i),
            Argument::Real(r) => KeptValue::Real(r),
            Argument::Text(text) => KeptValue::Text(self.store(text)),
            Argument::Blob(bytes) => KeptValue::Blob(self.store(bytes)),
        };
        self.push(slot, kept);
    }

    /// Appends bytes to the buffer and returns their range.
    pub fn store(&mut self, bytes: &[u8]) -> Range<usize> {
        let from = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        from..self.buffer.len()
    }

    /// A row of a slot.
    pub fn get(&self, slot: u16, row: usize) -> Option<Argument<'_>> {
        Some(match self.slots[usize::from(slot)].get(row)? {
            KeptValue::Null => Argument::Null,
            KeptValue::Integer(i) => Argument::Integer(*i),
            KeptValue::Real(r) => Argument::Real(*r),
            KeptValue::Text(at) => Argument::Text(&self.buffer[at.clone()]),
            KeptValue::Blob(at) => Argument::Blob(&self.buffer[at.clone()]),
        })
    }
}
