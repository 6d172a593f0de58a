//! A plan that is served, independent of how requests get connections.

use super::desk::Desk;
use anyhow::Result;
use contend_wire::handshake::Facts;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A plan whose connections are open, to be served.
pub struct Served {
    /// The settings of each connection.
    pub sessions: Vec<Facts>,
    /// The server.
    pub server: Box<dyn Server>,
    /// Its desk.
    pub desk: Arc<Desk>,
}

/// How requests get database connections.
pub trait Server {
    /// The runtime that accepts HTTP connections.
    fn runtime(&self) -> &Runtime;

    /// The handler of each HTTP connection, until `ending`.
    fn welcome(&self, ending: watch::Receiver<bool>) -> Box<dyn FnMut(TcpStream) + Send>;

    /// Interrupts the database connections.
    fn interrupt(&self);

    /// Reads back the connections that were opened for requests, unless opening included it. No request is in flight.
    fn look_again(&self) {}

    /// Closes the connections. No request is in flight.
    ///
    /// # Errors
    /// Data could not be written back.
    fn close(self: Box<Self>) -> Result<()>;
}
