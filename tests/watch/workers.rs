//! `contend watch` against known truth: contend's own workers carry out plans and report, for each transaction, when it began
//! and ended and how long it waited for the lock. What is seen from outside must agree.

use super::{may_trace, text, watch};
use crate::support::workers::{left_out, program};
use crate::support::{Bench, wait_for};
use contend::record::store::Record;
use contend_wire::sample::{NOT_MEASURED, Sample};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Two writers, which hold the lock for 5 ms in each transaction and so wait for each other.
const WORKLOAD: &str = r#"
about = "Two clients hold the write lock for some milliseconds."

[table.entry]
ddl = "CREATE TABLE entry (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)"

[transaction.add]
kind = "write"
begin = "immediate"

[[transaction.add.step]]
sql = "INSERT INTO entry (v) VALUES (1)"
rows = 1

[[transaction.add.step]]
hold = "5ms"

# So that each of the two gets its turn.
[role.client]
pause = { uniform = ["5ms", "15ms"] }
"#;

const STUDY: &str = r#"
question = "How long was the lock held?"
workload = "workload.toml"
kind = "load"
headline = "throughput_ops_per_s"
rounds = 1
describes = true

[settings]
journal_mode = "wal"
synchronous = "normal"
busy_timeout = 5000

[load]
processes = 2
clients = 1
window = "5s"
run_in = "2s"

"#;

/// By how much a span may lie outside of its transaction.
const SLACK_NS: u64 = 1_000_000;
/// How long the plan holds the lock at least: 5 ms, and timers of runtimes end up to a millisecond early.
const HOLD_NS: u64 = 4_000_000;

/// A span in a list of a record: process, beginning and end on CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
struct Span {
    pid: u64,
    from_ns: u64,
    to_ns: u64,
}

/// Ended spans of a list. `lock`: those of this lock alone.
fn spans(out: &Path, list: &str, began_ns: u64, lock: &str) -> Vec<Span> {
    let lines = fs::read_to_string(out.join(list)).expect("readable");
    let rows = lines.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
    let of_lock = rows.filter(|row| row[5] == lock);
    let read = |row: Vec<String>| {
        let number = |column: usize| row[column].parse::<u64>().ok();
        Some(Span { pid: number(3)?, from_ns: began_ns + number(0)?, to_ns: began_ns + number(1)? })
    };
    of_lock.filter_map(read).collect()
}

fn database_in(dir: &Path) -> Option<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return database_in(&path);
        }
        // The workers have it open when its index is there.
        let shm = PathBuf::from(format!("{}-shm", path.display()));
        let is_data = !["-wal", "-shm", "-journal"].iter().any(|end| path.display().to_string().ends_with(end));
        (is_data && shm.exists()).then_some(path)
    })
}

/// Whether two times agree: within a millisecond or a twentieth.
fn agree(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= (b / 20).max(1_000_000)
}

/// Watches a trial of a driver, and compares.
#[track_caller]
fn compare(driver: &str) {
    let bench = Bench::new();
    fs::write(bench.path("workload.toml"), WORKLOAD).expect("written");
    let contender = format!("[[contender]]\nengine = \"sqlite\"\ndriver = \"{driver}\"\n");
    fs::write(bench.path("study.toml"), format!("{STUDY}{contender}")).expect("written");
    let mut run = bench.command(&["run", "study.toml", "--out", "record", "--quiet"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let data = bench.path("record/data");
    wait_for("the workers to open their database", || database_in(&data).is_some());
    let database = database_in(&data).expect("it is there").display().to_string();
    let out = bench.path("watched");
    let output = watch(&[&database, "--for", "5s", "--out", &out.display().to_string()]).output().expect("it starts");
    run.wait().expect("it ends");
    assert!(output.status.code().is_some_and(|code| code < 2), "{driver}: {}", text(&output));
    let saved: Value =
        serde_json::from_str(&fs::read_to_string(out.join("watch.json")).expect("readable")).expect("JSON");
    assert_eq!(saved["lost_events"], 0, "{driver}");
    let [began_ns, watched_ns] = ["began_ns", "watched_ns"].map(|key| saved[key].as_u64().expect("a number"));
    // Between its snapshot and the lock another client may commit: then SQLite drops the lock at once and begins again. Such a
    // hold is one, too, but no transaction; those of the plan last 5 ms.
    let mut holds = spans(&out, "holds.csv", began_ns, "WAL_WRITE_LOCK");
    holds.retain(|hold| hold.to_ns - hold.from_ns >= HOLD_NS);
    let waits = spans(&out, "waits.csv", began_ns, "WAL_WRITE_LOCK");
    let mut samples: BTreeMap<u32, Vec<Sample>> = BTreeMap::new();
    let within = |sample: &Sample| sample.started_ns > began_ns && sample.finished_ns < began_ns + watched_ns;
    let record = Record::open(&bench.path("record")).expect("a record");
    let each = |sample: Sample| {
        if within(&sample) && sample.code == 0 {
            samples.entry(sample.client).or_default().push(sample);
        }
    };
    record.samples(1, each).expect("samples");
    assert!(samples.values().map(Vec::len).sum::<usize>() >= 50, "{driver}: {} clients", samples.len());
    for (client, samples) in &samples {
        let judged: Vec<_> = pids(&holds).into_iter().map(|pid| judge(samples, &holds, &waits, pid)).collect();
        let Some(Judged { held, waited, outside }) = judged.iter().flatten().next() else {
            // When the transactions without a hold began, after the beginning of the watch.
            let without = judged.iter().filter_map(|judged| judged.as_ref().err());
            let at: Vec<_> =
                without.map(|(number, sample)| (number, sample.started_ns - began_ns, sample.lock_wait_ns)).collect();
            panic!(
                "{driver}: no process has a hold in each of {} transactions of client {client}: {at:?}",
                samples.len()
            )
        };
        // Nothing outside of the bounds; where a driver works before it has the lock and after it, less of the transaction is
        // the hold, and on a busy machine another program takes the processor between the lock and the clock.
        assert_eq!(*outside, 0, "{driver}: holds shorter than the plan's or longer than their transactions");
        assert!(held * 2 >= samples.len(), "{driver}: {held} of {} holds agree", samples.len());
        assert!(waited * 10 >= samples.len() * 9, "{driver}: {waited} of {} waits agree", samples.len());
    }
}

fn pids(holds: &[Span]) -> Vec<u64> {
    let mut pids: Vec<u64> = holds.iter().map(|hold| hold.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Transactions whose hold, and whose wait, are as long outside as inside.
#[derive(Default)]
struct Judged {
    held: usize,
    waited: usize,
    /// Holds that are shorter than the plan says, or longer than their transactions.
    outside: usize,
}

/// Compares a client with a process; the first transaction, with its number, in which the process has no hold is an error.
fn judge(samples: &[Sample], holds: &[Span], waits: &[Span], pid: u64) -> Result<Judged, (usize, Sample)> {
    let of = |spans: &[Span], sample: &Sample| -> Vec<Span> {
        let inside = |span: &&Span| {
            span.pid == pid
                && span.from_ns + SLACK_NS >= sample.started_ns
                && span.to_ns <= sample.finished_ns + SLACK_NS
        };
        spans.iter().filter(inside).copied().collect()
    };
    let mut judged = Judged::default();
    for (number, sample) in samples.iter().enumerate() {
        // More than one if a process was stopped for as long between its snapshot and the lock: the plan's is the last.
        let hold = *of(holds, sample).last().ok_or((number, *sample))?;
        let waited_ns: u64 = of(waits, sample).iter().map(|wait| wait.to_ns - wait.from_ns).sum();
        let whole_ns = sample.finished_ns - sample.started_ns;
        // Some drivers cannot measure it; the rest of the transaction is the hold.
        let told_ns = if sample.lock_wait_ns == NOT_MEASURED { waited_ns } else { sample.lock_wait_ns };
        let (held_ns, rest_ns) = (hold.to_ns - hold.from_ns, whole_ns.saturating_sub(told_ns));
        judged.held += usize::from(agree(held_ns, rest_ns));
        judged.outside += usize::from(held_ns < HOLD_NS || held_ns > rest_ns && !agree(held_ns, rest_ns));
        judged.waited += usize::from(agree(waited_ns, told_ns));
    }
    Ok(judged)
}

/// Drivers with the programs of their workers.
const DRIVERS: [(&str, &str); 3] = [("rusqlite", ""), ("mattn", "go-mattn"), ("python-sqlite3", "python-sqlite3")];

fn compare_built(drivers: &[(&str, &str)]) {
    if !may_trace("workers") {
        return;
    }
    for (driver, worker) in drivers {
        if worker.is_empty() || program(&format!("contend-worker-{worker}")).is_some() {
            compare(driver);
        } else {
            left_out(driver);
        }
    }
}

#[test]
fn what_is_seen_of_three_drivers_agrees_with_their_samples() {
    compare_built(&DRIVERS);
}
