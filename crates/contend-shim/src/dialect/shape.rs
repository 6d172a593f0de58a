//! What the servers' dialects have in common.

use contend_sql::Target;
use contend_wire::kept::{ROWIDS, sentinel};
use std::path::Path;

/// Settings of a new database: the library makes all of its tables.
pub fn first_settings() -> [(String, String); 1] {
    [(ROWIDS.0.to_string(), ROWIDS.1.to_string())]
}

/// SQL of a server. A schema is a database on MariaDB.
pub trait Dialect: Sync {
    fn target(&self) -> Target;

    /// The name of a new schema for a database file.
    fn name_of(&self, path: &Path) -> String;

    /// Settings of every session, in a schema that may be missing.
    fn session_of(&self, schema: &str) -> String;

    /// Whether a session can be in a schema that is not there yet.
    fn enters_early(&self) -> bool;

    /// Sets how long statements wait for locks, in milliseconds (`None`: for ever), and whether this session checks foreign
    /// keys, if that is the session's.
    fn session_settings(&self, wait_ms: Option<i32>, checks_keys: bool) -> String;

    /// Waits for a lock of this name, and releases it. The lock is the session's.
    fn lock(&self, name: &str, ms: i32) -> [String; 2];

    /// Waits for the lock that admits one process of all databases at a time, and releases it.
    fn lock_all(&self) -> [String; 2];

    /// Whether CREATE, ALTER and DROP commit.
    fn commits_definitions(&self) -> bool;

    /// Queries of the schema of a file, and of the mark of the installed function pack.
    fn ask_place(&self, path: &str) -> [String; 2];

    /// Installs the function pack.
    fn install(&self) -> Vec<String>;

    /// Makes a schema. Fails if its name is taken by another file's.
    fn make(&self, schema: &str, path: &str) -> Vec<String>;

    /// Queries the name of the relation that has the version of a schema in its name.
    fn ask_version(&self, schema: &str) -> String;

    /// Stores a setting.
    fn set(&self, name: &str, value: &str) -> String;

    /// Queries the table and the columns of a unique key. A column is NULL where the key is over an expression.
    fn ask_key(&self, schema: &str, table: &str, index: &str) -> String;
}

/// A statement that fails unless the schema has this version. `None` if its kind cannot name the version.
pub fn guarded(sql: &str, version: u64, target: Target) -> Option<String> {
    let verbs: &[&str] = match target {
        Target::Postgres => &["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "("],
        Target::MariaDb => &["SELECT", "VALUES", "("],
    };
    let head = format!("\"contend version\" AS (SELECT 1 FROM \"{}\")", sentinel(version));
    if let Some(rest) = sql.strip_prefix("WITH RECURSIVE ") {
        return Some(format!("WITH RECURSIVE {head}, {rest}"));
    }
    if let Some(rest) = sql.strip_prefix("WITH ") {
        return Some(format!("WITH {head}, {rest}"));
    }
    verbs.iter().any(|word| sql.starts_with(word)).then(|| format!("WITH {head} {sql}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_mentions_the_version() {
        let guarded = |sql: &str| guarded(sql, 7, Target::Postgres);
        let with = |rest: &str| Some(format!("WITH \"contend version\" AS (SELECT 1 FROM \"_contend_v7\"){rest}"));
        assert_eq!(guarded("SELECT 1"), with(" SELECT 1"));
        assert_eq!(
            guarded("WITH RECURSIVE a AS (SELECT 1) SELECT 2"),
            with(", a AS (SELECT 1) SELECT 2").map(|sql| sql.replacen("WITH", "WITH RECURSIVE", 1))
        );
        assert_eq!(guarded("WITH a AS (SELECT 1) SELECT 2"), with(", a AS (SELECT 1) SELECT 2"));
        assert_eq!(super::guarded("DELETE FROM t", 7, Target::MariaDb), None);
    }
}
