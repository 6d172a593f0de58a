//! Compares what a server counts of itself with the samples, and with the flushes of the disk that the kernel counts: a server may
//! report syncs that never reached the disk, and a session may leave out a log or repeat a transaction.

use crate::engine::server::OwnCounts;
use crate::outcome::may_have_lost_connection;
use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use contend_wire::sample::Sample;

/// Transactions that are rolled back without a failed attempt, for each client: a driver may end a read of settings so.
const ROLLBACKS_OF_CLIENT: u64 = 10;

/// The same for each begun minute for the server itself, such as a cancelled autovacuum, and for the tool's own sessions.
const ROLLBACKS_MORE: u64 = 50;

/// What the counts are compared with.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    pub clients: u64,
    /// Whole minutes in which the counts grew.
    pub minutes: u64,
    /// Whether each transaction commits a change for sure if it is acknowledged.
    pub surely: Vec<bool>,
    /// Whether a commit waits for the disk.
    pub durable: bool,
    /// Whether a sync flushes the disk, as the kernel counts.
    pub flushes: bool,
    /// For how many syncs one flush can serve.
    pub syncs_at_once: u64,
}

/// Takes a trial's samples one by one.
pub struct OwnCountsCheck {
    counts: OwnCounts,
    with: Compared,
    commits: u64,
    failed: u64,
    /// Whether a connection may have been lost: the server may have recovered from a crash, which resets its counts.
    lost: bool,
}

impl OwnCountsCheck {
    pub fn new(counts: OwnCounts, with: Compared) -> Self {
        Self { counts, with, commits: 0, failed: 0, lost: false }
    }

    pub fn push(&mut self, sample: &Sample) {
        if sample.is_ok() {
            self.commits +=
                u64::from(self.with.surely.get(usize::from(sample.transaction)).is_some_and(|surely| *surely));
        } else {
            self.failed += 1;
            self.lost |= may_have_lost_connection(sample);
        }
    }

    /// Flushes of the disk, where they show whether the server syncs.
    pub fn flushes(&self) -> Option<u64> {
        self.counts.flushes.filter(|_| self.with.flushes && self.counts.syncs.is_some())
    }

    /// The contradictions, one of each kind.
    pub fn finish(mut self) -> Vec<Reason> {
        let reset = self.reset();
        if self.counts.is_reset {
            (self.counts.sessions, self.counts.rolled_back) = (None, None);
        }
        let found = [self.unflushed(), self.log_syncs(), self.unlogged(), self.rolled_back(), reset];
        found.into_iter().flatten().collect()
    }

    /// Whether a session set the counts to zero, after which they contradict nothing.
    fn reset(&self) -> Option<Reason> {
        (self.counts.is_reset && !self.lost).then(|| {
            Invalid::NotCredible.because(
                "the server's counts of syncs and of transactions that were rolled back were set to zero while the clients worked, so \
                 they could not be compared with the samples (`pg_stat_reset`, `pg_stat_reset_shared`)"
                    .to_string(),
            )
        })
    }

    /// A disk executes one flush at a time, so it serves no more syncs than the server does at once; and a commit that waits for the
    /// disk waits for a flush that no later commit of its client waits for. Flushes of other programs only add to the count.
    fn unflushed(&self) -> Option<Reason> {
        let (flushes, syncs) = (self.flushes()?, self.counts.syncs?);
        let serves = |of: u64| flushes.saturating_mul(of);
        let what = if syncs > serves(self.with.syncs_at_once) {
            format!("the server reports {syncs} syncs")
        } else if self.with.durable && self.commits > serves(self.with.clients) {
            format!("the samples have {} durable commits of {} clients", self.commits, self.with.clients)
        } else {
            return None;
        };
        Some(Invalid::NotCredible.because(format!(
            "{what} since the clients started, and the disk was flushed {flushes} times since the server started: the server does \
             not sync (a library such as libeatmydata in its start, or a changed server)"
        )))
    }

    /// A server can make the commits of all its clients durable with one sync of its log, and each client waits for one at a time.
    fn log_syncs(&self) -> Option<Reason> {
        let whole = self.counts.sessions == Some(0) && self.with.durable;
        let (syncs, clients, commits) = (self.counts.syncs.filter(|_| whole)?, self.with.clients, self.commits);
        (commits > syncs.saturating_mul(clients)).then(|| {
            Invalid::NotCredible.because(format!(
                "{commits} durable commits of {clients} clients, and the server synced its log {syncs} times: some commits did not \
                 wait for the disk"
            ))
        })
    }

    /// Whether commits are missing in the second log.
    fn unlogged(&self) -> Option<Reason> {
        let logged = self.counts.logged.filter(|logged| *logged < self.commits)?;
        Some(Invalid::NotCredible.because(format!(
            "the samples have {} commits, and the server wrote {logged} to its binary log: sessions left it out, for example with \
             `SET sql_log_bin = 0`",
            self.commits
        )))
    }

    /// Whether transactions were rolled back that no sample has.
    fn rolled_back(&self) -> Option<Reason> {
        let allowed = self.failed + ROLLBACKS_MORE * (1 + self.with.minutes) + ROLLBACKS_OF_CLIENT * self.with.clients;
        let rolled_back = self.counts.rolled_back.filter(|count| *count > allowed)?;
        Some(Invalid::Accounts.because(format!(
            "the server rolled back {rolled_back} transactions, and {} attempts failed in the samples: attempts that failed were left \
             out or repeated without a sample",
            self.failed
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::sample::CodeSpace;

    /// Reasons of two clients with this number of acknowledged inserts, and of failed attempts.
    fn found(counts: OwnCounts, durable: bool, inserts: u64, failed: u64) -> Vec<String> {
        let with =
            Compared { clients: 2, minutes: 0, surely: vec![true, false], durable, flushes: true, syncs_at_once: 1 };
        let mut check = OwnCountsCheck::new(counts, with);
        let sample = |transaction, code_space| Sample {
            client: 7,
            transaction,
            code_space,
            finished_ns: 1,
            ..Sample::default()
        };
        (0..inserts).for_each(|_| check.push(&sample(0, CodeSpace::Ok)));
        (0..failed).for_each(|_| check.push(&sample(0, CodeSpace::Sqlstate)));
        // It may change nothing, and is in no log then.
        check.push(&sample(1, CodeSpace::Ok));
        check.finish().iter().map(ToString::to_string).collect()
    }

    const KEPT: OwnCounts = OwnCounts {
        syncs: Some(10),
        sessions: Some(0),
        logged: None,
        rolled_back: None,
        reset_us: None,
        is_reset: false,
        flushes: Some(10),
    };

    #[test]
    fn a_server_whose_syncs_do_not_reach_the_disk_is_found() {
        assert_eq!(found(KEPT, true, 20, 0), [""; 0]);
        let words = found(OwnCounts { flushes: Some(9), ..KEPT }, false, 0, 0);
        assert!(
            words[0].starts_with(
                "not-credible: the server reports 10 syncs since the clients started, and the disk was flushed 9"
            ),
            "{words:?}"
        );
        let few = OwnCounts { syncs: Some(1), sessions: None, flushes: Some(3), ..KEPT };
        assert_eq!(found(few, true, 6, 0), [""; 0], "one flush serves each client once");
        let words = found(few, true, 7, 0);
        assert!(words[0].contains("the samples have 7 durable commits of 2 clients since"), "{words:?}");
        assert_eq!(found(few, false, 7, 0), [""; 0], "its commits do not wait");
        assert_eq!(found(OwnCounts { flushes: None, ..KEPT }, true, 20, 0), [""; 0], "nothing is known");
        let through = OwnCounts { syncs: None, flushes: Some(0), ..KEPT };
        assert_eq!(found(through, true, 20, 0), [""; 0], "each write is a sync, which need not be a flush");
    }

    #[test]
    fn a_sync_of_the_log_serves_each_client_once() {
        let flushed = OwnCounts { flushes: Some(1_000), ..KEPT };
        assert_eq!(found(flushed, true, 20, 0), [""; 0]);
        let words = found(flushed, true, 21, 0);
        assert!(words[0].starts_with("not-credible: 21 durable commits of 2 clients"), "{words:?}");
        assert_eq!(found(OwnCounts { sessions: Some(1), ..flushed }, true, 21, 0), [""; 0], "a session may sync more");
    }

    #[test]
    fn commits_that_a_session_leaves_out_of_the_binary_log_are_found() {
        let counts = |logged| OwnCounts { logged: Some(logged), ..KEPT };
        assert_eq!(found(counts(20), true, 20, 0), [""; 0]);
        assert_eq!(found(counts(25), true, 20, 0), [""; 0], "those of others, and unclear ones");
        let words = found(counts(19), false, 20, 0);
        assert!(words[0].contains("20 commits, and the server wrote 19 to its binary log"), "{words:?}");
    }

    #[test]
    fn attempts_that_failed_and_have_no_sample_are_found() {
        let counts = |rolled_back| OwnCounts { rolled_back: Some(rolled_back), ..KEPT };
        assert_eq!(found(counts(75), true, 1, 5), [""; 0]);
        let words = found(counts(76), true, 1, 5);
        assert!(words[0].starts_with("accounts: the server rolled back 76 transactions, and 5 attempts"), "{words:?}");
    }

    #[test]
    fn counts_that_were_set_to_zero_are_found() {
        let reading = |syncs, reset_us| OwnCounts { syncs: Some(syncs), reset_us, ..KEPT };
        let since = |before: OwnCounts, after: OwnCounts| OwnCounts { flushes: Some(1_000), ..after.since(before) };
        assert_eq!(found(since(reading(5, Some(7)), reading(15, Some(7))), true, 20, 0), [""; 0]);
        let reset = since(reading(5, None), reading(1, Some(9)));
        let words = found(reset, true, 21, 0);
        assert!(words.len() == 1 && words[0].contains("were set to zero while the clients worked"), "{words:?}");
        assert_eq!(found(OwnCounts::default().since(reading(5, Some(7))), true, 21, 0), [""; 0], "it is dead");
        let mut check = OwnCountsCheck::new(reset, Compared { durable: true, ..Compared::default() });
        check.push(&Sample { code_space: CodeSpace::Os, code: 104, finished_ns: 1, ..Sample::default() });
        assert_eq!(check.finish().len(), 0, "it recovered from a crash");
    }
}
