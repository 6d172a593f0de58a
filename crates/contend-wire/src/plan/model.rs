//! The parts of a plan.

use super::http::{HttpStep, Request};
use super::source::Source;
use crate::database::Database;
use crate::literal::Value;
use crate::sample::CodeSpace;
use crate::statement::Statement;

/// The version this crate reads and writes.
pub const PLAN_VERSION: u32 = 3;

/// `rows_max` without a bound.
pub const ANY_ROWS: u32 = u32::MAX;

/// How far apart the unique numbers of two clients are.
pub const UNIQUE_STRIDE: i64 = 1 << 40;

/// Everything one worker needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is common to all clients.
    pub head: Head,
    /// The clients of this worker, each with its operations.
    pub clients: Vec<Client>,
}

/// The part of a plan that does not depend on what was drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Number of this worker in the trial.
    pub worker: u32,
    /// When operations count and when they stop.
    pub window: Window,
    /// Where `now` comes from.
    pub now: NowSource,
    /// The driver asked for, such as `rusqlite`.
    pub driver: String,
    /// How the worker's threads call the driver, such as `thread`.
    pub model: String,
    /// Which clients share connections.
    pub connections: Connections,
    /// Settings of driver and model that are not SQL, such as `busy_timeout_ms`.
    pub options: Vec<(String, String)>,
    /// Indexed by [`Client::database`].
    pub databases: Vec<Database>,
    /// Statements run on every new connection, in order.
    pub session: Vec<Statement>,
    /// Settings read back from every connection after the session statements.
    pub readbacks: Vec<Readback>,
    /// Indexed by [`SqlStep::statement`].
    pub statements: Vec<Statement>,
    /// HTTP requests, indexed by [`HttpStep::request`].
    pub requests: Vec<Request>,
    /// Long texts that operations refer to.
    pub texts: Vec<String>,
    /// The transactions, indexed by [`Operation::transaction`].
    pub transactions: Vec<Transaction>,
    /// The transaction every client carries out once before it is ready; what it kept are the session values.
    pub login: Option<u16>,
    /// What happens after a failed attempt.
    pub retry: Retry,
}

/// Which clients share connections. What an application would share inside one process: a worker shares
/// nothing with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// Each client has its own.
    Client,
    /// The clients of one database share what the model opens for it: one connection, or a pool.
    Database,
}

/// When operations count and when they stop, relative to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Time before the window; operations due in it do not count.
    pub run_in_ns: u64,
    /// Length of the window; 0 = until every client has done its limit of operations.
    pub length_ns: u64,
    /// How long operations in flight may take after the window, before they are interrupted.
    pub drain_ns: u64,
}

impl Window {
    /// Offset from the start at which no more operations begin.
    pub fn end_ns(&self) -> u64 {
        if self.length_ns == 0 { u64::MAX } else { self.run_in_ns.saturating_add(self.length_ns) }
    }
}

/// Where the argument `now` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NowSource {
    /// The system clock.
    Clock,
    /// `base_ns + operation * step_ns`, so that equal plans leave equal data.
    Fixed {
        /// Nanoseconds since 1970 of operation 0.
        base_ns: u64,
        /// Added for every operation of the client.
        step_ns: u64,
    },
}

/// A setting to be read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readback {
    /// Name under which the worker reports the value.
    pub name: String,
    /// Query whose first column of its first row is the value.
    pub sql: String,
}

/// A named sequence of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Its name in the workload.
    pub name: String,
    /// Whether it writes; a pool of readers does not serve it then.
    pub writes: bool,
    /// SQL that begins it; none: every statement commits by itself.
    pub begin: Option<String>,
    /// How many unique numbers one operation uses.
    pub uniques: u16,
    /// How many slots for kept values it needs.
    pub slots: u16,
    /// What it does.
    pub steps: Vec<Step>,
}

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Execute a statement.
    Sql(SqlStep),
    /// Send an HTTP request and read its answer.
    Http(HttpStep),
    /// Block for this long while holding the connection.
    Hold {
        /// Length in nanoseconds.
        ns: u64,
    },
    /// Wait for this long without needing the connection.
    Pause {
        /// Length in nanoseconds.
        ns: u64,
    },
    /// Close the connection and open a new one; only as the first step, before the begin.
    Connect,
}

/// A step that executes a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStep {
    /// Index into [`Head::statements`].
    pub statement: u32,
    /// Fewest rows it may return (or, when it returns none by its nature, change).
    pub rows_min: u32,
    /// Most rows; [`ANY_ROWS`] for no bound.
    pub rows_max: u32,
    /// How often it is executed in a row.
    pub repeat: u32,
    /// Values kept for later steps.
    pub keep: Vec<Keep>,
    /// One per placeholder of the statement.
    pub args: Vec<Source>,
}

impl SqlStep {
    /// Repetition `n` (from 0) as its own step. An operation has at most 65,535 arguments and unique numbers, and each
    /// repetition that has any has its own.
    pub fn repetition(&self, n: u16) -> SqlStep {
        let nth = |source: &Source| match *source {
            Source::Argument { first, stride } => Source::Argument { first: first + n * stride, stride: 0 },
            Source::Unique { first, stride } => Source::Unique { first: first + n * stride, stride: 0 },
            _ => source.clone(),
        };
        SqlStep { repeat: 1, args: self.args.iter().map(nth).collect(), ..self.clone() }
    }
}

/// A column of the result that later steps use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Slot it is kept in.
    pub slot: u16,
    /// Column of the result, from 0.
    pub column: u16,
    /// Kept rows at most: 1 keeps the first row's value, more keeps a column.
    pub rows: u16,
}

/// What happens after a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Attempts at most; 1 = never again.
    pub tries: u16,
    /// Wait before attempt k+1, in nanoseconds: entry k-1, or the last one.
    pub backoff_ns: Vec<u64>,
    /// Thousandths by which the waits are multiplied in turn; empty = always 1000.
    pub jitter_permille: Vec<u16>,
    /// The codes that are tried again.
    pub codes: Vec<(CodeSpace, u32)>,
}

/// Whether a client waits for its own previous operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// Due = end of the previous operation + pause.
    Closed,
    /// Due = offset from the start.
    Open,
}

/// One client and its operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// Number of the client, unique in the trial.
    pub id: u32,
    /// Index into [`Head::databases`].
    pub database: u32,
    /// Closed or open loop.
    pub load: Loop,
    /// Begin again at the first operation after the last (closed loop only).
    pub cyclic: bool,
    /// Operations at most; 0 = no limit but the window.
    pub limit: u32,
    /// The client's first operation is due this long after the start.
    pub start_ns: u64,
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The arguments of all its operations, one after the other.
    pub arguments: Vec<Value>,
}

/// One drawn operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Closed loop: pause before it. Open loop: due time after the start. Nanoseconds.
    pub offset_ns: u64,
    /// Index into [`Head::transactions`].
    pub transaction: u16,
    /// Its arguments in [`Client::arguments`] start here.
    pub first_argument: u32,
    /// How many they are.
    pub arguments: u16,
}

impl Client {
    /// The arguments of one of the client's operations.
    pub fn arguments_of(&self, op: &Operation) -> &[Value] {
        &self.arguments[op.first_argument as usize..][..usize::from(op.arguments)]
    }

    /// Appends an operation.
    pub fn push(&mut self, offset_ns: u64, transaction: u16, arguments: impl IntoIterator<Item = Value>) {
        let first = self.arguments.len();
        self.arguments.extend(arguments);
        let count = self.arguments.len() - first;
        self.operations.push(Operation {
            offset_ns,
            transaction,
            first_argument: u32::try_from(first).expect("a client has fewer than 2^32 arguments"),
            arguments: u16::try_from(count).expect("an operation has at most 65535 arguments"),
        });
    }
}

impl Retry {
    /// One attempt, whatever comes of it.
    pub fn never() -> Self {
        Self { tries: 1, backoff_ns: vec![], jitter_permille: vec![], codes: vec![] }
    }
}

impl Transaction {
    /// How many arguments an operation of this transaction carries.
    pub fn arguments_needed(&self) -> usize {
        let sources = self.steps.iter().map(Step::sources);
        let ends = sources.flat_map(|(args, repeat)| {
            args.iter().filter_map(move |arg| match arg {
                Source::Argument { first, stride } => {
                    Some(usize::from(*first) + usize::from(*stride) * (repeat as usize - 1) + 1)
                }
                _ => None,
            })
        });
        ends.max().unwrap_or(0)
    }
}

impl Step {
    /// The sources of its values, and how often it is carried out in a row.
    pub fn sources(&self) -> (&[Source], u32) {
        match self {
            Step::Sql(sql) => (&sql.args, sql.repeat),
            Step::Http(http) => (&http.args, 1),
            Step::Hold { .. } | Step::Pause { .. } | Step::Connect => (&[], 1),
        }
    }
}
