//! Compares the schema of a database after a trial with the one that it began with.

use crate::outcome::reason::{Invalid, Reason};
use contend_wire::literal::Value;

/// What the schema consists of; each row has kind, name, table and definition.
pub type Objects = Vec<Vec<Value>>;

/// First words of statements that change the schema.
const CHANGES: [&str; 4] = ["alter", "create", "drop", "rename"];
/// First words of statements that carry out others.
const ELSEWHERE: [&str; 3] = ["call", "do", "execute"];

/// The first object that is missing, changed or new. A new table makes no difference, nor does what is on it: programs keep
/// books. What statements of the workload create, change or drop is not compared, nor are the tables that they name.
pub fn changed<'s>(before: &Objects, after: &Objects, workload: impl Iterator<Item = &'s str>) -> Option<Reason> {
    let statements: Vec<String> = workload.map(without_comments).map(|sql| sql.to_ascii_lowercase()).collect();
    // What these do is written elsewhere.
    if statements.iter().any(|sql| begins_with(sql, &ELSEWHERE)) {
        return None;
    }
    let changes: Vec<&String> = statements.iter().filter(|sql| begins_with(sql, &CHANGES)).collect();
    let is_named = |name: &str| changes.iter().any(|sql| mentions(sql, name));
    let tables =
        || before.iter().chain(after).filter(|object| text(object, 0) == "table").map(|object| text(object, 1));
    let named: Vec<String> = tables().filter(|table| is_named(table)).collect();
    // Others may depend on a table: its foreign keys are dropped with it, and a new name is in their definitions.
    let is_its_own = |object: &&Vec<Value>| {
        let depends = named.iter().any(|table| mentions(&text(object, 3).to_ascii_lowercase(), table));
        depends || is_named(&text(object, 1)) || is_named(&text(object, 2))
    };
    let is_same = |a: &[Value], b: &[Value]| a.get(..3) == b.get(..3);
    let gone = before.iter().filter(|object| !is_its_own(object)).find_map(|object| {
        match after.iter().find(|other| is_same(object, other)) {
            _ if after.contains(object) => None,
            None => Some((object, "is missing".to_string())),
            Some(other) => Some((object, format!("was `{}` and is `{}`", text(object, 3), text(other, 3)))),
        }
    });
    let is_new = |object: &&Vec<Value>| {
        let on_a_table = before.iter().any(|of| text(of, 0) == "table" && of.get(1) == object.get(2));
        on_a_table && !before.iter().any(|other| is_same(object, other))
    };
    let added = || after.iter().filter(|object| !is_its_own(object)).find(is_new);
    let (object, what) = gone.or_else(|| Some((added()?, "is new".to_string())))?;
    let (kind, name) = (text(object, 0), text(object, 1));
    let of = if ["table", "view"].contains(&kind.as_str()) {
        String::new()
    } else {
        format!(" of table {}", text(object, 2))
    };
    Some(
        Invalid::Invariant
            .because(format!("the schema after the trial is not the one that it began with: {kind} {name}{of} {what}")),
    )
}

/// The first table whose definition does not begin with `crash_safe`, such as `InnoDB`.
pub fn lost_in_a_crash(objects: &Objects, crash_safe: &str) -> Option<Reason> {
    let kind = |object: &[Value]| text(object, 3).split(' ').next().unwrap_or_default().to_string();
    let mut tables = objects.iter().filter(|object| text(object, 0) == "table");
    let table = tables.find(|table| kind(table) != crash_safe)?;
    let (name, found) = (text(table, 1), kind(table));
    Some(Invalid::Settings.because(format!(
        "table {name} is stored as `{found}` and not as `{crash_safe}`: a crash can take committed rows from it, whatever the settings; make it \
         without UNLOGGED or another engine, or compare it under settings that promise nothing"
    )))
}

fn text(object: &[Value], at: usize) -> String {
    match object.get(at) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Whether a statement in lower case has this name, quoted or not.
fn mentions(sql: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_whole =
        |at: usize| !is_part(sql[..at].chars().next_back()) && !is_part(sql[at + name.len()..].chars().next());
    !name.is_empty() && sql.match_indices(&name).any(|(at, _)| is_whole(at))
}

/// A statement without the comments before it.
fn without_comments(sql: &str) -> &str {
    let sql = sql.trim_start();
    let rest = match sql.strip_prefix("--") {
        Some(line) => line.split_once('\n').map(|(_, rest)| rest),
        None => sql.strip_prefix("/*").and_then(|text| text.split_once("*/")).map(|(_, rest)| rest),
    };
    rest.map_or(sql, without_comments)
}

fn begins_with(sql: &str, words: &[&str]) -> bool {
    sql.split(|c: char| !c.is_alphanumeric()).next().is_some_and(|first| words.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(of: &[[&str; 4]]) -> Objects {
        of.iter().map(|object| object.iter().map(|text| Value::Text((*text).to_string())).collect()).collect()
    }

    const TABLE: [&str; 4] = ["table", "t", "t", "CREATE TABLE t (a)"];
    const INDEX: [&str; 4] = ["index", "i", "t", "CREATE INDEX i ON t (a)"];

    fn found(after: &[[&str; 4]], workload: &[&str]) -> Option<String> {
        changed(&objects(&[TABLE, INDEX]), &objects(after), workload.iter().copied()).map(|reason| reason.detail)
    }

    #[test]
    fn what_is_missing_changed_or_new_on_a_table_is_found() {
        assert_eq!(found(&[INDEX, TABLE], &[]), None);
        assert!(found(&[TABLE], &[]).is_some_and(|words| words.ends_with("index i of table t is missing")));
        let other = ["table", "t", "t", "CREATE TABLE t (a, b)"];
        assert!(found(&[other, INDEX], &[]).is_some_and(|words| words.ends_with("table t was `CREATE TABLE t (a)` and is `CREATE TABLE t (a, b)`")));
        let more = ["index", "j", "t", "CREATE INDEX j ON t (a)"];
        assert!(found(&[TABLE, INDEX, more], &[]).is_some_and(|words| words.ends_with("index j of table t is new")));
    }

    #[test]
    fn books_of_a_program_and_what_the_workload_changes_are_no_difference() {
        let books = [["table", "books", "books", "..."], ["index", "b", "books", "..."]];
        assert_eq!(found(&[TABLE, INDEX, books[0], books[1]], &[]), None);
        assert_eq!(found(&[TABLE], &["SELECT 1", "drop index I"]), None);
        assert_eq!(found(&[TABLE], &["-- of the day\n/* i */ DROP INDEX \"i\""]), None);
        assert_eq!(found(&[TABLE], &["DO $$ BEGIN EXECUTE 'DROP INDEX ' || 'i'; END $$"]), None);
        assert!(found(&[TABLE], &["DROP TABLE other", "SELECT i FROM t"]).is_some());
    }

    #[test]
    fn what_depends_on_a_table_of_the_workload_may_change_with_it() {
        let key = ["constraint", "k", "c", "FOREIGN KEY (a) REFERENCES p (a)"];
        let before = objects(&[["table", "p", "p", "a"], ["table", "c", "c", "a"], key]);
        let after = objects(&[["table", "c", "c", "a"]]);
        let found = |workload: &[&str]| changed(&before, &after, workload.iter().copied()).map(|reason| reason.detail);
        assert_eq!(found(&["DROP TABLE p CASCADE"]), None);
        assert!(found(&["DROP TABLE q"]).is_some());
    }

    #[test]
    fn a_table_that_a_crash_empties_is_found() {
        let found =
            |of: &[[&str; 4]], crash_safe| lost_in_a_crash(&objects(of), crash_safe).map(|reason| reason.detail);
        let logged = ["table", "t", "t", "logged a bigint"];
        assert_eq!(found(&[logged, ["index", "i", "t", "btree"]], "logged"), None);
        let unlogged = found(&[logged, ["table", "u", "u", "unlogged a bigint"]], "logged").expect("it is found");
        assert!(unlogged.contains("table u is stored as `unlogged` and not as `logged`"), "{unlogged}");
        assert!(found(&[["table", "t", "t", "MyISAM"]], "InnoDB").is_some());
    }

    #[test]
    fn two_constraints_of_one_name_are_two() {
        let twice = [TABLE, ["constraint", "a", "t", "a > 0"], ["constraint", "a", "t", "a < 10"]];
        assert_eq!(changed(&objects(&twice), &objects(&twice), [].into_iter()).map(|reason| reason.detail), None);
    }
}
