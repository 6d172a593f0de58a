//! What a server says at one moment, as plain values; the same for every product.

use contend_wire::literal::Value;
use serde::Serialize;

/// A client's connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Client {
    /// As the server numbers it: PostgreSQL's process, MariaDB's connection.
    pub id: u64,
    /// User and program or host, such as `app@10.0.0.7 (worker)`.
    pub who: String,
    pub database: String,
    pub state: State,
    /// What it executes, or executed last; without values.
    pub statement: Option<String>,
    /// Age of the state: of the statement while it runs, of the pause since then.
    pub state_ns: u64,
    /// Age of its transaction.
    pub transaction_ns: Option<u64>,
    /// The lock it waits for.
    pub wait: Option<Wait>,
    /// Transactions that have begun since its snapshot was taken; vacuum keeps what they deleted.
    pub behind: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    #[default]
    Idle,
    Active,
    IdleInTransaction,
}

/// A wait for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Wait {
    pub ns: u64,
    /// What is locked, in the server's words, such as `relation app.account`.
    pub what: String,
    /// Clients that have the lock, or wait for it in front of this one.
    pub blocked_by: Vec<u64>,
}

/// What keeps old versions of rows from being removed, other than a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Keeper {
    /// Such as `replication slot standby_1`.
    pub name: String,
    /// Transactions since then.
    pub behind: u64,
}

/// Counters that are asked for less often.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Since the server's start.
    pub deadlocks: u64,
    /// Old versions of rows that are still kept: dead rows of the database (PostgreSQL), length of the history (MariaDB).
    pub old_versions: u64,
    /// The table with most of them, its dead and its living rows; `None` where the server does not know.
    pub table: Option<(String, u64, u64)>,
    pub keepers: Vec<Keeper>,
    /// The last deadlock in the server's words, without values.
    pub last_deadlock: Vec<String>,
}

/// One look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub clients: Vec<Client>,
    /// Where they were asked for this time.
    pub counters: Option<Counters>,
}

/// Cells of a row, read one after the other.
pub struct Cells(std::vec::IntoIter<Value>);

impl Cells {
    pub fn of(row: Vec<Value>) -> Cells {
        Cells(row.into_iter())
    }

    /// The next cell as text; empty for NULL.
    pub fn text(&mut self) -> String {
        match self.0.next() {
            Some(Value::Text(text)) => text,
            Some(Value::Blob(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Some(Value::Integer(i)) => i.to_string(),
            _ => String::new(),
        }
    }

    /// The next cell as a number that is not negative; `None` for NULL.
    pub fn number(&mut self) -> Option<u64> {
        match self.0.next() {
            Some(Value::Integer(i)) => Some(i.max(0) as u64),
            Some(Value::Real(r)) => Some(r.max(0.0) as u64),
            Some(Value::Text(text)) => text.trim().parse().ok(),
            _ => None,
        }
    }
}
