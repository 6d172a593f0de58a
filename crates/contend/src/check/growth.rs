//! Compares the number of rows that reads returned with what was acknowledged: a read returns what had been committed when it
//! began, and nothing that had not begun when it ended.

use crate::growing::Growing;
use crate::outcome::may_have_acted;
use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use contend_wire::literal::Value;
use contend_wire::plan::Client;
use contend_wire::sample::Sample;
use std::collections::HashMap;

/// Reads that are kept until all that was committed is known. Beyond them, only those of half as many values are kept, as often
/// as needed.
const READS_MAX: usize = 1_000_000;
/// Rows for which the same is done.
const ROWS_MAX: usize = 10_000_000;
/// Ends the halving if one value alone is above a limit.
const ONE_IN_MAX: u64 = 1 << 32;

/// Which rows: the number of the read, the database, the value.
type Rows = (u16, u32, i64);

/// Attempts that add rows with one value.
#[derive(Debug, Default)]
struct Added {
    /// Ends of acknowledged attempts.
    acknowledged_ns: Vec<u64>,
    /// Starts of attempts that may have committed.
    begun_ns: Vec<u64>,
    /// Starts and ends of attempts that did not commit: some isolation levels let others see their rows meanwhile.
    undone_begun_ns: Vec<u64>,
    undone_ended_ns: Vec<u64>,
}

#[derive(Debug)]
struct Read {
    of: Rows,
    sample: Sample,
}

/// Takes a trial's samples one by one.
pub struct Growth<'p> {
    growing: Vec<Growing>,
    clients: HashMap<u32, &'p Client>,
    added: HashMap<Rows, Added>,
    reads: Vec<Read>,
    rows: usize,
    /// Only every n-th value is kept, with its reads and rows; a power of two.
    one_in: u64,
    reads_max: usize,
    rows_max: usize,
}

impl<'p> Growth<'p> {
    pub fn new(growing: Vec<Growing>, clients: impl IntoIterator<Item = &'p Client>) -> Self {
        let clients = clients.into_iter().map(|client| (client.id, client)).collect();
        let (reads_max, rows_max) = (READS_MAX, ROWS_MAX);
        Self { growing, clients, added: HashMap::new(), reads: vec![], rows: 0, one_in: 1, reads_max, rows_max }
    }

    pub fn push(&mut self, sample: &Sample) {
        let Some(client) = self.clients.get(&sample.client).filter(|client| !client.operations.is_empty()) else {
            return;
        };
        let operation = &client.operations[sample.operation as usize % client.operations.len()];
        let arguments = client.arguments_of(operation);
        for (number, growing) in self.growing.iter().enumerate() {
            let rows = |argument: u16| match arguments.get(usize::from(argument)) {
                Some(Value::Integer(value)) if is_kept(*value, self.one_in) => {
                    Some((number as u16, client.database, *value))
                }
                _ => None,
            };
            // A sample of another transaction than planned is found by the accounts.
            if operation.transaction != sample.transaction {
                continue;
            }
            if growing.transaction == sample.transaction && sample.is_ok() {
                self.reads.extend(rows(growing.argument).map(|of| Read { of, sample: *sample }));
            }
            for (_, argument) in growing.added_by.iter().filter(|(by, _)| *by == sample.transaction) {
                let Some(of) = rows(*argument) else { continue };
                self.rows += 1;
                let added = self.added.entry(of).or_default();
                match sample.is_ok() {
                    true => {
                        added.acknowledged_ns.push(sample.finished_ns);
                        added.begun_ns.push(sample.started_ns);
                    }
                    false if may_have_acted(sample) => added.begun_ns.push(sample.started_ns),
                    false => {
                        added.undone_begun_ns.push(sample.started_ns);
                        added.undone_ended_ns.push(sample.finished_ns);
                    }
                }
            }
        }
        while self.one_in < ONE_IN_MAX && (self.reads.len() > self.reads_max || self.rows > self.rows_max) {
            self.thin_out();
        }
    }

    /// Keeps half of the values.
    fn thin_out(&mut self) {
        self.one_in *= 2;
        let one_in = self.one_in;
        self.added.retain(|(.., value), _| is_kept(*value, one_in));
        self.reads.retain(|read| is_kept(read.of.2, one_in));
        self.rows = self.added.values().map(Added::rows).sum();
    }

    /// How many reads returned a number of rows that they cannot have returned, with the first one.
    pub fn finish(mut self) -> Option<Reason> {
        for added in self.added.values_mut() {
            added.acknowledged_ns.sort_unstable();
            added.begun_ns.sort_unstable();
            added.undone_begun_ns.sort_unstable();
            added.undone_ended_ns.sort_unstable();
        }
        let none = Added::default();
        let wrong = |read: &&Read| {
            let growing = &self.growing[usize::from(read.of.0)];
            let (least, most) = self.added.get(&read.of).unwrap_or(&none).seen_by(&read.sample);
            let (others_least, others_most) = growing.others;
            let least = least.min(growing.most) + others_least;
            let most = most.min(growing.most).saturating_add(others_most);
            !(least..=most).contains(&u64::from(read.sample.rows))
        };
        let found = self.reads.iter().filter(wrong).count();
        let first = self.reads.iter().find(wrong)?;
        let Sample { client, operation, rows, .. } = first.sample;
        Some(Invalid::Answers.because(format!(
            "{found} of {} reads returned other numbers of rows than had been committed when they ran (the first: operation \
             {operation} of client {client}, {rows} rows). They were not carried out or came from a cache, or the transactions whose \
             rows they should see were not carried out",
            self.reads.len()
        )))
    }
}

/// Whether a value is kept, if every `one_in`-th is. A hash spreads them, so neighbours and multiples are kept as often as others.
fn is_kept(value: i64, one_in: u64) -> bool {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    // With the addition 0 is a value like any other.
    let spread = (value as u64).wrapping_add(GOLDEN).wrapping_mul(GOLDEN);
    (spread ^ (spread >> 32)).is_multiple_of(one_in)
}

impl Added {
    fn rows(&self) -> usize {
        self.begun_ns.len() + self.undone_begun_ns.len()
    }

    /// How many of the rows a read must have seen, and how many it may have.
    fn seen_by(&self, read: &Sample) -> (u64, u64) {
        let least = self.acknowledged_ns.partition_point(|ns| *ns < read.started_ns);
        let begun = self.begun_ns.partition_point(|ns| *ns <= read.finished_ns);
        // Undone operations that overlap the read.
        let undone = self.undone_begun_ns.partition_point(|ns| *ns <= read.finished_ns);
        let over = self.undone_ended_ns.partition_point(|ns| *ns < read.started_ns);
        (least as u64, (begun + undone.saturating_sub(over)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::plan::Loop;
    use contend_wire::sample::CodeSpace;

    /// Transaction 0 reads the rows of its argument, 1 adds one to them; client 1 has both for the value 7, client 2 for 9.
    fn found(samples: &[Sample]) -> bool {
        found_with(samples, (READS_MAX, ROWS_MAX)).is_some()
    }

    /// As `found`, with other limits of reads and rows.
    fn found_with(samples: &[Sample], (reads_max, rows_max): (usize, usize)) -> Option<Reason> {
        let growing = Growing { transaction: 0, argument: 0, most: 2, others: (1, 1), added_by: vec![(1, 0)] };
        let client = |id, value| {
            let mut client = Client {
                id,
                database: 0,
                load: Loop::Closed,
                cyclic: true,
                limit: 0,
                start_ns: 0,
                operations: vec![],
                arguments: vec![],
            };
            client.push(0, 0, [Value::Integer(value)]);
            client.push(0, 1, [Value::Integer(value)]);
            client
        };
        let clients = [client(1, 7), client(2, 9)];
        let mut growth = Growth { reads_max, rows_max, ..Growth::new(vec![growing], &clients) };
        samples.iter().for_each(|sample| growth.push(sample));
        growth.finish()
    }

    fn sample(client: u32, transaction: u16, rows: u32, times: (u64, u64)) -> Sample {
        Sample {
            client,
            operation: u32::from(transaction),
            transaction,
            rows,
            due_ns: times.0,
            started_ns: times.0,
            finished_ns: times.1,
            ..Sample::default()
        }
    }

    #[test]
    fn a_read_returns_what_was_committed_before_it_and_nothing_that_came_after() {
        let write = sample(1, 1, 3, (10, 20));
        let read = |rows, times| [write, sample(1, 0, rows, times)];
        for (rows, times, wrong) in [
            (1, (1, 5), false),
            (2, (1, 5), true),
            (1, (1, 15), false),
            (2, (1, 15), false),
            (2, (21, 25), false),
            (1, (21, 25), true),
            (3, (21, 25), true),
            (1, (20, 25), false),
        ] {
            assert_eq!(found(&read(rows, times)), wrong, "{rows} rows at {times:?}");
        }
        assert!(!found(&[write, sample(2, 0, 1, (30, 40))]), "another value");
    }

    #[test]
    fn what_may_have_been_undone_may_be_seen_or_not() {
        let failed = Sample { code_space: CodeSpace::Sqlite, code: 5, failed_step: 0, ..sample(1, 1, 0, (10, 20)) };
        for (rows, times, wrong) in
            [(2, (12, 15), false), (1, (12, 15), false), (2, (30, 31), true), (1, (30, 31), false)]
        {
            assert_eq!(found(&[failed, sample(1, 0, rows, times)]), wrong, "{rows} rows at {times:?}");
        }
    }

    #[test]
    fn with_more_than_there_is_room_for_a_part_of_the_values_is_still_compared() {
        // Each client commits two rows, then reads one and not three.
        let of = |client| [sample(client, 1, 3, (1, 2)), sample(client, 1, 3, (3, 4)), sample(client, 0, 1, (5, 6))];
        let samples = [of(1), of(2)].concat();
        let words = |room| found_with(&samples, room).map(|reason| reason.detail).unwrap_or_default();
        assert!(words((READS_MAX, ROWS_MAX)).starts_with("2 of 2 reads"));
        for room in [(1, 100), (100, 3)] {
            assert!(words(room).starts_with("1 of 1 reads"), "{room:?}: {}", words(room));
        }
        let kept = |one_in| (0..8_000).filter(|value| is_kept(*value, one_in)).count();
        assert!(
            kept(1) == 8_000 && (3_600..4_400).contains(&kept(2)) && (900..1_100).contains(&kept(8)),
            "{}",
            kept(8)
        );
    }

    #[test]
    fn a_limit_bounds_what_is_seen() {
        let writes = |n: u64| (0..n).map(|at| sample(1, 1, 3, (at, at + 1)));
        let read = |rows| writes(5).chain([sample(1, 0, rows, (50, 60))]).collect::<Vec<_>>();
        assert!(!found(&read(3)) && found(&read(2)) && found(&read(4)));
    }
}
