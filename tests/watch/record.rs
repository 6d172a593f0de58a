//! The record of a watch, and the report that is made from it alone.

use super::{MUST_TRACE, Program, may_trace, place, text, watch};
use crate::support::place::{Own, Place};
use crate::support::possible::lacking;
use crate::support::{tool, wait_for};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn report(dir: &Path) -> (Option<i32>, String) {
    let output = Command::new(tool()).arg("report").arg(dir).env("NO_COLOR", "1").output().expect("it starts");
    (output.status.code(), text(&output))
}

fn saved(dir: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(dir.join("watch.json")).expect("readable")).expect("JSON")
}

#[test]
fn a_record_has_the_whole_story_and_its_report_tells_it() {
    if !may_trace("a record") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "program_holds_lock", 60);
    let (database, out) = (program.database.display().to_string(), dir.path().join("record"));
    let output = watch(&[&database, "--for", "4s", "--out", &out.display().to_string()]).output().expect("it starts");
    drop(program);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let (code, said) = report(&out);
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "holds the write lock while it does something else",
        "Who waited for whom",
        "Transactions by their statements",
        "INSERT INTO t (v) VALUES (zeroblob(?))",
        "COMMIT",
        "report.html",
    ] {
        assert!(said.contains(part), "{part} is missing in\n{said}");
    }
    let page = fs::read_to_string(out.join("report.html")).expect("a page");
    for part in
        ["Write lock over time", "The longest wait: python3", "Frames of the log", "<rect class=\"hollow\"", "Syncs:"]
    {
        assert!(page.contains(part), "{part} is missing in the page");
    }
    assert!(!page.contains("http://") || !page.contains("src="), "it loads nothing");
    let saved = saved(&out);
    assert_eq!(saved["complete"], true);
    let database = &saved["databases"][0];
    let shape = &database["shapes"][0];
    let [held, outside] = ["held_ns", "outside_ns"].map(|key| shape[key].as_u64().expect("a number"));
    let count = shape["count"].as_u64().expect("a number");
    assert!(count >= 2 && outside >= (count - 1) * 400_000_000 && held >= outside, "it sleeps inside: {shape}");
    // The lines of the list are the process's sum, but for what was open at the end.
    let process = &database["processes"][0];
    let lines = fs::read_to_string(out.join("holds.csv")).expect("readable");
    let pid = process["pid"].to_string();
    let is_write = |line: &str| line.contains("WAL_WRITE") && !line.ends_with(",rebuild");
    let of_process = |line: &&str| is_write(line) && line.split(',').nth(3) == Some(&pid);
    let closed = lines.lines().filter(of_process).filter(|line| line.split(',').nth(1) != Some(""));
    assert_eq!(closed.count() as u64, process["writes"].as_u64().expect("a number"), "{process}");
}

#[test]
fn a_record_ends_at_its_limit_and_says_so() {
    if !may_trace("the limit of a record") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "busy_reader", 130);
    let (database, out) = (program.database.display().to_string(), dir.path().join("record"));
    let args = [&database, "--for", "120s", "--no-sql", "--limit-mib", "1", "--out", &out.display().to_string()];
    let mut watching = watch(&args).stdout(Stdio::null()).spawn().expect("it starts");
    let is_full = |text: String| text.contains("the limit for an hour was reached");
    wait_for("the limit", || fs::read_to_string(out.join("watch.json")).is_ok_and(is_full));
    Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
    assert!(watching.wait().expect("it ends").code().is_some_and(|code| code < 2));
    drop(program);
    let bytes = fs::metadata(out.join("holds.csv")).expect("there").len();
    assert!(bytes <= 1 << 20, "{bytes}");
    let said = report(&out).1.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("holds.csv: ") && said.contains("the limit for an hour was reached"), "{said}");
}

#[test]
fn the_record_of_a_watch_that_was_killed_can_be_read() {
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let (database, out) = (program.database.display().to_string(), dir.path().join("record"));
    let mut watching = watch(&[&database, "--depth", "sampled", "--out", &out.display().to_string()]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().expect("it starts");
    BufReader::new(watching.stdout.take().expect("piped")).lines().next().expect("a line").expect("text");
    watching.kill().and_then(|()| watching.wait()).expect("it ends");
    let (code, said) = report(&out);
    assert!(code == Some(0) && said.contains("was killed"), "{said}");
}

#[test]
fn a_server_leaves_a_record_too() {
    let place = Place::new();
    let server = Own::postgres(&place);
    let out = place.bench.path("record");
    let args = ["watch", &server.dsn("geheim"), "--for", "2s", "--out", "record"];
    place.contend(&args).exits(0);
    let (code, said) = report(&out);
    assert!(code == Some(0) && said.contains("No finding") && said.contains("PostgreSQL"), "{said}");
    let looks = fs::read_to_string(out.join("looks.csv")).expect("readable");
    // A busy server is asked less often.
    assert!(looks.lines().count() > 1, "{looks}");
    let saved = fs::read_to_string(out.join("watch.json")).expect("readable");
    assert!(!saved.contains("geheim"));
    fs::write(out.join("watch.json"), saved.replacen("PostgreSQL", "MariaDB", 1)).expect("a file");
    let (code, changed) = report(&out);
    assert!(code == Some(2) && changed.contains("watch.json was changed after contend wrote it"), "{changed}");
    let again = place.contend(&args).exits(2);
    assert!(again.err.contains("is not empty"), "{again:?}");
}

/// The directories above are as usual, and all is of the user who called sudo.
#[test]
fn a_record_made_with_sudo_is_of_its_caller() {
    use std::os::unix::fs::MetadataExt;
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let (database, out) = (program.database.display().to_string(), dir.path().join("results/deep/lock"));
    let args = [&database, "--depth", "sampled", "--for", "1s", "--out", &out.display().to_string()];
    let output = watch(&args).env("SUDO_UID", "4242").env("SUDO_GID", "4243").output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let of = |path: &Path| fs::metadata(path).map(|file| (file.uid(), file.gid(), file.mode() & 0o777)).expect("there");
    let is_root = of(dir.path()).0 == 0;
    assert_eq!(of(&out).2, 0o700, "statements are for the owner alone");
    for parent in ["results", "results/deep"] {
        assert_ne!(of(&dir.path().join(parent)).2, 0o700, "{parent}");
    }
    if !is_root {
        return lacking(MUST_TRACE, "the owner of a record: run the tests as root");
    }
    let record = ["", "watch.json", "holds.csv", "report.html", "report.txt"].map(|name| out.join(name));
    for path in record.iter().chain(&[dir.path().join("results"), dir.path().join("results/deep")]) {
        assert_eq!((of(path).0, of(path).1), (4242, 4243), "{}", path.display());
    }
}
