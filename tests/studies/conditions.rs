//! Every built-in study can be run: each part in each of its forms under each of its conditions. Nothing is measured.

use contend::source::Source;
use contend::study::model::{Extent, Study, Variant};
use contend::study::{Choices, LIBRARY, StudyError, resolve_parts};
use contend::trial::header::checked;
use contend::{slice, workload};
use std::collections::BTreeMap;
use std::fs;

const SLICES: &[slice::Slice] =
    &[timings::SLICE, powercut::SLICE, http::SLICE, limit::SLICE, predict::SLICE, watch::SLICE, capture::SLICE];

/// Quick, usual, as published, and that quickly.
const FORMS: [(Variant, Extent); 4] = [
    (Variant::Corrected, Extent::Quick),
    (Variant::Corrected, Extent::Full),
    (Variant::AsPublished, Extent::Full),
    (Variant::AsPublished, Extent::Quick),
];

/// The parts of a study in this form; none if it was never published in another.
fn parts_of(source: &Source, (variant, extent): (Variant, Extent)) -> Vec<Study> {
    match resolve_parts(source, &Choices::new(variant, extent)) {
        Ok(whole) => whole.studies,
        Err(StudyError::Usage(_)) if variant == Variant::AsPublished => vec![],
        Err(error) => panic!("{}: {error}", source.name),
    }
}

#[test]
fn every_condition_of_every_built_in_study_can_be_run() {
    slice::register(SLICES);
    assert!(LIBRARY.names().len() > 10, "those of slices are there, too: {:?}", LIBRARY.names());
    let (mut conditions, mut forms) = (0, 0);
    for source in LIBRARY.sources() {
        for form in FORMS {
            let parts = parts_of(&source, form);
            forms += usize::from(!parts.is_empty());
            for study in parts {
                let workload = workload::LIBRARY.find(&study.workload).expect("a built-in workload");
                let found = checked(&study, &workload, &BTreeMap::new());
                let found = found.unwrap_or_else(|error| panic!("{}, {form:?}: {error:#}", source.name));
                assert_eq!(found.len(), study.conditions.len());
                conditions += found.len();
            }
        }
    }
    assert!(forms > 2 * LIBRARY.names().len() && conditions > 200, "{forms} forms, {conditions} conditions");
}

/// A value of an axis with which the workload makes no sense: nothing is begun, although all others do.
#[test]
fn a_condition_that_cannot_be_is_refused_before_anything_begins() {
    let bench = crate::support::Bench::new();
    let study = "question = 'q'\nworkload = 'w.toml'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
                 [axes]\nheld = [1, 2, 0]\n[load]\nwindow = '1s'\n[[contender]]\nengine = 'sqlite'\n";
    let workload = "about = 'x'\n[scale]\nheld = { fixed = 2 }\n[table.t]\nddl = 'CREATE TABLE t (a INTEGER)'\n\
                    [transaction.w]\nkind = 'write'\n[[transaction.w.step]]\nsql = 'INSERT INTO t VALUES (1)'\nrepeat = 'held'\n";
    fs::write(bench.path("s.toml"), study).expect("written");
    fs::write(bench.path("w.toml"), workload).expect("written");
    let said = bench.contend(&["run", "s.toml", "--out", "record"]).exits(2);
    assert!(
        said.err.contains("s.toml:7: axes.held[3]") && said.err.contains("w.toml:10: transaction.w.step[1].repeat"),
        "{said:?}"
    );
    assert!(!bench.path("record").exists(), "{said:?}");
    bench.assert_nothing_left();
}

/// What is wrong with a study and with its workload is said together.
#[test]
fn mistakes_of_a_study_and_of_its_workload_come_at_once() {
    let bench = crate::support::Bench::new();
    let study = "workload = 'w.toml'\nheadline = 'speed'\nrounds = 6\nmargn = 0.1\n[load]\nwindow = '1'\n\
                 [[contender]]\nengine = 'sqlite'\n";
    let workload = "[table.t]\nddl = 'CREATE TABLE t (a INTEGER)'\n[transaction.w]\nkind = 'wite'\n\
                    [[transaction.w.step]]\nsql = 'INSERT INTO t VALUES (:a)'\n";
    fs::write(bench.path("s.toml"), study).expect("written");
    fs::write(bench.path("w.toml"), workload).expect("written");
    let said = bench.contend(&["run", "s.toml", "--out", "record"]).exits(2);
    for words in ["`question`", "`kind`", "margn", "speed", "load.window", "`about`", "wite"] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert_eq!(said.err.lines().filter(|line| line.contains("w.toml")).count(), 2, "{}", said.err);
}

/// A wrong kind or length of the window hides no other mistake, and neither does a workload with mistakes.
#[test]
fn no_mistake_waits_for_another_one() {
    let bench = crate::support::Bench::new();
    let study = "question = 'q'\nworkload = 'w.toml'\nkind = 'lod'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
                 [axes]\nprofile = ['mixd']\n[load]\nwindow = '1'\nrun_in = 'x'\nclients = 0\n\
                 [[contender]]\nengine = 'sqlite'\n[[contender]]\nengine = 'sqlit'\nlabel = 'x'\n\
                 [[metric]]\nname = 'paid'\nabout = 'x'\nvalue = 'committed.pay'\n";
    let workload = "about = 'x'\n[table.t]\nddl = 'CREATE TABLE t (a INTEGER)'\n[transaction.buy]\nkind = 'wite'\n\
                    [[transaction.buy.step]]\nsql = 'INSERT INTO t VALUES (1)'\n[profile.mixed]\nmix = { buy = 1 }\n";
    fs::write(bench.path("s.toml"), study).expect("written");
    fs::write(bench.path("w.toml"), workload).expect("written");
    assert_finds(
        &bench,
        &[
            ("s.toml:3: kind: ", "did you mean `load`?"),
            ("s.toml:7: axes.profile[1]: ", "no profile `mixd` (did you mean `mixed`?)"),
            ("s.toml:9: load.window: ", "is not a duration"),
            ("s.toml:10: load.run_in: ", "is not a duration"),
            ("s.toml:11: load.clients: ", "at least 1"),
            ("s.toml:15: contender[2].engine: ", "no engine `sqlit`"),
            ("s.toml:17: ", "missing field `higher_is_better`"),
            ("s.toml:20: metric[1].value: ", "no transaction `pay`"),
            ("w.toml:5: ", "did you mean `write`?"),
        ],
    );
}

/// Neither do those of names: of the workload, of a metric, of settings, axes, engines, drivers and models.
#[test]
fn no_mistyped_name_waits_for_another_one() {
    let bench = crate::support::Bench::new();
    let study = "question = 'q'\nworkload = 'bnak'\nkind = 'load'\nheadline = 'p97'\nrounds = 6\n\
                 [settings]\nsyncronous = 'full'\nconnection = 'x'\n[axes]\nprofle = ['mixed']\nrate = '200/x'\n\
                 [load]\nwindow = '1s'\n\
                 [[contender]]\nengine = 'sqlite'\ndriver = 'ruslite'\nmodel = 'thraed'\n\
                 settings = { journal_mod = 'wal', busy_timeout = 'x' }\n\
                 [[contender]]\nengine = 'postgressql'\n[[contender]]\nengine = 'mysql'\n\
                 [[contender]]\nengine = 'sqlite'\nmodel = 'q'\nsettings = { journal_mode = 'red' }\n";
    fs::write(bench.path("s.toml"), study).expect("written");
    assert_finds(
        &bench,
        &[
            ("s.toml:2: workload: ", "did you mean `bank`?"),
            ("s.toml:4: headline: ", "did you mean `response_ns_p90`?"),
            ("s.toml:7: settings.syncronous: ", "did you mean `synchronous`?"),
            ("s.toml:8: settings.connection: ", "cannot be `x`"),
            ("s.toml:10: axes.profle[1]: ", "did you mean `profile`?"),
            ("s.toml:11: axes.rate: ", "a rate is written 200 or 200/s"),
            ("s.toml:16: contender[1].driver: ", "did you mean `rusqlite`?"),
            ("s.toml:17: contender[1].model: ", "did you mean `thread`?"),
            ("s.toml:18: contender[1].settings.busy_timeout: ", "a whole number"),
            ("s.toml:18: contender[1].settings.journal_mod: ", "did you mean `journal_mode`?"),
            ("s.toml:20: contender[2].engine: ", "did you mean `postgres`?"),
            ("s.toml:22: contender[3].engine: ", "did you mean `mariadb`?"),
            ("s.toml:25: contender[4].model: ", "has a model `q`; models are thread"),
            ("s.toml:26: contender[4].settings.journal_mode: ", "one of delete"),
        ],
    );
    // Each alone, and what only follows from another one not at all.
    let one = |old: &str, new: &str| {
        let right = "question = 'q'\nworkload = 'bank'\nkind = 'load'\nheadline = 'p99'\nrounds = 6\n\
                     [settings]\ndeadlock_timeout = 100\n[axes]\nprofile = 'mixed'\nrate = '200/s'\n[load]\nwindow = '1s'\n\
                     [[contender]]\nengine = 'postgres'\ndriver = 'pgx'\nmodel = 'pool'\n";
        assert!(right.contains(old), "{old}");
        fs::write(bench.path("s.toml"), right.replace(old, new)).expect("written");
    };
    for (old, new, begins, has) in [
        ("'bank'", "'bnak'", "s.toml:2: workload: ", "did you mean `bank`?"),
        ("'mixed'", "'mixd'", "s.toml:9: axes.profile: ", "workload bank has no profile `mixd`"),
        ("'postgres'", "'postgers'", "s.toml:14: contender[1].engine: ", "did you mean `postgres`?"),
        ("'pgx'", "'pgxx'", "s.toml:15: contender[1].driver: ", "did you mean `pgx`?"),
        ("'pool'", "'poool'", "s.toml:16: contender[1].model: ", "did you mean `pool`?"),
    ] {
        one(old, new);
        assert_finds(&bench, &[(begins, has)]);
    }
}

/// Runs `s.toml` and compares every line of the answer with its beginning and a part of it.
fn assert_finds(bench: &crate::support::Bench, expected: &[(&str, &str)]) {
    let said = bench.contend(&["run", "s.toml", "--out", "record"]).exits(2);
    let lines: Vec<&str> = said.err.lines().map(|line| line.trim_start_matches("contend: ")).collect();
    assert_eq!(lines.len(), expected.len(), "{}", said.err);
    for (line, (begins, has)) in lines.iter().zip(expected) {
        assert!(line.starts_with(begins) && line.contains(has), "{begins}: {}", said.err);
    }
}

/// Neither do mistakes of SQL, which only the database finds.
#[test]
fn all_statements_that_the_database_does_not_accept_come_at_once() {
    let bench = crate::support::Bench::new();
    let study = "question = 'q'\nworkload = 'w.toml'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\nrounds = 6\n\
                 [axes]\nprofile = ['mixed']\n[load]\nwindow = '100ms'\n[[contender]]\nengine = 'sqlite'\n";
    let workload = "about = 'x'\n[table.t]\nddl = 'CREATE TABLE t (a INTEGER, b TEXT)'\nrows = 5\n\
                    columns = { a = { serial = 1 }, b = { format = 'x' } }\n\
                    [transaction.buy]\nkind = 'write'\nargs = { a = { range = [1, 5] } }\n\
                    [[transaction.buy.step]]\nhold = '0ms'\n\
                    [[transaction.buy.step]]\nsql = 'UPDATE t SET prce = 1 WHERE a = :a'\nrows = [0, 5]\n\
                    [[transaction.buy.step]]\nsql = 'UPDATE t SET b = :a'\nrows = [0, 5]\n\
                    [[transaction.buy.step]]\nsql = 'SELECT * FORM t'\nrows = [0, 5]\n\
                    [profile.mixed]\nmix = { buy = 1 }\n\
                    [[invariant]]\nname = 'i'\nsql = 'SELECT count(*) FROM tt'\nequals = '5'\n";
    let run = |workload: &str| {
        fs::write(bench.path("s.toml"), study).expect("written");
        fs::write(bench.path("w.toml"), workload).expect("written");
        let said = bench.contend(&["run", "s.toml", "--out", "record"]).exits(2);
        assert!(!bench.path("record/run.toml").exists(), "{said:?}");
        let lines = said.err.lines().map(|line| line.trim_start_matches("contend: ").to_string());
        lines.filter(|line| line.starts_with("w.toml:")).collect::<Vec<_>>()
    };
    let found = run(workload);
    let expected = [
        ("w.toml:12: transaction.buy.step[2].sql: ", "no such column: prce"),
        ("w.toml:18: transaction.buy.step[4].sql: ", "near \"FORM\": syntax error"),
        ("w.toml:24: invariant[1].sql: ", "no such table: tt"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (line, (begins, has)) in found.iter().zip(expected) {
        assert!(line.starts_with(begins) && line.contains(has), "{begins}: {line}");
    }
    let found = run(&workload.replacen("b TEXT)", "b TEXT,)", 1));
    assert!(found.len() == 1 && found[0].starts_with("w.toml:3: table.t.ddl: "), "{found:?}");
    bench.assert_nothing_left();
}
