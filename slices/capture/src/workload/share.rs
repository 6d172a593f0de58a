//! The share of a capture that its workload covers.

use crate::attempts::attempts;
use crate::parts::groups;
use crate::program::{Group, Shapes, Transaction};
use crate::trace::Trace;
use std::path::Path;

/// Numbers of captured transactions that the workload leaves out and takes, of all and of those that write.
#[derive(Default)]
pub struct Share {
    all: [usize; 2],
    writes: [usize; 2],
}

impl Share {
    /// The transactions on these databases, which a workload leaves out.
    pub fn without(trace: &Trace, others: &[&Path]) -> Share {
        let mut share = Share::default();
        if others.is_empty() {
            return share;
        }
        let shapes = Shapes::of(trace);
        let mut all = attempts(trace, &shapes);
        let path = |of: &Transaction| trace.connections.get(&of.connection).map(|connection| connection.path.as_path());
        all.retain(|of| path(of).is_some_and(|path| others.contains(&path)));
        groups(&all, trace, &shapes)
            .iter()
            .filter(|group| !group.steps.is_empty())
            .for_each(|group| share.add(group, false));
        share
    }

    pub fn add(&mut self, group: &Group, is_taken: bool) {
        let count = group.transactions.len();
        self.all[usize::from(is_taken)] += count;
        self.writes[usize::from(is_taken)] += if group.writes { count } else { 0 };
    }

    /// As a phrase; rounded down, so that 100 % are all.
    pub fn words(&self) -> String {
        let percent = |[captured, taken]: [usize; 2]| 100 * taken / captured.max(1);
        match self.writes {
            [0, _] => format!("{} % of the captured transactions", percent(self.all)),
            writes => format!(
                "{} % of the captured transactions, and {} % of those that write",
                percent(self.all),
                percent(writes)
            ),
        }
    }
}
