//! What a watch does to others: nothing to the database and its programs, nothing to other users of the kernel's tracing,
//! and nothing is left of it.

use super::{MUST_TRACE, Program, TRACEFS, may_trace, place, text, watch};
use crate::support::possible::lacking;
use crate::support::wait_for;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Instances and probes of contend that the kernel has.
fn left() -> Vec<String> {
    let instances = fs::read_dir(Path::new(TRACEFS).join("instances")).expect("readable").flatten();
    let instances = instances.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let probes = fs::read_to_string(Path::new(TRACEFS).join("uprobe_events")).expect("readable");
    instances.chain(probes.lines().map(str::to_string)).filter(|name| name.contains("contend_watch")).collect()
}

/// A watch of a database that has begun.
fn begun(database: &str) -> Child {
    let mut watching = watch(&[database]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines();
    lines.next().expect("a line").expect("text");
    // It writes a line a second.
    std::thread::spawn(move || lines.for_each(drop));
    watching
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
        let mut watching = begun(&database);
        let own = format!("contend_watch_{}_", watching.id());
        assert!(left().iter().any(|name| name.contains(&own)), "it watches: {:?}", left());
        Command::new("kill").arg(signal).arg(watching.id().to_string()).status().expect("kill");
        watching.wait().expect("it ends");
        for _ in 0..600 {
            if !left().iter().any(|name| name.contains(&own)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(!left().iter().any(|name| name.contains(&own)), "after {signal}: {:?}", left());
    }
}

/// Somebody else's instance and probe.
struct Other {
    instance: PathBuf,
    probe: String,
}

impl Other {
    const EVENT: &str = "events/filelock/posix_lock_inode";
    const FILTER: &str = "fl_start == 77";

    fn make() -> Other {
        let name = format!("other_contend_test_{}", std::process::id());
        let instance = Path::new(TRACEFS).join("instances").join(&name);
        fs::create_dir(&instance).expect("made");
        fs::write(instance.join(Other::EVENT).join("filter"), Other::FILTER).expect("written");
        fs::write(instance.join(Other::EVENT).join("enable"), "1").expect("written");
        // It is never enabled, so no program meets it.
        let other = Other { instance, probe: format!("{name}/never") };
        other.change(&format!("p:{} /bin/true:0x1000", other.probe));
        other
    }

    fn change(&self, line: &str) {
        let file = fs::OpenOptions::new().append(true).open(Path::new(TRACEFS).join("uprobe_events"));
        std::io::Write::write_all(&mut file.expect("tracefs"), line.as_bytes()).expect("written");
    }

    fn is_there(&self) -> bool {
        let file = |name: &str| fs::read_to_string(self.instance.join(Other::EVENT).join(name)).unwrap_or_default();
        let probes = fs::read_to_string(Path::new(TRACEFS).join("uprobe_events")).expect("readable");
        file("enable").trim() == "1" && file("filter").trim() == Other::FILTER && probes.contains(&self.probe)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.change(&format!("-:{}", self.probe));
        let _ = fs::write(self.instance.join(Other::EVENT).join("enable"), "0");
        let _ = fs::remove_dir(&self.instance);
    }
}

#[test]
fn the_next_watch_removes_what_a_dead_one_left_and_nothing_of_others() {
    if !may_trace("what a dead watch left") {
        return;
    }
    let other = Other::make();
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let database = program.database.display().to_string();
    let mut watching = begun(&database);
    let own = format!("contend_watch_{}_", watching.id());
    let pid = watching.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("readable");
    let janitor = children.split_whitespace().next().expect("the janitor");
    assert!(left().iter().any(|name| name.contains(&own)), "it watches: {:?}", left());
    // The janitor first, so that it removes nothing.
    for pid in [janitor, &pid.to_string()] {
        assert!(Command::new("kill").args(["-KILL", pid]).status().expect("kill").success());
    }
    watching.wait().expect("it ends");
    // A probe whose instance is gone; there is no process with this number.
    other.change("p:contend_watch_4194999_1/step_0 /bin/true:0x1000");
    let output = watch(&[&database, "--for", "1s"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let is_ours = |name: &String| name.contains(&own) || name.contains("contend_watch_4194999_1");
    assert!(!left().iter().any(is_ours), "{:?}", left());
    assert!(other.is_there(), "another user's instance, filter and probe");
}

/// Names, lengths, times and contents of a directory's files.
fn contents(dir: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime, Vec<u8>)> {
    let entries = fs::read_dir(dir).expect("readable").flatten().map(|entry| entry.path());
    let mut all: Vec<_> = entries
        .map(|path| {
            let metadata = fs::metadata(&path).expect("there");
            let modified = metadata.modified().expect("a time");
            let bytes = fs::read(&path).expect("readable");
            (path, metadata.len(), modified, bytes)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_database_is_neither_written_nor_locked_and_no_program_is_attached_to() {
    let dir = place();
    let database = dir.path().join("idle.db");
    let code = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE t (a)')\n\
        c.execute('SELECT count(*) FROM t').fetchall()\nprint('ready', flush=True); sys.stdin.read()";
    let mut program = Command::new("python3");
    let program = program.args(["-c", code]).arg(&database).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut program = program.spawn().expect("python3");
    BufReader::new(program.stdout.take().expect("piped")).lines().next().expect("a line").expect("text");
    let before = contents(dir.path());
    let calls = place();
    let calls = calls.path().join("calls");
    let watched = watch(&[&database.display().to_string(), "--for", "2s"]);
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-qq", "-e", "trace=open,openat,openat2,fcntl,flock,ptrace,process_vm_writev", "-o"])
        .arg(&calls);
    traced.arg(watched.get_program()).args(watched.get_args()).stdin(Stdio::null());
    let (traced, after) = (traced.output(), contents(dir.path()));
    drop(program.stdin.take());
    program.wait().expect("it ends");
    let Ok(output) = traced else {
        return lacking(MUST_TRACE, "system calls of a watch: strace is not installed (scripts/install-test-deps.sh)");
    };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(before, after, "no file is written, made or removed");
    let calls = fs::read_to_string(&calls).expect("readable");
    let name = database.file_name().expect("a name").to_string_lossy().into_owned();
    let opened: Vec<&str> = calls.lines().filter(|line| line.contains(&name)).collect();
    assert!(opened.len() > 2, "its index is read again and again: {opened:#?}");
    for line in calls.lines() {
        let is_memory = line.contains("/mem\"");
        let opens = line.contains(&name) || is_memory;
        assert!(!opens || line.contains("O_RDONLY"), "it only reads: {line}");
        for call in ["F_SETLK", "F_OFD_SETLK", "flock(", "ptrace(", "process_vm_writev("] {
            assert!(!line.contains(call), "{line}");
        }
    }
}

/// A process on another database is excluded by its number, which costs it less than a filter, until it opens a watched one.
#[test]
fn a_process_on_another_database_is_left_alone_until_it_opens_this_one() {
    if !may_trace("another database") {
        return;
    }
    let dir = place();
    let database = dir.path().join("shared.db").display().to_string();
    let program = format!(
        "import select, sqlite3, sys, time\n\
         def made(name):\n\
         \x20   c = sqlite3.connect(name, isolation_level=None)\n\
         \x20   c.execute('PRAGMA journal_mode = WAL')\n\
         \x20   c.execute('CREATE TABLE t (a)')\n\
         \x20   return c\n\
         made('{database}').close()\n\
         c = made('{database}.own')\n\
         print('ready', flush=True)\n\
         while not select.select([sys.stdin], [], [], 0.01)[0]: c.execute('SELECT count(*) FROM t').fetchall()\n\
         d = sqlite3.connect('{database}', isolation_level=None)\n\
         d.execute('BEGIN IMMEDIATE')\n\
         time.sleep(60)\n"
    );
    let mut child = Command::new("python3");
    let child = child.args(["-c", &program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("python3");
    BufReader::new(child.stdout.take().expect("piped")).lines().next().expect("a line").expect("text");
    let mut watching =
        watch(&[&database, "--json-line", "--for", "60s"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let own = format!("contend_watch_{}_", watching.id());
    let is_excluded = || {
        let instances = fs::read_dir(Path::new(TRACEFS).join("instances")).expect("readable").flatten();
        let its = instances.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
        let lists = its.map(|entry| fs::read_to_string(entry.path().join("set_event_notrace_pid")).unwrap_or_default());
        lists
            .flat_map(|list| list.lines().map(str::to_string).collect::<Vec<_>>())
            .any(|tid| tid == child.id().to_string())
    };
    wait_for("the process to be excluded", is_excluded);
    drop(child.stdin.take());
    let holds = |line: &Value| {
        let rows = line["databases"][0]["processes"].as_array().expect("a list");
        rows.iter().any(|row| row["pid"] == child.id() && row["holds"][0] == "write")
    };
    let lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
    let is_seen = lines.any(|line| holds(&line));
    Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
    lines.for_each(drop);
    watching.wait().expect("it ends");
    child.kill().and_then(|()| child.wait()).expect("it ends");
    assert!(is_seen, "it is seen again");
}
