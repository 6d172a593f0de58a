//! Writes that `contend watch` cannot see, or not in full, are said.

use super::faults::{json, signal, watching};
use super::{may_trace, place_apart};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A backup keeps the write lock by calls that are not traced, and `unix-dotfile` locks no file at all.
#[test]
fn writes_by_calls_and_locks_that_are_not_seen_are_said() {
    if !may_trace("backups and other locks") {
        return;
    }
    let dir = place_apart();
    let [copy, dotfile] = ["copy.db", "dotfile.db"].map(|name| dir.path().join(name).display().to_string());
    let code = "import sqlite3, sys\n\
        a, b = [sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0) for _ in range(2)]\n\
        a.execute('PRAGMA journal_mode = WAL'); a.execute('CREATE TABLE t (v)'); a.execute('INSERT INTO t VALUES (zeroblob(9))')\n\
        c = sqlite3.connect(f'file:{sys.argv[2]}?vfs=unix-dotfile', uri=True, isolation_level=None)\n\
        c.execute('CREATE TABLE t (v)')\n\
        sys.stdin.readline(); print('ready', flush=True); sys.stdin.readline()\n\
        a.execute('SELECT 1 FROM t').fetchall(); c.execute('INSERT INTO t VALUES (1)')\n\
        def pauses(status, left, all):\n\
        \x20   if left == 1: print('copies', flush=True); sys.stdin.readline()\n\
        m = sqlite3.connect(':memory:'); m.execute('CREATE TABLE t (v)'); m.execute('CREATE TABLE u (v)'); m.commit()\n\
        m.backup(a, pages=1, progress=pauses)\n\
        print('done', flush=True); sys.stdin.readline()\n";
    let mut program = Command::new("python3");
    let program = program.args(["-c", code, &copy, &dotfile]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = program.spawn().expect("python3");
    let mut said = BufReader::new(program.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut input = program.stdin.take().expect("piped");
    let mut goes_on = |until: &str| {
        std::io::Write::write_all(&mut input, b"go\n").expect("it reads");
        assert_eq!(said.next().as_deref(), Some(until));
    };
    goes_on("ready");
    let (mut child, lines) = watching(&[&copy, &dotfile]);
    goes_on("copies");
    let refused = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0.1).execute('INSERT INTO t VALUES (2)')";
    assert!(!Command::new("python3").args(["-c", refused, &copy]).status().expect("python3").success());
    goes_on("done");
    signal("-INT", child.id());
    let told = lines.collect::<Vec<_>>().join(" ");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    child.wait().expect("it ends");
    drop(input);
    program.wait().expect("it ends");
    let by_backup = format!("why 1 write lock of python3 ({}) kept others out: the program executed no", program.id());
    for part in [&by_backup, &format!("who changed {dotfile}: no process took its write lock")] {
        assert!(told.contains(part), "no \"{part}\" in {told}");
    }
}

/// Each is alone: the last connection to close removes the `-shm` file, whose number a look may not have met.
#[test]
fn short_programs_whose_writes_were_not_seen_are_counted() {
    if !may_trace("short programs") {
        return;
    }
    let dir = place_apart();
    let database = dir.path().join("app.db");
    let write = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute('PRAGMA journal_mode = WAL')\n\
        c.execute('CREATE TABLE IF NOT EXISTS t (v)')\nc.execute('INSERT INTO t VALUES (1)')\nc.commit()\nc.close()";
    let program = || Command::new("python3").args(["-c", write]).arg(&database).status().expect("python3");
    assert!(program().success());
    let out = dir.path().join("record");
    let (database_arg, out_arg) = (database.display().to_string(), out.display().to_string());
    let (mut child, lines) = watching(&[&database_arg, "--json-line", "--no-sql", "--for", "60s", "--out", &out_arg]);
    (0..40).for_each(|_| assert!(program().success()));
    // Processes that have ended are read, too.
    std::thread::sleep(std::time::Duration::from_secs(1));
    signal("-INT", child.id());
    lines.for_each(drop);
    child.wait().expect("it ends");
    let saved = json(fs::read_to_string(out.join("watch.json")).ok());
    let processes = saved["databases"][0]["processes"].as_array().expect("a list");
    // Each takes the write lock twice, to rebuild the index of the log and to write; the `-shm` file can be known from the
    // second time on.
    let holds = fs::read_to_string(out.join("holds.csv")).expect("readable");
    let locks: Vec<Vec<&str>> = holds.lines().map(|line| line.split(',').collect()).collect();
    let takes = |pid: &str| locks.iter().filter(|row| row[3] == pid && row[5] == "WAL_WRITE_LOCK").count();
    let not_all_seen = processes.iter().filter(|process| takes(&process["pid"].to_string()) < 2).count();
    let missing: Vec<&str> = saved["missing"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let counted = |sentence: &str| {
        let others = sentence.split_once(" and ").and_then(|(_, more)| more.split_once(" more: "));
        1 + others.map_or(0, |(more, _)| more.parse::<usize>().expect("a number"))
    };
    let said: usize =
        missing.iter().filter(|said| said.starts_with("perhaps some writes of ")).map(|said| counted(said)).sum();
    assert_eq!((processes.len(), said), (40, not_all_seen), "{missing:?}: {saved}");
}

/// With `locking_mode = EXCLUSIVE` SQLite keeps the index of the log in memory: no lock shows a write.
#[test]
fn a_process_that_has_no_shm_file_is_named_with_this_reason() {
    if !may_trace("locking_mode = EXCLUSIVE") {
        return;
    }
    let dir = place_apart();
    let database = dir.path().join("app.db").display().to_string();
    let python = |code: &str| {
        let mut command = Command::new("python3");
        let code = format!("import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n{code}");
        command.args(["-c", &code, &database]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let makes = "c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE t (v)')";
    assert!(python(makes).status().expect("python3").success());
    let (mut child, lines) = watching(&[&database, "--no-sql"]);
    let writes = "c.execute('PRAGMA locking_mode = EXCLUSIVE'); c.execute('INSERT INTO t VALUES (1)')\n\
        print('done', flush=True); sys.stdin.read()";
    let mut program = python(writes).spawn().expect("python3");
    let done = BufReader::new(program.stdout.take().expect("piped")).lines().next().expect("a line").expect("text");
    assert_eq!(done, "done");
    signal("-INT", child.id());
    let said = lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    child.wait().expect("it ends");
    drop(program.stdin.take());
    assert!(program.wait().expect("it ends").success());
    let pid = program.id();
    let why =
        format!("it has locked {database} and no known `-shm` file: with PRAGMA locking_mode = EXCLUSIVE there is");
    assert!(said.contains(&format!("perhaps some writes of python3 ({pid}): {why} none")), "{said}");
}
