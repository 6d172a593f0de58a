//! Foreign keys: the server enforces them for all connections, SQLite for those that turned them on.

use super::programs::both;
use super::{Stage, fed, text};

/// Connections of one process to its database: `a` turns foreign keys on after `b` has read the schema.
const TWO: &str = "import sqlite3, sys\n\
                   a, b = (sqlite3.connect(sys.argv[1], isolation_level=None) for _ in 'ab')\n\
                   def run(c, *statements):\n\
                   \x20   for sql in statements:\n\
                   \x20       try: print(c.execute(sql).fetchall())\n\
                   \x20       except sqlite3.Error as e: print(e)\n";

fn shim(stage: &Stage, script: &str) -> String {
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", &format!("{TWO}{script}"), &path]), "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

const REFUSED: &str = "foreign keys are off here, and the server would carry out the action of one";

#[test]
fn no_row_goes_with_its_parent_where_keys_are_off() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "run(a, 'CREATE TABLE p (id INTEGER PRIMARY KEY)', 'CREATE TABLE c (p INTEGER REFERENCES p ON DELETE CASCADE)')\n\
         run(a, 'INSERT INTO p VALUES (1)', 'INSERT INTO c VALUES (1)')\n\
         run(b, 'SELECT * FROM c')\n\
         run(a, 'PRAGMA foreign_keys = ON')\n\
         run(b, 'DELETE FROM p', 'SELECT * FROM c')\n",
    );
    assert!(said.contains(REFUSED) && said.ends_with("[(1,)]\n"), "{said}");
}

/// The trigger deletes the rows whose key has an action.
#[test]
fn a_trigger_is_refused_as_the_statement_in_it_would_be() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "run(a, 'CREATE TABLE parent (id INTEGER PRIMARY KEY)', 'CREATE TABLE c (p INTEGER REFERENCES parent ON DELETE CASCADE)')\n\
         run(a, 'CREATE TABLE q (n INTEGER)', 'CREATE TRIGGER t AFTER UPDATE ON q BEGIN DELETE FROM parent; END')\n\
         run(a, 'INSERT INTO parent VALUES (1)', 'INSERT INTO c VALUES (1)', 'INSERT INTO q VALUES (1)')\n\
         run(a, 'PRAGMA foreign_keys = ON')\n\
         run(b, 'UPDATE q SET n = 2', 'SELECT * FROM c', 'SELECT total_changes()')\n",
    );
    let (said, total) = said.trim_end().rsplit_once('\n').expect("lines");
    assert!(said.contains(REFUSED) && said.ends_with("[(1,)]"), "{said}");
    assert!(total.contains("total_changes() counts what triggers and foreign keys change"), "{total}");
}

/// An INSERT changes no other rows, and a name is more than a part of a word.
#[test]
fn what_changes_no_parent_is_not_refused() {
    let stage = Stage::start();
    let script = format!(
        "{TWO}run(a, 'CREATE TABLE p (id INTEGER PRIMARY KEY)', 'CREATE TABLE c (p INTEGER REFERENCES p ON DELETE CASCADE)')\n\
         run(a, 'CREATE TABLE p2 (id INTEGER)', 'CREATE TABLE \"new p\" (id INTEGER)', 'PRAGMA foreign_keys = ON')\n\
         run(b, 'INSERT INTO p VALUES (1), (2)', 'INSERT INTO p2 SELECT id FROM p', 'DELETE FROM p2 WHERE id = 1')\n\
         run(b, 'UPDATE p2 SET id = 3', 'SELECT * FROM p2')\n"
    );
    let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
    assert!(sqlite.ends_with("[(3,)]\n"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

/// Names that PostgreSQL's own types have.
#[test]
fn a_schema_with_keys_changes_beside_names_of_types() {
    let stage = Stage::start();
    let script = format!(
        "{TWO}run(a, 'PRAGMA foreign_keys = ON', 'CREATE TABLE record (id INTEGER PRIMARY KEY)')\n\
         run(a, 'CREATE TABLE regclass (id INTEGER PRIMARY KEY)', 'INSERT INTO regclass VALUES (7)')\n\
         run(a, 'CREATE TABLE c (r INTEGER REFERENCES record)', 'INSERT INTO c VALUES (1)')\n\
         run(a, 'CREATE TRIGGER text AFTER INSERT ON record BEGIN DELETE FROM regclass; END', 'CREATE TABLE d (x TEXT)')\n\
         run(a, 'INSERT INTO record VALUES (5)', 'SELECT * FROM regclass')\n"
    );
    let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
    assert!(sqlite.contains("FOREIGN KEY constraint failed") && sqlite.ends_with("[]\n"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

#[test]
fn what_another_table_refers_to_is_not_dropped() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "run(a, 'PRAGMA foreign_keys = ON', 'CREATE TABLE p (k INTEGER)', 'CREATE UNIQUE INDEX u ON p (k)')\n\
         run(a, 'CREATE TABLE c (p INTEGER REFERENCES p (k))', 'DROP INDEX u', 'DROP TABLE p')\n\
         run(a, 'INSERT INTO p VALUES (1)', 'INSERT INTO c VALUES (1)', 'SELECT p FROM c')\n",
    );
    assert_eq!(said.matches("other objects depend on it").count(), 2, "{said}");
    assert!(said.ends_with("[(1,)]\n"), "{said}");
}

/// Each connection of a pool sets it; all of them begin at once.
#[test]
fn many_connections_turn_keys_on_at_once() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "import threading\n\
         run(a, 'CREATE TABLE p (id INTEGER PRIMARY KEY)', 'CREATE TABLE c (p INTEGER REFERENCES p)')\n\
         many = [sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False, timeout=60) for _ in range(12)]\n\
         ready = threading.Barrier(len(many))\n\
         def turn(c):\n\
         \x20   ready.wait()\n\
         \x20   run(c, 'PRAGMA foreign_keys = ON', 'INSERT INTO c VALUES (1)')\n\
         threads = [threading.Thread(target=turn, args=(c,)) for c in many]\n\
         for t in threads: t.start()\n\
         for t in threads: t.join()\n",
    );
    assert_eq!(said.matches("FOREIGN KEY constraint failed").count(), 12, "{said}");
    assert_eq!(said.matches("[]").count(), 2 + 12, "{said}");
}
