//! What statements changed and where time was spent, and what a replay does not have or does not repeat.

use super::{built, capture, counts, edit, make, shown};
use crate::support::Bench;
use serde_json::Value;

#[test]
fn changes_are_those_of_the_whole_statement_and_of_all_statements_of_a_script() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "results.c") else { return };
    capture(&bench, &["--values=full"], &[&program, "changes", "app.db"]).exits(0);
    let summary = shown(&bench);
    assert_eq!(counts(&summary, "INSERT INTO t"), [10, 10, 30, 0], "ended by reset");
    assert_eq!(counts(&summary, "UPDATE"), [1, 1, 30, 0], "ended by finalize");
    assert_eq!(counts(&summary, "INSERT INTO log"), [1, 0, 3, 0], "a script");
    assert_eq!(counts(&summary, "SELECT v"), [1, 0, 0, 0]);
    assert_eq!(counts(&summary, "DELETE"), [1, 0, 3, 0], "rows that its trigger inserts are not its own");
    let replayed = bench.contend(&["replay", "taken"]).exits(0);
    assert!(replayed.out.contains("No compared result of a statement differs"), "{replayed:?}");
}

#[test]
fn a_callback_of_the_program_is_time_in_the_program() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "results.c") else { return };
    let said = capture(&bench, &[], &[&program, "slow", "app.db"]).exits(0);
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    let summary = shown(&bench);
    let mut all = summary["statements"].as_array().expect("a list").iter();
    let select = all.find(|one| one["text"] == "SELECT v FROM t").unwrap_or_else(|| panic!("{summary}"));
    // The callback sleeps longer.
    assert!(select["total_ns"].as_u64() < Some(300_000_000), "{select}");
    assert_eq!(counts(&summary, "INSERT INTO temp"), [1, 0, 2, 0]);
    let found = summary["findings"].as_array().expect("a list");
    assert!(found.iter().any(|finding| finding["kind"] == "readers-block-writer"), "{summary}");
}

#[test]
fn texts_in_utf16_are_kept_or_said_to_be_others() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "results.c") else { return };
    let said = capture(&bench, &["--values=full"], &[&program, "wide", "app.db"]).exits(0);
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    bench.contend(&["replay", "taken"]).exits(0);
    let half = &["capture", "--out", "half", "--", &program, "wide", "half.db", "half"];
    let said = bench.contend(half).exits(0);
    assert!(said.err.contains("bound texts in UTF-16 with half of a surrogate pair"), "{said:?}");
}

#[test]
fn what_only_the_program_has_is_said_and_refused_statements_are_not_repeated() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "results.c") else { return };
    let said = capture(&bench, &["--values=full"], &[&program, "own", "app.db"]).exits(0);
    let replayed = bench.contend(&["replay", "taken"]).exits(0);
    for words in [
        "called sqlite3_set_last_insert_rowid",
        "functions, collations or virtual tables of the program's own (backwards, twice)",
        "The program set an authorizer",
        "The program set limits with sqlite3_limit",
        "app.db was used with PRAGMA read_uncommitted",
    ] {
        assert!(said.err.contains(words) && replayed.out.contains(words), "{words}: {said:?} {replayed:?}");
    }
    for code in ["SQLITE_AUTH (23)", "SQLITE_TOOBIG (18)"] {
        let words = format!("1 statement that failed with {code} was left out: it had no effect.");
        assert!(replayed.out.contains(&words), "{words}: {replayed:?}");
    }
    assert!(!replayed.out.contains("error 23 captured"), "{replayed:?}");
}

const INTERRUPTED: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('BEGIN')
db.execute('UPDATE t SET v = 7')
db.set_progress_handler(lambda: 1, 100)
try:
    db.execute('UPDATE t SET v = (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) SELECT max(i) FROM n)')
except sqlite3.OperationalError:
    pass
db.set_progress_handler(None, 0)
db.execute('INSERT INTO t VALUES (3)')
";

/// An interrupted write rolls its transaction back.
#[test]
fn what_an_interruption_took_back_is_not_done_again() {
    let bench = Bench::new();
    make(&bench, "app.db", "CREATE TABLE t (v); INSERT INTO t VALUES (1), (2)");
    capture(&bench, &["--values=full"], &["python3", "-c", INTERRUPTED]).exits(0);
    let replayed = bench.contend(&["replay", "taken"]).exits(0);
    assert!(replayed.out.contains("1 statement that failed with SQLITE_INTERRUPT (9) was left out"), "{replayed:?}");
}

#[test]
fn changed_and_missing_copies_are_refused() {
    let bench = Bench::new();
    make(&bench, "app.db", "CREATE TABLE t (v); INSERT INTO t VALUES (1), (2)");
    let program = "import sqlite3; sqlite3.connect('app.db', isolation_level=None).execute('INSERT INTO t VALUES (3)')";
    capture(&bench, &["--values=full"], &["python3", "-c", program]).exits(0);
    let refused = |reader: &[&str], words: &str| {
        let said = bench.contend(reader).exits(2);
        assert!(said.err.contains(words), "{words}: {said:?}");
    };
    let readers: [(&str, &[&[&str]]); 2] = [
        ("content-1.db", &[&["replay", "taken"], &["capture", "to-workload", "taken"]]),
        ("end-1.db", &[&["replay", "taken"], &["capture", "anonymise", "taken", "--out", "hashed"]]),
    ];
    for (name, readers) in readers {
        let path = bench.path("taken").join(name);
        let before = std::fs::read(&path).expect("a copy");
        let copy = rusqlite::Connection::open(&path).expect("a copy");
        copy.execute("DELETE FROM t WHERE v = 2", []).expect("changed");
        readers.iter().for_each(|reader| refused(reader, &format!("{name} was changed after the capture. Restore")));
        drop(copy);
        let _ = std::fs::remove_dir_all(bench.path("hashed"));
        std::fs::remove_file(&path).expect("removed");
        readers.iter().for_each(|reader| refused(reader, &format!("{name} is missing, a part of the capture. Copy")));
        let _ = std::fs::remove_dir_all(bench.path("hashed"));
        std::fs::write(&path, before).expect("written");
    }
    bench.contend(&["replay", "taken"]).exits(0);
    // An older contend wrote no hashes.
    edit(&bench, |manifest| {
        let end = manifest["databases"][0]["end"].as_object_mut().expect("an object");
        assert!(end.remove("copy_hash").as_ref().is_some_and(Value::is_u64));
    });
    bench.contend(&["replay", "taken"]).exits(0);
}

/// The library cannot be loaded from a directory with a space in its name, nor be put elsewhere.
#[test]
fn a_capture_that_cannot_begin_leaves_no_directory() {
    let bench = Bench::new();
    let args = ["capture", "--out", "a b", "--", "true"];
    let said = bench.command(&args).env("TMPDIR", bench.path("no-such-directory")).output().expect("contend");
    assert!(!said.status.success() && !bench.path("a b").exists(), "{said:?}");
}
