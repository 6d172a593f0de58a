//! What is other on MariaDB: changes of the schema commit, foreign keys are checked at once, locks wait whole seconds.

use super::{Stage, fed, text};
use crate::support::wait_for;

/// Shows what each statement returns; with several connections a statement begins with the number of one.
const PROGRAM: &str = r#"
import sqlite3, sys
connections = {}
def connection(name):
    if name not in connections:
        connections[name] = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=1)
    return connections[name]
for line in sys.stdin:
    name, sql = line.rstrip("\n").split(" ", 1)
    c = connection(name)
    try:
        rows = c.execute(sql).fetchall()
        print(sql, rows, c.in_transaction, flush=True)
    except sqlite3.Error as e:
        print(sql, e.sqlite_errorname, e, c.in_transaction, flush=True)
"#;

/// What the statements return, a line each without the statement, and what contend prints.
pub fn run(stage: &Stage, options: &[&str], file: &str, statements: &[&str]) -> (Vec<String>, String) {
    let path = stage.path(file).display().to_string();
    let input: String = statements.iter().map(|sql| format!("{sql}\n")).collect();
    let output = fed(stage.shim(options, &["python3", "-c", PROGRAM, &path]), &input);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let out = text(&output.stdout);
    let line = |(line, sql): (&str, &&str)| {
        let (_, sql) = sql.split_once(' ').expect("a connection");
        line.strip_prefix(sql).expect("in order").trim().to_string()
    };
    assert_eq!(out.lines().count(), statements.len(), "{out}{said}");
    (out.lines().zip(statements).map(line).collect(), said)
}

/// The server names no table in this error.
#[test]
fn a_null_that_a_trigger_stores_is_named_by_its_own_table() {
    for stage in Stage::both() {
        let statements = [
            "1 CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n TEXT NOT NULL)",
            "1 CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT NOT NULL)",
            "1 CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES (new.a); END",
            "1 INSERT INTO t (a, n) VALUES ('x', 'y')",
            "1 INSERT INTO t (a, n) VALUES (NULL, 'y')",
            "1 INSERT INTO t (a, n) VALUES ('x', NULL)",
            "1 SELECT count(*) FROM t",
        ];
        let (lines, said) = run(&stage, &[], "a.db", &statements);
        let failed = |of: &str| format!("SQLITE_CONSTRAINT_NOTNULL NOT NULL constraint failed: {of} False");
        assert_eq!(lines[4..], [failed("log.what"), failed("t.n"), "[(1,)] False".to_string()], "{said}");
    }
}

#[test]
fn a_change_of_the_schema_never_commits_unseen() {
    let stage = Stage::mariadb();
    let statements = [
        "1 CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
        "1 BEGIN",
        "1 CREATE TABLE u (x TEXT)",
        "1 INSERT INTO u VALUES ('a')",
        "1 CREATE TABLE w (x TEXT)",
        "1 SAVEPOINT s",
        "1 INSERT INTO u VALUES ('b')",
        "1 ROLLBACK TO s",
        "1 COMMIT",
        "1 SELECT * FROM u",
        "1 BEGIN",
        "1 SAVEPOINT s",
        "1 DROP TABLE u",
        "1 ROLLBACK TO s",
        "1 ROLLBACK",
        "1 SELECT name FROM sqlite_master ORDER BY name",
        "1 INSERT INTO t (a) VALUES ('x')",
    ];
    let (lines, said) = run(&stage, &[], "a.db", &statements);
    assert!(
        lines[4].starts_with("SQLITE_ERROR contend shim: MariaDB commits before CREATE, ALTER and DROP"),
        "{lines:?}"
    );
    assert_eq!(lines[9], "[('a',)] False");
    assert!(lines[13].starts_with("SQLITE_ERROR contend shim: MariaDB has committed"), "{lines:?}");
    let kept = "SQLITE_ERROR contend shim: MariaDB cannot undo CREATE, ALTER and DROP";
    assert!(lines[14].starts_with(kept) && lines[14].ends_with(" False"), "{lines:?}");
    assert_eq!(lines[15..], ["[('t',)] False", "[] False"]);
    assert!(said.contains("CREATE TABLE w (x TEXT)\n    MariaDB commits before"), "{said}");
    // The user may want that.
    let statements = [
        "1 BEGIN",
        "1 INSERT INTO t (a) VALUES ('y')",
        "1 CREATE INDEX i ON t (a)",
        "1 INSERT INTO t (a) VALUES ('z')",
        "1 ROLLBACK",
        "1 SELECT a FROM t ORDER BY id",
    ];
    let (lines, _) = run(&stage, &["--ddl", "commit"], "a.db", &statements);
    assert!(lines[4].starts_with(kept), "{lines:?}");
    assert_eq!(lines[5], "[('x',), ('y',)] False", "what came before the change is kept, and the rest is not");
}

#[test]
fn a_definition_that_defines_nothing_commits_nothing() {
    let stage = Stage::mariadb();
    let statements = [
        "1 CREATE TABLE t (id INTEGER PRIMARY KEY)",
        "1 BEGIN",
        "1 INSERT INTO t VALUES (1)",
        "1 CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)",
        "1 CREATE VIRTUAL TABLE v USING fts5 (x)",
        "1 ROLLBACK",
        "1 SELECT * FROM t",
    ];
    let (lines, _) = run(&stage, &["--ddl", "commit"], "a.db", &statements);
    assert_eq!(lines[3], "[] True");
    assert!(lines[4].starts_with("SQLITE_ERROR"), "{lines:?}");
    assert_eq!(lines[5..], ["[] False", "[] False"]);
}

#[test]
fn a_definition_that_the_server_refuses_is_not_there() {
    let stage = Stage::mariadb();
    let long = format!("1 CREATE TABLE IF NOT EXISTS f ({} TEXT COLLATE NOCASE UNIQUE)", "n".repeat(60));
    let statements = [
        "1 PRAGMA foreign_keys = ON",
        "1 CREATE TABLE p (id INTEGER PRIMARY KEY)",
        "1 CREATE TABLE c (p INTEGER NOT NULL REFERENCES p ON DELETE SET NULL)",
        &long,
        "2 SELECT name FROM sqlite_master WHERE type = 'table'",
        "2 CREATE TABLE d (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p)",
        "1 INSERT INTO d VALUES (1, 7)",
    ];
    let (lines, _) = run(&stage, &[], "a.db", &statements);
    assert!(lines[2..4].iter().all(|line| line.starts_with("SQLITE_ERROR contend shim: ")), "{lines:?}");
    assert_eq!(lines[4..6], ["[('p',)] False", "[] False"]);
    assert!(lines[6].starts_with("SQLITE_CONSTRAINT_FOREIGNKEY"), "{lines:?}");
}

#[test]
fn a_statement_for_an_older_schema_is_translated_again() {
    let stage = Stage::mariadb();
    let statements = [
        "1 CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
        "1 INSERT INTO t VALUES (1, 'x')",
        "1 SELECT * FROM t",
        "2 ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'new'",
        "1 SELECT * FROM t",
        "2 ALTER TABLE t RENAME COLUMN a TO c",
        "1 INSERT INTO t (id, c) VALUES (2, 'y')",
        "1 BEGIN",
        "1 UPDATE t SET c = 'z' WHERE id = 2",
        // It waits for the transaction.
        "2 DROP TABLE t",
        "1 SELECT c, b FROM t ORDER BY id",
        "1 COMMIT",
        "2 DROP TABLE t",
        "1 INSERT INTO t (id) VALUES (3)",
    ];
    let (lines, _) = run(&stage, &[], "a.db", &statements);
    assert_eq!(lines[4], "[(1, 'x', 'new')] False");
    assert_eq!(lines[6], "[] False");
    assert_eq!(lines[9], "SQLITE_BUSY database is locked False");
    assert_eq!(lines[10], "[('x', 'new'), ('z', 'new')] True");
    assert_eq!(lines[13], "SQLITE_ERROR no such table: t False");
}

#[test]
fn locks_are_busy() {
    let stage = Stage::mariadb();
    let statements = [
        "1 CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
        "1 INSERT INTO t VALUES (1, 0), (2, 0)",
        "1 BEGIN",
        "1 UPDATE t SET n = 1 WHERE id = 1",
        "2 UPDATE t SET n = 2 WHERE id = 1",
        "2 BEGIN",
        "2 UPDATE t SET n = 2 WHERE id = 2",
        "2 UPDATE t SET n = 2 WHERE id = 1",
        // A statement that fails leaves the transaction as it was.
        "2 SELECT n FROM t WHERE id = 2",
        "2 COMMIT",
        "1 COMMIT",
        "1 SELECT n FROM t ORDER BY id",
        "1 BEGIN IMMEDIATE",
        "2 BEGIN IMMEDIATE",
        "1 COMMIT",
        "2 BEGIN IMMEDIATE",
        "2 ROLLBACK",
    ];
    let (lines, _) = run(&stage, &[], "a.db", &statements);
    let busy = "SQLITE_BUSY database is locked";
    assert_eq!(
        [&lines[4], &lines[7], &lines[13]],
        [&format!("{busy} False"), &format!("{busy} True"), &format!("{busy} False")]
    );
    assert_eq!([&lines[8], &lines[11], &lines[15]], ["[(2,)] True", "[(1,), (2,)] False", "[] True"]);
}

/// A process that ends between the steps of a change leaves them to the next one.
#[test]
fn a_change_that_was_interrupted_is_completed() {
    const ROWID: &str = ", _contend_rowid BIGINT NOT NULL AUTO_INCREMENT INVISIBLE UNIQUE";
    let stage = Stage::mariadb();
    let create = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)";
    run(
        &stage,
        &[],
        "a.db",
        &["1 PRAGMA foreign_keys = ON", &format!("1 {create}"), "1 INSERT INTO t VALUES (1, 'x')"],
    );
    let name = stage.server.asked("SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = 't'");
    let row = "INSERT INTO _contend_schema (type, name, tbl_name, \"sql\") VALUES ('table', 'u', 'u', \
               'CREATE TABLE u (x INTEGER REFERENCES t)')";
    let stored =
        format!("CREATE TABLE \"u\" (\"x\" BIGINT{ROWID}) ENGINE=InnoDB\u{1f}{}\u{1e}{row}", "DROP TABLE \"gone\"");
    // Its first statement was carried out.
    stage.server.asked(&format!(
        "SET NAMES utf8mb4; USE `{name}`; RENAME TABLE _contend_v3 TO _contend_changing3; \
         REPLACE INTO _contend_settings VALUES ('pending', '{}'); CREATE TABLE u (x BIGINT{ROWID}) ENGINE=InnoDB;",
        stored.replace('\'', "''")
    ));
    let statements = [
        "1 SELECT name FROM sqlite_master ORDER BY name",
        "1 PRAGMA foreign_keys = ON",
        "1 INSERT INTO u VALUES (1)",
        "1 INSERT INTO u VALUES (2)",
        "1 SELECT * FROM u",
    ];
    let (lines, _) = run(&stage, &[], "a.db", &statements);
    assert_eq!([0, 2, 4].map(|at| lines[at].as_str()), ["[('t',), ('u',)] False", "[] False", "[(1,)] False"]);
    assert!(lines[3].starts_with("SQLITE_CONSTRAINT_FOREIGNKEY"), "the key was added: {lines:?}");
    let left = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_contend\\_changing%'";
    assert_eq!(stage.server.asked(left), "0");
    // One whose first statement fails is forgotten.
    stage.server.asked(&format!(
        "USE `{name}`; INSERT INTO u VALUES (1); RENAME TABLE _contend_v4 TO _contend_changing4; \
         REPLACE INTO _contend_settings VALUES ('pending', 'CREATE UNIQUE INDEX i ON u (x)\u{1e}');"
    ));
    assert_eq!(run(&stage, &[], "a.db", &["1 SELECT count(*) FROM u"]).0, ["[(2,)] False"]);
}

/// The change waits for a lock when the program is killed.
#[test]
fn a_change_whose_program_is_killed_is_carried_out_or_not() {
    let stage = Stage::mariadb();
    let create = "1 CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)";
    run(&stage, &[], "a.db", &[create, "1 INSERT INTO t VALUES (1, 'x')"]);
    let name = stage.server.asked("SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = 't'");
    let lock = format!("LOCK TABLES `{name}`.t WRITE; SELECT SLEEP(4);");
    std::thread::scope(|scope| {
        scope.spawn(|| stage.server.asked(&lock));
        let waits = |state: &str| {
            let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '{state}'");
            wait_for(state, || stage.server.asked(&sql) == "1");
        };
        waits("User sleep");
        let path = stage.path("a.db").display().to_string();
        let script = "import os, signal, sqlite3, sys, threading\n\
            threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()\n\
            sqlite3.connect(sys.argv[1], timeout=10).execute('ALTER TABLE t ADD COLUMN b TEXT')\n";
        let output = fed(stage.shim(&[], &["python3", "-c", script, &path]), "");
        assert_eq!(output.status.code(), Some(137), "{}", text(&output.stderr));
    });
    let (lines, _) =
        run(&stage, &[], "a.db", &["1 SELECT * FROM t", "1 SELECT sql FROM sqlite_master WHERE name = 't'"]);
    assert_eq!(
        lines,
        ["[(1, 'x', None)] False", "[('CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT)',)] False"]
    );
}

/// The change waits for a lock when its connection is lost: the program cannot know whether it comes.
#[test]
fn a_change_whose_connection_is_lost_may_come_later_as_its_error_says() {
    let stage = Stage::mariadb();
    run(&stage, &[], "a.db", &["1 CREATE TABLE t (id INTEGER PRIMARY KEY)", "1 INSERT INTO t VALUES (1)"]);
    let name = stage.server.asked("SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = 't'");
    let lock = format!("LOCK TABLES `{name}`.t WRITE; SELECT SLEEP(4);");
    let waiting = "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata%'";
    let lines = std::thread::scope(|scope| {
        scope.spawn(|| stage.server.asked(&lock));
        let sleeping = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'";
        wait_for("the lock", || stage.server.asked(sleeping) == "1");
        let changing = scope.spawn(|| run(&stage, &[], "a.db", &["1 ALTER TABLE t ADD COLUMN b TEXT"]).0);
        wait_for("the change", || !stage.server.asked(waiting).is_empty());
        stage.server.asked(&format!("KILL {}", stage.server.asked(waiting)));
        changing.join().expect("ended")
    });
    assert!(
        lines[0].starts_with("SQLITE_IOERR ") && lines[0].contains("the change may be completed later"),
        "{lines:?}"
    );
    assert_eq!(run(&stage, &[], "a.db", &["1 SELECT * FROM t"]).0, ["[(1, None)] False"]);
}

/// Savepoints of which the server has nothing yet are not rows that a transaction has used.
#[test]
fn a_change_of_the_schema_may_follow_savepoints() {
    let stage = Stage::mariadb();
    let statements = [
        "1 BEGIN",
        "1 SAVEPOINT a",
        "1 SAVEPOINT b",
        "1 ROLLBACK TO b",
        "1 RELEASE b",
        "1 CREATE TABLE t (id INTEGER PRIMARY KEY)",
        "1 INSERT INTO t VALUES (1)",
        "1 SAVEPOINT c",
        "1 INSERT INTO t VALUES (2)",
        "1 ROLLBACK TO c",
        "1 RELEASE a",
        "1 COMMIT",
        "1 SELECT * FROM t",
    ];
    let (lines, _) = run(&stage, &[], "a.db", &statements);
    assert_eq!(lines[5], "[] True");
    assert_eq!(lines[12], "[(1,)] False", "{lines:?}");
}

#[test]
fn foreign_keys_are_those_of_the_connection() {
    let stage = Stage::mariadb();
    let statements = [
        "1 PRAGMA foreign_keys = ON",
        "1 CREATE TABLE p (id INTEGER PRIMARY KEY)",
        "1 CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)",
        "1 INSERT INTO c VALUES (1, 7)",
        "2 INSERT INTO c VALUES (1, 7)",
        "1 PRAGMA foreign_key_check",
        "1 INSERT INTO p VALUES (7), (8)",
        "1 PRAGMA foreign_key_check",
        "2 DELETE FROM p WHERE id = 8",
        "1 DELETE FROM p WHERE id = 7",
        "1 SELECT count(*) FROM c",
        "1 DROP TABLE p",
        "2 CREATE TABLE d (id INTEGER PRIMARY KEY, p INTEGER REFERENCES later)",
        "2 CREATE TABLE later (id INTEGER PRIMARY KEY)",
        "1 INSERT INTO d VALUES (1, 1)",
    ];
    let (lines, _) = run(&stage, &[], "a.db", &statements);
    let failed = "SQLITE_CONSTRAINT_FOREIGNKEY FOREIGN KEY constraint failed False";
    assert_eq!([3, 5, 14].map(|at| lines[at].as_str()), [failed; 3], "{lines:?}");
    assert_eq!([4, 7, 8, 9].map(|at| lines[at].as_str()), ["[] False"; 4], "{lines:?}");
    assert_eq!(lines[10], "[(0,)] False");
}

#[test]
fn files_of_any_name_are_found_again() {
    let stage = Stage::mariadb();
    let long = format!("{}.db", "d".repeat(120));
    for file in ["odd name's é\u{1F600}.db", "A.db", "a.db", &long] {
        let made = format!("1 CREATE TABLE t (x TEXT DEFAULT '{}')", file.len());
        run(&stage, &[], file, &[&made, "1 INSERT INTO t DEFAULT VALUES"]);
        assert_eq!(run(&stage, &[], file, &["1 SELECT * FROM t"]).0, [format!("[('{}',)] False", file.len())]);
    }
}
