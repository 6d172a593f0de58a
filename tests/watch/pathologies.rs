//! What each planted program does, and what a finding says of it.

use super::{Program, SYNC_MS};
use contend::engine::wal::companion;
use serde_json::Value;
use std::fs;

pub const MS: u64 = 1_000_000;
/// Longest watch of planted programs; it ends as soon as each has its finding.
pub const SECONDS: u32 = 60;
/// Longest time for which a planted program is watched, with a reserve.
pub const WATCHED_NS: u64 = (SECONDS as u64 + 10) * 1_000 * MS;
/// Longest stop of a machine that the tests allow for: the longest time of a watch keeps it.
const STOP_NS: u64 = 10_000 * MS;
/// The busy timeout of most planted programs, which a busy machine overruns.
pub const TIMEOUT_NS: u64 = 2 * 5_000 * MS;

/// A planted program: its name, the kind of its finding, and whether a finding says of it what it must. The number is
/// that of the other process, if there is one.
pub type Planted = (&'static str, &'static str, fn(&Value, u32) -> bool);

pub const PLANTED: [Planted; 24] = [
    // It sleeps 400 ms in each transaction.
    ("program_holds_lock", "program-holds-lock", |found, _| {
        begins(&found["before"], "INSERT INTO t")
            && found["after"] == "COMMIT"
            && within(&found["longest_gap_ns"], 400 * MS)
            && at_least(&found["outside_ns"], at(&found["longest_gap_ns"]))
            && at_least(&found["held_ns"], at(&found["longest_gap_ns"]))
            && at_least(&found["longest_wait_ns"], 10 * MS)
            && at_most(&found["longest_wait_ns"], TIMEOUT_NS)
            && at_most(&found["held_ns"], WATCHED_NS)
    }),
    // It sleeps 60 ms in each transaction, and the other process has no busy timeout.
    ("short_pauses", "program-holds-lock", |found, _| {
        begins(&found["before"], "INSERT INTO t")
            && found["after"] == "COMMIT"
            && within(&found["longest_gap_ns"], 60 * MS)
            && at_least(&found["holds"], 3)
            && at_least(&found["held_ns"], at(&found["outside_ns"]))
            && 10 * at(&found["outside_ns"]) >= 9 * at(&found["held_ns"])
            && at_least(&found["refused"], 5)
            && at_least(&found["refused_in_all"], at(&found["refused"]))
    }),
    ("implicit_begin", "program-holds-lock", sleeps_after_its_insert),
    ("implicit_begin_journal", "program-holds-lock", sleeps_after_its_insert),
    ("idle_in_transaction", "idle-in-transaction", |found, _| {
        begins(&found["last"], "UPDATE t SET v")
            && at_least(&found["idle_ns"], 1_000 * MS)
            && at_least(&found["held_ns"], at(&found["idle_ns"]))
            && at_most(&found["held_ns"], WATCHED_NS)
    }),
    // It takes 1.5 s.
    ("long_transaction", "long-transaction", |found, _| {
        begins(&found["sql"], "INSERT INTO t (v) VALUES (slow(")
            && within(&found["longest_ns"], 1_500 * MS)
            && at_least(&found["longest_wait_ns"], 1_000 * MS)
            && at_most(&found["longest_wait_ns"], TIMEOUT_NS)
    }),
    // No event shows its statement.
    ("began_before", "long-transaction", |found, _| {
        found["sql"].is_null()
            && at_least(&found["longest_wait_ns"], 1_000 * MS)
            && at_most(&found["longest_wait_ns"], TIMEOUT_NS)
    }),
    // 20 ms between its read and its write, while the other process holds the lock nearly always.
    ("read_then_write", "read-then-write", |found, other| {
        begins(&found["sql"], "INSERT INTO t")
            && at_least(&found["refused"], 3)
            && at_least(&found["longest_ns"], 20 * MS)
            && at_most(&found["longest_ns"], TIMEOUT_NS)
            && had(found, other)
    }),
    // The other process commits between its read and its write, and has no lock any more: only the result of the statement
    // shows it (SQLITE_BUSY_SNAPSHOT).
    ("old_snapshot", "read-then-write", |found, _| {
        begins(&found["sql"], "INSERT INTO t")
            && at_least(&found["refused"], 3)
            && found["outdated"] == found["refused"]
            && found["holder"].is_null()
    }),
    ("no_busy_timeout", "no-busy-timeout", |found, other| {
        begins(&found["sql"], "BEGIN IMMEDIATE") && at_least(&found["refused"], 3) && had(found, other)
    }),
    // The other process holds the lock for 600 ms, and its timeout is 200 ms.
    ("timeout_too_short", "timeout-too-short", |found, other| {
        begins(&found["sql"], "BEGIN IMMEDIATE")
            && at_least(&found["gave_up"], 1)
            && within(&found["longest_ns"], 100 * MS)
            && within(&found["held_ns_max"], 600 * MS)
            && had(found, other)
    }),
    ("starvation", "starvation", |found, other| {
        found["holder"] == other
            && found["holder_sql"].is_string()
            && at_least(&found["held_permille"], 800)
            && at_least(&found["waited_ns"], 4 * at(&found["had_ns"]))
            && at_least(&found["waited_ns"], 400 * MS)
            && at_most(&found["waited_ns"], WATCHED_NS)
    }),
    ("readers_block_writer", "readers-block-writer", |found, other| {
        reads_with_pauses(found)
            && at_least(&found["read_ns"], at(&found["longest_ns"]))
            && found["writers"] == Value::from(vec![other])
    }),
    // Its wait ends with a try after the read.
    ("readers_block_own_writer", "readers-block-writer", |found, _| {
        reads_with_pauses(found) && found["writers"] == Value::from(vec![found["pid"].clone()])
    }),
    ("reader_pins_log", "reader-pins-log", |found, _| {
        begins(&found["sql"], "SELECT count(*)")
            && at_least(&found["behind_frames"], 2_000)
            && at_least(&found["log_bytes"], 4_096 * at(&found["behind_frames"]))
            && at_least(&found["held_ns"], 1_000 * MS)
            && at_most(&found["held_ns"], WATCHED_NS)
    }),
    // Readers take turns.
    ("log_never_restarts", "log-never-restarts", |found, _| {
        at_least(&found["frames"], 10_000)
            && at_least(&found["grown_frames"], 2_000)
            && at_least(&found["log_bytes"], 4_096 * 10_000)
            && at_least(&found["checkpoints"], 1)
    }),
    ("open_close_churn", "open-close-churn", |found, _| at_least(&found["per_s"], 5) && found["processes"] == 1),
    // Without a log no lock tells a connection from another; its beginning is a call.
    ("churn_with_journal", "open-close-churn", |found, _| at_least(&found["per_s"], 5) && found["processes"] == 1),
    // Python has prepared its statement before the watch.
    ("small_commits", "small-commits", |found, _| {
        begins(&found["sql"], "INSERT INTO t")
            && at_least(&found["commits_per_s"], 50)
            && at_least(&found["sync_permille"], 300)
    }),
    // Each sync takes 3 ms.
    ("disk_journal", "disk", |found, _| {
        found["sql"].is_string()
            && at_least(&found["sync_permille"], 500)
            && at_least(&found["syncs"], 5)
            && at(&found["syncs"]) * at(&found["sync_ns_mean"]) >= 100 * MS
            && at(&found["syncs"]) * at(&found["sync_ns_mean"]) <= WATCHED_NS
    }),
    // In WAL the log is synced before the lock is given back.
    ("disk_wal", "disk", |found, _| {
        begins(&found["sql"], "INSERT INTO t")
            && at_least(&found["sync_permille"], 500)
            && at(&found["syncs"]) * at(&found["sync_ns_mean"]) >= SYNC_MS * MS
            && at(&found["syncs"]) * at(&found["sync_ns_mean"]) <= WATCHED_NS
    }),
    ("checkpoint_blocks_writers", "checkpoint-blocks-writers", |found, _| {
        begins(&found["sql"], "PRAGMA wal_checkpoint(TRUNCATE)") && both_syncs(found) && waited(found)
    }),
    // The same by a call of the library, which has no statement.
    ("checkpoint_call_blocks_writers", "checkpoint-blocks-writers", |found, _| {
        found["sql"] == "sqlite3_wal_checkpoint_v2" && both_syncs(found) && waited(found)
    }),
    ("checkpoint_in_commit", "checkpoint-in-commit", |found, _| {
        ["WITH", "DELETE"].iter().any(|word| begins(&found["sql"], word)) && both_syncs(found)
    }),
];

/// Whether a text of a finding begins like this.
pub fn begins(text: &Value, with: &str) -> bool {
    text.as_str().is_some_and(|text| text.starts_with(with))
}

pub fn at(number: &Value) -> u64 {
    number.as_u64().unwrap_or(u64::MAX)
}

/// Whether a number of a finding is at least this one.
pub fn at_least(number: &Value, least: u64) -> bool {
    number.as_u64() >= Some(least)
}

/// Whether a number of a finding is at most this one.
pub fn at_most(number: &Value, most: u64) -> bool {
    number.as_u64().is_some_and(|number| number <= most)
}

/// Whether a time of a finding is that of a pause, which lasts longer on a machine that is busy, slower, or stops.
pub fn within(number: &Value, pause_ns: u64) -> bool {
    at_least(number, pause_ns) && at_most(number, pause_ns + STOP_NS)
}

/// Whether a commit waited for a read, which takes at least four pauses of 50 ms.
fn reads_with_pauses(found: &Value) -> bool {
    begins(&found["sql"], "SELECT * FROM t")
        && at_least(&found["times"], 1)
        && at_least(&found["longest_ns"], 50 * MS)
        && within(&found["read_ns"], 200 * MS)
        && at_least(&found["waited_ns"], at(&found["longest_ns"]))
}

/// Python's module has begun the transaction, in which the program sleeps 700 ms.
fn sleeps_after_its_insert(found: &Value, _: u32) -> bool {
    begins(&found["before"], "INSERT INTO t")
        && begins(&found["after"], "UPDATE t SET v")
        && within(&found["longest_gap_ns"], 700 * MS)
        && at_least(&found["held_ns"], at(&found["outside_ns"]))
        && found["holds"] == 1
        && at_least(&found["refused"], 1)
}

/// Whether the other process had the lock, with its statement.
pub fn had(found: &Value, other: u32) -> bool {
    // What it executed then: the statement that takes the lock, one under it, or the one that gives it back.
    let under_lock = ["BEGIN IMMEDIATE", "INSERT INTO t", "COMMIT"];
    found["holder"] == other && under_lock.iter().any(|sql| begins(&found["holder_sql"], sql))
}

/// Whether a checkpoint took as long as its two syncs.
pub fn both_syncs(found: &Value) -> bool {
    within(&found["longest_ns"], 2 * SYNC_MS * MS)
}

pub fn waited(found: &Value) -> bool {
    at_least(&found["longest_wait_ns"], 100 * MS) && at_most(&found["longest_wait_ns"], TIMEOUT_NS)
}

/// Whether the log of a finding, if it has one, is as large as the file: it does not become smaller by itself.
pub fn has_size_of_log(found: &Value, program: &Program) -> bool {
    let log = companion(&program.database, "-wal");
    found["log_bytes"].as_u64().is_none_or(|bytes| fs::metadata(log).is_ok_and(|log| bytes <= log.len()))
}

/// Without statements the two causes cannot be told apart.
pub const REFUSED_AT_ONCE: Planted = ("refused_rarely", "refused-at-once", |found, other| {
    at_least(&found["refused"], 1) && found["holder"] == other && found["sql"].is_null()
});
