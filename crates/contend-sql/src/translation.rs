//! What a translation is, and what it is asked with.

/// The server whose SQL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// PostgreSQL 15 or newer.
    Postgres,
    /// MariaDB 10.6 or newer.
    MariaDb,
}

/// How to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub target: Target,
    /// Use the functions that [`function_pack`] installs. Without them (portable mode) more is refused.
    pub pack: bool,
    /// Put a savepoint around every query and change, as a failed statement ends a transaction on PostgreSQL but not on
    /// SQLite: two more statements each, which PostgreSQL takes only inside a transaction. MariaDB needs none.
    pub savepoints: bool,
}

impl Options {
    /// Portable mode without savepoints.
    pub fn to(target: Target) -> Options {
        Options { target, pack: false, savepoints: false }
    }
}

/// What a text became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// To be run in this order. Empty where the server needs nothing, such as for `PRAGMA journal_mode`.
    pub statements: Vec<Statement>,
    /// The rules that fired, each once.
    pub rules: Vec<Fired>,
    /// What to run when a statement fails, with [`Options::savepoints`]: it undoes the failed statement alone.
    pub on_error: Option<&'static str>,
}

/// A statement for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub sql: String,
    /// The number (from 1) of the source's parameter for each placeholder, in order.
    pub params: Vec<u16>,
    /// The type each placeholder is taken to have, in order. A driver that binds another type gets an error from
    /// PostgreSQL and perhaps other rows from MariaDB.
    pub types: Vec<ParamType>,
    /// Its rows and its count are the answer. Others only keep the server in step.
    pub main: bool,
}

/// What a placeholder's value is taken to be, besides NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamType {
    Integer,
    Real,
    /// An integer or a real: the place makes of it what it needs.
    Number,
    Text,
    Blob,
    /// Unknown from the statement alone.
    Unknown,
}

/// A rule that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub rule: &'static str,
    pub certainty: Certainty,
}

/// How sure a rule is that the answer is SQLite's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    Exact,
    /// The same answer under this condition.
    Equivalent(&'static str),
    /// Not the same answer, in this respect.
    Lossy(&'static str),
}
