//! The embedded `gameplan` study.

use super::{AS_PUBLISHED, CORRECTED, QUICK, conditions, embedded, labels, names, part};
use crate::study::model::{Study, Tells, Tier};

/// A trial takes three to four seconds, most of them around its window: five minutes are not many of them.
#[test]
fn quick_answers_with_fewer_than_a_hundred_trials() {
    let whole = embedded("gameplan", QUICK, &[]);
    assert_eq!(names(&whole), ["write", "sweep", "read", "share", "power", "disk", "memory", "risk"]);
    let trials = |study: &Study| study.contenders.len() * study.conditions.len() * study.rounds as usize;
    assert!(whole.studies.iter().map(trials).sum::<usize>() < 100);
    let (write, sweep) = (part(&whole, "write"), part(&whole, "sweep"));
    assert_eq!((conditions(write), write.rounds), (vec!["write, 16 clients"], 6));
    let of_tier = |tier| write.contenders.iter().filter(|contender| contender.tier == tier).count();
    assert_eq!((of_tier(Tier::Durable), of_tier(Tier::Bounded)), (3, 3), "each engine with both promises");
    assert_eq!(conditions(sweep), ["write, 1 client", "write, 4 clients", "write, 64 clients"]);
    assert_eq!((sweep.alongs[0].axis.as_str(), sweep.alongs[0].tells), ("clients", Tells::Plateau));
    let asked = write.answers.iter().filter(|answer| answer.metric == "times_mariadb_durable");
    assert_eq!(asked.count(), 2, "the published pair, and the same with a sync on both sides");
}

#[test]
fn as_published_says_what_its_two_promise_beside_what_was_published() {
    let whole = embedded("gameplan", AS_PUBLISHED, &[]);
    assert_eq!(names(&whole), ["write", "read", "disk", "memory"]);
    let write = part(&whole, "write");
    assert_eq!(labels(write), ["SQLite, bounded", "MariaDB, durable"]);
    assert!(write.contenders.iter().all(|contender| contender.settings["gunicorn_workers"] == "16"));
    let [answer] = &write.answers[..] else { panic!("{:?}", write.answers) };
    assert!(answer.words.is_empty() && answer.ask.contains("the two promise different things"));
    assert!(whole.studies.iter().all(|study| !study.published.is_empty()));
}

#[test]
fn full_varies_what_a_program_does_inside_its_transaction() {
    let whole = embedded("gameplan", CORRECTED, &["part=hold"]);
    let hold = part(&whole, "hold");
    assert_eq!(conditions(hold), [0, 5, 10, 20, 40, 80].map(|ms| format!("write, 16 clients, hold_ms={ms}")));
    assert_eq!(hold.contenders.len(), 3);
    assert!(hold.contenders.iter().all(|contender| contender.tier == Tier::Durable));
}
