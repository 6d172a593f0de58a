//! The study of the discussion app: the app and its transactions alone do the same work and leave sound data, and what
//! both took is in the record.

mod support;

use contend::record::model::Trial;
use contend::record::store::Record;
use std::fs;
use support::Bench;

/// One client of each, on the engine that needs no server.
const SHORT: [&str; 14] = [
    "run",
    "gameplan",
    "--quick",
    "--set",
    "part=share",
    "--only",
    "SQLite*",
    "--rounds",
    "1",
    "--window",
    "700ms",
    "--out",
    "record",
    "--quiet",
];

#[test]
fn the_app_does_what_its_transactions_do_without_it() {
    let bench = Bench::new();
    let said = bench.command(&SHORT).output().expect("the tool starts");
    let record = Record::open(&bench.path("record/share")).expect("a record");
    let (app, alone): (Vec<&Trial>, Vec<&Trial>) = record.trials.iter().partition(|trial| trial.server.is_some());
    assert_eq!((app.len(), alone.len()), (2, 2), "{}", String::from_utf8_lossy(&said.stderr));
    for trial in &record.trials {
        // Who else uses the processors decides how late a client begins: that is not what is tested.
        let wrong = trial.invalid.iter().find(|reason| reason.kind != "littles-law");
        assert!(wrong.is_none() && trial.samples > Some(0), "{}: {wrong:?}", trial.contender);
        assert!(trial.invariants.len() > 7 && trial.invariants.iter().all(|invariant| invariant.holds));
        assert!(trial.tables.values().any(|bytes| bytes.rows > 0 && bytes.indexes > 0), "{:?}", trial.tables);
    }
    for trial in app {
        let twin = alone.iter().find(|other| other.condition == trial.condition).expect("the same without the app");
        assert_eq!((trial.plan_sha256.as_str(), trial.seed), (twin.plan_sha256.as_str(), twin.seed));
        let server = trial.server.as_ref().expect("the app");
        let serving = server.serving.expect("what it used");
        assert!(serving.cpu_ns > 0 && serving.rss_bytes > 1 << 20 && server.daemon.is_none());
        assert!(
            ["requests", "retries", "gave_up"].iter().all(|fact| server.done.contains_key(*fact)),
            "{:?}",
            server.done
        );
        for (setting, value) in [("journal_mode", "wal"), ("synchronous", "2"), ("gunicorn_workers", "1")] {
            assert_eq!(trial.settings.get(setting).map(String::as_str), Some(value), "{setting}");
        }
    }
    bench.assert_nothing_left();
}

#[test]
fn a_study_of_an_app_says_what_its_clients_send() {
    let bench = Bench::new();
    let text = "question = 'q'\nworkload = 'gameplan'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\n\
        load = { window = '1s' }\n[[contender]]\nengine = 'sqlite'\ndriver = 'gameplan'\n";
    let refused = |text: &str| {
        fs::write(bench.path("s.toml"), text).expect("written");
        let said = bench.command(&["run", "s.toml", "--out", "record"]).output().expect("the tool starts");
        assert!(!said.status.success());
        String::from_utf8_lossy(&said.stderr).into_owned()
    };
    let said = refused(text);
    assert!(said.contains("contender[1].driver") && said.contains("`scenario` must say"), "{said}");
    let other = format!("scenario = 'gameplan'\n{}", text.replace("workload = 'gameplan'", "workload = 'seeding'"));
    let said = refused(&other);
    assert!(said.contains("scenario gameplan:") && said.contains("there is no [transaction.number]"), "{said}");
    let known = format!("scenario = 'gameplan'\n{text}settings = {{ transport = 'in-process' }}\n");
    let said = refused(&known);
    assert!(said.contains("`gameplan` is an app: its transport is http"), "{said}");
}
