//! The inputs for opening a connection.

use crate::control::{Cancel, Control};
use crate::options::Options;
use contend_wire::database::Database;
use contend_wire::plan::Head;
use std::sync::Arc;

/// Everything on which a connection depends.
#[derive(Clone, Copy)]
pub struct Setup<'p> {
    /// The plan's head.
    pub head: &'p Head,
    /// Number of the client that uses the connection, or of the first one.
    pub client: u32,
    /// Its database, by position in the plan.
    pub database: u32,
    /// The plan's options.
    pub options: &'p Options,
    /// The window.
    pub control: &'p Arc<Control>,
    /// Receives the way to interrupt the connection.
    pub cancel: &'p Cancel,
}

impl<'p> Setup<'p> {
    /// Address of the database.
    pub fn database(&self) -> &'p Database {
        &self.head.databases[self.database as usize]
    }

    /// The path of a database that is a file, as [`crate::models::of`] has checked.
    pub fn path(&self) -> &'p str {
        self.database().file().unwrap_or_default()
    }
}
