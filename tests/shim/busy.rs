//! Locks and conflicts of real servers, as programs see them: SQLITE_BUSY and SQLITE_BUSY_SNAPSHOT.

use super::mariadb::run;
use super::{Stage, fed, text};
use std::process::Stdio;

const TABLE: [&str; 2] =
    ["1 CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", "1 INSERT INTO t VALUES (1, 0), (2, 0)"];

fn lines(stage: &Stage, statements: &[&str]) -> Vec<String> {
    run(stage, &[], "a.db", &[&TABLE, statements].concat()).0.split_off(TABLE.len())
}

/// `55P03`: a lock that is not released in time is SQLITE_BUSY, and leaves the transaction as it was.
#[test]
fn a_lock_of_postgresql_is_busy() {
    let stage = Stage::start();
    let lines = lines(
        &stage,
        &[
            "1 BEGIN",
            "1 UPDATE t SET n = 1 WHERE id = 1",
            "2 UPDATE t SET n = 2 WHERE id = 1",
            "2 BEGIN",
            "2 UPDATE t SET n = 2 WHERE id = 2",
            "2 UPDATE t SET n = 2 WHERE id = 1",
            "2 SELECT n FROM t WHERE id = 2",
            "2 COMMIT",
            "1 COMMIT",
            "1 SELECT n FROM t ORDER BY id",
            "1 BEGIN IMMEDIATE",
            "2 BEGIN IMMEDIATE",
            "1 COMMIT",
            "2 BEGIN IMMEDIATE",
        ],
    );
    let busy = |inside| format!("SQLITE_BUSY database is locked {inside}");
    assert_eq!([&lines[2], &lines[5], &lines[11]], [&busy("False"), &busy("True"), &busy("False")], "{lines:?}");
    assert_eq!([&lines[6], &lines[9], &lines[13]], ["[(2,)] True", "[(1,), (2,)] False", "[] True"], "{lines:?}");
}

/// `40001`: a transaction that would overwrite what it has not read, or that could not have run after or before another one,
/// gets SQLITE_BUSY_SNAPSHOT; after ROLLBACK it may be repeated.
#[test]
fn a_serialization_failure_of_postgresql_is_busy_snapshot() {
    let stage = Stage::start();
    let lines = lines(
        &stage,
        &[
            "1 BEGIN",
            "1 SELECT n FROM t ORDER BY id",
            "2 UPDATE t SET n = 2 WHERE id = 1",
            "1 UPDATE t SET n = n + 1 WHERE id = 1",
            "1 ROLLBACK",
            "1 BEGIN",
            "1 UPDATE t SET n = n + 1 WHERE id = 1",
            "1 COMMIT",
            // Each reads what the other writes.
            "1 BEGIN",
            "2 BEGIN",
            "1 SELECT sum(n) FROM t",
            "2 SELECT sum(n) FROM t",
            "1 INSERT INTO t VALUES (3, 3)",
            "2 INSERT INTO t VALUES (4, 3)",
            "1 COMMIT",
            "2 COMMIT",
            "2 SELECT * FROM t ORDER BY id",
        ],
    );
    let snapshot = |inside| format!("SQLITE_BUSY_SNAPSHOT database is locked {inside}");
    assert_eq!([&lines[3], &lines[15]], [&snapshot("True"), &snapshot("False")], "{lines:?}");
    assert_eq!(
        [4, 6, 7, 14].map(|at| lines[at].as_str()),
        ["[] False", "[] True", "[] False", "[] False"],
        "{lines:?}"
    );
    assert_eq!(lines[16], "[(1, 3), (2, 0), (3, 3)] False", "{lines:?}");
}

/// Two programs wait for each other (`40P01`, 1213): one gets an error that tells it to begin again.
#[test]
fn a_deadlock_is_busy_snapshot() {
    for stage in Stage::both() {
        lines(&stage, &[]);
        let path = stage.path("a.db").display().to_string();
        // Each waits for the row of the other once that one has its own.
        let script = "import os, sqlite3, sys, time\n\
            c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)\n\
            mine, other = int(sys.argv[2]), 3 - int(sys.argv[2])\n\
            while True:\n\
            \x20   c.execute('BEGIN')\n\
            \x20   try:\n\
            \x20       c.execute('UPDATE t SET n = n + 10 WHERE id = ?', (mine,)); open(f'{sys.argv[1]}.has{mine}', 'w').close()\n\
            \x20       while not os.path.exists(f'{sys.argv[1]}.has{other}'): time.sleep(0.01)\n\
            \x20       c.execute('UPDATE t SET n = n + 10 WHERE id = ?', (other,)); c.execute('COMMIT'); break\n\
            \x20   except sqlite3.Error as e:\n\
            \x20       print(e.sqlite_errorname, c.in_transaction)\n\
            \x20       try: c.execute('SELECT * FROM t')\n\
            \x20       except sqlite3.Error as e: print(e.sqlite_errorname)\n\
            \x20       c.execute('ROLLBACK')\n";
        let children = ["1", "2"].map(|mine| {
            let mut command = stage.shim(&[], &["python3", "-c", script, &path, mine]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
        });
        let said: String = children.map(|child| text(&child.wait_with_output().expect("ended").stdout)).concat();
        assert!(said.starts_with("SQLITE_BUSY_SNAPSHOT True\n"), "{said}");
        if stage.is_mariadb() {
            assert!(said.starts_with("SQLITE_BUSY_SNAPSHOT True\nSQLITE_BUSY_SNAPSHOT\n"), "it is rolled back: {said}");
        } else {
            let deadlocks = "SELECT sum(deadlocks) > 0 FROM pg_stat_database";
            crate::support::wait_for("the count of deadlocks", || stage.server.asked(deadlocks) == "t");
        }
        let (lines, _) = run(&stage, &[], "a.db", &["1 SELECT n FROM t ORDER BY id"]);
        assert_eq!(lines, ["[(20,), (20,)] False"], "both have committed, once each");
    }
}

/// The statement waits for a row, which then has another value than in its snapshot. The program has seen nothing yet.
#[test]
fn the_first_statement_of_a_transaction_is_repeated_after_a_conflict() {
    for stage in Stage::both() {
        lines(&stage, &[]);
        let script = "import sqlite3, sys, threading, time\n\
            a, b = [sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60, check_same_thread=False) for _ in 'ab']\n\
            a.execute('BEGIN'); a.execute('UPDATE t SET n = n + 1 WHERE id = 1')\n\
            b.execute('BEGIN IMMEDIATE')\n\
            waits = threading.Thread(target=lambda: b.execute('UPDATE t SET n = n + 10 WHERE id = 1'))\n\
            waits.start(); time.sleep(0.5); a.execute('COMMIT'); waits.join()\n\
            b.execute('COMMIT'); print(b.execute('SELECT n FROM t ORDER BY id').fetchall())\n";
        let output = fed(stage.shim(&[], &["python3", "-c", script, &stage.path("a.db").display().to_string()]), "");
        assert_eq!(text(&output.stdout), "[(11,), (0,)]\n", "{}", text(&output.stderr));
    }
}

/// The other transaction has read what this one writes, and holds no lock.
#[test]
fn a_refused_transaction_that_began_immediate_has_its_own_advice() {
    let stage = Stage::start();
    let script = "import sqlite3, sys\n\
        a, b = [sqlite3.connect(sys.argv[1], isolation_level=None) for _ in 'ab']\n\
        a.execute('CREATE TABLE t (n INTEGER)')\n\
        a.execute('BEGIN'); a.execute('SELECT sum(n) FROM t').fetchall()\n\
        b.execute('BEGIN IMMEDIATE'); b.execute('SELECT sum(n) FROM t').fetchall()\n\
        a.execute('INSERT INTO t VALUES (1)'); b.execute('INSERT INTO t VALUES (2)'); a.execute('COMMIT')\n\
        try: b.execute('COMMIT')\n\
        except sqlite3.Error as e: print(e.sqlite_errorname)\n";
    let output = fed(stage.shim(&[], &["python3", "-c", script, &stage.path("a.db").display().to_string()]), "");
    let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text(&output.stdout), "SQLITE_BUSY_SNAPSHOT\n", "{said}");
    assert!(said.contains("It had begun with BEGIN IMMEDIATE.") && !said.contains("if it writes"), "{said}");
}

/// A program that ignores its errors, and ends without closing its connections.
#[test]
fn errors_that_the_program_received_are_in_the_summary_by_code() {
    let stage = Stage::start();
    let script = "import os, sqlite3, sys\n\
        a, b = [sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0.1) for _ in range(2)]\n\
        def run(c, *statements):\n\
        \x20   for sql in statements:\n\
        \x20       try: c.execute(sql).fetchall()\n\
        \x20       except sqlite3.Error as e: print(e.sqlite_errorname, flush=True)\n\
        run(a, 'CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT)', \"INSERT INTO t VALUES (1, 'secret'), (2, 'secret')\")\n\
        run(a, 'BEGIN', \"UPDATE t SET n = 'secret' WHERE id = 1\", 'DELETE FROM t WHERE id = 2')\n\
        run(b, 'DELETE FROM t WHERE id = 1', *[f\"UPDATE t SET n = 'secret {i}' WHERE id = {i}\" for i in (1, 2, 1)])\n\
        run(a, 'ROLLBACK')\n\
        run(b, \"INSERT INTO t VALUES (1, 'secret')\", \"SELECT secret FROM t WHERE n = 'secret'\", 'SELECT mine(n) FROM t')\n\
        run(b, 'CREATE TEMP TABLE own (x UNIQUE)', 'INSERT INTO own VALUES (1)', 'INSERT INTO own VALUES (1)')\n\
        run(a, 'BEGIN', 'SELECT n FROM t')\n\
        run(b, \"UPDATE t SET n = 'secret' WHERE id = 1\")\n\
        run(a, \"UPDATE t SET n = 'secret' WHERE id = 1\", 'ROLLBACK')\n\
        os._exit(0)\n";
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", script, &path]), "");
    let said = text(&output.stderr);
    let [busy, key, error] = ["SQLITE_BUSY\n", "SQLITE_CONSTRAINT_PRIMARYKEY\n", "SQLITE_ERROR\n"];
    let received = busy.repeat(4) + key + &error.repeat(2) + "SQLITE_CONSTRAINT_UNIQUE\nSQLITE_BUSY_SNAPSHOT\n";
    assert_eq!(text(&output.stdout), received, "{said}");
    let (_, errors) = said.split_once("contend: Errors that the program received:\n").expect("a list");
    let update = "    UPDATE t SET n = \u{2026} WHERE id = \u{2026}";
    // Without the advice, and the sentence at the end.
    let is_of_list = |line: &&str| *line == update || !line.starts_with(' ') && !line.ends_with('.');
    let lines: Vec<&str> = errors.lines().filter(is_of_list).collect();
    assert_eq!(
        lines,
        [
            "SQLITE_BUSY (5): 4 times, most often (3 times) from",
            update,
            "SQLITE_BUSY_SNAPSHOT (517): 1 time from",
            update,
            "SQLITE_ERROR (1): 2 times",
            "SQLITE_CONSTRAINT_PRIMARYKEY (1555): 1 time",
            "SQLITE_CONSTRAINT_UNIQUE (2067): 1 time",
        ],
        "{said}"
    );
    assert!(
        errors.contains("busy_timeout)") && errors.contains("contend: errors: 9, ") && !said.contains("secret"),
        "{said}"
    );
}
