//! What a user names, and where it is shown.

use super::{Program, last, may_trace, place, source, text, watch};
use crate::support::wait_for;
use contend::trial::watch::machine::now_utc;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

#[test]
fn what_is_no_database_is_refused_with_the_way_on() {
    let dir = place();
    let path = |name: &str| dir.path().join(name).display().to_string();
    fs::write(dir.path().join("text"), "not a database at all").expect("written");
    ["empty", "data"].iter().for_each(|name| fs::create_dir(dir.path().join(name)).expect("made"));
    fs::write(dir.path().join("data/app.db"), b"SQLite format 3\0").expect("written");
    fs::write(dir.path().join("data/notes.txt"), "not a database at all").expect("written");
    let fifo = Command::new("mkfifo").arg(dir.path().join("pipe")).status().expect("mkfifo");
    assert!(fifo.success());
    let mut sleeping = Command::new("sleep").arg("60").spawn().expect("sleep");
    let own = sleeping.id().to_string();
    for (args, words) in [
        (vec![path("nothing")], "cannot be found: No such file"),
        (vec![path("nothing")], "; --pid PID finds the databases of a process"),
        (vec![path("data/ap.db")], &format!("; did you mean `{}`?", path("data/app.db"))),
        (vec![path("text")], "is not a SQLite database"),
        (vec![path("data/notes.txt")], &format!("\"SQLite format 3\"; there is `{}`", path("data/app.db"))),
        (vec![path("pipe")], "is not a file"),
        (vec![path("empty")], "holds no SQLite database; --pid PID finds"),
        (vec![path("")], &format!("holds no SQLite database; `{}` holds 1 database", path("data"))),
        (vec![path("data/gone.db-wal")], "is a write-ahead log, and its database"),
        (vec!["sqlite:///:memory:".into()], "a database in memory has no file"),
        (vec![format!("sqlite://{}", path("data/ap.db"))], &format!("; did you mean `{}`?", path("data/app.db"))),
        (vec!["--pid".into(), "999999999".into()], "does not exist"),
        (vec!["--pid".into(), own], "and its children have no SQLite database open"),
        (vec!["postgres://me:geheim@127.0.0.1:1/d".into()], "cannot connect"),
        (vec!["oracle://me:geheim@h/d".into()], "`oracle` is not a scheme"),
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
    sleeping.kill().and_then(|()| sleeping.wait()).expect("it ends");
}

#[test]
fn addresses_and_files_next_to_a_database_are_the_database() {
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let path = program.database.display().to_string();
    for named in [
        format!("sqlite://{path}"),
        format!("sqlite+pysqlite:///{path}"),
        format!("jdbc:sqlite:{path}"),
        format!("file:{path}?mode=ro"),
        format!("{path}-wal"),
        format!("{path}-shm"),
        format!("{path}-journal"),
    ] {
        let output = watch(&[&named, "--for", "1s", "--depth", "sampled", "--json-line"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{named}: {}", text(&output));
        assert_eq!(last(&output)["databases"][0]["path"], path.as_str(), "{named}");
    }
}

/// A command as the user `nobody`, for whom `dir` has a program `sudo` that changes nothing: the tests run as root.
fn as_nobody(dir: &Path, args: &[&str]) -> Output {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).expect("changed");
    let sudo = dir.join("sudo");
    fs::write(&sudo, "#!/bin/sh\nexec \"$@\"\n").expect("written");
    fs::set_permissions(&sudo, fs::Permissions::from_mode(0o755)).expect("changed");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", env!("CARGO_BIN_EXE_contend")]).args(args);
    command.env("PATH", search(dir)).env("NO_COLOR", "1").current_dir(dir).stdin(Stdio::null());
    command.output().expect("setpriv")
}

/// Where programs are looked for: first in this directory.
fn search(dir: &Path) -> String {
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn without_rights_the_command_that_sees_more_is_printed_and_does() {
    if !may_trace("the command that sees more") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let (database, pid) = (program.database.display().to_string(), program.pids["self"].to_string());
    let contend = env!("CARGO_BIN_EXE_contend");
    // The watch by its number is of another user's process.
    for (args, before, command) in [
        (
            vec!["watch", &database, "--for", "1s", "--depth", "sampled"],
            "\nFor more: ",
            format!("sudo {contend} watch {database} --for 1s"),
        ),
        (
            vec!["watch", "--pid", &pid, "--for", "1s"],
            "; as root: ",
            format!("sudo {contend} watch --pid {pid} --for 1s"),
        ),
        (
            vec!["watch", &database, "--depth", "exact", "--for", "1s"],
            "; as root: ",
            format!("sudo {contend} watch {database} --depth exact --for 1s"),
        ),
        (vec!["doctor"], "for more:\n", format!("sudo {contend} watch DATABASE")),
    ] {
        let said = text(&as_nobody(dir.path(), &args));
        let (_, after) = said.split_once(before).unwrap_or_else(|| panic!("{args:?}: {said}"));
        // It can be copied: it is on one line.
        let printed = after.lines().next().expect("a line").trim();
        assert_eq!(printed, command, "{said}");
        let entered = printed.replace("DATABASE", &format!("{database} --for 1s"));
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &entered]).env("PATH", search(dir.path())).output().expect("a shell");
        let depth = if command.contains("exact") { "Depth: exact" } else { "Depth: with-statements" };
        assert!(output.status.code() == Some(0) && text(&output).contains(depth), "{entered}: {}", text(&output));
    }
}

const CHILD: &str = "import sqlite3, time
db = sqlite3.connect('child.db')
db.execute('CREATE TABLE t (a)')
time.sleep(60)";

#[test]
fn a_process_without_databases_has_those_of_its_children() {
    let dir = place();
    let mut command = Command::new("sh");
    command.args(["-c", "python3 -c \"$0\"; true", CHILD]).current_dir(dir.path()).process_group(0);
    let mut shell = command.spawn().expect("a shell");
    wait_for("the child's database", || fs::metadata(dir.path().join("child.db")).is_ok_and(|file| file.len() > 0));
    let line =
        last(&watch(&["--pid", &shell.id().to_string(), "--for", "2s", "--json-line"]).output().expect("it starts"));
    let killed = Command::new("kill").args(["-9", "--", &format!("-{}", shell.id())]).status();
    assert!(killed.is_ok_and(|status| status.success()) && shell.wait().is_ok());
    assert_eq!(watched(&line), BTreeSet::from(["child.db".to_string()]));
}

/// Paths of the watched databases, by their last part.
fn watched(line: &Value) -> BTreeSet<String> {
    let databases = line["databases"].as_array().expect("a list").iter();
    databases.map(|one| one["path"].as_str().expect("a path").rsplit('/').next().expect("a name").to_string()).collect()
}

#[test]
fn several_files_a_directory_and_a_process_are_databases() {
    let dir = place();
    let programs = ["healthy_writer", "program_holds_lock"].map(|name| Program::start(dir.path(), name, 60));
    let paths = programs.each_ref().map(|program| program.database.display().to_string());
    let both = BTreeSet::from(["healthy_writer.db", "program_holds_lock.db"].map(str::to_string));
    let directory = dir.path().display().to_string();
    for args in [vec![paths[0].as_str(), paths[1].as_str()], vec![directory.as_str()]] {
        let output = watch(&[&args[..], &["--for", "2s", "--json-line"]].concat()).output().expect("it starts");
        let line = last(&output);
        assert_eq!(watched(&line), both, "{args:?}");
        // Each process is below its database.
        for (at, program) in programs.iter().enumerate() {
            let rows = line["databases"][at]["processes"].as_array().expect("a list");
            assert!(rows.iter().any(|row| row["pid"] == program.pids["self"]), "{line:#}");
        }
    }
    let pid = programs[0].pids["self"].to_string();
    let line = last(&watch(&["--pid", &pid, "--for", "2s", "--json-line"]).output().expect("it starts"));
    assert_eq!(watched(&line), BTreeSet::from(["healthy_writer.db".to_string()]));
}

/// A program in a container has a file system of its own.
#[test]
fn a_process_with_a_file_system_of_its_own_is_watched_by_its_number() {
    if !may_trace("another file system") {
        return;
    }
    let dir = place();
    let inside = dir.path().join("inside");
    fs::create_dir(&inside).expect("made");
    let mut program = Command::new("unshare");
    program.args([
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs none \"$1\" && exec python3 \"$2\" program_holds_lock \"$1/app.db\" 60",
    ]);
    let mut program =
        program.arg("sh").arg(&inside).arg(source("program.py")).stdout(Stdio::piped()).spawn().expect("unshare");
    let lines = BufReader::new(program.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let said: Vec<String> = lines.take(4).collect();
    assert!(!inside.join("app.db").exists(), "it is not there outside");
    let number = |who: &str| {
        let line = said.iter().find_map(|line| line.strip_prefix(who)).expect("its number");
        line.trim().parse::<u32>().expect("a number")
    };
    let pid = number("self ");
    let is_open = |link: fs::DirEntry| fs::read_link(link.path()).is_ok_and(|path| path.ends_with("app.db"));
    let fds = || fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    wait_for("the database to be open", || fds().any(is_open));
    let output = watch(&["--pid", &pid.to_string(), "--for", "6s", "--json-line"]).output().expect("it starts");
    for pid in [number("other "), pid] {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
    program.wait().expect("it ends");
    let line = last(&output);
    assert_eq!(watched(&line), BTreeSet::from(["app.db".to_string()]));
    let found = line["findings"].as_array().expect("a list").iter().find(|found| found["kind"] == "program-holds-lock");
    assert!(found.is_some_and(|found| found["pid"] == pid && found["after"] == "COMMIT"), "{line:#}");
}

/// There the kernel numbers devices differently from `stat`.
#[test]
fn locks_on_btrfs_are_seen() {
    if !may_trace("btrfs") {
        return;
    }
    let dir = place();
    let inside = dir.path().join("inside");
    fs::create_dir(&inside).expect("made");
    let image = dir.path().join("image");
    fs::File::create(&image).and_then(|file| file.set_len(256 << 20)).expect("made");
    let made = Command::new("mkfs.btrfs").arg("-q").arg(&image).status().expect("btrfs-progs are there");
    assert!(made.success());
    if !Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&inside).status().expect("mount").success() {
        println!("NOT VERIFIED: the kernel cannot mount btrfs");
        return;
    }
    let program = Program::start(&inside, "program_holds_lock", 60);
    let database = program.database.display().to_string();
    let sampled = watch(&[&database, "--for", "3s", "--json-line", "--depth", "sampled"]).output().expect("it starts");
    let traced = watch(&[&database, "--for", "6s", "--json-line"]).output().expect("it starts");
    drop(program);
    // Ended processes may have files open for a moment longer.
    wait_for("umount", || Command::new("umount").arg(&inside).status().expect("umount").success());
    let row = &last(&sampled)["databases"][0]["processes"][0];
    assert!(row["sums"]["write_ns"].as_u64() > Some(1_000_000_000), "{row:#}");
    let line = last(&traced);
    let found = line["findings"].as_array().expect("a list").iter().any(|found| found["kind"] == "program-holds-lock");
    assert!(found, "{line:#}");
}

/// The kernel refuses a filter that names as many files.
#[test]
fn sixty_four_databases_are_watched() {
    if !may_trace("64 databases") {
        return;
    }
    let dir = place();
    let make = "import sqlite3, sys\nfor n in range(63): sqlite3.connect(f'{sys.argv[1]}/{n}.db').execute('CREATE TABLE t (a)')";
    assert!(Command::new("python3").args(["-c", make]).arg(dir.path()).status().expect("python3").success());
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let directory = dir.path().display().to_string();
    let output = watch(&[&directory, "--for", "4s", "--json-line"]).output().expect("it starts");
    let line = last(&output);
    assert_eq!((watched(&line).len(), &line["depth"]), (64, &"with-statements".into()), "{line:#}");
    let databases = line["databases"].as_array().expect("a list").iter();
    let used: Vec<&Value> = databases.filter(|one| one["processes"] != serde_json::json!([])).collect();
    assert_eq!((used.len(), &used[0]["processes"][0]["pid"]), (1, &program.pids["self"].into()), "{used:#?}");
    assert!(used[0]["processes"][0]["sums"]["writes"].as_u64() > Some(5), "{used:#?}");
}

/// A process opens and closes another file with the same name as the watched one.
#[test]
fn a_database_of_the_same_name_elsewhere_is_another_one() {
    if !may_trace("databases of one name") {
        return;
    }
    let dir = place();
    let program = format!(
        "import os, sqlite3, time\n\
         os.chdir('{}')\n\
         for n in '12': os.mkdir(n); sqlite3.connect(f'{{n}}/app.db').execute('CREATE TABLE t (a)')\n\
         own = sqlite3.connect('1/app.db')\n\
         print('ready', flush=True)\n\
         while True:\n\
         \x20   own.execute('SELECT count(*) FROM t').fetchall()\n\
         \x20   other = sqlite3.connect('2/app.db')\n\
         \x20   other.execute('SELECT count(*) FROM t').fetchall()\n\
         \x20   other.close()\n\
         \x20   time.sleep(0.02)\n",
        dir.path().display()
    );
    let mut child = Command::new("python3");
    let mut child = child.args(["-c", &program]).stdout(Stdio::piped()).spawn().expect("python3");
    BufReader::new(child.stdout.take().expect("piped")).lines().next().expect("a line").expect("text");
    let start = |name: &str| {
        let database = dir.path().join(name).join("app.db").display().to_string();
        let mut watching = watch(&[&database, "--for", "8s", "--json-line"]);
        watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let found = ["1", "2"].map(start).map(|watching| {
        let found =
            last(&watching.wait_with_output().expect("it ends"))["findings"].as_array().expect("a list").clone();
        found.iter().map(|found| found["kind"].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
    });
    child.kill().and_then(|()| child.wait()).expect("it ends");
    assert_eq!(found, [vec![], vec!["open-close-churn".to_string()]]);
}

/// A server with a thread for each request: one connection is always open, so that locks show no other. The program opens a
/// known number.
#[test]
fn connections_are_counted_as_the_program_counts_them() {
    const COUNT: f64 = 1_008.0;
    // At first one by one: a connection from before hides others until one has been closed.
    const SERVER: &str = "import sqlite3, sys, threading, time\n\
        def serve(count):\n\
        \x20   for _ in range(count):\n\
        \x20       other = sqlite3.connect(sys.argv[1], timeout=5)\n\
        \x20       other.execute('SELECT count(*) FROM t').fetchall()\n\
        \x20       other.close()\n\
        \x20       time.sleep(0.02)\n\
        own = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        own.execute('PRAGMA journal_mode = WAL')\n\
        own.execute('CREATE TABLE t (a)')\n\
        print('ready', flush=True); sys.stdin.readline()\n\
        serve(8)\n\
        threads = [threading.Thread(target=serve, args=(250,)) for _ in range(4)]\n\
        for t in threads: t.start()\n\
        for t in threads: t.join()\n\
        print('done', flush=True); sys.stdin.readline()\n";
    if !may_trace("connections") {
        return;
    }
    let dir = place();
    let database = dir.path().join("app.db").display().to_string();
    let mut server = Command::new("python3");
    let server = server.args(["-c", SERVER, &database]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().expect("python3");
    let mut said = BufReader::new(server.stdout.take().expect("piped")).lines().map_while(Result::ok);
    said.next().expect("it has begun");
    let mut watching =
        watch(&[&database, "--for", "120s", "--json-line"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.next().expect("a line");
    writeln!(server.stdin.as_mut().expect("piped"), "go").expect("it reads");
    assert_eq!(said.next().as_deref(), Some("done"));
    Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
    let last: Value = serde_json::from_str(&lines.last().expect("a line")).expect("JSON");
    watching.wait().and_then(|_| server.kill()).and_then(|()| server.wait()).expect("they end");
    let mut found = last["findings"].as_array().expect("a list").iter();
    let found = found.find(|found| found["kind"] == "open-close-churn").unwrap_or_else(|| panic!("{last:#}"));
    let real = COUNT / last["at_s"].as_f64().expect("s");
    let per_s = found["per_s"].as_f64().unwrap_or_default();
    println!("connections a second: {real:.1} by the program, {per_s} by the watch");
    // It is rounded down.
    assert!(per_s <= real && per_s > 0.9 * real - 1.0 && found["at_least"] == false, "{real} a second: {found:#}");
}

/// What a terminal of 80 columns and 24 lines has got, as text: characters at the places to which the cursor was moved.
fn screen_of(shown: &str) -> String {
    let (mut cells, mut at) = (vec![vec![' '; 80]; 24], (0, 0));
    let mut rest = shown.chars();
    while let Some(c) = rest.next() {
        if c != '\x1b' {
            if let Some(cell) = cells.get_mut(at.0).and_then(|row: &mut Vec<char>| row.get_mut(at.1)) {
                *cell = c;
            }
            at.1 += 1;
            continue;
        }
        // `ESC [ 5 ; 12 H` moves the cursor; colours and the like move nothing.
        let (mut numbers, mut end) = (String::new(), ' ');
        for c in rest.by_ref().skip(1) {
            if c.is_ascii_alphabetic() {
                end = c;
                break;
            }
            numbers.push(c);
        }
        if let (Some((row, column)), 'H') = (numbers.split_once(';'), end) {
            let number = |text: &str| text.parse::<usize>().unwrap_or(1).saturating_sub(1);
            at = (number(row), number(column));
        }
    }
    cells.into_iter().map(|row| row.into_iter().collect::<String>() + "\n").collect()
}

/// What a terminal of 80 columns and 24 lines shows at this depth until `until` is there and then for these keys, half a
/// second each, and the exit status.
fn on_terminal(depth: &str, until: &str, keys: &[&str]) -> (String, Option<i32>) {
    let dir = place();
    let program = Program::start(dir.path(), "program_holds_lock", 60);
    let command = format!(
        "stty rows 24 cols 80; {} watch {} --depth {depth}",
        env!("CARGO_BIN_EXE_contend"),
        program.database.display()
    );
    let mut terminal = Command::new("script");
    terminal.args(["-qfec", &command, "/dev/null"]).env("NO_COLOR", "1").env("TERM", "xterm");
    let mut terminal = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script (util-linux)");
    let mut input = terminal.stdin.take().expect("piped");
    let mut shown = vec![];
    let mut output = terminal.stdout.take().expect("piped");
    while !screen_of(&String::from_utf8_lossy(&shown)).contains(until) {
        let mut part = [0; 4096];
        let count = output.read(&mut part).expect("readable");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&shown));
        shown.extend(&part[..count]);
    }
    for key in keys {
        std::thread::sleep(std::time::Duration::from_millis(500));
        input.write_all(key.as_bytes()).expect("it reads");
    }
    drop(input);
    output.read_to_end(&mut shown).expect("readable");
    (String::from_utf8_lossy(&shown).into_owned(), terminal.wait().expect("it ends").code())
}

#[test]
fn a_terminal_shows_the_screen_and_its_keys_work() {
    let (shown, code) = on_terminal("sampled", "depth:", &["s", "?", "?", "p", "p", "q"]);
    // Cells that are blank are not drawn, so a part is a word; the summary is plain text.
    for part in ["depth:", "waited)", "strip:", "PAUSED", "Depth: sampled. Not seen"] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    // The cursor comes back when the screen is left.
    let (_, summary) = shown.rsplit_once("\x1b[?25h").expect("a summary");
    assert!(summary.contains("gave up"), "{summary}");
    let is_within = |line: &str| line.trim_end().chars().count() <= 80 || line.contains("/program_holds_lock.db");
    assert!(summary.lines().all(is_within), "{summary}");
    assert_eq!(code, Some(0), "no finding: {shown}");
}

/// At the full depth the screen has statements, and a finding with its evidence and what to change.
#[test]
fn a_terminal_shows_statements_and_findings_at_the_full_depth() {
    if !may_trace("the screen at the full depth") {
        return;
    }
    let (shown, code) = on_terminal("with-statements", "Change: Do this work", &["q"]);
    let (screen, _) = shown.rsplit_once("\x1b[?25h").expect("a screen");
    let text = screen_of(screen);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "depth: with-statements",
        "holds the write lock while it does something else. It held the lock for",
        "after \"INSERT INTO t (v) VALUES (zeroblob(?))\" and before \"COMMIT\"",
        "Change: Do this work before BEGIN or after COMMIT, or COMMIT after fewer rows.",
    ] {
        assert!(words.contains(part), "{part} is missing in\n{text}");
    }
    assert_eq!(code, Some(1), "a finding: {shown}");
}

/// Also while a filter is typed. The keys after it would be for the shell.
#[test]
fn ctrl_c_ends_the_screen_with_the_summary() {
    let (shown, code) = on_terminal("sampled", "depth:", &["s", "/", "p", "\x03"]);
    assert!(shown.contains("Depth: sampled. Not seen") && shown.contains("filter:"), "{shown}");
    assert_eq!(code, Some(0), "no finding: {shown}");
}

#[test]
fn a_watch_says_since_when_it_has_watched() {
    let dir = place();
    let program = Program::start(dir.path(), "healthy_writer", 60);
    let (database, out) = (program.database.display().to_string(), dir.path().join("out").display().to_string());
    let before = now_utc();
    let line = watch(&[&database, "--for", "1s", "--depth", "sampled", "--json-line"]).output().expect("it starts");
    let began = last(&line)["began"].as_str().expect("a time").to_string();
    assert!(before <= began && began <= now_utc(), "{before}, {began}");
    let said = watch(&[&database, "--for", "1s", "--depth", "sampled", "--out", &out]).output().expect("it starts");
    let at = text(&said).split_once("Watched for 1.").map(|(_, rest)| rest.to_string()).expect("a sentence");
    let began = at.split_once("from ").and_then(|(_, rest)| rest.split_once(".\n")).expect("a time").0.to_string();
    assert!(before <= began && began <= now_utc(), "{before}, {began}");
    let report = fs::read_to_string(dir.path().join("out/report.txt")).expect("a report");
    let of_record = report.split_once(" from ").and_then(|(_, rest)| rest.get(..began.len())).expect("a time");
    assert!(before.as_str() <= of_record && of_record <= now_utc().as_str(), "{before}, {of_record}");
}
