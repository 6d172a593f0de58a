//! `contend predict`: on a record whose law is known, on a real sweep, and on records that have none.

use crate::given;
use crate::support::{Bench, root, sound, tiny_study, tool};
use contend::record::model::Trial;
use contend::record::store::Record;
use contend::study::model::Condition;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const CLIENTS: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const ROUNDS: u32 = 6;
const OWN_NS: f64 = 1e6;
const SYNC_NS: f64 = 1e6;
/// Of the contender that waits for each sync, and of the one that does not.
const SERVICE_NS: [f64; 2] = [2e6, 2e6 - SYNC_NS];

/// Throughput per nanosecond of clients that are served one at a time: mean value analysis.
fn one_writer(clients: u32, service_ns: f64) -> f64 {
    let (mut queue, mut throughput) = (0.0, 0.0);
    for n in 1..=clients {
        let response_ns = service_ns * (1.0 + queue);
        throughput = f64::from(n) / (OWN_NS + response_ns);
        queue = throughput * response_ns;
    }
    throughput
}

/// A record in which two contenders follow the law of one writer, with rounds that differ by up to one per cent.
fn one_writer_record(bench: &Bench) {
    let fixture = given::fixture();
    let mut run = fixture.run.clone();
    run.study.contenders.truncate(SERVICE_NS.len());
    let condition = |clients: &u32| Condition {
        label: format!("{clients} clients"),
        profile: None,
        axes: BTreeMap::from([("clients".to_string(), clients.to_string())]),
    };
    let run = given::planned(run, ROUNDS, CLIENTS.iter().map(condition).collect());
    given::write(&bench.path("record"), &run, &fixture, follows_the_law);
}

/// Makes a trial one of the law; the time of an operation.
fn follows_the_law(trial: &mut Trial) -> f64 {
    let clients = CLIENTS[trial.slot.condition];
    let per_ns = one_writer(clients, SERVICE_NS[trial.slot.contender]) * given::noise(trial.slot.trial);
    let each_ns = f64::from(clients) / per_ns;
    (trial.clients, trial.workers[0].roles[0].clients) = (clients, clients);
    trial.workers[0].cpu_ns = u64::from(clients * given::operations(each_ns)) * 800_000;
    trial.fsync_ns_p50_before = SYNC_NS as u64;
    each_ns
}

#[test]
fn a_known_law_is_found_and_keeps_its_word_at_four_times_the_clients() {
    let bench = Bench::new();
    one_writer_record(&bench);
    let told: Value =
        serde_json::from_str(&bench.contend(&["predict", "record", "--json"]).exits(0).out).expect("JSON");
    assert_eq!(told.as_array().map(Vec::len), Some(2), "{told:#}");
    for (arm, service_ns) in SERVICE_NS.iter().enumerate() {
        let told = &told[arm];
        assert_eq!((&told["chosen"], &told["word"]), (&"one writer".into(), &"good".into()), "{told:#}");
        for (at, clients) in [32, 64].into_iter().enumerate() {
            let said = &told["predictions"][at];
            let truth = one_writer(clients, *service_ns) * 1e9;
            assert_eq!(said["at"], f64::from(clients));
            assert!((said["value"].as_f64().expect("predicted") / truth - 1.0).abs() < 0.05, "{said}");
            assert!(said["low"].as_f64() <= said["value"].as_f64() && said["value"].as_f64() <= said["high"].as_f64());
        }
        assert!(told["checks"].as_array().expect("checks").iter().all(|check| check["agrees"] == true), "{told:#}");
        assert!(told["peak"].is_null());
    }
    let intervention = &told[0]["interventions"][0];
    let [predicted, measured] = ["predicted_per_s", "measured_per_s"].map(|name| intervention[name].as_f64().unwrap());
    assert!((predicted / measured - 1.0).abs() < 0.1, "{intervention}");
    assert!(told[1]["interventions"].as_array().is_some_and(Vec::is_empty));

    let text = bench.contend(&["predict", "record", "--at", "24,300"]).exits(0).out;
    assert!(text.contains("> one writer") && text.contains("At 24 clients 49"), "{text}");
    assert!(text.contains("At 300 clients no prediction: too far beyond"), "{text}");
    assert!(text.contains("Without syncs the law predicts"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text, bench.contend(&["predict", "record", "--at", "24,300"]).exits(0).out, "seeded");
}

/// Rates at which nothing waits, and clients that do not wait for each other.
#[test]
fn a_sweep_that_reached_no_limit_predicts_nothing_beyond_it() {
    let bench = Bench::new();
    let fixture = given::fixture();
    for (axis, numbers, args, said) in [
        (
            "rate_per_s",
            [20, 40, 60, 80, 100, 120, 140],
            &["predict", "rate_per_s", "--bound", "40ms"][..],
            ["At 175/s no prediction: no limit was reached", "40.0 ms is not predicted: no limit was reached."],
        ),
        (
            "clients",
            [1, 2, 3, 4, 5, 6, 8],
            &["predict", "clients"][..],
            ["At 16 clients no prediction: no limit was reached", "No limit was reached: throughput still grew"],
        ),
    ] {
        let mut run = fixture.run.clone();
        run.study.contenders.truncate(1);
        let condition = |number: &u32| Condition {
            label: format!("{axis} {number}"),
            profile: None,
            axes: BTreeMap::from([(axis.to_string(), number.to_string())]),
        };
        let run = given::planned(run, ROUNDS, numbers.iter().map(condition).collect());
        given::write(&bench.path(axis), &run, &fixture, |trial| {
            match axis {
                "clients" => trial.clients = numbers[trial.slot.condition],
                _ => trial.load_model = "open".to_string(),
            }
            trial.workers[0].roles[0].clients = trial.clients;
            20e6 * given::noise(trial.slot.trial)
        });
        let text = bench.contend(args).exits(1).out;
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        said.iter().for_each(|part| assert!(flat.contains(part), "{part}: {text}"));
        assert!(!flat.contains("usable"), "{text}");
    }
}

#[test]
fn a_short_sweep_predicts_or_says_what_it_lacks() {
    let bench = Bench::new();
    let study = tiny_study();
    let sweep = ["run", &study, "--set", "clients=1,2,4", "--processes", "1", "--rounds", "1", "--window", "100ms"];
    let args: Vec<&str> = sweep.into_iter().chain(["--only", "WAL/FULL", "--out", "record", "--quiet"]).collect();
    sound(&bench.path("record"), || bench.contend(&args));
    let said = bench.contend(&["predict", "record"]);
    said.ran();
    assert!(said.out.contains("WAL/FULL: throughput over clients"), "{}", said.out);
    assert!(said.out.contains("Measured at 1, 2, 4; 1 round."), "{}", said.out);
    assert!(said.out.contains("needs 4 points") && said.out.contains("needs 5 points"), "{}", said.out);
    let predicts = said.out.contains(": usable; fewer than six rounds have no interval.");
    assert!(said.code == Some(0) && predicts || said.code == Some(1) && !predicts, "{}", said.out);
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
}

/// The law is fitted to a record whose law is known; the experiment is a real run of its study.
#[test]
fn what_a_law_predicts_without_syncs_is_carried_out_by_the_same_command() {
    let bench = Bench::new();
    let study = tiny_study();
    let sweep = ["run", &study, "--set", "clients=1,2", "--processes", "1", "--rounds", "2", "--window", "200ms"];
    let args: Vec<&str> = sweep.into_iter().chain(["--only", "WAL/FULL", "--out", "record", "--quiet"]).collect();
    sound(&bench.path("record"), || bench.contend(&args));
    with_a_known_law(&bench);
    let said = bench.contend(&["predict", "record", "--json", "--carry-out", "--out", "done"]).exits(0);
    let told: Value = serde_json::from_str(&said.out).expect("JSON");
    let [intervention] = told[0]["interventions"].as_array().expect("interventions").as_slice() else {
        panic!("{told:#}")
    };
    assert_eq!(intervention["predicted_per_s"], told[0]["without_syncs_per_s"]);
    let label = intervention["contender"].as_str().expect("a label");
    assert!(label.ends_with("synchronous=off") && intervention["clients"] == 16.0, "{intervention}");
    let record = Record::open(&bench.path("done/1")).expect("a record");
    assert_eq!((record.run.study.contenders.len(), record.trials[0].clients), (2, 16));
    for name in ["measured_per_s", "with_syncs_per_s"] {
        assert!(intervention[name].as_f64().is_some_and(|per_s| per_s > 0.0), "{intervention}");
    }
    bench.assert_nothing_left();
}

/// Gives the record of a real run the conditions, and trials, of a contender that follows the law of one writer.
fn with_a_known_law(bench: &Bench) {
    let real = Record::open(&bench.path("record")).expect("a record");
    fs::remove_dir_all(bench.path("record")).expect("removed");
    let profile = real.run.study.conditions[0].profile.clone();
    let condition = |clients: &u32| Condition {
        label: format!("{clients} clients"),
        profile: profile.clone(),
        axes: [("clients", *clients), ("processes", 1)].map(|(axis, n)| (axis.to_string(), n.to_string())).into(),
    };
    let mut run = given::planned(real.run.clone(), ROUNDS, CLIENTS.iter().map(condition).collect());
    // What is carried out must be on the record's machine.
    run.machine = real.run.machine.clone();
    // Of the experiment; the trials have their own.
    run.study.load.window_ns = 200_000_000;
    given::write(&bench.path("record"), &run, &real, follows_the_law);
}

#[test]
fn processors_are_an_axis_of_a_study_and_are_predicted() {
    let bench = Bench::new();
    let study = tiny_study();
    // Each worker says on how many processors it may run.
    let own = format!("echo $(nproc) >> {}; exec {} worker", bench.path("seen").display(), tool());
    let sweep = ["run", &study, "--set", "processors=1,2", "--processes", "1", "--rounds", "1", "--window", "100ms"];
    let args = [&sweep[..], &["--only", "WAL/FULL", "--worker-command", &own, "--out", "record", "--quiet"]].concat();
    let several = std::thread::available_parallelism().is_ok_and(|number| number.get() > 1);
    let said = bench.contend(&args);
    if !several {
        assert!(said.exits(2).err.contains("contend can use at most 1 processors here"));
        println!("NOT VERIFIED: this machine has one processor");
        return;
    }
    said.ran();
    let seen = fs::read_to_string(bench.path("seen")).expect("workers ran");
    assert!(seen.lines().any(|line| line == "1") && seen.lines().any(|line| line == "2"), "{seen} {said:?}");
    let record = Record::open(&bench.path("record")).expect("a record");
    let labels: Vec<&str> = record.run.study.conditions.iter().map(|condition| condition.label.as_str()).collect();
    assert_eq!(labels, ["mixed, 1 process, 1 processor", "mixed, 1 process, 2 processors"]);
    let said = bench.contend(&["predict", "record"]);
    if record.trials.iter().all(|trial| trial.invalid.is_empty()) {
        assert!(said.out.contains("throughput over processors") && said.out.contains("Amdahl"), "{said:?}");
        assert!(said.out.contains("needs 3 points"), "two processors are too few for a law: {said:?}");
    }
    let none = bench.contend(&["run", &study, "--set", "processors=0", "--out", "none"]).exits(2);
    assert!(none.err.contains("not a whole number above 0"), "{}", none.err);
    let many = bench.contend(&["run", &study, "--set", "processors=4000", "--out", "none"]).exits(2);
    assert!(many.err.contains("contend can use at most") && !bench.path("none").exists(), "{}", many.err);
}

/// Amdahl: of an operation's 10 ms of work, 1 ms is done by one processor at a time.
fn amdahl_ns(processors: u32) -> f64 {
    1e6 + 9e6 / f64::from(processors)
}

#[test]
fn more_processors_than_there_are_are_predicted_and_marked() {
    let bench = Bench::new();
    let fixture = given::fixture();
    let mut run = fixture.run.clone();
    run.study.contenders.truncate(1);
    let numbers = [1, 2, 3, 4, 5, 6, 8];
    let condition = |number: &u32| Condition {
        label: format!("{number} processors"),
        profile: None,
        axes: BTreeMap::from([("processors".to_string(), number.to_string())]),
    };
    let run = given::planned(run, ROUNDS, numbers.iter().map(condition).collect());
    given::write(&bench.path("record"), &run, &fixture, |trial| {
        (trial.clients, trial.workers[0].roles[0].clients) = (16, 16);
        16.0 * amdahl_ns(numbers[trial.slot.condition]) * given::noise(trial.slot.trial)
    });
    let told: Value =
        serde_json::from_str(&bench.contend(&["predict", "record", "--json"]).exits(0).out).expect("JSON");
    let said = &told[0]["predictions"][0];
    let truth = 1e9 / amdahl_ns(16);
    assert_eq!((&told[0]["chosen"], &said["at"]), (&"Amdahl".into(), &16.0.into()), "{told:#}");
    assert!((said["value"].as_f64().expect("predicted") / truth - 1.0).abs() < 0.05, "{truth} {said}");
    let text = bench.contend(&["predict", "record"]).exits(0).out;
    let marked = text.lines().find(|line| line.trim().starts_with("At 16 processors")).expect("a line");
    assert!(marked.contains(": extrapolated, good."), "{text}");
}

#[test]
fn what_has_no_sweep_predicts_nothing() {
    let bench = Bench::new();
    let record = root().join("tests/fixtures/records/format-3").display().to_string();
    for (args, complaint) in [
        (vec!["predict", "nowhere"], "cannot read the record in nowhere"),
        (vec!["predict", &record], "run a study with an axis such as"),
        (vec!["predict", &record, "--at", "0"], "--at"),
        (vec!["predict", &record, "--bound", "fast"], "--bound"),
    ] {
        let said = bench.contend(&args).exits(2);
        assert!(said.err.contains(complaint), "{args:?}: {}", said.err);
    }
}
