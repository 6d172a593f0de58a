//! Findings as sentences.

use super::*;
use crate::finding::Case;

#[test]
fn a_connection_is_named_by_its_first_thread_and_not_as_a_thread() {
    let said = |sql: Option<&str>, is_visible| {
        let kind = Kind::LongTransaction { holds: 1, longest_ns: 1, began_before: false, longest_wait_ns: None };
        let case = Case { kind, tid: Some(9), sql: sql.map(str::to_string) };
        let finding = Finding { database: 0, pid: 7, case, cost_ns: 0, seen_ns: None, further: None };
        let thread = |tid| thread_or_connection(&finding, is_visible, format!("thread {tid}"));
        words(&finding, &|pid| pid.to_string(), &thread).evidence
    };
    let with_statements = said(Some("COMMIT"), true);
    assert!(with_statements.ends_with("Seen in \"COMMIT\" (the connection of thread 9)."), "{with_statements}");
    let without = said(None, false);
    assert!(without.ends_with("Seen in thread 9."), "{without}");
}

#[test]
fn several_processes_of_a_program_are_named_together() {
    let of_two = Further { processes: 2, times_in_all: Some(9), ns_in_all: Some(3), same_program: true };
    let said = |further| {
        let kind = Kind::ReadThenWrite { refused: 1, outdated: 0, longest_ns: 5, holder: None, holder_sql: None };
        let finding = Finding { database: 0, pid: 7, case: Case::of_process(kind), cost_ns: 0, seen_ns: None, further };
        words(&finding, &|pid| format!("app ({pid})"), &|tid| tid.to_string())
    };
    let together = said(Some(of_two));
    assert!(together.title.starts_with("app (7 and 2 more) reads first"), "{together:?}");
    assert!(together.evidence.ends_with("2 further processes of this program. All 3 together: 9 times and 3 ns."));
    assert!(together.evidence.starts_with("1 refusal at once, each in a transaction that had read before. SQLite"));
    let unknown = said(Some(Further { same_program: false, ..of_two }));
    assert_eq!(unknown.title, said(None).title);
}

/// A pause with refusals of others, and one of them that waited this long.
fn pause(longest_wait_ns: u64) -> Kind {
    let (before, after) = (Some("UPDATE t SET v = 1".to_string()), Some("COMMIT".to_string()));
    let (holds, outside_ns, held_ns, longest_gap_ns) = (2, 300_000_000, 310_000_000, 200_000_000);
    let (refused, refused_in_all, gave_up) = (9, 9, 9);
    Kind::ProgramHoldsLock {
        holds,
        outside_ns,
        held_ns,
        longest_gap_ns,
        before,
        after,
        longest_wait_ns,
        refused,
        refused_in_all,
        gave_up,
    }
}

/// A transaction that was left open, and the longest wait for it.
fn left_open(ns: u64, gave_up: bool) -> Kind {
    let waiter = Some(Waiter { pid: 9, ns, gave_up });
    let (held_ns, idle_ns, gave_up) = (2_000_000_000, 1_900_000_000, u64::from(gave_up));
    Kind::IdleInTransaction { held_ns, began_before: false, idle_ns, last: None, gave_up, waiter }
}

#[test]
fn waits_of_microseconds_are_no_news() {
    let said = |kind: Kind| {
        let case = Case::of_process(kind);
        let finding = Finding { database: 0, pid: 7, case, cost_ns: 0, seen_ns: None, further: None };
        words(&finding, &|pid| format!("app ({pid})"), &|tid| tid.to_string()).evidence
    };
    let [short, long] = [25_000, 25_000_000].map(|ns| said(pause(ns)));
    assert!(!short.contains("Another connection waited"), "{short}");
    assert!(long.contains("Another connection waited up to 25.0 ms."), "{long}");
    let end = |kind: Kind| said(kind).split_once("is unknown.").map_or(String::new(), |(_, end)| end.to_string());
    assert_eq!(end(left_open(25_000, false)), "");
    assert_eq!(end(left_open(0, true)), " app (9) was refused the lock.");
    assert_eq!(end(left_open(25_000_000, false)), " app (9) waited 25.0 ms for the lock.");
    assert_eq!(end(left_open(25_000_000, true)), " app (9) waited 25.0 ms for the lock and gave up.");
}

#[test]
fn a_hold_that_was_not_measured_is_left_out() {
    let said = |held_ns_max| gave_up_after_a_second(None, held_ns_max).evidence;
    assert!(said(2_000_000_000).contains("Another connection held the lock for up to 2.00 s."));
    assert!(!said(0).contains("held the lock for up to"), "{}", said(0));
}

#[test]
fn others_have_the_lock_in_turn_if_they_were_seen() {
    let says = |holder, held_ns_max| gave_up_after_a_second(holder, held_ns_max).title.contains("others have in turn");
    assert!(says(Some(9), 400_000_000));
    assert!(!says(Some(9), 900_000_000), "one hold lasted as long");
    assert!(!says(None, 400_000_000), "the locking mode EXCLUSIVE, set before the watch: no holder was seen");
}

/// What is said of a process that gave up after a second, of which one hold of another lasted for this time.
fn gave_up_after_a_second(holder: Option<u32>, held_ns_max: u64) -> Words {
    let (gave_up, longest_ns) = (1, 1_000_000_000);
    let kind = Kind::TimeoutTooShort { gave_up, longest_ns, holder, holder_sql: None, holder_times: 1, held_ns_max };
    let case = Case::of_process(kind);
    let finding = Finding { database: 0, pid: 7, case, cost_ns: 0, seen_ns: None, further: None };
    words(&finding, &|pid| pid.to_string(), &|tid| tid.to_string())
}
