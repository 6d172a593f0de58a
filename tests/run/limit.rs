//! `contend limit` on services of known capacity: transactions that are each stopped by one thing.

use crate::support::place::{Own, Place};
use crate::support::{Bench, Said, root, tool};
use contend::record::store::Record;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Half of the operations hold the lock for 5 ms.
const MOST_PER_S: f64 = 400.0;

pub fn study() -> String {
    root().join("tests/fixtures/limit/study.toml").display().to_string()
}

#[test]
fn the_highest_rate_is_below_what_the_lock_allows() {
    let bench = Bench::new();
    let args = ["limit", &study(), "--bound", "response_ns_p50<=60ms", "--rates-only", "--out", "found"];
    let said = bench.contend(&args).exits(0);
    assert!(said.out.contains("plain carries") && said.err.contains("closed loop:"), "{said:?}");
    bench.assert_nothing_left();

    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let found = saved["capacities"][0]["rate_per_s"].as_float().expect("a rate");
    // A machine may be four times slower, and none can be faster than the lock; a short window sees a part of the queue.
    assert!((MOST_PER_S / 5.0..MOST_PER_S * 1.15).contains(&found), "{found}");

    // Each probe is an ordinary trial at its place.
    let record = Record::open(&bench.path("found/probes")).expect("a record");
    let probes = saved["probes"].as_array().expect("probes");
    assert_eq!((record.trials.len(), record.damaged.len()), (probes.len(), 0));
    for (trial, probe) in record.trials.iter().zip(probes) {
        let axes = &record.run.study.conditions[trial.slot.condition].axes;
        let rate = axes.get("rate_per_s").map(|rate| rate.parse::<f64>().expect("a number"));
        assert_eq!(rate, probe.get("rate_per_s").and_then(toml::Value::as_float), "{probe}");
        assert_eq!(i64::from(trial.slot.trial), probe["trial"].as_integer().expect("a number"));
    }
    let before = fs::read_to_string(bench.path("found/report.md")).expect("a report");
    let again = bench.contend(&["report", "found"]).exits(0);
    assert!(said.out.contains(&again.out), "{}", again.out);
    assert_eq!(fs::read_to_string(bench.path("found/report.md")).expect("a report"), before);
    let json = bench.contend(&["report", "found", "--json"]).exits(0).out;
    assert_eq!(json, fs::read_to_string(bench.path("found/report.json")).expect("a report"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let plain = &json["contenders"][0];
    assert_eq!((plain["rate_per_s"].as_f64(), &plain["contender"]), (Some(found), &"plain".into()));
    assert_eq!(json["bounds"][0], "response_ns_p50<=60ms");

    let whole = fs::read_to_string(bench.path("found/limit.toml")).expect("a file");
    fs::write(bench.path("found/limit.toml"), whole.replacen("tier", "tear", 1) + "\n").expect("a file");
    let changed = bench.contend(&["report", "found"]).exits(2).err;
    assert!(changed.contains("limit.toml was changed after contend wrote it"), "{changed}");

    let (_, whole) = whole.split_once('\n').expect("a seal");
    fs::write(bench.path("found/limit.toml"), whole).expect("a file");
    let not_sealed = bench.contend(&["report", "found"]).exits(0).out;
    assert!(not_sealed.contains("Not sealed: limit.toml has no SHA-256 in the first line."), "{not_sealed}");

    let budget = "[budget]\ntotal_ns = 1\nspent_ns = 1\nrounds = 1\nleft_out = [99]\n";
    for (damaged, why) in [
        (format!("{whole}\n{budget}"), "an arm that it does not have"),
        (whole.replacen("rate_per_s = ", "rate_per_s = -", 1), "no positive number"),
    ] {
        fs::write(bench.path("found/limit.toml"), damaged).expect("a file");
        let said = bench.contend(&["report", "found"]).exits(2);
        assert!(said.err.contains("limit.toml is damaged") && said.err.contains(why), "{}", said.err);
    }
}

/// A probe in its place would find the same rate and hide it.
#[test]
fn a_probe_that_does_wrong_work_makes_the_search_invalid() {
    let bench = Bench::new();
    let (fake, count) = (root().join("workers/fake/fake.py"), bench.path("plans-seen"));
    let worker = format!(
        "python3 '{}' --real '{} worker' --only-plan 2 --trial-file '{}' --fault setting --setting synchronous=0",
        fake.display(),
        tool(),
        count.display()
    );
    let args = ["limit", &study(), "--bound", "response_ns_p50<=60ms", "--rates-only", "--out", "found"];
    let said = bench.contend(&[&args[..], &["--worker-command", &worker]].concat()).exits(1);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("Not valid: 1 probe did wrong work. The first is probe 2"), "{one_line}");
    assert!(one_line.contains("synchronous"), "{one_line}");
    bench.contend(&["report", "found"]).exits(1);
    bench.assert_nothing_left();
}

#[test]
fn one_command_answers_within_a_budget_and_says_what_did_not_fit() {
    let bench = Bench::new();
    let args = ["limit", &study(), "--bound", "response_ns_p50<=60ms", "--rounds", "6", "--budget", "8s"];
    let said = bench.contend(&[&args[..], &["--out", "found"]].concat());
    said.ran();
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let saved: toml::Table = fs::read_to_string(bench.path("found/limit.toml")).expect("a file").parse().expect("TOML");
    let budget = &saved["budget"];
    assert!(
        budget["total_ns"].as_integer().is_some_and(|ns| (7_000_000_000..=8_000_000_000).contains(&ns)),
        "{budget}"
    );
    let rounds = saved["capacities"].as_array().expect("rounds").iter().filter(|of| of["arm"].as_integer() == Some(0));
    assert!(rounds.count() < 6, "six rounds do not fit into 8 s: {saved}");
    assert!(one_line.contains("The time of 8s holds fewer than 6 rounds: plain"), "{one_line}");
    if one_line.contains("plain carries") {
        assert!(one_line.contains("with p50 response time up to 60.0 ms on this machine."), "{one_line}");
    }
    // The machine is in the report: every word of the answer has a table.
    let page = fs::read_to_string(bench.path("found/report.md")).expect("a report");
    let cpu = saved["machine"]["cpu"].as_str().expect("a processor");
    assert!(page.contains("## Machine") && page.contains(cpu) && page.contains("an fsync takes"), "{page}");
    for probe in saved["probes"].as_array().expect("probes").iter().filter_map(|probe| probe.get("used")) {
        assert!(probe.get("written_bytes_per_s").is_some() && probe.get("checkpoints").is_some(), "{probe}");
    }
    let wrong = bench.contend(&["limit", &study(), "--budget", "soon", "--out", "none"]).exits(2);
    assert!(wrong.err.contains("--budget: "), "{}", wrong.err);
    let short = bench.contend(&["limit", &study(), "--budget", "1ns", "--out", "none"]).exits(2);
    assert!(
        short.err.contains("--budget: 1ns is too short") && short.err.contains("write 4s or more"),
        "{}",
        short.err
    );
    assert!(!bench.path("none").exists());
    bench.assert_nothing_left();
}

#[test]
fn a_bound_below_the_pauses_of_a_transaction_is_refused_at_once() {
    let bench = Bench::new();
    let said = bench.contend(&["limit", &study(), "--bound", "response_ns_p99<=1ms", "--out", "none"]).exits(2);
    let one_line = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "no rate meets response_ns_p99<=1ms: transaction `add` waits for 5.00 ms in its own steps (hold, pause, every), and \
               50.0 % of the operations take longer than the bound; bound more than 5.00 ms";
    assert!(one_line.contains(why), "{one_line}");
    assert!(!bench.path("none").exists());
}

/// A library, made from C, that is loaded before contend and everything that it starts.
fn library(bench: &Bench, source: &str) -> PathBuf {
    let library = bench.path("planted.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-shared", "-fPIC", "-o"]).arg(&library).arg(root().join(source));
    assert!(compiler.status().is_ok_and(|status| status.success()), "{source}");
    library
}

/// The answer of a search of a profile with one contender, in three rounds or in those of `args`.
fn stopped_by(profile: &str, args: &[&str]) -> String {
    stopped_with(None, profile, args)
}

/// The same with a library loaded before contend.
fn stopped_with(planted: Option<&str>, profile: &str, args: &[&str]) -> String {
    let bench = Bench::new();
    let profile = format!("profile={profile}");
    let rounds: &[&str] = if args.contains(&"--rounds") { &[] } else { &["--rounds", "3"] };
    let fixed = ["limit", &study(), "--bound", "response_ns_p50<=60ms", "--out", "found", "--set", &profile];
    let mut command = bench.command(&[&fixed[..], rounds, args].concat());
    planted.map(|source| command.env("LD_PRELOAD", library(&bench, source)));
    let said = Said::from(command.output().expect("the tool starts")).exits(0);
    bench.assert_nothing_left();
    let from = said.out.find("> ").expect("an answer");
    let to = said.out[from..].find("\n\n").expect("the end of the answer");
    said.out[from..from + to].split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "takes four minutes on two quiet cores; make verify runs it"]
fn a_lock_that_is_held_by_a_pause_is_named() {
    let answer = stopped_by("half", &["--rounds", "6"]);
    assert!(answer.contains("stopped by its one writer") && answer.contains("with half the writes"), "{answer}");
}

#[test]
#[ignore = "takes four minutes on two quiet cores; make verify runs it"]
fn the_pauses_of_the_busy_handler_are_named() {
    let answer = stopped_by("half", &["--bound", "response_ns_p95<=20ms", "--budget", "4min"]);
    let names = answer.contains("stopped by the pauses of SQLite's busy handler");
    assert!(names && answer.contains("with busy_handler=1ms"), "{answer}");
}

#[test]
#[ignore = "takes two minutes on two quiet cores; make verify runs it"]
fn a_pool_of_one_is_named() {
    let answer = stopped_by("naps", &["--processes", "1", "--clients", "1"]);
    assert!(answer.contains("stopped by the number of clients"), "{answer}");
}

#[test]
#[ignore = "takes three minutes on two quiet cores; make verify runs it"]
fn busy_processors_are_named_only_where_fewer_could_do_the_work() {
    let answer = stopped_by("sums", &[]);
    let busy = answer.contains("the processors are") && answer.contains("is not shown on");
    // One of two processors can never do the work of both: missing the bounds there shows nothing.
    let several = std::thread::available_parallelism().is_ok_and(|number| number.get() > 3);
    assert!(busy || several && answer.contains("stopped by the processors"), "{answer}");
}

/// contend is started on one processor of several, as by a container, and may ask for another one.
#[test]
#[ignore = "takes three minutes on two quiet cores; make verify runs it"]
fn a_processor_set_of_one_is_named() {
    let bench = Bench::new();
    let study = study();
    let args = ["limit", &study, "--bound", "response_ns_p50<=60ms", "--out", "found", "--set", "profile=sums"];
    let said = on_one_processor(&bench, &[&args[..], &["--rounds", "3"]].concat()).exits(0);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = one_line.contains("with 2 processors instead of 1 it carries");
    assert!(one_line.contains("stopped by the processors") && more, "{said:?}");
}

fn on_one_processor(bench: &Bench, args: &[&str]) -> Said {
    let command = bench.command(args);
    let mut one = Command::new("taskset");
    one.args(["-c", "0"]).arg(command.get_program()).args(command.get_args()).current_dir(bench.dir.path());
    one.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Said::from(one.output().expect("taskset starts"))
}

#[test]
fn on_one_processor_of_several_one_more_is_tried() {
    let several = fs::read_to_string("/proc/cpuinfo").expect("readable").matches("\nprocessor").count() > 0;
    if !several {
        println!("NOT VERIFIED: this machine has one processor");
        return;
    }
    let bench = Bench::new();
    let study = study();
    let args = ["limit", &study, "--bound", "response_ns_p50<=60ms", "--out", "found", "--set", "profile=sums"];
    // The shortest budget holds the first round only.
    on_one_processor(&bench, &[&args[..], &["--budget", "800ms"]].concat()).ran();
    let saved = fs::read_to_string(bench.path("found/limit.toml")).expect("a file");
    assert!(saved.contains("how = \"2 processors instead of 1\"") && saved.contains("processors = 1\n"), "{saved}");
    assert!(!saved.contains("fewer = true"), "{saved}");
    bench.assert_nothing_left();
}

#[test]
#[ignore = "takes four minutes on two quiet cores; make verify runs it"]
fn a_slow_sync_is_named() {
    let args = [
        "--contender",
        "sqlite:journal_mode=wal,synchronous=full,begin=immediate,busy_timeout=5000",
        "--only",
        "WAL/FULL",
    ];
    let answer = stopped_with(Some("tests/watch/slow_disk.c"), "puts", &args);
    assert!(answer.contains("stopped by waiting for the disk") && answer.contains("synchronous=off"), "{answer}");
}

/// Python takes longer for its loop than SQLite does for a row by rowid.
#[test]
#[ignore = "needs the workers in Python; make verify runs it"]
fn a_slow_generator_is_named() {
    let bench = Bench::new();
    let args =
        ["limit", &study(), "--driver", "python-sqlite3", "--set", "profile=looks", "--rounds", "3", "--out", "found"];
    let said = bench.contend(&args).exits(1);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("No rate was found for plain") && one_line.contains("generator-limited"), "{said:?}");
}

#[test]
fn a_servers_connection_limit_is_named() {
    let place = Place::new();
    let server = Own::postgres_with(&place, "-c max_connections=10 -c superuser_reserved_connections=0");
    fs::write(place.bench.path("study.toml"), on_a_server()).expect("written");
    fs::copy(root().join("tests/fixtures/limit/planted.toml"), place.bench.path("planted.toml")).expect("copied");
    let dsn = server.dsn("geheim");
    let args = ["limit", "study.toml", "--rounds", "1", "--out", "found", "--rates-only", "--dsn", &dsn];
    let said = place.contend(&[&args[..], &["--processes", "3", "--clients", "4"]].concat()).exits(1);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("No rate was found for PostgreSQL") && one_line.contains("too many clients"), "{said:?}");
    assert!(!format!("{said:?}").contains("geheim"), "{said:?}");
}

/// The fixture's study on PostgreSQL.
fn on_a_server() -> String {
    let text = fs::read_to_string(study()).expect("a study");
    let (head, _) = text.split_once("[[contender]]").expect("a contender");
    let head = head.replace("\"half\"", "\"puts\"");
    format!("{head}[[contender]]\nlabel = \"PostgreSQL\"\nengine = \"postgres\"\ntier = \"durable\"\n")
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_made() {
    let bench = Bench::new();
    let study = study();
    for (args, part) in [
        (&["--bound", "response_ns_p99<50ms"][..], "write METRIC<=VALUE"),
        (&["--bound", "failed<=0.1"], "write failed<=0.1% or failed<=10%"),
        (&["--set", "rate=100"], "sets a rate"),
    ] {
        let said = bench.contend(&[&["limit", &study, "--out", "none"], args].concat()).exits(2);
        assert!(said.err.contains(part), "{}", said.err);
        assert!(!bench.path("none").exists());
    }
    fs::create_dir(bench.path("taken")).and_then(|()| fs::write(bench.path("taken/file"), "x")).expect("a file");
    assert!(bench.contend(&["limit", &study, "--out", "taken"]).exits(2).err.contains("not empty"));
}

#[test]
fn mistakes_of_a_study_are_named_where_they_are() {
    let bench = Bench::new();
    let text = fs::read_to_string(study()).expect("a study").replace("kind = \"load\"", "kind = \"limit\"");
    fs::copy(root().join("tests/fixtures/limit/planted.toml"), bench.path("planted.toml")).expect("copied");
    let written = |more: &str| fs::write(bench.path("s.toml"), format!("{text}\n{more}\n")).expect("written");
    for (more, part) in [
        ("[limit]\nbounds = [\"failed<=1%\"]", "there is no such key (did you mean `bound`?)"),
        ("[limit]\nbound = [\"response_ns_p99<50ms\"]", "s.toml:16: "),
        ("[limit]\nbound = [\"response_ns_p99<50ms\"]", "write METRIC<=VALUE"),
        ("[limit]\nbound = \"failed<=1%\"", "must be a list"),
        ("[limit]\nbound = [\"failed<=1%\", \"failed<=2%\"]", "is bounded twice"),
    ] {
        written(more);
        let said = bench.contend(&["limit", "s.toml", "--out", "none"]).exits(2);
        assert!(said.err.contains(part), "{more}: {}", said.err);
    }
    written("[limit]\nbound = [\"response_ns_p50<=60ms\"]");
    let said = bench.contend(&["run", "s.toml", "--out", "none"]).exits(2);
    assert!(said.err.contains("carry it out with contend limit"), "{}", said.err);
    assert!(!bench.path("none").exists());
    bench.contend(&["limit", "s.toml", "--budget", "800ms", "--out", "found"]).ran();
    let saved = fs::read_to_string(bench.path("found/limit.toml")).expect("a file");
    assert!(saved.contains("bounds = [\"response_ns_p50<=60ms\", \"failed<=0.1%\"]"), "{saved}");
}

#[test]
fn a_workload_is_searched_without_a_study() {
    let bench = Bench::new();
    let workload = root().join("tests/fixtures/limit/planted.toml").display().to_string();
    let args =
        ["limit", &workload, "--quick", "--set", "profile=naps", "--only", "bounded", "--rounds", "1", "--rates-only"];
    let more = ["--bound", "response_ns_p50<=60ms", "--window", "300ms", "--out", "found"];
    let said = bench.contend(&[&args[..], &more].concat()).exits(0);
    assert!(said.out.contains("SQLite, bounded carries"), "{}", said.out);
}
