//! Rare uses of SQLite, whose answers must be those of SQLite or errors.

use super::programs::both;
use super::{Stage, compiled, fed, text};
use crate::support::wait_for;

/// Python: `run` prints the rows of a statement, or the error.
pub const RUN: &str = "import sqlite3, sys\n\
                   c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                   def run(sql, *values):\n\
                   \x20   try: print(c.execute(sql, values).fetchall())\n\
                   \x20   except sqlite3.Error as e: print(e)\n";

/// What a Python program prints through the shim.
fn shim(stage: &Stage, script: &str) -> String {
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", &format!("{RUN}{script}"), &path]), "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// PostgreSQL has no such texts. The statement fails, and the transaction goes on.
#[test]
fn a_text_with_nul_ends_no_transaction() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "run('CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)')\n\
         run('BEGIN')\n\
         run('INSERT INTO t (x) VALUES (?)', 'before')\n\
         for i in range(5): run('INSERT INTO t (x) VALUES (?)', 'a\\0b')\n\
         run('SELECT x FROM t WHERE x = ?', 'a\\0')\n\
         run('INSERT INTO t (x) VALUES (?)', 'after')\n\
         run('COMMIT')\n\
         run('SELECT x FROM t ORDER BY id')\n",
    );
    assert_eq!(said.matches("the server has no texts with NUL").count(), 6, "{said}");
    assert!(said.ends_with("[]\n[]\n[('before',), ('after',)]\n"), "{said}");
}

/// Each process waits until another has made the functions or the database, and then finds them.
#[test]
fn processes_that_open_a_new_database_at_once_all_get_it() {
    const LOCKS: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    const COUNT: usize = 4;
    let stage = Stage::start();
    let script = format!("{RUN}run('SELECT count(*) FROM sqlite_schema')");
    // The lock is kept until all of them wait for it.
    let hold = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(7236834620953); DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM pg_sleep(0.1); \
         EXIT WHEN ({LOCKS} AND NOT granted) >= {COUNT}; END LOOP; \
         IF ({LOCKS} AND NOT granted) < {COUNT} THEN RAISE EXCEPTION 'too few processes wait'; END IF; END $$; COMMIT;"
    );
    // Only the first ones install the functions.
    for name in ["first.db", "second.db"] {
        let path = stage.path(name).display().to_string();
        let program = || {
            let output = fed(stage.shim(&[], &["python3", "-c", &script, &path]), "");
            assert_eq!(text(&output.stdout), "[(0,)]\n", "{}", text(&output.stderr));
        };
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| stage.server.asked(&hold));
            wait_for("the lock", || stage.server.asked(LOCKS) != "0");
            let programs = [(); COUNT].map(|()| scope.spawn(program));
            holder.join().expect("released");
            for program in programs {
                program.join().expect("opened");
            }
        });
    }
}

#[test]
fn a_process_that_does_not_get_the_lock_makes_nothing() {
    let stage = Stage::start();
    let path = stage.path("a.db").display().to_string();
    let opened = || fed(stage.shim(&[], &["python3", "-c", &format!("{RUN}run('SELECT 1')"), &path]), "");
    let schemas = || stage.server.asked("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%a.db'");
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| stage.server.asked("SELECT pg_advisory_lock(7236834620953), pg_sleep(15)"));
        wait_for("the lock", || stage.server.asked("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") != "0");
        let said = opened();
        assert!(text(&said.stderr).contains("unable to open database file"), "{}", text(&said.stderr));
        assert_eq!(schemas(), "0");
        holder.join().expect("released");
    });
    assert_eq!(text(&opened().stdout), "[(1,)]\n");
    assert_eq!(schemas(), "1");
}

/// An application may have its own message for a database that it cannot open.
#[test]
fn a_database_that_was_not_opened_is_in_the_summary() {
    let stage = Stage::start();
    let path = stage.path("there.db").display().to_string();
    rusqlite::Connection::open(&path).and_then(|db| db.execute_batch("CREATE TABLE t (x)")).expect("made");
    let script =
        "import sqlite3, sys\ntry: sqlite3.connect(sys.argv[1]).execute('SELECT 1')\nexcept sqlite3.Error: pass";
    let output = fed(stage.shim(&[], &["python3", "-c", script, &path]), "");
    let said = text(&output.stderr);
    assert!(said.contains(&format!("opening {path}\n")) && said.contains("its rows are in the file"), "{said}");
    assert!(said.contains("refused statements: 0, noted: 0. Databases that were not opened: 1."), "{said}");
}

/// The server gets the rowid that SQLite itself gave to a row of a temporary table.
#[test]
fn the_last_rowid_may_be_that_of_a_temporary_table() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}run('CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)')\n\
         run('CREATE TEMP TABLE s (id INTEGER PRIMARY KEY, x INTEGER)')\n\
         run('INSERT INTO t VALUES (100, 0)')\n\
         run('INSERT INTO s VALUES (7, 1)')\n\
         run('INSERT INTO t VALUES (200, last_insert_rowid())')\n\
         run('INSERT INTO s VALUES (8, last_insert_rowid())')\n\
         run('SELECT *, last_insert_rowid() FROM t ORDER BY id')\n\
         run('CREATE TABLE n (x INTEGER)')\n\
         run('INSERT INTO n VALUES (1)')\n\
         run('INSERT INTO s VALUES (9, 0)')\n\
         run('SELECT *, last_insert_rowid() FROM t ORDER BY id')\n\
         run('SELECT * FROM s')\n"
    );
    let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
    assert!(sqlite.contains("[(100, 0, 8), (200, 7, 8)]") && sqlite.contains("(200, 7, 9)"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

/// The server has SQLite's own functions and collations. Their uses are refused after the program replaced them: in statements
/// that it prepared before (Python keeps them), and where SQLite uses them for a table's CHECK or columns.
#[test]
fn functions_and_collations_that_the_program_replaces_are_refused() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "run(\"CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT, CHECK (Length(x) < 5))\")\n\
         run('CREATE TABLE u (id INTEGER PRIMARY KEY, x TEXT COLLATE NOCASE)')\n\
         run('CREATE TABLE plain (length TEXT)')\n\
         run('CREATE TABLE event (x TEXT CHECK (length(x) < 5))')\n\
         run('CREATE TABLE indexed (x TEXT)')\n\
         run('CREATE INDEX k ON indexed (lower(x))')\n\
         run('CREATE VIEW v AS SELECT lower(x) AS y FROM u')\n\
         run(\"INSERT INTO u VALUES (1, 'A')\")\n\
         uses = ['SELECT lower(x) FROM t', 'SELECT y FROM v', \"SELECT 1 FROM plain WHERE length LIKE 'a%'\", \
         'INSERT INTO t (x) VALUES (?)', \"SELECT 1 FROM u WHERE x = ?\", 'SELECT * FROM plain ORDER BY length COLLATE NOCASE', \
         'CREATE INDEX i ON t (x COLLATE NOCASE)', 'CREATE TABLE w (x TEXT CHECK (length(x) < 5))', \
         'INSERT INTO event VALUES (?)', 'INSERT INTO indexed VALUES (?)']\n\
         for sql in uses: run(sql, *(['a'] * sql.count('?')))\n\
         for sql in 'DROP INDEX i', 'DROP TABLE w': run(sql)\n\
         print('replaced')\n\
         c.create_function('lower', 1, str, deterministic=True)\n\
         c.create_function('length', 1, lambda x: 10)\n\
         c.create_function('event', 1, str)\n\
         c.create_function('count', 0, lambda: 0)\n\
         c.create_function('LIKE', 2, lambda x, y: False)\n\
         c.create_collation('NoCase', lambda x, y: 1)\n\
         for sql in uses: run(sql, *(['a'] * sql.count('?')))\n\
         print('others')\n\
         for sql in \"SELECT upper(length) FROM plain\", \"INSERT INTO plain VALUES ('b')\", 'SELECT length FROM plain': run(sql)\n\
         print('binary')\n\
         c.create_collation('BINARY', lambda x, y: (x < y) - (x > y))\n\
         run('SELECT * FROM plain ORDER BY length')\n",
    );
    let (before, after) = said.split_once("replaced\n").expect("a mark");
    let (after, others) = after.split_once("others\n").expect("a mark");
    let (others, binary) = others.split_once("binary\n").expect("a mark");
    assert!(!before.contains("contend shim"), "{before}");
    let lines: Vec<&str> = after.lines().collect();
    let names =
        ["lower()", "lower()", "like()", "length()", "nocase", "nocase", "nocase", "length()", "length()", "lower()"];
    for (line, name) in lines.iter().zip(names) {
        assert!(line.starts_with(&format!("contend shim: {name} is a ")), "{name}: {after}");
    }
    assert_eq!((lines.len(), others), (names.len(), "[]\n[]\n[('b',)]\n"), "{said}");
    assert!(binary.starts_with("contend shim: binary is a "), "{said}");
}

/// The library itself must not call functions of the program.
#[test]
fn a_replaced_like_does_not_change_the_schema() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}run('CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT)')\n\
         c.create_function('like', 3, lambda *values: 1)\n\
         run('CREATE TABLE u (x TEXT)')\n\
         c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
         run('CREATE INDEX i ON t (x)')\n\
         run('SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name')\n\
         run('SELECT * FROM t'), run('SELECT * FROM u')\n"
    );
    let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
    assert!(sqlite.ends_with("('table', 't'), ('table', 'u')]\n[]\n[]\n"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

#[test]
fn names_in_utf_16_are_noticed_too() {
    let stage = Stage::start();
    let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "registers"], "");
    assert!(sqlite.contains("step 100 mine "), "{sqlite}");
    let lines: Vec<&str> = shim.lines().skip(2).collect();
    assert!(lines[0].starts_with("step 100 a ") && lines[2].ends_with(" A 0 "), "{shim}");
    for (line, name) in [(lines[1], "lower()"), (lines[3], "rtrim")] {
        assert!(line.contains(&format!(" contend shim: {name} is a ")), "{shim}");
    }
}

#[test]
fn a_function_may_register_another_while_a_second_thread_uses_the_connection() {
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "meanwhile"], "");
        assert!(sqlite.ends_with(": 100 0 \n"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn threads_share_a_connection() {
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "shares"], "");
        assert!(sqlite.contains("busy 0\nbusy\nstep 9, busy 0\ntable 1 no such column: missing 1 0 0\n"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

/// By OR ROLLBACK, or where the COMMIT fails. The lock of BEGIN IMMEDIATE goes with it.
#[test]
fn the_servers_transaction_ends_with_that_of_sqlite() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}run('CREATE TABLE t (x TEXT)'), run('CREATE TEMP TABLE s (id INTEGER PRIMARY KEY)')\n\
         run('INSERT INTO s VALUES (1)'), run('BEGIN'), run('SAVEPOINT p'), run(\"INSERT INTO t VALUES ('undone')\")\n\
         run('INSERT OR ROLLBACK INTO s VALUES (1)'), print(c.in_transaction), run('SELECT * FROM t')\n\
         run(\"INSERT INTO t VALUES ('kept')\"), run('BEGIN'), run('ROLLBACK'), run('SELECT * FROM t')\n"
    );
    let (sqlite, shim_says) = both(&stage, &["python3", "-c", &script], "");
    assert!(sqlite.ends_with("False\n[]\n[]\n[]\n[]\n[('kept',)]\n"), "{sqlite}");
    assert_eq!(shim_says, sqlite);
    let said = shim(
        &stage,
        "run('CREATE TABLE p (id INTEGER PRIMARY KEY)')\n\
         run('CREATE TABLE c (p INTEGER REFERENCES p DEFERRABLE INITIALLY DEFERRED)'), run('PRAGMA foreign_keys = ON')\n\
         for i in range(4): run('BEGIN IMMEDIATE'), run('INSERT INTO c VALUES (9)'), run('COMMIT')\n\
         c = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n\
         run('BEGIN IMMEDIATE')\n",
    );
    assert_eq!(said.matches("FOREIGN KEY constraint failed").count(), 4, "{said}");
    assert!(said.ends_with("[]\n"), "the lock is free: {said}");
}

/// Python takes the first row of the PRAGMA, and does not step to its end. The child would have to read the schema again.
#[test]
fn a_timeout_is_set_at_once_and_a_child_leaves_the_connection_alone() {
    let stage = Stage::start();
    let script = format!(
        "import os, time\n{RUN}b = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n\
         c.execute('BEGIN IMMEDIATE'), b.execute('PRAGMA busy_timeout = 700')\n\
         begun = time.monotonic()\n\
         try: b.execute('BEGIN IMMEDIATE')\n\
         except sqlite3.OperationalError as e: print(e, time.monotonic() - begun > 0.6)\n\
         run('ROLLBACK')\n"
    );
    let (sqlite, shim_says) = both(&stage, &["python3", "-c", &script], "");
    assert_eq!(sqlite, "database is locked True\n[]\n");
    assert_eq!(shim_says, sqlite);
    let said = shim(
        &stage,
        "import os\n\
         for sql in 'CREATE TABLE t (x TEXT)', 'BEGIN', 'CREATE TABLE u (x TEXT)', 'ROLLBACK': run(sql)\n\
         sys.stdout.flush()\n\
         if os.fork() == 0: os.closerange(3, 99), run('SELECT * FROM t'), sys.stdout.flush(), os._exit(0)\n\
         os.wait(), run('SELECT * FROM t')\n",
    );
    assert!(said.ends_with("the connection belongs to the parent process\n[]\n"), "{said}");
}

/// Also within a transaction, where the PRAGMA would do nothing. What the server cannot do is an error.
#[test]
fn foreign_keys_are_enforced_without_the_pragma() {
    let stage = Stage::start();
    let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "configures"], "");
    let (sqlite, _) = sqlite.split_once("no triggers").expect("the last lines");
    let (shim, last) = shim.split_once("no triggers").expect("the last lines");
    assert_eq!(sqlite.matches("FOREIGN KEY constraint failed").count(), 3, "{sqlite}");
    assert_eq!(shim, sqlite);
    assert_eq!(last.matches(" 1 contend shim: SQLITE_DBCONFIG_").count(), 3, "{last}");
}

/// Libraries turn it on in every database. It matters to triggers alone.
#[test]
fn recursive_triggers_may_be_on_where_there_are_none() {
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  for sql in ['PRAGMA recursive_triggers = on', 'CREATE TABLE t (id INTEGER PRIMARY KEY)', 'CREATE TABLE l (x INTEGER)', 'INSERT INTO t VALUES (1)',\n\
                  \x20 'CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO l VALUES (new.id); END', 'SELECT * FROM t', 'PRAGMA recursive_triggers', 'DELETE FROM t']:\n\
                  \x20   try: print(c.execute(sql).fetchall())\n\
                  \x20   except sqlite3.Error as e: print(e)\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert!(sqlite.ends_with("[(1,)]\n[(1,)]\n[]\n"), "{sqlite}");
        let refused = "contend shim: recursive_triggers is on, and the database has triggers\n";
        assert_eq!(shim, sqlite.strip_suffix("[]\n").expect("the last statement").to_string() + refused);
    }
}

/// A statement that is there already, and one between two of its rows.
#[test]
fn authorizers_and_interrupts_reach_statements_that_are_there() {
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  def run(call):\n\
                  \x20   try: print(call())\n\
                  \x20   except sqlite3.Error as e: print(e)\n\
                  sql = 'SELECT x FROM t ORDER BY x'\n\
                  c.execute('CREATE TABLE t (x INTEGER)')\n\
                  c.executemany('INSERT INTO t VALUES (?)', [(n,) for n in range(9)])\n\
                  run(lambda: c.execute(sql).fetchall())\n\
                  c.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)\n\
                  run(lambda: c.execute(sql).fetchall())\n\
                  c.set_authorizer(None)\n\
                  rows = c.execute(sql)\n\
                  run(lambda: next(rows))\n\
                  c.interrupt()\n\
                  run(lambda: list(rows))\n\
                  run(lambda: c.execute(sql).fetchall())\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert!(sqlite.contains("not authorized\n") && sqlite.contains("interrupted\n"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

/// SQLite itself would read and write the local file, whose rows are on the server.
#[test]
fn a_database_in_memory_attaches_no_file() {
    let script = "import sqlite3, sys\n\
                  path = sys.argv[1]\n\
                  sqlite3.connect(path).execute('CREATE TABLE t (x INTEGER)')\n\
                  c = sqlite3.connect(':memory:', isolation_level=None)\n\
                  for sql in 'VACUUM', \"ATTACH ':memory:' AS b\", f\"ATTACH '{path}' AS a\", f\"VACUUM INTO '{path}2'\":\n\
                  \x20   try: print(c.execute(sql).fetchall())\n\
                  \x20   except sqlite3.Error as e: print(e)\n\
                  try: sqlite3.connect(f'file:{path}3?mode=rw', uri=True)\n\
                  except sqlite3.Error as e: print(e)\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert_eq!(sqlite, "[]\n[]\n[]\n[]\nunable to open database file\n");
        assert_eq!(shim, "[]\n[]\nnot authorized\nauthorization denied\nunable to open database file\n");
    }
}

/// Debian's SQLite reads URIs whenever a name begins like one.
#[test]
fn names_are_uris_where_sqlite_reads_them_so() {
    let script = "import sqlite3, sys\n\
                  path = sys.argv[1]\n\
                  def run(name, sql, **more):\n\
                  \x20   try: print(sqlite3.connect(name, isolation_level=None, **more).execute(sql).fetchall())\n\
                  \x20   except sqlite3.Error as e: print(e)\n\
                  run(path, 'CREATE TABLE t (x TEXT)')\n\
                  run('file:' + path, \"INSERT INTO t VALUES ('a')\")\n\
                  run('file:' + path + '?mode=ro', 'SELECT * FROM t')\n\
                  run('file:' + path + '?mode=ro', 'DELETE FROM t')\n\
                  run('file:' + path + '?mode=memory', 'SELECT * FROM sqlite_schema')\n\
                  run('file:' + path.replace('db', '%64b'), 'SELECT * FROM t', uri=True)\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert!(sqlite.contains("attempt to write a readonly database"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

/// Programs end transactions and close databases in handlers of `atexit` and destructors of threads.
#[test]
fn a_program_may_commit_and_close_while_it_ends() {
    for (when, stage) in ["exits", "thread"].into_iter().zip(Stage::both()) {
        let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), when], "");
        assert!(sqlite.ends_with("FROM t: 2 0 \nclosed 0\n"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn numbers_of_pragmas_are_read_by_sqlite() {
    let script = format!(
        "{RUN}for value in '0x1F', '-0x10', '7', \"'8'\", '+9', '-5', '3000000000', '2147483647', '1.9', 'word', '\"0xff\"':\n\
         \x20   for name in 'application_id', 'user_version':\n\
         \x20       run(f'PRAGMA {{name}} = {{value}}')\n\
         \x20       run(f'PRAGMA {{name}}')\n\
         run('BEGIN'), run('PRAGMA user_version(0x7)'), run('ROLLBACK'), run('PRAGMA user_version')\n"
    );
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
        assert!(sqlite.starts_with("[]\n[(31,)]\n"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

/// A connection has the address of one whose close has freed it and not returned. It must not lose its rows.
#[test]
fn a_connection_may_have_the_address_of_one_that_is_being_closed() {
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "reopens"], "");
        assert!(sqlite.ends_with("same address 1\nSELECT * FROM t: a 0 \n"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn a_statement_is_interrupted_after_a_reconnection_too() {
    let stage = Stage::start();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'contend shim'";
    let said = shim(
        &stage,
        &format!(
            "import os, subprocess, threading\n\
             run('CREATE TABLE t (x INTEGER)')\n\
             subprocess.run(['psql', 'postgres://me:geheim@127.0.0.1:{}/postgres', '-c', \"{end}\"], stdout=subprocess.DEVNULL)\n\
             run('SELECT 1 FROM t')\n\
             run('SELECT 1 FROM t')\n\
             is_done = threading.Event()\n\
             def interrupt():\n\
             \x20   while not is_done.wait(0.3): c.interrupt()\n\
             thread = threading.Thread(target=interrupt)\n\
             thread.start()\n\
             run('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000000) SELECT max(i) FROM n, t')\n\
             is_done.set()\n\
             thread.join()\n",
            stage.server.port
        ),
    );
    assert!(said.contains("disk I/O error") && said.ends_with("[]\ninterrupted\n"), "{said}");
}

#[test]
fn names_of_databases_have_letters_of_any_case() {
    let stage = Stage::start();
    let prepared = "run('CREATE TABLE u (x TEXT)'), run('CREATE TEMP TABLE t2 (x TEXT)')\n\
                    run(\"INSERT INTO u VALUES ('a')\"), run(\"INSERT INTO t2 VALUES ('b')\")\n";
    let said = shim(&stage, &format!("{prepared}run('CREATE TEMP TABLE z AS SELECT count(*) AS n FROM MAIN.u')\n"));
    assert!(said.contains("a temporary table or view of rows of the database"), "{said}");
    let script = format!(
        "{RUN}{prepared}for sql in 'SELECT count(*) FROM TEMP.t2', 'SELECT x FROM TEMP.t2', 'SELECT count(*) FROM MAIN.u', \
         'SELECT x FROM Main.U': run(sql)\n"
    );
    let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
    assert!(sqlite.ends_with("[(1,)]\n[('b',)]\n[(1,)]\n[('a',)]\n"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

/// SQLite does not report the databases of tables of which no column is read.
#[test]
fn rows_are_counted_where_sqlite_finds_the_table() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}run('CREATE TABLE t (x TEXT)'), run('CREATE TABLE u (x TEXT)')\n\
         run(\"INSERT INTO t VALUES ('a')\"), run('CREATE TEMP TABLE t (x TEXT)'), run('CREATE TEMP VIEW v AS SELECT 1 AS one')\n\
         run('CREATE TABLE y (x TEXT)'), run(\"INSERT INTO y VALUES ('a')\"), run('CREATE INDEX temp.y ON t (x)')\n\
         for sql in 'SELECT count(*) FROM T', 'SELECT 1 FROM t', 'SELECT count(*) FROM main.t', 'SELECT count(*) FROM u', \
         'SELECT count(*) FROM v', 'SELECT count(*) FROM y', 'WITH w(x) AS (VALUES (1), (2)) SELECT count(*) FROM w', \
         'WITH w(x) AS (VALUES (1), (2)) SELECT count(*) FROM w, main.t', 'SELECT count(*) FROM sqlite_temp_schema', \
         'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT count(*) FROM n': run(sql)\n"
    );
    let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
    assert!(
        sqlite.ends_with("[(0,)]\n[]\n[(1,)]\n[(0,)]\n[(1,)]\n[(1,)]\n[(2,)]\n[(2,)]\n[(3,)]\n[(9,)]\n"),
        "{sqlite}"
    );
    assert_eq!(shim, sqlite);
}
