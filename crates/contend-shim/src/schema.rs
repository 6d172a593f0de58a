//! A database on the server: a schema that stores SQLite's own statements in its tables.
//!
//! [`contend_wire::kept`] says which relations these are, and which schema is a file's.
//!
//! A statement translated for an older version fails on the server, because that relation is gone; the schema is then
//! read again. This takes a shared lock, so a change of the schema waits for running transactions.

use crate::c::front::{Failed, Front};
use crate::journal;
use crate::server::{Message, Reply};
use crate::value::Value;
use contend_sql::{Catalogue, ParamType, Target, function_pack};
use contend_wire::kept::{self, literal, quoted, sentinel};

/// The version in the answer.
pub fn version(rows: &[Vec<Value>]) -> Option<u64> {
    match rows.first()?.first()? {
        Value::Text(name) => std::str::from_utf8(name).ok()?.strip_prefix("_contend_v")?.parse().ok(),
        _ => None,
    }
}

/// The schema in the answer, and whether the functions are those of this version of contend.
///
/// # Errors
/// Several schemas are this file's.
pub fn place(answers: &[Reply], target: Target) -> Result<(Option<String>, bool), Vec<String>> {
    let names: Vec<String> = answers[0].rows.iter().filter_map(|row| texts(row).into_iter().next()).collect();
    let has_pack = answers[1].rows == [[Value::text(&kept::mark(function_pack(target)))]];
    match names.len() {
        0 | 1 => Ok((names.into_iter().next(), has_pack)),
        _ => Err(names),
    }
}

/// Queries version, statements and settings.
pub fn ask_all(ask_version: String) -> Vec<Message> {
    let objects = "SELECT type, name, tbl_name, \"sql\" FROM _contend_schema ORDER BY position";
    [ask_version, objects.to_string(), "SELECT name, value FROM _contend_settings".to_string()]
        .map(Message::query)
        .into()
}

/// A row of `sqlite_schema`: type, name, table, SQL.
pub type Object = [String; 4];

fn texts(row: &[Value]) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    row.iter().map(text).collect()
}

/// Rows of four texts.
pub fn objects(rows: &[Vec<Value>]) -> Vec<Object> {
    rows.iter().filter_map(|row| texts(row).try_into().ok()).collect()
}

/// Rows of two texts.
pub fn settings(rows: &[Vec<Value>]) -> Vec<(String, String)> {
    rows.iter().map(|row| texts(row)).filter_map(|row| Some((row.first()?.clone(), row.get(1)?.clone()))).collect()
}

/// The objects of the front.
///
/// # Errors
/// SQLite reports an error.
pub fn of_front(front: &Front) -> Result<Vec<Object>, Failed> {
    let sql = "SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE sql IS NOT NULL ORDER BY rowid";
    // Not by LIKE, which a program may replace.
    let is_internal = |name: &str| name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"));
    Ok(objects(&front.rows(sql)?).into_iter().filter(|[_, name, ..]| !is_internal(name)).collect())
}

/// Replaces the front's schema by the server's. Returns whether it was another one.
///
/// # Errors
/// A statement of the program still reads the front.
pub fn put_in_front(front: &Front, there: &[Object]) -> Result<bool, Failed> {
    let here = of_front(front)?;
    if here == there {
        return Ok(false);
    }
    for kind in ["trigger", "view", "index", "table"] {
        for [_, name, ..] in here.iter().filter(|object| object[0] == kind) {
            front.execute(&format!("DROP {kind} IF EXISTS main.{}", quoted(name)))?;
        }
    }
    there.iter().try_for_each(|[.., sql]| front.execute(sql))?;
    Ok(true)
}

/// Views with the names of their columns.
pub type Views = Vec<(String, Vec<String>)>;

/// The columns of these views.
pub fn view_columns(front: &Front, objects: &[Object]) -> Views {
    let columns = |name: &str| front.prepare(&format!("SELECT * FROM main.{}", quoted(name))).map(|own| own.names());
    let views = objects.iter().filter(|[kind, ..]| kind == "view");
    views.filter_map(|[_, name, ..]| Some((name.clone(), columns(name).ok()?))).collect()
}

/// Why the server cannot apply a change of the schema. `before`: the columns that its views had.
pub fn objection(front: &Front, after: &[Object], before: &Views) -> Option<String> {
    let is_type = |object: &&Object| ["table", "view"].contains(&object[0].as_str()) && kept::is_type(&object[1]);
    if let Some([kind, name, ..]) = after.iter().find(is_type) {
        return Some(format!("a {kind} cannot be named {name}: the server has a type of this name"));
    }
    let now = view_columns(front, after);
    let is_other =
        |(name, columns): &&(String, Vec<String>)| now.iter().any(|view| view.0 == *name && view.1 != *columns);
    let (view, _) = before.iter().find(is_other)?;
    Some(format!("the columns of the view {view} would change, which the server does not allow: drop the view first"))
}

fn same(a: &Object, b: &Object) -> bool {
    a[..2] == b[..2]
}

/// The place of the object that has another name now. SQLite leaves it there: statements about it come later.
fn renamed(before: &[Object], after: &[Object]) -> Option<usize> {
    let is_in = |object: &Object, list: &[Object]| list.iter().any(|other| same(object, other));
    let is_renamed = |(old, new): (&Object, &Object)| old[0] == new[0] && !is_in(old, after) && !is_in(new, before);
    if before.len() == after.len() { before.iter().zip(after).position(is_renamed) } else { None }
}

/// Statements that update the server's list of objects to the front's.
pub fn difference(before: &[Object], after: &[Object]) -> Vec<String> {
    let (mut before, mut statements) = (before.to_vec(), vec![]);
    if let Some(at) = renamed(&before, after) {
        let (old, [_, name, table, sql]) = (&before[at], &after[at]);
        let name = literal(name);
        statements.push(format!(
            "UPDATE _contend_schema SET name = {name}, {} WHERE {}",
            texts_of(table, sql),
            is(old)
        ));
        before[at].clone_from(&after[at]);
    }
    for object in before.iter().filter(|object| !after.iter().any(|other| same(object, other))) {
        statements.push(format!("DELETE FROM _contend_schema WHERE {}", is(object)));
    }
    for object in after.iter().filter(|object| !before.contains(object)) {
        let is_there = before.iter().any(|other| same(object, other));
        let [kind, name, table, sql] = object;
        statements.push(if is_there {
            format!("UPDATE _contend_schema SET {} WHERE {}", texts_of(table, sql), is(object))
        } else {
            let values = [kind, name, table, sql].map(|text| literal(text)).join(", ");
            format!("INSERT INTO _contend_schema (type, name, tbl_name, \"sql\") VALUES ({values})")
        });
    }
    statements
}

fn texts_of(table: &str, sql: &str) -> String {
    format!("tbl_name = {}, \"sql\" = {}", literal(table), literal(sql))
}

/// The condition of an object's row.
fn is(object: &Object) -> String {
    format!("type = {} AND name = {}", literal(&object[0]), literal(&object[1]))
}

/// Removes a row.
pub fn forget(object: &Object) -> String {
    format!("DELETE FROM _contend_schema WHERE {} AND tbl_name = {}", is(object), literal(&object[2]))
}

/// Whether a row is about what a column holds.
pub fn is_held(object: &Object) -> bool {
    object[0] == kept::HELD
}

/// The rows about the columns of a CREATE TABLE AS, where SQLite's own statement about the new table has other types.
///
/// # Errors
/// The types are not known.
pub fn held_by(catalogue: &Catalogue, sql: &str, target: Target) -> Result<Vec<Object>, Failed> {
    let held = catalogue.held_by(sql, &crate::plan::options(target));
    let held = held.map_err(|refusal| journal::refused(sql, &refusal.to_string()))?.into_iter();
    Ok(held.map(|(table, column, ty)| [kept::HELD.to_string(), column, table, ty.word().to_string()]).collect())
}

/// The next version.
pub fn next_version(version: u64) -> String {
    format!("ALTER TABLE {} RENAME TO {}", sentinel(version), sentinel(version + 1))
}

/// What the translator has to know. The last two: whether foreign keys are enforced, and whether tables have hidden rowids.
pub fn catalogue(objects: &[Object], held: &[Object], (foreign_keys, keeps_rowids): (bool, bool)) -> Catalogue {
    let mut catalogue = Catalogue::default();
    if keeps_rowids {
        catalogue.keep_rowids();
    }
    for [_, column, table, word] in held {
        catalogue.set_held(table, column, ParamType::of_word(word));
    }
    if foreign_keys {
        let _ = catalogue.learn("PRAGMA foreign_keys = ON");
    }
    // A view may be older than a table that was made again.
    let (tables, others): (Vec<&Object>, Vec<&Object>) = objects.iter().partition(|[kind, ..]| kind == "table");
    for [.., sql] in tables.into_iter().chain(others) {
        // A statement that cannot be learned is refused when its object is used.
        let _ = catalogue.learn(sql);
    }
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_statements_follows_the_front() {
        let object = |name: &str, sql: &str| ["table", name, name, sql].map(str::to_string);
        let (a, b, wider) = (object("a", "x"), object("b", "y"), object("b", "z"));
        assert_eq!(difference(std::slice::from_ref(&a), std::slice::from_ref(&a)), [""; 0]);
        let statements = difference(&[a, b], &[wider, object("c", "w")]);
        let verbs: Vec<&str> = statements.iter().map(|sql| &sql[..6]).collect();
        assert_eq!(verbs, ["DELETE", "UPDATE", "INSERT"]);
    }

    #[test]
    fn a_renamed_object_keeps_its_row() {
        let object = |kind: &str, name: &str, table: &str| [kind, name, table, "x"].map(str::to_string);
        let before = [object("table", "a", "a"), object("index", "i", "a")];
        let statements = difference(&before, &[object("table", "b", "b"), object("index", "i", "b")]);
        let wanted = [
            "UPDATE _contend_schema SET name = 'b', tbl_name = 'b', \"sql\" = 'x' WHERE type = 'table' AND name = 'a'",
            "UPDATE _contend_schema SET tbl_name = 'b', \"sql\" = 'x' WHERE type = 'index' AND name = 'i'",
        ];
        assert_eq!(statements, wanted);
    }
}
