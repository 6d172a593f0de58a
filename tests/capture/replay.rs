//! Replaying a capture leaves the same tables.

use super::{capture, copy, database, keeps_pauses, script};
use crate::support::{Bench, Said};
use serde_json::Value;
use std::time::Duration;

fn replayed(bench: &Bench) -> (Said, Value) {
    let said = bench.contend(&["replay", "taken", "--json"]);
    let value = serde_json::from_str(&said.out).unwrap_or(Value::Null);
    (said, value)
}

/// Captures random work of several processes in each journal mode in turn, and replays it.
fn comes_again(seeds: std::ops::Range<usize>) {
    for seed in seeds {
        let mode = ["delete", "wal", "truncate", "persist"][seed % 4];
        let bench = Bench::new();
        let path = database(&bench).display().to_string();
        let command = ["python3", &script("program.py"), "many", &path, mode, &seed.to_string()];
        let said = capture(&bench, &["--values=full"], &command);
        assert_eq!(said.code, Some(0), "{mode}: {said:?}");
        let (said, outcome) = replayed(&bench);
        assert_eq!(said.code, Some(0), "{mode}, seed {seed}: {said:?}");
        assert!(outcome["transactions"].as_u64() > Some(20), "{mode}: {outcome}");
        assert_eq!(outcome["diverged"].as_array().map(Vec::len), Some(0), "{mode}, seed {seed}: {outcome}");
    }
}

#[test]
fn several_processes_in_all_journal_modes_leave_the_same_tables() {
    comes_again(0..6);
}

#[test]
#[ignore = "takes two minutes; `make verify`"]
fn fifty_random_runs_leave_the_same_tables() {
    comes_again(6..56);
}

#[test]
fn every_kind_of_value_and_outcome_comes_again() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &["--values=full"], &["python3", &script("program.py"), "known", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (said, outcome) = replayed(&bench);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(outcome["diverged"].as_array().map(Vec::len), Some(0), "{outcome}");
    // The check must be able to fail: other rows at the end of the capture.
    let end = copy(&bench, "end-1.db");
    end.execute("UPDATE thing SET name = 'other' WHERE id = 3", []).expect("changed");
    let (said, outcome) = replayed(&bench);
    assert_eq!((said.code, &outcome["databases"][0]["differ"]), (Some(1), &serde_json::json!([["thing", 1, 1]])));
}

/// Tables whose columns have names of the rowid.
const ROWIDS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE one (rowid TEXT)')
db.execute('CREATE TABLE two (rowid TEXT, OID TEXT)')
db.execute('CREATE TABLE three (rowid TEXT, oid TEXT, _rowid_ TEXT)')
for table, values in (('one', '?'), ('two', '?, 0'), ('three', '?, 0, 0')):
    db.executemany(f'INSERT INTO {table} VALUES ({values})', [('0',), ('0',), ('1',)])
";

#[test]
fn equal_rows_are_counted_where_a_column_has_the_name_of_the_rowid() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", ROWIDS]).exits(0);
    let (said, outcome) = replayed(&bench);
    assert_eq!((said.code, &outcome["databases"][0]["tables"]), (Some(0), &3.into()), "{outcome}");
    let end = copy(&bench, "end-1.db");
    end.execute_batch("UPDATE one SET rowid = '1' WHERE oid = 2; UPDATE two SET _rowid_ = 9 WHERE rowid = '1'")
        .expect("changed");
    // The rowids of the last table have no name.
    end.execute_batch("DELETE FROM three; INSERT INTO three VALUES ('0', 0, 0), ('1', 0, 0), ('1', 0, 0)")
        .expect("changed");
    let (said, outcome) = replayed(&bench);
    let differ = serde_json::json!([["one", 1, 1], ["three", 1, 1], ["two", 1, 1]]);
    assert_eq!((said.code, &outcome["databases"][0]["differ"]), (Some(1), &differ), "{outcome}");
}

/// A table with almost as many columns as SQLite allows, with values of each type.
const WIDE: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE wide (' + ', '.join(f'c{i} TEXT' if i % 3 else f'c{i}' for i in range(1500)) + ')')
for row in range(30):
    values = [[row, row / 7, b'x' * row][i % 9 // 3] if i % 3 == 0 else f'{row} {i}' for i in range(1500)]
    db.execute('INSERT INTO wide VALUES (' + ', '.join('?' * 1500) + ')', values)
db.execute('UPDATE wide SET c1499 = NULL WHERE rowid = 7')
";

#[test]
fn tables_of_many_columns_are_compared() {
    let bench = Bench::new();
    let said = capture(&bench, &["--values=full"], &["python3", "-c", WIDE]).exits(0).err;
    assert!(said.contains("What would have helped: "), "a study is made of it: {said}");
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    assert!(study.contains("\ncycle = 361\n"), "drawing 16,384 operations takes long: {study}");
    let (said, outcome) = replayed(&bench);
    assert_eq!((said.code, &outcome["databases"][0]["tables"]), (Some(0), &1.into()), "{said:?}");
    let end = copy(&bench, "end-1.db");
    end.execute_batch("UPDATE wide SET c1499 = '' WHERE rowid = 7; UPDATE wide SET c0 = 5.0 WHERE rowid = 6")
        .expect("changed");
    let (said, outcome) = replayed(&bench);
    assert_eq!((said.code, &outcome["databases"][0]["differ"]), (Some(1), &serde_json::json!([["wide", 2, 2]])));
}

#[test]
fn another_error_than_the_captured_one_is_said() {
    let bench = Bench::new();
    let db = rusqlite::Connection::open(database(&bench)).expect("made");
    db.execute_batch("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)").expect("filled");
    let program = "import sqlite3\ndb = sqlite3.connect('app.db', isolation_level=None)\n\
                   try:\n    db.execute('INSERT INTO t VALUES (1)')\nexcept sqlite3.IntegrityError:\n    pass";
    capture(&bench, &["--values=full"], &["python3", "-c", program]).exits(0);
    let (said, outcome) = replayed(&bench);
    assert_eq!((said.code, outcome["diverged"].as_array().map(Vec::len)), (Some(0), Some(0)), "{outcome}");
    let begin = copy(&bench, "content-1.db");
    begin.execute_batch("ALTER TABLE t ADD COLUMN b").expect("changed");
    let (_, outcome) = replayed(&bench);
    let one = &outcome["diverged"][0];
    assert_eq!(one["captured"], "error 2067", "{outcome}");
    assert!(one["replayed"].as_str().is_some_and(|text| text.starts_with("error 1: ")), "{outcome}");
}

#[test]
fn hashes_cannot_be_replayed() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    capture(&bench, &[], &["python3", &script("program.py"), "known", &path]);
    let (said, _) = replayed(&bench);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--values=full"), "{said:?}");
}

#[test]
fn a_capture_becomes_a_workload_and_a_study() {
    for values in ["--values=hash", "--values=full"] {
        let bench = Bench::new();
        let path = database(&bench).display().to_string();
        let said = capture(&bench, &[values], &["python3", &script("program.py"), "many", &path, "delete", "1"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let said = bench.contend(&["capture", "to-workload", "taken"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.err.contains("CREATE TABLE"), "what is left out is said: {said:?}");
        let plan = bench.contend(&["plan", "show", "taken/workload.toml", "--clients", "1", "--cycle", "5"]);
        assert_eq!(plan.code, Some(0), "{plan:?}");
        assert!(plan.out.contains("UPDATE account SET n = n - ?, last = ? WHERE id = ?"), "{plan:?}");
        let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
        assert!(workload.contains("processes = 2\nclients = 2\n"), "{workload}");
    }
}

/// Moves rows into an attached database, which exists, and into one that ATTACH makes.
const ATTACHES: &str = "
import sqlite3
old = sqlite3.connect('old.db', isolation_level=None)
old.execute('CREATE TABLE kept (id INTEGER PRIMARY KEY, v TEXT)')
old.execute(\"INSERT INTO kept (v) VALUES ('first')\")
old.close()
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)')
db.execute(\"ATTACH 'old.db' AS past\")
db.execute('ATTACH DATABASE ? AS made', ('made.db',))
db.execute('CREATE TABLE made.log (n INTEGER)')
for i in range(20):
    db.execute('BEGIN IMMEDIATE')
    db.execute('INSERT INTO t (v) VALUES (?)', (str(i),))
    db.execute('INSERT INTO past.kept SELECT NULL, v FROM t WHERE id = ?', (i + 1,))
    db.execute('INSERT INTO made.log VALUES (?)', (i,))
    db.execute('COMMIT')
for i in range(20):
    db.execute('UPDATE t SET v = ? WHERE id = ?', ('x' + str(i), i + 1))
db.execute('DETACH past')
";

#[test]
fn attached_databases_are_replayed_on_copies_and_refused_for_a_workload() {
    let bench = Bench::new();
    let said = capture(&bench, &["--values=full"], &["python3", "-c", ATTACHES]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let before = std::fs::read(bench.path("old.db")).expect("readable");
    let (said, outcome) = replayed(&bench);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(outcome["databases"].as_array().map(Vec::len), Some(3), "{outcome}");
    assert_eq!(outcome["diverged"].as_array().map(Vec::len), Some(0), "{outcome}");
    assert_eq!(outcome["left_out"].as_array().map(Vec::len), Some(0), "{outcome}");
    assert_eq!(std::fs::read(bench.path("old.db")).expect("readable"), before, "the program's own file is not touched");
    let written = bench.contend(&["capture", "to-workload", "taken"]).exits(0);
    assert!(written.err.contains("it uses an attached database, and a workload has one database"), "{written:?}");
    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    let (_, work) = workload.split_once("[scale]").expect("numbers");
    assert!(work.contains("UPDATE t SET v") && !work.contains("past"), "{workload}");
}

/// Reads a row of many in a transaction, and ends the statement or reads the rest after the COMMIT, as PHP's PDO does.
const OPEN_CURSOR: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)')
db.executemany('INSERT INTO t (v) VALUES (?)', [(str(i),) for i in range(50)])
for i in range(10):
    db.execute('BEGIN')
    db.execute('UPDATE t SET v = v + 1 WHERE id = ?', (i + 1,))
    rows = db.cursor().execute('SELECT v FROM t')
    rows.fetchone()
    db.execute('COMMIT')
    rows.close() if i % 2 else rows.fetchall()
";

#[test]
fn a_statement_that_ends_after_the_commit_does_not_end_the_transaction() {
    let bench = Bench::new();
    let said = capture(&bench, &["--values=full"], &["python3", "-c", OPEN_CURSOR]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (said, outcome) = replayed(&bench);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(outcome["diverged"].as_array().map(Vec::len), Some(0), "{outcome}");
    let shown = bench.contend(&["capture", "show", "taken", "--json"]).exits(0).out;
    let summary: Value = serde_json::from_str(&shown).expect("JSON");
    let kinds = summary["transactions"].as_array().expect("a list");
    assert!(kinds.iter().all(|kind| kind["begin"] != "unseen"), "each COMMIT belongs to its BEGIN: {kinds:?}");
}

/// The program's SQLite enforces no foreign keys, and the program asks for none.
const FOREIGN: &str = "
import sqlite3
db = sqlite3.connect('fk.db', isolation_level=None)
db.execute('PRAGMA journal_mode = MEMORY')
db.execute('CREATE TABLE p (id INTEGER PRIMARY KEY)')
db.execute('CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE)')
db.execute('INSERT INTO p VALUES (1)')
for row in [(1, 1), (2, 99)]: db.execute('INSERT INTO c VALUES (?, ?)', row)
db.execute('DELETE FROM p')
";

#[test]
fn foreign_keys_and_journal_modes_are_those_of_the_program() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", FOREIGN]).exits(0);
    let (said, found) = replayed(&bench);
    assert_eq!((said.code, found["diverged"].as_array().map(Vec::len)), (Some(0), Some(0)), "{said:?}");
    bench.contend(&["capture", "to-workload", "taken"]).ran();
    let written = std::fs::read_to_string(bench.path("taken/study.toml")).expect("a study");
    assert!(
        written.contains("journal_mode = \"memory\"") && !written.contains("journal_mode = \"delete\""),
        "{written}"
    );
}

/// A connection for each of 300 requests, after one that keeps the database to itself as long as it is open. Of the program's
/// connections most that
/// write have no busy timeout and SQLite's own `synchronous`.
const EACH_REQUEST: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('PRAGMA locking_mode = EXCLUSIVE')
db.execute('PRAGMA synchronous = OFF')
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v)')
db.close()
for i in range(300):
    db = sqlite3.connect('app.db', timeout=0, isolation_level=None)
    db.execute('INSERT INTO t (v) VALUES (?)', (i,))
    db.close()
for i in range(400):
    db = sqlite3.connect('app.db', timeout=7, isolation_level=None)
    db.execute('PRAGMA synchronous = NORMAL')
    db.execute('SELECT count(*) FROM t').fetchall()
    db.close()
";

#[test]
fn connections_are_closed_after_their_last_statement_and_the_most_frequent_settings_are_the_programs() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", EACH_REQUEST]).exits(0);
    let few_files = format!("ulimit -n 64; exec '{}' replay taken", crate::support::tool());
    let mut command = std::process::Command::new("sh");
    let said = command.args(["-c", &few_files]).current_dir(bench.dir.path()).output().expect("a shell");
    Said::from(said).exits(0);
    bench.contend(&["capture", "to-workload", "taken"]).exits(0);
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("a study");
    assert!(study.contains("busy_timeout = 0") && study.contains("synchronous = \"full\""), "{study}");
    assert!(!study.contains("synchronous = \"off\""), "{study}");
}

#[test]
fn a_replay_keeps_the_pauses_of_a_program_or_shortens_them() {
    let bench = Bench::new();
    let program = "import sqlite3, time\ndb = sqlite3.connect('app.db', isolation_level=None)\n\
                   db.execute('CREATE TABLE t (a)')\ntime.sleep(1.2)\ndb.execute('INSERT INTO t VALUES (1)')";
    capture(&bench, &["--values=full"], &["python3", "-c", program]).exits(0);
    keeps_pauses(Duration::from_millis(1200), |speed| bench.contend(&["replay", "taken", "--json", "--speed", speed]));
}

#[test]
fn a_replay_that_is_stopped_leaves_nothing() {
    let bench = Bench::new();
    let slow = EACH_REQUEST.replace("00)", ")") + "    import time; time.sleep(1)\n";
    capture(&bench, &["--values=full"], &["python3", "-c", &slow]).exits(0);
    let is_left = || {
        let names = std::fs::read_dir(bench.path("taken")).expect("a capture").flatten().map(|entry| entry.file_name());
        names.into_iter().any(|name| name.to_string_lossy().starts_with("replay-"))
    };
    let replaying = bench.start(&["replay", "taken", "--speed", "0.05"]);
    crate::support::wait_for("the copies", is_left);
    let pid = rustix::process::Pid::from_child(&replaying);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let said: Said = replaying.wait_with_output().expect("it ends").into();
    assert!(said.exits(130).err.contains("stopped: nothing was compared"));
    assert!(!is_left());
}
