//! Locks that were found held, and not seen to be taken.

use super::*;
use crate::lost::found_held;

const MS: u64 = 1_000_000;
/// A lock in `/proc/locks` has no known thread.
const FOUND: Who = Who { pid: 7, tid: 7 };
const ONE: Who = Who { pid: 7, tid: 71 };

fn lock(at_ms: u64, who: Who, lock: Lock, change: Change) -> Event {
    Event { at_ns: at_ms * MS, who, what: What::Lock { database: 0, lock, change } }
}

/// The call that took the lock is reported after the lock was found: at the beginning, after events were lost, and of a
/// process that was not traced before.
#[test]
fn a_lock_that_was_found_held_ends_with_its_release() {
    let write = |at_ms, who, change| lock(at_ms, who, Lock::WalWrite, change);
    for is_at_beginning in [true, false] {
        let mut timeline = Timeline::new(MS, true);
        let found = write(100, FOUND, Change::Taken(Mode::Alone));
        match is_at_beginning {
            true => found_held(&mut timeline, &[found]),
            false => timeline.apply(&found.found()),
        }
        assert!(timeline.held().all(|hold| hold.began_before));
        timeline.apply(&write(90, ONE, Change::Taken(Mode::Alone)));
        let held: Vec<_> = timeline.held().map(|hold| (hold.who, hold.from_ns / MS, hold.began_before)).collect();
        assert_eq!(held, [(ONE, 90, false)]);
        timeline.apply(&write(200, ONE, Change::Released));
        assert_eq!((timeline.held().count(), timeline.sums[&(0, 7)].writes), (0, 1));
    }
}

#[test]
fn a_lock_that_was_found_held_is_no_new_connection() {
    let mut timeline = Timeline::new(MS, true);
    timeline.apply(&lock(10, ONE, Lock::Connected, Change::Taken(Mode::Shared)));
    let shared = || Change::Taken(Mode::Shared);
    let found = [lock(50, FOUND, Lock::Shared, shared()), lock(50, FOUND, Lock::Connected, shared())];
    let alone = [Lock::Shared, Lock::Recover].map(|of| {
        let who = Who { pid: 8, tid: 8 };
        lock(50, who, of, Change::Taken(Mode::Alone))
    });
    found_held(&mut timeline, &[found, alone].concat());
    let sums = |pid| timeline.sums.get(&(0, pid)).cloned().unwrap_or_default();
    assert_eq!((sums(7).connects, sums(8)), (1, Sums::default()));
    let shared = timeline.held().find(|hold| hold.who.pid == 7 && hold.lock == Lock::Shared).expect("held");
    assert!(shared.is_connection);
}

/// The first connection that opens a database in WAL mode: SQLite rebuilds the log's index under the write lock.
#[test]
fn a_rebuild_of_the_index_under_the_write_lock_is_no_write() {
    let mut timeline = Timeline::new(MS, true);
    timeline.visible.insert(ONE.pid, 0);
    let call = |at_ms: u64, what: What| Event { at_ns: at_ms * MS, who: ONE, what };
    let alone = || Change::Taken(Mode::Alone);
    timeline.apply(&call(9, What::StepBegins { statement: 1, sql: Some("BEGIN IMMEDIATE".to_string()) }));
    for (at_ms, of, change) in [
        (10, Lock::WalWrite, alone()),
        (11, Lock::Checkpoint, alone()),
        (11, Lock::Recover, alone()),
        (12, Lock::Recover, Change::Released),
        (12, Lock::Checkpoint, Change::Released),
        (13, Lock::WalWrite, Change::Released),
    ] {
        timeline.apply(&lock(at_ms, ONE, of, change));
    }
    let sums = timeline.sums[&(0, ONE.pid)].clone();
    assert_eq!((sums.writes, sums.recoveries, sums.write_ns), (0, 1, 3 * MS), "the lock was held, and nothing written");
    assert!(timeline.tallies[&(0, ONE.pid)].shapes.is_empty(), "no transaction");
    // The same call then takes the lock to write; another connection only looks whether the index is being rebuilt.
    timeline.apply(&lock(15, ONE, Lock::WalWrite, alone()));
    timeline.apply(&call(16, What::StepEnds { code: DONE }));
    let other = Who { pid: 7, tid: 72 };
    timeline.apply(&lock(17, other, Lock::Recover, Change::Taken(Mode::Shared)));
    timeline.apply(&lock(17, other, Lock::Recover, Change::Released));
    timeline.apply(&lock(20, ONE, Lock::WalWrite, Change::Released));
    let sums = &timeline.sums[&(0, ONE.pid)];
    assert_eq!((sums.writes, sums.recoveries, sums.waits), (1, 1, 0), "it has not waited since the rebuild");
    let writers: Vec<_> = timeline.holds.iter().filter(|hold| hold.lock.is_writers()).collect();
    assert_eq!(writers.iter().map(|hold| hold.is_rebuild).collect::<Vec<_>>(), [true, false]);
}
