//! The study of "database is locked": nothing is lost, and only those who can get the error do.

use crate::support::place::Place;
use crate::support::workers::needed;
use crate::support::{column, wrong_with};
use contend::record::store::Record;
use std::fs;

/// Attempts that were refused, of 1,000, by the contender's name.
struct Refused(Vec<(String, f64)>);

impl Refused {
    /// Runs the study once and looks for what is wrong in any trial.
    fn of(place: &Place, args: &[&str], trials: usize) -> Self {
        let record = place.bench.path("record");
        place.contend(&[&["run", "locked", "--quick", "--quiet", "--out", "record"], args].concat()).settled(&record);
        let found = Record::open(&record).expect("a record").trials;
        assert_eq!(found.len(), trials);
        for trial in &found {
            let wrong = wrong_with(trial);
            assert!(wrong.is_empty(), "{}: {wrong:?}", trial.contender);
            assert!(trial.invariants.len() == 3 && trial.invariants.iter().all(|i| i.holds), "{}", trial.contender);
        }
        Self(column(&record.join("trials.csv"), "refused_per_1000"))
    }

    /// The sum over all contenders with these words in their name.
    fn with(&self, words: &[&str]) -> f64 {
        let with = |name: &str| words.iter().all(|word| name.contains(word));
        let found: Vec<f64> = self.0.iter().filter(|(name, _)| with(name)).map(|(_, refused)| *refused).collect();
        assert!(!found.is_empty(), "no contender has {words:?}: {:?}", self.0);
        found.iter().sum()
    }

    /// Who can get the error in either journal: with a busy timeout a transaction that takes its lock before it reads never does;
    /// without one it does.
    fn assert_what_helps(&self) {
        for journal in ["journal_mode=wal", "journal_mode=delete"] {
            let immediate = |timeout: &str| self.with(&[journal, "begin=immediate", timeout]);
            assert!(immediate("busy_timeout=5000") < 1.0, "{journal}: {:?}", self.0);
            assert!(immediate("busy_timeout=0") > 0.0, "{journal}: {:?}", self.0);
        }
        // In WAL whatever the timeout, as a snapshot does not become new by waiting.
        for timeout in ["busy_timeout=0", "busy_timeout=5000"] {
            let refused = self.with(&["journal_mode=wal", "begin=deferred", timeout, "retry=none"]);
            assert!(refused > 0.0, "{timeout}: {:?}", self.0);
        }
    }
}

#[test]
fn only_a_transaction_that_has_read_is_refused_whatever_the_timeout() {
    let place = Place::new();
    Refused::of(&place, &[], 24).assert_what_helps();
    let report = fs::read_to_string(place.bench.path("record/report.md")).expect("a report");
    assert!(report.contains("does BEGIN IMMEDIATE help?"), "{report}");
    // The meaning of the code and a remedy are printed with it. Which of the two codes a refused transaction gets depends on
    // whether the other writer has committed yet.
    let said = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let stale = "The timeout is not waited for: waiting cannot make the snapshot new.";
    let busy = "It does not wait, whatever the timeout, when a transaction that has read wants to write";
    assert!(said.contains(stale) || said.contains(busy), "{said}");
    place.assert_nothing_left();
}

#[test]
fn through_another_driver_the_same_transactions_are_refused() {
    if needed("contend-worker-go-mattn").is_none() {
        return;
    }
    let place = Place::new();
    Refused::of(&place, &["--driver", "mattn", "--only", "*retry=none*"], 8).assert_what_helps();
    place.assert_nothing_left();
}
