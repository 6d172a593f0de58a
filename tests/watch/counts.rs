//! Numbers of writes are exact, also across changes of the journal mode.

use super::{may_trace, place_apart, watch};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The sums of a Python program on a database, watched from its line "ready" to its line "done". Each other line names the
/// journal mode that the watch must know before the program goes on.
fn sums_of(program: &str) -> Value {
    let dir = place_apart();
    let database = dir.path().join("counted.db");
    let mut child = Command::new("python3");
    let child = child.args(["-c", program]).arg(&database).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("python3 is there");
    let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next = || said.next().expect("a line").expect("text");
    assert_eq!(next(), "ready");
    let watching = watch(&[&database.display().to_string(), "--json-line"]);
    let mut watching = { watching }.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines();
    lines.next().expect("a line").expect("text");
    let mut input = child.stdin.take().expect("piped");
    std::io::Write::write_all(&mut input, b"go\n").expect("it reads");
    let mut now = next();
    while now != "done" {
        let is_known = |line: &String| line.contains(&format!("\"journal\":\"{now}\""));
        lines.by_ref().map_while(Result::ok).find(is_known).expect("a line with the mode");
        std::io::Write::write_all(&mut input, b"go\n").expect("it reads");
        now = next();
    }
    Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
    let last = lines.map_while(Result::ok).last().expect("a line");
    watching.wait().expect("it ends");
    drop(input);
    child.wait().expect("it ends");
    let last: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(last["lost_events"], 0);
    last["databases"][0]["processes"][0]["sums"].clone()
}

#[test]
fn counts_are_exact() {
    if !may_trace("counts") {
        return;
    }
    let sums = sums_of(
        "import sqlite3, sys\n\
        c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        c.execute('PRAGMA journal_mode = WAL')\n\
        c.execute('CREATE TABLE t (a)')\n\
        print('ready', flush=True); sys.stdin.readline()\n\
        for n in range(500): c.execute('INSERT INTO t VALUES (1)')\n\
        print('done', flush=True); sys.stdin.readline()\n",
    );
    assert_eq!(sums["writes"], 500, "{sums:#}");
    // A thread for each request, as in many web servers: it has ended, and left /proc, when its events are read.
    let sums = sums_of(
        "import sqlite3, sys, threading\n\
        connect = lambda: sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None, check_same_thread=False)\n\
        c = connect()\n\
        c.execute('CREATE TABLE t (a)')\n\
        def request():\n\
        \x20   d = connect()\n\
        \x20   try: d.execute('INSERT INTO t VALUES (2)')\n\
        \x20   except sqlite3.OperationalError: pass\n\
        \x20   d.close()\n\
        print('ready', flush=True); sys.stdin.readline()\n\
        c.execute('BEGIN IMMEDIATE')\n\
        for n in range(300):\n\
        \x20   t = threading.Thread(target=request); t.start(); t.join()\n\
        c.execute('COMMIT')\n\
        print('done', flush=True); sys.stdin.readline()\n",
    );
    assert_eq!((&sums["refusals"], &sums["writes"]), (&Value::from(300), &Value::from(1)), "{sums:#}");
}

#[test]
fn writes_are_counted_across_changes_of_the_journal_mode() {
    if !may_trace("changes of the journal mode") {
        return;
    }
    let sums = sums_of(
        "import sqlite3, sys\n\
        c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        c.execute('CREATE TABLE t (a)')\n\
        print('ready', flush=True); sys.stdin.readline()\n\
        for mode in ('wal', 'delete', 'wal'):\n\
        \x20   c.execute('PRAGMA journal_mode = ' + mode)\n\
        \x20   c.execute('SELECT count(*) FROM t').fetchall()\n\
        \x20   print('rollback' if mode == 'delete' else mode, flush=True); sys.stdin.readline()\n\
        \x20   for n in range(100): c.execute('INSERT INTO t VALUES (1)')\n\
        print('done', flush=True); sys.stdin.readline()\n",
    );
    // A change of the mode writes it into the header of the file, under the writer's lock of a rollback journal. To WAL, the index
    // of the log is then rebuilt, which is no write.
    assert_eq!((&sums["writes"], &sums["gave_up"]), (&Value::from(303), &Value::from(0)), "{sums:#}");
}
