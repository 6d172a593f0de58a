//! Compares the commits that a database counted with those in the samples: each acknowledged transaction was committed once, and
//! nothing else was committed.

use crate::engine::Counts;
use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use contend_wire::plan::Transaction;
use contend_wire::sample::Sample;
use contend_wire::statement::Statement;
use makes::{Bounds, Makes, makes};
pub use makes::{change, surely};

mod makes;

/// A reading of the databases' own counters of commits, all databases together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Count since the start of the clients; [`Counted::of`] is what is counted.
    pub commits: u64,
    /// Time before the reading and after it, on the tool's clock.
    pub between_ns: (u64, u64),
}

/// All readings of a trial's counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    /// Readings during the run, in order of time, where a reading is cheap.
    pub meanwhile: Vec<Reading>,
    /// Reading at the end of the window, when clients may still be working.
    pub at_window_end: Option<Reading>,
    /// Reading after all clients had ended.
    pub at_end: Option<Reading>,
    /// Commits that a server may have made for itself in that time.
    pub own: u64,
    pub of: Counts,
    /// Commits that left no trace of the journal that they need.
    pub untraced: u64,
    /// Whether a transaction is one request to a service, whose failure does not say which statement was the last.
    pub is_served: bool,
    /// Why the counters could not be read, or not until the end.
    pub lost: Option<String>,
}

/// Takes a trial's samples one by one.
pub struct CommitCheck {
    makes: Vec<Makes>,
    of: Counts,
    own: u64,
    is_served: bool,
    /// Readings while clients were working, in order of time, each with the bounds of what was added since the one before.
    readings: Vec<(Reading, Bounds)>,
    at_end: Option<Reading>,
    end: Bounds,
    lost: Option<String>,
}

impl CommitCheck {
    pub fn new(transactions: &[Transaction], statements: &[Statement], counted: Counted) -> Self {
        let Counted { meanwhile, at_window_end, at_end, own, of, is_served, lost, .. } = counted;
        let makes = transactions.iter().map(|transaction| makes(transaction, statements, of)).collect();
        let readings = meanwhile.into_iter().chain(at_window_end).map(|reading| (reading, Bounds::default())).collect();
        Self { makes, of, own, is_served, readings, at_end, end: Bounds::default(), lost }
    }

    pub fn push(&mut self, sample: &Sample) {
        // A transaction that no plan has is found by the accounts.
        let Some(makes) = self.makes.get(usize::from(sample.transaction)) else { return };
        let is_unknown = self.is_served && self.of != Counts::Transactions && !sample.is_ok();
        let Bounds { least, most } = if is_unknown { makes.at_most() } else { makes.by(sample) };
        self.end.least += least;
        self.end.most += most;
        let ended = self.readings.partition_point(|(reading, _)| reading.between_ns.0 < sample.finished_ns);
        let begun = self.readings.partition_point(|(reading, _)| reading.between_ns.1 < sample.started_ns);
        let mut since = |at: usize, by: Bounds| {
            if let Some((_, bounds)) = self.readings.get_mut(at) {
                bounds.least += by.least;
                bounds.most += by.most;
            }
        };
        since(ended, Bounds { least, most: 0 });
        since(begun, Bounds { least: 0, most });
    }

    /// The first contradiction between readings and samples; without one, why they could not be compared.
    pub fn finish(mut self) -> Option<Reason> {
        let lost = self.lost.take().map(|why| {
            Invalid::Commits
                .because(format!("the commits that the database counted could not be compared with the samples: {why}"))
        });
        self.contradiction().or(lost)
    }

    fn contradiction(self) -> Option<Reason> {
        let mut so_far = Bounds::default();
        let meanwhile = self.readings.iter().map(|(reading, since)| {
            so_far = Bounds { least: so_far.least + since.least, most: so_far.most + since.most };
            (*reading, so_far, "by then, in the middle of the work")
        });
        let at_end = self.at_end.map(|reading| (reading, self.end, "in all"));
        meanwhile.chain(at_end).find_map(|(reading, Bounds { least, most }, when)| {
            let found = reading.commits;
            (found < least || found > most + self.own).then(|| {
                let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                let what = match self.of {
                    Counts::Transactions | Counts::Writers => "commits",
                    Counts::Statements => "COMMITs and statements that change data",
                };
                Invalid::Commits.because(format!(
                    "the database counted {found} {what} {when}, the samples say {range}: acknowledged operations were not committed in time, commits were \
                     split or merged, or another program wrote"
                ))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::makes::tests::{sample, statements, transaction};
    use super::*;

    #[test]
    fn how_far_a_failed_request_came_is_unknown() {
        let one = |is_served, commits| {
            let reading = Some(Reading { commits, between_ns: (90, 91) });
            let counted = Counted { at_end: reading, of: Counts::Statements, is_served, ..Counted::default() };
            let steps = [(1, 1, 1), (2, 1, 1)];
            let mut check = CommitCheck::new(&[transaction(true, true, &steps)], &statements(), counted);
            check.push(&sample(0, false, (1, 2)));
            check.finish().is_none()
        };
        assert!(!one(false, 2), "two statements, where the first one failed");
        assert!(one(true, 2) && one(true, 0) && !one(true, 4));
    }

    /// Two acknowledged inserts and one attempt that failed, of which one insert was in flight when the window ended.
    fn found(at_window_end: u64, at_end: u64, own: u64) -> usize {
        let reading = |commits, at| Some(Reading { commits, between_ns: (at, at + 1) });
        let (at_window_end, at_end) = (reading(at_window_end, 20), reading(at_end, 99));
        let counted = Counted { at_window_end, at_end, own, of: Counts::Transactions, ..Counted::default() };
        let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
        for one in [sample(0, true, (1, 10)), sample(0, true, (15, 30)), sample(0, false, (40, 50))] {
            check.push(&one);
        }
        usize::from(check.finish().is_some())
    }

    /// Four inserts of 10 ns each that commit at their end, of which the samples move a part of the time to the next one; read so often.
    fn shifted(by_ns: u64, every_ns: usize) -> bool {
        let committed = |at: u64| at / 10;
        let reading = |at: u64| Reading { commits: committed(at), between_ns: (at, at) };
        let meanwhile = (0..40).step_by(every_ns).map(reading).collect();
        let counted = Counted { meanwhile, of: Counts::Transactions, ..Counted::default() };
        let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
        for at in 0..4 {
            let (before, after) = if at % 2 == 0 { (0, by_ns) } else { (by_ns, 0) };
            check.push(&sample(0, true, (10 * at - before, 10 * at + 10 - after)));
        }
        check.finish().is_some()
    }

    #[test]
    fn time_that_was_moved_to_another_operation_is_found_by_readings_in_between() {
        assert!(!shifted(0, 1));
        assert!(shifted(1, 1) && shifted(5, 3));
        assert!(!shifted(5, 10), "read only where nothing is moved");
    }

    #[test]
    fn a_count_that_was_lost_is_a_reason() {
        let lost = |readings: &[u64]| {
            let meanwhile = readings.iter().map(|&commits| Reading { commits, between_ns: (20, 21) }).collect();
            let counted = Counted { meanwhile, lost: Some("it is gone".to_string()), ..Counted::default() };
            let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
            check.push(&sample(0, true, (1, 10)));
            check.finish().map(|reason| reason.to_string()).unwrap_or_default()
        };
        assert!(lost(&[]).ends_with("could not be compared with the samples: it is gone"));
        assert!(lost(&[1]).ends_with("could not be compared with the samples: it is gone"), "not until the end");
        assert!(lost(&[0]).contains("the database counted 0 commits"), "a contradiction says more");
    }

    /// Five transactions before the window and five in it, of which the samples have four before it as work in the window.
    #[test]
    fn work_before_the_window_that_is_reported_as_work_in_it_is_found_at_its_beginning() {
        let found = |own, at: u64| {
            let meanwhile = vec![Reading { commits: at / 10, between_ns: (at, at) }];
            let reading = Some(Reading { commits: 10, between_ns: (100, 100) });
            let counted = Counted { meanwhile, at_end: reading, own, ..Counted::default() };
            let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
            let moved = |t: u64| if t <= 10 { t * 5 } else { 50 + (t - 10) * 50 / 90 };
            (0..10).for_each(|n| check.push(&sample(0, true, (moved(10 * n), moved(10 * n + 10)))));
            check.finish().is_some()
        };
        assert!(found(0, 50), "five, where one has ended and one has begun");
        assert!(!found(3, 50), "what a server may do for itself");
        assert!(!found(0, 100), "the sum is right");
    }

    #[test]
    fn what_was_acknowledged_was_committed_and_nothing_else() {
        assert_eq!(found(1, 2, 0), 0);
        assert_eq!(found(2, 2, 0), 0, "the one in flight may have been done");
        assert_eq!(found(2, 3, 0), 1, "the one that surely failed was not");
        assert_eq!(found(0, 2, 0), 1, "one was not there when it was said to have ended");
        assert_eq!(found(3, 3, 0), 1, "more than had begun");
        assert_eq!(found(1, 1, 0), 1, "one was dropped");
        assert_eq!(found(2, 4, 0), 1, "one was divided");
        assert_eq!(found(2, 3, 1), 0, "or the server's own");
    }
}
