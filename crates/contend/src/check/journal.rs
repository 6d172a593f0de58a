//! Finds commits that left no trace of a rollback journal. Each commit creates, changes or removes the journal's file, which
//! changes its time or that of its directory.

use crate::outcome::reason::{Invalid, Reason};

/// Upper bound for how far the time of a file is behind the clock from which the kernel takes it, for file systems with fractions of
/// a second and for those with whole seconds, of which FAT has every second one.
const COARSE_NS: i64 = 50_000_000;
const SECONDS_NS: i64 = 2_100_000_000;

/// Commits without a trace from which on it is a finding.
const COMMITS_MIN: u64 = 10;

/// Times of the last change of a directory and of a journal in it, which may not be there; of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    pub directory_ns: i64,
    pub journal_ns: Option<i64>,
}

impl Trace {
    /// Whether it was left so long ago that a later change has another time.
    fn is_past(self, now_ns: i64) -> bool {
        let past = |at_ns: i64| {
            let resolution_ns = if at_ns % 1_000_000_000 == 0 { SECONDS_NS } else { COARSE_NS };
            now_ns.saturating_sub(at_ns) > resolution_ns
        };
        past(self.directory_ns) && self.journal_ns.is_none_or(past)
    }
}

/// Takes what is seen of one database while its clients work.
#[derive(Debug, Clone, Default)]
pub struct JournalCheck {
    /// A trace that was past when it was seen, and the count of commits read after it.
    since: Option<(Trace, u64)>,
    /// The last count.
    last: u64,
    without: u64,
}

impl JournalCheck {
    /// A trace, when it was seen, and the count of commits read after it.
    pub fn push(&mut self, trace: Trace, now_ns: i64, commits: u64) {
        // All commits counted between two equal traces were made between them. The first may have left its trace before.
        if let Some((_, first)) = self.since.filter(|(known, _)| *known == trace) {
            let more = self.last.saturating_sub(first);
            if more >= 2 {
                self.without += more;
                self.since = Some((trace, self.last));
            }
        } else {
            self.since = trace.is_past(now_ns).then_some((trace, commits));
        }
        self.last = commits;
    }

    /// Number of commits without a trace; 0 for so few that chance may explain them.
    pub fn finish(&self) -> u64 {
        if self.without >= COMMITS_MIN { self.without } else { 0 }
    }
}

/// The reason of commits without a trace.
pub fn untraced(commits: u64) -> Option<Reason> {
    (commits > 0).then(|| {
        Invalid::Settings.because(format!(
            "{commits} commits left no trace of a rollback journal, neither in its file nor in its directory: the journal mode that \
             connections report was not in effect"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    /// Begin of the clock; no whole second.
    const AT: i64 = 7_000_000_000 + MS;

    /// Counts commits without a trace. Each reading says how many commits were added, and whether the directory changed.
    fn without(readings: &[(u64, bool)], step_ns: i64) -> u64 {
        let (mut check, mut count, mut directory_ns) = (JournalCheck::default(), 0, AT);
        for (number, (more, changes)) in (0..).zip(readings) {
            let now_ns = AT + number * step_ns;
            count += more;
            if *changes {
                directory_ns = now_ns;
            }
            check.push(Trace { directory_ns, journal_ns: None }, now_ns, count);
        }
        check.finish()
    }

    #[test]
    fn commits_that_leave_no_trace_are_counted() {
        assert_eq!(without(&[(5, false); 20], 10 * MS), 60, "from the time on at which the last change is past");
        assert_eq!(without(&[(5, true); 20], 10 * MS), 0);
        assert_eq!(without(&[(0, false); 20], 10 * MS), 0);
        assert_eq!(without(&[(5, false); 4], 10 * MS), 0, "the clock of the file system may not have gone on");
    }

    #[test]
    fn a_commit_between_two_readings_may_have_left_its_trace_before() {
        let slow: Vec<(u64, bool)> = (0..40).map(|number| (u64::from(number % 10 == 1), number % 10 == 0)).collect();
        assert_eq!(without(&slow, 100 * MS), 0);
        let every_second = [(1, true), (1, false)].repeat(50);
        assert_eq!(without(&every_second, 100 * MS), 0);
    }

    #[test]
    fn times_in_whole_seconds_are_past_later() {
        let at = |directory_ns, now_ns| Trace { directory_ns, journal_ns: Some(AT) }.is_past(now_ns);
        assert!(at(AT, AT + 60 * MS) && !at(AT, AT + 40 * MS));
        assert!(!at(7_000_000_000, AT + 2_000 * MS) && at(7_000_000_000, AT + 2_200 * MS));
    }
}
