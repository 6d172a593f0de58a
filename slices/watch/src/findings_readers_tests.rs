//! Commits that wait for readers (rollback journal): the reader is named, and not those that wait behind it.

use super::*;

const READER: Who = Who { pid: 30, tid: 30 };
const READS: &str = "SELECT * FROM report";
const OTHER: Who = Who { pid: 31, tid: 31 };

impl Watched {
    fn file(&mut self, at_ms: u64, who: Who, lock: Lock, mode: Mode) {
        self.lock(at_ms, who, lock, Change::Taken(mode));
    }

    /// It reads in short calls, and is slow with each row.
    fn begins_to_read(&mut self, at_ms: u64) {
        self.timeline.visible.insert(READER.pid, 0);
        self.begins(at_ms, READER, READS);
        self.file(at_ms, READER, Lock::Shared, Mode::Shared);
        self.ends(at_ms + 10, READER, 100);
    }

    fn ends_to_read(&mut self, at_ms: u64) {
        self.begins(at_ms - 1, READER, READS);
        self.lock(at_ms, READER, Lock::Shared, Change::Released);
        self.ends(at_ms, READER, 101);
    }

    /// BEGIN IMMEDIATE and an UPDATE, whose lock stays.
    fn writes_in_file(&mut self, at_ms: u64, who: Who) {
        self.begins(at_ms, who, "BEGIN IMMEDIATE");
        self.file(at_ms, who, Lock::Shared, Mode::Shared);
        self.file(at_ms, who, Lock::Reserved, Mode::Alone);
        self.ends(at_ms + 1, who, 101);
        self.does(at_ms + 2, at_ms + 3, who, "UPDATE t SET v = 1");
    }

    /// The tries of a commit for the file, as SQLite's busy handler makes them; another writer tries, too.
    fn tries_to_commit(&mut self, (from_ms, to_ms): (u64, u64), who: Who) {
        self.file(from_ms, who, Lock::Pending, Mode::Alone);
        for at_ms in (from_ms..to_ms).step_by(100) {
            self.lock(at_ms, who, Lock::Shared, Change::Refused(Mode::Alone));
            self.is_refused_the_file(at_ms + 1);
        }
    }

    fn has_committed(&mut self, at_ms: u64, who: Who) {
        self.file(at_ms, who, Lock::Shared, Mode::Alone);
        for lock in [Lock::Shared, Lock::Pending, Lock::Reserved] {
            self.lock(at_ms + 5, who, lock, Change::Released);
        }
    }

    fn is_refused_the_file(&mut self, at_ms: u64) {
        self.lock(at_ms, WAITER, Lock::Reserved, Change::Refused(Mode::Alone));
    }
}

fn said(finding: &Finding) -> String {
    let words = crate::words::words(finding, &|pid| format!("p{pid}"), &|tid| tid.to_string());
    format!("{} {}", words.title, words.evidence)
}

/// A commit with a pause of 200 ms before it waits 2 s for a reader; another writer waits behind the two.
fn behind_a_reader(at_ms: u64) -> Vec<Finding> {
    let mut watched = Watched::new();
    watched.begins_to_read(100);
    watched.writes_in_file(200, ONE);
    watched.begins(300, WAITER, "BEGIN IMMEDIATE");
    watched.is_refused_the_file(300);
    watched.begins(400, ONE, "COMMIT");
    watched.tries_to_commit((400, 2_400), ONE);
    if at_ms < 2_400 {
        return watched.found(at_ms);
    }
    watched.ends_to_read(2_400);
    watched.has_committed(2_400, ONE);
    watched.ends(2_410, ONE, 101);
    watched.file(2_420, WAITER, Lock::Reserved, Mode::Alone);
    watched.ends(2_421, WAITER, 101);
    watched.found(at_ms)
}

#[test]
fn a_reader_that_keeps_a_commit_waiting_is_named_before_the_one_that_waits() {
    let found = crate::repeated::sort(behind_a_reader(2_500));
    let [first, second, ..] = &found[..] else { panic!("{found:#?}") };
    let Kind::ReadersBlockWriter { times: 1, waited_ns, longest_ns, gave_up: 0, writers, read_ns } = &first.case.kind
    else {
        panic!("{found:#?}")
    };
    assert_eq!((first.pid, first.case.sql.as_deref(), first.case.tid), (READER.pid, Some(READS), Some(READER.tid)));
    assert_eq!((waited_ns / MS, longest_ns / MS, read_ns / MS), (2_000, 2_000, 2_300));
    assert_eq!((&writers[..], first.cost_ns), (&[ONE.pid][..], *waited_ns));
    let evidence = said(first);
    assert!(evidence.contains("p30 keeps commits of others waiting"), "{evidence}");
    assert!(
        evidence.contains("read lock for up to 2.30 s. Behind it 1 commit of p7 waited, 2.00 s in all"),
        "{evidence}"
    );
    // Its pause has refused another one: a finding, but only of the time of the pause.
    assert!(matches!(second.case.kind, Kind::ProgramHoldsLock { refused: 1, .. }), "{found:#?}");
    assert_eq!((second.pid, second.cost_ns / MS < 400), (ONE.pid, true), "{second:#?}");
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn a_reader_is_named_while_the_commit_waits() {
    let found = behind_a_reader(2_350);
    let of_reader = found.iter().find(|finding| finding.pid == READER.pid).expect("a finding");
    let Kind::ReadersBlockWriter { times: 1, longest_ns, read_ns, .. } = of_reader.case.kind else {
        panic!("{found:#?}")
    };
    assert_eq!((longest_ns / MS, read_ns / MS), (1_900, 2_200), "to the last try");
    assert!(!found.iter().any(|finding| matches!(finding.case.kind, Kind::LongTransaction { .. })), "{found:#?}");
}

/// The statement began before it was visible, or is one that no probe shows (`sqlite3_reset`).
#[test]
fn a_commit_that_waits_for_a_reader_is_no_open_transaction() {
    let idle = |at_ms: u64, is_known: bool| {
        let mut watched = Watched::new();
        watched.begins_to_read(100);
        if is_known {
            watched.writes_in_file(200, ONE);
        } else {
            watched.file(200, ONE, Lock::Reserved, Mode::Alone);
            watched.timeline.visible.insert(ONE.pid, SECOND + 500 * MS);
        }
        watched.tries_to_commit((300, 2_000), ONE);
        if at_ms > 2_000 {
            watched.ends_to_read(2_000);
            watched.file(2_000, ONE, Lock::Shared, Mode::Alone);
        }
        let found = watched.found(at_ms);
        kinds(&found).iter().any(|kind| matches!(kind, Kind::IdleInTransaction { .. } | Kind::ProgramHoldsLock { .. }))
    };
    for is_known in [false, true] {
        assert!(!idle(1_950, is_known), "between two tries");
        assert!(!idle(2_900, is_known), "it has written its pages for 900 ms");
        assert!(idle(3_100, is_known), "no call shows that it still commits");
    }
}

#[test]
fn a_commit_that_is_not_seen_is_no_pause() {
    let found = |waits: bool| {
        let mut watched = Watched::new();
        watched.begins_to_read(100);
        watched.writes_in_file(200, ONE);
        if waits {
            watched.tries_to_commit((210, 1_000), ONE);
        } else {
            (210..1_000).step_by(100).for_each(|at_ms| watched.is_refused_the_file(at_ms));
        }
        watched.ends_to_read(1_000);
        watched.has_committed(1_000, ONE);
        let found = watched.found(1_010);
        found.iter().any(|finding| matches!(finding.case.kind, Kind::ProgramHoldsLock { .. }))
    };
    assert!(!found(true), "it waits for the reader");
    assert!(found(false), "it paused");
}

#[test]
fn a_sync_that_no_statement_shows_is_no_open_transaction() {
    let idle = |syncs: bool| {
        let mut watched = Watched::new();
        watched.writes_in_file(200, ONE);
        if syncs {
            watched.at(300, ONE, What::SyncBegins { database: 0 });
        }
        kinds(&watched.found(1_800)).iter().any(|kind| matches!(kind, Kind::IdleInTransaction { .. }))
    };
    assert!(!idle(true) && idle(false));
}

#[test]
fn a_timeout_that_ends_behind_a_reader_is_compared_with_its_read() {
    let mut watched = Watched::new();
    watched.begins_to_read(100);
    watched.writes_in_file(200, ONE);
    watched.begins(300, ONE, "COMMIT");
    watched.tries_to_commit((300, 1_300), ONE);
    watched.ends(1_300, ONE, 5);
    watched.ends_to_read(2_100);
    let found = watched.found(2_150);
    let its =
        found.iter().find(|finding| matches!(finding.case.kind, Kind::TimeoutTooShort { .. })).expect("a finding");
    let Kind::TimeoutTooShort { holder: Some(30), held_ns_max, .. } = its.case.kind else { panic!("{its:#?}") };
    assert_eq!(held_ns_max / MS, 2_000);
    let reader = found.iter().find(|finding| finding.pid == READER.pid).expect("a finding");
    assert!(matches!(reader.case.kind, Kind::ReadersBlockWriter { gave_up: 1, .. }), "{reader:#?}");
    assert!(said(reader).contains("up to 900 ms, and gave up once."), "{}", said(reader));
}

#[test]
fn a_commit_without_visible_calls_is_given_up_with_its_lock() {
    let mut watched = Watched::new();
    watched.begins_to_read(100);
    watched.file(200, ONE, Lock::Shared, Mode::Shared);
    watched.file(200, ONE, Lock::Reserved, Mode::Alone);
    watched.tries_to_commit((300, 600), ONE);
    for lock in [Lock::Pending, Lock::Reserved, Lock::Shared] {
        watched.lock(610, ONE, lock, Change::Released);
    }
    watched.ends_to_read(700);
    // Then it wants to read while another process commits: that one is no reader.
    watched.file(800, OTHER, Lock::Shared, Mode::Shared);
    watched.file(800, OTHER, Lock::Reserved, Mode::Alone);
    watched.file(801, OTHER, Lock::Shared, Mode::Alone);
    for at_ms in (810..1_800).step_by(100) {
        watched.lock(at_ms, ONE, Lock::Shared, Change::Refused(Mode::Shared));
    }
    watched.has_committed(1_800, OTHER);
    watched.file(1_810, ONE, Lock::Shared, Mode::Shared);
    let its = watched.timeline.waits.iter().filter(|wait| wait.who == ONE);
    let its: Vec<_> = its.map(|wait| (wait.from_ns / MS, wait.is_for_readers(), wait.end)).collect();
    assert_eq!(its, [(1_300, true, End::GaveUp), (1_810, false, End::Granted)]);
    let found = watched.found(2_000);
    let readers: Vec<u32> = found
        .iter()
        .filter(|finding| matches!(finding.case.kind, Kind::ReadersBlockWriter { .. }))
        .map(|finding| finding.pid)
        .collect();
    assert_eq!(readers, [READER.pid], "{found:#?}");
}

/// The connection of the same process as [`ONE`] that reads, with its first row read.
const OWN_READER: Who = Who { tid: ONE.tid + 1, ..ONE };

/// A commit of a process while another connection of it reads: SQLite refuses it in memory, and no lock call shows that.
fn with_own_reader() -> Watched {
    let mut watched = Watched::new();
    watched.begins(100, OWN_READER, READS);
    watched.file(100, OWN_READER, Lock::Shared, Mode::Shared);
    watched.ends(110, OWN_READER, 100);
    watched.begins(200, ONE, "BEGIN IMMEDIATE");
    watched.file(200, ONE, Lock::Reserved, Mode::Alone);
    watched.ends(201, ONE, 101);
    watched.does(202, 203, ONE, "UPDATE t SET v = 1");
    watched.begins(300, ONE, "COMMIT");
    watched.file(300, ONE, Lock::Pending, Mode::Alone);
    watched
}

fn reader_of(found: &[Finding]) -> &Finding {
    let is = |finding: &&Finding| matches!(finding.case.kind, Kind::ReadersBlockWriter { .. });
    found.iter().find(is).unwrap_or_else(|| panic!("{found:#?}"))
}

#[test]
fn a_reader_of_the_same_process_that_keeps_a_commit_waiting_is_named() {
    let its = |watched: &mut Watched, at_ms: u64| {
        let found = watched.found(at_ms);
        let reader = reader_of(&found).clone();
        assert_eq!(
            (reader.pid, reader.case.tid, reader.case.sql.as_deref()),
            (ONE.pid, Some(OWN_READER.tid), Some(READS))
        );
        let Kind::ReadersBlockWriter { times: 1, longest_ns, gave_up, writers, read_ns, .. } = &reader.case.kind else {
            panic!("{reader:#?}")
        };
        assert_eq!(writers[..], [ONE.pid]);
        assert!(
            said(&reader).starts_with("p7 keeps its own commits waiting while it reads. It held"),
            "{}",
            said(&reader)
        );
        assert_eq!(watched.timeline.kept_open.len(), 0);
        (longest_ns / MS, read_ns / MS, *gave_up)
    };
    // While it waits, after it was refused, and after it has waited and got the file.
    assert_eq!(its(&mut with_own_reader(), 800), (500, 700, 0));
    let mut refused = with_own_reader();
    refused.ends(1_300, ONE, 5);
    assert_eq!(its(&mut refused, 1_400), (1_000, 1_200, 1));
    let mut granted = with_own_reader();
    granted.begins(600, OWN_READER, READS);
    granted.ends(601, OWN_READER, 101);
    granted.has_committed(650, ONE);
    granted.ends(660, ONE, 101);
    assert_eq!(its(&mut granted, 700), (350, 501, 0), "it tries again after the read has ended");
}

#[test]
fn a_commit_without_a_reader_waits_for_none() {
    let finds = |watched: &mut Watched| {
        let found = watched.found(1_400);
        found.iter().any(|finding| matches!(finding.case.kind, Kind::ReadersBlockWriter { .. }))
    };
    // It has read all its rows before.
    let mut ended = with_own_reader();
    ended.begins(301, OWN_READER, READS);
    ended.ends(302, OWN_READER, 101);
    ended.has_committed(303, ONE);
    ended.ends(900, ONE, 101);
    assert!(!finds(&mut ended), "it got the file at once, and synced");
    // Another journal mode needs the file alone, too.
    let mut other_mode = Watched::new();
    other_mode.begins(100, OWN_READER, READS);
    other_mode.file(100, OWN_READER, Lock::Shared, Mode::Shared);
    other_mode.ends(110, OWN_READER, 100);
    other_mode.begins(300, ONE, "PRAGMA journal_mode = DELETE");
    other_mode.file(300, ONE, Lock::Pending, Mode::Alone);
    other_mode.ends(900, ONE, 5);
    assert!(!finds(&mut other_mode));
}

#[test]
fn a_commit_that_an_own_reader_refuses_at_once_has_no_busy_timeout() {
    let mut watched = with_own_reader();
    watched.ends(301, ONE, 5);
    let found = watched.found(400);
    let refused = found.iter().find(|finding| matches!(finding.case.kind, Kind::NoBusyTimeout { .. }));
    let refused = refused.unwrap_or_else(|| panic!("{found:#?}"));
    assert!(said(refused).contains(READS), "{}", said(refused));
}

/// The watch begins while a commit waits for a reader: its call is not seen, but PENDING is.
#[test]
fn a_commit_that_waited_before_the_watch_is_no_long_transaction() {
    let long = |waits: bool| {
        let mut watched = Watched::new();
        let held = |lock, mode| Event {
            at_ns: 0,
            who: ONE,
            what: What::Lock { database: 0, lock, change: Change::Taken(mode) },
        };
        let mut all = vec![held(Lock::Reserved, Mode::Alone), held(Lock::Shared, Mode::Shared)];
        all.extend(waits.then(|| held(Lock::Pending, Mode::Alone)));
        crate::lost::found_held(&mut watched.timeline, &all);
        (100..2_400).step_by(100).for_each(|at_ms| watched.is_refused_the_file(at_ms));
        let found = watched.found(2_400);
        found.iter().any(|finding| matches!(finding.case.kind, Kind::LongTransaction { .. }))
    };
    assert!(!long(true));
    assert!(long(false), "it only holds the lock");
}

#[test]
fn a_refusal_after_a_long_wait_in_the_same_call_is_a_timeout() {
    let kinds_of = |began_ms: u64| {
        let mut watched = Watched::new();
        watched.writes_in_file(200, ONE);
        watched.begins(began_ms, WAITER, "INSERT INTO t VALUES (1)");
        watched.is_refused_the_file(5_300);
        watched.ends(5_301, WAITER, 5);
        kinds(&watched.found(5_400)).iter().any(|kind| matches!(kind, Kind::NoBusyTimeout { .. }))
    };
    assert!(kinds_of(5_299), "refused at once");
    assert!(!kinds_of(300), "it had waited 5 s for something else");
}

/// Statements of the same connection that write keep a transaction open, too.
#[test]
fn a_commit_that_is_refused_without_a_known_reader_is_counted_as_kept_open() {
    let mut watched = Watched::new();
    watched.takes(100, ONE);
    watched.begins(110, ONE, "COMMIT");
    watched.ends(320, ONE, 5);
    watched.begins(330, ONE, "ROLLBACK");
    watched.ends(331, ONE, 101);
    watched.found(1_000);
    assert_eq!(watched.timeline.kept_open, std::collections::BTreeMap::from([(ONE.pid, 1)]));
}
