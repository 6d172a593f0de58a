//! A transaction that seldom holds the lock for long: `show` lists it, and the study has it.

use super::{capture, shown};
use crate::support::Bench;

/// Holds the lock three times, once of these for 0.6 s, in which another connection waits 0.2 s for it and gives up. Each of 14 reads
/// is more frequent. Then the program does nothing for a while.
const SELDOM: &str = "
import sqlite3, threading, time
def connect():
    return sqlite3.connect('app.db', isolation_level=None, timeout=0.2)
db = connect()
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(80), v REAL NOT NULL DEFAULT 0.5)')
db.execute('INSERT INTO t (v) VALUES (2.5)')
for i in range(14):
    for _ in range(5):
        db.execute(f'SELECT v AS v{i} FROM t WHERE id = 1').fetchall()
def pay(pause):
    db.execute('BEGIN IMMEDIATE')
    db.execute('UPDATE t SET v = v + 1 WHERE id = 1')
    if pause == 0.6:
        thread.start()
    time.sleep(pause)
    db.execute('COMMIT')
def mail():
    try:
        connect().execute('INSERT INTO t (name) VALUES (NULL)')
        raise SystemExit('not refused')
    except sqlite3.OperationalError:
        pass
thread = threading.Thread(target=mail)
for pause in (0.03, 0.6, 0.03):
    pay(pause)
thread.join()
time.sleep(1.6)
db.execute('SELECT v AS v0 FROM t WHERE id = 1').fetchall()
";

#[test]
fn what_seldom_holds_the_lock_is_listed_and_has_its_own_transaction_and_window() {
    let bench = Bench::new();
    capture(&bench, &[], &["python3", "-c", SELDOM]).exits(0);
    let summary = shown(&bench);
    let finding =
        summary["findings"].as_array().expect("a list").iter().find(|one| one["kind"] == "program-holds-lock");
    let place = finding.expect("found")["transaction"].as_u64().expect("a place");
    assert!(place > 12, "{summary}");
    let kind = &summary["transactions"][place as usize - 1];
    assert!(kind["count"] == 3 && kind["statements"][0][0].as_str().expect("a text").starts_with("UPDATE t"), "{kind}");
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("Seen in transaction {place}.")), "{text}");
    assert!(text.contains(&format!("\nTransaction {place}:\n")), "{text}");

    let listed = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(listed.contains("update_t_slow: 1 of 3 executions of update_t with a long pause"), "{listed}");
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    assert!(study.contains("value = \"planned.update_t_slow\""), "{study}");
    assert!(study.contains("operations of update_t_slow, which holds the lock longest"), "{study}");
    let study: toml::Table = study.parse().expect("TOML");
    let window = study["quick"]["load"]["window"].as_str().and_then(|text| text.strip_suffix("ms")?.parse().ok());
    let window: u64 = window.expect("milliseconds");
    assert!((1_100..=3_000).contains(&window), "half of the capture for one execution: {window}");
}

#[test]
fn a_quick_study_of_what_holds_the_lock_for_seconds_is_about_locks() {
    let bench = Bench::new();
    // The connection that holds the lock waits for 5 s itself. The other one gives up after 0.2 s.
    let patient = "\ndb = sqlite3.connect('app.db', isolation_level=None, timeout=5)";
    let program = SELDOM
        .replace("(0.03, 0.6, 0.03)", "(1.2, 1.1, 1.2)")
        .replace("0.6", "1.1")
        .replace("\ndb = connect()", patient);
    capture(&bench, &[], &["python3", "-c", &program]).exits(0);
    let text = std::fs::read_to_string(bench.path("taken/study.toml")).expect("written");
    let study: toml::Table = text.parse().expect("TOML");
    let loads = study["quick"]["axes"]["load"].as_array().expect("a list").iter().filter_map(|load| load.as_str());
    assert_eq!(loads.collect::<Vec<_>>(), ["captured", "short"], "{text}");
    assert_eq!(study["load"]["drain"].as_str(), Some("11s"), "the longest wait ends: {text}");
    let contenders = study["contender"].as_array().expect("a list").iter();
    let safer = contenders.into_iter().find(|contender| contender["label"].as_str() == Some("synchronous=EXTRA"));
    assert_eq!(safer.expect("a contender")["runs"][0].as_str(), Some("full"), "{text}");

    let quick = ["run", "taken", "--quick", "--rounds", "1", "--set", "load=captured", "--allow-tmpfs"];
    let ran = bench.contend(&[&quick[..], &["--only", "as captured", "--only", "a busy timeout of 10 s"]].concat());
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    ran.ran();
    assert!(said.contains("Would a busy timeout of 10 s have removed the lock errors?"), "{said}");
    assert!(!said.contains("does not count") && !said.contains("No trial of this run counts"), "{said}");
}

#[test]
fn a_made_up_literal_of_a_definition_is_not_shown_as_the_programs_own() {
    let bench = Bench::new();
    for values in ["--values=hash", "--values=full"] {
        capture(&bench, &[values], &["python3", "-c", SELDOM]).exits(0);
        let text = shown(&bench)["statements"].to_string();
        let own = text.contains("name VARCHAR(80), v REAL NOT NULL DEFAULT 0.5)");
        let hidden = text.contains("name VARCHAR(?), v REAL NOT NULL DEFAULT ?)");
        assert_eq!((own, hidden), (values == "--values=full", values == "--values=hash"), "{text}");
        std::fs::remove_dir_all(bench.path("taken")).expect("removed");
        std::fs::remove_file(bench.path("app.db")).expect("removed");
    }
}
