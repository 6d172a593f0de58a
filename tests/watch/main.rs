//! `contend watch` on real programs: each finding is planted and found with the right process; healthy programs have
//! none. What needs tracefs says NOT VERIFIED where this user may not use it.

mod faults;
mod record;
mod safety;
mod servers;
#[path = "../support/mod.rs"]
mod support;
mod targets;
mod workers;

use serde_json::Value;
use support::possible::lacking;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

const TRACEFS: &str = "/sys/kernel/tracing";

/// Set to 1 where every test that traces must do so.
const MUST_TRACE: &str = "CONTEND_TESTS_MUST_TRACE";

/// Whether the kernel may be asked here; where not, that is said. Mounting tracefs is what the tool's own message says
/// to do.
///
/// # Panics
/// It may not, although [`MUST_TRACE`] is set.
#[track_caller]
fn may_trace(test: &str) -> bool {
    if !Path::new(TRACEFS).join("uprobe_events").exists() {
        let _ = Command::new("mount").args(["-t", "tracefs", "nodev", TRACEFS]).stderr(Stdio::null()).status();
    }
    let may = fs::read_dir(Path::new(TRACEFS).join("instances")).is_ok();
    if !may {
        lacking(MUST_TRACE, &format!("{test}: tracefs cannot be used here; run the tests as root"));
    }
    may
}

/// A directory on the disk of the build.
fn place() -> TempDir {
    let build = Path::new(env!("CARGO_BIN_EXE_contend")).parent().expect("a directory");
    TempDir::with_prefix_in("contend-watch-", build).expect("a directory")
}

/// A planted program at work.
struct Program {
    child: Child,
    /// Its processes: `self`, and `other` where it has two.
    pids: BTreeMap<String, u32>,
    /// The thread of `self` that does the work.
    thread: u32,
    database: PathBuf,
}

/// In which language a program is planted.
#[derive(Debug, Clone, Copy)]
enum Language {
    Python,
    C,
}

impl Language {
    const ALL: [Language; 2] = [Language::Python, Language::C];

    /// The command that begins a planted program.
    fn command(self) -> Command {
        static COMPILED: OnceLock<PathBuf> = OnceLock::new();
        match self {
            Language::Python => {
                let mut command = Command::new("python3");
                command.arg(source("program.py"));
                command
            }
            Language::C => Command::new(COMPILED.get_or_init(|| compiled("program", &["-lsqlite3"]))),
        }
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/watch").join(name)
}

/// What a source in C becomes, beside the tool.
fn compiled(name: &str, options: &[&str]) -> PathBuf {
    let build = Path::new(env!("CARGO_BIN_EXE_contend")).parent().expect("a directory");
    let program = build.join(format!("contend-watch-{name}"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-o"]).arg(&program).arg(source(&format!("{name}.c"))).args(options);
    let status = compiler.status().expect("cc is there");
    assert!(status.success(), "{name}.c: install libsqlite3-dev (scripts/install-test-deps.sh)");
    program
}

/// A library that makes a program's syncs slow, so that its findings do not depend on the disk.
fn slow_disk() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| compiled("slow_disk", &["-shared", "-fPIC"]))
}

impl Program {
    fn start(dir: &Path, name: &str, seconds: u32) -> Program {
        Program::start_in(Language::Python, dir, name, seconds)
    }

    fn start_in(language: Language, dir: &Path, name: &str, seconds: u32) -> Program {
        Program::begin(language.command(), dir, name, seconds)
    }

    fn begin(mut command: Command, dir: &Path, name: &str, seconds: u32) -> Program {
        let database = dir.join(format!("{name}.db"));
        command.arg(name).arg(&database).arg(seconds.to_string()).stdout(Stdio::piped());
        if let Some((_, pause_ms)) = ON_A_SLOW_DISK.iter().find(|(slow, _)| *slow == name) {
            command.env("LD_PRELOAD", slow_disk());
            pause_ms.map(|ms| command.env("CONTEND_SYNC_PAUSE_MS", ms.to_string()));
        }
        let mut child = command.spawn().expect("it starts");
        let mut pids = BTreeMap::new();
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let wanted = if HAS_OTHER.contains(&name) { 3 } else { 2 };
        let mut is_ready = false;
        for line in out.lines().map_while(Result::ok) {
            is_ready |= line == "ready";
            if let Some((who, pid)) = line.split_once(' ') {
                pids.insert(who.to_string(), pid.parse().expect("a number"));
            }
            if is_ready && pids.len() == wanted {
                break;
            }
        }
        assert_eq!(pids.len(), wanted, "{name} did not begin");
        let thread = pids.remove("thread").expect("it says so");
        Program { child, pids, thread, database }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        for pid in self.pids.values() {
            let _ = Command::new("kill").arg("-9").arg(pid.to_string()).stderr(Stdio::null()).status();
        }
        let _ = self.child.wait();
    }
}

/// Programs on a slow disk, and by how much each sync takes longer than 3 ms. A checkpoint syncs the log and then the
/// database, so it takes as long whatever the machine.
const ON_A_SLOW_DISK: [(&str, Option<u64>); 3] =
    [("disk_journal", None), ("checkpoint_blocks_writers", Some(SYNC_MS)), ("checkpoint_in_commit", Some(SYNC_MS))];
const SYNC_MS: u64 = 200;

/// Programs of two processes.
const HAS_OTHER: &[&str] = &[
    "program_holds_lock",
    "read_then_write",
    "no_busy_timeout",
    "refused_rarely",
    "timeout_too_short",
    "long_transaction",
    "log_never_restarts",
    "starvation",
    "readers_block_writer",
    "reader_pins_log",
    "disk_journal",
    "checkpoint_blocks_writers",
    "healthy_pair",
    "healthy_pieces",
    "healthy_readers",
];

fn watch(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.arg("watch").args(args).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The last line of JSON of a watch.
fn last(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// Watches the database of one program for 8 s; the findings of the last line.
fn findings(language: Language, name: &str) -> (Program, Vec<Value>) {
    findings_until(language.command(), name, &[], &|_, _| false)
}

/// Watches the database of one program until its findings are as wanted, or for 8 s; the findings of the last line.
fn findings_until(
    mut command: Command,
    name: &str,
    further: &[&str],
    are_as_wanted: &dyn Fn(&Program, &[Value]) -> bool,
) -> (Program, Vec<Value>) {
    let dir = place();
    let go = dir.path().join("go");
    command.env("CONTEND_GO", &go);
    let program = Program::begin(command, dir.path(), name, 60);
    let database = program.database.display().to_string();
    let mut watching = watch(&[&[database.as_str(), "--for", "8s", "--json-line"], further].concat());
    let mut watching = watching.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.next().expect("a line");
    fs::write(go, "").expect("written");
    let (mut found, mut goes_on) = (vec![], true);
    for line in lines {
        let line: Value = serde_json::from_str(&line).expect("JSON");
        found.clone_from(line["findings"].as_array().expect("a list"));
        if goes_on && are_as_wanted(&program, &found) {
            goes_on = false;
            Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
        }
    }
    watching.wait().expect("it ends");
    (program, found)
}

/// The finding of this kind about a process of the program.
fn about<'f>(found: &'f [Value], program: &Program, kind: &str, who: &str) -> Option<&'f Value> {
    found.iter().find(|finding| finding["kind"] == kind && finding["pid"] == program.pids[who])
}

/// Findings about whole processes; the others name a thread.
const OF_PROCESSES: [&str; 5] = ["starvation", "disk", "small-commits", "open-close-churn", "log-never-restarts"];

/// Fails unless a finding of this kind about this process of the program becomes as wanted, in the thread that works; by
/// its name, the other process's number is found too.
#[track_caller]
fn finds_in(
    command: Command,
    (name, kind, who): (&str, &str, &str),
    further: &[&str],
    is_as_wanted: impl Fn(&Value) -> bool,
) {
    let is_found = |program: &Program, found: &[Value]| about(found, program, kind, who).is_some_and(&is_as_wanted);
    let (program, found) = findings_until(command, name, further, &is_found);
    let its = about(&found, &program, kind, who).unwrap_or_else(|| panic!("{name}: no `{kind}` in {found:#?}"));
    assert!(is_as_wanted(its), "{name}: {its:#}");
    if !OF_PROCESSES.contains(&kind) && who == "self" {
        assert_eq!(its["tid"], program.thread, "the thread that works: {its:#}");
    }
}

/// The same of the program itself, in each language.
#[track_caller]
fn finds(name: &str, kind: &str, is_as_wanted: impl Fn(&Value) -> bool) {
    for language in Language::ALL {
        finds_in(language.command(), (name, kind, "self"), &[], &is_as_wanted);
    }
}

/// Whether a text of a finding begins like this.
fn begins(text: &Value, with: &str) -> bool {
    text.as_str().is_some_and(|text| text.starts_with(with))
}

/// Whether a number of a finding is at least this one.
fn at_least(number: &Value, least: u64) -> bool {
    number.as_u64() >= Some(least)
}

#[test]
fn a_program_that_works_while_it_holds_the_lock_is_named_with_its_statements() {
    if may_trace("program-holds-lock") {
        // It sleeps 150 ms.
        finds("program_holds_lock", "program-holds-lock", |found| {
            found["after"] == "COMMIT" && at_least(&found["longest_gap_ns"], 150_000_000)
        });
    }
}

#[test]
fn refusals_are_told_apart_by_their_cause() {
    if !may_trace("refusals") {
        return;
    }
    let inserts =
        |found: &Value, sql: &str| begins(&found["sql"], sql) && begins(&found["holder_sql"], "INSERT INTO t");
    finds("read_then_write", "read-then-write", |found| inserts(found, "INSERT INTO t"));
    finds("no_busy_timeout", "no-busy-timeout", |found| inserts(found, "BEGIN IMMEDIATE"));
    for language in Language::ALL {
        finds_in(language.command(), ("refused_rarely", "refused-at-once", "self"), &["--no-sql"], |_| true);
    }
    // The other one sleeps 600 ms.
    finds("timeout_too_short", "timeout-too-short", |found| {
        at_least(&found["held_ns_max"], 600_000_000) && inserts(found, "BEGIN IMMEDIATE")
    });
}

#[test]
fn a_long_transaction_is_named_with_its_longest_statement() {
    if may_trace("long-transaction") {
        // It takes 1.5 s.
        finds("long_transaction", "long-transaction", |found| {
            begins(&found["sql"], "INSERT INTO t (v) VALUES (slow(")
                && at_least(&found["longest_ns"], 1_500_000_000)
                && at_least(&found["longest_wait_ns"], 1_000_000_000)
        });
    }
}

/// What holds in WAL holds with a rollback journal, too.
#[test]
fn findings_are_the_same_with_a_rollback_journal() {
    if !may_trace("a rollback journal") {
        return;
    }
    for (name, kind) in [
        ("program_holds_lock", "program-holds-lock"),
        ("idle_in_transaction", "idle-in-transaction"),
        ("long_transaction", "long-transaction"),
        ("read_then_write", "read-then-write"),
        ("no_busy_timeout", "no-busy-timeout"),
        ("timeout_too_short", "timeout-too-short"),
        ("small_commits", "small-commits"),
    ] {
        let mut command = Language::C.command();
        command.env("CONTEND_JOURNAL", "delete");
        finds_in(command, (name, kind, "self"), &[], |_| true);
    }
}

/// A kind of finding, and whether one is as wanted.
type Wanted<'w> = (&'w str, &'w dyn Fn(&Value) -> bool);

/// Connections of one process settle conflicts in memory, without a lock call.
#[test]
fn threads_of_one_process_that_refuse_each_other_are_found() {
    if !may_trace("threads") {
        return;
    }
    let finds = |name: &str, wanted: &[Wanted]| {
        let is = |program: &Program, found: &[Value], (kind, is_as_wanted): &Wanted| {
            let of_a_thread = |found: &Value| found["tid"].is_u64() && found["tid"] != program.pids["self"];
            about(found, program, kind, "self").is_some_and(|found| of_a_thread(found) && is_as_wanted(found))
        };
        let are = |program: &Program, found: &[Value]| wanted.iter().all(|one| is(program, found, one));
        let (program, found) = findings_until(Language::Python.command(), name, &[], &are);
        assert!(are(&program, &found), "{name}: {found:#?}");
    };
    for name in ["threads_in_wal", "threads_with_journal"] {
        finds(name, &[("read-then-write", &|found| begins(&found["sql"], "INSERT INTO t"))]);
    }
    // Another thread sleeps 200 ms.
    finds(
        "threads_immediate",
        &[
            ("timeout-too-short", &|found| at_least(&found["held_ns_max"], 150_000_000)),
            ("program-holds-lock", &|found| found["after"] == "COMMIT"),
        ],
    );
}

#[test]
fn a_starved_process_and_the_one_that_starves_it_are_named() {
    if may_trace("starvation") {
        for language in Language::ALL {
            let are_named = |program: &Program, found: &[Value]| {
                let starved = about(found, program, "starvation", "self");
                starved.is_some_and(|one| one["holder"] == program.pids["other"] && one["holder_sql"].is_string())
            };
            let (program, found) = findings_until(language.command(), "starvation", &[], &are_named);
            assert!(are_named(&program, &found), "{language:?}: {found:#?}");
        }
    }
}

#[test]
fn a_transaction_that_was_left_open_is_found_while_it_is() {
    if may_trace("idle-in-transaction") {
        finds("idle_in_transaction", "idle-in-transaction", |found| at_least(&found["idle_ns"], 1_000_000_000));
    }
}

#[test]
fn readers_that_hold_up_a_commit_or_the_log_are_named() {
    if !may_trace("readers") {
        return;
    }
    finds("reader_pins_log", "reader-pins-log", |found| {
        at_least(&found["behind_frames"], 2_000) && begins(&found["sql"], "SELECT count(*)")
    });
    finds("readers_block_writer", "readers-block-writer", |found| begins(&found["longest_read"], "SELECT * FROM t"));
    // Readers take turns.
    finds("log_never_restarts", "log-never-restarts", |found| {
        at_least(&found["frames"], 10_000) && at_least(&found["checkpoints"], 1)
    });
}

#[test]
fn many_small_commits_and_many_connections_are_found() {
    if may_trace("small-commits, open-close-churn") {
        finds("open_close_churn", "open-close-churn", |found| {
            found["per_s"].as_u64() >= Some(5) && found["processes"] == 1
        });
        // Python has prepared its statement before the watch.
        finds("small_commits", "small-commits", |found| {
            begins(&found["sql"], "INSERT INTO t") && found["commits_per_s"].as_u64() >= Some(50)
        });
    }
}

#[test]
fn a_disk_that_is_waited_for_under_the_lock_is_found() {
    if may_trace("disk") {
        let waits = |found: &Value| at_least(&found["sync_permille"], 500) && found["sql"].is_string();
        finds("disk_journal", "disk", waits);
    }
}

#[test]
fn checkpoints_that_keep_writers_out_or_make_commits_slow_are_found() {
    if may_trace("checkpoints") {
        let both_syncs = |found: &Value| found["longest_ns"].as_u64() >= Some(2 * SYNC_MS * 1_000_000);
        finds("checkpoint_blocks_writers", "checkpoint-blocks-writers", |found| {
            begins(&found["sql"], "PRAGMA wal_checkpoint(TRUNCATE)") && both_syncs(found)
        });
        finds("checkpoint_in_commit", "checkpoint-in-commit", |found| {
            ["WITH", "DELETE"].iter().any(|word| begins(&found["sql"], word)) && both_syncs(found)
        });
    }
}

#[test]
fn healthy_programs_have_no_finding() {
    if !may_trace("healthy programs") {
        return;
    }
    let in_both = ["healthy_writer", "healthy_pair", "healthy_readers", "healthy_rollback_journal"];
    let in_c = in_both.map(|name| (Language::C, name));
    let further = [
        "healthy_batches",
        "healthy_idle",
        "healthy_threads",
        "healthy_checkpoints",
        "healthy_pieces",
        "healthy_connections",
    ];
    let in_python = in_both.iter().chain(&further).map(|name| (Language::Python, *name));
    for (language, name) in in_python.chain(in_c) {
        let (_program, found) = findings(language, name);
        assert!(found.is_empty(), "{language:?} {name}: {found:#?}");
    }
}

#[test]
fn without_privileges_locks_are_sampled_and_the_depth_says_so() {
    let dir = place();
    let program = Program::start(dir.path(), "program_holds_lock", 60);
    let database = program.database.display().to_string();
    let output = watch(&[&database, "--for", "3s", "--depth", "sampled"]).output().expect("it starts");
    let text = text(&output);
    assert!(text.contains("Depth: sampled. Not seen: holds shorter than 20 ms"), "{text}");
    assert!(text.contains(&format!("python3 ({})", program.pids["self"])), "{text}");
}
