//! A plan that is served, whichever way requests meet connections.

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
    /// Who answers.
    pub server: Box<dyn Server>,
    /// What is answered.
    pub desk: Arc<Desk>,
}

/// How requests meet connections.
pub trait Server {
    /// The runtime that accepts HTTP connections.
    fn runtime(&self) -> &Runtime;

    /// What is done with each of them, until it is to end.
    fn welcome(&self, ending: watch::Receiver<bool>) -> Box<dyn FnMut(TcpStream) + Send>;

    /// Interrupts whatever the database connections are doing.
    fn interrupt(&self);

    /// Reads back those that were opened for requests, unless that was part of opening them. No request is under way any more.
    fn look_again(&self) {}

    /// Closes them. No request is under way any more.
    ///
    /// # Errors
    /// What was done could not be kept.
    fn close(self: Box<Self>) -> Result<()>;
}
