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
    counts: Counts,
}

/// Attempts that were acknowledged, and others that may have been carried out, by database and transaction.
#[derive(Debug, Default)]
pub struct Counts(HashMap<(u32, u16), (u64, u64)>);

impl Ever {
    pub fn new<'c>(clients: impl Iterator<Item = &'c Client>) -> Self {
        let database_of = clients.map(|client| (client.id, client.database)).collect();
        Self { operations: Operations::new(), database_of, counts: Counts::default() }
    }

    pub fn push(&mut self, sample: Sample) {
        let (database_of, counts) = (&self.database_of, &mut self.counts);
        self.operations.push(sample, &mut |op| counts.add(database_of, op));
    }

    pub fn finish(self) -> Counts {
        let Self { operations, database_of, mut counts } = self;
        operations.finish(&mut |op| counts.add(&database_of, op));
        counts
    }
}

impl Counts {
    fn add(&mut self, database_of: &HashMap<u32, u32>, op: Operation<'_>) {
        let database = database_of.get(&op.client()).copied().unwrap_or(0);
        let (committed, unknown) = self.0.entry((database, op.transaction())).or_default();
        // Each attempt that nobody was told about may have done it, whatever became of the operation in the end: one that was
        // tried again may have been done twice.
        *committed += op.attempts().iter().filter(|attempt| attempt.is_ok()).count() as u64;
        *unknown += op.attempts().iter().filter(|attempt| may_have_acted(attempt)).count() as u64;
    }

    /// Acknowledged and unclear attempts of one transaction in one database.
    pub fn of(&self, database: usize, transaction: usize) -> (u64, u64) {
        self.0.get(&(database as u32, transaction as u16)).copied().unwrap_or_default()
    }
}
