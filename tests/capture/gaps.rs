//! What a capture does not have is counted, noted and said, at once and at the end.

use super::{capture, counts, database, shown};
use crate::support::{Bench, Said};
use std::process::Command;

/// The program `gaps.c`; `None` without a compiler.
fn built(bench: &Bench) -> Option<String> {
    super::built(bench, "gaps.c")
}

fn ends_with_gaps(said: &Said, words: &[&str]) {
    assert_eq!(said.code, Some(0), "{said:?}");
    let (_, end) = said.err.split_once("The capture has gaps:").unwrap_or_else(|| panic!("{said:?}"));
    for word in words {
        assert!(end.contains(word), "{word}: {said:?}");
    }
}

#[test]
fn statements_beyond_the_table_are_counted() {
    let bench = Bench::new();
    let Some(program) = built(&bench) else { return };
    let said = capture(&bench, &[], &[&program, "statements", ":memory:"]);
    ends_with_gaps(&said, &["calls of SQLite's functions are not captured: a process had more statements"]);
    let summary = shown(&bench);
    let [captured, ..] = counts(&summary, "SELECT ? WHERE ?");
    let lost: u64 = summary["missing"][0]
        .as_str()
        .and_then(|sentence| sentence.split(' ').nth(2)?.parse().ok())
        .unwrap_or_else(|| panic!("{summary}"));
    // Each lost statement is one that was prepared and one that was stepped.
    assert!(captured > 40_000 && captured + lost / 2 == 80_000, "{captured} and {lost}");
}

/// Tests of programs often begin with a new file of the same name.
#[test]
fn a_file_that_is_deleted_and_made_again_is_said() {
    let bench = Bench::new();
    let script = "import os, sqlite3, sys\n\
        def use(name):\n\
        \x20   db = sqlite3.connect(name)\n\
        \x20   db.execute('CREATE TABLE IF NOT EXISTS t (x)')\n\
        \x20   db.execute('INSERT INTO t VALUES (1)')\n\
        \x20   db.commit(); db.close()\n\
        for name in ('kept.db', 'gone.db', 'moved.db'): use(name)\n\
        os.remove('gone.db'); use('gone.db')\n\
        os.remove('gone.db'); use('gone.db')\n\
        use('other.db'); use('moved.db'); os.rename('other.db', 'moved.db')\n\
        for name in ('kept.db', 'gone.db', 'moved.db'): use(name)\n";
    let said = capture(&bench, &[], &["python3", "-c", script]);
    let gone = format!("{} was deleted or replaced 2 times while", bench.path("gone.db").display());
    let moved = format!("{} was deleted or replaced 1 time while", bench.path("moved.db").display());
    ends_with_gaps(&said, &[&gone, &moved]);
    assert!(!said.err.contains("kept.db was deleted"), "{said:?}");
}

/// SQLite refuses to close a connection with statements, which other threads use meanwhile.
#[test]
fn a_connection_that_a_thread_fails_to_close_stays_one() {
    let bench = Bench::new();
    let Some(program) = built(&bench) else { return };
    let said = capture(&bench, &[], &[&program, "closes", "app.db"]).exits(0);
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    let summary = shown(&bench);
    let connections = summary["connections"].as_array().expect("a list").iter();
    let all: u64 = connections.map(|one| one["connections"].as_u64().expect("a number")).sum();
    assert_eq!((all, counts(&summary, "SELECT")[0]), (1, 20_000), "{summary}");
}

#[test]
fn a_busy_handler_of_the_program_waits() {
    let bench = Bench::new();
    let Some(program) = built(&bench) else { return };
    capture(&bench, &[], &[&program, "waits", "app.db"]).exits(0);
    let summary = shown(&bench);
    let mut all = summary["statements"].as_array().expect("a list").iter();
    let insert =
        all.find(|one| one["text"].as_str().is_some_and(|text| text.starts_with("INSERT"))).expect("an INSERT");
    let (waited, total) =
        (insert["waited_ns"].as_u64().expect("a number"), insert["total_ns"].as_u64().expect("a number"));
    assert!(waited >= 5 * 30_000_000 && waited <= total, "{insert}");
}

#[test]
fn a_callback_that_fills_the_segment_loses_nothing() {
    let bench = Bench::new();
    let Some(program) = built(&bench) else { return };
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &["--values=full"], &[&program, "callback", &path]);
    ends_with_gaps(&said, &["virtual tables of the program's own (fill)"]);
    assert_eq!(said.err.matches("\n- ").count() + said.err.matches("contend: - ").count(), 1, "nothing else: {said:?}");
    let summary = shown(&bench);
    assert_eq!(counts(&summary, "INSERT INTO log"), [180_000, 0, 180_000, 0]);
    assert_eq!(counts(&summary, "SELECT fill")[..2], [1, 3], "the execution goes on in another segment");
    assert_eq!(counts(&summary, "SELECT * FROM three"), [1, 3, 0, 0]);
    let unfinished = summary["transactions"].as_array().expect("a list").iter().map(|kind| kind["failed"].as_u64());
    assert_eq!(unfinished.flatten().sum::<u64>(), 0, "no result is lost");
    let notes = summary["connections"].to_string();
    assert!(notes.contains("functions, collations or virtual tables of the program's own"), "{notes}");
    // 180,000 INSERTs of consecutive numbers, packed.
    let files = std::fs::read_dir(bench.path("taken/segments")).expect("readable").flatten();
    let bytes: u64 = files.map(|file| file.metadata().expect("there").len()).sum();
    assert!(bytes < 180_000 * 10, "{bytes} bytes on disk, more than 10 for a statement");
}

/// As Go's runtime moves a goroutine between two calls.
#[test]
fn values_that_another_thread_has_bound_are_those_of_the_execution() {
    let bench = Bench::new();
    let Some(program) = built(&bench) else { return };
    let path = database(&bench).display().to_string();
    capture(&bench, &["--values=full"], &[&program, "moves", &path]).exits(0);
    assert_eq!(counts(&shown(&bench), "INSERT INTO log")[0], 50);
    let replayed = bench.contend(&["replay", "taken"]);
    assert!(replayed.code == Some(0), "{replayed:?}");
}

const FEATURES: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (b BLOB)')
db.execute('INSERT INTO t VALUES (zeroblob(8))')
with db.blobopen('t', 'b', 1) as blob:
    blob.write(b'12345678')
copy = sqlite3.connect('copy.db')
db.backup(copy)
memory = sqlite3.connect(':memory:')
memory.deserialize(db.serialize())
";

#[test]
fn blobs_backups_and_deserialized_databases_are_said_to_be_missing() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", FEATURES]);
    let words = [
        "app.db used blobs through sqlite3_blob_open",
        "copy.db was the target of a backup",
        "a database in memory received a database through sqlite3_deserialize",
    ];
    ends_with_gaps(&said, &words);
    let notes = shown(&bench)["connections"].to_string();
    assert!(notes.contains("incremental access to blobs") && notes.contains("written by a backup"), "{notes}");
}

/// Writes a database that is captured, from a process with a clean environment that ends at once.
const WRITTEN_BY_ANOTHER: &str = "
import os, sqlite3, subprocess, sys
path = sys.argv[1]
db = sqlite3.connect(path, isolation_level=None)
for statement in ('CREATE TABLE t (a)', 'CREATE TABLE own (a)', 'INSERT INTO own VALUES (1), (2), (3)', 'BEGIN',
                  'INSERT INTO own VALUES (4)', 'ROLLBACK', 'DELETE FROM own WHERE a = 1'):
    db.execute(statement)
clean = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD'}
write = 'import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(\"INSERT INTO t VALUES (1), (2)\")'
subprocess.run([sys.executable, '-c', write, path], env=clean, check=True)
";

#[test]
fn rows_that_no_captured_statement_wrote_are_said() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &[], &["python3", "-c", WRITTEN_BY_ANOTHER, &path]);
    ends_with_gaps(&said, &["the table t has 2 rows at the end, but with the captured statements it has 0."]);
    assert!(!said.err.contains("table own"), "{said:?}");
}

/// Waits until the capture has looked at all processes. After each look it waits for orphans that have ended: when it has
/// done so for a second orphan, a whole look has passed.
const LOOKED: &str = "
import os, time
def looked():
    for i in range(2):
        read, write = os.pipe()
        if os.fork() == 0:
            orphan = os.fork()
            if orphan:
                os.write(write, str(orphan).encode())
            os._exit(0)
        os.wait()
        orphan = int(os.read(read, 20))
        while os.path.exists(f'/proc/{orphan}'):
            time.sleep(0.01)
";

/// Has a program use a database that is captured, with a clean environment.
const OUT_OF_REACH: &str = "
import os, sqlite3, subprocess, sys
path = sys.argv[1]
db = sqlite3.connect(path, isolation_level=None)
db.execute('CREATE TABLE t (a)')
clean = {key: value for key, value in os.environ.items() if key != 'LD_PRELOAD'}
subprocess.run([sys.executable, '-c', sys.argv[2], path], env=clean, check=True)
db.execute('INSERT INTO t VALUES (1)')
";

#[test]
fn processes_that_are_not_captured_are_said_next_to_one_that_is() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let holds = format!(
        "{LOOKED}\nimport sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.execute('SELECT * FROM t')\nlooked()"
    );
    let said = capture(&bench, &[], &["python3", "-c", OUT_OF_REACH, &path, &holds]);
    ends_with_gaps(&said, &["app.db open. Its calls there are not captured"]);
    assert_eq!(counts(&shown(&bench), "INSERT")[0], 1);
    // A child that has only inherited the file is no gap.
    let forks = format!(
        "{LOOKED}\nimport sqlite3\ndb = sqlite3.connect('one.db')\ndb.execute('CREATE TABLE t (a)')\n\
         if os.fork() == 0:\n    looked()\n    os._exit(0)\nos.wait()"
    );
    let said = bench.contend(&["capture", "--out", "forked", "--", "python3", "-c", &forks]).exits(0);
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    if rustix::process::geteuid().is_root() {
        let drops = forks.replace("    looked", "    os.setuid(65534)\n    looked").replace("one.db", "two.db");
        let said = bench.contend(&["capture", "--out", "dropped", "--", "python3", "-c", &drops]).exits(0);
        assert!(said.err.contains("two.db open. Its calls there are not captured"), "another user: {said:?}");
    }
}

/// Goes on in a directory in which the capture has no path, with a child.
const CHROOT: &str = "
import os, sqlite3, sys
db = sqlite3.connect(':memory:', isolation_level=None)
def work():
    for i in range(20000):
        db.execute('SELECT ?', (i,)).fetchall()
work()
os.chroot(sys.argv[1])
work()
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
work()
";

#[test]
fn what_is_lost_in_a_chroot_is_counted() {
    if !rustix::process::geteuid().is_root() {
        println!("NOT VERIFIED: a chroot: this user may not call it");
        return;
    }
    let bench = Bench::new();
    let inside = bench.path("inside");
    std::fs::create_dir(&inside).expect("made");
    let said = capture(&bench, &[], &["python3", "-c", CHROOT, &inside.display().to_string()]);
    ends_with_gaps(&said, &["records could not be written", "it called chroot"]);
    let summary = shown(&bench);
    let [captured, ..] = counts(&summary, "SELECT ?");
    let lost = summary["missing"].to_string();
    let lost: u64 = lost.split(' ').nth(2).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{lost}"));
    assert!((20_000..55_000).contains(&captured), "what was there before is: {captured}");
    assert!(captured + lost >= 60_000, "{captured} captured, {lost} records lost");
}

/// A child continues its parent's statement. One text is much shorter as it is stored, one is too long for its file. No
/// file can be opened for a while, in which a child works.
const LIMITS: &str = "
import os, resource as r, sqlite3, sys, time
db = sqlite3.connect(':memory:', isolation_level=None)
def work(text, count=10):
    for i in range(count):
        db.execute(text, (i,)).fetchall()
def child(call):
    if os.fork() == 0:
        call()
        os._exit(0)
    assert os.wait()[1] == 0
rows = db.execute('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n')
rows.fetchmany(20)
def goes_on():
    work('SELECT ? AS child')
    assert len(rows.fetchall()) == 280
child(goes_on)
def limit(what, number):
    r.setrlimit(what, (number, r.getrlimit(what)[1]))
limit(r.RLIMIT_FSIZE, 1 << 19)
work('SELECT ? AS short, ' + repr('x' * 300000))
work('SELECT ? AS long, 1 IN (' + '0,' * 400000 + '0)')
work('SELECT ? AS usual')
limit(r.RLIMIT_FSIZE, r.getrlimit(r.RLIMIT_FSIZE)[1])
before = r.getrlimit(r.RLIMIT_NOFILE)[0]
limit(r.RLIMIT_NOFILE, 0)
work('SELECT ? AS lost', 20000)
child(lambda: work('SELECT ? AS unseen'))
limit(r.RLIMIT_NOFILE, before)
child(lambda: work('SELECT ? AS fresh'))
time.sleep(1.1)
work('SELECT ? AS again')
";

#[test]
fn a_capture_goes_on_after_records_that_could_not_be_written() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", LIMITS]);
    ends_with_gaps(&said, &["records could not be written"]);
    let summary = shown(&bench);
    for name in ["child", "short", "usual", "fresh", "again"] {
        assert_eq!(counts(&summary, &format!("SELECT ? AS {name}"))[0], 10, "{name}");
    }
    assert_eq!(counts(&summary, "WITH RECURSIVE")[1], 300, "of both processes");
    assert_eq!(counts(&summary, "SELECT ? AS unseen")[0], 0);
    let files = std::fs::read_dir(bench.path("taken/segments")).expect("readable").flatten();
    let empty = files.filter(|file| file.metadata().expect("there").len() == 0).count();
    assert_eq!(empty, 1, "for the child without a segment");
}

/// Leaves 40 orphans that end at once, and counts those that nothing has waited for.
const ORPHANS: &str = "
import os, time
contend = os.getppid()
def ended():
    found = 0
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            fields = open(f'/proc/{name}/stat').read().rsplit(')', 1)[1].split()
        except OSError:
            continue
        found += fields[0] == 'Z' and int(fields[1]) == contend
    return found
for i in range(40):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.1)
        os._exit(0)
    os.wait()
end = time.monotonic() + 5
time.sleep(0.2)
while ended() and time.monotonic() < end:
    time.sleep(0.05)
print('left:', ended())
";

#[test]
fn orphans_that_have_ended_are_waited_for() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", ORPHANS]).exits(0);
    assert_eq!(said.out.trim(), "left: 0", "{said:?}");
}

/// Executes scripts of statements, which Python prepares one after the other from the rest of the text. The processor
/// time of a script of 60,000, as a multiple of that of one with 15,000: of three each, the ones that differ least.
const LONG_SCRIPTS: &str = "
import sqlite3, time
def seconds(count):
    db = sqlite3.connect(':memory:', isolation_level=None)
    begin = time.process_time()
    db.executescript('CREATE TABLE t (a); BEGIN;' + 'INSERT INTO t VALUES (1);' * count + 'COMMIT')
    return time.process_time() - begin
print(min(seconds(60000) for i in range(3)) / max(seconds(15000) for i in range(3)))
";

#[test]
fn a_long_script_takes_time_in_proportion_to_its_length() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", LONG_SCRIPTS]).exits(0);
    let multiple: f64 = said.out.trim().parse().unwrap_or_else(|_| panic!("{said:?}"));
    // With its square it would be 16 times.
    assert!(multiple < 8.0, "4 times the statements take {multiple} times the processor time");
    assert_eq!(counts(&shown(&bench), "INSERT")[0], 3 * (60_000 + 15_000));
}

#[test]
fn extensions_are_said() {
    let bench = Bench::new();
    let Some(program) = built(&bench) else { return };
    let source = bench.path("empty.c");
    std::fs::write(&source, "int sqlite3_empty_init(void *db, char **message, const void *api) { return 0; }")
        .expect("written");
    let library = bench.path("empty.so").display().to_string();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source.display().to_string()]).status();
    assert!(made.expect("cc").success());
    let said = capture(&bench, &[], &[&program, "extension", ":memory:", &library]);
    ends_with_gaps(&said, &["loaded an extension; calls that the extension itself makes are not captured"]);
}

#[test]
fn content_that_cannot_be_read_is_unknown_and_not_made_by_the_program() {
    let bench = Bench::new();
    let db = rusqlite::Connection::open(database(&bench)).expect("made");
    db.execute_batch("CREATE TABLE t (a); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1);").expect("locked");
    let program = "import sqlite3\ndb = sqlite3.connect('app.db', timeout=0)\n\
                   try:\n    db.execute('SELECT * FROM t')\nexcept sqlite3.OperationalError:\n    pass";
    let said = capture(&bench, &["--values=full"], &["python3", "-c", program]);
    ends_with_gaps(&said, &["The content of ", "The final content of "]);
    let database = &shown(&bench)["databases"][0];
    assert_eq!(database["made_by_the_program"], false, "{database}");
}
