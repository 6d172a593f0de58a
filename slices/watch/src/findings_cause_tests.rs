//! Evidence is tied to its cause: what is no refusal, no wait, no pause, or of another database makes no finding.

use super::*;
use crate::moment::Worst;

/// A connection of the first process that no lock call has shown.
const THIRD: Who = Who { pid: 7, tid: 73 };

impl Watched {
    fn refused(&mut self, at_ms: u64, who: Who, lock: Lock) {
        self.lock(at_ms, who, lock, Change::Refused(Mode::Alone));
    }

    fn releases(&mut self, at_ms: u64, who: Who) {
        self.lock(at_ms, who, Lock::WalWrite, Change::Released);
    }

    /// BEGIN IMMEDIATE, whose lock stays.
    fn begins_to_write(&mut self, at_ms: u64, who: Who) {
        self.begins(at_ms, who, "BEGIN IMMEDIATE");
        self.takes(at_ms + 1, who);
        self.ends(at_ms + 2, who, 101);
    }

    /// The sums of a process on the first database.
    fn sums(&self, who: Who) -> Sums {
        self.timeline.sums.get(&(0, who.pid)).cloned().unwrap_or_default()
    }
}

fn is_idle(found: &[Finding]) -> bool {
    kinds(found).iter().any(|kind| matches!(kind, Kind::IdleInTransaction { .. }))
}

/// Whether a finding says that a transaction read first.
fn reads_first(found: &[Finding]) -> bool {
    kinds(found).iter().any(|kind| matches!(kind, Kind::ReadThenWrite { .. }))
}

fn words(found: &Finding) -> String {
    let words = crate::words::words(found, &|pid| pid.to_string(), &|tid| tid.to_string());
    format!("{} {}", words.title, words.evidence)
}

/// A reader pins the log and another process leaves a transaction open; both end after 5 s.
#[test]
fn what_is_past_stays_a_finding_and_is_said_to_be_past() {
    let mut watched = Watched::new();
    let mut worst = Worst::default();
    let mut samples = log(&[5_000, 9_000]);
    samples[1].state.log.as_mut().expect("a log").read_marks = [None, Some(4_000), None, None, None];
    watched.reads(100, ONE);
    watched.begins_to_write(200, WAITER);
    let look = |watched: &mut Watched, at_ms, worst: &mut Worst| {
        watched.timeline.advance(SECOND + at_ms * MS);
        worst.look(&watched.timeline, std::slice::from_ref(&samples));
        worst.with_past(findings(&watched.timeline, std::slice::from_ref(&samples)), std::slice::from_ref(&samples))
    };
    let now = look(&mut watched, 5_000, &mut worst);
    assert!(matches!(kinds(&now)[..], [Kind::ReaderPinsLog { .. }, Kind::IdleInTransaction { .. }]), "{now:#?}");
    assert!(now.iter().all(|finding| finding.seen_ns.is_none()), "{now:#?}");
    watched.does(5_001, 5_002, ONE, "COMMIT");
    watched.lock(5_002, ONE, Lock::Read(1), Change::Released);
    watched.releases(5_003, WAITER);
    let past = look(&mut watched, 6_000, &mut worst);
    assert!(matches!(kinds(&past)[..], [Kind::IdleInTransaction { .. }, Kind::ReaderPinsLog { .. }]), "{past:#?}");
    assert!(past.iter().all(|finding| finding.seen_ns == Some(5 * SECOND)), "{past:#?}");
    let said = past.iter().map(words).collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("8 held the write lock in an open transaction") && said.contains("7 kept an old snapshot"),
        "{said}"
    );
    assert!(said.contains("It read from the same snapshot for 4.89 s"), "{said}");
    assert!(said.contains("This was seen 5.00 s after the watch began."), "{said}");
}

#[test]
fn a_transaction_that_ends_with_its_connection_names_who_gave_up() {
    let mut watched = Watched::new();
    watched.begins_to_write(100, ONE);
    watched.does(110, 120, ONE, "UPDATE t SET v = 1");
    watched.begins(200, WAITER, "INSERT INTO t");
    for at_ms in (200..=1_200).step_by(100) {
        watched.refused(at_ms, WAITER, Lock::WalWrite);
    }
    watched.ends(1_210, WAITER, 5);
    watched.releases(3_000, ONE);
    let found = watched.found(3_100);
    let its = found.iter().find(|finding| finding.pid == ONE.pid).expect("a finding");
    let Kind::ProgramHoldsLock { gave_up: 1, before, after: None, longest_gap_ns, .. } = &its.case.kind else {
        panic!("{its:#?}")
    };
    assert_eq!((before.as_deref(), longest_gap_ns / MS), (Some("UPDATE t SET v = 1"), 2_880));
    assert!(words(its).contains("before a call without a known statement"), "{}", words(its));
}

#[test]
fn a_checkpoint_that_copies_for_long_is_no_reader() {
    let mut watched = Watched::new();
    let samples = log(&[5_000, 9_000]);
    for (mode, found) in [(Mode::Alone, 0), (Mode::Shared, 1)] {
        watched.lock(100, ONE, Lock::Read(0), Change::Taken(mode));
        watched.timeline.advance(5 * SECOND);
        assert_eq!(findings(&watched.timeline, std::slice::from_ref(&samples)).len(), found, "{mode:?}");
    }
}

/// The lock outlives the transaction: each statement finds it taken.
#[test]
fn an_exclusive_locking_mode_is_no_open_transaction() {
    let found = |statements: &[(&str, i32)]| {
        let mut watched = Watched::new();
        for (n, (sql, code)) in statements.iter().enumerate() {
            let at_ms = 100 + 200 * n as u64;
            let sql = Some(sql.to_string()).filter(|sql| !sql.is_empty());
            watched.at(at_ms, ONE, What::StepBegins { statement: 1, sql: sql.clone() });
            if n == 0 || sql.as_deref() == Some("UPDATE t") {
                watched.takes(at_ms + 1, ONE);
            }
            watched.ends(at_ms + 2, ONE, *code);
        }
        watched.begins(900, WAITER, "INSERT INTO t");
        watched.refused(900, WAITER, Lock::WalWrite);
        let found = watched.found(5_000);
        assert_eq!(is_idle(&found), !found.is_empty(), "{found:#?}");
        is_idle(&found)
    };
    assert!(!found(&[("INSERT INTO t", 101), ("INSERT INTO t", 101)]), "autocommit");
    assert!(!found(&[("BEGIN IMMEDIATE", 101), ("INSERT INTO t", 101), ("COMMIT", 101)]), "after a commit");
    assert!(found(&[("BEGIN IMMEDIATE", 101), ("INSERT INTO t", 101)]), "no commit");
    assert!(found(&[("BEGIN IMMEDIATE", 101), ("INSERT INTO t", 101), ("COMMIT", 19)]), "a commit that failed");
    assert!(found(&[("SAVEPOINT a", 101), ("UPDATE t", 101)]), "a savepoint begins a transaction");
    assert!(found(&[("", 101)]), "a statement of unknown text may be one of a transaction");
    assert!(found(&[("INSERT INTO t RETURNING id", 100)]), "a statement with further rows");
}

/// Each close in WAL mode tries to lock the file alone, to delete the log if it is the last one.
#[test]
fn a_close_that_is_not_the_last_one_waits_for_nothing() {
    let mut watched = Watched::new();
    watched.lock(1, WAITER, Lock::Shared, Change::Taken(Mode::Shared));
    watched.lock(100, ONE, Lock::Pending, Change::Taken(Mode::Alone));
    watched.refused(100, ONE, Lock::Shared);
    watched.lock(100, ONE, Lock::Pending, Change::Released);
    assert_eq!(watched.found(2_000), []);
    assert_eq!((watched.sums(ONE).refusals, watched.sums(ONE).gave_up), (0, 0));
    // With a rollback journal a writer holds RESERVED.
    watched.begins(2_100, ONE, "COMMIT");
    watched.lock(2_100, ONE, Lock::Reserved, Change::Taken(Mode::Alone));
    watched.refused(2_101, ONE, Lock::Shared);
    assert_eq!(watched.sums(ONE).refusals, 1);
}

/// Two of them: the first open while another process rebuilds the index, and a checkpoint that becomes a passive one.
#[test]
fn a_statement_that_goes_on_without_the_lock_did_not_give_up() {
    let mut watched = Watched::new();
    watched.begins(100, WAITER, "SELECT 1 FROM t");
    watched.refused(101, WAITER, Lock::WalWrite);
    watched.refused(105, WAITER, Lock::Recover);
    watched.ends(120, WAITER, 100);
    watched.begins(200, ONE, "PRAGMA wal_checkpoint(FULL)");
    for at_ms in (200..=300).step_by(10) {
        watched.refused(at_ms, ONE, Lock::WalWrite);
    }
    watched.ends(310, ONE, 100);
    assert_eq!(watched.found(2_000), []);
    assert_eq!((watched.sums(WAITER).gave_up, watched.sums(ONE).gave_up, watched.sums(ONE).waits), (0, 0, 1));
}

/// A call that no probe shows, such as a step of a backup, is tried again when the program likes.
#[test]
fn one_refusal_outside_of_statements_is_no_missing_timeout() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    watched.refused(200, WAITER, Lock::WalWrite);
    assert_eq!(watched.found(900), []);
}

/// One of its two SQLites has names, and it executes the other one.
#[test]
fn a_process_that_writes_without_any_visible_call_is_refused_by_its_lock_calls() {
    let found = |writes: bool, calls: bool| {
        let mut watched = Watched::new();
        if calls {
            watched.does(10, 11, WAITER, "SELECT 1 FROM t");
        }
        if writes {
            watched.takes(50, WAITER);
            watched.releases(51, WAITER);
        }
        watched.takes(100, ONE);
        watched.refused(200, WAITER, Lock::WalWrite);
        watched.found(900)
    };
    assert!(matches!(kinds(&found(true, false))[..], [Kind::RefusedAtOnce { refused: 1, .. }]));
    assert_eq!(found(true, true), [], "a call that no probe shows, of a program whose other calls are seen");
    assert_eq!(found(false, false), [], "nothing shows that it executes statements");
}

#[test]
fn a_refusal_by_another_database_is_none_of_a_watched_one() {
    let found = |uses_others: bool, is_known: bool| {
        let mut watched = Watched::new();
        if uses_others {
            watched.timeline.uses_others.insert(7);
        }
        watched.begins_to_write(100, ONE);
        if is_known {
            watched.lock(150, THIRD, Lock::Read(2), Change::Taken(Mode::Shared));
            watched.lock(151, THIRD, Lock::Read(2), Change::Released);
        }
        watched.begins(200, THIRD, "BEGIN IMMEDIATE");
        watched.ends(201, THIRD, 5);
        watched.does(300, 301, ONE, "COMMIT");
        watched.releases(301, ONE);
        watched.begins(400, THIRD, "INSERT INTO t");
        watched.ends(401, THIRD, 5);
        (watched.found(500).len(), watched.timeline.unexplained.len())
    };
    assert_eq!(found(true, false), (0, 0), "it may be one that is not watched");
    assert_eq!(found(false, false).0, 1, "the process has no other");
    assert_eq!(found(true, true).0, 1, "its connection has locked this one");
}

#[test]
fn a_refusal_is_of_the_database_that_its_connection_has_locked() {
    let mut watched = Watched::new();
    watched.begins_to_write(100, ONE);
    let second = |change| What::Lock { database: 1, lock: Lock::Read(1), change };
    watched.at(110, TWO, second(Change::Taken(Mode::Shared)));
    watched.at(111, TWO, second(Change::Released));
    watched.begins(200, TWO, "BEGIN IMMEDIATE");
    watched.ends(201, TWO, 5);
    // Of this one nothing is known, and the process has two databases.
    watched.begins(210, THIRD, "BEGIN IMMEDIATE");
    watched.ends(211, THIRD, 5);
    watched.found(500);
    assert_eq!((watched.sums(ONE).refusals, watched.sums(ONE).busy), (0, 0));
    assert_eq!(watched.timeline.sums[&(1, TWO.pid)].busy, 1);
}

/// A script that another program starts writes before its SQLite can be probed.
#[test]
fn a_lock_from_before_its_process_was_found_may_be_left_open() {
    let found = |seen_ms: Option<u64>, percent: u64| {
        let mut watched = Watched::new();
        watched.takes(1_000, ONE);
        watched.timeline.visible.extend(seen_ms.map(|ms| (ONE.pid, SECOND + ms * MS)));
        watched.timeline.processor_ns = [(ONE.pid, [(ONE.tid, percent * 3_000 * MS / 100)].into())].into();
        watched.found(4_050)
    };
    let left = found(Some(1_050), 1);
    let [Finding { pid: 7, case, .. }] = &left[..] else { panic!("{left:#?}") };
    let Kind::IdleInTransaction { idle_ns, last: None, held_ns, .. } = case.kind else { panic!("{case:#?}") };
    assert_eq!((idle_ns, held_ns), (3_000 * MS, 3_050 * MS), "since its statements are visible");
    assert!(kinds(&found(Some(1_050), 90)).is_empty(), "it may execute the statement that took the lock");
    assert!(kinds(&found(None, 1)).is_empty(), "a lock that no statement took, as a backup's");
}

/// Rollback journal, no busy timeout: the writer gives up at the commit, and unlocks down to a reader's lock.
#[test]
fn a_writer_that_a_reader_keeps_out_gives_up_and_waits_once() {
    let mut watched = Watched::new();
    watched.lock(50, ONE, Lock::Shared, Change::Taken(Mode::Shared));
    watched.begins(100, WAITER, "INSERT INTO t");
    watched.lock(100, WAITER, Lock::Shared, Change::Taken(Mode::Shared));
    watched.lock(101, WAITER, Lock::Reserved, Change::Taken(Mode::Alone));
    watched.lock(102, WAITER, Lock::Shared, Change::Refused(Mode::Alone));
    watched.lock(103, WAITER, Lock::Shared, Change::Taken(Mode::Shared));
    watched.lock(103, WAITER, Lock::Reserved, Change::Released);
    watched.lock(103, WAITER, Lock::Shared, Change::Released);
    watched.ends(104, WAITER, 5);
    watched.found(500);
    let waits: Vec<_> = watched.timeline.waits.iter().map(|wait| (wait.lock, wait.end, wait.holder)).collect();
    assert_eq!(waits, [(Lock::Shared, End::GaveUp, Some(ONE.pid))]);
    assert!(watched.timeline.unexplained.is_empty(), "a lock call was refused");
}

/// SQLite refuses COMMIT while a statement of the same connection has further rows to write.
#[test]
fn a_commit_with_statements_in_progress_is_no_read_then_write() {
    let mut watched = Watched::new();
    watched.begins_to_write(100, ONE);
    watched.begins(110, ONE, "INSERT INTO t RETURNING id");
    watched.ends(111, ONE, 100);
    watched.begins(120, ONE, "COMMIT");
    watched.ends(121, ONE, 5);
    assert_eq!(watched.found(500), []);
}

#[test]
fn what_was_read_before_the_transaction_is_not_read_in_it() {
    let found = |prepare: &str, statements: &[&str]| {
        let mut watched = Watched::new();
        watched.reads(100, ONE);
        watched.does(120, 121, ONE, "COMMIT");
        watched.at(130, ONE, What::PrepareBegins { sql: Some(prepare.to_string()) });
        watched.at(131, ONE, What::PrepareEnds { code: 0 });
        for (n, sql) in statements.iter().enumerate() {
            let is_last = n + 1 == statements.len();
            watched.begins(200 + 10 * n as u64, ONE, sql);
            if is_last {
                watched.refused(201 + 10 * n as u64, ONE, Lock::WalWrite);
            }
            watched.ends(201 + 10 * n as u64, ONE, if is_last { 5 } else { 101 });
        }
        let found = watched.found(900);
        assert_eq!(found.len(), 1, "{found:#?}");
        reads_first(&found)
    };
    assert!(!found("BEGIN", &["BEGIN IMMEDIATE"]));
    assert!(!found("SELECT 1", &["SELECT 1 FROM t", "BEGIN IMMEDIATE"]));
    assert!(!found("BEGIN", &["BEGIN", "INSERT INTO t"]), "another connection had the read lock already");
    assert!(found("COMMIT", &["BEGIN", "SELECT 1 FROM t", "INSERT INTO t"]));
    assert!(found("COMMIT", &["BEGIN", "SELECT 1 FROM t", "ROLLBACK TO s", "INSERT INTO t"]));
}

#[test]
fn a_refusal_during_a_statement_is_none_of_a_pause() {
    let found = |refused_ms: u64| {
        let mut watched = Watched::new();
        watched.begins_to_write(100, ONE);
        watched.begins(300, ONE, "UPDATE t");
        watched.refused(refused_ms, WAITER, Lock::WalWrite);
        watched.ends(900, ONE, 101);
        watched.begins(901, ONE, "COMMIT");
        watched.releases(902, ONE);
        watched.found(950).len()
    };
    assert_eq!((found(500), found(950)), (0, 0));
    let mut watched = Watched::new();
    watched.begins_to_write(100, ONE);
    watched.refused(200, WAITER, Lock::WalWrite);
    watched.does(300, 900, ONE, "UPDATE t");
    watched.releases(902, ONE);
    assert_eq!(watched.found(950).len(), 1, "it was refused in the pause");
}

#[test]
fn a_checkpoint_is_not_blamed_for_a_wait_that_it_did_not_cause() {
    let mut watched = Watched::new();
    watched.begins(100, ONE, "PRAGMA wal_checkpoint(TRUNCATE)");
    watched.lock(100, ONE, Lock::Checkpoint, Change::Taken(Mode::Alone));
    watched.takes(101, ONE);
    watched.releases(400, ONE);
    watched.lock(401, ONE, Lock::Checkpoint, Change::Released);
    watched.ends(402, ONE, 101);
    watched.begins(1_000, ONE, "INSERT INTO t");
    watched.takes(1_001, ONE);
    watched.begins(1_002, WAITER, "INSERT INTO t");
    for at_ms in (1_002..=1_502).step_by(100) {
        watched.refused(at_ms, WAITER, Lock::WalWrite);
    }
    watched.releases(1_510, ONE);
    watched.ends(1_511, ONE, 101);
    watched.takes(1_520, WAITER);
    watched.releases(1_521, WAITER);
    watched.ends(1_522, WAITER, 101);
    assert_eq!(watched.found(1_600), []);
}

/// Readers of one process share its lock, which no call shows.
#[test]
fn several_readers_in_turn_are_no_old_reader() {
    let found = |ends: bool| {
        let mut watched = Watched::new();
        let mut samples = log(&[5_000, 9_000]);
        samples[1].state.log.as_mut().expect("a log").read_marks[1] = Some(4_000);
        watched.reads(100, ONE);
        watched.reads(500, TWO);
        if ends {
            watched.does(600, 601, ONE, "COMMIT");
        }
        watched.timeline.advance(5 * SECOND);
        let found = findings(&watched.timeline, &[samples]);
        (found[0].case.tid, words(&found[0]))
    };
    let (one, said) = found(false);
    assert!(one == Some(ONE.tid) && said.contains("It has read from the same snapshot for 3.89 s"), "{said}");
    let (none, said) = found(true);
    assert!(
        none.is_none() && said.contains("on the same snapshot (for one reader, or several in turn) for 3.89 s"),
        "{said}"
    );
}

#[test]
fn a_process_that_waits_now_and_then_is_not_starved() {
    let found = |lock: Lock, wait_ms: u64| {
        let mut watched = Watched::new();
        for n in 0..20 {
            let at_ms = 1 + n * 1_500;
            watched.begins(at_ms, ONE, "UPDATE t");
            watched.takes(at_ms, ONE);
            watched.begins(at_ms + 1, WAITER, "INSERT INTO t");
            watched.refused(at_ms + 1, WAITER, lock);
            watched.refused(at_ms + 1 + wait_ms, WAITER, lock);
            watched.lock(at_ms + 1 + wait_ms, WAITER, lock, Change::Taken(Mode::Shared));
            watched.lock(at_ms + 1 + wait_ms, WAITER, lock, Change::Released);
            watched.ends(at_ms + 1 + wait_ms, WAITER, 101);
            watched.ends(at_ms + 1_490, ONE, 101);
            watched.releases(at_ms + 1_490, ONE);
        }
        let found = watched.found(30_000);
        kinds(&found).iter().any(|kind| matches!(kind, Kind::Starvation { .. }))
    };
    assert!(found(Lock::WalWrite, 1_100));
    assert!(!found(Lock::WalWrite, 100), "short waits");
    assert!(!found(Lock::Shared, 1_100), "a reader wants no write lock");
}

/// With a rollback journal also those that read or commit are refused.
#[test]
fn a_reader_or_a_commit_without_a_timeout_is_found() {
    let found = |sql: &str, lock: Lock, mode: Mode| {
        let mut watched = Watched::new();
        watched.does(50, 51, ONE, "SELECT 1");
        watched.lock(60, ONE, Lock::Reserved, Change::Taken(Mode::Alone));
        watched.begins(100, ONE, sql);
        watched.lock(101, ONE, lock, Change::Refused(mode));
        watched.ends(102, ONE, 5);
        let found = watched.found(900);
        matches!(kinds(&found)[..], [Kind::NoBusyTimeout { refused: 1, .. }])
    };
    assert!(found("COMMIT", Lock::Shared, Mode::Alone));
    assert!(found("SELECT 1", Lock::Pending, Mode::Shared));
}

/// A script that starts the shell five times a second does so 18,000 times in an hour.
#[test]
fn the_time_for_findings_grows_with_the_number_of_processes_and_not_with_its_square() {
    let time_of = |processes: u32| {
        let mut watched = Watched::new();
        for number in 0..processes {
            let (who, at_ms) = (Who { pid: 100 + number, tid: 100 + number }, 200 * u64::from(number));
            watched.takes(at_ms, who);
            watched.lock(at_ms + 1, who, Lock::WalWrite, Change::Released);
            // The next one waits in vain.
            let (who, other) = (Who { pid: 1_000_000 + number, tid: 1_000_000 + number }, who);
            watched.takes(at_ms + 10, other);
            for ms in [20, 60, 120] {
                watched.lock(at_ms + ms, who, Lock::WalWrite, Change::Refused(Mode::Alone));
            }
            watched.lock(at_ms + 150, other, Lock::WalWrite, Change::Released);
        }
        // Of this thread alone: other tests run on the same processors.
        let time = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let began = time();
        findings(&watched.timeline, &[vec![]]);
        let ended = time();
        (ended.tv_sec - began.tv_sec) * 1_000_000_000 + (ended.tv_nsec - began.tv_nsec)
    };
    // Sixteen times as many: 16 times the time, or 256 times.
    let (few, many) = (time_of(3_000), time_of(48_000));
    assert!(many < 100 * few, "{few} and {many} ns");
}

/// The shell of SQLite is refused and ends within a millisecond.
#[test]
fn a_process_that_is_refused_once_and_ends_before_its_calls_are_visible_is_a_finding() {
    let found = |tries: u64, visible_ms: Option<u64>| {
        let mut watched = Watched::new();
        watched.takes(100, ONE);
        (0..tries).for_each(|_| watched.lock(110, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone)));
        watched.timeline.visible.remove(&WAITER.pid);
        watched.timeline.visible.extend(visible_ms.map(|ms| (WAITER.pid, SECOND + ms * MS)));
        watched.timeline.process_ended(WAITER.pid, SECOND + 120 * MS);
        watched.found(1_000).into_iter().filter(|finding| finding.pid == WAITER.pid).collect::<Vec<_>>()
    };
    let refused = found(1, None);
    assert!(matches!(kinds(&refused)[..], [Kind::RefusedAtOnce { refused: 1, holder: Some(7) }]), "{refused:#?}");
    assert_eq!(kinds(&found(1, Some(115))), kinds(&refused), "visible when it was too late");
    assert_eq!(found(1, Some(105)), [], "a call that is no statement");
    assert_eq!(found(3, None), [], "it tried again, and may have been killed");
}
