//! Pauses under the lock with statements that were not seen, and their sums.

use super::*;

/// The only pause under the lock that is found: its process, thread and evidence.
#[track_caller]
fn pause(found: &[Finding]) -> (u32, Option<u32>, &Kind) {
    match found {
        [Finding { pid, case, .. }] if matches!(case.kind, Kind::ProgramHoldsLock { .. }) => {
            (*pid, case.tid, &case.kind)
        }
        _ => panic!("{found:#?}"),
    }
}

/// Python begins the transaction itself; its process has just started, and its calls are visible from 30 ms on.
#[test]
fn a_pause_of_a_process_that_has_just_started_is_found_if_no_thread_of_it_works() {
    let found_since = |visible_ms: i64, percent: Option<u64>, tries_until_ms: u64| {
        let mut watched = Watched::new();
        watched.timeline.visible.insert(ONE.pid, SECOND.saturating_add_signed(visible_ms * MS as i64));
        let processor = |percent: u64| (ONE.pid, [(ONE.tid, percent * 680 * MS / 100)].into());
        watched.timeline.processor_ns = percent.map(processor).into_iter().collect();
        watched.takes(10, ONE);
        watched.begins(20, WAITER, "INSERT INTO u");
        for at_ms in (20..tries_until_ms).step_by(100) {
            watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
        if tries_until_ms < 700 {
            watched.ends(tries_until_ms, WAITER, 5);
        }
        watched.does(710, 712, ONE, "UPDATE t SET v = 1");
        watched.begins(713, ONE, "COMMIT");
        watched.lock(714, ONE, Lock::WalWrite, Change::Released);
        watched.ends(715, ONE, 101);
        let found = watched.found(716);
        (watched.timeline.wrote_unseen.contains(&ONE.pid), found)
    };
    let found = |percent: Option<u64>, tries_until_ms: u64| found_since(30, percent, tries_until_ms);
    let (is_said, waits) = found(Some(1), 700);
    assert!(is_said, "its first statements were not seen");
    let (7, Some(71), Kind::ProgramHoldsLock { holds: 1, outside_ns, held_ns, before: None, after, refused: 7, .. }) =
        pause(&waits)
    else {
        panic!("{waits:#?}")
    };
    assert_eq!((*outside_ns, *held_ns, after.as_deref()), (681 * MS, 704 * MS, Some("UPDATE t SET v = 1")));
    let (_, gives_up) = found(Some(1), 320);
    let causes: Vec<Finding> = gives_up.into_iter().filter(|finding| finding.pid == ONE.pid).collect();
    assert!(matches!(pause(&causes).2, Kind::ProgramHoldsLock { refused: 3, gave_up: 1, .. }), "{causes:#?}");
    assert_eq!(found(Some(90), 700).1, [], "it may have executed a statement all the time");
    assert_eq!(found(None, 700).1, [], "it is not known whether it did");
    assert_eq!(found_since(-1, Some(1), 700).1, [], "a function of the program in a statement from before may sleep");
}

/// A new process sleeps in a function of its first statement, which began before its calls were visible, and in later ones.
#[test]
fn work_that_was_seen_is_found_although_a_first_statement_was_not() {
    let mut watched = Watched::new();
    watched.timeline.visible.insert(ONE.pid, SECOND + 30 * MS);
    watched.timeline.processor_ns = [(ONE.pid, [(ONE.tid, MS)].into())].into();
    watched.takes(10, ONE);
    watched.begins(20, WAITER, "INSERT INTO u");
    for at_ms in (20..700).step_by(100) {
        watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    }
    watched.does(710, 712, ONE, "UPDATE t SET v = 1");
    watched.begins(713, ONE, "COMMIT");
    watched.lock(714, ONE, Lock::WalWrite, Change::Released);
    watched.ends(715, ONE, 101);
    assert!(matches!(pause(&watched.found(716)).2, Kind::ProgramHoldsLock { refused: 7, before: None, .. }));
    watched.ends(720, WAITER, 101);
    watched.begins(990, ONE, "BEGIN IMMEDIATE");
    watched.takes(991, ONE);
    watched.ends(992, ONE, 101);
    watched.begins(993, ONE, "INSERT INTO t (v) VALUES (slow(1.5))");
    watched.begins(1_100, WAITER, "INSERT INTO u");
    for at_ms in (1_100..2_500).step_by(100) {
        watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    }
    watched.ends(2_500, ONE, 101);
    watched.begins(2_501, ONE, "COMMIT");
    watched.lock(2_502, ONE, Lock::WalWrite, Change::Released);
    watched.ends(2_503, ONE, 101);
    let found = watched.found(2_600);
    let is_long = |of: &Finding| of.pid == ONE.pid && matches!(of.case.kind, Kind::LongTransaction { holds: 1, .. });
    assert!(found.iter().any(is_long), "{found:#?}");
}

/// The call that took the lock began before its process's calls were visible; its end was seen.
#[test]
fn a_call_of_which_only_the_end_was_seen_has_ended_then() {
    let mut watched = Watched::new();
    watched.timeline.visible.insert(ONE.pid, SECOND + 30 * MS);
    watched.takes(100, ONE);
    watched.ends(110, ONE, 101);
    watched.lock(200, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    watched.begins(510, ONE, "COMMIT");
    watched.lock(512, ONE, Lock::WalWrite, Change::Released);
    watched.ends(513, ONE, 101);
    let found = watched.found(600);
    let Kind::ProgramHoldsLock { outside_ns, longest_gap_ns, .. } = pause(&found).2 else { panic!("{found:#?}") };
    assert_eq!((*outside_ns, *longest_gap_ns), (400 * MS, 400 * MS));
}

/// A transaction, with a statement before it whose text is unknown: perhaps its BEGIN.
fn transaction(watched: &mut Watched, who: Who, from_ms: u64, pause_ms: u64) {
    watched.at(from_ms, who, What::StepBegins { statement: 1, sql: None });
    watched.ends(from_ms, who, 101);
    watched.begins(from_ms, who, "INSERT INTO t");
    watched.takes(from_ms, who);
    watched.ends(from_ms + 1, who, 101);
    watched.lock(from_ms + 2, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    watched.begins(from_ms + 1 + pause_ms, who, "COMMIT");
    watched.lock(from_ms + 2 + pause_ms, who, Lock::WalWrite, Change::Released);
    watched.ends(from_ms + 2 + pause_ms, who, 101);
}

#[test]
fn the_longest_pause_of_several_connections_is_named_and_sums_are_of_transactions_with_one() {
    let mut watched = Watched::new();
    transaction(&mut watched, ONE, 100, 200);
    transaction(&mut watched, TWO, 1_000, 650);
    watched.begins(2_000, ONE, "UPDATE t");
    watched.takes(2_000, ONE);
    watched.lock(2_900, ONE, Lock::WalWrite, Change::Released);
    watched.ends(2_900, ONE, 101);
    let found = watched.found(3_000);
    let found: Vec<Finding> = found.into_iter().filter(|finding| finding.pid == ONE.pid).collect();
    let (_, tid, Kind::ProgramHoldsLock { holds, outside_ns, held_ns, longest_gap_ns, refused, .. }) = pause(&found)
    else {
        panic!("{found:#?}")
    };
    assert_eq!((*holds, *refused, *longest_gap_ns, tid), (2, 2, 650 * MS, Some(TWO.tid)));
    assert_eq!((*outside_ns, *held_ns), (850 * MS, 854 * MS));
}

/// Its lock outlives its transactions (PRAGMA locking_mode = EXCLUSIVE).
#[test]
fn a_lock_that_is_kept_adds_no_pause_to_its_shape() {
    let mut watched = Watched::new();
    watched.begins(100, ONE, "INSERT INTO t");
    watched.takes(100, ONE);
    watched.ends(101, ONE, 101);
    watched.does(500, 501, ONE, "INSERT INTO t");
    watched.lock(502, ONE, Lock::WalWrite, Change::Released);
    watched.found(600);
    let shape = &watched.timeline.tallies[&(0, ONE.pid)].shapes["INSERT INTO t"];
    assert_eq!((shape.held.count, shape.outside_ns, shape.gap.ns), (1, 0, 0));
}

/// A program takes one row of `INSERT ... RETURNING`, pauses, and resets the statement: the reset commits, with a sync.
#[test]
fn a_pause_before_a_commit_in_a_reset_is_found() {
    let mut watched = Watched::new();
    watched.does(1, 2, ONE, "SELECT 1 FROM t");
    watched.begins(10, ONE, "INSERT INTO t VALUES (1) RETURNING id");
    watched.takes(11, ONE);
    watched.ends(12, ONE, 100);
    watched.begins(20, WAITER, "INSERT INTO u");
    for at_ms in (20..420).step_by(100) {
        watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    }
    watched.at(412, ONE, What::SyncBegins { database: 0 });
    watched.at(415, ONE, What::SyncEnds { database: 0 });
    watched.lock(416, ONE, Lock::WalWrite, Change::Released);
    watched.lock(420, WAITER, Lock::WalWrite, Change::Taken(Mode::Alone));
    watched.lock(421, WAITER, Lock::WalWrite, Change::Released);
    watched.ends(422, WAITER, 101);
    let found = watched.found(500);
    let (7, _, Kind::ProgramHoldsLock { holds: 1, before, refused: 4, .. }) = pause(&found) else {
        panic!("{found:#?}")
    };
    assert_eq!(before.as_deref(), Some("INSERT INTO t VALUES (1) RETURNING id"));
    assert_eq!(watched.timeline.holds.iter().map(|hold| hold.gap.ns).max(), Some(400 * MS));
}

/// A backup into the database. A statement under the lock, a rebuild or a short hold is none.
#[test]
fn write_locks_of_calls_that_are_not_traced_are_counted() {
    let counted = |ms: u64, sql: Option<&str>, visible_ms: u64| {
        let mut watched = Watched::new();
        watched.timeline.visible.insert(ONE.pid, SECOND + visible_ms * MS);
        watched.does(6, 7, ONE, "SELECT 1 FROM t");
        watched.takes(10, ONE);
        watched.lock(11, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
        sql.into_iter().for_each(|sql| watched.does(11, 12, ONE, sql));
        watched.lock(10 + ms, ONE, Lock::WalWrite, Change::Released);
        watched.timeline.without_statement.get(&ONE.pid).copied()
    };
    assert_eq!(counted(600, None, 5), Some(1));
    assert_eq!([counted(5, None, 5), counted(600, Some("UPDATE t"), 5), counted(600, None, 20)], [None; 3]);
}
