//! Compares the schema of a database after a trial with the one that it began with.

use crate::outcome::reason::{Invalid, Reason};
use contend_wire::literal::Value;

/// What the schema consists of; each row has kind, name, table and definition.
pub type Objects = Vec<Vec<Value>>;

/// First words of statements that change the schema.
const CHANGES: [&str; 4] = ["ALTER", "CREATE", "DROP", "RENAME"];

/// The first object that is missing, changed or new. A new table makes no difference, nor does what is on it: programs keep
/// books. What statements of the workload create, change or drop is not compared.
pub fn changed<'s>(before: &Objects, after: &Objects, workload: impl Iterator<Item = &'s str>) -> Option<Reason> {
    let words: Vec<String> = workload.filter(changes_schema).flat_map(names).collect();
    let is_its_own = |object: &&Vec<Value>| {
        let named = |at: usize| words.iter().any(|word| word.eq_ignore_ascii_case(&text(object, at)));
        named(1) || named(2)
    };
    let is_same = |a: &[Value], b: &[Value]| a.get(..3) == b.get(..3);
    let gone = before.iter().filter(|object| !is_its_own(object)).find_map(|object| {
        match after.iter().find(|other| is_same(object, other)) {
            None => Some((object, "is missing".to_string())),
            Some(other) if other != object => Some((object, format!("is now `{}`", text(other, 3)))),
            Some(_) => None,
        }
    });
    let is_new = |object: &&Vec<Value>| {
        let on_a_table = before.iter().any(|of| text(of, 0) == "table" && of.get(1) == object.get(2));
        on_a_table && !before.iter().any(|other| is_same(object, other))
    };
    let added = || after.iter().filter(|object| !is_its_own(object)).find(is_new);
    let (object, what) = gone.or_else(|| Some((added()?, "is new".to_string())))?;
    Some(Invalid::Invariant.because(format!(
        "the schema after the trial is not the one that it began with: {} {} of table {} {what}",
        text(object, 0),
        text(object, 1),
        text(object, 2)
    )))
}

fn text(object: &[Value], at: usize) -> String {
    match object.get(at) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn changes_schema(sql: &&str) -> bool {
    sql.split_whitespace().next().is_some_and(|first| CHANGES.iter().any(|word| word.eq_ignore_ascii_case(first)))
}

fn names(sql: &str) -> impl Iterator<Item = String> {
    sql.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).map(str::to_string)
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
        assert!(found(&[other, INDEX], &[]).is_some_and(|words| words.contains("is now `CREATE TABLE t (a, b)`")));
        let more = ["index", "j", "t", "CREATE INDEX j ON t (a)"];
        assert!(found(&[TABLE, INDEX, more], &[]).is_some_and(|words| words.ends_with("index j of table t is new")));
    }

    #[test]
    fn books_of_a_program_and_what_the_workload_changes_are_no_difference() {
        let books = [["table", "books", "books", "..."], ["index", "b", "books", "..."]];
        assert_eq!(found(&[TABLE, INDEX, books[0], books[1]], &[]), None);
        assert_eq!(found(&[TABLE], &["SELECT 1", "drop index I"]), None);
        assert!(found(&[TABLE], &["DROP TABLE other", "SELECT i FROM t"]).is_some());
    }
}
