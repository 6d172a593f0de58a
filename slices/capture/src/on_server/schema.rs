//! The schema on the server: that of the end of the capture, without rows in the tables that the program made.

use crate::content::{open_copy, value_counts};
use crate::copies::{confine, place};
use crate::manifest::Database;
use crate::on_server::keys::{Counter, counters_of_trigger};
use crate::on_server::pieces::{Piece, Role, pieces};
use crate::sql::{Token, tokens};
use anyhow::{Context, Result, ensure};
use contend_sql::{Catalogue, Options, ParamType, Target, define_table, table_columns, translate};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An object of a schema: type, name, statement.
type Object = [String; 3];

/// Kinds in the order in which they can be made.
const KINDS: [&str; 4] = ["table", "index", "view", "trigger"];

fn objects(db: &Connection) -> rusqlite::Result<Vec<Object>> {
    let mut found = db.prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY rowid",
    )?;
    let rows = found.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
    let all = rows.collect::<rusqlite::Result<Vec<Object>>>()?;
    let of = |kind| all.iter().filter(move |[other, ..]| other == kind).cloned();
    Ok(KINDS.into_iter().flat_map(of).collect())
}

/// Follows the statements that change the schema, in a database without rows.
pub struct Course {
    db: Connection,
    begin: Vec<Object>,
    changed: BTreeSet<String>,
}

impl Course {
    /// Makes the database for the replay: the content at the beginning, and what the program made, without rows.
    ///
    /// # Errors
    /// The capture has no copy, or a copy cannot be read.
    pub fn begin(taken: &Path, database: &Database, seed: &Path) -> Result<Course> {
        let path = database.path.display();
        let end = database.end.as_ref().map(|end| end.copied_in(taken)).transpose()?.flatten();
        let end = end.with_context(|| format!("the capture has no copy of the final content of {path}"))?;
        place(taken, database, seed)?;
        let db = Connection::open(seed)?;
        let (begin, end) = (objects(&db)?, objects(&open_copy(&end)?)?);
        for [kind, name, sql] in begin.iter().chain(&end) {
            // Another person may have made the capture, and `contend migrate` carries these out, too.
            let is_definition = matches!(pieces(sql).as_slice(), [Piece { role: Role::Defines, .. }]);
            ensure!(is_definition, "{path}: the schema's {kind} {name} is not one CREATE statement");
        }
        let mut course = Course { db: Connection::open_in_memory()?, begin, changed: BTreeSet::new() };
        [&db, &course.db].into_iter().try_for_each(confine)?;
        for [_, _, sql] in &course.begin {
            // SQLite here may lack a module of the program.
            let _ = course.db.execute_batch(sql);
        }
        for object in end.iter().filter(|object| !course.begin.contains(object)) {
            if course.begin.iter().any(|[_, name, _]| *name == object[1]) {
                course.changed.insert(object[1].clone());
            } else if !object[2].to_ascii_uppercase().starts_with("CREATE VIRTUAL") {
                db.execute_batch(&object[2]).with_context(|| format!("{} {}", object[0], object[1]))?;
            }
        }
        let gone = course.begin.iter().filter(|[_, name, _]| !end.iter().any(|[_, other, _]| other == name));
        course.changed.extend(gone.map(|[_, name, _]| name.clone()));
        ensure!(!end.is_empty(), "{path} has no table at the end of the capture");
        Ok(course)
    }

    /// Takes a statement that changed the schema.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn take(&mut self, sql: &str) -> Result<()> {
        let before = objects(&self.db)?;
        // One that does not fit is part of a course that is not seen in full; the end says what is there.
        let _ = self.db.execute_batch(sql);
        let after = objects(&self.db)?;
        self.changed.extend(before.into_iter().filter(|object| !after.contains(object)).map(|[_, name, _]| name));
        Ok(())
    }

    /// # Errors
    /// An object changes during the capture.
    pub fn is_steady(&self, seed: &Path) -> Result<()> {
        let end: BTreeMap<String, String> =
            objects(&Connection::open(seed)?)?.into_iter().map(|[_, name, sql]| (name, sql)).collect();
        let made = objects(&self.db)?.into_iter().filter(|object| !self.begin.contains(object));
        // A capture does not keep white space and comments as they were.
        let is_other = |[_, name, sql]: &Object| end.get(name).is_some_and(|end| tokens(end) != tokens(sql));
        let other = made.filter(is_other).map(|[_, name, _]| name);
        let changed: BTreeSet<String> = other.chain(self.changed.iter().cloned()).collect();
        ensure!(
            changed.is_empty(),
            "the definition of {} changes during the capture, and a replay on a server has one definition for each \
             table, index, view and trigger: capture the program after it has changed its schema",
            changed.into_iter().collect::<Vec<_>>().join(", ")
        );
        Ok(())
    }
}

/// The schema of a replay as the translator takes it.
pub struct Schema {
    pub catalogue: Catalogue,
    pub tables: Vec<String>,
    pub views: Vec<String>,
    /// Names of the functions that PostgreSQL has for triggers, quoted, as `"r_trigger"()`.
    pub functions: Vec<String>,
    /// Counters of the rows that triggers insert.
    pub fired: Vec<Counter>,
    /// Parts that the server does not have, as sentences.
    pub left_out: Vec<String>,
}

/// Reads the schema of the database for the replay.
///
/// # Errors
/// It cannot be read.
pub fn schema(seed: &Path, target: Target, has_foreign_keys: bool) -> Result<Schema> {
    let db = Connection::open(seed)?;
    let all = objects(&db)?;
    let plain = learned(&all, &[], false);
    let names = |kind: &str| all.iter().filter(|[of, ..]| of == kind).map(|[_, name, _]| name.clone()).collect();
    let tables: Vec<String> = names("table");
    let mut held = vec![];
    for table in &tables {
        let columns = table_columns(&plain, table).unwrap_or_default();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        // The type of a column's values, as `contend migrate` chooses it.
        for (column, counts) in columns.iter().zip(value_counts(&db, table, &names)?) {
            held.extend(column.holds.for_values(counts).map(|holds| (table.clone(), column.name.clone(), holds)));
        }
    }
    let left_out = left_out(&all, &learned(&all, &held, false), target, has_foreign_keys);
    let catalogue = learned(&all, &held, has_foreign_keys);
    let triggers = || all.iter().filter(|[of, ..]| of == "trigger").map(|[_, _, sql]| sql.as_str());
    let mut fired: Vec<Counter> = triggers().flat_map(|sql| counters_of_trigger(sql, &catalogue)).collect();
    for counter in &mut fired {
        let is_its = |[of, name, _]: &&Object| of == "table" && name.eq_ignore_ascii_case(&counter.table);
        counter.is_autoincrement = all.iter().find(is_its).is_some_and(|[_, _, sql]| is_autoincrement(sql));
    }
    let functions = match target {
        Target::Postgres => triggers().filter_map(|sql| function(sql, &catalogue)).collect(),
        Target::MariaDb => vec![],
    };
    Ok(Schema { catalogue, tables, views: names("view"), functions, fired, left_out })
}

fn is_autoincrement(table: &str) -> bool {
    tokens(table).iter().any(|token| matches!(token, Token::Word(w) if w.eq_ignore_ascii_case("autoincrement")))
}

/// The function that PostgreSQL has for a trigger, as its translation names it.
fn function(trigger: &str, catalogue: &Catalogue) -> Option<String> {
    let options = Options { pack: true, sqlite: 0, ..Options::to(Target::Postgres) };
    let statements = translate(trigger, catalogue, &options).ok()?.statements;
    statements.iter().find_map(|statement| match tokens(&statement.sql).as_slice() {
        [_, _, _, Token::Word("FUNCTION"), Token::Word(name), ..] => Some(format!("{name}()")),
        _ => None,
    })
}

fn learned(all: &[Object], held: &[(String, String, ParamType)], has_foreign_keys: bool) -> Catalogue {
    let mut catalogue = Catalogue::default();
    held.iter().for_each(|(table, column, holds)| catalogue.set_held(table, column, *holds));
    if has_foreign_keys {
        catalogue.learn_what_can_be("PRAGMA foreign_keys = ON");
    }
    // Statements that use an object that is not understood are refused.
    all.iter().for_each(|[_, _, sql]| drop(catalogue.learn_what_can_be(sql)));
    catalogue
}

/// What `contend migrate` does not carry over, as sentences.
fn left_out(all: &[Object], catalogue: &Catalogue, target: Target, has_foreign_keys: bool) -> Vec<String> {
    let options = Options { pack: target == Target::Postgres, sqlite: 0, ..Options::to(target) };
    let mut found = vec![];
    for [kind, name, sql] in all {
        if kind == "table" {
            let parts = define_table(sql, catalogue, &options).unwrap_or_default().left_out;
            let parts = parts.into_iter().filter(|part| has_foreign_keys || !part.is_foreign_key);
            found.extend(
                parts.map(|part| format!("{} of table {name} is not on the server: {}.", part.part, part.reason)),
            );
        } else if let Err(refusal) = translate(sql, catalogue, &options) {
            found.push(format!("{kind} {name} is not on the server: {}.", refusal.reason));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Content;

    fn content(dir: &Path, name: &str, sql: &str) -> Option<Content> {
        let db = Connection::open(dir.join(name)).expect("made");
        db.execute_batch(sql).expect("filled");
        let (tables, others) = (vec![], vec![]);
        Some(Content {
            copy: Some(name.into()),
            copy_hash: None,
            journal_mode: "delete".into(),
            page_size: 4096,
            tables,
            others,
        })
    }

    /// Names of the tables of the database for the replay, or why there is none.
    fn course([begin, end]: [&str; 2], statements: &[&str]) -> Result<Vec<String>> {
        let dir = tempfile::tempdir()?;
        let (content, end) = (content(dir.path(), "b.db", begin), content(dir.path(), "e.db", end));
        let seed = dir.path().join("seed.db");
        let database = Database { path: "app.db".into(), content, end, was_there: false };
        let mut course = Course::begin(dir.path(), &database, &seed)?;
        statements.iter().try_for_each(|sql| course.take(sql))?;
        course.is_steady(&seed)?;
        Ok(schema(&seed, Target::Postgres, false)?.tables)
    }

    #[test]
    fn what_the_program_makes_is_there_and_what_it_changes_is_named() {
        let t = "CREATE TABLE t (a INTEGER)";
        let both = "CREATE TABLE t (a INTEGER); CREATE TABLE u (b TEXT)";
        let made = course([t, both], &["DROP TABLE IF EXISTS u", "CREATE TABLE u (b TEXT)", both]);
        assert_eq!(made.expect("steady"), ["t", "u"]);
        for (ends, statements) in [
            ([t, "CREATE TABLE t (a INTEGER, b)"], &[][..]),
            ([both, t], &["DROP TABLE u"]),
            ([both, both], &["DROP TABLE u", "CREATE TABLE u (b TEXT)"]),
            ([t, both], &["CREATE TABLE u (b)", "ALTER TABLE u RENAME TO v"]),
            ([t, both], &["CREATE TABLE u (c)"]),
        ] {
            let why = course(ends, statements).expect_err("it changes").to_string();
            let name = if [t, both].contains(&ends[1]) { "u" } else { "t" };
            assert!(why.contains(&format!("definition of {name} changes")), "{why}");
        }
    }

    #[test]
    fn a_schema_has_definitions_only() {
        let other = "CREATE TABLE t (a INTEGER); PRAGMA writable_schema = on; \
                     UPDATE sqlite_schema SET sql = sql || '; ATTACH ''other.db'' AS o'";
        for ends in [[other, "CREATE TABLE t (a)"], ["CREATE TABLE t (a)", other]] {
            let why = course(ends, &[]).expect_err("refused").to_string();
            assert!(why.contains("table t is not one CREATE statement"), "{why}");
        }
        let trigger = "CREATE TABLE t (a INTEGER); CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END";
        assert_eq!(course([trigger, trigger], &[]).expect("steady"), ["t"]);
        let hidden = "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END; ATTACH 'o.db' AS o";
        assert_eq!(pieces(hidden).len(), 2);
    }

    #[test]
    fn a_column_holds_what_its_values_are() {
        let db = Connection::open_in_memory().expect("a database");
        db.execute_batch("CREATE TABLE t (a, b STRING); INSERT INTO t VALUES (1, 'x'), (2.5, 'y'), (NULL, NULL)")
            .expect("made");
        let [a, b] = value_counts(&db, "t", &["a", "b"]).expect("read")[..] else { panic!("two columns") };
        assert_eq!(ParamType::Unknown.for_values(a), Some(ParamType::Number));
        assert_eq!(ParamType::Number.for_values(b), Some(ParamType::Text));
        assert_eq!(ParamType::Text.for_values(b), None);
        let all = [ParamType::Integer, ParamType::Number, ParamType::Text, ParamType::Unknown];
        assert_eq!(all.map(|of| of.holds_all(a)), [false, true, false, true]);
        assert_eq!(all.map(|of| of.holds_all(b)), [false, false, true, true]);
    }
}
