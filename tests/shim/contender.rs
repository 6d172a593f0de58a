//! The shim as a contender: a workload through SQLite's interface on PostgreSQL does what it does on SQLite.

use crate::support::place::{Place, record};
use crate::support::workers::needed;

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
    let kept = |word: &str| format!("postgres/shim:tier=bounded,lock_timeout=700,shim_cache={word}");
    let contenders = ["all", "translations", "none"].map(kept);
    let mut args = vec!["--only", "nothing of the study", "--contender", "postgres:tier=bounded"];
    args.splice(..2, []);
    contenders.iter().for_each(|contender| args.extend(["--contender", contender]));
    place.run_sound(&args);
    let record = record(&place);
    for word in ["all", "translations", "none"] {
        let ours = |trial: &&contend::record::model::Trial| trial.contender.contains(&format!("shim_cache={word}"));
        let trials: Vec<_> = record.trials.iter().filter(ours).collect();
        assert!(!trials.is_empty(), "{word}");
        for trial in trials {
            let found = |name: &str| trial.settings.get(name).cloned().unwrap_or_default();
            assert_eq!((found("shim_cache"), found("busy_timeout")), (word.to_string(), "700".to_string()));
            assert_eq!(found("synchronous_commit"), "off", "set and read through the library");
        }
    }
}
