//! `contend watch` on a program that is captured at the same time: both see all of it.

use super::{counts, make, shown};
use crate::support::{Bench, wait_for};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};

/// Holds the lock 30 times for 50 ms, while its other thread writes 30 times and waits.
const HOLDS: &str = "
import os, sqlite3, threading, time
def connect():
    return sqlite3.connect('app.db', isolation_level=None, timeout=30)
def other():
    db = connect()
    for _ in range(30):
        db.execute('INSERT INTO other VALUES (1)')
        time.sleep(0.05)
db = connect()
db.execute('SELECT count(*) FROM held').fetchall()
while not os.path.exists('go'):
    time.sleep(0.01)
thread = threading.Thread(target=other)
thread.start()
for _ in range(30):
    db.execute('BEGIN IMMEDIATE')
    db.execute('INSERT INTO held VALUES (1)')
    time.sleep(0.05)
    db.execute('COMMIT')
    time.sleep(0.02)
thread.join()
open('done', 'w')
while os.path.exists('go'):
    time.sleep(0.01)
";

#[test]
fn a_captured_program_can_be_watched_at_the_same_time() {
    let bench = Bench::new();
    make(&bench, "app.db", "CREATE TABLE held (a); CREATE TABLE other (a)");
    let captured = bench.start(&["capture", "--out", "taken", "--", "python3", "-c", HOLDS]);
    let mut watched = bench.start(&["watch", "app.db", "--for", "60s", "--json-line"]);
    let lines = BufReader::new(watched.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
    lines.next().expect("a line");
    std::fs::write(bench.path("go"), "").expect("written");
    wait_for("the program", || bench.path("done").exists());
    let last = lines.nth(1).expect("a line of the time after it");
    std::fs::remove_file(bench.path("go")).expect("removed");
    rustix::process::kill_process(rustix::process::Pid::from_child(&watched), rustix::process::Signal::INT)
        .expect("ended");
    let last = lines.last().unwrap_or(last);
    let code = watched.wait().expect("ended").code();

    let done = captured.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("Nothing is known to be missing"), "{said}");
    let summary = shown(&bench);
    for table in ["held", "other"] {
        let [calls, .., failed] = counts(&summary, &format!("INSERT INTO {table}"));
        assert_eq!((calls, failed), (30, 0), "{table}");
    }
    let mut findings = summary["findings"].as_array().expect("a list").iter();
    assert!(findings.any(|finding| finding["kind"] == "program-holds-lock"), "{summary}");
    if last["depth"] == "with-statements" {
        // Threads of one process wait for each other in memory, which is no finding of a watch.
        let writes = &last["databases"][0]["processes"][0]["sums"]["writes"];
        assert_eq!((code, writes.as_u64()), (Some(0), Some(60)), "{last}");
    } else {
        println!("NOT VERIFIED: writes with statements: {} is the depth here", last["depth"]);
    }
}
