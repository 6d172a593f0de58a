//! Rowids of tables without INTEGER PRIMARY KEY, upserts without a target, texts for integer columns, and queries that SQLite
//! answers over copies of rows.

use super::programs::both;
use super::{Stage, fed, text};
use std::process::Command;

const RUN: &str = "import sqlite3, sys\n\
                   c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                   def run(sql, *values):\n\
                   \x20   try: print(c.execute(sql, values).fetchall(), c.total_changes)\n\
                   \x20   except sqlite3.Error as e: print(e)\n";

/// Both servers print what SQLite prints, and no error.
fn same(script: &str) -> String {
    let program = format!("{RUN}{script}");
    let mut said = String::new();
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", &program], "");
        assert_eq!(shim, sqlite);
        assert!(!sqlite.contains("rror"), "{sqlite}");
        said = sqlite;
    }
    said
}

#[test]
fn rows_are_in_the_order_of_their_rowids() {
    let said = same(
        "run('CREATE TABLE t (a TEXT PRIMARY KEY, b INTEGER)')\n\
         for a in 'dbca': run('INSERT INTO t VALUES (?, 1)', a)\n\
         run('SELECT * FROM t ORDER BY rowid')\n\
         run('SELECT last_insert_rowid()')\n\
         run('UPDATE t SET b = 2 WHERE rowid = 2')\n\
         run(\"REPLACE INTO t VALUES ('c', 3)\")\n\
         run(\"INSERT INTO t VALUES ('d', 4) ON CONFLICT (a) DO UPDATE SET b = excluded.b\")\n\
         run('SELECT * FROM t ORDER BY ROWID DESC')\n\
         run('SELECT t.*, a FROM t ORDER BY t.rowid')\n\
         run('SELECT a FROM t AS x WHERE rowid IN (SELECT rowid FROM t ORDER BY b DESC LIMIT 2) ORDER BY _rowid_')\n\
         run('DELETE FROM t WHERE rowid IN (SELECT rowid FROM t WHERE b > 1 ORDER BY rowid LIMIT 1)')\n\
         run('WITH n AS (SELECT rowid, row_number() OVER (ORDER BY a) AS r FROM t) SELECT a, (SELECT r FROM n \
         WHERE n.rowid = t.rowid) FROM t WHERE t.rowid IN (SELECT rowid FROM n) ORDER BY a')\n\
         run('ALTER TABLE t ADD COLUMN z TEXT')\n\
         run('SELECT * FROM t ORDER BY oid')\n\
         run(\"INSERT INTO t SELECT a || '2', b, a FROM t ORDER BY a\")\n\
         run('SELECT * FROM t ORDER BY rowid')\n\
         run('CREATE VIEW v AS SELECT * FROM t')\n\
         run('SELECT * FROM v ORDER BY a')\n\
         run('SELECT count(*), (SELECT a FROM t ORDER BY rowid LIMIT 1) FROM v')\n\
         run('SELECT * FROM t UNION SELECT * FROM t ORDER BY 1')\n\
         run('DROP VIEW v')\n\
         run('ALTER TABLE t RENAME TO u')\n\
         run('ALTER TABLE u DROP COLUMN z')\n\
         run(\"INSERT INTO u VALUES ('y', 9) RETURNING *\")\n\
         run('SELECT * FROM u ORDER BY rowid')\n\
         run('PRAGMA table_info(u)')\n\
         run('CREATE TABLE w AS SELECT a, b FROM u ORDER BY a DESC')\n\
         run(\"INSERT INTO w VALUES ('last', 0)\")\n\
         run('SELECT * FROM w ORDER BY rowid')\n\
         run('SELECT * FROM w JOIN u USING (a) ORDER BY w.rowid')\n\
         run('CREATE TABLE k (a TEXT, b TEXT, PRIMARY KEY (a, b))')\n\
         for a in 'xyx': run(\"REPLACE INTO k VALUES (?, 'b')\", a)\n\
         run('SELECT a FROM k ORDER BY rowid')\n\
         run('CREATE TABLE log (a TEXT)')\n\
         run('CREATE TRIGGER after_k AFTER INSERT ON k BEGIN INSERT INTO log VALUES (new.a); END')\n\
         for a in 'qp': c.execute(\"INSERT INTO k VALUES (?, 'c')\", a)\n\
         print(c.execute('SELECT a FROM log ORDER BY rowid').fetchall())\n",
    );
    assert!(said.contains("[('d', 1), ('b', 1), ('c', 1), ('a', 1)] 4\n[(4,)]"), "{said}");
    assert!(said.contains("[('y',), ('x',)]"), "{said}");
}

/// Runs a script with the database of a path, with SQLite.
fn alone(script: &str, path: &str) -> String {
    let mut command = Command::new("python3");
    command.args(["-c", &format!("{RUN}{script}"), path]);
    let output = fed(command, "");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn migrate(stage: &Stage, from: &str, to: &str, further: &[&str]) {
    let args = [&["migrate", from, "--to", to], further].concat();
    let output = fed(stage.place.bench.command(&args), "");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// A file that goes to a server has its rowids there, further tables have some, too, and they come back.
#[test]
fn a_migrated_file_keeps_its_rowids() {
    let made = "run('CREATE TABLE t (a TEXT PRIMARY KEY, b INTEGER)')\n\
                for rowid, a in (7, 'a'), (-7, 'b'), (1000, 'c'), (0, 'd'): \
                run('INSERT INTO t (rowid, a) VALUES (?, ?)', rowid, a)\n\
                run('CREATE TABLE w (rowid TEXT, a TEXT)'), run(\"INSERT INTO w VALUES ('z', 'w')\")\n\
                run('CREATE TABLE log (a TEXT)')\n\
                run('CREATE TRIGGER g AFTER DELETE ON w BEGIN INSERT INTO log SELECT a FROM t WHERE rowid = 1001; END')\n\
                run('CREATE VIEW v AS SELECT rowid AS r, a FROM t')\n";
    let used = "c.create_function('mine', 1, str)\n\
                run('SELECT rowid, * FROM t ORDER BY rowid'), run('SELECT * FROM v ORDER BY r DESC')\n\
                run('SELECT a FROM t WHERE rowid = -7'), run('SELECT mine(a) FROM t ORDER BY rowid')\n\
                run(\"INSERT INTO t VALUES ('e', 5)\"), run('SELECT last_insert_rowid()')\n\
                run(\"UPDATE t SET b = 6 WHERE rowid = 7\"), run(\"INSERT OR REPLACE INTO t VALUES ('a', 7)\")\n\
                run('SELECT a, b FROM t ORDER BY rowid'), run('SELECT rowid FROM t WHERE b IS NULL ORDER BY a')\n\
                run(\"INSERT INTO w VALUES ('y', 'x')\"), run('SELECT last_insert_rowid()')\n\
                run('SELECT rowid, oid FROM w ORDER BY _rowid_')\n\
                run('CREATE TABLE later (a TEXT)'), run(\"INSERT INTO later VALUES ('q'), ('p')\")\n\
                run('SELECT rowid, a FROM later ORDER BY rowid'), run('ALTER TABLE t ADD COLUMN z TEXT')\n\
                run('DELETE FROM t WHERE rowid = (SELECT max(rowid) FROM t)'), run('SELECT * FROM t ORDER BY rowid')\n\
                c.execute(\"DELETE FROM w WHERE a = 'x'\"), print(c.execute('SELECT a FROM log').fetchall())\n";
    let all = "for table in 't', 'log', 'later': run(f'SELECT rowid, * FROM {table} ORDER BY rowid')\n\
               run('SELECT oid, * FROM w ORDER BY oid')\n";
    for stage in Stage::both() {
        let [file, sqlite, back] = ["m.db", "sqlite.db", "back.db"].map(|name| stage.path(name).display().to_string());
        alone(made, &file);
        std::fs::copy(&file, &sqlite).expect("copied");
        migrate(&stage, &file, &stage.dsn(), &[]);
        let output = fed(stage.shim(&[], &["python3", "-c", &format!("{RUN}{used}"), &file]), "");
        let said = alone(used, &sqlite);
        assert_eq!(text(&output.stdout), said);
        assert!(
            !said.contains("rror") && said.starts_with("[(-7, 'b', None), (0, 'd', None), (7, 'a', None)"),
            "{said}"
        );
        migrate(&stage, &stage.dsn(), &back, &[]);
        assert_eq!(alone(all, &back), alone(all, &sqlite));
    }
}

/// As of a file that was migrated before there were rowids: what depends on them stays refused.
#[test]
fn without_rowids_what_needs_them_is_refused() {
    let stage = Stage::start();
    let path = stage.path("m.db").display().to_string();
    alone("run('CREATE TABLE t (a TEXT)'), run(\"INSERT INTO t VALUES ('b'), ('a')\")\n", &path);
    migrate(&stage, &path, &stage.dsn(), &["--no-rowids"]);
    let asks = format!(
        "{RUN}c.create_function('mine', 1, str)\n\
         for sql in 'SELECT a FROM t ORDER BY rowid', 'SELECT mine(a) FROM t ORDER BY rowid', \
         'SELECT mine(a) FROM t ORDER BY a', 'CREATE TABLE u (a TEXT)', 'SELECT rowid FROM u': run(sql)\n"
    );
    let output = fed(stage.shim(&[], &["python3", "-c", &asks, &path]), "");
    let said = text(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let [by_rowid, mine, copied, "[] 0", later] = lines[..] else { panic!("{said}") };
    for refused in [by_rowid, mine, later] {
        assert!(refused.contains("has no INTEGER PRIMARY KEY, so the server has no rowid"), "{said}");
    }
    assert_eq!(copied, "[('a',), ('b',)] 0");
}

/// What began on a server comes back with its rowids, which are in no column.
#[test]
fn hidden_rowids_are_rowids_again() {
    for stage in Stage::both() {
        let script = format!(
            "{RUN}run('CREATE TABLE t (a TEXT, b INTEGER)')\n\
             run(\"INSERT INTO t VALUES ('x', 1), ('y', 2), ('z', 3)\"), run('DELETE FROM t WHERE b = 2')\n\
             run('SELECT * FROM t ORDER BY a'), run('SELECT sql FROM sqlite_master'), run('PRAGMA table_xinfo(t)')\n"
        );
        let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
        assert_eq!(shim, sqlite);
        let shim = stage.path("").canonicalize().expect("a directory").join("shim.db").display().to_string();
        let (server, _) =
            stage.server.dsn("geheim").rsplit_once('/').map(|(a, b)| (a.to_string(), b.to_string())).expect("a path");
        let back = stage.path("back.db").display().to_string();
        let from = match stage.is_mariadb() {
            true => format!("{server}/{}", shim.replace('/', "%2F")),
            false => stage.dsn(),
        };
        migrate(&stage, &from, &back, &[]);
        assert_eq!(alone("run('SELECT rowid, * FROM t ORDER BY rowid')\n", &back), "[(1, 'x', 1), (3, 'z', 3)] 0\n");
    }
}

#[test]
fn an_upsert_without_a_target_updates_the_row_of_the_only_key() {
    let said = same(
        "run('CREATE TABLE o (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, v TEXT, n INTEGER)')\n\
         run('CREATE UNIQUE INDEX o_name ON o (name)')\n\
         for name, v in ('a', '1'), ('b', '2'), ('A', '3'):\n\
         \x20   run('INSERT INTO o (name, v) SELECT CAST(column1 AS TEXT), CAST(column2 AS TEXT) FROM (VALUES (?, ?)) WHERE true \
         ON CONFLICT DO UPDATE SET name = CAST(excluded.name AS TEXT), v = excluded.v', name, v)\n\
         run('SELECT id, name, v FROM o ORDER BY id')\n\
         run(\"INSERT INTO o (name, v) VALUES ('B', '4') ON CONFLICT (name) DO UPDATE SET v = o.v || excluded.v\")\n\
         run(\"INSERT INTO o (name, v) VALUES ('b', '5') ON CONFLICT (name) DO NOTHING\")\n\
         run('SELECT id, name, v FROM o ORDER BY id')\n\
         run(\"INSERT INTO o (name, v, n) SELECT 'c', '6', '007' WHERE true\")\n\
         run(\"INSERT INTO o (name, v, n) SELECT name || '2', '1e2', '1e2' FROM o WHERE id = 1\")\n\
         run('SELECT name, v, n, typeof(v), typeof(n) FROM o ORDER BY name')\n",
    );
    assert!(said.contains("[(1, 'A', '3'), (2, 'b', '2')]"), "{said}");
    assert!(said.contains("('c', '6', 7, 'text', 'integer')"), "{said}");
}

/// With two keys SQLite decides by the first that conflicts.
#[test]
fn an_upsert_without_a_target_is_refused_where_two_keys_may_conflict() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}run('CREATE TABLE o (a TEXT UNIQUE, b TEXT UNIQUE)')\n\
         run(\"INSERT INTO o VALUES ('a', 'b') ON CONFLICT DO UPDATE SET a = 'x'\")\n"
    );
    let output = fed(stage.shim(&[], &["python3", "-c", &script, &stage.path("a.db").display().to_string()]), "");
    let said = text(&output.stdout);
    assert!(said.contains("where more than one unique key can conflict"), "{said}");
}

/// Functions of the program, temporary tables next to others, and what has no translation.
#[test]
fn sqlite_answers_over_copies_what_the_server_cannot() {
    let said = same(
        "c.create_function('month', 1, lambda date: int(date[5:7]) if isinstance(date, str) else date)\n\
         c.create_function('uses', 1, lambda x: c.execute('SELECT count(*) FROM p').fetchone()[0])\n\
         run('CREATE TABLE p (id INTEGER PRIMARY KEY, day TEXT, state TEXT COLLATE NOCASE, x REAL, y BLOB)')\n\
         run('CREATE TABLE e (id INTEGER PRIMARY KEY, z)')\n\
         run(\"INSERT INTO e VALUES (1, 1), (2, 'two'), (3, 0.1), (4, NULL), (5, x'00')\")\n\
         run('CREATE TABLE q (p INTEGER REFERENCES p, half INTEGER GENERATED ALWAYS AS (p / 2))')\n\
         run('CREATE VIEW v AS SELECT p.*, q.p AS other FROM p JOIN q ON q.p = p.id')\n\
         for i in range(1, 8): run('INSERT INTO p VALUES (?, ?, ?, ?, ?)', i, f'2026-{i % 3 + 1:02}-01' if i % 4 else None, \
         'open', i / 3, bytes([i]))\n\
         for i in (3, 2, 9): run('INSERT INTO q (p) VALUES (?)', i)\n\
         run('SELECT month(day), count(*), sum(x) FROM p GROUP BY month(day) ORDER BY 1')\n\
         run('SELECT p.id, typeof(z), z, y FROM p JOIN e USING (id) WHERE month(day) IN (?, 1) ORDER BY id', 2)\n\
         run('SELECT state, count(*) FROM p GROUP BY state')\n\
         run('SELECT month(day), other FROM v ORDER BY other')\n\
         run('SELECT half, p, month(?) FROM q ORDER BY rowid', '2026-07-01')\n\
         run('SELECT uses(id) FROM p WHERE id < 3')\n\
         run('SELECT last_insert_rowid()')\n\
         run('CREATE TEMP TABLE s (n INTEGER)'), run('INSERT INTO s VALUES (1), (2)')\n\
         run('SELECT n, day FROM s JOIN p ON p.id = n ORDER BY n')\n\
         run('PRAGMA foreign_keys')\n\
         run('BEGIN'), run(\"UPDATE p SET day = '2026-12-01' WHERE id = 1\")\n\
         run('SELECT id FROM p WHERE month(day) = 12'), run('ROLLBACK')\n\
         run('SELECT id FROM p WHERE month(day) = 12')\n\
         run('BEGIN IMMEDIATE'), run('DELETE FROM p WHERE month(day) = ? AND id IN (SELECT p FROM q)', 3)\n\
         run('DELETE FROM q WHERE month(p) = 9 OR p = 9'), run('SELECT p FROM q ORDER BY p')\n\
         run('SELECT changes(), total_changes()'), run('COMMIT'), run('SELECT id FROM p ORDER BY id')\n\
         run('SELECT count(*) FROM p'), run('SELECT n FROM s ORDER BY n')\n",
    );
    assert!(said.contains("[('open', 7)]") && said.contains("[(7,), (7,)]"), "{said}");
}

/// A function of the program that wants copies of its own, or would change what SQLite undoes afterwards, gets an error.
#[test]
fn a_copy_is_used_by_one_statement() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}c.create_function('plus', 1, lambda x: x + 1)\n\
         c.create_function('nests', 1, lambda x: c.execute('SELECT plus(id) FROM p').fetchone()[0])\n\
         c.create_function('keeps', 1, lambda x: c.execute('INSERT INTO s VALUES (3)').rowcount)\n\
         c.create_function('begins', 1, lambda x: c.execute('BEGIN').rowcount)\n\
         run('CREATE TABLE p (id INTEGER PRIMARY KEY)'), run('INSERT INTO p VALUES (1), (2)')\n\
         run('CREATE TEMP TABLE s (n INTEGER)')\n\
         for name in 'nests', 'keeps', 'begins', 'plus': run(f'SELECT {{name}}(id) FROM p ORDER BY id')\n\
         run('SELECT count(*) FROM s'), print(c.in_transaction)\n"
    );
    let output = fed(stage.shim(&[], &["python3", "-c", &script, &stage.path("a.db").display().to_string()]), "");
    let raised = "user-defined function raised exception\n".repeat(3);
    assert_eq!(text(&output.stdout), format!("[] 0\n[] 2\n[] 2\n{raised}[(2,), (3,)] 2\n[(0,)] 2\nFalse\n"));
}

/// It is listed with its number of rows, and what changes rows is refused.
#[test]
fn copies_are_listed_and_change_nothing() {
    let stage = Stage::start();
    let script = format!(
        "{RUN}c.create_function('mine', 1, str)\n\
         run('CREATE TABLE t (a TEXT)'), run(\"INSERT INTO t VALUES ('x'), ('y')\")\n\
         run('SELECT mine(a) FROM t'), run(\"UPDATE t SET a = mine('x')\"), run('SELECT count(*) FROM t')\n\
         run(\"DELETE FROM t WHERE mine(a) = 'x'\")\n\
         run(\"CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT RAISE(ABORT, 'no'); END\"), run('SELECT mine(a) FROM t')\n"
    );
    let list = stage.path("list").display().to_string();
    let database = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&["--log", &list], &["python3", "-c", &script, &database]), "");
    let said = text(&output.stdout);
    assert!(
        said.contains("[('x',), ('y',)] 2\ncontend shim: mine() is a function") && said.contains("[(2,)]"),
        "{said}"
    );
    assert!(said.ends_with("the server lacks; t has triggers\n"), "{said}");
    let list = std::fs::read_to_string(stage.path("list")).expect("the list");
    assert!(list.contains("answered by SQLite over a copy of 2 rows: mine() is a function"), "{list}");
}
