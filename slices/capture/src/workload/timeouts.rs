//! The busy timeouts of a capture. A study has one for all clients: that of most writing transactions.

use crate::finding::time;
use crate::summary::Known;
use crate::trace::{Call, Connection};
use crate::workload::contenders::writing;
use contend::stats::precision::counted;
use contend_interpose::format::note;
use std::collections::{BTreeMap, BTreeSet};

/// The busy timeouts of the connections that write or gave up, longest first.
pub struct Timeouts {
    all: Vec<(i64, Timeout)>,
    /// That of the study.
    pub used_ms: i64,
}

/// What had one busy timeout.
#[derive(Default)]
struct Timeout {
    roles: BTreeSet<String>,
    connections: usize,
    writing: usize,
    /// Calls that ended with a lock error because it was over.
    gave_up: usize,
}

/// Whether a call ended with a lock error because its busy timeout was over, or because it had none.
fn gave_up(call: &Call) -> bool {
    call.is_busy() && !call.is_locked() && (call.waited_ns + call.prepare.1 > 0 || !call.may_wait)
}

fn shown(ms: i64) -> String {
    if ms == 0 { "none".to_string() } else { time(ms.cast_unsigned() * 1_000_000) }
}

impl Timeouts {
    /// A connection with a handler in place of a timeout counts to none.
    pub fn of(known: &Known, used_ms: i64) -> Timeouts {
        let writing = writing(known);
        let mut failed: BTreeMap<u64, usize> = BTreeMap::new();
        known
            .trace
            .calls
            .iter()
            .filter(|call| gave_up(call))
            .for_each(|call| *failed.entry(call.connection).or_default() += 1);
        let mut all: BTreeMap<i64, Timeout> = BTreeMap::new();
        let has_timeout =
            |(_, of): &(&u64, &Connection)| of.busy_timeout_ms.is_some() || !of.notes.contains(&note::BUSY_HANDLER);
        for (id, connection) in known.trace.connections.iter().filter(has_timeout) {
            let count = |of: &BTreeMap<u64, usize>| of.get(id).copied().unwrap_or(0);
            let (writing, gave_up) = (count(&writing), count(&failed));
            if writing + gave_up > 0 {
                let timeout = all.entry(connection.busy_timeout_ms.unwrap_or(0).max(0)).or_default();
                timeout.roles.insert(known.trace.process(connection.process).to_string());
                timeout.connections += 1;
                timeout.writing += writing;
                timeout.gave_up += gave_up;
            }
        }
        Timeouts { all: all.into_iter().rev().collect(), used_ms }
    }

    /// Calls that gave up after a shorter busy timeout than that of the study: a trial does not show that they would.
    pub fn gave_up_sooner(&self) -> usize {
        self.all.iter().filter(|(ms, _)| *ms < self.used_ms).map(|(_, timeout)| timeout.gave_up).sum()
    }

    /// A sentence with all of them, if there are several.
    pub fn sentence(&self) -> Option<String> {
        let one = |(ms, of): &(i64, Timeout)| {
            let roles = of.roles.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!(
                "{} for {} ({roles}; {}, {})",
                shown(*ms),
                counted(of.connections, "connection"),
                counted(of.writing, "writing transaction"),
                match of.gave_up {
                    1 => "1 call gave up".to_string(),
                    count => format!("{} gave up", counted(count, "call")),
                }
            )
        };
        let all: Vec<String> = self.all.iter().map(one).collect();
        (all.len() > 1).then(|| {
            format!(
                "The capture has {} busy timeouts: {}. The study has one for all clients, that of most writing \
                 transactions: {}.",
                all.len(),
                all.join("; "),
                shown(self.used_ms)
            )
        })
    }

    /// What an answer adds about calls that gave up sooner.
    pub fn why_open(&self) -> String {
        let sooner = self.all.iter().filter(|(ms, of)| *ms < self.used_ms && of.gave_up > 0);
        let sooner: Vec<String> = sooner.map(|(ms, of)| format!("{} after {}", of.gave_up, shown(*ms))).collect();
        format!(
            "the clients of the study wait up to {}, and in the capture calls gave up sooner ({})",
            shown(self.used_ms),
            sooner.join(", ")
        )
    }
}
