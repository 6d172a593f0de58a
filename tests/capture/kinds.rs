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
        text.contains("1 to 2 times (1 in the mean): INSERT INTO t") && text.contains("3,000 times: INSERT INTO t"),
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

/// Sells orders of 1 to 9 items, and moves an item to another place, and back.
const ORDERS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.executescript('CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER); CREATE TABLE sale (n INTEGER);')
db.execute('INSERT INTO item WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49) SELECT i, 1000 FROM n')
def take(item):
    db.execute('SELECT stock FROM item WHERE id = ?', (item,)).fetchall()
    db.execute('UPDATE item SET stock = stock - 1 WHERE id = ?', (item,))
for i in range(90):
    db.execute('BEGIN')
    db.execute('INSERT INTO sale VALUES (?)', (i,))
    for n in range(1 + i % 9):
        take((7 * i + n) % 50)
    db.execute('COMMIT')
for i in range(40):
    db.execute('BEGIN')
    for n in range(1 + i % 2):
        take((7 * i + n) % 50)
    db.execute('COMMIT')
";

#[test]
fn loops_over_several_statements_are_one_kind() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", ORDERS]).exits(0);
    let summary = shown(&bench);
    let kinds = summary["transactions"].as_array().expect("a list");
    let count = |kind: &Value| (kind["count"].as_u64(), kind["loops"].clone());
    let counts: Vec<_> = kinds.iter().map(count).filter(|(count, _)| *count > Some(1)).collect();
    let loops = json!([{"first": 1, "statements": 2, "mean": 6.0, "least": 3, "most": 9}]);
    // Of one and two rounds a program may have two kinds.
    let exact = [20, 20, 10, 10].map(|count| (Some(count), json!([])));
    assert_eq!(counts, [&[(Some(70), loops)], &exact[..]].concat(), "{summary:#}");
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(
        text.contains("3 to 9 times in turn (6 in the mean): SELECT stock FROM item WHERE id = ?; then UPDATE"),
        "{text}"
    );

    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    let workload: toml::Value = toml::from_str(&workload).expect("TOML");
    let steps = workload["transaction"]["insert_sale"]["step"].as_array().expect("a list").iter();
    let texts: Vec<&str> = steps.filter_map(|step| step.get("sql")?.as_str()).collect();
    assert_eq!(texts.len(), 1 + 2 * 6, "{texts:?}");
    // Both statements of a round use the same row, and each round another one.
    let name = |text: &str| text.rsplit(':').next().expect("a name").trim().to_string();
    let names: Vec<[String; 2]> = texts[1..].chunks(2).map(|two| [name(two[0]), name(two[1])]).collect();
    assert!(names.iter().all(|[read, write]| read == write), "{texts:?}");
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "{texts:?}");
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
