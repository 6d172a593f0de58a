//! `contend run --until`: rounds go on until ratios are known, or there are enough.

use crate::support::{Bench, interrupt, sound, tiny_study};
use contend::record::store::Record;
use contend::study::model::Until;
use contend::study::schedule;
use std::fs;

#[test]
fn a_run_stops_when_the_ratio_is_known() {
    let bench = Bench::new();
    // Without syncs, so that every window has commits on the slowest disk, and there is a ratio.
    let text = fs::read_to_string(tiny_study()).expect("a study");
    let text = text.replace("synchronous = \"full\"", "synchronous = \"off\"").replace("WAL/FULL", "WAL/OFF");
    fs::write(bench.path("fast.toml"), text).expect("written");
    let within = ["--until", "ratio within 900 %", "--rounds", "40", "--window", "100ms", "--quiet"];
    let args = ["run", "fast.toml", "--out", "record"].into_iter().chain(within).collect::<Vec<_>>();
    let said = sound(&bench.path("record"), || bench.contend(&args));
    let record = Record::open(&bench.path("record")).expect("a record");
    let study = &record.run.study;
    // An invalid trial leaves a round out, and two more are needed.
    let valid_rounds = (1..=study.rounds)
        .filter(|round| record.trials.iter().filter(|t| t.slot.round == *round).all(|t| t.invalid.is_empty()))
        .count();
    assert!(valid_rounds >= 8 && study.rounds % 2 == 0, "{valid_rounds} of {} rounds", study.rounds);
    assert!(study.rounds < 40, "{}", said.out);
    assert_eq!(study.until, Some(Until { within: 9.0, rounds_max: 40 }));
    assert_eq!(
        (record.run.schedule.len(), record.trials.len()),
        (2 * study.rounds as usize, 2 * study.rounds as usize)
    );
    let facts = format!("{} of at most 40 rounds: each ratio is known within 900.0 %", study.rounds);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(&facts), "{}", said.out);
    let report = bench.contend(&["report", "record"]);
    assert!(matches!(report.code, Some(0 | 1)), "{}", report.err);
    bench.contend(&["run", "--resume", "record"]).exits(2);

    // Interrupted before it stopped, it stops at the same place, unless the trial that is done again does not count.
    let (rounds, dir) = (study.rounds, bench.path("record"));
    interrupt(&dir, 2 * rounds, |run| {
        run.study.rounds = 40;
        run.schedule = schedule(&run.study, run.study.load.seed);
    });
    bench.contend(&["run", "--resume", "record", "--quiet"]).settled(&dir);
    let resumed = Record::open(&dir).expect("a record");
    let all_count = resumed.trials.iter().all(|trial| trial.invalid.is_empty());
    let expected = if all_count { rounds } else { resumed.run.study.rounds };
    assert_eq!((resumed.run.study.rounds, resumed.trials.len()), (expected, 2 * expected as usize));
}

#[test]
fn a_run_that_never_knows_enough_ends_with_its_last_round_and_says_so() {
    let bench = Bench::new();
    let study = tiny_study();
    let args =
        ["run", &study, "--out", "record", "--until", "ratio within 0.001 %", "--rounds", "8", "--window", "60ms"];
    let said = sound(&bench.path("record"), || bench.contend(&args));
    assert!(said.err.contains("at most about"), "{}", said.err);
    let one_line = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("8 rounds, the most allowed: not each ratio is known within"), "{}", said.out);
    let record = Record::open(&bench.path("record")).expect("a record");
    assert_eq!((record.run.study.rounds, record.trials.len()), (8, 16));
}

#[test]
fn what_has_no_ratio_to_know_is_refused() {
    let bench = Bench::new();
    for (args, complaint) in [
        (vec!["--until", "ratio within 5"], "write it as 'ratio within 5 %'"),
        (vec!["--until", "ratio within 5 %", "--rounds", "6"], "--until: it needs --rounds 8 or more"),
        (vec!["--until", "ratio within 5 %", "--only", "WAL/FULL"], "no tier has a baseline and another contender"),
    ] {
        let said = bench.tiny(&args).exits(2);
        assert!(said.err.contains(complaint), "{args:?}: {}", said.err);
    }
    let said = bench.contend(&["run", "wordpress", "--as-published", "--until", "ratio within 5 %"]).exits(2);
    assert!(said.err.contains("leave --as-published out"), "{}", said.err);
    let said = bench.contend(&["run", "durability", "--quick", "--until", "ratio within 5 %"]).exits(2);
    assert!(said.err.contains("trials of kind"), "{}", said.err);
}
