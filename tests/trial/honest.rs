//! Honest workers are believed: every driver whose worker is built, on SQLite with WAL and with a rollback journal, and on
//! servers. `CONTEND_HONEST` is the number of rounds, each with all models of each driver; without it there is one round, with
//! one model and one journal of each driver.

use crate::support::workers::needed;
use crate::support::{Bench, sound, wrong_in};
use contend::engine::Driver;
use contend::engine::workers;
use contend::outcome::reason::Invalid;
use contend::record::parts::StudyRecord;
use std::collections::BTreeSet;
use std::fs;

/// Settings that contenders of SQLite differ in; those of servers have none.
const JOURNALS: [&str; 2] = ["wal", "truncate"];

/// Drivers of an engine that keep data and whose worker is there.
fn drivers(engine: &str) -> Vec<&'static Driver> {
    let of_engine = workers::all().filter(|driver| driver.engines.contains(&engine) && !driver.executes_nothing);
    let is_built = |driver: &&Driver| driver.program.as_ref().is_none_or(|program| needed(program.name).is_some());
    of_engine.filter(is_built).collect()
}

/// A study whose reads must return as many rows as were committed, and whose clients use the same accounts.
fn study(engines: &[&str], rounds: Option<u32>) -> String {
    let all = rounds.is_some();
    let rounds = rounds.unwrap_or(1);
    let mut text = format!(
        "question = 'Is an honest worker believed?'\nworkload = 'bank'\nkind = 'load'\n\
         headline = 'throughput_ops_per_s'\nrounds = {rounds}\ndescribes = true\n\
         [axes]\nprofile = ['mixed']\n\
         [load]\nprocesses = 2\nclients = 2\nwindow = '500ms'\nrun_in = '100ms'\ncycle = 512\n"
    );
    for (engine, (number, driver)) in
        engines.iter().flat_map(|engine| drivers(engine).into_iter().enumerate().map(move |driver| (engine, driver)))
    {
        let journals = if all { &JOURNALS[..] } else { &[JOURNALS[number % 2]] };
        let journals = if *engine == "sqlite" { journals } else { &["on a server"] };
        for model in if all { driver.models } else { &driver.models[..1] } {
            for journal in journals {
                text += &format!(
                    "[[contender]]\nlabel = '{0} {1} {journal}'\nengine = '{engine}'\ndriver = '{0}'\nmodel = '{1}'\n",
                    driver.name, model.name
                );
                if *engine == "sqlite" {
                    text += &format!(
                        "settings = {{ journal_mode = '{journal}', synchronous = 'full', begin = 'immediate', \
                         busy_timeout = 5000 }}\n"
                    );
                }
            }
        }
    }
    text
}

fn are_believed(engines: &[&str]) {
    let rounds = std::env::var("CONTEND_HONEST").ok().and_then(|count| count.parse().ok());
    let bench = Bench::new();
    fs::write(bench.path("study.toml"), study(engines, rounds)).expect("written");
    let said = bench.contend(&["run", "study.toml", "--out", "record", "--quiet"]);
    let Ok(found) = StudyRecord::open(&bench.path("record")) else { panic!("no record: {}", said.err) };
    let trials = &found.parts[0].1.trials;
    let ran: BTreeSet<&str> = trials.iter().filter_map(|trial| trial.contender.split('/').nth(1)).collect();
    let of_speed = trials.iter().filter(|trial| !trial.invalid.is_empty()).count();
    let wrong = wrong_in(&bench.path("record"));
    println!("honest trials: {} of {} drivers; not counted for their speed: {of_speed}", trials.len(), ran.len());
    for (trial, reasons) in &wrong {
        let of = trials.iter().find(|of| of.slot.trial == *trial).expect("it is of the record");
        reasons.iter().for_each(|reason| println!("trial {trial}, {}: {reason}", of.contender));
    }
    let unsynced: Vec<_> =
        trials.iter().flat_map(|trial| &trial.invalid).filter(|reason| reason.kind == Invalid::NotCredible).collect();
    // The disk may be slow for the probes of a trial and not in its window; not for many, and on a quiet machine for none.
    let most = if rounds.is_some() { 0 } else { trials.len() / 8 };
    assert!(unsynced.len() <= most, "{unsynced:?}");
    assert_eq!(ran.len(), engines.iter().map(|engine| drivers(engine).len()).sum::<usize>(), "{ran:?}: {}", said.err);
    assert!(wrong.is_empty(), "{} of {} honest trials were not believed", wrong.len(), trials.len());
    bench.assert_nothing_left();
}

#[test]
fn honest_trials_of_all_drivers_are_believed() {
    are_believed(&["sqlite"]);
}

#[test]
#[ignore = "minutes; `make verify` runs it"]
fn honest_trials_of_the_drivers_of_servers_are_believed() {
    are_believed(&["postgres", "mariadb"]);
}

/// A database that no client opens has with WAL no file that counts.
#[test]
fn databases_without_clients_are_not_counted() {
    let bench = Bench::new();
    fs::write(
        bench.path("workload.toml"),
        "about = 'Four databases'\ndatabases = 4\n[scale]\nentries = 20\n\
         [table.entry]\nddl = 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT NOT NULL)'\nrows = 'entries'\n\
         [table.entry.columns]\nid = { serial = 1 }\ntext = { words = 3 }\n\
         [transaction.add]\nkind = 'write'\n[[transaction.add.step]]\nsql = 'INSERT INTO entry (text) VALUES (:now)'\nrows = 1\n\
         [role.writer]\nprocesses = 1\nclients = 2\nmix = { add = 1 }\n\
         [[invariant]]\nname = 'entries'\nsql = 'SELECT count(*) FROM entry'\nequals = 'rows.entry + committed.add'\n",
    )
    .expect("written");
    fs::write(
        bench.path("study.toml"),
        "question = 'Are two clients of four databases believed?'\nworkload = 'workload.toml'\nkind = 'load'\n\
         headline = 'throughput_ops_per_s'\nrounds = 1\ndescribes = true\n[load]\nwindow = '300ms'\n\
         [[contender]]\nengine = 'sqlite'\nsettings = { journal_mode = 'wal', busy_timeout = 5000 }\n",
    )
    .expect("written");
    let record = bench.path("record");
    sound(&record, || bench.contend(&["run", "study.toml", "--out", "record", "--quiet"]));
}
