//! Compares the transactions that samples report with what the kernel counted of a worker. A transaction that looks at the
//! database's file makes a call, and a commit that waits for the disk puts a thread to sleep.

use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use contend_wire::sample::Sample;
use std::collections::{BTreeMap, HashMap};

/// Counts of the kernel between two readings, of each worker with all its processes; `None` if a count is not known.
#[derive(Debug, Clone, Default)]
pub struct Kernel {
    /// Calls that read files.
    pub reads: Vec<Option<u64>>,
    /// Voluntary context switches of its threads: how often they waited for something.
    pub sleeps: Vec<Option<u64>>,
    /// Time for which its threads could have run and no processor was free, ns.
    pub queued_ns: Vec<Option<u64>>,
    /// Flushes of the device of the data, by whatever program.
    pub flushes: Option<u64>,
    /// From the end of the first reading to the beginning of the second.
    pub between_ns: (u64, u64),
}

/// What the kernel sees of a transaction for sure, by transaction.
#[derive(Debug, Clone, Default)]
pub struct Visible {
    /// It makes a call that reads a file.
    pub reads: Vec<bool>,
    /// It commits.
    pub commits: Vec<bool>,
    /// Whether a commit puts a thread to sleep.
    pub sleeps: bool,
    /// For how many flushes of the device, one after the other, a commit waits.
    pub flushes: u64,
}

/// Takes a trial's samples one by one.
pub struct KernelCheck {
    kernel: Kernel,
    seen: Visible,
    /// Worker and database of each client.
    place_of: HashMap<u32, (usize, u32)>,
    /// Of each worker, the transactions between the readings that surely read, and those that surely committed.
    reported: Vec<(u64, u64)>,
    /// Of each database, those that surely committed.
    commits: BTreeMap<u32, u64>,
}

impl KernelCheck {
    /// For the clients of each worker, each with its database.
    pub fn new(kernel: Kernel, clients: &[Vec<(u32, u32)>], seen: Visible) -> Self {
        let of = |(number, clients): (usize, &Vec<(u32, u32)>)| {
            clients.iter().map(move |(id, database)| (*id, (number, *database))).collect::<Vec<_>>()
        };
        let place_of = clients.iter().enumerate().flat_map(of).collect();
        Self { kernel, seen, place_of, reported: vec![(0, 0); clients.len()], commits: BTreeMap::new() }
    }

    pub fn push(&mut self, sample: &Sample) {
        let (from_ns, to_ns) = self.kernel.between_ns;
        let inside = from_ns <= sample.started_ns && sample.finished_ns <= to_ns;
        // A client that no plan has is found by the accounts.
        let Some((worker, database)) = self.place_of.get(&sample.client).filter(|_| inside && sample.is_ok()) else {
            return;
        };
        let surely = |of: &[bool]| u64::from(of.get(usize::from(sample.transaction)).is_some_and(|surely| *surely));
        let (reads, commits) = &mut self.reported[*worker];
        *reads += surely(&self.seen.reads);
        *commits += surely(&self.seen.commits);
        *self.commits.entry(*database).or_default() += surely(&self.seen.commits);
    }

    /// The first contradiction of each kind.
    pub fn finish(self) -> Vec<Reason> {
        [self.reads(), self.sleeps(), self.flushes()].into_iter().flatten().collect()
    }

    /// The first worker that read less often than it reports.
    fn reads(&self) -> Option<Reason> {
        self.reported.iter().zip(&self.kernel.reads).enumerate().find_map(|(number, ((reported, _), counted))| {
            let counted = counted.filter(|counted| counted < reported)?;
            Some(Invalid::Answers.because(format!(
                "worker {number} reports {reported} transactions in the window, each of which must read the header of the \
                 database's file, but the kernel counted only {counted} file reads by it: the remaining transactions were not executed"
            )))
        })
    }

    /// The first worker whose threads slept less often than it reports commits. A sync whose device answers at once need not put
    /// its thread to sleep, so only half of them must have.
    fn sleeps(&self) -> Option<Reason> {
        let counts = self.kernel.sleeps.iter().filter(|_| self.seen.sleeps);
        self.reported.iter().zip(counts).enumerate().find_map(|(number, ((_, reported), counted))| {
            let counted = counted.filter(|counted| *counted < reported / 2)?;
            Some(Invalid::NotCredible.because(format!(
                "worker {number} reports {reported} durable commits in the window, each of which must wait for the disk, and its \
                 threads waited {counted} times for anything: {NOT_SYNCED}"
            )))
        })
    }

    /// Whether the device was flushed less often than a database waited for it. A database commits one transaction at a time, so no
    /// flush serves two of its commits, and other programs can only add flushes. Flushes of several databases can be one.
    fn flushes(&self) -> Option<Reason> {
        let commits = self.commits.values().max()?;
        let (each, flushes) = (self.seen.flushes, self.kernel.flushes?);
        (flushes < commits * each).then(|| {
            let each = if each == 1 { "a flush".to_string() } else { format!("{each} flushes") };
            Invalid::NotCredible.because(format!(
                "the samples have {commits} commits of one database in the window, each of which must wait for {each} of the \
                 disk, and the disk was flushed {flushes} times: {NOT_SYNCED}"
            ))
        })
    }
}

const NOT_SYNCED: &str = "some commits were not synced (a library such as libeatmydata in LD_PRELOAD, or a setting that is not in \
                          effect)";

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in transactions of client 7 (number, start, end), if the kernel counted these reads and sleeps between the
    /// times 10 and 90. Transaction 0 reads, transaction 1 sleeps.
    fn found(reads: Option<u64>, sleeps: Option<u64>, transactions: &[(u16, u64, u64)]) -> Vec<String> {
        let kernel = Kernel {
            reads: vec![Some(0), reads],
            sleeps: vec![Some(0), sleeps],
            between_ns: (10, 90),
            ..Kernel::default()
        };
        let seen = Visible { reads: vec![true, false], commits: vec![false, true], sleeps: true, flushes: 0 };
        found_by(KernelCheck::new(kernel, &[vec![(3, 0)], vec![(7, 0)]], seen), transactions)
    }

    fn found_by(mut check: KernelCheck, transactions: &[(u16, u64, u64)]) -> Vec<String> {
        for (transaction, started_ns, finished_ns) in transactions {
            check.push(&Sample {
                client: 7,
                transaction: *transaction,
                due_ns: *started_ns,
                started_ns: *started_ns,
                finished_ns: *finished_ns,
                ..Sample::default()
            });
        }
        check.finish().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn more_transactions_than_the_kernel_saw_are_found() {
        let two_each = [(0, 10, 20), (1, 20, 30), (0, 80, 90), (1, 80, 90)];
        assert_eq!(found(Some(2), Some(2), &two_each), [""; 0]);
        assert_eq!(found(Some(2), Some(1), &two_each), [""; 0], "a device may answer at once");
        let words = found(Some(1), Some(0), &two_each);
        assert!(words[0].starts_with("answers: worker 1 reports 2 transactions in the window"), "{words:?}");
        assert!(words[1].starts_with("not-credible: worker 1 reports 2 durable commits in the window"), "{words:?}");
        assert_eq!(found(None, None, &two_each), [""; 0], "the counts are not known");
    }

    #[test]
    fn a_disk_that_was_flushed_less_often_than_a_database_waited_is_found() {
        let found = |flushes, each, databases: [u32; 2]| {
            let kernel = Kernel { flushes, between_ns: (10, 90), ..Kernel::default() };
            let seen = Visible { commits: vec![true], flushes: each, ..Visible::default() };
            let clients = [vec![(7, databases[0])], vec![(8, databases[1])]];
            let mut check = KernelCheck::new(kernel, &clients, seen);
            // Another commit, of client 8, in addition to two of client 7.
            check.commits.insert(databases[1], 1);
            found_by(check, &[(0, 10, 20), (0, 20, 30)]).len()
        };
        assert_eq!([3, 2].map(|flushes| found(Some(flushes), 1, [0, 0])), [0, 1]);
        assert_eq!([2, 1].map(|flushes| found(Some(flushes), 1, [0, 1])), [0, 1], "two databases may share a flush");
        assert_eq!([6, 5].map(|flushes| found(Some(flushes), 2, [0, 0])), [0, 1], "journal and data");
        assert_eq!([found(None, 1, [0, 0]), found(Some(0), 0, [0, 0])], [0, 0], "nothing is known");
    }

    #[test]
    fn what_the_kernel_need_not_have_seen_between_the_readings_does_not_count() {
        assert_eq!(found(Some(0), Some(0), &[(0, 9, 20), (1, 9, 20), (1, 80, 91), (2, 30, 40)]), [""; 0]);
    }
}
