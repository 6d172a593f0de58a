//! Statements that a server is told in the file's own words.

use super::SMALL;
use crate::source::Source;
use crate::workload::model::Workload;
use crate::workload::parse;
use contend_sql::Target;
use contend_wire::plan::Step;

const LOOK: &str = "sql = \"SELECT id FROM item WHERE name = :name\"";

fn with(on: &str) -> Result<Workload, String> {
    let text = SMALL.replacen(LOOK, &format!("{LOOK}\n{on}"), 1);
    assert_ne!(text, SMALL);
    parse(&Source::new("small.toml", &text)).map_err(|e| e.message)
}

fn told(workload: &Workload, target: Target) -> (String, usize, Vec<String>) {
    let translated = workload.translated(target, str::to_string).expect("a translation");
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
    let (sql, args, conditions) = told(&workload, Target::MariaDb);
    assert!(sql.contains("\"name\" = ?") && args == 1, "{sql}");
    assert!(!conditions.iter().any(|c| c.starts_with("override")), "{conditions:?}");
}

#[test]
fn mistakes_in_it_are_told() {
    let message = |on: &str| with(on).err().unwrap_or_else(|| panic!("`{on}` is accepted"));
    assert!(message("on.oracle = \"SELECT 1\"").contains("no server `oracle` (known: postgres, mariadb)"));
    assert!(message("on.mariadb = \"SELECT id FROM item WHERE name = :nme\"").contains("called `nme`"));
    assert!(message("on.mariadb = \"SELECT :name; SELECT 2\"").contains("one statement at a time"));
    assert!(message("on.mariadb = \"SELECT :name, :now\"").contains("does not take"));
}
