//! Programs that were written for SQLite: their output on a server is the same.

use super::{Stage, fed, fixture, has, is_there, text};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// What a program prints with SQLite and through the shim, with a database of its own each.
pub fn both(stage: &Stage, program: &[&str], input: &str) -> (String, String) {
    let run = |mut command: Command, name: &str| {
        command.arg(stage.path(name));
        let output = fed(command, input);
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    };
    let mut plain = Command::new(program[0]);
    plain.args(&program[1..]);
    (run(plain, "sqlite.db"), run(stage.shim(&[], program), "shim.db"))
}

#[test]
fn python() {
    let stage = Stage::start();
    let (sqlite, shim) = both(&stage, &["python3", &fixture("program.py")], "");
    assert!(sqlite.lines().count() > 30, "{sqlite}");
    assert_eq!(shim, sqlite);
    let schema = stage.path("shim.db").canonicalize().unwrap_or(stage.path("shim.db"));
    let rows = stage.server.asked(&format!("SELECT name FROM \"{}\".author ORDER BY id", schema.display()));
    assert_eq!(rows, "Ada\nBob\nZoë", "the rows are on the server");
    assert!(!stage.path("shim.db").exists(), "and in no file");
}

/// The same program on MariaDB, which lacks an upsert that another key could conflict with, and reads JSON that is less deep.
#[test]
fn python_on_mariadb() {
    let stage = Stage::mariadb();
    let (sqlite, shim) = both(&stage, &["python3", &fixture("program.py")], "");
    assert_eq!(shim.lines().count(), sqlite.lines().count(), "{shim}");
    let differ: Vec<&str> =
        sqlite.lines().zip(shim.lines()).filter(|(one, other)| one != other).map(|(_, o)| o).collect();
    // The upsert's row is not in the total.
    let [upsert, json, "total 44"] = differ[..] else { panic!("{differ:?}") };
    assert!(upsert.contains("contend shim: line 1, column 52: another unique key could conflict"), "{upsert}");
    assert!(
        json.contains("contend shim: the server says: contend_sql: JSON that may be deeper than MariaDB reads"),
        "{json}"
    );
    assert_eq!(stage.server.asked("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'author'"), "1");
    assert!(!stage.path("shim.db").exists(), "the rows are in no file");
}

#[test]
fn php_both_extensions() {
    if !has("php", "PHP") {
        return;
    }
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["php", &fixture("program.php")], "");
        assert!(sqlite.lines().count() > 7, "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn the_shell() {
    if !has("sqlite3", "the sqlite3 shell") {
        return;
    }
    let script = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b REAL);\nINSERT INTO t (a, b) VALUES ('x', 1), ('y', 2.5);\n\
                  .tables\n.schema\n.headers on\n.mode column\nSELECT * FROM t ORDER BY id;\n.mode insert\nSELECT * FROM t;\n\
                  BEGIN;\nDELETE FROM t;\nROLLBACK;\nSELECT count(*) FROM t;\n.dump\n";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["sqlite3"], script);
        assert!(sqlite.contains("INSERT INTO t VALUES(2,'y',2.5);"), "{sqlite}");
        assert_eq!(shim, sqlite);
    }
}

#[test]
fn what_is_refused_is_an_error_and_listed_without_its_values() {
    let stage = Stage::start();
    let script = "import sqlite3, sys\n\
                  c = sqlite3.connect(sys.argv[1])\n\
                  c.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)')\n\
                  c.create_function('mine', 1, str)\n\
                  for sql in (\"UPDATE t SET a = mine(a) WHERE a = 'secret' /* secret */\", \
                  'SELECT bogus(a) FROM t', 'EXPLAIN SELECT \"secret\" -- secret', \"SELECT date(a, ?) FROM t\", \
                  \"SELECT date('secret') FROM t\"):\n\
                  \x20   for _ in range(2):\n\
                  \x20       try: c.execute(sql, ('secret',) * sql.count('?'))\n\
                  \x20       except sqlite3.OperationalError as e: print(e)\n";
    let list = stage.path("refused").display().to_string();
    let command = stage.shim(&["--log", &list], &["python3", "-c", script, &stage.path("a.db").display().to_string()]);
    let output = fed(command, "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("contend shim: mine() is a function of the application"), "{said}");
    assert!(said.contains("no such function: bogus"), "SQLite's own message: {said}");
    assert!(text(&output.stderr).contains("refused statements: 2, noted: 2."), "{}", text(&output.stderr));
    let list = std::fs::read_to_string(stage.path("refused")).expect("the list");
    assert!(list.contains("UPDATE t SET a = mine(a) WHERE a = …") && list.contains("EXPLAIN"), "{list}");
    assert!(!list.contains("secret"), "{list}");
    let mode = std::fs::metadata(stage.path("refused")).expect("the list").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "no other user may read it");
}

/// A program that clears its environment stays on the server. A child without the variable gets an error, and one without the
/// library is reported.
#[test]
fn a_cleared_environment_leads_to_no_file_unseen() {
    let stage = Stage::start();
    let child = "import sqlite3, sys, time\n\
                 c = sqlite3.connect(sys.argv[1]); c.execute('CREATE TABLE t (x)'); time.sleep(1.5)\n";
    let script = format!(
        "import os, sqlite3, subprocess, sys\n\
         preload = os.environ['LD_PRELOAD']\n\
         os.environ.clear()\n\
         c = sqlite3.connect(sys.argv[1])\n\
         c.execute('CREATE TABLE t (x TEXT)')\n\
         def child(name, **env): return subprocess.run([sys.executable, '-c', {child:?}, name], env=env).returncode\n\
         print(child(sys.argv[1] + '1', LD_PRELOAD=preload), child(sys.argv[1] + '2'))\n"
    );
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", &script, &path]), "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(text(&output.stdout), "1 0\n");
    assert_eq!(["a.db", "a.db1", "a.db2"].map(|name| stage.path(name).exists()), [false, false, true]);
    assert!(said.contains("the settings of contend shim cannot be read"), "{said}");
    assert_eq!(said.matches("a.db2 open without contend's library: its rows stay in the file").count(), 1, "{said}");
}

/// Of all connections and child processes, without values; also of one that is never closed.
#[test]
fn the_statements_that_took_most_time_are_in_the_summary() {
    let stage = Stage::start();
    let script = "import os, sqlite3, sys\n\
                  for i in range(3):\n\
                  \x20   c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  \x20   c.execute('CREATE TABLE IF NOT EXISTS t (a TEXT)')\n\
                  \x20   for j in range(5): c.execute(f\"INSERT INTO t VALUES ('secret {j}')\")\n\
                  \x20   if i < 2: c.close()\n\
                  if os.fork() == 0:\n\
                  \x20   own = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                  \x20   own.execute(\"INSERT INTO t VALUES ('secret')\"), own.close(), sys.exit()\n\
                  os.wait()\n";
    let path = stage.path("a.db").display().to_string();
    let output =
        fed(stage.shim(&["--log", &stage.path("list").display().to_string()], &["python3", "-c", script, &path]), "");
    let said = text(&output.stderr);
    let (_, slowest) = said.split_once("contend: The statements that took most time:\n").expect("a list");
    assert!(slowest.contains("INSERT INTO t VALUES (…)\n    16 times, ") && !said.contains("secret"), "{said}");
    let lines: Vec<&str> = slowest.lines().filter(|line| line.contains(" ms in total, ")).collect();
    let total = |line: &&str| line.split_once(" times, ")?.1.split_once(" ms")?.0.parse::<f64>().ok();
    let totals: Vec<f64> = lines.iter().filter_map(total).collect();
    assert!(totals.len() == 2 && totals[0] >= totals[1] && totals[1] > 0.0, "{said}");
}

/// Round trips of a program that opens its database and closes it.
#[test]
fn opening_costs_what_the_page_says() {
    let stage = Stage::start();
    let dir = stage.path("").canonicalize().expect("a directory");
    let round_trips = |name: &str, sql: &str| {
        let path = dir.join(name).display().to_string();
        let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.close()";
        let output = fed(stage.shim(&[], &["python3", "-c", script, &path, sql]), "");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        let (_, count) = said.split_once("round trips: ").expect("a count");
        count.split_once(',').and_then(|(count, _)| count.parse::<u32>().ok()).expect("a count")
    };
    assert_eq!(["first.db", "a.db", "a.db"].map(|name| round_trips(name, "SELECT 1")), [8, 6, 4]);
    stage.server.asked(&format!("ALTER SCHEMA \"{}/a.db\" RENAME TO migrated", dir.display()));
    assert_eq!(round_trips("a.db", "SELECT 1"), 5);
    assert_eq!([(); 2].map(|()| round_trips("first.db", "PRAGMA foreign_keys = ON")), [4 + 3, 4]);
}

/// Tests of CPython that fail without an error of contend, because the difference is inherent: a part of the test's name, and
/// why.
const INHERENT: &[(&str, &str)] =
    &[("test_func_deterministic", "it catches the refusal, and says it in its own words")];

/// What is inherently SQLite's, or has no translation, fails; everything else must pass.
#[test]
fn cpython_tests_of_its_module() {
    const SUITE: &str = "CPython's test.test_sqlite3";
    let imported = Command::new("python3").args(["-c", "import test.test_sqlite3.test_dbapi"]).output();
    if is_there(imported.is_ok_and(|output| output.status.success()), SUITE, "CPython's own tests through the shim") {
        Stage::both().iter().for_each(cpython);
    }
}

fn cpython(stage: &Stage) {
    let home = stage.path("databases");
    std::fs::create_dir(&home).expect("created");
    let home = home.display().to_string();
    let command = stage.shim(&[], &["python3", &fixture("cpython.py"), &home, "factory", "userfunctions", "types"]);
    let output = fed(command, "");
    let said = text(&output.stdout);
    let passed = said.lines().filter(|line| line.starts_with("ok ")).count();
    let failed: Vec<&str> = said.lines().filter(|line| line.starts_with("failed ")).collect();
    let expected =
        |line: &&str| line.contains("contend shim: ") || INHERENT.iter().any(|(name, _)| line.contains(name));
    // A test of which a part was refused goes on, and may miss what that part would have done.
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_string();
    let in_part: Vec<String> = failed.iter().filter(|line| expected(line)).map(|line| name(line)).collect();
    let others: Vec<&&str> = failed.iter().filter(|line| !expected(line) && !in_part.contains(&name(line))).collect();
    let server = if stage.is_mariadb() { "MariaDB" } else { "PostgreSQL" };
    println!("CPython on {server}: {passed} passed, {} refused", failed.len() - others.len());
    assert!(passed > 70, "{said}{}", text(&output.stderr));
    assert!(others.is_empty(), "on {server} not refused, but different: {others:#?}");
}

/// Texts of reals, in a statement and as the program reads them, are those of the program's own SQLite. A text whose last
/// digit an older version may write otherwise is an error.
#[test]
fn texts_of_reals_are_those_of_the_programs_own_version() {
    let stage = Stage::start();
    let script = "import random, sqlite3, sys\n\
        c = sqlite3.connect(sys.argv[1]); random.seed(4)\n\
        reals = [0.1 + 0.2, 1 / 3, 5 ** 0.5, 1e15, 1e17, 1e300, -2.5e-7]\n\
        reals += [random.random() * 10.0 ** random.randrange(-9, 16) for _ in range(400)]\n\
        for real in reals:\n\
        \x20   try: print(*c.execute('SELECT CAST(? AS REAL) || \\'\\'', (real,)).fetchone())\n\
        \x20   except sqlite3.OperationalError as e: print('error', e)\n";
    let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
    let pairs: Vec<(&str, &str)> = sqlite.lines().zip(shim.lines()).collect();
    assert_eq!(pairs.len(), 407, "{shim}");
    let errors = pairs.iter().filter(|(_, shim)| shim.starts_with("error")).count();
    assert!(errors <= 8, "{errors} errors: {shim}");
    for (sqlite, shim) in pairs {
        assert!(sqlite == shim || shim.starts_with("error"), "{sqlite} {shim}");
    }
}

/// What cannot work is said before the command has done anything, and what goes wrong later hides nothing.
#[test]
fn a_list_that_cannot_be_written_and_a_command_that_is_missing_are_said() {
    let stage = Stage::start();
    let ran = stage.path("ran").display().to_string();
    let output = fed(stage.shim(&["--log", &stage.path("no/list").display().to_string()], &["touch", &ran]), "");
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("cannot write") && said.contains("no/list"), "{said}");
    assert!(!stage.path("ran").exists(), "the command was not started");

    fs::create_dir(stage.path("lists")).expect("a directory");
    let (list, database) = (stage.path("lists/list"), stage.path("a.db").display().to_string());
    let script = "import shutil, sqlite3, sys\nconnection = sqlite3.connect(sys.argv[1])\n\
                  try: connection.execute('SELECT * FROM missing')\nexcept sqlite3.Error: pass\n\
                  connection.close()\nshutil.rmtree(sys.argv[2])\nsys.exit(7)";
    let lists = stage.path("lists").display().to_string();
    let command = ["python3", "-c", script, &database, &lists];
    let output = fed(stage.shim(&["--log", &list.display().to_string()], &command), "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("cannot write") && said.contains("connections: 1, "), "{said}");

    let output = fed(stage.shim(&[], &["./missing"]), "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no command `./missing`") && !said.contains("redirected"), "{said}");
}
