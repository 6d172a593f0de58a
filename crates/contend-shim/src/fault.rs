//! Converts errors of the server to errors of SQLite.

use crate::c::front::{Failed, Front};
use crate::c::{ABORT, BUSY, CONSTRAINT, ERROR, INTERRUPT, IOERR, TOOBIG};
use crate::server::{Kind, Said, Trouble};
use crate::value::Value;
use contend_wire::kept::literal;

const fn extended(code: i32, kind: i32) -> i32 {
    code | kind << 8
}

pub const CONSTRAINT_CHECK: i32 = extended(CONSTRAINT, 1);
pub const CONSTRAINT_TRIGGER: i32 = extended(CONSTRAINT, 7);
pub const CONSTRAINT_FOREIGNKEY: i32 = extended(CONSTRAINT, 3);
pub const CONSTRAINT_NOTNULL: i32 = extended(CONSTRAINT, 5);
pub const CONSTRAINT_PRIMARYKEY: i32 = extended(CONSTRAINT, 6);
pub const CONSTRAINT_UNIQUE: i32 = extended(CONSTRAINT, 8);
pub const BUSY_SNAPSHOT: i32 = extended(BUSY, 2);
pub const ABORT_ROLLBACK: i32 = extended(ABORT, 2);

/// Whether repeating the transaction may succeed.
pub fn is_conflict(trouble: &Trouble) -> bool {
    trouble.kind() == Some(Kind::Conflict)
}

/// Whether this error ends the transaction.
pub fn ends_transaction(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Lost(_))
}

/// A unique key of the server, in SQLite's naming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Key {
    pub table: String,
    /// Empty if the key is over expressions.
    pub columns: Vec<String>,
    pub index: String,
    pub is_primary: bool,
}

impl Key {
    /// The key of an index, from rows of a table and a column each; NULL where it is over an expression.
    pub fn read(index: &str, rows: &[Vec<Value>]) -> Option<Key> {
        let mut key = Key { index: index.to_string(), ..Key::default() };
        for row in rows {
            let [Value::Text(table), column] = row.as_slice() else { return None };
            key.table = String::from_utf8_lossy(table).into_owned();
            match column {
                Value::Text(name) => key.columns.push(String::from_utf8_lossy(name).into_owned()),
                _ => {
                    key.columns.clear();
                    break;
                }
            }
        }
        Some(key)
    }
}

/// The table whose column got NULL: that of the statement, or the only one with such a column; without a name if there are several.
pub fn null_column(said: &Said, front: &Front) -> Option<Key> {
    let (table, column) = (said.table.as_deref()?, said.column.as_deref()?);
    let sql = format!(
        "SELECT m.name FROM main.sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' \
         AND c.name = {} AND c.\"notnull\" ORDER BY m.name <> {}",
        literal(column),
        literal(table)
    );
    let mut tables = front.rows(&sql).ok()?.into_iter().flatten().map(Value::into_words);
    let (first, is_only) = (tables.next()?, tables.next().is_none());
    let table = if is_only || first.eq_ignore_ascii_case(table) { first } else { String::new() };
    Some(Key { table, ..Key::default() })
}

/// The error for the program. `in_transaction`: it had executed BEGIN.
pub fn failed(trouble: &Trouble, in_transaction: bool, key: Option<&Key>) -> Failed {
    match trouble {
        Trouble::Lost(words) => Failed::new(IOERR, format!("disk I/O error: no connection to the server: {words}")),
        Trouble::Value(words) => Failed::new(ERROR, format!("contend shim: {words}")),
        Trouble::Server(said) => of_server(said, in_transaction, key),
    }
}

fn of_server(said: &Said, in_transaction: bool, key: Option<&Key>) -> Failed {
    let table = said.table.clone().unwrap_or_default();
    match said.kind {
        Kind::Unique => unique(said, key),
        Kind::NotNull => {
            let (table, column) = (key.map_or(table, |key| key.table.clone()), said.column.clone().unwrap_or_default());
            let column = if table.is_empty() { column } else { format!("{table}.{column}") };
            Failed::new(CONSTRAINT_NOTNULL, format!("NOT NULL constraint failed: {column}"))
        }
        Kind::Check => {
            let name = said.constraint.clone().unwrap_or(table);
            Failed::new(CONSTRAINT_CHECK, format!("CHECK constraint failed: {name}"))
        }
        Kind::Raised => Failed::new(CONSTRAINT_TRIGGER, said.message.clone()),
        Kind::ForeignKey => Failed::new(CONSTRAINT_FOREIGNKEY, "FOREIGN KEY constraint failed"),
        Kind::Locked => Failed::new(BUSY, "database is locked"),
        // In SQLite too, a transaction cannot continue after a conflicting commit of another one.
        Kind::Conflict if in_transaction => Failed::new(BUSY_SNAPSHOT, "database is locked"),
        Kind::Conflict => Failed::new(BUSY, "database is locked"),
        Kind::Interrupted => Failed::new(INTERRUPT, "interrupted"),
        Kind::BadText => {
            Failed::new(ERROR, "contend shim: the server has no texts with NUL or with bytes that are not UTF-8")
        }
        Kind::TooBig => Failed::new(TOOBIG, "string or blob too big"),
        Kind::Overflow => Failed::new(ERROR, "integer overflow"),
        Kind::Follows | Kind::Outdated | Kind::Missing | Kind::Other => {
            Failed::new(ERROR, format!("contend shim: the server says: {} ({})", said.message, said.code))
        }
    }
}

fn unique(said: &Said, key: Option<&Key>) -> Failed {
    let Some(key) = key else {
        let name = said.constraint.clone().unwrap_or_default();
        return Failed::new(CONSTRAINT_UNIQUE, format!("UNIQUE constraint failed: index '{name}'"));
    };
    let code = if key.is_primary { CONSTRAINT_PRIMARYKEY } else { CONSTRAINT_UNIQUE };
    if key.columns.is_empty() {
        return Failed::new(code, format!("UNIQUE constraint failed: index '{}'", key.index));
    }
    let columns: Vec<String> = key.columns.iter().map(|column| format!("{}.{column}", key.table)).collect();
    Failed::new(code, format!("UNIQUE constraint failed: {}", columns.join(", ")))
}
