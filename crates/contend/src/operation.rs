//! From samples to operations: joins the attempts of one operation and derives its outcome.
//!
//! Samples of one client are in order; those of different clients may be interleaved. Memory holds one pending
//! operation per client, independent of the number of samples.

use crate::outcome::{Outcome, classify};
use contend_wire::sample::{NOT_MEASURED, Sample};
use std::collections::HashMap;

/// All attempts of one operation, at least one, in order.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    attempts: &'a [Sample],
}

impl<'a> Operation<'a> {
    fn first(&self) -> &'a Sample {
        &self.attempts[0]
    }

    /// The attempt that decided the outcome.
    pub fn last(&self) -> &'a Sample {
        &self.attempts[self.attempts.len() - 1]
    }

    pub fn attempts(&self) -> &'a [Sample] {
        self.attempts
    }

    pub fn client(&self) -> u32 {
        self.first().client
    }

    pub fn number(&self) -> u32 {
        self.first().operation
    }

    pub fn transaction(&self) -> u16 {
        self.first().transaction
    }

    pub fn outcome(&self) -> Outcome {
        classify(self.last())
    }

    pub fn due_ns(&self) -> u64 {
        self.first().due_ns
    }

    pub fn started_ns(&self) -> u64 {
        self.first().started_ns
    }

    pub fn finished_ns(&self) -> u64 {
        self.last().finished_ns
    }

    /// Time from due to end, as a waiting user sees it.
    pub fn response_ns(&self) -> u64 {
        self.finished_ns().saturating_sub(self.due_ns())
    }

    /// Length of the attempt that decided the outcome.
    pub fn service_ns(&self) -> u64 {
        self.last().finished_ns - self.last().started_ns
    }

    /// Time from due until it began.
    pub fn late_ns(&self) -> u64 {
        self.attempts[0].started_ns.saturating_sub(self.due_ns())
    }

    /// Time spent in attempts.
    pub fn busy_ns(&self) -> u64 {
        self.attempts.iter().map(|s| s.finished_ns - s.started_ns).sum()
    }

    /// Time between attempts.
    pub fn backoff_ns(&self) -> u64 {
        self.attempts.windows(2).map(|pair| pair[1].started_ns.saturating_sub(pair[0].finished_ns)).sum()
    }

    /// Time waiting for locks over all attempts; `None` if the driver does not measure it.
    pub fn lock_wait_ns(&self) -> Option<u64> {
        self.waits(|s| s.lock_wait_ns)
    }

    /// Time waiting for a pooled connection over all attempts; `None` if the driver does not measure it.
    pub fn acquire_wait_ns(&self) -> Option<u64> {
        self.waits(|s| s.acquire_wait_ns)
    }

    fn waits(&self, of: impl Fn(&Sample) -> u64) -> Option<u64> {
        self.attempts.iter().map(|s| Some(of(s)).filter(|ns| *ns != NOT_MEASURED)).sum()
    }
}

/// Collects samples into operations.
#[derive(Debug, Default)]
pub struct Operations {
    pending: HashMap<u32, Vec<Sample>>,
}

impl Operations {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next sample. If it begins another operation, the client's previous one is passed to `complete`.
    pub fn push(&mut self, sample: Sample, complete: &mut impl FnMut(Operation<'_>)) {
        let pending = self.pending.entry(sample.client).or_default();
        if pending.first().is_some_and(|first| first.operation != sample.operation) {
            complete(Operation { attempts: pending });
            pending.clear();
        }
        pending.push(sample);
    }

    /// Passes the last operation of every client to `complete`, in the order of clients.
    pub fn finish(self, complete: &mut impl FnMut(Operation<'_>)) {
        let mut rest: Vec<_> = self.pending.into_iter().filter(|(_, attempts)| !attempts.is_empty()).collect();
        rest.sort_by_key(|(client, _)| *client);
        for (_, attempts) in &rest {
            complete(Operation { attempts });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::sample::{CodeSpace, STEP_BEGIN, STEP_NONE, flag};

    fn sample(client: u32, operation: u32, attempt: u16, code: u32, times: [u64; 3]) -> Sample {
        Sample {
            client,
            operation,
            attempt,
            failed_step: if code == 0 { STEP_NONE } else { STEP_BEGIN },
            code_space: if code == 0 { CodeSpace::Ok } else { CodeSpace::Sqlite },
            code,
            due_ns: times[0],
            started_ns: times[1],
            finished_ns: times[2],
            lock_wait_ns: 1,
            ..Sample::default()
        }
    }

    #[test]
    fn attempts_of_interleaved_clients_come_together() {
        let samples = [
            sample(1, 0, 0, 5, [10, 11, 20]),
            sample(2, 0, 0, 0, [10, 12, 15]),
            sample(1, 0, 1, 0, [10, 25, 40]),
            sample(2, 1, 0, 517, [15, 16, 17]),
        ];
        let mut seen = vec![];
        let mut note = |op: Operation<'_>| {
            seen.push((op.client(), op.number(), op.attempts().len(), op.outcome(), op.response_ns(), op.backoff_ns()));
        };
        let mut operations = Operations::new();
        for s in samples {
            operations.push(s, &mut note);
        }
        operations.finish(&mut note);
        assert_eq!(
            seen,
            [
                (2, 0, 1, Outcome::Committed, 5, 0),
                (1, 0, 2, Outcome::Committed, 30, 5),
                (2, 1, 1, Outcome::Conflict, 2, 0),
            ]
        );
    }

    #[test]
    fn waits_add_up_and_an_unmeasured_one_leaves_the_sum_unmeasured() {
        let both = [sample(1, 0, 0, 5, [0, 1, 4]), sample(1, 0, 1, 0, [0, 6, 10])];
        let op = Operation { attempts: &both };
        assert_eq!((op.lock_wait_ns(), op.busy_ns(), op.service_ns()), (Some(2), 7, 4));
        let mut unmeasured = both;
        unmeasured[1].lock_wait_ns = NOT_MEASURED;
        assert_eq!(Operation { attempts: &unmeasured }.lock_wait_ns(), None);
        assert_eq!(op.acquire_wait_ns(), None);
        let pooled = both.map(|s| Sample { acquire_wait_ns: 3, ..s });
        assert_eq!(Operation { attempts: &pooled }.acquire_wait_ns(), Some(6));
    }

    #[test]
    fn an_interrupted_attempt_is_unknown_and_a_spent_timeout_is_a_timeout() {
        let mut s = sample(1, 0, 0, 5, [0, 1, 2]);
        assert_eq!(classify(&s), Outcome::Conflict);
        s.flags = flag::LOCK_TIMEOUT_SPENT;
        assert_eq!(classify(&s), Outcome::Timeout);
        s.flags = flag::INTERRUPTED;
        assert_eq!(classify(&s), Outcome::Unknown);
    }
}
