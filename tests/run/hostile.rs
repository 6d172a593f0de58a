//! Hostile and broken input: arguments, files that never end, texts that steer a terminal, and killed processes.

use crate::support::{Bench, Said, root, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
    kill_process(pid, Signal::KILL).expect("it lives");
}

/// The janitor among the children of a process.
fn janitor_of(tool: u32) -> Option<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_janitor = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        line.ends_with(b"\0janitor\0") && parent == Some(tool)
    };
    pids.into_iter().find(is_janitor)
}

#[test]
fn a_janitor_that_was_killed_is_replaced_and_knows_what_to_clean_up() {
    let bench = Bench::new();
    let study = crate::support::tiny_study();
    let args = ["run", &study, "--out", "record", "--rounds", "1", "--window", "60s", "--quiet"];
    let mut tool = bench.start(&args);
    wait_for("data of a trial", || bench.path("record/data/trial").exists());
    let first = janitor_of(tool.id()).expect("a janitor");
    kill(first);
    wait_for("another janitor", || janitor_of(tool.id()).is_some_and(|pid| pid != first));
    tool.kill().expect("it lives");
    tool.wait().expect("it ended");
    wait_for("the data to be gone", || !bench.path("record/data").exists());
    bench.assert_nothing_left();
}

#[test]
fn who_was_killed_before_the_first_trial_is_told_what_to_do() {
    let bench = Bench::new();
    fs::create_dir(bench.path("record")).expect("created");
    fs::write(bench.path("record/.lock"), "").expect("written");
    let said = bench.contend(&["run", "--resume", "record"]).exits(2);
    assert!(said.err.contains("before its first trial; give the same command again"), "{}", said.err);
    bench.tiny(&["--rounds", "1", "--only", "WAL/FULL"]);
    assert!(bench.path("record/run.toml").exists(), "the same command goes on");
}

#[test]
fn arguments_that_are_not_text_are_no_panic() {
    let bench = Bench::new();
    let odd = OsStr::from_bytes(b"re\xffcord");
    for verb in ["run", "report", "explain", "worker", "nonsense"] {
        let mut command = bench.command(&[verb]);
        let said: Said = command.arg(odd).output().expect("the tool starts").into();
        assert_eq!(said.code, Some(2), "{verb}: {said:?}");
        assert!(!said.err.contains("panicked"), "{verb}: {}", said.err);
    }
}

#[test]
fn nobody_who_reads_the_messages_is_no_panic() {
    let bench = Bench::new();
    let script = format!("{} http http://127.0.0.1:1/ 2>&1 | true; exit ${{PIPESTATUS[0]}}", crate::support::tool());
    let status = Command::new("bash").args(["-c", &script]).current_dir(bench.dir.path()).status().expect("bash");
    assert!(matches!(status.code(), Some(0..=2)), "{status:?}");
}

#[test]
fn a_closed_standard_output_keeps_the_status() {
    let bench = Bench::new();
    let lines: String = (0..6).map(|i| format!("old,1{i}\nnew,2{i}\n")).collect();
    fs::write(bench.path("t.csv"), format!("variant,time_s\n{lines}")).expect("written");
    let csv = "compare --csv t.csv --variant variant --value time_s --fail-if-slower";
    // The pipe has no reader any more when the tool begins.
    let script = format!("(sleep 0.2; exec {} {csv}) | true; exit ${{PIPESTATUS[0]}}", crate::support::tool());
    let status = Command::new("bash").args(["-c", &script]).current_dir(bench.dir.path()).status().expect("bash");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_file_that_never_ends_is_refused() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1", "--only", "WAL/FULL"]);
    let trial = bench.path("record/trials/0001/trial.toml");
    fs::remove_file(&trial).expect("it was there");
    assert!(Command::new("mkfifo").arg(&trial).status().expect("mkfifo").success());
    let said = bench.contend(&["report", "record"]);
    assert!(said.err.contains("it is not a regular file"), "{said:?}");
    let said = bench.contend(&["report", "--import", "/dev/zero", "--out", "imported"]).exits(2);
    assert!(said.err.contains("it is not a regular file"), "{}", said.err);
    let csv = ["compare", "--csv", "/dev/zero", "--variant", "a", "--value", "b"];
    assert!(bench.contend(&csv).exits(2).err.contains("it is not a regular file"));
    fs::write(bench.path("latin.csv"), b"a,b\ncaf\xe9,1\n").expect("written");
    let csv = ["compare", "--csv", "latin.csv", "--variant", "a", "--value", "b"];
    assert!(bench.contend(&csv).exits(2).err.contains("it is not UTF-8; save it as UTF-8"));
}

#[test]
fn no_text_of_others_steers_a_terminal() {
    let bench = Bench::new();
    let steers = "\u{1b}[31mred\u{202e}";
    let lines: String = (0..6).map(|i| format!("old,1{i}\n{steers},2{i}\n")).collect();
    fs::write(bench.path("t.csv"), format!("variant,time_s\n{lines}")).expect("written");
    let csv = ["compare", "--csv", "t.csv", "--variant", "variant", "--value", "time_s"];
    let path = format!("absent{steers}.toml");
    let sql = format!("SELECT {steers} FROM;");
    fs::write(bench.path("s.sql"), &sql).expect("written");
    let translate = ["translate", "--to", "postgres", "s.sql"];
    // Workers of others, and a message that a user pastes.
    let workers = bench.path(&format!("workers{steers}"));
    fs::create_dir(&workers).expect("a directory");
    let worker = "language = 'Elvish'\n[model.thread]\nabout = 'a'\n\
        [driver.elf]\nabout = \"\\u001b[31mred\\u202e\"\nengines = ['sqlite']\nprogram = 'elf-worker'\n";
    fs::write(workers.join("worker.toml"), worker).expect("written");
    let pasted = format!("error 1290: {steers}");
    let several = ["explain", &pasted];
    let ours: [&[&str]; 7] = [
        &csv,
        &["run", &path],
        &["plan", "show", &path],
        &translate,
        &["doctor"],
        &["list", "drivers", "elf"],
        &several,
    ];
    for args in ours {
        let mut command = bench.command(args);
        let said = command.env("CONTEND_WORKERS", &workers).stdin(Stdio::null()).output().expect("the tool starts");
        let said = Said::from(said);
        assert!(!said.out.contains(['\u{1b}', '\u{202e}']), "{args:?}: {}", said.out);
        assert!(!said.err.contains(['\u{1b}', '\u{202e}']), "{args:?}: {}", said.err);
        assert!((said.out + &said.err).contains("red"), "{args:?}");
    }
}

/// Questions and names of a study reach every form of the report.
#[test]
fn no_text_of_others_steers_a_reader_of_a_report() {
    let bench = Bench::new();
    let study = fs::read_to_string(crate::support::tiny_study()).expect("the study");
    let steers = r"\u001b[31mred\u202e";
    let truncate = "settings = { journal_mode = \"truncate\"";
    let labelled = study.replacen(truncate, &format!("label = \"{steers}\"\n{truncate}"), 1);
    fs::write(bench.path("labelled.toml"), labelled).expect("written");
    let said = bench.contend(&["run", "labelled.toml", "--out", "labelled"]).exits(2);
    let refused = "label: `?[31mred?` has a character that is not visible: U+001B";
    assert!(said.err.contains("labelled.toml:") && said.err.contains(refused), "{}", said.err);
    let study = study.replacen("question = \"", &format!("question = \"{steers}"), 1);
    assert_eq!(study.matches(steers).count(), 1, "{study}");
    fs::write(bench.path("study.toml"), study).expect("written");
    let said = bench.contend(&["run", "study.toml", "--out", "record", "--rounds", "1", "--window", "100ms"]);
    said.ran();
    let read = |name: &str| fs::read_to_string(bench.path("record").join(name)).expect("a report");
    let pages = ["report.txt", "report.md", "report.html"].map(read);
    for (text, which) in pages.iter().chain([&said.out]).zip(["text", "Markdown", "page", "terminal"]) {
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.contains("red"), "{which}: {text}");
    }
    assert!(!said.err.contains(['\u{1b}', '\u{202e}']), "{}", said.err);
}

/// Figures, tiers and reasons of a record are not edited unseen.
#[test]
fn a_file_of_a_record_that_was_edited_is_not_believed() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1", "--only", "WAL/FULL"]);
    let edit = |file: &str, from: &str, to: &str| {
        let path = bench.path(file);
        let text = fs::read_to_string(&path).expect("a file");
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(&path, text.replacen(from, to, 1)).expect("written");
        let said = bench.contend(&["report", "record"]);
        fs::write(&path, text).expect("put back");
        said
    };
    for (from, to) in
        [("tier = \"durable\"", "tier = \"bounded\""), ("synchronous = \"full\"", "synchronous = \"off\"")]
    {
        let said = edit("record/run.toml", from, to).exits(2);
        assert!(said.err.contains("run.toml was changed after contend wrote it"), "{}", said.err);
        assert!(said.err.contains("restore the file, or run again") && !said.err.contains("remove"), "{}", said.err);
    }
    for (from, to) in [("window_end_ns = ", "window_end_ns = 1"), ("clients = ", "clients = 1"), ("\n", "\n\n")] {
        let said = edit("record/trials/0001/trial.toml", from, to).exits(1);
        assert!((said.out + &said.err).contains("trial.toml was changed after contend wrote it"), "{}", said.err);
    }
    // Without its first line a file is read, and every answer says so.
    let run = fs::read_to_string(bench.path("record/run.toml")).expect("a file");
    let (_, own) = run.split_once('\n').expect("a seal");
    fs::write(bench.path("record/run.toml"), own.replacen("label = \"WAL/FULL\"", "label = \"FASTEST\"", 1))
        .expect("written");
    const NOT_SEALED: &str = "Not sealed: run.toml has no SHA-256 in the first line.";
    let said = bench.contend(&["report", "record"]).settled(&bench.path("record"));
    assert!(one_line(&said.out).contains(NOT_SEALED), "{}", said.out);
    for page in ["report.txt", "report.md", "report.html"] {
        let text = fs::read_to_string(bench.path("record").join(page)).expect("a report");
        assert!(one_line(&text).contains(NOT_SEALED), "{page}: {text}");
    }
    let json = bench.contend(&["report", "record", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["not_sealed"], serde_json::json!(["run.toml"]));
    let other = root().join("tests/fixtures/records/format-3").display().to_string();
    let said = bench.contend(&["compare", &other, "record"]);
    assert!(one_line(&said.out).contains(&format!("B: {NOT_SEALED}")), "{}", said.out);
    let json = bench.contend(&["compare", "record", &other, "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["not_sealed_in_a"], serde_json::json!(["run.toml"]), "{json:#}");
    fs::write(bench.path("record/run.toml"), run).expect("put back");
    // The course of a trial is a table without a first line of its own.
    let said = edit("record/trials/0001/series.csv", "\n", "\n0,1,2,3,4,5,6,7\n").exits(1);
    assert!((said.out + &said.err).contains("series.csv was changed since it was written"), "{}", said.err);
    bench.contend(&["report", "record"]).settled(&bench.path("record"));
}
