//! Tests of the report of made-up searches.

use super::*;
use crate::relax::Suspect;
use crate::saved::{Arm, Budget, Busy, Relaxed};
use crate::testing::{arm, met, saved};

/// A contender of 940/s whose writers are relaxed in another arm, and one that was measured once.
fn searched() -> Saved {
    let relaxed = Relaxed {
        of: 0,
        suspect: Suspect::Writers.word().to_string(),
        how: "half the writes".to_string(),
        fewer: false,
    };
    let half = Arm { relaxed: Some(relaxed), ..arm("SQLite", "durable") };
    let values = [940.0, 941.0, 939.0, 940.0, 942.0, 938.0].map(Some);
    let more = values.map(|value| value.map(|value| value * 1.8));
    let mut saved =
        saved(vec![arm("SQLite", "durable"), half, arm("Other", "durable")], &[&values, &more, &values[..1]]);
    let used = Busy { writing: Some(0.97), clients: 0.3, ..Busy::default() };
    saved.probes = vec![Probe { used: Some(used), ..met(0, 939.0) }];
    saved
}

fn answer(saved: &Saved) -> String {
    let document = document(saved);
    text::text(&document, Style::FILE).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn one_sentence_has_rate_bound_machine_limiter_evidence_and_experiment() {
    let text = answer(&searched());
    let sentence = "SQLite carries 940/s (938/s to 989/s) with p99 response time up to 50.0 ms on this machine. It is stopped \
                    by its one writer (in write transactions 97.0 % of the time): with half the writes it carries 1.80 \
                    times as much; not tried in 3 rounds: syncs.";
    assert!(text.contains(sentence), "{text}");
    let mut bounded = searched();
    bounded.arms.iter_mut().for_each(|arm| arm.tier = "bounded".to_string());
    assert!(!answer(&bounded).contains("not tried in 3 rounds"), "it waits for no sync: {}", answer(&bounded));
    let service = Saved { service: true, ..searched() };
    assert!(!answer(&service).contains("on this machine"), "it may be elsewhere");
    let bounded = Saved { bounds: vec!["failed<=1%".to_string()], ..searched() };
    assert!(
        answer(&bounded).contains("on this machine") && answer(&bounded).contains(" up to 1"),
        "{}",
        answer(&bounded)
    );
}

#[test]
fn what_a_service_writes_is_shown_where_its_process_is_known() {
    let with = |written_bytes_per_s: Option<f64>| {
        let mut saved = Saved { service: true, ..searched() };
        saved.arms[1].relaxed.as_mut().unwrap().suspect = Suspect::Clients.word().to_string();
        let used = Busy { clients: 0.9, server_cpu: Some(0.1), written_bytes_per_s, ..Busy::default() };
        saved.probes = vec![Probe { used: Some(used), ..met(0, 939.0) }];
        answer(&saved)
    };
    let text = with(Some(2048.0));
    assert!(
        text.contains("the service writes") && text.contains("2.00 KiB a second; its syncs are not measured"),
        "{text}"
    );
    assert!(text.contains("; its syncs are not measured.") && !text.contains("not tried in 3 rounds"), "{text}");
    let text = with(Some(0.0));
    assert!(
        text.contains("the service writes") && text.contains("nothing") && !text.contains("its syncs are not measured"),
        "{text}"
    );
    assert!(with(None).contains("; its syncs are not measured.") && !with(None).contains("the service writes"));
}

#[test]
fn an_arm_that_was_probed_at_one_rate_has_it_and_how_often_it_met() {
    let probed = |met: &[bool], fewer: bool| {
        let mut saved = searched();
        saved.arms[1].relaxed.as_mut().unwrap().fewer = fewer;
        let of_arm = saved.capacities.iter_mut().filter(|capacity| capacity.arm == 1);
        for (capacity, met) in of_arm.zip(met) {
            let rate = Some(if fewer { 850.0 } else { 1040.0 });
            (capacity.rate_per_s, capacity.why) = (None, String::new());
            (capacity.met, capacity.missed) = if *met { (rate, None) } else { (None, rate) };
        }
        saved.capacities.retain(|capacity| capacity.arm != 1 || capacity.value().is_none());
        saved
    };
    let text = answer(&probed(&[true; 3], false));
    assert!(text.contains("with half the writes it meets the bounds at 1,040/s too; not tried"), "{text}");
    assert!(text.contains("at least 1,040/s") && text.contains("in 3 of 3 rounds"), "{text}");
    let text = answer(&probed(&[false; 3], true));
    assert!(text.contains("with half the writes it misses them at 850/s; not tried"), "{text}");
    let text = answer(&probed(&[true, false, false], false));
    assert!(text.contains("No single limiter found") && text.contains("in 2 of 3 rounds"), "{text}");
    assert!(text.contains("below 1,040/s") && text.contains("undecided"), "{text}");
    assert!(answer(&probed(&[false; 3], false)).contains("does not move it"));
    let mut mixed = probed(&[true, false, true], false);
    mixed.capacities.iter_mut().filter(|capacity| capacity.arm == 1).nth(1).unwrap().missed = Some(1100.0);
    assert!(answer(&mixed).contains("at least 1,040/s"), "a rate that it met: {}", answer(&mixed));
    assert!(answer(&mixed).contains("moves the rate by as much as was tried"), "{}", answer(&mixed));
    let text = answer(&probed(&[true; 2], false));
    assert!(text.contains("naming one takes 3 rounds in which a suspect is relaxed"), "{text}");
    let mut other = probed(&[true; 3], false);
    let syncs = Relaxed { suspect: "syncs".to_string(), ..other.arms[1].relaxed.clone().unwrap() };
    other.arms.push(Arm { relaxed: Some(syncs), ..other.arms[1].clone() });
    other.budget = Some(Budget { left_out: vec![3], ..Budget::default() });
    assert!(answer(&other).contains("at 1,040/s too; not tried in 3 rounds: syncs."), "{}", answer(&other));
    let found = json(&probed(&[true; 3], false));
    assert!(found.contains("\"at_least\": 1.1"), "{found}");
}

#[test]
fn what_a_budget_did_not_hold_is_said_below_the_answer() {
    let lowered = "response_ns_p95<=50ms is bounded instead of response_ns_p99<=50ms".to_string();
    let budget = Budget { total_ns: 300_000_000_000, spent_ns: 281_000_000_000, rounds: 6, left_out: vec![1], lowered };
    let text = answer(&Saved { budget: Some(budget), ..searched() });
    assert!(text.contains("holds fewer than 6 rounds: Other 1."), "{text}");
    assert!(text.contains("Not tried in 3 rounds for lack of time: SQLite, half the writes."), "{text}");
    assert!(
        text.contains("is bounded instead of response_ns_p99<=50ms") && text.contains("4min 41s of 5min"),
        "{text}"
    );
    assert!(!answer(&searched()).contains("lack of time"));
}

#[test]
fn disturbed_probes_and_those_that_ran_again_are_counted() {
    let mut saved = searched();
    assert_eq!(disturbed(&saved), None);
    saved.probes.push(Probe { disturbed: true, ..met(0, 900.0) });
    assert_eq!(disturbed(&saved).as_deref(), Some("1 disturbed from outside"));
    saved.probes.push(Probe { disturbed: true, again: true, seen: Some(ProbeResult::NoValue), ..met(0, 900.0) });
    assert_eq!(disturbed(&saved).as_deref(), Some("2 disturbed from outside, 1 of them ran again"));
}

#[test]
fn wrong_work_is_said_first_and_makes_the_search_invalid() {
    let mut saved = searched();
    assert_eq!((wrong(&saved), crate::verb::status(&saved)), (None, contend::cli::OK));
    saved.complete = false;
    let why = "commits: 1 of 900 acknowledged writes is missing".to_string();
    saved.probes.push(Probe { wrong: true, why, trial: 7, seen: Some(ProbeResult::NoValue), ..met(0, 900.0) });
    saved.probes.push(Probe { wrong: true, ..met(0, 900.0) });
    let name = saved.arms[0].name();
    let said = format!(
        "Not valid: 2 probes did wrong work. The first is probe 7, {name}: commits: 1 of 900 acknowledged writes is missing."
    );
    assert_eq!((wrong(&saved), crate::verb::status(&saved)), (Some(said.clone()), contend::cli::INVALID));
    assert_eq!(document(&saved).warnings[0], said);
    assert!(answer(&saved).contains("> Not valid: SQLite carries"), "{}", answer(&saved));
    assert!(json(&saved).contains("\"valid\": false"), "{}", json(&saved));
}

#[test]
fn a_search_that_the_budget_cut_keeps_what_it_knows() {
    let mut saved = saved(vec![arm("SQLite", "durable")], &[&[None]]);
    saved.capacities[0].why = "the time of 2min is used up".to_string();
    (saved.capacities[0].met, saved.capacities[0].missed) = (Some(34.7), Some(35.7));
    let text = answer(&saved);
    let sentence = "The search for SQLite was not finished: the time of 2min is used up. It is between 34.7/s, which meets \
                    the bounds, and 35.7/s, which misses one.";
    assert!(text.contains(sentence) && text.contains("not finished: 34.7/s to 35.7/s"), "{text}");
    assert!(json(&saved).contains("\"met\": 34.7"), "{}", json(&saved));
}

/// With `--pid` the processors of a service are known from its first probe on.
#[test]
fn a_search_of_a_service_that_did_not_finish_its_first_round_says_what_its_processors_did() {
    let used = |server_cpu| Some(Busy { client_cpu: 0.25, server_cpu, other_cpu: 0.5, ..Busy::default() });
    let of = |met: Option<f64>, probes| {
        let mut saved = saved(vec![arm("127.0.0.1:80", "unknown")], &[&[None]]);
        (saved.capacities[0].met, saved.service) = (met, true);
        answer(&Saved { probes, ..saved })
    };
    let probe = |rate, cpu| Probe { used: used(cpu), ..met(0, rate) };
    let closed = Probe { rate_per_s: None, ..probe(0.0, Some(1.5)) };
    let met_one = of(Some(40.0), vec![closed.clone(), probe(40.0, Some(1.25)), probe(50.0, Some(1.75))]);
    assert!(met_one.contains("Processors at 40.0/s: clients 0.250, server 1.25 of 2, others 0.500."), "{met_one}");
    let none = of(None, vec![closed.clone(), probe(50.0, None)]);
    assert!(none.contains("Processors in a closed loop: clients 0.250, server 1.50 of 2"), "{none}");
    assert!(!of(None, vec![probe(50.0, None)]).contains("Processors"), "nothing is known of them");
}

#[test]
fn rounds_that_found_one_are_said_where_most_found_none() {
    let of = |values: &[Option<f64>]| answer(&saved(vec![arm("SQLite", "durable")], &[values]));
    let one = of(&[Some(34.7), None, None]);
    assert!(one.contains("No rate was found for SQLite: none found. Only 1 of 3 rounds found one: 34.7/s."), "{one}");
    let two = of(&[Some(34.7), None, None, Some(40.0)]);
    assert!(two.contains("Only 2 of 4 rounds found one: 34.7/s to 40.0/s."), "{two}");
    assert!(!of(&[None, None]).contains("Only"), "none did");
}

#[test]
fn too_few_rounds_for_an_interval_show_what_they_found() {
    let text = answer(&saved(vec![arm("SQLite", "durable")], &[&[Some(133.0), Some(185.0)]]));
    assert!(text.contains("(median of 2 rounds, 133/s to 185/s: too few for an interval)"), "{text}");
}

#[test]
fn charts_have_the_bound_what_was_probed_and_how_busy_each_suspect_was() {
    let used = |writing| Some(Busy { writing: Some(writing), clients: 0.3, ..Busy::default() });
    let probe =
        |rate, seen, p99, writing| Probe { seen: Some(seen), values: vec![p99], used: used(writing), ..met(0, rate) };
    let probes = vec![probe(800.0, ProbeResult::Meets, 9e6, 0.8), probe(980.0, ProbeResult::Misses, 80e6, 0.97)];
    let document = document(&Saved { probes, ..searched() });
    let lines = |title: &str| {
        let section = document.sections.iter().find(|section| section.title == title).expect("a section");
        let lines =
            section.blocks.iter().find_map(|block| if let Block::Lines(lines) = block { Some(lines) } else { None });
        lines.expect("a chart")
    };
    let points = |title: &str, series: &str| -> Vec<(f64, Option<f64>, bool)> {
        let series = lines(title).series.iter().find(|found| found.label == series).expect("a series");
        series.points.iter().map(|point| (point.x, point.y, point.weak)).collect()
    };
    let bound = points("Load and bound", "bound");
    assert!(bound.len() == 2 && bound.iter().all(|(_, y, _)| *y == Some(50e6)), "{bound:?}");
    let measured = points("Load and bound", "SQLite");
    assert_eq!(measured, [(800.0, Some(9e6), false), (980.0, Some(80e6), false)]);
    assert_eq!(points("The search", "SQLite"), [(1.0, Some(800.0), false), (2.0, Some(980.0), true)]);
    let writing = points("How busy the suspects were", "write transactions");
    assert_eq!(writing, [(800.0, Some(0.8), false), (980.0, Some(0.97), false)]);
}

#[test]
fn a_disk_that_keeps_nothing_is_named_at_the_top() {
    let disk = |file_system: &str| Disk {
        file_system: file_system.to_string(),
        fsync_ns_p50: 1000,
        fsync_ns_p95: 2000,
        fdatasync_ns_p50: 1000,
        overwrite_ns_p50: 1000,
        sync_ns_min: 500,
        probes: 8,
        mount: None,
    };
    let of = |file_system: &str| answer(&Saved { disk: Some(disk(file_system)), ..searched() });
    assert!(of("tmpfs").contains("! The data was on a file system in memory (tmpfs)"), "{}", of("tmpfs"));
    assert!(!of("ext4").contains("a power cut can lose"), "{}", of("ext4"));
}
