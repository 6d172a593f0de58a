//! `contend watch` on real programs: each finding is planted and found with the right process; healthy programs have none.
//! What needs tracefs says NOT VERIFIED where this user may not use it.

mod record;
mod servers;
#[path = "../support/mod.rs"]
mod support;
mod workers;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

const TRACEFS: &str = "/sys/kernel/tracing";

/// Whether the kernel may be asked here. Mounting tracefs is what the tool's own message says to do.
fn may_trace(test: &str) -> bool {
    if !Path::new(TRACEFS).join("uprobe_events").exists() {
        let _ = Command::new("mount").args(["-t", "tracefs", "nodev", TRACEFS]).stderr(Stdio::null()).status();
    }
    let may = fs::read_dir(Path::new(TRACEFS).join("instances")).is_ok();
    if !may {
        println!("NOT VERIFIED: {test}: tracefs cannot be used here; run the tests as root");
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
        let database = dir.join(format!("{name}.db"));
        let mut command = language.command();
        command.arg(name).arg(&database).arg(seconds.to_string()).stdout(Stdio::piped());
        if name == "disk_journal" {
            command.env("LD_PRELOAD", slow_disk());
        }
        let mut child = command.spawn().expect("it starts");
        let mut pids = BTreeMap::new();
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let wanted = if HAS_OTHER.contains(&name) { 2 } else { 1 };
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
        Program { child, pids, database }
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

/// Programs of two processes.
const HAS_OTHER: &[&str] = &[
    "program_holds_lock",
    "read_then_write",
    "no_busy_timeout",
    "refused_rarely",
    "timeout_too_short",
    "starvation",
    "readers_block_writer",
    "reader_pins_log",
    "disk_journal",
    "checkpoint_blocks_writers",
    "healthy_pair",
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

/// Watches the database of one program; the findings of the last line.
fn findings(language: Language, name: &str, further: &[&str]) -> (Program, Vec<Value>) {
    let dir = place();
    let program = Program::start_in(language, dir.path(), name, 60);
    let database = program.database.display().to_string();
    let output = watch(&[&[database.as_str(), "--for", "8s", "--json-line"], further].concat());
    let output = { output }.output().expect("it starts");
    (program, last(&output)["findings"].as_array().expect("a list").clone())
}

/// The findings of this kind about this process of the program, in each language.
#[track_caller]
fn finds(name: &str, kind: &str, who: &str) -> Vec<Value> {
    finds_with(name, kind, who, &[])
}

#[track_caller]
fn finds_with(name: &str, kind: &str, who: &str, further: &[&str]) -> Vec<Value> {
    let find = |language: Language| {
        let (program, found) = findings(language, name, further);
        let pid = program.pids[who];
        let matching = found.iter().find(|finding| finding["kind"] == kind && finding["pid"] == pid);
        matching.unwrap_or_else(|| panic!("{language:?}: no `{kind}` of {pid} in {found:#?}")).clone()
    };
    Language::ALL.map(find).to_vec()
}

#[test]
fn a_program_that_works_while_it_holds_the_lock_is_named_with_its_statements() {
    if may_trace("program-holds-lock") {
        for found in finds("program_holds_lock", "program-holds-lock", "self") {
            assert_eq!(found["after"], "COMMIT", "{found}");
            let gap_ms = found["longest_gap_ns"].as_u64().expect("a number") / 1_000_000;
            assert!(gap_ms >= 150, "it sleeps 150 ms: {found}");
        }
    }
}

#[test]
fn refusals_are_told_apart_by_their_cause() {
    if !may_trace("refusals") {
        return;
    }
    for found in finds("read_then_write", "read-then-write", "self") {
        assert!(found["sql"].as_str().is_some_and(|sql| sql.starts_with("INSERT INTO t")), "{found}");
    }
    finds("no_busy_timeout", "no-busy-timeout", "self");
    finds_with("refused_rarely", "refused-at-once", "self", &["--no-sql"]);
    for found in finds("timeout_too_short", "timeout-too-short", "self") {
        assert!(found["held_ns_max"].as_u64() >= Some(600_000_000), "the other one sleeps 600 ms: {found}");
    }
}

/// Connections of one process settle conflicts in memory, without a lock call.
#[test]
fn threads_of_one_process_that_refuse_each_other_are_found() {
    if !may_trace("threads") {
        return;
    }
    let finds = |name: &str, kind: &str| {
        let (program, found) = findings(Language::Python, name, &[]);
        let pid = program.pids["self"];
        let matching = found.iter().find(|finding| finding["kind"] == kind && finding["pid"] == pid);
        matching.unwrap_or_else(|| panic!("{name}: no `{kind}` in {found:#?}")).clone()
    };
    for name in ["threads_in_wal", "threads_with_journal"] {
        let found = finds(name, "read-then-write");
        assert!(found["sql"].as_str().is_some_and(|sql| sql.starts_with("INSERT INTO t")), "{found}");
    }
    let found = finds("threads_immediate", "timeout-too-short");
    assert!(found["held_ns_max"].as_u64() >= Some(150_000_000), "another thread sleeps 200 ms: {found}");
    let found = finds("threads_immediate", "program-holds-lock");
    assert_eq!(found["after"], "COMMIT", "{found}");
}

#[test]
fn a_starved_process_and_the_one_that_starves_it_are_named() {
    if may_trace("starvation") {
        for language in Language::ALL {
            let (program, found) = findings(language, "starvation", &[]);
            let starved = found.iter().find(|finding| finding["kind"] == "starvation");
            let starved = starved.unwrap_or_else(|| panic!("{language:?}: {found:#?}"));
            let pids = ["self", "other"].map(|who| Value::from(program.pids[who]));
            assert_eq!([&starved["pid"], &starved["holder"]], [&pids[0], &pids[1]]);
        }
    }
}

#[test]
fn a_transaction_that_was_left_open_is_found_while_it_is() {
    if may_trace("idle-in-transaction") {
        for found in finds("idle_in_transaction", "idle-in-transaction", "self") {
            assert!(found["idle_ns"].as_u64() >= Some(1_000_000_000), "{found}");
        }
    }
}

#[test]
fn readers_that_hold_up_a_commit_or_the_log_are_named() {
    if !may_trace("readers") {
        return;
    }
    for found in finds("reader_pins_log", "reader-pins-log", "self") {
        assert!(found["behind_frames"].as_u64() >= Some(2_000), "{found}");
    }
    finds("readers_block_writer", "readers-block-writer", "self");
}

#[test]
fn many_small_commits_and_many_connections_are_found() {
    if may_trace("small-commits, open-close-churn") {
        finds("open_close_churn", "open-close-churn", "self");
        finds("small_commits", "small-commits", "self");
    }
}

#[test]
fn a_disk_that_is_waited_for_under_the_lock_is_found() {
    if may_trace("disk") {
        for found in finds("disk_journal", "disk", "self") {
            assert!(found["sync_permille"].as_u64() >= Some(500), "{found}");
        }
    }
}

#[test]
fn checkpoints_that_keep_writers_out_or_make_commits_slow_are_found() {
    if may_trace("checkpoints") {
        finds("checkpoint_blocks_writers", "checkpoint-blocks-writers", "self");
        finds("checkpoint_in_commit", "checkpoint-in-commit", "self");
    }
}

#[test]
fn healthy_programs_have_no_finding() {
    if !may_trace("healthy programs") {
        return;
    }
    let in_both = ["healthy_writer", "healthy_pair", "healthy_readers", "healthy_rollback_journal"];
    let in_c = in_both.map(|name| (Language::C, name));
    let in_python = in_both.iter().chain(&["healthy_batches", "healthy_idle"]).map(|name| (Language::Python, *name));
    for (language, name) in in_python.chain(in_c) {
        let (_program, found) = findings(language, name, &[]);
        assert!(found.is_empty(), "{language:?} {name}: {found:#?}");
    }
}

/// The sums of a Python program on the database in `path`, watched from its line "ready" to its line "done".
fn sums_of(program: &str) -> Value {
    let dir = place();
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
    assert_eq!(next(), "done");
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

/// Instances and probes of contend that the kernel has.
fn left() -> Vec<String> {
    let instances = fs::read_dir(Path::new(TRACEFS).join("instances")).expect("readable").flatten();
    let instances = instances.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let probes = fs::read_to_string(Path::new(TRACEFS).join("uprobe_events")).expect("readable");
    instances.chain(probes.lines().map(str::to_string)).filter(|name| name.contains("contend_watch")).collect()
}

#[test]
fn nothing_is_left_in_the_kernel_after_ctrl_c_or_a_kill() {
    if !may_trace("nothing is left") {
        return;
    }
    for signal in ["-INT", "-KILL"] {
        let dir = place();
        let program = Program::start(dir.path(), "healthy_writer", 60);
        let database = program.database.display().to_string();
        let mut watching = watch(&[&database]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines();
        lines.next().expect("a line").expect("text");
        let own = format!("contend_watch_{}_", watching.id());
        assert!(left().iter().any(|name| name.contains(&own)), "it watches: {:?}", left());
        Command::new("kill").arg(signal).arg(watching.id().to_string()).status().expect("kill");
        watching.wait().expect("it ends");
        for _ in 0..600 {
            if !left().iter().any(|name| name.contains(&own)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert!(!left().iter().any(|name| name.contains(&own)), "after {signal}: {:?}", left());
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

#[test]
fn what_is_no_database_is_refused_with_the_way_on() {
    let dir = place();
    let path = |name: &str| dir.path().join(name).display().to_string();
    fs::write(dir.path().join("text"), "not a database at all").expect("written");
    fs::create_dir(dir.path().join("empty")).expect("made");
    let fifo = Command::new("mkfifo").arg(dir.path().join("pipe")).status().expect("mkfifo");
    assert!(fifo.success());
    let own = std::process::id().to_string();
    for (args, words) in [
        (vec![path("nothing")], "cannot be found"),
        (vec![path("text")], "is not a SQLite database"),
        (vec![path("pipe")], "is not a file"),
        (vec![path("empty")], "holds no SQLite database"),
        (vec!["--pid".into(), "999999999".into()], "is not there"),
        (vec!["--pid".into(), own], "has no SQLite database open"),
        (vec!["postgres://me:geheim@127.0.0.1:1/d".into()], "cannot connect"),
        (vec!["oracle://me:geheim@h/d".into()], "`oracle` is no scheme"),
        (vec!["postgres://me:geheim@h/d".into(), path("text")], "one server is watched at a time"),
        (vec!["mysql://me:geheim@h/d".into(), "--no-sql".into()], "a server is always sampled"),
        (vec![path("text"), "--depth".into(), "deep".into()], "is not a SQLite database"),
        (vec![path("text"), "--for".into(), "soon".into()], "is not a duration"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = watch(&args).output().expect("it starts");
        let text = text(&output);
        assert!(output.status.code() == Some(2) && text.contains(words), "{args:?}: {text}");
        assert!(!text.contains("geheim"), "{text}");
    }
}
