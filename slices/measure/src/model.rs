//! Sizes of databases and processes.

use serde::Serialize;

/// The sizes of one database or process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// File, address without its password, or process.
    pub name: String,
    /// Product and version, or the program of a process.
    pub what: String,
    /// Sizes of the whole database or process.
    pub sizes: Vec<Size>,
    /// Largest first.
    pub tables: Vec<Table>,
}

/// A size of a database or process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Size {
    pub name: &'static str,
    pub bytes: u64,
    /// Meaning of the size, or advice; may be empty.
    pub note: String,
}

impl Size {
    pub fn new(name: &'static str, bytes: u64, note: impl Into<String>) -> Self {
        Self { name, bytes, note: note.into() }
    }
}

/// Disk space of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    pub name: String,
    /// Absent if the server has never counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Whether the number of rows is the server's estimate.
    pub estimated: bool,
    /// Bytes of its rows, including unused space. Absent if the server does not report them, or the table is locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_bytes: Option<u64>,
    /// Bytes of its indexes, as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_bytes: Option<u64>,
    /// Unused bytes in the pages of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_bytes: Option<u64>,
}

impl Table {
    /// Both together.
    pub fn bytes(&self) -> Option<u64> {
        Some(self.rows_bytes? + self.index_bytes?)
    }
}

/// Sorts by size, largest first, then by name.
pub fn sorted(mut tables: Vec<Table>) -> Vec<Table> {
    tables.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.name.cmp(&b.name)));
    tables
}
