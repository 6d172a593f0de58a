//! Each finding is planted by a small program in two languages, and found with the right process, thread, statement and
//! size.

use super::pathologies::{MS, PLANTED, Planted, REFUSED_AT_ONCE, SECONDS, at_least, begins, has_size_of_log};
use super::{Language, Program, findings_until, may_trace, place, source, watch};
use crate::support::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The finding of this kind about a process of the program.
fn about<'f>(found: &'f [Value], program: &Program, kind: &str) -> Option<&'f Value> {
    found.iter().find(|finding| finding["kind"] == kind && finding["pid"] == program.pids["self"])
}

/// Findings about whole processes; the others name a thread.
const OF_PROCESSES: [&str; 5] = ["starvation", "disk", "small-commits", "open-close-churn", "log-never-restarts"];

/// Fails unless the finding of each program becomes as it must be, in the thread that works. One watch is for all.
#[track_caller]
fn finds_in(programs: Vec<(Command, Planted)>, further: &[&str]) {
    let is = |program: &Program, found: &Value, (name, kind, is_as_wanted): Planted| {
        let other = program.pids.get("other").copied().unwrap_or(0);
        // Of a lock from before the watch only the process is known.
        let thread = if name == "began_before" { program.pids["self"] } else { program.thread };
        is_as_wanted(found, other) && (OF_PROCESSES.contains(&kind) || found["tid"] == thread)
    };
    let (commands, planted): (Vec<Command>, Vec<Planted>) = programs.into_iter().unzip();
    let named = commands.into_iter().zip(planted.iter().map(|(name, ..)| *name)).collect();
    let is_found = |at: usize, program: &Program, found: &[Value]| {
        let its = about(found, program, planted[at].1);
        its.is_some_and(|one| is(program, one, planted[at]) && has_size_of_log(one, program))
    };
    let all = findings_until(named, SECONDS, further, &is_found);
    for ((program, found), planted) in all.iter().zip(&planted) {
        let (name, kind, _) = planted;
        let its = about(found, program, kind).unwrap_or_else(|| panic!("{name}: no `{kind}` in {found:#?}"));
        assert!(is(program, its, *planted), "{name} {:?}, thread {}: {its:#}", program.pids, program.thread);
    }
}

fn planted(name: &str) -> Planted {
    *PLANTED.iter().find(|(known, ..)| *known == name).expect("it is planted")
}

/// These programs in each language.
fn in_both(names: &[&str]) -> Vec<(Command, Planted)> {
    names.iter().flat_map(|name| Language::ALL.map(|language| (language.command(), planted(name)))).collect()
}

#[track_caller]
fn finds(names: &[&str]) {
    finds_in(in_both(names), &[]);
}

#[test]
fn programs_that_keep_the_lock_are_named_with_their_statements() {
    if may_trace("holders of the lock") {
        finds(&["program_holds_lock", "short_pauses", "idle_in_transaction", "long_transaction"]);
    }
}

/// Its transactions are short, and the other process, which has no busy timeout, tries all the time.
#[test]
fn a_program_that_pauses_after_its_transactions_is_no_cause_of_refusals() {
    if !may_trace("refusals by a healthy program") {
        return;
    }
    // Before all others: a pause in a transaction is then not one that another test makes.
    let first = |language: Language| {
        let (own, mut command) = (language.command(), Command::new("nice"));
        command.args(["-n", "-20"]).arg(own.get_program()).args(own.get_args());
        command
    };
    let programs = Language::ALL.map(|language| (first(language), "healthy_polled")).into();
    for (program, found) in findings_until(programs, 8, &[], &|_, _, _| false) {
        let of_it: Vec<_> = found.iter().filter(|finding| finding["pid"] == program.pids["self"]).collect();
        assert!(of_it.is_empty(), "{of_it:#?}");
    }
}

#[test]
fn a_transaction_that_a_driver_begins_by_itself_is_one() {
    if may_trace("transactions of a driver") {
        let names = ["implicit_begin", "implicit_begin_journal"];
        finds_in(names.map(|name| (Language::Python.command(), planted(name))).into(), &[]);
    }
}

/// Its first statements come before the watch can see any, as those of each job that cron starts. It pauses until the watch
/// has said that it holds the lock.
#[test]
fn a_job_that_starts_during_the_watch_and_pauses_under_the_lock_is_found() {
    const JOB: &str = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO t (v) VALUES (1)'); \
        sys.stdin.read(); c.execute('UPDATE t SET v = 2 WHERE id = 1'); c.commit()";
    if !may_trace("jobs") {
        return;
    }
    for (name, count) in [("healthy_writer", 3), ("healthy_rollback_journal", 3)] {
        let dir = place();
        let program = Program::start(dir.path(), name, 60);
        let database = program.database.display().to_string();
        let mut watching = watch(&[&database, "--for", "60s"]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let mut said = vec![lines.next().expect("a line")];
        for _ in 0..count {
            let mut job = Command::new("python3");
            let mut job = job.args(["-c", JOB, &database]).stdin(Stdio::piped()).spawn().expect("it starts");
            let holds = format!("python3 ({}) holds the write lock", job.id());
            said.extend(lines.by_ref().take_while(|line| !line.contains(&holds)));
            drop(job.stdin.take());
            assert!(job.wait().expect("it ends").success(), "{name}");
        }
        Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
        said.extend(lines);
        let said = said.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(watching.wait().expect("it ends").code(), Some(1), "{name}: {said}");
        for part in ["holds the write lock while it does something else", "the first statements of python3"] {
            assert!(said.contains(part), "{name}: no \"{part}\" in {said}");
        }
    }
}

#[test]
fn refusals_are_told_apart_by_their_cause() {
    if may_trace("refusals") {
        finds(&["read_then_write", "no_busy_timeout", "timeout_too_short", "old_snapshot"]);
        finds_in(Language::ALL.map(|language| (language.command(), REFUSED_AT_ONCE)).into(), &["--no-sql"]);
    }
}

/// It is not idle, as a transaction without a visible statement would be.
#[test]
fn a_statement_that_began_before_the_watch_is_no_idle_transaction() {
    if may_trace("statements from before the watch") {
        finds(&["began_before"]);
    }
}

/// What holds in WAL holds with a rollback journal, too.
#[test]
fn findings_are_the_same_with_a_rollback_journal() {
    if !may_trace("a rollback journal") {
        return;
    }
    let names = [
        "program_holds_lock",
        "idle_in_transaction",
        "long_transaction",
        "read_then_write",
        "no_busy_timeout",
        "timeout_too_short",
        "small_commits",
        "starvation",
        "began_before",
    ];
    finds_in(names.map(|name| (with_journal(), planted(name))).into(), &[]);
    finds_in(vec![(with_journal(), REFUSED_AT_ONCE)], &["--no-sql"]);
}

/// A program in C whose database has a rollback journal.
fn with_journal() -> Command {
    let mut command = Language::C.command();
    command.env("CONTEND_JOURNAL", "delete");
    command
}

/// The kinds of an enum `Kind`, as records have them: `ReadThenWrite` is `read-then-write`.
fn kinds_of(source: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("slices/watch/src").join(source)).expect("readable");
    let body = text.split_once("pub enum Kind {").and_then(|(_, rest)| rest.split_once("\n}")).expect("the enum").0;
    let names = body.lines().filter_map(|line| line.strip_prefix("    ")?.split([' ', '{', ',']).next());
    let kebab = |name: &str| {
        let small = |c: char| if c.is_uppercase() { format!("-{}", c.to_ascii_lowercase()) } else { c.to_string() };
        name.chars().map(small).collect::<String>().trim_start_matches('-').to_string()
    };
    names.filter(|name| name.starts_with(char::is_uppercase)).map(kebab).collect()
}

#[test]
fn no_finding_is_without_a_program_and_a_row() {
    let (of_sqlite, of_servers) = (kinds_of("finding.rs"), kinds_of("server/finding.rs"));
    let mut planted: BTreeSet<&str> = PLANTED.iter().map(|(_, kind, _)| *kind).collect();
    // Its program is above, watched without statements.
    planted.insert("refused-at-once");
    assert_eq!(planted, of_sqlite.iter().map(String::as_str).collect());
    let servers = include_str!("servers.rs");
    let unplanted: Vec<&String> = of_servers.iter().filter(|kind| !servers.contains(&format!("\"{kind}\""))).collect();
    assert!(unplanted.is_empty(), "tests/watch/servers.rs plants no {unplanted:?}");
    let page = fs::read_to_string(root().join("docs/watch.md")).expect("the page");
    let (sqlite, server) = page.split_once("\n## Servers").expect("the chapter");
    for (kinds, text) in [(of_sqlite, sqlite), (of_servers, server)] {
        let unexplained: Vec<&String> =
            kinds.iter().filter(|kind| !text.contains(&format!("\n| `{kind}` |"))).collect();
        assert!(unexplained.is_empty(), "docs/watch.md has no row for {unexplained:?}");
    }
}

/// Names of the fields of a type in a source of the slice that are written to JSON.
fn fields_of(source: &str, begins: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("slices/watch/src").join(source)).expect("readable");
    let body = text.split_once(begins).and_then(|(_, rest)| rest.split_once("\n}")).expect(begins).0;
    let mut fields = vec![];
    let (mut is_left_out, lines) = (false, body.lines().map(str::trim).filter(|line| !line.starts_with("///")));
    for line in lines {
        let named = line.split([' ', '{', ',']).filter_map(|word| word.strip_suffix(':')).map(str::to_string);
        if !is_left_out && !line.starts_with('#') {
            fields.extend(named);
        }
        is_left_out = line.starts_with("#[serde(skip)") || line.starts_with("#[serde(flatten)");
    }
    assert!(!fields.is_empty(), "{begins}");
    fields
}

#[test]
fn each_key_of_a_line_of_json_is_explained() {
    let page = fs::read_to_string(root().join("docs/watch.md")).expect("the page");
    let (_, servers) = page.split_once("\n## Servers").expect("the chapter");
    let (servers, sqlite) = servers.split_once("\n## What is kept").expect("the chapter");
    let finding = ["pub enum Kind {", "pub struct Finding {", "pub struct Further {", "pub struct Case {"];
    let view =
        ["DatabaseView", "Reader", "Row", "ThreadRow", "Totals", "Waits"].map(|name| format!("pub struct {name} {{"));
    let server = ["Client", "Wait", "Keeper", "Counters"].map(|name| format!("pub struct {name} {{"));
    let of = |source, types: &[&str]| types.iter().flat_map(|begins| fields_of(source, begins)).collect::<Vec<_>>();
    for (text, keys) in [
        (sqlite, of("finding.rs", &finding)),
        (sqlite, of("view.rs", &view.each_ref().map(String::as_str))),
        (sqlite, of("lines.rs", &["struct JsonLine<'a> {"])),
        (sqlite, of("hold.rs", &["pub struct Waiter {"])),
        (servers, of("server/finding.rs", &finding[..2])),
        (servers, of("server/look.rs", &server.each_ref().map(String::as_str))),
        (servers, of("server/view.rs", &["struct JsonLine<'a> {"])),
    ] {
        let unexplained: Vec<&String> = keys.iter().filter(|key| !text.contains(&format!("`{key}`"))).collect();
        assert!(unexplained.is_empty(), "docs/watch.md explains none of {unexplained:?}");
    }
}

/// A kind of finding, and whether one is as wanted.
type Wanted = (&'static str, fn(&Value) -> bool);

/// Connections of one process settle conflicts in memory, without a lock call.
#[test]
fn threads_of_one_process_that_refuse_each_other_are_found() {
    if !may_trace("threads") {
        return;
    }
    let read_then_write: Wanted = ("read-then-write", |found| begins(&found["sql"], "INSERT INTO t"));
    let programs: [(&str, &[Wanted]); 3] = [
        ("threads_in_wal", &[read_then_write]),
        ("threads_with_journal", &[read_then_write]),
        // Another thread sleeps 200 ms.
        (
            "threads_immediate",
            &[
                ("timeout-too-short", |found| at_least(&found["held_ns_max"], 150 * MS)),
                ("program-holds-lock", |found| found["after"] == "COMMIT"),
            ],
        ),
    ];
    let are = |at: usize, program: &Program, found: &[Value]| {
        programs[at].1.iter().all(|(kind, is_as_wanted)| {
            let of_a_thread = |found: &Value| found["tid"].is_u64() && found["tid"] != program.pids["self"];
            about(found, program, kind).is_some_and(|found| of_a_thread(found) && is_as_wanted(found))
        })
    };
    let commands = programs.map(|(name, _)| (Language::Python.command(), name)).into();
    let all = findings_until(commands, SECONDS, &[], &are);
    for (at, (program, found)) in all.iter().enumerate() {
        assert!(are(at, program, found), "{}: {found:#?}", programs[at].0);
    }
}

#[test]
fn a_starved_process_and_the_one_that_starves_it_are_named() {
    if may_trace("starvation") {
        finds(&["starvation"]);
    }
}

#[test]
fn readers_that_hold_up_a_commit_or_the_log_are_named() {
    if may_trace("readers") {
        finds(&["reader_pins_log", "readers_block_writer", "readers_block_own_writer", "log_never_restarts"]);
    }
}

#[test]
fn many_small_commits_are_found() {
    if may_trace("small-commits") {
        finds(&["small_commits"]);
    }
}

#[test]
fn many_connections_are_found_in_both_journal_modes() {
    if may_trace("open-close-churn") {
        finds(&["open_close_churn", "churn_with_journal"]);
    }
}

/// After each of them the next one rebuilds the index of the log.
#[test]
fn processes_that_end_without_closing_the_database_are_found() {
    if !may_trace("recovery") {
        return;
    }
    let is = |found: &Value| {
        let counts = ["per_s", "processes", "recoveries"].map(|key| at_least(&found[key], 5));
        found["kind"] == "open-close-churn" && counts == [true; 3]
    };
    let programs = Language::ALL.map(|language| (language.command(), "crash_loop")).into();
    for (program, found) in findings_until(programs, SECONDS, &[], &|_, _, found| found.iter().any(is)) {
        assert!(found.iter().any(is), "{}: {found:#?}", program.database.display());
    }
}

#[test]
fn a_disk_that_is_waited_for_under_the_lock_is_found() {
    if may_trace("disk") {
        finds(&["disk_journal", "disk_wal"]);
    }
}

/// Another file system than ext4: an overlay, as containers have it, in a mount namespace.
#[test]
fn syncs_are_seen_on_other_file_systems_too() {
    if !may_trace("syncs of an overlay") {
        return;
    }
    let mut command = Command::new("unshare");
    // $1 is the source of the program; after it come the planted name, the database and the time.
    let mount = "d=$(dirname \"$3\") && mkdir \"$d/low\" \"$d/up\" \"$d/work\" \"$d/seen\" && \
        mount -t overlay overlay -o lowerdir=\"$d/low\",upperdir=\"$d/up\",workdir=\"$d/work\" \"$d/seen\" && \
        mount --bind \"$d/seen\" \"$d\" && exec python3 \"$1\" \"$2\" \"$3\" \"$4\"";
    command.args(["--mount", "sh", "-c", mount, "sh"]).arg(source("program.py"));
    finds_in(vec![(command, planted("disk_journal"))], &[]);
}

#[test]
fn checkpoints_that_keep_writers_out_or_make_commits_slow_are_found() {
    if may_trace("checkpoints") {
        let mut programs = in_both(&["checkpoint_blocks_writers", "checkpoint_in_commit"]);
        programs.push((Language::C.command(), planted("checkpoint_call_blocks_writers")));
        finds_in(programs, &[]);
    }
}

/// The text of a statement that is compiled in UTF-16 is read from where SQLite keeps it.
#[test]
fn statements_in_utf_16_have_their_text() {
    if may_trace("UTF-16") {
        let mut command = Language::C.command();
        command.env("CONTEND_UTF16", "1");
        finds_in(vec![(command, planted("program_holds_lock"))], &[]);
    }
}

/// Its SQLite believes that the parent's lock is its own: no lock call shows the refusal, so it is said that none can.
#[test]
fn a_forked_process_that_is_refused_without_a_lock_call_is_named_under_not_seen() {
    if !may_trace("a fork") {
        return;
    }
    let dir = super::place();
    let program = Program::start(dir.path(), "forked_journal", 60);
    let database = program.database.display().to_string();
    let said = super::text(&super::watch(&[&database, "--for", "3s"]).output().expect("it starts"));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("refusals in process {}, which was forked", program.pids["other"])), "{said}");
}

/// A process that commits all the time has the lock whenever it is looked at.
#[test]
fn without_privileges_a_long_transaction_is_found_and_many_short_ones_are_not() {
    let long = |program: &Program, found: &[Value]| {
        about(found, program, "long-transaction").is_some_and(|found| {
            found["longest_wait_ns"].is_null() && found["longest_ns"].as_u64() >= Some(1_000_000_000)
        })
    };
    let mut programs = vec![(Language::Python.command(), "long_transaction")];
    for journal in ["wal", "delete"] {
        let mut command = Language::C.command();
        command.env("CONTEND_JOURNAL", journal);
        programs.push((command, "small_commits"));
    }
    let all =
        findings_until(programs, 8, &["--depth", "sampled"], &|at, program, found| at == 0 && long(program, found));
    assert!(long(&all[0].0, &all[0].1), "{:#?}", all[0].1);
    for (program, found) in &all[1..] {
        assert!(found.is_empty(), "{}: {found:#?}", program.database.display());
    }
}

/// Scripts that call a command for each statement.
#[test]
fn short_lived_processes_that_are_refused_are_counted_and_named() {
    if !may_trace("short-lived processes") {
        return;
    }
    let dir = place();
    let program = Program::start(dir.path(), "holds_lock_alone", 60);
    let database = program.database.display().to_string();
    let mut watching = watch(&[&database, "--for", "60s", "--json-line", "--depth", "exact"]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map_while(Result::ok);
    lines.next().expect("a line");
    let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')";
    let was_refused = |_: &i32| {
        let said = Command::new("python3").args(["-c", script, &database]).output().expect("python3");
        String::from_utf8_lossy(&said.stderr).contains("database is locked")
    };
    let refused = (0..8).filter(was_refused).count() as u64;
    assert!(refused > 0, "the lock was free each time");
    Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
    let line = lines.last().expect("a line");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    watching.wait().expect("it ends");
    let rows = line["databases"][0]["processes"].as_array().expect("a list");
    let others: Vec<&Value> = rows.iter().filter(|row| row["sums"]["gave_up"].as_u64() > Some(0)).collect();
    let gave_up: u64 = others.iter().filter_map(|row| row["sums"]["gave_up"].as_u64()).sum();
    assert_eq!(gave_up, refused, "{rows:#?}");
    assert!(
        others.iter().all(|row| row["program"].as_str().is_some_and(|name| name.starts_with("python3"))),
        "{rows:#?}"
    );
}
