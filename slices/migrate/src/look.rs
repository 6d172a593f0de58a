//! The source: the schema and rows of a SQLite database, which is only read, in one transaction.

use anyhow::{Context, Result, bail, ensure};
use contend::engine::wal::companion;
use contend::workload::sql::mentions;
use contend_sql::HIDDEN_ROWID;
use contend_wire::kept::quoted;
use contend_worker::argument::Argument;
use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Kind of object that a statement of the schema creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Table,
    Index,
    View,
    Trigger,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Table, Kind::Index, Kind::View, Kind::Trigger];

    /// The word in SQLite's schema and in the ledger.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Index => "index",
            Kind::View => "view",
            Kind::Trigger => "trigger",
        }
    }
}

/// A statement of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    pub kind: Kind,
    pub name: String,
    /// The table that it belongs to.
    pub table: String,
    pub sql: String,
}

impl Object {
    /// Whether it has this name, or belongs to the table of this name.
    pub fn is_of(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.table.eq_ignore_ascii_case(name)
    }
}

/// How SQLite identifies the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// By its rowid, under this name; `None` if columns hide all of its names.
    Rowid(Option<&'static str>),
    /// By its primary key, with these columns.
    Key(Vec<String>),
}

/// A table whose rows are carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub order: Order,
    /// In the order of the definition, including generated columns.
    pub columns: Vec<String>,
    /// Columns of the primary key.
    pub key: Vec<String>,
    /// Columns of each index, also of those of keys; without expressions.
    pub keys: Vec<Vec<String>>,
    /// With AUTOINCREMENT: the largest key ever used.
    pub last_key: Option<i64>,
}

/// A schema, and numbers that the database stores outside of tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    pub objects: Vec<Object>,
    pub tables: Vec<Table>,
    pub virtual_tables: Vec<String>,
    /// Tables in which virtual tables store their data.
    pub shadow_tables: Vec<String>,
    /// Values of [`PRAGMAS`].
    pub pragmas: Vec<(String, i64)>,
}

/// Numbers that a database stores outside of tables.
pub const PRAGMAS: [&str; 2] = ["user_version", "application_id"];

/// SQLite's name of the rowid in a table with these columns; `None` if they hide all of its names.
pub fn rowid_name<'c>(columns: impl IntoIterator<Item = &'c str>) -> Option<&'static str> {
    let columns: Vec<&str> = columns.into_iter().collect();
    let is_free = |word: &&str| !columns.iter().any(|column| column.eq_ignore_ascii_case(word));
    ["rowid", "_rowid_", "oid"].into_iter().find(is_free)
}

/// Names separated by commas.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// Opens a database read-only, in a transaction that lasts as long as the connection.
///
/// # Errors
/// The file does not exist, or cannot be read.
pub fn open(path: &Path) -> Result<Connection> {
    ensure!(path.is_file(), "{} does not exist; name a SQLite database", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags);
    let connection = opened.with_context(|| format!("{}: cannot be opened", path.display()))?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    let begun = connection.execute_batch("PRAGMA query_only = ON; BEGIN; SELECT count(*) FROM sqlite_schema");
    begun.map_err(|e| unread(e, path))?;
    Ok(connection)
}

fn unread(error: rusqlite::Error, path: &Path) -> anyhow::Error {
    let shown = path.display();
    let extended = error.sqlite_error().map(|error| error.extended_code);
    let what = match error.sqlite_error_code() {
        _ if extended == Some(SQLITE_READONLY_ROLLBACK) => format!(
            "{shown}: a crash left {shown}-journal, and only a program that writes can take its transaction back; open {shown} \
             once with its program, or migrate a copy of both files that sqlite3 has opened"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => format!(
            "{shown}: cannot be read; to read a database in WAL mode, SQLite makes {shown}-wal and {shown}-shm: make its \
             directory writable for this user, or migrate a copy of it and its {shown}-wal in another directory"
        ),
        _ => format!("{shown}: cannot be read"),
    };
    anyhow::Error::from(error).context(what)
}

/// The log of a database in WAL mode.
fn log(path: &Path) -> io::Result<PathBuf> {
    Ok(companion(&path.canonicalize()?, "-wal"))
}

/// Whether a database has a log. To read one in WAL mode SQLite makes it, and a connection that only reads leaves it.
pub fn has_log(path: &Path) -> bool {
    log(path).is_ok_and(|log| log.exists())
}

/// Removes an empty log. SQLite does this itself when the last connection that may write is closed, so the log of another
/// process is safe.
pub fn remove_log(path: &Path) {
    if log(path).and_then(fs::metadata).is_ok_and(|log| log.len() == 0) {
        let opened = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        // A log that cannot be removed does no harm.
        let _ = opened.and_then(|connection| connection.execute_batch("SELECT count(*) FROM sqlite_schema"));
    }
}

/// Reads the schema.
///
/// # Errors
/// The database cannot be read.
pub fn schema(connection: &Connection) -> Result<Schema> {
    let mut schema = Schema { objects: objects(connection)?, ..Schema::default() };
    let mut list = connection.prepare(
        "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual', 'shadow') \
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let listed = list.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let listed = listed.collect::<rusqlite::Result<Vec<(String, String, bool)>>>()?;
    for object in schema.objects.iter().filter(|object| object.kind == Kind::Table) {
        let Some((name, kind, by_key)) = listed.iter().find(|(name, ..)| *name == object.name) else {
            bail!("table {} is in the schema, and SQLite does not list it", object.name);
        };
        // SQLite calls it a part of a virtual table for its name alone.
        let is_named = || listed.iter().any(|(other, kind, _)| kind == "virtual" && schema.names(other, name));
        match kind.as_str() {
            "shadow" if is_named() || !is_of_module(object) => schema.tables.push(table(connection, name, *by_key)?),
            "table" => schema.tables.push(table(connection, name, *by_key)?),
            "shadow" => schema.shadow_tables.push(name.clone()),
            _ => schema.virtual_tables.push(name.clone()),
        }
    }
    for name in PRAGMAS {
        schema.pragmas.push((name.to_string(), connection.pragma_query_value(None, name, |row| row.get(0))?));
    }
    Ok(schema)
}

/// Whether a virtual table's module has made a table: FTS quotes its name so, and R*Tree as people do.
fn is_of_module(object: &Object) -> bool {
    let name = object.name.as_str();
    let is_of_tree = ["_node", "_parent", "_rowid"].iter().any(|end| name.ends_with(end));
    let begins = |with: String| object.sql.starts_with(&with);
    begins(format!("CREATE TABLE '{name}'")) || is_of_tree && begins(format!("CREATE TABLE \"{name}\""))
}

impl Schema {
    /// Whether the statement of one object names another one, such as `content='docs_content'`.
    fn names(&self, of: &str, name: &str) -> bool {
        let is_its = |object: &&Object| object.name == of;
        self.objects.iter().find(is_its).is_some_and(|object| mentions(&object.sql, name))
    }
}

fn objects(connection: &Connection) -> Result<Vec<Object>> {
    let mut found = connection.prepare(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema \
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
    )?;
    let rows = found.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let mut objects = vec![];
    for row in rows {
        let (kind, name, table, sql) = row?;
        let Some(kind) = Kind::ALL.into_iter().find(|known| known.word() == kind) else { continue };
        objects.push(Object { kind, name, table, sql });
    }
    Ok(objects)
}

fn table(connection: &Connection, name: &str, by_key: bool) -> Result<Table> {
    let mut info = connection.prepare("SELECT name, pk FROM pragma_table_xinfo(?) ORDER BY cid")?;
    let rows = info.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows = rows.collect::<rusqlite::Result<Vec<(String, i64)>>>()?;
    let mut key: Vec<(i64, String)> = rows.iter().filter(|(_, pk)| *pk > 0).map(|(c, pk)| (*pk, c.clone())).collect();
    key.sort();
    let key: Vec<String> = key.into_iter().map(|(_, column)| column).collect();
    let columns: Vec<String> = rows.into_iter().map(|(column, _)| column).collect();
    let order = match by_key {
        true => Order::Key(key.clone()),
        false => Order::Rowid(rowid_name(columns.iter().map(String::as_str))),
    };
    let (keys, last_key) = (keys(connection, name)?, last_key(connection, name)?);
    Ok(Table { name: name.to_string(), order, columns, key, keys, last_key })
}

fn keys(connection: &Connection, table: &str) -> Result<Vec<Vec<String>>> {
    let mut info = connection.prepare(
        "SELECT l.seq, i.name FROM pragma_index_list(?) AS l, pragma_index_info(l.name) AS i \
         WHERE i.name IS NOT NULL ORDER BY l.seq, i.seqno",
    )?;
    let rows = info.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows = rows.collect::<rusqlite::Result<Vec<(i64, String)>>>()?;
    let keys = rows.chunk_by(|(one, _), (other, _)| one == other);
    Ok(keys.map(|key| key.iter().map(|(_, column)| column.clone()).collect()).collect())
}

fn last_key(connection: &Connection, table: &str) -> Result<Option<i64>> {
    let kept = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'";
    if !connection.prepare(kept)?.exists(())? {
        return Ok(None);
    }
    let mut found = connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?")?;
    let found = found.query_map([table], |row| row.get(0))?.next().transpose()?;
    Ok(found)
}

impl Table {
    /// Names of the server's columns as SQLite has them: the hidden column is the rowid.
    pub fn listed<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        listed(names.into_iter().map(|name| match self.order {
            Order::Rowid(Some(rowid)) if name == HIDDEN_ROWID && !self.columns.iter().any(|own| own == name) => rowid,
            _ => name,
        }))
    }

    /// A query for all rows in SQLite's own order: first the place (the rowid, or 0), then the selected expressions.
    pub fn all_rows(&self, selected: &str) -> String {
        let (place, order) = match &self.order {
            Order::Rowid(Some(rowid)) => (*rowid, format!(" ORDER BY {rowid}")),
            Order::Rowid(None) => ("0", String::new()),
            Order::Key(key) => ("0", format!(" ORDER BY {}", listed(key.iter().map(String::as_str)))),
        };
        format!("SELECT {place}, {selected} FROM {}{order}", quoted(&self.name))
    }

    /// Describes the place of a row: its rowid, or its number in the order of the key, from 1.
    pub fn place(&self, rowid: i64, number: u64) -> String {
        match &self.order {
            Order::Rowid(Some(_)) => format!("rowid {rowid}"),
            Order::Rowid(None) => format!("row {number}"),
            Order::Key(key) => format!("row {number} by {}", key.join(", ")),
        }
    }
}

/// Passes every row of a query to `each`: its number from 1, its place, its values.
///
/// # Errors
/// The database cannot be read, or `each` returned an error.
pub fn each_row(
    connection: &Connection,
    sql: &str,
    mut each: impl FnMut(u64, i64, &[Argument<'_>]) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let (mut rows, mut number) = (statement.query(())?, 0);
    while let Some(row) = rows.next().context("the source cannot be read")? {
        number += 1;
        let values: Vec<Argument<'_>> =
            (1..columns).map(|at| row.get_ref(at).map(argument)).collect::<rusqlite::Result<_>>()?;
        each(number, row.get(0)?, &values)?;
    }
    Ok(())
}

/// Whether SQLite cannot carry out a statement at all, such as one that needs functions or collations of the application.
pub fn is_unknown(error: &rusqlite::Error) -> bool {
    let code = match error {
        rusqlite::Error::SqlInputError { error, .. } => Some(error.code),
        other => other.sqlite_error_code(),
    };
    code == Some(ErrorCode::Unknown)
}

fn argument(value: ValueRef<'_>) -> Argument<'_> {
    match value {
        ValueRef::Null => Argument::Null,
        ValueRef::Integer(i) => Argument::Integer(i),
        ValueRef::Real(r) => Argument::Real(r),
        ValueRef::Text(text) => Argument::Text(text),
        ValueRef::Blob(bytes) => Argument::Blob(bytes),
    }
}

/// A value as a parameter of SQLite.
pub fn bound<'a>(value: &Argument<'a>) -> ToSqlOutput<'a> {
    ToSqlOutput::Borrowed(match value {
        Argument::Null => ValueRef::Null,
        Argument::Integer(i) => ValueRef::Integer(*i),
        Argument::Real(r) => ValueRef::Real(*r),
        Argument::Text(text) => ValueRef::Text(text),
        Argument::Blob(bytes) => ValueRef::Blob(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_a_database_leaves_no_log() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, link) = (dir.path().join("app.db"), dir.path().join("link.db"));
        let program = Connection::open(&path).expect("a database");
        program.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").expect("made");
        drop(program);
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        let before = (fs::read(&path).expect("read"), path.metadata().and_then(|file| file.modified()).expect("read"));
        assert!(!has_log(&link));
        drop(open(&link).expect("opened"));
        assert!(has_log(&link), "it is left");
        remove_log(&link);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 2, "the file and its link");
        let after = (fs::read(&path).expect("read"), path.metadata().and_then(|file| file.modified()).expect("read"));
        assert_eq!(before, after);

        let program = Connection::open(&path).expect("a database");
        program.execute_batch("SELECT count(*) FROM t").expect("read");
        remove_log(&link);
        assert!(has_log(&link), "another connection has it open");
        drop(program);
        fs::create_dir(dir.path().join("app.db-wal")).expect("made");
        let said = format!("{:#}", open(&path).expect_err("it cannot be made"));
        assert!(said.contains("app.db-shm: make its directory writable"), "{said}");
    }
}
