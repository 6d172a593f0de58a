//! A capture of SQLite is replayed on a real PostgreSQL and MariaDB, and leaves the same tables.

use super::{capture, copy, database};
use crate::support::place::{Own, Place};
use crate::support::{Said, wait_for};
use serde_json::Value;

/// Content that is there before the program begins.
const BEFORE: &str = "
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO owner VALUES (1, 'secret-ann'), (7, 'secret-bob');
CREATE TABLE log (line TEXT, at);
CREATE TABLE heard (id INTEGER PRIMARY KEY, owner INTEGER);
CREATE TABLE seen (id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER);
CREATE TRIGGER owner_made AFTER INSERT ON owner BEGIN
    INSERT INTO heard (owner) VALUES (new.id); INSERT INTO seen (owner) VALUES (new.id); END;
CREATE VIEW names AS SELECT name FROM owner;
INSERT INTO log VALUES ('secret-begin', 5), (NULL, NULL), ('secret-begin', 5);
";

/// Makes tables, and has keys given, given again and rolled back, every kind of value and of refused row.
const PROGRAM: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
for switch in (\"'on'\", 'off', '2'):
    db.execute(f'PRAGMA foreign_keys = {switch}')
db.execute('''CREATE TABLE thing (id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL REFERENCES owner (id),
    name TEXT UNIQUE, size REAL, data BLOB, CHECK (size >= 0))''')
db.execute('CREATE INDEX thing_owner ON thing (owner)')
db.executescript('CREATE TABLE note (id INTEGER PRIMARY KEY, thing INTEGER, n INTEGER DEFAULT 3); DROP TABLE IF EXISTS gone')
INSERT = 'INSERT INTO thing (owner, name, size, data) VALUES (?, ?, ?, ?)'
def fails(*values):
    try:
        db.execute(INSERT, values)
    except sqlite3.IntegrityError:
        return
    raise SystemExit('it must fail')
db.execute('BEGIN')
for i in range(20):
    db.execute(INSERT, (1 if i % 2 else 7, f'secret-{i}', i / 3, b'secret\\0\\xff' * i))
db.execute('COMMIT')
fails(1, 'secret-3', 1, None)
fails(None, 'secret-x', 1, None)
fails(1, 'secret-x', -1, None)
fails(99, 'secret-x', 1, None)
db.execute('BEGIN IMMEDIATE')
db.execute(INSERT, (1, 'secret-lost', 1.5, None))
fails(1, 'secret-3', 1, None)
db.execute('ROLLBACK')
db.execute('BEGIN')
db.execute(INSERT, (1, 'secret-kept', -0.0, None))
db.execute('INSERT INTO note (thing) VALUES (last_insert_rowid())')
fails(1, 'secret-kept', 1, None)
db.execute('SAVEPOINT inner')
db.execute('INSERT INTO note (thing, n) VALUES (5, 6), (7, NULL)')
db.execute('ROLLBACK TO inner')
db.execute('RELEASE inner')
db.execute('INSERT INTO note VALUES (NULL, 8, changes())')
db.execute('COMMIT')
db.execute('SAVEPOINT outer')
db.execute('INSERT INTO note (thing, n) VALUES (9, 9), (10, 10)')
db.execute('RELEASE outer')
db.execute('DELETE FROM note WHERE id = (SELECT max(id) FROM note)')
db.execute('INSERT INTO note (thing) VALUES (?)', (11,))
db.execute('INSERT INTO note VALUES (40, 1, 2)')
db.execute('INSERT INTO note VALUES (?, ?, ?)', (None, 1, 2))
db.execute('BEGIN')
db.execute(\"INSERT INTO owner (name) VALUES ('secret-none')\")
db.execute('ROLLBACK')
for name in ('secret-ann', 'secret-cid'):
    db.execute('INSERT INTO owner (name) VALUES (?) ON CONFLICT (name) DO NOTHING', (name,))
db.execute('INSERT INTO log VALUES (?, ?)', ('secret-end', 6))
db.execute('INSERT INTO log VALUES (?, ?)', ('secret-end', 6))
db.execute('UPDATE thing SET size = size * 2, name = NULL WHERE id BETWEEN ? AND ?', (3, 9))
db.execute('DELETE FROM thing WHERE id = ?', (2,))
db.execute('SELECT name, data FROM thing WHERE size > ? ORDER BY id', (0.5,)).fetchall()
db.execute('SELECT name FROM thing').fetchone()
db.execute(\"INSERT INTO owner (name) VALUES ('secret-eve')\")
db.execute('DELETE FROM seen WHERE id = (SELECT max(id) FROM seen)')
db.execute(\"INSERT INTO owner (name) VALUES ('secret-fay')\")
db.execute('CREATE TABLE deep (id INTEGER PRIMARY KEY, v TEXT)')
db.execute('INSERT INTO deep VALUES (-3, NULL)')
for word in ('SAVEPOINT s1', 'z', 'SAVEPOINT S1', 'y', 'RELEASE s1', 'q', 'ROLLBACK TO s1', 'r', 'RELEASE S1', 'a', 'b', 'c'):
    db.execute(word if ' ' in word else f\"INSERT INTO deep (v) VALUES ('{word}')\")
";

/// A COMMIT that fails, with a constraint that MariaDB does not have.
const LATE: &str = "
db.execute('CREATE TABLE late (owner INTEGER REFERENCES owner (id) DEFERRABLE INITIALLY DEFERRED)')
db.execute('BEGIN')
db.execute('INSERT INTO late VALUES (99)')
try:
    db.execute('COMMIT')
except sqlite3.IntegrityError:
    db.execute('ROLLBACK')
";

/// A statement without a translation in a transaction.
const REFUSED: &str = "
db.execute('BEGIN')
db.execute('UPDATE note SET n = 4')
for i in range(2):
    db.execute(\"SELECT sqlite_compileoption_used('secret') FROM note\").fetchall()
db.execute('COMMIT')
";

struct Stage {
    own: Own,
    place: Place,
    is_mariadb: bool,
}

impl Stage {
    /// A server with an empty database, and the capture of a program.
    fn start(start: fn(&Place) -> Own, program: &str) -> Stage {
        let place = Place::new();
        let db = rusqlite::Connection::open(database(&place.bench)).expect("made");
        db.execute_batch(BEFORE).expect("filled");
        drop(db);
        capture(&place.bench, &["--values=full"], &["python3", "-c", program]).exits(0);
        let own = start(&place);
        let is_mariadb = own.dsn("").starts_with("mysql");
        if is_mariadb {
            own.asked("CREATE DATABASE app");
        }
        Stage { own, place, is_mariadb }
    }

    fn dsn(&self) -> String {
        self.own.dsn("geheim").replace("/mysql", "/app")
    }

    fn asked(&self, sql: &str) -> String {
        self.own.asked(&format!("{}{sql}", if self.is_mariadb { "USE app; " } else { "" }))
    }

    /// Number of tables, views and functions.
    fn objects(&self) -> String {
        let schema = if self.is_mariadb { "app" } else { "public" };
        let counts = ["table", "routine"]
            .map(|kind| format!("(SELECT count(*) FROM information_schema.{kind}s WHERE {kind}_schema = '{schema}')"));
        self.asked(&format!("SELECT {}", counts.join(" + ")))
    }

    /// Replays on the server; no password and no value of the program is in the output.
    fn replays(&self, further: &[&str]) -> Said {
        let dsn = self.dsn();
        let mut args = vec!["replay", "taken", "--to", &dsn];
        args.extend(further);
        let said = self.place.contend(&args);
        let all = format!("{said:?}");
        assert!(!all.contains("geheim") && !all.contains("secret"), "{all}");
        said
    }
}

fn comes_again(start: fn(&Place) -> Own) {
    let stage = Stage::start(start, PROGRAM);
    let said = stage.replays(&["--json", "--keep", "kept"]);
    let outcome: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!(outcome["diverged"].as_array().map(Vec::len), Some(0), "{outcome}");
    assert_eq!(outcome["databases"][0]["differ"].as_array().map(Vec::len), Some(0), "{outcome}");
    assert_eq!((said.code, &outcome["databases"][0]["tables"]), (Some(0), &Value::from(7)), "{said:?}");
    assert!(outcome["statements"].as_u64() > Some(40), "{outcome}");
    let off = "1 connection turns foreign keys off again; the server enforces them all the time.";
    assert!(outcome["left_out"].as_array().is_some_and(|all| all.contains(&off.into())), "{outcome}");
    let kept = rusqlite::Connection::open(stage.place.bench.path("kept/1.db")).expect("kept");
    let keys = kept.query_row("SELECT group_concat(id) FROM note", [], |row| row.get::<_, String>(0));
    assert_eq!(keys.as_deref(), Ok("1,2,3,4,40,41"));
    let rows = kept.query_row("SELECT group_concat(v || id) FROM deep", [], |row| row.get::<_, String>(0));
    assert_eq!(rows.as_deref(), Ok("r-2,a-1,b0,c1"));
    assert_eq!(std::fs::read_dir(stage.place.bench.path("kept")).expect("a directory").count(), 1);
    // The tables are in the way of a second replay, which names them and does not say how to remove what is not its own.
    let again = stage.replays(&[]).exits(2);
    assert!(again.err.contains("a finished migration") && !again.err.contains("DROP TABLE IF"), "{again:?}");
    stage.asked(outcome["left"]["remove"].as_str().expect("statements"));
    assert_eq!(stage.objects(), "0");
    // The check must be able to fail: other rows at the end of the capture.
    let end = copy(&stage.place.bench, "end-1.db");
    end.execute("DELETE FROM log WHERE rowid = 1", []).expect("changed");
    let said = stage.replays(&[]).exits(1);
    assert!(said.out.contains("table log DIFFERS") && said.out.contains("to remove them: "), "{said:?}");
}

#[test]
fn postgres_has_the_same_tables_at_the_end() {
    comes_again(Own::postgres);
}

#[test]
fn mariadb_has_the_same_tables_at_the_end() {
    comes_again(Own::mariadb);
}

/// Lists what has no translation in a program, and replays the rest. Returns the result.
fn is_listed(start: fn(&Place) -> Own, program: &str) -> Value {
    let stage = Stage::start(start, &format!("{program}{REFUSED}"));
    let said = stage.replays(&[]).exits(2);
    assert!(said.out.contains("SELECT sqlite_compileoption_used(?) FROM note\n  line 1, column 8: "), "{said:?}");
    assert!(said.out.contains("; 2 calls (") && said.out.contains("% of the time in statements)"), "{said:?}");
    let transactions = if program == PROGRAM { 7 } else { 8 };
    let losing = format!("1 of {transactions} transactions of several statements lose statements.");
    assert!(said.out.contains(&losing), "{said:?}");
    assert!(said.err.contains("nothing was written on the server") && said.err.contains("--skip-refused"), "{said:?}");
    assert_eq!(stage.objects(), "0");
    let outcome: Value =
        serde_json::from_str(&stage.replays(&["--json", "--skip-refused"]).exits(0).out).expect("JSON");
    assert_eq!((outcome["diverged"].as_array().map(Vec::len), &outcome["refused"][0]["calls"]), (Some(0), &2.into()));
    outcome
}

#[test]
fn what_postgres_lacks_is_listed_before_anything_is_written() {
    let outcome = is_listed(Own::postgres, &format!("{PROGRAM}{LATE}"));
    let failed = "A COMMIT that failed has rolled back on the server; in SQLite the transaction stays open.";
    assert!(outcome["left_out"].as_array().is_some_and(|all| all.contains(&failed.into())), "{outcome}");
}

#[test]
fn what_mariadb_lacks_is_listed_before_anything_is_written() {
    is_listed(Own::mariadb, PROGRAM);
}

#[test]
fn a_replay_that_is_stopped_says_what_is_left_on_the_server() {
    let stage = Stage::start(Own::postgres, &format!("{PROGRAM}import time; time.sleep(1)\ndb.execute('SELECT 1')\n"));
    let dsn = stage.dsn();
    let mut command = stage.place.command(&["replay", "taken", "--to", &dsn, "--speed", "0.01"]);
    let replaying = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
    let replaying = replaying.expect("the tool starts");
    wait_for("the content on the server", || {
        stage.asked("SELECT count(*) FROM information_schema.tables WHERE table_name = '_contend_schema'") == "1"
    });
    let of_dir = |dir: std::fs::DirEntry| std::fs::read_dir(dir.path()).into_iter().flatten().flatten();
    wait_for("the copy of the content to be removed", || {
        let entries = std::fs::read_dir(stage.place.bench.path("taken")).expect("a directory").flatten();
        let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("replay-"));
        let files: Vec<_> = own.flat_map(of_dir).map(|file| file.file_name()).collect();
        !files.is_empty() && !files.iter().any(|file| file == "begin.db")
    });
    let pid = rustix::process::Pid::from_child(&replaying);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let said = Said::from(replaying.wait_with_output().expect("it ends")).exits(130);
    let (_, remove) = said.err.split_once("to remove it: ").unwrap_or_else(|| panic!("{said:?}"));
    assert!(said.err.contains("stopped: nothing was compared"), "{said:?}");
    stage.asked(remove.lines().next().expect("a line"));
    assert_eq!(stage.objects(), "0");
    let mine = stage.place.bench.path("taken").display().to_string();
    wait_for("all processes to end", || crate::support::processes_mentioning(&mine).is_empty());
}
