//! Schemas that change under prepared statements, names that the server has too, and the end of contend itself.

use super::programs::both;
use super::{Stage, compiled, fed, is_there, text};
use crate::support::wait_for;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

/// The same connection, another one, views, exec and RETURNING; and interrupts of a connection that does nothing.
#[test]
fn prepared_statements_follow_the_schema() {
    for stage in Stage::both() {
        let (mut sqlite, mut shim) = both(&stage, &[&compiled(&stage, "changes")], "");
        assert!(sqlite.lines().count() > 80, "{sqlite}");
        if stage.is_mariadb() {
            // What follows a ROLLBACK of ALTER TABLE differs.
            let first = |text: &str| text.split("ROLLBACK: ").next().map(str::to_string).expect("a part");
            assert!(shim.contains("ROLLBACK: 1 contend shim: MariaDB cannot undo CREATE, ALTER and DROP"), "{shim}");
            (sqlite, shim) = (first(&sqlite), first(&shim));
            assert!(sqlite.lines().count() > 30, "{sqlite}");
        }
        assert_eq!(shim, sqlite);
    }
}

/// Python keeps statements by their texts.
#[test]
fn a_cached_statement_has_the_names_of_its_rows() {
    let stage = Stage::start();
    let script = "import sqlite3, sys\n\
                  a = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  b = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  a.row_factory = sqlite3.Row\n\
                  for s in ('create table u (name text, pw text)', \"insert into u values ('ada', 'hidden')\", \
                  'select * from u', 'begin', 'alter table u rename to o', 'create table u (pw text, name text)', \
                  'insert into u select pw, name from o', 'drop table o', 'commit'): a.execute(s).fetchall()\n\
                  print(dict(a.execute('select * from u').fetchall()[0]))\n\
                  b.execute(\"alter table u add column z text default 'new'\")\n\
                  for _ in range(2): print(dict(a.execute('select * from u').fetchall()[0]))\n";
    let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
    assert!(sqlite.contains("'z': 'new'"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

/// The connection reads the other one's schema in a transaction, which it then rolls back.
#[test]
fn a_rollback_does_not_bring_an_earlier_schema_back() {
    let script = "import sqlite3, sys\n\
                  a = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  b = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  for s in ('create table t (x text, y text)', \"insert into t values ('1', '2')\"): b.execute(s)\n\
                  print(a.execute('select * from t').fetchall())\n\
                  for s in ('alter table t rename column y to z', 'create table u (w text)'): b.execute(s)\n\
                  for last in ('rollback', 'rollback to inner'):\n\
                  \x20   for s in ('begin', 'savepoint inner', 'select * from t', last): a.execute(s).fetchall()\n\
                  \x20   print([d[0] for d in a.execute('select * from t').description])\n\
                  \x20   if a.in_transaction: a.execute('commit')\n\
                  \x20   b.execute('alter table u add column more' + str(len(last)) + ' text')\n\
                  a.execute('create index by_z on t (z)')\n\
                  c = sqlite3.connect(sys.argv[1])\n\
                  print(*c.execute('select type, name, sql from sqlite_schema').fetchall(), sep='\\n')\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert!(sqlite.contains("['x', 'z']") && sqlite.contains("'by_z'"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

/// The server keeps 63 bytes of a name.
#[test]
fn savepoints_with_long_names_are_two() {
    let stage = Stage::start();
    let script = "import sqlite3, sys\n\
                  a = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  outer, inner = 'n' * 70 + 'o', 'n' * 70 + 'i'\n\
                  for s in ('create table t (x text)', 'begin', 'savepoint ' + outer, \"insert into t values ('1')\", \
                  'savepoint ' + inner, \"insert into t values ('2')\", 'rollback to ' + outer, \"insert into t values ('3')\", \
                  'commit'): a.execute(s)\n\
                  print(a.execute('select x from t').fetchall())\n";
    let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
    assert_eq!(sqlite, "[('3',)]\n");
    assert_eq!(shim, sqlite);
}

/// Workers of a web server begin together, and each makes what is missing.
#[test]
fn programs_that_make_the_same_tables_at_once_all_succeed() {
    for stage in Stage::both() {
        let path = stage.path("a.db").display().to_string();
        let script = "import os, sqlite3, sys, time\n\
            c = sqlite3.connect(sys.argv[1], timeout=30)\n\
            open(f'{sys.argv[1]}.ready{sys.argv[2]}', 'w').close()\n\
            while not os.path.exists(sys.argv[1] + '.go'): time.sleep(0.001)\n\
            for n in range(4):\n\
            \x20   c.execute(f'CREATE TABLE IF NOT EXISTS t{n} (id INTEGER PRIMARY KEY, name TEXT UNIQUE)')\n\
            \x20   c.execute(f'CREATE INDEX IF NOT EXISTS by_name{n} ON t{n} (name, id)')\n\
            c.execute(f'CREATE TABLE own{sys.argv[2]} (id INTEGER PRIMARY KEY)')\n\
            c.execute('INSERT INTO t3 (name) VALUES (?)', (sys.argv[2],))\n\
            c.commit()\n\
            try: c.execute('CREATE TABLE t0 (id)')\n\
            except sqlite3.OperationalError as e: print(e)\n";
        let numbers = ["0", "1", "2", "3", "4", "5"];
        let children = numbers.map(|number| {
            let mut command = stage.shim(&[], &["python3", "-c", script, &path, number]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
        });
        let is_ready = |number: &str| Path::new(&format!("{path}.ready{number}")).exists();
        wait_for("all programs", || numbers.iter().all(|number| is_ready(number)));
        std::fs::write(format!("{path}.go"), "").expect("written");
        for child in children {
            let done = child.wait_with_output().expect("ended");
            assert_eq!(text(&done.stdout), "table t0 already exists\n", "{}", text(&done.stderr));
        }
        let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
            print(c.execute('SELECT count(*) FROM sqlite_master WHERE sql IS NOT NULL').fetchall(), \
            c.execute('SELECT name FROM t3 ORDER BY name').fetchall())";
        let done = fed(stage.shim(&[], &["python3", "-c", script, &path]), "");
        let names: Vec<String> = numbers.iter().map(|number| format!("('{number}',)")).collect();
        assert_eq!(text(&done.stdout), format!("[(14,)] [{}]\n", names.join(", ")), "{}", text(&done.stderr));
    }
}

/// Autovacuum has a lock on the table, and gives it up once another session has waited for a second. SQLite has no such
/// thing, so to the program nothing else holds a lock.
#[test]
fn a_change_of_the_schema_outlasts_autovacuum() {
    let stage = Stage::with(
        "-c autovacuum_naptime=1 -c autovacuum_vacuum_cost_delay=100 -c autovacuum_vacuum_cost_limit=1 \
         -c autovacuum_vacuum_threshold=1",
    );
    let path = stage.path("a.db").display().to_string();
    let run = |sql: &str| {
        let script = format!("import sqlite3, sys\nsqlite3.connect(sys.argv[1], timeout=0.2).executescript({sql:?})");
        let done = fed(stage.shim(&[], &["python3", "-c", &script, &path]), "");
        assert_eq!(done.status.code(), Some(0), "{sql}: {}", text(&done.stderr));
    };
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)");
    let schema = format!("{}/a.db", stage.path("").canonicalize().expect("a directory").display());
    stage.server.asked(&format!(
        "INSERT INTO \"{schema}\".t SELECT n, repeat('x', 500) FROM generate_series(1, 20000) AS n; \
         DELETE FROM \"{schema}\".t;"
    ));
    let vacuums = format!(
        "SELECT count(*) FROM pg_locks WHERE relation = '\"{schema}\".t'::regclass AND mode = 'ShareUpdateExclusiveLock'"
    );
    wait_for("autovacuum", || stage.server.asked(&vacuums) == "1");
    run("ALTER TABLE t ADD COLUMN y TEXT; INSERT INTO t (x, y) VALUES ('a', 'b')");
    assert_eq!(stage.server.asked(&format!("SELECT x || y FROM \"{schema}\".t")), "ab");
}

#[test]
fn a_view_whose_columns_would_change_stops_the_change() {
    let stage = Stage::start();
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  c.execute('CREATE TABLE u (x TEXT)')\n\
                  c.execute('CREATE VIEW v AS SELECT * FROM u')\n\
                  for sql in 'ALTER TABLE u ADD COLUMN y TEXT', 'ALTER TABLE u RENAME COLUMN x TO z', 'CREATE TABLE text (x TEXT)':\n\
                  \x20   try: c.execute(sql)\n\
                  \x20   except sqlite3.OperationalError as e: print(e)\n\
                  print([d[0] for d in c.execute('SELECT * FROM v').description])\n";
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", script, &path]), "");
    let said = text(&output.stdout);
    assert_eq!(said.matches("the columns of the view v would change").count(), 2, "{said}{}", text(&output.stderr));
    assert!(said.contains("a table cannot be named text") && said.ends_with("['x']\n"), "{said}");
}

/// Another process reads the statements of the schema in their order.
#[test]
fn a_renamed_table_keeps_its_place_and_its_triggers() {
    let stage = Stage::start();
    let make = "import sqlite3, sys\n\
                c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                for sql in ('CREATE TABLE log (what TEXT)', 'CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT)', \
                'CREATE INDEX by_x ON a (x)', 'CREATE TABLE b (a INTEGER REFERENCES a)', \
                'CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO log VALUES (new.x); END', \
                'ALTER TABLE a RENAME TO z', 'ALTER TABLE log RENAME TO what', 'ALTER TABLE z RENAME COLUMN x TO y'): c.execute(sql)\n";
    let read = "import sqlite3, sys\n\
                c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                c.execute(\"INSERT INTO z (y) VALUES ('new')\")\n\
                print(c.execute('SELECT * FROM what').fetchall())\n\
                print(*c.execute('SELECT type, name, tbl_name, sql FROM sqlite_schema').fetchall(), sep='\\n')\n";
    both(&stage, &["python3", "-c", make], "");
    let (sqlite, shim) = both(&stage, &["python3", "-c", read], "");
    assert!(sqlite.contains("('index', 'by_x', 'z'") && sqlite.contains("[('new',)]"), "{sqlite}");
    assert_eq!(shim, sqlite);
}

/// A file that moved has its rows for itself; a new file at its old path does not read them.
#[test]
fn two_files_do_not_share_a_schema() {
    let stage = Stage::start();
    let path = stage.path("").canonicalize().expect("a directory").join("a.db").display().to_string();
    let opens = |file: &str, sql: &str| {
        let script = "import sqlite3, sys\n\
                      try: print(sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2]).fetchall())\n\
                      except sqlite3.OperationalError as e: print(e)\n";
        let output = fed(stage.shim(&[], &["python3", "-c", script, file, sql]), "");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    opens(&path, "CREATE TABLE t (x TEXT)");
    opens(&path, "INSERT INTO t VALUES ('old')");
    let moved = path.replace("a.db", "moved.db");
    stage.server.asked(&format!("COMMENT ON TABLE \"{path}\"._contend_schema IS '{moved}'"));
    let said = opens(&path, "SELECT * FROM t");
    assert!(said.contains(&format!("the schema {path} is the database of {moved}")), "{said}");
    assert_eq!(opens(&moved, "SELECT * FROM t"), "[('old',)]\n");
    // The schema is found by its comment alone.
    stage.server.asked(&format!("CREATE TABLE \"{path}\"._contend_v99 ()"));
    assert_eq!(opens(&moved, "SELECT * FROM t"), "[('old',)]\n");
    stage.server.asked(&format!("DROP TABLE \"{path}\"._contend_v99"));
    // As the message says.
    stage.server.asked(&format!("ALTER SCHEMA \"{path}\" RENAME TO \"{moved}\""));
    assert_eq!(opens(&path, "SELECT * FROM sqlite_schema"), "[]\n");
    assert_eq!(opens(&moved, "SELECT * FROM t"), "[('old',)]\n");
}

#[test]
fn tables_named_as_the_servers_are_refused() {
    let stage = Stage::start();
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  for t in 'pg_class', 'pg_type', 'pg_roles', 'pg_authid', 'pg_user':\n\
                  \x20   try: c.execute(f'CREATE TABLE {t} (id INTEGER PRIMARY KEY, oid INTEGER, name TEXT UNIQUE)')\n\
                  \x20   except sqlite3.OperationalError as e: print(e)\n";
    let servers = || stage.server.asked("SELECT count(*) FROM pg_roles UNION ALL SELECT count(*) FROM pg_user");
    let before = servers();
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", script, &path]), "");
    let said = text(&output.stdout);
    assert_eq!(said.matches("reserves names that begin with pg_").count(), 5, "{said}{}", text(&output.stderr));
    assert_eq!(servers(), before);
}

/// SQLite reads triggers and views again with the table that now has the name.
#[test]
fn triggers_and_views_follow_a_table_that_is_made_again() {
    const TRIGGER: &[&str] = &[
        "CREATE TABLE t (a TEXT)",
        "CREATE TABLE u (id INTEGER PRIMARY KEY)",
        "CREATE TABLE log (k TEXT)",
        "CREATE TRIGGER g AFTER INSERT ON u BEGIN INSERT INTO log SELECT typeof(a) FROM t; END",
        "INSERT INTO t VALUES ('1')",
        "INSERT INTO u VALUES (1)",
        "DROP TABLE t",
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO u VALUES (2)",
        "SELECT k FROM log ORDER BY k",
    ];
    // PostgreSQL drops no table that a view uses.
    const VIEW: &[&str] = &[
        "CREATE VIEW v AS SELECT typeof(a) AS k FROM t",
        "SELECT k FROM v",
        "DROP TABLE t",
        "CREATE TABLE t (a TEXT)",
        "INSERT INTO t VALUES ('1')",
        "SELECT k FROM v",
        "INSERT INTO u VALUES (3)",
        "SELECT k FROM log ORDER BY k",
    ];
    let script = |statements: &[&str]| {
        format!(
            "import sqlite3, sys\n\
             c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
             for sql in {statements:?}:\n\
             \x20   try: print(sql, c.execute(sql).fetchall())\n\
             \x20   except sqlite3.Error as e: print(sql, 'error', e)\n"
        )
    };
    for stage in Stage::both() {
        let statements = if stage.is_mariadb() { [TRIGGER, VIEW].concat() } else { TRIGGER.to_vec() };
        let (sqlite, shim) = both(&stage, &["python3", "-c", &script(&statements)], "");
        assert!(sqlite.contains("[('integer',), ('text',)]"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn no_table_is_dropped_while_rows_are_read() {
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  def run(sql):\n\
                  \x20   try: print(sql, c.execute(sql).fetchall())\n\
                  \x20   except sqlite3.Error as e: print(sql, e.sqlite_errorname, e)\n\
                  for sql in ('CREATE TABLE t (x TEXT)', 'CREATE TABLE u (x TEXT)', 'CREATE INDEX i ON u (x)', \
                  'CREATE VIEW v AS SELECT x FROM u', \"INSERT INTO t VALUES ('a'), ('b'), ('c')\"): run(sql)\n\
                  reading = c.execute('SELECT x FROM t ORDER BY x')\n\
                  print(reading.fetchone())\n\
                  for sql in ('DROP VIEW v', 'DROP INDEX i', 'DROP TABLE IF EXISTS missing', 'DROP TABLE u'): run(sql)\n\
                  print(reading.fetchall())\n\
                  for sql in ('DROP INDEX i', 'DROP TABLE u'): run(sql)\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert_eq!(sqlite.matches("SQLITE_LOCKED database table is locked").count(), 2, "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn the_program_and_its_password_go_with_contend() {
    if !is_there(Path::new("/usr/bin/setpriv").is_file(), "setpriv", "the end of a program whose contend is killed") {
        return;
    }
    let stage = Stage::start();
    let said = stage.path("said");
    let script = format!("echo $$ $CONTEND_SHIM > {}; exec sleep 600", said.display());
    let mut contend = stage.shim(&[], &["sh", "-c", &script]).spawn().expect("started");
    let read = || std::fs::read_to_string(&said).unwrap_or_default();
    wait_for("the program", || read().ends_with('\n'));
    let read = read();
    let (pid, dir) = read.trim().split_once(' ').expect("two words");
    let mode = std::fs::metadata(dir).expect("a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "only this user may enter it");
    contend.kill().expect("killed");
    contend.wait().expect("ended");
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // It stays a zombie if no process reaps orphans.
    wait_for("the program's end", || state().is_empty() || state().contains(") Z "));
    wait_for("the janitor", || !Path::new(dir).exists());
}
