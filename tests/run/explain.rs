//! `contend explain`: the meaning of an error, from its text or code.

use crate::support::{Bench, tool};

/// Words of a text without its line breaks.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_error_is_explained_by_its_text_or_code() {
    let bench = Bench::new();
    let by_text = bench.contend(&["explain", "database is locked"]).exits(0).out;
    for words in [
        "SQLite SQLITE_BUSY (5): counted as conflict (refused because another client was in the way)",
        "BEGIN IMMEDIATE",
    ] {
        assert!(by_text.contains(words), "{words}: {by_text}");
    }
    let see = format!("See it\n  sudo {} watch app.db\n  contend run locked --quick", tool());
    assert!(by_text.contains(&see), "{by_text}");
    for words in ["transaction may still be open", "Python's sqlite3: 5 s", "`contend capture show`"] {
        assert!(unwrapped(&by_text).contains(words), "{words}: {by_text}");
    }
    assert!(!by_text.contains("left nothing behind"), "{by_text}");
    assert_eq!(by_text, bench.contend(&["explain", "SQLITE_BUSY"]).exits(0).out);
    assert!(bench.contend(&["explain", "40P01"]).exits(0).out.contains("deadlock_detected"));
    assert!(bench.contend(&["explain", "HTTP", "503"]).exits(0).out.contains("Retry-After"));
    let several = bench.contend(&["explain", "1290"]).exits(0).out;
    for words in ["`1290` has 2 meanings", "SQLITE_IOERR_DIR_FSYNC (1290)", "ER_OPTION_PREVENTS_STATEMENT (1290)"] {
        assert!(several.contains(words), "{words}: {several}");
    }
    assert!(bench.contend(&["explain", "1034"]).exits(0).out.contains("MariaDB has numbers of this size, too"));
    let server = bench.contend(&["explain", "1205"]).exits(0).out;
    assert!(server.contains("MariaDB ER_LOCK_WAIT_TIMEOUT") && !server.contains("left nothing behind"), "{server}");
    assert!(unwrapped(&server).contains("transaction may still be open"), "{server}");
    let deadlock = bench.contend(&["explain", "ERROR 1213 (40001): Deadlock found"]).exits(0).out;
    assert!(deadlock.starts_with("MariaDB ER_LOCK_DEADLOCK") && !deadlock.contains("meanings"), "{deadlock}");
    assert!(server.contains("contend watch 'mysql://...'") && !server.contains("contend run locked"), "{server}");
    bench.contend(&["explain", "1050"]).exits(2);
    assert_eq!(by_text, bench.contend(&["explain", "5", "5"]).exits(0).out, "one meaning, once");
    let unknown = bench.contend(&["explain", "what is this"]).exits(2);
    assert!(unknown.err.contains("contend list outcomes PATTERN"), "{}", unknown.err);
    let listed = bench.contend(&["list", "outcomes", "Deadlock"]).exits(0).out;
    assert!(listed.contains("40P01") && listed.contains("1213") && !listed.contains("SQLITE_FULL"), "{listed}");
    let fragment = bench.contend(&["explain", "locked"]).exits(0).out;
    assert!(fragment.contains("SQLITE_BUSY (5)") && fragment.contains("SQLITE_LOCKED (6)"), "{fragment}");
    let many = bench.contend(&["explain", "lock"]).exits(0).out;
    for words in ["- SQLite SQLITE_BUSY (5): ", "list outcomes PATTERN"] {
        assert!(unwrapped(&many).contains(words) && !many.contains("What happened"), "{words}: {many}");
    }
    assert!(bench.contend(&["list", "outcomes", "qqq"]).exits(2).err.contains("qqq"));
}

#[test]
fn a_product_restricts_a_number_to_its_own_codes() {
    let bench = Bench::new();
    let server = bench.contend(&["explain", "MariaDB", "1290"]).exits(0).out;
    assert!(server.starts_with("MariaDB ER_OPTION_PREVENTS_STATEMENT") && !server.contains("SQLITE"), "{server}");
    for (text, parts) in [
        ("MariaDB 5", ["MariaDB has no code 5", "In SQLite it is SQLITE_BUSY (5): database is locked"]),
        ("SQLite 1205", ["SQLite has no code 1205", "In MariaDB it is ER_LOCK_WAIT_TIMEOUT (1205)"]),
        ("mysql error 1050", ["MariaDB has no code 1050", "mariadb-error-code-reference"]),
        ("-1", ["`-1` names no error", "a whole number or a name"]),
        ("5.0", ["`5.0` names no error", "contend list outcomes PATTERN"]),
        ("line 19: foo, after 5 s on port 5432", ["names no error", "as it was printed"]),
    ] {
        let said = bench.contend(&["explain", text]).exits(2);
        assert!(parts.iter().all(|part| unwrapped(&said.err).contains(part)), "{text}: {}", said.err);
    }
    for args in [["explain", "--json", "mysql error 1213"], ["explain", "mysql error 1213", "--json"]] {
        let json = bench.contend(&args).exits(0).out;
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json.as_array().map(Vec::len), Some(1), "{json}");
    }
}
