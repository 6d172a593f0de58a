//! Rollback journals that a writer left behind.

use crate::lock::{Lock, Mode};
use crate::target::Sample;
use crate::timeline::Timeline;

/// Time for which a journal must not have changed before it counts as left behind.
const LEFT_NS: u64 = 1_000_000_000;

/// Whether the rollback journal is hot: it has content, which has not changed for a second, and no process has been a
/// writer meanwhile. The next process that reads the database rolls it back. Without `sees_all`, a process whose locks
/// are not visible may be the writer, and no journal counts as hot.
pub fn is_hot(timeline: &Timeline, database: usize, samples: &[Sample], sees_all: bool) -> bool {
    if !sees_all {
        return false;
    }
    let Some((last, content)) = samples.last().and_then(|last| Some((last, last.state.journal_content?))) else {
        return false;
    };
    let is_same = |sample: &&Sample| sample.state.journal_content == Some(content);
    let Some(first) = samples.iter().rev().take_while(is_same).last() else { return false };
    let is_writer = |lock: Lock, mode: Mode| lock == Lock::Reserved || lock == Lock::Shared && mode == Mode::Alone;
    let since = |to_ns: Option<u64>| to_ns.is_none_or(|to_ns| to_ns >= first.at_ns);
    let recent = timeline.holds.iter().rev().take_while(|hold| since(hold.to_ns));
    let mut writers = timeline.held().chain(recent).filter(|hold| hold.database == database);
    last.at_ns - first.at_ns >= LEFT_NS && !writers.any(|hold| is_writer(hold.lock, hold.mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, What, Who};
    use crate::journal::Content;
    use crate::lock::Change;
    use crate::target::State;

    #[test]
    fn a_journal_is_hot_if_it_stays_and_no_process_writes() {
        let content = |changed_ns| Some(Content { inode: 1, bytes: 512, changed_ns });
        let sample = |at_ms: u64, journal_content| Sample {
            at_ns: at_ms * 1_000_000,
            state: State { journal_content, ..State::default() },
        };
        let stays = [sample(0, content(5)), sample(500, content(5)), sample(1_000, content(5))];
        let mut timeline = Timeline::new(0, false);
        let is_hot = |timeline: &Timeline, database, samples: &[Sample]| is_hot(timeline, database, samples, true);
        assert!(is_hot(&timeline, 0, &stays));
        assert!(!super::is_hot(&timeline, 0, &stays, false), "its writer may be in another container");
        assert!(!is_hot(&timeline, 0, &stays[..2]), "too short");
        assert!(!is_hot(&timeline, 0, &[sample(0, content(5)), sample(1_000, content(6))]), "it is written");
        assert!(!is_hot(&timeline, 0, &[sample(0, None), sample(2_000, None)]));
        let taken = What::Lock { database: 0, lock: Lock::Reserved, change: Change::Taken(Mode::Alone) };
        timeline.apply(&Event { at_ns: 1, who: Who { pid: 7, tid: 7 }, what: taken });
        assert!(!is_hot(&timeline, 0, &stays), "its writer lives");
        assert!(is_hot(&timeline, 1, &stays), "another database");
    }
}
