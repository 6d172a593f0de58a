//! Findings from events at simulated times.

use super::*;
use crate::event::{Event, What, Who};
use crate::lock::{Change, Lock, Mode};
use crate::tally::WaitedFor;
use crate::target::State;
use contend::engine::wal::Log;

#[path = "findings_cause_tests.rs"]
mod causes;
#[path = "findings_lost_tests.rs"]
mod lost;
#[path = "findings_opens_tests.rs"]
mod opens;
#[path = "findings_readers_tests.rs"]
mod readers;
#[path = "findings_refused_tests.rs"]
mod refused;
#[path = "findings_unseen_tests.rs"]
mod unseen;

/// A process with two connections, each in its own thread.
const ONE: Who = Who { pid: 7, tid: 71 };
const TWO: Who = Who { pid: 7, tid: 72 };
/// A process that waits for it.
const WAITER: Who = Who { pid: 8, tid: 8 };

/// A watch of statements of both processes that begins at 1 s.
struct Watched {
    timeline: Timeline,
}

impl Watched {
    fn new() -> Watched {
        let mut timeline = Timeline::new(SECOND, true);
        timeline.visible.extend([(ONE.pid, 0), (WAITER.pid, 0)]);
        Watched { timeline }
    }

    fn at(&mut self, at_ms: u64, who: Who, what: What) {
        self.timeline.apply(&Event { at_ns: SECOND + at_ms * MS, who, what });
    }

    fn lock(&mut self, at_ms: u64, who: Who, lock: Lock, change: Change) {
        self.at(at_ms, who, What::Lock { database: 0, lock, change });
    }

    fn takes(&mut self, at_ms: u64, who: Who) {
        self.lock(at_ms, who, Lock::WalWrite, Change::Taken(Mode::Alone));
    }

    fn begins(&mut self, at_ms: u64, who: Who, sql: &str) {
        self.at(at_ms, who, What::StepBegins { statement: 1, sql: Some(sql.to_string()) });
    }

    fn ends(&mut self, at_ms: u64, who: Who, code: i32) {
        self.at(at_ms, who, What::StepEnds { code });
    }

    /// Statement from one time to another.
    fn does(&mut self, from_ms: u64, to_ms: u64, who: Who, sql: &str) {
        self.begins(from_ms, who, sql);
        self.ends(to_ms, who, 101);
    }

    /// BEGIN and a read, whose lock stays.
    fn reads(&mut self, at_ms: u64, who: Who) {
        self.does(at_ms, at_ms + 1, who, "BEGIN");
        self.begins(at_ms + 10, who, "SELECT 1 FROM t");
        self.lock(at_ms + 10, who, Lock::Read(1), Change::Taken(Mode::Shared));
        self.ends(at_ms + 11, who, 101);
    }

    fn found(&mut self, at_ms: u64) -> Vec<Finding> {
        self.timeline.advance(SECOND + at_ms * MS);
        findings(&self.timeline, &[vec![]])
    }
}

fn kinds(found: &[Finding]) -> Vec<&Kind> {
    found.iter().map(|finding| &finding.case.kind).collect()
}

#[test]
fn a_thread_that_left_its_transaction_open_is_idle_whatever_other_threads_do() {
    let mut watched = Watched::new();
    watched.begins(100, ONE, "BEGIN IMMEDIATE");
    watched.takes(101, ONE);
    watched.ends(102, ONE, 101);
    watched.does(200, 210, ONE, "UPDATE t SET v = 1");
    // Another thread tries to write, as a server's threads do.
    watched.begins(300, TWO, "BEGIN IMMEDIATE");
    let found = watched.found(2_000);
    let [Finding { pid: 7, case, .. }] = &found[..] else { panic!("{found:#?}") };
    let Kind::IdleInTransaction { idle_ns, last, .. } = &case.kind else { panic!("{case:#?}") };
    assert_eq!((*idle_ns, last.as_deref(), case.tid), (1_790 * MS, Some("UPDATE t SET v = 1"), Some(ONE.tid)));
}

/// The kernel reports no end of a statement that had begun before the watch.
#[test]
fn a_statement_that_began_before_the_watch_is_no_pause() {
    let mut watched = Watched::new();
    watched.takes(0, ONE);
    watched.begins(100, WAITER, "INSERT INTO t");
    for at_ms in [100, 300, 500] {
        watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    }
    watched.does(900, 901, ONE, "COMMIT");
    watched.lock(901, ONE, Lock::WalWrite, Change::Released);
    assert_eq!(kinds(&watched.found(950)), Vec::<&Kind>::new());
}

#[test]
fn a_lock_from_before_the_watch_is_idle_if_no_connection_that_may_have_it_works() {
    let mut watched = Watched::new();
    let unknown = Who { pid: 7, tid: 7 };
    watched.timeline.apply(&Event {
        at_ns: SECOND,
        who: unknown,
        what: What::Lock { database: 0, lock: Lock::WalWrite, change: Change::Taken(Mode::Alone) },
    });
    watched.begins(300, TWO, "BEGIN IMMEDIATE");
    let is_idle = |found: Vec<Finding>| kinds(&found).iter().any(|kind| matches!(kind, Kind::IdleInTransaction { .. }));
    assert!(is_idle(watched.found(2_000)), "a connection that begins a transaction has none");
    watched.ends(5_300, TWO, 5);
    assert!(is_idle(watched.found(5_400)), "nor has one that was refused");
    watched.begins(5_500, ONE, "UPDATE t SET v = 2");
    let found = watched.found(6_000);
    let long = kinds(&found).iter().any(|kind| matches!(kind, Kind::LongTransaction { .. }));
    assert!(long && !is_idle(found), "this may be a statement of its transaction");
}

#[test]
fn a_lock_from_before_the_watch_is_not_idle_while_a_thread_without_calls_computes() {
    let found = |thread: u32, percent: u64| {
        let mut watched = Watched::new();
        let taken = What::Lock { database: 0, lock: Lock::WalWrite, change: Change::Taken(Mode::Alone) };
        watched.timeline.apply(&Event { at_ns: SECOND, who: Who { pid: 7, tid: 7 }, what: taken });
        watched.does(10, 20, TWO, "SELECT 1");
        watched.begins(100, WAITER, "INSERT INTO t");
        for at_ms in (100..=1_900).step_by(100) {
            watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
        watched.timeline.processor_ns = [(7, [(thread, percent * 2_000 * MS / 100)].into())].into();
        let found = watched.found(2_000);
        kinds(&found).iter().any(|kind| matches!(kind, Kind::IdleInTransaction { .. }))
    };
    assert!(found(7, 1), "it sleeps");
    assert!(!found(7, 90), "a statement that began before the watch");
    assert!(found(TWO.tid, 90), "a thread whose statement has ended");
}

#[test]
fn a_checkpoint_or_backup_that_runs_without_statements_is_no_open_transaction() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    assert_eq!(kinds(&watched.found(3_000)), Vec::<&Kind>::new(), "sqlite3_backup_step");
    let mut watched = Watched::new();
    watched.does(50, 60, ONE, "SELECT 1");
    watched.lock(100, ONE, Lock::Checkpoint, Change::Taken(Mode::Alone));
    watched.takes(101, ONE);
    assert_eq!(kinds(&watched.found(3_000)), Vec::<&Kind>::new(), "sqlite3_wal_checkpoint_v2");
}

#[test]
fn a_checkpoint_that_keeps_writers_out_is_found_while_it_runs_and_only_if_it_is_the_writers_own() {
    let found = |checkpoint: Who| {
        let mut watched = Watched::new();
        watched.begins(90, checkpoint, "PRAGMA wal_checkpoint(TRUNCATE)");
        watched.lock(100, checkpoint, Lock::Checkpoint, Change::Taken(Mode::Alone));
        if checkpoint != ONE {
            watched.begins(100, ONE, "DELETE FROM big");
        }
        watched.takes(101, ONE);
        watched.begins(110, WAITER, "INSERT INTO t");
        for at_ms in [110, 200, 300] {
            watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
        }
        watched.found(1_500)
    };
    let its = found(ONE);
    let [Finding { pid: 7, case, .. }] = &its[..] else { panic!("{its:#?}") };
    assert!(matches!(case.kind, Kind::CheckpointBlocksWriters { longest_ns: 1_399_000_000, .. }), "{case:#?}");
    assert_eq!(case.sql.as_deref(), Some("PRAGMA wal_checkpoint(TRUNCATE)"));
    assert_eq!(found(TWO), [], "another connection's checkpoint keeps no process out");
}

#[test]
fn a_transaction_that_works_for_long_is_found_while_it_does_and_names_its_statement() {
    let mut watched = Watched::new();
    watched.begins(100, ONE, "BEGIN IMMEDIATE");
    watched.takes(101, ONE);
    watched.ends(102, ONE, 101);
    watched.begins(110, ONE, "DELETE FROM big");
    watched.begins(200, WAITER, "INSERT INTO t");
    for at_ms in (200..=1_100).step_by(100) {
        watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    }
    assert_eq!(kinds(&watched.found(1_150)), Vec::<&Kind>::new(), "no process has waited for a second");
    watched.lock(1_250, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    let found = watched.found(1_300);
    let [Finding { pid: 7, case, .. }] = &found[..] else { panic!("{found:#?}") };
    assert!(matches!(case.kind, Kind::LongTransaction { holds: 1, .. }), "{case:#?}");
    assert_eq!((case.sql.as_deref(), case.tid), (Some("DELETE FROM big"), Some(ONE.tid)));
    // The one that gives up names holder and statement.
    watched.ends(1_310, WAITER, 5);
    let found = watched.found(1_320);
    let too_short = found.iter().find(|finding| finding.pid == WAITER.pid).expect("a finding");
    let Kind::TimeoutTooShort { holder, holder_sql, .. } = &too_short.case.kind else { panic!("{too_short:#?}") };
    assert_eq!((*holder, holder_sql.as_deref()), (Some(7), Some("DELETE FROM big")));
}

#[test]
fn a_process_that_is_killed_while_it_waits_is_no_evidence_of_what_comes_later() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    watched.begins(110, WAITER, "BEGIN IMMEDIATE");
    watched.lock(110, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    assert!(watched.timeline.at_work().any(|pid| pid == WAITER.pid));
    watched.timeline.process_ended(WAITER.pid, SECOND + 120 * MS);
    assert!(watched.timeline.at_work().all(|pid| pid == ONE.pid));
    watched.lock(900, ONE, Lock::WalWrite, Change::Released);
    watched.found(1_000);
    assert_eq!(watched.timeline.tallies[&(0, ONE.pid)].waited_for, WaitedFor::default());
    assert!(watched.timeline.waits.is_empty() && watched.timeline.waiting().next().is_none());
    assert!(watched.timeline.sums.iter().all(|(_, sums)| sums.gave_up == 0), "it did not give up");
}

#[test]
fn a_process_that_ends_outside_of_visible_calls_has_ended_its_wait_without_the_lock() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    watched.lock(110, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    watched.timeline.process_ended(WAITER.pid, 120 * MS);
    watched.found(1_000);
    assert_eq!(watched.timeline.sums[&(0, WAITER.pid)].gave_up, 1);
    assert!(watched.timeline.waits.iter().any(|wait| wait.end == End::ProcessEnded));
}

/// The kernel reports a release after it has happened; the thread may lose its processor in between.
#[test]
fn a_lock_that_another_thread_has_before_its_release_is_reported_has_two_holds() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    watched.takes(200, TWO);
    watched.lock(201, ONE, Lock::WalWrite, Change::Released);
    watched.lock(300, TWO, Lock::WalWrite, Change::Released);
    watched.takes(400, ONE);
    watched.lock(450, ONE, Lock::WalWrite, Change::Released);
    let holds: Vec<(Who, u64)> = watched.timeline.holds.iter().map(|hold| (hold.who, hold.ns(0) / MS)).collect();
    assert_eq!(holds, [(ONE, 100), (TWO, 100), (ONE, 50)]);
}

/// A pause is 2 % of the transactions, and most of the time of the lock is statements.
#[test]
fn a_long_pause_that_kept_others_out_stays_a_finding_among_much_work() {
    let found = |is_refused: bool| {
        let mut watched = Watched::new();
        watched.begins(100, ONE, "BEGIN IMMEDIATE");
        watched.takes(101, ONE);
        watched.ends(102, ONE, 101);
        if is_refused {
            watched.begins(150, WAITER, "BEGIN IMMEDIATE");
            watched.lock(151, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
            watched.ends(152, WAITER, 5);
        }
        watched.begins(252, ONE, "COMMIT");
        watched.lock(253, ONE, Lock::WalWrite, Change::Released);
        watched.ends(254, ONE, 101);
        watched.begins(300, ONE, "INSERT INTO t");
        watched.takes(301, ONE);
        watched.lock(990, ONE, Lock::WalWrite, Change::Released);
        watched.ends(991, ONE, 101);
        let found = watched.found(2_000);
        found.into_iter().filter(|finding| finding.pid == ONE.pid).collect::<Vec<_>>()
    };
    let refused = found(true);
    assert!(matches!(kinds(&refused)[..], [Kind::ProgramHoldsLock { refused: 1, holds: 1, .. }]), "{refused:#?}");
    assert_eq!(found(false), [], "a pause that is no harm to others");
}

#[test]
fn a_transaction_that_was_left_open_names_who_gave_up_and_stays_a_finding_when_it_ends() {
    let mut watched = Watched::new();
    watched.begins(100, ONE, "BEGIN IMMEDIATE");
    watched.takes(101, ONE);
    watched.ends(102, ONE, 101);
    watched.begins(200, WAITER, "INSERT INTO t");
    for at_ms in (200..=5_200).step_by(100) {
        watched.lock(at_ms, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    }
    watched.ends(5_230, WAITER, 5);
    let found = watched.found(20_000);
    let idle = found.iter().find(|finding| finding.pid == ONE.pid).expect("a finding");
    let said = crate::words::words(idle, &|pid| format!("python3 ({pid})"), &|tid| tid.to_string()).evidence;
    assert!(said.contains("python3 (8) waited 5.00 s for the lock and gave up."), "{said}");
    watched.begins(20_100, ONE, "COMMIT");
    watched.lock(20_101, ONE, Lock::WalWrite, Change::Released);
    watched.ends(20_102, ONE, 101);
    let found = watched.found(20_200);
    let ended = found.iter().find(|finding| finding.pid == ONE.pid).expect("still a finding");
    assert!(matches!(ended.case.kind, Kind::ProgramHoldsLock { gave_up: 1, holds: 1, .. }), "{ended:#?}");
    let said = crate::words::words(ended, &|pid| pid.to_string(), &|tid| tid.to_string()).evidence;
    assert!(said.contains("in 1 transaction with") && said.contains("1 wait ended without the lock"), "{said}");
}

#[test]
fn small_commits_are_no_finding_where_refusals_are_more() {
    let found = |refusals: u64| {
        let mut watched = Watched::new();
        watched.takes(1, ONE);
        watched.lock(2, ONE, Lock::WalWrite, Change::Released);
        let sums = watched.timeline.sums.get_mut(&(0, ONE.pid)).expect("sums");
        *sums = Sums { writes: 200, syncs: 200, sync_ns: 600 * MS, write_ns: 700 * MS, ..Sums::default() };
        watched.timeline.sums.insert((0, WAITER.pid), Sums { refusals, ..Sums::default() });
        watched.found(1_000)
    };
    assert!(matches!(kinds(&found(10))[..], [Kind::SmallCommits { .. }]), "{:#?}", found(10));
    assert_eq!(found(250), [], "larger transactions would refuse more");
}

/// A forked process believes that its parent's locks are those of its own connections.
#[test]
fn a_refusal_without_a_lock_call_is_counted_as_unexplained() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    watched.begins(200, WAITER, "INSERT INTO t");
    watched.ends(700, WAITER, 5);
    watched.found(1_000);
    assert_eq!(watched.timeline.unexplained, BTreeMap::from([(WAITER.pid, 1)]));
}

/// Another connection of the process takes the lock while one waits for another process's: further tries meet it in memory,
/// and only the end of the statement shows that they were made.
#[test]
fn a_wait_that_goes_on_in_memory_is_no_missing_timeout() {
    let kinds_after = |takes_lock: bool| {
        let mut watched = Watched::new();
        watched.takes(100, WAITER);
        watched.begins(101, ONE, "BEGIN IMMEDIATE");
        watched.lock(102, ONE, Lock::WalWrite, Change::Refused(Mode::Alone));
        watched.lock(103, WAITER, Lock::WalWrite, Change::Released);
        if takes_lock {
            watched.begins(103, TWO, "BEGIN IMMEDIATE");
            watched.takes(104, TWO);
            watched.ends(104, TWO, 101);
        }
        watched.ends(602, ONE, 5);
        watched.found(700)
    };
    let found = kinds_after(true);
    assert!(matches!(kinds(&found)[..], [Kind::TimeoutTooShort { longest_ns: 500_000_000, .. }]), "{found:#?}");
    let found = kinds_after(false);
    assert!(matches!(kinds(&found)[..], [Kind::NoBusyTimeout { .. }]), "{found:#?}");
}

#[test]
fn of_very_many_reads_the_latest_are_kept_and_all_writes() {
    let mut watched = Watched::new();
    watched.takes(1, ONE);
    watched.lock(2, ONE, Lock::WalWrite, Change::Released);
    for at_ms in 3..500_000 {
        watched.lock(at_ms, TWO, Lock::Read(1), Change::Taken(Mode::Shared));
        watched.lock(at_ms, TWO, Lock::Read(1), Change::Released);
        if at_ms % 1_000 == 0 {
            watched.timeline.forget_before(0);
        }
    }
    let holds = &watched.timeline.holds;
    assert!((100_000..=201_000).contains(&holds.len()), "{}", holds.len());
    assert_eq!((holds[0].lock, holds[1].lock), (Lock::WalWrite, Lock::Read(1)));
    assert_eq!(holds[holds.len() - 1].to_ns, Some(SECOND + 499_999 * MS));
}

/// A wait may outlast the hold that began it.
#[test]
fn of_a_wait_a_process_has_caused_what_it_held() {
    let mut watched = Watched::new();
    let third = Who { pid: 9, tid: 9 };
    watched.takes(100, ONE);
    watched.begins(110, WAITER, "INSERT INTO t");
    watched.lock(110, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    watched.lock(150, ONE, Lock::WalWrite, Change::Released);
    watched.takes(151, third);
    watched.lock(300, WAITER, Lock::WalWrite, Change::Refused(Mode::Alone));
    let waited = |wait: &Wait| wait.causes.iter().map(|cause| (cause.pid, cause.ns / MS)).collect::<Vec<_>>();
    let mut wait = watched.timeline.waiting().next().expect("it waits").clone();
    watched.timeline.add_causes(&mut wait);
    assert_eq!(waited(&wait), [(7, 40), (9, 149)]);
    watched.lock(400, third, Lock::WalWrite, Change::Released);
    watched.takes(410, WAITER);
    assert_eq!(waited(&watched.timeline.waits[0]), [(7, 40), (9, 249)]);
}

/// Samples of a log, one a second.
fn log(frames: &[u32]) -> Vec<Sample> {
    let sample = |(at_s, &frames): (usize, &u32)| {
        let log = Log { page_bytes: 4096, commits: 1, frames, copied: frames / 2, read_marks: [None; 5] };
        let state = State { log_bytes: u64::from(frames) * 4_120, log: Some(log), ..State::default() };
        Sample { at_ns: SECOND * (1 + at_s as u64), state }
    };
    frames.iter().enumerate().map(sample).collect()
}

#[test]
fn a_log_that_only_grows_is_found_with_checkpoints_and_much_later_without() {
    let grows: Vec<u32> = (0..8).map(|at_s| 9_000 + 1_000 * at_s).collect();
    let restarts = [&grows[..6], &[400, 1_400]].concat();
    let mut watched = Watched::new();
    watched.lock(100, TWO, Lock::Read(1), Change::Taken(Mode::Shared));
    watched.lock(900, TWO, Lock::Read(1), Change::Released);
    watched.takes(200, ONE);
    watched.lock(210, ONE, Lock::WalWrite, Change::Released);
    watched.timeline.advance(9 * SECOND);
    let found = |watched: &Watched, frames: &[u32]| findings(&watched.timeline, &[log(frames)]);
    assert_eq!(found(&watched, &grows), [], "a program may run its own checkpoints, now and then");
    let huge: Vec<u32> = grows.iter().map(|frames| 100_000 + frames).collect();
    let without = found(&watched, &huge);
    assert!(
        matches!(kinds(&without)[..], [Kind::LogNeverRestarts { checkpoints: 0, processes: 1, .. }]),
        "{without:#?}"
    );
    let mut watched = Watched::new();
    for (at_ms, change) in [(100, Change::Taken(Mode::Shared)), (900, Change::Released)] {
        watched.lock(at_ms, TWO, Lock::Read(1), change);
    }
    for (at_ms, change) in [(2_000, Change::Taken(Mode::Alone)), (2_010, Change::Released)] {
        watched.lock(at_ms, ONE, Lock::Checkpoint, change);
    }
    watched.timeline.advance(9 * SECOND);
    let with = found(&watched, &grows);
    let grown = |kind: &Kind| matches!(kind, Kind::LogNeverRestarts { checkpoints: 1, grown_frames: 7_000, .. });
    assert!(matches!(kinds(&with)[..], [kind] if grown(kind)), "{with:#?}");
    assert_eq!(found(&watched, &restarts), [], "it started again");
}

#[test]
fn a_snapshot_that_is_too_old_is_known_by_the_lock_that_the_call_had() {
    let mut watched = Watched::new();
    // The lock of the file lasts as long as the connection: it is no read.
    watched.lock(0, ONE, Lock::Shared, Change::Taken(Mode::Shared));
    watched.lock(0, ONE, Lock::Connected, Change::Taken(Mode::Shared));
    watched.reads(100, ONE);
    watched.begins(150, ONE, "INSERT INTO t VALUES (1)");
    watched.takes(150, ONE);
    watched.lock(150, ONE, Lock::WalWrite, Change::Released);
    watched.ends(151, ONE, 5);
    watched.lock(160, ONE, Lock::Read(1), Change::Released);
    let found = watched.found(1_000);
    let [Finding { pid: 7, case, .. }] = &found[..] else { panic!("{found:#?}") };
    let Kind::ReadThenWrite { refused: 1, outdated: 1, longest_ns, holder: None, .. } = case.kind else {
        panic!("{case:#?}")
    };
    assert_eq!((longest_ns, case.tid), (50 * MS, Some(ONE.tid)));
    // The example is the first refusal that has a holder.
    watched.reads(200, ONE);
    watched.begins(220, WAITER, "UPDATE t SET v = 1");
    watched.takes(220, WAITER);
    watched.begins(250, ONE, "INSERT INTO t VALUES (1)");
    watched.lock(250, ONE, Lock::WalWrite, Change::Refused(Mode::Alone));
    watched.ends(250, ONE, 5);
    let found = watched.found(1_000);
    let of_one = kinds(&found).into_iter().find(|kind| matches!(kind, Kind::ReadThenWrite { .. }));
    let Some(Kind::ReadThenWrite { refused: 2, outdated: 1, holder: Some(8), .. }) = of_one else {
        panic!("{found:#?}")
    };
}

#[test]
fn refusals_after_a_read_and_without_one_are_both_found() {
    let mut watched = Watched::new();
    watched.takes(100, WAITER);
    watched.reads(110, ONE);
    watched.begins(120, ONE, "INSERT INTO t VALUES (1)");
    watched.lock(120, ONE, Lock::WalWrite, Change::Refused(Mode::Alone));
    watched.ends(121, ONE, 5);
    watched.lock(130, ONE, Lock::Read(1), Change::Released);
    for at in [200, 210] {
        watched.begins(at, TWO, "UPDATE t SET v = 1");
        watched.lock(at, TWO, Lock::WalWrite, Change::Refused(Mode::Alone));
        watched.ends(at + 1, TWO, 5);
    }
    let found = watched.found(1_000);
    let of_one: Vec<&Kind> = found.iter().filter(|of| of.pid == ONE.pid).map(|of| &of.case.kind).collect();
    let [Kind::ReadThenWrite { refused: 1, .. }, Kind::NoBusyTimeout { refused: 2, holder: Some(8), .. }] = of_one[..]
    else {
        panic!("{found:#?}")
    };
}
