//! Operations of a study that end before they meet a lock: a SELECT finds no row for the statements after it, as in an empty queue.

use crate::summary::Known;
use crate::trace::Call;
use crate::workload::kinds::Kind;
use std::fmt::Write as _;

/// Metrics with the share of such operations, and with what of it is above a half.
const PERCENT: &str = "rejected_before_locks_percent";
const MOSTLY: &str = "rejected_before_locks_mostly";

/// Transactions that had the capture's lock errors and can end before.
pub struct Unmet {
    names: Vec<String>,
    /// A formula: the rejected share of each transaction, in percent, weighted with its lock errors.
    percent: String,
}

impl Unmet {
    /// `kinds`: with whether a SELECT can find no row for the statements after it. `None` if no such transaction had a lock error.
    pub fn of<'k>(known: &Known, kinds: impl Iterator<Item = (&'k Kind, bool)>) -> Option<Unmet> {
        let is_refused = |call: &Call| call.is_busy() && !call.is_locked();
        let has_error = |&&i: &&usize| known.transactions[i].calls.iter().any(|&i| is_refused(&known.trace.calls[i]));
        let all = kinds.map(|(kind, may)| (&kind.name, may, kind.group.transactions.iter().filter(has_error).count()));
        let all: Vec<(&String, bool, usize)> = all.filter(|(_, _, errors)| *errors > 0).collect();
        Self::weighted(&all)
    }

    /// Transactions with whether they can end before their lock, and lock errors.
    fn weighted(all: &[(&String, bool, usize)]) -> Option<Unmet> {
        let errors: usize = all.iter().map(|(_, _, errors)| errors).sum();
        let those = || all.iter().filter(|(_, may, _)| *may);
        let shares = those().map(|(name, _, errors)| format!("{errors} * rejected.{name} / max(planned.{name}, 1)"));
        let shares: Vec<String> = shares.collect();
        let names = those().map(|(name, ..)| (*name).clone()).collect();
        (!shares.is_empty()).then(|| Unmet { names, percent: format!("100 * ({}) / {errors}", shares.join(" + ")) })
    }

    /// Writes the metrics by which an answer is open.
    pub fn write(&self, out: &mut String) {
        let percent = &self.percent;
        let _ = write!(
            out,
            "\n[[metric]]\nname = \"{PERCENT}\"\nabout = \"operations that were rejected before they met a lock, weighted with the \
             lock errors of their transactions in the capture\"\nvalue = \"{percent}\"\nunit = \"percent\"\nhigher_is_better = false\n\
             \n[[metric]]\nname = \"{MOSTLY}\"\nabout = \"the part of that above a half\"\nvalue = \"max(0, {percent} - 50)\"\n\
             unit = \"percent\"\nhigher_is_better = false\n"
        );
    }

    /// The key of an answer about lock errors, which the run cannot give if most operations ended before.
    pub fn key() -> String {
        format!("cannot_tell_if = \"{MOSTLY}\"\n")
    }

    /// The sentence for that.
    pub fn sentence(&self) -> String {
        format!(
            "This run cannot tell: most operations with the capture's lock errors ({}) ended before the statements that met the locks. \
             {{against.{PERCENT}}} % with the captured settings, and {{this.{PERCENT}}} % in the other case, were rejected: a SELECT \
             found no row for the statements after it, as in an empty queue. Give the tables in workload.toml more rows for it, or the \
             transactions that make such rows a larger share of `mix`.",
            self.names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_weighted_with_all_lock_errors() {
        let names = ["claim", "finish"].map(String::from);
        let unmet = Unmet::weighted(&[(&names[0], true, 30), (&names[1], false, 10)]).expect("one can find no row");
        assert_eq!(unmet.names, ["claim"]);
        assert_eq!(unmet.percent, "100 * (30 * rejected.claim / max(planned.claim, 1)) / 40");
        assert!(Unmet::weighted(&[(&names[1], false, 10)]).is_none());
    }
}
