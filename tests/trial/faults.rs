//! Every reason a trial can be invalid is provoked by a fault, and the other trials go on.

use crate::support;
use crate::support::workers::needed;
use crate::support::{Bench, Said, at_once, reasons, root, sound, tool};
use contend::outcome::reason::Invalid;
use contend::record::model::Reason;
use contend::record::store::Record;
use contend::trial::data::load::DIGEST_FILE;
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::crew::{Crew, Failure, Window};
use contend::trial::workers::process::Launch;
use contend::trial::workers::processes::{Deadlines, Supervision};
use contend::trial::workers::refusal::Whose;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A fault of the lying worker, as it lists them itself.
struct Fault {
    name: String,
    /// The reason it must lead to.
    expected: String,
    /// Reasons that may come with it.
    also: Vec<String>,
}

fn faults() -> Vec<Fault> {
    let fake = root().join("workers/fake/fake.py");
    let listed = Command::new("python3").arg(fake).arg("--list").output().expect("python3");
    let text = String::from_utf8(listed.stdout).expect("text");
    let fault = |line: &str| {
        let mut fields = line.split('\t').map(str::to_string);
        let mut next = || fields.next().expect("three fields");
        let (name, expected, also) = (next(), next(), next());
        Fault { name, expected, also: also.split(',').map(str::to_string).collect() }
    };
    text.lines().map(fault).filter(|f| f.expected != "-").collect()
}

/// Arguments of some faults.
fn options(fault: &str) -> &'static str {
    match fault {
        "setting" => "--setting synchronous=0",
        "alters" => "--sql 'DROP INDEX transfer_from'",
        "corrupt-data" => "--sql 'DELETE FROM transfer'",
        // A change that no invariant sees.
        "meddle" => "--sql 'UPDATE account SET owner = id'",
        "nothing" => "--worker all",
        "rewrite" => r"--rewrite 'SET balance = balance \+=>SET balance = balance + 0 *'",
        _ => "",
    }
}

/// Three trials, the fault in the second.
fn run(bench: &Bench, fault: &str) -> Said {
    let (fake, count) = (root().join("workers/fake/fake.py"), bench.path("plans-seen"));
    let command = format!(
        "python3 '{}' --real '{} worker' --only-plan 2 --trial-file '{}' --fault {fault} {}",
        fake.display(),
        tool(),
        count.display(),
        options(fault)
    );
    let window = if NEED_TIME.contains(&fault) { "3s" } else { "300ms" };
    let of_client = ["--set", "transport=http", "--processes", "1"];
    let (whose, further) =
        if fault == BUSY { ("--client-command", &of_client[..]) } else { ("--worker-command", &[][..]) };
    let whose = [whose, &command, "--deadline", deadline(fault), "--window", window];
    bench.tiny(&[&["--rounds", "3", "--only", "WAL/FULL*"][..], &whose, further].concat())
}

/// Seconds until a silent worker is given up. Faults that are silent have a shorter deadline, which still allows for a
/// slow start; no other fault is waited for.
fn deadline(fault: &str) -> &'static str {
    const SILENT: [&str; 5] = ["hang-before-hello", "never-ready", "stall", "no-newline", "cut-samples"];
    if SILENT.contains(&fault) { "12" } else { "60" }
}

/// Faults at a moment of the window, or found by what is missing in it, have a window that is long enough for a slow
/// machine.
const NEED_TIME: [&str; 9] = ["stop-early", LATE, "stretch", "freeze", "pause", "autocommit", "meddle", "second", BUSY];

/// Found by time that no work explains; where clients wait for a processor, that explains it. It is struck after the others.
const LATE: &str = "late";

/// Found by the processor time that it takes, which another program may take first: a separate test, which may be
/// retried.
const BUSY: &str = "busy";

/// What is wrong with the outcome of a fault.
fn strike(fault: &Fault) -> Result<(), String> {
    let bench = Bench::new();
    let (name, said) = (&fault.name, run(&bench, &fault.name));
    let wrong = |words: String| Err(format!("{name}: {words}"));
    if !matches!(said.code, Some(0 | 1)) {
        return wrong(format!("exit status {:?}\n{}\n{}", said.code, said.out, said.err));
    }
    let reasons = reasons(&bench.path("record"));
    let [(1, before), (2, struck), (3, after)] = &reasons[..] else {
        return wrong(format!("three trials: {reasons:?}"));
    };
    let others = struck.iter().filter(|kind| **kind != fault.expected && !fault.also.contains(kind));
    let mut others = before.iter().chain(others).chain(after).filter(|kind| !is_of_speed(kind));
    if !struck.contains(&fault.expected) || others.next().is_some() {
        return wrong(format!("expected {} in the second trial and nothing else, found {reasons:?}", fault.expected));
    }
    if said.code != Some(1) || !said.err.contains(&fault.expected) || !said.err.contains("contend plan show --record") {
        return wrong(format!("the reason and the way to look closer must be printed: {said:?}"));
    }
    bench.assert_nothing_left();
    Ok(())
}

/// How fast the other trials were depends on the machine.
fn is_of_speed(kind: &str) -> bool {
    Invalid::ALL.iter().any(|reason| reason.word() == kind && reason.is_of_speed())
}

/// Faults that move a process to other processors.
const MOVE: [&str; 2] = ["pins", "narrows"];

/// Where there is one processor, nothing can be moved.
fn can_move() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
}

#[test]
fn every_fault_makes_its_trial_invalid_and_no_other() {
    let is_possible = |fault: &Fault| fault.name != BUSY && (can_move() || !MOVE.contains(&fault.name.as_str()));
    let faults: Vec<Fault> = faults().into_iter().filter(is_possible).collect();
    let (late, faults): (Vec<Fault>, Vec<Fault>) = faults.into_iter().partition(|fault| fault.name == LATE);
    let struck = at_once(3, &faults, strike).into_iter().chain(late.iter().map(strike));
    let failures: Vec<String> = struck.filter_map(Result::err).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn a_client_that_burns_processor_time_is_found() {
    let fault = faults().into_iter().find(|fault| fault.name == BUSY).expect("a fault");
    strike(&fault).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn without_a_fault_the_lying_worker_is_believed() {
    let bench = Bench::new();
    sound(&bench.path("record"), || run(&bench, "none"));
}

#[test]
fn data_that_cannot_be_prepared_makes_the_trial_invalid() {
    let bench = Bench::new();
    let study = support::tiny_study();
    let run =
        |record| bench.contend(&["run", &study, "--out", record, "--only", "WAL/FULL", "--quiet", "--rounds", "1"]);
    run("first").exits(0);
    let data = loaded(&bench);
    fs::write(&data, [7; 8192]).expect("written");
    let digest = Command::new("sha256sum").arg(&data).output().expect("sha256sum starts").stdout;
    fs::write(data.with_file_name(DIGEST_FILE), &digest[..64]).expect("a digest that fits");
    run("record").exits(1);
    let wrong = support::wrong_in(&bench.path("record"));
    let kinds: BTreeSet<&str> = wrong.iter().flat_map(|(_, of)| of).map(|reason| reason.kind.word()).collect();
    assert_eq!(kinds, BTreeSet::from([Invalid::Prepare.word()]));
    bench.assert_nothing_left();
}

#[test]
fn damaged_data_in_the_cache_is_loaded_again() {
    let bench = Bench::new();
    bench.tiny_sound(&["--rounds", "1"]);
    fs::write(loaded(&bench), vec![7; 8192]).expect("written");
    let study = support::tiny_study();
    sound(&bench.path("second"), || bench.contend(&["run", &study, "--out", "second", "--rounds", "1", "--quiet"]));
}

/// The crew's answer to a worker that sends this after its start, in a trial by number of operations, if an operation
/// may take four seconds.
fn told(bench: &Bench, says: &str) -> Result<(), Failure> {
    let script = format!("printf 'hello\\tprotocol=1\\nready\\n'; {says}; sleep 600");
    let launch = Launch { program: "/bin/sh".into(), args: vec!["-c".to_string(), script] };
    let deadlines = Deadlines { operations: Duration::from_secs(4), ..Deadlines::default() };
    let (janitor, never) = (Janitor::of(tool().into()).expect("a process"), || false);
    let whose = Whose::Driver("said".to_string());
    let with = Supervision { janitor: &janitor, deadlines, cancelled: &never };
    let mut crew = Crew::of_processes(whose, &launch, bench.dir.path(), &with);
    crew.prepare(&[vec![]])?;
    let window = Window { begins_ns: crew.start(), ends_ns: None, drain_ns: 0 };
    crew.collect(&window, &mut |_: &[u8]| Ok(()))
}

#[test]
fn operations_take_as_long_as_they_take_while_they_go_on() {
    let progress = |n: &str| format!("printf 'progress\\toperations=%s\\tfailed=0\\n' {n}; sleep 0.5");
    // Longer than one operation may take.
    let goes_on = format!("for n in 1 2 3 4 5 6 7 8 9 10; do {}; done", progress("$n"));
    let ends = "printf 'done\\toperations=10\\tattempts=10\\tfailed=0\\texhausted=0\\nend\\n'";
    let scripts = [format!("{goes_on}; {ends}"), format!("while true; do {}; done", progress("7"))];
    let [ended, stalled] = std::thread::scope(|threads| {
        let both = scripts.each_ref().map(|script| threads.spawn(|| told(&Bench::new(), script)));
        both.map(|one| one.join().expect("no panic"))
    });
    assert!(matches!(ended, Ok(())), "{ended:?}");
    match stalled {
        Err(Failure::Invalid(reason)) => {
            assert_eq!(reason.kind, Invalid::Stalled);
            assert!(reason.detail.contains("finished no operation in 4s"), "{}", reason.detail);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_that_cannot_begin_is_named_by_its_driver_with_what_to_do() {
    let bench = Bench::new();
    let said = run(&bench, "refuse").exits(1);
    let trials = Record::open(&bench.path("record")).expect("a record").trials;
    let mut reasons = trials.into_iter().flat_map(|trial| trial.invalid);
    let reason = reasons.find(|reason| reason.kind == Invalid::NotStarted).expect("the fault");
    let words = "driver rusqlite could not begin: told to refuse the plan. Fix what the message names";
    assert!(reason.detail.starts_with(words) && reason.detail.contains("contend list drivers"), "{}", reason.detail);
    assert!(said.err.contains(words), "{}", said.err);
}

#[test]
fn a_worker_that_gives_up_later_did_begin() {
    match told(&Bench::new(), "printf 'failed\\tit cannot go on\\n'") {
        Err(Failure::Invalid(reason)) => {
            assert_eq!(reason.kind, Invalid::WorkerDied);
            assert!(reason.detail.starts_with("worker 0 gave up: it cannot go on"), "{}", reason.detail);
        }
        other => panic!("{other:?}"),
    }
}

/// Clients that do nothing fill a small memory with their samples, in the middle of the window.
#[test]
fn a_worker_that_runs_out_of_memory_is_told_in_its_own_words() {
    let Some(worker) = needed("contend-worker-java-null") else { return };
    let worker = format!("env JAVA_TOOL_OPTIONS=-Xmx48m '{}'", worker.display());
    let bench = Bench::new();
    let study = support::tiny_study();
    let args = ["run", &study, "--out", "record", "--quiet", "--rounds", "1", "--window", "60s", "--processes", "1"];
    let only = ["--contender", "sqlite/java-null", "--only", "*java-null*", "--worker-command", &worker];
    let said = bench.contend(&[&args[..], &only].concat()).exits(1);
    let trials = Record::open(&bench.path("record")).expect("a record").trials;
    let found: Vec<&Reason> = trials.iter().flat_map(|trial| &trial.invalid).collect();
    assert!(found.len() == 1 && found[0].kind == Invalid::WorkerDied, "{found:?}");
    let words = "java.lang.OutOfMemoryError: Java heap space";
    assert!(found[0].detail.starts_with("worker 0 gave up: client ") && found[0].detail.contains(words), "{found:?}");
    let report = fs::read_to_string(bench.path("record/report.md")).expect("a report");
    assert!(report.contains(words) && said.err.contains(words), "{report}\n{}", said.err);
    bench.assert_nothing_left();
}

/// The tool's own probes are calls of the kernel, which no library changes. One client waits for no lock.
#[test]
fn commits_that_a_library_keeps_from_the_disk_are_found() {
    let bench = Bench::new();
    let library = bench.path("no_sync.so").display().to_string();
    let source = root().join("tests/trial/no_sync.c");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o", &library]).arg(source).status().expect("cc starts");
    assert!(compiled.success());
    let study = support::tiny_study();
    let run = |record: &str, library: &str| {
        let args = ["run", &study, "--out", record, "--quiet", "--rounds", "1", "--window", "1s"];
        let alone = ["--processes", "1", "--set", "clients=1"];
        let mut command = bench.command(&[&args[..], &alone].concat());
        let said: Said = command.env("LD_PRELOAD", library).output().expect("the tool starts").into();
        said.ran();
        Record::open(&bench.path(record)).expect("a record").trials
    };
    let not_credible = |trial: &contend::record::model::Trial| {
        let words = "some commits were not synced (a library such as libeatmydata in LD_PRELOAD";
        trial.invalid.iter().any(|reason| reason.kind == Invalid::NotCredible && reason.detail.contains(words))
    };
    let without = run("without", &library);
    assert!(without.len() == 2 && without.iter().all(not_credible), "{without:?}");
    let with = run("with", "");
    assert!(with.len() == 2 && !with.iter().any(not_credible), "{with:?}");
}

/// What another process of the worker sleeps is not the database's, and the disk was not flushed.
#[test]
fn commits_without_syncs_are_found_although_another_process_sleeps() {
    let bench = Bench::new();
    let (fake, seen) = (root().join("workers/fake/fake.py"), bench.path("plans-seen"));
    let command = format!(
        "python3 '{}' --real '{} worker' --trial-file '{}' --only-plan 2 --fault sleeps",
        fake.display(),
        tool(),
        seen.display()
    );
    let alone = ["--rounds", "3", "--only", "WAL/FULL*", "--processes", "1", "--set", "clients=1", "--window", "1s"];
    bench.tiny(&[&alone[..], &["--worker-command", &command]].concat());
    let found = reasons(&bench.path("record"));
    let with: Vec<u32> =
        found.iter().filter(|(_, of)| of.iter().any(|kind| kind == "not-credible")).map(|of| of.0).collect();
    // A disk that is slow for the probes and not in the window accuses one of the others at most.
    assert!(with.contains(&2) && with.len() < 3, "{found:?}");
}

/// The data in the cache.
fn loaded(bench: &Bench) -> PathBuf {
    let caches = fs::read_dir(bench.path(".cache")).expect("a cache").flatten();
    caches.map(|c| c.path().join("base.db")).find(|f| f.exists()).expect("loaded data")
}

#[test]
fn no_reason_is_without_a_fault() {
    let mut provoked: BTreeSet<String> = faults().into_iter().map(|f| f.expected).collect();
    // It has its own test above.
    provoked.insert(Invalid::Prepare.word().to_string());
    // And this one, with servers.
    provoked.insert(Invalid::ServerDied.word().to_string());
    // And this one, with several contenders.
    provoked.insert(Invalid::Answers.word().to_string());
    // And this one, where disks lose what was not synced.
    provoked.insert(Invalid::Control.word().to_string());
    let reasons: BTreeSet<String> = Invalid::ALL.iter().map(|r| r.word().to_string()).collect();
    assert_eq!(provoked, reasons);
    assert_eq!(reasons.len(), Invalid::ALL.len(), "words must differ");
    let page = fs::read_to_string(root().join("docs/reading-a-report.md")).expect("the page");
    let unexplained: Vec<&String> = reasons.iter().filter(|word| !page.contains(&format!("\n| `{word}` |"))).collect();
    assert!(unexplained.is_empty(), "docs/reading-a-report.md has no row for {unexplained:?}");
}

/// Statements that do something else than a workload says, and report the expected number of rows.
const REWRITTEN: &[(&str, &[&str])] = &[
    ("transfers", &[r"SET balance = balance - \?=>SET balance = balance - 0 * ?"]),
    // Both together, so that the sum is right and the transfer is there.
    (
        "transfers",
        &[
            r"SET balance = balance - \?=>SET balance = balance - 0 * ?",
            r"SET balance = balance \+ \?=>SET balance = balance + 0 * ?",
        ],
    ),
    ("transfers", &[r"(SET balance = balance \+ \? WHERE id =) \?=>\1 1 + 0 * ?"]),
    (
        "write-burst",
        &[r"(transient_feed_.*)option_value = excluded.option_value=>\1option_value = wp_options.option_value"],
    ),
    ("write-burst", &[r"SET post_content = \?=>SET post_content = coalesce(post_content, ?)"]),
    // Both statements of a transient agree, and so do an edit and its revision.
    ("write-burst", &[r"SET option_value = excluded.option_value=>SET option_value = wp_options.option_value"]),
    (
        "write-burst",
        &[
            r"SET post_content = \?=>SET post_content = substr(?, 1, 0)",
            r"(VALUES \(\?, datetime\(\?, .unixepoch.\), datetime\(\?, .unixepoch.\), )\?,=>\1substr(?, 1, 0),",
        ],
    ),
    // A lock of yesterday.
    ("write-burst", &[r"(_edit_lock., CAST\(\?) AS TEXT=>\1 - 100000 AS TEXT"]),
    (
        "write-burst",
        &[
            "DELETE FROM wp_postmeta=>UPDATE wp_postmeta SET post_id = post_id",
            "INSERT INTO wp_postmeta .*$=>UPDATE wp_postmeta SET meta_value = meta_value WHERE post_id = ? AND meta_id = 4 * post_id AND ? || ? > 0",
        ],
    ),
];

#[test]
fn a_statement_that_does_something_else_breaks_an_invariant() {
    for (profile, rules) in REWRITTEN {
        let bench = Bench::new();
        let study = fs::read_to_string(support::tiny_study()).expect("the study");
        let workload = if *profile == "transfers" { "bank" } else { "wordpress" };
        let study = study.replacen("\"bank\"", &format!("\"{workload}\""), 1).replacen(
            "\"mixed\"",
            &format!("\"{profile}\""),
            1,
        );
        fs::write(bench.path("study.toml"), study).expect("written");
        let rules: String = rules.iter().map(|rule| format!(" --rewrite '{rule}'")).collect();
        let fake = root().join("workers/fake/fake.py");
        let command =
            format!("python3 '{}' --real '{} worker' --worker all --fault rewrite{rules}", fake.display(), tool());
        let args = ["run", "study.toml", "--out", "record", "--quiet", "--rounds", "1", "--only", "WAL/FULL*"];
        let said = bench.contend(&[&args[..], &["--window", "1s", "--worker-command", &command]].concat());
        let found = reasons(&bench.path("record"));
        assert!(
            found.iter().any(|(_, kinds)| kinds.iter().any(|kind| kind == "invariant")),
            "{rules}: {found:?} {said:?}"
        );
    }
}

/// The smallest study on its own workload with one invariant more.
fn with_invariant(bench: &Bench, sql: &str) {
    let workload = fs::read_to_string(root().join("workloads/bank.toml")).expect("the workload");
    let invariant = format!("\n[[invariant]]\nname = 'one more'\nsql = '{sql}'\nequals = '1'\n");
    fs::write(bench.path("own.toml"), workload + &invariant).expect("written");
    let study = fs::read_to_string(support::tiny_study()).expect("the study");
    fs::write(bench.path("study.toml"), study.replacen("\"bank\"", "\"own.toml\"", 1)).expect("written");
}

#[test]
fn an_invariant_that_never_ends_is_given_up_at_the_deadline() {
    let bench = Bench::new();
    with_invariant(&bench, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c");
    let begun = Instant::now();
    let args =
        ["run", "study.toml", "--out", "record", "--rounds", "1", "--only", "WAL/FULL", "--quiet", "--deadline", "5"];
    let said = bench.contend(&args).exits(1);
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    for part in ["invariant: cannot be checked", "did not answer within 5 s", "raise --deadline"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    bench.assert_nothing_left();
}
