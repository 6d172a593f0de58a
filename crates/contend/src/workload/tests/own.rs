//! Statements for which a file has SQL of its own for a server.

use super::SMALL;
use crate::source::Source;
use crate::workload::model::Workload;
use crate::workload::{Dialect, parse, spoken};
use contend_sql::Target;
use contend_wire::plan::Step;

const LOOK: &str = "sql = \"SELECT id FROM item WHERE name = :name\"";

fn with(on: &str) -> Result<Workload, String> {
    let text = SMALL.replacen(LOOK, &format!("{LOOK}\n{on}"), 1);
    assert_ne!(text, SMALL);
    parse(&Source::new("small.toml", &text)).map_err(|e| e.message)
}

fn told(workload: &Workload, target: Target) -> (String, usize, Vec<String>) {
    let translated = spoken(workload, Dialect::of_server(target), str::to_string).expect("a translation");
    let look = translated.transactions.iter().find(|t| t.name == "look").expect("the transaction");
    let Step::Sql(step) = &look.steps[0] else { panic!("not a statement") };
    let conditions = translated.translated.clone().expect("a translation").conditions;
    (translated.statements[step.statement as usize].clone(), step.args.len(), conditions)
}

#[test]
fn a_server_is_told_the_files_own_words_and_the_record_says_so() {
    let on = "on.postgres = \"SELECT id FROM item WHERE :name = name OR :name IS NULL\"";
    let workload = with(on).expect("a workload");
    let (sql, args, conditions) = told(&workload, Target::Postgres);
    assert_eq!((sql.as_str(), args), ("SELECT id FROM item WHERE $1 = name OR $2 IS NULL", 2));
    let overrides: Vec<_> = conditions.iter().filter(|c| c.starts_with("override: ")).collect();
    assert!(matches!(&overrides[..], [one] if one.ends_with(&sql)), "{overrides:?}");
    let cast = with("on.postgres = \"SELECT id::text FROM item WHERE name = :name::text\"").expect("a workload");
    let (sql, args, _) = told(&cast, Target::Postgres);
    assert_eq!((sql.as_str(), args), ("SELECT id::text FROM item WHERE name = $1::text", 1));
    let (sql, args, conditions) = told(&workload, Target::MariaDb);
    assert!(sql.contains("\"name\" = ?") && args == 1, "{sql}");
    assert!(!conditions.iter().any(|c| c.starts_with("override")), "{conditions:?}");
}

/// The other step may only read what this one locks.
#[test]
fn another_step_with_the_same_sql_is_translated() {
    let on = format!(
        "on.postgres = \"SELECT id FROM item WHERE name = :name FOR UPDATE\"\nrows = 1\n[[transaction.look.step]]\n{LOOK}"
    );
    let postgres = spoken(&with(&on).expect("a workload"), Dialect::of_server(Target::Postgres), str::to_string);
    let postgres = postgres.expect("a translation");
    let look = postgres.transactions.iter().find(|t| t.name == "look").expect("the transaction");
    let texts = look.steps.iter().map(|step| match step {
        Step::Sql(step) => postgres.statements[step.statement as usize].as_str(),
        _ => panic!("not a statement"),
    });
    assert_eq!(texts.map(|sql| sql.ends_with("FOR UPDATE")).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn mistakes_in_it_are_told() {
    let message = |on: &str| with(on).err().unwrap_or_else(|| panic!("`{on}` is accepted"));
    assert!(message("on.oracle = \"SELECT 1\"").contains("no server `oracle` (known: postgres, mariadb)"));
    assert!(message("on.mariadb = \"SELECT id FROM item WHERE name = :nme\"").contains("called `nme`"));
    assert!(message("on.mariadb = \"SELECT :name; SELECT 2\"").contains("one statement at a time"));
    assert!(
        message("on.mariadb = \"SELECT :name, :now\"").contains("placeholder that the step's own sql does not have")
    );
}

fn after_load(entry: &str) -> Result<Workload, String> {
    let text = SMALL.replacen("[scale]", &format!("after_load = [{entry}]\n\n[scale]"), 1);
    parse(&Source::new("small.toml", &text)).map_err(|e| e.message)
}

#[test]
fn after_loading_a_server_is_told_its_own_words_nothing_or_a_translation() {
    let own = r#""DELETE FROM item WHERE id = 1", { sql = "CREATE TABLE counter (n INTEGER)", on = { postgres = "CREATE SEQUENCE counter", mariadb = "" } }"#;
    let workload = after_load(own).expect("a workload");
    let said = |workload: &Workload| workload.after_load.iter().map(|after| after.sql.clone()).collect::<Vec<_>>();
    assert_eq!(said(&workload)[1], "CREATE TABLE counter (n INTEGER)");
    let postgres = spoken(&workload, Dialect::of_server(Target::Postgres), str::to_string).expect("a translation");
    let told = said(&postgres);
    assert!(told.len() == 2 && told[0].contains("\"item\"") && told[1] == "CREATE SEQUENCE counter", "{told:?}");
    let conditions = postgres.translated.expect("a translation").conditions;
    assert!(conditions.iter().any(|c| c.starts_with("override") && c.ends_with("CREATE SEQUENCE counter")));
    let mariadb = spoken(&workload, Dialect::of_server(Target::MariaDb), str::to_string).expect("a translation");
    assert_eq!(said(&mariadb).len(), 1);
}

#[test]
fn mistakes_in_what_is_done_after_loading_are_told() {
    let message = |entry: &str| after_load(entry).err().unwrap_or_else(|| panic!("`{entry}` is accepted"));
    assert!(message("{ sql = \"SELECT 1\", on = { oracle = \"\" } }").contains("no server `oracle`"));
    assert!(message("{ sql = \"SELECT 1\", on = { postgres = \"SELECT 1; SELECT 2\" } }").contains("one statement"));
    assert!(message("{ sql = \"SELECT 1\", colour = 2 }").contains("expected a statement, or { sql"));
    assert!(message("5").contains("expected a statement, or { sql"));
}

#[test]
fn every_statement_of_a_transaction_has_its_savepoint_and_those_outside_have_none() {
    let workload = parse(&Source::new("small.toml", SMALL)).unwrap_or_else(|e| panic!("{e}"));
    let dialect = Dialect { has_savepoints: true, ..Dialect::of_server(Target::Postgres) };
    let translated = spoken(&workload, dialect, str::to_string).expect("a translation");
    let told = |name: &str| {
        let of = |step: &Step| match step {
            Step::Sql(step) => {
                assert_eq!(step.repeat, 1);
                let sql = &translated.statements[step.statement as usize];
                (sql.split(' ').next().unwrap_or_default().to_string(), format!("{:?}", step.args))
            }
            other => (format!("{other:?}"), String::new()),
        };
        translated.transactions.iter().find(|t| t.name == name).expect("the transaction").steps.iter().map(of).collect()
    };
    let look: Vec<(String, String)> = told("look");
    assert_eq!(look.len(), 1, "{look:?}");
    let add: Vec<(String, String)> = told("add");
    let words: Vec<&str> = add.iter().map(|(word, _)| word.as_str()).collect();
    let guarded = |word| ["SAVEPOINT", word, "RELEASE"];
    let expected =
        [guarded("INSERT"), guarded("INSERT"), guarded("INSERT"), guarded("SELECT"), guarded("SELECT")].concat();
    assert_eq!(words[..15], expected);
    assert!(words[15].starts_with("Pause"), "{words:?}");
    let inserts = [&add[1].1, &add[4].1, &add[7].1];
    assert!(inserts[0] != inserts[1] && inserts[1] != inserts[2], "each repetition has its own: {inserts:?}");
}
