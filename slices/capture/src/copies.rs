//! Copies of databases: placed before a replay, and compared after it.

use crate::content::{address, quoted};
use crate::manifest::Database;
use crate::outcome::Compared;
use anyhow::{Context, Result};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, ffi};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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
    let Some(from) = content.copied_in(taken)? else { return Ok(()) };
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
    let mut compared = Compared {
        path: path.to_path_buf(),
        tables: of_capture.len() as u64,
        differ: vec![],
        columns: BTreeMap::new(),
    };
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
        let rowid = rowid(&columns).filter(|_| counts == Counts::Rowids);
        let [captured, replayed] = differing(&db, &name, rowid)?;
        if captured + replayed > 0 {
            let columns = if captured == replayed { other_columns(&db, table, captured)? } else { vec![] };
            if !columns.is_empty() {
                compared.columns.insert(table.clone(), columns);
            }
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

/// Numbers of rows that only the captured table has, and only the replayed one. Rows are equal if types and bytes of all values
/// are, and rowids if both tables have any by this name. Rows are hashed here: a query could have 2,000 columns at most.
fn differing(db: &Connection, table: &str, rowid: Option<&str>) -> rusqlite::Result<[u64; 2]> {
    let of = |schema: &str, rowid: &str| db.prepare(&format!("SELECT {rowid}* FROM {schema}.{table}"));
    let rowid = rowid.map(|rowid| format!("{rowid}, "));
    let rowid = rowid.filter(|rowid| ["captured", "main"].iter().all(|schema| of(schema, rowid).is_ok()));
    let rowid = rowid.as_deref().unwrap_or_default();
    let (mut captured, mut replayed) = (of("captured", rowid)?, of("main", rowid)?);
    let columns = captured.column_count();
    let mut sides = [(Some(captured.query([])?), 1), (Some(replayed.query([])?), -1)];
    // Row by row in turn, so that only those that have not met their equal yet are kept.
    let mut counts: HashMap<u128, i64> = HashMap::new();
    while sides.iter().any(|(rows, _)| rows.is_some()) {
        for (rows, sign) in &mut sides {
            let Some(open) = rows else { continue };
            let Some(row) = open.next()? else {
                *rows = None;
                continue;
            };
            let hash = hash_of(row, columns)?;
            let count = counts.entry(hash).or_default();
            *count += *sign;
            if *count == 0 {
                counts.remove(&hash);
            }
        }
    }
    let more = |sign: i64| counts.values().map(|count| (count * sign).max(0).cast_unsigned()).sum();
    Ok([more(1), more(-1)])
}

/// The columns in which this number of rows with the same primary key differ; empty if that is not all that differs.
fn other_columns(db: &Connection, table: &str, rows: u64) -> rusqlite::Result<Vec<String>> {
    /// Most columns; a query can have 2,000.
    const COLUMNS_MAX: usize = 500;
    let mut statement = db.prepare("SELECT name, pk > 0 FROM pragma_table_info(?1, 'main')")?;
    let columns = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let columns: Vec<(String, bool)> = columns.collect::<rusqlite::Result<_>>()?;
    let (keys, others): (Vec<_>, Vec<_>) = columns.into_iter().partition(|(_, is_key)| *is_key);
    if keys.is_empty() || others.is_empty() || others.len() > COLUMNS_MAX {
        return Ok(vec![]);
    }
    let both = |name: &str| (format!("a.{}", quoted(name)), format!("b.{}", quoted(name)));
    let is_same = |(name, _): &(String, bool)| {
        let (a, b) = both(name);
        format!("{a} IS {b} COLLATE BINARY AND typeof({a}) = typeof({b})")
    };
    // The first comparison is that of the key's index.
    let is_same_key = |key: &(String, bool)| {
        let (a, b) = both(&key.0);
        format!("{a} = {b} AND {}", is_same(key))
    };
    let keys: Vec<String> = keys.iter().map(is_same_key).collect();
    let same: Vec<String> = others.iter().map(is_same).collect();
    let sums: Vec<String> = same.iter().map(|same| format!("coalesce(sum(NOT ({same})), 0)")).collect();
    let (name, keys, same) = (quoted(table), keys.join(" AND "), same.join(" AND "));
    let sql = format!(
        "SELECT coalesce(sum(NOT ({same})), 0), {} FROM main.{name} a JOIN captured.{name} b ON {keys}",
        sums.join(", ")
    );
    db.query_row(&sql, [], |row| {
        let differs = |at: usize| row.get::<_, i64>(at).map(|count| count > 0);
        if row.get::<_, i64>(0)?.cast_unsigned() != rows {
            return Ok(vec![]);
        }
        let mut names = vec![];
        for (at, (name, _)) in others.iter().enumerate() {
            if differs(at + 1)? {
                names.push(name.clone());
            }
        }
        Ok(names)
    })
}

fn hash_of(row: &Row, columns: usize) -> rusqlite::Result<u128> {
    let mut halves = [0u8, 1].map(|half| {
        let mut hasher = DefaultHasher::new();
        half.hash(&mut hasher);
        hasher
    });
    for at in 0..columns {
        let value = row.get_ref(at)?;
        for half in &mut halves {
            std::mem::discriminant(&value).hash(half);
            match value {
                ValueRef::Null => {}
                ValueRef::Integer(number) => number.hash(half),
                // -0.0 is 0.0.
                ValueRef::Real(number) => (number + 0.0).to_bits().hash(half),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(half),
            }
        }
    }
    Ok(halves.iter().fold(0, |all, half| all << 64 | u128::from(half.finish())))
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
    fn columns_of_rows_with_the_same_key_that_differ_are_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let paths = ["main.db", "captured.db"].map(|name| dir.path().join(name));
        let made =
            "CREATE TABLE t (id INTEGER PRIMARY KEY, \"a b\", n, at); CREATE TABLE u (id INTEGER PRIMARY KEY, n);
                    CREATE TABLE w (n); INSERT INTO t VALUES (1, 'x', 1, 5), (2, 'x', 2, 6), (3, NULL, 3, 7);
                    INSERT INTO u VALUES (1, 1); INSERT INTO w VALUES (1);";
        let open = |path: &PathBuf| Connection::open(path).expect("opened");
        paths.iter().for_each(|path| open(path).execute_batch(made).expect("made"));
        let changes = "UPDATE t SET at = at + 1 WHERE id > 1; UPDATE t SET \"a b\" = 'X' WHERE id = 2;
                       UPDATE u SET id = 2; UPDATE w SET n = 1.0;";
        open(&paths[0]).execute_batch(changes).expect("changed");
        let compared = compare(Path::new("a.db"), &paths, Counts::Rowids).expect("compared");
        assert_eq!(
            compared.differ,
            ["t", "u", "w"].map(|t| (t.to_string(), if t == "t" { 2 } else { 1 }, if t == "t" { 2 } else { 1 }))
        );
        assert_eq!(compared.columns, BTreeMap::from([("t".to_string(), vec!["a b".to_string(), "at".to_string()])]));
    }

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
