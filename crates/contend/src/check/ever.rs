//! What was committed over a whole trial, run-in and drain included, for invariants: counts per database and transaction, and
//! the last writes.

use crate::check::last::Last;
use crate::growing::LastWrite;
use crate::operation::{Operation, Operations};
use crate::outcome::may_have_acted;
use contend_wire::plan::Client;
use contend_wire::sample::Sample;
use std::collections::HashMap;

/// Takes a trial's samples one by one.
pub struct Ever<'p> {
    operations: Operations,
    database_of: HashMap<u32, u32>,
    acted: Acted<'p>,
}

/// Acknowledged attempts, and others that may have been carried out.
#[derive(Debug, Default)]
pub struct Acted<'p> {
    /// How many of both, by database and transaction.
    counts: HashMap<(u32, u16), (u64, u64)>,
    pub last: Last<'p>,
}

impl<'p> Ever<'p> {
    /// `texts` are those that arguments refer to by number.
    pub fn new(clients: impl Iterator<Item = &'p Client> + Clone, last: &'p [LastWrite], texts: &'p [String]) -> Self {
        let database_of = clients.clone().map(|client| (client.id, client.database)).collect();
        let acted = Acted { last: Last::new(last, texts, clients), ..Acted::default() };
        Self { operations: Operations::new(), database_of, acted }
    }

    pub fn push(&mut self, sample: Sample) {
        self.acted.last.push(&sample);
        let (database_of, acted) = (&self.database_of, &mut self.acted);
        self.operations.push(sample, &mut |op| acted.add(database_of, op));
    }

    pub fn finish(self) -> Acted<'p> {
        let Self { operations, database_of, mut acted } = self;
        operations.finish(&mut |op| acted.add(&database_of, op));
        acted
    }
}

impl Acted<'_> {
    fn add(&mut self, database_of: &HashMap<u32, u32>, op: Operation<'_>) {
        let database = database_of.get(&op.client()).copied().unwrap_or(0);
        let (committed, unknown) = self.counts.entry((database, op.transaction())).or_default();
        // Each unacknowledged attempt may have been carried out, whatever the result of its operation: a retried operation may
        // have been carried out twice.
        *committed += op.attempts().iter().filter(|attempt| attempt.is_ok()).count() as u64;
        *unknown += op.attempts().iter().filter(|attempt| may_have_acted(attempt)).count() as u64;
    }

    /// Acknowledged and unclear attempts of one transaction in one database.
    pub fn of(&self, database: usize, transaction: usize) -> (u64, u64) {
        self.counts.get(&(database as u32, transaction as u16)).copied().unwrap_or_default()
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

    /// Attempts certainly carried out, and perhaps carried out.
    fn counted(operations: &[&[(CodeSpace, u32, u8)]]) -> (u64, u64) {
        let mut ever = Ever::new(std::iter::empty(), &[], &[]);
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
