//! Which transactions are of one kind, and which are attempts at the same work.

use super::{capture, shown};
use crate::support::Bench;
use serde_json::{Value, json};

/// Saves one or two rows at a time, and once 3,000.
const LENGTHS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
for i in range(100):
    db.execute('BEGIN')
    for row in range(3000 if i == 57 else 1 + i % 2):
        db.execute('INSERT INTO t (v) VALUES (?)', (row % 7,))
    db.execute('COMMIT')
";

#[test]
fn loops_of_very_different_lengths_are_kinds_of_their_own() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", LENGTHS]).exits(0);
    let summary = shown(&bench);
    let kinds = summary["transactions"].as_array().expect("a list").iter();
    let kinds: Vec<[&Value; 3]> =
        kinds.map(|kind| ["count", "statements", "executions"].map(|key| &kind[key])).collect();
    let insert = |times: u64| json!([["INSERT INTO t(v) VALUES (?)", times]]);
    assert_eq!(kinds[0], [&json!(99), &insert(1), &json!([[1, 2]])]);
    assert!(kinds.contains(&[&json!(1), &insert(3000), &json!([[3000, 3000]])]), "{kinds:?}");
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(
        text.contains("1 to 2 times (1 in the mean): INSERT INTO t") && text.contains("3000 times: INSERT INTO t"),
        "{text}"
    );

    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    let workload: toml::Value = toml::from_str(&workload).expect("TOML");
    // Between BEGIN and the first row the program may pause long enough for a step of its own.
    let repeat = |name: &str| {
        let mut steps = workload["transaction"][name]["step"].as_array().expect("a list").iter();
        let step = steps.find(|step| step.get("sql").is_some()).expect("a statement");
        step.get("repeat").and_then(toml::Value::as_integer)
    };
    assert_eq!((repeat("insert_t_x1"), repeat("insert_t_x3000")), (None, Some(3000)), "{workload}");
    let mix = &workload["role"].as_table().and_then(|roles| roles.values().next()).expect("a role")["mix"];
    let of = |name: &str| mix[name].as_integer();
    assert_eq!((of("insert_t_x1"), of("insert_t_x3000")), (Some(99), Some(1)), "{mix}");
}

/// A thread whose transactions are refused while another one has the lock. It tries some again, and loses others.
const ATTEMPTS: &str = "
import sqlite3
from concurrent.futures import ThreadPoolExecutor
def connect():
    return sqlite3.connect('app.db', isolation_level=None, timeout=0, check_same_thread=False)
a, b = connect(), connect()
a.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
a.execute('CREATE TABLE c (n INTEGER)')
a.executemany('INSERT INTO t VALUES (?, 0)', [(i,) for i in range(99)])
a.execute('INSERT INTO c VALUES (0)')
pool = ThreadPoolExecutor(1)
def work(*statements):
    try:
        for sql, *values in statements:
            b.execute(sql, values).fetchall()
        return True
    except sqlite3.OperationalError:
        if b.in_transaction:
            b.execute('ROLLBACK')
        return False
def does(is_refused, *statements):
    if is_refused:
        a.execute('BEGIN IMMEDIATE')
    assert pool.submit(work, *statements).result() != is_refused
    if is_refused:
        a.execute('COMMIT')
for i in range(6):
    for is_refused in (True, False):
        does(is_refused, ('UPDATE t SET v = 1 WHERE id = ?', i))
for i in range(12):
    does(i % 2 == 0, ('DELETE FROM t WHERE id = ?', 50 + i))
for i in range(24):
    does(i % 4 == 3, ('UPDATE c SET n = n + 1',))
for i in range(12):
    does(i % 2 == 0, ('BEGIN',), ('SELECT n FROM c',), ('UPDATE t SET v = 2 WHERE ? = id', i), ('COMMIT',))
for i in range(6):
    for is_refused in (True, False):
        # The new value follows from what was read.
        does(is_refused, ('BEGIN',), ('SELECT v FROM t WHERE id = ?', i), ('UPDATE t SET v = ? WHERE v >= 0', i + is_refused), ('COMMIT',))
";

#[test]
fn a_refused_request_is_tried_again_if_the_same_comes_next() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", ATTEMPTS]).exits(0);
    let summary = shown(&bench);
    let of = |statement: &str| {
        let mut all = summary["transactions"].as_array().expect("a list").iter();
        let is_it = |kind: &&Value| {
            kind["statements"].as_array().is_some_and(|all| all.last().is_some_and(|last| last[0] == statement))
        };
        let kind = all.find(is_it).unwrap_or_else(|| panic!("{statement}: {summary}"));
        ["count", "retries", "failed"].map(|key| kind[key].as_u64().expect("a number"))
    };
    assert_eq!(of("UPDATE t SET v = ? WHERE id = ?"), [6, 6, 0], "tried again");
    assert_eq!(of("DELETE FROM t WHERE id = ?"), [12, 0, 6], "another row comes next");
    assert_eq!(of("UPDATE c SET n = n + ?"), [24, 0, 6], "the same comes after a success, too");
    assert_eq!(of("UPDATE t SET v = ? WHERE ? = id"), [12, 0, 6], "the same SELECT, and another row comes next");
    assert_eq!(of("UPDATE t SET v = ? WHERE v >= ?"), [6, 6, 0], "what was read can have changed");
    // Every finding has its transaction, also one of attempts that were tried again.
    for finding in summary["findings"].as_array().expect("a list") {
        assert!(finding["transaction"].is_u64(), "{finding}");
    }
}
