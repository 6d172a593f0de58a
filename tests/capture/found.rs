//! What `contend capture show` finds and how it shows it.

use super::{capture, shown};
use crate::support::Bench;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A program with every problem: connections in turn, so that each one is certain.
const PROBLEMS: &str = "
import sqlite3, threading, time
def connect(timeout):
    return sqlite3.connect('app.db', isolation_level=None, timeout=timeout)
def refused(db, sql):
    try:
        db.execute(sql)
        raise SystemExit('not refused: ' + sql)
    except sqlite3.OperationalError:
        pass
a = connect(5)
a.execute('PRAGMA journal_mode = wal')
a.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
a.executemany('INSERT INTO t VALUES (?, 0)', [(i,) for i in range(50)])
b, c, d = connect(0), connect(0.05), connect(5)
a.execute('BEGIN IMMEDIATE')
a.execute('UPDATE t SET v = 1 WHERE id = 1')
time.sleep(0.02)
refused(b, 'INSERT INTO t (v) VALUES (1)')
refused(c, 'DELETE FROM t WHERE id = 9')
a.execute('COMMIT')
d.execute('BEGIN')
d.execute('SELECT v FROM t WHERE id = 1').fetchall()
a.execute('UPDATE t SET v = 2 WHERE id = 1')
refused(d, 'UPDATE t SET v = 3 WHERE id = 2')
d.execute('ROLLBACK')
a.execute('SELECT * FROM t').fetchall()
for i in range(20):
    connect(5).execute('SELECT 1').fetchall()
";

#[test]
fn problems_are_found_with_evidence_and_advice() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", PROBLEMS]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let summary = shown(&bench);
    let found = summary["findings"].as_array().expect("a list");
    let of = |kind: &str| {
        let finding = found.iter().find(|finding| finding["kind"] == kind);
        finding.unwrap_or_else(|| panic!("{kind}: {found:?}"))["evidence"].as_str().expect("a text").to_string()
    };
    assert!(of("program-holds-lock").contains("after `UPDATE t SET v = ... WHERE id = ...`"), "{found:?}");
    let cost = of("program-holds-lock");
    assert!(
        cost.contains("Meanwhile other connections waited ")
            && cost.ends_with(" for the lock, in 2 calls; 2 of them failed with SQLITE_BUSY."),
        "{cost}"
    );
    assert!(of("read-then-write").starts_with("1 refusal, such as `UPDATE t"), "{found:?}");
    assert!(of("no-busy-timeout").starts_with("1 refusal, such as `INSERT INTO t"), "{found:?}");
    assert!(of("timeout-too-short").contains("such as `DELETE FROM t"), "{found:?}");
    assert!(of("open-close-churn").contains("connections, "), "{found:?}");
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("BEGIN IMMEDIATE.") && text.contains("Statements by time"), "{text}");
}

/// A program that queues behind another one, and does something else when its turn has come. Meanwhile a third one is refused.
const QUEUE: [(&str, &str); 2] = [
    (
        "holder.py",
        "
import os, sqlite3, time
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (v INTEGER)')
db.execute('BEGIN IMMEDIATE')
os.rename('begin', 'held')
while not os.path.exists('refused'):
    time.sleep(0.02)
db.execute('COMMIT')
",
    ),
    (
        "waiter.py",
        "
import os, sqlite3, threading, time
while not os.path.exists('held'):
    time.sleep(0.02)
def turn():
    db = sqlite3.connect('app.db', isolation_level=None, timeout=60)
    open('waiting', 'w').close()
    db.execute('BEGIN IMMEDIATE')
    db.execute('INSERT INTO t VALUES (1)')
    time.sleep(0.05)
    db.execute('COMMIT')
waits = threading.Thread(target=turn)
waits.start()
while not os.path.exists('waiting'):
    time.sleep(0.02)
time.sleep(0.5)
try:
    sqlite3.connect('app.db', isolation_level=None, timeout=0.1).execute('INSERT INTO t VALUES (2)')
    raise SystemExit('not refused')
except sqlite3.OperationalError:
    os.rename('held', 'refused')
waits.join()
",
    ),
];

#[test]
fn what_met_the_lock_of_another_is_not_held_against_who_waited_for_it_too() {
    let bench = Bench::new();
    for (name, script) in QUEUE {
        std::fs::write(bench.path(name), script).expect("written");
    }
    std::fs::write(bench.path("begin"), "").expect("written");
    capture(&bench, &[], &["sh", "-c", "python3 holder.py & python3 waiter.py && wait"]).exits(0);
    let summary = shown(&bench);
    let found = summary["findings"].as_array().expect("a list");
    let held: Vec<&serde_json::Value> = found.iter().filter(|one| one["kind"] == "program-holds-lock").collect();
    assert!(held.len() == 1 && held[0]["title"].as_str().is_some_and(|text| text.contains("holder.py")), "{found:?}");
    let evidence = held[0]["evidence"].as_str().expect("a text");
    assert!(evidence.ends_with("in 2 calls; 1 of them failed with SQLITE_BUSY."), "{evidence}");
}

/// A refused BEGIN whose work is given up, other work with the same BEGIN, and a table that an open cursor locks.
const LOCKED: &str = "
import sqlite3
def connect():
    return sqlite3.connect('app.db', isolation_level=None, timeout=0)
def refused(db, sql):
    try:
        db.execute(sql)
        raise SystemExit('not refused: ' + sql)
    except sqlite3.OperationalError:
        pass
a, b = connect(), connect()
a.execute('CREATE TABLE t (v INTEGER)')
a.executemany('INSERT INTO t VALUES (?)', [(i,) for i in range(9)])
a.execute('BEGIN IMMEDIATE')
refused(b, 'BEGIN IMMEDIATE')
a.execute('COMMIT')
b.execute('BEGIN IMMEDIATE')
b.execute('DELETE FROM t WHERE v = 3')
b.execute('COMMIT')
rows = b.execute('SELECT * FROM t')
rows.fetchone()
refused(b, 'DROP TABLE t')
";

#[test]
fn a_refused_begin_is_no_attempt_of_other_work_and_own_locks_have_their_own_advice() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", LOCKED]).exits(0);
    let summary = shown(&bench);
    let kinds = summary["transactions"].as_array().expect("a list");
    let of = |statement: &str| {
        let is_it = |kind: &&serde_json::Value| kind["statements"].to_string().contains(statement);
        kinds.iter().find(is_it).unwrap_or_else(|| panic!("{statement}: {kinds:?}"))
    };
    let delete = of("DELETE");
    assert_eq!((&delete["retries"], &delete["failed"]), (&0.into(), &0.into()), "{delete}");
    let begun = kinds.iter().find(|kind| kind["statements"] == serde_json::json!([])).expect("its own line");
    assert_eq!((&begun["begin"], &begun["failed"]), (&"immediate".into(), &1.into()), "{begun}");
    let found = summary["findings"].as_array().expect("a list");
    let all = found.iter().map(|finding| (finding["kind"].as_str().unwrap_or(""), finding["evidence"].to_string()));
    // On a busy machine a pause under the lock may be long.
    let all: Vec<_> = all.filter(|(kind, _)| *kind != "program-holds-lock").collect();
    assert_eq!(all.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["no-busy-timeout", "table-locked"], "{found:?}");
    assert!(
        all[0].1.contains("1 refusal, such as `BEGIN") && all[1].1.contains("1 refusal, such as `DROP"),
        "{found:?}"
    );
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("The work of a refused BEGIN is unknown"), "{text}");
}

#[test]
fn a_program_without_problems_has_no_finding() {
    let bench = Bench::new();
    let quiet = "import sqlite3\ndb = sqlite3.connect('app.db')\ndb.execute('CREATE TABLE t (a)')\nfor i in range(50):\n    db.execute('INSERT INTO t VALUES (?)', (i,))\n    db.commit()\ndb.execute('BEGIN')\ndb.execute('COMMIT')\n";
    capture(&bench, &[], &["python3", "-c", quiet]);
    assert_eq!(shown(&bench)["findings"].as_array().map(Vec::len), Some(0));
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("no call failed at a lock"), "{text}");
    assert!(
        text.contains("No statement but those that begin and end it.") && !text.contains("refused BEGIN"),
        "{text}"
    );
}

#[test]
fn the_page_has_what_the_text_has_and_is_private() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", PROBLEMS]);
    let (page, theirs) = (bench.path("page.html"), bench.path("theirs.html"));
    std::fs::write(&theirs, "theirs").expect("written");
    symlink(&theirs, &page).expect("linked");
    bench.contend(&["capture", "show", "taken", "--page", "page.html", "--sort", "rows"]).exits(0);
    let meta = std::fs::symlink_metadata(&page).expect("there");
    assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o600, "{meta:?}");
    assert_eq!(std::fs::read(&theirs).expect("readable"), b"theirs", "a link is not followed");
    let html = std::fs::read_to_string(&page).expect("text");
    for part in [
        "<!DOCTYPE html>",
        "What `python3",
        "Findings",
        "Statements by rows",
        "UPDATE t SET v = ...",
        "Connections and their settings",
    ] {
        assert!(html.to_lowercase().contains(&part.to_lowercase()), "{part}: {html}");
    }
    // By rows the SELECT of all 50 rows comes first.
    let text = bench.contend(&["capture", "show", "taken", "--sort", "rows"]).exits(0).out;
    let (_, statements) = text.split_once("Statements by rows").expect("the section");
    let (all, one) = (statements.find("SELECT * FROM t"), statements.find("UPDATE t SET v"));
    assert!(all < one && all.is_some(), "{statements}");
}

/// Sorts in the first step of each execution, and then returns rows.
const SORTS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
db.execute('INSERT INTO t (v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i * 7919 % 50021 FROM n')
for i in range(20):
    db.execute('SELECT v FROM t ORDER BY v + 0 LIMIT 40').fetchall()
";

#[test]
fn the_time_of_statements_is_not_longer_than_the_capture() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", SORTS]).exits(0);
    let summary = shown(&bench);
    let all = summary["statements"].as_array().expect("a list").iter();
    let total: u64 = all.map(|statement| statement["total_ns"].as_u64().expect("a number")).sum();
    // The capture begins with the first step, after the first statement was prepared.
    assert!(total <= summary["duration_ns"].as_u64().expect("a number") * 11 / 10, "{summary}");
    let select = summary["statements"].as_array().expect("a list").iter().find(|one| one["rows"] == 800);
    assert!(select.is_some_and(|one| one["total_ns"].as_u64() > Some(20_000_000)), "{summary}");
}

/// One row in sixteen takes long. Between the rows the program sleeps once. Prints the time of the loop without the sleep.
const UNEQUAL: &str = "
import sqlite3, time
now = time.perf_counter_ns
def slow(i):
    begun = now()
    while i % 16 == 1 and now() - begun < 40_000:
        pass
    return i
db = sqlite3.connect('app.db')
db.create_function('slow', 1, slow)
begun = now()
for (i,) in db.execute('WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT slow(i) FROM n'):
    if i == 100:
        slept = now()
        time.sleep(0.05)
        slept = now() - slept
print(now() - begun - slept)
";

#[test]
fn every_row_counts_with_its_own_time() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", UNEQUAL]).exits(0);
    let measured_ns: u64 = said.out.trim().parse().expect("a number");
    let summary = shown(&bench);
    let select = summary["statements"].as_array().expect("a list").iter().find(|one| one["rows"] == 200);
    let total_ns = select.expect("the statement")["total_ns"].as_u64().expect("a number");
    assert!(total_ns <= measured_ns && total_ns > 10 * 40_000, "{total_ns} of {measured_ns} ns");
}

/// Ten rows, which are found at once, and then a long search for more.
const SEARCH: &str = "
import sqlite3, time
db = sqlite3.connect('app.db')
db.execute('CREATE TABLE t (v INTEGER)')
db.executemany('INSERT INTO t VALUES (?)', ((int(i < 10),) for i in range(300000)))
db.commit()
begun = time.perf_counter_ns()
for _ in range(5):
    db.execute('SELECT v FROM t WHERE v = 1').fetchall()
print(time.perf_counter_ns() - begun)
";

#[test]
fn the_search_after_the_last_row_is_time_inside_of_sqlite() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", SEARCH]).exits(0);
    let measured_ns: u64 = said.out.trim().parse().expect("a number");
    let summary = shown(&bench);
    let all = summary["statements"].as_array().expect("a list").iter();
    let search =
        all.clone().find(|statement| statement["text"].as_str().is_some_and(|sql| sql.starts_with("SELECT v")));
    let total_ns = search.expect("the search")["total_ns"].as_u64().expect("a number");
    assert!(total_ns > measured_ns / 2 && total_ns < measured_ns * 2, "{total_ns} of {measured_ns} ns");
}
