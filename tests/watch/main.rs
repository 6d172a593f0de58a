//! `contend watch` on real programs: each finding is planted and found with the right process; healthy programs have
//! none. What needs tracefs says NOT VERIFIED where this user may not use it.

mod counts;
mod faults;
mod pathologies;
mod planted;
mod record;
mod safety;
mod servers;
#[path = "../support/mod.rs"]
mod support;
mod targets;
mod unseen;
mod workers;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use support::possible::lacking;
use support::wait_for;
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

/// A directory on another device than that of the other tests: without a `-shm`, lock calls on every file of the device are
/// traced, and those of other tests fill the buffer.
fn place_apart() -> TempDir {
    TempDir::with_prefix_in("contend-watch-", "/dev/shm").expect("a directory in memory")
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
            // Some of the syncs of a commit: there must be many commits.
            if name == "small_commits" {
                command.env("CONTEND_SYNC_LEAST_MS", "1");
            }
            // A commit in WAL has one sync.
            if name == "disk_wal" {
                command.env("CONTEND_SYNC_LEAST_MS", SYNC_MS.to_string());
            }
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

impl Program {
    /// The arguments that name its database, once that is open. In a mount namespace of its own the program has a database
    /// that is not there outside.
    fn target(&self) -> Vec<String> {
        let (database, pid) = (&self.database, self.pids["self"].to_string());
        let has_open = |link: fs::DirEntry| fs::read_link(link.path()).is_ok_and(|path| path == *database);
        let fds = || fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        wait_for("the database to be open", || database.exists() || fds().any(has_open));
        if database.exists() { vec![database.display().to_string()] } else { vec!["--pid".to_string(), pid] }
    }

    /// The findings about its database in a line of a watch.
    fn findings(&self, line: &Value) -> Vec<Value> {
        let databases = line["databases"].as_array().expect("a list").iter();
        let named: Vec<Value> = databases.map(|database| database["path"].clone()).collect();
        // By its name: in a mount namespace the path leads through the process.
        let name = self.database.strip_prefix(self.database.ancestors().nth(2).expect("a directory")).expect("in it");
        let is_its = |found: &&Value| {
            let at = found["database"].as_u64().expect("a number") as usize;
            named[at].as_str().is_some_and(|path| Path::new(path).ends_with(name))
        };
        line["findings"].as_array().expect("a list").iter().filter(is_its).cloned().collect()
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
const ON_A_SLOW_DISK: [(&str, Option<u64>); 6] = [
    ("disk_journal", None),
    ("disk_wal", None),
    ("small_commits", None),
    ("checkpoint_blocks_writers", Some(SYNC_MS)),
    ("checkpoint_call_blocks_writers", Some(SYNC_MS)),
    ("checkpoint_in_commit", Some(SYNC_MS)),
];
const SYNC_MS: u64 = 200;

/// Programs of two processes.
const HAS_OTHER: &[&str] = &[
    "began_before",
    "program_holds_lock",
    "short_pauses",
    "implicit_begin",
    "implicit_begin_journal",
    "forked_journal",
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
    "disk_wal",
    "checkpoint_blocks_writers",
    "checkpoint_call_blocks_writers",
    "old_snapshot",
    "healthy_pair",
    "healthy_polled",
    "healthy_pieces",
    "healthy_readers",
    "healthy_closes",
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

/// A program to begin, and its planted name.
type Beginning<'n> = (Command, &'n str);

/// Watches the databases of these programs, all together, until the findings of each are as wanted, or for some seconds; each
/// program with its findings.
fn findings_until(
    programs: Vec<Beginning>,
    seconds: u32,
    further: &[&str],
    are_as_wanted: &dyn Fn(usize, &Program, &[Value]) -> bool,
) -> Vec<(Program, Vec<Value>)> {
    let dir = place();
    let go = dir.path().join("go");
    let begin = |(at, (mut command, name)): (usize, Beginning)| {
        let own = dir.path().join(at.to_string());
        fs::create_dir(&own).expect("made");
        command.env("CONTEND_GO", &go);
        (Program::begin(command, &own, name, 120), vec![])
    };
    let mut programs: Vec<(Program, Vec<Value>)> = programs.into_iter().enumerate().map(begin).collect();
    let seconds = format!("{seconds}s");
    let targets: Vec<String> = programs.iter().flat_map(|(program, _)| program.target()).collect();
    let mut args: Vec<&str> = targets.iter().map(String::as_str).collect();
    args.extend([&["--for", &seconds, "--json-line"], further].concat());
    let mut watching = watch(&args).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.next().expect("a line");
    fs::write(go, "").expect("written");
    let mut goes_on = vec![true; programs.len()];
    for line in lines {
        // Shown if the test fails.
        println!("{line}");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        let was_over = !goes_on.contains(&true);
        for (at, (program, found)) in programs.iter_mut().enumerate() {
            // Once they were as wanted, a value at its threshold may fall below it until the end.
            if goes_on[at] {
                *found = program.findings(&line);
                goes_on[at] = !are_as_wanted(at, program, found);
            }
        }
        if !was_over && !goes_on.contains(&true) {
            Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
        }
    }
    watching.wait().expect("it ends");
    programs
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
        "healthy_closes",
        "healthy_exclusive_journal",
    ];
    let in_python = in_both.iter().chain(&further).map(|name| (Language::Python, *name));
    let programs = in_python.chain(in_c).map(|(language, name)| (language.command(), name)).collect();
    for (program, found) in findings_until(programs, 8, &[], &|_, _, _| false) {
        assert!(found.is_empty(), "{}: {found:#?}", program.database.display());
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
    assert!(text.contains(&format!("python3 program.py ({})", program.pids["self"])), "{text}");
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("it sees only holds of 20 ms or longer. For refusals, waits and statements, run as root"),
        "{text}"
    );
    assert!(text.contains("refusals and waits: not seen") && said.contains("- - - -"), "{text}");
    let args = [&database, "--for", "2s", "--depth", "sampled", "--json-line"];
    let output = watch(&args).output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stdout).lines().last().map(serde_json::from_str::<Value>);
    let row = &line.expect("a line").expect("JSON")["databases"][0]["processes"][0];
    assert!(row["refusals_per_s"].is_null() && row["sums"]["refusals"].is_null(), "{row}");
    assert!(row["sums"]["write_ns"].as_u64() > Some(0), "{row}");
}
