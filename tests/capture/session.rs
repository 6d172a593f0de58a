//! What holds for every capture.

use super::{capture, content, counts, database, packed_number, script, shown};
use crate::support::{Bench, wait_for};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn hashes_keep_no_value_and_nobody_else_may_read() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &[], &["python3", &script("program.py"), "known", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let taken = bench.path("taken");
    assert_eq!(fs::metadata(&taken).expect("there").permissions().mode() & 0o777, 0o700);
    let all = files(&taken);
    assert!(all.len() > 1, "{all:?}");
    for file in &all {
        assert_eq!(fs::metadata(file).expect("there").permissions().mode() & 0o777, 0o600, "{}", file.display());
        let bytes = content(file);
        assert!(!bytes.windows(6).any(|part| part == b"secret"), "{} has a value", file.display());
    }
    let again = capture(&bench, &[], &["true"]);
    assert_eq!(again.code, Some(2), "an old capture is not written over: {again:?}");
    assert!(again.err.contains("is not empty"), "{again:?}");
}

#[test]
fn an_anonymised_capture_has_no_value_and_the_same_work() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &["--values=full"], &["python3", &script("program.py"), "private", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    bench.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(0);
    let texts =
        ["Marlowe", "Quimby", "private-", "6152438197362514", "8273645519283746", "73519.48", "5052495641544521"];
    let numbers = [8_273_645_519_283_746_u64, 6_152_438_197_362_514, 73_519.482_913_f64.to_bits()];
    let mut values: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    values.extend(numbers.iter().flat_map(|number| [packed_number(*number), number.to_be_bytes()[1..].to_vec()]));
    let has = |dir: &str, value: &[u8]| {
        let all = files(&bench.path(dir));
        assert!(all.len() > 2, "{all:?}");
        all.iter().any(|file| content(file).windows(value.len()).any(|part| part == value))
    };
    for value in &values {
        assert!(!has("hashed", value), "{}", String::from_utf8_lossy(value));
    }
    let little = values.iter().filter(|value| has("taken", value)).count();
    assert!(little >= texts.len() + numbers.len(), "the capture itself has them: {little} of {}", values.len());
    for file in files(&bench.path("hashed")) {
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600, "{}", file.display());
    }

    let summary = |dir: &str| {
        let said = bench.contend(&["capture", "show", dir, "--json"]).exits(0);
        let mut value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        let values = value.as_object_mut().expect("an object").remove("values");
        assert_eq!(values, Some(if dir == "taken" { "full" } else { "hash" }.into()));
        value
    };
    assert_eq!(summary("taken"), summary("hashed"), "the same transactions, times, keys and skew");
    let again = bench.contend(&["capture", "anonymise", "hashed", "--out", "twice"]).exits(2);
    assert!(again.err.contains("already has hashes"), "{again:?}");
    bench.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(2);
}

#[test]
fn what_was_there_before_is_kept_and_what_comes_later_is_not() {
    let bench = Bench::new();
    let path = database(&bench);
    let db = rusqlite::Connection::open(&path).expect("made");
    db.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE old (a); INSERT INTO old VALUES (1);").expect("filled");
    let script = script("program.py");
    let said = capture(&bench, &["--values=full"], &["python3", &script, "known", &path.display().to_string()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("ALL VALUES"), "{said:?}");
    let count = |file: &str, table: &str| {
        let copy = rusqlite::Connection::open(bench.path("taken").join(file)).expect("a copy");
        copy.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).ok()
    };
    assert_eq!((count("content-1.db", "old"), count("content-1.db", "thing")), (Some(1), None));
    assert_eq!((count("end-1.db", "old"), count("end-1.db", "thing")), (Some(1), Some(100)));
}

#[test]
fn a_killed_program_loses_nothing_that_it_committed() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let command = ["capture", "--out", "taken", "--", "python3", &script("program.py"), "endless", &path];
    let mut child = bench.command(&command).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut known: u64 = 0;
    while known < 300 {
        known = lines.next().expect("a line").expect("text").parse().expect("a number");
    }
    // The program is the one child of the tool.
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("readable");
    let pid: i32 = children.split_whitespace().next().expect("a child").parse().expect("a number");
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).expect("a pid"), rustix::process::Signal::KILL)
        .expect("killed");
    for line in lines.map_while(Result::ok) {
        known = line.parse().unwrap_or(known);
    }
    assert_eq!(child.wait().expect("ended").code(), Some(128 + 9));
    let summary = shown(&bench);
    let [commits, ..] = counts(&summary, "COMMIT");
    assert!(commits >= known, "{commits} commits are in the capture, the program knew of {known}");
    let db = rusqlite::Connection::open(&path).expect("there");
    let rows: u64 =
        db.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).expect("rows").cast_unsigned();
    assert!((rows..=rows + 1).contains(&commits), "{rows} rows, {commits} commits");
}

/// Leaves a process behind that goes on until there is a file `stop`, with a thread that ends.
const LEFT_BEHIND: &str = "
import os, sqlite3, subprocess, sys, threading, time
if os.fork():
    while not os.path.exists('ready'):
        time.sleep(0.01)
    sys.exit()
for number in range(3):
    os.dup2(os.open(os.devnull, os.O_RDWR), number)
def work():
    db = sqlite3.connect('app.db', isolation_level=None)
    db.execute('PRAGMA synchronous = off')
    db.execute('CREATE TABLE IF NOT EXISTS t (a)')
    return db
db = work()
started = threading.Event()
def other():
    own = sqlite3.connect(':memory:')
    own.execute('SELECT 1').fetchall()
    started.set()
    while not os.path.exists('stop'):
        time.sleep(0.01)
thread = threading.Thread(target=other)
thread.start()
started.wait()
open('ready', 'w').close()
while not os.path.exists('stop'):
    db.execute('SELECT 2').fetchall()
thread.join()
db.execute('BEGIN')
db.executemany('INSERT INTO t VALUES (?)', ((i,) for i in range(60000)))
db.execute('COMMIT')
sqlite3.connect('late.db').execute('CREATE TABLE t (a)')
sqlite3.connect('late.db').execute('SELECT * FROM t')
said = subprocess.run(['true'], stderr=subprocess.PIPE).stderr
open('ended.new', 'wb').write(said)
os.rename('ended.new', 'ended')
";

#[test]
fn a_process_that_is_left_behind_leaves_a_finished_capture_alone() {
    // LD_PRELOAD supports no path with a space: the library is then in a directory for temporary files.
    for out in ["taken", "taken with a space"] {
        let bench = Bench::new();
        let temporary = bench.path("temporary");
        fs::create_dir(&temporary).expect("made");
        let args = ["capture", "--out", out, "--", "python3", "-c", LEFT_BEHIND];
        let said = bench.command(&args).env("TMPDIR", &temporary).output().expect("the tool starts");
        let err = String::from_utf8_lossy(&said.stderr);
        assert!(err.contains("1 process that the command started still runs"), "{out}: {said:?}");
        let all = || {
            let mut all: Vec<_> = files(&bench.path(out)).into_iter().map(|path| (fs::read(&path), path)).collect();
            all.sort_by(|(_, one), (_, other)| one.cmp(other));
            all.into_iter().map(|(bytes, path)| (path, bytes.expect("readable"))).collect::<Vec<_>>()
        };
        let before = all();
        fs::write(bench.path("stop"), "").expect("written");
        wait_for("the process that was left behind", || bench.path("ended").exists());
        assert!(all() == before, "{:?}", files(&bench.path(out)));
        assert_eq!(fs::read_to_string(bench.path("ended")).expect("text"), "", "{out}: the loader has no complaint");
        assert_eq!(files(&temporary).len(), usize::from(out != "taken"), "the library: {:?}", files(&temporary));
        let shown = bench.contend(&["capture", "show", out, "--json"]).exits(0).out;
        let missing = &serde_json::from_str::<serde_json::Value>(&shown).expect("JSON")["missing"];
        assert_eq!(missing.as_array().map(Vec::len), Some(1), "{missing}");
    }
}

/// Leaves a process behind that kills contend as soon as the segments are in the manifest.
const KILLS: &str = "
import os, sqlite3, sys, time
contend = os.getppid()
if os.fork() == 0:
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    while 'segments\": {' not in open('taken/capture.json').read():
        time.sleep(0.001)
    os.kill(contend, 9)
    os._exit(0)
db = sqlite3.connect('app.db', isolation_level=None)
for i in range(60000):
    db.execute('SELECT ?', (i,))
";

#[test]
fn a_contend_that_is_killed_while_it_reads_what_it_has_keeps_it() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", KILLS]);
    assert_eq!(said.code, None, "killed: {said:?}");
    let summary = shown(&bench);
    assert_eq!(counts(&summary, "SELECT ?")[0], 60_000);
    let gaps = summary["missing"].to_string();
    assert!(gaps.contains("The capture is incomplete: contend was killed before it had written the end"), "{gaps}");
}

#[test]
fn a_capture_that_is_cut_or_has_no_end_says_so() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &[], &["python3", &script("program.py"), "known", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let manifest = bench.path("taken/capture.json");
    let text = fs::read_to_string(&manifest).expect("readable");
    // Without the line of the seal: the changed file would be refused for it.
    let unsealed: String = text.split_inclusive('\n').filter(|line| !line.contains("\"seal\"")).collect();
    let unsealed = if unsealed.trim_start().starts_with('{') { unsealed } else { format!("{{\n{unsealed}") };
    fs::write(&manifest, unsealed.replace("\"status\": 0", "\"status\": null")).expect("written");
    let said = bench.contend(&["capture", "show", "taken"]).exits(0);
    assert!(said.out.contains("The capture is incomplete"), "contend was killed: {said:?}");
    for entry in fs::read_dir(bench.path("taken/segments")).expect("readable").flatten() {
        fs::OpenOptions::new().write(true).open(entry.path()).and_then(|file| file.set_len(100)).expect("cut");
    }
    let said = bench.contend(&["capture", "show", "taken"]).exits(2);
    assert!(said.err.contains(".seg is damaged: copy the capture again"), "{said:?}");
}

/// Keeps values in a column without a type, and asks for the number of pages in every transaction.
const CACHE: &str = "
import sqlite3
db = sqlite3.connect('cache.db', isolation_level=None)
db.execute('CREATE TABLE cache (key INTEGER PRIMARY KEY, value)')
for i in range(200):
    db.execute('BEGIN IMMEDIATE')
    db.execute('INSERT INTO cache (value) VALUES (?)', (str(i),))
    db.execute('PRAGMA page_count').fetchone()
    db.execute('COMMIT')
";

#[test]
fn a_study_has_what_it_can_have_and_says_what_share_that_is() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", CACHE]);
    assert!(
        said.err.contains("The study has 99 % of the captured transactions, and 99 % of those that write"),
        "{said:?}"
    );
    let absent = "PostgreSQL is not in the study: ";
    assert!(said.err.contains(absent) && said.err.contains("untyped-columns"), "at the end of the capture: {said:?}");
    let shown_of = || shown(&bench)["not_in_study"].as_array().expect("a list").clone();
    let is_why = |all: &[serde_json::Value]| all.iter().any(|why| why.as_str().expect("a text").starts_with(absent));
    assert!(is_why(&shown_of()), "{:?}", shown_of());
    let text = bench.contend(&["capture", "show", "taken"]).exits(0).out;
    assert!(text.contains("Servers that its study does not have") && text.contains(absent), "{text}");
    assert!(text.contains("The capture has hashes") && text.contains("contend capture --values=full -- "), "{text}");
    let left_out = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(left_out.contains("because it only reads settings: PRAGMA page_count"), "{left_out}");
    assert!(left_out.contains("PostgreSQL is not in the study") && left_out.contains("untyped-columns"), "{left_out}");
    let read = |name: &str| fs::read_to_string(bench.path("taken").join(name)).expect("written");
    assert!(
        read("workload.toml").contains("sql = \"INSERT INTO cache")
            && !read("workload.toml").contains("sql = \"PRAGMA")
    );
    assert!(!read("study.toml").contains("postgres") && read("study.toml").contains("The study has 99 %"));
    assert!(read("study.toml").contains(&format!("  \"{absent}")), "in the limits: {}", read("study.toml"));
    let typed =
        read("workload.toml").replace("key INTEGER PRIMARY KEY, value)", "key INTEGER PRIMARY KEY, value TEXT)");
    fs::write(bench.path("taken/workload.toml"), &typed).expect("written");
    assert!(!is_why(&shown_of()), "of the workload as it is now: {:?}", shown_of());
    let quick =
        ["run", "taken", "--quick", "--rounds", "1", "--window", "200ms", "--set", "load=captured", "--allow-tmpfs"];
    bench.contend(&quick).ran();
    // Arrivals come at a rate that is searched, so pauses of the capture have no effect.
    let rates = ["limit", "taken", "--rounds", "1", "--rates-only", "--window", "200ms"];
    let more = ["--bound", "response_ns_p50<=1s", "--only", "FULL", "--allow-tmpfs", "--out", "limited"];
    let said = bench.contend(&[&rates[..], &more].concat());
    said.ran();
    let searched = fs::read_to_string(bench.path("limited/limit.toml")).expect("written");
    assert!(said.out.contains("Highest rates") && !searched.contains("load="), "one of the loads: {said:?}");
}

#[test]
fn a_database_whose_path_is_not_utf8_is_captured() {
    let bench = Bench::new();
    let name = OsStr::from_bytes(b"caf\xe9.db");
    let program = "import os, sqlite3, sys\ndb = sqlite3.connect(os.fsencode(sys.argv[1]), isolation_level=None)\n\
                   db.execute('CREATE TABLE t (a)')\ndb.execute('INSERT INTO t VALUES (1)')";
    let args = ["capture", "--out", "taken", "--values=full", "--", "python3", "-c", program];
    let said = bench.command(&args).arg(name).output().expect("the tool starts");
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && err.contains("Nothing is known to be missing"), "{said:?}");
    let summary = shown(&bench);
    assert!(summary["databases"][0]["path"].as_str().is_some_and(|path| path.ends_with("caf\u{fffd}.db")), "{summary}");
    assert_eq!(summary["databases"][0]["tables"], serde_json::json!([["t", 0, 1]]));
    assert_eq!(summary["command"][3], "caf\u{fffd}.db");
    let said = bench.contend(&["replay", "taken", "--json"]).exits(0);
    assert!(said.out.contains("caf\u{fffd}.db"), "{said:?}");
}

#[test]
fn usage() {
    let bench = Bench::new();
    for (args, words) in [
        (&["capture"][..], "name the command"),
        (&["capture", "--", "no-such-program"], "no command `no-such-program`"),
        (&["capture", "show", "."], "is not a capture"),
    ] {
        let said = bench.contend(args);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    }
    assert!(!bench.path("capture-1").exists(), "a command that is mistyped leaves nothing");
}
