//! A database on the server: a schema that stores SQLite's own statements in its tables.
//!
//! [`contend_wire::kept`] says which relations these are, and which schema is a file's.
//!
//! A statement translated for an older version fails on the server, because that relation is gone; the schema is then
//! read again. This takes a shared lock, so a change of the schema waits for running transactions.

use crate::c::front::{Failed, Front};
use crate::server::{Message, Reply, Said, Trouble};
use crate::value::Value;
use contend_sql::{Catalogue, ParamType, Target, function_pack, session};
use contend_wire::kept::{self, hash, literal, quoted, sentinel};
use std::path::Path;

/// PostgreSQL truncates longer names.
const NAME_MAX: usize = 63;

/// The name of a new schema for a database file: its path, or for a long path a hash and the path's end.
pub fn name_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.len() <= NAME_MAX {
        return path.into_owned();
    }
    let hash = hash(&path);
    let mut from = path.len() - (NAME_MAX - 17);
    while !path.is_char_boundary(from) {
        from += 1;
    }
    format!("{hash:016x}:{}", &path[from..])
}

/// Settings of every session. `pg_catalog` is last; otherwise its names would hide the program's.
pub fn session_of(schema: &str) -> String {
    let settings = session(Target::Postgres).join("; ");
    format!("{settings}; SET client_encoding = 'UTF8'; SET search_path = {}, pg_catalog", quoted(schema))
}

/// Whether an error says that the schema was changed by another connection.
pub fn is_outdated(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Server(said) if is_about_sentinel(said))
}

fn is_about_sentinel(said: &Said) -> bool {
    said.state == "42P01" && said.message.contains("_contend_v")
}

/// A statement that fails unless the schema has this version.
pub fn guarded(sql: &str, version: u64) -> String {
    let head = format!("\"contend version\" AS (SELECT FROM \"{}\")", sentinel(version));
    if let Some(rest) = sql.strip_prefix("WITH RECURSIVE ") {
        return format!("WITH RECURSIVE {head}, {rest}");
    }
    if let Some(rest) = sql.strip_prefix("WITH ") {
        return format!("WITH {head}, {rest}");
    }
    let is_guardable =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "("].iter().any(|word| sql.starts_with(word));
    if is_guardable { format!("WITH {head} {sql}") } else { sql.to_string() }
}

fn query(sql: impl Into<String>, values: &[&str]) -> Message {
    Message::Query { sql: sql.into(), values: values.iter().map(|value| Value::text(value)).collect() }
}

/// Queries the version of a schema that may not exist.
pub fn ask_version(schema: &str) -> Message {
    query(
        "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1::text AND c.relname ~ '^_contend_v[0-9]+$' AND c.relkind = 'r'",
        &[schema],
    )
}

/// The version in the answer.
pub fn version(rows: &[Vec<Value>]) -> Option<u64> {
    match rows.first()?.first()? {
        Value::Text(name) => std::str::from_utf8(name).ok()?.strip_prefix("_contend_v")?.parse().ok(),
        _ => None,
    }
}

/// Queries the schema of a file, and the installed function pack.
pub fn ask_place(path: &str) -> Vec<Message> {
    vec![query(kept::find(path), &[]), query(kept::FIND_MARK, &[])]
}

/// The schema in the answer, and whether the functions are those of this version of contend.
///
/// # Errors
/// Several schemas are this file's.
pub fn place(answers: &[Reply]) -> Result<(Option<String>, bool), Vec<String>> {
    let names: Vec<String> = answers[0].rows.iter().filter_map(|row| texts(row).into_iter().next()).collect();
    let has_pack = answers[1].rows == [[Value::text(&kept::mark(function_pack(Target::Postgres)))]];
    match names.len() {
        0 | 1 => Ok((names.into_iter().next(), has_pack)),
        _ => Err(names),
    }
}

/// Installs the functions of this version of contend, under the lock.
pub fn install() -> Vec<Message> {
    vec![Message::Plain(kept::install(function_pack(Target::Postgres)))]
}

/// Makes the schema, under the lock. Fails if its name is taken by another file's.
pub fn make(schema: &str, path: &str) -> Vec<Message> {
    let comment = kept::comment(schema);
    let is_ours = kept::block(
        "",
        &format!(
            "IF {comment} IS DISTINCT FROM {} THEN RAISE EXCEPTION '%', format({}, {comment}); END IF;",
            literal(path),
            literal(&format!(
                "the schema {0} is the database of %s; rename it with ALTER SCHEMA {1} RENAME TO",
                schema.replace('%', "%%"),
                quoted(schema).replace('%', "%%")
            ))
        ),
    );
    let create = format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(schema));
    [create, kept::make(schema, path, &[], &[]), is_ours].map(Message::Plain).into()
}

/// Queries version, statements and settings.
pub fn ask_all(schema: &str) -> Vec<Message> {
    vec![
        ask_version(schema),
        query("SELECT type, name, tbl_name, sql FROM _contend_schema ORDER BY position", &[]),
        query("SELECT name, value FROM _contend_settings", &[]),
    ]
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
pub fn difference(before: &[Object], after: &[Object]) -> Vec<Message> {
    let (mut before, mut messages) = (before.to_vec(), vec![]);
    if let Some(at) = renamed(&before, after) {
        let sql = "UPDATE _contend_schema SET name = $3::text, tbl_name = $4::text, sql = $5::text \
                   WHERE type = $1::text AND name = $2::text";
        let ([kind, old, ..], [_, name, table, text]) = (&before[at], &after[at]);
        messages.push(query(sql, &[kind, old, name, table, text]));
        before[at].clone_from(&after[at]);
    }
    for object in before.iter().filter(|object| !after.iter().any(|other| same(object, other))) {
        let sql = "DELETE FROM _contend_schema WHERE type = $1::text AND name = $2::text";
        messages.push(query(sql, &[&object[0], &object[1]]));
    }
    for object in after.iter().filter(|object| !before.contains(object)) {
        let is_there = before.iter().any(|other| same(object, other));
        let sql = if is_there {
            "UPDATE _contend_schema SET tbl_name = $3::text, sql = $4::text WHERE type = $1::text AND name = $2::text"
        } else {
            "INSERT INTO _contend_schema (type, name, tbl_name, sql) VALUES ($1::text, $2::text, $3::text, $4::text)"
        };
        messages.push(query(sql, &[&object[0], &object[1], &object[2], &object[3]]));
    }
    messages
}

/// Removes a row.
pub fn forget(object: &Object) -> Message {
    let sql = "DELETE FROM _contend_schema WHERE type = $1::text AND name = $2::text AND tbl_name = $3::text";
    query(sql, &[&object[0], &object[1], &object[2]])
}

/// Whether a row is about what a column holds.
pub fn is_held(object: &Object) -> bool {
    object[0] == kept::HELD
}

/// The next version.
pub fn next_version(version: u64) -> Message {
    Message::Plain(format!("ALTER TABLE {} RENAME TO {}", sentinel(version), sentinel(version + 1)))
}

/// The statement that stores a setting.
pub fn set(name: &str, value: &str) -> Message {
    let sql = "INSERT INTO _contend_settings VALUES ($1::text, $2::text) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    query(sql, &[name, value])
}

/// What the translator has to know.
pub fn catalogue(objects: &[Object], held: &[Object], foreign_keys: bool) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for [_, column, table, word] in held {
        catalogue.set_held(table, column, ParamType::of_word(word));
    }
    if foreign_keys {
        let _ = catalogue.learn("PRAGMA foreign_keys = ON");
    }
    for [.., sql] in objects {
        // A statement that cannot be learned is refused when its object is used.
        let _ = catalogue.learn(sql);
    }
    catalogue
}

/// Queries the table and columns of a unique index.
pub fn ask_key(schema: &str, index: &str) -> Message {
    query(
        "SELECT t.relname, a.attname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid \
         CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, place) \
         LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum AND k.attnum > 0 \
         WHERE i.indexrelid = to_regclass($1::text) ORDER BY k.place",
        &[&format!("{}.{}", quoted(schema), quoted(index))],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_named_after_the_file() {
        assert_eq!(name_of(Path::new("/srv/app.db")), "/srv/app.db");
        let long = name_of(Path::new(&format!("/{}/é/app.db", "d".repeat(80))));
        assert!(long.len() <= NAME_MAX && long.ends_with("/é/app.db"), "{long}");
        assert_ne!(long, name_of(Path::new(&format!("/{}/é/app.db", "d".repeat(81)))));
    }

    #[test]
    fn every_statement_mentions_the_version() {
        let head = "\"contend version\" AS (SELECT FROM \"_contend_v7\")";
        assert_eq!(guarded("SELECT 1", 7), format!("WITH {head} SELECT 1"));
        assert_eq!(
            guarded("WITH RECURSIVE a AS (SELECT 1) SELECT 2", 7),
            format!("WITH RECURSIVE {head}, a AS (SELECT 1) SELECT 2")
        );
        assert_eq!(guarded("WITH a AS (SELECT 1) SELECT 2", 7), format!("WITH {head}, a AS (SELECT 1) SELECT 2"));
    }

    #[test]
    fn the_list_of_statements_follows_the_front() {
        let object = |name: &str, sql: &str| ["table", name, name, sql].map(str::to_string);
        let (a, b, wider) = (object("a", "x"), object("b", "y"), object("b", "z"));
        assert_eq!(difference(std::slice::from_ref(&a), std::slice::from_ref(&a)), vec![]);
        let messages = difference(&[a, b], &[wider, object("c", "w")]);
        let verbs: Vec<&str> = messages
            .iter()
            .map(|message| match message {
                Message::Query { sql, .. } => &sql[..6],
                Message::Plain(_) => "",
            })
            .collect();
        assert_eq!(verbs, ["DELETE", "UPDATE", "INSERT"]);
    }

    #[test]
    fn a_renamed_object_keeps_its_row() {
        let object = |kind: &str, name: &str, table: &str| [kind, name, table, "x"].map(str::to_string);
        let before = [object("table", "a", "a"), object("index", "i", "a")];
        let messages = difference(&before, &[object("table", "b", "b"), object("index", "i", "b")]);
        let values = |message: &Message| match message {
            Message::Query { sql, values } => (sql.starts_with("UPDATE"), values.clone()),
            Message::Plain(sql) => panic!("{sql}"),
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| Value::text(text)).collect::<Vec<_>>();
        let wanted = [texts(&["table", "a", "b", "b", "x"]), texts(&["index", "i", "b", "x"])];
        assert_eq!(messages.iter().map(values).collect::<Vec<_>>(), wanted.map(|values| (true, values)));
    }
}
