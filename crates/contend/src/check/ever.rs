//! What was committed over a whole trial, run-in and drain included, per database and transaction: the counts
//! that invariants may use.

use crate::operation::{Operation, Operations};
use crate::outcome::may_have_acted;
use contend_wire::plan::Client;
use contend_wire::sample::Sample;
use std::collections::HashMap;

/// Takes a trial's samples one by one.
pub struct Ever {
    operations: Operations,
    database_of: HashMap<u32, u32>,
    counts: Acted,
}

/// Attempts that were acknowledged, and others that may have been carried out, by database and transaction.
#[derive(Debug, Default)]
pub struct Acted(HashMap<(u32, u16), (u64, u64)>);

impl Ever {
    pub fn new<'c>(clients: impl Iterator<Item = &'c Client>) -> Self {
        let database_of = clients.map(|client| (client.id, client.database)).collect();
        Self { operations: Operations::new(), database_of, counts: Acted::default() }
    }

    pub fn push(&mut self, sample: Sample) {
        let (database_of, counts) = (&self.database_of, &mut self.counts);
        self.operations.push(sample, &mut |op| counts.add(database_of, op));
    }

    pub fn finish(self) -> Acted {
        let Self { operations, database_of, mut counts } = self;
        operations.finish(&mut |op| counts.add(&database_of, op));
        counts
    }
}

impl Acted {
    fn add(&mut self, database_of: &HashMap<u32, u32>, op: Operation<'_>) {
        let database = database_of.get(&op.client()).copied().unwrap_or(0);
        let (committed, unknown) = self.0.entry((database, op.transaction())).or_default();
        // Each unacknowledged attempt may have done it, whatever became of the operation in the end: one that was
        // tried again may have been done twice.
        *committed += op.attempts().iter().filter(|attempt| attempt.is_ok()).count() as u64;
        *unknown += op.attempts().iter().filter(|attempt| may_have_acted(attempt)).count() as u64;
    }

    /// Acknowledged and unclear attempts of one transaction in one database.
    pub fn of(&self, database: usize, transaction: usize) -> (u64, u64) {
        self.0.get(&(database as u32, transaction as u16)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::sample::{CodeSpace, NOT_MEASURED, STEP_NONE, flag};

    fn sample(operation: u32, attempt: u16, (space, code, flags): (CodeSpace, u32, u8)) -> Sample {
        Sample {
            client: 1,
            operation,
            transaction: 0,
            attempt,
            failed_step: if space == CodeSpace::Ok { STEP_NONE } else { 0 },
            code_space: space,
            flags,
            code,
            rows: 0,
            due_ns: 0,
            started_ns: 1,
            finished_ns: 2,
            lock_wait_ns: NOT_MEASURED,
            acquire_wait_ns: 0,
        }
    }

    /// What invariants allow for: certainly done, and perhaps.
    fn counted(operations: &[&[(CodeSpace, u32, u8)]]) -> (u64, u64) {
        let mut ever = Ever::new(std::iter::empty());
        for (number, attempts) in (0..).zip(operations) {
            for (attempt, code) in (0..).zip(*attempts) {
                ever.push(sample(number, attempt, *code));
            }
        }
        ever.finish().of(0, 0)
    }

    #[test]
    fn whatever_may_have_been_done_is_allowed_for() {
        let ok = (CodeSpace::Ok, 0, 0);
        let no_answer = (CodeSpace::Os, 110, flag::LOCK_TIMEOUT_SPENT);
        let lock_timeout = (CodeSpace::Mysql, 1205, 0);
        let waited = (CodeSpace::Sqlite, 5, flag::LOCK_TIMEOUT_SPENT);
        let (unexpected, refused) = ((CodeSpace::Http, 404, flag::MAY_HAVE_ACTED), (CodeSpace::Http, 402, 0));
        assert_eq!(counted(&[&[ok], &[no_answer], &[lock_timeout], &[waited], &[unexpected], &[refused]]), (1, 2));
        // Of two attempts, the first of which was not answered, one or both were carried out.
        assert_eq!(counted(&[&[(CodeSpace::Os, 104, 0), ok]]), (1, 1));
        assert_eq!(counted(&[&[(CodeSpace::Os, 104, 0), refused]]), (0, 1), "the last word is not the only one");
    }
}
