//! Events were lost: what was complete before stays, what lasts goes on, and what is unknown makes no finding.

use super::*;
use crate::hold::{End, Hold};
use crate::journal::Content;
use crate::lost::{Loss, calls_were_lost, lasts, locks_were_lost};

fn loss(from_ms: u64, to_ms: u64) -> Loss {
    let [from_ns, to_ns] = [from_ms, to_ms].map(|ms| SECOND + ms * MS);
    Loss { from_ns, to_ns }
}

/// A lock as `/proc/locks` shows it at this time.
fn found(at_ms: u64, pid: u32, lock: Lock, mode: Mode) -> Event {
    let what = What::Lock { database: 0, lock, change: Change::Taken(mode) };
    Event { at_ns: SECOND + at_ms * MS, who: Who { pid, tid: pid }, what }
}

impl Watched {
    /// BEGIN IMMEDIATE and an UPDATE, whose lock stays.
    fn writes(&mut self, at_ms: u64, who: Who) {
        self.begins(at_ms, who, "BEGIN IMMEDIATE");
        self.takes(at_ms + 1, who);
        self.ends(at_ms + 2, who, 101);
        self.does(at_ms + 10, at_ms + 11, who, "UPDATE t SET v = 1");
    }

    fn waits(&mut self, (from_ms, to_ms): (u64, u64)) {
        for at_ms in (from_ms..to_ms).step_by(100) {
            self.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
    }

    fn loses_locks(&mut self, loss: Loss, held: &[Event], lasts: bool) {
        calls_were_lost(&mut self.timeline, loss);
        locks_were_lost(&mut self.timeline, loss, held, |_| lasts);
    }

    /// Locks with their threads and the times since when they are held.
    fn held(&self) -> Vec<(Lock, Who, u64)> {
        self.timeline.held().map(|hold| (hold.lock, hold.who, (hold.from_ns - SECOND) / MS)).collect()
    }
}

#[test]
fn a_finding_that_was_complete_stays_when_its_lock_is_held_no_longer() {
    let mut watched = Watched::new();
    watched.writes(100, ONE);
    watched.begins(120, WAITER, "INSERT INTO t");
    watched.waits((120, 450));
    watched.does(450, 451, ONE, "UPDATE t SET v = 2");
    watched.waits((460, 461));
    watched.loses_locks(loss(470, 600), &[], false);
    let all = watched.found(700);
    let [Finding { pid: 7, case, .. }] = &all[..] else { panic!("{all:#?}") };
    assert!(matches!(case.kind, Kind::ProgramHoldsLock { holds: 1, longest_wait_ns: 340_000_000, .. }), "{case:#?}");
    let sums = watched.timeline.sums_now();
    assert_eq!((sums[&(0, 7)].write_ns, sums[&(0, 8)].gave_up), (369 * MS, 0), "whether the wait gave up is unknown");
    assert_eq!(watched.timeline.waits[0].end, End::Open);
}

#[test]
fn locks_that_last_are_held_since_they_were_taken_and_the_others_since_they_were_found() {
    for does_last in [true, false] {
        let mut watched = Watched::new();
        watched.writes(100, ONE);
        let held = [found(600, 7, Lock::WalWrite, Mode::Alone), found(600, 8, Lock::Read(1), Mode::Shared)];
        watched.loses_locks(loss(400, 600), &held, does_last);
        let first = if does_last { (Lock::WalWrite, ONE, 101) } else { (Lock::WalWrite, Who { pid: 7, tid: 7 }, 600) };
        assert_eq!(watched.held(), [first, (Lock::Read(1), WAITER, 600)]);
        assert_eq!(watched.timeline.sums_now()[&(0, 7)].writes, u64::from(!does_last));
    }
    let mut watched = Watched::new();
    watched.writes(100, ONE);
    watched.loses_locks(loss(400, 600), &[found(600, 8, Lock::Reserved, Mode::Alone)], true);
    assert_eq!(watched.held(), [(Lock::Reserved, WAITER, 600)], "the first has released its lock meanwhile");
}

/// Lock calls are complete.
#[test]
fn after_calls_were_lost_locks_and_waits_go_on_and_an_open_transaction_is_found() {
    let mut watched = Watched::new();
    watched.writes(100, ONE);
    watched.begins(120, WAITER, "INSERT INTO t");
    watched.waits((120, 490));
    calls_were_lost(&mut watched.timeline, loss(490, 600));
    watched.waits((520, 1_700));
    assert_eq!(watched.held(), [(Lock::WalWrite, ONE, 101)]);
    let all = watched.found(1_700);
    let of_now = |found: &&Finding| matches!(found.case.kind, Kind::IdleInTransaction { .. });
    let idle = all.iter().find(of_now).unwrap_or_else(|| panic!("{all:#?}"));
    let Kind::IdleInTransaction { held_ns, idle_ns, waiter, .. } = &idle.case.kind else { panic!("{idle:#?}") };
    assert_eq!((*held_ns, *idle_ns), (1_599 * MS, 1_100 * MS), "idle since events are seen again");
    assert_eq!(waiter.map(|waiter| waiter.ns), Some(1_500 * MS));
    watched.lock(1_710, ONE, Lock::WalWrite, Change::Released);
    watched.lock(1_711, WAITER, Lock::WalWrite, Change::Taken(Mode::Alone));
    let [wait] = &Vec::from(watched.timeline.waits.clone())[..] else { panic!("one wait") };
    assert_eq!((wait.tries, wait.end), (16, End::Granted));
}

#[test]
fn a_statement_whose_begin_was_lost_is_no_pause() {
    let mut watched = Watched::new();
    watched.writes(100, ONE);
    calls_were_lost(&mut watched.timeline, loss(200, 300));
    watched.begins(310, WAITER, "INSERT INTO t");
    watched.waits((310, 1_450));
    let is_long = |all: &[Finding]| matches!(kinds(all)[..], [Kind::LongTransaction { .. }]);
    watched.timeline.processor_ns.insert(7, [(70, SECOND)].into());
    let all = watched.found(1_440);
    assert!(is_long(&all), "while it lasts: {all:#?}");
    watched.ends(1_450, ONE, 101);
    watched.begins(1_460, ONE, "COMMIT");
    watched.lock(1_461, ONE, Lock::WalWrite, Change::Released);
    watched.ends(1_462, ONE, 101);
    watched.lock(1_462, WAITER, Lock::WalWrite, Change::Taken(Mode::Alone));
    watched.ends(1_463, WAITER, 101);
    let all = watched.found(1_500);
    assert!(is_long(&all), "{all:#?}");
}

#[test]
fn a_lock_lasts_if_no_commit_and_no_other_snapshot_has_come_since_before_the_loss() {
    let hold = |lock| Hold::new(0, ONE, (lock, Mode::Shared), SECOND);
    let of = |commits, mark| {
        let mut sample = log(&[9_000]).remove(0);
        let log = sample.state.log.as_mut().expect("a log");
        (log.commits, log.read_marks[1]) = (commits, mark);
        sample
    };
    let (before, same) = (of(5, Some(40)), of(5, Some(40)));
    let [write, read] = [Lock::WalWrite, Lock::Read(1)].map(hold);
    assert!(lasts(&write, &before, &same.state) && lasts(&read, &before, &same.state));
    assert!(!lasts(&write, &before, &of(6, Some(40)).state) && lasts(&read, &before, &of(6, Some(40)).state));
    assert!(!lasts(&read, &before, &of(5, Some(41)).state) && !lasts(&read, &before, &State::default()));
    let young = Hold { from_ns: before.at_ns + 1, ..write };
    assert!(!lasts(&young, &before, &same.state), "it was taken after the log was looked at");
    let with = |bytes| {
        let journal_content = Some(Content { inode: 1, bytes, changed_ns: 7 });
        Sample { at_ns: SECOND, state: State { journal_content, ..State::default() } }
    };
    let reserved = hold(Lock::Reserved);
    assert!(lasts(&reserved, &with(8), &with(8).state) && !lasts(&reserved, &with(8), &with(9).state));
    assert!(!lasts(&reserved, &Sample { at_ns: SECOND, state: State::default() }, &State::default()));
}
