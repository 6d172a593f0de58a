//! Tests of the findings about a server.

use super::super::look::{Client, Counters, Keeper, Look, State, Wait};
use super::*;

fn client(id: u64, state: State, state_ns: u64) -> Client {
    let transaction_ns = (state != State::Idle).then_some(state_ns);
    Client { id, state, state_ns, transaction_ns, who: "app".into(), ..Client::default() }
}

fn look(at_s: u64, clients: Vec<Client>, deadlocks: u64, old_versions: u64) -> Look {
    let counters = Counters { deadlocks, old_versions, ..Counters::default() };
    Look { at_ns: at_s * SECOND, clients, counters: Some(counters) }
}

fn kinds(looks: Vec<Look>) -> Vec<Kind> {
    let mut history = History::new(0);
    looks.into_iter().for_each(|look| history.apply(look));
    let found = findings(&history);
    for finding in &found {
        let words = words(finding);
        assert!(!words.title.is_empty() && !words.evidence.is_empty() && !words.change.is_empty(), "{finding:?}");
    }
    found.into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn what_every_busy_server_does_is_no_finding() {
    let mut short = client(2, State::Active, 90 * MS);
    short.wait = Some(Wait { ns: 90 * MS, what: "row".into(), blocked_by: vec![1], ..Wait::default() });
    let clients = vec![client(1, State::IdleInTransaction, 200 * MS), short, client(3, State::Idle, 99 * SECOND)];
    assert_eq!(kinds(vec![look(1, clients.clone(), 3, 100), look(2, clients, 3, 900)]), []);
}

#[test]
fn an_idle_client_that_blocks_is_one_finding_and_an_active_one_another() {
    for (state, is_idle) in [(State::IdleInTransaction, true), (State::Active, false)] {
        let mut waiter = client(2, State::Active, 2 * SECOND);
        waiter.wait = Some(Wait { ns: 2 * SECOND, what: "row".into(), blocked_by: vec![1], ..Wait::default() });
        let found = kinds(vec![look(1, vec![client(1, state, 2 * SECOND), waiter], 0, 0)]);
        assert_eq!(found.len(), 1);
        assert_eq!(matches!(found[0], Kind::IdleInTransaction { blocks: 1, .. }), is_idle, "{found:?}");
    }
}

/// A program that talks to its user's browser between statements: no pause is long, and the lock is held all the same.
#[test]
fn short_pauses_in_a_transaction_that_others_wait_for_are_a_finding() {
    let waits = |at_s, wait_ms, state, state_ms| {
        let mut waiter = client(2, State::Active, wait_ms * MS);
        waiter.wait = Some(Wait { ns: wait_ms * MS, what: "row".into(), blocked_by: vec![1], ..Wait::default() });
        let statement = Some(format!("SELECT {at_s}"));
        look(at_s, vec![Client { statement, ..client(1, state, state_ms * MS) }, waiter], 0, 0)
    };
    let paused = |state_ms| waits(2, 1_900, State::IdleInTransaction, state_ms);
    let found = kinds(vec![waits(1, 900, State::Active, 5), paused(300)]);
    assert!(matches!(found[..], [Kind::BlocksOthers { longest_wait_ns: 1_900_000_000, .. }]), "{found:?}");
    // The longest pause counts, whenever the longest wait was.
    let found = kinds(vec![paused(1_500), waits(3, 2_900, State::IdleInTransaction, 20)]);
    let [Kind::IdleInTransaction { idle_ns: 1_500_000_000, last, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(last.as_deref(), Some("SELECT 2"), "the statement before that pause");
    // A long pause for which no client waits is another finding.
    let alone = look(9, vec![client(1, State::IdleInTransaction, 6 * SECOND)], 0, 0);
    let found = kinds(vec![paused(300), alone]);
    let [Kind::IdleInTransaction { blocks: 0, .. }, Kind::BlocksOthers { longest_wait_ns, .. }] = found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(longest_wait_ns, 1_900 * MS);
    // Locks of a session outlive its transaction.
    let found = kinds(vec![waits(1, 900, State::Idle, 5_000)]);
    assert!(matches!(found[..], [Kind::BlocksOthers { transaction_ns: 0, .. }]), "{found:?}");
}

/// Waits while it worked are not waits for its pause.
#[test]
fn a_pause_without_waiters_has_none() {
    let mut waiter = client(2, State::Active, 2 * SECOND);
    waiter.wait = Some(Wait { ns: 2 * SECOND, what: "row".into(), blocked_by: vec![1], ..Wait::default() });
    let found = kinds(vec![
        look(1, vec![client(1, State::Active, 2 * SECOND), waiter], 0, 0),
        look(9, vec![client(1, State::IdleInTransaction, 6 * SECOND)], 0, 0),
    ]);
    let expected = (
        matches!(found[0], Kind::IdleInTransaction { blocks: 0, longest_wait_ns: 0, .. }),
        matches!(found[1], Kind::BlocksOthers { blocks: 1, .. }),
    );
    assert_eq!((found.len(), expected), (2, (true, true)), "{found:?}");
}

#[test]
fn others_that_wait_for_a_prepared_transaction_are_a_finding() {
    let mut waiter = client(2, State::Active, 2 * SECOND);
    waiter.wait = Some(Wait { ns: 2 * SECOND, what: "row".into(), blocked_by: vec![0], ..Wait::default() });
    let mut clients = vec![waiter];
    super::super::look::add_prepared(&mut clients, "prepared transaction x".to_string(), 9 * SECOND);
    let found = kinds(vec![look(1, clients, 0, 0)]);
    assert!(
        matches!(found[..], [Kind::PreparedBlocks { blocks: 1, prepared_ns: Some(9_000_000_000), .. }]),
        "{found:?}"
    );
}

/// Rows of another table may have grown instead.
#[test]
fn a_table_that_does_not_grow_is_no_finding() {
    let tables = |grows: u64| {
        let table = |name: &str, dead| (name.to_string(), dead, 5_000);
        let tables = vec![table("public.old", 90_000), table("public.new", grows)];
        let counters = Counters { old_versions: 90_000 + grows, tables, ..Counters::default() };
        Look { at_ns: SECOND, clients: vec![], counters: Some(counters) }
    };
    let found = kinds(vec![tables(10), tables(30_000)]);
    assert!(
        matches!(&found[..], [Kind::DeadRowsGrow { table, grown: 29_990, .. }] if table == "public.new"),
        "{found:?}"
    );
    assert_eq!(kinds(vec![tables(10), tables(4_000)]), []);
}

#[test]
fn deadlocks_count_from_the_beginning_of_the_watch() {
    assert!(matches!(
        kinds(vec![look(1, vec![], 7, 0), look(2, vec![], 9, 0)])[..],
        [Kind::Deadlocks { count: 2, .. }]
    ));
}

#[test]
fn rows_and_history_that_nobody_removes_are_found_unless_something_keeps_them() {
    let of = |table: Option<(&str, u64, u64)>, old_versions: u64, keepers: &[u64]| {
        let tables = table.map(|(name, dead, live)| (name.to_string(), dead, live)).into_iter().collect();
        let name = || "replication slot s".to_string();
        let keepers = keepers.iter().map(|&behind| Keeper { name: name(), behind, is_transaction: false });
        let counters = Counters { old_versions, tables, keepers: keepers.collect(), ..Counters::default() };
        Look { at_ns: SECOND, clients: vec![], counters: Some(counters) }
    };
    let rows = |dead| of(Some(("public.t", dead, 5_000)), dead, &[]);
    let found = kinds(vec![rows(9_000), rows(20_000)]);
    assert!(matches!(found[..], [Kind::DeadRowsGrow { dead: 20_000, live: 5_000, grown: 11_000, .. }]), "{found:?}");
    assert_eq!(kinds(vec![rows(19_000), rows(20_000)]), [], "it hardly grows");
    let history = |length| of(None, length, &[]);
    let found = kinds(vec![history(5_000), history(110_000)]);
    assert!(matches!(found[..], [Kind::HistoryGrows { grown: 105_000, length: 110_000 }]), "{found:?}");
    let kept = kinds(vec![of(None, 0, &[0]), of(Some(("public.t", 20_000, 1)), 20_000, &[50_000])]);
    assert!(matches!(kept[..], [Kind::HeldBack { behind: 50_000, .. }]), "the slot explains the rows: {kept:?}");
}

#[test]
fn a_snapshot_is_old_only_if_it_keeps_something() {
    let snapshot = |behind| Client { behind: Some(behind), ..client(1, State::Active, 6 * SECOND) };
    assert!(matches!(kinds(vec![look(6, vec![snapshot(5_000)], 0, 0)])[..], [Kind::OldSnapshot { behind: 5_000, .. }]));
    assert_eq!(kinds(vec![look(6, vec![snapshot(10)], 0, 0)]), []);
    let grows = |versions| look(6, vec![snapshot(0)], 0, versions);
    assert!(matches!(kinds(vec![grows(10), grows(9_000)])[..], [Kind::OldSnapshot { grown: 8_990, .. }]));
}

#[test]
fn a_lock_whose_holder_is_not_known_is_a_finding_with_those_that_may_hold_it() {
    let waits = |ms: u64, candidates: &[u64]| {
        let mut waiter = client(2, State::Active, ms * MS);
        let candidates = candidates.to_vec();
        waiter.wait = Some(Wait { ns: ms * MS, what: "table level lock".into(), candidates, ..Wait::default() });
        look(1, vec![client(1, State::Active, ms * MS), waiter], 0, 0)
    };
    let found = kinds(vec![waits(300, &[1]), waits(600, &[])]);
    let [Kind::UnknownHolder { lock, waiters: 1, longest_wait_ns: 600_000_000, candidates, .. }] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((lock.as_str(), candidates.len(), candidates[0].client), ("table level lock", 1, 1));
    assert_eq!(kinds(vec![waits(300, &[]), waits(499, &[])]), []);
    let advice = |lock: &str| {
        let (waiters, longest_wait_ns) = (1, SECOND);
        let kind =
            Kind::UnknownHolder { lock: lock.into(), waiters, longest_wait_ns, waiting: None, candidates: vec![] };
        words(&Finding { kind, who: String::new(), client: None }).change
    };
    assert!(
        advice("table definition").contains("also one that only read") && !advice("backup lock").contains("only read")
    );
}
