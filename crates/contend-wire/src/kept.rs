//! How a SQLite database is kept in a schema of PostgreSQL, for `contend shim` and `contend migrate`. The schema has the
//! tables under their own names, and three relations:
//!
//! | relation | what it has |
//! |---|---|
//! | `_contend_schema` | `type`, `name`, `tbl_name`, `sql` of `sqlite_schema`; its comment is the path of the file |
//! | `_contend_settings` | `user_version`, `application_id`, whether foreign keys are enforced and rowids are kept |
//! | `_contend_v7` | empty: its name is the version of the schema, and every statement of the shim mentions it |
//!
//! So the schema of a file is the one whose `_contend_schema` has the file's path as its comment.

/// The `type` of a row of `_contend_schema` that says what a column holds, where its declared type does not: `name` is the
/// column, `sql` the word of SQLite's type.
pub const HELD: &str = "held";

/// The setting, and its value, of a database in which tables without INTEGER PRIMARY KEY have hidden rowids.
pub const ROWIDS: (&str, &str) = ("rowids", "hidden");

/// What the names of the relations begin with.
pub const PREFIX: &str = "_contend_";

/// Whether translations name a type like this. A table is also a type, and would hide it.
pub fn is_type(name: &str) -> bool {
    ["text", "bytea", "float8"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A text literal of PostgreSQL, under `standard_conforming_strings`.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name between quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The relation that has a version of the schema in its name.
pub fn sentinel(version: u64) -> String {
    format!("{PREFIX}v{version}")
}

/// The path of the file that stands for a whole database of a server, where contend's own worker is the program.
pub fn file_of(database: &str) -> String {
    format!("/{database}.db")
}

/// Statements that make the tables of the schema `public` a SQLite database whose file is that of [`file_of`].
/// `objects`: type, name, table and SQL of each.
pub fn adopt(objects: &[[String; 4]]) -> [String; 2] {
    let [before, after] = [literal("/"), literal(".db")];
    let comment =
        format!("format('COMMENT ON TABLE public.{PREFIX}schema IS %L', {before} || current_database() || {after})");
    [make("public", "", objects, &[]), block("", &format!("EXECUTE {comment};"))]
}

/// FNV-1a: the same in every version of contend.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The mark of a function pack on the server.
pub fn mark(pack: &str) -> String {
    format!("contend {:016x}", hash(pack))
}

/// Whether a statement contains this word, in any case.
pub fn mentions(sql: &str, word: &str) -> bool {
    let (sql, word) = (sql.to_lowercase(), word.to_lowercase());
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    sql.match_indices(&word)
        .any(|(at, _)| !is_part(sql[..at].chars().next_back()) && !is_part(sql[at + word.len()..].chars().next()))
}

/// A query: the name of the schema of the file with this path.
pub fn find(path: &str) -> String {
    format!(
        "SELECT n.nspname::text FROM pg_catalog.pg_class s \
         JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace \
         WHERE s.relname = '{PREFIX}schema' AND s.relkind = 'r' AND obj_description(s.oid, 'pg_class') = {}",
        literal(path)
    )
}

/// An expression: the path of the file whose database is in this schema.
pub fn comment(schema: &str) -> String {
    let relation = format!("{}.{PREFIX}schema", quoted(schema));
    format!("obj_description(to_regclass({}), 'pg_class')", literal(&relation))
}

/// The number of the lock that admits one process at a time.
const LOCK: i64 = 7_236_834_620_953;

/// Statements that wait for this lock, and release it. The lock is the session's. A transaction that begins after it sees what
/// the previous process made; a transaction that waits for the lock does not.
pub fn lock() -> [String; 2] {
    ["pg_advisory_lock", "pg_advisory_unlock"].map(|function| format!("SELECT {function}({LOCK})"))
}

/// A query: the mark of the function pack that is installed.
pub const FIND_MARK: &str = "SELECT obj_description(to_regnamespace('contend_sql'), 'pg_namespace')";

/// A block of PL/pgSQL, between a tag that it does not contain. `declared` may be empty.
pub fn block(declared: &str, body: &str) -> String {
    let tag = (0..).map(|n| format!("$contend{n}$")).find(|tag| !body.contains(tag)).unwrap_or_default();
    format!("DO {tag}{declared}BEGIN {body} END {tag}")
}

/// A statement that installs a function pack, unless it is there. The caller holds the lock ([`lock`]).
pub fn install(pack: &str) -> String {
    let mark = literal(&mark(pack));
    let body = format!(
        "IF ({FIND_MARK}) IS DISTINCT FROM {mark} THEN \
         EXECUTE $pack${pack}$pack$; EXECUTE $mark$COMMENT ON SCHEMA contend_sql IS {mark}$mark$; END IF;"
    );
    block("", &body)
}

/// A statement that makes the relations in a schema, unless they are there. `objects`: type, name, table and SQL of each.
pub fn make(schema: &str, path: &str, objects: &[[String; 4]], settings: &[(String, String)]) -> String {
    let relation = |name: &str| format!("{}.{PREFIX}{name}", quoted(schema));
    let rows = |table: &str, columns: &str, rows: Vec<String>| match rows.is_empty() {
        true => String::new(),
        false => format!("INSERT INTO {} ({columns}) VALUES {}; ", relation(table), rows.join(", ")),
    };
    let of_object = |object: &[String; 4]| format!("({})", object.each_ref().map(|text| literal(text)).join(", "));
    let of_setting = |(name, value): &(String, String)| format!("({}, {})", literal(name), literal(value));
    let body = format!(
        "IF to_regclass({there}) IS NULL THEN \
         CREATE TABLE {kept} (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
         type text NOT NULL, name text NOT NULL, tbl_name text NOT NULL, sql text NOT NULL); \
         CREATE TABLE {set} (name text PRIMARY KEY, value text NOT NULL); \
         CREATE TABLE {sentinel} (); COMMENT ON TABLE {kept} IS {path}; {objects}{settings}END IF;",
        there = literal(&relation("schema")),
        kept = relation("schema"),
        set = relation("settings"),
        sentinel = relation("v1"),
        path = literal(path),
        objects = rows("schema", "type, name, tbl_name, sql", objects.iter().map(of_object).collect()),
        settings = rows("settings", "name, value", settings.iter().map(of_setting).collect()),
    );
    block("", &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_more_than_a_part_of_one() {
        assert!(mentions("CREATE TRIGGER t BEGIN INSERT INTO \"Posts_FTS\" VALUES (1); END", "posts_fts"));
        assert!(!mentions("CREATE VIEW v AS SELECT * FROM posts_fts", "posts"));
        assert!(mentions("CREATE VIEW v AS SELECT * FROM posts", "posts"));
    }

    #[test]
    fn values_are_literals() {
        let object = ["table", "it's", "it's", "CREATE TABLE \"it's\" (a)"].map(str::to_string);
        let sql = make("/srv/a \"b\".db", "/srv/a \"b\".db", &[object], &[("user_version".into(), "3".into())]);
        assert!(sql.contains("VALUES ('table', 'it''s', 'it''s', 'CREATE TABLE \"it''s\" (a)')"), "{sql}");
        assert!(sql.contains(r#"CREATE TABLE "/srv/a ""b"".db"._contend_v1 ()"#), "{sql}");
        assert!(sql.contains("(name, value) VALUES ('user_version', '3')"), "{sql}");
        assert_eq!(block("", "SELECT '$contend0$'"), "DO $contend1$BEGIN SELECT '$contend0$' END $contend1$");
    }
}
