//! Pauses under the lock while others are refused at once, and wait for nothing.

use super::*;

/// Milliseconds of the COMMIT of a [`Transaction`].
const COMMIT_MS: u64 = 40;

/// A transaction that pauses before its COMMIT, and how often others are refused in the pause and in the COMMIT.
#[derive(Clone, Copy)]
struct Transaction {
    pause_ms: u64,
    in_pause: u64,
    in_commit: u64,
}

impl Watched {
    /// Another connection tries once, and its statement fails.
    fn fails(&mut self, at_ms: u64, who: Who) {
        self.begins(at_ms, who, "BEGIN IMMEDIATE");
        if who.pid != ONE.pid {
            self.lock(at_ms, who, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
        self.ends(at_ms, who, 5);
    }

    fn carries_out(&mut self, from_ms: u64, of: Transaction, other: Who) {
        self.does(from_ms, from_ms, ONE, "BEGIN");
        self.begins(from_ms, ONE, "INSERT INTO t");
        self.takes(from_ms, ONE);
        self.ends(from_ms + 1, ONE, 101);
        (0..of.in_pause).for_each(|_| self.fails(from_ms + 2, other));
        let commits_ms = from_ms + 1 + of.pause_ms;
        self.begins(commits_ms, ONE, "COMMIT");
        (0..of.in_commit).for_each(|_| self.fails(commits_ms + 1, other));
        self.lock(commits_ms + COMMIT_MS, ONE, Lock::WalWrite, Change::Released);
        self.ends(commits_ms + COMMIT_MS, ONE, 101);
    }
}

/// Findings about the process that carries out these transactions.
fn found(transactions: &[Transaction], other: Who) -> Vec<Finding> {
    let mut watched = Watched::new();
    for (n, of) in transactions.iter().enumerate() {
        watched.carries_out(100 + 300 * n as u64, *of, other);
    }
    let found = watched.found(100 + 300 * transactions.len() as u64);
    found.into_iter().filter(|of| matches!(of.case.kind, Kind::ProgramHoldsLock { .. })).collect()
}

#[test]
fn short_pauses_in_which_others_are_refused_at_once_are_one_finding() {
    let pauses = [Transaction { pause_ms: 50, in_pause: 3, in_commit: 1 }; 4];
    let found = found(&pauses, WAITER);
    let [Finding { pid: 7, case, cost_ns, .. }] = &found[..] else { panic!("{found:#?}") };
    let Kind::ProgramHoldsLock { holds: 4, outside_ns, held_ns, refused, refused_in_all, before, after, .. } =
        &case.kind
    else {
        panic!("{case:#?}")
    };
    assert_eq!((outside_ns / MS, held_ns / MS, *refused, *refused_in_all), (200, 364, 12, 16));
    assert_eq!((before.as_deref(), after.as_deref()), (Some("INSERT INTO t"), Some("COMMIT")));
    assert_eq!((case.tid, *cost_ns), (Some(ONE.tid), 12 * REFUSAL_NS), "none of them waited");
    let said = crate::words::words(&found[0], &|pid| pid.to_string(), &|tid| tid.to_string()).evidence;
    for part in [
        "364 ms in all, 200 ms (55 %) of that outside of SQLite, in 4 transactions",
        "Longest: 50.0 ms after \"INSERT INTO t\" and before \"COMMIT\".",
        "While it paused, the lock was refused to other connections 12 times, and 16 times in all its write locks.",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

#[test]
fn pauses_are_a_finding_from_their_number_length_and_share_of_the_refusals_on() {
    let is_found = |transactions: &[Transaction]| !found(transactions, WAITER).is_empty();
    let pause = |pause_ms, in_pause, in_commit| Transaction { pause_ms, in_pause, in_commit };
    for (is, transactions, why) in [
        (true, vec![pause(50, 3, 0), pause(50, 2, 0)], "5 refusals in 100 ms"),
        (false, vec![pause(50, 3, 0), pause(49, 2, 0)], "99 ms"),
        (false, vec![pause(50, 2, 0), pause(50, 2, 0)], "4 refusals"),
        (true, vec![pause(50, 3, 8), pause(50, 2, 7)], "5 of 20 refusals"),
        (false, vec![pause(50, 3, 8), pause(50, 2, 8)], "5 of 21 refusals: statements explain them"),
        (false, [vec![pause(50, 5, 0)], vec![pause(50, 0, 0); 9]].concat(), "pauses that refused nothing"),
        (true, vec![pause(10, 1, 0); 10], "pauses of 10 ms"),
        (false, vec![pause(9, 1, 0); 30], "shorter ones, which a busy machine makes"),
        (true, vec![pause(100, 1, 30)], "a pause of 100 ms"),
        (false, vec![pause(0, 0, 30); 9], "a program that does not pause"),
    ] {
        assert_eq!(is_found(&transactions), is, "{why}");
    }
}

/// SQLite settles it in memory, without a lock call.
#[test]
fn a_connection_of_the_same_process_that_is_refused_in_pauses_counts_too() {
    let pauses = [Transaction { pause_ms: 60, in_pause: 2, in_commit: 1 }; 3];
    let found = found(&pauses, TWO);
    let kinds = kinds(&found);
    assert!(matches!(kinds[..], [Kind::ProgramHoldsLock { refused: 6, refused_in_all: 9, .. }]), "{found:#?}");
}

/// It reads two databases and writes to the second, whose lock it takes and gives back: its snapshot is too old.
#[test]
fn a_refusal_belongs_to_the_database_whose_lock_was_given_back() {
    let mut watched = Watched::new();
    let mut at = |at_ms: u64, database: usize, lock: Lock, change: Change| {
        watched.at(at_ms, ONE, What::Lock { database, lock, change });
    };
    [0, 1].into_iter().for_each(|database| at(10, database, Lock::Read(1), Change::Taken(Mode::Shared)));
    watched.begins(20, ONE, "INSERT INTO b.t VALUES (3)");
    for change in [Change::Taken(Mode::Alone), Change::Released] {
        watched.at(20, ONE, What::Lock { database: 1, lock: Lock::WalWrite, change });
    }
    watched.ends(21, ONE, 5);
    let refused = watched.timeline.sums.iter().filter(|(_, sums)| sums.busy > 0).map(|((database, _), _)| *database);
    assert_eq!(refused.collect::<Vec<_>>(), [1]);
}

/// The text of its BEGIN was not seen.
#[test]
fn a_snapshot_that_is_too_old_was_read_before() {
    let mut watched = Watched::new();
    watched.lock(5, ONE, Lock::Read(1), Change::Taken(Mode::Shared));
    watched.begins(10, ONE, "INSERT INTO t");
    watched.ends(12, ONE, 517);
    let found = watched.found(100);
    assert!(matches!(kinds(&found)[..], [Kind::ReadThenWrite { refused: 1, outdated: 1, .. }]), "{found:#?}");
}

/// A cursor is open, and an UPDATE in autocommit meets the lock of another process, or a commit since its snapshot. SQLite waits
/// for neither, whatever the timeout is.
#[test]
fn a_write_beside_an_open_cursor_is_refused_at_once() {
    for is_outdated in [false, true] {
        let mut watched = Watched::new();
        watched.lock(5, ONE, Lock::Read(1), Change::Taken(Mode::Shared));
        if !is_outdated {
            watched.takes(20, WAITER);
        }
        watched.begins(30, ONE, "UPDATE t SET v = 1");
        if is_outdated {
            watched.lock(31, ONE, Lock::WalWrite, Change::Taken(Mode::Alone));
            watched.lock(32, ONE, Lock::WalWrite, Change::Released);
        } else {
            watched.lock(31, ONE, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
        watched.ends(38, ONE, 5);
        let found = watched.found(100);
        let outdated = u64::from(is_outdated);
        let [Kind::ReadThenWrite { refused: 1, outdated: known, .. }] = kinds(&found)[..] else { panic!("{found:#?}") };
        assert_eq!(*known, outdated, "{found:#?}");
    }
}

/// Another connection of the process has the lock, or so it seems: a goroutine had changed its thread.
#[test]
fn what_a_refused_connection_has_read_is_unknown_without_the_text_of_its_first_statement() {
    let found = |first: Option<&str>, holder: Who, refused_ms: u64| {
        let mut watched = Watched::new();
        watched.lock(5, ONE, Lock::Read(1), Change::Taken(Mode::Shared));
        watched.at(10, ONE, What::StepBegins { statement: 1, sql: first.map(str::to_string) });
        watched.ends(10, ONE, 101);
        watched.does(11, 12, ONE, "SELECT 1 FROM t");
        watched.takes(20, holder);
        watched.begins(30, ONE, "INSERT INTO t");
        watched.ends(30 + refused_ms, ONE, 5);
        let found = watched.found(150);
        assert!(watched.timeline.kept_open.is_empty(), "no commit");
        kinds(&found).into_iter().cloned().collect::<Vec<Kind>>()
    };
    assert!(matches!(found(None, TWO, 1)[..], [Kind::RefusedAtOnce { refused: 1, .. }]));
    for (holder, refused_ms) in [(TWO, 1), (TWO, 72), (ONE, 1)] {
        let found = found(Some("BEGIN"), holder, refused_ms);
        assert!(matches!(found[..], [Kind::ReadThenWrite { refused: 1, .. }]), "{found:#?}");
    }
}

/// Of a lock with statements of unknown texts, each counts.
#[test]
fn a_statement_without_a_text_is_a_part_of_its_transaction() {
    let mut watched = Watched::new();
    watched.at(10, ONE, What::StepBegins { statement: 1, sql: None });
    watched.takes(11, ONE);
    watched.ends(20, ONE, 101);
    watched.begins(21, ONE, "COMMIT");
    watched.lock(23, ONE, Lock::WalWrite, Change::Released);
    watched.ends(23, ONE, 101);
    let tally = &watched.timeline.tallies[&(0, ONE.pid)];
    assert_eq!(tally.shapes.keys().collect::<Vec<_>>(), ["(a statement whose text was not seen); COMMIT"]);
    assert_eq!((tally.without_text, tally.statements[&None].total_ns), (1, 9 * MS));
}

#[test]
fn of_several_holders_the_one_of_most_waits_is_named() {
    let mut watched = Watched::new();
    let third = Who { pid: 9, tid: 9 };
    // The last wait is the longest.
    for (holder, from_ms, to_ms) in [(ONE, 100, 300), (ONE, 1_000, 1_200), (third, 2_000, 2_900)] {
        watched.takes(from_ms, holder);
        watched.begins(from_ms, WAITER, "INSERT INTO t");
        for at_ms in [from_ms + 10, to_ms - 20, to_ms - 10] {
            watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
        watched.ends(to_ms, WAITER, 5);
        watched.lock(to_ms + 10, holder, Lock::WalWrite, Change::Released);
    }
    let found = watched.found(3_000);
    let too_short = found.iter().find(|finding| finding.pid == WAITER.pid).expect("a finding");
    let kind = &too_short.case.kind;
    assert!(matches!(kind, Kind::TimeoutTooShort { gave_up: 3, holder: Some(7), holder_times: 2, .. }), "{kind:?}");
}
