//! `contend migrate` on real servers that contend did not start: a database with everything awkward in it goes there
//! and back unchanged, also after a kill in the middle; what does not fit is listed before anything is written; a
//! change on the server is found.

#[path = "../support/mod.rs"]
mod support;

mod back;
mod django;
mod fits;
mod rowids;

use rusqlite::Connection;
use rusqlite::types::Value;
use std::path::PathBuf;
use std::process::Stdio;
use support::place::{Own, Place};
use support::{Said, wait_for};

/// A server with an empty database.
struct Server {
    place: Place,
    own: Own,
    is_mariadb: bool,
}

impl Server {
    fn start(start: fn(&Place) -> Own) -> Server {
        let place = Place::new();
        let own = start(&place);
        let is_mariadb = own.dsn("").starts_with("mysql");
        let server = Server { place, own, is_mariadb };
        if is_mariadb {
            server.own.asked("CREATE DATABASE app");
        }
        server
    }

    fn dsn(&self) -> String {
        let dsn = self.own.dsn("geheim");
        if self.is_mariadb { dsn.replace("/mysql", "/app") } else { dsn }
    }

    /// What the server's own client answers.
    fn asked(&self, sql: &str) -> String {
        let first = if self.is_mariadb { "SET sql_mode = 'ANSI_QUOTES'; USE app; " } else { "" };
        self.own.asked(&format!("{first}{sql}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.bench.path(name)
    }

    /// `contend migrate app.db --to` this server.
    fn migrates(&self, further: &[&str]) -> Said {
        let dsn = self.dsn();
        let mut args = vec!["migrate", "app.db", "--to", &dsn];
        args.extend(further);
        let said = self.place.contend(&args);
        assert!(!format!("{said:?}").contains("geheim"), "{said:?}");
        said
    }

    fn migrates_back(&self, to: &str) -> Said {
        let said = self.place.contend(&["migrate", &self.dsn(), "--to", to]);
        assert!(!format!("{said:?}").contains("geheim"), "{said:?}");
        said
    }

    fn source(&self, sql: &str) -> Connection {
        let connection = Connection::open(self.path("app.db")).expect("a database");
        connection.execute_batch(sql).expect("made");
        connection
    }

    /// Tables and views of the database.
    fn tables(&self) -> String {
        let schema = if self.is_mariadb { "'app'" } else { "current_schema()" };
        self.asked(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {schema} ORDER BY 1"
        ))
    }
}

fn both(test: impl Fn(Server)) {
    for start in [Own::postgres, Own::mariadb] {
        test(Server::start(start));
    }
}

/// The schema of a database and all rows of its tables, with types and rowids; without virtual tables and what needs them.
fn contents(connection: &Connection) -> Vec<(String, Vec<Vec<Value>>)> {
    let rows = |sql: &str| -> Vec<Vec<Value>> {
        let mut statement = connection.prepare(sql).expect("prepared");
        let count = statement.column_count();
        let rows = statement.query_map((), |row| (0..count).map(|at| row.get(at)).collect()).expect("asked");
        rows.collect::<Result<_, _>>().expect("read")
    };
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql NOT LIKE '%fts%' AND name NOT LIKE 'fts%' \
                  ORDER BY type, name";
    let queries =
        [schema, "SELECT * FROM sqlite_sequence ORDER BY name", "PRAGMA user_version", "PRAGMA application_id"];
    let mut all: Vec<_> = queries.iter().map(|sql| (sql.to_string(), rows(sql))).collect();
    for row in rows(
        "SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite%' \
         ORDER BY name",
    ) {
        let [Value::Text(name), Value::Integer(by_key)] = &row[..] else { panic!("{row:?}") };
        let rowid = if *by_key == 0 { "_rowid_, " } else { "" };
        let mut found = rows(&format!("SELECT {rowid}* FROM \"{name}\""));
        found.sort_by_key(|row| format!("{row:?}"));
        all.push((name.clone(), found));
    }
    all
}

const AWKWARD: &str = include_str!("awkward.sql");

#[test]
fn everything_awkward_goes_there_and_back_unchanged() {
    both(|server| {
        // In use: in WAL mode, and a transaction is open.
        let used = server.source(&format!("PRAGMA journal_mode = WAL; {AWKWARD}"));
        if server.is_mariadb {
            used.execute_batch("INSERT INTO keyless (a) VALUES ('nul' || char(0))").expect("stored");
        } else {
            used.execute_batch("UPDATE big SET d = 9e999 WHERE id = 1; UPDATE big SET d = -9e999 WHERE id = 2")
                .expect("stored");
        }
        let before = contents(&used);
        used.execute_batch("BEGIN IMMEDIATE; DELETE FROM log").expect("begun");
        let files = ["app.db", "app.db-wal"].map(|name| std::fs::read(server.path(name)).expect("read"));
        let said = server.migrates(&[]).exits(0);
        assert!(said.out.contains("every row is the same"), "{said:?}");
        assert!(said.out.contains("table fts: a virtual table") && said.out.contains("trigger tr_before"), "{said:?}");
        assert!(said.out.contains("keyless.c: blob"), "{said:?}");
        assert_eq!(files, ["app.db", "app.db-wal"].map(|name| std::fs::read(server.path(name)).expect("read")));
        used.execute_batch("ROLLBACK").expect("ended");

        let said = server.migrates_back("back.db").exits(0);
        assert!(
            said.out.contains("every row is the same") && said.out.contains("trigger tr_fts: it uses fts"),
            "{said:?}"
        );
        assert_eq!(contents(&Connection::open(server.path("back.db")).expect("a database")), before);
        let left = std::fs::read_dir(server.place.bench.dir.path()).expect("read").flatten();
        assert!(!left.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().contains("partial")));

        let said = server.migrates(&[]).exits(2);
        assert!(said.err.contains("a finished migration") && said.err.contains("--resume"), "{said:?}");
        keys_go_on(&server);
        changes_are_found(&server);
    });
}

/// The next row gets the key that SQLite would give.
fn keys_go_on(server: &Server) {
    // 40 was given once, and AUTOINCREMENT gives it to no other row.
    let insert =
        "INSERT INTO \"order\" (\"select\") VALUES ('next'); SELECT id FROM \"order\" WHERE \"select\" = 'next'";
    assert_eq!(server.asked(insert).lines().last(), Some("41"));
    let insert = "INSERT INTO child (order_id, name) VALUES (1, 'next'); SELECT id FROM child WHERE name = 'next'";
    assert_eq!(server.asked(insert).lines().last(), Some("8"));
    assert_eq!(server.asked("SELECT what FROM log WHERE what = 'next'"), "next", "the trigger is there");
}

/// A finished migration is proved again.
fn changes_are_found(server: &Server) {
    server.asked(
        "DELETE FROM log WHERE what = 'next'; DELETE FROM child WHERE id = 8; DELETE FROM \"order\" WHERE id = 41",
    );
    assert!(server.migrates(&["--resume"]).exits(0).out.contains("every row is the same"));
    server.asked("UPDATE child SET name = 'Bob' WHERE id = 2");
    let said = server.migrates(&["--resume"]).exits(1);
    assert!(said.out.contains("child: first rowid 2: the server has no row that is the same"), "{said:?}");
    assert!(!said.out.contains("Bob"), "{said:?}");
    server.asked("UPDATE child SET name = 'bob' WHERE id = 2; INSERT INTO log (id, what) VALUES (77, 'more')");
    let said = server.migrates(&["--resume"]).exits(1);
    assert!(said.out.contains("log: the server has rows that SQLite does not have, first rowid 77"), "{said:?}");

    server.asked("ALTER TABLE log ADD COLUMN more bigint");
    let said = server.migrates_back("changed.db").exits(2);
    assert!(said.err.contains("table log was changed on the server") && said.err.contains("more"), "{said:?}");
    assert!(!server.path("changed.db").exists());
}

#[test]
fn a_migration_that_was_killed_goes_on_where_it_was() {
    both(|server| {
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT";
        server.source(&format!(
            "CREATE TABLE one (id INTEGER UNIQUE, name TEXT UNIQUE); \
             INSERT INTO one (rowid, id, name) {rows} 3 * (30000 - i), i, 'name ' || i FROM n; \
             CREATE TABLE two (a TEXT, b INTEGER, PRIMARY KEY (b, a)) WITHOUT ROWID; INSERT INTO two {rows} 'x', -i FROM n; \
             CREATE INDEX named ON two (a); CREATE VIEW seen AS SELECT a FROM two; \
             CREATE TABLE three (one INTEGER REFERENCES one (id)); INSERT INTO three VALUES (5)"
        ));
        for table in ["one", "two"] {
            let (dsn, place) = (server.dsn(), &server.place);
            let mut args = vec!["migrate", "app.db", "--to", &dsn, "--commit-rows", "100"];
            args.extend((table == "two").then_some("--resume"));
            let mut child =
                place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            let count = format!("SELECT number FROM contend_migration WHERE kind = 'table' AND name = '{table}'");
            let there = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'contend_migration'";
            let number = || if server.asked(there) == "1" { server.asked(&count).parse().unwrap_or(0) } else { 0 };
            wait_for("its first rows", || number() > 0);
            child.kill().expect("killed");
            child.wait().expect("ended");
            let number = number();
            assert!(number > 0 && number < 60_000 && number % 100 == 0, "{number} rows of {table} before the kill");
            if table == "one" {
                let source = Connection::open(server.path("app.db")).expect("a database");
                source.execute_batch("DELETE FROM one WHERE id = 60000").expect("deleted");
                let said = server.migrates(&["--resume"]).exits(2);
                assert!(said.err.contains("rows on the server are not the first ones of the source"), "{said:?}");
                let again = "INSERT INTO one (rowid, id, name) VALUES (-90000, 60000, 'name 60000')";
                source.execute_batch(again).expect("stored again");
            }
        }
        let said = server.migrates(&["--no-foreign-keys"]).exits(2);
        assert!(said.err.contains("an unfinished migration"), "{said:?}");
        let said = server.migrates_back("back.db").exits(2);
        assert!(said.err.contains("is not finished: --resume continues and proves it"), "{said:?}");
        let said = server.migrates(&["--resume"]).exits(0);
        assert!(said.out.contains("every row is the same"), "{said:?}");
        assert_eq!(server.asked("SELECT count(*) FROM seen"), "60000");
        let rowids = "SELECT count(*) FROM one WHERE _contend_rowid = 3 * (30000 - id)";
        assert_eq!(server.asked(rowids), "60000", "the rows have SQLite's rowids");
        // A kill between what MariaDB commits by itself and the account of it.
        for kind in ["index", "foreign key", "view"].iter().filter(|_| server.is_mariadb) {
            server.asked(&format!("UPDATE contend_migration SET state = 0 WHERE kind = '{kind}'"));
            assert!(server.migrates(&["--resume"]).exits(0).out.contains("every row is the same"));
        }
    });
}

#[test]
fn a_migration_whose_proof_fails_is_not_finished() {
    both(|server| {
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT";
        server.source(&format!(
            "CREATE TABLE s (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO s VALUES (1, 'a1'); \
             CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t {rows} i, 'a' || i FROM n"
        ));
        let dsn = server.dsn();
        let args = ["migrate", "app.db", "--to", &dsn, "--commit-rows", "100"];
        let mut child =
            server.place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let there = "SELECT count(*) FROM information_schema.tables WHERE table_name = 't'";
        wait_for("its first rows", || server.asked(there) == "1" && server.asked("SELECT min(id) FROM t") == "1");
        child.kill().expect("killed");
        child.wait().expect("ended");
        server.asked("UPDATE s SET a = 'other' WHERE id = 1");
        for _ in 0..2 {
            let said = server.migrates(&["--resume"]).exits(1);
            assert!(said.out.contains("s: first rowid 1: the server has no row that is the same"), "{said:?}");
            assert!(said.err.contains("the migration is not finished"), "{said:?}");
            assert!(!server.tables().contains("_contend"), "the shim does not find it");
        }
        assert!(server.migrates(&[]).exits(2).err.contains("an unfinished migration"));
        let said = server.migrates_back("back.db").exits(2);
        assert!(said.err.contains("is not finished: --resume continues and proves it"), "{said:?}");
        server.asked("UPDATE s SET a = 'a1' WHERE id = 1");
        assert!(server.migrates(&["--resume"]).exits(0).out.contains("every row is the same"));
        assert!(server.tables().contains("_contend_schema"));
        server.migrates_back("back.db").exits(0);
    });
}

#[test]
fn decimal_numbers_without_a_fraction_go_back() {
    both(|server| {
        let source = server.source(
            "CREATE TABLE m (id INTEGER PRIMARY KEY AUTOINCREMENT, n NUMERIC); INSERT INTO m VALUES (1, 2.5), (2, 7), (3, 0.5)",
        );
        server.migrates(&[]).exits(0);
        // Zeros behind the point, and a fraction that no double has.
        server.asked("UPDATE m SET n = n * 2 WHERE id = 1; UPDATE m SET n = n + 0.00000000000000000001 WHERE id = 2");
        let said = server.migrates_back("back.db").exits(0);
        assert!(said.out.contains("every row is the same"), "{said:?}");
        source.execute_batch("UPDATE m SET n = n * 2 WHERE id = 1").expect("changed");
        assert_eq!(contents(&Connection::open(server.path("back.db")).expect("a database")), contents(&source));
    });
}

#[test]
fn what_does_not_fit_is_listed_and_nothing_is_written() {
    both(|server| {
        server.source(
            "PRAGMA foreign_keys = OFF; CREATE TABLE parent (id INTEGER PRIMARY KEY); \
             CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT, k TEXT UNIQUE, m MONEY, p INTEGER REFERENCES parent); \
             INSERT INTO t (id, n, s) VALUES (1, 1, 'a'), (2, 'secret', 'b'), (3, 3, x'00'), (4, 'secret', 'c'); \
             UPDATE t SET s = CAST(x'ff' AS TEXT) WHERE id = 1; UPDATE t SET k = hex(zeroblob(2000)) WHERE id = 4; \
             UPDATE t SET m = 1.5, p = 9 WHERE id = 3; UPDATE t SET m = 'secret' WHERE id = 4; \
             INSERT INTO t (id, m, s) VALUES (5, 7, 'nul' || char(0)); \
             CREATE TABLE a_table_whose_name_is_longer_than_either_server_has_room_for_in_a_name (a INTEGER)",
        );
        let planned = server.migrates(&["--dry-run"]).exits(1);
        let joined = format!("--to={}", server.dsn());
        let joined = server.place.contend(&["migrate", "app.db", &joined, "--dry-run"]).exits(1);
        assert!(joined.out.contains("contend migrate app.db --to=") && !format!("{joined:?}").contains("geheim"));
        let said = server.migrates(&[]).exits(1);
        assert!(planned.out.starts_with(said.out.trim_end()), "{planned:?} {said:?}");
        let last = planned.out.lines().last().expect("a conclusion");
        let values = if server.is_mariadb { 7 } else { 8 };
        let conclusion =
            format!("Does not fit: 1 object, {values} values; nothing was written. After the changes above:");
        assert!(
            last.starts_with(&format!("{conclusion} contend migrate app.db")) && last.ends_with("--dry-run"),
            "{last}"
        );
        let listed = |column: &str, count: &str, first: &str, what: &str| {
            let words = ["t", column, count, first, what];
            let is_row = |line: &str| {
                let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
                line.starts_with(&words.join(" "))
            };
            assert!(said.out.lines().any(is_row), "{words:?} is not in {}", said.out);
        };
        listed("n", "2", "rowid 2", "a text");
        listed("s", "1", "rowid 1", "a text that is not UTF-8");
        listed("s", "1", "rowid 3", "a blob");
        listed("k", "1", "rowid 4", "longer than");
        listed("m", "1", "rowid 4", "a text");
        listed("(foreign keys)", "1", "rowid 3", "a foreign key that leads to no row");
        let has_nul = said.out.contains("a text with a NUL; PostgreSQL's texts have none");
        assert_eq!(has_nul, !server.is_mariadb, "{said:?}");
        assert!(said.out.contains("the server has no room for a name of this length"), "{said:?}");
        assert!(!said.out.contains("secret") && !said.err.contains("secret"), "{said:?}");
        assert_eq!(server.tables(), "");

        // Without the table everything else goes.
        let long = "a_table_whose_name_is_longer_than_either_server_has_room_for_in_a_name";
        let said = server.migrates(&["--without", "t", "--without", long]).exits(0);
        assert!(said.out.contains("table t: left out with --without"), "{said:?}");
        assert_eq!(server.tables(), "contend_migration\nparent");
    });
}

#[test]
fn keys_that_an_index_cannot_hold_are_listed() {
    both(|server| {
        let source = server.source(
            "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, n REAL, c TEXT UNIQUE); \
             CREATE INDEX ab ON t (a, n, b); \
             INSERT INTO t VALUES (1, hex(randomblob(1320)), hex(randomblob(20)), 0.5, NULL), (2, NULL, NULL, NULL, 'x')",
        );
        if server.is_mariadb {
            source
                .execute_batch("UPDATE t SET a = NULL, c = 'x' || char(0) || hex(zeroblob(200)) WHERE id = 1")
                .expect("stored");
            let said = server.migrates(&[]).exits(1);
            assert!(said.out.contains("longer than 255 characters") && said.out.contains("rowid 1"), "{said:?}");
            source.execute_batch("UPDATE t SET c = 'x' || char(0) || hex(zeroblob(126)) WHERE id = 1").expect("stored");
        } else {
            source
                .execute_batch("UPDATE t SET c = replace(hex(zeroblob(450)), '0', '語') WHERE id = 2")
                .expect("stored");
            source.execute_batch("UPDATE t SET b = hex(randomblob(30)) WHERE id = 1").expect("stored");
            let said = server.migrates(&[]).exits(1);
            let lines: Vec<String> =
                said.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            for begin in ["t c 1 rowid 2 longer than 2687 bytes", "t a, n, b 1 rowid 1 longer than 2687 bytes"] {
                assert!(lines.iter().any(|line| line.starts_with(begin)), "{begin}: {said:?}");
            }
            // Random digits, which the server cannot compress into less.
            source
                .execute_batch("UPDATE t SET c = hex(randomblob(1340)) WHERE id = 2; UPDATE t SET b = 'x' WHERE id = 1")
                .expect("stored");
        }
        server.migrates(&[]).exits(0);
    });
}

#[test]
fn a_database_that_is_not_empty_is_refused() {
    both(|server| {
        server.source("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)");
        server.asked("CREATE TABLE t (x bigint)");
        let said = server.migrates(&[]).exits(2);
        assert!(said.err.contains("already has t; name an empty database"), "{said:?}");
        let planned = server.migrates(&["--dry-run"]).exits(2);
        assert!(planned.err.contains("already has t; name") && planned.out.contains("CREATE TABLE"), "{planned:?}");
        let said = server.migrates(&["--resume"]).exits(2);
        assert!(said.err.contains("has no migration to continue"), "{said:?}");
        let said = server.migrates_back("back.db").exits(2);
        assert!(said.err.contains("has no table contend_migration"), "{said:?}");
        assert_eq!(server.tables(), "t");
        assert!(!server.path("back.db").exists());
        let said = server.place.contend(&["migrate", "app.db", "--to", "other.db"]).exits(2);
        assert!(said.err.contains("one of FROM and --to is a SQLite database"), "{said:?}");
    });
}

#[test]
fn a_part_of_the_foreign_keys_is_an_obstacle_for_the_shim() {
    let server = Server::start(Own::postgres);
    server.source(
        "CREATE TABLE p (id INTEGER PRIMARY KEY, t TEXT UNIQUE); CREATE TABLE c (p INTEGER REFERENCES p ON DELETE CASCADE); \
         CREATE TABLE d (p TEXT REFERENCES p (id)); INSERT INTO p VALUES (1, 'x'); INSERT INTO c VALUES (1)",
    );
    let said = server.migrates(&["--schema", "part"]).exits(0);
    assert!(said.out.contains("cannot go on") && said.out.contains("of table d is not carried over"), "{said:?}");
    let said = server.migrates(&["--schema", "none", "--no-foreign-keys"]).exits(0);
    assert!(said.out.contains("runs a program that opens this file"), "{said:?}");
    assert_eq!(server.asked("SELECT count(*) FROM none._contend_settings WHERE name = 'foreign_keys'"), "0");
}

#[test]
fn the_schema_is_made_when_everything_fits() {
    let server = Server::start(Own::postgres);
    // A table named as a type hides no type.
    let source = server.source("CREATE TABLE text (a TEXT); CREATE TABLE z (b TEXT); INSERT INTO z VALUES ('x')");
    let schemas = || server.asked("SELECT nspname FROM pg_namespace WHERE nspname IN ('new', 'nwe')");
    let said = server.migrates(&["--schema", "new", "--dry-run"]).exits(0);
    assert!(said.out.contains("CREATE TABLE \"z\""), "{said:?}");
    let last = said.out.lines().last().expect("a conclusion");
    let conclusion = "Everything fits; nothing was written. The migration: contend migrate app.db --to ";
    assert!(last.starts_with(conclusion) && last.ends_with(" --schema new") && !last.contains("geheim"), "{last}");
    assert_eq!(schemas(), "");
    source.execute_batch("INSERT INTO z VALUES (x'00')").expect("stored");
    server.migrates(&["--schema", "new"]).exits(1);
    assert_eq!(schemas(), "");
    source.execute_batch("DELETE FROM z WHERE b = x'00'").expect("deleted");
    server.migrates(&["--schema", "new"]).exits(0);
    let said = server.migrates(&["--schema", "nwe", "--resume"]).exits(2);
    assert!(said.err.contains("there is no schema nwe"), "{said:?}");
    assert_eq!(schemas(), "new");
    server.migrates(&["--schema", "new", "--resume"]).exits(0);
    let said = server.place.contend(&["migrate", &server.dsn(), "--to", "back.db", "--schema", "nwe"]).exits(2);
    assert!(said.err.contains("there is no schema nwe"), "{said:?}");
    server.place.contend(&["migrate", &server.dsn(), "--to", "back.db", "--schema", "new"]).exits(0);
}

/// Programs under `contend shim` install them under the same lock.
#[test]
fn the_functions_are_installed_by_one_process_at_a_time() {
    const WAITS: &str = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    let server = Server::start(Own::postgres);
    server.source("CREATE TABLE t (r REAL); CREATE VIEW v AS SELECT round(r, 2) AS a FROM t");
    let hold = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(7236834620953); DO $$ BEGIN FOR i IN 1..300 LOOP PERFORM pg_sleep(0.1); \
         EXIT WHEN ({WAITS}); END LOOP; IF NOT ({WAITS}) THEN RAISE EXCEPTION 'it does not wait'; END IF; END $$; COMMIT;"
    );
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| server.asked(&hold));
        let is_held = || server.asked("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") != "0";
        wait_for("the lock", is_held);
        server.migrates(&[]).exits(0);
        holder.join().expect("released");
    });
}

#[test]
fn a_word_in_a_statement_is_no_counter() {
    let server = Server::start(Own::postgres);
    let source = server.source("CREATE TABLE t (id INTEGER PRIMARY KEY, how TEXT DEFAULT 'autoincrement')");
    source.execute_batch("INSERT INTO t DEFAULT VALUES").expect("stored");
    server.migrates(&[]).exits(0);
    server.asked("INSERT INTO t DEFAULT VALUES");
    let said = server.migrates_back("back.db").exits(0);
    assert!(said.out.contains("every row is the same"), "{said:?}");
}

#[test]
fn views_are_made_in_their_order_and_nothing_is_written_over_a_taken_name() {
    both(|server| {
        server.source(
            "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); CREATE INDEX taken ON t (a); \
             CREATE VIEW v1 AS SELECT a FROM t; CREATE VIEW v2 AS SELECT a FROM v1; DROP VIEW v1; \
             CREATE VIEW v1 AS SELECT a FROM t",
        );
        if !server.is_mariadb {
            // Indexes and tables share their names.
            server.asked("CREATE TABLE other (a int); CREATE INDEX taken ON other (a)");
            let said = server.migrates(&[]).exits(2);
            assert!(said.err.contains("already has taken") && !server.tables().contains("contend"), "{said:?}");
            server.asked("DROP TABLE other");
        }
        server.migrates(&[]).exits(0);
        assert_eq!(server.asked("SELECT a FROM v2").trim(), "1");
    });
}
