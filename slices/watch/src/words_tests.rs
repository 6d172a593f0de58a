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
    assert!(
        together
            .evidence
            .ends_with("2 further processes of this program: 9 times and 3 ns in the 3 processes together.")
    );
    assert!(together.evidence.starts_with("1 refusal at once, each in a transaction that had read before. SQLite"));
    let unknown = said(Some(Further { same_program: false, ..of_two }));
    assert_eq!(unknown.title, said(None).title);
}
