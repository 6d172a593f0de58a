//! `contend watch` against known truth: contend's own workers carry out plans and report, for each transaction, when it
//! began and ended, how it ended and how long it waited for the lock. What is seen from outside must agree.

use super::{may_trace, place, place_apart, text, watch};
use crate::support::workers::{left_out, program};
use crate::support::{Bench, wait_for};
use contend::record::store::Record;
use contend_wire::sample::{NOT_MEASURED, Sample};
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Two writers, which hold the lock for 5 ms in each transaction and so wait for each other; some give up.
const WORKLOAD: &str = r#"
about = "Two clients hold the write lock for some milliseconds."

[table.entry]
ddl = "CREATE TABLE entry (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)"

[transaction.add]
kind = "write"
begin = "immediate"

[[transaction.add.step]]
sql = "INSERT INTO entry (v) VALUES (1)"
rows = 1

[[transaction.add.step]]
hold = "5ms"

# So that each of the two gets its turn.
[role.client]
pause = { uniform = ["5ms", "15ms"] }
"#;

const STUDY: &str = r#"
question = "How long was the lock held?"
workload = "workload.toml"
kind = "load"
headline = "throughput_ops_per_s"
rounds = 1
describes = true

[settings]
journal_mode = "JOURNAL"
synchronous = "normal"
busy_timeout = 2

[load]
processes = 2
clients = CLIENTS
window = "5s"
run_in = "4s"

"#;

/// How a driver is tried.
#[derive(Clone, Copy)]
struct Case {
    journal: &'static str,
    /// Of each of the two processes.
    clients: u32,
    /// Share of holds, in percent, that agree with the rest of their transactions at least. Between a lock call and the
    /// clock of a sample a driver does work of its own, and on a busy machine another program takes the processor: so the
    /// rest of a transaction may be longer than its hold, and never shorter, which each hold is held against.
    held_least: usize,
    /// Share of waits, in percent, that agree at least. What takes the processor lengthens one of the two.
    waited_least: usize,
}

/// With other programs on the machine.
const WAL: Case = Case { journal: "wal", clients: 1, held_least: 20, waited_least: 50 };
/// On a quiet machine, as docs/watch.md has it.
const QUIET: Case = Case { held_least: 95, waited_least: 99, ..WAL };

/// Processes of the study.
const WORKERS: usize = 2;
/// By how much a span may lie outside of its transaction.
const SLACK_NS: u64 = 100_000;
/// How long the plan holds the lock at least: 5 ms, and timers of runtimes end up to a millisecond early.
const HOLD_NS: u64 = 4_000_000;

/// Drivers whose statements cannot be seen, with what the watch says of them. Their locks are exact all the same.
const LOCKS_ONLY: [(&str, &str); 3] = [
    // WebAssembly, a library without symbols, and a library in a package of Java without symbols.
    ("ncruces", NO_NAME),
    ("node-libsql", NO_NAME),
    ("java-sqlite", NO_NAME),
];
/// Drivers with a lower share of holds that agree: each of the calls of `ncruces` starts in WebAssembly.
const HELD_LEAST: [(&str, usize); 1] = [("ncruces", 60)];
const NO_NAME: &str = "no function of SQLite has a name in its program";
/// The same of a program of Go without symbols.
const STRIPPED: &str = "a program of Go without names of its functions; build it without -ldflags=-s";

/// A span in a list of a record: its connection, beginning and end on CLOCK_MONOTONIC, and how a wait ended.
#[derive(Debug, Clone)]
struct Span {
    /// Process, and thread or connection.
    who: (u64, u64),
    from_ns: u64,
    to_ns: u64,
    end: String,
}

/// Ended spans of these locks in a list; without any, of all.
fn spans(out: &Path, list: &str, began_ns: u64, locks: &[&str]) -> Vec<Span> {
    let lines = fs::read_to_string(out.join(list)).expect("readable");
    let rows = lines.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
    let read = |row: Vec<String>| {
        let number = |column: usize| row[column].parse::<u64>().ok();
        let (from_ns, to_ns) = (began_ns + number(0)?, began_ns + number(1)?);
        Some(Span { who: (number(3)?, number(4)?), from_ns, to_ns, end: row[7].clone() })
    };
    rows.filter(|row| locks.is_empty() || locks.contains(&row[5].as_str())).filter_map(read).collect()
}

fn database_in(dir: &Path) -> Option<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return database_in(&path);
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        // Before the workers, contend tries how fast the disk is.
        let is_data = !["-wal", "-shm", "-journal"].iter().any(|end| name.ends_with(end)) && !name.starts_with('.');
        (is_data && users_of(&path) >= WORKERS).then_some(path)
    })
}

/// Number of processes that have a file open.
fn users_of(path: &Path) -> usize {
    let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    let is_it = |fd: fs::DirEntry| fs::read_link(fd.path()).is_ok_and(|link| link == path);
    entries(PathBuf::from("/proc")).filter(|process| entries(process.path().join("fd")).any(is_it)).count()
}

/// Whether two times agree: within a millisecond or a twentieth.
fn agree(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= (b / 20).max(1_000_000)
}

/// Watches a trial of a driver, and compares.
#[track_caller]
fn compare(driver: &str, case: Case) {
    let locks_only = LOCKS_ONLY.iter().find(|(name, _)| *name == driver).map(|(_, why)| *why);
    compare_in(driver, case, locks_only, &|_| {});
}

/// What a watch of a trial left: the directory of both, that of the watch, and when it began and for how long it watched.
struct Watched {
    bench: Bench,
    out: PathBuf,
    began_ns: u64,
    watched_ns: u64,
}

/// Runs a trial of a driver and watches it; `locks_only` is what is said if statements cannot be seen.
#[track_caller]
fn watched_run(driver: &str, case: Case, locks_only: Option<&str>, change: &dyn Fn(&mut Command)) -> Watched {
    let bench = Bench { dir: place_apart() };
    fs::write(bench.path("workload.toml"), WORKLOAD).expect("written");
    let contender = format!("[[contender]]\nengine = \"sqlite\"\ndriver = \"{driver}\"\n");
    let study = STUDY.replace("JOURNAL", case.journal).replace("CLIENTS", &case.clients.to_string());
    fs::write(bench.path("study.toml"), study + &contender).expect("written");
    let mut run = bench.command(&["run", "study.toml", "--out", "record", "--quiet", "--allow-tmpfs"]);
    change(&mut run);
    let run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let data = bench.path("record/data");
    let found = OnceCell::new();
    wait_for("the workers to open their database", || database_in(&data).is_some_and(|path| found.set(path).is_ok()));
    let database = found.get().expect("it was there").display().to_string();
    let out = bench.path("watched");
    let output = watched_until_end(driver, run, &[&database, "--out", &out.display().to_string()]);
    assert!(output.status.code().is_some_and(|code| code < 2), "{driver}: {}", text(&output));
    let saved: Value =
        serde_json::from_str(&fs::read_to_string(out.join("watch.json")).expect("readable")).expect("JSON");
    assert_eq!(saved["lost_events"], 0, "{driver}");
    // The process that made the database may end as the watch begins. After the window it opens it again and writes.
    let processes = saved["databases"][0]["processes"].as_array().expect("a list").iter();
    let rare = processes.filter(|process| process["writes"].as_u64().is_some_and(|writes| writes < 20));
    let others: Vec<_> = rare.map(|process| format!("first statements of contend ({}):", process["pid"])).collect();
    let missing = saved["missing"].as_array().expect("a list").iter().filter_map(Value::as_str);
    let missing = missing.filter(|what| !what.contains("it had ended before"));
    let missing = missing.filter(|what| !others.iter().any(|other| what.contains(other)));
    let missing = missing.collect::<Vec<_>>().join("; ");
    match locks_only {
        Some(why) => assert!(missing.contains(why), "{driver}: {missing}"),
        None => assert!(!missing.contains("statements of"), "{driver}: {missing}"),
    }
    let [began_ns, watched_ns] = ["began_ns", "watched_ns"].map(|key| saved[key].as_u64().expect("a number"));
    Watched { bench, out, began_ns, watched_ns }
}

/// Samples of the time in which it was watched, by client.
fn samples_within(watched: &Watched) -> BTreeMap<u32, Vec<Sample>> {
    let Watched { began_ns, watched_ns, .. } = watched;
    let mut samples: BTreeMap<u32, Vec<Sample>> = BTreeMap::new();
    let within = |sample: &Sample| sample.started_ns > *began_ns && sample.finished_ns < began_ns + watched_ns;
    let record = Record::open(&watched.bench.path("record")).expect("a record");
    let each = |sample: Sample| {
        if within(&sample) {
            samples.entry(sample.client).or_default().push(sample);
        }
    };
    record.samples(1, each).expect("samples");
    samples
}

/// The same with changes of the command that runs it.
#[track_caller]
fn compare_in(driver: &str, case: Case, locks_only: Option<&str>, change: &dyn Fn(&mut Command)) {
    let watched = watched_run(driver, case, locks_only, change);
    let holds = spans(&watched.out, "holds.csv", watched.began_ns, &["WAL_WRITE_LOCK", "RESERVED"]);
    let waits = spans(&watched.out, "waits.csv", watched.began_ns, &[]);
    let samples = samples_within(&watched);
    let count = samples.values().map(Vec::len).sum::<usize>();
    assert!(count >= 50, "{driver}: {count} transactions of {} clients", samples.len());
    let mut all = Judged::default();
    // Connections of one process refuse each other, and wait for each other, in memory, without a lock call.
    let are_seen = case.clients == 1;
    for (client, samples) in &samples {
        let judged: Vec<_> =
            connections(&holds, case.clients).into_iter().map(|who| judge(samples, &holds, &waits, who)).collect();
        let Some(judged) = judged.iter().flatten().next() else {
            // When the transactions without a hold began, after the beginning of the watch.
            let without = judged.iter().filter_map(|judged| judged.as_ref().err());
            let at: Vec<_> = without
                .map(|(number, sample)| (number, sample.started_ns - watched.began_ns, sample.lock_wait_ns))
                .collect();
            panic!(
                "{driver}: no connection has a hold in each of {} transactions of client {client}: {at:?}",
                samples.len()
            )
        };
        assert_eq!(judged.orphans, [0_u64; 0], "{driver}: holds outside of transactions");
        assert_eq!(judged.outside, [], "{driver}: holds shorter than the plan's or longer than their transactions");
        assert_eq!(judged.surplus, [], "{driver}: holds of refused transactions, or second ones");
        let refusals = "refused transactions without a wait that gave up, and others with one";
        // Without statements a wait that gave up and the next try of the client may be one wait.
        let is_exact = are_seen && locks_only.is_none();
        assert!(!is_exact || judged.refusals.is_empty(), "{driver}: {refusals}: {:?}", judged.refusals);
        assert!(!are_seen || judged.unseen == 0, "{driver}: {} refusals are not seen", judged.unseen);
        all.add(judged);
    }
    let failed: usize = samples.values().flatten().filter(|sample| sample.code != 0).count();
    all.report(driver, case, [count, failed]);
    let least = HELD_LEAST.iter().find(|(name, _)| *name == driver).map_or(case.held_least, |(_, least)| *least);
    assert!(all.held * 100 >= all.committed * least, "{driver}: {} of {} holds agree", all.held, all.committed);
    if are_seen {
        let least = case.waited_least;
        assert!(all.waited * 100 >= all.committed * least, "{driver}: {} of {} waits agree", all.waited, all.committed);
    }
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// A watch that ends with the run: on a busy machine a runtime takes seconds to start.
#[track_caller]
fn watched_until_end(driver: &str, mut run: Child, args: &[&str]) -> Output {
    let watching = watch(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    run.wait().expect("it ends");
    let stopped = Command::new("kill").arg("-INT").arg(watching.id().to_string()).status().expect("kill");
    assert!(stopped.success(), "{driver}: the watch has ended by itself");
    watching.wait_with_output().expect("it ends")
}

/// Processes with holds; with several clients in each, their connections. A goroutine may go on in another thread, so the
/// process of a single client says more.
fn connections(holds: &[Span], clients: u32) -> Vec<(u64, Option<u64>)> {
    let of = |hold: &Span| (hold.who.0, (clients > 1).then_some(hold.who.1));
    let mut found: Vec<_> = holds.iter().map(of).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What was seen of a client's transactions, and what they report.
#[derive(Debug, Default)]
struct Judged {
    committed: usize,
    /// Transactions whose hold, and whose wait, are as long outside as inside.
    held: usize,
    waited: usize,
    /// Holds that are shorter than the plan says, or longer than their transactions: held and the rest, in nanoseconds.
    outside: Vec<(u64, u64)>,
    /// Holds of refused transactions, and second ones of others, as long as a transaction: with their codes.
    surplus: Vec<(u32, u64)>,
    /// Holds between the first sample and the last that lie in no transaction.
    orphans: Vec<u64>,
    /// Refused transactions without a wait that gave up, and others with one: their codes, and how many there are.
    refusals: Vec<(u32, usize)>,
    /// Refused transactions in which the client did not wait for the lock.
    unseen: usize,
}

impl Judged {
    fn add(&mut self, other: &Judged) {
        self.committed += other.committed;
        self.held += other.held;
        self.waited += other.waited;
    }

    /// Prints a line for docs/watch.md, with the numbers of transactions and of failed ones.
    fn report(&self, driver: &str, case: Case, [count, failed]: [usize; 2]) {
        let held = percent(self.held, self.committed);
        let waited = if case.clients == 1 { percent(self.waited, self.committed) } else { "not seen".to_string() };
        println!("| {driver} | {} | {count} | {failed} | {held} | {waited} |", case.journal);
    }
}

/// Compares a client with a connection; the first transaction, with its number, in which the connection has no hold is
/// an error.
fn judge(
    samples: &[Sample],
    holds: &[Span],
    waits: &[Span],
    (pid, tid): (u64, Option<u64>),
) -> Result<Judged, (usize, Sample)> {
    let is_its = |span: &Span| span.who.0 == pid && tid.is_none_or(|tid| span.who.1 == tid);
    let of = |spans: &[Span], from_ns: u64, to_ns: u64| -> Vec<Span> {
        let inside =
            |span: &&Span| is_its(span) && span.from_ns + SLACK_NS >= from_ns && span.to_ns <= to_ns + SLACK_NS;
        spans.iter().filter(inside).cloned().collect()
    };
    let mut judged = Judged::default();
    for (number, sample) in samples.iter().enumerate() {
        let (from_ns, to_ns) = (sample.started_ns, sample.finished_ns);
        let waited = of(waits, from_ns, to_ns);
        let gave_up = waited.iter().filter(|wait| wait.end == "gave-up").count();
        if (gave_up > 0) != (sample.code != 0) {
            judged.refusals.push((sample.code, gave_up));
        }
        let mut its = of(holds, from_ns, to_ns);
        let last = if sample.code == 0 { its.pop() } else { None };
        // If another client commits between its snapshot and the lock, SQLite gives the lock back at once and begins
        // again. The plan's is the last.
        let long = its.iter().map(|hold| hold.to_ns - hold.from_ns).filter(|ns| *ns >= HOLD_NS);
        judged.surplus.extend(long.map(|ns| (sample.code, ns)));
        if sample.code != 0 {
            let is_in_it =
                |wait: &Span| is_its(wait) && wait.from_ns <= to_ns + SLACK_NS && wait.to_ns + SLACK_NS >= from_ns;
            judged.unseen += usize::from(!waits.iter().any(is_in_it));
            continue;
        }
        judged.committed += 1;
        let hold = last.ok_or((number, *sample))?;
        let waited_ns: u64 = waited.iter().map(|wait| wait.to_ns - wait.from_ns).sum();
        // Some drivers cannot measure it; the rest of the transaction is the hold.
        let told_ns = if sample.lock_wait_ns == NOT_MEASURED { waited_ns } else { sample.lock_wait_ns };
        let (held_ns, rest_ns) = (hold.to_ns - hold.from_ns, (to_ns - from_ns).saturating_sub(told_ns));
        judged.held += usize::from(agree(held_ns, rest_ns));
        // With a rollback journal a commit may wait for readers while it has the lock.
        if held_ns < HOLD_NS || held_ns > to_ns - from_ns {
            judged.outside.push((held_ns, rest_ns));
        }
        judged.waited += usize::from(agree(waited_ns, told_ns));
    }
    let times = || samples.iter().map(|sample| (sample.started_ns, sample.finished_ns));
    let (from_ns, to_ns) = (times().map(|t| t.0).min().unwrap_or(0), times().map(|t| t.1).max().unwrap_or(0));
    let is_inside = |hold: &Span| {
        times().any(|(from_ns, to_ns)| hold.from_ns + SLACK_NS >= from_ns && hold.to_ns <= to_ns + SLACK_NS)
    };
    let orphans = of(holds, from_ns, to_ns).into_iter().filter(|hold| !is_inside(hold));
    judged.orphans = orphans.map(|hold| hold.to_ns - hold.from_ns).collect();
    Ok(judged)
}

/// Drivers of SQLite that carry something out, with their workers' programs; none for those that are built in.
fn drivers() -> Vec<(String, Option<String>)> {
    let drivers = contend::engine::workers::all();
    let of_sqlite = drivers.filter(|driver| !driver.executes_nothing && driver.engines.contains(&"sqlite"));
    of_sqlite.map(|driver| (driver.name.to_string(), driver.program.map(|program| program.name.to_string()))).collect()
}

/// Compares the drivers for which `chosen` holds and whose workers are built; how many.
fn compare_all(case: Case, chosen: impl Fn(&str) -> bool) {
    if !may_trace("workers") {
        return;
    }
    for (driver, worker) in drivers().into_iter().filter(|(driver, _)| chosen(driver)) {
        match worker {
            Some(worker) if program(&worker).is_none() => left_out(&driver),
            _ => compare(&driver, case),
        }
    }
}

#[test]
fn what_is_seen_of_two_drivers_agrees_with_their_samples() {
    compare_all(WAL, |driver| QUICK.contains(&driver));
}

/// In the other journal mode, and with several connections in each process.
#[test]
fn what_is_seen_agrees_with_a_rollback_journal_and_with_several_connections_too() {
    if may_trace("workers") {
        compare_in("rusqlite", Case { journal: "delete", ..WAL }, None, &|_| {});
        compare_in("rusqlite", Case { clients: 3, ..WAL }, None, &|_| {});
    }
}

/// About three minutes; with `--nocapture` it prints the table of docs/watch.md. `CONTEND_WATCH_DRIVERS=mattn,modernc` tries some of them.
#[test]
#[ignore = "long: every driver of SQLite, ten seconds each"]
fn what_is_seen_of_every_driver_agrees_with_its_samples() {
    let some = std::env::var("CONTEND_WATCH_DRIVERS").unwrap_or_default();
    assert_eq!(drivers().len(), 16, "{:?}", drivers());
    compare_all(QUIET, |driver| some.is_empty() || some.split(',').any(|one| one == driver));
}

/// Programs of Go are often shipped without symbols. Their own table of functions names SQLite translated to Go, and
/// nothing names SQLite in C.
#[test]
fn of_programs_of_go_without_symbols_what_can_be_seen_agrees_and_the_rest_is_said() {
    if !may_trace("programs without symbols") {
        return;
    }
    for (driver, locks_only) in [("modernc", None), ("mattn", Some(STRIPPED))] {
        let dir = place();
        let mut go = Command::new("go");
        let program = format!("./cmd/contend-worker-go-{driver}");
        go.args(["build", "-ldflags=-s -w", "-o"]).arg(dir.path()).arg(&program);
        let Ok(built) = go.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/go")).status() else {
            left_out("Go without symbols, because Go is not installed");
            return;
        };
        assert!(built.success(), "{program} without symbols is built");
        compare_in(driver, WAL, locks_only, &|run| _ = run.env("CONTEND_WORKERS", dir.path()));
    }
}

/// SQLite in C and SQLite translated to Go.
const QUICK: [&str; 2] = ["rusqlite", "modernc"];
