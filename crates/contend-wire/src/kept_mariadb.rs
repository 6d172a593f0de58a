//! The relations of [`crate::kept`] in a database of MariaDB, which is what a schema is to PostgreSQL. CREATE and ALTER are
//! in no transaction here, so `_contend_schema`, by which a database is found, comes last.

use crate::kept::{PREFIX, literal, mark, quoted};

/// The character set and collation of every database.
const TEXTS: &str = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin";

/// A path as a comment, which the server keeps in utf8mb3.
fn comment(path: &str) -> String {
    let narrow = |c: char| if c > '\u{FFFF}' { format!("%{:X}", u32::from(c)) } else { c.to_string() };
    literal(&path.chars().map(narrow).collect::<String>())
}

/// A query: the name of the database of the file with this path.
pub fn find(path: &str) -> String {
    format!(
        "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = '{PREFIX}schema' \
         AND CAST(TABLE_COMMENT AS BINARY) = CAST({} AS BINARY)",
        comment(path)
    )
}

/// A query: the mark of the function pack that is installed.
pub const FIND_MARK: &str = "SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'contend_sql'";

/// A statement that fails with this SQLSTATE unless a condition holds.
pub fn require(condition: &str, state: &str, message: &str) -> String {
    let message: String = message.chars().take(500).collect();
    format!(
        "BEGIN NOT ATOMIC IF NOT COALESCE({condition}, FALSE) THEN SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = {}; END IF; END",
        literal(&message)
    )
}

/// Statements that install a function pack. The caller holds the lock.
pub fn install(pack: &str) -> [String; 2] {
    [
        pack.trim_end_matches(|c: char| c.is_whitespace() || c == ';').to_string(),
        format!("ALTER DATABASE contend_sql COMMENT = {}", literal(&mark(pack))),
    ]
}

/// A statement that makes a database, unless it is there.
pub fn make_database(database: &str) -> String {
    format!("CREATE DATABASE IF NOT EXISTS {} {TEXTS}", quoted(database))
}

/// Statements that make the relations in a database, unless they are there. They fail if it is another file's. `objects`:
/// type, name, table and SQL of each.
pub fn make(database: &str, path: &str, objects: &[[String; 4]], settings: &[(String, String)]) -> [String; 2] {
    let relation = |name: &str| format!("{}.{PREFIX}{name}", quoted(database));
    let rows = |table: &str, columns: &str, rows: Vec<String>| match rows.is_empty() {
        true => String::new(),
        false => format!("INSERT INTO {} ({columns}) VALUES {}; ", relation(table), rows.join(", ")),
    };
    let of_object = |object: &[String; 4]| format!("({})", object.each_ref().map(|text| literal(text)).join(", "));
    let of_setting = |(name, value): &(String, String)| format!("({}, {})", literal(name), literal(value));
    let there = format!(
        "FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = '{PREFIX}schema'",
        literal(database)
    );
    let made = format!(
        "BEGIN NOT ATOMIC IF NOT EXISTS (SELECT 1 {there}) THEN \
         CREATE TABLE IF NOT EXISTS {sentinel} (kept TINYINT) ENGINE=InnoDB {TEXTS}; \
         CREATE OR REPLACE TABLE {set} (name VARCHAR(190) PRIMARY KEY, value LONGTEXT NOT NULL) ENGINE=InnoDB {TEXTS}; \
         CREATE OR REPLACE TABLE {new} (position BIGINT AUTO_INCREMENT PRIMARY KEY, type LONGTEXT NOT NULL, \
         name LONGTEXT NOT NULL, tbl_name LONGTEXT NOT NULL, \"sql\" LONGTEXT NOT NULL) ENGINE=InnoDB {TEXTS} COMMENT = {path}; \
         {objects}{settings}RENAME TABLE {new} TO {kept}; END IF; END",
        sentinel = relation("v1"),
        set = relation("settings"),
        new = relation("new"),
        kept = relation("schema"),
        path = comment(path),
        objects = rows("new", "type, name, tbl_name, \"sql\"", objects.iter().map(of_object).collect()),
        settings = rows("settings", "name, value", settings.iter().map(of_setting).collect()),
    );
    let is_ours = require(
        &format!("(SELECT CAST(TABLE_COMMENT AS BINARY) = CAST({} AS BINARY) {there})", comment(path)),
        "45000",
        &format!("contend_sql: the database {database} has the tables of another file"),
    );
    [made, is_ours]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals() {
        let object = ["table", "it's", "it's", "CREATE TABLE \"it's\" (a)"].map(str::to_string);
        let [sql, _] = make("a", "/srv/\u{1F600}.db", &[object], &[("user_version".into(), "3".into())]);
        assert!(sql.contains("VALUES ('table', 'it''s', 'it''s', 'CREATE TABLE \"it''s\" (a)')"), "{sql}");
        assert!(sql.contains("COMMENT = '/srv/%1F600.db'; INSERT INTO \"a\"._contend_new"), "{sql}");
        assert!(sql.contains("INTO \"a\"._contend_settings (name, value) VALUES ('user_version', '3')"), "{sql}");
    }
}
