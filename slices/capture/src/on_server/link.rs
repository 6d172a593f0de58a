//! A connection to a server, as a replay needs it.

use crate::on_server::keys::Counter;
use crate::trace::Value;
use anyhow::Result;
use contend_sql::{Keys, Statement, Target};

/// The result of a statement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer {
    /// Rows of the result.
    pub rows: u64,
    /// Rows that it changed, if it changes rows.
    pub changed: u64,
    /// The key of the last row that it stored.
    pub key: Option<i64>,
}

impl Answer {
    /// The result of a statement that returned this number of rows, or changed this number. `keys`: how many rows have one, and
    /// the last one.
    pub fn of(statement: &Statement, returned: u64, changed: u64, keys: (u64, Option<i64>)) -> Answer {
        let (rows, changed) = match statement.keys {
            Keys::Rows => (0, returned),
            Keys::NewRows => (0, keys.0),
            Keys::Same | Keys::LastColumn | Keys::Unknown(_) => (returned, changed),
        };
        Answer { rows, changed, key: keys.1 }
    }
}

/// The column of a row with a key, if rows have one.
pub fn key_column(statement: &Statement, columns: usize) -> Option<usize> {
    matches!(statement.keys, Keys::Rows | Keys::NewRows | Keys::LastColumn).then(|| columns.saturating_sub(1))
}

/// Kinds of errors that SQLite and servers have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Unique,
    NotNull,
    ForeignKey,
    Check,
    Other,
}

impl Kind {
    /// The kind of one of SQLite's result codes; `None` for a constraint of an unknown kind.
    pub fn of_sqlite(code: i32) -> Option<Kind> {
        const CONSTRAINT: i32 = 19;
        match (code & 0xff, code >> 8) {
            (CONSTRAINT, 0) => None,
            (CONSTRAINT, 6 | 8 | 10) => Some(Kind::Unique),
            (CONSTRAINT, 5) => Some(Kind::NotNull),
            (CONSTRAINT, 3) => Some(Kind::ForeignKey),
            (CONSTRAINT, 1) => Some(Kind::Check),
            _ => Some(Kind::Other),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Kind::Unique => "unique",
            Kind::NotNull => "not null",
            Kind::ForeignKey => "foreign key",
            Kind::Check => "check",
            Kind::Other => "error",
        }
    }
}

/// Why a statement has no result. Messages of servers can contain values, and are not kept.
#[derive(Debug, Clone)]
pub enum Failed {
    /// The server refuses it, with this SQLSTATE or number.
    Refused(Kind, String),
    /// The connection is lost.
    Lost(String),
}

pub trait Link {
    fn target(&self) -> Target;

    /// Carries out a statement without values and rows.
    fn run(&mut self, sql: &str) -> Result<(), Failed>;

    /// Carries out a statement with the values of its placeholders.
    fn execute(&mut self, statement: &Statement, values: &[Value]) -> Result<Answer, Failed>;

    /// Has the next row of a table without a key get this one.
    fn next_key(&mut self, counter: &Counter, first: i64) -> Result<(), Failed>;

    /// Has the next row of a table without a key get the key after the largest one, as in SQLite. Not inside of a transaction.
    fn after_largest(&mut self, counter: &Counter) -> Result<(), Failed>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_have_their_kind() {
        let kinds = [2067, 1555, 1299, 787, 275, 1].map(Kind::of_sqlite);
        let wanted = [Kind::Unique, Kind::Unique, Kind::NotNull, Kind::ForeignKey, Kind::Check, Kind::Other];
        assert_eq!(kinds, wanted.map(Some));
        assert_eq!(Kind::of_sqlite(19), None);
    }
}
