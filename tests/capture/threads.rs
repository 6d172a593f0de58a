//! A program whose threads do different work: each transaction keeps its own BEGIN in the study, and what one thread does alone is
//! named.

use super::{capture, make, shown};
use crate::support::Bench;

/// Three threads read and then write in transactions that begin as deferred; a fourth one begins its transactions at once with the
/// write lock.
const SHOP: &str = "
import sqlite3, threading, time
def connect():
    return sqlite3.connect('app.db', timeout=5, isolation_level=None)
def book():
    db = connect()
    for i in range(30):
        try:
            db.execute('BEGIN')
            db.execute('SELECT n FROM seat WHERE id = ?', (i % 20 + 1,)).fetchone()
            time.sleep(0.005)
            db.execute('UPDATE seat SET n = n - 1 WHERE id = ?', (i % 20 + 1,))
            db.execute('COMMIT')
        except sqlite3.OperationalError:
            db.execute('ROLLBACK')
def mail():
    db = connect()
    for i in range(8):
        time.sleep(0.02)
        db.execute('BEGIN IMMEDIATE')
        db.execute('SELECT id FROM mail WHERE sent = 0 LIMIT 1').fetchall()
        time.sleep(0.002)
        db.execute('UPDATE mail SET sent = 1 WHERE id = ?', (i + 1,))
        db.execute('COMMIT')
threads = [threading.Thread(target=work) for work in (book, book, book, mail)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
";

fn captured(bench: &Bench) -> (String, toml::Value, toml::Value) {
    let rows = |table: &str, value: u32| {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO {table} SELECT i, {value} FROM n;"
        )
    };
    let tables = "PRAGMA journal_mode = wal; CREATE TABLE seat (id INTEGER PRIMARY KEY, n INTEGER);
         CREATE TABLE mail (id INTEGER PRIMARY KEY, sent INTEGER);";
    make(bench, "app.db", &format!("{tables}{}{}", rows("seat", 1000), rows("mail", 0)));
    let said = capture(bench, &[], &["python3", "-c", SHOP]).exits(0).err;
    let file = |name: &str| {
        let text = std::fs::read_to_string(bench.path("taken").join(name)).expect("written");
        toml::from_str(&text).expect("TOML")
    };
    (said, file("workload.toml"), file("study.toml"))
}

#[test]
fn each_transaction_keeps_its_own_begin() {
    let bench = Bench::new();
    let (_, workload, study) = captured(&bench);
    let begin = |name: &str| workload["transaction"][name].get("begin").and_then(toml::Value::as_str);
    assert_eq!((begin("update_mail"), begin("update_seat")), (Some("immediate"), None), "{workload}");
    let contenders = study["contender"].as_array().expect("contenders");
    let of = |label: &str| {
        let one = contenders.iter().find(|contender| contender["label"].as_str() == Some(label)).expect("a contender");
        one["settings"]["begin"].as_str().expect("a begin").to_string()
    };
    assert_eq!((of("as captured"), of("BEGIN IMMEDIATE")), ("deferred".into(), "immediate".into()), "{study}");
    let options =
        ["--window", "500ms", "--set", "load=full", "--only", "as captured", "--rounds", "1", "--allow-tmpfs"];
    bench.contend(&[&["run", "taken", "--out", "r"], &options[..]].concat()).ran();
    let table = std::fs::read_to_string(bench.path("r/transactions.csv")).expect("a report");
    let numbers = table.lines().find_map(|line| line.split_once(",update_mail,write,")).expect("a line").1;
    let numbers: Vec<u64> = numbers.split(',').map_while(|number| number.parse().ok()).collect();
    let [attempts, committed, ..] = numbers[..] else { panic!("{table}") };
    assert!(attempts > 0 && committed == attempts, "as in the program, a lock refuses none: {table}");
}

#[test]
fn what_one_thread_does_alone_is_a_limit_of_the_study() {
    let bench = Bench::new();
    let (said, _, study) = captured(&bench);
    let limits = study["limits"].as_array().expect("limits").iter().filter_map(toml::Value::as_str);
    let limit = limits.into_iter().find(|limit| limit.starts_with("One thread of the program")).expect("a limit");
    let names = limit.contains("update_mail (8 times; the 4 clients of ") && !limit.contains("update_seat");
    assert!(names, "{limit}");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&said).contains(limit), "at the end of the capture: {said}");
    let listed = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(flat(&listed).contains(limit), "{listed}");
    let text = flat(&bench.contend(&["capture", "show", "taken"]).exits(0).out);
    let all = shown(&bench)["transactions"].clone();
    let at =
        all.as_array().expect("transactions").iter().position(|kind| kind["begin"] == "immediate").expect("one") + 1;
    let sentence = format!("Made by one thread only, though the program has others: transaction {at} (8 times).");
    assert!(text.contains(&sentence), "{text}");
}
