//! Rowids of tables without INTEGER PRIMARY KEY: a hidden column on the server, or none.

use super::{Server, both, contents};
use rusqlite::Connection;

const TABLES: &str = "CREATE TABLE t (a TEXT UNIQUE); INSERT INTO t (rowid, a) VALUES (40, 'x'), (-3, 'y'), (5, 'z'); \
                      CREATE TABLE k (b INTEGER, a TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO k VALUES (1, 'x'); \
                      CREATE TABLE i (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO i VALUES (9); \
                      CREATE VIEW v AS SELECT * FROM t; CREATE TABLE \"empty one\" (a)";

/// Tables with a column for rowids that SQLite does not have.
fn with_rowids(server: &Server) -> String {
    let all = "SELECT table_name FROM information_schema.columns WHERE column_name = '_contend_rowid' ORDER BY 1";
    server.asked(all).lines().collect::<Vec<_>>().join(",")
}

#[test]
fn the_server_has_rowids_and_numbers_further_rows() {
    both(|server| {
        let source = server.source(TABLES);
        let planned = server.migrates(&["--dry-run"]).exits(0);
        let line = planned.out.lines().find(|line| line.trim_start().starts_with("t ")).expect("the table");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["t", "3", "1", "_contend_rowid"], "its rows and columns: {planned:?}");
        assert!(planned.out.contains("--no-rowids leaves it out"), "{planned:?}");
        let said = server.migrates(&[]).exits(0);
        assert!(said.out.contains("runs a program that opens this file"), "{said:?}");
        assert_eq!(with_rowids(&server), "empty one,t");
        assert_eq!(server.asked("SELECT * FROM v WHERE a = 'x'"), "x", "a view has SQLite's columns");
        if server.is_mariadb {
            assert_eq!(server.asked("SELECT * FROM t WHERE a = 'x'"), "x", "other programs do not see it");
        }
        server.asked("INSERT INTO t (a) VALUES ('next'); INSERT INTO \"empty one\" (a) VALUES ('first')");
        source
            .execute_batch("INSERT INTO t VALUES ('next'); INSERT INTO \"empty one\" VALUES ('first')")
            .expect("stored");
        server.migrates_back("back.db").exits(0);
        let back = |name| Connection::open(server.path(name)).expect("a database");
        assert_eq!(contents(&back("back.db")), contents(&source));

        // A column that was added later stands after it.
        server.asked(
            "ALTER TABLE t ADD COLUMN b bigint; \
             UPDATE _contend_schema SET \"sql\" = 'CREATE TABLE t (a TEXT UNIQUE, b INTEGER)' WHERE name = 't'",
        );
        server.migrates_back("later.db").exits(0);
        source.execute_batch("ALTER TABLE t ADD COLUMN b INTEGER").expect("added");
        assert_eq!(contents(&back("later.db")), contents(&source));
        server.asked("ALTER TABLE t DROP COLUMN _contend_rowid");
        let said = server.migrates_back("changed.db").exits(2);
        assert!(
            said.err.contains("table t was changed on the server") && said.err.contains("_contend_rowid"),
            "{said:?}"
        );
    });
}

#[test]
fn changed_rowids_are_found() {
    both(|server| {
        server.source(TABLES);
        server.migrates(&[]).exits(0);
        server.asked("UPDATE t SET _contend_rowid = 6 WHERE _contend_rowid = 5");
        let said = server.migrates(&["--resume"]).exits(1);
        assert!(said.out.contains("t: first rowid 5: the server has no row that is the same"), "{said:?}");
        server.asked("UPDATE t SET _contend_rowid = 5 WHERE _contend_rowid = 6");
        server.migrates(&["--resume"]).exits(0);
        let said = server.migrates(&["--resume", "--no-rowids"]).exits(2);
        assert!(said.err.contains("the options are not those that the migration was begun with"), "{said:?}");
    });
}

/// As migrations did before there were such columns.
#[test]
fn a_migration_without_rowids_goes_on_without() {
    both(|server| {
        let source = server.source(TABLES);
        let taken = "CREATE TABLE taken (a TEXT, _contend_rowid TEXT); INSERT INTO taken VALUES ('x', 'y')";
        source.execute_batch(taken).expect("made");
        let said = server.migrates(&[]).exits(1);
        let refused = "table taken: its rowids would be in a column _contend_rowid, which it has; see --no-rowids";
        assert!(said.out.contains(refused), "{said:?}");
        assert!(!server.migrates(&["--no-rowids", "--dry-run"]).exits(0).out.contains("leaves it out"));
        server.migrates(&["--no-rowids"]).exits(0);
        assert_eq!(with_rowids(&server), "taken");
        assert_eq!(server.asked("SELECT count(*) FROM _contend_settings WHERE name = 'rowids'"), "0");
        server.migrates(&["--resume"]).exits(0);
        server.migrates_back("back.db").exits(0);
        let back = Connection::open(server.path("back.db")).expect("a database");
        let rows = |connection: &Connection| {
            let all = "SELECT group_concat(a, ' ') FROM (SELECT a FROM t ORDER BY a)";
            let taken = connection.query_row("SELECT _contend_rowid FROM taken", (), |row| row.get::<_, String>(0));
            (connection.query_row(all, (), |row| row.get::<_, String>(0)).expect("read"), taken.expect("read"))
        };
        assert_eq!(rows(&back), rows(&source));
    });
}
