//! contend's own worker is captured while it carries out a known plan: the workload drawn from the capture is that of
//! the plan. Then the drawn workload is carried out and captured in the same way.

use crate::support::{Bench, root, tool, wait_for};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

const WORKLOAD: &str = r#"
about = "Reads, and two kinds of writes, with unequal keys, texts and numbers."

[table.account]
ddl = "CREATE TABLE account (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, balance INTEGER NOT NULL)"
rows = 200

[table.account.columns]
id = { serial = 1 }
owner = { format = "owner-{id}" }
balance = 1000

[table.event]
ddl = "CREATE TABLE event (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL)"

[transaction.look]
kind = "read"
args = { account = { ref = "account.id", zipf = 1.2 } }

[[transaction.look.step]]
sql = "SELECT owner, balance FROM account WHERE id = :account"

[transaction.note]
kind = "write"

[transaction.note.args]
account = { ref = "account.id", zipf = 0.8 }
kind = { choice = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"], weights = [200, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 90] }
size = { range = [1, 60], zipf = 1.0 }

[[transaction.note.step]]
sql = "INSERT INTO event (account, kind, size) VALUES (:account, :kind, :size)"

[[transaction.note.step]]
sql = "UPDATE account SET balance = balance - :size WHERE id = :account"

[transaction.rest]
kind = "write"
args = { account = { ref = "account.id" } }

[[transaction.rest.step]]
sql = "UPDATE account SET balance = 1000 WHERE id = :account"

[profile.all]
mix = { look = 70, note = 25, rest = 5 }
"#;

fn study(workload: &str) -> String {
    format!(
        "question = \"?\"\nworkload = \"{workload}\"\nkind = \"load\"\nheadline = \"throughput_ops_per_s\"\nrounds = 6\nbaseline = [\"one\"]\n\
         [[contender]]\nengine = \"sqlite\"\nlabel = \"one\"\ndriver = \"python-sqlite3\"\n\
         settings = {{ journal_mode = \"wal\", synchronous = \"off\", begin = \"immediate\", busy_timeout = 5000 }}\n\
         [load]\nprocesses = 1\nclients = 1\noperations = 3000\n"
    )
}

/// A statement without the names of its arguments.
fn without_names(sql: &str) -> String {
    let mut parts = sql.split(':');
    let first = parts.next().unwrap_or_default().to_string();
    let rest = parts.map(|part| format!("?{}", part.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')));
    // The capture writes a space where a person would, the plan where its author did.
    std::iter::once(first).chain(rest).collect::<String>().replace(" (", "(")
}

/// A worker that is captured. The capture ends after the worker, and a run does not wait for that: it has a session of its
/// own.
fn worker() -> String {
    let worker = root().join("target/workers/contend-worker-python-sqlite3");
    format!(
        "exec 3<&0\nsetsid '{}' capture --values=full --out \"$1-$$\" -- sh -c '\"$1\"; touch \"$0\"' \"$1-$$.done\" '{}' <&3 &\n\
         while [ ! -e \"$1-$$.done\" ]; do sleep 0.1; done\n",
        tool(),
        worker.display()
    )
}

/// Runs a study with captures of the worker; the one of the process with the most calls.
fn captured(bench: &Bench, study: &str, name: &str) -> (PathBuf, Value) {
    let command = format!("sh '{}' '{}'", bench.path("worker.sh").display(), bench.path(name).display());
    let options = ["--rounds", "1", "--allow-tmpfs", "--quiet", "--out", &format!("record-{name}")];
    bench.contend(&[&["run", study, "--worker-command", &command], &options[..]].concat()).ran();
    let entries = std::fs::read_dir(bench.dir.path()).expect("readable").flatten().map(|entry| entry.path());
    let is_mine = |path: &PathBuf| {
        path.is_dir() && path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}-")))
    };
    let taken = entries.filter(is_mine).inspect(|path| {
        wait_for("the capture to end", || {
            std::fs::read_to_string(path.join("capture.json")).is_ok_and(|text| text.contains("\"status\": 0"))
        });
    });
    let shown = taken.map(|path| {
        let said = bench.contend(&["capture", "show", &path.display().to_string(), "--json"]).exits(0);
        (path, serde_json::from_str::<Value>(&said.out).expect("JSON"))
    });
    // Another process of the worker loads and checks.
    shown.max_by_key(|(_, summary)| summary["calls"].as_u64()).expect("a capture")
}

/// Share of each transaction among those of the workload, by its statements.
fn shares(summary: &Value) -> BTreeMap<String, (f64, u64)> {
    let kinds = summary["transactions"].as_array().expect("a list");
    let mine = kinds.iter().filter(|kind| kind["count"].as_u64() > Some(50));
    let counts: BTreeMap<String, u64> =
        mine.map(|kind| (kind["statements"].to_string(), kind["count"].as_u64().expect("a number"))).collect();
    let all: u64 = counts.values().sum();
    counts.into_iter().map(|(text, count)| (text, (count as f64 / all as f64, count))).collect()
}

/// Statement and place of each value, with the share of the most frequent one and the number of executions.
fn skew(summary: &Value) -> BTreeMap<(String, u64), (f64, u64)> {
    let keys = summary["keys"].as_array().expect("a list").iter();
    keys.map(|key| {
        let place = (key["statement"].as_str().expect("a text").to_string(), key["place"].as_u64().expect("a number"));
        (place, (key["most"].as_f64().expect("a number"), key["count"].as_u64().expect("a number")))
    })
    .collect()
}

/// Asserts that shares of both are equal within 1 %, and what chance adds in so many draws.
fn are_equal<K: Ord + std::fmt::Debug>(one: &BTreeMap<K, (f64, u64)>, other: &BTreeMap<K, (f64, u64)>) {
    assert!(one.keys().eq(other.keys()), "the same shapes: {one:?} {other:?}");
    for ((key, (a, n)), (b, m)) in one.iter().zip(other.values()) {
        let chance = 4.0 * (a * (1.0 - a) * (1.0 / *n as f64 + 1.0 / *m as f64)).sqrt();
        assert!((a - b).abs() <= 0.01 + chance, "{key:?}: {a} and {b}, {n} and {m} times");
    }
}

#[test]
fn the_workload_of_a_capture_is_that_of_the_plan() {
    if !root().join("target/workers/contend-worker-python-sqlite3").is_file() {
        assert!(std::env::var_os("CONTEND_TESTS_MUST_HAVE_WORKERS").is_none(), "the Python worker is not built");
        println!("NOT VERIFIED: round trip: `make workers-python` builds the worker");
        return;
    }
    let bench = Bench::new();
    std::fs::write(bench.path("plan.toml"), WORKLOAD).expect("written");
    std::fs::write(bench.path("worker.sh"), worker()).expect("written");
    std::fs::write(bench.path("one.toml"), study("plan.toml")).expect("written");
    let (taken, first) = captured(&bench, "one.toml", "first");
    let name = taken.file_name().expect("a name").to_string_lossy().into_owned();
    // The run does not wait for what the capture does after its worker.
    bench.contend(&["capture", "to-workload", &name]).exits(0);
    let text = std::fs::read_to_string(taken.join("workload.toml")).expect("a workload");
    let drawn: toml::Table = text.parse().expect("TOML");

    // Shapes: the statements of the plan, in the same transactions.
    let plan: toml::Table = WORKLOAD.parse().expect("TOML");
    let shapes = |file: &toml::Table| {
        let all = file["transaction"].as_table().expect("a table").values();
        let texts = all.map(|transaction| {
            let steps = transaction["step"].as_array().expect("steps").iter();
            let sql: Vec<&str> = steps.filter_map(|step| step.get("sql")?.as_str()).collect();
            without_names(&sql.join("; "))
        });
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    };
    assert_eq!(shapes(&drawn), shapes(&plan), "{text}");
    // Shares: those of the capture, exactly.
    let role = drawn["role"].as_table().and_then(|roles| roles.values().next()).expect("a role");
    let mut mix: Vec<i64> =
        role["mix"].as_table().expect("a mix").values().filter_map(toml::Value::as_integer).collect();
    let mut counts: Vec<i64> = shares(&first).values().map(|(_, count)| count.cast_signed()).collect();
    mix.sort_unstable();
    counts.sort_unstable();
    assert_eq!(mix, counts, "{text}");
    let (share, total) = (mix[0] as f64, mix.iter().sum::<i64>() as f64);
    assert!((share / total - 0.05).abs() < 0.02, "about those of the plan: {mix:?}");
    // Arguments: the captured values, as often.
    assert!(text.contains("choice = [\"a1\", \"c8\", "), "texts by frequency: {text}");
    assert!(text.contains("ref = \"account.id\" }"), "keys that are equally frequent: {text}");

    // The drawn workload, named by the capture's directory, does the same again.
    std::fs::write(bench.path("two.toml"), study(&name)).expect("written");
    let (_, second) = captured(&bench, "two.toml", "second");
    are_equal(&shares(&first), &shares(&second));
    are_equal(&skew(&first), &skew(&second));
}
