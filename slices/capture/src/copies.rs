//! Copies of databases: placed before a replay, and compared after it.

use crate::content::{address, quoted};
use crate::manifest::Database;
use crate::outcome::Compared;
use anyhow::{Context, Result};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ffi};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub fn copy_of(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("{}.db", number + 1))
}

/// Puts the initial content into the replay's directory.
///
/// # Errors
/// It cannot be copied.
pub fn place(taken: &Path, database: &Database, to: &Path) -> Result<()> {
    let Some(content) = &database.content else { return Ok(()) };
    let Some(copy) = &content.copy else { return Ok(()) };
    let from = taken.join(copy);
    std::fs::copy(&from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    let db = Connection::open(to)?;
    db.pragma_update(None, "journal_mode", &content.journal_mode)?;
    Ok(())
}

/// Keeps the statements of a capture in the replay's directory, however they are written: SQLite itself refuses to attach a
/// file, also for `VACUUM INTO`, and to change the directory of temporary files.
///
/// # Errors
/// SQLite refuses.
pub fn confine(db: &Connection) -> rusqlite::Result<()> {
    db.authorizer(Some(|context: AuthContext<'_>| match context.action {
        // VACUUM attaches a temporary database.
        AuthAction::Attach { filename: "" } => Authorization::Allow,
        AuthAction::Attach { .. } | AuthAction::Unknown { code: ffi::SQLITE_ATTACH, .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, .. } if pragma_name.to_ascii_lowercase().ends_with("_store_directory") => {
            Authorization::Deny
        }
        _ => Authorization::Allow,
    }))
}

/// What counts as a difference between two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Also rowids, and the counters of AUTOINCREMENT.
    Rowids,
    /// Rows only: a server has neither.
    Rows,
}

/// Compares the tables of two databases.
///
/// # Errors
/// One cannot be read.
pub fn compare(path: &Path, [replayed, captured]: &[PathBuf; 2], counts: Counts) -> Result<Compared> {
    let db = Connection::open(replayed)?;
    db.execute("ATTACH ?1 AS captured", [address(captured)?])?;
    let tables = |schema: &str| -> rusqlite::Result<BTreeSet<String>> {
        let sql = format!(
            "SELECT name FROM {schema}.sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
             AND (name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR name = 'sqlite_sequence' AND {})",
            counts == Counts::Rowids
        );
        let mut statement = db.prepare(&sql)?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    let (of_replay, of_capture) = (tables("main")?, tables("captured")?);
    let mut compared = Compared { path: path.to_path_buf(), tables: of_capture.len() as u64, differ: vec![] };
    for table in of_replay.union(&of_capture) {
        let name = quoted(table);
        let count = |schema: &str| {
            let sql = format!("SELECT count(*) FROM {schema}.{name}");
            db.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0).cast_unsigned()
        };
        let is_in_both = of_replay.contains(table) && of_capture.contains(table);
        let columns = if is_in_both { columns(&db, &name)? } else { None };
        let Some(columns) = columns else {
            compared.differ.push((table.clone(), count("captured"), count("main")));
            continue;
        };
        let (values, rowid) = (values(&columns), rowid(&columns).filter(|_| counts == Counts::Rowids));
        let only = |one: &str, other: &str| -> rusqlite::Result<u64> {
            let query = |columns: &str, grouped: &str| {
                let rows = |schema| format!("SELECT {columns} FROM {schema}.{name}{grouped}");
                let sql = format!("SELECT count(*) FROM ({} EXCEPT {})", rows(one), rows(other));
                db.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
            };
            let with_rowids = rowid.and_then(|rowid| query(&format!("{rowid}, {values}"), "").ok());
            // EXCEPT compares sets: equal rows are counted.
            with_rowids.map_or_else(|| query(&format!("{values}, count(*)"), &format!(" GROUP BY {values}")), Ok)
        };
        let (captured, replayed) = (only("captured", "main")?, only("main", "captured")?);
        if captured + replayed > 0 || count("captured") != count("main") {
            compared.differ.push((table.clone(), captured, replayed));
        }
    }
    Ok(compared)
}

/// The columns of two tables; `None` if they differ.
fn columns(db: &Connection, table: &str) -> rusqlite::Result<Option<Vec<String>>> {
    let columns = |schema: &str| -> rusqlite::Result<Vec<String>> {
        let statement = db.prepare(&format!("SELECT * FROM {schema}.{table}"))?;
        Ok(statement.column_names().into_iter().map(str::to_string).collect())
    };
    let names = columns("main")?;
    Ok((names == columns("captured")?).then_some(names))
}

/// Expressions that are equal only if types and bytes of a table's values are: columns may ignore the case of letters, and
/// 1 equals 1.0.
fn values(columns: &[String]) -> String {
    let exact = columns.iter().map(|name| quoted(name)).map(|name| format!("typeof({name}), {name} COLLATE BINARY"));
    exact.collect::<Vec<_>>().join(", ")
}

/// A name of the rowid that no column has. A table WITHOUT ROWID has no rowid by any name.
fn rowid(columns: &[String]) -> Option<&'static str> {
    let is_free = |name: &&str| !columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].into_iter().find(is_free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_statement_opens_another_file_however_it_is_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let other = dir.path().join("other.db");
        let db = Connection::open(dir.path().join("own.db")).expect("opened");
        confine(&db).expect("confined");
        db.execute_batch("CREATE TABLE t (a); VACUUM").expect("its own file");
        for begin in ["\u{feff}ATTACH", "SELECT 1;;ATTACH DATABASE", "VACUUM main INTO"] {
            let sql = format!("{begin} '{}'", other.display());
            let sql = if begin.contains("VACUUM") { sql } else { format!("{sql} AS other") };
            let refused = db.execute_batch(&sql).expect_err("refused").sqlite_error_code();
            assert_eq!(refused, Some(rusqlite::ErrorCode::AuthorizationForStatementDenied), "{sql}");
        }
        assert!(!other.exists());
    }
}
