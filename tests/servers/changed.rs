//! A server that somebody else configures or writes to while it is measured.

use crate::support::place::Place;
use crate::support::{reasons, root, tool};

/// One trial on PostgreSQL in whose window somebody executes this; the kinds of its reasons.
fn with(sql: &str) -> Vec<String> {
    one("postgres durable", "2s", &format!("meddle --sql \"{sql}\""))
}

/// The kinds of reasons of one trial of this contender with a fault.
fn one(contender: &str, window: &str, fault: &str) -> Vec<String> {
    let place = Place::new();
    let fake = root().join("workers/fake/fake.py");
    let command = format!("python3 '{}' --real '{} worker' --worker all --fault {fault}", fake.display(), tool());
    let only = ["--only", contender, "--rounds", "1", "--window", window, "--processes", "1"];
    place.run(&[&only[..], &["--worker-command", &command]].concat()).ran();
    let kinds = reasons(&place.bench.path("record")).remove(0).1;
    place.assert_nothing_left();
    kinds.into_iter().collect()
}

#[test]
fn a_configuration_that_changes_in_the_window_is_found_although_it_is_taken_back() {
    let reload = "SELECT pg_reload_conf()";
    let kinds = with(&format!("ALTER SYSTEM SET fsync = off; {reload}; ALTER SYSTEM RESET fsync; {reload}"));
    assert!(kinds.iter().any(|kind| kind == "settings"), "{kinds:?}");
}

#[test]
fn transactions_of_somebody_else_are_found() {
    // More than the server may have of its own.
    let kinds = with(&["SELECT pg_current_xact_id()"; 300].join("; "));
    assert!(kinds.iter().any(|kind| kind == "commits"), "{kinds:?}");
}

/// MariaDB counts statements: the fewest lies of this kind are 1 in 100 transactions.
#[test]
fn transactions_that_mariadb_was_never_asked_for_are_found() {
    let kinds = one("mariadb durable", "500ms", "drop --seed 3");
    assert!(kinds.iter().any(|kind| kind == "commits"), "{kinds:?}");
    let kinds = one("mariadb durable", "500ms", "autocommit");
    assert!(kinds.iter().any(|kind| kind == "commits"), "{kinds:?}");
    let kinds = one("mariadb durable", "300ms", "none");
    assert!(!kinds.iter().any(|kind| kind == "commits"), "{kinds:?}");
}
