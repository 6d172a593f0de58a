//! Tests of whole reports, from a record on disk to the files.

use super::claims_tests::grid;
use super::testing::{Story, resolve_again};
use super::*;
use crate::analysis::Findings;
use crate::analysis::answer;
use crate::analysis::trial::{Measure, Scope};
use crate::outcome::reason::Invalid;
use crate::record::model::RoleClients;
use crate::record::store::Record;
use crate::report::content::words;
use crate::stats::unit::Unit;
use crate::stats::verdict::Verdict;
use crate::study::model::Variant;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A run with a bit of everything, shared by all tests that only read it.
pub(super) fn usual() -> &'static Record {
    static RECORD: OnceLock<(TempDir, Record)> = OnceLock::new();
    &RECORD.get_or_init(|| record(&Story::default())).1
}

pub(super) fn record(story: &Story) -> (TempDir, Record) {
    let dir = tempfile::tempdir().unwrap();
    let record = story.write(dir.path());
    (dir, record)
}

fn file(record: &Record, name: &str) -> String {
    render(&Findings::new(record)).unwrap().into_iter().find(|file| file.name == name).unwrap().contents
}

#[test]
fn twice_the_same_bytes() {
    let (dir, record) = record(&Story { rounds: 2, ..Story::default() });
    write(&Findings::new(&record), dir.path()).unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    // A report in the record's directory changes nothing about the next one.
    let again = Record::open(dir.path()).unwrap();
    for file in render(&Findings::new(&again)).unwrap() {
        assert_eq!(file.contents, read(&file.name), "{}", file.name);
    }
}

#[test]
fn a_grid_says_how_many_contenders_have_no_place_in_it() {
    let (_dir, mut record) = record(&Story { rounds: 1, ..Story::default() });
    let mut said = |at: &[(&str, &str)]| {
        record.run.study.grids = vec![grid("begin", "journal_mode", at, "throughput_ops_per_s")];
        let text = file(&record, "report.md").split_whitespace().collect::<Vec<_>>().join(" ");
        ["2 contenders that differ in further settings are not", "1 contender that differs in further settings is not"]
            .map(|words| text.contains(&format!("{words} in this table")))
    };
    assert_eq!(said(&[]), [true, false]);
    assert_eq!(said(&[("journal_mode", "WAL")]), [false, true]);
    assert_eq!(said(&[("synchronous", "NORMAL")]), [false, false]);
}

#[test]
fn what_was_planted_is_found_and_only_inside_a_tier() {
    let findings = Findings::new(usual());
    let study = &usual().run.study;
    for compared in &findings.comparisons {
        assert_eq!(study.contenders[compared.baseline].tier, study.contenders[compared.candidate].tier);
    }
    let throughput = |condition, candidate| {
        let found = findings.compared(condition, candidate, "throughput_ops_per_s").unwrap();
        (found.comparison.verdict.clone(), found.comparison.ratio.unwrap())
    };
    let (verdict, ratio) = throughput(1, 3);
    assert!(ratio > 3.0, "{ratio}");
    assert_eq!(verdict, Verdict::Faster);
    // Trial 23 is one of the six rounds of the baseline it would be compared with.
    let lacking = findings.cells.iter().filter(|cell| cell.valid.len() == 5).count();
    assert_eq!(lacking, 2);
    let effect = findings.effects.iter().find(|e| e.condition == 1 && e.factor.factor == "synchronous").unwrap();
    assert!(effect.crosses_tiers && effect.result.as_ref().unwrap().ratio > 1.5);
    assert_eq!(effect.pairs, [(0, 3)]);
}

#[test]
fn the_answer_comes_first_in_the_studys_own_sentences() {
    let html = file(usual(), "report.html");
    let answer = html.find("Yes. With the log the site does 4.").expect("the sentence, filled in");
    assert!(answer < html.find("<table>").unwrap());
    assert!(html.contains("Only WAL/NORMAL deferred: "));
    assert!(html.contains("cannot be compared: tiers differ: bounded against durable; compare inside one tier"));
    assert!(html.find("What this does not show").unwrap() < html.find("id=\"throughput\"").unwrap());
}

#[test]
fn a_retried_conflict_and_a_timeout_are_told_apart() {
    let text = file(usual(), "report.txt");
    assert!(text.contains("SQLITE_BUSY_SNAPSHOT (517): a transaction that began by reading cannot write"));
    let findings = Findings::new(usual());
    let counts = |contender| &findings.cell(1, contender).unwrap().pool(Scope::All).counts;
    assert!(counts(4).outcome(crate::outcome::Outcome::Conflict) > 0 && counts(4).retries > 0);
    assert!(counts(2).outcome(crate::outcome::Outcome::Timeout) > 0);
    assert_eq!(counts(2).outcome(crate::outcome::Outcome::Conflict), 0);
}

#[test]
fn an_invalid_trial_is_shown_with_its_reason_and_in_no_figure() {
    let findings = Findings::new(usual());
    let row = findings.rows.iter().find(|row| row.number == 7).unwrap();
    assert_eq!(row.reasons[0].kind, Invalid::Invariant);
    let place = findings.rows.iter().position(|row| row.number == 7).unwrap();
    assert!(findings.cells.iter().all(|cell| !cell.valid.contains(&place)));
    assert!(file(usual(), "report.md").contains("expected 410, found 409"));
    let csv = file(usual(), "trials.csv");
    assert!(csv.lines().nth(7).unwrap().contains("false,\"invariant: comments: expected 410"), "{csv}");
}

#[test]
fn an_empty_record_says_that_there_is_nothing() {
    let (_dir, record) = record(&Story { interrupted_after: Some(0), ..Story::default() });
    for file in render(&Findings::new(&record)).unwrap() {
        assert!(!file.contents.is_empty(), "{}", file.name);
    }
    let text = file(&record, "report.txt");
    assert!(text.contains("No trial of this run counts") && text.contains("0 of 60 trials are there"), "{text}");
    assert!(file(&record, "charts.gnuplot").starts_with("print "));
}

#[test]
fn a_record_of_invalid_trials_has_no_numbers_but_reasons() {
    let (_dir, record) = record(&Story { all_invalid: true, rounds: 1, ..Story::default() });
    let findings = Findings::new(&record);
    assert!(findings.cells.iter().all(|cell| !cell.has_data()));
    let text = file(&record, "report.txt");
    assert!(text.contains("No trial of this run counts") && text.contains("10 trials of 10 do not count"), "{text}");
    // Invalid trials stay in the CSV, to help find the reason.
    assert_eq!(file(&record, "trials.csv").lines().count(), 11);
}

#[test]
fn a_question_without_an_answer_names_its_condition_too() {
    let (_dir, mut record) = record(&Story { all_invalid: true, rounds: 1, ..Story::default() });
    record.run.study.answers[0].ask = "Is the log faster ({condition})?".to_string();
    let findings = Findings::new(&record);
    let said = answer::answer(&findings, &record.run.study.answers[0]);
    let asked: Vec<&str> = said.iter().map(|answered| answered.ask.as_str()).collect();
    assert_eq!(asked, ["Is the log faster (public)?", "Is the log faster (write-burst)?"]);
    assert!(said.iter().all(|answered| words::answer(answered).contains("no valid trial")), "{said:?}");
}

#[test]
fn one_round_gives_ratios_without_words() {
    let (_dir, record) = record(&Story { rounds: 1, invalid: vec![], ..Story::default() });
    let findings = Findings::new(&record);
    assert!(!findings.comparisons.is_empty());
    for compared in &findings.comparisons {
        let c = &compared.comparison;
        assert!(matches!(c.verdict, Verdict::NoWords | Verdict::NotComparable(_)), "{c:?}");
        assert_eq!(c.low, None);
    }
    assert!(file(&record, "report.txt").contains("With fewer than 6 rounds"));
}

#[test]
fn as_published_prints_every_percentile_with_a_mark_and_no_word() {
    let (_dir, record) = record(&Story { variant: Variant::AsPublished, ..Story::default() });
    let findings = Findings::new(&record);
    assert!(findings.comparisons.iter().all(|c| !c.comparison.verdict.is_difference()));
    let html = file(&record, "report.html");
    assert!(html.contains(" †") && html.contains(words::FEW_NOTE) && !html.contains(words::TOO_SMALL));
    assert!(html.contains("no word, as published"));
    assert!(file(usual(), "report.html").contains(words::TOO_SMALL));
}

/// A bound is "at least", and a label such as DELETE/FULL is spelled out in the table of settings.
#[test]
fn signs_and_labels_of_the_first_screen_are_spelled_out() {
    let text = file(usual(), "report.txt");
    let is_sign = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with('+');
    assert!(text.contains("at least ") && !text.split_whitespace().any(is_sign), "{text}");
    for setting in ["journal_mode", "synchronous"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(setting)), "{setting}: {text}");
    }
}

#[test]
fn no_label_becomes_markup() {
    let label = "<script>alert(1)</script>\"'|`&";
    let (_dir, record) = record(&Story { odd_label: label, rounds: 1, ..Story::default() });
    let html = file(&record, "report.html");
    assert_eq!(html.matches("<script").count(), 1);
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;|`&amp;"));
    let markdown = file(&record, "report.md");
    let tables = markdown.lines().filter(|line| line.starts_with('|'));
    assert!(tables.into_iter().all(|line| !line.contains("<script>")), "{markdown}");
    assert!(file(&record, "charts.gnuplot").contains("\"''|`&'"));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let html = file(usual(), "report.html");
    for fetching in [" src=", "url(", "@import", "<link", "href=\"http", "fetch(", "XMLHttp", "<iframe", "<img"] {
        assert!(!html.contains(fetching), "{fetching}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn trials_have_the_columns_of_the_formats_page() {
    let head = file(usual(), "trials.csv").lines().next().unwrap().to_string();
    let latencies =
        |measure: &str| ["p50", "p90", "p95", "p99", "p999", "max"].map(|q| format!("{measure}_ns_{q}")).join(",");
    let expected = [
        "study,variant,trial,profile,contender,engine,tier,driver,model,tier_known,tier_power_cuts,load_model,clients,axis_clients,round,valid,reason,marks",
        "elapsed_ns,planned,committed,rejected,conflict,timeout,unknown,unsent,retries,throughput_ops_per_s",
        &latencies("response"),
        &latencies("service"),
        &latencies("lock_wait"),
        "cpu_ns_client,cpu_ns_server,rss_bytes_client,rss_bytes_server,written_bytes,size_bytes_db,size_bytes_wal",
        "locked_per_1000",
    ];
    assert_eq!(head, expected.join(","));
    let latencies = file(usual(), "latencies.csv");
    assert_eq!(latencies.lines().next(), Some("trial,role,transaction,outcome,measure,count,quantile,value_ns"));
    assert!(latencies.lines().nth(1).unwrap().starts_with("1,site,page_view,committed,response,"));
    assert!(latencies.contains(",conflict,response,") && latencies.contains(",timeout,response,"));
    assert!(!latencies.contains(",timeout,service,"));
    let transactions = file(usual(), "transactions.csv");
    assert!(transactions.contains("sqlite.517="));
}

#[test]
fn what_only_a_page_can_draw_is_not_announced_elsewhere() {
    for title in ["Response time by percentile", "Over time", "Machine over time"] {
        assert!(file(usual(), "report.html").contains(&format!("<h2>{title}</h2>")), "{title}");
        for name in ["report.md", "report.txt"] {
            assert!(!file(usual(), name).contains(title), "{title} in {name}");
        }
    }
    assert!(file(usual(), "report.html").contains("Size of log or journal"));
}

/// Formulas agree with their metrics, in a trial and pooled.
#[test]
fn formulas_reckon_with_what_tables_show() {
    let (_dir, mut record) = record(&Story { rounds: 3, invalid: vec![], ..Story::default() });
    let metric = |(name, value): (&str, &str)| crate::study::model::OwnMetric {
        name: name.to_string(),
        about: String::new(),
        value: value.to_string(),
        unit: Unit::Plain,
        per: String::new(),
        higher_is_better: true,
    };
    record.run.study.metrics = [
        ("everything", "planned - planned.read - planned.write"),
        ("kinds", "committed.write / (committed.comment + committed.transient)"),
        ("per_row", "rows.page_view / committed.page_view"),
        ("window", "window_s / elapsed_s"),
        ("set", "1000 * databases + posts + clients * processes"),
        ("mean_ms", "service_ns_mean.read / 1e6"),
        ("thousands", "1000 * rounds + rounds@[WAL/NORMAL] - 3"),
        ("undefined", "committed / code.http.503"),
        ("unmeasured", "acquire_wait_ns_mean + 1"),
        ("no_rate", "committed / rate_per_s"),
        ("cpu", "cpu_ns_client / window_s"),
    ]
    .map(metric)
    .to_vec();
    let findings = Findings::new(&record);
    let cell = findings.cell(1, 3).unwrap();
    let estimate = |name: &str| findings.estimate(cell, name);
    for (name, expected) in [
        ("everything", Some(0.0)),
        ("kinds", Some(1.0)),
        ("per_row", Some(3.0)),
        ("window", Some(1.0)),
        ("set", Some(1000.0 + 2000.0 + 4.0)),
        ("mean_ms", estimate("service_ns_mean.read").value.map(|ns| ns / 1e6)),
        ("thousands", Some(3000.0)),
        ("undefined", None),
        ("unmeasured", None),
        ("no_rate", None),
        ("cpu", Some(0.8e9)),
    ] {
        let (value, rounds) = (estimate(name).value, estimate(name).rounds);
        let close = value.zip(expected).map_or(value == expected, |(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{name}: {value:?}");
        assert_eq!(rounds.len(), if expected.is_some() { 3 } else { 0 }, "{name}");
    }
    let trials = file(&record, "trials.csv");
    let first = trials.lines().nth(1).unwrap();
    assert!(first.contains(",0,1,3,1,3004,") && first.ends_with(",,,,600000000"), "{first}");
}

#[test]
fn what_was_not_measured_is_empty_and_never_zero() {
    let (_dir, record) = record(&Story { measures_lock_wait: false, rounds: 1, ..Story::default() });
    let trials = file(&record, "trials.csv");
    let mut rows = ::csv::Reader::from_reader(trials.as_bytes());
    let head = rows.headers().unwrap().clone();
    let row = rows.records().next().unwrap().unwrap();
    let empty: Vec<&str> = head.iter().zip(&row).filter(|(_, cell)| cell.is_empty()).map(|(name, _)| name).collect();
    let unmeasured = ["p50", "p90", "p95", "p99", "p999", "max"].map(|q| format!("lock_wait_ns_{q}"));
    let expected: Vec<&str> = ["tier_power_cuts", "reason", "marks"]
        .into_iter()
        .chain(unmeasured.iter().map(String::as_str))
        .chain(["cpu_ns_server", "rss_bytes_server"])
        .collect();
    assert_eq!(empty, expected);
    assert!(file(&record, "report.txt").contains("not measured"));
}

/// Programs read only these files.
#[test]
fn marks_and_missing_trials_are_in_the_numbers() {
    let (_dir, mut record) = record(&Story::default());
    record.trials.retain(|trial| trial.slot.trial != 2);
    let numbers = json::value(&Findings::new(&record));
    let marked = &numbers["marked"][0];
    assert_eq!((&numbers["missing"], &marked["trial"]), (&serde_json::json!(1), &serde_json::json!(11)));
    assert_eq!(marked["marks"], serde_json::json!([{"kind": "noisy-cpu", "permille": 120}]));
    let trials = file(&record, "trials.csv");
    assert_eq!(trials.lines().filter(|row| row.contains(",true,,noisy: others used 12.0 % of the CPU,")).count(), 1);
}

/// The record of a trial whose workers died at the start.
#[test]
fn a_trial_that_never_began_has_empty_cells() {
    let (_dir, mut record) = record(&Story { rounds: 1, ..Story::default() });
    let trial = &mut record.trials[2];
    trial.invalid = vec![Invalid::Invariant.because("the worker died")];
    (trial.window_start_ns, trial.window_end_ns) = (0, 0);
    trial.workers.clear();
    trial.footprint = Default::default();
    let trials = file(&record, "trials.csv");
    let mut rows = ::csv::Reader::from_reader(trials.as_bytes());
    let head = rows.headers().unwrap().clone();
    let row = rows.records().nth(2).unwrap().unwrap();
    let reason = head.iter().position(|name| name == "reason").unwrap();
    let filled: Vec<&str> = row.iter().skip(reason + 1).filter(|cell| !cell.is_empty()).collect();
    assert!(filled.is_empty(), "{filled:?}");
}

#[test]
fn a_record_from_elsewhere_may_claim_anything() {
    let (_dir, mut record) = record(&Story { rounds: 1, ..Story::default() });
    record.trials[0].clients = u32::MAX;
    let worker = &mut record.trials[1].workers[0];
    (worker.roles[0].first_client, worker.roles[0].clients) = (u32::MAX - 1, u32::MAX);
    let mut twin = worker.clone();
    (twin.cpu_ns, twin.rss_bytes) = (u64::MAX, u64::MAX);
    record.trials[1].workers.push(twin);
    assert!(!render(&Findings::new(&record)).unwrap().is_empty());
}

#[test]
fn fairness_is_among_clients_of_one_role() {
    let (_dir, mut record) = record(&Story { rounds: 1, invalid: vec![], ..Story::default() });
    for trial in &mut record.trials {
        let roles = &mut trial.workers[0].roles;
        roles[0].clients = 2;
        roles.push(RoleClients { role: "admin".to_string(), first_client: 2, clients: 2 });
    }
    let findings = Findings::new(&record);
    let found = findings.cells[0].fairness.clone().unwrap();
    assert!(found.role.is_some() && found.clients == 2, "{found:?}");
    assert!(Findings::new(usual()).cells[0].fairness.as_ref().unwrap().role.is_none());
}

#[test]
fn an_interrupted_and_damaged_record_is_read_as_far_as_it_goes() {
    let (dir, _) = record(&Story { interrupted_after: Some(41), ..Story::default() });
    std::fs::write(dir.path().join("trials/0003/samples.bin"), b"short").unwrap();
    // Samples of the right length but in another format: found only when they are read.
    std::fs::write(dir.path().join("trials/0004/samples.bin"), [0xff; 128]).unwrap();
    let record = Record::open(dir.path()).unwrap();
    let text = file(&record, "report.txt");
    assert!(text.contains("interrupted: 40 of 60 trials are there"), "{text}");
    assert!(text.contains("1 trial cannot be read and was left out."));
    assert!(text.contains("samples [1]") && text.contains("0003"));
    let row = file(&record, "trials.csv").lines().nth(3).unwrap().to_string();
    assert!(row.contains(",false,") && row.contains(",,,,"), "{row}");
}

#[test]
fn a_single_byte_that_was_changed_is_noticed() {
    let (dir, _) = record(&Story::default());
    let path = dir.path().join("trials/0003/samples.bin");
    let mut bytes = std::fs::read(&path).unwrap();
    // A byte of a time: the sample can still be decoded.
    let at = bytes.len() - 32;
    let invalid = |record: &Record| Findings::new(record).rows.iter().filter(|row| !row.is_valid()).count();
    let whole = invalid(&Record::open(dir.path()).unwrap());
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let opened = Record::open(dir.path()).unwrap();
    assert_eq!(invalid(&opened), whole + 1);
    assert!(file(&opened, "report.md").contains("was changed since it was written"));
    // An older record has no digest and is read as before.
    let trial = dir.path().join("trials/0003/trial.toml");
    let text = std::fs::read_to_string(&trial).unwrap();
    let line = text.lines().find(|line| line.starts_with("samples_sha256")).unwrap();
    let (_, unsealed) = text.split_once('\n').unwrap();
    let is_bound = |line: &&str| line.starts_with("bound_sha256");
    let bound = unsealed.lines().find(is_bound).unwrap();
    std::fs::write(&trial, unsealed.replace(line, "").replace(bound, "")).unwrap();
    assert_eq!(invalid(&Record::open(dir.path()).unwrap()), whole);
}

#[test]
fn a_terminal_sees_a_hundred_columns() {
    let text = file(usual(), "report.txt");
    let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= text::WIDTH, "{widest}");
    assert!(text.is_ascii());
    let findings = Findings::new(usual());
    let written = Written {
        files: vec!["report.html".into()],
        terminal: Terminal::One(content::document(&findings)),
        json: json::json(&findings),
        invalid: 0,
    };
    let plain = terminal(&written, Style::FILE);
    assert!(plain.lines().count() < 100 && plain.ends_with("report.html\n"), "{plain}");
    assert!(terminal(&written, Style::terminal(100, true)).contains("\u{1b}[32m"));
}

#[test]
fn what_is_kept_of_a_trial_does_not_grow_with_its_samples() {
    let entries = |window_ns: u64| {
        let (_dir, record) = record(&Story { rounds: 1, window_ns, invalid: vec![], ..Story::default() });
        let findings = Findings::new(&record);
        let measured = findings.rows[3].measured.as_ref().unwrap();
        let kept = measured.histogram(Measure::Response, Scope::All).unwrap().len();
        (measured.counts.planned(), kept)
    };
    let (few, many) = (entries(1_000_000_000), entries(8_000_000_000));
    // 8 times the samples; only buckets that were empty fill up.
    assert!(many.0 > 6 * few.0 && many.1 < 3 * few.1, "{few:?} {many:?}");
}

#[test]
fn a_driver_that_all_go_through_is_named_before_the_answer() {
    let (_dir, mut other) = record(&Story::default());
    let named =
        |record: &Record| file(record, "report.txt").contains("All figures are of the driver php-pdo-sqlite (PHP)");
    assert!(!named(&other));
    other.run.study.contenders.iter_mut().for_each(|contender| contender.driver = "php-pdo-sqlite".to_string());
    resolve_again(&mut other.run.study);
    assert!(named(&other));
    other.run.study.contenders[0].driver = "rusqlite".to_string();
    resolve_again(&mut other.run.study);
    assert!(!named(&other));
}

#[test]
fn blanks_are_filled_in_once() {
    let blanks = [("this", "{against}"), ("against", "B")].map(|(name, value)| (name.to_string(), value.to_string()));
    let fill = |sentence| answer::fill(sentence, &blanks);
    assert_eq!(fill("{this} and {against}, {unknown} {"), "{against} and B, {unknown} {");
}

/// To look at a report: `cargo test -p contend report::tests::demo -- --ignored`.
#[test]
#[ignore = "writes a report to look at"]
fn demo() {
    for (name, story) in [
        ("full", Story { clients: 16, window_ns: 1_500_000_000, ..Story::default() }),
        (
            "odd",
            Story {
                interrupted_after: Some(41),
                odd_label: "<script>alert(1)</script>",
                measures_lock_wait: false,
                ..Story::default()
            },
        ),
        ("published", Story { variant: Variant::AsPublished, rounds: 1, ..Story::default() }),
    ] {
        let dir = std::env::temp_dir().join("contend-report-demo").join(name);
        let _ = std::fs::remove_dir_all(&dir);
        let written = write(&Findings::new(&story.write(&dir)), &dir).unwrap();
        println!("{}", terminal(&written, Style::FILE));
    }
}

#[test]
fn foreign_keys_that_only_sqlite_enforces_are_a_limit() {
    let (_dir, mut record) = record(&Story::default());
    let said = |record: &Record| file(record, "report.md").contains("Foreign keys are enforced on SQLite");
    record.run.study.contenders[0].settings.insert("foreign_keys".to_string(), "on".to_string());
    assert!(!said(&record), "there is no server");
    record.run.study.contenders[1].engine = "postgres".to_string();
    assert!(said(&record));
    record.run.study.contenders[0].settings.insert("foreign_keys".to_string(), "off".to_string());
    assert!(!said(&record));
}
