//! Claims that a report must not make: metrics of invalid trials, ranks across tiers or by chance, unobserved causes.

use super::testing::{Story, resolve_again};
use super::*;
use crate::analysis::Findings;
use crate::analysis::compare_records::compare;
use crate::analysis::requests;
use crate::analysis::tally::{Counting, Tallying};
use crate::analysis::trial::Scope;
use crate::check::{guards, marks};
use crate::outcome::Outcome;
use crate::outcome::mark::Mark;
use crate::outcome::reason::Invalid;
use crate::record::model::{Program, ServerInfo};
use crate::record::store::Record;
use crate::report::content::words;
use crate::report::document::Block;
use crate::stats::unit::Unit;
use crate::stats::verdict::Verdict;
use crate::study::model::{Along, Grid, OwnMetric, Tells};
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;

fn record(story: &Story) -> (TempDir, Record) {
    let dir = tempfile::tempdir().unwrap();
    let record = story.write(dir.path());
    (dir, record)
}

/// A small record, because reports are made from it many times.
fn sound(rounds: u32) -> (TempDir, Record) {
    record(&Story { rounds, invalid: vec![], window_ns: 60_000_000, ..Story::default() })
}

fn page(record: &Record) -> String {
    markdown::markdown(&content::document(&Findings::new(record)))
}

/// The report without its line breaks.
fn told(record: &Record) -> String {
    page(record).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_rounds_without_a_timeout_do_not_stand_for_those_with_one() {
    let (_dir, mut record) = record(&Story::default());
    let metric = |name: &str, value: &str| OwnMetric {
        name: name.to_string(),
        about: String::new(),
        value: value.to_string(),
        unit: Unit::Plain,
        per: String::new(),
        higher_is_better: false,
    };
    record.run.study.metrics = vec![metric("mean_ms", "service_ns_mean.write / 1e6")];
    for effect in &mut record.run.study.effects {
        effect.metric = "service_ns_mean.write".to_string();
    }
    let findings = Findings::new(&record);
    let cell = findings.cell(1, 2).unwrap();
    assert!(cell.pool(Scope::Write).counts.outcome(Outcome::Timeout) > 0);
    for name in ["service_ns_mean.write", "mean_ms"] {
        let estimate = findings.estimate(cell, name);
        assert!(!estimate.rounds.is_empty(), "{name}: some rounds had no timeout");
        assert_eq!((estimate.value, estimate.low, estimate.high), (None, None, None), "{name}");
    }
    assert!(findings.estimate(cell, "service_ns_mean.write").lacking.is_some());
    assert!(findings.estimate(cell, "service_ns_mean.read").value.is_some(), "reads were not cut off");
    let effect = findings.effects.iter().find(|e| e.condition == 1 && e.factor.factor == "journal_mode").unwrap();
    assert_eq!(effect.pairs, [(2, 0)]);
    let why = effect.result.as_ref().unwrap_err();
    assert!(why.contains("unknown end reach into the mean service time of writes of DELETE/FULL"), "{why}");
}

#[test]
fn rates_of_other_work_get_no_words_whoever_named_the_figure() {
    let (_dir, mut record) = record(&Story { invalid: vec![], ..Story::default() });
    let metric = |name: &str, value: &str| OwnMetric {
        name: name.to_string(),
        about: String::new(),
        value: value.to_string(),
        unit: Unit::Plain,
        per: String::new(),
        higher_is_better: true,
    };
    record.run.study.metrics = vec![
        metric("rows_per_s", "rows.write / elapsed_s"),
        metric("given_up_per_s", "timeout.write / elapsed_s"),
        metric("given_up_percent", "100 * timeout.write / (timeout.write + committed.write)"),
    ];
    // A few operations of one contender are given up, which the default margin tolerates.
    record.run.study.margin = 1e-9;
    let mut unequal = |headline: &str| {
        record.run.study.headline = headline.to_string();
        let findings = Findings::new(&record);
        let told = |c: &&crate::analysis::compare::Compared| matches!(&c.comparison.verdict, Verdict::NotComparable(why) if why.starts_with("not the same work"));
        findings.comparisons.iter().filter(|c| c.metric.name == headline).filter(told).count()
    };
    assert!(unequal("throughput_ops_per_s") > 0);
    assert!(unequal("rows_per_s") > 0);
    assert_eq!(unequal("given_up_per_s") + unequal("given_up_percent"), 0, "what was refused is their subject");
    // Its bar is drawn faintly.
    record.run.study.headline = "throughput_ops_per_s".to_string();
    let document = content::document(&Findings::new(&record));
    let page = html::html(&document);
    assert!(page.contains("<rect class=\"bar faint\"") && page.contains("<rect class=\"bar\""));
    let text = text::text(&document, text::Style::FILE);
    assert!(text.contains("A faint bar (dots in text)") && text.contains("....."), "{text}");
}

pub(super) fn grid(rows: &str, columns: &str, at: &[(&str, &str)], metric: &str) -> Grid {
    Grid {
        about: "A grid".to_string(),
        ask: Some("Which, and how much does it matter?".to_string()),
        rows: rows.to_string(),
        columns: columns.to_string(),
        at: at.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        metric: metric.to_string(),
        part_of: None,
    }
}

/// The first screen's answer to the question of a grid, in one line.
fn said(record: &mut Record, grid: Grid) -> String {
    record.run.study.grids = vec![grid];
    let text = told(record);
    let (_, after) = text.split_once("how much does it matter?").unwrap_or_else(|| panic!("{text}"));
    let end = after.find("Is the log faster").unwrap_or(after.len());
    after[..end].to_string()
}

#[test]
fn a_grid_ranks_within_a_tier_and_where_intervals_are_apart() {
    let (_dir, mut record) = record(&Story { deferred_conflicts: 0.0, invalid: vec![], ..Story::default() });
    let ranked = said(&mut record, grid("journal_mode", "synchronous", &[], "throughput_ops_per_s"));
    for words in [
        "Durable: WAL with synchronous FULL is first with",
        "DELETE with synchronous EXTRA last with",
        "Bounded: WAL with synchronous NORMAL is first with",
        "DELETE with synchronous FULL last with",
    ] {
        assert!(ranked.contains(words), "{words} is not in {ranked}");
    }
    assert!(!ranked.contains("matters"), "nothing else is the same of two with the same promise: {ranked}");
    let twins = said(&mut record, grid("begin", "journal_mode", &[("synchronous", "NORMAL")], "throughput_ops_per_s"));
    assert!(twins.contains("all of them overlap") && !twins.contains("first"), "{twins}");
    assert!(twins.contains("no choice of begin makes a difference beyond the intervals"), "{twins}");
    let rollback = record.run.study.contenders.iter_mut().find(|it| it.label == "DELETE/FULL").unwrap();
    for (key, value) in [("journal_mode", "WAL"), ("synchronous", "NORMAL"), ("begin", "exclusive")] {
        rollback.settings.insert(key.to_string(), value.to_string());
    }
    resolve_again(&mut record.run.study);
    let three = said(&mut record, grid("begin", "journal_mode", &[("synchronous", "NORMAL")], "throughput_ops_per_s"));
    assert!(three.contains("Exclusive with journal mode WAL is last with"), "{three}");
    assert!(
        three.contains("Of the other 2, 1 cannot be distinguished from the best; exclusive with journal mode WAL can."),
        "{three}"
    );
    // Another round was too fast to count.
    let fast = record.trials.iter_mut().find(|trial| trial.slot.contender == 0).unwrap();
    fast.invalid.push(Invalid::GeneratorLimited.because(""));
    let biased = said(&mut record, grid("journal_mode", "synchronous", &[], "throughput_ops_per_s"));
    assert!(biased.contains("or the load decides: WAL with synchronous FULL."), "{biased}");
    let (_dir, mut few) = sound(2);
    let few = said(&mut few, grid("journal_mode", "synchronous", &[], "throughput_ops_per_s"));
    assert!(few.contains("not every value has an interval") && !few.contains("first"), "{few}");
}

#[test]
fn a_grid_has_its_title_on_the_first_screen_and_calls_a_lower_bound_one() {
    let (_dir, mut record) = record(&Story { invalid: vec![], ..Story::default() });
    record.run.study.grids = vec![grid("journal_mode", "synchronous", &[], "response_ns_max")];
    let findings = Findings::new(&record);
    assert!(findings.estimate(findings.cell(1, 2).unwrap(), "response_ns_max").at_least);
    let page = page(&record);
    let table = page.split_once("A grid").unwrap().1;
    assert!(table.contains("at least "), "{table}");
    let screen = first_screen(&content::document(&findings), text::Style::FILE);
    assert!(screen.contains("\nA grid:\n") && !screen.contains("What this does not show"), "{screen}");
}

#[test]
fn requests_are_summed_over_trials_that_count_and_of_their_windows() {
    let (_dir, mut record) = sound(1);
    record.run.study.conditions.truncate(1);
    record.trials.iter_mut().for_each(|trial| (trial.slot.condition, trial.slot.contender) = (0, 0));
    // No operation is in flight when the window begins, and every client is busy when it ends.
    record.trials.iter_mut().for_each(|trial| trial.window_start_ns -= 30_000_000);
    let value = |record: &Record| {
        let sum = requests::sums(record).unwrap().swap_remove(0);
        let per_s = sum.per_s().map(|rate| (rate * 10.0).round() / 10.0);
        serde_json::json!({
            "total": sum.total(),
            "ok": sum.ok,
            "failed": sum.all_failed(),
            "wall_s": sum.wall_ns as f64 / 1e9,
            "req_per_s": per_s,
            "p99_ms": sum.time_ns(0.99),
        })
    };
    let throughput = |record: &Record| {
        let findings = Findings::new(record);
        let valid = findings.rows.iter().filter(|row| row.is_valid()).map(|row| row.measured.as_ref().unwrap());
        let (done, ns) = valid.fold((0, 0), |(n, ns), m| (n + m.counts.committed_inside, ns + m.elapsed_ns));
        (done as f64 * 1e9 / ns as f64 * 10.0).round() / 10.0
    };
    let all = value(&record);
    assert_eq!(all["req_per_s"].as_f64(), Some(throughput(&record)));
    let due = all["ok"].as_f64().unwrap() / all["wall_s"].as_f64().unwrap();
    assert!(due > throughput(&record) + 1.0, "some were due in the window and ended after it: {due}");
    record.trials[0].invalid.push(Invalid::Accounts.because(""));
    let rest = value(&record);
    assert!(rest["total"].as_u64() < all["total"].as_u64(), "{rest}");
    assert_eq!(rest["req_per_s"].as_f64(), Some(throughput(&record)));
    // The operations are as reported; their speed is not.
    record.trials.iter_mut().for_each(|trial| trial.invalid = vec![Invalid::GeneratorLimited.because("")]);
    let counts = value(&record);
    assert_eq!((&counts["total"], &counts["failed"]), (&all["total"], &all["failed"]));
    assert!(counts["req_per_s"].is_null() && counts["p99_ms"].is_null(), "{counts}");
    record.trials.iter_mut().for_each(|trial| trial.invalid = vec![Invalid::Settings.because("")]);
    assert_eq!((value(&record)["total"].as_u64(), value(&record)["req_per_s"].is_null()), (Some(0), true));
}

#[test]
fn what_was_never_sent_makes_no_operation_shorter() {
    let (_dir, record) = sound(1);
    let trial = &record.trials[0];
    let tally = |planned: u64| {
        let mut tallying = Tallying::new(trial, Counting::Corrected);
        record.samples(trial.slot.trial, |sample| tallying.push(sample)).unwrap();
        tallying.finish(&BTreeMap::from([("page_view".to_string(), planned)]), &["page_view".to_string()])
    };
    let sent = tally(0);
    let mean_ns = sent.latencies(|_| true).busy_ns / sent.counts(|_| true).planned();
    let behind = tally(100_000);
    assert!(behind.counts(|_| true).outcome(Outcome::Unsent) > 90_000);
    for tally in [&sent, &behind] {
        assert_eq!(guards::head_room(mean_ns / 25, tally), None, "4 % of the mean operation");
        assert!(guards::head_room(mean_ns / 5, tally).is_some());
    }
}

#[test]
fn only_a_noisy_machine_is_called_a_disturbance() {
    let (_dir, mut record) = sound(1);
    for trial in &mut record.trials {
        trial.marks = vec![Mark::Starved { clients: 3, of: 4 }];
    }
    let text = told(&record);
    assert!(!text.contains("disturbed") && !text.contains("quieter machine"), "{text}");
    assert!(text.contains("10 of 10 trials have a note and count nevertheless"), "{text}");
    for trial in &mut record.trials {
        trial.foreign_cpu_permille = 900;
        trial.marks = marks::noisy_cpu(900).into_iter().collect();
    }
    let text = told(&record);
    assert!(text.contains("10 of 10 trials were disturbed") && text.contains("quieter machine"), "{text}");
    assert!(text.contains("Other programs used up to 90.0 % of the CPU"), "{text}");
    // With an unwatched server, foreign CPU time does not indicate a disturbance.
    for trial in &mut record.trials {
        trial.server_unwatched = true;
        trial.marks = vec![Mark::NoisyDisk { sync_ns: 9_000_000 }];
    }
    let page = told(&record);
    assert!(!page.contains("used up to 90 %") && page.contains("with the server if it is on this machine"), "{page}");
}

/// Metrics over clients and server.
const NAMES: [&str; 2] = ["cpu_ns_per_operation", "written_bytes_per_operation"];

#[test]
fn what_an_operation_costs_is_the_clients_and_the_servers_part_together() {
    let (_dir, mut record) = sound(1);
    let server = |cpu_ns: Option<u64>| ServerInfo {
        version: "1".to_string(),
        cpu_ns,
        rss_bytes: cpu_ns,
        pss_bytes: None,
        written_bytes: cpu_ns,
        translation: vec![],
        hello: BTreeMap::new(),
        done: BTreeMap::new(),
        lock_waits: None,
        daemon: None,
        serving: None,
        syncs: None,
    };
    let costs = |record: &Record| {
        let findings = Findings::new(record);
        let cell = findings.cell(0, 0).unwrap();
        NAMES.map(|name| findings.estimate(cell, name).value)
    };
    let alone = costs(&record).map(Option::unwrap);
    record.trials.iter_mut().for_each(|trial| trial.server = Some(server(Some(7_000_000_000))));
    let both = costs(&record).map(Option::unwrap);
    let operations = {
        let findings = Findings::new(&record);
        let row = findings.rows.iter().find(|row| (row.condition, row.contender) == (0, 0)).unwrap();
        row.measured.as_ref().unwrap().counts.committed_inside as f64
    };
    for (both, alone) in both.iter().zip(alone) {
        assert!((both - alone - 7e9 / operations).abs() < 1.0, "{both} {alone}");
    }
    for name in NAMES {
        assert!(Findings::new(&record).metric(name).unwrap().label().contains("clients and server"));
    }
    record.trials.iter_mut().for_each(|trial| trial.server = Some(server(None)));
    assert_eq!(costs(&record), [None, None], "half of it would look like the whole");
}

#[test]
fn conditions_of_one_label_are_compared_only_if_they_are_the_same() {
    let (_dir, a) = sound(6);
    let (_other, mut b) = record(&Story { seed: 2, invalid: vec![], window_ns: 60_000_000, ..Story::default() });
    b.run.study.conditions[0].axes.insert("clients".to_string(), "9".to_string());
    let found = compare(&Findings::new(&a), &Findings::new(&b));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    for row in &found.rows {
        let other = matches!(&row.comparison.verdict, Verdict::NotComparable(why) if why.contains("clients=9 in B"));
        assert_eq!(other, row.condition == b.run.study.conditions[0].label, "{:?}", row.comparison.verdict);
    }
}

#[test]
fn what_a_server_counts_all_the_time_is_held_against_all_the_time() {
    let (_dir, mut record) = sound(1);
    record.run.study.metrics = vec![OwnMetric {
        name: "spent".to_string(),
        about: String::new(),
        value: "clients_s".to_string(),
        unit: Unit::Plain,
        per: String::new(),
        higher_is_better: false,
    }];
    let trial = &record.trials[0];
    let mut last_ns = 0;
    record.samples(trial.slot.trial, |sample| last_ns = last_ns.max(sample.finished_ns)).unwrap();
    let begun_ns = trial.window_start_ns - record.run.study.load.run_in_ns;
    let findings = Findings::new(&record);
    let row = findings.rows.iter().find(|row| row.number == trial.slot.trial).unwrap();
    let spent = findings.metric("spent").unwrap().of_trial(row, &findings.transactions).unwrap();
    assert!((spent - (last_ns - begun_ns) as f64 / 1e9).abs() < 1e-9, "{spent}");
    assert!(spent > (trial.window_end_ns - trial.window_start_ns) as f64 / 1e9);
}

/// The first screen's answer along the number of clients, with the record's two loads as these numbers.
fn along(record: &mut Record, clients: [&str; 2], metric: &str, tells: Tells) -> String {
    let study = &mut record.run.study;
    for (condition, clients) in study.conditions.iter_mut().zip(clients) {
        condition.profile = None;
        condition.axes.insert("clients".to_string(), clients.to_string());
    }
    let ask = "Up to how many?".to_string();
    let because = BTreeMap::from([("WAL/FULL".to_string(), "One writes at a time.".to_string())]);
    study.alongs = vec![Along { ask, axis: "clients".to_string(), metric: metric.to_string(), tells, because }];
    let text = told(record);
    let (_, after) = text.split_once("Up to how many?").unwrap_or_else(|| panic!("{text}"));
    let end = after.find("What does each setting do?").unwrap_or_else(|| panic!("{after}"));
    after[..end].to_string()
}

#[test]
fn what_stops_along_an_axis_is_said_where_rounds_tell_it() {
    let (_dir, mut record) = sound(6);
    // Three in ten are writes under the second load, one in ten under the first.
    let falls = along(&mut record, ["1", "64"], "throughput_ops_per_s", Tells::Plateau);
    assert!(falls.contains("Throughput by clients, best of durable: with 1 WAL/FULL ("), "{falls}");
    assert!(falls.contains("with 1 and 64 clients; best with 1, and worse with more: with 64 0."), "{falls}");
    assert_eq!(falls.matches("One writes at a time.").count(), 1, "of the one that the study says it of: {falls}");
    assert!(!falls.contains("rounds that a verdict needs"), "{falls}");
    let grows = along(&mut record, ["64", "1"], "throughput_ops_per_s", Tells::Plateau);
    assert!(grows.contains("; best with 64, the most that was tried: 1.") && !grows.contains("worse with"), "{grows}");
    assert!(!grows.contains("One writes at a time."), "nothing stopped it: {grows}");
    let (_dir, mut few) = sound(2);
    let few = along(&mut few, ["1", "64"], "throughput_ops_per_s", Tells::Plateau);
    assert!(few.contains("(2 of the 6 rounds that a verdict needs.)"), "{few}");
}

#[test]
fn a_threshold_is_the_first_value_with_anything_above_zero() {
    let (_dir, mut record) = sound(6);
    let found = along(&mut record, ["1", "64"], "locked_per_1000", Tells::Threshold);
    assert!(found.contains("WAL/NORMAL: 0 and 0 with 1 and 64 clients; none up to 64."), "{found}");
    assert!(found.contains("clients; already with 1, the least that was tried."), "{found}");
    // Removes the refusals of the first load, so that its value is 0.
    record.run.study.metrics[0].value = "max(0, 1000 * code.sqlite.517 / attempts - 15)".to_string();
    let found = along(&mut record, ["1", "64"], "locked_per_1000", Tells::Threshold);
    assert!(found.contains("none up to 1, and some from 64 on."), "{found}");
    // Under the second load most operations never began, so its median is a lower bound.
    let findings = Findings::new(&record);
    let began = findings.rows.iter().map(|row| row.measured.as_ref().unwrap().counts.planned()).max().unwrap();
    let normal = record.run.study.contenders.iter().position(|contender| contender.label == "WAL/NORMAL").unwrap();
    let p50 = findings.estimate(findings.cell(0, normal).unwrap(), "response_ns_p50").value.unwrap();
    for trial in record.trials.iter_mut().filter(|trial| trial.slot.condition == 1) {
        trial.planned = BTreeMap::from([("page_view".to_string(), 9 * began)]);
    }
    record.run.study.metrics[0].value = format!("max(0, response_ns_p50 - {p50})");
    let found = along(&mut record, ["1", "64"], "locked_per_1000", Tells::Threshold);
    assert!(
        found.contains("WAL/NORMAL: 0 and at least ") && found.contains("none up to 1, and some from 64 on."),
        "{found}"
    );
    // It would fall if only the median were larger than its bound.
    record.run.study.metrics[0].value = "response_ns_p99 / response_ns_p50".to_string();
    let findings = Findings::new(&record);
    let metric = findings.metric("locked_per_1000").unwrap();
    assert_eq!(findings.estimator().own_at_least(findings.cell(1, normal).unwrap(), &metric), None);
}

#[test]
fn the_values_beside_a_ratio_are_of_its_rounds() {
    let (_dir, mut record) = sound(6);
    let said = |record: &Record| Findings::new(record).answers.iter().map(words::answer).next().unwrap();
    assert!(!said(&record).contains("rounds that both have"));
    let lost = record.trials.iter_mut().find(|trial| trial.slot.contender == 3 && trial.slot.condition == 1).unwrap();
    lost.invalid = vec![Invalid::Invariant.because("")];
    record.run.study.answers[0].condition = Some(record.run.study.conditions[1].label.clone());
    record.run.study.answers[0].words.clear();
    let found = said(&record);
    assert!(found.contains("(In the 5 rounds that both have"), "{found}");
}

/// A ratio names its metric, a title all metrics of its charts, and only a study with an original is a corrected one.
#[test]
fn words_of_the_first_screen_say_what_they_are_about() {
    let (_dir, mut record) = record(&Story::default());
    record.run.study.headline = "response_ns_p95".to_string();
    record.run.study.answers.clear();
    let text = told(&record);
    assert!(text.contains("; its p95 response time is ") && text.contains(" that of "), "{text}");
    assert!(text.contains("the original, corrected"), "{text}");
    let title = "P95 response time, throughput";
    assert!(page(&record).lines().any(|line| line.starts_with('#') && line.contains(title)), "{text}");
    record.run.study.published.clear();
    record.run.study.changes.clear();
    assert!(!told(&record).contains("the original, corrected"));
}

/// Versions are what workers say of themselves; the digest of a program is not.
#[test]
fn another_program_of_the_same_version_is_told() {
    let digests = |of: &mut Record, digest: &str| {
        let drivers: BTreeSet<String> = of.run.study.contenders.iter().map(|c| c.driver.clone()).collect();
        let program = |driver| Program { driver, sha256: digest.repeat(64), ..Program::default() };
        of.run.programs = drivers.into_iter().map(program).collect();
    };
    let ((_dir, mut a), (_other, mut b)) = (sound(2), sound(2));
    digests(&mut a, "a");
    digests(&mut b, "a");
    assert!(compare(&Findings::new(&a), &Findings::new(&b)).changes.is_empty());
    digests(&mut b, "b");
    let found = compare(&Findings::new(&a), &Findings::new(&b)).changes;
    let words = "worker program (SHA-256): aaaaaaaaaaaa in A, bbbbbbbbbbbb in B (";
    assert!(found.len() == 1 && found[0].starts_with(words), "{found:?}");
}

/// Whatever the headline is.
#[test]
fn charts_are_of_the_headline_and_of_throughput() {
    let (_dir, mut record) = sound(6);
    record.run.study.headline = "response_ns_p50".to_string();
    let section = content::charts::throughput(&Findings::new(&record)).expect("charts");
    let titles = section.blocks.iter().filter_map(|block| match block {
        Block::Bars(bars) => bars.title.split(':').next(),
        _ => None,
    });
    let titles: BTreeSet<&str> = titles.collect();
    assert_eq!(titles, BTreeSet::from(["P50 response time", "Throughput"]));
}

#[test]
fn contenders_that_did_what_was_asked_have_that_as_their_verdict() {
    let (_dir, mut record) = sound(6);
    record.run.study.headline = "throughput_ops_per_s".to_string();
    let asked = |record: &Record| {
        let findings = Findings::new(record);
        let kept_up = |contender: usize, condition: usize| {
            findings.cells.iter().any(|c| c.contender == contender && c.condition == condition && c.kept_up())
        };
        let of_throughput = findings.comparisons.iter().filter(|c| c.metric.name == "throughput_ops_per_s");
        let comparable = of_throughput.filter(|c| !matches!(c.comparison.verdict, Verdict::NotComparable(_)));
        let both = |c: &crate::analysis::compare::Compared| {
            kept_up(c.baseline, c.condition) && kept_up(c.candidate, c.condition)
        };
        comparable.map(|c| (both(c), c.comparison.verdict == Verdict::AsAsked)).collect::<Vec<_>>()
    };
    assert!(asked(&record).iter().all(|(_, word)| !word), "a closed loop asks for as much as possible");
    record.run.study.load.rate_per_s = Some(200.0);
    let found = asked(&record);
    assert!(found.iter().any(|(both, _)| *both) && found.iter().all(|(both, word)| both == word), "{found:?}");
    assert!(told(&record).contains("both did what was asked"));
}

#[test]
fn operations_that_were_never_begun_and_trials_with_a_note_are_called_that() {
    let (_dir, record) = record(&Story::default());
    let text = told(&record);
    assert!(text.contains("never begun") && !text.contains("unsent"), "{text}");
    assert!(!text.contains("Trials with a mark"), "{text}");
}
