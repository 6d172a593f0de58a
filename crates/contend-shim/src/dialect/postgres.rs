//! PostgreSQL.

use super::shape::{Dialect, first_settings};
use contend_sql::{Target, function_pack, session};
use contend_wire::kept::{self, hash, literal, quoted};
use std::path::Path;

/// PostgreSQL truncates longer names.
const NAME_MAX: usize = 63;

pub struct Postgres;

impl Dialect for Postgres {
    fn target(&self) -> Target {
        Target::Postgres
    }

    /// Its path, or for a long path a hash and the path's end.
    fn name_of(&self, path: &Path) -> String {
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

    /// `pg_catalog` is last; otherwise its names would hide the program's.
    fn session_of(&self, schema: &str) -> String {
        let settings = session(Target::Postgres).join("; ");
        format!("{settings}; SET client_encoding = 'UTF8'; SET search_path = {}, pg_catalog", quoted(schema))
    }

    fn enters_early(&self) -> bool {
        true
    }

    fn session_settings(&self, wait_ms: Option<i32>, _: bool) -> String {
        format!("SET lock_timeout = {}", wait_ms.unwrap_or(0))
    }

    fn lock(&self, name: &str, _: i32) -> [String; 2] {
        ["pg_advisory_lock", "pg_advisory_unlock"]
            .map(|function| format!("SELECT {function}(hashtextextended({}, 0))", literal(name)))
    }

    fn lock_all(&self) -> [String; 2] {
        kept::lock()
    }

    fn commits_definitions(&self) -> bool {
        false
    }

    fn ask_place(&self, path: &str) -> [String; 2] {
        [kept::find(path), kept::FIND_MARK.to_string()]
    }

    fn install(&self) -> Vec<String> {
        vec![kept::install(function_pack(Target::Postgres))]
    }

    fn make(&self, schema: &str, path: &str) -> Vec<String> {
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
        vec![create, kept::make(schema, path, &[], &first_settings()), is_ours]
    }

    fn ask_version(&self, schema: &str) -> String {
        format!(
            "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = {} AND c.relname ~ '^_contend_v[0-9]+$' AND c.relkind = 'r'",
            literal(schema)
        )
    }

    fn set(&self, name: &str, value: &str) -> String {
        format!(
            "INSERT INTO _contend_settings VALUES ({}, {}) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            literal(name),
            literal(value)
        )
    }

    /// A column that ignores case is in the index as an expression (contend-sql).
    fn ask_key(&self, schema: &str, _: &str, index: &str) -> String {
        let expression = "substring(pg_catalog.pg_get_indexdef(i.indexrelid, k.place::int, true), \
                          '^lower\\(((?:[^\" ]+|\"(?:[^\"]|\"\")+\")) COLLATE \"C\"\\)$')";
        format!(
            "SELECT t.relname, COALESCE(a.attname, (parse_ident({expression}))[1]) \
             FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid \
             CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, place) \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum AND k.attnum > 0 \
             WHERE i.indexrelid = to_regclass({}) ORDER BY k.place",
            literal(&format!("{}.{}", quoted(schema), quoted(index)))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_named_after_the_file() {
        let name_of = |path: &str| Postgres.name_of(Path::new(path));
        assert_eq!(name_of("/srv/app.db"), "/srv/app.db");
        let long = name_of(&format!("/{}/é/app.db", "d".repeat(80)));
        assert!(long.len() <= NAME_MAX && long.ends_with("/é/app.db"), "{long}");
        assert_ne!(long, name_of(&format!("/{}/é/app.db", "d".repeat(81))));
    }
}
