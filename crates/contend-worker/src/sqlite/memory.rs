//! Data in memory: copied from its file when the connection opens, and back after the run, so that the file can be
//! checked.

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use std::time::Duration;

/// Copies all pages in one step.
const ALL_PAGES: i32 = i32::MAX;

fn copy(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    Backup::new(from, to)?.run_to_completion(ALL_PAGES, Duration::ZERO, None)
}

/// A connection to a copy in memory of the database in `file`.
///
/// # Errors
/// SQLite's.
pub fn load(file: &str) -> rusqlite::Result<Connection> {
    let source = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?;
    let mut connection = Connection::open_in_memory()?;
    copy(&source, &mut connection)?;
    Ok(connection)
}

/// Writes what is in memory over the database in `file`.
///
/// # Errors
/// SQLite's.
pub fn store(connection: &Connection, file: &str) -> rusqlite::Result<()> {
    copy(connection, &mut Connection::open(file)?)
}
