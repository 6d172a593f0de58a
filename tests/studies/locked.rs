//! The study of "database is locked": nothing is lost, and only those who can get the error do.

use crate::support::place::Place;
use crate::support::{column, wrong_with};
use contend::record::store::Record;
use std::fs;

#[test]
fn only_a_transaction_that_has_read_is_refused_whatever_the_timeout() {
    let place = Place::new();
    let only = "WAL/FULL*busy_timeout=5000*";
    let args = ["run", "locked", "--quick", "--quiet", "--out", "record", "--only", only];
    let record = place.bench.path("record");
    place.contend(&args).settled(&record);
    let trials = Record::open(&record).expect("a record").trials;
    assert_eq!(trials.len(), 6);
    for trial in &trials {
        let wrong = wrong_with(trial);
        assert!(wrong.is_empty(), "{}: {wrong:?}", trial.contender);
        assert!(trial.invariants.len() == 3 && trial.invariants.iter().all(|i| i.holds), "{}", trial.contender);
    }
    let refused = column(&record.join("trials.csv"), "refused_per_1000");
    let of = |begin: &str, retry: &str| {
        let named = |name: &&(String, f64)| name.0.contains(begin) && name.0.contains(retry);
        refused.iter().filter(named).map(|(_, refused)| *refused).sum::<f64>()
    };
    assert!(of("begin=deferred", "retry=none") > 0.0, "{refused:?}");
    assert!(of("begin=immediate", "retry=") < 1.0, "{refused:?}");
    let report = fs::read_to_string(record.join("report.md")).expect("a report");
    assert!(report.contains("does BEGIN IMMEDIATE help?"), "{report}");
    // The meaning of the code and a remedy are printed with it. Which of the two codes a refused transaction gets depends on
    // whether the other writer has committed yet.
    let said = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let stale = "The timeout is not waited for: waiting cannot make the snapshot new.";
    let busy = "It does not wait, whatever the timeout, when a transaction that has read wants to write";
    assert!(said.contains(stale) || said.contains(busy), "{said}");
    place.assert_nothing_left();
}
