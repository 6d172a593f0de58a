//! Requests to services by outcome, over all trials of a service under a condition.

use crate::analysis::messages::{Message, Messages};
use crate::analysis::tally::per_second;
use crate::operation::{Operation, Operations};
use crate::outcome::Outcome;
use crate::outcome::reason::deeds_count;
use crate::record::model::Trial;
use crate::record::recorded::Recorded;
use crate::stats::histogram::Histogram;
use anyhow::Result;
use contend_wire::sample::CodeSpace;

/// Requests of several trials, added up.
#[derive(Debug, Default)]
pub struct Sum {
    pub ok: u64,
    failed: u64,
    pub unsent: u64,
    messages: Messages,
    /// Response times of successful requests in valid trials.
    ok_ns: Histogram,
    /// Commits that finished inside the window, as throughput counts them.
    inside: u64,
    inside_ns: u64,
    /// Sum of the windows of all trials.
    pub wall_ns: u64,
}

/// The sum of each contender under each condition, condition by condition.
///
/// # Errors
/// The samples of a trial cannot be read.
pub fn sums(record: &dyn Recorded) -> Result<Vec<Sum>> {
    sums_of(record, &|trial| deeds_count(&trial.invalid))
}

/// The same, only of trials that are `wanted`.
///
/// # Errors
/// The samples of such a trial cannot be read.
pub fn sums_of(record: &dyn Recorded, wanted: &dyn Fn(&Trial) -> bool) -> Result<Vec<Sum>> {
    let study = &record.run().study;
    let of = |condition| (0..study.contenders.len()).map(move |contender| (condition, contender));
    let places = (0..study.conditions.len()).flat_map(of);
    places
        .map(|(condition, contender)| {
            let here = |trial: &Trial| trial.slot.condition == condition && trial.slot.contender == contender;
            let mut sum = Sum::default();
            for trial in record.trials().iter().filter(|trial| here(trial) && wanted(trial)) {
                sum.add(record, trial)?;
            }
            sum.messages.unsent(sum.unsent);
            Ok(sum)
        })
        .collect()
}

impl Sum {
    /// Number of requests.
    pub fn total(&self) -> u64 {
        self.ok + self.all_failed()
    }

    /// Requests that failed or were never sent.
    pub fn all_failed(&self) -> u64 {
        self.failed + self.unsent
    }

    /// Successes per second of valid windows; `None` without one.
    pub fn per_s(&self) -> Option<f64> {
        (self.inside_ns > 0).then(|| per_second(self.inside, self.inside_ns))
    }

    /// Number of response times.
    pub fn times(&self) -> u64 {
        self.ok_ns.len()
    }

    /// A quantile of the response times of successful requests in valid trials; 1 is the longest.
    pub fn time_ns(&self, q: f64) -> Option<u64> {
        self.ok_ns.quantile(q)
    }

    /// The most frequent messages.
    pub fn most_frequent(&self, at_most: usize) -> Vec<Message> {
        self.messages.most_frequent(at_most)
    }

    fn add(&mut self, record: &dyn Recorded, trial: &Trial) -> Result<()> {
        let sent_before = self.ok + self.failed;
        let (mut operations, mut earlier) = (Operations::new(), 0);
        record.samples(trial.slot.trial, &mut |sample| {
            operations.push(sample, &mut |op| earlier += u64::from(self.count(trial, op)));
        })?;
        operations.finish(&mut |op| earlier += u64::from(self.count(trial, op)));
        self.messages.add(trial);
        let sent = self.ok + self.failed - sent_before - earlier;
        self.unsent += trial.planned.values().sum::<u64>().saturating_sub(sent);
        let window_ns = trial.window_end_ns.saturating_sub(trial.window_start_ns);
        self.wall_ns += window_ns;
        self.inside_ns += if trial.invalid.is_empty() { window_ns } else { 0 };
        Ok(())
    }

    /// Counts an operation; returns whether it was due before the window.
    fn count(&mut self, trial: &Trial, op: Operation<'_>) -> bool {
        let (window, valid) = (trial.window_start_ns..trial.window_end_ns, trial.invalid.is_empty());
        let committed = op.outcome() == Outcome::Committed;
        self.inside += u64::from(valid && committed && window.contains(&op.finished_ns()));
        let due_inside = window.contains(&op.due_ns());
        if due_inside && committed {
            self.ok += 1;
            if valid {
                self.ok_ns.record(op.response_ns());
            }
            return false;
        }
        // A client that waited for an answer from before the window on had nothing else due in it.
        let waited = op.due_ns() < window.start && op.finished_ns() >= window.start && unanswered(op);
        if due_inside || waited {
            self.failed += 1;
            self.messages.failed(op.last());
        }
        waited
    }
}

/// Whether no answer came: the connection was refused or lost, time ran out, or the request was given up.
fn unanswered(op: Operation<'_>) -> bool {
    op.last().code_space == CodeSpace::Os
}
