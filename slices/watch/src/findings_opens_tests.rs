//! Connections that are opened and closed.

use super::*;

impl Watched {
    /// Opens a connection every 50 ms.
    fn opens(&mut self, nth: std::ops::Range<u64>, who: Who) {
        nth.for_each(|n| self.at(50 * n, who, What::Opens { database: 0 }));
    }

    /// The watch counts the descriptors of a process.
    fn has_open(&mut self, who: Who, descriptors: usize) {
        self.timeline.sums(0, who.pid).has_open(descriptors);
    }
}

#[test]
fn connections_are_counted_by_calls_where_no_lock_shows_them() {
    let mut watched = Watched::new();
    watched.opens(0..80, ONE);
    watched.has_open(ONE, 1);
    assert!(watched.found(4_000).is_empty(), "programs open connections when they begin");
    watched.opens(80..120, ONE);
    watched.has_open(ONE, 1);
    let found = watched.found(6_000);
    let [Kind::OpenCloseChurn { per_s: 19, at_least: false, processes: 1, recoveries: 0 }] = kinds(&found)[..] else {
        panic!("{found:#?}")
    };
    for n in 0..120 {
        watched.lock(6_000 + 50 * n, TWO, Lock::Recover, Change::Taken(Mode::Alone));
        watched.lock(6_001 + 50 * n, TWO, Lock::Recover, Change::Released);
    }
    let found = watched.found(12_000);
    let [Kind::OpenCloseChurn { recoveries: 120, at_least: true, .. }] = kinds(&found)[..] else {
        panic!("the calls of one connection were not seen: {found:#?}")
    };
}

/// A server with a thread for each request: some connection is always open, so that the process keeps its locks.
#[test]
fn connections_are_counted_while_another_one_of_the_process_stays_open() {
    let mut watched = Watched::new();
    watched.lock(0, ONE, Lock::Connected, Change::Taken(Mode::Shared));
    watched.opens(0..200, TWO);
    watched.has_open(ONE, 3);
    let found = watched.found(10_000);
    let [Kind::OpenCloseChurn { per_s: 19, at_least: false, processes: 1, .. }] = kinds(&found)[..] else {
        panic!("{found:#?}")
    };
}

/// Each takes and releases the lock of a connection; another process opened more in the same time.
#[test]
fn connections_of_a_process_without_visible_calls_are_counted_by_locks_as_a_least_number() {
    let mut watched = Watched::new();
    let unseen = Who { pid: 9, tid: 9 };
    for n in 0..60 {
        watched.lock(100 * n, unseen, Lock::Connected, Change::Taken(Mode::Shared));
        watched.lock(100 * n + 50, unseen, Lock::Connected, Change::Released);
    }
    let found = watched.found(6_000);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    let Kind::OpenCloseChurn { per_s: 10, at_least: true, .. } = finding.case.kind else { panic!("{found:#?}") };
    let said = crate::words::words(finding, &|_| "app (9)".to_string(), &|tid| tid.to_string());
    assert!(said.evidence.starts_with("At least 10 connections a second by app (9)."), "{said:?}");
}

/// Descriptors are counted less often than locks: the calls were seen all the same.
#[test]
fn connections_that_locks_show_before_descriptors_are_counted_are_no_least_number() {
    let mut watched = Watched::new();
    watched.opens(0..200, ONE);
    for n in 0..200 {
        watched.lock(50 * n, ONE, Lock::Connected, Change::Taken(Mode::Shared));
        watched.lock(50 * n + 20, ONE, Lock::Connected, Change::Released);
    }
    let found = watched.found(10_000);
    let [Kind::OpenCloseChurn { per_s: 20, at_least: false, .. }] = kinds(&found)[..] else { panic!("{found:#?}") };
}

/// A pool from before the watch: which of the descriptors are new cannot be seen.
#[test]
fn beside_connections_from_before_the_watch_the_others_are_a_least_number() {
    let mut watched = Watched::new();
    watched.opens(0..10, ONE);
    watched.has_open(ONE, 50);
    watched.opens(10..200, ONE);
    watched.has_open(ONE, 50);
    let found = watched.found(10_000);
    let [Kind::OpenCloseChurn { per_s: 15, at_least: true, .. }] = kinds(&found)[..] else { panic!("{found:#?}") };
}

/// Workers that start together and keep their connections.
#[test]
fn connections_that_stay_open_are_no_churn() {
    let mut watched = Watched::new();
    for n in 0..60 {
        let who = Who { pid: 100 + n, tid: 100 + n };
        for _ in 0..3 {
            watched.at(10, who, What::Opens { database: 0 });
        }
        watched.lock(11, who, Lock::Connected, Change::Taken(Mode::Shared));
        watched.has_open(who, 3);
    }
    assert!(watched.found(6_000).is_empty());
}
