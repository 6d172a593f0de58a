//! MariaDB.

use super::shape::{Dialect, first_settings};
use crate::server::LOCKED;
use contend_sql::{Target, function_pack, session};
use contend_wire::kept::{PREFIX, hash, literal, quoted};
use contend_wire::kept_mariadb as kept;
use std::path::Path;

/// A name has at most 64 characters.
const NAME_MAX: usize = 64;
/// A database is a directory, in whose name such characters take five bytes.
const DIRECTORY_MAX: usize = 240;

pub struct MariaDb;

/// Whole seconds, at least one.
fn seconds(ms: i32) -> i32 {
    (ms.max(1) - 1) / 1000 + 1
}

impl Dialect for MariaDb {
    fn target(&self) -> Target {
        Target::MariaDb
    }

    /// Its path, or for a long or an odd path a hash and the path's end.
    fn name_of(&self, path: &Path) -> String {
        let path = path.to_string_lossy();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let bytes: usize = path.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { 1 } else { 5 }).sum();
        if path.len() <= NAME_MAX && bytes <= DIRECTORY_MAX && path.chars().all(is_plain) {
            return path.into_owned();
        }
        let end: String = path.chars().rev().take(24).collect();
        let end: String = end.chars().rev().map(|c| if is_plain(c) { c } else { '_' }).collect();
        format!("{:016x}:{end}", hash(&path))
    }

    fn session_of(&self, schema: &str) -> String {
        let settings = session(Target::MariaDb).join("; ");
        // A program may keep its connection for as long as it likes. The others are defaults that a server's configuration can
        // change: they decide what is committed, checked and returned.
        let settings = format!(
            "{settings}; SET SESSION wait_timeout = 31536000, default_storage_engine = InnoDB, autocommit = 1, \
             completion_type = NO_CHAIN, check_constraint_checks = 1, unique_checks = 1"
        );
        if schema.is_empty() { settings } else { format!("{settings}; USE {}", quoted(schema)) }
    }

    fn enters_early(&self) -> bool {
        false
    }

    fn session_settings(&self, wait_ms: Option<i32>, checks_keys: bool) -> String {
        let seconds = wait_ms.map_or(31_536_000, seconds);
        let checks = u8::from(checks_keys);
        format!(
            "SET SESSION innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}, foreign_key_checks = {checks}"
        )
    }

    fn lock(&self, name: &str, ms: i32) -> [String; 2] {
        let name = literal(&format!("contend.{:016x}", hash(name)));
        let taken = format!("GET_LOCK({name}, {}) = 1", seconds(ms));
        [kept::require(&taken, LOCKED, "the lock is not free"), format!("DO RELEASE_LOCK({name})")]
    }

    fn lock_all(&self) -> [String; 2] {
        self.lock("", 30_000)
    }

    fn commits_definitions(&self) -> bool {
        true
    }

    fn ask_place(&self, path: &str) -> [String; 2] {
        [kept::find(path), kept::FIND_MARK.to_string()]
    }

    fn install(&self) -> Vec<String> {
        kept::install(function_pack(Target::MariaDb)).into()
    }

    fn make(&self, schema: &str, path: &str) -> Vec<String> {
        let [made, is_ours] = kept::make(schema, path, &[], &first_settings());
        vec![kept::make_database(schema), made, is_ours]
    }

    fn ask_version(&self, schema: &str) -> String {
        format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} \
             AND TABLE_NAME REGEXP '^{PREFIX}v[0-9]+$'",
            literal(schema)
        )
    }

    fn set(&self, name: &str, value: &str) -> String {
        format!("REPLACE INTO {PREFIX}settings VALUES ({}, {})", literal(name), literal(value))
    }

    /// Columns that an index is over instead of others have the name of these before `_folded`, as the translator writes it.
    fn ask_key(&self, schema: &str, table: &str, index: &str) -> String {
        format!(
            "SELECT s.TABLE_NAME, CASE WHEN c.EXTRA NOT LIKE '%INVISIBLE%' THEN s.COLUMN_NAME \
             WHEN s.COLUMN_NAME LIKE '%!_folded' ESCAPE '!' THEN LEFT(s.COLUMN_NAME, CHAR_LENGTH(s.COLUMN_NAME) - 7) END \
             FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = s.TABLE_SCHEMA \
             AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME WHERE s.TABLE_SCHEMA = {} \
             AND s.TABLE_NAME = {} AND s.INDEX_NAME = {} ORDER BY s.SEQ_IN_INDEX",
            literal(schema),
            literal(table),
            literal(index)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_after_the_file() {
        let name_of = |path: &str| MariaDb.name_of(Path::new(path));
        assert_eq!(name_of("/srv/app-1.db"), "/srv/app-1.db");
        for odd in ["/srv/é/app.db".to_string(), format!("/{}/app.db", "d".repeat(80)), "/".repeat(60) + "app.db"] {
            let name = name_of(&odd);
            assert!(name.chars().count() <= NAME_MAX && name.ends_with("/app.db") && name.is_ascii(), "{name}");
        }
    }

    #[test]
    fn the_server_waits_whole_seconds() {
        assert_eq!([0, 1, 1000, 1001, 5000].map(seconds), [1, 1, 1, 2, 5]);
    }
}
