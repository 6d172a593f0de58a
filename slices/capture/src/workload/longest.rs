//! The transaction of a study that holds the write lock longest.

use crate::finding::time;
use crate::summary::Known;
use crate::workload::kinds::Kind;
use std::fmt::Write as _;

/// Quick windows are multiples of this.
const STEP_NS: u64 = 100_000_000;

/// Name of the metric with the operations of the transaction that holds the lock longest.
const HOLDERS: &str = "holding_operations";

/// The transaction whose longest execution holds the write lock longest.
pub struct Longest {
    pub name: String,
    /// Mean and longest time in the program under the lock.
    pub mean_ns: u64,
    pub longest_ns: u64,
    /// Length of the capture for each of its executions.
    pub every_ns: u64,
}

impl Longest {
    /// `None` if no transaction is held open.
    pub fn of(known: &Known, kinds: &[Kind]) -> Option<Longest> {
        let length_ns = known.trace.to_ns - known.trace.from_ns;
        let of = |kind: &Kind| Longest {
            every_ns: length_ns / kind.group.transactions.len().max(1) as u64,
            name: kind.name.clone(),
            mean_ns: kind.group.holds_ns().iter().sum(),
            longest_ns: kind.group.transactions.iter().map(|&i| known.transactions[i].held_ns).max().unwrap_or(0),
        };
        let held = kinds.iter().filter(|kind| kind.group.writes).map(of).filter(|longest| longest.mean_ns > 0);
        held.max_by_key(|longest| longest.longest_ns)
    }

    /// Window of a quick run in which about three of its operations begin in all rounds.
    pub fn quick_window_ms(&self, rounds: u64) -> u64 {
        const OPERATIONS: u64 = 3;
        (OPERATIONS * self.every_ns / rounds).div_ceil(STEP_NS).saturating_mul(STEP_NS / 1_000_000)
    }

    /// Writes the metric with its operations.
    pub fn write(&self, out: &mut String) {
        let name = &self.name;
        let _ = write!(
            out,
            "\n[[metric]]\nname = \"{HOLDERS}\"\nabout = \"operations of {name}, which holds the lock longest\"\n\
             value = \"planned.{name}\"\nhigher_is_better = false\n"
        );
    }

    /// Why a run can be without lock errors, as sentences with blanks.
    pub fn why_none(&self, busy_timeout_ms: i64) -> String {
        let Longest { name, mean_ns, longest_ns, .. } = self;
        let timeout_ns = busy_timeout_ms.max(0).cast_unsigned().saturating_mul(1_000_000);
        let mean = match (*mean_ns..*longest_ns).contains(&timeout_ns) {
            true => format!(
                " Each holds the lock for {}, the mean of the capture, and a call waits up to {}; the longest in the \
                 capture was {}.",
                time(*mean_ns),
                time(timeout_ns),
                time(*longest_ns)
            ),
            false => String::new(),
        };
        format!(
            " It has {{against.{HOLDERS}}} of {{against.operations}} operations of {name}, which holds the lock longest, in the mean \
             of its rounds.{mean} A longer --window or another --seed can have more of them."
        )
    }
}
