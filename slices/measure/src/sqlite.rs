//! Measures a SQLite file: reads every page once through the virtual table `dbstat`
//! (<https://www.sqlite.org/dbstat.html>).

use crate::model::{Measured, Size, Table, sorted};
use anyhow::{Context, Result, anyhow, ensure};
use contend::engine::wal::companion;
use contend_stats::precision::{Percent, count};
use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::{Connection, OpenFlags, Row};
use rustix::process::{Flock, FlockType, fcntl_getlk};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// For each table and index and each kind of page: entries, unused bytes, bytes.
const PAGES: &str = "
SELECT m.tbl_name, m.type = 'index', l.wr, s.pagetype = 'leaf', \
  sum(s.ncell), sum(s.unused), sum(s.pgsize), s.pagetype = 'corrupted'
FROM dbstat AS s LEFT JOIN sqlite_schema AS m ON m.name = s.name AND m.type IN ('table', 'index')
  LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = m.tbl_name
GROUP BY s.name, s.pagetype";

/// Ending of the log's name.
const LOG: &str = "-wal";
/// Ending of the rollback journal's name.
const JOURNAL: &str = "-journal";

/// Offset of the header's write version, which is 2 in WAL mode (<https://www.sqlite.org/fileformat.html>).
const WRITE_VERSION_AT: usize = 18;

/// Bytes that a connection in WAL mode has a shared lock on as long as it is open.
const SHARED_FIRST: u64 = 0x4000_0002;
const SHARED_BYTES: u64 = 510;

/// The schema is a table too, but has no row about itself.
const SCHEMA: &str = "sqlite_schema";

/// Measures a file.
///
/// # Errors
/// The file is not a SQLite database, or cannot be read.
pub fn measured(given: &Path) -> Result<Measured> {
    let shown = given.display();
    let missing = || format!("cannot measure {shown}; name a SQLite database");
    // SQLite's log stands next to the file itself, not next to a link.
    let path = &given.canonicalize().with_context(missing)?;
    let before = State::of(path).with_context(missing)?;
    ensure!(path.is_file(), "{shown} is not a file; name a SQLite database");
    let Header { in_wal_mode, is_open } = header(path).with_context(|| format!("cannot read {shown}"))?;
    let alone = in_wal_mode && !before.has_log;
    let has_opened = || State::of(path).is_ok_and(|now| now.has_log);
    ensure!(
        !(alone && is_open) || has_opened(),
        "a program has {shown} open in WAL mode, and its log is not next to this name: the file has another name there (a hard \
         link, a mount, an old name); measure it under the name with which the program opened it"
    );
    let connection = open(path, alone).map_err(|error| unreadable(given, error))?;
    let measured = measure(&connection, given, path, in_wal_mode);
    ensure!(
        !alone || State::of(path)? == before,
        "{shown} was opened by another program while it was read; measure it again"
    );
    measured.with_context(|| format!("cannot measure {shown}"))
}

/// What changes if another program uses a file in WAL mode. It is read without opening the file: to close it would
/// release the locks of this process.
#[derive(Debug, PartialEq, Eq)]
struct State {
    has_log: bool,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of the last write.
    written: (i64, i64),
}

impl State {
    fn of(path: &Path) -> io::Result<State> {
        // The log is made before the file is written, and removed after it.
        let file = fs::metadata(path)?;
        let has_log = companion(path, LOG).exists();
        Ok(State { has_log, inode: file.ino(), bytes: file.len(), written: (file.mtime(), file.mtime_nsec()) })
    }
}

/// Opens the file in a read transaction. `alone`: no program has it open. Reading such a file in WAL mode would
/// create a log and an index, so it is opened as immutable.
fn open(path: &Path, alone: bool) -> rusqlite::Result<Connection> {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{escaped}{}", if alone { "?immutable=1" } else { "" });
    let connection = Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?;
    connection.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema")?;
    Ok(connection)
}

/// What SQLite's error means for the user.
fn unreadable(given: &Path, error: rusqlite::Error) -> anyhow::Error {
    let shown = given.display();
    let code = error.sqlite_error().map(|error| error.extended_code);
    match code {
        Some(SQLITE_READONLY_ROLLBACK) => anyhow!(
            "cannot read {shown}: a crash left {shown}{JOURNAL}, and only a program that writes can take its transaction \
             back; open {shown} once with its program, or measure a copy of both files that sqlite3 has opened"
        ),
        _ => anyhow!(error).context(format!("cannot read {shown}")),
    }
}

struct Header {
    in_wal_mode: bool,
    /// Whether another process has SQLite's lock of an open connection.
    is_open: bool,
}

/// Reads the header; only while this process has no connection to the file.
fn header(path: &Path) -> io::Result<Header> {
    let mut head = [0; WRITE_VERSION_AT + 1];
    let mut file = fs::File::open(path)?;
    let read = file.read(&mut head)?;
    let lock = Flock { start: SHARED_FIRST, length: SHARED_BYTES, ..Flock::from(FlockType::WriteLock) };
    let is_open = fcntl_getlk(&file, &lock)?.is_some();
    Ok(Header { in_wal_mode: read == head.len() && head[WRITE_VERSION_AT] == 2, is_open })
}

/// `shown`: the path that the user gave.
fn measure(connection: &Connection, shown: &Path, path: &Path, in_wal_mode: bool) -> Result<Measured> {
    let number = |sql: &str| connection.query_row(sql, [], |row| number_in(row, 0));
    let (page, pages) = (number("PRAGMA page_size")?, number("PRAGMA page_count")?);
    let free = number("PRAGMA freelist_count")? * page;
    let mode = if in_wal_mode { "WAL" } else { "rollback journal" };
    let (tables, damaged) = tables(connection)?;
    let unused = tables.iter().filter_map(|table| table.unused_bytes).sum::<u64>();
    let bytes = pages * page;
    ensure!(
        unused <= bytes,
        "{}: its pages contradict each other, so it is damaged; PRAGMA integrity_check says how",
        shown.display()
    );
    let mended = |part: u64, how: &str| match part {
        0 => String::new(),
        _ => format!("{} of it; {how}", Percent(part as f64 / bytes.max(1) as f64)),
    };
    let mut sizes = vec![
        Size::new("database", bytes, format!("{} pages of {page} bytes, {mode}", count(pages))),
        Size::new("free pages", free, mended(free, "VACUUM gives them back to the disk")),
        Size::new("unused in pages", unused, mended(unused, "VACUUM packs them")),
    ];
    if damaged > 0 {
        let note = "cannot be read, so numbers of rows are too low; PRAGMA integrity_check names them";
        sizes.push(Size::new("damaged pages", damaged, note));
    }
    for (name, suffix, note) in [
        ("log", LOG, "a checkpoint copies it into the database; it shrinks only with journal_size_limit or TRUNCATE"),
        ("rollback journal", JOURNAL, "of a transaction under way, or kept by journal_mode = PERSIST"),
    ] {
        if let Some(bytes) =
            fs::metadata(companion(path, suffix)).ok().map(|file| file.len()).filter(|bytes| *bytes > 0)
        {
            sizes.push(Size::new(name, bytes, note));
        }
    }
    let what = format!("SQLite, read by {}", rusqlite::version());
    Ok(Measured { name: shown.display().to_string(), what, sizes, tables })
}

fn number_in(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(|number: i64| number.max(0).cast_unsigned())
}

/// The tables, and the bytes of pages that are damaged.
fn tables(connection: &Connection) -> Result<(Vec<Table>, u64)> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut damaged = 0;
    let mut statement = connection.prepare(PAGES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let of: Option<String> = row.get(0)?;
        let of = of.unwrap_or_else(|| SCHEMA.to_string());
        let (is_index, has_no_rowid): (Option<bool>, Option<bool>) = (row.get(1)?, row.get(2)?);
        let (is_leaf, entries): (bool, u64) = (row.get(3)?, number_in(row, 4)?);
        let (unused, bytes) = (number_in(row, 5)?, number_in(row, 6)?);
        damaged += if row.get(7)? { bytes } else { 0 };
        let table = tables.entry(of.clone()).or_insert_with(|| Table {
            name: of,
            rows_bytes: Some(0),
            index_bytes: Some(0),
            ..Table::default()
        });
        *table.unused_bytes.get_or_insert(0) += unused;
        if is_index == Some(true) {
            *table.index_bytes.get_or_insert(0) += bytes;
            continue;
        }
        *table.rows_bytes.get_or_insert(0) += bytes;
        // Inner pages of a table hold only keys; those of an index, or of a table without rowid, hold rows.
        if is_leaf || has_no_rowid == Some(true) {
            *table.rows.get_or_insert(0) += entries;
        }
    }
    Ok((sorted(tables.into_values().collect()), damaged))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(schema: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("app.db");
        Connection::open(&path).and_then(|connection| connection.execute_batch(schema)).expect("a database");
        (dir, path)
    }

    const NUMBERS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)";

    #[test]
    fn every_page_and_every_row_is_accounted_for() {
        let (dir, path) = file(&format!(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE post (id INTEGER PRIMARY KEY, body TEXT);
             CREATE INDEX by_body ON post (body);
             CREATE TABLE pair (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
             CREATE TABLE gone (x /* not WITHOUT ROWID */);
             CREATE TRIGGER post AFTER DELETE ON post BEGIN SELECT 1; END;
             INSERT INTO post {NUMBERS} SELECT i, printf('post %d of many', i) FROM n;
             INSERT INTO pair {NUMBERS} SELECT printf('key number %08d', i), printf('and value %08d', i) FROM n;
             INSERT INTO gone {NUMBERS} SELECT randomblob(400) FROM n;
             DELETE FROM gone;"
        ));
        let found = measured(&path).expect("measured");
        let table = |name: &str| found.tables.iter().find(|table| table.name == name).expect("it is there");
        let rows = ["post", "pair", "gone", SCHEMA].map(|name| table(name).rows);
        assert_eq!(rows, [5000, 5000, 0, 5].map(Some));
        assert!(table("post").index_bytes > Some(100_000) && table("pair").index_bytes == Some(0), "{found:?}");
        let size = |name| found.sizes.iter().find(|size| size.name == name).expect("it is there").bytes;
        assert!(size("free pages") > 2_000_000, "{found:?}");
        let in_tables: u64 = found.tables.iter().filter_map(Table::bytes).sum();
        assert_eq!(in_tables + size("free pages"), size("database"));
        let left: Vec<_> =
            fs::read_dir(dir.path()).expect("readable").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["app.db"], "nothing else is left");
    }

    #[test]
    fn damaged_pages_are_named() {
        let (_dir, path) = file(&format!("CREATE TABLE t (x); INSERT INTO t {NUMBERS} SELECT randomblob(400) FROM n;"));
        let size =
            || measured(&path).expect("measured").sizes.iter().find(|size| size.name == "damaged pages").cloned();
        assert_eq!(size(), None);
        let mut bytes = fs::read(&path).expect("readable");
        bytes[40_960..122_880].fill(0xa5);
        fs::write(&path, bytes).expect("written");
        assert_eq!(size().map(|size| size.bytes), Some(81_920));
    }

    #[test]
    fn other_processes_cannot_write_while_a_file_is_read() {
        let (_dir, path) = file("CREATE TABLE t (x); INSERT INTO t VALUES (1);");
        let connection = open(&path, false).expect("opened");
        measure(&connection, &path, &path, false).expect("measured");
        let said = std::process::Command::new("sqlite3").arg(&path).arg("INSERT INTO t VALUES (2)").output();
        let said = said.expect("sqlite3 starts");
        assert!(String::from_utf8_lossy(&said.stderr).contains("database is locked"), "{said:?}");
    }

    #[test]
    fn the_log_stands_next_to_the_file_of_a_link() {
        let (dir, path) = file("PRAGMA journal_mode = WAL; CREATE TABLE t (x);");
        let writer = Connection::open(&path).expect("opened");
        writer.execute_batch("INSERT INTO t VALUES (1), (2), (3)").expect("written");
        let link = dir.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        let found = measured(&link).expect("measured");
        assert_eq!(found.name, link.display().to_string());
        assert!(found.sizes.iter().any(|size| size.name == "log"), "{found:?}");
        let rows = found.tables.iter().find(|table| table.name == "t").and_then(|table| table.rows);
        assert_eq!(rows, Some(3));
    }

    /// The log is next to the name with which a program has it open.
    #[test]
    fn a_second_name_of_a_file_that_is_open_is_refused() {
        const HOLD: &str = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO t VALUES (2)'); \
            c.commit(); print(flush=True); sys.stdin.read()";
        let (dir, path) = file("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1);");
        let mut program = std::process::Command::new("python3");
        let piped = std::process::Stdio::piped;
        let program = program.args(["-c", HOLD]).arg(&path).stdin(piped()).stdout(piped());
        let mut program = program.spawn().expect("python3 starts");
        let mut line = [0];
        program.stdout.take().expect("piped").read_exact(&mut line).expect("it has written");
        let other = dir.path().join("other.db");
        fs::hard_link(&path, &other).expect("linked");
        let said = measured(&other).expect_err("old pages").to_string();
        assert!(said.contains("its log is not next to this name"), "{said}");
        let rows =
            measured(&path).expect("measured").tables.iter().find(|table| table.name == "t").and_then(|t| t.rows);
        assert_eq!(rows, Some(2));
        drop(program.stdin.take());
        program.wait().expect("it ends");
        assert!(measured(&other).is_ok());
    }

    #[test]
    fn programs_that_come_and_go_are_noticed() {
        let (_dir, path) = file("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1);");
        // A file system notes times in steps of some milliseconds.
        let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(earlier)).expect("set");
        let before = State::of(&path).expect("there");
        let program = Connection::open(&path).expect("opened");
        program.execute_batch("UPDATE t SET x = 2").expect("written");
        assert_ne!(State::of(&path).expect("there"), before, "it is there");
        drop(program);
        let after = State::of(&path).expect("there");
        assert!(!after.has_log && after.bytes == before.bytes && after != before, "{before:?} {after:?}");
    }

    #[test]
    fn a_journal_that_a_crash_left_is_named() {
        let (dir, path) = file("PRAGMA journal_mode = DELETE; CREATE TABLE t (x);");
        let writer = Connection::open(&path).expect("opened");
        // A cache this small writes pages into the file before the end of the transaction.
        let fill = format!("PRAGMA cache_size = 1; BEGIN; INSERT INTO t {NUMBERS} SELECT randomblob(400) FROM n");
        writer.execute_batch(&fill).expect("written");
        let copy = dir.path().join("copy.db");
        for suffix in ["", JOURNAL] {
            fs::copy(companion(&path, suffix), companion(&copy, suffix)).expect("copied");
        }
        drop(writer);
        let bytes = fs::read(&copy).expect("readable");
        let said = measured(&copy).expect_err("half a transaction").to_string();
        assert!(said.contains("a crash left") && said.contains("copy.db-journal, and only a program"), "{said}");
        assert_eq!(fs::read(&copy).expect("readable"), bytes, "nothing is changed");
        let count = "SELECT count(*) FROM t";
        let opened = std::process::Command::new("sqlite3").arg(&copy).arg(count).output().expect("sqlite3 starts");
        assert!(opened.status.success() && measured(&copy).is_ok(), "{opened:?}");
    }

    #[test]
    fn a_journal_that_is_kept_is_a_size() {
        let (_dir, path) = file("PRAGMA journal_mode = PERSIST; CREATE TABLE t (x);");
        let found = measured(&path).expect("measured");
        assert!(found.sizes.iter().any(|size| size.name == "rollback journal" && size.bytes > 0), "{found:?}");
    }

    #[test]
    fn a_damaged_page_is_no_size() {
        let (_dir, path) = file(&format!("CREATE TABLE t (x); INSERT INTO t {NUMBERS} SELECT i FROM n;"));
        let mut bytes = fs::read(&path).expect("readable");
        bytes[4100..4104].fill(0xff);
        fs::write(&path, bytes).expect("written");
        let said = format!("{:#}", measured(&path).expect_err("damaged"));
        assert!(said.contains("damaged") || said.contains("malformed"), "{said}");
    }

    #[test]
    fn what_is_no_database_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notes.txt");
        fs::write(&path, "SQLite is nice").expect("written");
        assert!(measured(&path).is_err_and(|e| format!("{e:#}").contains("file is not a database")));
        assert!(measured(dir.path()).is_err_and(|e| e.to_string().contains("is not a file")));
        assert!(measured(&dir.path().join("absent")).is_err_and(|e| e.to_string().contains("cannot measure")));
    }
}
