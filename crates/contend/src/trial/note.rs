//! What a run reports while it goes on.

use crate::record::model::{Disk, Reason, Slot};
use crate::study::model::Study;

/// What happens in a run, for the display.
#[derive(Debug)]
pub enum Note<'n> {
    /// A longer step begins.
    Phase(&'n str),
    /// The measurements before the first trial.
    Prepared { disk: &'n Disk, overhead_ns: u64 },
    /// A part begins, counted from 1.
    Part { study: &'n Study, number: usize, total: usize },
    /// A trial begins; `total` trials in all, `left` with this one.
    Begins { study: &'n Study, slot: Slot, total: usize, left: usize },
    /// Operations so far in it.
    Operations(u64),
    /// Trials that ended together were disturbed and run again; `first` is one of them.
    Again { study: &'n Study, first: Slot },
    /// A trial is in the record.
    Done { study: &'n Study, slot: Slot, done: &'n Done },
}

/// Figures of a finished trial, for the display.
#[derive(Debug, Clone)]
pub struct Done {
    pub throughput_per_s: f64,
    /// Operations that were neither committed nor rejected, and those that were rejected.
    pub failed: u64,
    pub rejected: u64,
    pub window_ns: u64,
    pub invalid: Vec<Reason>,
}
