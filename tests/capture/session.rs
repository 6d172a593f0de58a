//! What holds for every capture.

use super::{capture, counts, database, script, shown};
use crate::support::Bench;
use std::fs;
use std::io::{BufRead, BufReader};
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
        let bytes = fs::read(file).expect("readable");
        assert!(!bytes.windows(6).any(|part| part == b"secret"), "{} has a value", file.display());
    }
    let again = capture(&bench, &[], &["true"]);
    assert_eq!(again.code, Some(2), "an old capture is not written over: {again:?}");
    assert!(again.err.contains("is not empty"), "{again:?}");
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

#[test]
fn a_capture_that_is_cut_or_has_no_end_says_so() {
    let bench = Bench::new();
    let path = database(&bench).display().to_string();
    let said = capture(&bench, &[], &["python3", &script("program.py"), "known", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let manifest = bench.path("taken/capture.json");
    let text = fs::read_to_string(&manifest).expect("readable");
    fs::write(&manifest, text.replace("\"status\": 0", "\"status\": null")).expect("written");
    let said = bench.contend(&["capture", "show", "taken"]).exits(0);
    assert!(said.out.contains("The capture has no end"), "contend was killed: {said:?}");
    for entry in fs::read_dir(bench.path("taken/segments")).expect("readable").flatten() {
        fs::OpenOptions::new().write(true).open(entry.path()).and_then(|file| file.set_len(200)).expect("cut");
    }
    let said = bench.contend(&["capture", "show", "taken"]).exits(2);
    assert!(said.err.contains(".seg is cut: 200 bytes are left of "), "{said:?}");
}

#[test]
fn usage() {
    let bench = Bench::new();
    for (args, words) in [
        (&["capture"][..], "name the command"),
        (&["capture", "--", "no-such-program"], "no command `no-such-program`"),
        (&["capture", "show", "."], "is no capture"),
    ] {
        let said = bench.contend(args);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    }
}
