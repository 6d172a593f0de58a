//! Foreign keys: the server's constraints follow what SQLite's statements declare.
//!
//! SQLite lets a table refer to one that is not there, and a table be dropped that others refer to. So constraints are
//! added and dropped apart from the tables: whenever both ends are there, the server has the constraint.

use crate::plan::options;
use crate::schema::{self, Object};
use crate::value::Value;
use contend_sql::{ForeignKeyDefinition, Target, define_table};
use contend_wire::kept::{block, literal, mentions, quoted};

/// A foreign key and its table.
pub struct Key {
    table: String,
    definition: ForeignKeyDefinition,
}

/// All foreign keys of these tables.
pub fn of(objects: &[Object], held: &[Object], target: Target) -> Vec<Key> {
    let (catalogue, mut keys) = (schema::catalogue(objects, held, (false, false)), vec![]);
    for [_, table, _, sql] in objects.iter().filter(|[kind, ..]| kind == "table") {
        // A table that is not understood cannot be used, so no row goes into it.
        let defined = define_table(sql, &catalogue, &options(target)).unwrap_or_default();
        keys.extend(defined.foreign_keys.into_iter().map(|definition| Key { table: table.clone(), definition }));
    }
    keys
}

/// A key that the server could not enforce, or not as SQLite does, in words.
pub fn without_translation(keys: &[Key], objects: &[Object], target: Target) -> Option<String> {
    let lacks = |key: &&Key| key.definition.constraint.is_none() && !key.definition.waits;
    let fires = |key: &&Key| {
        let is_on = |[kind, _, table, _]: &Object| kind == "trigger" && table.eq_ignore_ascii_case(&key.table);
        target == Target::MariaDb && key.definition.acts && objects.iter().any(is_on)
    };
    let of = |key: &Key| format!("FOREIGN KEY ({}) of table {}", key.definition.columns.join(", "), key.table);
    let lacking = keys.iter().find(lacks).map(|key| format!("{} has no translation", of(key)));
    lacking.or_else(|| {
        let fired = keys.iter().find(fires)?;
        Some(format!("{}: MariaDB does not fire the table's triggers for what the key does", of(fired)))
    })
}

/// Whether the parent of a key is missing.
pub fn wait(keys: &[Key]) -> bool {
    keys.iter().any(|key| key.definition.waits)
}

/// Whether the server would change further rows where this statement changes some: it changes rows and names the parent
/// of such a key, or a trigger that it fires does.
pub fn act_on(keys: &[Key], sql: &str, objects: &[Object]) -> bool {
    let acts = |text: &str| {
        ["update", "delete", "replace"].iter().any(|word| mentions(text, word))
            && keys.iter().any(|key| key.definition.acts && mentions(text, &key.definition.parent))
    };
    let mut texts = vec![sql.to_string()];
    let mut triggers: Vec<&Object> = objects.iter().filter(|[kind, ..]| kind == "trigger").collect();
    while let Some(text) = texts.pop() {
        if acts(&text) {
            return true;
        }
        let (fired, others) = triggers.into_iter().partition(|[_, _, table, _]| mentions(&text, table));
        triggers = others;
        texts.extend(Vec::<&Object>::into_iter(fired).map(|[.., sql]| body(sql)));
    }
    false
}

/// The statements of a trigger, in lower case.
fn body(trigger: &str) -> String {
    let trigger = trigger.to_ascii_lowercase();
    trigger.split_once("begin").map_or(trigger.clone(), |(_, body)| body.to_string())
}

/// Checks what is deferred now: a table whose rows wait for a check cannot be changed. Later checks are deferred again.
pub fn check_now() -> String {
    "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED".to_string()
}

/// Queries of MariaDB with a row for each key that a row violates.
pub fn violations(keys: &[Key]) -> Vec<String> {
    let of = |key: &Key| {
        let ForeignKeyDefinition { columns, parent, to, .. } = &key.definition;
        let each = |term: &dyn Fn(&String, &String) -> String| -> String {
            columns.iter().zip(to).map(|(from, to)| term(from, to)).collect::<Vec<_>>().join(" AND ")
        };
        let given = each(&|from, _| format!("c.{} IS NOT NULL", quoted(from)));
        let same = each(&|from, to| format!("p.{} = c.{}", quoted(to), quoted(from)));
        let (child, parent) = (quoted(&key.table), quoted(parent));
        format!(
            "SELECT 1 FROM {child} AS c WHERE {given} AND NOT EXISTS (SELECT 1 FROM {parent} AS p WHERE {same}) LIMIT 1"
        )
    };
    keys.iter().map(of).collect()
}

/// Drops the server's constraints that are not among these keys.
pub fn drop_others(keys: &[Key]) -> String {
    loop_over(&format!(
        "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::pg_catalog.regclass, conname) AS made FROM ({THERE}) AS there \
         WHERE NOT EXISTS (SELECT FROM ({}) AS wanted WHERE {SAME})",
        wanted(keys)
    ))
}

/// Adds those of these keys that the server does not have.
pub fn add_missing(keys: &[Key]) -> String {
    loop_over(&format!(
        "SELECT made FROM ({}) AS wanted WHERE NOT EXISTS (SELECT FROM ({THERE}) AS there WHERE {SAME})",
        wanted(keys)
    ))
}

/// Executes the statements that a query returns.
fn loop_over(query: &str) -> String {
    block("DECLARE k text; ", &format!("FOR k IN {query} LOOP EXECUTE k; END LOOP;"))
}

/// A query of MariaDB's constraints: a row for each column, with its table, constraint and parent.
pub fn ask_mariadb(database: &str) -> String {
    format!(
        "SELECT TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE \
         WHERE TABLE_SCHEMA = {} AND REFERENCED_TABLE_NAME IS NOT NULL \
         ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
        literal(database)
    )
}

/// Statements of MariaDB that drop the constraints that are not among these keys, and add those that are missing. `there`:
/// rows of [`ask_mariadb`].
pub fn adapt(keys: &[Key], there: Vec<Vec<Value>>) -> Vec<String> {
    let mut constraints: Vec<([String; 3], Vec<String>)> = vec![];
    for row in there {
        let words: Vec<String> = row.into_iter().map(Value::into_words).collect();
        let Ok([table, name, parent, column]) = <[String; 4]>::try_from(words) else { continue };
        let of = [table, name, parent];
        match constraints.last_mut().filter(|(last, _)| *last == of) {
            Some((_, columns)) => columns.push(column),
            None => constraints.push((of, vec![column])),
        }
    }
    let is_same = |key: &Key, (of, columns): &([String; 3], Vec<String>)| {
        let [table, _, parent] = of;
        key.table.eq_ignore_ascii_case(table)
            && key.definition.parent.eq_ignore_ascii_case(parent)
            && key.definition.columns == *columns
            && key.definition.constraint.is_some()
    };
    let others = constraints.iter().filter(|constraint| !keys.iter().any(|key| is_same(key, constraint)));
    let dropped =
        others.map(|([table, name, _], _)| format!("ALTER TABLE {} DROP FOREIGN KEY {}", quoted(table), quoted(name)));
    let missing = keys.iter().filter(|key| !constraints.iter().any(|constraint| is_same(key, constraint)));
    let added = missing.filter_map(|key| {
        Some(format!("ALTER TABLE {} ADD {}", quoted(&key.table), key.definition.constraint.as_ref()?))
    });
    dropped.chain(added).collect()
}

/// The constraints of the server, by names.
const THERE: &str = "SELECT c.conrelid, c.conname, t.relname AS child, p.relname AS parent, \
     (SELECT array_agg(a.attname::text ORDER BY n.place) FROM unnest(c.conkey) WITH ORDINALITY AS n(attnum, place) \
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = n.attnum) AS columns \
     FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class t ON t.oid = c.conrelid \
     JOIN pg_catalog.pg_class p ON p.oid = c.confrelid \
     WHERE c.contype = 'f' AND t.relnamespace = quote_ident(current_schema())::pg_catalog.regnamespace";

/// SQLite finds names in any case.
const SAME: &str = "lower(wanted.child) = lower(there.child) AND lower(wanted.parent) = lower(there.parent) \
     AND wanted.columns = there.columns";

/// Rows of child, columns, parent, and the statement that adds it.
fn wanted(keys: &[Key]) -> String {
    let none =
        "SELECT NULL::text AS child, NULL::text[] AS columns, NULL::text AS parent, NULL::text AS made WHERE false";
    let mut rows = vec![none.to_string()];
    for key in keys {
        let Some(constraint) = &key.definition.constraint else { continue };
        let columns: Vec<String> = key.definition.columns.iter().map(|column| literal(column)).collect();
        let made = format!("ALTER TABLE {} ADD {constraint}", quoted(&key.table));
        rows.push(format!(
            "SELECT {}, ARRAY[{}]::text[], {}, {}",
            literal(&key.table),
            columns.join(", "),
            literal(&key.definition.parent),
            literal(&made)
        ));
    }
    rows.join(" UNION ALL ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(statements: &[&str]) -> Vec<Key> {
        let objects: Vec<Object> = statements
            .iter()
            .map(|sql| {
                let name = sql.split(' ').nth(2).unwrap_or_default();
                ["table", name, name, sql].map(str::to_string)
            })
            .collect();
        of(&objects, &[], Target::Postgres)
    }

    #[test]
    fn a_key_waits_for_its_parent() {
        let child = "CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE)";
        let early = keys(&[child]);
        assert!(wait(&early) && without_translation(&early, &[], Target::MariaDb).is_none());
        let both = keys(&[child, "CREATE TABLE p (id INTEGER PRIMARY KEY)"]);
        assert!(!wait(&both) && act_on(&both, "DELETE FROM P", &[]) && !act_on(&both, "DELETE FROM c", &[]));
        let sql = add_missing(&both);
        assert!(
            sql.contains(r#"'ALTER TABLE "c" ADD FOREIGN KEY ("p") REFERENCES "p" ("id") ON DELETE CASCADE'"#),
            "{sql}"
        );
    }

    #[test]
    fn violations_are_queried_for_each_key() {
        let keys = keys(&[
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE c (a INTEGER REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
        ]);
        let wanted = "SELECT 1 FROM \"c\" AS c WHERE c.\"a\" IS NOT NULL AND NOT EXISTS \
                      (SELECT 1 FROM \"p\" AS p WHERE p.\"id\" = c.\"a\") LIMIT 1";
        assert_eq!(violations(&keys), [wanted]);
    }

    #[test]
    fn constraints_of_mariadb_follow_the_keys() {
        let keys = keys(&[
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE c (a INTEGER REFERENCES p, b INTEGER REFERENCES p)",
        ]);
        let row = |words: [&str; 4]| words.map(Value::text).to_vec();
        let there = vec![row(["c", "c_ibfk_1", "p", "a"]), row(["c", "c_ibfk_2", "q", "b"])];
        let wanted = [
            "ALTER TABLE \"c\" DROP FOREIGN KEY \"c_ibfk_2\"",
            "ALTER TABLE \"c\" ADD FOREIGN KEY (\"b\") REFERENCES \"p\" (\"id\")",
        ];
        assert_eq!(adapt(&keys, there), wanted);
    }

    #[test]
    fn triggers_act_as_well() {
        let keys = keys(&[
            "CREATE TABLE c (p INTEGER REFERENCES p ON DELETE CASCADE)",
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
        ]);
        let trigger = |name: &str, table: &str, sql: &str| ["trigger", name, table, sql].map(str::to_string);
        let audit = trigger("t", "p", "CREATE TRIGGER t AFTER DELETE ON p BEGIN INSERT INTO log VALUES (old.id); END");
        let first = trigger("u", "q", "CREATE TRIGGER u AFTER INSERT ON q BEGIN UPDATE r SET n = 1; END");
        let second = trigger("v", "r", "CREATE TRIGGER v AFTER UPDATE ON r BEGIN DELETE FROM p; END");
        let objects = [audit, first, second];
        for (sql, acts) in [
            ("INSERT INTO q VALUES (1)", true),
            ("update r set n = 2", true),
            ("INSERT INTO p VALUES (1)", false),
            ("INSERT OR REPLACE INTO p VALUES (1)", true),
            ("INSERT INTO c SELECT id FROM p", false),
            ("DELETE FROM p2", false),
            ("DELETE FROM \"p\"", true),
        ] {
            assert_eq!(act_on(&keys, sql, &objects), acts, "{sql}");
        }
    }

    #[test]
    fn a_key_between_other_types_has_no_translation() {
        let keys = keys(&["CREATE TABLE p (id INTEGER PRIMARY KEY)", "CREATE TABLE c (p TEXT REFERENCES p)"]);
        assert!(
            without_translation(&keys, &[], Target::Postgres)
                .is_some_and(|words| words.contains("FOREIGN KEY (p) of table c"))
        );
    }

    #[test]
    fn a_key_with_an_action_and_a_trigger_on_its_table_is_refused_on_mariadb() {
        let object = |kind: &str, name: &str, table: &str, sql: &str| [kind, name, table, sql].map(str::to_string);
        let tables = |action: &str| {
            let child = format!("CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p {action})");
            vec![
                object("table", "p", "p", "CREATE TABLE p (id INTEGER PRIMARY KEY)"),
                object("table", "c", "c", &child),
            ]
        };
        let trigger = |table: &str| object("trigger", "t", table, "");
        for (action, table, target, is_refused) in [
            ("ON DELETE CASCADE", "C", Target::MariaDb, true),
            ("ON DELETE CASCADE", "p", Target::MariaDb, false),
            ("ON DELETE CASCADE", "c", Target::Postgres, false),
            ("", "c", Target::MariaDb, false),
        ] {
            let objects = [tables(action), vec![trigger(table)]].concat();
            let found = without_translation(&of(&objects, &[], target), &objects, target);
            assert_eq!(
                found.is_some_and(|words| words.contains("fire the table's triggers")),
                is_refused,
                "{action} {table}"
            );
        }
    }
}
