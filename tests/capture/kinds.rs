//! Which transactions are of one kind, and which are attempts at the same work.

use super::{capture, shown};
use crate::support::Bench;
use serde_json::Value;

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
