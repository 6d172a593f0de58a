//! Settings of a connection that no statement makes, and values that no call binds, are in a replay and in a study.

use super::{built, capture, shown};
use crate::support::Bench;
use serde_json::{Value, json};

#[test]
fn settings_by_a_call_and_values_of_another_statement_come_again() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "config.c") else { return };
    let said = capture(&bench, &["--values=full"], &[&program, "app.db"]).exits(0);
    assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
    let said = bench.contend(&["replay", "taken", "--json"]).exits(0);
    let outcome: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&outcome["diverged"], &outcome["databases"][0]["differ"]), (&json!([]), &json!([])), "{outcome}");
    let pragmas = shown(&bench)["connections"][0]["pragmas"].to_string();
    for setting in ["foreign_keys = 1", "dbconfig_enable_fkey = 1", "dbconfig_enable_trigger = 0"] {
        assert!(pragmas.contains(setting), "{setting}: {pragmas}");
    }
    let study = std::fs::read_to_string(bench.path("taken/study.toml")).expect("a study");
    assert!(study.contains("foreign_keys = \"on\""), "{study}");
}

#[test]
fn an_option_that_a_replay_does_not_have_is_said_to_be_missing() {
    let bench = Bench::new();
    let Some(program) = built(&bench, "config.c") else { return };
    let said = capture(&bench, &[], &[&program, "app.db", "renamed"]).exits(0);
    let (_, gaps) = said.err.split_once("The capture has gaps:").unwrap_or_else(|| panic!("{said:?}"));
    assert!(gaps.contains("app.db called sqlite3_db_config with an option that"), "{said:?}");
}
