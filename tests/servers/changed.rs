//! A server that another client configures or writes to while it is measured.

use crate::support::place::{Place, study};
use crate::support::{reasons, root, tool, trials};
use contend::outcome::reason::Invalid;
use std::fs;

/// The kinds of reasons of each trial of this contender with a fault.
fn with(contender: &str, rounds: &str, fault: &str) -> Vec<Vec<String>> {
    let place = Place::new();
    let fake = root().join("workers/fake/fake.py");
    let seen = place.bench.path("plans-seen").display().to_string();
    let command =
        format!("python3 '{}' --real '{} worker' --trial-file '{seen}' --fault {fault}", fake.display(), tool());
    let only = ["--only", contender, "--rounds", rounds, "--window", "1s", "--processes", "1"];
    place.run(&[&only[..], &["--worker-command", &command]].concat()).ran();
    let kinds = reasons(&place.bench.path("record")).into_iter().map(|(_, kinds)| kinds).collect();
    place.assert_nothing_left();
    kinds
}

/// One trial of this contender, in whose window another client executes `sql`, has this reason.
#[track_caller]
fn meddling_is_found(contender: &str, sql: &str, reason: Invalid) {
    let kinds = with(contender, "1", &format!("meddle --sql \"{sql}\"")).remove(0);
    assert!(kinds.iter().any(|kind| kind == reason.word()), "{sql}: {kinds:?}");
}

#[test]
fn a_configuration_that_changes_in_the_window_is_found_although_it_is_taken_back() {
    let reload = "SELECT pg_reload_conf()";
    let sql = format!("ALTER SYSTEM SET fsync = off; {reload}; ALTER SYSTEM RESET fsync; {reload}");
    meddling_is_found("postgres durable", &sql, Invalid::Settings);
}

#[test]
fn a_variable_of_mariadb_that_changes_in_the_window_is_found() {
    let sql = "SET GLOBAL innodb_flush_log_at_trx_commit = 0";
    meddling_is_found("mariadb durable", sql, Invalid::Settings);
}

#[test]
fn a_variable_of_mariadb_that_changes_is_found_although_it_is_set_back() {
    let set = |value: u8| format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value}");
    meddling_is_found("mariadb durable", &format!("{}; {}", set(0), set(1)), Invalid::Settings);
}

#[test]
fn transactions_of_somebody_else_are_found() {
    // More than the server may have of its own.
    let sql = ["SELECT pg_current_xact_id()"; 300].join("; ");
    meddling_is_found("postgres durable", &sql, Invalid::Commits);
}

/// A change that no invariant sees.
#[test]
fn one_statement_of_somebody_else_is_found_on_mariadb() {
    meddling_is_found("mariadb durable", "UPDATE account SET owner = id WHERE id = 1", Invalid::Commits);
}

/// On a slow machine it does less than PostgreSQL is allowed for itself; then the data shows it.
#[test]
fn a_second_worker_with_the_same_plan_is_found_on_servers() {
    for contender in ["postgres durable", "mariadb durable"] {
        let kinds = with(contender, "1", "second").remove(0);
        let finds = [Invalid::Commits, Invalid::Invariant].map(Invalid::word);
        assert!(kinds.iter().any(|kind| finds.contains(&kind.as_str())), "{contender}: {kinds:?}");
    }
}

/// Some transactions of the workload are refused, which loses no connection.
#[test]
fn connections_of_a_server_must_be_read_back_after_the_run() {
    for contender in ["postgres durable", "mariadb durable"] {
        let kinds = with(contender, "1", "unread").remove(0);
        assert!(kinds.iter().any(|kind| kind == Invalid::Settings.word()), "{contender}: {kinds:?}");
    }
}

#[test]
fn what_is_changed_in_the_schema_before_the_clients_begin_is_found() {
    let found = |contender: &str, sql: &str| {
        let kinds = with(contender, "1", &format!("alters --sql '{sql}'")).remove(0);
        assert!(kinds.iter().any(|kind| kind == Invalid::Invariant.word()), "{contender}, {sql}: {kinds:?}");
    };
    found("postgres durable", "DROP INDEX transfer_from");
    found("postgres durable", "ALTER TABLE account SET UNLOGGED");
    found("mariadb durable", "DROP INDEX transfer_from ON transfer");
    found("mariadb durable", "ALTER TABLE account ADD INDEX another (owner)");
}

/// A session's own setting, reported as requested.
/// Tables that lose committed rows in a crash, whatever the server's settings.
#[test]
fn tables_that_a_crash_empties_keep_no_promise() {
    const WORKLOAD: &str = r#"
about = "Lines of a log."
after_load = [{ sql = "SELECT 1", on = { postgres = "ALTER TABLE line SET UNLOGGED", mariadb = "ALTER TABLE line ENGINE = MyISAM" } }]
[table.line]
ddl = "CREATE TABLE line (id INTEGER PRIMARY KEY, at INTEGER NOT NULL)"
[transaction.add]
kind = "write"
[[transaction.add.step]]
sql = "INSERT INTO line (at) VALUES (:now)"
rows = 1
[profile.all]
mix = { add = 1 }
"#;
    const STUDY: &str = "question = \"Which one?\"\nworkload = \"lines.toml\"\nkind = \"load\"\nrounds = 1\n\
        describes = true\nheadline = \"throughput_ops_per_s\"\n[load]\nwindow = \"500ms\"\n";
    let place = Place::new();
    let contenders = ["postgres", "mariadb"].map(|engine| format!("[[contender]]\nengine = \"{engine}\"\n"));
    fs::write(place.bench.path("lines.toml"), WORKLOAD).expect("written");
    fs::write(place.bench.path("lines-study.toml"), format!("{STUDY}{}", contenders.concat())).expect("written");
    place.contend(&["run", "lines-study.toml", "--out", "record", "--quiet"]).exits(1);
    let trials = trials(&place.bench.path("record"));
    // Without syncs they are not credible either.
    let why = trials.iter().flat_map(|trial| &trial.invalid).filter(|reason| reason.kind == Invalid::Settings);
    let mut said: Vec<String> = why.map(|reason| reason.detail.clone()).collect();
    said.sort();
    let ends = ["`MyISAM` and not as `InnoDB`", "`unlogged` and not as `logged`"];
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().zip(ends).all(|(said, part)| said.contains(part)), "{said:?}");
    place.assert_nothing_left();
}

#[test]
fn commits_that_postgresql_did_not_sync_are_found() {
    let kinds = with("postgres durable", "2", "unsynced --worker all --only-plan 2");
    let [honest, lying] = &kinds[..] else { panic!("{kinds:?}") };
    assert!(!honest.iter().any(|kind| kind == Invalid::NotCredible.word()), "{kinds:?}");
    assert!(lying.iter().any(|kind| kind == Invalid::NotCredible.word()), "{kinds:?}");
}

/// MariaDB counts statements, of two trials of which the second lies.
#[test]
fn transactions_that_mariadb_was_never_asked_for_are_found() {
    let kinds = with("mariadb durable", "2", "drop --seed 3 --only-plan 2");
    let [honest, lying] = &kinds[..] else { panic!("{kinds:?}") };
    assert!(!honest.iter().any(|kind| kind == "commits"), "{kinds:?}");
    assert!(lying.iter().any(|kind| kind == "commits"), "{kinds:?}");
}

/// Two trials with a run-in longer than the window, of which the second one lies. Its commits must be contradicted, and only its.
#[track_caller]
fn commits_contradict(contender: &str, lie: &str, more: &[&str]) {
    let place = Place::new();
    let study = std::fs::read_to_string(study()).expect("the study").replace("run_in = \"50ms\"", "run_in = \"2s\"");
    std::fs::write(place.bench.path("study.toml"), study).expect("written");
    let (fake, seen) = (root().join("workers/fake/fake.py"), place.bench.path("plans-seen").display().to_string());
    let command = format!(
        "python3 '{}' --real '{} worker' --trial-file '{seen}' --only-plan 2 --fault {lie}",
        fake.display(),
        tool()
    );
    let args =
        ["run", "study.toml", "--out", "record", "--quiet", "--only", contender, "--rounds", "2", "--window", "1s"];
    let of_worker = ["--processes", "1", "--worker-command", &command];
    place.contend(&[&args[..], &of_worker, more].concat()).ran();
    let kinds: Vec<_> = reasons(&place.bench.path("record")).into_iter().map(|(_, kinds)| kinds).collect();
    let is_found = |kinds: &Vec<String>| kinds.iter().any(|kind| kind == Invalid::Commits.word());
    assert!(kinds.len() == 2 && !is_found(&kinds[0]) && is_found(&kinds[1]), "{contender}, {lie}: {kinds:?}");
    place.assert_nothing_left();
}

#[test]
fn work_of_the_run_in_that_is_reported_as_work_of_the_window_is_found_on_servers() {
    commits_contradict("postgres durable", "early", &[]);
    commits_contradict("mariadb durable", "early", &[]);
}

/// In an open loop no account of a client's time contradicts shorter operations. With more load than the server carries all
/// clients are in an operation whenever the count is read.
#[test]
fn operations_that_end_before_postgresql_has_committed_them_are_found() {
    commits_contradict("postgres durable", "short", &["--rate", "20000"]);
}

/// Late answers are not a lie; operations that were not carried out, or twice, are found in the data.
fn proxies_are_found(contender: &str) {
    let kinds = with(contender, "4", "between --between delays,drops,repeats,answers");
    let [late, lying @ ..] = &kinds[..] else { panic!("{kinds:?}") };
    let is_found = |kinds: &Vec<String>| kinds.iter().any(|kind| ["invariant", "commits"].contains(&kind.as_str()));
    let is_speed = |kind: &String| Invalid::ALL.iter().any(|reason| reason.word() == kind && reason.is_of_speed());
    assert!(late.iter().all(is_speed), "{kinds:?}");
    assert!(lying.len() == 3 && lying.iter().all(is_found), "{kinds:?}");
}

#[test]
fn a_proxy_that_drops_repeats_or_invents_is_found_and_one_that_delays_is_believed() {
    proxies_are_found("postgres durable");
}

#[test]
fn a_proxy_before_mariadb_is_found_in_the_same_way() {
    proxies_are_found("mariadb durable");
}

/// A client could put tables and functions of its own in the place of those that contend reads.
#[test]
fn names_mean_the_same_to_contend_whatever_a_client_sets_for_its_role() {
    let sql = "CREATE SCHEMA other; CREATE VIEW other.account AS SELECT id, 0 AS balance FROM public.account; \
               ALTER ROLE contend SET search_path TO other, public";
    let kinds = with("postgres durable", "1", &format!("alters --sql \"{sql}\"")).remove(0);
    assert!(!kinds.iter().any(|kind| kind == Invalid::Invariant.word()), "{kinds:?}");
}
