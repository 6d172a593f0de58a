//! Languages and drivers.

mod linked;

use super::{capture, counts, database, has, script, shown};
use crate::support::{Bench, root};
use std::process::Command;

#[test]
fn python_every_statement_with_its_outcome() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &[], &["python3", &script("program.py"), "known", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    let summary = shown(&bench);
    assert_eq!(counts(&summary, "INSERT INTO thing(name, size, data)"), [100, 0, 100, 0]);
    assert_eq!(counts(&summary, "INSERT INTO thing(name) VALUES"), [1, 0, 0, 1], "one failed");
    assert_eq!(counts(&summary, "DELETE FROM thing"), [1, 0, 1, 0]);
    assert_eq!(counts(&summary, "SELECT name FROM thing"), [40, 40, 0, 0]);
    assert_eq!(counts(&summary, "SELECT * FROM thing"), [1, 100, 0, 0]);
    assert_eq!(counts(&summary, "UPDATE thing SET size"), [2, 0, 2, 0]);
    let kinds = summary["transactions"].as_array().expect("a list");
    let kind = |begin: &str, end: &str| kinds.iter().find(|kind| kind["begin"] == begin && kind[end] == 1).is_some();
    assert!(kind("immediate", "committed") && kind("deferred", "rolled_back"), "{kinds:?}");
    let key = &summary["keys"].as_array().expect("a list").iter().find(|key| key["distinct"] == 4).expect("a key");
    assert_eq!((key["count"].as_u64(), key["most"].as_f64()), (Some(40), Some(0.25)), "skew survives hashing");
}

#[test]
fn php_both_extensions_although_it_loads_them_for_themselves() {
    if !has("php", "PHP") {
        return;
    }
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &[], &["php", &script("program.php"), &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let plain = Command::new("php").arg("-r").arg("echo SQLite3::version()['versionString'];").output().expect("php");
    assert_eq!(said.out.trim(), String::from_utf8_lossy(&plain.stdout), "the same SQLite as without a capture");
    let summary = shown(&bench);
    assert_eq!(counts(&summary, "INSERT INTO thing"), [30, 0, 30, 0]);
    assert_eq!(counts(&summary, "SELECT name FROM thing")[..2], [40, 40], "this extension executes each SELECT twice");
}

#[test]
fn the_shell() {
    if !has("sqlite3", "the sqlite3 shell") {
        return;
    }
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let sql = "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2); SELECT * FROM t; INSERT INTO nothing VALUES (1);";
    let said = capture(&bench, &[], &["sqlite3", &path, sql]);
    assert_eq!(said.code, Some(1), "its exit status is passed on: {said:?}");
    assert_eq!(said.out, "1\n2\n");
    let summary = shown(&bench);
    assert_eq!(counts(&summary, "INSERT INTO t "), [1, 0, 2, 0]);
    assert_eq!(counts(&summary, "SELECT * FROM t"), [1, 2, 0, 0]);
    assert_eq!(counts(&summary, "INSERT INTO nothing"), [1, 0, 0, 1], "a statement that cannot be prepared");
    assert_eq!(summary["roles"][0]["name"], "sqlite3", "its argument is no script");
}

#[test]
fn c_utf16_callbacks_threads_and_functions_by_name() {
    if !has("cc", "a program in C") {
        return;
    }
    let bench = Bench::new();
    let program = bench.path("program").display().to_string();
    let built =
        Command::new("cc").args(["-o", &program, &script("program.c"), "-lsqlite3", "-lpthread", "-ldl"]).output();
    let built = built.expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let path = database(&bench).display().to_string();
    let plain = Command::new(&program).arg(bench.path("plain.db")).output().expect("starts");
    let said = capture(&bench, &["--values=full"], &[&program, &path]);
    assert_eq!(said.code, Some(7), "changes and error codes are as without a capture: {said:?}");
    assert_eq!(said.out, String::from_utf8_lossy(&plain.stdout), "errno and the SQLite as well");
    has_all_of_the_program(&bench);
}

/// Checks the capture of `program.c`.
fn has_all_of_the_program(bench: &Bench) {
    let summary = shown(bench);
    assert_eq!(counts(&summary, "INSERT INTO thing(name) VALUES"), [15, 0, 15, 0], "UTF-16, and a thread's");
    assert_eq!(counts(&summary, "INSERT INTO log"), [5, 0, 5, 0], "out of a function that SQLite called");
    assert_eq!(
        counts(&summary, "SELECT copy(name)"),
        [2, 5, 0, 1],
        "the second statement of the text is not part of it"
    );
    assert_eq!(counts(&summary, "SELECT * FROM log")[..2], [1, 5]);
    assert_eq!(counts(&summary, "INSERT INTO thing(id)")[3], 1);
    assert_eq!(counts(&summary, "DELETE FROM thing"), [1, 0, 1, 0], "called through dlsym");
}

/// Workers whose SQLite cannot be reached: the message says so at once, and what to do.
#[test]
fn what_cannot_be_captured_is_said() {
    for (worker, words) in
        [("contend-worker-go-modernc", "SQLite translated to Go"), ("contend-worker-go-ncruces", "WebAssembly")]
    {
        let program = root().join("target/workers").join(worker);
        if !program.is_file() {
            println!("NOT VERIFIED: {worker} is not built; `make workers-go` builds it");
            continue;
        }
        let bench = Bench::new();
        let said = capture(&bench, &[], &[&program.display().to_string()]);
        assert!(said.err.contains(words), "{worker}: {said:?}");
        assert!(said.err.contains("No call to SQLite was seen"), "{worker}: {said:?}");
        let missing = shown(&bench)["missing"].to_string();
        assert!(missing.contains(words), "{worker}: {missing}");
    }
}

/// The program of the matrix in Rust, with the SQLite that is linked into this test program: 20 INSERTs, 10 SELECTs.
#[test]
#[ignore = "a program for scripts/capture-matrix.py"]
fn bundled_rusqlite() {
    let Some(path) = std::env::var_os("CONTEND_MATRIX_DB") else {
        return;
    };
    let mut db = rusqlite::Connection::open(path).expect("made");
    db.execute_batch("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)").expect("made");
    let transaction = db.transaction().expect("begun");
    for i in 0..20 {
        transaction.execute("INSERT INTO thing (name) VALUES (?)", [format!("thing {i}")]).expect("inserted");
    }
    transaction.commit().expect("committed");
    for i in 1..=10 {
        db.query_row("SELECT name FROM thing WHERE id = ?", [i], |row| row.get::<_, String>(0)).expect("a row");
    }
    println!("SQLite {}", rusqlite::version());
    std::thread::sleep(std::time::Duration::from_secs(1));
}

/// What the page says of each driver holds for those that are built here.
#[test]
fn drivers_that_are_built_are_as_the_page_says() {
    if !has("python3", "the matrix of drivers") {
        return;
    }
    let script = root().join("scripts/capture-matrix.py");
    let tests = std::env::current_exe().expect("this program");
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).arg("--built").env("CONTEND", crate::support::tool());
    let done = command.env("CONTEND_CAPTURE_TESTS", tests).output().expect("starts");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    println!("{out}");
    assert!(done.status.success(), "{out}{err}");
    let rows = out.lines().filter(|line| line.starts_with("| ")).count();
    assert!(rows >= 3 && out.contains("rusqlite"), "{out}{err}");
    let must = std::env::var_os("CONTEND_TESTS_MUST_HAVE_WORKERS").is_some();
    let missing = |line: &&str| {
        line.starts_with("NOT VERIFIED") && !["modernc", "ncruces", "pysqlite3"].iter().any(|name| line.contains(name))
    };
    assert_eq!(out.lines().find(missing).filter(|_| must), None, "{out}");
}
