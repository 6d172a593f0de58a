//! A capture that comes from another person, or from a copy that lost files: nothing in it leads out of its directory, and
//! what is missing is counted.

use super::{capture, copy, counts, database, edit, script, shown};
use crate::support::{Bench, Said};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A capture with copies of one database.
fn taken() -> Bench {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &["--values=full"], &["python3", &script("program.py"), "known", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    bench
}

#[test]
fn a_changed_capture_is_refused_and_one_without_a_seal_says_so() {
    let bench = taken();
    let path = bench.path("taken/capture.json");
    let text = fs::read_to_string(&path).expect("readable");
    assert!(shown(&bench)["missing"].as_array().is_some_and(Vec::is_empty), "{}", shown(&bench));
    let changed = text.replacen("\"page_size\": 4096", "\"page_size\": 8192", 1);
    assert_ne!(changed, text);
    fs::write(&path, &changed).expect("written");
    is_refused(
        &bench,
        &["taken/capture.json was changed after contend wrote it", "Restore the file, or capture again"],
    );
    // As an older contend wrote it, or an editor of both.
    let (_, below) = changed.split_once('\n').expect("lines");
    fs::write(&path, format!("{{\n{below}")).expect("written");
    let missing = shown(&bench)["missing"].to_string();
    assert!(missing.contains("Not sealed: capture.json has no SHA-256 in the first line"), "{missing}");
    assert!(bench.contend(&["replay", "taken"]).out.contains("Not sealed: capture.json"));
    bench.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(0);
    let said = bench.contend(&["capture", "show", "hashed"]);
    assert!(said.out.contains("Not sealed: capture.json"), "{said:?}");
}

const READERS: [&[&str]; 4] = [
    &["capture", "show", "taken"],
    &["capture", "to-workload", "taken"],
    &["capture", "anonymise", "taken", "--out", "hashed"],
    &["replay", "taken"],
];

/// Every reader refuses the capture with these words.
fn is_refused(bench: &Bench, words: &[&str]) {
    for reader in READERS {
        let said = bench.contend(reader);
        assert_eq!(said.code, Some(2), "{reader:?}: {said:?}");
        for word in words {
            assert!(said.err.contains(word), "{reader:?} lacks `{word}`: {said:?}");
        }
        // What was begun before the refusal.
        let _ = fs::remove_dir_all(bench.path("hashed"));
    }
}

#[test]
fn copies_outside_of_the_capture_are_refused_with_file_and_key() {
    let bench = taken();
    let outside = bench.path("outside.db");
    fs::rename(bench.path("taken/end-1.db"), &outside).expect("moved");
    let before = fs::read(&outside).expect("readable");
    symlink("../outside.db", bench.path("taken/link.db")).expect("linked");
    symlink("..", bench.path("taken/up")).expect("linked");
    let absolute = outside.display().to_string();
    for copy in [&absolute, "../outside.db", "./../outside.db", "up/outside.db", "link.db", "..", ""] {
        for key in ["content", "end"] {
            edit(&bench, |manifest| {
                let end = manifest["databases"][0]["end"].clone();
                let content = &mut manifest["databases"][0]["content"];
                *content = if content.is_null() { end } else { content.take() };
                for known in ["content", "end"] {
                    manifest["databases"][0][known]["copy"] = if known == key { copy.into() } else { Value::Null };
                }
            });
            is_refused(&bench, &["taken/capture.json: databases[0].", &format!("{key}.copy = "), copy]);
        }
    }
    assert!(fs::read(&outside).expect("readable") == before, "it is as it was");
}

#[test]
fn symbolic_links_in_a_capture_are_not_followed() {
    for name in ["capture.json", "segments"] {
        let bench = taken();
        fs::rename(bench.path("taken").join(name), bench.path("elsewhere")).expect("moved");
        symlink("../elsewhere", bench.path("taken").join(name)).expect("linked");
        is_refused(&bench, &[&format!("taken/{name} is a symbolic link")]);
    }
    let bench = taken();
    let segment = segments(&bench).remove(0);
    fs::rename(&segment, bench.path("elsewhere")).expect("moved");
    symlink(bench.path("elsewhere"), &segment).expect("linked");
    is_refused(&bench, &[".seg is a symbolic link"]);
}

#[test]
fn the_workload_replaces_a_link_to_a_pipe() {
    let bench = taken();
    let (pipe, workload) = (bench.path("pipe"), bench.path("taken/workload.toml"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    // With a reader, what is written to the pipe would get lost without a word.
    let reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("opened");
    fs::remove_file(&workload).expect("removed");
    symlink(&pipe, &workload).expect("linked");
    bench.contend(&["capture", "to-workload", "taken"]).exits(0);
    assert!(fs::symlink_metadata(&workload).expect("there").is_file(), "a file of the capture itself");
    drop(reader);
}

/// A rollback journal that names `other` as the journal of a transaction over several databases. A writer that finds it
/// deletes `other`.
fn journal(other: &Path) -> Vec<u8> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let mut bytes = MAGIC.to_vec();
    for number in [0_u32, 0, 1, 512, 4096] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.resize(512, 0);
    let name = other.display().to_string().into_bytes();
    let sum = name.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    bytes.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    bytes.extend(&name);
    bytes.extend(u32::try_from(name.len()).expect("short").to_be_bytes());
    bytes.extend(sum.to_be_bytes());
    bytes.extend(MAGIC);
    bytes
}

#[test]
fn a_journal_next_to_a_copy_deletes_nothing() {
    let bench = taken();
    let letter = bench.path("letter.txt");
    fs::write(&letter, "mine").expect("written");
    let copies: Vec<PathBuf> = files(&bench.path("taken")).into_iter().filter(|path| is(path, "db")).collect();
    assert!(!copies.is_empty());
    for reader in READERS {
        for copy in &copies {
            fs::write(copy.with_extension("db-journal"), journal(&letter)).expect("written");
        }
        let said = bench.contend(reader);
        assert!(matches!(said.code, Some(0 | 1)), "{reader:?}: {said:?}");
        assert!(letter.exists(), "{reader:?} deleted a file outside of the capture");
    }
    // The journal is one that SQLite acts on.
    let db = rusqlite::Connection::open(&copies[0]).expect("opened");
    let _ = db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    assert!(!letter.exists(), "the test is without force");
}

/// Attaches a file after a byte order mark, which is white space to SQLite.
const DISGUISED: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (a)')
db.execute('\\ufeffATTACH \"other.db\" AS other')
db.execute('CREATE TABLE IF NOT EXISTS other.log (n)')
db.execute('INSERT INTO other.log VALUES (1)')
db.execute('INSERT INTO t VALUES (1)')
";

#[test]
fn a_replay_attaches_no_other_file_however_it_is_written() {
    let bench = Bench::new();
    let said = capture(&bench, &["--values=full"], &["python3", "-c", DISGUISED]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let rows = || {
        let db = rusqlite::Connection::open(bench.path("other.db")).expect("opened");
        db.query_row("SELECT count(*) FROM log", [], |row| row.get::<_, i64>(0)).expect("a number")
    };
    assert_eq!(rows(), 1);
    let said = bench.contend(&["replay", "taken"]);
    assert_eq!(rows(), 1, "the program's own file is not touched: {said:?}");
    assert!(said.out.contains("other.db: its table is the same as at the end of the capture."), "{said:?}");
}

fn is(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|other| other == end)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry").path()).collect()
}

/// The segment files, in the order of their names.
fn segments(bench: &Bench) -> Vec<PathBuf> {
    let mut all = files(&bench.path("taken/segments"));
    all.retain(|path| is(path, "seg"));
    all.sort();
    all
}

/// Leaves no record in a segment: its header, in the form before it is packed.
fn cut(segment: &Path) {
    let bytes = fs::read(segment).expect("readable");
    assert!(bytes.starts_with(b"cntndpk2"), "packed");
    let mut head = bytes[8..72].to_vec();
    head[24..32].copy_from_slice(&64_u64.to_ne_bytes());
    fs::write(segment, head).expect("written");
}

/// Threads that write one after the other, each with its own segment.
const THREADS: &str = "
import sqlite3, threading
def work():
    db = sqlite3.connect('app.db', isolation_level=None)
    db.execute('CREATE TABLE IF NOT EXISTS t (a)')
    for i in range(20):
        db.execute('INSERT INTO t VALUES (?)', (i,))
for i in range(4):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
";

/// The sentence about missing records in each output.
fn said_by_all(bench: &Bench, words: &str) {
    let one_line = |said: &Said| {
        let all = format!("{} {}", said.out, said.err);
        all.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for reader in READERS {
        let said = bench.contend(reader);
        let has = reader[1] == "anonymise" || one_line(&said).contains(words);
        assert!(has, "{reader:?} lacks `{words}`: {said:?}");
    }
    let json = bench.contend(&["replay", "taken", "--json"]);
    let replayed: Value = serde_json::from_str(&json.out).expect("JSON");
    assert!(replayed["missing"][0].as_str().is_some_and(|gap| gap.contains(words)), "{replayed}");
    assert!(shown(bench)["missing"][0].as_str().is_some_and(|gap| gap.contains(words)));
    let hashed = bench.contend(&["capture", "show", "hashed"]).exits(0);
    assert!(one_line(&hashed).contains(words), "the anonymised capture has the same gap: {hashed:?}");
    fs::remove_dir_all(bench.path("hashed")).expect("removed");
    let options = ["--rounds", "1", "--window", "200ms", "--allow-tmpfs", "--only", "as captured", "--out", "record"];
    let ran = bench.contend(&[&["run", "taken", "--quick", "--set", "load=captured"], &options[..]].concat());
    assert!(one_line(&ran).contains("Made from a damaged capture"), "{ran:?}");
    let report = fs::read_to_string(bench.path("record/report.txt")).expect("written");
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains(words), "the study of what is left says it: {report}");
    fs::remove_dir_all(bench.path("record")).expect("removed");
}

#[test]
fn missing_and_cut_segments_are_counted_by_every_reader() {
    let bench = Bench::new();
    let said = capture(&bench, &["--values=full"], &["python3", "-c", THREADS]);
    assert!(said.code == Some(0) && said.err.contains("Nothing is known to be missing"), "{said:?}");
    assert_eq!(shown(&bench)["missing"], serde_json::json!([]));
    assert_eq!(counts(&shown(&bench), "INSERT")[0], 80);
    let manifest: Value =
        serde_json::from_slice(&fs::read(bench.path("taken/capture.json")).expect("readable")).expect("JSON");
    let records = |path: &Path| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        manifest["segments"][name]["records"].as_u64().expect("a number")
    };
    let all = segments(&bench);
    let total: u64 = all.iter().map(|path| records(path)).sum();
    let (gone, emptied) = (all.last().expect("a segment"), &all[all.len() - 2]);

    fs::remove_file(gone).expect("removed");
    let files = all.len();
    said_by_all(
        &bench,
        &format!(
            "{} of the capture's {total} records are missing: 1 of {files} segment files is gone ({}); copy the capture again.",
            records(gone),
            gone.file_name().expect("a name").to_string_lossy()
        ),
    );
    cut(emptied);
    let lost = records(gone) + records(emptied);
    said_by_all(
        &bench,
        &format!("{lost} of the capture's {total} records are missing: 1 of {files} segment files is gone"),
    );
    assert!(shown(&bench)["missing"][0].to_string().contains(&format!("1 of {files} segment files is cut")));
    assert_eq!(counts(&shown(&bench), "INSERT")[0], 40);

    // Captures of older versions have no totals, and a capture that was killed has no end.
    edit(&bench, |manifest| drop(manifest.as_object_mut().expect("an object").remove("segments")));
    assert_eq!(shown(&bench)["missing"], serde_json::json!([]), "it is readable");
    edit(&bench, |manifest| manifest["status"] = Value::Null);
    let missing = &shown(&bench)["missing"];
    assert!(missing.as_array().is_some_and(|all| all.len() == 1), "{missing}");
    assert!(missing[0].as_str().is_some_and(|gap| gap.starts_with("The capture is incomplete")), "{missing}");
    let said = bench.contend(&["replay", "taken"]);
    assert!(said.out.contains("The capture is incomplete"), "{said:?}");
}

#[test]
fn changed_and_added_segments_are_said_and_added_ones_left_out() {
    let bench = Bench::new();
    let said = capture(&bench, &[], &["python3", "-c", THREADS]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let all = segments(&bench);
    let (one, other) = (&all[all.len() - 1], &all[all.len() - 2]);
    fs::copy(one, bench.path("taken/segments/1-1-9.seg")).expect("copied");
    let mut bytes = fs::read(other).expect("readable");
    // The number of the thread in the header.
    bytes[8 + 16] ^= 1;
    fs::write(other, bytes).expect("written");
    let summary = shown(&bench);
    let gap = summary["missing"][0].as_str().expect("a sentence");
    assert!(gap.contains("1 file that is not of the capture is left out (1-1-9.seg)"), "{gap}");
    assert!(gap.contains(&format!("1 of {} segment files is changed", all.len())), "{gap}");
    assert_eq!(counts(&summary, "INSERT")[0], 80, "the added ones do not count");
}

const IN_MEMORY: &str = "
import sqlite3
db = sqlite3.connect(':memory:', isolation_level=None)
db.execute('CREATE TABLE t (a)')
db.execute('INSERT INTO t VALUES (1)')
";

#[test]
fn a_replay_without_copies_says_that_and_why_nothing_was_compared() {
    let is_said = |bench: &Bench, why: &str| {
        let said = bench.contend(&["replay", "taken"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(&format!("Nothing was compared: {why}")), "{said:?}");
        assert!(!said.out.contains("are the same"), "{said:?}");
        let json = bench.contend(&["replay", "taken", "--json"]);
        let replayed: Value = serde_json::from_str(&json.out).expect("JSON");
        let is_same = replayed["not_compared"].as_str().is_some_and(|sentence| sentence.contains(why));
        assert!(json.code == Some(2) && is_same, "{json:?}");
    };
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", IN_MEMORY]).exits(0);
    is_said(&bench, "the program opened no database file");

    let bench = taken();
    edit(&bench, |manifest| manifest["databases"][0]["end"] = Value::Null);
    is_said(&bench, "the capture has no copy of the final content of any database");
    edit(&bench, |manifest| (manifest["status"], manifest["databases"]) = (Value::Null, serde_json::json!([])));
    is_said(&bench, "contend was killed during the capture");

    let bench = Bench::new();
    let empty = "import sqlite3\nsqlite3.connect('app.db').execute('PRAGMA user_version = 1')";
    capture(&bench, &["--values=full"], &["python3", "-c", empty]).exits(0);
    is_said(&bench, "the databases have no tables");
}

#[test]
fn values_that_only_a_column_calls_equal_differ() {
    let bench = Bench::new();
    let program = "import sqlite3\ndb = sqlite3.connect('app.db', isolation_level=None)\n\
                   db.execute('CREATE TABLE t (name TEXT COLLATE NOCASE, n)')\ndb.execute(\"INSERT INTO t VALUES ('a', 1)\")";
    capture(&bench, &["--values=full"], &["python3", "-c", program]).exits(0);
    bench.contend(&["replay", "taken"]).exits(0);
    for (change, back) in [("name = 'A'", "name = 'a'"), ("n = 1.0", "n = 1")] {
        let end = copy(&bench, "end-1.db");
        end.execute(&format!("UPDATE t SET {change}"), []).expect("changed");
        let said = bench.contend(&["replay", "taken"]).exits(1);
        assert!(said.out.contains("table t DIFFERS: 1 row only in the capture, 1 only in the replay"), "{said:?}");
        end.execute(&format!("UPDATE t SET {back}"), []).expect("changed");
    }
    let end = copy(&bench, "end-1.db");
    end.execute("ALTER TABLE t ADD COLUMN more", []).expect("changed");
    let said = bench.contend(&["replay", "taken"]).exits(1);
    assert!(said.out.contains("table t DIFFERS"), "other columns: {said:?}");
}
