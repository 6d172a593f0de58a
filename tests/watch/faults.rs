//! What goes wrong while a database is watched, and what the kernel does not allow: said, counted, and nothing else.

use super::pathologies::begins;
use super::{Language, Program, TRACEFS, compiled, last, may_trace, place, source, text, watch};
use crate::support::{at_once, wait_for};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A watch whose first line has been read.
pub fn watching(args: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = watch(args).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.next().expect("a line");
    (child, lines)
}

pub fn signal(signal: &str, pid: u32) {
    let status = Command::new("kill").arg(signal).arg(pid.to_string()).status().expect("kill");
    assert!(status.success(), "kill {signal} {pid}");
}

/// The last line of JSON of a watch that ends with this text.
pub fn json(line: Option<String>) -> Value {
    serde_json::from_str(&line.expect("a line")).expect("JSON")
}

/// Events that the kernel has overwritten or dropped in the buffers of a watch.
fn overwritten(watch: u32) -> u64 {
    let instances = fs::read_dir("/sys/kernel/tracing/instances").expect("tracefs").flatten();
    let own = format!("contend_watch_{watch}_");
    let of_watch = instances.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
    let processors =
        of_watch.flat_map(|entry| fs::read_dir(entry.path().join("per_cpu")).into_iter().flatten().flatten());
    let stats = processors.filter_map(|processor| fs::read_to_string(processor.path().join("stats")).ok());
    let lost = |line: &str| {
        ["overrun: ", "dropped events: "].iter().find_map(|name| line.strip_prefix(name)?.parse::<u64>().ok())
    };
    stats.map(|text| text.lines().filter_map(lost).sum::<u64>()).sum()
}

#[test]
fn events_that_were_lost_are_counted_and_make_no_finding() {
    if !may_trace("lost events") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "busy_reader", 120);
    let (mut child, lines) = watching(&[&program.database.display().to_string(), "--json-line", "--for", "120s"]);
    let last = after_a_loss(&mut child, lines);
    assert_eq!(last["findings"], Value::Array(vec![]), "{last}");
}

/// The last line of a watch that does not read its buffer until events are lost, and then ends once a line says so.
fn after_a_loss(child: &mut Child, mut lines: impl Iterator<Item = String>) -> Value {
    signal("-STOP", child.id());
    wait_for("events to be lost", || overwritten(child.id()) > 2_000);
    signal("-CONT", child.id());
    let is_said = |line: &String| json(Some(line.clone()))["lost_events"].as_u64() > Some(1_000);
    let said = lines.find(is_said).expect("a line with lost events");
    signal("-INT", child.id());
    let last = json(lines.last().or(Some(said)));
    child.wait().expect("it ends");
    last
}

/// With statements their events are lost first; without, only lock calls are.
#[test]
fn a_lock_that_lasts_while_events_are_lost_is_held_since_it_was_taken() {
    if !may_trace("lost events") {
        return;
    }
    for further in [&[][..], &["--no-sql"]] {
        let dir = place();
        let programs = ["idle_in_transaction", "busy_reader"].map(|name| Program::start(dir.path(), name, 120));
        let [idle, busy] = programs.each_ref().map(|program| program.database.display().to_string());
        let args = [&[idle.as_str(), &busy, "--json-line", "--for", "120s"], further].concat();
        let (mut child, mut lines) = watching(&args);
        // When it was taken, in seconds since the watch began.
        let taken_s = |line: &Value| {
            let rows = line["databases"].as_array()?.iter().filter_map(|database| database["processes"].as_array());
            let held = rows.flatten().map(|row| &row["holds"]).find(|holds| holds[0] == "write")?;
            let held_ns = held[1].as_f64()?;
            Some(line["at_s"].as_f64()? - held_ns / 1e9)
        };
        let before = lines.by_ref().find_map(|line| taken_s(&json(Some(line)))).expect("it holds the lock");
        let last = after_a_loss(&mut child, lines);
        let after = taken_s(&last).unwrap_or_else(|| panic!("it holds the lock: {last}"));
        assert!((after - before).abs() < 0.1, "{before} {after} {further:?}");
    }
}

#[test]
fn a_process_that_ends_holds_nothing_any_more_and_what_it_held_stays_a_finding() {
    if !may_trace("a process that ends") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "idle_in_transaction", 60);
    let args = [&program.database.display().to_string(), "--json-line", "--for", "6s"];
    let (mut child, mut lines) = watching(&args);
    // Its first statement is a second after its start; it is idle another second later.
    let held = lines.by_ref().find(|line| line.contains("idle-in-transaction"));
    let row = |line: Value| line["databases"][0]["processes"][0].clone();
    assert_eq!(row(json(held))["holds"][0], "write");
    signal("-KILL", program.pids["self"]);
    let last = json(lines.last());
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{last}");
    assert!(row(last.clone())["holds"].is_null(), "{last}");
    let [found] = &last["findings"].as_array().expect("a list")[..] else { panic!("{last}") };
    assert!(found["kind"] == "idle-in-transaction" && found["seen_ns"].is_u64(), "{found}");
}

#[test]
fn a_process_that_executes_another_program_is_named_and_seen_again() {
    if !may_trace("exec") {
        return;
    }
    let dir = place();
    let planted = Language::C.command().get_program().display().to_string();
    let database = dir.path().join("exec.db").display().to_string();
    let program = format!(
        "import os, select, sqlite3, sys\n\
         c = sqlite3.connect('{database}', isolation_level=None)\n\
         c.execute('PRAGMA journal_mode = WAL')\n\
         c.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)')\n\
         print('ready', flush=True)\n\
         while not select.select([sys.stdin], [], [], 0.05)[0]: c.execute('INSERT INTO t (v) VALUES (1)')\n\
         os.execv('{planted}', ['planted', 'idle_in_transaction', '{database}', '60'])\n"
    );
    let mut child = Command::new("python3");
    let child = child.args(["-c", &program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("python3");
    BufReader::new(child.stdout.take().expect("piped")).lines().next().expect("a line").expect("text");
    let (mut watching, mut lines) = watching(&[&database, "--json-line", "--for", "20s"]);
    let before = json(lines.next());
    drop(child.stdin.take());
    let is_found = |line: &String| line.contains("idle-in-transaction");
    let after = json(lines.by_ref().find(is_found));
    signal("-INT", watching.id());
    lines.for_each(drop);
    child.kill().and_then(|()| child.wait()).expect("it ends");
    watching.wait().expect("it ends");
    let name = |line: &Value| line["databases"][0]["processes"][0]["program"].as_str().unwrap_or_default().to_string();
    assert_eq!(name(&before), "python3");
    assert!(name(&after).starts_with("contend-watch-p"), "{after}");
    let found = after["findings"].as_array().expect("a list").last().expect("a finding").clone();
    assert_eq!((&found["kind"], &found["pid"]), (&"idle-in-transaction".into(), &child.id().into()), "{found}");
    assert!(found["last"].as_str().is_some_and(|sql| sql.starts_with("UPDATE t")), "its new statements: {found}");
}

/// What a watch says at its end of a database to which something was done meanwhile.
fn said_after(name: &str, change: impl FnOnce(&Path)) -> String {
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let (mut child, lines) = watching(&[&program.database.display().to_string(), "--for", "3s"]);
    change(&program.database);
    let said = lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(child.wait().expect("it ends").code().is_some_and(|code| code < 2), "{name}: {said}");
    assert!(said.contains("python3 program.py ("), "{name}: the process goes on with its file: {said}");
    said
}

#[test]
fn a_database_that_goes_away_is_said() {
    if !may_trace("a database that goes away") {
        return;
    }
    type Change = fn(&Path);
    let changes: [(&str, Change, &str); 3] = [
        (
            "deleted",
            |path| fs::remove_file(path).expect("removed"),
            "was deleted or moved: the file that was there is watched",
        ),
        (
            "moved",
            |path| fs::rename(path, path.with_extension("moved")).expect("moved"),
            "was deleted or moved: the file that was there is watched",
        ),
        (
            "replaced",
            |path| {
                let copy = path.with_extension("copy");
                fs::copy(path, &copy).and_then(|_| fs::rename(&copy, path)).expect("replaced");
            },
            "was replaced: the file that was there is watched, not the new one",
        ),
    ];
    at_once(3, &changes, |(name, change, words)| {
        let said = said_after(name, change);
        assert!(said.contains(words), "{said}");
    });
}

/// The journal mode is in the header of the database, whatever other files are there.
#[test]
fn journal_modes_and_a_journal_that_a_killed_writer_left_are_said() {
    let dir = place();
    let python = |code: &str, name: &str| {
        let path = dir.path().join(name).display().to_string();
        let code = format!("import os, sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n{code}");
        assert!(Command::new("python3").args(["-c", &code, &path]).status().expect("python3").success(), "{code}");
        path
    };
    let start = |paths: &[&str], further: &[&str]| {
        let args = [paths, &["--for", "3s", "--depth", "sampled"], further].concat();
        watch(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let shown = |watching: Child| {
        let line = last(&watching.wait_with_output().expect("it ends"));
        let databases = line["databases"].as_array().expect("a list").iter();
        let of = |one: &Value| (one["journal"].as_str().expect("a mode").to_string(), one["hot_journal"] == true);
        databases.map(of).collect::<Vec<_>>()
    };
    let closed =
        python("c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE t (a)'); c.close()", "closed.db");
    let kept = python("c.execute('PRAGMA journal_mode = PERSIST'); c.execute('CREATE TABLE t (a)')", "kept.db");
    assert!(Path::new(&format!("{kept}-journal")).exists());
    let begins = "c.execute('PRAGMA cache_size = 5'); c.execute('CREATE TABLE t (a)'); c.execute('BEGIN')\n\
        for n in range(2000): c.execute('INSERT INTO t VALUES (zeroblob(500))')\n\
        os._exit(0)";
    let left = python(begins, "left.db");
    let (all, in_words) = (start(&[&closed, &kept, &left], &["--json-line"]), start(&[&left], &[]));
    let rollback = |is_hot| ("rollback".to_string(), is_hot);
    // No process has the first open, and the commit has cleared the journal of the second.
    assert_eq!(shown(all), [("wal".to_string(), false), rollback(false), rollback(true)]);
    let said = text(&in_words.wait_with_output().expect("it ends"));
    assert!(said.contains("hot journal: the next to read the database rolls it back"), "{said}");
    python("c.execute('SELECT count(*) FROM t').fetchall()", "left.db");
    assert_eq!(shown(start(&[&left], &["--json-line"])), [rollback(false)], "it was rolled back");
}

/// The tool in a mount namespace of its own, after a command of the shell.
fn with_mounts(before: &str, args: &[&str]) -> Output {
    let tool = env!("CARGO_BIN_EXE_contend");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{before} && exec \"$@\""), "sh", tool]);
    command.args(args).env("NO_COLOR", "1").stdin(Stdio::null()).output().expect("unshare")
}

#[test]
fn without_tracefs_or_uprobes_less_is_seen_and_said() {
    if !may_trace("no tracefs") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let database = program.database.display().to_string();
    // Another file system in its place has none of its files.
    let hidden = format!("mount -t tmpfs none {TRACEFS} && {{ umount -q /sys/kernel/debug; true; }}");
    let said = text(&with_mounts(&hidden, &["watch", &database, "--for", "2s"]));
    assert!(said.contains("Depth: sampled"), "{said}");
    let refused = with_mounts(&hidden, &["watch", &database, "--depth", "exact", "--for", "2s"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("`mount -t tracefs nodev"), "{}", text(&refused));
    let own = dir.path().join("tracefs").display().to_string();
    let no_probes = format!(
        "mkdir -p {own} && mount --bind {TRACEFS} {own} && mount -t tmpfs none {TRACEFS} && mkdir {TRACEFS}/instances && \
         mount --bind {own}/instances {TRACEFS}/instances"
    );
    let said = text(&with_mounts(&no_probes, &["watch", &database, "--for", "2s"]));
    assert!(said.contains("Depth: exact. Not seen: statements"), "{said}");
    let said = text(&with_mounts(&no_probes, &["doctor"]));
    assert!(said.contains("the kernel has no uprobes"), "{said}");
}

#[test]
fn a_symbol_table_that_lies_harms_no_program_and_is_said() {
    if !may_trace("a symbol table that lies") {
        return;
    }
    let program = compiled("lies", &["-lsqlite3"]);
    let dir = place();
    let database = dir.path().join("lies.db").display().to_string();
    let mut child = Command::new(program).arg(&database).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert_eq!(said.next().expect("a line").expect("text"), "ready");
    let output = watch(&[&database, "--for", "3s"]).output().expect("it starts");
    let told = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("its symbol table is wrong about sqlite3_step: it is not the beginning"), "{told}");
    assert!(child.wait().expect("it ends").success(), "it computes what it would compute unwatched");
}

/// As after an update of the system's packages.
#[test]
fn statements_are_seen_although_the_library_that_a_program_executes_was_deleted() {
    if !may_trace("a deleted library") {
        return;
    }
    let dir = place();
    let output = Command::new("cc").arg("-print-file-name=libsqlite3.so").output().expect("cc is there");
    let copy = dir.path().join("libsqlite3.so.0");
    fs::copy(String::from_utf8_lossy(&output.stdout).trim(), &copy).expect("libsqlite3 is there");
    let mut command = Language::C.command();
    command.env("LD_LIBRARY_PATH", dir.path());
    let program = Program::begin(command, dir.path(), "program_holds_lock", 60);
    fs::remove_file(&copy).expect("removed");
    let database = program.database.display().to_string();
    let line = last(&watch(&[&database, "--for", "5s", "--json-line"]).output().expect("it starts"));
    let found = program.findings(&line);
    let held = found.iter().find(|found| found["kind"] == "program-holds-lock");
    assert!(held.is_some_and(|held| begins(&held["before"], "INSERT INTO t")), "{found:#?}");
}

#[test]
fn a_log_of_10_gb_is_a_number_and_no_work() {
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let database = program.database.display().to_string();
    // The disk has room for a hole.
    let log = format!("{database}-wal");
    wait_for("the log", || Path::new(&log).exists());
    let log = fs::OpenOptions::new().write(true).open(log).expect("a log");
    log.set_len(10_000_000_000).expect("sparse");
    let output = watch(&[&database, "--for", "3s", "--json-line"]).output().expect("it starts");
    let line = last(&output);
    assert_eq!(line["databases"][0]["log_bytes"], 10_000_000_000_u64, "{line}");
    assert!(line["databases"][0]["backlog_frames"].as_u64() < Some(100_000), "frames that are there: {line}");
}

#[test]
#[ignore = "long: a thousand processes"]
fn a_thousand_processes_are_counted_in_bounded_memory() {
    if !may_trace("1,000 processes") {
        return;
    }
    const PROCESSES: usize = 1_000;
    /// 100 kB for each process are plenty.
    const KB_MAX: u64 = 200_000;
    let dir = place();
    let database = dir.path().join("many.db").display().to_string();
    let mut many = Command::new(Language::C.command().get_program());
    let many = many.args(["many", &database, "120"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut many = many.spawn().expect("it starts");
    let mut said = BufReader::new(many.stdout.take().expect("piped")).lines();
    while said.next().expect("a line").expect("text") != "open" {}
    let (mut child, mut lines) = watching(&[&database, "--json-line"]);
    // Each commits three times. A writer whose snapshot has become too old drops the lock and takes it once more.
    drop(many.stdin.take());
    while said.next().expect("a line").expect("text") != "done" {}
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it lives");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak_kb: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    signal("-INT", child.id());
    let last = json(lines.by_ref().last());
    child.wait().expect("it ends");
    many.wait().expect("it ends");
    let rows = last["databases"][0]["processes"].as_array().expect("a list").clone();
    let writers = rows.iter().filter(|row| row["sums"]["writes"].as_u64() >= Some(3)).count();
    assert_eq!((writers, &last["lost_events"]), (PROCESSES, &Value::from(0)), "{} rows", rows.len());
    assert!(peak_kb < KB_MAX, "{peak_kb} kB");
}

#[test]
fn a_program_in_a_container_is_found_and_contend_in_one_says_what_it_lacks() {
    if !may_trace("containers") {
        return;
    }
    let container = |command: &mut Command| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child"]).arg(command.get_program());
        unshare.args(command.get_args()).env("NO_COLOR", "1").stdin(Stdio::null());
        unshare
    };
    let dir = place();
    let database = dir.path().join("inside.db").display().to_string();
    // Two containers share the database; inside of each, processes have the same numbers.
    let start = |name: &str| {
        let mut program = Command::new("python3");
        program.arg(source("program.py")).args([name, &database, "60"]);
        let mut program = container(&mut program).stdout(Stdio::piped()).spawn().expect("unshare");
        let said = BufReader::new(program.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let said: Vec<String> = said.take_while(|line| line != "ready").collect();
        (program, said.iter().find_map(|line| line.strip_prefix("self ")).expect("its number").to_string())
    };
    let (mut holds, inside_one) = start("holds_lock_alone");
    let (mut waits, inside_other) = start("healthy_writer");
    assert_eq!(inside_one, inside_other, "numbers inside of each");
    let found = last(&watch(&[&database, "--for", "6s", "--json-line"]).output().expect("it starts"));
    let inside = container(&mut watch(&[&database, "--for", "2s"])).output().expect("unshare");
    for program in [&mut holds, &mut waits] {
        program.kill().and_then(|()| program.wait()).expect("it ends");
    }
    let rows = found["databases"][0]["processes"].as_array().expect("a list").clone();
    let [one, other] = [0, 1].map(|at| rows[at]["pid"].as_u64().expect("a number"));
    assert!(rows.len() == 2 && one != other, "each has its number on the host: {rows:#?}");
    let found = found["findings"].as_array().expect("a list").iter().find(|f| f["kind"] == "program-holds-lock");
    let found = found.expect("the finding");
    assert_eq!(found["after"], "COMMIT", "{found}");
    assert!(found["pid"] == one && one > 100 && other > 100, "numbers on the host, not those inside: {found}");
    let said = text(&inside).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Depth: sampled") && said.contains("in a container with the host's processes"), "{said}");
    assert!(said.contains("processes in other containers or on the host"), "{said}");
}
