//! What is sent to a server and what it answers, the same for all servers.

use crate::value::Value;
use std::sync::Arc;

/// A message to the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A statement without values and rows.
    Plain(String),
    Query {
        sql: String,
        values: Vec<Value>,
    },
}

impl Message {
    /// A query without values.
    pub fn query(sql: String) -> Message {
        Message::Query { sql, values: vec![] }
    }
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub rows: Vec<Vec<Value>>,
    /// Number of rows changed or returned.
    pub count: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// An error of the server.
    Server(Box<Said>),
    /// The connection is lost.
    Lost(String),
    /// A value that cannot be sent or read.
    Value(String),
}

/// What an error of the server is to SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    Unique,
    NotNull,
    Check,
    ForeignKey,
    /// RAISE in a trigger, as the translator writes it.
    Raised,
    /// A lock was not free in time.
    Locked,
    /// Repeating the transaction may succeed.
    Conflict,
    /// It follows from another error.
    Follows,
    Interrupted,
    /// A text that the server cannot have.
    BadText,
    TooBig,
    Overflow,
    /// The statement names an older version of the schema.
    Outdated,
    /// It names something that is not there, and may be older than the schema.
    Missing,
    #[default]
    Other,
}

/// State of the error of contend's own statements that a lock was not free.
pub const LOCKED: &str = "55P03";

/// Fields of a server's error. Its detail, which contains values, is not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    pub kind: Kind,
    /// The server's own code.
    pub code: String,
    pub message: String,
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
}

/// Cancels the current statement of a connection, from another thread; no effect if it is idle.
pub type Cancel = Arc<dyn Fn() + Send + Sync>;

/// A connection to a server.
pub trait Server: Send {
    /// Sends all messages and waits for all answers. After an error the answers may be missing.
    fn exchange(&mut self, messages: &[Message]) -> Vec<Result<Reply, Trouble>>;

    fn is_closed(&self) -> bool;

    /// Drops all prepared statements.
    fn forget(&mut self) {}

    fn canceller(&self) -> Cancel;

    fn round_trips(&self) -> u64;

    /// Closes the connection.
    fn close(self: Box<Self>);
}

impl Trouble {
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Trouble::Server(said) => Some(said.kind),
            Trouble::Lost(_) | Trouble::Value(_) => None,
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Server(said) => write!(f, "{} ({})", said.message, said.code),
            Trouble::Lost(words) => write!(f, "no connection to the server: {words}"),
            Trouble::Value(words) => f.write_str(words),
        }
    }
}
