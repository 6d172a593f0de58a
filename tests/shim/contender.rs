//! The shim as a contender: a workload through SQLite's interface on PostgreSQL does what it does on SQLite.

use crate::support::place::{Place, record};
use crate::support::workers::needed;
use contend::record::model::Trial;

/// The worker, whose launcher loads the library.
const WORKER: &str = "contend-worker-shim";

#[test]
fn a_workload_does_the_same_through_the_shim() {
    if needed(WORKER).is_none() {
        return;
    }
    let place = Place::new();
    for (workload, more) in [("library", &[][..]), ("lookups", &["--profile", "insert"]), ("bank", &[]), ("stock", &[])]
    {
        let args = ["verify", workload, "--contender", "postgres/shim", "--out", ".", "--scale", "0.05"];
        let said = place.contend(&[&args, &["--operations", "200"][..], more].concat()).exits(0);
        let verdict = said.out.lines().last().unwrap_or_default().to_string();
        assert!(
            verdict.starts_with("The same everywhere: ") && verdict.contains("postgres/shim"),
            "{workload}: {said:?}"
        );
    }
    place.assert_nothing_left();
}

#[test]
fn a_run_through_the_shim_counts_and_reads_its_settings_back() {
    if needed(WORKER).is_none() {
        return;
    }
    let place = Place::new();
    let with = |more: &str| format!("postgres/shim:tier=bounded,lock_timeout=700{more}");
    let contenders = ["", ",shim_cache=translations", ",shim_cache=none"].map(with);
    let mut args = vec!["--rounds", "1", "--only", "*shim*"];
    contenders.iter().for_each(|contender| args.extend(["--contender", contender]));
    place.run_sound(&args);
    let record = record(&place);
    for word in ["translations", "none"] {
        let is_ours = |trial: &&Trial| trial.contender.contains(&format!("shim_cache={word}"));
        let trial = record.trials.iter().find(is_ours).expect("a trial");
        assert_eq!(trial.settings["shim_cache"], word);
    }
    assert!(record.trials.len() >= 3);
    for trial in &record.trials {
        let found = |name: &str| trial.settings.get(name).map_or("", String::as_str);
        assert_eq!((found("busy_timeout"), found("synchronous_commit")), ("700", "off"), "read through the library");
    }
}
