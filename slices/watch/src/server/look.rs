//! The state of a server at one time, as plain values; the same for every product.

use contend_wire::literal::Value;
use serde::Serialize;

/// A client's connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Client {
    /// Number on the server: PostgreSQL's process, MariaDB's connection; 0 stands for a prepared transaction.
    pub id: u64,
    /// Distinguishes clients with the same number, which a server may reuse: when it connected.
    #[serde(skip)]
    pub began: u64,
    /// User and program or host, such as `app@10.0.0.7 (worker)`.
    pub who: String,
    pub database: String,
    pub state: State,
    /// Its current or last statement, without values.
    pub statement: Option<String>,
    /// Age of the state: of the statement while it runs, then of the pause.
    pub state_ns: u64,
    /// Age of its transaction.
    pub transaction_ns: Option<u64>,
    /// The lock it waits for.
    pub wait: Option<Wait>,
    /// Number of its last statement on MariaDB, which does not show the text during a pause; 0 on PostgreSQL.
    #[serde(skip)]
    pub query: u64,
    /// Transactions begun since the oldest transaction that its snapshot does not see; vacuum keeps the rows that they
    /// deleted.
    pub behind: Option<u64>,
    /// Number of that transaction on PostgreSQL, and whether it is the client's own.
    #[serde(skip)]
    pub oldest: (u64, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    #[default]
    Idle,
    Active,
    IdleInTransaction,
}

/// Number of the client that stands for a prepared transaction, which has no connection. Servers name it so.
pub const PREPARED: u64 = 0;

/// Adds a client for the prepared transaction that others wait for.
pub fn add_prepared(clients: &mut Vec<Client>, who: String, prepared_ns: u64) {
    let state = State::IdleInTransaction;
    let transaction_ns = Some(prepared_ns);
    clients.push(Client { id: PREPARED, who, state, state_ns: prepared_ns, transaction_ns, ..Client::default() });
}

/// Whether a client waits for a prepared transaction.
pub fn wait_for_prepared(clients: &[Client]) -> bool {
    clients.iter().any(|client| client.wait.as_ref().is_some_and(|wait| wait.blocked_by.contains(&PREPARED)))
}

/// A wait for a lock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Wait {
    pub ns: u64,
    /// The locked object, in the server's words, such as `relation app.account`.
    pub what: String,
    /// Clients that hold the lock, or wait for it ahead of this one.
    pub blocked_by: Vec<u64>,
    /// Clients one of which holds the lock, if it is not known which. Both lists are empty if nothing is known.
    pub candidates: Vec<u64>,
}

/// Something other than a client that prevents the removal of old row versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Keeper {
    /// Name, such as `replication slot standby_1`.
    pub name: String,
    /// Transactions begun since.
    pub behind: u64,
    /// Whether it is a prepared transaction; a replication slot otherwise.
    pub is_transaction: bool,
}

/// Counters, which are read less often.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Deadlocks since the server started.
    pub deadlocks: u64,
    /// Old row versions that are still kept: dead rows of the database (PostgreSQL), length of the history (MariaDB).
    pub old_versions: u64,
    /// PostgreSQL's tables with most of them, with their dead rows and live rows.
    pub tables: Vec<(String, u64, u64)>,
    pub keepers: Vec<Keeper>,
    /// Statements of the last deadlock, without values.
    pub last_deadlock: Vec<String>,
}

/// The state at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub clients: Vec<Client>,
    /// Present if they were read this time.
    pub counters: Option<Counters>,
}

/// Reads the cells of a row in order.
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
