//! A connection of a replay.

use crate::trace::Call;
use anyhow::Result;

/// What a server answered to a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub rows: u64,
    /// `None` if the server does not count them in one way.
    pub changes: Option<u64>,
    /// Code of the failure: SQLSTATE, or MariaDB's number.
    pub code: Option<String>,
}

/// A connection to a server.
pub trait Link {
    /// Carries out a call. `has_more`: the next one is sent before the server ends the transaction of statements sent
    /// together.
    ///
    /// # Errors
    /// The connection is lost.
    fn call(&mut self, call: &Call, has_more: bool) -> Result<Answer>;

    /// Carries out a text.
    ///
    /// # Errors
    /// The connection is lost.
    fn text(&mut self, sql: &str) -> Result<Answer>;

    /// Whether a transaction is open; `None` if that is not known.
    fn is_inside(&self) -> Option<bool>;

    /// Product and version, such as `PostgreSQL 15.13`.
    ///
    /// # Errors
    /// The connection is lost.
    fn version(&mut self) -> Result<String>;
}
