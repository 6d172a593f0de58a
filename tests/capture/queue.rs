//! A job queue: many connections that write once, and a consumer that waits for a shorter time and writes most.

use super::{capture, make};
use crate::support::Bench;

/// A consumer claims and finishes CLAIMS jobs, and each of 6 has its connection when it is made. Then a claim, which has read, is refused
/// at once, and a finish gives up.
const QUEUE: &str = "
import sqlite3
def connect(timeout):
    return sqlite3.connect('app.db', isolation_level=None, timeout=timeout)
def produce():
    db = connect(1)
    db.execute(\"INSERT INTO jobs (state) VALUES ('queued')\")
    db.close()
def claim():
    consumer.execute('BEGIN')
    job = consumer.execute(\"SELECT id FROM jobs WHERE state = 'queued' LIMIT 1\").fetchone()
    consumer.execute(\"UPDATE jobs SET state = 'running' WHERE id = ?\", job)
    consumer.execute('COMMIT')
def finish():
    consumer.execute(\"UPDATE jobs SET state = 'done' WHERE id = 1\")
def refused(what):
    try:
        what()
    except sqlite3.OperationalError:
        return
    raise SystemExit('not refused')
consumer, holder = connect(0.05), connect(1)
for _ in range(6):
    produce()
for _ in range(CLAIMS):
    claim()
    finish()
holder.execute('BEGIN IMMEDIATE')
holder.execute(\"INSERT INTO jobs (state) VALUES ('held')\")
refused(claim)
consumer.execute('ROLLBACK')
refused(finish)
holder.execute('COMMIT')
";

/// What `to-workload` lists for a queue with this many claims that succeed, and its study.
fn queue(claims: &str) -> (String, String) {
    let bench = Bench::new();
    let sql = "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT NOT NULL);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
         INSERT INTO jobs SELECT i, 'queued' FROM n;";
    make(&bench, "app.db", sql);
    capture(&bench, &[], &["python3", "-c", &QUEUE.replace("CLAIMS", claims)]).exits(0);
    let listed = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    (listed, std::fs::read_to_string(bench.path("taken/study.toml")).expect("written"))
}

#[test]
fn the_captured_busy_timeout_is_that_of_most_writing_transactions() {
    let (listed, study) = queue("20");
    let captured = |ms: u32| {
        format!(
            "label = \"as captured\"\nsettings = {{ journal_mode = \"delete\", synchronous = \"full\", busy_timeout = {ms},"
        )
    };
    assert!(study.contains(&captured(50)), "{study}");
    for said in [
        "The capture has 2 busy timeouts: 1.00 s for 7 connections (",
        "; 7 writing transactions, 0 calls gave up); 50.0 ms for 1 connection (",
        "; 42 writing transactions, 1 call gave up). The study has one for all clients, that of most writing transactions: 50.0 ms.",
    ] {
        assert!(listed.contains(said) && study.contains(said), "{listed}");
    }
    assert!(study.contains("WAL would have removed 2 of 2 lock errors"), "{study}");

    let (listed, study) = queue("2");
    assert!(study.contains(&captured(1_000)) && listed.contains("transactions: 1.00 s."), "{study}");
    let open = "This run cannot tell for 1 of 2 lock errors, because the clients of the study wait up to 1.00 s, and in the capture calls \
                gave up sooner (1 after 50.0 ms).";
    assert!(study.contains(open) && !study.contains("WAL would have removed 2 of 2"), "{study}");
    assert!(
        study.contains("WAL, BEGIN IMMEDIATE and a busy timeout of 5 s would have removed 2 of 2"),
        "all wait that long: {study}"
    );
}

#[test]
fn claims_that_find_no_job_do_not_answer_a_question_about_locks() {
    let (_, study) = queue("20");
    let study: toml::Table = study.parse().expect("TOML");
    let of_locks = |answer: &&toml::Value| answer.get("facts").is_some();
    let answers: Vec<&toml::Value> = study["answer"].as_array().expect("a list").iter().filter(of_locks).collect();
    assert!(answers.len() > 4, "{study}");
    for answer in answers {
        let metric = answer["cannot_tell_if"].as_str().expect("a metric");
        let known =
            study["metric"].as_array().expect("a list").iter().find(|known| known["name"].as_str() == Some(metric));
        let value = known.expect("it is there")["value"].as_str().expect("a formula");
        let parts: Vec<&str> = value.split("update_jobs").collect();
        assert!(
            value.starts_with("max(0, 100 * (1 * rejected.update_jobs") && value.ends_with(", 1)) / 2 - 50)"),
            "{value}"
        );
        assert_eq!(parts.len(), 3, "a finish reads nothing: {value}");
        let said = answer["facts"]["cannot-tell"].as_str().expect("a sentence");
        assert!(said.starts_with("This run cannot tell") && said.contains("(update_jobs"), "{said}");
    }
}
