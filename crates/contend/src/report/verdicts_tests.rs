//! Conclusions that would follow from the lucky part of what was measured: none is drawn.

use super::testing::Story;
use super::tests::record;
use super::*;
use crate::analysis::Findings;
use crate::analysis::compare_records::compare;
use crate::analysis::estimate::Lacking;
use crate::analysis::reported;
use crate::analysis::tally::{Counting, Tallying};
use crate::outcome::reason::Invalid;
use crate::record::model::{ServerInfo, Trial};
use crate::record::store::Record;
use crate::stats::precision::plain;
use crate::stats::verdict::Verdict;
use crate::study::model::{Answer, OwnMetric, Until};

use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

fn sound() -> (TempDir, Record) {
    record(&Story { invalid: vec![], window_ns: 60_000_000, ..Story::default() })
}

/// Why a candidate of the first condition is not comparable; empty if it is. Every reason says what to do.
fn why(findings: &Findings<'_>, candidate: usize, metric: &str) -> String {
    match &findings.compared(0, candidate, metric).unwrap().comparison.verdict {
        Verdict::NotComparable(reason) => {
            assert!(advises(reason), "{reason}");
            reason.clone()
        }
        _ => String::new(),
    }
}

/// Whether a reason ends in what to do.
fn advises(reason: &str) -> bool {
    let verbs = ["choose ", "compare ", "fix ", "let ", "measure ", "run ", "use ", "wait "];
    reason.rsplit_once("; ").is_some_and(|(_, advice)| verbs.iter().any(|verb| advice.starts_with(verb)))
}

/// Trials of a contender under the first condition, in the order of rounds.
fn trials(record: &mut Record, contender: usize) -> impl Iterator<Item = &mut Trial> {
    record.trials.iter_mut().filter(move |trial| (trial.slot.condition, trial.slot.contender) == (0, contender))
}

/// Makes `times` as many operations of a trial never begin as began.
fn never_begun(trial: &mut Trial, began: &BTreeMap<u32, u64>, times: u64) {
    trial.planned = BTreeMap::from([("page_view".to_string(), began[&trial.slot.trial] * (times + 1))]);
}

fn began(record: &Record) -> BTreeMap<u32, u64> {
    Findings::new(record).rows.iter().map(|row| (row.number, row.measured.as_ref().unwrap().counts.planned())).collect()
}

#[test]
fn sentences_of_a_study_that_contradict_its_run_stand_next_to_what_was_measured() {
    let (_dir, mut record) = sound();
    let answers = |record: &Record| -> Vec<String> {
        let findings = Findings::new(record);
        findings.answers.iter().map(content::words::answer).collect()
    };
    record.run.study.built_in = false;
    for answer in &mut record.run.study.answers {
        answer.words.values_mut().for_each(|sentence| *sentence = "Slower, by far.".to_string());
        answer.facts.values_mut().for_each(|sentence| *sentence = "No client waited.".to_string());
    }
    let said = answers(&record);
    assert_eq!(said[0], "Slower, by far. (Verdict: WAL/NORMAL is faster than DELETE/FULL.)");
    let counts = said.iter().find(|said| said.starts_with("No client waited.")).expect("an answer about counts");
    assert!(counts.contains("(Values: WAL/NORMAL deferred ") && counts.contains(", WAL/NORMAL 0"), "{counts}");
    let both = |answer: &mut Answer| {
        answer
            .facts
            .values_mut()
            .for_each(|sentence| *sentence = "Clients waited: {this_value}, {against_shown}.".to_string());
    };
    record.run.study.answers.iter_mut().for_each(both);
    let said = answers(&record);
    assert!(
        said.iter().any(|said| said.starts_with("Clients waited: "))
            && !said.iter().any(|said| said.contains("Values:"))
    );
    record.run.study.built_in = true;
    assert_eq!(answers(&record)[0], "Slower, by far.", "contend's own sentences need no second one");
    record.run.study.built_in = false;
    record.run.study.answers.iter_mut().for_each(|answer| answer.words.clear());
    assert!(!answers(&record)[0].contains("Verdict:"), "the words are contend's");
}

#[test]
fn facts_can_compare_two_conditions() {
    let (_dir, mut record) = sound();
    let study = &mut record.run.study;
    let labels = [0, 1].map(|condition: usize| study.conditions[condition].label.clone());
    let answer = study.answers.iter_mut().find(|answer| !answer.facts.is_empty()).expect("facts");
    answer.against = answer.this.clone();
    [answer.condition, answer.against_condition] = labels.map(Some);
    answer.facts = [("both".to_string(), "Locked: {this_value}, and there {against_value}.".to_string())].into();
    let (asked, metric) = (answer.this.clone(), answer.metric.clone());
    let contender = study.contenders.iter().position(|contender| contender.label == asked).expect("it runs");
    let findings = Findings::new(&record);
    let metric = findings.metric(&metric).expect("the study's own");
    let shown = [0, 1].map(|condition| {
        let cell = findings.cell(condition, contender).expect("trials");
        plain(findings.estimator().estimate(cell, &metric).value.expect("a number"))
    });
    assert_ne!(shown[0], shown[1]);
    let said: Vec<String> = findings.answers.iter().map(content::words::answer).collect();
    let wanted = format!("Locked: {}, and there {}.", shown[0], shown[1]);
    assert!(said.iter().any(|said| said.starts_with(&wanted)), "{wanted} {said:?}");
}

#[test]
fn a_run_without_the_work_that_is_asked_about_cannot_tell() {
    let (_dir, mut record) = sound();
    let said =
        |record: &Record| -> Vec<String> { Findings::new(record).answers.iter().map(content::words::answer).collect() };
    let none = OwnMetric { name: "none".into(), value: "0 * planned".into(), ..record.run.study.metrics[0].clone() };
    record.run.study.metrics.push(none);
    let mut with = |metric: &str| {
        let answer = record.run.study.answers.iter_mut().find(|answer| !answer.facts.is_empty()).expect("facts");
        answer.cannot_tell_if = Some(metric.to_string());
        answer.facts.insert("cannot-tell".to_string(), "Cannot tell: {this_value}.".to_string());
        said(&record).iter().any(|said| said.starts_with("Cannot tell: "))
    };
    assert!(with("locked_per_1000"), "above 0 for one of the two");
    assert!(!with("none"));
}

#[test]
fn operations_that_never_began_are_longer_than_any_quantile() {
    let (_dir, mut record) = sound();
    let began = began(&record);
    let own = |name: &str, value: &str| OwnMetric {
        name: name.to_string(),
        value: value.to_string(),
        ..record.run.study.metrics[0].clone()
    };
    record.run.study.metrics = vec![own("mean_ms", "response_ns_mean / 1e6")];
    record.run.study.headline = "mean_ms".to_string();
    assert_eq!(why(&Findings::new(&record), 0, "mean_ms"), "");
    trials(&mut record, 0).for_each(|trial| never_begun(trial, &began, 4));
    let findings = Findings::new(&record);
    let cell = findings.cell(0, 0).unwrap();
    assert!(findings.estimate(cell, "response_ns_p50").at_least);
    assert_eq!(findings.estimate(cell, "response_ns_mean").lacking, Some(Lacking::CutOff));
    assert!(findings.estimate(cell, "service_ns_mean").value.is_some(), "service begins when the operation does");
    for metric in ["response_ns_p50", "mean_ms"] {
        assert!(why(&findings, 0, metric).starts_with("not the same work"), "{}", why(&findings, 0, metric));
    }
    record.run.study.margin = 10.0;
    let findings = Findings::new(&record);
    let p50 = why(&findings, 0, "response_ns_p50");
    assert!(p50.starts_with("operations that never began, timeouts, cut-off"), "{p50}");
    let mean = why(&findings, 0, "mean_ms");
    assert!(mean.starts_with("operations that never began"), "{mean}");
}

#[test]
fn operations_that_never_began_are_left_out_for_a_throughput() {
    let (_dir, mut record) = sound();
    let began = began(&record);
    trials(&mut record, 0).for_each(|trial| never_begun(trial, &began, 4));
    assert_eq!(why(&Findings::new(&record), 0, "throughput_ops_per_s"), "");
}

#[test]
fn whether_a_quantile_may_be_compared_depends_on_the_rounds_that_are_compared() {
    let (_dir, mut record) = sound();
    let began = began(&record);
    trials(&mut record, 1).skip(2).for_each(|trial| trial.invalid = vec![Invalid::Invariant.because("")]);
    trials(&mut record, 0).take(2).for_each(|trial| never_begun(trial, &began, 1));
    trials(&mut record, 0).take(1).for_each(|trial| never_begun(trial, &began, 2));
    record.run.study.margin = 10.0;
    let findings = Findings::new(&record);
    assert!(!findings.estimate(findings.cell(0, 0).unwrap(), "response_ns_p50").at_least);
    let why = why(&findings, 0, "response_ns_p50");
    assert!(why.contains("never began") && why.contains("p50 of WAL/FULL; "), "{why}");
}

#[test]
fn rounds_that_are_lost_by_what_is_compared_leave_no_verdict() {
    for (kind, words) in [
        (Invalid::NothingDone, "in 1 of 6 rounds WAL/FULL committed nothing"),
        (Invalid::GeneratorLimited, "in 1 of 6 rounds the clients of WAL/FULL were the limit"),
    ] {
        let (_dir, mut record) = sound();
        trials(&mut record, 0).take(1).for_each(|trial| trial.invalid = vec![kind.because("")]);
        let findings = Findings::new(&record);
        let why = why(&findings, 0, "throughput_ops_per_s");
        assert!(why.starts_with(words), "{why}");
        let effect = findings.effects.iter().find(|of| of.condition == 0 && of.pairs.contains(&(0, 3))).unwrap();
        let of_effect = effect.result.as_ref().unwrap_err();
        assert!(of_effect.starts_with(words) && advises(of_effect), "{of_effect}");
        let (_dir, other) = sound();
        let rows = compare(&findings, &Findings::new(&other)).rows;
        let verdict = &rows.iter().find(|row| row.label == "WAL/FULL").unwrap().comparison.verdict;
        assert!(verdict.to_string().contains("rounds"), "{verdict}");
    }
}

#[test]
fn a_service_that_was_down_in_some_rounds_has_no_verdict() {
    let (_dir, mut record) = sound();
    trials(&mut record, 0).take(1).for_each(|trial| trial.invalid = vec![Invalid::NotStarted.because("")]);
    assert_eq!(why(&Findings::new(&record), 0, "throughput_ops_per_s"), "", "what contend starts");
    record.run.study.contenders.iter_mut().for_each(|contender| contender.resolved.service = true);
    let why = why(&Findings::new(&record), 0, "throughput_ops_per_s");
    assert!(why.starts_with("in 1 of 6 rounds WAL/FULL could not be reached"), "{why}");
}

#[test]
fn refusing_the_slowest_makes_no_quantile_comparable() {
    let (_dir, mut record) = record(&Story { invalid: vec![], deferred_conflicts: 0.07, ..Story::default() });
    record.run.study.margin = 0.2;
    record.run.study.baselines[1] = record.run.study.contenders[3].name.clone();
    let findings = Findings::new(&record);
    assert_eq!(why(&findings, 4, "throughput_ops_per_s"), "");
    let why = why(&findings, 4, "response_ns_p50");
    assert!(why.starts_with("not the same work: of comment") && why.contains("were refused with"), "{why}");
}

#[test]
fn a_maximum_and_a_missing_value_get_no_words() {
    let (_dir, mut record) = sound();
    record.run.study.headline = "response_ns_max".to_string();
    record.run.study.effects.iter_mut().for_each(|effect| effect.metric = "cpu_ns_per_operation".to_string());
    trials(&mut record, 0).take(1).for_each(|trial| trial.workers[0].rss_bytes = 0);
    let findings = Findings::new(&record);
    let compared = findings.compared(0, 0, "response_ns_max").unwrap();
    assert!(why(&findings, 0, "response_ns_max").starts_with("a maximum is a single operation"));
    assert_eq!((compared.comparison.low, compared.comparison.ratio.is_some()), (None, true));
    let effect = findings.effects.iter().find(|of| of.condition == 0 && of.pairs.contains(&(0, 3))).unwrap();
    assert!(effect.result.as_ref().unwrap_err().starts_with("some rounds have no value"), "{:?}", effect.result);
}

#[test]
fn a_percentile_that_was_never_measured_has_no_ratio() {
    let (_dir, mut record) = record(&Story { measures_lock_wait: false, invalid: vec![], ..Story::default() });
    record.run.study.headline = "lock_wait_ns_p50".to_string();
    let findings = Findings::new(&record);
    assert_eq!(
        why(&findings, 0, "lock_wait_ns_p50"),
        "DELETE/EXTRA has no values for a p50; compare a metric that all contenders have"
    );
    let comparison = &findings.compared(0, 0, "lock_wait_ns_p50").unwrap().comparison;
    assert_eq!((comparison.ratio, comparison.minimum_detectable_effect), (None, None));
}

#[test]
fn every_reason_not_to_compare_says_what_to_do() {
    type Change = fn(&mut Record);
    let cases: [(&str, &str, Change); 6] = [
        ("the rounds went on until", "response_ns_p50", |record| {
            record.run.study.until = Some(Until { within: 0.05, rounds_max: 40 });
        }),
        ("a maximum", "response_ns_max", |_| ()),
        ("no round has a valid trial of both", "throughput_ops_per_s", |record| {
            trials(record, 0).for_each(|trial| trial.invalid = vec![Invalid::Invariant.because("")]);
        }),
        ("some rounds have no value", "cpu_ns_per_operation", |record| {
            trials(record, 0).take(1).for_each(|trial| trial.workers[0].rss_bytes = 0);
        }),
        ("WAL/FULL has no value of", "cpu_ns_per_operation", |record| {
            trials(record, 0).for_each(|trial| trial.workers[0].rss_bytes = 0);
        }),
        ("p99.9 needs", "response_ns_p999", |_| ()),
    ];
    for (words, metric, change) in cases {
        let (_dir, mut record) = sound();
        record.run.study.headline = metric.to_string();
        change(&mut record);
        let reason = why(&Findings::new(&record), 0, metric);
        assert!(reason.contains(words), "{words}: {reason}");
    }
}

/// The verdict of a metric of the first contender in B, as the test changes B.
fn against_itself(metric: &str, change: impl Fn(&mut Record)) -> String {
    let (_dir, a) = sound();
    let (_dir, mut b) = sound();
    let headline = |record: &mut Record| record.run.study.headline = metric.to_string();
    let mut a = a;
    headline(&mut a);
    headline(&mut b);
    change(&mut b);
    let rows = compare(&Findings::new(&a), &Findings::new(&b)).rows;
    rows.iter().find(|row| row.metric == metric).unwrap().comparison.verdict.to_string()
}

#[test]
fn two_records_are_compared_by_the_rules_of_a_run() {
    let p50 = "response_ns_p50";
    assert_eq!(against_itself(p50, |_| {}), "cannot tell");
    let of_until = against_itself(p50, |b| b.run.study.until = Some(Until { within: 0.05, rounds_max: 40 }));
    assert!(of_until.contains("not comparable: the rounds went on until"), "{of_until}");
    let settings = against_itself(p50, |b| {
        b.run.study.contenders[0].resolved.settings.insert("synchronous".to_string(), "EXTRA".to_string());
    });
    assert!(settings.contains("settings differ: synchronous is FULL in A, EXTRA in B"), "{settings}");
    let missing = against_itself("cpu_ns_per_operation", |b| {
        trials(b, 0).take(1).for_each(|trial| trial.workers[0].rss_bytes = 0);
    });
    assert!(missing.contains("1 of 6 rounds of B have no value of"), "{missing}");
    let unequal = against_itself("response_ns_mean", |b| {
        let began = began(b);
        trials(b, 0).for_each(|trial| never_begun(trial, &began, 1));
    });
    assert!(unequal.contains("not the same work: of page_view"), "{unequal}");
}

#[test]
fn a_commit_inside_the_window_is_one_of_its_client_whenever_it_was_due() {
    let (_dir, record) = sound();
    for trial in &record.trials {
        let mut tallying = Tallying::new(trial, Counting::Corrected);
        record.samples(trial.slot.trial, |sample| tallying.push(sample)).unwrap();
        let tally = tallying.finish(&BTreeMap::new(), &[]);
        let counts = tally.counts(|_| true);
        let by_client: u64 = tally.clients.values().map(|client| client.committed).sum();
        assert_eq!(by_client, counts.committed_inside);
    }
}

#[test]
fn damaged_samples_take_one_trial_and_no_more() {
    let (dir, mut record) = sound();
    record.run.study.contenders.iter_mut().for_each(|contender| contender.resolved.service = true);
    let number = trials(&mut record, 0).next().unwrap().slot.trial;
    let all = record.trials.len();
    let server: ServerInfo = toml::from_str("version = '1'").unwrap();
    for (of, trial) in (1..).zip(trials(&mut record, 0)) {
        trial.server = Some(ServerInfo { rss_bytes: Some(1000 * of), ..server.clone() });
    }
    fs::write(dir.path().join(format!("trials/{number:04}/samples.bin")), "damaged").unwrap();
    let findings = Findings::new(&record);
    assert!(findings.requests[0].total() > 0 && findings.requests[1].total() > 0);
    assert_eq!(reported::marked(&findings).counting, all - 1);
    let servers = reported::servers(&findings);
    assert_eq!(servers.iter().map(|of| (of.condition, of.contender)).collect::<Vec<_>>(), [(0, 0)]);
    assert_eq!(servers[0].rss_bytes, Some(4000), "of rounds 2 to 6");
}

#[test]
fn an_interrupted_run_has_not_reached_its_limit() {
    let (_dir, mut record) = record(&Story { interrupted_after: Some(20), ..Story::default() });
    (record.run.study.rounds, record.run.study.until) = (40, Some(Until { within: 0.05, rounds_max: 40 }));
    let text = text::text(&content::document(&Findings::new(&record)), text::Style::FILE);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 of at most 40 rounds: the run was interrupted"), "{text}");
}
