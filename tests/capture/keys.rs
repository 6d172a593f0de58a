//! Keys of caches and queues in the workload of a capture: reads find rows as often as in the program, upserts meet them, a job
//! that was chosen is the one that is done, and a row that was inserted is the one that others refer to. What is not so is said.

use super::{capture, make};
use crate::support::{Bench, tool, wrong_in};
use std::process::Command;

/// A cache whose keys are texts, with entries that expire, a queue, and bills with items.
const BEFORE: &str = "
import sqlite3
db = sqlite3.connect('app.db')
db.executescript('''
CREATE TABLE cache (key TEXT, raw INTEGER, value TEXT, expires REAL);
CREATE UNIQUE INDEX cache_key ON cache (key, raw);
CREATE TABLE job (id INTEGER PRIMARY KEY, state INTEGER, body TEXT);
CREATE TABLE seen (name TEXT PRIMARY KEY, times INTEGER);
CREATE TABLE bill (id INTEGER PRIMARY KEY, state INTEGER);
CREATE TABLE item (bill INTEGER NOT NULL REFERENCES bill, price INTEGER);
''')
db.executemany('INSERT INTO cache VALUES (?, 1, ?, ?)', [(f'page-{i}', 'x' * 50, 1e9 + i) for i in range(100)])
db.executemany('INSERT INTO job (state, body) VALUES (0, ?)', [('y' * 20,)] * 3000)
db.executemany('INSERT INTO seen VALUES (?, 1)', [(f'user-{i}',) for i in range(60)])
db.commit()
";

const PROGRAM: &str = "
import random, sqlite3
r = random.Random(1)
db = sqlite3.connect('app.db', isolation_level=None)
db.executescript('PRAGMA foreign_keys = on; PRAGMA cache_size = -4000')
for i in range(400):
    key = f'page-{r.randrange(125)}'
    db.execute('SELECT value FROM cache WHERE key = ? AND raw = 1 AND expires > ?', (key, 5e8 + i)).fetchone()
    if i % 2:
        db.execute('INSERT INTO seen VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET times = times + 1', (f'user-{r.randrange(90)}',))
    if i % 3 == 0:
        db.execute('BEGIN IMMEDIATE')
        job, body = db.execute('SELECT id, body FROM job WHERE state = 0 ORDER BY id LIMIT 1').fetchone()
        db.execute('DELETE FROM job WHERE id = ?', (job,))
        db.execute('COMMIT')
    else:
        db.execute('BEGIN IMMEDIATE')
        bill = db.execute('INSERT INTO bill (state) VALUES (?)', (r.randrange(3),)).lastrowid
        db.execute('INSERT INTO item VALUES (?, ?)', (bill, r.randrange(90)))
        db.execute('COMMIT')
";

#[test]
fn keys_of_a_cache_and_of_a_queue_find_their_rows() {
    for values in ["hash", "full"] {
        let bench = Bench::new();
        let made = std::process::Command::new("python3").args(["-c", BEFORE]).current_dir(bench.dir.path()).status();
        assert!(made.expect("python3").success());
        let option = format!("--values={values}");
        capture(&bench, &[&option], &["python3", "-c", PROGRAM]).exits(0);
        let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
        assert!(!said.contains("in the workload") && !said.contains("tried out"), "{values}: {said}");
        let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
        assert!(workload.contains("keep = { k0_0 = 0 }") && workload.contains("id = :k0_0"), "{values}: {workload}");
        assert!(workload.contains("VALUES (:a0_1) RETURNING \\\"id\\\"\"\nkeep = "), "{values}: {workload}");
        let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
        assert!(study.contains("cache_size = -4000, foreign_keys = \"on\" }"), "{values}: {study}");
        assert!(study.contains("as in an empty queue, counts as rejected"), "{values}: {study}");
        if values == "hash" {
            assert!(workload.matches("{serial:1000001}").count() == 2 && workload.contains("a0_1_n = "), "{workload}");
        }
        let quick = ["run", "taken", "--quick", "--rounds", "1", "--window", "200ms", "--set", "load=full"];
        bench.contend(&[&quick[..], &["--only", "as captured", "--allow-tmpfs"]].concat()).ran();
    }
}

/// Takes back a name that another transaction has added.
const NAMES: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE lease (name TEXT PRIMARY KEY, until INTEGER)')
for i in range(60):
    db.execute('INSERT INTO lease VALUES (?, 1)', (f'lease-{i}',))
    db.execute('DELETE FROM lease WHERE name = ?', (f'lease-{i}',))
";

#[test]
fn a_statement_that_finds_other_rows_in_the_workload_is_listed() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", NAMES]).exits(0);
    let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    let line = "changes 0.00 rows in the workload, and 1.00 in the capture (means): DELETE FROM lease WHERE name = ?";
    assert!(said.contains(line), "{said}");
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    assert!(study.contains("than in the capture, and can take another time: delete_lease."), "{study}");
    // Arguments can be passwords, and a study reaches reports.
    assert!(study.contains("What would have helped python3?") && !study.contains("import sqlite3"), "{study}");
}

/// Copies pages under new numbers, and answers messages: neither gets the key of the row that was read.
const COPIES: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('PRAGMA foreign_keys = on')
db.execute('CREATE TABLE page (id INTEGER PRIMARY KEY, body TEXT)')
db.execute('CREATE TABLE message (id TEXT PRIMARY KEY, reply TEXT REFERENCES message)')
db.execute('BEGIN')
db.executemany('INSERT INTO page (body) VALUES (?)', [('b' * 30,)] * 300)
db.executemany('INSERT INTO message VALUES (?, NULL)', [(f'first-{i}',) for i in range(200)])
db.execute('COMMIT')
for i in range(100):
    db.execute('BEGIN IMMEDIATE')
    _, body = db.execute('SELECT id, body FROM page WHERE id = ?', (i * 3 + 1,)).fetchone()
    db.execute('INSERT INTO page (id, body) VALUES (?, ?)', (1000 + i, body))
    db.execute('COMMIT')
    db.execute('BEGIN IMMEDIATE')
    db.execute('SELECT id FROM message WHERE id = ?', (f'first-{i}',)).fetchone()
    db.execute('INSERT INTO message VALUES (?, ?)', (f'answer-{i}', f'first-{i}'))
    db.execute('COMMIT')
";

#[test]
fn a_new_row_has_a_new_key() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", COPIES]).exits(0);
    let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(!said.contains("fail in the workload") && !said.contains("not tried out"), "{said}");
    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    assert!(workload.contains("INSERT INTO page(id, body) VALUES ((:a1_1 + 4000000000000000)"), "{workload}");
    assert!(workload.contains("INSERT INTO message VALUES (('u' || CAST(:a1_1 AS TEXT)), :a0_1)"), "{workload}");
}

/// A capture can come from another person.
#[test]
fn a_changed_capture_makes_no_other_file() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", NAMES]).exits(0);
    let other = bench.path("other.db");
    let sql =
        format!("CREATE INDEX i ON lease (until); ATTACH '{}' AS o; CREATE TABLE o.trigger_ (a)", other.display());
    let file = bench.path("taken/capture.json");
    let sealed = std::fs::read_to_string(&file).expect("readable");
    let own = format!("{{\n{}", sealed.split_once('\n').expect("a seal").1);
    let changed = own.replace("\"others\": []", &format!("\"others\": [{}]", serde_json::Value::from(sql)));
    assert_ne!(changed, own);
    std::fs::write(&file, changed).expect("written");
    let said = bench.contend(&["capture", "to-workload", "taken"]);
    assert!(said.err.contains("not authorized"), "{said:?}");
    assert!(!other.exists());
}

/// A nested block of an ORM, and work on a second database.
const NESTED: &str = "
import sqlite3
db, other = (sqlite3.connect(name, isolation_level=None) for name in ('app.db', 'other.db'))
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)')
other.execute('CREATE TABLE o (id INTEGER PRIMARY KEY, v INTEGER)')
for i in range(100):
    db.execute('BEGIN IMMEDIATE')
    db.execute(f'SAVEPOINT sa_{2 * i}')
    db.execute(f'SAVEPOINT sa_{2 * i + 1}')
    db.execute('INSERT INTO t (v) VALUES (?)', (i,))
    db.execute(f'RELEASE SAVEPOINT sa_{2 * i + 1}')
    db.execute(f'RELEASE SAVEPOINT sa_{2 * i}')
    db.execute('COMMIT')
    other.execute('INSERT INTO o (v) VALUES (?)', (i,))
";

#[test]
fn savepoints_are_taken_over_and_other_databases_are_not_counted_as_such() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", NESTED]).exits(0);
    let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    // Two more create the tables.
    assert!(said.contains("The study has 49 % of the captured transactions"), "{said}");
    let workload = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("written");
    for sql in ["SAVEPOINT s1", "SAVEPOINT s2", "RELEASE SAVEPOINT s2", "RELEASE SAVEPOINT s1"] {
        assert_eq!(workload.matches(&format!("sql = \"{sql}\"")).count(), 1, "{workload}");
    }
    let quick = ["run", "taken", "--quick", "--rounds", "1", "--window", "200ms", "--set", "load=full"];
    // Each part of a transaction after a savepoint has a number of its own in PostgreSQL's count.
    let only = ["--only", "as captured", "--only", "PostgreSQL", "--allow-tmpfs", "--out", "record"];
    bench.contend(&[&quick[..], &only].concat()).ran();
    assert_eq!(wrong_in(&bench.path("record")), []);
}

/// The schema allows texts of a pattern, which made-up names do not have.
const CHECKED: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute(\"CREATE TABLE t (id INTEGER PRIMARY KEY, role TEXT CHECK (role GLOB '[ag]*'))\")
for i in range(50):
    db.execute('INSERT INTO t (role) VALUES (?)', (('admin', 'guest')[i % 2],))
";

#[test]
fn rows_that_do_not_fit_the_schema_make_no_study() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", CHECKED]).exits(0).err;
    let why = "No study can be made of it: its rows are made up, and do not fit the schema: CHECK constraint failed: \
               role GLOB '[ag]*'. A capture with values has the program's rows: ";
    assert!(said.contains(why) && !said.contains("contend run"), "{said}");
    bench.contend(&["capture", "to-workload", "taken"]).exits(2);
    // The command in the message works as it stands.
    let (_, command) = said.split_once(why).expect("a command");
    std::fs::remove_file(bench.path("app.db")).expect("removed");
    let mut shell = Command::new("sh");
    shell.args(["-c", &command.replacen("contend", tool(), 1)]).current_dir(bench.dir.path());
    let said = shell.output().expect("sh").stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("contend run capture-1 --quick"), "{command}: {said}");
}

/// Some rows are unique over an expression, an INSERT fails each time and the program goes on with the row that is there.
const FAILS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
for i in range(60):
    db.execute('BEGIN IMMEDIATE')
    db.execute('SAVEPOINT here')
    try:
        db.execute('INSERT INTO tag (name) VALUES (?)', (f'Tag-{i % 20}',))
        db.execute('RELEASE here')
    except sqlite3.IntegrityError:
        db.execute('ROLLBACK TO here')
    tag = db.execute('SELECT id FROM tag WHERE name = ?', (f'tag-{i % 20}',)).fetchone()[0]
    db.execute('INSERT INTO use (tag, owner, text) VALUES (?, ?, ?)', (tag, i % 3, f'text {i}'))
    db.execute('COMMIT')
";

#[test]
fn what_fails_in_the_program_is_listed_and_an_index_over_expressions_prevents_no_study() {
    let bench = Bench::new();
    let sql = "CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);
         CREATE UNIQUE INDEX tag_name ON tag (lower(name));
         CREATE TABLE use (id INTEGER PRIMARY KEY, tag INTEGER, owner INTEGER, text TEXT);
         CREATE UNIQUE INDEX use_text ON use (owner, lower(text));
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19) INSERT INTO tag SELECT i, 'tag-' || i FROM n;";
    make(&bench, "app.db", sql);
    let said = capture(&bench, &[], &["python3", "-c", FAILS]).exits(0).err;
    assert!(said.contains("contend run"), "a study: {said}");
    let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(said.contains("60 of 60 executions failed in the program") && said.contains("INSERT INTO tag"), "{said}");
    assert!(said.contains("An index is not unique in the workload") && said.contains("use_text"), "{said}");
    let quick = ["run", "taken", "--quick", "--rounds", "1", "--window", "200ms", "--set", "load=full"];
    bench.contend(&[&quick[..], &["--only", "as captured", "--allow-tmpfs", "--out", "record"]].concat()).ran();
    assert_eq!(wrong_in(&bench.path("record")), []);
}
