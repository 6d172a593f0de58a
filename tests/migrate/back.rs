//! The way back: what stands next to the new file, which keys go on, and statements that other users of the server, or
//! the application's own functions, have changed.

use super::{Server, both};
use rusqlite::Connection;
use std::fs;

#[test]
fn an_old_log_does_not_get_into_the_new_database() {
    let server = Server::start(super::Own::mariadb);
    server.source("PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)");
    for further in [&["--dry-run"][..], &[]] {
        server.migrates(further).exits(0);
        assert!(!server.path("app.db-wal").exists() && !server.path("app.db-shm").exists(), "the source is only read");
    }
    let lost = Connection::open(server.path("back.db")).expect("a database");
    lost.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (9)",
    )
    .expect("made");
    fs::remove_file(server.path("back.db")).expect("removed");
    let said = server.migrates_back("back.db").exits(2);
    assert!(said.err.contains("back.db-wal is left of an earlier database"), "{said:?}");
    let left: Vec<_> = fs::read_dir(server.place.bench.dir.path()).expect("read").flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().contains("partial")), "{left:?}");
    drop(lost);
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(server.path(&format!("back.db{ending}")));
    }
    server.migrates_back("back.db").exits(0);
}

#[test]
fn a_key_is_not_given_again_after_the_way_back() {
    both(|server| {
        // With FTS the shim does not find it, so the ledger alone is asked. The word alone is no counter.
        server.source(
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT); CREATE VIRTUAL TABLE f USING fts5(x); \
             CREATE TABLE u (id INTEGER PRIMARY KEY /* not AUTOINCREMENT */, a TEXT)",
        );
        server.migrates(&[]).exits(0);
        server.asked("INSERT INTO t (a) VALUES ('x'), ('y'); DELETE FROM t; INSERT INTO u (a) VALUES ('z')");
        server.migrates_back("back.db").exits(0);
        let back = Connection::open(server.path("back.db")).expect("a database");
        back.execute_batch("INSERT INTO t (a) VALUES ('z')").expect("stored");
        let read = |sql: &str| back.query_row(sql, (), |row| row.get::<_, i64>(0)).expect("read");
        assert_eq!(read("SELECT id FROM t"), 3);
        assert_eq!(read("SELECT count(*) FROM sqlite_sequence"), 1);
    });
}

#[test]
fn a_statement_on_the_server_reaches_no_other_file() {
    both(|server| {
        server.source("CREATE TABLE t (a INTEGER); CREATE VIRTUAL TABLE f USING fts5(x); CREATE INDEX i ON t (a)");
        server.migrates(&[]).exits(0);
        let other = Connection::open(server.path("other.db")).expect("a database");
        other.execute_batch("CREATE TABLE precious (a); INSERT INTO precious VALUES (1)").expect("made");
        let attach = format!("ATTACH ''{}'' AS o; DROP TABLE o.precious", server.path("other.db").display());
        let set = |kind: &str, sql: &str| {
            server.asked(&format!(
                "UPDATE contend_migration SET \"sql\" = '{sql}' WHERE kind = '{kind}' AND name <> 'f'"
            ));
        };
        set("index", &attach);
        for further in [&[][..], &["--dry-run"]] {
            let dsn = server.dsn();
            let args =
                [&["migrate", &dsn, "--to", if further.is_empty() { "back.db" } else { "dry.db" }], further].concat();
            let said = server.place.contend(&args).exits(0);
            assert!(said.out.contains("index i: its statement on the server does something else"), "{said:?}");
            assert!(!format!("{said:?}").contains("geheim"), "{said:?}");
        }
        let back = Connection::open(server.path("back.db")).expect("a database");
        let count = |sql: &str| back.query_row(sql, (), |row| row.get::<_, i64>(0)).expect("read");
        assert_eq!(count("SELECT count(*) FROM sqlite_schema"), 1, "the table");
        set("table", &format!("CREATE TABLE t (a INTEGER); COMMIT; {attach}"));
        let said = server.migrates_back("again.db").exits(2);
        assert!(
            said.err.contains("there is no way back: table t: its statement on the server does something else"),
            "{said:?}"
        );
        assert_eq!(other.query_row("SELECT a FROM precious", (), |row| row.get::<_, i64>(0)).expect("read"), 1);
    });
}

#[test]
fn what_needs_the_application_is_named_before_it_is_missed() {
    both(|server| {
        // An application has given SQLite the function myfn and the collation mine.
        server.source(
            "CREATE TABLE t (a INTEGER); CREATE INDEX i ON t (abs(a)); CREATE INDEX j ON t (a); \
             INSERT INTO t VALUES (1); CREATE TABLE c (a INTEGER CHECK (abs(a) > 0)); \
             CREATE TABLE k (a TEXT COLLATE rtrim PRIMARY KEY) WITHOUT ROWID; INSERT INTO k VALUES ('x'); \
             PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(replace(sql, 'abs', 'myfn'), 'rtrim', 'mine')",
        );
        let said = server.migrates(&["--dry-run"]).exits(2);
        assert!(said.err.contains("leave it out with --without k"), "{said:?}");
        let said = server.migrates(&["--without", "k", "--dry-run"]).exits(0);
        for part in ["Does not come back", "index i: no such function: myfn", "table c: no such function: myfn"] {
            assert!(said.out.contains(part), "{part} is missing: {said:?}");
        }
        let said = server.migrates(&["--without", "k", "--without", "c"]).exits(0);
        assert!(said.out.contains("index i: no such function") && !said.out.contains("index j"), "{said:?}");
        let said = server.migrates_back("back.db").exits(0);
        assert!(said.out.contains("index i: no such function: myfn"), "{said:?}");
        let back = Connection::open(server.path("back.db")).expect("a database");
        assert!(back.query_row("SELECT 1 FROM sqlite_schema WHERE name = 'j'", (), |_| Ok(())).is_ok());
        assert_eq!(back.query_row("PRAGMA integrity_check", (), |row| row.get::<_, String>(0)).expect("read"), "ok");
    });
}
