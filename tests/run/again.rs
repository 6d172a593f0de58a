//! Rounds that other programs disturb run again, and count only the second time.

use crate::support::{Bench, Busy, Said, interrupt, wrong_in};
use contend::outcome::mark::Mark;
use contend::record::store::Record;
use std::fs;
use std::path::Path;

/// Trials that ran again, and those of the schedule.
fn numbers(record: &Record) -> (Vec<u32>, Vec<u32>) {
    let of = |slots: &[contend::record::model::Slot]| slots.iter().map(|slot| slot.trial).collect();
    (of(&record.run.again), of(&record.run.schedule))
}

fn opened(dir: &Path) -> Record {
    let record = Record::open(dir).expect("a record");
    assert_eq!((&record.damaged, wrong_in(dir)), (&vec![], vec![]));
    record
}

#[test]
fn a_disturbed_round_runs_again_and_counts_the_second_time() {
    let (bench, _busy) = (Bench::new(), Busy::begin());
    let dir = bench.path("record");
    let said: Said = bench.tiny(&["--rounds", "2", "--window", "200ms", "--again", "1"]);
    said.ran();
    let record = opened(&dir);
    assert_eq!(numbers(&record), (vec![1, 2], vec![5, 6, 3, 4]), "{}", said.err);
    let is_noisy = |mark: &Mark| matches!(mark, Mark::NoisyCpu { .. });
    assert!(record.again.iter().any(|trial| trial.marks.iter().any(is_noisy)), "{:?}", record.again);
    let mut trials: Vec<(u32, u32)> = record.trials.iter().map(|trial| (trial.slot.round, trial.slot.trial)).collect();
    trials.sort_unstable();
    assert_eq!(trials, [(1, 5), (1, 6), (2, 3), (2, 4)]);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("1 of 2 rounds was disturbed and ran again"), "{}", said.out);
    let text = fs::read_to_string(dir.join("report.md")).expect("a report");
    assert!(text.contains("Trials that ran again") && text.contains("noisy: others used"), "{text}");
    let json = bench.contend(&["report", "record", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let again: Vec<u64> = json["again"].as_array().expect("a list").iter().flat_map(|t| t["trial"].as_u64()).collect();
    assert_eq!((again, &json["trials"]), (vec![1, 2], &4.into()));
    bench.contend(&["plan", "show", "--record", "record", "--trial", "1"]).exits(0);
    bench.assert_nothing_left();

    // Interrupted in the second time, only what is left runs.
    interrupt(&dir, 6, |_| ());
    bench.contend(&["run", "--resume", "record", "--quiet"]).ran();
    assert_eq!(numbers(&opened(&dir)), (vec![1, 2], vec![5, 6, 3, 4]));

    // Interrupted when the disturbed trials were over and nothing had been decided: the same is decided.
    interrupt(&dir, 6, |run| {
        run.again.clear();
        run.schedule.iter_mut().zip([1, 2]).for_each(|(slot, number)| slot.trial = number);
    });
    for trial in ["0003", "0004", "0005"] {
        fs::remove_dir_all(dir.join("trials").join(trial)).expect("removed");
    }
    bench.contend(&["run", "--resume", "record", "--quiet"]).ran();
    let resumed = opened(&dir);
    assert_eq!((numbers(&resumed), resumed.trials.len()), ((vec![1, 2], vec![5, 6, 3, 4]), 4));
}
