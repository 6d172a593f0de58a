//! What may go wrong around a copy of rows: interrupts, other threads, other processes, functions that use the connection.

use super::corners::RUN;
use super::programs::both;
use super::{Stage, compiled, fed, text};

/// Both servers print what SQLite prints.
fn same(script: &str) -> String {
    let program = format!("{RUN}c.create_function('mine', 1, str)\n{script}");
    let mut said = String::new();
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", &program], "");
        assert_eq!(shim, sqlite);
        said = sqlite;
    }
    said
}

#[test]
fn a_table_that_a_temporary_one_hides_is_copied_with_all_its_columns() {
    let said = same(
        "run('CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT)'), run(\"INSERT INTO t VALUES (1, 'a', 'b')\")\n\
         run('CREATE TEMP TABLE t (id INTEGER, a TEXT)'), run(\"INSERT INTO temp.t VALUES (1, 'x')\")\n\
         run('SELECT m.b, x.a FROM main.t m JOIN temp.t x USING (id)')\n\
         try: c.execute(\"INSERT INTO main.t VALUES (1, 'c', 'd')\")\n\
         except sqlite3.Error as e: print(e.sqlite_errorname)\n",
    );
    assert!(said.ends_with("[('b', 'x')]\nSQLITE_CONSTRAINT_PRIMARYKEY\n"), "{said}");
}

/// The handler stops the statement after each number of instructions, the library's own included.
#[test]
fn an_interrupt_leaves_no_rows_and_loses_none() {
    let said = same(
        "run('CREATE TABLE t (x TEXT)'), run(\"INSERT INTO t VALUES ('p'), ('q')\"), run('CREATE TABLE u (x INTEGER)')\n\
         said, after = set(), set()\n\
         for steps in range(0, 1400, 7):\n\
         \x20   c.execute('BEGIN'), c.execute('INSERT INTO u VALUES (1)')\n\
         \x20   def stops():\n\
         \x20       global steps\n\
         \x20       steps -= 1\n\
         \x20       return steps < 0\n\
         \x20   c.set_progress_handler(stops, 1)\n\
         \x20   try: said.add(str(c.execute('SELECT mine(x) FROM t').fetchall()))\n\
         \x20   except sqlite3.Error as e: said.add(str(e))\n\
         \x20   c.set_progress_handler(None, 1)\n\
         \x20   after.add((c.in_transaction, str(c.execute('SELECT mine(x) FROM t').fetchall())))\n\
         \x20   c.execute('INSERT INTO u VALUES (2)'), c.execute('COMMIT'), after.add(c.in_transaction)\n\
         print(sorted(said), after - {False}), run('SELECT x, count(*) FROM u GROUP BY x ORDER BY x')\n",
    );
    assert!(said.contains("'interrupted'] {(True,") && said.ends_with("[(1, 200), (2, 200)]\n"), "{said}");
}

/// SQLite interrupts all statements until none is active.
#[test]
fn an_interrupt_stops_the_statement_over_a_copy_and_the_active_ones() {
    let said = same(
        "c.create_function('stop', 1, lambda x: c.interrupt())\n\
         run('CREATE TABLE t (x TEXT)'), run(\"INSERT INTO t VALUES ('p'), ('q')\")\n\
         run('CREATE TEMP TABLE s (n INTEGER)'), run('INSERT INTO s VALUES (1), (2), (3)')\n\
         for i in range(3):\n\
         \x20   active = c.execute('SELECT n FROM s')\n\
         \x20   print(active.fetchone()), run('SELECT stop(x) FROM t')\n\
         \x20   try: print(active.fetchone())\n\
         \x20   except sqlite3.Error as e: print(e)\n\
         \x20   run('SELECT mine(x) FROM t'), print(c.in_transaction)\n",
    );
    assert_eq!(said.matches("(1,)\ninterrupted\ninterrupted\n[('p',), ('q',)]\nFalse\n").count(), 3, "{said}");
}

/// Other threads commit and change a temporary table meanwhile; they repeat what gets `SQLITE_LOCKED`.
#[test]
fn other_threads_neither_keep_the_rows_nor_lose_theirs() {
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "copies"], "");
        assert!(
            sqlite.ends_with("rows 3 3\nSELECT count(*) FROM s: 200 0 \nSELECT count(*) FROM u: 100 0 \n"),
            "{sqlite}"
        );
        assert_eq!(shim, sqlite);
    }
}

/// It is prepared again with the new columns, as by SQLite.
#[test]
fn another_process_may_change_the_columns_between_two_steps() {
    let said = same(
        "c.execute('CREATE TABLE t (a TEXT)'), c.execute(\"INSERT INTO t VALUES ('p')\")\n\
         other = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
         for change in None, 'ALTER TABLE t ADD COLUMN b TEXT', 'ALTER TABLE t RENAME COLUMN b TO z', 'ALTER TABLE t DROP COLUMN z':\n\
         \x20   if change: other.execute(change)\n\
         \x20   asked = c.execute('SELECT *, mine(a) FROM t')\n\
         \x20   print([column[0] for column in asked.description], asked.fetchall())\n",
    );
    assert!(said.contains("['a', 'z', 'mine(a)'] [('p', None, 'p')]\n"), "{said}");
}

/// SQLite would keep the row, and the rowid.
#[test]
fn a_function_changes_no_rows_of_the_server_while_it_is_called_over_a_copy() {
    let script = format!(
        "{RUN}def changes(x):\n\
         \x20   try: return c.execute('INSERT INTO u VALUES (9)').rowcount\n\
         \x20   except sqlite3.Error as e: return str(e)\n\
         c.create_function('changes_rows', 1, changes)\n\
         run('CREATE TABLE t (x TEXT)'), run(\"INSERT INTO t VALUES ('p')\"), run('CREATE TABLE u (x INTEGER)')\n\
         run('SELECT changes_rows(x) FROM t'), run('SELECT count(*) FROM u'), run('INSERT INTO u VALUES (1)')\n"
    );
    for stage in Stage::both() {
        let output = fed(stage.shim(&[], &["python3", "-c", &script, &stage.path("a.db").display().to_string()]), "");
        let words = "contend shim: the connection is executing a statement over a copy of rows";
        assert_eq!(text(&output.stdout), format!("[]\n[]\n[]\n[('{words}',)]\n[(0,)]\n[]\n"));
    }
}

/// Also as the first change, before the server enforces them.
#[test]
fn a_delete_over_a_copy_leaves_the_parents_of_rows() {
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &[&compiled(&stage, "corners"), "deletes"], "");
        let refused = "1 contend shim: mine() is a function of the application, which the server lacks; a DELETE needs an open \
                       transaction, and a table with rowids to which no enforced foreign key refers";
        assert!(sqlite.ends_with("SELECT count(*) FROM p: 1 0 \n"), "{sqlite}");
        assert_eq!(shim, sqlite.replace("19 FOREIGN KEY constraint failed", refused));
    }
}

/// A query that was answered and then refused is in both lists, one that failed in none.
#[test]
fn what_was_answered_is_noted_and_what_is_refused_later_is_listed() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}c.create_function('mine', 1, str)\n\
         c.create_function('fails', 1, lambda x: 1 / 0)\n\
         run('CREATE TABLE t (a TEXT)'), run(\"INSERT INTO t VALUES ('x')\")\n\
         run('SELECT fails(a) FROM t'), run('SELECT mine(a) FROM t')\n\
         run(\"CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT RAISE(ABORT, 'no'); END\"), run('SELECT mine(a) FROM t')\n"
    );
    let output = fed(stage.shim(&[], &["python3", "-c", &script, &stage.path("a.db").display().to_string()]), "");
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert!(out.ends_with("[('x',)]\n[]\ncontend shim: mine() is a function of the application, which the server lacks; t has triggers\n"), "{out}");
    assert!(said.contains("refused statements: 1, noted: 1."), "{said}");
}
