//! `--dry-run` says what the migration does: what a server refuses is listed before anything is written, and the rest goes.

use super::{Server, both, contents};
use rusqlite::Connection;

/// A line of the output without its spaces.
fn has_line(out: &str, begin: &str) -> bool {
    out.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(begin))
}

/// The migration is planned, carried out, and brought back.
fn goes_there_and_back(server: &Server, source: &Connection) -> String {
    let planned = server.migrates(&["--dry-run"]).exits(0);
    assert_eq!(server.tables(), "", "{planned:?}");
    let said = server.migrates(&[]).exits(0);
    assert!(said.out.contains("every row is the same"), "{said:?}");
    server.migrates_back("back.db").exits(0);
    assert_eq!(contents(&Connection::open(server.path("back.db")).expect("a database")), contents(source));
    planned.out
}

#[test]
fn names_of_a_view_and_generated_columns_of_others_go() {
    both(|server| {
        // MariaDB computes none from a later one.
        let (early, late) = ("", ", late INTEGER AS (twice + 1)");
        let (early, late) = if server.is_mariadb { (early, late) } else { (late, early) };
        let source = server.source(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT, n INTEGER{early}, twice INTEGER AS (n * 2) STORED, \
             word TEXT AS (a || '!'), both TEXT AS (word || twice), half REAL AS (twice / 4.0){late}, CHECK (late > 0)); \
             INSERT INTO t (id, a, n) VALUES (1, 'x', 1), (2, NULL, NULL), (7, 'yz', 7); \
             CREATE VIEW v AS SELECT a, a, A, id AS b FROM t; CREATE VIEW w (x, x, y) AS SELECT id, late, a FROM t; \
             CREATE VIEW of_views AS SELECT v.\"a:1\" || w.\"x:1\" AS c FROM v JOIN w ON w.x = v.b"
        ));
        let planned = goes_there_and_back(&server, &source);
        assert!(!planned.contains("Not carried over"), "{planned}");
        let of_server = |sql| server.asked(sql);
        let third = "SELECT \"a:2\" FROM v WHERE b = 7";
        assert_eq!(of_server(third), source.query_row(third, (), |row| row.get::<_, String>(0)).expect("read"));
        assert_eq!(of_server("SELECT c FROM of_views WHERE c LIKE 'x%'"), "x3");
        assert_eq!(of_server("SELECT half FROM t WHERE id = 7"), "3.5");
        assert_eq!(of_server("SELECT \"both\" FROM t WHERE id = 7"), "yz!14");
    });
}

/// The server's own limits; a part that only one server refuses is left out there.
#[test]
fn what_the_server_refuses_is_listed() {
    both(|server| {
        let columns: Vec<String> = (0..1700).map(|number| format!("c{number} INTEGER")).collect();
        let source = server.source(&format!(
            "CREATE TABLE wide ({}); CREATE INDEX of_wide ON wide (c1); \
             CREATE TABLE p (id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0), day TEXT CHECK (strftime('%Y', day) > '1')); \
             CREATE TABLE c (p INTEGER NOT NULL REFERENCES p ON DELETE SET NULL, g INTEGER AS (p + 0) NOT NULL); \
             CREATE INDEX twice ON c ({}); \
             INSERT INTO p VALUES (9223372036854775807, '2024-01-01'); INSERT INTO c VALUES (9223372036854775807)",
            columns.join(", "),
            vec!["p"; 40].join(", ")
        ));
        for arguments in [&["--dry-run"][..], &[]] {
            let said = server.migrates(arguments).exits(1);
            for begin in ["- table wide: the server refuses it: ", "- index twice: the server refuses it: "] {
                assert!(has_line(&said.out, begin), "{begin}: {said:?}");
            }
            assert!(!has_line(&said.out, "- index of_wide"), "its table is named: {said:?}");
        }
        assert_eq!(server.tables(), "");
        let without = ["--without", "wide", "--without", "twice"];
        let said = server.migrates(&without).exits(0);
        let left = ["CHECK of column id", "CHECK of column day", "NOT NULL of column g", "FOREIGN KEY (p)"];
        for part in left {
            assert_eq!(said.out.contains(&format!("- {part} of table")), server.is_mariadb, "{part}: {said:?}");
        }
        server.migrates(&[&without[..], &["--resume"]].concat()).exits(0);
        server.migrates_back("back.db").exits(0);
        source.execute_batch("DROP TABLE wide").expect("dropped");
        let back = contents(&Connection::open(server.path("back.db")).expect("a database"));
        assert_eq!(back, contents(&source), "also the largest key");
    });
}

#[test]
fn a_negative_zero_stays_or_is_listed() {
    both(|server| {
        let source = server.source("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b REAL)");
        source.execute("INSERT INTO t VALUES (1, ?1, ?1), (2, 1.5, 1.5)", [-0.0]).expect("stored");
        if server.is_mariadb {
            let said = server.migrates(&["--dry-run"]).exits(1);
            assert!(has_line(&said.out, "t a 1 rowid 1 a negative zero; MariaDB makes it 0"), "{said:?}");
            source.execute_batch("UPDATE t SET a = 0.0 WHERE a = 0").expect("corrected");
        }
        goes_there_and_back(&server, &source);
        let back = Connection::open(server.path("back.db")).expect("a database");
        let sign = back.query_row("SELECT a FROM t WHERE id = 1", (), |row| row.get(0)).map(f64::is_sign_negative);
        assert_eq!(sign.expect("read"), !server.is_mariadb);
    });
}

#[test]
fn rows_that_violate_constraints_are_listed() {
    both(|server| {
        let source = server.source(
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER CHECK (n > 0), s TEXT, \
             CONSTRAINT even CHECK (n % 2 = 0)); \
             CREATE TABLE k (a INTEGER, b TEXT, PRIMARY KEY (a)) STRICT, WITHOUT ROWID; \
             PRAGMA ignore_check_constraints = ON; \
             INSERT INTO t VALUES (1, 2, 'x'), (2, 3, 'secret'), (3, -5, 'y'), (4, -7, 'z'), (5, NULL, 'z'); \
             INSERT INTO k VALUES (1, 'a'), (2, NULL)",
        );
        let not_null = |from: &str, to: &str| {
            let change = format!("UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 'k'");
            source
                .execute_batch(&format!("PRAGMA writable_schema = ON; {change}; PRAGMA writable_schema = RESET"))
                .expect("changed");
        };
        not_null("b TEXT", "b TEXT NOT NULL");
        for arguments in [&["--dry-run"][..], &[]] {
            let said = server.migrates(arguments).exits(1);
            for line in [
                "t (constraints) 2 rowid 3 CHECK constraint failed: n > 0",
                "t (constraints) 1 rowid 2 CHECK constraint failed: even",
                "k (constraints) 1 row 2 by a NOT NULL constraint failed: k.b",
            ] {
                assert!(has_line(&said.out, line), "{line}: {said:?}");
            }
            assert!(!said.out.contains("secret"), "{said:?}");
        }
        assert_eq!(server.tables(), "");
        source.execute_batch("DELETE FROM t WHERE n <> 2; DELETE FROM k WHERE a = 2").expect("corrected");
        goes_there_and_back(&server, &source);
    });
}

/// SQLite gives a text with half of a pair in UTF-8 as another text.
#[test]
fn texts_that_are_not_utf_16_are_listed() {
    for encoding in ["UTF-16le", "UTF-16be"] {
        let server = Server::start(super::Own::postgres);
        let source = server.source(&format!(
            "PRAGMA encoding = '{encoding}'; CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b); \
             INSERT INTO t VALUES (1, 'good 😀', 'good'), (2, 'x', 'y'), (3, 'x', 'y')"
        ));
        // At the end, and before a letter.
        let halves = if encoding == "UTF-16le" { ["78003dd8", "3dd87800"] } else { ["0078d83d", "d83d0078"] };
        for (half, id) in halves.into_iter().zip(2..) {
            let change = format!("UPDATE t SET a = CAST(x'{half}' AS TEXT) WHERE id = {id}");
            source.execute_batch(&change).expect("stored");
        }
        let said = server.migrates(&["--dry-run"]).exits(1);
        assert!(has_line(&said.out, "t a 2 rowid 2 a text that is not UTF-8 or UTF-16"), "{said:?}");
        source.execute_batch("DELETE FROM t WHERE id > 1").expect("deleted");
        server.migrates(&[]).exits(0);
        assert_eq!(server.asked("SELECT a FROM t"), "good 😀");
    }
}

#[test]
fn a_virtual_table_stays_with_its_tables_and_others_go() {
    both(|server| {
        let source = server.source(
            "CREATE TABLE docs_content (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO docs_content VALUES (1, 'one'); \
             CREATE VIRTUAL TABLE docs USING fts5 (body, content='docs_content', content_rowid='id'); \
             CREATE VIRTUAL TABLE words USING fts5 (word); INSERT INTO words VALUES ('two'); \
             CREATE VIRTUAL TABLE old USING fts4 (word); INSERT INTO old VALUES ('three'); \
             CREATE VIRTUAL TABLE boxes USING rtree (id, low, high); INSERT INTO boxes VALUES (1, 0.5, 1.5); \
             CREATE TABLE words_extra (a TEXT); INSERT INTO words_extra VALUES ('mine')",
        );
        let said = server.migrates(&[]).exits(0);
        for name in ["docs", "words", "old", "boxes"] {
            assert!(said.out.contains(&format!("table {name}: a virtual table")), "{said:?}");
        }
        let mut made: Vec<String> = server.tables().lines().map(str::to_string).collect();
        made.retain(|name| !name.starts_with("_contend") && name != "contend_migration");
        assert_eq!(made, ["docs_content", "words_extra"]);
        server.migrates_back("back.db").exits(0);
        let back = Connection::open(server.path("back.db")).expect("a database");
        let rows = |connection: &Connection| {
            let all = "SELECT body FROM docs_content UNION ALL SELECT a FROM words_extra";
            let mut all = connection.prepare(all).expect("prepared");
            let rows = all.query_map((), |row| row.get::<_, String>(0)).expect("asked");
            rows.collect::<Result<Vec<_>, _>>().expect("read")
        };
        assert_eq!(rows(&back), rows(&source));
        let others =
            "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%' OR name LIKE 'boxes%' OR name LIKE 'docs_%'";
        assert_eq!(back.query_row(others, (), |row| row.get::<_, i64>(0)).expect("read"), 1, "no table of a module");
    });
}

#[test]
fn a_deleted_parent_sets_its_children_as_in_sqlite() {
    both(|server| {
        let source = server.source(
            "CREATE TABLE p (id INTEGER PRIMARY KEY AUTOINCREMENT, k INTEGER UNIQUE); \
             CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE SET NULL, \
             k INTEGER REFERENCES p (k) ON DELETE SET NULL ON UPDATE CASCADE); \
             INSERT INTO p VALUES (1, 10), (2, 20); INSERT INTO c VALUES (1, 1, 10), (2, 2, 10), (3, 1, 20)",
        );
        server.migrates(&[]).exits(0);
        let change = "UPDATE p SET k = 30 WHERE id = 2; DELETE FROM p WHERE id = 1";
        server.asked(change);
        source.execute_batch(&format!("PRAGMA foreign_keys = ON; {change}")).expect("changed");
        server.migrates_back("back.db").exits(0);
        assert_eq!(contents(&Connection::open(server.path("back.db")).expect("a database")), contents(&source));
    });
}
