//! Compares the rows that reads returned with those of the other contenders of a round. All carry out the same operations on the
//! same data. So if no transaction writes the tables of a read, plan and data alone decide its number of rows.

use contend_wire::sample::Sample;
use std::collections::BTreeMap;

/// How many operations of each client are compared: the first ones.
const OPERATIONS_MAX: u32 = 50_000;

/// Rows of an operation that is not compared: no such read, failed, or not carried out.
const UNKNOWN: u32 = u32::MAX;

/// Reads of one transaction from which on it is a finding that none of them returned a row.
const SILENT_MIN: u64 = 50;

/// What decides how many rows a transaction returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It writes.
    Write,
    /// It reads what others write.
    Read,
    /// Others take away what it reads, so that it finds rows or none depending on who is ahead.
    Raced,
    /// A read of tables that no client writes.
    Fixed,
}

/// The rows of a trial's reads.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// By transaction.
    kinds: Vec<Kind>,
    /// Transaction and rows, by client and operation.
    rows: BTreeMap<u32, Vec<(u16, u32)>>,
    /// Transactions that write: attempted, and acknowledged.
    writes: [u64; 2],
}

impl Answers {
    pub fn new(kinds: Vec<Kind>) -> Self {
        Self { kinds, ..Self::default() }
    }

    pub fn push(&mut self, sample: &Sample) {
        let kind = self.kinds.get(usize::from(sample.transaction)).copied().unwrap_or(Kind::Write);
        if kind == Kind::Write {
            self.writes = [self.writes[0] + 1, self.writes[1] + u64::from(sample.is_ok())];
        }
        if !matches!(kind, Kind::Write | Kind::Raced) && sample.is_ok() && sample.operation < OPERATIONS_MAX {
            let rows = self.rows.entry(sample.client).or_default();
            let at = sample.operation as usize;
            if rows.len() <= at {
                rows.resize(at + 1, (0, UNKNOWN));
            }
            rows[at] = (sample.transaction, sample.rows);
        }
    }

    fn is_starved(&self) -> bool {
        self.writes[0] > 0 && self.writes[1] == 0
    }

    /// A difference between the rows of operations that both trials have carried out, in words. It is a read of unwritten tables
    /// with another number of rows, or a transaction that never returned a row here and nearly always did there. Where writes
    /// were attempted and none got through, there may be no row to return.
    pub fn difference(&self, other: &Self) -> Option<String> {
        // By transaction: number of reads, reads with rows here, reads with rows there.
        let mut with_rows: BTreeMap<u16, (u64, u64, u64)> = BTreeMap::new();
        for (client, mine) in &self.rows {
            let Some(theirs) = other.rows.get(client) else { continue };
            for (operation, ((transaction, rows), (_, others))) in mine.iter().zip(theirs).enumerate() {
                if *rows == UNKNOWN || *others == UNKNOWN {
                    continue;
                }
                if self.kinds[usize::from(*transaction)] == Kind::Fixed && rows != others {
                    return Some(format!(
                        "operation {operation} of client {client} returned {rows} rows here, {others} there"
                    ));
                }
                let (reads, here, there) = with_rows.entry(*transaction).or_default();
                *reads += 1;
                *here += u64::from(*rows > 0);
                *there += u64::from(*others > 0);
            }
        }
        let silent = |reads: u64, none: u64, some: u64| reads >= SILENT_MIN && none == 0 && some * 10 >= reads * 9;
        with_rows.into_iter().find_map(|(transaction, (reads, here, there))| {
            let is_silent = !self.is_starved() && silent(reads, here, there);
            (is_silent || !other.is_starved() && silent(reads, there, here)).then(|| {
                format!("{here} of {reads} reads of transaction {transaction} returned rows here, {there} there")
            })
        })
    }
}

/// The rows of a trial of the round.
#[derive(Debug, Clone)]
pub struct TrialAnswers {
    pub trial: u32,
    /// Engine and driver. Two trials of one driver can be wrong in the same way, so they do not confirm each other.
    pub driver: String,
    pub answers: Answers,
}

/// An earlier trial of the round that the newest one contradicts, how, and whether the earlier ones agree with each other. If they
/// do, the newest trial is wrong; if not, one of the two is. Agreement counts between drivers, or if the round has one only.
pub fn contradicted(mine: &TrialAnswers, earlier: &[TrialAnswers]) -> Option<(u32, String, bool)> {
    let differs = |other: &TrialAnswers| mine.answers.difference(&other.answers).map(|found| (other.trial, found));
    let (trial, found) = earlier.iter().find_map(differs)?;
    let one_driver = |all: &[TrialAnswers], driver: &str| all.iter().all(|other| other.driver == driver);
    let only = one_driver(earlier, &mine.driver);
    // A trial that agrees with another one is not the odd one.
    if earlier.iter().any(|other| (only || other.driver != mine.driver) && differs(other).is_none()) {
        return None;
    }
    let confirmed = earlier.len() > 1 && (only || !one_driver(&earlier[1..], &earlier[0].driver));
    let agree = |pair: &[TrialAnswers]| pair[0].answers.difference(&pair[1].answers).is_none();
    Some((trial, found, confirmed && earlier.windows(2).all(agree)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(transaction: u16, operation: u32, rows: u32) -> Sample {
        Sample { client: 1, operation, transaction, rows, started_ns: 1, finished_ns: 2, ..Sample::default() }
    }

    fn answers(rows: &[u32]) -> Answers {
        let mut answers = Answers::new(vec![Kind::Fixed, Kind::Read]);
        for (operation, rows) in (0..).step_by(2).zip(rows) {
            answers.push(&sample(0, operation, *rows));
            answers.push(&sample(1, operation + 1, 1));
        }
        answers
    }

    #[test]
    fn a_read_with_other_rows_is_found_however_many_follow() {
        assert_eq!(answers(&[3, 4, 5]).difference(&answers(&[3, 4])), None);
        let found = answers(&[3, 0, 5]).difference(&answers(&[3, 4])).expect("another one");
        assert_eq!(found, "operation 2 of client 1 returned 0 rows here, 4 there");
        let mut written = answers(&[3]);
        written.push(&sample(1, 1, 99));
        assert_eq!(written.difference(&answers(&[3])), None, "nothing decides the rows of that");
    }

    #[test]
    fn reads_that_never_return_a_row_are_found_although_others_write() {
        let reads = |rows: &dyn Fn(u32) -> u32| {
            let mut answers = Answers::new(vec![Kind::Write, Kind::Read]);
            answers.push(&sample(0, 50, 1));
            (0..50).for_each(|operation| answers.push(&sample(1, operation, rows(operation))));
            answers
        };
        let honest = reads(&|operation| u32::from(operation % 10 > 0));
        let found = reads(&|_| 0).difference(&honest).expect("nothing was executed");
        assert_eq!(found, "0 of 50 reads of transaction 1 returned rows here, 45 there");
        assert_eq!(reads(&|operation| u32::from(operation == 0)).difference(&honest), None, "what is left may be gone");
        let starved = Answers { writes: [9, 0], ..reads(&|_| 0) };
        assert_eq!(starved.difference(&honest), None, "its writer got nothing through");
        assert_eq!(honest.difference(&starved), None);
        let reads_only = Answers { writes: [0, 0], ..reads(&|_| 0) };
        assert!(reads_only.difference(&honest).is_some(), "no client writes: rows were there from the beginning");
    }

    #[test]
    fn the_odd_one_of_three_is_wrong_and_one_of_two_may_be_either() {
        let (good, wrong) = (answers(&[3, 4]), answers(&[0, 0]));
        let told = |trial, answers: &Answers, driver: &str| TrialAnswers {
            trial,
            driver: driver.into(),
            answers: answers.clone(),
        };
        let round = |earlier: &[&Answers], mine| {
            let earlier: Vec<_> = (1..).zip(earlier).map(|(trial, answers)| told(trial, answers, "x")).collect();
            contradicted(&told(9, mine, "x"), &earlier).map(|(trial, _, odd)| (trial, odd))
        };
        assert_eq!(round(&[], &good), None);
        assert_eq!(round(&[&good, &good], &good), None);
        assert_eq!(round(&[&good], &wrong), Some((1, false)));
        assert_eq!(round(&[&good, &good], &wrong), Some((1, true)));
        assert_eq!(round(&[&wrong, &good], &good), None, "it agrees with one of them");
        let of_drivers = |earlier: [(&Answers, &str); 2], mine| {
            let earlier = [told(1, earlier[0].0, earlier[0].1), told(2, earlier[1].0, earlier[1].1)];
            contradicted(&told(3, mine, "y"), &earlier).map(|(trial, _, odd)| (trial, odd))
        };
        assert_eq!(
            of_drivers([(&wrong, "x"), (&wrong, "x")], &good),
            Some((1, false)),
            "both may be wrong in the same way"
        );
        assert_eq!(
            of_drivers([(&good, "x"), (&wrong, "y")], &wrong),
            Some((1, false)),
            "its own driver does not confirm it"
        );
        assert_eq!(of_drivers([(&good, "x"), (&good, "z")], &wrong), Some((1, true)));
    }
}
