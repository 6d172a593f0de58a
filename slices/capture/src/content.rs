//! The content of a database: a copy through the backup API, and counts of its tables. Only contend's own process
//! opens the file.

use crate::allowed::Allowed;
use crate::literal::{CHOICES, written};
use crate::manifest::{Column, Content, Table, write_private};
use crate::trace::Value;
use anyhow::{Context, Result, ensure};
use contend_interpose::format::value;
use contend_interpose::hash;
use contend_interpose::text::stand_in_number;
use contend_sql::ValueCounts;
pub use contend_wire::kept::quoted;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

/// Longest wait for a lock. The program waits meanwhile, and may itself hold it.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Most rows of a table that are examined.
const LOOKED_AT: u64 = 20_000;

/// Stores the content of a database: a copy called `name`, or with the key of a capture's hashes counts only.
///
/// # Errors
/// It cannot be read, or the copy cannot be written.
pub fn keep(path: &Path, dir: &Path, name: &str, hash_key: Option<[u64; 2]>) -> Result<Content> {
    let source = open(path)?;
    // One read: a writer can then not lock the file between two queries. A commit of another process also restarts a copy
    // in pieces, so a busy writer would delay it without end.
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
    if let Some(key) = hash_key {
        let mut content = look(&source, None)?;
        hash_values(&mut content, &source, key)?;
        return Ok(content);
    }
    let copy = dir.join(name);
    write_private(&copy, &[])?;
    let copied = copy_to(&source, &copy).and_then(|()| look(&source, Some(name.to_string())));
    copied.inspect_err(|_| drop(fs::remove_file(&copy)))
}

fn copy_to(source: &Connection, copy: &Path) -> Result<()> {
    let mut target = Connection::open(copy)?;
    let step = Backup::new(source, &mut target)?.step(-1)?;
    ensure!(step == StepResult::Done, "the copy ended early: {step:?}");
    Ok(())
}

/// Opens read-only, so that closing changes nothing. If the database's last program died, its journal may first have
/// to be rolled back.
pub fn open(path: &Path) -> Result<Connection> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = |flags| -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(LOCK_WAIT)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    let opened = connect(read_only).or_else(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Err(error),
        _ => connect(OpenFlags::SQLITE_OPEN_READ_WRITE),
    });
    opened.with_context(|| format!("cannot read {}", path.display()))
}

/// Opens a copy in a capture, which has no journal. One next to it is not used: a journal names further files, and SQLite may
/// delete them.
///
/// # Errors
/// It cannot be read.
pub fn open_copy(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(address(path)?, flags).with_context(|| format!("cannot read {}", path.display()))
}

/// The address of a copy for SQLite: `file:/data/day/end-1.db?immutable=1`.
///
/// # Errors
/// There is no such file.
pub fn address(path: &Path) -> Result<String> {
    let path = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
    let mut out = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    Ok(out + "?mode=ro&immutable=1")
}

/// Counts tables, rows and values.
///
/// # Errors
/// A query fails.
pub fn look(db: &Connection, copy: Option<String>) -> Result<Content> {
    let journal_mode = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let page_size = db.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let mut schema = db.prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid")?;
    let entries = schema.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let entries = entries.collect::<rusqlite::Result<Vec<(String, String, String)>>>()?;
    let (mut tables, mut others) = (vec![], vec![]);
    for (kind, name, sql) in entries {
        if kind == "table" {
            tables.push(table(db, name, sql)?);
        } else {
            others.push(sql);
        }
    }
    Ok(Content { copy, copy_hash: None, journal_mode, page_size, tables, others })
}

fn count(row: &rusqlite::Row, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

fn table(db: &Connection, name: String, ddl: String) -> Result<Table> {
    // Without an index, whose collation may be the program's own.
    let sql = format!("SELECT count(*) FROM {} NOT INDEXED", quoted(&name));
    let rows = readable(db.query_row(&sql, [], |row| count(row, 0)), &ddl)?.unwrap_or(0);
    let mut info =
        db.prepare("SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk FROM pragma_table_info(?1)")?;
    let columns = info.query_map([&name], |row| {
        let (column, declared) = (row.get(0)?, row.get::<_, String>(1)?);
        Ok((column, declared, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    // Neither may the columns of a virtual table be asked for, if only the program has its module.
    let columns = readable(columns.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>), &ddl)?;
    let mut found = vec![];
    for (column, declared, not_null, has_default, key) in columns.unwrap_or_default() {
        found.push(look_at(
            db,
            (&name, &ddl),
            Column {
                name: column,
                declared,
                not_null,
                has_default,
                key,
                unique: false,
                completes_unique: false,
                refers: None,
                seen: 0,
                nulls: 0,
                distinct: 0,
                most: 0,
                has_dates: false,
                rises: false,
                kind: "null".into(),
                length_min: 0,
                length_mean: 0,
                length_max: 0,
                hashes: vec![],
                words: vec![],
            },
        )?);
    }
    mark_unique(db, &name, &mut found)?;
    Ok(Table { name, ddl, rows, keys: None, columns: found })
}

/// Sets which columns are unique, and which complete a unique index of several. Where one of these has another text in each row,
/// that one makes the rows unique, and not the last column of the index.
fn mark_unique(db: &Connection, table: &str, columns: &mut [Column]) -> Result<()> {
    let mut parts = db.prepare(
        "SELECT l.name, coalesce(i.name, '') FROM pragma_index_list(?1) l, pragma_index_info(l.name) i
         WHERE l.\"unique\" AND NOT l.partial ORDER BY l.name, i.seqno",
    )?;
    let parts = parts.query_map([table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut indexes: BTreeMap<String, Vec<Option<usize>>> = BTreeMap::new();
    for part in parts {
        let (index, name) = part?;
        // An expression, or a generated column, is none of these.
        let at = columns.iter().position(|column| column.name == name);
        indexes.entry(index).or_default().push(at);
    }
    let is_distinct = |column: &Column| column.seen > 1 && column.nulls == 0 && column.distinct == column.seen;
    let is_carrier = |column: &Column| column.kind == "text" && column.refers.is_none() && is_distinct(column);
    for of in indexes.values() {
        let carrier = of.iter().flatten().find(|at| is_carrier(&columns[**at])).copied();
        match (&of[..], carrier) {
            ([Some(only)], _) => columns[*only].unique = true,
            (_, Some(carrier)) => columns[carrier].unique = true,
            ([.., Some(last)], None) => columns[*last].completes_unique = true,
            _ => {}
        }
    }
    Ok(())
}

/// `None` if only the program's SQLite can read the table: a virtual table, or a function or collation of the program.
fn readable<T>(result: rusqlite::Result<T>, ddl: &str) -> rusqlite::Result<Option<T>> {
    const VIRTUAL: &str = "CREATE VIRTUAL";
    let is_virtual = ddl.get(..VIRTUAL.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(VIRTUAL));
    match result {
        Ok(value) => Ok(Some(value)),
        Err(rusqlite::Error::SqlInputError { .. }) => Ok(None),
        Err(why) if is_virtual || why.sqlite_error_code() == Some(ErrorCode::Unknown) => Ok(None),
        Err(why) => Err(why),
    }
}

fn look_at(db: &Connection, (table, ddl): (&str, &str), mut column: Column) -> Result<Column> {
    // With its schema, or a table called `seen` would be that of the query.
    let (of, name) = (format!("main.{}", quoted(table)), quoted(&column.name));
    // An index of the column has its lowest values first.
    let sql = format!(
        "WITH seen AS MATERIALIZED (SELECT {name} AS v FROM {of} NOT INDEXED LIMIT {LOOKED_AT})
         SELECT count(*), coalesce(sum(v IS NULL), 0), count(DISTINCT v), coalesce(min(length(v)), 0),
           coalesce(CAST(avg(length(v)) AS INTEGER), 0), coalesce(max(length(v)), 0),
           coalesce((SELECT typeof(v) FROM seen WHERE v IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1), 'null'),
           coalesce((SELECT count(*) FROM seen WHERE v IS NOT NULL GROUP BY v ORDER BY 1 DESC LIMIT 1), 0),
           coalesce((SELECT min(v GLOB '[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]*') FROM seen WHERE v IS NOT NULL), 0)
         FROM seen"
    );
    let looked = db.query_row(&sql, [], |row| {
        (column.seen, column.nulls, column.distinct) = (count(row, 0)?, count(row, 1)?, count(row, 2)?);
        (column.length_min, column.length_mean, column.length_max) = (count(row, 3)?, count(row, 4)?, count(row, 5)?);
        (column.kind, column.most, column.has_dates) = (row.get(6)?, count(row, 7)?, row.get(8)?);
        Ok(())
    });
    readable(looked, ddl)?;
    // A table without rowids has no order but that of its key.
    let falls = format!(
        "SELECT count(*) FROM (SELECT v, lag(v) OVER (ORDER BY rowid) AS before FROM (SELECT rowid, {name} AS v FROM {of} NOT INDEXED LIMIT {LOOKED_AT}))
         WHERE before > v"
    );
    column.rises = readable(db.query_row(&falls, [], |row| count(row, 0)), ddl)?.is_some_and(|falls| falls == 0);
    let refers = "SELECT \"table\", coalesce(\"to\", '') FROM pragma_foreign_key_list(?1) WHERE \"from\" = ?2 LIMIT 1";
    column.refers = db.query_row(refers, [table, &column.name], |row| Ok((row.get(0)?, row.get(1)?))).ok();
    Ok(column)
}

/// The numbers of values in columns of a table, by type.
///
/// # Errors
/// A query fails.
pub fn value_counts(db: &Connection, table: &str, columns: &[&str]) -> Result<Vec<ValueCounts>> {
    // A result has at most 2,000 columns.
    const AT_ONCE: usize = 400;
    let of_kind = |column: &str, kind| format!("count(*) FILTER (WHERE typeof({}) = '{kind}')", quoted(column));
    let mut counts = vec![];
    for columns in columns.chunks(AT_ONCE) {
        let all =
            columns.iter().flat_map(|column| ["integer", "real", "text", "blob"].map(|kind| of_kind(column, kind)));
        let sql = format!("SELECT {} FROM {} NOT INDEXED", all.collect::<Vec<_>>().join(", "), quoted(table));
        let of = |row: &rusqlite::Row, at: usize| {
            let [integers, reals] = [count(row, at)?, count(row, at + 1)?];
            Ok(ValueCounts { integers, reals, texts: count(row, at + 2)?, blobs: count(row, at + 3)? })
        };
        counts.extend(db.query_row(&sql, [], |row| {
            (0..columns.len()).map(|column| of(row, 4 * column)).collect::<rusqlite::Result<Vec<_>>>()
        })?);
    }
    Ok(counts)
}

/// Hashes the values of columns with few values and of those that name rows, so that they can be recognised in statements; and the
/// words of CHECK constraints, which are in the schema anyway.
///
/// # Errors
/// A query fails.
pub fn hash_values(content: &mut Content, db: &Connection, key: [u64; 2]) -> Result<()> {
    for table in &mut content.tables {
        let allowed = Allowed::of_all(table);
        for (column, allowed) in table.columns.iter_mut().zip(allowed) {
            let word = |word: &Value| Some((written(word)?, hash_of(word, key)?));
            column.words = allowed.words.iter().filter_map(word).collect();
            let few = CHOICES.max(allowed.words.len()) as u64;
            if !column.names_rows() && !(1..=few).contains(&column.distinct) {
                continue;
            }
            let (of, name) = (quoted(&table.name), quoted(&column.name));
            // A virtual table may reject the query.
            let Ok(mut rows) = db.prepare(&format!(
                "SELECT v, count(*) FROM (SELECT {name} AS v FROM {of} NOT INDEXED LIMIT {LOOKED_AT}) WHERE v IS NOT NULL
                 GROUP BY v COLLATE BINARY ORDER BY 2 DESC"
            )) else {
                continue;
            };
            let hashed = rows.query_map([], |row| {
                let hash = match row.get_ref(0)? {
                    ValueRef::Text(bytes) if column.kind == "text" => Some(hash::bytes(key, bytes)),
                    ValueRef::Integer(number) if column.kind == "integer" => Some(hash_of_number(number, key)),
                    _ => None,
                };
                Ok(hash.zip(Some(count(row, 1)?)))
            })?;
            let hashed: Option<Vec<(u64, u64)>> = hashed.collect::<rusqlite::Result<_>>()?;
            // Not in the order of the values, which the database sorts.
            column.hashes = hashed.unwrap_or_default();
            column.hashes.sort_by_key(|(hash, rows)| (Reverse(*rows), *hash));
        }
    }
    Ok(())
}

fn hash_of_number(number: i64, key: [u64; 2]) -> u64 {
    stand_in_number(hash::number(key, value::INTEGER, number.cast_unsigned()))
}

/// The hash of a text or an integer, as values of statements have it.
fn hash_of(value: &Value, key: [u64; 2]) -> Option<u64> {
    match value {
        Value::Text(bytes) => Some(hash::bytes(key, bytes)),
        Value::Integer(number) => Some(hash_of_number(*number, key)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_writer_does_not_hold_up_the_copy() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("app.db");
        let db = Connection::open(&path).expect("made");
        // More pages than one piece, and commits without a pause.
        db.execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = off; CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
             INSERT INTO t SELECT i, zeroblob(4000) FROM n;",
        )
        .expect("filled");
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let begun = std::time::Instant::now();
        let content = std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = Connection::open(&path).expect("opened");
                writer.execute_batch("PRAGMA synchronous = off; PRAGMA wal_autocheckpoint = 0").expect("set");
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(10) {
                    writer
                        .execute("UPDATE t SET b = randomblob(20) WHERE id = abs(random()) % 5000", [])
                        .expect("written");
                }
            });
            let content = keep(&path, dir.path(), "copy.db", None);
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            content
        });
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        assert_eq!(content.expect("kept").tables[0].rows, 5_000);
        let copy = open_copy(&dir.path().join("copy.db")).expect("opened");
        assert_eq!(copy.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)), Ok("ok".into()));
    }

    #[test]
    fn a_writer_between_two_queries_makes_no_table_empty() {
        const TABLES: usize = 20;
        const ROWS: u64 = 20_000;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("app.db");
        let db = Connection::open(&path).expect("made");
        for i in 0..TABLES {
            db.execute_batch(&format!(
                "CREATE TABLE t{i} (id INTEGER PRIMARY KEY, a TEXT);
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
                 INSERT INTO t{i} SELECT i, hex(i) FROM n;"
            ))
            .expect("filled");
        }
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let begun = std::time::Instant::now();
        let content = std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = Connection::open(&path).expect("opened");
                writer.busy_timeout(Duration::from_secs(10)).expect("set");
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(30) {
                    writer.execute_batch("BEGIN EXCLUSIVE; UPDATE t0 SET a = '' WHERE id = 1").expect("locked");
                    std::thread::sleep(Duration::from_millis(1_100));
                    writer.execute_batch("COMMIT").expect("written");
                    // `open` looks every tenth of a second.
                    std::thread::sleep(Duration::from_millis(120));
                }
            });
            let content = (0..10).find_map(|_| keep(&path, dir.path(), "copy.db", Some([1, 2])).ok());
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            content
        });
        let tables = content.expect("kept").tables;
        assert_eq!(tables.len(), TABLES);
        for table in &tables {
            let columns: Vec<u64> = table.columns.iter().map(|column| column.seen).collect();
            assert_eq!((table.rows, columns), (ROWS, vec![ROWS; 2]), "{}", table.name);
        }
    }

    #[test]
    fn a_collation_of_the_program_hides_no_rows() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("app.db");
        let db = Connection::open(&path).expect("made");
        db.execute_batch(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT COLLATE nocase UNIQUE); INSERT INTO a VALUES (1, 'x');
             CREATE TABLE b (id INTEGER PRIMARY KEY); INSERT INTO b VALUES (1), (2);
             PRAGMA writable_schema = on;
             UPDATE sqlite_schema SET sql = replace(sql, 'nocase', 'own') WHERE name = 'a';",
        )
        .expect("filled");
        drop(db);
        let kept = keep(&path, dir.path(), "copy.db", Some([1, 2])).expect("kept");
        let rows: Vec<(&str, u64)> = kept.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
        assert_eq!(rows, [("a", 1), ("b", 2)]);
    }

    #[test]
    fn order_dates_and_the_most_frequent_value_are_seen() {
        let db = Connection::open_in_memory().expect("opened");
        db.execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, day TEXT, n INTEGER, m INTEGER);
             INSERT INTO t VALUES (1, '2026-01-01', 5, 7), (2, NULL, 5, 6), (3, '2026-01-02 10:00', 9, 7);
             CREATE TABLE w (k TEXT PRIMARY KEY, day TEXT) WITHOUT ROWID; INSERT INTO w VALUES ('a', '2026-1-1');",
        )
        .expect("filled");
        let seen = look(&db, None).expect("looked");
        let of = |table: usize, column: usize| {
            let column = &seen.tables[table].columns[column];
            (column.has_dates, column.rises, column.most)
        };
        assert_eq!([of(0, 1), of(0, 2), of(0, 3)], [(true, true, 1), (false, true, 2), (false, false, 2)]);
        assert_eq!(of(1, 1), (false, false, 1));
    }

    #[test]
    fn hashes_leave_no_copy_and_counts_say_what_is_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("app.db");
        let db = Connection::open(&path).expect("made");
        db.execute_batch(
            "PRAGMA journal_mode = wal; CREATE TABLE a (id INTEGER PRIMARY KEY, mail TEXT NOT NULL UNIQUE);
             CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id), t TEXT);
             INSERT INTO a VALUES (1, 'x'), (2, 'yyy'); INSERT INTO b VALUES (1, 1, NULL); CREATE INDEX bt ON b (t);",
        )
        .expect("filled");
        let kept = keep(&path, dir.path(), "copy.db", Some([1, 2])).expect("kept");
        assert!(!dir.path().join("copy.db").exists());
        assert_eq!((kept.journal_mode.as_str(), kept.tables.len(), kept.others.len()), ("wal", 2, 1));
        let mail = &kept.tables[0].columns[1];
        assert_eq!((mail.unique, mail.length_min, mail.length_max, mail.distinct), (true, 1, 3, 2));
        assert_eq!(mail.hashes.len(), 2);
        assert!(mail.hashes.contains(&(hash::bytes([1, 2], b"yyy"), 1)), "{:?}", mail.hashes);
        assert_eq!(kept.tables[1].columns[1].refers, Some(("a".into(), "id".into())));
        keep(&path, dir.path(), "copy.db", None).expect("kept");
        let strange = dir.path().join("a copy?#%41.db");
        std::fs::rename(dir.path().join("copy.db"), &strange).expect("renamed");
        let copy = open_copy(&strange).expect("opened");
        assert_eq!(copy.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0)), Ok(2));
        assert!(path.with_extension("db-wal").exists(), "the log of a live database stays");
    }
}
