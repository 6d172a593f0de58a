//! Locks that were found held, and not seen to be taken.

use super::*;

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
            true => timeline.set_held(&[found]),
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
    timeline.set_held(&[found, alone].concat());
    let sums = |pid| timeline.sums.get(&(0, pid)).cloned().unwrap_or_default();
    assert_eq!((sums(7).connects, sums(8)), (1, Sums::default()));
    let shared = timeline.held().find(|hold| hold.who.pid == 7 && hold.lock == Lock::Shared).expect("held");
    assert!(shared.is_connection);
}
